//! Starting threads.
//!
//! *Owns:* the size of a stack, the error of a thread that cannot be started, and the teams of a pass: workers, and the
//! threads that read, write and load for them.
//!
//! *Invariants.*
//! - Every thread of a run has a name and a stack of [`STACK_BYTES`].
//! - A thread of a team starts only when the one before it has asked for it: a worker when it has found work, so
//!   there is at most one more than there are pieces of work, however many are allowed.
//!
//! *Cost:* 10 to 30 µs for each thread, once a pass.
//!
//! Workers start one another, so that a small input starts few of them:
//!
//! ```text
//!  main     run ── start work-0 ───────────── waits for all ──────────────▶
//!  work-0          work: found some ── start work-1 ── works on ─── ends
//!  work-1                                     work: found some ── start work-2 ── ...
//!  work-2                                                              found nothing: ends
//! ```

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::error::{Error, Plain, Result};
use crate::sys::failpoint::fail_point;
use crate::sys::first_error::FirstFailure;
use crate::sys::machine;
use crate::sys::sync::thread::{self, Builder, Scope};

/// The stack of every thread of a run, in bytes. Far more than they use, and less than a huge page, so that
/// no stack becomes resident as a whole.
pub(crate) const STACK_BYTES: usize = 1 << 20;

/// Starts a thread of `scope`. The scope joins it; a panic in `body` goes on there.
///
/// # Errors
/// [`Error::Machine`] when the system gives no thread.
pub(crate) fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: impl Into<String>,
    body: impl FnOnce() + Send + 'scope,
) -> Result<()> {
    fail_point!("thread", Err(no_thread(&crate::sys::failpoint::injected())));
    Builder::new()
        .name(name.into())
        .stack_size(STACK_BYTES)
        .spawn_scoped(scope, body)
        .map(drop)
        .map_err(|error| no_thread(&error))
}

/// Counts how many of `most` threads of a team may run that each open a file at a time: together they have no more
/// than a quarter of the files that the process may have open (`ulimit -n`).
pub(crate) fn with_open_files(most: usize) -> usize {
    most.min(files_for_threads(machine::most_open_files()))
}

/// Returns a quarter of `most_open`, and at least one.
fn files_for_threads(most_open: Option<u64>) -> usize {
    most_open.map_or(usize::MAX, |most| (most / 4).max(1) as usize)
}

/// The worker threads that a run may have at a time. They exist during a pass only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Workers {
    most: usize,
}

impl Workers {
    /// Allows at most `most` workers at a time.
    pub(crate) fn new(most: usize) -> Self {
        Self { most }
    }

    /// Allows no more than `most` of these workers.
    pub(crate) fn at_most(self, most: usize) -> Self {
        Self::new(self.most.min(most))
    }

    /// Runs `work` on worker threads and waits for all of them. Called on the thread that runs the pass.
    ///
    /// `work` gets a function, which it must call when it has found something to do: that starts the next
    /// worker, if there may be one more. Later calls do nothing. Errors and panics of workers, and failures to
    /// start one, are noted in `failure`; after one no more workers start.
    pub(crate) fn run(self, failure: &FirstFailure, work: impl Fn(&dyn Fn()) -> Result<()> + Sync) {
        let team = Team {
            name: "work",
            most: self.most,
            must_all_start: true,
            failure,
        };
        team.run((), &|(), start_next| work(start_next), <()>::default);
    }
}

/// The work of a thread of a team. Behind a pointer: starting a thread is much code, which each work would have anew.
type TeamWork<'w, E> = dyn Fn(&E, &dyn Fn()) -> Result<()> + Sync + 'w;

/// Threads that do the same work, `{name}-0` to `{name}-{most - 1}` at most.
#[derive(Clone, Copy)]
pub(crate) struct Team<'t> {
    pub(crate) name: &'static str,
    pub(crate) most: usize,
    /// True if a further thread that cannot be started is a failure, too: so it is with workers, whose number the
    /// user asks for. If not, the others take longer, and that is all.
    pub(crate) must_all_start: bool,
    /// Errors and panics of the threads are noted here, and those of starting one; after one no more start.
    pub(crate) failure: &'t FirstFailure,
}

