//! Finds the lines that two or more huge files have in common, under a hard memory limit.
//!
//! The case it is named after (*out-of-core sets*): two files of 5 billion URLs, 320 GB each, on a
//! server that may use 4 GB.
//!
//! ```
//! use outset::{Options, Source, intersect};
//! # let place = tempfile::tempdir()?;
//! # let (a, b) = (place.path().join("a"), place.path().join("b"));
//! std::fs::write(&a, "apple\nbanana\ncherry\n")?;
//! std::fs::write(&b, "cherry\ndate\napple\napple\n")?;
//!
//! let options = Options { memory_bytes: Some(64 << 20), ..Options::default() };
//! let mut common = Vec::new();
//! let stats = intersect(&[Source::from(&a), Source::from(&b)], &options, &mut |line: &[u8]| {
//!     common.push(line.to_vec());
//!     Ok(())
//! })?;
//! common.sort();
//! assert_eq!(common, [b"apple".to_vec(), b"cherry".to_vec()]);
//! assert!(stats.exact && stats.output.lines == 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Four strategies, three passes
//!
//! Everything is a short sequence of three passes over lines, under one memory budget:
//!
//! ```text
//! filter(input)        read lines, hash each, set bits                    -> filter
//! spill(input, keep)   read lines, hash each, drop what `keep` refuses,
//!                      append the rest to its bucket                      -> buckets
//! join(buckets)        per bucket: set of the build side's distinct lines, mark what
//!                      each further input has, write what has all marks   -> lines
//! ```
//!
//! | strategy | passes | exact | reads | writes |
//! |---|---|---|---|---|
//! | `memory` | join of inputs that never leave memory; a cached A through filters first | yes | A + B, or 2A + B | nothing |
//! | `partition` | spill(A, all) · spill(B, all) · join | yes | A + B + spill | A + B |
//! | `sieve` | filter(A) · spill(B, in A's filter) · filter(B') · spill(A, in B's filter) · join | yes | 2A + B + spill | what survives |
//! | `bloom` | filter(A) · spill(B, in A's filter) · distinct | no: may add lines | A + B + spill | what survives |
//!
//! A is the input with the fewest bytes, B' what survives of B. Further inputs extend the chain:
//! each is sieved by the filter of the survivors before it, and the join demands a mark from every
//! input. Blocks of buckets stay in memory while there is room: survivors that fit never touch the
//! disk. The filter of B' is fed while B is spilled where there is memory for two filters; else it
//! is built from the buckets, if so few survived that it pays.
//!
//! # Data's way
//!
//! ```text
//!  input            lines         hash              keep?             bucket work         output
//!  Input ────────▶  Lines ──────▶ LineHasher ─────▶ BlockedFilter ──▶ BucketWriter ─────▶ Sink
//!  (chunks)         (&[u8])       (u64, keyed)                        Bucket, LineSet     (one at a time)
//!      sample ─▶ plan ─▶ Plan (pure numbers)       MemoryBudget: every large buffer asks it
//! ```
//!
//! `engine` opens and samples the inputs, asks [`plan`](mod@plan) for a decision, and runs a
//! strategy of `strategy`, which is a few calls of `pass`. `pass` reads through `input`, hashes
//! with [`hash`], asks [`filter`], appends to `spill`, joins with `set`. [`memory`] grants all
//! memory that grows with the input.
//!
//! A filter can also outlive a run: [`stored`] builds, asks and changes filters that are in files, by
//! the same reading, hashing and dividing of memory, and a stored filter can take the place of an
//! input of `bloom`.
//!
//! # Decisions, with their price
//!
//! - **A hash decides where to look, never what is equal.** Two sides of 5 billion lines would meet
//!   1.4 false matches of 64-bit hashes; bytes are compared. Price: lines are kept, not
//!   fingerprints.
//! - **One keyed hash per line and pass** (`HighwayHash`, random key per run): nobody can prepare
//!   lines that meet in one bucket. Price: 9 ns a line of 64 bytes with AVX-512, more without;
//!   an unkeyed hash would take a third of that.
//! - **The limit is the process's resident memory.** Large buffers are anonymous mappings of their
//!   own, granted by the budget and gone when dropped. Price: page faults when a buffer is first
//!   touched.
//! - **Inputs are read, not mapped**: mapped pages would count as resident memory, and a file that
//!   is truncated meanwhile would be a fatal signal instead of an error. Price: a copy, where the
//!   page cache has the file.
//! - **No file stays open between two operations.** Any number of buckets and inputs runs under any
//!   descriptor limit. Price: an open and a close per block.
//! - **Spill and result go around the page cache**, in large pieces and by threads of their own:
//!   written that way they took a quarter of the time, and a container's limit stays free of cache.
//!   Price: a result that is read next is read from the disk.
//! - **Order is given up.** Lines come out as buckets are finished.
//!
//! # What is promised
//!
//! Each common line is reported once. Bytes are compared as they are: no locale, no Unicode, no
//! trimming. A last line without terminator counts, an empty line is a line. The result of an exact
//! strategy is the same for every memory limit, number of buckets, of threads, and order of inputs.
//! An input that changes during the run, and a spill block that does not come back as it was
//! written, fail the run. Nothing is left in temporary space.

mod batch;
pub mod compare;
mod engine;
mod error;
pub mod estimate;
pub mod filter;
pub mod hash;
mod input;
pub mod interrupt;
pub mod memory;
mod notice;
mod observer;
mod options;
mod output;
mod pass;
pub mod plan;
mod run;
mod set;
pub mod size;
mod sketch;
mod spill;
pub mod stats;
pub mod stored;
mod strategy;
mod sys;
mod temp;
#[cfg(any(feature = "internals", all(test, feature = "schedules")))]
mod testing;

pub use compare::compare;
pub use engine::{intersect, plan_for, plan_with_estimate};
pub use error::{Error, ErrorKind, Result};
pub use estimate::estimate;
pub use input::Source;
pub use input::lines::{LineFormat, Lines};
pub use interrupt::Interrupt;
pub use notice::Notice;
pub use observer::Observer;
pub use options::{KeyType, Options};
pub use output::{CountSink, OutputFile, OutputWriter, Sink, WriteSink};
pub use plan::Strategy;
pub use run::survey::job_for;
pub use stats::Stats;
pub use sys::file_id::{Destination, FileId};
pub use sys::machine;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub use testing::internals;
