//! A lock and a condition variable of a model run.
//!
//! *Owns:* shuttle's own, and waits with a time limit, which shuttle does not have. *Invariants:* a lock is
//! never poisoned: the engine ignores poison everywhere, so a model of it would test nothing.

use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
use std::time::Duration;

use shuttle::sync as inner;

/// The model of [`std::sync::Mutex`]. Shuttle's own is in a box, so that this one is no larger than the system's.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(Box<inner::Mutex<T>>);

/// The model of [`std::sync::MutexGuard`]. Knows its lock, so that a wait whose time runs out can take it again.
#[derive(Debug)]
pub(crate) struct MutexGuard<'a, T> {
    guard: inner::MutexGuard<'a, T>,
    mutex: &'a Mutex<T>,
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Box::new(inner::Mutex::new(value)))
    }

    /// Works as [`std::sync::Mutex::lock`]. Always `Ok`.
    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        Ok(self.acquire())
    }

    /// Works as [`std::sync::Mutex::try_lock`].
    pub(crate) fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Ok(MutexGuard { guard, mutex: self }),
            Err(_) => Err(TryLockError::WouldBlock),
        }
    }

    pub(crate) fn into_inner(self) -> LockResult<T> {
        self.0.into_inner()
    }

    /// Takes the lock; waits for it in the model.
    pub(super) fn acquire(&self) -> MutexGuard<'_, T> {
        MutexGuard {
            guard: self.0.lock().unwrap_or_else(PoisonError::into_inner),
            mutex: self,
        }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// The model of [`std::sync::Condvar`].
#[derive(Debug, Default)]
pub(crate) struct Condvar(inner::Condvar);

impl Condvar {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Waits without a limit, for a notification that comes after this call.
    pub(super) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let MutexGuard { guard, mutex } = guard;
        let guard = self.0.wait(guard).unwrap_or_else(PoisonError::into_inner);
        MutexGuard { guard, mutex }
    }

    /// Waits; the flag says whether the time ran out. `_limit` is ignored: a model run has no clock, and
    /// [`Time`](super::Time) decides.
    pub(crate) fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        _limit: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        if !super::passes() {
            return Ok((self.wait(guard), false));
        }
        // The limit passes: gives the lock back, lets others run for as long as the scheduler likes, and takes it
        // again, as a wait that was not notified does.
        let mutex = guard.mutex;
        drop(guard);
        shuttle::thread::yield_now();
        Ok((mutex.acquire(), true))
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}
