//! Set operations on huge files of lines, under a hard memory limit: what they have in common, what only one of
//! them has, or what any of them has.
//!
//! The name stands for *out-of-core sets*: the library is designed for two files of 5 billion URLs, 320 GB each,
//! on a server with 4 GB of memory to spare.
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
//! # Operations
//!
//! Every operation writes the lines that a certain number of inputs have: each once, unless the [`Selection`] asks for
//! repeats. [`select`] takes any [`Selection`]; the others are [`select`] with one of these:
//!
//! | function | lines of | [`Selection`] | command |
//! |---|---|---|---|
//! | [`intersect`] | all inputs | [`intersection`](Selection::intersection) | `intersect` |
//! | [`difference`] | the first input alone | [`difference`](Selection::difference) | `diff` |
//! | [`union`](union()) | any input | [`union`](Selection::union) | `union` |
//! | [`symmetric_difference`] | exactly one input | [`symmetric_difference`](Selection::symmetric_difference) | `symdiff` |
//! | [`select`] | K inputs or more, K or fewer, exactly K | [`at_least`](Selection::at_least), [`at_most`](Selection::at_most), [`exactly`](Selection::exactly), [`between`](Selection::between) | `intersect --at-least K` |
//! | [`overlaps`](overlaps()) | each combination of inputs, counted | | `overlaps` |
//!
//! [`Selection::ordered`] gives the lines an order. A [`Label`] before each line says which inputs have it, or how many:
//!
//! ```
//! use outset::{Label, Options, Selection, Source, select};
//! # let place = tempfile::tempdir()?;
//! # let [a, b, c] = ["a", "b", "c"].map(|name| place.path().join(name));
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
//! A line can be a record of which a part, its key, is compared, and so can a row of a Parquet file: with
//! [`Options::keys`] and a [`Selection`] [`of_records`](Selection::of_records) the records are written, without the latter
//! their keys.
//!
//! ```
//! use outset::{Keys, Options, Selection, Source, Syntax, select};
//! # let place = tempfile::tempdir()?;
//! # let [a, b] = ["a", "b"].map(|name| place.path().join(name));
//! std::fs::write(&a, "id,url\n1,x\n2,y\n3,x\n")?;
//! std::fs::write(&b, "url\n\"x\"\n")?;
//!
//! let keys = Keys {
//!     syntax: Syntax::Csv(b','),
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
//! # Four strategies, three passes
//!
//! Every strategy is a short sequence of three passes over lines, under one memory budget:
//!
//! ```text
//! filter(input)          read lines, hash each, set bits                      -> filter
//! spill(input, screen)   read lines, hash each, drop what the screen refuses,
//!                        append the rest to buckets                           -> buckets
//! join(buckets)          per bucket: put the distinct lines of one or more inputs into a set, let every
//!                        other input mark the lines it has, write the lines whose marks are selected
//!                                                                             -> lines
//! ```
//!
//! | strategy | passes | exact | reads | writes |
//! |---|---|---|---|---|
//! | `memory` | join in memory; if A is cached, through filters first | yes | A + B, or 2A + B | nothing |
//! | `partition` | spill(A) · spill(B) · join; if A is small, spill(A) also fills a filter that screens B | yes | A + B + spill | A + B, or A + what passes |
//! | `sieve` | filter(A) · spill(B, screened by A's filter) · filter(B') · spill(A, screened by B's filter) · join | yes | 2A + B + spill | survivors |
//! | `sieve`, not an intersection | filter(A, B), noting what comes again · spill(A, B, screened by a filter of that; the rest is written or dropped) · join | yes | 2A + 2B + spill | what comes again |
//! | `sieve`, repeats or records of A kept | filter(B) · spill(A, screened by it; a difference writes what is refused) · spill(B, screened by a filter of that) · join | yes | A + 2B + spill | what may be in both |
//! | `bloom` | filter(A) · spill(B, screened by A's filter) · join, which only removes repeats | no: may add lines | A + B + spill | survivors |
//! | `bloom`, a difference | filter(B) · spill(A, what B's filter refuses) · join, which only removes repeats | no: may miss lines | A + B + spill | the answer |
//! | `bloom`, a union | filter(A, B), writing what it does not have | no: may miss lines | A + B | nothing |
//!
//! A is the input with the fewest bytes (of a difference, the first), B' the part of B that survives A's filter. In
//! an intersection, further inputs extend the chain: each is screened by the filter of the survivors before it, and
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
//! # How a line travels
//!
//! ```text
//!  input           lines        hash            filter          buckets            output
//!  Input ────────▶ Lines ─────▶ LineHasher ───▶ Screen ───────▶ BucketWriter ────▶ Sink
//!  (chunks)        (&[u8])      (u64, keyed)    (passes, or     Bucket, LineSet    (one thread
//!     │                                          drops)                             at a time)
//!     └─ sample ─▶ plan ─▶ Plan (pure numbers)                  MemoryBudget grants every large buffer
//! ```
//!
//! `engine` opens and samples the inputs, asks [`plan`](mod@plan) for a decision, and runs a strategy from
//! `strategy`, which calls a few functions of `pass`. `pass` reads through `input`, hashes with [`hash`], asks
//! [`filter`], appends to `spill` and joins with `set`. [`memory`] grants all memory that grows with the input.
//!
//! A filter can outlive its run: [`stored`] builds, queries and changes filters in files. It reads, hashes and
//! divides memory in the same way. A stored filter can replace one input of `bloom`.
//!
//! `docs/how-it-works.md` in the repository follows one run through its threads and its memory.
//!
//! # The rooms
//!
//! From the top down; a room uses those below it, and never one above.
//!
//! | room | owns |
//! |---|---|
//! | `cli` (of the program, not of the library) | arguments, messages, progress, outputs, the report page |
//! | [`cluster`], [`compare`](mod@compare), `overlaps` | the steps of an operation on several machines; the exact and the approximate way over the same inputs; lines of each combination of inputs, counted |
//! | `engine` | a run from its inputs to its statistics: plan, attempt, second plan |
//! | [`estimate`](mod@estimate), [`stored`], `strategy` | sketches of inputs; filters in files; the four strategies, and a rehearsal of them that measures |
//! | `pass` | the three passes and what they share: scanning, reading ahead, splitting |
//! | `run` | what the passes of one run share: layout, budget, hash, threads, statistics |
//! | `options`, `observer` | what a caller asks for, and what a caller may watch |
//! | `answer`, [`plan`](mod@plan) | lines on their way to the sink, and their order; decisions from pure numbers: strategy, buckets, filters, the split of the memory |
//! | `exchange` | blocks of lines on their way between processes |
//! | [`filter`], `set`, `spill` | Bloom filters and their files; sets of lines; buckets in memory and on disk |
//! | `input`, `batch`, `sketch`, `temp` | reading lines, and rows; hashed lines in groups; counting distinct lines; temporary files |
//! | `output` | writing results |
//! | [`hash`], [`interrupt`], [`memory`] | the keyed hash; stopping a run, with what must be removed then; the memory budget |
//! | `record`, `selection`, `sys` | keys of records; which lines are written, by their sides; the operating system and the processor: files, threads, channels, direct I/O |
//! | [`size`], [`stats`], `notice`, `error` | texts for sizes; statistics; notices; errors |
//! | `testing` | what tests, benchmarks and fuzz targets see of private types; the schedules of a model checker |
//!
//! # Decisions and their price
//!
//! - **A hash decides where to look, never what is equal.** Between two sides of 5 billion lines, 1.4 pairs of
//!   different lines are expected to share a 64-bit hash, so bytes are compared. Price: lines are kept, not
//!   fingerprints.
//! - **Each pass hashes a line once, with a secret key** (`HighwayHash`, a random key for each run): an attacker
//!   cannot craft lines that all land in one bucket. Price: 9 ns for a line of 64 bytes with AVX-512, more
//!   without; a hash without a key would take a third of that.
//! - **The limit is the resident memory of the process.** Every large buffer is an anonymous mapping of its own,
//!   which the budget grants and which is gone when it is dropped. Price: page faults when a buffer is first
//!   touched.
//! - **Inputs are read, not mapped.** Mapped pages would count as resident memory, and a file that is truncated
//!   during the run would raise a fatal signal instead of an error. Price: a copy if the file is in the page
//!   cache.
//! - **No file stays open between two operations.** Any number of buckets and inputs runs under any limit on open
//!   files. Price: an open and a close for each block.
//! - **Spill goes through the page cache only while the system has little unwritten.** A bucket file that is removed soon
//!   need not reach the disk; where much is unwritten, writers would wait for it. All other blocks, and the result, bypass
//!   the cache, in large pieces and on threads of their own. Price: a share of the available memory, and a result that
//!   is read next comes from the disk.
//! - **The result has no order, unless one is asked for.** Lines come out as their buckets are joined, or as they are
//!   read. An [`Order`] puts the answer through an external sort, never the inputs. Price: an eighth of the memory; what
//!   of the answer does not fit in it is written and read once more.
//!
//! # Guarantees
//!
//! Each line of the result is reported once, unless repeats are asked for. Bytes are compared as they are: no locale, no Unicode, no trimming. A last
//! line without a terminator counts, and an empty line is a line. The result of an exact strategy does not depend
//! on the memory limit, or the number of buckets or threads. It depends on the order of the inputs only in a difference,
//! where the first input counts, and in labels. A run fails if an input
//! changes meanwhile, or if a spilled block does not come back as it was written. A run leaves nothing in temporary
//! space.

