//! The arguments of the commands that write selected lines: intersect, diff, union, symdiff.
//!
//! *Owns:* what each of them takes, and the translation to one [`SelectRequest`]. *Invariants:* an option that two of
//! them have is one definition.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use outset::{Error, Interrupt, Label, Options, Order, Result, Selection};

use super::order::OrderArguments;
use crate::cli::exit::EXIT_STATUS;
use crate::cli::help::{REPORTS, RESULT};
use crate::cli::keys::RecordArguments;
use crate::cli::operation::{DIFF_ALIASES, Operation, SYMDIFF_ALIAS, UNION_ALIASES};
use crate::cli::options::TalkArguments;
use crate::cli::outputs::{CompressArguments, OutViaArguments};
use crate::cli::run_options::{
    ChoiceArguments, ForceArguments, RunArguments, StoredFilterArguments,
};
use crate::cli::sides::{FILES, InputArguments, LabelArguments};
use crate::cli::texts::{self, long};

const REPLACED: &str = "\
The result is written to a temporary file beside FILE, which replaces FILE at the end. If the run fails, FILE keeps \
its old content. A FIFO or a device is written directly. `-` is standard output. FILE must not be one of the inputs. \
If the name of FILE ends in .parquet, the first input must be Parquet: a file, or all files of a side, which have the \
same columns. FILE then gets the whole rows of that input whose --key is in the result; a union takes rows of several \
such inputs. If it ends in .gz, .zst, .lz4, .bz2 or .xz, the lines are compressed (see --compress).";
const AS_GREP: &str = "\
`outset diff --repeats log.txt list.txt` writes the same lines as `grep -vxFf list.txt log.txt`, and `outset \
intersect --repeats log.txt list.txt` the same as `grep -xFf list.txt log.txt`. They come in any order, or with \
--order input in the same order, too. With --repeats, diff holds the lines of the other FILEs in memory instead of \
those of the first. This is less work if the first FILE is the largest.";
const ORIGIN: &str = "\
The statistics include the command line, the values of its options, the version, the date, the machine and the \
temporary directories. They never include a hash key. With --out-dir, `files` lists each file with its `lines` and how \
many of them were `written`.";
const PAGE: &str = "\
The page shows the plan, a timeline of the phases, memory use against the limit, bucket sizes, and the data behind \
each chart. With --out-dir, it also lists the files that lost the largest share of their lines. Where occurrences are \
counted, such as with -D, --count, --top or --max-count, it quotes the lines that came most often. It loads nothing from \
the network. It is written only if the run succeeds.";

/// Write the lines that are in every FILE, or in a given number of them.
///
/// Each line is written once, in no particular order (see --order). A line is the bytes before a newline. A last line
/// without a newline counts, and so does an empty line. A file given twice counts as two files; this matters where
/// files or occurrences are counted, such as with --at-least, --which, --count and --min-count. `-` is standard input,
/// and a FILE may be a FIFO. If outset must read such an input twice, it first copies the input to the temporary
/// directory.
#[derive(Debug, Args)]
#[command(
    after_help = EXIT_STATUS,
    mut_arg(FILES, |file| file.help("Two or more files (with --filter, one is enough), each one side of the operation (see --side); `-` is standard input"))
)]
pub(crate) struct IntersectArguments {
    #[command(flatten)]
    pub(crate) sides: SideArguments,

    #[command(flatten)]
    inputs: InputArguments,

    #[command(flatten)]
    pub(crate) set: SetArguments,

    #[command(flatten)]
    pub(crate) filters: StoredFilterArguments,

    #[command(flatten)]
    repeats: RepeatArguments,
}

/// Write the lines of the first FILE that no other FILE has.
///
/// Each line is written once, in no particular order (see --order). `outset diff A A` writes nothing. `-` is standard
/// input, and a FILE may be a FIFO.
#[derive(Debug, Args)]
#[command(
    visible_aliases = DIFF_ALIASES,
    after_help = EXIT_STATUS,
    mut_arg(FILES, |file| file.help("The file whose lines are wanted, then one or more files whose lines are left out; `-` is standard input"))
)]
pub(crate) struct DiffArguments {
    #[command(flatten)]
    inputs: InputArguments,

    #[command(flatten)]
    set: SetArguments,

    #[command(flatten)]
    repeats: RepeatArguments,
}

/// The form in which the repeats are written that a union drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DuplicatesFormat {
    /// The lines or records themselves
    Records,
    /// A line of JSON that says which one it is, and which one is kept
    Map,
}

