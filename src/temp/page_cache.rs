//! The choice of the blocks of temporary files that go through the page cache.
//!
//! *Owns:* the answer for each block that is written, for all runs of one command.
//!
//! A spilled block is read back, and its file is removed, often before the system has written it to the disk: then it
//! never will. So where memory is free, the page cache saves both ways to the disk. But what the system has not yet
//! written must stay little: beyond a share of the available memory ([`writeback`](crate::sys::writeback)) it begins to
//! write by itself, and then makes writers wait. That takes several times as long as writing around the cache. So a
//! block goes through the cache while *all programs together* have less unwritten than that, and around it otherwise.
//!
//! ```text
//!  unwritten in the system  ▲
//!                   share   ├ ─ ─ ─ ─ ─ ─ ─╭──────────╮─ ─ ─ ─ ─
//!                           │           ╭──╯          ╰──╮          ← files are removed after their join
//!                           │       ╭───╯                ╰──
//!                           └───────┴──────┬───────────┬────────▶ time
//!                    blocks go:   through  │  around   │ through
//! ```
//!
//! *Invariants:*
//! - It matters for time only. The system keeps both ways coherent, and whichever way a block was written, it may be
//!   read either way.
//! - The bucket files of a command have no more than the share in the cache. In a container the share is one of its
//!   limit, and where it would be small, nothing goes through the cache.
//! - The system is asked again after a step of bytes, so several processes may exceed the share by a step each.
//! - After a block of a file has bypassed the cache, all later ones do. So those in the cache are at the beginning
//!   of the file, but for a few that several threads write at the same time.
//!
//! *Cost:* a lock for each block, and two files of `/proc` for each step: some 50 microseconds for 16 MiB.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::sys::failpoint::fail_point;
use crate::sys::writeback::{Unwritten, Writeback};

/// The bytes that go the same way before the system is asked again: enough for the question not to cost anything.
const STEP: u64 = 16 << 20;

/// The least share that is of use, in bytes: a step is little compared with it.
const LEAST_SHARE: u64 = 8 * STEP;

/// More bytes than any cache has.
#[cfg(test)]
const ALL: u64 = 1 << 60;

/// The part of the page cache that the bucket files of a command may have.
pub(super) struct PageCache {
    /// The question to the system how much is unwritten. Outside tests that is [`Writeback::now`].
    ask: Box<dyn Fn() -> Option<Unwritten> + Send + Sync>,
    state: Mutex<CacheState>,
}

/// The state that changes with each block.
#[derive(Debug)]
struct CacheState {
    /// Bytes in the cache, of files that were not removed.
    held_bytes: u64,
    /// The most bytes that may be in the cache, by the last answer of the system.
    most_bytes: u64,
    /// True if the system had room for a step.
    is_roomy: bool,
    /// Bytes for which that answer still holds.
    left_bytes: u64,
}

impl PageCache {
    /// Makes a cache as large as the part that the system leaves unwritten by itself.
    pub(super) fn of_system() -> Arc<Self> {
        let settings = Writeback::of_system();
        Self::asking(move || settings.and_then(|settings| settings.now()))
    }

    /// Works as [`PageCache::of_system`], with the answers of `ask`.
    pub(super) fn asking(ask: impl Fn() -> Option<Unwritten> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            ask: Box::new(ask),
            state: Mutex::new(CacheState {
                held_bytes: 0,
                most_bytes: 0,
                is_roomy: false,
                left_bytes: 0,
            }),
        })
    }

    /// Makes the cache full, until [`PageCache::empty`].
    #[cfg(test)]
    pub(super) fn fill(&self) {
        self.state.lock().held_bytes += ALL;
    }

    /// Takes back what [`PageCache::fill`] did.
    #[cfg(test)]
    fn empty(&self) {
        self.state.lock().held_bytes -= ALL;
    }

    /// Takes a block of `bytes` into the cache, if there is room.
    fn takes(&self, bytes: u64) -> bool {
        let mut state = self.state.lock();
        if state.left_bytes < bytes {
            let unwritten = (self.ask)().filter(|unwritten| unwritten.most_bytes >= LEAST_SHARE);
            state.most_bytes = unwritten.map_or(0, |unwritten| unwritten.most_bytes);
            state.is_roomy = unwritten.is_some_and(|now| now.bytes + STEP <= now.most_bytes);
            state.left_bytes = STEP.max(bytes);
        }
        state.left_bytes -= bytes;
        let is_taken = state.is_roomy && state.held_bytes + bytes <= state.most_bytes;
        if is_taken {
            state.held_bytes += bytes;
        }
        is_taken
    }
}

