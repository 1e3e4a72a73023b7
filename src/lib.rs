//! Set operations on huge files of lines, under a hard memory limit: what they have in common, what only one of
//! them has, or what any of them has.
//!
//! The name stands for *out-of-core sets*: the library is designed for two files of 5 billion URLs, 320 GB each,
//! on a server with 4 GB of memory to spare.
//!
//! ```
//! use outset::{Options, Source, intersect};
//! # let directory = tempfile::tempdir()?;
//! # let (a, b) = (directory.path().join("a"), directory.path().join("b"));
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
//! # Operations
//!
//! Every operation writes the lines that a certain number of inputs have, or certain ones: each once, unless the
//! [`Selection`] asks for repeats. [`select`] takes any [`Selection`]; the others are [`select`] with one of these:
//!
//! | function | lines of | [`Selection`] | command |
//! |---|---|---|---|
//! | [`intersect`] | all inputs | [`intersection`](Selection::intersection) | `intersect` |
//! | [`difference`] | the first input alone | [`difference`](Selection::difference) | `diff` |
//! | [`union`](union()) | any input | [`union`](Selection::union) | `union` |
//! | [`symmetric_difference`] | exactly one input | [`symmetric_difference`][symdiff] | `symdiff` |
//! | [`select`] | K inputs or more | [`at_least`](Selection::at_least) | `intersect --at-least K` |
//! | [`select`] | K inputs or fewer | [`at_most`](Selection::at_most) | `intersect --at-most K` |
//! | [`select`] | exactly K inputs | [`exactly`](Selection::exactly) | `intersect --exactly K` |
//! | [`select`] | K to L inputs | [`between`](Selection::between) | `intersect --at-least K --at-most L` |
//! | [`select`] | exactly these inputs | [`only`](Selection::only) | `intersect --only 101` |
//! | [`overlaps`](overlaps()) | each combination of inputs, counted | | `overlaps` |
//! | [`pairs`](pairs()) | each two inputs, counted | | `overlaps --pairs` |
//!
//! [symdiff]: Selection::symmetric_difference
//!
//! [`Selection::min_count`] and [`Selection::max_count`] select lines by how often they occur in all inputs together.
//! [`Selection::ordered`] gives the lines an order; [`Selection::top`] takes the most frequent. A [`Label`] before each
//! line says which inputs have it, or how many:
//!
//! ```
//! use outset::{Label, Options, Selection, Source, select};
//! # let directory = tempfile::tempdir()?;
//! # let [a, b, c] = ["a", "b", "c"].map(|name| directory.path().join(name));
//! std::fs::write(&a, "apple\nbanana\n")?;
//! std::fs::write(&b, "banana\ncherry\n")?;
//! std::fs::write(&c, "cherry\nbanana\n")?;
//!
//! let inputs = [&a, &b, &c].map(Source::from);
//! let in_two_or_more = Selection::at_least(2).labelled(Label::Sides);
//! let mut found = Vec::new();
//! select(&inputs, in_two_or_more, &Options::default(), &mut |line: &[u8]| {
//!     found.push(line.to_vec());
//!     Ok(())
//! })?;
//! found.sort();
//! assert_eq!(found, [b"011\tcherry".to_vec(), b"111\tbanana".to_vec()]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Records
//!
//! A line, or a row of a Parquet file, can be a record, of which only a part is compared: its key. [`Options::keys`]
//! says what the key is. The result has the keys or, with [`Selection::of_records`], the whole records.
//!
//! ```
//! use outset::{Dialect, Keys, Options, Selection, Source, Syntax, select};
//! # let directory = tempfile::tempdir()?;
//! # let [a, b] = ["a", "b"].map(|name| directory.path().join(name));
//! std::fs::write(&a, "id,url\n1,x\n2,y\n3,x\n")?;
//! std::fs::write(&b, "url\n\"x\"\n")?;
//!
//! let keys = Keys {
//!     syntax: Syntax::Csv(Dialect::new(b',')),
//!     fields: vec!["url".parse()?],
//!     has_header: true,
//!     ..Keys::default()
//! };
//! let options = Options { keys: Some(keys), ..Options::default() };
//! let every_record = Selection::intersection().of_records().with_repeats();
//! let mut found = Vec::new();
//! select(&[Source::from(&a), Source::from(&b)], every_record, &options, &mut |line: &[u8]| {
//!     found.push(line.to_vec());
//!     Ok(())
//! })?;
//! found.sort();
//! assert_eq!(found, [b"1,x".to_vec(), b"3,x".to_vec()]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Inputs and results
//!
//! A [`Source`] is a file, a FIFO, standard input, many [`Files`] that are read as one, a [`Reader`] (lines that the
//! program has in memory or reads itself), or a [`Producer`] (what commands write). Compressed files are decoded.
//!
//! A [`Sink`] takes the lines of a result, such as a closure or an [`OutputFile`], which is put in place as a whole or
//! not at all, or goes to a command ([`Consumer`]), and an [`OutputDirectory`] with a file for each file of the inputs.
//! [`Results`] is an iterator over them, and [`collect()`] returns all of them:
//!
//! ```
//! use outset::{Options, Reader, Selection, Source, collect};
//!
//! let seen = Reader::new("seen", &b"banana\n"[..]);
//! let today = Reader::new("today", &b"apple\nbanana\n"[..]);
//! let new = collect(&[today, seen].map(Source::from), Selection::difference(), &Options::default())?;
//! assert_eq!(new, [b"apple"]);
//! # Ok::<(), outset::Error>(())
//! ```
//!
//! # Memory
//!
//! [`Options::memory_bytes`] limits the resident memory of the whole process; by default it is half of what is
//! available. What does not fit goes to [`Options::temp_dirs`]. A limit that cannot be kept is an error that names one
//! that is enough:
//!
//! ```
//! use outset::{Error, Options, Reader, Selection, Source, collect};
//!
//! let lines = || [Source::from(Reader::new("a", &b"apple\n"[..]))];
//! let mut options = Options { memory_bytes: Some(1 << 20), ..Options::default() };
//! let refused = collect(&lines(), Selection::union(), &options);
//! if let Err(Error::MemoryPlan { least_bytes, .. }) = refused {
//!     options.memory_bytes = Some(least_bytes);
//! }
//! assert_eq!(collect(&lines(), Selection::union(), &options)?, [b"apple"]);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Progress and stopping
//!
//! An [`Observer`] hears of the plan, of each phase with its bytes, and of whatever else is worth a word ([`Notice`]).
//! An [`Interrupt`] stops a run from any thread; the run ends with [`Error::Interrupted`] and leaves nothing behind.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use outset::{Interrupt, Observer, Options};
//!
//! #[derive(Default)]
//! struct Bytes(AtomicU64);
//!
//! impl Observer for Bytes {
//!     fn advanced(&self, bytes_read: u64, _lines: u64) {
//!         self.0.fetch_add(bytes_read, Ordering::Relaxed);
//!     }
//! }
//!
//! let interrupt = Interrupt::new();
//! let options = Options {
//!     observer: Some(Arc::new(Bytes::default())),
//!     interrupt: interrupt.clone(),
//!     ..Options::default()
//! };
//! // On another thread, or at a signal: interrupt.stop();
//! # drop((interrupt, options));
//! ```
//!
//! # Threads
//!
//! A run has [`Options::threads`] workers, by default one for each core, and threads that read and write. All have
//! ended when it returns. Several runs can go on at the same time; each has its own limit, and counts what the process
//! has resident when it starts. A [`Sink`] is called by one thread at a time.
//!
//! # Approximate answers
//!
//! [`Options::max_fpr`] and [`Strategy::Bloom`] allow an answer from Bloom filters alone; [`Stats::exact`] says whether
//! it is one. [`stored`] keeps filters in files, and [`filter::StoredFilter`] answers
//! [`contains`](filter::Filter::contains) of a single line; [`estimate`](mod@estimate) counts distinct and common lines
//! from sketches; [`compare`](mod@compare) shows how an approximate answer differs; [`plan_for`] says what a run would
//! do.
//!
//! # Speed in a development build
//!
//! Without optimisation the engine takes 40 times as long: 4 minutes 33 seconds instead of 6.6 for two files of 10
//! million lines. Two lines in the `Cargo.toml` of a program optimise what it depends on, and make it 7.7 seconds:
//!
//! ```toml
//! [profile.dev.package."*"]
//! opt-level = 3
//! ```
//!
//! # Features, platforms, versions
//!
//! | feature | |
//! |---|---|
//! | `cli` (by default) | the command `outset`; a library needs `default-features = false` |
//! | `parquet` | Parquet files as inputs, and copies of their rows |
//!
//! Linux on little-endian 64-bit processors; fastest on x86-64 with AVX-512 or AVX2. Rust 1.89; a release that raises
//! it is a minor version. New variants and new fields of statistics come with minor versions. So do new fields of
//! [`Options`] and [`Keys`]: end literals with `..Options::default()`.
//!
//! # Guarantees
//!
//! Each line of the result is reported once, unless repeats are asked for. Bytes are compared as they are: no locale,
//! no Unicode, no trimming. A last line without a terminator counts, and an empty line is a line. The result of an
//! exact strategy does not depend on the memory limit, or the number of buckets or threads. It depends on the order of
//! the inputs only in a difference, in labels, with repeats or records, and with [`Order::Input`]. A run fails if an
//! input changes meanwhile, or if a spilled block does not come back as it was written. A run leaves nothing in
//! temporary space.
//!
//! # How it works
//!
//! A plan is a list of steps, and most steps are one of three passes over lines, under one memory budget:
//!
//! ```text
//! filter(input)          read lines, hash each, set bits                      -> filter
//! spill(input, filter)   read lines, hash each, drop what the filter refuses,
//!                        append the rest to buckets                           -> buckets
//! join(buckets)          per bucket: put the distinct lines of one or more inputs into a set, let every
//!                        other input mark the lines it has, write the lines whose marks are selected
//!                                                                             -> lines
//! ```
//!
//! Each strategy is a list of such steps:
//!
//! - `memory`: join in memory; if A is cached, through filters first.
//! - `memory`, a union into a file that can be read: the answer is the set; write each new line, and read it there when
//!   its hash comes again.
//! - `partition`: spill(A) · spill(B) · join; if A is small, spill(A) also fills a filter for B.
//! - `sieve`, an intersection: filter(A) · spill(B, filtered by A's) · filter(B') · spill(A, filtered by that
//!   of B') · join.
//! - `sieve`, not an intersection: filter(A, B), noting lines that come again · spill(A, B, filtered by one of
//!   those; the rest is written or dropped) · join.
//! - `sieve`, repeats or records of A kept: filter(B) · spill(A, filtered by it; a difference writes the lines
//!   that it refuses) · spill(B, filtered by one of those that pass) · join.
//! - `bloom`, an intersection: filter(A) · spill(B, filtered by A's) · join, which only removes repeats.
//! - `bloom`, a difference: filter(B) · spill(A, lines that B's filter refuses) · join, which only removes repeats.
//! - `bloom`, a union: filter(A, B), writing the lines that it does not have.
//!
//! | strategy | exact | reads | writes |
//! |---|---|---|---|
//! | `memory` | yes | A + B, or 2A + B | nothing |
//! | `memory`, a union into a file | yes | A + B, and lines that come again | nothing |
//! | `partition` | yes | A + B + spill | A + B, or A + what passes |
//! | `sieve`, an intersection | yes | 2A + B + spill | survivors |
//! | `sieve`, not an intersection | yes | 2A + 2B + spill | lines that come again |
//! | `sieve`, repeats or records of A kept | yes | A + 2B + spill | lines that may be in both |
//! | `bloom`, an intersection | no: may add lines | A + B + spill | survivors |
//! | `bloom`, a difference | no: may miss lines | A + B + spill | the answer |
//! | `bloom`, a union | no: may miss lines | A + B | nothing |
//!
//! A is the input with the fewest bytes (of a difference, the first), B' the part of B that survives A's filter. In
//! an intersection, further inputs extend the chain: each is filtered by that of the survivors before it, and
//! the join demands a mark from every input. Blocks of buckets stay in memory
//! while there is room, so survivors that fit never touch the disk. The filter of B' is filled while B is spilled
//! if memory has room for two filters; otherwise it is built from the buckets, and only if it saves more than
//! reading them costs.
//!
//! The sieve of other operations looks for lines that occur only once in all inputs together. Each of them is in
//! one input alone, so it needs no join.
//!
//! `sieve` of an intersection and `bloom` plan their buckets a second time when the first filter is complete, from
//! a sample of the next input. If nearly everything passes, a sieve drops its filter and goes on as `partition`; if
//! the lines repeat so often that the different ones fit in memory, it goes on as `memory`. The other sieve plans
//! its buckets a second time from its second filter.
//!
//! `outset plan` prints the steps of a run. A step names the input that it reads and the filters that it asks and
//! fills; the phases of a run, the bytes that it reads, and what is in memory at which time follow from the list. Where
//! the plan is made again, the decision is a step, too.
//!
//! `docs/how-it-works.md` in the repository follows one run through its threads and its memory, and says which decision
//! has which price. CONTRIBUTING.md has the layers of the source.

