//! `join`: the lines of one bucket of all sides, or of several, from frames to the answer.
//!
//! 1. The streams or files are opened; of files, the counters of the bucket say what will come.
//! 2. Memory is divided, and a number of buckets chosen that has nothing to do with those of the job.
//! 3. `receive` the frames: one reading for all sides.
//! 4. `join` the stores, as [`partition`](crate::strategy) does.
//!
//! *Invariants:* the answer is exact. Nothing has reached the sink before all frames were received and checked.
//!
//! *Cost:* one reading; what does not stay in memory is written and read once.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::answer::Collector;
use crate::cluster::stats::{JoinStats, SideStats, hex, line_end};
use crate::engine::temp_space;
use crate::error::{Error, Result};
use crate::exchange::Frames;
use crate::exchange::shard_file::ShardFile;
use crate::exchange::stream::FrameStream;
use crate::exchange::totals::BucketTotals;
use crate::hash::LineHasher;
use crate::options::Options;
use crate::output::Sink;
use crate::pass::join::join as join_stores;
use crate::pass::receiver::{Expected, Received, receive};
use crate::plan::exchange::join_layout;
use crate::plan::{InputShape, Job};
use crate::run::Run;
use crate::run::survey::job_for;
use crate::selection::{MOST_COUNTED_SIDES, Order, Rule, Selection, SideReading, Sides};
use crate::spill::bucket::Bucket;
use crate::spill::fill::fill;
use crate::spill::rules::FillRules;

/// The source of the frames of a join.
#[derive(Debug)]
pub enum Shards {
    /// From a pipe or a file that is read in order, of any number of shards, one after the other or mixed. Messages
    /// call it by the name.
    Stream(File, PathBuf),
    /// From these shard files, of which one bucket is read.
    Files(Vec<PathBuf>),
}

/// The task of a join.
#[derive(Debug, Clone, Copy)]
pub struct JoinRequest {
    /// The rule for the lines that are written. Their order cannot be chosen.
    pub selection: Selection,
    /// Number of sides of the job.
    pub sides: u32,
    /// The bucket that is joined. With [`Shards::Stream`] it may be `None`: all that comes is joined.
    pub bucket: Option<u32>,
}

/// Finds the lines that `request` asks for among those of a bucket of `shards`, and hands each to `sink`.
///
/// Of `options`, the memory limit, the threads, the temporary directories and their limit, the interrupt and the
/// observer count. The terminator of the line format, which the sink writes, goes to the report.
///
/// # Errors
/// [`Error::BadFrames`] for frames that are damaged, incomplete or of another job; [`Error::Usage`] for a request that
/// makes no sense; any other [`Error`]. Lines that the sink has received by then are not the whole result.
pub fn join(
    request: &JoinRequest,
    shards: Shards,
    options: &Options,
    sink: &mut dyn Sink,
) -> Result<JoinStats> {
    let start = Instant::now();
    check(request, &shards)?;
    let sides = sides_of(request)?;
    let stop = || options.interrupt.check();
    let (sources, known) = open(shards, request.bucket, &stop)?;
    let layout = join_layout(&job(request, known, options))?;
    // Of its own: what is in one bucket of the job has the same bits of the hash under the job's key.
    let hasher = LineHasher::new(options.hash_key)?;
    let space = temp_space(options);
    space.directories().remove_orphans();
    let run = Run::new(options, layout, hasher, &space);
    let out = Collector::new(sink);
    let expected = Expected {
        sides: request.sides,
        bucket: request.bucket,
    };
    let (received, stores) = fill_all(&run, sources, expected, known)?;
    join_stores(&run, stores, &sides, &out)?;
    Ok(report(request, sides.rule(), &run, &received, &out, start))
}

/// Refuses what no join can be.
fn check(request: &JoinRequest, shards: &Shards) -> Result<()> {
    let refuse = |what: &str, advice: &str| Err(Error::usage(what, advice));
    if (request.sides as usize) < request.selection.least_sides() {
        return refuse(
            "`sides`: this operation compares two or more",
            "give the number of sides",
        );
    }
    if request.sides > MOST_SIDES {
        let what = format!(
            "`sides`: {} given, but a job has at most {MOST_SIDES}",
            request.sides
        );
        return refuse(&what, "give fewer sides");
    }
    if request.selection.order != Order::Any {
        return refuse(
            "order: lines of a bucket come in no particular order",
            "leave it out",
        );
    }
    if request.selection.tells_places() {
        return refuse(
            "`with_duplicate_places`: the lines of a bucket have no places",
            "leave it out",
        );
    }
    match shards {
        Shards::Files(paths) if paths.is_empty() || request.bucket.is_none() => refuse(
            "join: reads one bucket of shard files at a time",
            "name the files and the bucket (`bucket`)",
        ),
        _ => Ok(()),
    }
}

/// The most sides of a job.
pub const MOST_SIDES: u32 = MOST_COUNTED_SIDES as u32;

