//! A lock and a condition variable of a model run.
//!
//! *Owns:* shuttle's own with the interface of `parking_lot`, and waits with a time limit, which shuttle does not have.
//! *Invariants:* a lock is never poisoned, as those of `parking_lot` are not.

#![expect(clippy::expect_used, reason = "a guard that waits is used by nobody")]

use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;
use std::time::Duration;

use shuttle::sync as inner;

/// The model of [`parking_lot::Mutex`]. Shuttle's own is in a box, so that this one is no larger than the system's.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(Box<inner::Mutex<T>>);

/// The model of [`parking_lot::MutexGuard`].
#[derive(Debug)]
pub(crate) struct MutexGuard<'a, T> {
    /// The lock that is held; `None` only while a condition variable has it.
    held: Option<inner::MutexGuard<'a, T>>,
    /// The lock itself, so that a wait whose time runs out can take it again.
    mutex: &'a Mutex<T>,
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Box::new(inner::Mutex::new(value)))
    }

    /// Takes the lock; waits for it in the model.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard {
            held: Some(self.acquire()),
            mutex: self,
        }
    }

    /// Takes the lock if nobody has it.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let held = Some(self.0.try_lock().ok()?);
        Some(MutexGuard { held, mutex: self })
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn acquire(&self) -> inner::MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The message of a panic that cannot be: a guard is without its lock only while it waits.
const WAITS: &str = "a guard that does not wait holds its lock";

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.held.as_ref().expect(WAITS)
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.held.as_mut().expect(WAITS)
    }
}

/// The model of [`parking_lot::Condvar`].
#[derive(Debug, Default)]
pub(crate) struct Condvar(inner::Condvar);

impl Condvar {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Waits without a limit, for a notification that comes after this call.
    pub(super) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let held = guard.held.take().expect(WAITS);
        guard.held = Some(self.0.wait(held).unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits; returns true if the time ran out. `_limit` is ignored: a model run has no clock, and
    /// [`Time`](super::Time) decides.
    pub(crate) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _limit: Duration) -> bool {
        if !super::passes() {
            self.wait(guard);
            return false;
        }
        // The limit passes: gives the lock back, lets others run for as long as the scheduler likes, and takes it
        // again, as a wait that was not notified does.
        guard.held = None;
        shuttle::thread::yield_now();
        guard.held = Some(guard.mutex.acquire());
        true
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}
