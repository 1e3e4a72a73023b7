//! Reading in order, in one lane or in several at the same time.
//!
//! *Owns:* which thread reads in which lane. *Invariants:* a lane gives the chunks of its pieces in their order, to one
//! thread at a time; with a single lane all chunks come in the order of the input, and are numbered in it. *Cost:* an
//! unfinished line and a decoder for each lane.
//!
//! ```text
//!  pieces      1  2  3  4  5  6 ...          claimed by the lanes as they come
//!  lane 1      ├── 1 ──┼─ 3 ─┼── 4 ──▶       locked by worker 2, who decodes a chunk
//!  lane 2      ├─── 2 ───┼─ 5 ─┼ 6 ─▶        free: worker 1 takes it when the lines of the last chunk are done
//! ```

use crate::error::Result;
use crate::memory::buffer::Buffer;
use crate::reading::chunk::Cut;
use crate::reading::stream_chunks::{Next, StreamChunks};
use crate::sys::sync::atomic::{AtomicU64, Ordering};
use crate::sys::sync::{Mutex, MutexGuard};

/// The lanes of a reading.
pub(super) struct Lanes<'a> {
    /// Each with its chunks; `None` when it has no more.
    all: Vec<Mutex<Option<StreamChunks<'a>>>>,
    /// The number of the next chunk.
    number: AtomicU64,
}

impl<'a> Lanes<'a> {
    /// Lanes that have these chunks.
    pub(super) fn new(chunks: impl IntoIterator<Item = StreamChunks<'a>>) -> Self {
        let lanes = chunks.into_iter().map(|chunks| Mutex::new(Some(chunks)));
        Self {
            all: lanes.collect(),
            number: AtomicU64::new(0),
        }
    }

    /// Counts the lanes.
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// Reads the next chunk into `buffer`, in a lane that no other thread is using; if all are in use, waits for one.
    /// Returns the number of the chunk and what was cut; `None` when all lanes have ended.
    ///
    /// # Errors
    /// As [`StreamChunks::next`].
    pub(super) fn next(&self, mut buffer: Buffer) -> Result<Option<(u64, Cut)>> {
        let free = self.all.iter().filter_map(Mutex::try_lock);
        // Not all at once: a lane is free again before the next one is tried.
        for lane in free {
            match self.read(lane, buffer)? {
                Ok(numbered) => return Ok(Some(numbered)),
                Err(back) => buffer = back,
            }
        }
        for lane in &self.all {
            let lane = lane.lock();
            match self.read(lane, buffer)? {
                Ok(numbered) => return Ok(Some(numbered)),
                Err(back) => buffer = back,
            }
        }
        Ok(None)
    }

    /// Reads the next chunk of a lane: the chunk and its number, or the buffer again where there is none.
    fn read(
        &self,
        mut lane: MutexGuard<'_, Option<StreamChunks<'a>>>,
        buffer: Buffer,
    ) -> Result<Result<(u64, Cut), Buffer>> {
        let Some(chunks) = &mut *lane else {
            return Ok(Err(buffer));
        };
        // Also where reading fails: nobody may get the number, and so the ticket, of the chunk that is missing.
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let next = chunks.next(buffer);
        if !matches!(next, Ok(Next::Cut(_))) {
            // After a failure, too: a thread that read on before it is known would begin in the middle of a line.
            *lane = None;
        }
        match next? {
            Next::Cut(cut) => Ok(Ok((number, cut))),
            Next::Ended(buffer) => Ok(Err(buffer)),
        }
    }
}

// Its data comes from data-gen, with which the feature comes, too: neither is in the package of the registry.
#[cfg(all(test, feature = "internals"))]
mod tests;
