//! What stands in for the system's locks, queues and threads in a model run.
//!
//! *Owns:* the same surface as far as the engine uses it, made of shuttle's locks and threads, which change places at every
//! operation as a scheduler says; and how time passes in a run. *Invariants:* whatever happens here can happen with the
//! system's own. The reverse is not so: all atomics are in one order, nobody wakes up without a reason, and where limits pass nobody
//! is woken before. *Cost:* is of no matter.
//!
//! *Sources:* shuttle's documentation; Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of Finding
//! Bugs", ASPLOS 2010.

#![expect(
    clippy::unnecessary_wraps,
    clippy::unused_self,
    reason = "the system's own may fail where these never do"
)]

pub(crate) mod channel;
pub(crate) mod lock;
pub(crate) mod thread;

use std::cell::Cell;

/// What becomes of a wait with a time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Time {
    /// The limit never comes: who is not woken waits for ever, and a wake-up that was forgotten is a deadlock that is found.
    Stands,
    /// The limit comes after as much as the other threads happen to do in the meantime: for runs in which something fails, as
    /// those who wait look for that now and then.
    Passes,
}

std::thread_local! {
    /// All threads of a model run are in one thread of the system, which so has its own time.
    static TIME: Cell<Time> = const { Cell::new(Time::Stands) };
}

/// Says how time passes in the model runs that this thread of the system begins.
#[cfg(test)]
pub(crate) fn set_time(time: Time) {
    TIME.set(time);
}

fn passes() -> bool {
    TIME.get() == Time::Passes
}
