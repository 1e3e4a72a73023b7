//! The way through a filter that is kept in a file: built of one input, asked about the others.
//!
//! *Owns:* the two calls. *Invariants:* the file is where the case's other files are. *Cost:* a filter of the input's lines.

use outset::filter::Kind;
use outset::hash::HashKey;
use outset::kept::{BuildRequest, FilterSize, KeyCount, build};
use outset::{Options, Result, Sink, Source, Stats, intersect};

use crate::place::Place;

/// Builds a filter of the first of `sources`, and finds which lines all others have and it may have.
///
/// # Errors
/// Those of the two calls.
pub fn through_a_file(
    place: &Place,
    sources: &[Source],
    (kind, fpr): (Kind, f64),
    options: &Options,
    sink: &mut dyn Sink,
) -> Result<Stats> {
    let (first, others) = sources.split_at(1);
    let request = BuildRequest {
        kind,
        // Pipes can be neither sampled nor counted.
        keys: KeyCount::Lines(1000),
        size: FilterSize::Fpr(fpr),
        hashes: None,
        like: None,
    };
    let path = place.path("filter.osf");
    build(first, &request, options)?
        .filter
        .save(&path, &options.interrupt)?;
    let options = Options {
        stored_filter: Some(path),
        // The filter brings its own.
        hash_key: HashKey::Random,
        ..options.clone()
    };
    intersect(others, &options, sink)
}
