//! The ways through a filter that is kept in a file: built of one input and asked about the others; or
//! changed, and asked what it still has.
//!
//! *Owns:* the calls. *Invariants:* the file is where the case's other files are. *Cost:* a filter of the input's
//! lines.

use std::collections::BTreeSet;
use std::path::Path;

use outset::filter::{Filter, Kind, StoredFilter};
use outset::hash::HashKey;
use outset::stored::{
    BuildRequest, Change, FilterSize, KeyCount, Question, build, change, insert_new, query,
};
use outset::{Error, LineFormat, Options, Result, Sink, Source, Stats, intersect};

use crate::oracle;
use crate::sandbox::Sandbox;

/// Lines that a filter is built for which is to claim many by mistake.
const FEW_LINES: u64 = 200;
/// The rate that it is built for.
const HIGH_FPR: f64 = 0.3;

/// Builds a filter of the first of `sources`, and finds which lines all others have and it may have.
///
/// # Errors
/// Those of the two calls.
pub fn through_a_file(
    sandbox: &Sandbox,
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
    let path = sandbox.path("filter.osf");
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

/// Inserts the lines of the first input by `insert_new` into an empty filter, removes the first half of
/// them, and hands each of the others to `sink` that the filter then says it certainly does not have: there
/// must be none. Of digests, which count nothing, the others are those that were not removed.
///
/// # Errors
/// Those of the calls.
pub fn forgotten(
    sandbox: &Sandbox,
    kind: Kind,
    options: &Options,
    sink: &mut dyn Sink,
) -> Result<()> {
    let path = sandbox.path("filter.osf");
    let request = BuildRequest {
        kind,
        keys: KeyCount::Lines(FEW_LINES),
        size: FilterSize::Fpr(HIGH_FPR),
        hashes: None,
        like: None,
    };
    let save = |filter: &Filter| filter.save(&path, &options.interrupt);
    save(&build(&[], &request, options)?.filter)?;
    let first = sandbox.input(0);
    let inserted = insert_new(
        &StoredFilter::open(&path)?,
        &[Source::from(&first)],
        options,
        &mut std::io::sink(),
        "nowhere",
    )?;
    save(&inserted.filter)?;

    let plain = sandbox.plain();
    let content = std::fs::read(&plain).map_err(|error| unusable(&plain, error))?;
    let lines = oracle::split(&content, options.format.terminator, options.format.strip_cr);
    let (front, back) = lines.split_at(lines.len() / 2);
    let gone: BTreeSet<&[u8]> = front.iter().copied().collect();
    let stays = |line: &&&[u8]| kind != Kind::Fingerprint || !gone.contains(**line);
    let format = options.format;
    let removed = written(sandbox, "front", front.iter(), format)?;
    let others = written(sandbox, "back", back.iter().filter(stays), format)?;
    let changed = change(
        &StoredFilter::open(&path)?,
        &[removed],
        Change::Remove,
        options,
    )?;
    save(&changed.filter)?;

    let mut absent = Vec::new();
    let stored = StoredFilter::open(&path)?;
    query(
        stored,
        &[others],
        Question::Absent,
        options,
        &mut absent,
        "memory",
    )?;
    for line in oracle::split(&absent, format.terminator, false) {
        sink.line(line).map_err(|error| unusable(&path, error))?;
    }
    Ok(())
}

/// A file that has these lines in this format.
fn written<'l>(
    sandbox: &Sandbox,
    name: &str,
    lines: impl Iterator<Item = &'l &'l [u8]>,
    format: LineFormat,
) -> Result<Source> {
    let path = sandbox.path(name);
    let mut content = Vec::new();
    for line in lines {
        content.extend_from_slice(line);
        if format.strip_cr {
            // It is stripped from what is read; one that the line ends with must stay.
            content.push(b'\r');
        }
        content.push(format.terminator);
    }
    let written = std::fs::write(&path, content);
    written.map_err(|error| unusable(&path, error))?;
    Ok(Source::from(&path))
}

fn unusable(path: &Path, source: std::io::Error) -> Error {
    Error::Input {
        path: path.to_owned(),
        source,
        advice: "check the directory of the runner",
    }
}
