//! A filter of survivors that is built from their buckets, when it was not fed.
//!
//! *Owns:* the decision whether it pays. *Invariants:* exact either way. *Cost:* one reading of the written blocks.

use crate::error::Result;
use crate::filter::Filter;
use crate::input::Input;
use crate::pass::filter::{filter_store, shape_for_store};
use crate::pass::spill::Spilled;
use crate::plan::SIEVE_BITS_PER_KEY;
use crate::run::Run;
use crate::strategy::slots::USELESS_FPR;

/// Makes a filter of the lines of `input` that survived a filter of rate `fpr`, for prefiltering `next`, if it pays:
///
/// - It costs reading the written blocks of the survivors once more. Held blocks cost nothing.
/// - It saves writing and reading those lines of `next` that are not common and that it refuses.
///
/// If the size of `next` is unknown, it is taken for endless, and the filter pays.
///
/// # Errors
/// As [`filter_store`].
pub(super) fn filter_if_it_pays(
    run: &Run<'_>,
    survivors: &Spilled,
    fpr: f64,
    input: &Input,
    next: &Input,
) -> Result<Option<Filter>> {
    let store = &survivors.buckets;
    let most_bits = run.options.bits_per_key.unwrap_or(SIEVE_BITS_PER_KEY);
    let Some(shape) = shape_for_store(run, store, most_bits) else {
        return Ok(None);
    };
    let read_back: u64 = store.iter().map(|bucket| bucket.file.written_bytes).sum();
    let refused = 1.0 - shape.predicted_fpr;
    let common = common_bytes(survivors.passed, fpr, input);
    let saved = next.likely_bytes().map_or(f64::INFINITY, |bytes| {
        // What is not spilled is neither written nor read.
        2.0 * (bytes as f64 - common).max(0.0) * refused
    });
    if shape.predicted_fpr > USELESS_FPR || saved <= read_back as f64 {
        return Ok(None);
    }
    filter_store(run, store, &shape).map(Some)
}

/// Estimates how much of `input` is common, in bytes, if `passed` of its lines passed a filter of rate f.
///
/// All common lines pass, and the share f of the others: the share that passed is s = c + (1 - c) f. Solved
/// for the share c that is common, c = (s - f) / (1 - f). Lines are taken for equally long.
fn common_bytes(passed: u64, fpr: f64, input: &Input) -> f64 {
    let share = passed as f64 / input.lines().max(1) as f64;
    // A filter that refuses nothing says nothing: nearly the same share passes, whatever c is.
    let common = if fpr < 0.99 {
        ((share - fpr) / (1.0 - fpr)).max(0.0)
    } else {
        0.0
    };
    common * input.likely_bytes().unwrap_or(0) as f64
}
