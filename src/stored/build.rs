//! Building a filter from any number of inputs.
//!
//! *Owns:* how many lines a filter is laid out for, and filling it. *Invariants:* the filter that is
//! returned has every line of every input. *Cost:* one reading of each input; two where lines are
//! counted first. Memory: the filter and the buffers of a scan.
//!
//! The steps: check the request, open the inputs, find the number of lines, compute the shape, plan the memory
//! for a filter of that shape besides a scan, insert. A request that cannot be met is refused before an input
//! is read as a whole, except where the lines must be counted to know.

use crate::batch::Batch;
use crate::batch::scatter::Scatter;
use crate::error::{Error, Result};
use crate::filter::shape::MOST_BITS;
use crate::filter::{Filter, Kind, Rules, Shape, StoredFilter, Updater};
use crate::hash::LineHasher;
use crate::input::{Input, Source};
use crate::options::Options;
use crate::pass::scan::{Worker, scan};
use crate::plan::Job;
use crate::run::Run;
use crate::run::survey::survey;
use crate::size::{display_bytes, display_rate};
use crate::stored::{reading_as, with_run};
use crate::sys::machine;

/// The number of lines that a filter is laid out for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyCount {
    /// This number of distinct lines.
    Lines(u64),
    /// The number of lines of the inputs, repeats included, estimated from a sample of each; they must be files. Lines
    /// are counted where an input is compressed, because its size is a guess.
    Sampled,
    /// The number of lines of the inputs, repeats included, counted in a reading of its own; they must be files.
    Counted,
}

/// The rule for the size of a filter.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum FilterSize {
    /// The size that this false-positive rate (0..1) takes.
    Fpr(f64),
    /// At most this number of bytes.
    Bytes(u64),
    /// This number of bits for each line, positive.
    BitsPerKey(f64),
}

/// The filter that is to be built.
#[derive(Debug)]
pub struct BuildRequest<'a> {
    /// Its kind.
    pub kind: Kind,
    /// For how many lines it is laid out.
    pub keys: KeyCount,
    /// The rule for its size.
    pub size: FilterSize,
    /// Cells that a key sets; `None` for the best number.
    pub hashes: Option<u32>,
    /// Build it like this one, so that the two can be merged: kind, size, hashes, key and line rules
    /// are taken from it, and the other fields are ignored.
    pub like: Option<&'a StoredFilter>,
}

impl Default for BuildRequest<'_> {
    /// Returns the request for a blocked filter with a false-positive rate of 1 %, for as many lines as a sample of the
    /// inputs shows.
    fn default() -> Self {
        Self {
            kind: Kind::Blocked,
            keys: KeyCount::Sampled,
            size: FilterSize::Fpr(0.01),
            hashes: None,
            like: None,
        }
    }
}

impl BuildRequest<'_> {
    /// Checks that the numbers make sense for the kind. The size can only be checked once the number of lines is known.
    ///
    /// # Errors
    /// [`Error::Usage`] when they do not.
    pub fn check(&self) -> Result<()> {
        let most = self.kind.most_hashes();
        let usage = |what: String, advice: &str| Err(Error::usage(what, advice));
        if self
            .hashes
            .is_some_and(|hashes| !(1..=most).contains(&hashes))
        {
            let what = format!("`hashes`: a {} filter uses at most {most}", self.kind);
            return usage(what, "give fewer, or build a classic filter");
        }
        match self.size {
            FilterSize::Fpr(fpr) if !(fpr > 0.0 && fpr < 1.0) => usage(
                "`max_fpr`: no filter has this rate".into(),
                "give a rate between 0 and 1, such as 0.1%",
            ),
            FilterSize::Bytes(0) => {
                usage("`size`: 0 bytes is too small".into(), "give at least 64")
            }
            FilterSize::BitsPerKey(bits) if !(bits > 0.0 && bits.is_finite()) => usage(
                "`bits_per_key`: must be positive".into(),
                "leave it out for the default",
            ),
            _ => Ok(()),
        }
    }

    /// Refuses a shape above the maximum size, and a rate that the kind, or this number of hashes, does not
    /// reach in any size: `shape` is then as good as it gets, and its predicted rate is above the wanted one.
    fn check_shape(&self, shape: Shape, keys: u64) -> Result<()> {
        if shape.is_too_large() {
            return Err(Error::usage(
                format!(
                    "filter: a {} filter for {keys} lines would exceed the maximum filter size of {}",
                    self.kind,
                    display_bytes(MOST_BITS / 8)
                ),
                "give fewer lines, or fewer bits per line",
            ));
        }
        let reached = shape.predicted_fpr(keys);
        match self.size {
            FilterSize::Fpr(wanted) if reached > wanted => Err(Error::usage(
                format!(
                    "`max_fpr`: a {} filter with k = {} cannot get below {}",
                    self.kind,
                    shape.hashes,
                    display_rate(reached)
                ),
                "accept a higher rate, or build a classic or a fingerprint filter",
            )),
            _ => Ok(()),
        }
    }
}

