//! Threads of a model run.
//!
//! *Owns:* scopes that outlive their threads whatever ends them. *Invariants:*
//! as with the system's: a scope ends after the last of its threads, and a panic of one goes on from there. *Cost:* one more
//! thread a scope.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

pub(crate) use shuttle::thread::Scope;
use shuttle::thread::ScopedJoinHandle;

use super::channel;

type Payload = Box<dyn Any + Send>;

std::thread_local! {
    /// The first panic in each scope, by where the scope is.
    static PANICS: RefCell<HashMap<usize, Payload>> = RefCell::default();
}

fn key(scope: &Scope<'_, '_>) -> usize {
    std::ptr::from_ref(scope).addr()
}

/// As [`std::thread::scope`].
pub(crate) fn scope<'env, T>(body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T) -> T {
    let (result, key) = shuttle::thread::scope(|scope| {
        // When its last thread ends, shuttle wakes the owner of a scope, and takes it for granted that the scope is what the owner
        // waits for. This thread is there until it is.
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

/// Lets the others go on for as long as they like.
pub(crate) fn sleep(_time: Duration) {
    shuttle::thread::yield_now();
}

/// As [`std::thread::Builder`].
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

    pub(crate) fn spawn_scoped<'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        body: impl FnOnce() + Send + 'scope,
    ) -> io::Result<ScopedJoinHandle<'scope, ()>> {
        Ok(scope.spawn(move || {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
                PANICS.with_borrow_mut(|panics| {
                    panics.entry(key(scope)).or_insert(payload);
                });
            }
        }))
    }
}
