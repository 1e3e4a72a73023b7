//! Computation over memory, on several threads.
//!
//! *Owns:* the pools of `rayon`, which are there for one computation each. Passes wait for disks, so they have threads
//! of their own ([`threads`](crate::sys::threads)). What hardly waits belongs here: sorting, and copies of columns,
//! which decode and encode much longer than they read.
//!
//! *Invariants.*
//! - No pool has more threads than were asked for, than there are items, or than the machine has cores: more would
//!   only wait for one another. What the calling thread does beside them is not counted: it should write, or wait.
//! - A thread that the system does not give is no failure: the calling thread does the work.
//! - A panic of `work` goes on in the calling thread.
//!
//! *Cost:* 10 to 30 µs for each thread; none for one item.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::sys::failpoint::fail_point;
use crate::sys::machine;
use crate::sys::threads::STACK_BYTES;

/// Calls `work` with each of the `items`, on at most `threads` threads. The results come in the order of the items.
pub(crate) fn each<T: Send, R: Send>(
    threads: usize,
    items: Vec<T>,
    work: impl Fn(T) -> R + Send + Sync,
) -> Vec<R> {
    each_beside(threads, items, work, || ()).0
}

/// Does as [`each`], while the calling thread does something `beside`, or after that where there is no pool; returns
/// the results of both.
pub(crate) fn each_beside<T: Send, R: Send, B>(
    threads: usize,
    items: Vec<T>,
    work: impl Fn(T) -> R + Send + Sync,
    beside: impl FnOnce() -> B,
) -> (Vec<R>, B) {
    match pool(threads.min(items.len()).min(machine::default_threads())) {
        Some(pool) => {
            let mut results = Vec::new();
            let beside = pool.in_place_scope(|scope| {
                scope.spawn(|_| results = items.into_par_iter().map(work).collect());
                beside()
            });
            (results, beside)
        }
        None => {
            let beside = beside();
            (items.into_iter().map(work).collect(), beside)
        }
    }
}

/// Makes a pool of several threads; `None` for fewer than two, and where the system does not give them.
fn pool(threads: usize) -> Option<ThreadPool> {
    if threads < 2 {
        return None;
    }
    fail_point!("compute-thread", None);
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .stack_size(STACK_BYTES)
        .thread_name(|number| format!("compute-{number}"))
        .build()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c10_no_more_threads_compute_than_are_asked_for_than_there_are_items_or_cores() {
        let on = |threads, items: usize| {
            let inside = each(threads, vec![(); items], |()| rayon::current_thread_index());
            let most = inside.into_iter().flatten().max();
            most.map_or(0, |most| most + 1)
        };
        assert_eq!([on(1, 9), on(4096, 0), on(4096, 1)], [0; 3]);
        assert!(on(4096, 5) <= machine::default_threads().min(5));
        let squares = each(4, (0..100u64).collect(), |number| number * number);
        assert!(
            squares
                .into_iter()
                .eq((0..100).map(|number| number * number))
        );
    }

    #[test]
    #[should_panic(expected = "a bug")]
    fn a_panic_goes_on_in_the_calling_thread() {
        each(2, vec![1, 2], |number| assert_eq!(number, 1, "a bug"));
    }
}
