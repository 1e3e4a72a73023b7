//! A panic in any thread of a whole run: the others end, the panic goes on to the caller, and nothing is left.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use shuttle::rand::{Rng, thread_rng};

use super::engine::Scene;
use super::explore;
use crate::selection::Selection;
use crate::sys::sync::model::Time;

/// The moment at which a panic comes.
#[derive(Debug, Clone, Copy, Default)]
struct Moment {
    point: &'static str,
    /// The call of the point that panics, counted from now; 0: none does.
    calls: usize,
    /// True if it comes at every call after that, too: to all threads of a kind.
    stays: bool,
    was_reached: bool,
}

std::thread_local! {
    /// The points are the whole process's, and other tests come by them, too: each has a moment of its own.
    static MOMENT: Cell<Moment> = const {
        Cell::new(Moment { point: "", calls: 0, stays: false, was_reached: false })
    };
}

/// Lets the point `name` panic in runs of this test.
fn arm(name: &'static str) {
    let at_call = move || {
        let moment = MOMENT.get();
        if moment.point != name {
            return;
        }
        let is_now = moment.calls == 1;
        MOMENT.set(Moment {
            calls: if is_now && moment.stays {
                1
            } else {
                moment.calls.saturating_sub(1)
            },
            was_reached: moment.was_reached || is_now,
            ..moment
        });
        if is_now {
            // Without the hook, which would print a schedule each time.
            resume_unwind(Box::new("planned"));
        }
    };
    fail::cfg_callback(name, at_call).unwrap();
}

fn check(scene: &Scene, name: &'static str, panicked: &AtomicUsize) {
    MOMENT.set(Moment {
        point: name,
        calls: thread_rng().gen_range(1..5),
        stays: thread_rng().gen_bool(0.5),
        was_reached: false,
    });
    let mut sink = |_: &[u8]| Ok(());
    let run = || scene.run(Selection::intersection(), u64::MAX, &mut sink);
    let ended = catch_unwind(AssertUnwindSafe(run));
    let was_reached = MOMENT.take().was_reached;
    match ended {
        Ok(result) => {
            assert!(!was_reached, "the panic was lost");
            result.unwrap();
        }
        Err(payload) => {
            assert!(was_reached);
            assert_eq!(payload.downcast_ref(), Some(&"planned"));
            panicked.fetch_add(1, Ordering::Relaxed);
        }
    }
    scene.check_rest();
}

fn panics_at(name: &'static str) {
    arm(name);
    let scene = Scene::new();
    let panicked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&panicked);
    explore(&format!("a panic at {name}"), Time::Passes, move || {
        check(&scene, name, &count);
    });
    assert!(
        panicked.load(Ordering::Relaxed) > 0,
        "{name} never panicked"
    );
}

#[test]
fn j2_a_panic_of_a_reading_thread_ends_the_run() {
    panics_at("read-thread");
}

#[test]
fn j2_a_panic_of_a_worker_ends_the_run() {
    panics_at("work");
}

#[test]
fn j2_a_panic_of_a_thread_that_writes_blocks_ends_the_run() {
    panics_at("spill-thread");
}

#[test]
fn j2_a_panic_of_a_worker_of_the_join_ends_the_run() {
    panics_at("join");
}

#[test]
fn j2_j3_a_panic_of_a_thread_that_reads_blocks_ends_the_run() {
    panics_at("load-thread");
}

#[test]
fn j2_j3_a_panic_of_the_thread_that_removes_files_ends_the_run() {
    panics_at("sweep-thread");
}
