//! The memory for lines that do not fit a chunk.
//!
//! *Owns:* the share of the budget that long lines have, and who may take from it. *Invariants:* one reader at a time
//! puts a long line together, so no two of them wait for each other's memory; it waits for the workers, who wait for
//! nobody. Only a line that does not fit alone is too long. *Cost:* the share, reserved for the time of a scan.
//!
//! Workers that write in the order of the chunks do wait for one another. There, one with a long line in its hands
//! might wait for one that waits for the memory of that line. So a reader takes from the share only when all chunks
//! before its own are done ([`ChunkOrder`]). Before that it may have a little memory apart, for which nobody waits:
//! what finds no room there is read in its turn.

use std::path::Path;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::memory::budget::{MemoryBudget, Reservation};
use crate::memory::buffer::{Buffer, PAGE, round_up};
use crate::reading::failure::LocatedFailure;
use crate::reading::location::Location;
use crate::record::{Columns, MOST_BUILT_BYTES};
use crate::size::round_mebibytes;
use crate::sys::sync::thread;
use crate::sys::sync::{Mutex, MutexGuard};

/// The consumer, as the budget's messages name it.
const LONG_LINE: &str = "a long line";
/// The bytes that are advised beyond the need: a mebibyte, the precision of the advice.
const SLACK: u64 = 1 << 20;
/// The time that a reader sleeps before it looks again whether the workers have given memory back.
const WAIT: Duration = Duration::from_micros(50);

/// The memory for lines that do not fit a pooled buffer. One reader at a time puts a long line
/// together; when there is no room it waits for the workers to be done with the long lines before
/// it. Only a line that does not fit alone is too long.
#[derive(Debug)]
pub(crate) struct LongLines<'a> {
    /// The memory of all long lines that are being read or worked on, together.
    budget: MemoryBudget,
    /// Held by the reader that puts a line together.
    turn: Mutex<()>,
    failure: &'a LocatedFailure,
    interrupt: &'a Interrupt,
    /// Names the limit that would do for a line that does not fit.
    advice: &'a dyn LimitAdvice,
    /// True if lines are records whose keys may have to be copied.
    copies_keys: bool,
    /// The order of the chunks; `None` where workers wait for nobody.
    order: Option<ChunkOrder<'a>>,
    /// True if a reader waits for memory that others hold; else it is refused what is not there.
    waits: bool,
}

/// The order of the chunks of a scan whose workers wait for one another.
#[derive(Clone)]
pub(crate) struct ChunkOrder<'a> {
    /// The wait until all chunks before the one with this number are done.
    pub(crate) turn_of: &'a (dyn Fn(u64) -> Result<()> + Sync),
    /// The memory for long lines of chunks whose turn has not come.
    pub(crate) ahead: MemoryBudget,
}

impl std::fmt::Debug for ChunkOrder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChunkOrder")
            .field("ahead", &self.ahead)
            .finish_non_exhaustive()
    }
}

/// Knows how the memory of the process is divided.
pub(crate) trait LimitAdvice: std::fmt::Debug + Sync {
    /// Returns the least memory limit of the process, in bytes, under which long lines would have `needed_bytes`, where
    /// they have `room_bytes` now. No less than the limit in force.
    fn limit_for_long_lines(&self, needed_bytes: u64, room_bytes: u64) -> u64;
}

impl<'a> LongLines<'a> {
    /// Makes room for long lines of `budget`'s size in all, for a scan whose failure or interrupt ends the waiting. A
    /// budget that is larger than the layout's share has what is left besides all else.
    pub(crate) fn new(
        budget: MemoryBudget,
        advice: &'a dyn LimitAdvice,
        interrupt: &'a Interrupt,
        failure: &'a LocatedFailure,
    ) -> Self {
        Self {
            budget,
            turn: Mutex::new(()),
            failure,
            interrupt,
            advice,
            copies_keys: false,
            order: None,
            waits: true,
        }
    }

    /// Grants each long line the memory for a copy of its key, too, if `copies_keys`.
    pub(crate) fn copying_keys(self, copies_keys: bool) -> Self {
        Self {
            copies_keys,
            ..self
        }
    }

    /// Grants long lines in the order of the chunks.
    pub(crate) fn in_order(self, order: ChunkOrder<'a>) -> Self {
        Self {
            order: Some(order),
            ..self
        }
    }

    /// Returns the memory for long lines before their turn; `None` where they have no order. Nobody waits for it: what
    /// is not there is refused with [`Error::Memory`] or [`Error::LineTooLong`].
    pub(super) fn ahead(&self) -> Option<Self> {
        let order = self.order.as_ref()?;
        let ahead = Self::new(
            order.ahead.clone(),
            self.advice,
            self.interrupt,
            self.failure,
        );
        Some(Self {
            waits: false,
            ..ahead.copying_keys(self.copies_keys)
        })
    }

