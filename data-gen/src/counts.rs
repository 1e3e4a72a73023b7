//! The number of lines of each kind in each file.
//!
//! *Owns:* turning shares into counts, and refusing what cannot be.
//!
//! *Invariants.* In each file the distinct lines, repeats, hot and empty lines add up to its lines;
//! a file with lines has at least one distinct line that is not empty. Each distinct line of a file
//! occurs at least once outside the repeats, so the counts of distinct lines are exact.

use crate::error::{Error, Result};
use crate::identity::{Class, Identity, MAX_FILES};
use crate::options::{Crlf, Options, Terminator};

/// The counts of a whole run.
#[derive(Debug, Clone)]
pub(crate) struct Counts {
    /// Distinct lines that every file has, without the empty one.
    pub(crate) common: u64,
    /// Distinct lines of each class that one file lacks.
    pub(crate) all_but_one: u64,
    /// One for each file.
    pub(crate) files: Vec<FileCounts>,
}

/// The counts of one file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileCounts {
    pub(crate) lines: u64,
    /// Distinct lines that are not empty.
    pub(crate) distinct: u64,
    pub(crate) repeats: u64,
    pub(crate) hot: u64,
    pub(crate) empty: u64,
}

impl Counts {
    /// The counts that `options` ask for.
    pub(crate) fn new(options: &Options) -> Result<Self> {
        check(options)?;
        let files: Vec<FileCounts> = options
            .lines
            .iter()
            .map(|&lines| FileCounts::new(options, lines))
            .collect();
        let least = files.iter().map(|file| file.distinct).min().unwrap_or(0);
        // What a single file has is what all files have.
        let common = if files.len() == 1 {
            least
        } else {
            options.common.of(least)
        };
        if common > least {
            let problem = format!(
                "{common} lines are more than the {least} distinct lines of the smallest file"
            );
            return Err(Error::usage(
                "--common",
                problem,
                "ask for fewer, or for larger files",
            ));
        }
        let others = files.len() as u64 - 1;
        let all_but_one = if others < 2 {
            0
        } else {
            options.partial.of(least).min(least - common) / others
        };
        let counts = Self {
            common,
            all_but_one,
            files,
        };
        counts.check_last_lines(options)?;
        Ok(counts)
    }

    /// The last line of a file with CR LF that lacks its terminator lacks the CR, too. To leave the
    /// manifest exact byte for byte, that line is in one file only and occurs just once.
    fn check_last_lines(&self, options: &Options) -> Result<()> {
        for (file, counts) in self.files.iter().enumerate() {
            let cut = !options.final_newline && options.crlf.is_in(file) && counts.lines > 0;
            let own = if self.files.len() == 1 {
                counts.distinct
            } else {
                self.private(file)
            };
            if cut && own < 2 {
                let problem = "with CR LF the last line must be one that only its file has, and there is none";
                let advice = "lower --common and --partial so that each file has two private lines";
                return Err(Error::usage("--no-final-newline", problem, advice));
            }
        }
        Ok(())
    }

    /// Distinct lines in all files but one that `file` has.
    pub(crate) fn partial(&self) -> u64 {
        (self.files.len() as u64 - 1) * self.all_but_one
    }

    /// Distinct lines that only `file` has.
    pub(crate) fn private(&self, file: usize) -> u64 {
        self.files[file].distinct - self.common - self.partial()
    }

    /// No class has more lines than this.
    pub(crate) fn indexes(&self) -> u64 {
        self.files
            .iter()
            .map(|file| file.distinct)
            .max()
            .unwrap_or(0)
    }

    /// Tells whether every file has an empty line.
    pub(crate) fn empty_is_common(&self) -> bool {
        self.files.iter().all(|file| file.empty > 0)
    }

    /// Tells whether the run has a line with this identity.
    pub(crate) fn contains(&self, identity: Identity) -> bool {
        let count = match identity.class {
            Class::Common => self.common,
            Class::Private(file) if (file as usize) < self.files.len() => {
                self.private(file as usize)
            }
            Class::AllBut(file) if (file as usize) < self.files.len() => self.all_but_one,
            Class::Private(_) | Class::AllBut(_) => 0,
        };
        identity.index < count
    }
}

impl FileCounts {
    fn new(options: &Options, lines: u64) -> Self {
        // One distinct line comes first; then empty, hot and repeated lines as far as there is room.
        let mut room = lines.saturating_sub(1);
        let mut take = |wanted: u64| {
            let taken = wanted.min(room);
            room -= taken;
            taken
        };
        let least_empty = u64::from(!options.empty_lines.is_zero());
        let empty = take(options.empty_lines.of(lines).max(least_empty));
        let hot = take(options.hot.of(lines));
        let repeats = take(options.duplicates.of(lines));
        Self {
            lines,
            distinct: lines - empty - hot - repeats,
            repeats,
            hot,
            empty,
        }
    }
}

/// Refuses options that no counts can meet.
fn check(options: &Options) -> Result<()> {
    let files = options.lines.len();
    if !(1..=MAX_FILES).contains(&files) {
        let problem = format!("{files} files");
        return Err(Error::usage("--files", problem, "use 1 to 1000"));
    }
    if options.lines.iter().any(|&lines| lines > 1 << 50) {
        let problem = "more than 2^50 lines in a file";
        return Err(Error::usage("--lines", problem, "use fewer"));
    }
    if options
        .zipf
        .is_some_and(|exponent| !(0.01..=20.0).contains(&exponent))
    {
        let problem = "the exponent is out of range";
        return Err(Error::usage("--zipf", problem, "use 0.01 to 20"));
    }
    if let Crlf::Only(file) = options.crlf
        && (file as usize >= files || file > 25)
    {
        let problem = "there is no such file";
        return Err(Error::usage(
            "--crlf",
            problem,
            "use the letter of one of the files, all, or none",
        ));
    }
    if options.crlf != Crlf::None && options.terminator == Terminator::Nul {
        let problem = "carriage returns go with line feeds only";
        return Err(Error::usage(
            "--crlf",
            problem,
            "leave it out or use --terminator lf",
        ));
    }
    Ok(())
}
