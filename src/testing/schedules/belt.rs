//! The belt alone: everything on it is worked on once, no buffer is lost, and whoever fails, all threads end.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use shuttle::rand::{Rng, thread_rng};

use super::explore;
use crate::error::{Error, Result};
use crate::sys::belt::{Belt, Filled, Producer};
use crate::sys::first_error::FirstFailure;
use crate::sys::sync::model::Time;
use crate::sys::threads::{Workers, no_thread};

/// More than twice the number of buffers: a lost buffer is missed.
const ITEMS: usize = 8;
const BUFFERS: usize = 3;

/// A buffer, and an item with one of the belt, or with one of its own.
struct Empty;
struct Item(usize, Option<Empty>);

impl Filled for Item {
    type Buffer = Empty;

    fn into_spare(self) -> Option<Empty> {
        self.1
    }
}

/// A failure: of all calls of a point from one on.
#[derive(Debug, Clone, Copy)]
struct Fault {
    point: &'static str,
    first: usize,
    panics: bool,
}

/// All that happens on a belt. Its locks and counters are the system's: no thread changes while they are used.
#[derive(Default)]
struct Scene {
    fault: Option<Fault>,
    /// Calls of the point of the fault.
    calls: AtomicUsize,
    read: AtomicUsize,
    made: AtomicUsize,
    done: Mutex<Vec<usize>>,
}

impl Scene {
    fn pass(&self, point: &str) -> Result<()> {
        match self.fault.filter(|fault| fault.point == point) {
            Some(fault) if self.calls.fetch_add(1, Ordering::Relaxed) >= fault.first => {
                if fault.panics {
                    // Without the hook, which would print a schedule each time.
                    resume_unwind(Box::new("planned"));
                }
                Err(no_thread(&std::io::ErrorKind::Other.into()))
            }
            _ => Ok(()),
        }
    }

    fn read(&self, workers: &Producer<'_, Item>) -> Result<()> {
        let make = || {
            self.made.fetch_add(1, Ordering::Relaxed);
            self.pass("make").map(|()| Empty)
        };
        loop {
            // A reader keeps the one that it has at the end.
            let buffer = workers.take(make)?;
            self.pass("read")?;
            match self.read.fetch_add(1, Ordering::Relaxed) {
                ITEMS.. => return Ok(()),
                number @ (0 | 4) => {
                    workers.put(buffer);
                    workers.send(Item(number, None))?;
                }
                number => workers.send(Item(number, Some(buffer)))?,
            }
        }
    }
}

fn check(fault: Option<Fault>) {
    let scene = Scene {
        fault,
        ..Scene::default()
    };
    let failure = FirstFailure::default();
    let belt = Belt {
        buffers: BUFFERS,
        readers: 2,
        workers: Workers::new(2),
        failure: &failure,
    };
    let work = |item: &Item| {
        scene.pass("work")?;
        scene.done.lock().push(item.0);
        Ok(())
    };
    let run = || belt.run(&|workers| scene.read(workers), &|items| items.each(work));
    let ended = catch_unwind(AssertUnwindSafe(run))
        .map_err(|panic| panic.downcast_ref() == Some(&"planned"));
    assert!(scene.made.into_inner() <= BUFFERS, "too many buffers");
    let mut done = scene.done.into_inner();
    done.sort_unstable();
    let failed = fault.filter(|fault| scene.calls.into_inner() > fault.first);
    let result = failure.into_result();
    let is_right = match failed.map(|fault| fault.panics) {
        None => ended == Ok(()) && result.is_ok() && (0..ITEMS).eq(done),
        // The cause, and not that another thread was stopped by it.
        Some(false) => ended == Ok(()) && matches!(result, Err(Error::Machine { .. })),
        Some(true) => ended == Err(true) && result.is_err(),
    };
    assert!(is_right, "{fault:?}: {ended:?}, {result:?}");
}

#[test]
fn j2_a_belt_carries_everything_once_and_loses_no_buffer() {
    explore("a belt", Time::Stands, || check(None));
}

#[test]
fn j2_whoever_fails_at_a_belt_all_end_with_its_error() {
    explore("a belt that fails", Time::Passes, || {
        check(Some(Fault {
            point: ["make", "read", "work"][thread_rng().gen_range(0..3)],
            first: thread_rng().gen_range(0..4),
            panics: thread_rng().gen_bool(0.5),
        }));
    });
}
