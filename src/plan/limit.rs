//! The least limit under which a line would fit that is too long for a layout.
//!
//! *Owns:* the way back from the room for long lines to the limit of the process. *Invariants:* under the limit that
//! is advised, a plan for the same inputs has the room; the advice is never below the limit in force.
//!
//! *Cost:* a few additions.

use crate::memory::buffer::PAGE;
use crate::output::COMPRESSING_SHARE;
use crate::plan::job::{program_bytes, threads_bytes};
use crate::plan::layout::Layout;
use crate::plan::shares::ORDER_SHARE;
use crate::reading::long_lines::LimitAdvice;

/// Rounds of a fixed-point search for a limit. Each comes at least four times closer, so 16 leave an error
/// below a byte.
const ROUNDS: u32 = 16;

impl LimitAdvice for Layout {
    fn limit_for_long_lines(&self, needed_bytes: u64, room_bytes: u64) -> u64 {
        // A scan may lend long lines what nothing else uses at the time. They then have more room than the plan gave
        // them, and a limit that leaves more to lend is enough.
        let enough = if room_bytes > self.scan.long_line_bytes {
            self.memory_for_spare(needed_bytes, room_bytes)
        } else {
            self.memory_for_long_lines(needed_bytes)
        };
        enough.max(self.memory_bytes)
    }
}

impl Layout {
    /// Returns the least process limit under which a plan for the same inputs has `bytes` for long lines.
    fn memory_for_long_lines(&self, bytes: u64) -> u64 {
        let usable = bytes
            .saturating_mul(8)
            .div_ceil(self.scan.long_line_eighths);
        self.memory_for_usable(usable.max(self.usable_bytes))
    }

    /// Returns a process limit under which a scan has `bytes` for long lines that may take all that the rest of this
    /// plan leaves. They have `held_bytes` of that now.
    fn memory_for_spare(&self, bytes: u64, held_bytes: u64) -> u64 {
        // What is in a set stays there.
        let others = self.usable_bytes.saturating_sub(self.scan.bytes());
        let others = others.saturating_sub(held_bytes);
        // Besides that, the plan's own room for long lines has its eighths, and chunks have up to seven parts of 32: a
        // tenth, twice that where each worker decodes a piece of its own, and two pages each.
        let left = 32 - 7 - 4 * self.scan.long_line_eighths;
        let usable = bytes
            .saturating_add(others)
            .saturating_mul(32)
            .div_ceil(left);
        self.memory_for_usable(usable.max(self.usable_bytes))
    }

    /// Returns the least process limit that leaves `usable` bytes for buffers. Under a larger limit more threads may
    /// run, more of the program stays in memory, and larger pieces are compressed, so the equation `limit = fixed +
    /// usable + these(limit)` is solved by iteration.
    fn memory_for_usable(&self, usable: u64) -> u64 {
        let beside = self
            .memory_bytes
            .saturating_sub(self.usable_bytes + self.order_bytes);
        // What decodes inputs has a share of the memory, so it grows with the limit.
        let usable = match self.decoding.share {
            0 => usable,
            share => usable.saturating_add(usable / (share - 1) + PAGE),
        };
        // So does what puts the answer in order.
        let usable = match self.order_bytes {
            0 => usable,
            bytes => usable.saturating_add((usable / (ORDER_SHARE - 1)).max(bytes) + PAGE),
        };
        // Compressed outputs have a share of the limit at most, if one thread does with that.
        let compressing = |bytes| match self.compressing_bytes {
            0 => 0,
            here => here.max(bytes / COMPRESSING_SHARE),
        };
        let growing = |bytes| threads_bytes(self.threads, bytes) + program_bytes(bytes);
        let under = |bytes| growing(bytes) + compressing(bytes);
        let here = growing(self.memory_bytes) + self.compressing_bytes;
        let least = beside.saturating_add(usable);
        // That grows by less than a fourth of the limit: a few rounds come close to it.
        (0..ROUNDS).fold(least, |memory, _| {
            least.saturating_add(under(memory)).saturating_sub(here)
        })
    }
}
