//! The size of a job on several machines: tasks, buckets, bytes and time.
//!
//! *Owns:* the arithmetic. *Invariants:* no I/O; block sizes are those that [`shard`](crate::cluster::shard()) would
//! choose.
//!
//! *Formulas.* With T bytes on M machines of W tasks each:
//!
//! ```text
//!  shards    T / range      a range of 1 GiB, or more where that fills the blocks of all buckets, or less where each
//!                           task would get fewer than four
//!  buckets   T / bucket     a bucket of 512 MiB, or less in the same way; fewer where blocks would be too small
//!  network   T (M - 1) / M  what goes to another machine; the same is written to its disk, and read from there
//!  time      shard: the longest of disk (2 T / M), network and processor; join: the longer of disk and processor
//! ```
//!
//! Speeds of processors are those of one core where they were measured (docs/clusters.md); those of disks and
//! networks are the caller's.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::options::Options;
use crate::plan::exchange::shard_layout;
use crate::plan::{InputShape, Job};
use crate::run::survey::job_for;

/// The most bytes of a range that fills its blocks: a task that fails has not done too much.
const MOST_RANGE: u64 = 1 << 30;
/// The least bytes of a range, or of a bucket: a task costs a second of its own.
const LEAST_TASK: u64 = 64 << 20;
/// The most bytes of a bucket, of all sides together.
const MOST_BUCKET: u64 = 512 << 20;
/// Tasks that each task slot of a machine should get, one after the other: with a few, all slots end at about the same
/// time.
const WAVES: u64 = 4;
/// The least block, in bytes, that is moved at a good speed.
const LEAST_BLOCK: u64 = 16 << 10;
/// The most buckets of a job.
const MOST_BUCKETS: u64 = 65_536;
/// Bytes a second that one task splits and compresses, as measured on a core.
const SHARD_SPEED: f64 = 200e6;
/// Bytes a second that one task joins, as measured on a core.
const JOIN_SPEED: f64 = 200e6;
/// A join spills what has more than this part of its memory limit, in tenths.
const HELD_TENTHS: u64 = 5;

/// Machines that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machines {
    /// Number of machines; at least 1.
    pub count: u64,
    /// Tasks that run on each at the same time; at least 1.
    pub tasks: u64,
    /// Bytes a second that each sends and receives.
    pub network_bytes: u64,
    /// Bytes a second that each reads or writes.
    pub disk_bytes: u64,
}

/// The tasks, bytes and seconds of a job.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sizing {
    /// Bytes of all sides.
    pub input_bytes: u64,
    /// Number of shards.
    pub shards: u64,
    /// Bytes of the range of each.
    pub range_bytes: u64,
    /// Number of buckets, and of joins.
    pub buckets: u64,
    /// Bytes of a bucket, all sides together.
    pub bucket_bytes: u64,
    /// Bytes of a full block, or of all lines of a range in a bucket where these are fewer.
    pub block_bytes: u64,
    /// Memory limit of each task in bytes.
    pub memory_bytes: u64,
    /// Bytes that go from one machine to another, all together, before they are compressed.
    pub network_bytes: u64,
    /// Bytes of temporary disk of each machine: the blocks that it keeps for the joins, and what joins spill.
    pub disk_bytes: u64,
    /// Seconds of all shards.
    pub shard_seconds: f64,
    /// The resource that limits them: `disk`, `network` or `processor`.
    pub shard_bound: &'static str,
    /// Seconds of all joins.
    pub join_seconds: f64,
    /// The resource that limits them.
    pub join_bound: &'static str,
}