/// Returns the rule of the selection, for sides that each have a store.
fn sides_of(request: &JoinRequest) -> Result<Sides> {
    let count = request.sides as usize;
    let readings = (0..count).zip(1..);
    let readings = readings.map(|(input, number)| SideReading { input, number });
    let rule = Rule::new(request.selection, count)?;
    Ok(Sides::new(rule, readings.collect()))
}

/// The sources of the frames, read one after the other.
type Sources<'a> = Vec<Box<dyn Frames + 'a>>;

/// Opens the sources; also says what they have together, as far as that is known.
fn open(
    shards: Shards,
    bucket: Option<u32>,
    stop: &(dyn Fn() -> Result<()> + Sync),
) -> Result<(Sources<'_>, Option<BucketTotals>)> {
    let paths = match shards {
        Shards::Stream(file, name) => {
            return Ok((vec![Box::new(FrameStream::new(file, name, stop))], None));
        }
        Shards::Files(paths) => paths,
    };
    let (mut totals, mut sources) = (BucketTotals::default(), Vec::with_capacity(paths.len()));
    for path in &paths {
        stop()?;
        let file = ShardFile::open(path, bucket.unwrap_or_default())?;
        totals.add(file.totals());
        sources.push(Box::new(file) as Box<dyn Frames>);
    }
    Ok((sources, Some(totals)))
}

/// Makes the job: one input for each side, whose single sizes are not known.
fn job(request: &JoinRequest, known: Option<BucketTotals>, options: &Options) -> Job {
    let shape = InputShape {
        bytes: known.map(|totals| totals.bytes / u64::from(request.sides)),
        lines: known.map(|totals| totals.lines / u64::from(request.sides)),
        distinct_lines: None,
        is_cached: true,
        decoding: None,
        key_bytes: None,
    };
    let shapes = vec![shape; request.sides as usize];
    let longest = known.map_or(0, |totals| totals.largest);
    Job {
        selection: request.selection,
        ..job_for(shapes, longest, options)
    }
}

/// Receives everything into a store for each side.
fn fill_all(
    run: &Run<'_>,
    sources: Sources<'_>,
    expected: Expected,
    known: Option<BucketTotals>,
) -> Result<(Received, Vec<Vec<Bucket>>)> {
    let phase = run.phase("receive", known.map(|totals| totals.bytes));
    let pool = run.block_pool();
    let rules = FillRules {
        space: run.space,
        pool: &pool,
        address: run.new_store(0),
        buckets: run.layout.pool.buckets,
        writers: run.layout.pool.writers,
        has_ordinals: false,
        columns: None,
        block_sink: None,
    };
    let mut received = Received::default();
    let mut buckets = fill(rules, |writer| {
        received = receive(run, &phase, sources, expected, writer)?;
        Ok(())
    })?;
    check_lines(&received, &buckets)?;
    // One writer has filled the buckets of all sides, those of the first at the front.
    let each = buckets.len() / expected.sides as usize;
    let mut stores = Vec::with_capacity(expected.sides as usize);
    while !buckets.is_empty() {
        let rest = buckets.split_off(each.min(buckets.len()));
        stores.push(std::mem::replace(&mut buckets, rest));
    }
    Ok((received, stores))
}

/// Checks that every line of every frame is in a bucket of its side.
///
/// # Errors
/// [`Error::LinesLost`].
fn check_lines(received: &Received, buckets: &[Bucket]) -> Result<()> {
    let each = (buckets.len() / received.sides.len().max(1)).max(1);
    for (totals, own) in received.sides.iter().zip(buckets.chunks(each)) {
        let appended: u64 = own.iter().map(|bucket| bucket.lines).sum();
        if appended != totals.lines {
            return Err(Error::LinesLost {
                path: Path::new("join").to_owned(),
                what: format!("{appended} of {} lines reached the buckets", totals.lines),
            });
        }
    }
    Ok(())
}

fn report(
    request: &JoinRequest,
    rule: &Rule,
    run: &Run<'_>,
    received: &Received,
    out: &Collector<'_>,
    start: Instant,
) -> JoinStats {
    let record = run.record().clone();
    let side = |totals: &BucketTotals| SideStats {
        lines: totals.lines,
        hash_sum: hex(totals.hash_sum),
    };
    let joined = match request.bucket {
        Some(bucket) => vec![bucket],
        None => received.buckets.iter().copied().collect(),
    };
    JoinStats {
        version: env!("CARGO_PKG_VERSION"),
        command: "join",
        operation: request.selection.name(),
        selection: request.selection,
        line_end: line_end(run.options.format.terminator),
        filters_from_side: match rule {
            _ if rule.needs_all() => Some(1),
            _ if rule.in_first() => Some(2),
            _ => None,
        },
        job: received.job.map(hex),
        joined,
        sides: received.sides.iter().map(side).collect(),
        output: out.written(),
        seconds: start.elapsed().as_secs_f64(),
        memory: run.memory_stats(),
        temp: run.temp_stats(),
        buckets: record.buckets,
        phases: record.phases,
    }
}
