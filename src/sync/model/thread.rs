//! Threads of a model run.
//!
//! *Owns:* scopes that outlive their threads whatever ends them, and a pool of workers in the place of rayon's. *Invariants:*
//! as with the system's: a scope ends after the last of its threads, and a panic of one goes on from there. *Cost:* one more
//! thread a scope.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::convert::Infallible;
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

/// As rayon's, as far as the engine uses it.
#[derive(Debug, Default)]
pub(crate) struct ThreadPoolBuilder {
    threads: usize,
}

impl ThreadPoolBuilder {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn num_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    pub(crate) fn stack_size(self, _bytes: usize) -> Self {
        self
    }

    pub(crate) fn thread_name(self, _name: impl FnMut(usize) -> String) -> Self {
        self
    }

    pub(crate) fn build(self) -> Result<ThreadPool, Infallible> {
        Ok(ThreadPool {
            threads: self.threads,
        })
    }
}

/// Workers that do the same, each once.
#[derive(Debug)]
pub(crate) struct ThreadPool {
    threads: usize,
}

impl ThreadPool {
    /// Lets all workers do `work` and waits for them.
    pub(crate) fn broadcast(&self, work: impl Fn(Worker) + Sync) {
        scope(|scope| {
            for index in 0..self.threads {
                let work = &work;
                let started = Builder::new().spawn_scoped(scope, move || work(Worker { index }));
                drop(started);
            }
        });
    }
}

/// Which worker it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Worker {
    index: usize,
}

impl Worker {
    pub(crate) fn index(self) -> usize {
        self.index
    }
}
