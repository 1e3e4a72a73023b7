//! Exact and approximate beside each other: what the approximate answer would have cost.
//!
//! *Owns:* the order of the runs of a comparison, and which of them points of a sweep share. Each
//! run is the one that [`intersect`] would make, alone and with all of the memory; nothing of one
//! serves another but the exact result of the same limit, so the times are those of single runs.
//!
//! ```text
//! exact run ────────▶ result ─┐
//!                             ├─▶ lines of the second only: the false ones
//! approximate run ──▶ result ─┘
//! estimate of both inputs ──▶ how many lines could have passed by mistake
//! ```
//!
//! *Invariants:* the memory limit holds for each run; the inputs are the same in all of them, or the
//! comparison fails; the false lines are found by comparing the two results byte by byte.
//!
//! *Cost:* an exact run, an approximate one, `partition` of the two results and one more reading of
//! the inputs; the results on temporary disk.

mod report;
mod stored;

use std::sync::Arc;
use std::time::Instant;

use self::report::Counts;
pub use self::report::{Comparison, RunReport};
use self::stored::{Stored, StoredResult};
use crate::engine::{difference_of_results, intersect, plan_for, temp_space};
use crate::error::{Error, Result};
use crate::estimate::{Bounds, estimate};
use crate::filter::sizing::blocked_bits_per_key;
use crate::input::lines::LineFormat;
use crate::input::{Input, Source};
use crate::options::{KeyType, Options, Shared};
use crate::output::Sink;
use crate::plan::Strategy;
use crate::plan::{self, InputShape, Plan};
use crate::run::temp_parents;
use crate::selection::Selection;
use crate::stats::Stats;
use crate::sys::machine;
use crate::temp::places::Places;
use crate::temp::quota::Quota;
use crate::temp::space::TempSpace;

/// Where a comparison is made: what differs from the options of the [`Comparer`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Point {
    /// The memory limit of the process, in bytes. `None`: that of the options.
    pub memory_bytes: Option<u64>,
    /// The filter is to have just as many bits as are predicted to give this rate, 0..1. `None`: as
    /// the options say.
    pub filter_fpr: Option<f64>,
}

/// What each of the two runs is going to do.
#[derive(Debug)]
pub struct Plans {
    /// The exact run.
    pub exact: Plan,
    /// The approximate run.
    pub approximate: Plan,
}

/// Compares the exact and the approximate way over two files, at one point or at several.
#[derive(Debug)]
pub struct Comparer<'o> {
    /// What each run opens for itself, as a run alone would.
    sources: Vec<Source>,
    /// The same files as they were at the start: before each part they must still be that.
    inputs: Vec<Input>,
    options: &'o Options,
    /// The limit of a point that names none, in bytes: equal for all runs.
    memory_bytes: u64,
    /// What all runs have in common, so that their plans are equal and one cap holds for all their files.
    shared: Shared,
    /// Where results are kept.
    space: Arc<TempSpace>,
    /// The last exact run and the limit that it had, in bytes.
    exact: Option<(u64, Stored, Stats)>,
    /// For each input, once it was estimated. Empty where that was impossible.
    different_lines: Option<Vec<Bounds>>,
}

/// Runs the exact and the approximate way over two files, and hands each line that only the
/// approximate result has to `false_lines`.
///
/// ```
/// use outset::{Options, Source, compare};
/// # let place = tempfile::tempdir()?;
/// # let (a, b) = (place.path().join("a"), place.path().join("b"));
/// std::fs::write(&a, "apple\nbanana\ncherry\n")?;
/// std::fs::write(&b, "cherry\ndate\n")?;
///
/// let mut false_lines = 0;
/// let found = compare(&[Source::from(&a), Source::from(&b)], &Options::default(), &mut |_: &[u8]| {
///     false_lines += 1;
///     Ok(())
/// })?;
/// assert_eq!((found.exact.stats.output.lines, found.missing_lines), (1, 0));
/// assert_eq!(found.approximate.stats.output.lines, 1 + false_lines);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Any [`Error`]; [`Error::Usage`] where an input is not a file, for each is read several times.
pub fn compare(
    inputs: &[Source],
    options: &Options,
    false_lines: &mut dyn Sink,
) -> Result<Comparison> {
    Comparer::new(inputs, options)?.compare(Point::default(), false_lines)
}

