//! `outset compare`: the exact and the approximate way over the same files, and how they differ.
//!
//! *Owns:* the arguments, the order of the points of a sweep ([`sweep`]), and the report as text
//! ([`table`]) and as JSON. *Invariants:* every point is planned before the first is run; where a
//! sweep fails nevertheless, the points before are shown. *Cost:* that of
//! [`outset::compare`](mod@outset::compare), for each point.

mod sweep;
mod table;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use outset::compare::{Comparer, Comparison, Plans, Point};
use outset::size::parse_rate;
use outset::{CountSink, Interrupt, Options, Result, Sink, Source, Strategy, WriteSink};
use serde::Serialize;

use super::arguments::{ForceArguments, RunArguments};
use super::options::TalkArguments;
use super::outputs::{Claims, Outputs, ResultFile};
use super::print::print;
use super::progress::Reporter;
use super::sides::{FILES, InputArguments};
use sweep::Sweep;

/// Intersect two files exactly and approximately, and show how the results differ.
///
/// The exact run comes first, then the approximate one (--strategy bloom), both under the same memory
/// limit. The output compares the number of common lines with the number of lines that passed the
/// filter and the false ones among them. It shows the false-positive rate as measured, as predicted,
/// and as computed from the filter's fill; the precision; and the seconds, bytes, temporary disk and
/// peak memory of each run.
///
/// The measured rate is the number of false lines divided by the number of distinct lines of the larger
/// file that are not common. Up to 65536 distinct lines are counted exactly (fewer under a low
/// memory limit). A larger number is estimated. The measured rate is always printed with bounds.
///
/// The two runs share no work. Uncached files are read with direct I/O where possible, so the first run
/// does not warm the cache for the second.
///
/// Both results stay on temporary disk until they are compared.
#[derive(Debug, Args)]
#[command(mut_arg(FILES, |file| file.help("Two files, each one side (read several times)")))]
pub(crate) struct CompareArguments {
    #[command(flatten)]
    inputs: InputArguments,

    /// Strategy of the exact run; auto chooses one to fit the memory limit
    #[arg(long, value_name = "NAME", default_value = "auto")]
    strategy: ExactName,

    /// Fail if the predicted false-positive rate is above this, such as 1% or 0.01
    #[arg(long, value_name = "P", value_parser = parse_rate)]
    max_fpr: Option<f64>,

    #[command(flatten)]
    run: RunArguments,

    #[command(flatten)]
    force: ForceArguments,

    /// Compare at several points, such as memory=16M,32M,64M or max-fpr=5%,1%,0.1%
    ///
    /// memory: make both runs under each memory limit. max-fpr: make the exact run once, then an
    /// approximate run with a filter sized for each rate.
    #[arg(long, value_name = "WHAT=VALUE,VALUE...")]
    sweep: Option<Sweep>,

    /// Write the false lines to FILE, complete or not at all
    #[arg(long, value_name = "FILE", conflicts_with = "sweep")]
    list_false: Option<PathBuf>,

    /// Write the comparison to FILE as JSON; `-` is standard error
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,

    /// Write a report of the comparison to FILE, as an HTML page with charts
    ///
    /// The page shows the predicted and measured rates over memory, the times of both runs, their
    /// phases, memory and buckets, and the table behind each chart. It loads nothing from the network.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    #[command(flatten)]
    talk: TalkArguments,
}

/// Memory limits that rates are predicted for, for the curve in the page.
const PREDICTED: u32 = 24;

impl CompareArguments {
    fn options(&self, interrupt: &Interrupt) -> Options {
        Options {
            strategy: self.strategy.into(),
            max_fpr: self.max_fpr,
            ..self.force.add_to(self.run.options(None, interrupt))
        }
    }

    fn points(&self) -> Vec<Point> {
        match &self.sweep {
            Some(sweep) => sweep.points(),
            None => vec![Point::default()],
        }
    }

    /// Whether the comparison goes to standard error.
    fn reports_on_stderr(&self) -> bool {
        self.stats.as_deref() == Some(Path::new("-"))
    }
}

/// The strategies of the exact run.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ExactName {
    Auto,
    Memory,
    Partition,
    Sieve,
}

impl From<ExactName> for Option<Strategy> {
    fn from(name: ExactName) -> Self {
        match name {
            ExactName::Auto => None,
            ExactName::Memory => Some(Strategy::Memory),
            ExactName::Partition => Some(Strategy::Partition),
            ExactName::Sieve => Some(Strategy::Sieve),
        }
    }
}

/// What is reported as JSON: the comparison, or the points of a sweep.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Report<'a> {
    One(&'a Comparison),
    Sweep {
        version: &'static str,
        command: &'static str,
        points: &'a [Comparison],
    },
}

impl<'a> Report<'a> {
    /// The report of `points`; one that is not of a sweep stands for itself.
    pub(crate) fn new(points: &'a [Comparison], is_sweep: bool) -> Self {
        match points {
            [only] if !is_sweep => Self::One(only),
            points => Self::Sweep {
                version: env!("CARGO_PKG_VERSION"),
                command: "compare",
                points,
            },
        }
    }

