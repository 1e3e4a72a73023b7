//! Exact and approximate side by side: the price of the approximate answer.
//!
//! *Owns:* the order of the runs of a comparison, and which of them points of a sweep share. Each
//! run is the one that [`select`] would make, alone and with all of the memory; nothing of one
//! serves another but the exact result of the same limit, so the times are those of single runs.
//!
//! ```text
//! exact run ────────▶ result ─┐
//!                             ├─▶ lines of one only: the mistakes
//! approximate run ──▶ result ─┘
//! estimate of the inputs ──▶ how many lines could have passed the filter by mistake
//! ```
//!
//! A line that passes a filter by mistake is a false line of an intersection, and missing from a difference or a union:
//! [`Mistake`].
//!
//! *Invariants:* the memory limit holds for each run; the inputs are the same in all of them, or the
//! comparison fails; the mistakes are found by comparing the two results byte by byte.
//!
//! *Cost:* an exact run, an approximate one, `partition` of the two results and, but for a union, one more reading of
//! the inputs; the results on temporary disk.

mod counts;
mod distinct;
mod mistake;
mod parts;
mod report;
mod request;
mod stored;

use std::sync::Arc;
use std::time::Instant;

use self::counts::Counts;
use self::distinct::DistinctLines;
pub use self::mistake::Mistake;
pub use self::report::{Comparison, RunReport};
use self::stored::{Stored, StoredResult};
use crate::engine::{difference_of_results, plan_for, select, temp_space};
use crate::error::Result;
use crate::filter::sizing::blocked_bits_per_key;
use crate::input::{Input, Source};
use crate::lines::LineFormat;
use crate::options::{KeyType, Options, Shared};
use crate::output::Sink;
use crate::plan::{Plan, Strategy};
use crate::selection::Selection;
use crate::stats::Stats;
use crate::sys::machine;
use crate::temp::directories::TempDirectories;
use crate::temp::quota::Quota;
use crate::temp::space::TempSpace;

/// The settings of one comparison that differ from the options of the [`Comparer`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Point {
    /// The memory limit of the process, in bytes. `None`: that of the options.
    pub memory_bytes: Option<u64>,
    /// The filter is to have just as many bits as are predicted to give this rate, 0..1. `None`: as
    /// the options say.
    pub filter_fpr: Option<f64>,
}

/// The plans of both runs of a comparison.
#[derive(Debug)]
pub struct Plans {
    /// The exact run.
    pub exact: Plan,
    /// The approximate run.
    pub approximate: Plan,
}

/// Compares the exact and the approximate way over the same files, at one point or at several.
#[derive(Debug)]
pub struct Comparer<'o> {
    selection: Selection,
    /// The kind of mistake that an approximate result has.
    mistake: Mistake,
    /// The sources that each run opens for itself, as a run alone would.
    sources: Vec<Source>,
    /// The inputs as they were at the start: before each part they must still be the same files, unchanged.
    inputs: Vec<Input>,
    options: &'o Options,
    /// The limit of a point that names none, in bytes: equal for all runs.
    memory_bytes: u64,
    /// The temporary disk of all runs, so that their plans are equal and one cap holds for all their files.
    shared: Shared,
    /// Bytes that the process had resident before the first run.
    resident_bytes: u64,
    /// The space in which results are kept.
    space: Arc<TempSpace>,
    /// The last exact run and the limit that it had, in bytes.
    exact: Option<(u64, Stored, Stats)>,
    /// Once they were estimated.
    distinct: Option<DistinctLines>,
}

