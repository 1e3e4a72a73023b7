//! A set whose lines are in the answer: each new line is written at once, and read there when its hash comes again.
//!
//! *Owns:* [`WrittenSet`], and the pass that goes through an input with it.
//!
//! ```text
//!  worker 1   read 0 │ keys, hashes │ ticket 0: new? write │ read 2 ...
//!  worker 2           read 1 │ keys, hashes │ wait │ ticket 1: new? write │ ...
//!                                                       │
//!       PlaceTable: hash ─▶ offset, length ◀────────────┤ a hash that is not there: a new line
//!                              │                        ▼
//!                              └──▶ the same key?  answer:  │ in the file │ tail: in memory, too │
//! ```
//!
//! 1. Workers read chunks, take the keys out of records and hash them, all at the same time
//!    ([`ordered_scan`](crate::pass::ordered_scan)).
//! 2. In the order of the input, one after the other, they ask the table for each hash. Where it is missing, the line
//!    is new: it is appended to the answer, and the place of its key there goes into the table; of a record whose key
//!    is no piece of it (escapes, several columns), the place of the record.
//! 3. Where it is there, the key at that place is read, from the tail or from the file, and compared byte by byte. Only
//!    where they differ has a new line come.
//!
//! *Invariants.*
//! - Bytes decide; a hash only says where to look. What is read and has another hash was not written there: the run
//!   fails.
//! - Of lines with the same key the first of the inputs is written, in their order.
//! - What stands before the tail was handed to the system, so that it can be read in the file.
//!
//! *Cost:* one reading of the inputs and 35 bytes of memory for each line of the answer; no temporary disk. The
//! key of each repeated line is read once more, from the page cache as long as the answer is there.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::answer::Collector;
use crate::answer::tail::AnswerTail;
use crate::batch::Batch;
use crate::error::Result;
use crate::hash::LineHasher;
use crate::input::Input;
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;
use crate::pass::ordered_scan::{
    ChunkOutput, Destination, OrderedOutput, OrderedWorker, scan_in_order,
};
use crate::plan::Plan;
use crate::record::{Columns, Key, MOST_BUILT_BYTES};
use crate::run::Run;
use crate::set::places::{FilePlace, PlaceTable, places_in};
use crate::sys::failpoint::fail_point;

/// The name of this memory in messages.
const CONSUMER: &str = "set";

/// The lines of the answer so far.
pub(crate) struct WrittenSet {
    places: PlaceTable,
    /// The file of the answer, to be read.
    file: Arc<File>,
    tail: AnswerTail,
    /// Room for a key that was written, or for the record that has it, from its start.
    written: Buffer,
    /// The most bytes that the answer may have: more would not be in the page cache.
    most_bytes: u64,
    comparison: Comparison,
}

/// The comparison of a line with one that was written.
struct Comparison {
    budget: MemoryBudget,
    /// The key of a record, where that is no piece of it.
    built: Vec<u8>,
    /// The columns of the keys; `None` where lines are keys.
    columns: Option<Arc<Columns>>,
    hasher: LineHasher,
}

impl WrittenSet {
    /// Makes a set without lines, as large as `plan` says, whose keys are in `columns`.
    ///
    /// # Errors
    /// [`crate::Error::Memory`]; what the sink reports.
    pub(crate) fn new(
        run: &Run<'_>,
        plan: &Plan,
        columns: Option<Arc<Columns>>,
        out: &Collector<'_>,
    ) -> Result<Self> {
        let file = out.file()?;
        // It may take everything but what reading needs.
        let left = run.budget.available_bytes();
        let left = left.saturating_sub(run.layout.scan.bytes());
        let budget = &run.budget.split_off(CONSUMER, left)?;
        Ok(Self {
            // It grows, if there are more than memory has room for now.
            places: PlaceTable::new(budget, plan.build_lines.min(places_in(left / 2)))?,
            file,
            tail: AnswerTail::new(budget, CONSUMER, run.layout.tail_bytes(), out)?,
            written: Buffer::new(budget, CONSUMER, 1)?,
            most_bytes: plan.most_reread_bytes(),
            comparison: Comparison {
                budget: budget.clone(),
                built: Vec::new(),
                columns,
                hasher: run.hasher,
            },
        })
    }

    /// Writes the lines of `input` that neither it nor an input before it had.
    ///
    /// # Errors
    /// The first failure of reading or of the sink; [`crate::Error::Memory`] where the answer has more lines than
    /// memory has room for.
    pub(crate) fn write_new(
        &mut self,
        run: &Run<'_>,
        input: &Input,
        out: &Collector<'_>,
    ) -> Result<()> {
        let phase = run.input_phase("build", input);
        let output = OrderedOutput::into(Writing { set: self, out });
        scan_in_order(run, &phase, input, &output, || HandingOver)?;
        drop(output);
        self.tail.pass(out)
    }

