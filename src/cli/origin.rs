//! The origin of a report: what somebody needs to know to make it once more.
//!
//! *Owns:* [`Origin`], which statistics and pages carry. *Invariants:* a hash key is never in it: reports are passed
//! on. *Cost:* some hundred bytes, of a long command line the beginning alone.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use outset::{Options, machine};
use serde::Serialize;

use super::escaping::{is_hidden, visible};
use super::process::HAS_PROC;

/// The most bytes of a command line that are kept.
const MOST_BYTES: usize = 4096;
/// The most values of an option that are kept.
const MOST_VALUES: usize = 16;
/// The option whose value is a secret.
const SECRET: &str = "--hash-key";
/// The word that stands in its place.
const HIDDEN: &str = "HIDDEN";

/// The values of the options of this process, by their long names, once its arguments are parsed.
static OPTIONS: OnceLock<BTreeMap<String, Vec<String>>> = OnceLock::new();

/// The circumstances of the run that a report is about.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Origin {
    /// The program's version.
    pub(crate) version: &'static str,
    /// The command as it was typed, so that a shell understands it.
    pub(crate) command_line: String,
    /// The values of its options, by their long names: those that were typed, and the defaults that have one.
    pub(crate) options: BTreeMap<String, Vec<String>>,
    /// The moment of its beginning, in UTC: `2026-11-26T08:05:12Z`.
    pub(crate) date: String,
    /// The directory in which it ran.
    pub(crate) directory: String,
    /// The directories of its temporary files, if there were any.
    pub(crate) temp_dirs: Vec<String>,
    /// The machine.
    pub(crate) machine: Machine,
}

/// The machine that a run had to work with.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Machine {
    /// Cores that the process may use.
    pub(crate) cores: usize,
    /// Bytes of memory, all together.
    pub(crate) memory_bytes: u64,
}

/// Statistics, and where they come from.
#[derive(Serialize)]
pub(crate) struct StatsWithOrigin<'a, T: Serialize> {
    #[serde(flatten)]
    pub(crate) stats: &'a T,
    pub(crate) origin: &'a Origin,
}

impl Origin {
    /// Describes this process, whose run began at this time, with temporary files in the directories of the options, or
    /// else in the default ones. Call it when the run's memory is free again.
    pub(crate) fn of(began: SystemTime, temp_dirs: &[PathBuf]) -> Self {
        let seconds = began.duration_since(UNIX_EPOCH);
        let directory = std::env::current_dir().unwrap_or_default();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            command_line: command_line(std::env::args_os()),
            options: OPTIONS.get().cloned().unwrap_or_default(),
            date: utc(seconds.map_or(0, |since| since.as_secs())),
            directory: visible(&directory.display().to_string()),
            temp_dirs: shown(temp_dirs),
            machine: Machine {
                cores: machine::default_threads(),
                memory_bytes: memory_bytes(),
            },
        }
    }
}

/// Returns the temporary directories as they are named, or the default one if none is.
fn shown(temp_dirs: &[PathBuf]) -> Vec<String> {
    let text = |directory: &PathBuf| visible(&directory.display().to_string());
    let options = Options {
        temp_dirs: temp_dirs.to_owned(),
        ..Options::default()
    };
    options.temp_parents().iter().map(text).collect()
}

/// Joins the words of a command as a shell takes them, without the secret; no more than [`MOST_BYTES`] of them.
fn command_line(words: impl ExactSizeIterator<Item = OsString>) -> String {
    let mut line = String::new();
    let mut is_secret = false;
    let count = words.len();
    for (number, word) in words.enumerate() {
        let word = match word.to_string_lossy().split_once('=') {
            _ if is_secret => HIDDEN.to_owned(),
            Some((SECRET, _)) => format!("{SECRET}={HIDDEN}"),
            _ => quoted(&word),
        };
        is_secret = word == SECRET;
        if line.len() + word.len() > MOST_BYTES {
            return format!("{line} ... ({} more words)", count - number);
        }
        if number > 0 {
            line.push(' ');
        }
        line.push_str(&word);
    }
    line
}

/// Quotes a word as a shell takes it; one that is no text, or not visible, as newer shells do: `$'a\012b'`.
fn quoted(word: &OsStr) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./,:=+@%".contains(c);
    match word.to_str().filter(|text| !text.contains(is_hidden)) {
        Some(text) if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        Some(text) => format!("'{}'", text.replace('\'', "'\\''")),
        None => {
            let escaped = word.as_bytes().iter().map(|&byte| match byte {
                b' '..=b'~' if !b"'\\".contains(&byte) => char::from(byte).to_string(),
                _ => format!("\\{byte:03o}"),
            });
            format!("$'{}'", escaped.collect::<String>())
        }
    }
}