    /// Waits until the chunk with this number may have a long line, and [takes the turn](LongLines::take_turn).
    ///
    /// # Errors
    /// When the scan is to stop.
    pub(super) fn take_turn_of(&self, number: u64) -> Result<MutexGuard<'_, ()>> {
        if let Some(order) = &self.order {
            (order.turn_of)(number)?;
        }
        Ok(self.take_turn())
    }

    /// Waits until no other reader puts a line together. Taken before the first buffer, dropped with the line
    /// complete: the buffer then belongs to a worker, which gives it back without waiting for anybody but the chunks
    /// before its own.
    pub(super) fn take_turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock()
    }

    /// Fails if the scan is to stop.
    pub(super) fn check(&self) -> Result<()> {
        self.failure.first().check()?;
        self.interrupt.check()
    }

    /// Notes `error` of the line at `location`. Returns what the thread is to end with.
    pub(super) fn note_at(&self, location: Location, error: Error) -> Error {
        self.failure.note_at(location, error)
    }

    /// Grants a first buffer of `bytes` for the line at `offset` of the file or stream `name`. Call it in turn.
    ///
    /// # Errors
    /// [`Error::LineTooLong`] where the whole budget has not as much.
    pub(super) fn buffer(&self, name: &Path, offset: u64, bytes: u64) -> Result<Buffer> {
        self.when_there_is_room(name, offset, 0, || {
            Buffer::new(&self.budget, LONG_LINE, bytes)
        })
    }

    /// Grants a buffer of `bytes` for a line that takes all of them with what is stored with it, at `offset` of
    /// `name`. Only one thread may ask for these.
    ///
    /// # Errors
    /// [`Error::LineTooLong`] where the whole budget has not as much.
    pub(crate) fn whole(&self, name: &Path, offset: u64, bytes: u64) -> Result<Buffer> {
        match self.buffer(name, offset, bytes) {
            Err(Error::LineTooLong { .. }) => Err(self.too_long(name, offset, Some(bytes))),
            other => other,
        }
    }

    /// Doubles the buffer, or gives it all of the budget where that is less. The bytes in it stay.
    ///
    /// # Errors
    /// [`Error::LineTooLong`] where the buffer has the whole budget already.
    pub(super) fn lengthen(&self, buffer: &mut Buffer, name: &Path, offset: u64) -> Result<()> {
        let held = buffer.len() as u64;
        let most = self.budget.limit_bytes() & !(PAGE - 1);
        if held >= most {
            return Err(self.too_long(name, offset, None));
        }
        self.when_there_is_room(name, offset, held, || buffer.grow((held * 2).min(most)))
    }

    /// Repeats `ask` until it is granted, for as long as long lines of others hold memory that workers will give
    /// back; asks once where nobody waits. `held` are the bytes that the line in question has itself.
    fn when_there_is_room<T>(
        &self,
        name: &Path,
        offset: u64,
        held: u64,
        mut ask: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        loop {
            let others = self.budget.limit_bytes() - self.budget.available_bytes() - held;
            match ask() {
                refused @ Err(Error::Memory { .. }) if !self.waits => return refused,
                Err(Error::Memory { .. }) if others > 0 => {
                    self.check()?;
                    thread::sleep(WAIT);
                }
                Err(Error::Memory { .. }) => return Err(self.too_long(name, offset, None)),
                other => return other,
            }
        }
    }

    /// Makes the error for a line that does not fit alone. Where `line_bytes` is not known, the line is assumed to be
    /// twice as long as what fits.
    pub(super) fn too_long(&self, name: &Path, offset: u64, line_bytes: Option<u64>) -> Error {
        let most = self.budget.limit_bytes();
        let needed = line_bytes.map_or(most.saturating_mul(2), long_line_buffer);
        self.refusal(name, offset, line_bytes, needed)
    }

    /// Grants the memory for a copy of the key of the line at `offset` of `name`, which has `line_bytes` in a buffer of
    /// `held`. `None` where keys are not copied or short, and where there is no room even when no other line holds
    /// memory: whether the key must be copied shows only later. Call it in turn: who works on the line then waits for
    /// nobody but the chunks before its own.
    ///
    /// # Errors
    /// When the scan is to stop; [`Error::Memory`] where nobody waits.
    pub(super) fn key_room(
        &self,
        name: &Path,
        offset: u64,
        line_bytes: u64,
        held: u64,
    ) -> Result<Option<Box<Reservation>>> {
        if !self.copies_keys || line_bytes <= MOST_BUILT_BYTES as u64 {
            return Ok(None);
        }
        let bytes = Columns::most_copied(line_bytes);
        let ask = || self.budget.reserve("the copy of a long key", bytes);
        match self.when_there_is_room(name, offset, held, ask) {
            Err(Error::LineTooLong { .. }) => Ok(None),
            granted => granted.map(|granted| Some(Box::new(granted))),
        }
    }

    /// Makes the error for a line of `line_bytes` of the file or stream `name` whose key has no room for a copy.
    pub(crate) fn no_room_for_key(&self, name: &Path, line_bytes: u64) -> Error {
        self.refusal(name, 0, Some(line_bytes), room_with_key(line_bytes))
    }

    /// Makes the error for a line that needs `needed` bytes. The limit that it names has room for a copy of its key, if
    /// keys may be copied.
    fn refusal(&self, name: &Path, offset: u64, line_bytes: Option<u64>, needed: u64) -> Error {
        let longest_bytes = self.budget.limit_bytes();
        let needed = match line_bytes {
            Some(line_bytes) if self.copies_keys => needed.max(room_with_key(line_bytes)),
            _ => needed,
        };
        // What the process itself needs varies a little from run to run.
        let enough = self.advice.limit_for_long_lines(needed, longest_bytes) + SLACK;
        Error::LineTooLong {
            path: name.to_owned(),
            offset,
            line_bytes,
            is_quoted: false,
            longest_bytes,
            least_bytes: round_mebibytes(enough),
        }
    }
}

/// Returns the memory for a line of `line_bytes` and for the copy of its key, in bytes: the buffer of the line grows by
/// doubling.
pub(crate) fn room_with_key(line_bytes: u64) -> u64 {
    let buffer = line_bytes.saturating_mul(2);
    buffer.saturating_add(Columns::most_copied(line_bytes))
}

/// Returns the size of the buffer that holds a line of a file, in bytes: it begins and ends at a page.
pub(crate) fn long_line_buffer(line_bytes: u64) -> u64 {
    round_up(line_bytes, PAGE).saturating_add(2 * PAGE)
}
