//! `shard`: one input, or a range of it, split by hash into blocks of lines.
//!
//! 1. The input is opened and restricted to its range; the stored filter, if there is one, is checked.
//! 2. Memory is divided: a block for each bucket, as large as it can be.
//! 3. The spill pass reads the lines and appends them to the blocks of their buckets; full blocks go to the stream as
//!    frames ([`Sender`]).
//! 4. The frame of counters and the trailer end the stream.
//!
//! *Invariants:* every line that begins in the range is sent once, unless the filter refuses it. Nothing is written but
//! the stream.
//!
//! *Cost:* one reading of the range; buckets x block size of memory.

use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Instant;

use crate::batch::Prefilter;
use crate::cluster::key::JobKey;
use crate::cluster::stats::{RangeStats, ShardInputStats, ShardStats, SideStats, hex, line_end};
use crate::error::{Error, Result};
use crate::exchange::sender::{Compression, Sender, Stamp};
use crate::filter::{AskedFilter, CheckedFilter, StoredFilter};
use crate::hash::HashKey;
use crate::input::{Input, Source};
use crate::interrupt::Interrupt;
use crate::memory::budget::MemoryBudget;
use crate::options::Options;
use crate::pass::spill::{SpillRequest, spill};
use crate::plan::exchange::shard_layout;
use crate::plan::{Job, Layout};
use crate::run::Run;
use crate::run::survey::{survey_for_shard, tell_findings};
use crate::spill::bucket::Bucket;
use crate::temp::quota::Quota;
use crate::temp::space::TempSpace;

/// Memory for checking a stored filter, in bytes, before a run has a budget.
const CHECK_BYTES: u64 = 4 << 20;
/// Blocks for which a filter may be mapped: where it leaves less for each bucket, it is read as it is asked.
const GOOD_BLOCK: u64 = 16 << 10;

/// The task of a shard.
#[derive(Debug, Clone)]
pub struct ShardRequest {
    /// Of which side the lines are, from 1.
    pub side: u32,
    /// The number of buckets, 1 to 65,536; the same for all shards of a job.
    pub buckets: u32,
    /// The key of the job.
    pub key: JobKey,
    /// The bytes of the file in which its lines begin; `None` for all lines.
    pub range: Option<Range<u64>>,
    /// A stored filter, built with the key of the job: only lines that it may have are sent.
    pub filter: Option<PathBuf>,
    /// The form in which blocks are stored.
    pub compression: Compression,
}

/// The most buckets of a job.
const MOST_BUCKETS: u32 = 65_536;

/// Sends the lines of `source` that `request` asks for to `out`, which messages call `target`: as frames, in blocks of
/// one bucket each, and at the end what each bucket has. The output is complete when this has returned.
///
/// Of `options`, the memory limit, the threads, the line format, `decompress`, the interrupt and the observer count.
///
/// # Errors
/// [`Error::MemoryPlan`] where memory has no room for a block of each bucket; [`Error::Usage`] for a range of something
/// without ranges, and for a filter of another key; any other [`Error`] of reading and writing.
pub fn shard(
    source: &Source,
    request: &ShardRequest,
    options: &Options,
    (out, target): (&mut (dyn Write + Send), &str),
) -> Result<ShardStats> {
    let start = Instant::now();
    check(request)?;
    let options = Options {
        hash_key: HashKey::Random,
        keys: None,
        ..options.clone()
    };
    let mut inputs = Input::open_all(std::slice::from_ref(source), options.opening())?;
    if let Some(range) = &request.range {
        let restricted = inputs.drain(..).map(|it| it.in_range(range.clone()));
        inputs = restricted.collect::<Result<_>>()?;
    }
    let Some(input) = inputs.first() else {
        return Err(Error::Interrupted);
    };
    let filter = open_filter(request, &options)?;
    let job = survey_for_shard(&inputs, &options)?;
    let (layout, room) = divide(&job, request.buckets, filter.as_ref())?;
    // Nothing is spilled: the space is never made.
    let space = TempSpace::new(&[], Quota::new(0), &Interrupt::new());
    let run = Run::new(&options, layout, request.key.hasher(), &space);
    let filter = filter
        .map(|filter| AskedFilter::new(&filter, run.hasher, &run.budget, room))
        .transpose()?;
    let stamp = Stamp {
        job: request.key.job(request.buckets),
        shard: random()?,
        side: request.side,
    };
    let (buckets, compression) = (request.buckets, request.compression);
    let sender = Sender::new(out, target, stamp, buckets, compression, &run.budget);
    let spill_request = SpillRequest {
        prefilter: filter.as_ref().map(|filter| filter as &dyn Prefilter),
        keeps_repeats: true,
        block_sink: Some(&sender),
        ..SpillRequest::default()
    };
    run.expect_inputs(&["spill"], inputs.iter());
    let pool = run.block_pool();
    let spilled = spill(&run, &pool, input, spill_request)?;
    let trailer = sender.finish()?;
    tell_findings(&inputs, &options);
    let phases = run.record().phases.clone();
    Ok(ShardStats {
        version: env!("CARGO_PKG_VERSION"),
        command: "shard",
        job: hex(stamp.job),
        shard: hex(stamp.shard),
        side: request.side,
        buckets: request.buckets,
        input: describe(input, request),
        line_end: line_end(options.format.terminator),
        is_filtered: request.filter.is_some(),
        sent: sum_of(&spilled.buckets),
        // Beside that of the counters.
        frames: trailer.frames - 1,
        stream_bytes: trailer.bytes + crate::exchange::totals::TRAILER as u64,
        seconds: start.elapsed().as_secs_f64(),
        memory: run.memory_stats(),
        phases,
    })
}

