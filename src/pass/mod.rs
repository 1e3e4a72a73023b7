//! The three passes that every strategy is made of.
//!
//! | pass | does | gives |
//! |---|---|---|
//! | [`filter`] | reads lines, hashes each, sets bits | a filter |
//! | [`spill`] | reads lines, hashes each, drops what a filter refuses, appends the rest to its bucket | buckets |
//! | [`join`] | per bucket: the set of distinct lines, marked by each side, selected by their marks | lines |
//!
//! All of them read inputs through [`scan`], which overlaps reading and computing; spilling
//! overlaps writing, too. What is to be answered line by line goes through [`ordered`] instead.

pub(crate) mod addresses;
pub(crate) mod ask;
pub(crate) mod filter;
pub(crate) mod join;
pub(crate) mod known;
pub(crate) mod look;
pub(crate) mod ordered;
pub(crate) mod receive;
mod recent;
pub(crate) mod resident;
pub(crate) mod scan;
pub(crate) mod screened;
pub(crate) mod spill;
pub(crate) mod spool;
mod tally;