    /// The report as a table.
    fn describe(&self) -> String {
        match self {
            Self::One(only) => table::of_one(only),
            Self::Sweep { points, .. } => table::of_sweep(points),
        }
    }

    /// What was compared at each point.
    pub(crate) fn points(&self) -> &'a [Comparison] {
        match self {
            Self::One(only) => std::slice::from_ref(only),
            Self::Sweep { points, .. } => points,
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &CompareArguments, interrupt: &Interrupt) -> Result<()> {
    let reporter = Reporter::new(&arguments.talk);
    let reporter = Arc::new(reporter.without_notices_if(arguments.reports_on_stderr()));
    let mut options = arguments.options(interrupt);
    if let Some(sweep) = &arguments.sweep {
        sweep.check(&options)?;
    }
    let sources = arguments.inputs.sources()?;
    let mut outputs = claim(arguments, &sources)?.open(interrupt)?;
    options.observer = Some(outputs.observer(reporter.clone()));
    let mut comparer = Comparer::new(&sources, &options)?;
    let points = arguments.points();
    // Before the first run: what can be known to fail does not wait until its turn.
    reporter.expect(comparer.expected_bytes(&points)?);
    let (plans, predicted) = if outputs.has_page() {
        outlook(&comparer, &points)?
    } else {
        Outlook::default()
    };
    let terminator = options.format.terminator;
    let found = compare_all(&mut comparer, &points, terminator, &outputs, &reporter)?;
    reporter.finish();
    let report = Report::new(&found, arguments.sweep.is_some());
    let filled = outputs
        .fill_stats(&report)
        .and_then(|()| outputs.fill_page(|page| page.fill_comparison(&report, &plans, &predicted)));
    // The table is there whatever becomes of the files.
    print(&report.describe())?;
    filled?;
    outputs.put_in_place()
}

/// Compares at each point. Where one fails, those before it took their time: they are printed, though
/// there is no report.
fn compare_all(
    comparer: &mut Comparer<'_>,
    points: &[Point],
    terminator: u8,
    outputs: &Outputs,
    reporter: &Reporter,
) -> Result<Vec<Comparison>> {
    let mut found = Vec::with_capacity(points.len());
    for &point in points {
        let compared = match outputs.result() {
            Some(list) => listed(comparer, point, list, terminator),
            None => comparer.compare(point, &mut CountSink),
        };
        match compared {
            Ok(point) => found.push(point),
            Err(error) => {
                if !found.is_empty() {
                    reporter.finish();
                    print(&table::of_sweep(&found))?;
                }
                return Err(error);
            }
        }
    }
    Ok(found)
}

/// The plans of points, and memory limits with the rates that are predicted for them.
type Outlook = (Vec<Plans>, Vec<(u64, f64)>);

/// The plans of all points, and the rates that are predicted for memory limits around theirs, by
/// ratio, with the limits in bytes. Limits under which nothing runs are left out.
fn outlook(comparer: &Comparer<'_>, points: &[Point]) -> Result<Outlook> {
    let plans = points.iter().map(|&point| comparer.plans(point));
    let plans = plans.collect::<Result<Vec<Plans>>>()?;
    let limits = plans.iter().map(|plans| plans.exact.limit_bytes());
    let (Some(least), Some(most)) = (limits.clone().min(), limits.max()) else {
        return Ok((plans, Vec::new()));
    };
    let (from, to) = (least as f64 / 4.0, most as f64 * 4.0);
    let step = (to / from).powf(1.0 / f64::from(PREDICTED - 1));
    let rate = |number: u32| {
        let bytes = (from * step.powi(number as i32)) as u64;
        let point = Point {
            memory_bytes: Some(bytes),
            ..Point::default()
        };
        let filter = comparer.plans(point).ok()?.approximate.costs.filter?;
        Some((bytes, filter.predicted_fpr))
    };
    Ok((plans, (0..PREDICTED).filter_map(rate).collect()))
}

/// Compares, and writes the false lines to `list`.
fn listed(
    comparer: &mut Comparer<'_>,
    point: Point,
    list: &ResultFile,
    terminator: u8,
) -> Result<Comparison> {
    let mut sink = WriteSink::new(list.writer()?, terminator, list.name());
    let found = comparer.compare(point, &mut sink as &mut dyn Sink)?;
    list.flush(sink.into_inner())?;
    Ok(found)
}

/// Refuses outputs that are inputs, or one another.
fn claim(arguments: &CompareArguments, sources: &[Source]) -> Result<Claims> {
    let mut claims = Claims::reading(arguments.inputs.lists()).and_sources(sources);
    claims.write(None, "the table")?;
    if let Some(list) = &arguments.list_false {
        claims.write_result(Some(list), "--list-false")?;
    }
    claims.write_stats(arguments.stats.as_deref())?;
    claims.write_page(arguments.report.as_deref())?;
    Ok(claims)
}
