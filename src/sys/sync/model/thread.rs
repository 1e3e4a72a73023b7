//! Threads of a model run.
//!
//! *Owns:* scopes that outlive their threads, however these end. *Invariants:* as with the system's: a scope
//! ends after the last of its threads, and a panic of one goes on from there. *Cost:* one more thread for each
//! scope.
//!
//! A thread that panics in shuttle ends the whole run. Here a panic is caught in its thread, kept in `PANICS`,
//! and goes on in the thread that owns the scope, as with the system's own: so tests can inject panics.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

pub(crate) use shuttle::thread::Scope;
use shuttle::thread::ScopedJoinHandle;

use super::channel;

/// The value that a panic carries.
type Payload = Box<dyn Any + Send>;

std::thread_local! {
    /// The first panic in each live scope, by the scope's address.
    static PANICS: RefCell<HashMap<usize, Payload>> = RefCell::default();
}

/// Returns the address of a scope, which no other has while it lives.
fn key(scope: &Scope<'_, '_>) -> usize {
    std::ptr::from_ref(scope).addr()
}

/// Works as [`std::thread::scope`].
pub(crate) fn scope<'env, T>(body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T) -> T {
    let (result, key) = shuttle::thread::scope(|scope| {
        // When the last thread of a scope ends, shuttle wakes the scope's owner, and assumes that the owner is
        // waiting for the scope. It may still be running `body` and waiting for something else. This thread
        // keeps the scope from being empty until `body` has ended.
        let (over, keeper) = channel::bounded::<()>(1);
        scope.spawn(move || keeper.recv());
        let result = catch_unwind(AssertUnwindSafe(|| body(scope)));
        drop(over);
        (result, key(scope))
    });
    let panic = PANICS.with_borrow_mut(|panics| panics.remove(&key));
    match (result, panic) {
        (Err(payload), _) | (Ok(_), Some(payload)) => resume_unwind(payload),
        (Ok(value), None) => value,
    }
}

/// Lets other threads run, for as long as the scheduler likes: a model run has no clock.
pub(crate) fn sleep(_time: Duration) {
    shuttle::thread::yield_now();
}

/// The model of [`std::thread::Builder`]. Names and stack sizes are ignored.
#[derive(Debug)]
pub(crate) struct Builder;

impl Builder {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn name(self, _name: String) -> Self {
        self
    }

    pub(crate) fn stack_size(self, _bytes: usize) -> Self {
        self
    }

    /// Starts a thread whose panic is kept for the owner of the scope. Never fails.
    pub(crate) fn spawn_scoped<'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        body: impl FnOnce() + Send + 'scope,
    ) -> io::Result<ScopedJoinHandle<'scope, ()>> {
        Ok(scope.spawn(move || {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
                // Only the first panic goes on, as in the system.
                PANICS.with_borrow_mut(|panics| {
                    panics.entry(key(scope)).or_insert(payload);
                });
            }
        }))
    }
}