    /// Writes a line if it is new.
    fn take(&mut self, hash: u64, key: &[u8], line: &[u8], out: &Collector<'_>) -> Result<()> {
        let Self {
            places,
            file,
            tail,
            written,
            comparison,
            ..
        } = self;
        let is_known = places.has(hash, |place| {
            let length = place.length as usize;
            let found = match tail.get(place.offset, length) {
                Some(found) => found,
                None => {
                    written.grow(place.length)?;
                    let read = read(file, &mut written[..length], place.offset);
                    read.map_err(|error| out.reread_error(error))?;
                    &written[..length]
                }
            };
            match comparison.compare(found, place.is_key, hash, key, line)? {
                Found::Same => Ok(true),
                Found::Other => Ok(false),
                Found::Changed => {
                    Err(out.reread_error(io::Error::other("it was changed meanwhile")))
                }
            }
        })?;
        if is_known {
            return Ok(());
        }
        let end = self.tail.end();
        // Only `auto` has such a limit, and then every input can be read again.
        if end > self.most_bytes {
            return Err(self.comparison.budget.refusal(CONSUMER, end));
        }
        self.places.insert(hash, place_of(key, line, end))?;
        self.tail.append(line, out)
    }
}

/// The outcome of a comparison.
enum Found {
    /// The same line, or a record with the same key.
    Same,
    /// Another one, whose hash is the same by chance.
    Other,
    /// Nothing that has this hash: it is not what was written there.
    Changed,
}

impl Comparison {
    /// Compares `written`, which is a key or the record that has it, with `key`, which `line` has. Both have `hash`.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where memory has no room for a copy of its key.
    fn compare(
        &mut self,
        written: &[u8],
        is_key: bool,
        hash: u64,
        key: &[u8],
        line: &[u8],
    ) -> Result<Found> {
        let record = self.columns.as_deref().filter(|_| !is_key);
        if record.is_some() && written == line {
            return Ok(Found::Same);
        }
        let is_long = record.is_some() && written.len() > MOST_BUILT_BYTES;
        let copied = if is_long {
            Columns::most_copied(written.len() as u64)
        } else {
            0
        };
        let _room = self.budget.reserve(CONSUMER, copied)?;
        self.built.clear();
        let found = match record {
            None => Some(written),
            Some(columns) => match columns.key_up_to(written, &mut self.built, usize::MAX) {
                Ok(Key::Piece(found)) => Some(found),
                Ok(Key::Built(range)) => Some(&self.built[range]),
                // A record without a key was not written.
                Err(_) => None,
            },
        };
        let outcome = match found {
            Some(found) if found == key => Found::Same,
            Some(found) if self.hasher.hash(found) == hash => Found::Other,
            _ => Found::Changed,
        };
        if is_long {
            self.built = Vec::new();
        }
        Ok(outcome)
    }
}

/// Returns the place of `key` in an answer to which `line` is appended at `end`: its own if it is a piece of the line.
fn place_of(key: &[u8], line: &[u8], end: u64) -> FilePlace {
    let at = (key.as_ptr() as usize).wrapping_sub(line.as_ptr() as usize);
    let is_key = line.get(at..).is_some_and(|rest| rest.len() >= key.len());
    let (at, length) = if is_key {
        (at, key.len())
    } else {
        (0, line.len())
    };
    FilePlace {
        offset: end + at as u64,
        length: length as u64,
        is_key,
    }
}

/// Reads a key or a record that was written.
fn read(file: &File, line: &mut [u8], offset: u64) -> io::Result<()> {
    fail_point!("answer-read", Err(crate::sys::failpoint::injected()));
    file.read_exact_at(line, offset)
}

/// A set as what an ordered scan goes to.
struct Writing<'a, 's> {
    set: &'a mut WrittenSet,
    out: &'a Collector<'s>,
}

impl Destination for Writing<'_, '_> {
    fn write(&mut self, text: &[u8], _ends: &[usize]) -> Result<()> {
        debug_assert!(text.is_empty(), "its workers hand batches over");
        Ok(())
    }

    fn write_line(&mut self, line: &[u8]) -> Result<()> {
        self.write(line, &[])
    }

    fn take(&mut self, batch: Batch<'_>) -> Result<()> {
        let hashes = batch.hashes.iter().zip(batch.keys);
        for ((&hash, key), line) in hashes.zip(batch.lines) {
            self.set.take(hash, key, line, self.out)?;
        }
        Ok(())
    }
}

/// A worker that leaves its lines to the set.
struct HandingOver;

impl OrderedWorker for HandingOver {
    const WRITES: bool = false;

    fn work(&mut self, batch: Batch<'_>, output: &mut ChunkOutput<'_, '_>) -> Result<()> {
        output.hand_over(batch)
    }
}
