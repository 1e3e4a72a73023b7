//! Chunks that several threads make, handed over in order.
//!
//! *Owns:* the threads, and the memory of the chunks. *Invariants.* Chunks reach the sink in the order of their
//! numbers. There are sixteen for each thread, whatever the number of jobs. *Cost:* a wave of chunks ends when its last
//! one is made and the wave before it has reached the sink.

use std::io;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::chunk::Chunk;
use crate::error::{Error, Result};

/// Chunks of a wave for each thread.
const WAVE: usize = 8;

/// A pool of `threads` threads, but no more than there are `jobs`.
///
/// # Errors
/// [`Error::Threads`] where the system gives no thread.
pub(crate) fn pool(threads: usize, jobs: u64) -> Result<ThreadPool> {
    let threads = threads.clamp(1, jobs.clamp(1, 1024) as usize);
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(Error::Threads)
}

/// Runs `make` for every job in `0..jobs` on the threads of the pool, and `sink` on this one, in order.
///
/// # Errors
/// The first error of the sink; the remaining jobs are dropped.
pub(crate) fn in_order(
    pool: &ThreadPool,
    jobs: u64,
    make: impl Fn(u64, &mut Chunk) + Sync,
    mut sink: impl FnMut(&Chunk) -> io::Result<()>,
) -> io::Result<()> {
    let wave = WAVE * pool.current_num_threads();
    let (mut made, mut next) = (Vec::new(), Vec::new());
    for first in (0..jobs).step_by(wave) {
        next.resize_with(wave.min((jobs - first) as usize), Chunk::new);
        pool.in_place_scope(|scope| {
            let chunks = (first..).zip(&mut next);
            for (job, chunk) in chunks {
                let make = &make;
                scope.spawn(move |_| {
                    chunk.clear();
                    make(job, chunk);
                });
            }
            made.iter().try_for_each(&mut sink)
        })?;
        std::mem::swap(&mut made, &mut next);
    }
    made.iter().try_for_each(sink)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Piece;

    #[test]
    fn chunks_come_in_order_for_any_number_of_threads() -> Result<()> {
        for threads in [1, 2, 7] {
            let mut sizes = Vec::new();
            let make = |job, chunk: &mut Chunk| {
                for _ in 0..job {
                    chunk.push(Piece::new("x"));
                }
            };
            let sink = |chunk: &Chunk| {
                sizes.push(chunk.as_bytes().len());
                Ok(())
            };
            let done = in_order(&pool(threads, 100)?, 100, make, sink);
            assert!(done.is_ok());
            assert!(sizes.into_iter().eq(0..100));
        }
        Ok(())
    }

    #[test]
    fn an_error_of_the_sink_ends_the_jobs() -> Result<()> {
        let fail = |_: &Chunk| Err(io::Error::other("full"));
        let done = in_order(&pool(3, 9)?, 1 << 40, |_, _| {}, fail);
        assert!(done.is_err_and(|error| error.to_string() == "full"));
        Ok(())
    }

    #[test]
    fn no_more_threads_start_than_there_are_jobs() -> Result<()> {
        let threads = |jobs| pool(4096, jobs).map(|pool| pool.current_num_threads());
        assert_eq!((threads(0)?, threads(5)?), (1, 5));
        Ok(())
    }
}