/// Refuses what no shard can be.
fn check(request: &ShardRequest) -> Result<()> {
    if request.side == 0 {
        return Err(Error::usage(
            "`side`: sides are numbered from 1",
            "give the number of the side",
        ));
    }
    if request.buckets == 0 || request.buckets > MOST_BUCKETS {
        return Err(Error::usage(
            format!("`buckets`: {} asked for", request.buckets),
            format!("give a number from 1 to {MOST_BUCKETS}"),
        ));
    }
    Ok(())
}

/// Opens and checks the stored filter of `request`, if there is one.
fn open_filter(request: &ShardRequest, options: &Options) -> Result<Option<CheckedFilter>> {
    let Some(path) = &request.filter else {
        return Ok(None);
    };
    let filter = StoredFilter::open(path)?;
    // A shard has no keys to be told of.
    let whole = options.key_form();
    if filter.rules().key_form.advice(whole).is_some() {
        return Err(Error::usage(
            format!(
                "{}: was built of keys, but a shard asks for whole lines",
                path.display()
            ),
            "build a filter of the lines as they are",
        ));
    }
    filter.check_reading(options.format, whole)?;
    if filter.rules().hasher.key() != request.key.hasher().key() {
        return Err(Error::usage(
            format!("{}: was built with a different hash key", path.display()),
            "build it with `JobKey` and the key of the job",
        ));
    }
    filter.check(&MemoryBudget::new(CHECK_BYTES, 0)).map(Some)
}

/// Divides the memory; also says how much of it the filter may be mapped into.
fn divide(job: &Job, buckets: u32, filter: Option<&CheckedFilter>) -> Result<(Layout, u64)> {
    let filter_bytes = filter.map_or(0, |filter| filter.stored().shape().bytes());
    match shard_layout(job, buckets, filter_bytes) {
        Ok(layout) if filter_bytes == 0 || layout.pool.block_bytes >= GOOD_BLOCK => {
            Ok((layout, filter_bytes))
        }
        _ => shard_layout(job, buckets, 0).map(|layout| (layout, 0)),
    }
}

/// Describes the bytes and lines that were read.
fn describe(input: &Input, request: &ShardRequest) -> ShardInputStats {
    ShardInputStats {
        path: input.name().display().to_string(),
        file_bytes: input.file_bytes(),
        range: request.range.as_ref().map(|range| RangeStats {
            offset: range.start,
            length: range.end.saturating_sub(range.start),
        }),
        bytes: input.read_bytes(),
        lines: input.lines(),
        is_plain: input.is_file() && input.stored_bytes().is_none(),
    }
}

/// Adds up the lines of all buckets.
fn sum_of(buckets: &[Bucket]) -> SideStats {
    let sums = buckets.iter().map(|bucket| bucket.hash_sum);
    SideStats {
        lines: buckets.iter().map(|bucket| bucket.lines).sum(),
        hash_sum: hex(sums.fold(0, u64::wrapping_add)),
    }
}

/// Returns a random number, to tell this attempt from all others.
fn random() -> Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| Error::Machine {
        what: format!("shard number: no random bytes available: {error}"),
        advice: "check that the system's random source is available to this process",
    })?;
    Ok(u64::from_le_bytes(bytes))
}
