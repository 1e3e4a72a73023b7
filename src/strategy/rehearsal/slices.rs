//! Slices of the inputs: how long they are, and where they begin.
//!
//! *Owns:* the cutting. *Invariants:* slices that follow one another begin at other places, because what was read once is
//! cached; each line of a slice is a whole line. *Cost:* an input is opened for each slice.

use std::path::PathBuf;

use super::rates::Measured;
use crate::error::{Error, Result};
use crate::input::keying::Opening;
use crate::input::{Input, Source};
use crate::options::Options;

/// How long a slice takes, in seconds. About ten of them make a rehearsal.
const SLICE_SECONDS: f64 = 0.18;
/// The shortest slice of a large input, in bytes.
const LEAST_SLICE: u64 = 16 << 20;
/// A short slice takes most of its time for what does not grow with it: a long one may be longer by this factor than its rate says.
const LONGER: u64 = 3;
/// A slice has no more than this part of its input.
const LEAST_PART: u64 = 4;
/// Slices begin at tenths of an input, three further each time.
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
    /// Where the next one begins, in tenths.
    start: u64,
}

impl<'a> Slices<'a> {
    /// Cuts slices of `inputs`, which are in the order of the plan; the first ones are short.
    ///
    /// # Errors
    /// [`Error::Usage`] for an input that is no file of plain lines: it has no slices that could be read alone.
    pub(super) fn new(
        inputs: &'a [Input],
        sources: &'a [Source],
        options: &'a Options,
    ) -> Result<Self> {
        inputs.iter().try_for_each(|input| check(input, options))?;
        Ok(Self {
            inputs,
            sources,
            options,
            bytes: LEAST_SLICE,
            start: 0,
        })
    }

    /// Makes the next slices as long as takes [`SLICE_SECONDS`] at the rate that was measured.
    pub(super) fn fit(&mut self, measured: Measured) {
        self.bytes = ((measured.rate() * SLICE_SECONDS) as u64).max(LEAST_SLICE);
    }

    /// Hands a short and a long slice of the input with this number to `pass`; returns what the long one took beyond the
    /// short one.
    ///
    /// # Errors
    /// The first failure of opening and of `pass`.
    pub(super) fn twice(
        &mut self,
        number: usize,
        mut pass: impl FnMut(&Input) -> Result<Measured>,
    ) -> Result<Measured> {
        self.bytes = LEAST_SLICE;
        let short = pass(&self.next(number)?)?;
        self.fit(short);
        self.bytes *= LONGER;
        let measured = pass(&self.next(number)?)?.beyond(short);
        self.fit(measured);
        Ok(measured)
    }

    /// Makes the next slices no longer than `bytes`.
    pub(super) fn shorten(&mut self, bytes: u64) {
        self.bytes = self.bytes.min(bytes).max(1);
    }

    /// Bytes of the next slice, where its input is large.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A slice of the input with this number in the order of the plan; of a side of many files, a slice of the largest.
    ///
    /// # Errors
    /// Where it cannot be opened again.
    pub(super) fn next(&mut self, number: usize) -> Result<Input> {
        let side = self.inputs[number].sides().first().copied().unwrap_or(1);
        let source = match &self.sources[side as usize - 1] {
            Source::Files(files) => Source::Path(largest(files.paths())),
            source => source.clone(),
        };
        let opening = Opening {
            first_number: side,
            ..self.options.opening()
        };
        let opened = Input::open_all(std::slice::from_ref(&source), opening)?.pop();
        // One source is one input.
        let input = opened.ok_or(Error::Interrupted)?;
        let size = input.bytes().unwrap_or(0);
        let start = size / STARTS * (self.start % STARTS);
        self.start += 3;
        input.in_range(start..start + self.bytes.min(size / LEAST_PART).max(1))
    }
}

fn check(input: &Input, options: &Options) -> Result<()> {
    let what = if !input.is_file() {
        "is not a regular file"
    } else if input.decoding().is_some() || input.is_table() {
        "is compressed or a table"
    } else if options.line_format().quoted {
        "may have records of several lines"
    } else {
        return Ok(());
    };
    Err(Error::Usage {
        what: format!("--calibrate: {} {what}", input.name().display()),
        advice: "leave out --calibrate, or name files of plain lines".into(),
    })
}

/// The largest of these files.
fn largest(files: &[PathBuf]) -> PathBuf {
    let size = |path: &&PathBuf| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    files.iter().max_by_key(size).cloned().unwrap_or_default()
}