/// Finds the lines that `selection` asks for exactly and approximately, and hands each line that the approximate result
/// gets wrong to `mistakes`: what only it has ([`Selection::intersection`], of two files), or what only the exact
/// result has ([`Selection::difference`] and [`Selection::union`]).
///
/// ```
/// use outset::{Options, Selection, Source, compare};
/// # let directory = tempfile::tempdir()?;
/// # let (a, b) = (directory.path().join("a"), directory.path().join("b"));
/// std::fs::write(&a, "apple\nbanana\ncherry\n")?;
/// std::fs::write(&b, "cherry\ndate\n")?;
/// let (inputs, options) = ([Source::from(&a), Source::from(&b)], Options::default());
///
/// let mut false_lines = 0;
/// let found = compare(&inputs, Selection::intersection(), &options, &mut |_: &[u8]| {
///     false_lines += 1;
///     Ok(())
/// })?;
/// assert_eq!((found.exact.stats.output.lines, found.missing_lines), (1, 0));
/// assert_eq!(found.approximate.stats.output.lines, 1 + false_lines);
///
/// let found = compare(&inputs, Selection::difference(), &options, &mut |_: &[u8]| Ok(()))?;
/// assert_eq!((found.exact.stats.output.lines, found.false_lines), (2, 0));
/// assert_eq!(found.approximate.stats.output.lines, 2 - found.missing_lines);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`Comparer::new`] and [`Comparer::compare`].
pub fn compare(
    inputs: &[Source],
    selection: Selection,
    options: &Options,
    mistakes: &mut dyn Sink,
) -> Result<Comparison> {
    Comparer::new(inputs, selection, options)?.compare(Point::default(), mistakes)
}

impl<'o> Comparer<'o> {
    /// Opens and checks the inputs. Of `options`, `strategy` is that of the exact run, and `max_fpr`,
    /// if there is one, the rate above which the approximate run is refused.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) for an input that cannot be read; [`Error::Usage`](crate::Error::Usage)
    /// for one that is not a file, for another number of them, and for a selection or options that make no sense here.
    pub fn new(sources: &[Source], selection: Selection, options: &'o Options) -> Result<Self> {
        let mistake = Mistake::of(selection)?;
        request::check(sources, mistake, options)?;
        let inputs = request::open(sources, options)?;
        let known = options.resident_bytes;
        let resident_bytes = known.unwrap_or_else(machine::resident_bytes);
        let shared = Shared {
            quota: Quota::new(options.max_temp_bytes.unwrap_or(u64::MAX)),
            directories: TempDirectories::new(&options.temp_parents(), &options.interrupt),
        };
        let sharing = Options {
            shared: Some(shared.clone()),
            resident_bytes: Some(resident_bytes),
            ..options.clone()
        };
        let memory = options.memory_bytes;
        Ok(Self {
            selection,
            mistake,
            sources: sources.to_vec(),
            inputs,
            options,
            memory_bytes: memory.unwrap_or_else(machine::default_memory_bytes),
            shared,
            resident_bytes,
            space: Arc::new(temp_space(&sharing)),
            exact: None,
            distinct: None,
        })
    }

    /// Plans the two runs at `point`.
    ///
    /// # Errors
    /// The refusal of a plan, as of [`select`].
    pub fn plans(&self, point: Point) -> Result<Plans> {
        let plan = |options| plan_for(&self.sources, self.selection, &options);
        Ok(Plans {
            exact: plan(self.exact_options(point))?,
            approximate: plan(self.approximate_options(point))?,
        })
    }

    /// Compares at `point`, and hands each line that the approximate result gets wrong to `mistakes`. Where the last
    /// exact run had the same limit it is not repeated.
    ///
    /// # Errors
    /// Any [`Error`](crate::Error).
    pub fn compare(&mut self, point: Point, mistakes: &mut dyn Sink) -> Result<Comparison> {
        let start = Instant::now();
        let limit = self.limit(point);
        let (exact, exact_stats) = match self.exact.take() {
            Some((before, result, stats)) if before == limit => (result, stats),
            // Its file is removed before the next run begins: it must not take its disk.
            outdated => {
                drop(outdated);
                self.run("exact", &self.exact_options(point))?
            }
        };
        let (approximate, approximate_stats) =
            self.run("approximate", &self.approximate_options(point))?;
        let difference = self.difference(point, &approximate, &exact, mistakes)?;
        let counts = Counts {
            operation: self.selection.name(),
            mistake: self.mistake,
            exact: exact_stats.clone(),
            approximate: approximate_stats,
            mistakes: difference.output.lines,
            distinct: self.distinct_lines(point)?,
            seconds: start.elapsed().as_secs_f64(),
            temp_peak_bytes: self.shared.quota.peak_bytes(),
        };
        self.exact = Some((limit, exact, exact_stats));
        Ok(counts.report())
    }

