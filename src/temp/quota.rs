//! The cap on temporary disk.
//!
//! *Owns:* the cap (`--max-temp`), and the count of what is used by all that share it: the runs of one command.
//!
//! *Invariants:* `used` never exceeds the cap, whichever threads take at the same time. What was taken is given
//! back when the file goes, or could not be written. Taking comes before writing and giving back comes
//! after removing, so the disk never has more than is counted.
//!
//! *Cost:* an atomic operation a block.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A cap on temporary disk, and what of it is used, by one run or by several.
#[derive(Debug)]
pub(crate) struct Quota {
    /// The most that may be used, in bytes; `u64::MAX` without a cap.
    cap_bytes: u64,
    /// Bytes taken and not given back: at most the cap.
    used: AtomicU64,
    /// The most that `used` has been.
    peak: AtomicU64,
}

impl Quota {
    /// Makes a cap of `cap_bytes`, of which nothing is used.
    pub(crate) fn new(cap_bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            cap_bytes,
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
        })
    }

    /// Returns the cap, in bytes.
    pub(super) fn cap_bytes(&self) -> u64 {
        self.cap_bytes
    }

    /// Takes `bytes` of the cap. Never waits.
    ///
    /// # Errors
    /// The cap that would be needed, in bytes, if this one does not allow it. Nothing is taken then.
    pub(super) fn take(&self, bytes: u64) -> Result<(), u64> {
        let charged = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(bytes)
                    .filter(|&total| total <= self.cap_bytes)
            });
        let before = charged.map_err(|used| used.saturating_add(bytes))?;
        self.peak.fetch_max(before + bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Gives `bytes` back that were taken; more would make the count wrap around.
    pub(super) fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Returns the bytes that are used.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Returns the most bytes that were used at one time.
    pub(crate) fn peak_bytes(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e4_the_cap_is_reached_to_the_byte_and_never_passed() {
        let quota = Quota::new(100);
        assert_eq!(quota.take(60), Ok(()));
        assert_eq!(quota.take(41), Err(101), "what would be needed");
        assert_eq!(quota.take(40), Ok(()));
        assert_eq!(quota.take(u64::MAX), Err(u64::MAX));
        assert_eq!((quota.used_bytes(), quota.peak_bytes()), (100, 100));
        quota.give_back(70);
        assert_eq!(quota.take(10), Ok(()));
        assert_eq!((quota.used_bytes(), quota.peak_bytes()), (40, 100));
        assert_eq!(quota.cap_bytes(), 100);
    }
}
