//! Slices of the inputs: how long they are, and where they begin.
//!
//! *Owns:* the cutting. *Invariants:* slices that follow one another begin at other places, because what was read once
//! is cached (of a small input they overlap in part); each line of a slice is a whole line. *Cost:* an input is opened
//! for each slice.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::rates::Measured;
use crate::error::{Error, Result};
use crate::input::{Input, Source};
use crate::options::Options;

/// How long a slice takes, in seconds. About ten of them make a rehearsal.
const SLICE_SECONDS: f64 = 0.18;
/// Beyond this, nothing is measured a second time.
const PATIENCE: Duration = Duration::from_millis(1800);
/// The shortest slice of a large input, in bytes.
const LEAST_SLICE: u64 = 16 << 20;
/// A short slice takes most of its time for what does not grow with it: a long one may be longer by this factor than
/// its rate says.
const LONGER: u64 = 3;
/// A slice has no more than this part of its input.
const LEAST_PART: u64 = 4;
/// Slices begin at as many places of an input, from its beginning to where the last one ends with it, three further each time.
const STARTS: u64 = 10;

/// Cuts slices of the inputs.
pub(super) struct Slices<'a> {
    /// The inputs in the order of the plan.
    inputs: &'a [Input],
    /// The caller's sources, one for each side.
    sources: &'a [Source],
    options: &'a Options,
    /// Bytes of a slice.
    bytes: u64,
    /// Where the next one begins: counts the places.
    start: u64,
    /// When the first one was cut.
    began: Instant,
}

impl<'a> Slices<'a> {
    /// Cuts slices of `inputs`, which are in the order of the plan; the first ones are short.
    pub(super) fn new(inputs: &'a [Input], sources: &'a [Source], options: &'a Options) -> Self {
        Self {
            inputs,
            sources,
            options,
            bytes: LEAST_SLICE,
            start: 0,
            began: Instant::now(),
        }
    }

    /// Whether there is no time left to measure anything a second time.
    pub(super) fn is_late(&self) -> bool {
        self.began.elapsed() > PATIENCE
    }

    /// Makes the next slices as long as takes [`SLICE_SECONDS`] at the rate that was measured.
    fn fit(&mut self, measured: Measured) {
        self.bytes = ((measured.rate() * SLICE_SECONDS) as u64).max(LEAST_SLICE);
    }

    /// Hands two slices to `pass`, of which the second one counts: before it, memory is touched for the first time, and
    /// how long a slice should be is a guess.
    ///
    /// # Errors
    /// The first failure of opening and of `pass`.
    pub(super) fn again(
        &mut self,
        mut pass: impl FnMut(Input) -> Result<Measured>,
    ) -> Result<Option<Measured>> {
        let first = pass(self.next()?)?;
        self.fit(first);
        if self.is_late() {
            return Ok(first.if_any());
        }
        let second = pass(self.next()?)?;
        self.fit(second);
        Ok(second.if_any())
    }

    /// Hands a short and a long slice to `pass`; returns what the long one took beyond the short one.
    ///
    /// # Errors
    /// The first failure of opening and of `pass`.
    pub(super) fn twice(
        &mut self,
        mut pass: impl FnMut(&Input) -> Result<Measured>,
    ) -> Result<Option<Measured>> {
        self.bytes = LEAST_SLICE;
        let short = pass(&self.next()?)?;
        self.fit(short);
        if self.is_late() {
            return Ok(short.if_any());
        }
        self.bytes *= LONGER;
        let measured = pass(&self.next()?)?.beyond(short);
        self.fit(measured);
        Ok(measured.if_any())
    }

    /// Makes the next slices no longer than `bytes`.
    pub(super) fn shorten(&mut self, bytes: u64) {
        self.bytes = self.bytes.min(bytes).max(1);
    }

    /// Bytes of the next slice, where its input is large.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A slice of the largest input: of a small one it would show nothing but what a pass costs however short it is.
    fn next(&mut self) -> Result<Input> {
        let bytes = |&number: &usize| self.inputs[number].bytes();
        let largest = (0..self.inputs.len()).max_by_key(bytes);
        self.of(largest.unwrap_or_default())
    }

    /// A slice of the input with this number in the order of the plan; of a side of many files, a slice of the largest.
    ///
    /// # Errors
    /// Where it cannot be opened again.
    pub(super) fn of(&mut self, number: usize) -> Result<Input> {
        let side = self.inputs[number].sides().first().copied().unwrap_or(1);
        let source = match &self.sources[side as usize - 1] {
            Source::Files(files) => Source::Path(largest(files.paths())),
            source => source.clone(),
        };
        let opened = Input::open_all(std::slice::from_ref(&source), self.options.opening())?.pop();
        // One source is one input.
        let input = opened.ok_or(Error::Interrupted)?;
        let size = input.bytes().unwrap_or(0);
        let bytes = self.bytes.min(size / LEAST_PART).max(1);
        // The last one ends a few bytes before the input, if not with it.
        let start = (size - bytes.min(size)) / (STARTS - 1) * (self.start % STARTS);
        self.start += 3;
        let slice = input.in_range(start..start + bytes)?;
        slice.note_likely_bytes(bytes);
        Ok(slice)
    }
}

/// Refuses what cannot be rehearsed: inputs without slices that could be read alone, records, and stored filters.
///
/// # Errors
/// [`Error::Usage`].
pub(super) fn check(inputs: &[Input], options: &Options) -> Result<()> {
    let refuse = |what: String| {
        Err(Error::Usage {
            what: format!("--calibrate: {what}"),
            advice: "leave out --calibrate, or name regular files of plain lines".into(),
        })
    };
    if options.stored_filter.is_some() {
        return refuse("cannot measure a stored filter (--filter)".into());
    }
    if options.keys.is_some() {
        return refuse("cannot measure records with keys".into());
    }
    for input in inputs {
        let name = input.name().display();
        if !input.is_file() {
            return refuse(format!("{name} is not a regular file"));
        }
        if input.decoding().is_some() || input.is_table() {
            return refuse(format!("{name} is compressed or a Parquet file"));
        }
    }
    Ok(())
}

/// The largest of these files.
fn largest(files: &[PathBuf]) -> PathBuf {
    let size = |path: &&PathBuf| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    files.iter().max_by_key(size).cloned().unwrap_or_default()
}
