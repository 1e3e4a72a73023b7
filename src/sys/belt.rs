//! The hand-over between teams of threads: a belt, on which buffers go round, and a queue of requests.
//!
//! ```text
//!  read-0, read-1, ...                                         work-0, work-1, ...
//!   Producer ── filled ──▶ channel with room for all ──▶ Consumer: each is worked on       Belt
//!     ▲                                                     │
//!     └───────────────── empty buffer ◀─────────────────────┘
//!
//!  any threads ── request ──▶ channel without a bound ──▶ spill-N, load-N: serve           with_queue
//! ```
//!
//! *Owns:* the hand-over, and how many buffers and threads there are. Readers mostly wait for a disk or a pipe; the
//! processors belong to the workers.
//!
//! The life of a buffer of a belt:
//!
//! 1. A reader takes one that came back; else makes one, while fewer exist than there may be; else it waits for the
//!    next that comes back. Reading never runs further ahead than the buffers go; a small input needs two or three.
//! 2. It fills the buffer and sends it. Where the workers have taken all before, they are faster than the disk: it
//!    starts one more reader, while there may be more. Where they are slower than one reader, there is one.
//! 3. A worker takes it, works on it, and sends the buffer back. What has a buffer of its own ([`Filled::into_spare`])
//!    is dropped after use.
//! 4. A reader ends at the end of the input. When the last one has ended, the workers empty the channel, and end.
//!
//! *Invariants.*
//! - No thread waits for ever. A reader waits until something has failed at most ([`FirstFailure`]). A worker waits for
//!   readers alone, and their channel is closed when the last of them has ended. A panic counts as a failure.
//! - After the first failure readers stop, and workers only send buffers back.
//! - There is room in the channel of empty buffers for all that exist, so sending one back never waits.
//!
//! *Cost:* the buffers; a wake-up or two for each.

use crate::error::Result;
use crate::sys::first_error::FirstFailure;
use crate::sys::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::sys::sync::channel::{Receiver, Sender, bounded, unbounded};
use crate::sys::threads::{Team, Workers};

/// Something that readers send to workers, in the buffer into which it was filled.
pub(crate) trait Filled: Send {
    /// The kind of buffer.
    type Buffer: Send;

    /// Gives the buffer back, if it belongs to the belt.
    fn into_spare(self) -> Option<Self::Buffer>;
}

/// Who works at a belt, and with how many buffers.
pub(crate) struct Belt<'b> {
    /// The most buffers that exist at a time, at least one for each reader.
    pub(crate) buffers: usize,
    /// The most threads `read-N`.
    pub(crate) readers: usize,
    pub(crate) workers: Workers,
    /// Errors and panics of all threads are noted here.
    pub(crate) failure: &'b FirstFailure,
}

impl Belt<'_> {
    /// Runs `read` on each reader and `work` on each worker, and waits for all of them.
    pub(crate) fn run<T: Filled>(
        &self,
        read: &(dyn Fn(&Producer<'_, T>) -> Result<()> + Sync),
        work: &(dyn Fn(&Consumer<'_, T>) -> Result<()> + Sync),
    ) {
        let (to_workers, filled) = bounded(self.buffers);
        let (to_readers, spare) = bounded(self.buffers);
        let round = Round {
            filled,
            to_readers,
            spare,
            unmade: AtomicUsize::new(self.buffers),
            failure: self.failure,
        };
        let readers = Team {
            name: "read",
            most: self.readers,
            must_all_start: false,
            failure: self.failure,
        };
        let read = |to_workers: &Sender<T>, start_next: &dyn Fn()| {
            read(&Producer {
                round: &round,
                to_workers,
                start_next,
            })
        };
        let work = |found_work: &dyn Fn()| {
            work(&Consumer {
                round: &round,
                found_work,
            })
        };
        readers.run(to_workers, &read, || self.workers.run(self.failure, work));
    }
}

/// The state that all threads at a belt share.
struct Round<'b, T: Filled> {
    filled: Receiver<T>,
    to_readers: Sender<T::Buffer>,
    /// Buffers that workers are done with.
    spare: Receiver<T::Buffer>,
    /// Buffers that may still be made.
    unmade: AtomicUsize,
    failure: &'b FirstFailure,
}

/// A reader's end of the belt.
pub(crate) struct Producer<'p, T: Filled> {
    round: &'p Round<'p, T>,
    /// Closed when the last reader has ended.
    to_workers: &'p Sender<T>,
    start_next: &'p dyn Fn(),
}

impl<T: Filled> Producer<'_, T> {
    /// Takes a buffer that has come back; else has one made, if there may be one more; else waits for one.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::Error::Interrupted) when something has failed; what `make` reports.
    pub(crate) fn take(&self, make: impl FnOnce() -> Result<T::Buffer>) -> Result<T::Buffer> {
        let round = self.round;
        round.failure.check()?;
        if let Ok(buffer) = round.spare.try_recv() {
            return Ok(buffer);
        }
        let one_less = |left: usize| left.checked_sub(1);
        match round.unmade.fetch_update(Relaxed, Relaxed, one_less) {
            Ok(_) => make(),
            Err(_) => round.failure.receive(&round.spare),
        }
    }

    /// Gives a buffer back that nothing was read into.
    pub(crate) fn put(&self, buffer: T::Buffer) {
        let _has_room = self.round.to_readers.send(buffer);
    }

    /// Sends what was filled to the workers; waits while they have all that there is room for.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::Error::Interrupted) when something has failed.
    pub(crate) fn send(&self, filled: T) -> Result<()> {
        if self.to_workers.is_empty() {
            (self.start_next)();
        }
        self.round.failure.send(self.to_workers, filled)
    }
}

/// A worker's end of the belt.
pub(crate) struct Consumer<'c, T: Filled> {
    round: &'c Round<'c, T>,
    found_work: &'c dyn Fn(),
}

impl<T: Filled> Consumer<'_, T> {
    /// Works on what comes until the readers have ended. After a failure it only gives buffers back.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::Error::Interrupted) when something has failed; the cause is noted.
    pub(crate) fn each(&self, mut work: impl FnMut(&T) -> Result<()>) -> Result<()> {
        let round = self.round;
        for filled in &round.filled {
            (self.found_work)();
            if !round.failure.has_failed() {
                round.failure.record(work(&filled));
            }
            if let Some(buffer) = filled.into_spare() {
                let _has_room = round.to_readers.send(buffer);
            }
        }
        round.failure.check()
    }
}

/// Runs `body` with a queue, and a team that serves what is sent to it; waits for the team.
///
/// 1. `body` sends requests. The queue has no bound: whoever sends bounds them, by the buffers that they carry.
/// 2. A thread of the team calls `serve` for each. Where `serve` calls the function that it gets while requests wait,
///    what it works with is slower than the senders, and the next thread starts.
/// 3. When `body` has dropped the queue, the team serves what is left, and ends.
///
/// Where no thread could be started, or all have panicked, sending fails, and what waited is dropped.
pub(crate) fn with_queue<T: Send, R>(
    team: Team<'_>,
    serve: impl Fn(T, &dyn Fn()) + Sync,
    body: impl FnOnce(Sender<T>) -> R,
) -> R {
    let (queue, requests) = unbounded();
    let serve_all = |requests: &Receiver<T>, start_next: &dyn Fn()| {
        let look = || {
            if !requests.is_empty() {
                start_next();
            }
        };
        for request in requests {
            serve(request, &look);
        }
        Ok(())
    };
    team.run(requests, &serve_all, || body(queue))
}
