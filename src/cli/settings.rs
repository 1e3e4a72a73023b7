//! The options of the command for the settings of the library.
//!
//! *Owns:* the table. A message of the library names a setting as its callers know it, in backticks: `` `max_fpr` ``. A
//! person who typed a command reads `--max-fpr`. *Invariants:* tests hold that every setting that a message names is in
//! the table, and that every option of the table is one of a command. *Cost:* a copy of a message.

use std::io::ErrorKind;

use outset::Error;
use outset::plan::Plan;

/// The names of settings in the library, each with what is typed for it.
const OPTIONS: &[(&str, &str)] = &[
    ("BadRecords::Skip", "--bad-records skip"),
    ("BadRecords::Fail", "--bad-records fail"),
    ("KeyType::Ipv4", "--key-type ipv4"),
    ("Order::Any", "--order any"),
    ("Order::Input", "--order input"),
    ("Order::Sorted", "--order sorted"),
    ("Order::Count", "--order count"),
    ("decompress: false", "--decompress none"),
    ("Strategy::Sieve", "--strategy sieve"),
    ("Strategy::Bloom", "--strategy bloom"),
    ("Selection::difference", "--operation diff"),
    ("Selection::union", "--operation union"),
    ("JobKey", "--hash-key-file"),
    ("hash_key", "--hash-key"),
    ("Syntax::Csv", "--csv"),
    ("Syntax::Delimited(b'\\t')", "--tsv"),
    ("Syntax::JsonLines", "--jsonl"),
    ("fields_of", "--key-of"),
    ("keys", "--key"),
    ("delimiter", "--delimiter"),
    ("headers_of", "--header-of"),
    ("has_header", "--header"),
    ("escape", "--escape"),
    ("comment", "--comment"),
    ("ignores_case", "--ignore-case"),
    ("trims", "--trim"),
    ("squeezes", "--squeeze"),
    ("ranking", "--keep"),
    ("keeping_ranked", "--keep"),
    ("row_numbers", "--rows"),
    ("strip_cr", "--strip-cr"),
    ("temp_dirs", "--temp-dir"),
    ("max_temp_bytes", "--max-temp"),
    ("buckets", "--buckets"),
    ("bucket", "--bucket"),
    ("threads", "--threads"),
    ("bits_per_key", "--bits-per-key"),
    ("stored_filter", "--filter"),
    ("save_filter", "--save-filter"),
    ("strategy", "--strategy"),
    ("max_fpr", "--max-fpr"),
    ("ignore_free_space", "--force"),
    ("at_least", "--at-least"),
    ("at_most", "--at-most"),
    ("exactly", "--exactly"),
    ("only", "--only"),
    ("pairs", "--pairs"),
    ("min_count", "--min-count"),
    ("max_count", "--max-count"),
    ("top", "--top"),
    ("with_all", "--all"),
    ("with_repeats", "--repeats"),
    ("Label::SideCount", "--count-files"),
    ("Label::Count", "--count"),
    ("Label::Sides", "--which"),
    ("with_duplicates", "--duplicates"),
    ("with_duplicate_places", "--duplicates-format map"),
    ("divides_by_file", "--out-dir"),
    ("Listing", "--files-from"),
    ("sides", "--sides"),
    ("Files", "--side"),
    ("Producer", "--via"),
    ("side", "--side"),
    ("selection", "--operation"),
    ("range", "--range"),
    ("shards", "--shards"),
    ("lines", "--lines"),
    ("count", "--machines"),
    ("tasks", "--tasks"),
    ("network_bytes", "--network"),
    ("disk_bytes", "--disk"),
    ("Stats", "--stats"),
    ("hashes", "--hashes"),
    ("size", "--size"),
    ("like", "--like"),
    ("terminator", "-z"),
];

/// Settings that are asked for by leaving out what the library calls so.
const OPPOSITES: &[(&str, &str)] = &[
    ("leave out `of_records`", "add --keys-only"),
    ("without `of_records`", "with --keys-only"),
    ("add `of_records`", "leave out --keys-only"),
    ("leave out `with_repeats` of records", "add --distinct"),
];

/// Names settings in `message` as they are typed.
pub(crate) fn as_typed(message: &str) -> String {
    let replace = |text: String, (from, to): &(&str, &str)| text.replace(from, to);
    let message = OPPOSITES.iter().fold(message.to_owned(), replace);
    let replace =
        |text: String, (name, option): &(&str, &str)| text.replace(&format!("`{name}`"), option);
    OPTIONS.iter().fold(message, replace)
}

/// Leaves the option `--side` out of the advice to someone who gave a directory to a command that does not have it.
pub(crate) fn without_sides(error: Error) -> Error {
    match error {
        Error::Input { path, source, .. } if source.kind() == ErrorKind::IsADirectory => {
            Error::Input {
                path,
                source,
                advice: "name its files",
            }
        }
        other => other,
    }
}

/// Names settings in the reasons of a plan as they are typed.
pub(crate) fn plan_as_typed(mut plan: Plan) -> Plan {
    for rejected in &mut plan.rejected {
        rejected.reason = as_typed(&rejected.reason);
    }
    plan
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    use super::*;
    use crate::cli::arguments::Cli;

    fn has_option(command: &Command, option: &str) -> bool {
        let is_it = |argument: &clap::Arg| {
            argument
                .get_long()
                .is_some_and(|long| option == format!("--{long}"))
                || argument
                    .get_short()
                    .is_some_and(|short| option == format!("-{short}"))
        };
        command.get_arguments().any(is_it)
            || command
                .get_subcommands()
                .any(|below| has_option(below, option))
    }

    #[test]
    fn every_option_that_stands_for_a_setting_is_one_of_a_command() {
        let outset = Cli::command();
        for (name, option) in OPTIONS.iter().chain(OPPOSITES) {
            let words = option.split(' ').find(|word| word.starts_with('-'));
            let word = words.unwrap_or_default();
            assert!(has_option(&outset, word), "{name}: {option}");
        }
    }

    #[test]
    fn settings_are_named_as_options() {
        assert_eq!(
            as_typed("`max_fpr`: no rate: leave out `max_fpr`, or `of_records` of `a b`"),
            "--max-fpr: no rate: leave out --max-fpr, or `of_records` of `a b`"
        );
        assert_eq!(as_typed("leave out `of_records`"), "add --keys-only");
    }
}