impl<'t> Team<'t> {
    /// Runs `body` while the threads do `work`, and waits for them.
    ///
    /// `work` gets its clone of `end`, such as an end of a channel, which is closed when the last thread has ended, and
    /// where none could be started; and a function that starts the next thread, if there may be one more. Later calls
    /// of that do nothing.
    pub(crate) fn run<E: Clone + Send, R>(
        self,
        end: E,
        work: &TeamWork<'_, E>,
        body: impl FnOnce() -> R,
    ) -> R {
        thread::scope(|scope| {
            self.start(scope, 0, end, work);
            body()
        })
    }

    /// Starts thread `number`, unless there are enough or something has failed. Called by the one before it.
    fn start<'scope, E: Clone + Send + 'scope>(
        self,
        scope: &'scope Scope<'scope, '_>,
        number: usize,
        end: E,
        work: &'scope TeamWork<'scope, E>,
    ) where
        't: 'scope,
    {
        if number >= self.most || self.failure.has_failed() {
            return;
        }
        let body = move || {
            let has_started_next = Cell::new(false);
            let start_next = || {
                // Started by a worker, not by main: main need not learn of work before it waits for all.
                if !has_started_next.replace(true) {
                    self.start(scope, number + 1, end.clone(), work);
                }
            };
            // A panic goes on to the thread that waits for all; the others see a failure, so that none waits for ever.
            // It is noted before `end` is dropped: who finds a channel closed by it finds the failure, too.
            let done = catch_unwind(AssertUnwindSafe(|| work(&end, &start_next)));
            self.failure.record(done.unwrap_or_else(|panic| {
                self.failure.note(Error::Interrupted);
                resume_unwind(panic)
            }));
        };
        let started = spawn(scope, format!("{}-{number}", self.name), body);
        if number == 0 || self.must_all_start {
            self.failure.record(started);
        }
    }
}

/// Makes the error for a thread that the system does not give.
pub(crate) fn no_thread(error: &std::io::Error) -> Error {
    Error::Machine {
        what: format!("cannot start a thread: {}", Plain(error)),
        advice: "use fewer `threads`, or raise the limit on processes (ulimit -u)",
    }
}

#[cfg(all(test, not(feature = "schedules")))]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Counts how many of `most` workers start for `pieces` of work, and how many pieces they do.
    fn started(most: usize, pieces: usize) -> (usize, usize) {
        let (started, next, done) = Default::default();
        let (started, next, done): (AtomicUsize, AtomicUsize, AtomicUsize) = (started, next, done);
        let failure = FirstFailure::default();
        Workers::new(most).run(&failure, |found_work| {
            started.fetch_add(1, Ordering::Relaxed);
            while next.fetch_add(1, Ordering::Relaxed) < pieces {
                found_work();
                done.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        });
        assert!(!failure.has_failed());
        (started.into_inner(), done.into_inner())
    }

    #[test]
    fn d2_threads_that_open_files_leave_three_of_four_descriptors_to_others() {
        let of = [0, 16, 64, 1024].map(|most| files_for_threads(Some(most)));
        assert_eq!(of, [1, 4, 16, 256]);
        assert_eq!(files_for_threads(None), usize::MAX);
        assert!(with_open_files(0) == 0 && with_open_files(1) == 1);
    }

    #[test]
    fn c10_no_more_workers_start_than_there_is_work_for() {
        assert_eq!(started(4096, 0), (1, 0));
        for pieces in [1, 2, 5] {
            let (workers, done) = started(4096, pieces);
            assert_eq!(done, pieces);
            assert!(workers <= pieces + 1, "{workers} for {pieces}");
        }
        assert_eq!(started(1, 7), (1, 7));
        assert_eq!(Workers::new(4096).at_most(3).most, 3);
    }

    #[test]
    fn c10_as_many_workers_as_allowed_work_at_the_same_time() {
        // Each waits for all others: fewer at a time would never end.
        let all = std::sync::Barrier::new(8);
        let failure = FirstFailure::default();
        let ends = Mutex::new(0);
        Workers::new(8).run(&failure, |found_work| {
            found_work();
            all.wait();
            *ends.lock() += 1;
            Ok(())
        });
        assert_eq!(ends.into_inner(), 8);
    }

    #[test]
    fn c10_after_a_failure_no_more_workers_start() {
        let failure = FirstFailure::default();
        let started = AtomicUsize::new(0);
        Workers::new(8).run(&failure, |found_work| {
            started.fetch_add(1, Ordering::Relaxed);
            failure.note(Error::Interrupted);
            found_work();
            Ok(())
        });
        assert_eq!(started.into_inner(), 1);
    }
}
