//! The locks, queues and threads that replace those of the system in a model run.
//!
//! *Owns:* the same interface as far as the engine uses it, built from shuttle's locks and threads; and how
//! time passes in a run. In shuttle one thread runs at a time, and at every operation on a lock or an atomic a
//! scheduler decides which one goes on: a test runs many such schedules.
//!
//! *Invariants:* whatever happens here can happen with the system's own. The reverse is not true: all atomics
//! have one total order, no thread wakes up without a reason, and where time limits pass (see [`Time`]) no
//! waiting thread is woken before its limit.
//!
//! *Sources:* shuttle's documentation; Burckhardt et al., "A Randomized Scheduler with Probabilistic
//! Guarantees of Finding Bugs", ASPLOS 2010.

#![expect(
    clippy::unnecessary_wraps,
    clippy::unused_self,
    reason = "the system's own may fail where these never do"
)]

pub(crate) mod channel;
pub(crate) mod lock;
pub(crate) mod thread;

use std::cell::Cell;

/// The end of a wait with a time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Time {
    /// The limit never comes: a thread that is not woken waits forever. Shuttle reports that as a deadlock, so
    /// a forgotten wake-up is found even where a time limit would hide it.
    Stands,
    /// The limit comes after whatever the other threads happen to do meanwhile. For runs in which something
    /// fails: waiting threads look for a failure each time their limit has passed.
    Passes,
}

std::thread_local! {
    /// All threads of a model run are in one thread of the system, so tests that run at the same time do not
    /// share this.
    static TIME: Cell<Time> = const { Cell::new(Time::Stands) };
}

/// Sets how time passes in the model runs that this thread of the system begins.
#[cfg(test)]
pub(crate) fn set_time(time: Time) {
    TIME.set(time);
}

/// Returns true if time limits pass in this model run.
fn passes() -> bool {
    TIME.get() == Time::Passes
}