impl fmt::Debug for PageCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageCache")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// The bytes of one file that went through the page cache. Dropping it gives its room to other files: drop it when
/// the file is removed.
#[derive(Debug)]
pub(super) struct CachedPart {
    cache: Arc<PageCache>,
    bytes: AtomicU64,
    /// The offset after the last of these bytes; 0 if there are none.
    end: AtomicU64,
    /// True if no further block goes through the cache.
    has_ended: AtomicBool,
}

impl CachedPart {
    /// Makes the part of a new file: no bytes yet.
    pub(super) fn new(cache: &Arc<PageCache>) -> Self {
        Self {
            cache: Arc::clone(cache),
            bytes: AtomicU64::new(0),
            end: AtomicU64::new(0),
            has_ended: AtomicBool::new(false),
        }
    }

    /// Decides whether a block of `bytes` that begins at `offset` of the file is to be written through the cache. If
    /// so, it counts as written from now on.
    pub(super) fn takes(&self, offset: u64, bytes: u64) -> bool {
        // For a test, a cache that has no more room.
        fail_point!("page-cache", {
            self.has_ended.store(true, Ordering::Relaxed);
            false
        });
        // A reader gets to know the file through a lock or a queue, after all of it was written: no order is needed.
        if self.has_ended.load(Ordering::Relaxed) || !self.cache.takes(bytes) {
            self.has_ended.store(true, Ordering::Relaxed);
            return false;
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.end.fetch_max(offset + bytes, Ordering::Relaxed);
        true
    }

    /// Returns true if what begins at `offset` is best read through the cache: some of it or of what follows it was
    /// written so.
    pub(super) fn is_before_end(&self, offset: u64) -> bool {
        offset < self.end.load(Ordering::Relaxed)
    }
}

impl Drop for CachedPart {
    fn drop(&mut self) {
        self.cache.state.lock().held_bytes -= *self.bytes.get_mut();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Makes a cache with a share of `most` MiB, and what is unwritten, in bytes.
    fn cache(most: u64) -> (Arc<PageCache>, Arc<AtomicU64>) {
        let unwritten = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&unwritten);
        let cache = PageCache::asking(move || {
            Some(Unwritten {
                bytes: told.load(Ordering::Relaxed),
                most_bytes: most * MIB,
            })
        });
        (cache, unwritten)
    }

    /// Counts those of `blocks` blocks of a MiB that the cache takes.
    fn taken(cache: &PageCache, blocks: u64) -> usize {
        (0..blocks).filter(|_| cache.takes(MIB)).count()
    }

    #[test]
    fn blocks_go_through_the_cache_while_little_is_unwritten() {
        let (cache, unwritten) = cache(1000);
        assert_eq!(taken(&cache, 8), 8);
        unwritten.store(985 * MIB, Ordering::Relaxed);
        assert_eq!(taken(&cache, 20), 8, "until the step of 16 ends");
        unwritten.store(984 * MIB, Ordering::Relaxed);
        assert_eq!(taken(&cache, 20), 16, "after another step");
    }

    #[test]
    fn nothing_goes_through_a_small_cache_or_where_the_system_does_not_tell() {
        assert_eq!(taken(&PageCache::asking(|| None), 40), 0);
        assert_eq!(taken(&cache(127).0, 40), 0);
        assert_eq!(taken(&cache(128).0, 40), 40);
    }

    #[test]
    fn files_have_no_more_than_the_share_until_they_are_removed() {
        let (cache, _) = cache(160);
        let file = CachedPart::new(&cache);
        assert!((0..60).all(|number| file.takes(number * MIB, MIB)));
        assert_eq!(taken(&cache, 200), 100);
        drop(file);
        assert_eq!(taken(&cache, 200), 60);
    }

    #[test]
    fn a_file_is_in_the_cache_up_to_the_first_block_that_is_not() {
        let (cache, _) = cache(160);
        let file = CachedPart::new(&cache);
        assert!(!file.is_before_end(0));
        assert!(file.takes(0, MIB) && file.takes(MIB, MIB));
        cache.fill();
        assert!(!file.takes(2 * MIB, MIB));
        cache.empty();
        assert!(!file.takes(3 * MIB, MIB), "there is room again, for others");
        assert!(file.is_before_end(2 * MIB - 1) && !file.is_before_end(2 * MIB));
    }
}