impl<'o> Comparer<'o> {
    /// Opens and checks the inputs. Of `options`, `strategy` is that of the exact run, and `max_fpr`,
    /// if there is one, the rate above which the approximate run is refused.
    ///
    /// # Errors
    /// [`Error::Input`] for an input that cannot be read; [`Error::Usage`] for one that is not a
    /// file, for other than two, and for options that make no sense here.
    pub fn new(sources: &[Source], options: &'o Options) -> Result<Self> {
        check_options(sources, options)?;
        let inputs = Input::open_all(sources)?;
        if let Some(input) = inputs.iter().find(|input| !input.is_file()) {
            return Err(usage(
                &format!(
                    "{}: a comparison reads it several times",
                    input.name().display()
                ),
                "write it to a file first",
            ));
        }
        let shared = Shared {
            resident_bytes: machine::resident_bytes(),
            quota: Quota::new(options.max_temp_bytes.unwrap_or(u64::MAX)),
            places: Places::new(&temp_parents(options), &options.interrupt),
        };
        let sharing = Options {
            shared: Some(shared.clone()),
            ..options.clone()
        };
        let memory = options.memory_bytes;
        Ok(Self {
            sources: sources.to_vec(),
            inputs,
            options,
            memory_bytes: memory.unwrap_or_else(machine::default_memory_bytes),
            shared,
            space: Arc::new(temp_space(&sharing)),
            exact: None,
            different_lines: None,
        })
    }

    /// What the two runs are going to do at `point`.
    ///
    /// # Errors
    /// The refusal of a plan, as of [`intersect`].
    pub fn plans(&self, point: Point) -> Result<Plans> {
        Ok(Plans {
            exact: plan_for(
                &self.sources,
                Selection::intersection(),
                &self.exact_options(point),
            )?,
            approximate: plan_for(
                &self.sources,
                Selection::intersection(),
                &self.approximate_options(point),
            )?,
        })
    }

    /// How many bytes each part of comparisons at `points`, one after the other, is expected to go
    /// through; the parts are those that [`part_started`](crate::Observer::part_started) announces.
    ///
    /// # Errors
    /// The first refusal of a plan: a sweep is refused as a whole, before its first point has cost time.
    pub fn expected_bytes(&self, points: &[Point]) -> Result<Vec<u64>> {
        let phases = |plan: &Plan| plan.phases.iter().map(|phase| phase.bytes_read).sum();
        let inputs = self.inputs.iter().filter_map(Input::bytes).sum();
        let mut parts = Vec::new();
        // As `compare` does: the exact run is made again only where the limit changes.
        let mut before = None;
        for &point in points {
            let plans = self.plans(point)?;
            let limit = self.limit(point);
            if before.replace(limit) != Some(limit) {
                parts.push(phases(&plans.exact));
            }
            // What passes the filter is what the join of that run reads; it is read again, spilled
            // and joined, with the exact result beside it.
            let passed = plans.approximate.phases.iter();
            let passed = passed.filter(|phase| phase.name == "join");
            let passed: u64 = passed.map(|phase| phase.bytes_read).sum();
            parts.extend([phases(&plans.approximate), 3 * passed]);
            // The different lines are estimated once, at the first point.
            if parts.len() == 3 {
                parts.push(inputs);
            }
        }
        Ok(parts)
    }

    /// Compares at `point`, and hands each line that only the approximate result has to
    /// `false_lines`. Where the last exact run had the same limit it is not repeated.
    ///
    /// # Errors
    /// Any [`Error`].
    pub fn compare(&mut self, point: Point, false_lines: &mut dyn Sink) -> Result<Comparison> {
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
        let difference = self.difference(point, &approximate, &exact, false_lines)?;
        let counts = Counts {
            exact: exact_stats.clone(),
            approximate: approximate_stats,
            false_lines: difference.output.lines,
            different_lines: self.different_lines(point)?,
            build: self.build(),
            seconds: start.elapsed().as_secs_f64(),
            temp_peak_bytes: self.shared.quota.peak_bytes(),
        };
        self.exact = Some((limit, exact, exact_stats));
        Ok(counts.report())
    }

