//! The end of an answer, which is in memory until it can be read in the file.
//!
//! *Owns:* [`AnswerTail`]: its last bytes, and when they are passed on.
//!
//! ```text
//!  the answer   │ in the file, to be read there │ older half        │ newer half ──▶ filled      │
//!                                               │ there, too        │ passed on in │ not yet     │
//!                                               │                   │ blocks       │             │
//! ```
//!
//! 1. Lines are appended to the newer half, and passed on in blocks.
//! 2. When it is full, everything is handed to the system. Then the halves change their names, and what was the older
//!    one is filled anew: it is read in the file from now on.
//!
//! *Invariants:* a line is in one half, or it has left the tail; what has left it was handed to the system. *Cost:*
//! each line is copied once, and the writer is waited for once in half a tail; a line longer than that is passed on as
//! it is, and waited for.

use std::mem;

use crate::answer::Collector;
use crate::error::Result;
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;

/// Bytes of lines that are passed on together, and how many lines.
const PASSED_BYTES: usize = 256 << 10;
const PASSED_LINES: usize = PASSED_BYTES / 16;

/// The end of an answer.
pub(crate) struct AnswerTail {
    /// The last lines.
    newer: Buffer,
    /// Those before them.
    older: Buffer,
    /// The offset in the answer at which the newer half begins.
    start: u64,
    /// Bytes of the newer half that are in use.
    filled: usize,
    /// Bytes of the older half that are in use: its lines end where the newer half begins.
    older_filled: usize,
    /// Bytes of the newer half that were passed on.
    passed: usize,
    /// The ends of the lines that were not, counted from there.
    ends: Vec<usize>,
}

impl AnswerTail {
    /// Makes a tail of `bytes` behind what `out` has by now, for the consumer that messages call `consumer`.
    ///
    /// # Errors
    /// [`crate::Error::Memory`]; those of the sink.
    pub(crate) fn new(
        budget: &MemoryBudget,
        consumer: &'static str,
        bytes: u64,
        out: &Collector<'_>,
    ) -> Result<Self> {
        Ok(Self {
            newer: Buffer::new(budget, consumer, bytes / 2)?,
            older: Buffer::new(budget, consumer, bytes / 2)?,
            start: out.settle()?,
            filled: 0,
            older_filled: 0,
            passed: 0,
            ends: Vec::new(),
        })
    }

    /// Returns the offset in the answer at which the next line will begin.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.filled as u64
    }

    /// Returns the bytes of a line from `offset` of the answer on; `None` if they have left the tail.
    pub(crate) fn get(&self, offset: u64, length: usize) -> Option<&[u8]> {
        if let Some(at) = offset.checked_sub(self.start) {
            return Some(&self.newer[at as usize..][..length]);
        }
        let at = (self.older_filled as u64).checked_sub(self.start - offset)?;
        Some(&self.older[at as usize..][..length])
    }

    /// Appends a line.
    ///
    /// # Errors
    /// Those of the sink.
    pub(crate) fn append(&mut self, line: &[u8], out: &Collector<'_>) -> Result<()> {
        let bytes = line.len() + 1;
        if self.filled + bytes > self.newer.len() {
            self.turn(out)?;
        }
        if bytes > self.newer.len() {
            out.pass_line(line)?;
            self.start = out.settle()?;
            self.older_filled = 0;
            return Ok(());
        }
        self.newer[self.filled..][..line.len()].copy_from_slice(line);
        self.newer[self.filled + line.len()] = out.terminator();
        self.filled += bytes;
        self.ends.push(self.filled - 1 - self.passed);
        let is_much = self.filled - self.passed >= PASSED_BYTES;
        if is_much || self.ends.len() == PASSED_LINES {
            self.pass(out)?;
        }
        Ok(())
    }

    /// Passes on what is in the tail alone.
    ///
    /// # Errors
    /// Those of the sink.
    pub(crate) fn pass(&mut self, out: &Collector<'_>) -> Result<()> {
        out.pass_block(&self.newer[self.passed..self.filled], &self.ends)?;
        self.passed = self.filled;
        self.ends.clear();
        Ok(())
    }

    /// Hands everything to the system, and empties the half with the older lines for the next ones.
    fn turn(&mut self, out: &Collector<'_>) -> Result<()> {
        self.pass(out)?;
        out.settle()?;
        mem::swap(&mut self.newer, &mut self.older);
        self.start += self.filled as u64;
        self.older_filled = mem::take(&mut self.filled);
        self.passed = 0;
        Ok(())
    }
}
