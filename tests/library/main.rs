//! The library from outside: every strategy against a naive oracle, against recorded truth, and under faults.
//!
//! One binary, so that the crate is linked once. A test takes [`util::alone`] first: the memory limit is about the
//! whole process, and tests that run side by side would count each other's buffers.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod alterations; // spill files that come back altered, at random
mod circles; // imports between the files of src
mod clusters; // jobs of several processes: shards, joins, what gets lost or mixed up between them
mod combinations; // one combination of up to 64 sides, by every strategy, in memory and spilled
mod comments; // width, and the words that descriptions open with
mod comparisons; // both ways beside each other: false lines, rates, shared runs
mod corpora; // what fuzzers found, replayed
mod dropped_places; // where dropped lines stand, and those that are kept for them
mod estimates; // real files: bounds hold as often as is said
mod faults; // what goes wrong during a run: the right kind of error, and nothing left behind
mod filter_files; // filters kept in files: what comes back, and what of foreign and damaged files is refused
mod filter_models; // filters that forget or count, against multisets and sets
mod filter_sizes; // filters of more than 2^35 bits: arithmetic, and real ones that are mostly untouched
mod filters; // kept filters: nothing forgotten, rates, merging, what is new
mod in_order; // answers that are read once more from the inputs, against sorted ones
mod inputs; // what an input can be: orders, links, FIFOs, files that mislead the sample
mod keyed; // records with keys: every syntax and operation gives the oracle's records
mod layers; // imports between the rooms of src
mod many_files; // very many buckets: what a run says before it makes their files
mod missing; // comparisons of a difference: missing lines, rates, what is read for them
mod oracle; // the naive answer
mod overlap; // nothing to everything in common, a line beside a million: what is spilled and split
mod pairs; // the common lines of each two of up to 64 sides, by every strategy, in memory and spilled
mod parquet; // files of other programs, cut short, altered and hostile ones
mod parquet_pages; // byte arrays of every form, copied as they are
mod random; // random cases of the differential runner: all strategies and options give the oracle's set
mod ranges; // sorted answers whose buckets are ranges of lines, against those in any order
mod ranked; // records of which one is kept by a number
mod repeated; // lines that come again and again: known ones are not spilled again
mod requests; // what cannot be opened, planned or afforded: errors before the work, and their advice
mod settings; // messages name settings, not options
mod skew; // unlucky hashes and repeated lines: splits, pieces, lines too long to share memory
mod steps; // the phases of a run are those that were announced
mod streams; // readers as inputs, results one by one
mod truth; // real files with recorded answers, where they are available
mod util; // temporary files, running, collecting, generators
mod written; // unions whose lines are read in their own file