    /// The memory limit at `point`, in bytes.
    fn limit(&self, point: Point) -> u64 {
        point.memory_bytes.unwrap_or(self.memory_bytes)
    }

    /// The options of the exact run at `point`, and of everything that both runs share.
    fn exact_options(&self, point: Point) -> Options {
        Options {
            memory_bytes: Some(self.limit(point)),
            max_fpr: None,
            shared: Some(self.shared.clone()),
            ..self.options.clone()
        }
    }

    /// The options of the approximate run at `point`. A rate of the point is both the bits that the filter gets
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
    /// Those of [`intersect`]; where the result could not be stored, the reason for that.
    fn run(&self, name: &str, options: &Options) -> Result<(Stored, Stats)> {
        self.begin(name)?;
        machine::restart_peak();
        let mut result = StoredResult::new(&self.space, name, self.options.format.terminator)?;
        let stats = intersect(&self.sources, options, &mut result)
            .map_err(|error| result.failure_or(error))?;
        Ok((result.finish()?, stats))
    }

    /// Hands the lines that `approximate` has and `exact` has not to `false_lines`, by comparing bytes.
    fn difference(
        &self,
        point: Point,
        approximate: &Stored,
        exact: &Stored,
        false_lines: &mut dyn Sink,
    ) -> Result<Stats> {
        self.begin("false lines")?;
        let options = Options {
            // Results have no CR that the options would strip: one that is still there is part of a line.
            format: LineFormat {
                strip_cr: false,
                ..self.options.format
            },
            key_type: KeyType::Bytes,
            buckets: None,
            // The plan of a comparison counts on it.
            strategy: Some(Strategy::Partition),
            ..self.exact_options(point)
        };
        let results = [Source::from(approximate.path()), Source::from(exact.path())];
        let names = ["the approximate result", "the exact result"];
        difference_of_results(&results, &names, &options, false_lines)
    }

    /// How many different lines each input has. They do not depend on the point.
    fn different_lines(&mut self, point: Point) -> Result<Vec<Bounds>> {
        if let Some(known) = &self.different_lines {
            return Ok(known.clone());
        }
        self.begin("distinct lines")?;
        let bounds = match estimate(&self.sources, &self.exact_options(point)) {
            Ok(found) => found.inputs.iter().map(|input| input.distinct).collect(),
            // A line or a limit that the two runs could deal with, but that leaves no room for a sketch. The
            // comparison goes on; rates that need the number of different lines are not reported.
            Err(Error::LineTooLong { .. } | Error::Memory { .. } | Error::MemoryPlan { .. }) => {
                Vec::new()
            }
            Err(error) => return Err(error),
        };
        self.different_lines = Some(bounds.clone());
        Ok(bounds)
    }

    /// Which input goes into the filter.
    fn build(&self) -> usize {
        let shape = |input: &Input| InputShape {
            bytes: input.bytes(),
            lines: None,
            distinct_lines: None,
            is_cached: false,
        };
        let shapes: Vec<InputShape> = self.inputs.iter().map(shape).collect();
        plan::smallest(&shapes)
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

/// Refuses what no comparison can do.
///
/// # Errors
/// [`Error::Usage`] for a number of inputs other than two, for `bloom` as the exact run, and for stored filters.
fn check_options(sources: &[Source], options: &Options) -> Result<()> {
    if sources.len() != 2 {
        let given = format!("inputs: {} given", sources.len());
        return Err(usage(&given, "give two files"));
    }
    if options.strategy == Some(Strategy::Bloom) {
        return Err(usage(
            "strategy: bloom is not exact, and --strategy sets the exact run",
            "name an exact strategy, or leave out --strategy",
        ));
    }
    if options.stored_filter.is_some() || options.save_filter.is_some() {
        return Err(usage(
            "filter: compare does not use or save stored filters",
            "use intersect instead",
        ));
    }
    Ok(())
}

fn usage(what: &str, advice: &str) -> Error {
    Error::Usage {
        what: what.to_owned(),
        advice: advice.to_owned(),
    }
}
