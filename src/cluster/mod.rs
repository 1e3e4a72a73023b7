//! The steps of a set operation on several machines: split each input by hash, join each bucket, compare the counters.
//!
//! *Owns:* [`shard`](shard()), [`join`](join()) and [`finish`](finish()), and what a job takes ([`size`]). The first
//! three are commands of a scheduler: Spark, Slurm, make. Here is no network, no retry and no list of machines; the
//! scheduler has them.
//!
//! ```text
//!  machine 1   shard --side 1 --range ... a.txt ─┐  frames   ┌─▶ join --bucket 0 ─▶ part 0
//!  machine 2   shard --side 1 --range ... a.txt ─┼─ of each ─┼─▶ join --bucket 1 ─▶ part 1
//!  machine 3   shard --side 2 b.txt ─────────────┘  bucket   └─▶ join --bucket 2 ─▶ part 2
//!                    │ statistics                                      │ statistics
//!                    └────────────────────▶ finish ◀───────────────────┘
//! ```
//!
//! *Invariants.*
//! - Equal lines of all sides are in the same bucket: the bucket is a function of the line, the key of the job and the
//!   number of buckets ([`LineHasher::bucket`](crate::hash::LineHasher::bucket), level 0). It will not change; the
//!   tests have examples.
//! - A line belongs to the range in which it begins. So ranges that cover a file once have each line once.
//! - All lines are kept, repeats included: the answer of a join is that of [`select`](crate::select) for the lines of
//!   its bucket.
//! - Each command is complete or fails, within its memory limit. A loss between two commands is found by
//!   `finish`: lines and sums of hashes.
//!
//! *Cost:* one reading of the inputs, one transport of all lines, what a join spills, and nothing that grows with the
//! number of lines.

mod finish;
mod join;
mod key;
mod reports;
mod shard;
mod sizing;
mod stats;

pub use crate::exchange::lines::LineFrames;
pub use crate::exchange::sender::Compression;
pub use finish::{Finished, finish};
pub use join::{JoinRequest, MOST_SIDES, Shards, join};
pub use key::JobKey;
pub use shard::{ShardRequest, shard};
pub use sizing::{Machines, Sizing, size};
pub use stats::{JoinStats, RangeStats, ShardInputStats, ShardStats, SideStats};