/// Write every distinct line of the FILEs once.
///
/// The lines come in no particular order (see --order). With one FILE, outset drops all but one occurrence of each
/// line. `-` is standard input, and a FILE may be a FIFO.
#[derive(Debug, Args)]
#[command(
    visible_aliases = UNION_ALIASES,
    after_help = EXIT_STATUS,
    mut_arg(FILES, |file| file.help("One or more files; `-` is standard input"))
)]
pub(crate) struct UnionArguments {
    /// Write the dropped repeats to DROPPED: every occurrence of a line after its first
    ///
    /// The result and DROPPED together contain every occurrence of every line of the FILEs. DROPPED is complete or not
    /// written at all, as with -o.
    #[arg(short = 'D', long, value_name = "DROPPED", conflicts_with_all = ["all", "count_only"])]
    duplicates: Option<PathBuf>,

    /// Write the dropped repeats themselves (`records`), or which they are and what is kept for them (`map`)
    ///
    /// With `map`, DROPPED gets a line of JSON for each occurrence that is dropped, such as
    /// {"file":"b","line":7,"kept":{"file":"a","line":2}}: line 7 of b is dropped, and line 2 of a is kept. Lines are
    /// numbered in their FILE from 1, headers and blank lines included. Rows of Parquet files are numbered from 0, and
    /// have `row` in place of `line`; this needs --out-dir, an output that ends in .parquet, or --rows with one FILE.
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "records",
        requires = "duplicates",
        conflicts_with_all = ["all", "count_only"]
    )]
    duplicates_format: DuplicatesFormat,

    #[command(flatten)]
    inputs: InputArguments,

    #[command(flatten)]
    set: SetArguments,
}

/// Write the lines that are in exactly one FILE.
///
/// Each line is written once, in no particular order (see --order). A line that two or more FILEs have is not written,
/// however many FILEs there are: `outset symdiff A A` writes nothing. `-` is standard input, and a FILE may
/// be a FIFO.
#[derive(Debug, Args)]
#[command(
    visible_alias = SYMDIFF_ALIAS,
    after_help = EXIT_STATUS,
    mut_arg(FILES, |file| file.help("Two or more files, each one side of the operation (see --side); `-` is standard input"))
)]
pub(crate) struct SymdiffArguments {
    #[command(flatten)]
    inputs: InputArguments,

    #[command(flatten)]
    set: SetArguments,
}

/// The number of times that a line is written.
#[derive(Debug, Args)]
#[command(next_help_heading = RESULT)]
pub(crate) struct RepeatArguments {
    #[arg(long, help = texts::REPEATS, long_help = long(texts::REPEATS, AS_GREP), conflicts_with_all = ["all", "count", "distinct", "keep"])]
    repeats: bool,
}

impl RepeatArguments {
    pub(crate) fn add_to(&self, selection: Selection) -> Selection {
        if self.repeats {
            selection.with_repeats()
        } else {
            selection
        }
    }
}

/// In how many files a line must be.
#[derive(Debug, Args)]
pub(crate) struct SideArguments {
    /// Write the lines that are in K files or more [default: all; 1 with --at-most]
    ///
    /// A file given twice counts as two files, here and with --at-most, --exactly and --only.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    at_least: Option<u32>,

    /// Write the lines that are in K files or fewer
    ///
    /// With --at-least J, write the lines that are in J to K files.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    at_most: Option<u32>,

    /// Write the lines that are in exactly K files
    #[arg(long, value_name = "K", conflicts_with_all = ["at_least", "at_most"], value_parser = clap::value_parser!(u32).range(1..))]
    exactly: Option<u32>,

    /// Write the lines of exactly these files: 101 means files 1 and 3, and not file 2
    ///
    /// Takes a digit for each file, at most 64. Those lines are the row with these digits in `outset overlaps`.
    #[arg(long, value_name = "DIGITS", conflicts_with_all = ["at_least", "at_most", "exactly"], value_parser = parse_only)]
    only: Option<Selection>,
}

impl SideArguments {
    /// Returns the lines that the command `operation` writes with these options.
    ///
    /// # Errors
    /// Where it takes none of them.
    pub(crate) fn of(&self, operation: Operation) -> Result<Selection, Error> {
        let by_number = self.selection();
        if operation == Operation::Intersect {
            return Ok(by_number);
        }
        if by_number == Selection::intersection() {
            return Ok(operation.selection());
        }
        Err(Error::usage(
            "--operation: only intersect takes --at-least, --at-most, --exactly and --only",
            "leave them out",
        ))
    }

    /// Returns the lines that are asked for: without an option, those of every file.
    pub(crate) fn selection(&self) -> Selection {
        if let Some(only) = self.only {
            return only;
        }
        match (self.exactly, self.at_least, self.at_most) {
            (Some(sides), _, _) => Selection::exactly(sides),
            (None, Some(least), Some(most)) => Selection::between(least, most),
            (None, Some(least), None) => Selection::at_least(least),
            (None, None, Some(most)) => Selection::at_most(most),
            (None, None, None) => Selection::intersection(),
        }
    }
}

