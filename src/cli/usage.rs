//! The faults of arguments, in one line.
//!
//! *Owns:* the way from the parser's error of several lines to one of ours, with what was probably meant. *Invariants:*
//! one line, which ends with the help to look at. *Cost:* the definitions of all commands, built once more.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use super::arguments::Cli;

/// Says what is wrong with `arguments`, of which the first is the program.
pub(super) fn line(error: &clap::Error, arguments: impl IntoIterator<Item = OsString>) -> String {
    let outset = Cli::command();
    let mut words: Vec<OsString> = arguments.into_iter().skip(1).collect();
    let (command, name) = command_of(&outset, &mut words);
    let what = match option_before_command(error, command, &words) {
        Some((option, next)) => format!(
            "{option} stands before the command: give options after it, as in {name} {next} {option}"
        ),
        None => what_is_wrong(error),
    };
    format!("usage: {what}{}: see '{name} --help'", meant(error))
}

/// Finds the command that `words` begin with, and its name with the program before it: `outset filter build`. Takes the
/// words of the name away.
fn command_of<'c>(outset: &'c Command, words: &mut Vec<OsString>) -> (&'c Command, String) {
    let (mut command, mut taken) = (outset, 0);
    let mut name = command.get_name().to_owned();
    while let Some(next) = words
        .get(taken)
        .and_then(|word| command.find_subcommand(word))
    {
        name = format!("{name} {}", next.get_name());
        (command, taken) = (next, taken + 1);
    }
    words.drain(..taken);
    (command, name)
}

/// Moves the command before the options that stand before it. `arguments` stay as they are where none do, where help or
/// the version is asked for, and where more than one word could be the command.
pub(super) fn command_first(arguments: Vec<OsString>) -> Vec<OsString> {
    const OF_PROGRAM: [&str; 5] = ["-h", "--help", "-V", "--version", "--"];
    let Some((program, words)) = arguments.split_first() else {
        return arguments;
    };
    let is_moved = words.first().is_some_and(|first| {
        first.as_encoded_bytes().starts_with(b"-") && !OF_PROGRAM.iter().any(|own| first == own)
    });
    if !is_moved {
        return arguments;
    }
    let outset = Cli::command();
    let mut commands = (0..words.len()).filter(|&at| outset.find_subcommand(&words[at]).is_some());
    let (Some(at), None) = (commands.next(), commands.next()) else {
        return arguments;
    };
    let (before, rest) = words.split_at(at);
    let mut behind = rest.to_vec();
    command_of(&outset, &mut behind);
    let (name, behind) = rest.split_at(rest.len() - behind.len());
    [std::slice::from_ref(program), name, before, behind].concat()
}

/// Finds an option that stands before the command that has it, and that command.
fn option_before_command(
    error: &clap::Error,
    command: &Command,
    words: &[OsString],
) -> Option<(String, String)> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let (option, rest) = words.split_first()?;
    let option = option.to_str().filter(|option| option.starts_with('-'))?;
    let next = rest.iter().find_map(|word| command.find_subcommand(word))?;
    Some((option.to_owned(), next.get_name().to_owned()))
}

/// Returns the first words of the parser's error, with what they announce.
fn what_is_wrong(error: &clap::Error) -> String {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines
        .next()
        .unwrap_or_default()
        .trim_start_matches("error: ")
        .replace("unrecognized subcommand", "there is no command");
    // Where the first line ends in a colon, what it announces follows.
    let detail = if first.ends_with(':') {
        lines.next().unwrap_or_default()
    } else {
        ""
    };
    let detail = options_of_group(detail).unwrap_or_else(|| detail.to_owned());
    let values = lines.find(|line| line.starts_with("[possible values:"));
    let parts = [&in_plain_words(&first), &detail, values.unwrap_or_default()];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

/// Lists the options of the group that the parser prints as `<--key <FIELD>|-1 <FIELD>>`, without their values.
fn options_of_group(group: &str) -> Option<String> {
    let group = group.strip_prefix("<-")?.strip_suffix('>')?;
    // A value may have the line between options in it.
    let names = group.split("|-").map(|option| {
        let name = option.split(' ').next().unwrap_or_default();
        format!("-{name}")
    });
    Some(format!("one of {}", names.collect::<Vec<_>>().join(", ")))
}

/// Rewords a refused number, which std words for programmers.
fn in_plain_words(text: &str) -> String {
    let Some((before, reason)) = text.rsplit_once(": ") else {
        return text.to_owned();
    };
    let advice = match reason {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "give a whole number".to_owned()
        }
        "number too large to fit in target type" => "give a smaller number".to_owned(),
        _ => match reason
            .split_once(" is not in ")
            .and_then(|(_, range)| range.split_once(".."))
        {
            Some((least, most)) => match most.trim_start_matches('=') {
                // The limits of types tell nothing.
                "" | "4294967295" | "18446744073709551615" => {
                    format!("give a number of {least} or more")
                }
                most => format!("give a number from {least} to {most}"),
            },
            None => return text.to_owned(),
        },
    };
    format!("{before}: {advice}")
}

/// Says what was probably meant, in brackets; empty where nothing comes near.
fn meant(error: &clap::Error) -> String {
    let kinds = [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ];
    let found = kinds.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(one) => Some(one),
        // The parser sorts them: the last comes nearest.
        ContextValue::Strings(several) => several.last(),
        _ => None,
    });
    found.map_or_else(String::new, |name| format!(" (did you mean '{name}'?)"))
}
