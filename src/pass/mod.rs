//! The three passes that every strategy is made of.
//!
//! | pass | does | gives |
//! |---|---|---|
//! | [`filter`] | reads lines, hashes each, sets bits | a filter |
//! | [`spill`] | reads lines, hashes each, drops what a filter refuses, appends the rest to its bucket | buckets |
//! | [`join`] | per bucket: the set of distinct lines, marked by each side, selected by their marks | lines |
//!
//! All of them read inputs through [`scan`], which overlaps reading and computing; spilling
//! overlaps writing, too. What is to be answered line by line goes through [`ordered_scan`] instead.

pub(crate) mod addresses;
mod chunk_ordinals;
pub(crate) mod duplicate_cache;
pub(crate) mod filter;
mod hot_lines;
pub(crate) mod join;
pub(crate) mod negatives;
pub(crate) mod ordered_scan;
pub(crate) mod prefiltered_worker;
pub(crate) mod ranges;
pub(crate) mod receiver;
pub(crate) mod resident_set;
pub(crate) mod rewrite;
mod sampled_lines;
pub(crate) mod scan;
mod scan_state;
pub(crate) mod spill;
pub(crate) mod spool;
pub(crate) mod survivor_sample;
mod writing;
pub(crate) mod written_set;