    /// Returns the memory limit at `point`, in bytes.
    fn limit(&self, point: Point) -> u64 {
        point.memory_bytes.unwrap_or(self.memory_bytes)
    }

    /// Returns the options of the exact run at `point`, and of everything that both runs share.
    fn exact_options(&self, point: Point) -> Options {
        Options {
            memory_bytes: Some(self.limit(point)),
            max_fpr: None,
            shared: Some(self.shared.clone()),
            resident_bytes: Some(self.resident_bytes),
            ..self.options.clone()
        }
    }

    /// Returns the options of the approximate run at `point`. A rate of the point is both the bits that the filter gets
    /// and the rate above which the run is refused; the options' own rate is only the latter.
    fn approximate_options(&self, point: Point) -> Options {
        let bits_per_key = |fpr| blocked_bits_per_key(fpr, None);
        Options {
            strategy: Some(Strategy::Bloom),
            max_fpr: point.filter_fpr.or(self.options.max_fpr),
            bits_per_key: point
                .filter_fpr
                .map(bits_per_key)
                .or(self.options.bits_per_key),
            ..self.exact_options(point)
        }
    }

    /// Makes one of the two runs, as if it were alone: with all of the memory, its own plan, and a peak that is
    /// counted from its start.
    ///
    /// # Errors
    /// Those of [`select`]; where the result could not be stored, the reason for that.
    fn run(&self, name: &str, options: &Options) -> Result<(Stored, Stats)> {
        self.begin(name)?;
        machine::restart_peak();
        let mut result = StoredResult::new(&self.space, name, self.options.format.terminator)?;
        let stats = select(&self.sources, self.selection, options, &mut result)
            .map_err(|error| result.failure_or(error))?;
        Ok((result.finish()?, stats))
    }

    /// Hands the lines of one result that the other has not to `mistakes`, by comparing bytes.
    fn difference(
        &self,
        point: Point,
        approximate: &Stored,
        exact: &Stored,
        mistakes: &mut dyn Sink,
    ) -> Result<Stats> {
        self.begin(self.mistake.name())?;
        let options = Options {
            // Results have no CR that the options would strip: one that is still there is part of a line.
            format: LineFormat {
                strip_cr: false,
                ..self.options.line_format()
            },
            // The lines that were written are keys.
            keys: None,
            key_type: KeyType::Bytes,
            buckets: None,
            // The plan of a comparison counts on it.
            strategy: Some(Strategy::Partition),
            ..self.exact_options(point)
        };
        let named = |result: &Stored, name| (Source::from(result.path()), name);
        let approximate = named(approximate, "the approximate result");
        let exact = named(exact, "the exact result");
        let (results, names) = match self.mistake {
            Mistake::FalseLines => ([approximate.0, exact.0], [approximate.1, exact.1]),
            Mistake::MissingLines | Mistake::LostLines => {
                ([exact.0, approximate.0], [exact.1, approximate.1])
            }
        };
        difference_of_results(&results, &names, &options, mistakes)
    }

    /// Estimates the different lines once for all points, because they do not depend on the point.
    fn distinct_lines(&mut self, point: Point) -> Result<DistinctLines> {
        if let Some(known) = &self.distinct {
            return Ok(known.clone());
        }
        if !self.mistake.needs_estimate() {
            return Ok(DistinctLines::default());
        }
        self.begin("distinct lines")?;
        let options = self.exact_options(point);
        let found = DistinctLines::estimated(self.mistake, &self.sources, &self.inputs, &options)?;
        self.distinct = Some(found.clone());
        Ok(found)
    }

    /// Announces the next part of the comparison, after checking that the inputs still are what they were: two
    /// runs over different data cannot be compared.
    fn begin(&self, name: &str) -> Result<()> {
        for input in &self.inputs {
            input.verify()?;
        }
        if let Some(observer) = &self.options.observer {
            observer.part_started(name);
        }
        Ok(())
    }
}