/// Keeps the values of the options that the arguments of this process have, for [`Origin::of`]. `matches` are what
/// `command` has found in them.
pub(crate) fn keep_options(command: &Command, matches: &ArgMatches) {
    let _is_first = OPTIONS.set(options(command, matches));
}

/// Lists the values of the options of the command in `matches`.
fn options(mut command: &Command, mut matches: &ArgMatches) -> BTreeMap<String, Vec<String>> {
    while let Some((name, below)) = matches.subcommand() {
        let Some(next) = command.find_subcommand(name) else {
            break;
        };
        (command, matches) = (next, below);
    }
    options_of(command, matches)
}

fn options_of(command: &Command, matches: &ArgMatches) -> BTreeMap<String, Vec<String>> {
    let options = command
        .get_arguments()
        .filter(|argument| !argument.is_positional());
    let values = options.filter_map(|option| {
        let id = option.get_id().as_str();
        let is_typed = matches.value_source(id) == Some(ValueSource::CommandLine);
        if !is_typed && !option.get_action().takes_values() {
            return None;
        }
        let raw = matches.try_get_raw(id).ok()??;
        let values = raw.take(MOST_VALUES);
        let values = values.map(|value| visible(&value.to_string_lossy()));
        let name = match option.get_long() {
            Some(long) => format!("--{long}"),
            None => format!("-{}", option.get_short()?),
        };
        let values = match name.as_str() {
            SECRET => vec![HIDDEN.to_owned()],
            _ => values.collect(),
        };
        Some((name, values))
    });
    values.collect()
}

/// Formats a moment, in seconds since 1970, as a date and time of day.
///
/// *Source:* H. Hinnant, "chrono-compatible low-level date algorithms", `civil_from_days`: years begin in March, so
/// that the day that comes and goes is the last.
fn utc(seconds: u64) -> String {
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Returns the bytes of memory that the system has; 0 where it does not say.
fn memory_bytes() -> u64 {
    if !HAS_PROC {
        // Where nothing else is known, all memory.
        return machine::memory_base_bytes();
    }
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
    let kibibytes = total.and_then(|number| number.parse::<u64>().ok());
    kibibytes.unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use clap::CommandFactory;

    use super::*;
    use crate::cli::arguments::Cli;

    #[test]
    fn moments_are_dates() {
        for (seconds, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_772_323_199, "2026-02-28T23:59:59Z"),
            (1_772_323_200, "2026-03-01T00:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(seconds), date);
        }
    }

    #[test]
    fn a_command_line_is_one_for_a_shell_and_has_no_secret() {
        let line = |words: &[&str]| command_line(words.iter().map(OsString::from));
        assert_eq!(
            line(&["outset", "union", "it's a", "", "-k", "a,b"]),
            r"outset union 'it'\''s a' '' -k a,b"
        );
        assert_eq!(
            line(&["outset", "a\n1's", "\u{202e}é"]),
            r"outset $'a\0121\047s' $'\342\200\256\303\251'"
        );
        let bytes = OsString::from_vec(b"\xff.txt".to_vec());
        assert_eq!(command_line([bytes].into_iter()), r"$'\377.txt'");
        let key = "0".repeat(64);
        let with_equals = format!("--hash-key={key}");
        for words in [
            &["outset", "--hash-key", &key][..],
            &["outset", &with_equals],
        ] {
            let line = line(words);
            assert!(!line.contains("000") && line.contains(HIDDEN), "{line}");
        }
        let long = "x".repeat(1000);
        let line = line(&["outset", &long, &long, &long, &long, &long]);
        assert!(line.ends_with(" ... (1 more words)"), "{line}");
    }

    #[test]
    fn options_are_those_that_were_typed_and_defaults() {
        let words = "outset union -m 64M -q --side a b --hash-key 0000000000000000000000000000000000000000000000000000000000000000";
        let command = Cli::command();
        let matches = command.clone().get_matches_from(words.split(' '));
        let found = options(&command, &matches);
        assert_eq!(found["--memory"], ["64M"]);
        assert_eq!(found["--quiet"], ["true"]);
        assert_eq!(found["--side"], ["a", "b"]);
        assert_eq!(found["--order"], ["any"]);
        assert_eq!(found["--hash-key"], [HIDDEN]);
        assert!(!found.contains_key("--verbose") && !found.contains_key("--output"));
    }
}