/// The result of building a filter.
#[derive(Debug)]
pub struct Built {
    /// The filter, not saved yet. Holds its memory until it is dropped.
    pub filter: Filter,
    /// Lines that were read, repeats included.
    pub lines: u64,
}

/// Builds a filter of all lines of `inputs`; without inputs an empty one. Workers of a scan insert at the same
/// time.
///
/// # Errors
/// Any [`Error`]; [`Error::MemoryPlan`] names a limit that the filter would fit.
pub fn build(inputs: &[Source], request: &BuildRequest<'_>, options: &Options) -> Result<Built> {
    request.check()?;
    let of_model = request.like.map(|model| reading_as(model, options));
    let mut options = of_model.unwrap_or_else(|| Ok(options.clone()))?;
    let inputs = Input::open_all(inputs, options.opening())?;
    // Lines that must be counted take a run of their own, before that which inserts.
    let resident_bytes = &mut options.resident_bytes;
    resident_bytes.get_or_insert_with(machine::resident_bytes);
    let options = &options;
    let (shape, rules) = match request.like {
        Some(model) => (model.shape(), model.rules()),
        None => {
            let mut rules = Rules {
                hasher: LineHasher::new(options.hash_key)?,
                format: options.format,
                key_form: options.key_form(),
                planned_keys: 0,
            };
            rules.planned_keys = keys(&inputs, request.keys, rules, options)?;
            // Only a new shape needs this check: that of a model exists.
            let shape = shape_of(request, rules.planned_keys);
            request.check_shape(shape, rules.planned_keys)?;
            (shape, rules)
        }
    };
    with_run(&inputs, options, rules, "a filter", shape.bytes(), |run| {
        let mut filter = Filter::new(&run.budget, shape, rules)?;
        run.expect_inputs(&["insert"], inputs.iter());
        for input in &inputs {
            insert_all(run, &mut filter, input)?;
        }
        Ok(Built {
            filter,
            lines: inputs.iter().map(Input::lines).sum(),
        })
    })
}

/// Returns the shape that the request asks for, laid out for `keys` lines.
fn shape_of(request: &BuildRequest<'_>, keys: u64) -> Shape {
    let (kind, hashes) = (request.kind, request.hashes);
    match request.size {
        FilterSize::Fpr(fpr) => Shape::for_fpr(kind, keys, fpr, hashes),
        FilterSize::Bytes(bytes) => Shape::for_bytes(kind, keys, bytes, hashes),
        FilterSize::BitsPerKey(bits) => Shape::for_bits_per_key(kind, keys, bits, hashes),
    }
}

/// Finds the number of lines that the filter is laid out for. `rules` say what a line is, for counting.
///
/// # Errors
/// [`Error::Usage`] where the number is to be found out and an input is a stream, or there is none.
fn keys(inputs: &[Input], count: KeyCount, rules: Rules, options: &Options) -> Result<u64> {
    if let KeyCount::Lines(lines) = count {
        return Ok(lines);
    }
    if let Some(stream) = inputs.iter().find(|input| !input.is_file()) {
        return Err(Error::usage(
            format!(
                "{}: the number of lines of a stream is not known in advance",
                stream.name().display()
            ),
            "give the number of distinct lines (`lines`)",
        ));
    }
    if inputs.is_empty() {
        return Err(Error::usage(
            "`lines`: unknown without files",
            "give the number of distinct lines (`lines`), or name files",
        ));
    }
    // The sample of the survey is the estimate that a plan uses, too.
    let is_guess = inputs.iter().any(|input| input.decoding().is_some());
    if count == KeyCount::Sampled && !is_guess {
        let Job { inputs, .. } = survey(inputs, options)?;
        return Ok(inputs.iter().filter_map(|shape| shape.lines).sum());
    }
    // A run of its own: its memory is free again before the filter is made.
    with_run(inputs, options, rules, "nothing", 0, |run| {
        run.expect_inputs(&["count", "insert"], inputs.iter());
        for input in inputs {
            let phase = run.input_phase("count", input);
            scan(run, &phase, input, || Counter)?;
        }
        Ok(inputs.iter().map(Input::lines).sum())
    })
}

/// Does nothing with lines: the scan itself counts them.
struct Counter;

impl Worker for Counter {
    fn work(&mut self, _: Batch<'_>) -> Result<()> {
        Ok(())
    }
}

/// Inserts all lines of `input`, as a phase of its own. The updater ends with it, so that the filter can be
/// asked between two inputs.
pub(super) fn insert_all(run: &Run<'_>, filter: &mut Filter, input: &Input) -> Result<()> {
    let phase = run.input_phase("insert", input);
    let updater = filter.updater().hashing_as(run.hasher);
    scan(run, &phase, input, || Insertion {
        updater: &updater,
        scatter: Scatter::default(),
    })
}

/// One worker thread's part in inserting.
struct Insertion<'a, 'f> {
    /// Shared by all workers; locks what a batch changes.
    updater: &'a Updater<'f>,
    scatter: Scatter,
}

impl Worker for Insertion<'_, '_> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        self.updater.insert(batch, &mut self.scatter)
    }
}
