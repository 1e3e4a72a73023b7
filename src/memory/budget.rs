//! The memory budget: who holds how much.
//!
//! *Owns:* [`MemoryBudget`], which grants every allocation that grows with the input (as a
//! [`Buffer`](crate::memory::buffer::Buffer)). Memory that does not grow with the input (code, stacks, a few
//! kilobytes per thread) is not asked for here; the planner subtracts it from the process's limit
//! beforehand.
//!
//! *Invariants.*
//! - The sum of the live reservations never exceeds the limit, at any moment, from any thread.
//! - A reservation is returned when its holder is dropped.
//!
//! - A share that was split off is a reservation in its parent, however little of it is used. The user
//!   of a share cannot be starved by others, and cannot take from them.
//!
//! ```text
//!  run ├── set ───────────────────────┤─ chunk buffers ─┤─ available ─┤
//!            │ split off: a limit and a ledger of its own
//!            ├── arenas and tables ─────┤─ long lines ──┤
//! ```
//!
//! Nothing here waits: a request that does not fit is refused at once, and the caller decides what to do. Any
//! thread may reserve or return at any time.
//!
//! *Cost:* a lock per reservation; reservations are for blocks and tables, never for lines.
//!
//! *Sources:* the shape (named consumer, try, release on drop, peak per consumer) follows
//! `DataFusion`'s `MemoryReservation`.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::error::{Error, Result};

/// A limit in bytes that hands out [`Reservation`]s. Clones share one limit.
#[derive(Debug, Clone)]
pub struct MemoryBudget {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Bytes that may be reserved at a time. It never changes.
    limit: u64,
    /// Bytes that the process needs in addition to this budget: code, stacks, and for a share what its parent has
    /// besides. Only for saying in an error how much would have been enough.
    beside: u64,
    ledger: Mutex<Ledger>,
    /// A share keeps its parent's reservation until its last clone, reservation and buffer are dropped.
    _parent: Option<Reservation>,
}

/// The reservations, which the lock protects.
#[derive(Debug, Default)]
struct Ledger {
    /// Bytes reserved now: the sum over the consumers, at most the limit.
    used: u64,
    /// The most that `used` has been.
    peak: u64,
    /// By name. A consumer stays after it has returned everything, for its peak.
    consumers: BTreeMap<&'static str, Consumer>,
}

/// The bytes that one named consumer holds and held at most. Reservations of one name count together.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Consumer {
    used: u64,
    peak: u64,
}

impl MemoryBudget {
    /// Makes a budget of `limit_bytes`, in a process that needs `beside_bytes` for everything else.
    pub fn new(limit_bytes: u64, beside_bytes: u64) -> Self {
        Self::build(limit_bytes, beside_bytes, None)
    }

