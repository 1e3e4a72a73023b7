//! The number of lines that inputs have in common, estimated in one reading of each.
//!
//! *Owns:* [`estimate`] and its result. *Invariants:* the memory limit is that of the whole process;
//! what is said has bounds, and where nothing was dropped it says that it is exact (but for lines with
//! equal 64-bit hashes: of the few lines that are then compared, a chance below one in a thousand
//! million). *Cost:* one reading of each input; 1.5 MiB for each thread and 0.5 MiB for each input,
//! less where the memory limit is small, at the price of wider bounds.

use std::time::Instant;

use parking_lot::Mutex;
use serde::Serialize;

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::hash::LineHasher;
use crate::input::{Input, Source, labels};
use crate::options::Options;
use crate::pass::scan::{Worker, scan};
use crate::plan::{Job, Layout, scan_layout};
use crate::run::Run;
use crate::run::survey::{survey_to_compare, tell_findings};
use crate::sketch::{Gatherer, Overlap, Sketch};
use crate::stats::MemoryStats;
use crate::sys::machine;
use crate::temp::quota::Quota;
use crate::temp::space::TempSpace;

pub use crate::sketch::Bounds;

/// Hashes in a sketch: the bounds of a distinct count are 0.8 % apart from it.
const MOST_HASHES: usize = 1 << 16;
/// Hashes in a sketch under the smallest memory limits and of very many inputs: 6 %.
const LEAST_HASHES: usize = 1 << 10;

/// The result of an estimate. Bounds hold in 99 of 100 runs, each for itself.
#[derive(Debug, Clone, Serialize)]
pub struct Estimate {
    /// The crate's version.
    pub version: &'static str,
    /// The command that ran.
    pub command: &'static str,
    /// True if nothing was estimated: the sketches could hold all different lines.
    pub exact: bool,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// The most threads that might work on lines at a time; fewer start where there is less to do.
    pub threads: usize,
    /// Lines in the sample of an input, at most.
    pub sample_lines: u64,
    /// The inputs, in the order given, each file once.
    pub inputs: Vec<InputEstimate>,
    /// The number of distinct lines that every input has.
    pub common: Bounds,
    /// The number of distinct lines that at least one input has.
    pub any: Bounds,
    /// The share of `common` in `any` (the Jaccard index); 0 if `any` is 0.
    pub jaccard: Bounds,
    /// The number of lines of the samples that all inputs have.
    pub common_seen: u64,
    /// Memory of the process.
    pub memory: MemoryStats,
}

/// The estimates of one input.
#[derive(Debug, Clone, Serialize)]
pub struct InputEstimate {
    /// Its path, `-` for standard input; of a side of many files, what they are called together.
    pub path: String,
    /// Its short name ([`Options::labels`]).
    pub label: String,
    /// Number of its files, if it is a list of files ([`Source::Files`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Its bytes.
    pub bytes: u64,
    /// Its lines, repeats included.
    pub lines: u64,
    /// Its different lines.
    pub distinct: Bounds,
    /// Those of them that no other input has: of the first input, its difference with the others.
    pub only: Bounds,
    /// The common lines as a share of its different lines (containment), 0..1; 0 where it has none.
    pub containment: Bounds,
}

impl Estimate {
    /// Tells whether no line of the samples is common although not all lines were looked at: all that is known of the
    /// common lines is then their upper bound.
    pub fn is_too_small_to_see(&self) -> bool {
        self.common_seen == 0 && !self.common.is_exact()
    }

    /// Returns the share of the different lines of these inputs that some other input has, 0..1.
    pub(crate) fn shared_share(&self, inputs: std::ops::Range<usize>) -> f64 {
        let inputs = self.inputs.get(inputs).unwrap_or_default();
        let distinct: f64 = inputs.iter().map(|input| input.distinct.estimate).sum();
        let only: f64 = inputs.iter().map(|input| input.only.estimate).sum();
        (1.0 - only / distinct.max(1.0)).clamp(0.0, 1.0)
    }

    /// Returns the share of the different lines of input number `input` that are common, 0..1.
    pub(crate) fn common_share(&self, input: usize) -> f64 {
        let distinct = self.inputs.get(input).map_or(0.0, |i| i.distinct.estimate);
        (self.common.estimate / distinct.max(1.0)).min(1.0)
    }
}

/// Estimates how many different lines each of `inputs` has, and how many are in all of them.
///
/// Of `options`, the memory limit, the threads, the rules of lines, the key of the hash, the interrupt
/// and the observer are heeded.
///
/// ```
/// use outset::{Options, Source, estimate};
/// # let directory = tempfile::tempdir()?;
/// # let (a, b) = (directory.path().join("a"), directory.path().join("b"));
/// std::fs::write(&a, "apple\nbanana\ncherry\n")?;
/// std::fs::write(&b, "cherry\ndate\napple\napple\n")?;
///
/// let found = estimate(&[Source::from(&a), Source::from(&b)], &Options::default())?;
/// assert!(found.exact && found.common.estimate == 2.0);
/// assert_eq!((found.inputs[1].lines, found.inputs[1].distinct.high), (4, 3.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Any [`Error`]; [`Error::MemoryPlan`] tells what limit would do.
pub fn estimate(inputs: &[Source], options: &Options) -> Result<Estimate> {
    if inputs.len() < 2 {
        return Err(Error::number_of_files(
            "estimate",
            inputs.len(),
            "give two or more",
        ));
    }
    let opened = Input::open_all(inputs, options.opening())?;
    let job = survey_to_compare(&opened, options)?;
    let mut found = estimate_opened(&opened, &job, options)?;
    let labels = labels(inputs, &options.labels);
    for (input, found) in opened.iter().zip(&mut found.inputs) {
        let side = input.sides().first().copied().unwrap_or(1) as usize;
        found.label.clone_from(&labels[side - 1]);
    }
    Ok(found)
}

