//! The memory for lines that do not fit a chunk.
//!
//! *Owns:* the share of the budget that long lines have, and who may take from it. *Invariants:*
//! one reader at a time puts a long line together, so no two of them wait for each other's memory;
//! it waits for the workers, who wait for nobody. Only a line that does not fit alone is too long.
//! *Cost:* the share, reserved for the time of a scan.

use std::time::Duration;

use crate::budget::MemoryBudget;
use crate::buffer::{Buffer, PAGE};
use crate::error::{Error, Result};
use crate::failure::FirstFailure;
use crate::input::Input;
use crate::size::round_mebibytes;
use crate::sync::thread;
use crate::sync::{Mutex, MutexGuard, PoisonError};

/// The consumer, as the budget's messages name it.
const LONG_LINE: &str = "a long line";
/// How long a reader sleeps before it looks again whether the workers have given memory back.
const WAIT: Duration = Duration::from_micros(50);

/// The memory for lines that do not fit a pooled buffer. One reader at a time puts a long line
/// together; when there is no room it waits for the workers to be done with the long lines before
/// it. Only a line that does not fit alone is too long.
#[derive(Debug)]
pub(crate) struct LongLines<'a> {
    budget: MemoryBudget,
    turn: Mutex<()>,
    failure: &'a FirstFailure,
    /// The limit of the whole process, for the advice.
    memory_bytes: u64,
    /// Whether no second plan will give them more.
    is_last_try: bool,
}

impl<'a> LongLines<'a> {
    /// Room for long lines of `budget`'s size in all, for a scan whose failure ends the waiting.
    pub(crate) fn new(
        budget: MemoryBudget,
        memory_bytes: u64,
        is_last_try: bool,
        failure: &'a FirstFailure,
    ) -> Self {
        Self {
            budget,
            turn: Mutex::new(()),
            failure,
            memory_bytes,
            is_last_try,
        }
    }

    pub(super) fn take_turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A first buffer of `bytes`.
    pub(super) fn buffer(&self, input: &Input, offset: u64, bytes: u64) -> Result<Buffer> {
        self.when_there_is_room(input, offset, 0, || {
            Buffer::new(&self.budget, LONG_LINE, bytes)
        })
    }

    /// Doubles the buffer, or takes what is left.
    pub(super) fn lengthen(&self, buffer: &mut Buffer, input: &Input, offset: u64) -> Result<()> {
        let held = buffer.len() as u64;
        let most = self.budget.limit_bytes() & !(PAGE - 1);
        if held >= most {
            return Err(self.too_long(input, offset, held));
        }
        self.when_there_is_room(input, offset, held, || buffer.grow((held * 2).min(most)))
    }

    fn when_there_is_room<T>(
        &self,
        input: &Input,
        offset: u64,
        held: u64,
        mut ask: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        loop {
            let others = self.budget.limit_bytes() - self.budget.available_bytes() - held;
            match ask() {
                Err(Error::Memory { .. }) if others > 0 => {
                    self.failure.check()?;
                    thread::sleep(WAIT);
                }
                Err(Error::Memory { .. }) => return Err(self.too_long(input, offset, held)),
                other => return other,
            }
        }
    }

    fn too_long(&self, input: &Input, offset: u64, seen_bytes: u64) -> Error {
        let longest_bytes = self.budget.limit_bytes();
        // A file is planned again with up to three eighths of the memory for long lines; otherwise an
        // eighth is for them. And the line is at least twice as long as what was held of it.
        let factor = if input.is_file() && !self.is_last_try {
            6
        } else {
            16
        };
        let enough = self.memory_bytes / 4 + seen_bytes.max(longest_bytes).saturating_mul(factor);
        let least_bytes = round_mebibytes(enough.max(self.memory_bytes * 5 / 4));
        Error::LineTooLong {
            path: input.name().to_owned(),
            offset,
            longest_bytes,
            least_bytes,
        }
    }
}
