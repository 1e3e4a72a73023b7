//! Filters in files: building, asking, changing and merging them, over any number of huge inputs.
//!
//! *Owns:* the jobs of the `filter` commands: [`build()`], [`query`], [`change()`], [`insert_new`],
//! [`merge()`]. Reading, hashing and dividing memory are those of [`crate::intersect`].
//!
//! *Invariants.*
//! - The memory limit is that of the whole process here, too. A filter that is changed must fit it;
//!   one that is only asked may be larger.
//! - A filter file is replaced as a whole, or stays what it was. If two processes change it at the same
//!   time, one is refused.
//! - Lines are taken by the rules that the filter was built with: what ends them, and how keys are compared. Options
//!   that contradict them are refused.
//!
//! *Cost:* one reading of the inputs, and one of the filter file.
//!
//! ```no_run
//! use outset::filter::StoredFilter;
//! use outset::stored::{BuildRequest, FilterSize, Question, build, query};
//! use outset::{Interrupt, Options, Source};
//!
//! let options = Options { memory_bytes: Some(1 << 30), ..Options::default() };
//! let request = BuildRequest { size: FilterSize::Fpr(0.001), ..BuildRequest::default() };
//! let built = build(&[Source::from("seen.txt")], &request, &options)?;
//! built.filter.save("seen.osf".as_ref(), &Interrupt::new())?;
//!
//! let stored = StoredFilter::open("seen.osf".as_ref())?;
//! let mut unseen = Vec::new();
//! query(stored, &[Source::Stdin], Question::Absent, &options, &mut unseen, "memory")?;
//! # Ok::<(), outset::Error>(())
//! ```

mod ask;
mod build;
mod change;
mod merge;

use std::io::Write;

use crate::error::Result;
use crate::filter::{Rules, StoredFilter};
use crate::input::keying::Keying;
use crate::input::{Input, Source};
use crate::interrupt::Interrupt;
use crate::lines::LineFormat;
use crate::options::Options;
use crate::output::output_error;
use crate::plan::scan_layout;
use crate::run::Run;
use crate::run::survey::{survey_for_filter, tell_findings};
use crate::temp::quota::Quota;
use crate::temp::space::TempSpace;

pub use ask::{Answers, Question, query};
pub use build::{BuildRequest, Built, FilterSize, KeyCount, build};
pub use change::{Change, Changed, change, insert_new};
pub use merge::merge;

/// Returns the options for reading lines as `stored` does: its rules for lines and keys need not be given again.
///
/// # Errors
/// [`crate::Error::Usage`] where the options ask for something else.
fn reading_as(stored: &StoredFilter, options: &Options) -> Result<Options> {
    let rules = stored.rules();
    let mut options = options.clone();
    let asked = options.format;
    options.format = LineFormat {
        // A newline is what nobody has asked for.
        terminator: if asked.terminator == b'\n' {
            rules.format.terminator
        } else {
            asked.terminator
        },
        strip_cr: asked.strip_cr || rules.format.strip_cr,
        ..rules.format
    };
    let form = rules.key_form;
    if form.ignores_case || form.trims || form.squeezes {
        let keys = options.keys.get_or_insert_default();
        keys.ignores_case |= form.ignores_case;
        keys.trims |= form.trims;
        keys.squeezes |= form.squeezes;
    }
    stored.check_reading(options.format, options.key_form())?;
    Ok(options)
}

/// Opens inputs whose lines are asked about or changed in a filter. Records are kept whole: what is written of them are
/// the records.
///
/// # Errors
/// As [`Input::open_all`].
fn open_records(inputs: &[Source], options: &Options) -> Result<Vec<Input>> {
    let mut inputs = Input::open_all(inputs, options.opening())?;
    inputs
        .iter_mut()
        .try_for_each(|input| input.keep_records(true))?;
    Ok(inputs)
}

/// Writes the header of the inputs, if they have one, with `more` after it.
///
/// # Errors
/// [`crate::Error::Output`].
fn write_header(
    inputs: &[Input],
    more: &[u8],
    terminator: u8,
    out: &mut (dyn Write + Send),
    target: &str,
) -> Result<()> {
    let mut headers = inputs.iter().filter_map(Input::keying);
    let with_end = |keying: &Keying| Some((keying.header(true)?, keying.ignores_cr()));
    let Some((header, ignores_cr)) = headers.find_map(with_end) else {
        return Ok(());
    };
    let (names, cr) = before_cr(&header, ignores_cr);
    let header = [names, more, cr, &[terminator]].concat();
    out.write_all(&header)
        .map_err(|error| output_error(target, "cannot write", error))
}

/// Divides a line before the CR that belongs to its line end, if one does: where something follows the line, it comes
/// between the two.
fn before_cr(line: &[u8], ignores_cr: bool) -> (&[u8], &[u8]) {
    let has_cr = ignores_cr && line.ends_with(b"\r");
    line.split_at(line.len() - usize::from(has_cr))
}

/// Calls `work` with a run (threads, a budget, the rules of a filter) for reading `inputs`, which leaves
/// `beside_bytes` of memory to `consumer`. What `work` returns, such as a filter, may hold memory of the run's
/// budget: the budget lives as long as its last reservation.
///
/// # Errors
/// [`crate::Error::MemoryPlan`] where reading leaves less, which names `consumer`; else those of the sample of
/// each input, and of `work`.
fn with_run<R>(
    inputs: &[Input],
    options: &Options,
    rules: Rules,
    consumer: &str,
    beside_bytes: u64,
    work: impl FnOnce(&Run<'_>) -> Result<R>,
) -> Result<R> {
    let job = survey_for_filter(inputs, options)?;
    let layout = scan_layout(&job, consumer, beside_bytes)?;
    // Nothing is spilled: the space is never made.
    let space = TempSpace::new(&[], Quota::new(0), &Interrupt::new());
    // Whatever the keys were inserted from.
    let hasher = rules.hasher.with_quotes(options.key_quotes());
    let result = work(&Run::new(options, layout, hasher, &space))?;
    tell_findings(inputs, options);
    Ok(result)
}
