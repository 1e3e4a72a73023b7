//! Work by several threads: chunks that are handed over in order, and parts of a range.
//!
//! *Owns:* the threads. *Invariants.* Chunks reach the sink in the order of their numbers. There are
//! two for each thread and two more, whatever the number of jobs. A thread takes a chunk's memory
//! before the number of its next job, so the lowest job that is missing always has memory.
//!
//! *Cost:* two channel operations a chunk.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::chunk::Chunk;

/// What comes from a thread: a chunk with its number, or nothing if the thread panicked.
type Made = Option<(u64, Chunk)>;

/// How many chunks `threads` threads have in memory.
fn chunks_in_flight(threads: usize) -> usize {
    2 * threads + 2
}

/// Runs `make` for every job in `0..jobs` on `threads` threads and `sink` on this one, in order.
///
/// # Errors
/// The first error of the sink; the remaining jobs are dropped.
pub(crate) fn in_order(
    jobs: u64,
    threads: usize,
    make: impl Fn(u64, &mut Chunk) + Sync,
    sink: impl FnMut(&Chunk) -> io::Result<()>,
) -> io::Result<()> {
    let threads = threads.clamp(1, jobs.clamp(1, 1024) as usize);
    let slots = chunks_in_flight(threads);
    let next = AtomicU64::new(0);
    let (free, take) = bounded(slots);
    let (hand_over, finished) = bounded::<Made>(slots + threads);
    for _ in 0..slots {
        // There is room for all of them.
        let _ = free.send(Chunk::new());
    }
    thread::scope(|scope| {
        for _ in 0..threads {
            let worker = Worker {
                take: take.clone(),
                hand_over: hand_over.clone(),
            };
            scope.spawn(|| worker.run(jobs, &next, &make));
        }
        drop((take, hand_over));
        // Both channels move in and close when this returns; that ends the threads.
        reorder(jobs, free, finished, sink)
    })
}

/// Runs `make` for equal parts of `0..count`, each on one of `threads` threads; the results come in the
/// order of the parts.
pub(crate) fn in_parts<T: Send>(
    count: u64,
    threads: usize,
    make: impl Fn(Range<u64>) -> T + Sync,
) -> Vec<T> {
    let threads = threads.clamp(1, 1024) as u64;
    let bound = |part: u64| (u128::from(count) * u128::from(part) / u128::from(threads)) as u64;
    thread::scope(|scope| {
        let make = &make;
        let parts: Vec<_> = (0..threads)
            .map(|part| scope.spawn(move || make(bound(part)..bound(part + 1))))
            .collect();
        // A panic of a part goes on in this thread.
        let results = parts.into_iter().map(thread::ScopedJoinHandle::join);
        results
            .map(|result| result.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

struct Worker {
    take: Receiver<Chunk>,
    hand_over: Sender<Made>,
}

impl Worker {
    fn run(self, jobs: u64, next: &AtomicU64, make: &(impl Fn(u64, &mut Chunk) + Sync)) {
        for mut chunk in &self.take {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= jobs {
                return;
            }
            chunk.clear();
            make(job, &mut chunk);
            if self.hand_over.send(Some((job, chunk))).is_err() {
                return;
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if thread::panicking() {
            // Without this the sink would wait for a chunk that never comes.
            let _ = self.hand_over.send(None);
        }
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "dropping the channels ends the threads"
)]
fn reorder(
    jobs: u64,
    free: Sender<Chunk>,
    finished: Receiver<Made>,
    mut sink: impl FnMut(&Chunk) -> io::Result<()>,
) -> io::Result<()> {
    let mut early = BTreeMap::new();
    for job in 0..jobs {
        let chunk = loop {
            if let Some(chunk) = early.remove(&job) {
                break chunk;
            }
            match finished.recv() {
                Ok(Some((number, chunk))) => early.insert(number, chunk),
                Ok(None) | Err(_) => return Err(io::Error::other("a generating thread panicked")),
            };
        };
        sink(&chunk)?;
        // Nobody takes it once all jobs are taken.
        let _ = free.send(chunk);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Piece;

    #[test]
    fn chunks_come_in_order_for_any_number_of_threads() {
        for threads in [1, 2, 7] {
            let mut sizes = Vec::new();
            let make = |job, chunk: &mut Chunk| {
                for _ in 0..job {
                    chunk.push(Piece::new("x"));
                }
            };
            let done = in_order(100, threads, make, |chunk| {
                sizes.push(chunk.as_bytes().len());
                Ok(())
            });
            assert!(done.is_ok());
            assert!(sizes.into_iter().eq(0..100));
        }
    }

    #[test]
    fn an_error_of_the_sink_ends_the_threads() {
        let done = in_order(1 << 40, 3, |_, _| {}, |_| Err(io::Error::other("full")));
        assert!(done.is_err_and(|error| error.to_string() == "full"));
    }
}
