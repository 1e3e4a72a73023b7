//! The numbers that several files of the planner assume.
//!
//! *Owns:* them. *Invariants:* none depends on a job. *Cost:* none.

/// The least memory limit that is accepted.
pub const LEAST_MEMORY_BYTES: u64 = 16 << 20;
/// Lines that are common, as a share of the smaller input, where no estimate was made. The
/// [`revision`](crate::plan::revision) corrects it as soon as a filter can be asked.
pub(crate) const ASSUMED_COMMON: f64 = 0.1;
/// A filter that keeps less than this share of the lines out of the buckets costs more to ask than it
/// saves.
pub(crate) const LEAST_USEFUL_SAVING: f64 = 0.1;
/// Bits per key beyond which memory serves an exact sieve better as larger blocks: 0.4 % pass by
/// mistake.
pub(crate) const SIEVE_BITS_PER_KEY: f64 = 12.0;
/// The most buckets of a `partition` that memory does not ask for, where full-size blocks fit for all.
pub(in crate::plan) const DEFAULT_BUCKETS: u64 = 1000;
/// This number of files takes some seconds. The planner makes fewer unless memory demands them.
pub(in crate::plan) const MANY_FILES: u64 = 20_000;
/// The beginning of a reason for a usage error: the option.
pub(in crate::plan) const OF_STRATEGY: &str = "`strategy`: ";

/// The cost of a line that is held in memory besides its bytes, in bytes that are moved.
pub(super) const HELD_LINE_COST: u64 = 100;
