//! `outset man` and `outset completions`: what is written from the definitions of the commands.
//!
//! *Owns:* the two commands that print files for a system to install. *Invariants:* nothing in them
//! is written by hand, so they cannot fall behind the program.

use std::fmt::Write;

use clap::{Arg, Command};
use outset::{Error, Result};

use super::arguments::{CompletionArguments, ManArguments};
use super::print::{print_bytes, unwritable};

/// Runs `outset completions`, for the commands of `outset`.
pub(crate) fn completions(arguments: &CompletionArguments, mut outset: Command) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut outset, "outset", &mut script);
    print_bytes(&script)
}

/// Finds the command of this name below `command`.
///
/// # Errors
/// [`Error::Usage`] where there is none.
fn sub_command(command: &Command, name: &str) -> Result<Command> {
    let found = command.find_subcommand(name).cloned();
    found.ok_or_else(|| {
        Error::usage(
            format!("man: {} has no command {name}", command.get_name()),
            "see 'outset --help' for the commands",
        )
    })
}

/// Runs `outset man`, for the commands of `outset`.
pub(crate) fn man(arguments: &ManArguments, outset: Command) -> Result<()> {
    // A page for `help` would say what --help says.
    let mut command = outset.disable_help_subcommand(true);
    // Gives every command its whole name and the options that it has from those above it.
    command.build();
    for name in &arguments.command {
        command = sub_command(&command, name)?;
    }
    let mut page = Vec::new();
    render(command, &mut page).map_err(unwritable)?;
    print_bytes(&page)
}

/// Renders the page of a command, with sections for the text after its help.
fn render(command: Command, page: &mut Vec<u8>) -> std::io::Result<()> {
    let below = command.get_after_help().map(ToString::to_string);
    let (has_arguments, has_commands) = (
        command.get_arguments().next().is_some(),
        command.has_subcommands(),
    );
    let has_version = command.get_version().is_some();
    let synopsis = synopsis(&command);
    let man = clap_mangen::Man::new(command.override_usage(synopsis));
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    if has_arguments {
        man.render_options_section(page)?;
    }
    if has_commands {
        man.render_subcommands_section(page)?;
    }
    page.extend(below.as_deref().map(sections).unwrap_or_default().bytes());
    if has_version {
        man.render_version_section(page)?;
    }
    Ok(())
}

/// Writes how the command is typed, with the values of its options.
fn synopsis(command: &Command) -> String {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let (positional, options): (Vec<&Arg>, Vec<&Arg>) = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set())
        .partition(|argument| argument.is_positional());
    let options = options.into_iter().map(|option| {
        let long = option.get_long().map(|long| format!("--{long}"));
        let short = option.get_short().map(|short| format!("-{short}"));
        let names: Vec<String> = short.into_iter().chain(long).collect();
        in_brackets(option, &format!("{}{}", names.join("|"), values(option)))
    });
    let positional = positional
        .into_iter()
        .map(|argument| in_brackets(argument, values(argument).trim_start()));
    let mut words: Vec<String> = options.chain(positional).collect();
    if command.has_subcommands() {
        words.push("COMMAND".to_owned());
    }
    format!("{name} {}", words.join(" "))
}

/// Returns the names of the values that an argument takes, with a blank before each.
fn values(argument: &Arg) -> String {
    if !argument.get_action().takes_values() {
        return String::new();
    }
    let names = argument.get_value_names().unwrap_or_default();
    let many = argument
        .get_num_args()
        .is_some_and(|number| number.max_values() > 1);
    let mut text = String::new();
    for name in names {
        let _always_fits = write!(text, " {name}");
    }
    text + if many { "..." } else { "" }
}

fn in_brackets(argument: &Arg, text: &str) -> String {
    if argument.is_required_set() {
        text.to_owned()
    } else {
        format!("[{text}]")
    }
}

/// Turns what stands below the help of a command into sections of a page: each paragraph that begins with `Exit
/// status:` or `Example:`.
fn sections(below: &str) -> String {
    let mut page = String::new();
    for paragraph in below.split("\n\n") {
        let (title, text) = match paragraph.split_once(':') {
            Some(("Exit status", text)) => ("EXIT STATUS", text),
            Some(("Example" | "Examples", text)) => ("EXAMPLES", text),
            _ => ("NOTES", paragraph),
        };
        let _always_fits = writeln!(page, ".SH \"{title}\"\n.nf");
        for line in text.lines().flat_map(|line| line.split(" · ")) {
            let line = line.trim().replace('\\', "\\e").replace('-', "\\-");
            let _always_fits = writeln!(page, "\\&{line}");
        }
        page.push_str(".fi\n");
    }
    page
}
