//! Every failure that a caller can tell apart.
//!
//! *Owns:* the one error type of the crate. *Invariants:* each message has the form
//! `OBJECT: what happened: what to do about it`, names the path it is about, and fits on one line.
//! [`Error::kind`] groups the variants the way the command line's exit status does.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::size::{display_apart, display_at_least, display_bytes, display_rate};

/// The result of everything that can fail in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The subject of a failure; the command line has an exit status for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Wrong usage, or a request that cannot be met by any machine.
    Usage,
    /// An input cannot be read, or changed during the run.
    Input,
    /// Temporary space: full, unwritable, or over its cap.
    Temp,
    /// The output cannot be written.
    Output,
    /// The memory limit cannot be met.
    Memory,
    /// A damaged or foreign file.
    Damaged,
    /// The run was interrupted from outside.
    Interrupted,
    /// The machine refused something basic (a thread, random bytes).
    Machine,
}

/// A failure of the engine. The run's result is void; nothing is left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request makes no sense, or contradicts itself.
    #[error("{what}: {advice}")]
    Usage {
        /// The fault.
        what: String,
        /// A request that would make sense.
        advice: String,
    },
    /// An input cannot be opened or read.
    #[error("{}: {}: {}", path.display(), Plain(source), advice_for(source, advice))]
    Input {
        /// The input.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
        /// Advice on what to do.
        advice: &'static str,
    },
    /// An input is not the file that was opened at the start.
    #[error("{}: changed while it was being read ({what}): run again when nothing is writing to it", path.display())]
    InputChanged {
        /// The input.
        path: PathBuf,
        /// The difference.
        what: String,
    },
    /// A compressed input is damaged, or has something else after what is compressed.
    #[error("{}: {what}: {advice}", path.display())]
    Undecodable {
        /// The input.
        path: PathBuf,
        /// The fault, and the byte at which it is.
        what: String,
        /// Advice on what to do.
        advice: &'static str,
    },
    /// A record that has no key.
    #[error("{}: the record at {} {what}: {advice}", path.display(), location(*line, *offset))]
    BadRecord {
        /// The input.
        path: PathBuf,
        /// The number of the line on which it starts, from 1, where it can be counted.
        line: Option<u64>,
        /// The byte at which it starts; in a compressed file, counted after decoding.
        offset: u64,
        /// The fault in it.
        what: String,
        /// Advice on what to do.
        advice: &'static str,
    },
    /// An input of which all records were left out, because none has a key.
    #[error("{}: {} left out, because none has a key (one of them {what}): check `keys` and the format, because `BadRecords::Skip` leaves nothing", path.display(), all_lines(*lines))]
    NoRecords {
        /// The input.
        path: PathBuf,
        /// The number of lines that were left out.
        lines: u64,
        /// The fault in one of the records.
        what: String,
    },
    /// A row of a Parquet file whose key cannot be written as a record.
    #[error("{}: the key of row {row} {what}: {advice}", path.display())]
    BadRow {
        /// The file.
        path: PathBuf,
        /// The number of the row, from 0.
        row: u64,
        /// The fault in its key.
        what: &'static str,
        /// Advice on what to do.
        advice: &'static str,
    },
    /// `--key-type ipv4` and a line that is not an address.
    #[error("{}: the line at byte {offset} is not an IPv4 address (\"{line}\"): remove it, or run without `KeyType::Ipv4`", path.display())]
    NotAnAddress {
        /// The input.
        path: PathBuf,
        /// The byte at which the line starts.
        offset: u64,
        /// Its first bytes, escaped.
        line: String,
    },
    /// A line does not fit the memory that the plan has for one line.
    #[error("{}: the line at byte {offset} {} and does not fit in the memory limit: give at least {} of memory{}", path.display(), length(*line_bytes, *longest_bytes), display_at_least(*least_bytes), if *is_quoted { " (perhaps more: a quote is open in it), or close that quote" } else if line_bytes.is_none() { " (perhaps more: the length of the line is not known)" } else { "" })]
    LineTooLong {
        /// The input, or the spill file it is read back from.
        path: PathBuf,
        /// The byte at which the line starts.
        offset: u64,
        /// Its length, where that is known: not of a pipe, whose lines are not read beyond what fits.
        line_bytes: Option<u64>,
        /// True if a quote is still open at the end of what fits, and there is no temporary space in which to look for
        /// the quote that closes it.
        is_quoted: bool,
        /// The longest line that this run can hold.
        longest_bytes: u64,
        /// A memory limit that has room for the line, or for twice what fits now where its length is not known.
        least_bytes: u64,
    },
    /// A temporary file or directory cannot be made, written or read.
    #[error("{}: {what}: {}: {}", path.display(), Plain(source), advice_for(source, advice))]
    Temp {
        /// The file or directory.
        path: PathBuf,
        /// The step that failed.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
        /// Advice on what to do.
        advice: &'static str,
    },
    /// The run needs more temporary space than there is or than it may use.
    #[error("{}: {} of temporary space needed, {} {reason}: {advice}", path.display(), display_apart(*needed_bytes, *limit_bytes).0, display_apart(*needed_bytes, *limit_bytes).1)]
    TempLimit {
        /// The temporary directory.
        path: PathBuf,
        /// Bytes needed at least.
        needed_bytes: u64,
        /// Bytes that there are.
        limit_bytes: u64,
        /// The origin of the limit ("allowed by --max-temp", "free").
        reason: &'static str,
        /// Advice on what to do.
        advice: &'static str,
    },
    /// The result cannot be written or put in place.
    #[error("{target}: {what}: {}: {}", Plain(source), advice_for(source, advice))]
    Output {
        /// The file, or "standard output".
        target: String,
        /// The step that failed.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
        /// Advice on what to do.
        advice: &'static str,
    },
    /// The budget refused a reservation.
    #[error("{consumer}: no room for {} ({} of {} for buffers are in use): give at least {} of memory", display_bytes(*asked_bytes), display_bytes(*used_bytes), display_bytes(*limit_bytes), display_at_least(*least_bytes))]
    Memory {
        /// Who asked.
        consumer: &'static str,
        /// For how much.
        asked_bytes: u64,
        /// Bytes granted before.
        used_bytes: u64,
        /// Bytes that can be granted in all.
        limit_bytes: u64,
        /// A process limit under which this request would have been granted.
        least_bytes: u64,
    },
    /// The plan finds no way to run under the limit.
    #[error("memory limit: {what}: {advice}")]
    MemoryPlan {
        /// The part that does not fit.
        what: String,
        /// A change that would make it fit.
        advice: String,
        /// The least limit that would do; [`u64::MAX`] where none is known that would.
        least_bytes: u64,
    },
    /// The filter would exceed the rate that the user accepts.
    #[error("`max_fpr`: the predicted false-positive rate {} is above {}: {advice}", display_rate(*predicted), display_rate(*accepted))]
    RateTooHigh {
        /// The predicted rate, 0..1.
        predicted: f64,
        /// The accepted rate, 0..1.
        accepted: f64,
        /// Advice on what to do.
        advice: String,
    },
    /// A spill block is not what was written.
    #[error("{}: block {block}: {what}: retry with another `temp_dirs` or on another machine (the disk or the memory is faulty)", path.display())]
    Damaged {
        /// The spill file.
        path: PathBuf,
        /// The number of the block in the file.
        block: u64,
        /// The disagreement.
        what: String,
    },
    /// Lines of an input did not all reach the buckets.
    #[error("{}: {what}: retry on another machine, and report a bug if this happens again (the memory is faulty, or outset has a bug)", path.display())]
    LinesLost {
        /// The input.
        path: PathBuf,
        /// The disagreement.
        what: String,
    },
    /// A filter file cannot be used: damaged, shortened, of another program or a newer version.
    #[error("{}: {what}: {advice}", path.display())]
    BadFilter {
        /// The file.
        path: PathBuf,
        /// The fault in it.
        what: String,
        /// Advice on what to do.
        advice: &'static str,
    },
    /// A stream of frames or a shard file cannot be used: damaged, incomplete, or of another job.
    #[error("{}: byte {offset}: {what}: make the shard again, or send it again", path.display())]
    BadFrames {
        /// The file, or `-` for standard input.
        path: PathBuf,
        /// The byte at which the fault is.
        offset: u64,
        /// The fault.
        what: String,
    },
    /// The reports of the commands of one job do not fit together.
    #[error("{what}: {advice}")]
    Unfinished {
        /// The thing that is missing, or does not agree.
        what: String,
        /// Advice on what to do.
        advice: &'static str,
    },
    /// Interrupted from outside ([`Interrupt`](crate::interrupt::Interrupt)).
    #[error("interrupted: the run was stopped: run it again")]
    Interrupted,
    /// The machine refused something that every run needs.
    #[error("{what}: {advice}")]
    Machine {
        /// The thing that was refused.
        what: String,
        /// Advice on what to do.
        advice: &'static str,
    },
}