mod answer;
mod batch;
pub mod cluster;
pub mod compare;
mod decode;
mod engine;
mod error;
pub mod estimate;
mod exchange;
pub mod filter;
pub mod hash;
mod input;
pub mod interrupt;
mod lines;
pub mod memory;
mod notice;
mod observer;
mod options;
mod output;
mod overlaps;
mod pass;
pub mod plan;
mod reading;
mod record;
mod results;
mod run;
mod selection;
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
pub use decode::feed::Reader;
#[cfg(feature = "parquet")]
pub use decode::parquet::{Advance, RowCopy, RowOutput};
pub use decode::producer::Producer;
pub use engine::{
    difference, intersect, plan_for, plan_with_estimate, select, symmetric_difference, union,
};
pub use error::{Error, ErrorKind, Result};
pub use estimate::estimate;
pub use input::{Files, Source};
pub use interrupt::Interrupt;
pub use lines::{LineFormat, Lines};
pub use notice::{Foreign, Notice};
pub use observer::Observer;
pub use options::{KeyType, Options};
pub use output::{
    Codec, Compressing, Compression, CompressorPlan, Consumer, CountSink, OutputDirectory,
    OutputFile, OutputWriter, Rereadable, Sink, WriteSink,
};
pub use overlaps::{Combination, Overlaps, Pairs, overlaps, pairs};
pub use plan::Strategy;
pub use record::{BadRecords, Dialect, Field, Joined, KeyForm, Keys, Ranking, Syntax};
pub use results::{Results, collect};
pub use run::listing::Listing;
pub use run::survey::job_for;
pub use selection::{Label, Order, Selection};
pub use stats::Stats;
pub use sys::file_id::{Destination, FileId};
pub use sys::machine;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub use testing::internals;
