//! The short help: one screen of what people look for, and a line that says where the rest is.
//!
//! *Owns:* which options `-h` leaves out. *Invariants:* `--help`, manual pages and completions have all of them; the
//! short help of every command has 60 lines at most, as a test holds. *Cost:* none that counts.

use clap::{Arg, Command};

/// The most options of a command that a screen has room for.
const FEW: usize = 20;
/// The options that the short help leaves out, by their names in the code: they are for a few users, or settle what a
/// plan decides well.
const RARE: &[&str] = &[
    "null",
    "strip_cr",
    "decompress",
    "count_files",
    "keep_order",
    "distinct",
    "rows",
    "buckets",
    "bits_per_key",
    "hash_key",
    "hash_key_file",
    "filter",
    "save_filter",
    "max_temp",
    "force",
    "first_key",
    "second_key",
    "key_of",
    "tsv",
    "escape",
    "comment",
    "header_of",
    "trim",
    "bad_records",
    "key_type",
    "progress",
    "at_most",
    "verbose",
    "keys_only",
    "files_from",
    "temp_dir",
    "which",
    "line_bytes",
    "machines",
    "tasks",
    "network",
    "disk",
];

/// Leaves rare options out of the short help of `outset`'s commands.
pub(crate) fn shortened(outset: Command) -> Command {
    outset.mut_subcommands(|command| {
        let command = shortened(command);
        let is_rare = |argument: &Arg| {
            !argument.is_positional() && RARE.contains(&argument.get_id().as_str())
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
                "These are the most used options; --help shows all of them, with more about each.",
            )
    })
}