impl Error {
    /// Refuses a request: `what` is wrong with it, and `advice` says what to ask instead.
    pub fn usage(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::Usage {
            what: what.into(),
            advice: advice.into(),
        }
    }

    /// Refuses the number of files that `command` was given.
    pub(crate) fn number_of_files(command: &str, given: usize, advice: &str) -> Self {
        let files = match given {
            0 => "no file".to_owned(),
            1 => "one file".to_owned(),
            given => format!("{given} files"),
        };
        Self::usage(format!("{command}: {files} given"), advice)
    }

    /// Returns the group that this failure belongs to.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Usage { .. } => ErrorKind::Usage,
            Self::Input { .. }
            | Self::InputChanged { .. }
            | Self::Undecodable { .. }
            | Self::BadRecord { .. }
            | Self::NoRecords { .. }
            | Self::BadRow { .. }
            | Self::NotAnAddress { .. } => ErrorKind::Input,
            Self::Temp { .. } | Self::TempLimit { .. } => ErrorKind::Temp,
            Self::Output { .. } => ErrorKind::Output,
            Self::LineTooLong { .. }
            | Self::Memory { .. }
            | Self::MemoryPlan { .. }
            | Self::RateTooHigh { .. } => ErrorKind::Memory,
            Self::Damaged { .. }
            | Self::LinesLost { .. }
            | Self::BadFilter { .. }
            | Self::BadFrames { .. }
            | Self::Unfinished { .. } => ErrorKind::Damaged,
            Self::Interrupted => ErrorKind::Interrupted,
            Self::Machine { .. } => ErrorKind::Machine,
        }
    }

    /// Returns the file that the failure is about, if it is about one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Input { path, .. }
            | Self::InputChanged { path, .. }
            | Self::Undecodable { path, .. }
            | Self::BadRecord { path, .. }
            | Self::NoRecords { path, .. }
            | Self::BadRow { path, .. }
            | Self::NotAnAddress { path, .. }
            | Self::LineTooLong { path, .. }
            | Self::Temp { path, .. }
            | Self::TempLimit { path, .. }
            | Self::Damaged { path, .. }
            | Self::LinesLost { path, .. }
            | Self::BadFilter { path, .. }
            | Self::BadFrames { path, .. } => Some(path),
            _ => None,
        }
    }

    /// Returns the line of that file, from 1, where the failure is about one and it can be counted.
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::BadRecord { line, .. } => *line,
            _ => None,
        }
    }

    /// Returns the byte of that file, from 0, at which the fault is, where the failure is about one.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Self::BadRecord { offset, .. }
            | Self::NotAnAddress { offset, .. }
            | Self::LineTooLong { offset, .. }
            | Self::BadFrames { offset, .. } => Some(*offset),
            _ => None,
        }
    }

    /// Returns a memory limit in bytes that is enough, where the limit is the cause and one is known.
    pub fn least_memory_bytes(&self) -> Option<u64> {
        match self {
            Self::Memory { least_bytes, .. }
            | Self::MemoryPlan { least_bytes, .. }
            | Self::LineTooLong { least_bytes, .. } => {
                Some(*least_bytes).filter(|&bytes| bytes < u64::MAX)
            }
            _ => None,
        }
    }

    /// Tells whether the reader of the output went away (a closed pipe): not a failure of the run.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Returns what to do about `source`: the advice for a limit of the process or of the system if it met one, whatever