mod answer;
mod batch;
pub mod cluster;
pub mod compare;
mod engine;
mod error;
pub mod estimate;
mod exchange;
pub mod filter;
pub mod hash;
mod input;
pub mod interrupt;
pub mod memory;
mod notice;
mod observer;
mod options;
mod output;
mod overlaps;
mod pass;
pub mod plan;
mod record;
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
pub use engine::{
    difference, intersect, plan_for, plan_with_estimate, select, symmetric_difference, union,
};
pub use error::{Error, ErrorKind, Result};
pub use estimate::estimate;
pub use input::lines::{LineFormat, Lines};
#[cfg(feature = "parquet")]
pub use input::parquet::{Advance, Copied, RowCopy};
pub use input::{Files, Source};
pub use interrupt::Interrupt;
pub use notice::{Foreign, Notice};
pub use observer::Observer;
pub use options::{KeyType, Options};
pub use output::{CountSink, OutputFile, OutputWriter, Sink, WriteSink};
pub use overlaps::{Combination, Overlaps, overlaps};
pub use plan::Strategy;
pub use record::{BadRecords, Field, Joined, KeyForm, Keys, Syntax};
pub use run::listing::Listing;
pub use run::survey::job_for;
pub use selection::{Label, Order, Selection};
pub use stats::Stats;
pub use sys::file_id::{Destination, FileId};
pub use sys::machine;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub use testing::internals;