/// Sizes a job of sides with these numbers of lines, of `line_bytes` each on average, on `machines`. The memory limit
/// of `options` is that of each task.
///
/// # Errors
/// [`Error::Usage`] for no machines or no lines; [`Error::MemoryPlan`] where a task has too little memory.
pub fn size(
    lines: &[u64],
    line_bytes: u64,
    machines: Machines,
    options: &Options,
) -> Result<Sizing> {
    let sides: Vec<u64> = lines
        .iter()
        .map(|it| it.saturating_mul(line_bytes))
        .collect();
    let total = sides.iter().fold(0, |sum: u64, it| sum.saturating_add(*it));
    let speeds = machines.network_bytes.min(machines.disk_bytes);
    if total == 0 {
        return Err(Error::usage(
            "`lines`: there is no line to size for",
            "give the number of lines of each side, such as `lines` 5e9,5e9",
        ));
    }
    if machines.count == 0 || machines.tasks == 0 || speeds == 0 {
        return Err(Error::usage(
            "`count`, `tasks`, `network_bytes`, `disk_bytes`: must all be above 0",
            "give numbers above 0",
        ));
    }
    let all_tasks = machines.count.saturating_mul(machines.tasks);
    let waves = all_tasks.saturating_mul(WAVES);
    let part = |most: u64| (total / waves).clamp(LEAST_TASK, most);
    let wanted = total.div_ceil(part(MOST_BUCKET)).min(MOST_BUCKETS);
    let job = job_of(total, line_bytes, options);
    let (buckets, block_bytes) = buckets(&job, wanted)?;
    let bucket_bytes = total.div_ceil(buckets);
    // A block that is sent at the end of a range is as full as it is.
    let range_bytes = part(MOST_RANGE.max(buckets * block_bytes));
    let block_bytes = block_bytes.min(range_bytes.div_ceil(buckets));
    let held = job.memory_bytes / 10 * HELD_TENTHS;
    let spilled = if bucket_bytes > held { bucket_bytes } else { 0 };
    let each = total / machines.count;
    let network_bytes = total - each;
    let workers = all_tasks as f64;
    let disk = |bytes: u64| bytes as f64 / machines.disk_bytes as f64;
    let (shard_seconds, shard_bound) = longest(&[
        (2.0 * disk(each), "disk"),
        (
            (network_bytes / machines.count) as f64 / machines.network_bytes as f64,
            "network",
        ),
        (total as f64 / workers / SHARD_SPEED, "processor"),
    ]);
    let moved = if spilled > 0 { 3.0 } else { 1.0 };
    let (join_seconds, join_bound) = longest(&[
        (moved * disk(each), "disk"),
        (total as f64 / workers / JOIN_SPEED, "processor"),
    ]);
    Ok(Sizing {
        input_bytes: total,
        shards: sides.iter().map(|side| side.div_ceil(range_bytes)).sum(),
        range_bytes,
        buckets,
        bucket_bytes,
        block_bytes,
        memory_bytes: job.memory_bytes,
        network_bytes,
        disk_bytes: each + machines.tasks.saturating_mul(spilled),
        shard_seconds,
        shard_bound,
        join_seconds,
        join_bound,
    })
}

/// Makes the job of one shard, on one thread.
fn job_of(bytes: u64, line_bytes: u64, options: &Options) -> Job {
    let shape = InputShape {
        bytes: Some(bytes),
        lines: Some(bytes / line_bytes.max(1)),
        distinct_lines: None,
        is_cached: false,
        decoding: None,
        key_bytes: None,
    };
    let options = Options {
        threads: Some(1),
        ..options.clone()
    };
    job_for(vec![shape], line_bytes, &options)
}

/// Returns the number of buckets, and the size of a block: `wanted` buckets, or fewer if blocks would be too small.
fn buckets(job: &Job, wanted: u64) -> Result<(u64, u64)> {
    let mut buckets = wanted.max(1);
    loop {
        match shard_layout(job, buckets as u32, 0) {
            Ok(layout) if layout.pool.block_bytes >= LEAST_BLOCK || buckets == 1 => {
                return Ok((buckets, layout.pool.block_bytes));
            }
            Err(error) if buckets == 1 => return Err(error),
            _ => buckets = (buckets * 7 / 8).max(1),
        }
    }
}

/// Returns the longest of these times, and its name.
fn longest(times: &[(f64, &'static str)]) -> (f64, &'static str) {
    let none = (0.0, "processor");
    times
        .iter()
        .copied()
        .fold(none, |most, time| if time.0 > most.0 { time } else { most })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn sized(lines: u64, machines: u64, memory_bytes: u64) -> Sizing {
        let machines = Machines {
            count: machines,
            tasks: 8,
            network_bytes: 1_250_000_000,
            disk_bytes: 1_000_000_000,
        };
        let options = Options {
            memory_bytes: Some(memory_bytes),
            // The other tests of this process may take more than a small limit.
            resident_bytes: Some(5 << 20),
            ..Options::default()
        };
        size(&[lines, lines], 64, machines, &options).unwrap()
    }

    #[test]
    fn m10_the_largest_case_has_buckets_that_a_task_can_open_and_join() {
        let sizing = sized(50_000_000_000, 16, 4 << 30);
        assert_eq!(sizing.input_bytes, 6_400_000_000_000);
        assert_eq!(sizing.network_bytes, 6_000_000_000_000);
        assert!(sizing.bucket_bytes <= MOST_BUCKET && sizing.block_bytes >= 64 << 10);
        assert!(sizing.disk_bytes >= 400_000_000_000);
        assert!(sizing.shard_seconds >= 800.0, "{sizing:?}");
    }

    #[test]
    fn little_memory_has_fewer_buckets_and_joins_that_spill() {
        let (much, little) = (
            sized(50_000_000_000, 16, 4 << 30),
            sized(50_000_000_000, 16, 64 << 20),
        );
        assert!(little.buckets < much.buckets && little.block_bytes >= LEAST_BLOCK);
        assert!(little.disk_bytes > much.disk_bytes);
        assert!(little.join_seconds >= much.join_seconds);
    }

    #[test]
    fn more_machines_take_less_time_and_each_less_disk() {
        let (few, many) = (
            sized(5_000_000_000, 2, 1 << 30),
            sized(5_000_000_000, 20, 1 << 30),
        );
        assert!(many.shard_seconds < few.shard_seconds && many.disk_bytes < few.disk_bytes);
    }
}
