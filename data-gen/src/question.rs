//! The question that outset was asked.
//!
//! *Owns:* the operation with its options, the lines that it selects, and the answer in the manifest.
//! *Invariant:* options mean what they mean to outset. That is written down a second time here, as a check
//! must not share the errors of what it checks.

use clap::ValueEnum;

use crate::answers::{Answers, Holders};
use crate::checksum::OrderFree;
use crate::error::{Error, Result};

/// A command of outset that selects lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Operation {
    /// The lines of all files, or of a given number of them.
    #[default]
    Intersect,
    /// The lines that only the first file has.
    Diff,
    /// The lines of all files together.
    Union,
    /// The lines that exactly one file has.
    Symdiff,
    /// The table of the combinations of files.
    Overlaps,
}

/// An operation with the options that change its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Question {
    /// The command.
    pub operation: Operation,
    /// Repeats are counted as in multisets.
    pub all: bool,
    /// Each line is written as often as the first file has it.
    pub repeats: bool,
    /// The fewest files that have a line; for an intersection only, where `None` means all files, or 1
    /// if `at_most` is given.
    pub at_least: Option<usize>,
    /// The most files that have a line; for an intersection only, where `None` means all files.
    pub at_most: Option<usize>,
}

/// The numbers of files that may have a selected line, and whether the first must be among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bounds {
    least: usize,
    most: usize,
    first: bool,
}

impl Question {
    /// A plain intersect.
    pub const INTERSECT: Self = Self::new(Operation::Intersect);

    /// A plain operation.
    pub const fn new(operation: Operation) -> Self {
        Self {
            operation,
            all: false,
            repeats: false,
            at_least: None,
            at_most: None,
        }
    }

    /// Asks about multisets.
    #[must_use]
    pub const fn with_all(self) -> Self {
        Self { all: true, ..self }
    }

    /// Asks for each line as often as the first file has it.
    #[must_use]
    pub const fn with_repeats(self) -> Self {
        Self {
            repeats: true,
            ..self
        }
    }

    /// Asks for lines that these numbers of files have.
    #[must_use]
    pub const fn within(self, at_least: Option<usize>, at_most: Option<usize>) -> Self {
        Self {
            at_least,
            at_most,
            ..self
        }
    }

    /// Returns a test of whether a result may hold a line that these files have, of `files` files.
    ///
    /// # Errors
    /// [`Error::Usage`] for bounds that no line can meet.
    pub fn selects(&self, files: usize) -> Result<impl Fn(Holders) -> bool> {
        let bounds = self.bounds(files)?;
        // As multisets, a line of several files can be left in a difference.
        let most = if self.all { files } else { bounds.most };
        Ok(move |holders: Holders| {
            (bounds.least..=most).contains(&holders.files) && (holders.first || !bounds.first)
        })
    }

    /// The answer for `files` files.
    ///
    /// # Errors
    /// [`Error::Usage`] for options that do not go together, and for bounds that no line can meet.
    pub fn expected(&self, answers: &Answers, files: usize) -> Result<OrderFree> {
        let selects = self.selects(files)?;
        match (self.all, self.repeats) {
            (false, false) => Ok(answers.sum(selects, |lines| lines.once)),
            (false, true) => {
                self.check_repeats(files)?;
                Ok(answers.sum(selects, |lines| lines.in_first))
            }
            (true, false) => self.multiset(answers, files),
            (true, true) => {
                let problem = "cannot be combined with --all";
                Err(Error::usage("--repeats", problem, "choose one of them"))
            }
        }
    }

    fn check_repeats(&self, files: usize) -> Result<()> {
        let bounds = self.bounds(files)?;
        if bounds.first || bounds.least == files {
            return Ok(());
        }
        let problem =
            "can only be kept by diff, and by intersect without --at-least, --at-most or --exactly";
        let advice = "leave it out, or choose --operation diff or intersect";
        Err(Error::usage("--repeats", problem, advice))
    }

    fn multiset(&self, answers: &Answers, files: usize) -> Result<OrderFree> {
        let bounds = self.bounds(files)?;
        let found = match (bounds.least, bounds.most) {
            (1, 1) if bounds.first => answers.diff_all,
            (least, _) if least == files && files > 1 => answers.intersect_all,
            (1, most) if most == files => Some(answers.sum(|_| true, |lines| lines.in_all)),
            (1, 1) => answers.symdiff_all,
            _ => None,
        };
        found.ok_or_else(|| {
            let problem = format!("is not defined for this operation on {files} files");
            let advice =
                "leave it out, or leave out those options; symdiff takes it for two files only";
            Error::usage("--all", problem, advice)
        })
    }

    fn bounds(&self, files: usize) -> Result<Bounds> {
        let of = |least, most, first| Bounds { least, most, first };
        let bounds = match (self.operation, self.at_least.or(self.at_most)) {
            (Operation::Union, None) => return Ok(of(1, files, false)),
            _ if files < 2 => {
                let problem = "there is one file, and this operation compares files";
                return Err(Error::usage("--operation", problem, "choose union"));
            }
            (Operation::Intersect, None) => of(files, files, false),
            (Operation::Diff, None) => of(1, 1, true),
            (Operation::Symdiff, None) => of(1, 1, false),
            (Operation::Intersect, Some(_)) => {
                let most = self.at_most.unwrap_or(files);
                of(self.at_least.unwrap_or(1), most, false)
            }
            (Operation::Overlaps, _) => {
                let problem = "overlaps gives a table, not lines";
                let advice = "check its table without options for lines";
                return Err(Error::usage("--operation", problem, advice));
            }
            (_, Some(_)) => {
                let problem = "is for --operation intersect only";
                return Err(Error::usage(NUMBERS, problem, "leave it out"));
            }
        };
        if bounds.least < 1 || bounds.least > bounds.most || bounds.most > files {
            let (least, most) = (bounds.least, bounds.most);
            let problem =
                format!("{least} to {most} files cannot be met by a line of {files} files");
            let advice = "give numbers from 1 to that of the files, --at-least the lower one";
            return Err(Error::usage(NUMBERS, problem, advice));
        }
        Ok(bounds)
    }
}

/// The options for numbers of files.
const NUMBERS: &str = "--at-least, --at-most or --exactly";