/// Works as [`estimate`], on `inputs` that are open and of which `job` has the sizes.
pub(crate) fn estimate_opened(inputs: &[Input], job: &Job, options: &Options) -> Result<Estimate> {
    let start = Instant::now();
    let (layout, hashes) = divide_memory(job)?;
    // Nothing is spilled: the space is never made.
    let space = TempSpace::new(&[], Quota::new(0), &options.interrupt);
    let hasher = LineHasher::new(options.hash_key)?;
    let run = Run::new(options, layout, hasher, &space);
    run.expect_inputs(&["estimate"], inputs.iter());
    let sketches = inputs.iter().map(|input| gather(&run, input, hashes));
    let sketches = sketches.collect::<Result<Vec<Sketch>>>()?;
    tell_findings(inputs, options);
    let overlap = Overlap::of(&sketches);
    let described = inputs.iter().zip(&sketches).enumerate();
    let described: Vec<InputEstimate> = described
        .map(|(number, (input, sketch))| describe(input, sketch, &overlap, number))
        .collect();
    // No more lines are common than any input has.
    let smallest = |common: Bounds, input: &InputEstimate| common.within(input.distinct);
    Ok(Estimate {
        version: env!("CARGO_PKG_VERSION"),
        command: "estimate",
        exact: overlap.is_exact(),
        seconds: start.elapsed().as_secs_f64(),
        threads: layout.scan.workers,
        sample_lines: hashes as u64,
        common: described.iter().fold(overlap.common(), smallest),
        any: overlap.any(),
        jaccard: overlap.jaccard(),
        common_seen: overlap.common_seen,
        inputs: described,
        memory: MemoryStats {
            limit_bytes: layout.memory_bytes,
            peak_rss_bytes: machine::peak_resident_bytes(),
        },
    })
}

/// Returns a layout for reading, and the number of hashes of each input that there is room for: a power of two.
///
/// # Errors
/// [`Error::MemoryPlan`] where not even the fewest fit.
fn divide_memory(job: &Job) -> Result<(Layout, usize)> {
    let workers = scan_layout(job, "nothing", 0)?.scan.workers as u64;
    let inputs = job.inputs.len() as u64;
    // While the last input is gathered, the sketches of the others are in memory: one gatherer for each worker, and
    // the one of all workers.
    let bytes = |hashes| inputs * Sketch::bytes(hashes) + (workers + 1) * Gatherer::bytes(hashes);
    let layout = scan_layout(job, "the sketches of all inputs", bytes(LEAST_HASHES))?;
    let mut hashes = MOST_HASHES;
    while hashes > LEAST_HASHES && bytes(hashes) > layout.rest_bytes() {
        hashes /= 2;
    }
    Ok((layout, hashes))
}

/// Describes an input, which is number `number` of those in `overlap`.
fn describe(input: &Input, sketch: &Sketch, overlap: &Overlap, number: usize) -> InputEstimate {
    let lines = Bounds::exactly(input.lines() as f64);
    let distinct = sketch.distinct().within(lines);
    InputEstimate {
        path: input.name().display().to_string(),
        label: input.name().display().to_string(),
        files: input.file_count(),
        bytes: input.read_bytes(),
        lines: input.lines(),
        distinct,
        // A file that was given twice has nothing that the other one lacks.
        only: if input.sides().len() > 1 {
            Bounds::exactly(0.0)
        } else {
            overlap.only(number).within(distinct)
        },
        containment: overlap.containment(number),
    }
}

/// Makes the sketch of all lines of `input`.
fn gather(run: &Run<'_>, input: &Input, hashes: usize) -> Result<Sketch> {
    let phase = run.input_phase("estimate", input);
    let all = Mutex::new(None);
    scan(run, &phase, input, || Gather {
        run,
        hashes,
        own: None,
        all: &all,
    })?;
    let gathered = all.into_inner();
    match gathered {
        Some(gathered) => gathered.into_sketch(),
        // The input is empty.
        None => Gatherer::new(&run.budget, hashes)?.into_sketch(),
    }
}

/// Gathers what one thread sees, and adds it to what the others saw at the end.
struct Gather<'a> {
    run: &'a Run<'a>,
    /// Hashes of a sketch.
    hashes: usize,
    /// Made at the first batch: a worker that gets none takes no memory.
    own: Option<Gatherer>,
    /// The hashes of the workers that have ended; locked once by each.
    all: &'a Mutex<Option<Gatherer>>,
}

impl Worker for Gather<'_> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        let own = match &mut self.own {
            Some(own) => own,
            none => none.insert(Gatherer::new(&self.run.budget, self.hashes)?),
        };
        own.add_all(batch.hashes);
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(own) = self.own.take() {
            let mut all = self.all.lock();
            match &mut *all {
                Some(all) => all.absorb(&own),
                none => *none = Some(own),
            }
        }
        Ok(())
    }
}
