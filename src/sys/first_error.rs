//! The first failure of work that several threads share.
//!
//! *Owns:* which error is reported when more than one thread fails, the flag by which the others learn of it, and the
//! waits that end with it. *Invariants:* the first error given wins; a thread that stops because another failed reports
//! [`Error::Interrupted`], which never replaces a cause. *Cost:* a relaxed load to look; twenty wake-ups a second for a
//! thread that waits.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::sys::sync::atomic::{AtomicBool, Ordering};
use crate::sys::sync::channel::{Receiver, RecvTimeoutError, SendTimeoutError, Sender};
use crate::sys::sync::{Condvar, Mutex, MutexGuard};

/// The longest that a thread waits before it looks whether another one has failed, because a failure does not wake it.
/// It bounds how long a failed run takes to stop.
pub(crate) const LOOK_UP: Duration = Duration::from_millis(50);

/// Keeps the first error. Shared by reference between the threads of a pass.
///
/// ```text
///  work-0: Err(cause) ──note──▶ first = cause, flag set
///  work-1: sees the flag, gives its buffers back, Err(Interrupted) ──note──▶ ignored
///  main:   waits for all threads ──into_result──▶ Err(cause)
/// ```
#[derive(Debug, Default)]
pub(crate) struct FirstFailure {
    /// True once `first` is set, never before: a thread that sees it may rely on an error being there.
    has_failed: AtomicBool,
    first: Mutex<Option<Error>>,
}

impl FirstFailure {
    /// Notes an error, unless there is one already; returns true if this one was kept. [`Error::Interrupted`] is kept
    /// only until a cause comes: a thread that was stopped may be quicker than the one that knows why.
    pub(crate) fn note(&self, error: Error) -> bool {
        let mut first = self.first.lock();
        // A thread that stopped because of another reports this; it says nothing about the cause.
        let is_echo = matches!(error, Error::Interrupted);
        let is_kept = match &*first {
            None => true,
            Some(Error::Interrupted) => !is_echo,
            Some(_) => false,
        };
        if is_kept {
            *first = Some(error);
        }
        self.has_failed.store(true, Ordering::Release);
        is_kept
    }

    /// Notes the error of a result, or returns its value.
    pub(crate) fn record<T>(&self, result: Result<T>) -> Option<T> {
        result.map_err(|error| _ = self.note(error)).ok()
    }

    /// Returns true if anything has failed. Cheap enough to ask for every chunk.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    /// Stops a thread when another has failed.
    ///
    /// # Errors
    /// [`Error::Interrupted`] then; the cause is in here already.
    pub(crate) fn check(&self) -> Result<()> {
        if self.has_failed() {
            Err(Error::Interrupted)
        } else {
            Ok(())
        }
    }

    /// Receives the next message; waits for it.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when something has failed, or nobody can send any more.
    pub(crate) fn receive<T>(&self, from: &Receiver<T>) -> Result<T> {
        loop {
            self.check()?;
            match from.recv_timeout(LOOK_UP) {
                Err(RecvTimeoutError::Timeout) => {}
                received => return received.map_err(|_| Error::Interrupted),
            }
        }
    }

    /// Sends a message; waits for room.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when something has failed, or nobody receives any more. The message is lost.
    pub(crate) fn send<T>(&self, to: &Sender<T>, mut message: T) -> Result<()> {
        loop {
            self.check()?;
            match to.send_timeout(message, LOOK_UP) {
                Err(SendTimeoutError::Timeout(back)) => message = back,
                sent => return sent.map_err(|_| Error::Interrupted),
            }
        }
    }

    /// Waits until `woken` is notified or it is time to look; the caller looks whether it has what it waits for.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when something has failed.
    pub(crate) fn wait<T>(&self, woken: &Condvar, guard: &mut MutexGuard<'_, T>) -> Result<()> {
        self.check()?;
        // Whether the time ran out does not matter: the caller looks in either case.
        woken.wait_for(guard, LOOK_UP);
        Ok(())
    }

    /// Returns the first error. Called when all threads have ended: taking it by value makes sure of that.
    pub(crate) fn into_result(self) -> Result<()> {
        self.first.into_inner().map_or(Ok(()), Err)
    }
}