/// the operation was; otherwise `advice`.
fn advice_for<'a>(source: &io::Error, advice: &'a str) -> &'a str {
    match errno(source) {
        Some(Errno::MFILE) => "raise the limit on open files (ulimit -n)",
        Some(Errno::NFILE) => "close programs that have many files open, or raise fs.file-max",
        _ => advice,
    }
}

/// Returns the number of an error of the system, which libraries may have wrapped to add a path.
fn errno(source: &io::Error) -> Option<Errno> {
    let first: Option<&(dyn StdError + 'static)> = Some(source);
    let mut causes = std::iter::successors(first, |&error| error.source());
    let number = causes.find_map(|error| error.downcast_ref::<io::Error>()?.raw_os_error());
    number.map(Errno::from_raw_os_error)
}

/// Words the start of a record: the number of its line, or its offset in bytes.
fn location(line: Option<u64>, offset: u64) -> String {
    line.map_or_else(|| format!("byte {offset}"), |line| format!("line {line}"))
}

/// Words "all of its lines".
fn all_lines(lines: u64) -> String {
    match lines {
        1 => "its only line was".to_owned(),
        _ => format!("all of its {lines} lines were"),
    }
}

/// Words the length of a line, as far as it is known.
fn length(line_bytes: Option<u64>, longest_bytes: u64) -> String {
    match line_bytes {
        Some(bytes) => format!("is {} long", display_bytes(bytes)),
        None => format!("is longer than {}", display_bytes(longest_bytes)),
    }
}

/// An I/O error without the "(os error N)" that says nothing to a reader.
pub(crate) struct Plain<'a>(pub(crate) &'a io::Error);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        f.write_str(text.split(" (os error").next().unwrap_or(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_line_with_object_reason_and_advice() {
        let error = Error::Input {
            path: "a.txt".into(),
            source: io::Error::from_raw_os_error(2),
            advice: "check the name",
        };
        assert_eq!(
            error.to_string(),
            "a.txt: No such file or directory: check the name"
        );
        assert_eq!(error.kind(), ErrorKind::Input);
    }

    /// An error of the system as libraries wrap it.
    #[derive(Debug, thiserror::Error)]
    #[error("{0} at a path")]
    struct AtPath(#[source] io::Error);

    #[test]
    fn d5_a_limit_of_the_process_gets_its_own_advice_whatever_met_it() {
        let temp = |source: io::Error| {
            let error = Error::Temp {
                path: "t".into(),
                what: "cannot write a spill file",
                source,
                advice: "choose another directory with `temp_dirs`",
            };
            error.to_string()
        };
        let few_files = || io::Error::from(Errno::MFILE);
        assert_eq!(
            temp(few_files()),
            "t: cannot write a spill file: Too many open files: raise the limit on open files (ulimit -n)"
        );
        let wrapped = io::Error::new(few_files().kind(), AtPath(few_files()));
        assert!(temp(wrapped).ends_with("(ulimit -n)"));
        assert!(temp(Errno::NFILE.into()).contains("fs.file-max"));
        assert!(temp(Errno::IO.into()).ends_with("`temp_dirs`"));
    }

    #[test]
    fn a_refused_reservation_tells_what_would_do() {
        let error = Error::Memory {
            consumer: "filter",
            asked_bytes: 8 << 20,
            used_bytes: 10 << 20,
            limit_bytes: 12 << 20,
            least_bytes: 22 << 20,
        };
        assert_eq!(
            error.to_string(),
            "filter: no room for 8 MiB (10 MiB of 12 MiB for buffers are in use): give at least 22 MiB of memory"
        );
    }
}
