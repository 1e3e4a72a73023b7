//! The texts of options that several commands define, each with its own value or meaning beyond the first line.
//!
//! *Owns:* one line for each such option. Options that are the same in all of their commands have one definition in
//! [`options`](super::options), [`run_options`](super::run_options) or [`keys`](super::keys). *Invariants:* an option
//! name has one text in all commands, as a test holds; the test lists the names that mean two things, and why.

pub(crate) const OUTPUT: &str =
    "Write the result to FILE, complete or not at all [default: standard output]";
pub(crate) const OUTPUT_FILTER: &str =
    "Write the filter to FILE, complete or not at all; `-` is standard output";
pub(crate) const COUNT_ONLY: &str = "Print the number of lines instead of the lines";
pub(crate) const REPEATS: &str =
    "Write each line as often as the first file has it, instead of once";
pub(crate) const JSON: &str = "Print the result as JSON";
pub(crate) const STATS: &str = "Write statistics of the run to FILE as JSON; `-` is standard error";
pub(crate) const REPORT: &str = "Write a report of the run to FILE, as an HTML page with charts";
pub(crate) const OPERATION: &str = "Operation, by the name of its command";
pub(crate) const STRATEGY: &str = "Strategy; auto chooses one to fit the memory limit";
pub(crate) const MAX_FPR: &str =
    "Accept an approximate result with at most this false-positive rate, such as 1% or 0.01";
pub(crate) const HASH_KEY_FILE: &str = "Read the hash key from FILE (64 hexadecimal digits)";
pub(crate) const LINES: &str =
    "Number of distinct lines, such as 1000000, 5e9 or 20M (powers of 1000)";
pub(crate) const BITS_PER_KEY: &str = "Number of filter bits per line, such as 9.6";
pub(crate) const HASHES: &str =
    "Hash functions per line (k) [default: the number with the lowest false-positive rate]";

/// Returns the long help of an option: the text, then `more` below it.
pub(crate) fn long(text: &str, more: &str) -> String {
    format!("{text}\n\n{more}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::{Command, CommandFactory};

    use crate::cli::arguments::Cli;

    /// Option names that mean something else in these commands, and what.
    const OTHER_MEANINGS: &[(&str, &[&str], &str)] = &[
        (
            "side",
            &["shard"],
            "the number of the side that the input belongs to",
        ),
        (
            "filter",
            &["shard"],
            "a filter beside the input, not in place of one",
        ),
        (
            "buckets",
            &["shard"],
            "fixed for all shards of a job, never chosen by a plan",
        ),
        (
            "memory",
            &["size"],
            "the memory of a filter that is not made, no limit",
        ),
        (
            "lines",
            &["plan"],
            "the lines of each input, repeats included",
        ),
        (
            "max-fpr",
            &["filter build", "size"],
            "a rate to size for, not one to judge a result by",
        ),
        (
            "bits-per-key",
            &["filter build", "size"],
            "the bits that a filter gets, not the most that it may get",
        ),
        (
            "compress",
            &["shard"],
            "the blocks that a network carries, and no format of files",
        ),
        (
            "output",
            &["filter build", "filter merge"],
            "a filter, which must be named",
        ),
    ];

    /// Adds the texts of all options below `command`, without their defaults, by the name of the option and what it
    /// means where it stands.
    fn add_texts(
        command: &Command,
        path: &str,
        texts: &mut BTreeMap<(String, &str), BTreeMap<String, Vec<String>>>,
    ) {
        for option in command.get_arguments() {
            let (Some(name), Some(text)) = (option.get_long(), option.get_help()) else {
                continue;
            };
            let other = OTHER_MEANINGS
                .iter()
                .find(|(option, commands, _)| *option == name && commands.contains(&path));
            let text = text.to_string();
            let text = text.split(" [default: ").next().unwrap_or_default();
            texts
                .entry((name.to_owned(), other.map_or("", |other| other.2)))
                .or_default()
                .entry(text.to_owned())
                .or_default()
                .push(path.to_owned());
        }
        for below in command.get_subcommands() {
            add_texts(below, format!("{path} {}", below.get_name()).trim(), texts);
        }
    }

    /// Options that a text names of which the command has none: those of another command, which the text names, too.
    const OF_OTHER_COMMANDS: &[(&str, &[&str])] = &[
        ("diff", INTERSECTS),
        ("union", INTERSECTS),
        ("symdiff", INTERSECTS),
        // Its table has the rows that `outset intersect --only` writes.
        ("overlaps", &["only"]),
        // It plans a run without its outputs.
        ("plan", &["out-dir"]),
        ("filter merge", &["like"]),
        ("finish", &["stats"]),
        ("filter", &["lines", "max-fpr", "print-new"]),
        // It tells what commands have in common.
        ("", &["all", "max-fpr", "memory", "order", "repeats"]),
    ];
    const INTERSECTS: &[&str] = &["at-least", "at-most", "exactly", "only"];

    /// Returns the options that a text names.
    fn named_in(text: &str) -> impl Iterator<Item = &str> {
        let words = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '-'));
        let names = words.filter_map(|word| word.strip_prefix("--"));
        names.filter(|name| name.starts_with(|first: char| first.is_ascii_lowercase()))
    }

    /// Adds the options that a text of `command`, or of one below it, names, and that the command lacks.
    fn add_absent(command: &Command, path: &str, absent: &mut BTreeMap<String, Vec<String>>) {
        let options = command.get_arguments();
        let own: Vec<&str> = options
            .flat_map(|option| option.get_long_and_visible_aliases().unwrap_or_default())
            .collect();
        let about = [command.get_long_about(), command.get_after_long_help()];
        let about = about
            .into_iter()
            .chain([command.get_about(), command.get_after_help()]);
        let texts = command
            .get_arguments()
            .flat_map(|option| [option.get_help(), option.get_long_help()]);
        for text in texts.chain(about).flatten() {
            for name in named_in(&text.to_string()).filter(|name| !own.contains(name)) {
                let names = absent.entry(path.to_owned()).or_default();
                if name != "help" && !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
        for below in command.get_subcommands() {
            add_absent(below, format!("{path} {}", below.get_name()).trim(), absent);
        }
    }

    #[test]
    fn a_text_names_options_that_its_command_has() {
        let mut absent = BTreeMap::new();
        add_absent(&Cli::command(), "", &mut absent);
        for names in absent.values_mut() {
            names.sort_unstable();
        }
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let allowed = OF_OTHER_COMMANDS.iter();
        let allowed: BTreeMap<String, Vec<String>> = allowed
            .map(|(path, options)| ((*path).to_owned(), names(options)))
            .collect();
        assert_eq!(absent, allowed);
    }

    #[test]
    fn an_option_has_the_same_text_in_all_commands() {
        let mut texts = BTreeMap::new();
        add_texts(&Cli::command(), "", &mut texts);
        let differing: Vec<_> = texts.iter().filter(|(_, texts)| texts.len() > 1).collect();
        assert!(differing.is_empty(), "{differing:#?}");
        for (name, _, meaning) in OTHER_MEANINGS {
            let [one, other] =
                ["", meaning].map(|meaning| texts.get(&((*name).to_owned(), meaning)));
            assert!(
                one.is_some() && other.is_some() && one != other,
                "{name} has one meaning"
            );
        }
    }
}