    fn build(limit: u64, beside: u64, parent: Option<Reservation>) -> Self {
        let inner = Inner {
            limit,
            beside,
            ledger: Mutex::default(),
            _parent: parent,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Sets `bytes` aside as a budget of its own, for one worker or one pass. They come back when the last
    /// clone of the share, and the last reservation from it, is dropped.
    ///
    /// # Errors
    /// [`Error::Memory`] when there is not that much left.
    pub fn split_off(&self, consumer: &'static str, bytes: u64) -> Result<Self> {
        let reservation = self.reserve(consumer, bytes)?;
        // The rest of this budget counts as outside the share. So an error of the share names a
        // limit for the process, not one for the share.
        let beside = self.inner.beside + self.inner.limit.saturating_sub(bytes);
        Ok(Self::build(bytes, beside, Some(reservation)))
    }

    /// Grants `bytes` to `consumer`, a name that errors and statistics show.
    ///
    /// # Errors
    /// [`Error::Memory`], naming who holds how much and what limit would have been enough.
    pub fn reserve(&self, consumer: &'static str, bytes: u64) -> Result<Reservation> {
        let mut reservation = self.reserve_nothing(consumer);
        reservation.grow(bytes)?;
        Ok(reservation)
    }

    /// Makes a reservation without bytes for `consumer`, which may grow.
    pub fn reserve_nothing(&self, consumer: &'static str) -> Reservation {
        Reservation {
            budget: self.clone(),
            consumer,
            bytes: 0,
        }
    }

    /// Returns the limit in bytes.
    pub fn limit_bytes(&self) -> u64 {
        self.inner.limit
    }

    /// Returns the bytes that are not reserved at this moment. Another thread may reserve them in the next: use the
    /// answer for sizing, and be prepared for a refusal.
    pub fn available_bytes(&self) -> u64 {
        self.inner.limit - self.ledger().used
    }

    /// Returns the most bytes that were reserved at one time.
    pub fn peak_bytes(&self) -> u64 {
        self.ledger().peak
    }

    /// Returns each consumer's peak in bytes, by name. Peaks of different consumers may be of different moments. A
    /// share counts in full from when it was split off.
    pub fn peaks(&self) -> Vec<(&'static str, u64)> {
        self.ledger()
            .consumers
            .iter()
            .map(|(&name, consumer)| (name, consumer.peak))
            .collect()
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.inner.ledger.lock()
    }

    /// Makes the error of refusing `bytes` to `consumer`, for a caller that knows without asking that there is no room.
    /// Reserves nothing.
    pub(crate) fn refusal(&self, consumer: &'static str, bytes: u64) -> Error {
        self.refuse(consumer, bytes, self.ledger().used)
    }

    /// Makes the error, with `used` of the ledger. Must not lock it: [`MemoryBudget::take`] has it locked.
    fn refuse(&self, consumer: &'static str, bytes: u64, used: u64) -> Error {
        Error::Memory {
            consumer,
            asked_bytes: bytes,
            used_bytes: used,
            limit_bytes: self.inner.limit,
            least_bytes: self.inner.beside.saturating_add(used).saturating_add(bytes),
        }
    }

    /// Counts `bytes` as reserved, or refuses and counts nothing. Checking and counting happen under one lock.
    fn take(&self, consumer: &'static str, bytes: u64) -> Result<()> {
        let mut ledger = self.ledger();
        if bytes > self.inner.limit - ledger.used {
            return Err(self.refuse(consumer, bytes, ledger.used));
        }
        ledger.used += bytes;
        ledger.peak = ledger.peak.max(ledger.used);
        let entry = ledger.consumers.entry(consumer).or_default();
        entry.used += bytes;
        entry.peak = entry.peak.max(entry.used);
        Ok(())
    }

    /// Counts `bytes`, which `consumer` has reserved, as free.
    fn give_back(&self, consumer: &'static str, bytes: u64) {
        let mut ledger = self.ledger();
        ledger.used -= bytes;
        if let Some(entry) = ledger.consumers.get_mut(consumer) {
            entry.used -= bytes;
        }
        debug_assert_eq!(
            ledger.used,
            ledger.consumers.values().map(|c| c.used).sum::<u64>()
        );
    }
}

/// Bytes granted to a named consumer; returned when dropped. It is only a number: its holder must free
/// the memory itself, and do so first.
#[derive(Debug)]
#[must_use = "a reservation is returned the moment it is dropped"]
pub struct Reservation {
    budget: MemoryBudget,
    consumer: &'static str,
    bytes: u64,
}

impl Reservation {
    /// Returns the budget that granted it.
    pub(crate) fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// Returns the bytes that it holds.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Asks for `more` bytes; on refusal nothing changes.
    ///
    /// # Errors
    /// [`Error::Memory`] when there is not that much left.
    pub fn grow(&mut self, more: u64) -> Result<()> {
        self.budget.take(self.consumer, more)?;
        self.bytes += more;
        Ok(())
    }

    /// Returns `less` of the bytes held, or all of them if there are fewer.
    pub fn shrink(&mut self, less: u64) {
        let less = less.min(self.bytes);
        self.budget.give_back(self.consumer, less);
        self.bytes -= less;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.give_back(self.consumer, self.bytes);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::memory::buffer::{Buffer, PAGE};

    #[test]
    fn c9_grants_up_to_the_byte_and_takes_back_on_drop() {
        let budget = MemoryBudget::new(100, 7);
        let first = budget.reserve("first", 60).unwrap();
        let second = budget.reserve("second", 40).unwrap();
        assert_eq!(budget.available_bytes(), 0);
        let refused = budget.reserve("third", 1).unwrap_err();
        assert!(
            matches!(
                refused,
                Error::Memory {
                    least_bytes: 108,
                    used_bytes: 100,
                    ..
                }
            ),
            "{refused}"
        );
        drop(first);
        assert_eq!(budget.available_bytes(), 60);
        drop(second);
        assert_eq!(budget.peak_bytes(), 100);
        assert_eq!(budget.peaks(), vec![("first", 60), ("second", 40),]);
    }

    #[test]
    fn a_share_returns_to_its_parent_with_its_last_holder() {
        let budget = MemoryBudget::new(10 * PAGE, 0);
        let share = budget.split_off("worker", 4 * PAGE).unwrap();
        let buffer = Buffer::new(&share, "set", PAGE).unwrap();
        drop(share);
        assert_eq!(budget.available_bytes(), 6 * PAGE);
        drop(buffer);
        assert_eq!(budget.available_bytes(), 10 * PAGE);
    }

    #[test]
    fn what_is_grown_and_shrunk_is_accounted_for_to_the_byte() {
        let budget = MemoryBudget::new(100, 0);
        let mut held = budget.reserve("set", 10).unwrap();
        held.grow(30).unwrap();
        assert!(held.grow(61).is_err(), "60 are left");
        held.shrink(15);
        assert_eq!(budget.available_bytes(), 75);
        held.shrink(15);
        held.shrink(1000);
        assert_eq!(budget.available_bytes(), 100);
        held.grow(100).unwrap();
        drop(held);
        assert_eq!((budget.available_bytes(), budget.peak_bytes()), (100, 100));
    }

    #[test]
    fn threads_never_exceed_the_limit_together() {
        let budget = MemoryBudget::new(50, 0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        let held = budget.reserve("thread", 20);
                        drop(held);
                    }
                });
            }
        });
        assert!(budget.peak_bytes() <= 50);
        assert_eq!(budget.available_bytes(), 50);
    }
}
