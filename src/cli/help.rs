//! The order of a help page, and the short help: one screen of the options that most people need.
//!
//! *Owns:* the headings of options and their order, and the options that `-h` leaves out. *Invariants:* every page has
//! the options of its command alone first, then the headings of [`HEADINGS`] in their order; `--help`, manual pages and
//! completions have all options; the short help of every command has 60 lines at most, as a test holds. *Cost:* none
//! that counts.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command, Id};

/// The heading of options that choose the lines of the result, and their form and order.
pub(crate) const RESULT: &str = "Result";
/// The heading of options that make lines records with keys.
pub(crate) const RECORDS: &str = "Records and keys";
/// The heading of options that name inputs and say how they are read.
pub(crate) const INPUTS: &str = "Inputs";
/// The heading of options that limit memory and threads, and choose the work to be done.
pub(crate) const STRATEGY: &str = "Strategy and memory";
/// The heading of options for temporary files.
pub(crate) const DISK: &str = "Temporary disk";
/// The heading of options that write about the run to a file.
pub(crate) const REPORTS: &str = "Reports";
/// The heading of what is left, such as `--help` and the options for messages.
pub(crate) const OTHER: &str = "Other";
/// The headings in their order on every page.
const HEADINGS: [&str; 7] = [RESULT, RECORDS, INPUTS, STRATEGY, DISK, REPORTS, OTHER];

/// The most options of a command that a screen has room for.
const FEW: usize = 20;
/// The options that the short help leaves out, by their names in the code: they are for a few users, or settle what a
/// plan decides well.
const RARE: &str = "\
null name via_of strip_cr decompress count_files keep_order distinct rows buckets bits_per_key hash_key \
hash_key_file filter save_filter max_temp force first_key second_key key_of tsv escape comment header_of trim \
squeeze bad_records key_type progress end_with_parent at_most exactly only pairs compress out_via max_count \
duplicates_format verbose keys_only files_from temp_dir which keep line_bytes machines tasks network disk";

/// Puts the options of all commands below `outset` in the order of [`HEADINGS`], those without a heading first.
///
/// The parser's help and manual pages list headings as their first options come.
pub(crate) fn arranged(outset: Command) -> Command {
    outset.mut_subcommands(with_options_arranged)
}

/// Makes the pages of those commands that `words` name, with their short help. The other pages are not printed, and to
/// make them all would take a third of the time that a small run takes.
pub(crate) fn with_pages_of(outset: Command, words: &[OsString]) -> Command {
    outset.mut_subcommands(|command| {
        let is_named = |name: &str| words.iter().any(|word| word == name);
        if is_named(command.get_name()) || command.get_all_aliases().any(is_named) {
            shortened(with_options_arranged(command))
        } else {
            command
        }
    })
}

/// Arranges the options of a command and of those below it.
fn with_options_arranged(command: Command) -> Command {
    let command = arranged(command);
    if command.get_arguments().all(Arg::is_positional) {
        return command;
    }
    let command = command.disable_help_flag(true).arg(help_flag());
    HEADINGS.into_iter().fold(command, moved_last)
}

/// Makes the option that the parser would add, under a heading.
fn help_flag() -> Arg {
    Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::Help)
        .help_heading(OTHER)
        .help("Print help (see more with '--help')")
        .long_help("Print help (see a summary with '-h')")
}

/// Moves the options under `heading` after all other arguments.
fn moved_last(command: Command, heading: &str) -> Command {
    let arguments = command.get_arguments();
    let under: Vec<Id> = arguments
        .filter(|argument| argument.get_help_heading() == Some(heading))
        .map(|argument| argument.get_id().clone())
        .collect();
    // An argument that is changed becomes the last one.
    let last = |command: Command, id: &Id| command.mut_arg(id, |argument| argument);
    under.iter().fold(command, last)
}

/// Leaves rare options out of the short help of a command and of those below it.
fn shortened(command: Command) -> Command {
    let command = command.mut_subcommands(shortened);
    let is_rare = |argument: &Arg| {
        let mut rare = RARE.split_whitespace();
        !argument.is_positional() && rare.any(|name| argument.get_id() == name)
    };
    if command.get_arguments().count() <= FEW {
        return command;
    }
    let all = command.get_after_help().cloned().unwrap_or_default();
    command
        .mut_args(|argument| {
            let is_hidden = is_rare(&argument);
            argument.hide_short_help(is_hidden)
        })
        .after_long_help(all)
        .after_help(
            "These are the most used options; --help shows all options, with more about each.",
        )
}
