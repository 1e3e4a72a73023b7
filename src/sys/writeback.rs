//! The bytes that the system has not yet written to its disks, and how many of them it tolerates.
//!
//! *Owns:* reading the settings and the numbers. *Invariants:* what cannot be read is `None`, and then nothing is
//! known. *Cost:* the settings are read once; the numbers take two files of `/proc` (some 50 microseconds).
//!
//! Beyond a first threshold (`vm.dirty_background_ratio` per cent of the memory that is available, or
//! `vm.dirty_background_bytes`) Linux begins to write by itself. Half-way from there to a second one (`vm.dirty_ratio`,
//! `vm.dirty_bytes`) it makes programs wait that write.
//!
//! *Sources:* Documentation/admin-guide/sysctl/vm.rst; proc(5), `/proc/meminfo`; mm/page-writeback.c.

use crate::sys::calls::proc_text;
use crate::sys::machine::{group_limit, kilobytes, resident_bytes};

/// The most of the available memory that may be unwritten, in per cent, whatever an administrator has set: what Linux
/// has without settings.
const MOST_PERCENT: u64 = 10;

/// The bytes that are unwritten.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unwritten {
    /// The bytes of the files of all programs together.
    pub(crate) bytes: u64,
    /// The most that the system tolerates before it does anything about them.
    pub(crate) most_bytes: u64,
}

/// The settings of the system.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writeback {
    /// The part of the available memory that may be unwritten, in per cent.
    percent: u64,
    /// The most bytes that may be unwritten in any case.
    most_bytes: u64,
    /// The memory limit of the group that this process is in, in bytes.
    group_bytes: Option<u64>,
}

impl Writeback {
    /// Reads the settings; `None` if the system does not tell them.
    pub(crate) fn of_system() -> Option<Self> {
        let (begins, waits) = (Threshold::of("dirty_background")?, Threshold::of("dirty")?);
        Some(Self {
            percent: begins.percent.min(waits.percent / 2).min(MOST_PERCENT),
            most_bytes: begins.bytes.min(waits.bytes / 2),
            group_bytes: group_limit(),
        })
    }

    /// Returns what is unwritten now, and what would be tolerated. In a container that is a part of what is left of
    /// its limit, although all that is unwritten in the system counts.
    pub(crate) fn now(&self) -> Option<Unwritten> {
        let memory = proc_text("meminfo")?;
        let bytes = kilobytes(&memory, "Dirty:")? + kilobytes(&memory, "Writeback:")?;
        let left = |limit: u64| limit.saturating_sub(resident_bytes());
        let available = kilobytes(&memory, "MemAvailable:")?;
        let available = available.min(self.group_bytes.map_or(u64::MAX, left));
        Some(Unwritten {
            bytes,
            most_bytes: (available / 100 * self.percent).min(self.most_bytes),
        })
    }
}

/// A threshold of the system, which has been set in one of two ways.
struct Threshold {
    /// Per cent of the available memory; 100 where it was set in bytes.
    percent: u64,
    /// Bytes; `u64::MAX` where it was set in per cent.
    bytes: u64,
}

impl Threshold {
    /// Reads the threshold whose settings have names that begin with `kind`. Of the two, the one that is not in use
    /// reads as 0.
    fn of(kind: &str) -> Option<Self> {
        let setting = |unit: &str| {
            let text = proc_text(&format!("sys/vm/{kind}_{unit}"))?;
            text.trim().parse::<u64>().ok()
        };
        Some(match setting("bytes")? {
            0 => Self {
                percent: setting("ratio")?,
                bytes: u64::MAX,
            },
            bytes => Self {
                percent: 100,
                bytes,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_a_tenth_of_the_memory_may_be_unwritten() {
        // Systems without /proc tell nothing.
        let Some(settings) = Writeback::of_system() else {
            return;
        };
        assert!(settings.percent <= MOST_PERCENT, "{settings:?}");
        let small = Writeback {
            group_bytes: Some(resident_bytes() + (10 << 20)),
            percent: 10,
            ..settings
        };
        let now = small.now();
        assert!(
            now.is_none_or(|now| now.most_bytes <= 2 << 20),
            "a tenth of 10 MiB, and of what is resident now less: {now:?}"
        );
    }
}
