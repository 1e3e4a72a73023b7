//! Locks, queues and threads: those of the system, or those of a model checker.
//!
//! *Owns:* the choice between the two, by the feature `schedules` in the crate's own tests, and nothing else.
//! Modules whose threads wait for each other take these names from here. A counter that no thread waits for
//! may stay an atomic of the standard library.
//!
//! *Invariants:* outside of these tests every name here is that of the standard library, of `parking_lot` (whose locks
//! know no poison: a panic ends the run elsewhere) or of `crossbeam-channel`, and the code is the same as without this
//! module. In these tests the types work inside
//! a model run only. There, a thread that takes one of these locks must hold no lock of the system: all
//! threads of a model run are one thread to the system, which would wait for itself.

#[cfg(all(test, feature = "schedules"))]
pub(crate) mod model;

#[cfg(all(test, feature = "schedules"))]
pub(crate) use self::model::{
    channel,
    lock::{Condvar, Mutex, MutexGuard},
    thread,
};
#[cfg(not(all(test, feature = "schedules")))]
pub(crate) use crossbeam_channel as channel;
#[cfg(not(all(test, feature = "schedules")))]
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
#[cfg(all(test, feature = "schedules"))]
pub(crate) use shuttle::sync::atomic;
#[cfg(not(all(test, feature = "schedules")))]
pub(crate) use std::sync::atomic;

/// Threads of the system.
#[cfg(not(all(test, feature = "schedules")))]
pub(crate) mod thread {
    pub(crate) use std::thread::{Builder, Scope, scope, sleep};
}