/// Reads a combination of files: a digit for each.
fn parse_only(text: &str) -> Result<Selection, String> {
    let has = |digit| match digit {
        '0' => Ok(false),
        '1' => Ok(true),
        _ => Err(
            "give the digit 1 for each file that must have the lines and 0 for each other one, such as 101",
        ),
    };
    let has: Result<Vec<bool>, _> = text.chars().map(has).collect();
    Ok(Selection::only(&has?))
}

/// The form in which each line is written.
#[derive(Debug, Args)]
#[command(next_help_heading = RESULT)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct WrittenArguments {
    /// Before each line, write one digit per file and a tab: 101 means that files 1 and 3 have the line
    ///
    /// Takes at most 64 files. A file given twice has two digits. If records have delimiters, the digits are the
    /// first field (in CSV in quotes, so that no program reads them as a number). The numbers of --count-files and
    /// --count are the first field as well.
    #[arg(long)]
    which: bool,

    /// Before each line, write the number of files that have it, then a tab
    #[arg(long, conflicts_with = "which")]
    count_files: bool,

    /// Before each line, write its total number of occurrences in all files, then a tab
    #[arg(short, long, conflicts_with_all = ["which", "count_files"])]
    count: bool,

    /// Write only lines that occur N times or more, in all files together
    ///
    /// `outset union --min-count 2 file` writes the lines that `sort file | uniq -d` writes. Records with the same key
    /// are counted together.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    min_count: Option<u64>,

    /// Write only lines that occur N times or fewer, in all files together
    ///
    /// `outset union --max-count 1 file` writes the lines that `sort file | uniq -u` writes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_count: Option<u64>,

    /// Treat the files as multisets, as `comm` and SQL's ALL do, instead of writing each line once
    ///
    /// If A has a line three times and B has it once, intersect writes it once, diff twice, union four times, and
    /// symdiff (of two files) twice.
    #[arg(long, conflicts_with_all = ["which", "count_files", "count"])]
    all: bool,
}

impl WrittenArguments {
    /// Tells whether the files are multisets, so that every line with a key counts for the same one.
    pub(crate) fn is_multiset(&self) -> bool {
        self.all
    }

    fn label(&self) -> Label {
        match (self.which, self.count_files, self.count) {
            (true, _, _) => Label::Sides,
            (_, true, _) => Label::SideCount,
            (_, _, true) => Label::Count,
            _ => Label::None,
        }
    }

    /// Returns the selection with the label, the bounds and the repeats that these arguments ask for.
    pub(crate) fn add_to(&self, selection: Selection) -> Selection {
        let selection = selection.labelled(self.label());
        let selection = match self.min_count {
            Some(count) => selection.min_count(count),
            None => selection,
        };
        let selection = match self.max_count {
            Some(count) => selection.max_count(count),
            None => selection,
        };
        if self.all {
            selection.with_all()
        } else {
            selection
        }
    }
}

/// The options that all of the commands take.
#[derive(Debug, Args)]
pub(crate) struct SetArguments {
    #[arg(short, long, help = texts::OUTPUT, long_help = long(texts::OUTPUT, REPLACED), value_name = "FILE", help_heading = RESULT)]
    pub(super) output: Option<PathBuf>,

    #[command(flatten)]
    pub(super) out_via: OutViaArguments,

    /// Write one file below DIR for each file that lines come from
    ///
    /// `outset union --side crawl/ --out-dir clean` writes clean/a/1.jsonl.zst for crawl/a/1.jsonl.zst: the lines of
    /// that file that are in the result, in their order, and compressed as the name says (see --compress). If files
    /// have headers, each file begins with that of the first. Names are kept below the deepest directory that contains
    /// every FILE and PATH whose lines are written: only those of the first side for diff, and for an intersect of
    /// lines that every side has. A file of which no line is left is there, too, without lines. For a Parquet file
    /// there is one with its rows that stay. With --via, each output has a file that is called as its FILE or PATH.
    ///
    /// DIR must not exist, or be empty. It appears when everything in it is on the disk, or not at all. Inputs are
    /// never changed: there is no way to deduplicate in place, because a run that fails half-way would have lost lines.
    /// To replace the inputs, move DIR to their place afterwards.
    ///
    /// With --out-via, COMMAND takes the files, one after the other: it runs once for each, and DIR is only the front
    /// of the names that take the place of {}. If the run fails, what was sent before stays there.
    #[arg(long, value_name = "DIR", help_heading = RESULT, conflicts_with_all = ["output", "count_only", "which", "count_files", "count", "all", "top", "order"])]
    pub(super) out_dir: Option<PathBuf>,

    #[command(flatten)]
    pub(super) compress: CompressArguments,

