//! Which blocks of temporary files go through the page cache.
//!
//! *Owns:* the answer for each block that is written, for all runs of one command.
//!
//! A spilled block is read back soon, and its file is removed: if the system has not written it to the disk by then, it never
//! will. So where memory is free, the page cache saves both ways to the disk. But what the system has not yet written must
//! stay little: beyond a share of the memory (`vm.dirty_background_ratio`, a tenth unless an administrator changed it) it
//! begins to write by itself, and then makes writers wait. That takes several times as long as writing around the cache.
//! So a block goes through the cache while *all programs together* have less unwritten than that, and around it otherwise.
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
//! - It matters for time only. The system keeps both ways coherent, and whichever way a block was written, it may be read
//!   either way.
//! - The files of a command have no more than the share in the cache, so that it serves other programs, too, when much is
//!   spilled. In a container the share is one of its limit.
//! - The system is asked again after a step of bytes, so several processes may exceed the share by a step each.
//! - Where the system does not say what is unwritten, nothing goes through the cache.
//!
//! *Cost:* a lock for each block, and for each step, of at most 16 MiB, a read of `/proc/meminfo` (some 30 microseconds).
//!
//! *Sources:* Documentation/admin-guide/sysctl/vm.rst (`dirty_background_ratio`); proc(5), `/proc/meminfo`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::sys::machine;

/// How many bytes go the same way before the system is asked again, at most: little beside the share, and
/// enough for the question not to cost anything.
const MOST_STEP: u64 = 16 << 20;

/// How many steps the share is divided into at least.
const LEAST_STEPS: u64 = 8;

/// The part of the page cache that the temporary files of a command may have.
#[derive(Debug)]
pub(super) struct PageCache {
    /// The share, in bytes: what all programs together may have unwritten. 0 where nothing goes through the cache.
    most_bytes: u64,
    /// What the files of this command may have in the cache, in bytes: the share, or less of it in a rehearsal.
    most_held: AtomicU64,
    state: Mutex<State>,
}

/// What changes with each block.
#[derive(Debug, Default)]
struct State {
    /// Bytes in the cache, of files that were not removed: at most the share.
    held_bytes: u64,
    /// The last answer of the system: whether it has room for a step.
    is_roomy: bool,
    /// Bytes for which that answer still holds.
    left_bytes: u64,
}

impl PageCache {
    /// The share of what this process may use that the system leaves unwritten.
    pub(super) fn of_machine() -> Arc<Self> {
        Self::new(machine::most_unwritten_bytes())
    }

    fn new(most_bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            most_bytes,
            most_held: AtomicU64::new(most_bytes),
            state: Mutex::default(),
        })
    }

    /// Leaves the files of this command no more than the part `bytes / of_bytes` of the share from now on, but never more than
    /// the share.
    pub(super) fn shrink(&self, bytes: u64, of_bytes: u64) {
        let part = bytes as f64 / of_bytes.max(1) as f64;
        let most = (self.most_bytes as f64 * part.min(1.0)) as u64;
        self.most_held.store(most, Ordering::Relaxed);
    }

    /// Takes a block of `bytes` into the cache, if there is room; `unwritten` says how many bytes the system has not yet
    /// written.
    fn takes(&self, bytes: u64, unwritten: impl FnOnce() -> Option<u64>) -> bool {
        let mut state = self.lock();
        if state.held_bytes + bytes > self.most_held.load(Ordering::Relaxed) {
            return false;
        }
        if state.left_bytes < bytes {
            let step = (self.most_bytes / LEAST_STEPS).min(MOST_STEP).max(bytes);
            let unwritten = unwritten().unwrap_or(u64::MAX);
            state.is_roomy = unwritten.saturating_add(step) <= self.most_bytes;
            state.left_bytes = step;
        }
        state.left_bytes -= bytes;
        if state.is_roomy {
            state.held_bytes += bytes;
        }
        state.is_roomy
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What of one file went through the page cache. Dropping it gives its room to other files: drop it when the file is
/// removed.
#[derive(Debug)]
pub(super) struct CachedPart {
    cache: Arc<PageCache>,
    bytes: AtomicU64,
    /// Behind the last of these bytes; 0 if there are none.
    end: AtomicU64,
}

impl CachedPart {
    /// That of a new file.
    pub(super) fn new(cache: &Arc<PageCache>) -> Self {
        Self {
            cache: Arc::clone(cache),
            bytes: AtomicU64::new(0),
            end: AtomicU64::new(0),
        }
    }

    /// Whether a block of `bytes` that begins at `offset` of the file is to be written through the cache. If so, it counts
    /// as written from now on.
    pub(super) fn takes(&self, offset: u64, bytes: u64) -> bool {
        let is_taken = self.cache.takes(bytes, machine::unwritten_bytes);
        if is_taken {
            // A reader gets to know the file through a lock or a queue, after all of it was written: no order is needed.
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
            self.end.fetch_max(offset + bytes, Ordering::Relaxed);
        }
        is_taken
    }

    /// Whether what begins at `offset` is best read through the cache: some of it or of what is behind it was written so.
    pub(super) fn is_before_end(&self, offset: u64) -> bool {
        offset < self.end.load(Ordering::Relaxed)
    }
}

impl Drop for CachedPart {
    fn drop(&mut self) {
        self.cache.lock().held_bytes -= *self.bytes.get_mut();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn blocks_go_through_the_cache_while_little_is_unwritten() {
        let cache = PageCache::new(64 * MIB);
        let not_asked = || unreachable!("a step is 8 MiB");
        assert!(cache.takes(MIB, || Some(0)));
        assert!((1..8).all(|_| cache.takes(MIB, not_asked)));
        assert!(cache.takes(MIB, || Some(56 * MIB)));
        assert!(cache.takes(7 * MIB, not_asked));
        assert!(!cache.takes(MIB, || Some(57 * MIB)), "no room");
        assert!(!cache.takes(7 * MIB, not_asked));
        assert!(cache.takes(MIB, || Some(0)), "there is room again");
    }

    #[test]
    fn nothing_goes_through_a_cache_without_room_or_where_the_system_does_not_say() {
        assert!(!PageCache::new(0).takes(1, || Some(0)));
        assert!(!PageCache::new(64 * MIB).takes(MIB, || None));
        assert!(!PageCache::new(MIB - 1).takes(MIB, || Some(0)));
    }

    #[test]
    fn files_have_no_more_than_the_share_until_they_are_removed() {
        let cache = PageCache::new(64 * MIB);
        let take = |blocks: u64| (0..blocks).filter(|_| cache.takes(MIB, || Some(0))).count();
        assert_eq!(take(100), 64);
        cache.lock().held_bytes = 0;
        let part = CachedPart::new(&cache);
        part.bytes.store(60 * MIB, Ordering::Relaxed);
        cache.lock().held_bytes = 60 * MIB;
        assert_eq!(take(10), 4);
        drop(part);
        assert_eq!(take(100), 60);
        cache.lock().held_bytes = 0;
        cache.shrink(10, 40);
        assert_eq!(take(100), 16);
    }

    #[test]
    fn a_file_is_read_through_the_cache_as_far_as_it_was_written_so() {
        let part = CachedPart::new(&PageCache::new(0));
        assert!(!part.takes(0, MIB) && !part.is_before_end(0));
        part.end.store(3 * MIB, Ordering::Relaxed);
        assert!(part.is_before_end(2 * MIB) && !part.is_before_end(3 * MIB));
    }
}
