//! The first failure of work that several threads share.
//!
//! *Owns:* which error is reported when more than one thread fails, and the flag by which the
//! others learn of it. *Invariants:* the first error given wins; a thread that stops because
//! another failed reports [`Error::Interrupted`], which never replaces a cause. *Cost:* a relaxed
//! load to look.

use crate::error::{Error, Result};
use crate::sys::sync::atomic::{AtomicBool, Ordering};
use crate::sys::sync::{Mutex, PoisonError};

/// Keeps the first error.
#[derive(Debug, Default)]
pub(crate) struct FirstFailure {
    has_failed: AtomicBool,
    first: Mutex<Option<Error>>,
}

impl FirstFailure {
    /// Notes an error, unless there is one already.
    pub(crate) fn note(&self, error: Error) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let is_echo = matches!(error, Error::Interrupted);
        match &*first {
            None => *first = Some(error),
            Some(Error::Interrupted) if !is_echo => *first = Some(error),
            Some(_) => {}
        }
        self.has_failed.store(true, Ordering::Release);
    }

    /// Notes the error of a result, and gives its value.
    pub(crate) fn record<T>(&self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.note(error)).ok()
    }

    /// Whether anything has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    /// [`Error::Interrupted`] if another thread has failed.
    pub(crate) fn check(&self) -> Result<()> {
        if self.has_failed() {
            Err(Error::Interrupted)
        } else {
            Ok(())
        }
    }

    /// The first error, once all threads are done.
    pub(crate) fn into_result(self) -> Result<()> {
        self.first
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .map_or(Ok(()), Err)
    }
}

/// Turns a panic of the thread that holds it into a failure that the other threads see, so that
/// none waits for it for ever. The panic itself goes on to the thread that joins this one.
#[derive(Debug)]
pub(crate) struct PanicAlarm<'a>(pub(crate) &'a FirstFailure);

impl Drop for PanicAlarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.note(Error::Interrupted);
        }
    }
}