    #[arg(long, help = texts::COUNT_ONLY, help_heading = RESULT, conflicts_with_all = ["which", "count_files", "count", "top"])]
    pub(super) count_only: bool,

    #[command(flatten)]
    labels: LabelArguments,

    #[command(flatten)]
    written: WrittenArguments,

    #[command(flatten)]
    pub(super) order: OrderArguments,

    #[command(flatten)]
    records: RecordArguments,

    #[command(flatten)]
    choice: ChoiceArguments,

    #[command(flatten)]
    pub(crate) run: RunArguments,

    #[command(flatten)]
    force: ForceArguments,

    #[arg(long, help = texts::STATS, long_help = long(texts::STATS, ORIGIN), value_name = "FILE", help_heading = REPORTS)]
    pub(super) stats: Option<PathBuf>,

    #[arg(long, help = texts::REPORT, long_help = long(texts::REPORT, PAGE), value_name = "FILE", help_heading = REPORTS)]
    pub(super) report: Option<PathBuf>,

    #[command(flatten)]
    pub(super) talk: TalkArguments,
}

impl SetArguments {
    /// Returns the options that these arguments ask for.
    fn options(&self, interrupt: &Interrupt) -> Options {
        let output = self.out_via.local(self.output.as_deref());
        let options = self.run.options(output, interrupt);
        let options = self
            .order
            .add_to_options(self.records.add_to_options(options));
        self.force.add_to(self.choice.add_to(options))
    }

    /// Tells whether the statistics go to standard error.
    pub(super) fn reports_on_stderr(&self) -> bool {
        self.stats.as_deref() == Some(Path::new("-"))
    }
}

/// The task of one of the commands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SelectRequest<'a> {
    /// The rule for the lines that are written, and their label.
    pub(crate) selection: Selection,
    /// The sides.
    pub(crate) inputs: &'a InputArguments,
    pub(super) set: &'a SetArguments,
    pub(super) filters: Option<&'a StoredFilterArguments>,
    /// The destination of lines that the result drops.
    pub(super) duplicates: Option<&'a Path>,
}

impl<'a> SelectRequest<'a> {
    fn new(selection: Selection, inputs: &'a InputArguments, set: &'a SetArguments) -> Self {
        let selection = set.written.add_to(selection);
        let keys = &set.run.lines.reading.keys;
        let is_multiset = set.written.is_multiset();
        let selection = set.records.add_to(selection, keys, is_multiset);
        let selection = set.order.keep(selection);
        Self {
            selection: match set.out_dir {
                Some(_) => selection.ordered(Order::Input),
                // Numbers have no order.
                None if set.count_only => selection,
                None => set.order.add_to(selection),
            },
            inputs,
            set,
            filters: None,
            duplicates: None,
        }
    }

    /// Tells whether whole records are written, as they are, and in no other order than that of the inputs.
    #[cfg(feature = "parquet")]
    pub(super) fn writes_plain_records(&self) -> bool {
        let has_labels = self.set.written.label() != Label::None;
        !(has_labels || self.set.order.sorts_lines() || self.set.records.writes_keys())
    }

    /// Returns the options of the run.
    ///
    /// # Errors
    /// [`Error::Usage`](outset::Error::Usage) for labels of sides that are not there.
    pub(crate) fn options(&self, interrupt: &Interrupt) -> Result<Options> {
        let options = Options {
            labels: self.set.labels.labels(self.inputs)?,
            ..self.set.options(interrupt)
        };
        Ok(match self.filters {
            Some(filters) => filters.add_to(options),
            None => options,
        })
    }
}

impl IntersectArguments {
    pub(crate) fn request(&self) -> SelectRequest<'_> {
        SelectRequest {
            filters: Some(&self.filters),
            ..SelectRequest::new(
                self.repeats.add_to(self.sides.selection()),
                &self.inputs,
                &self.set,
            )
        }
    }
}

impl DiffArguments {
    pub(crate) fn request(&self) -> SelectRequest<'_> {
        let selection = self.repeats.add_to(Selection::difference());
        SelectRequest::new(selection, &self.inputs, &self.set)
    }
}

impl UnionArguments {
    pub(crate) fn request(&self) -> SelectRequest<'_> {
        let selection = match (&self.duplicates, self.duplicates_format) {
            (None, _) => Selection::union(),
            (Some(_), DuplicatesFormat::Records) => Selection::union().with_duplicates(),
            (Some(_), DuplicatesFormat::Map) => Selection::union().with_duplicate_places(),
        };
        SelectRequest {
            duplicates: self.duplicates.as_deref(),
            ..SelectRequest::new(selection, &self.inputs, &self.set)
        }
    }
}

impl SymdiffArguments {
    pub(crate) fn request(&self) -> SelectRequest<'_> {
        SelectRequest::new(Selection::symmetric_difference(), &self.inputs, &self.set)
    }
}
