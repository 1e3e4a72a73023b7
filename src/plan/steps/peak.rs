//! The memory at the peak of a list.
//!
//! *Owns:* the fold from steps to what is in memory while each of them is performed. *Invariants:* what lives how long
//! is what the run itself goes by: a filter from the first step that names it to the last ([`Lives`]), blocks from the
//! first spill to the join, a set to the end. *Cost:* a few nanoseconds a step.
//!
//! ```text
//!  sieve of two files    filter 0 > s0 · replan · spill 1 through s0 > s1 · refilter · spill 0 through s1 · join
//!  buffers of a scan     ████████████           ███████████████████████              ████████████████████
//!  s0                    ████████████████████████████████████████████████
//!  s1                                           █████████████████████████████████████████████████████████
//!  blocks                                       ████████████████████████████████████████████████████████████████
//! ```

use super::step::{Lives, Slot, Step};

/// Bytes of what a run holds.
#[derive(Debug, Clone, Copy)]
pub(in crate::plan) struct HeldBytes {
    /// The buffers of a step that reads an input.
    pub(in crate::plan) scan: u64,
    /// The first filter, and each later one.
    pub(in crate::plan) first_filter: u64,
    pub(in crate::plan) later_filter: u64,
    /// The blocks of the pool.
    pub(in crate::plan) blocks: u64,
    /// The set in memory, or the bitmaps.
    pub(in crate::plan) set: u64,
    /// All that there is for these. Sets of the join have what the steps before have left. Where a filter has kept out
    /// most of the lines, that is no more than the filter had; where none was asked, it is all of this.
    pub(in crate::plan) all: u64,
}

/// Finds the most bytes that any of these steps has in memory: no more than all, because the budget grants no more.
pub(in crate::plan) fn peak(steps: &[Step], bytes: &HeldBytes) -> u64 {
    let lives = Lives::of(steps);
    let (mut alive, mut blocks, mut joined) = (Vec::new(), 0, 0);
    let held = |(done, step): (usize, &Step)| {
        let named = step.filled().into_iter().chain([step.asked()]).flatten();
        alive.extend(named);
        alive.sort_unstable();
        alive.dedup();
        alive.retain(|&slot| !lives.is_over(slot, done));
        match step {
            Step::Spill { through: None, .. } => (blocks, joined) = (bytes.blocks, bytes.all),
            Step::Spill { .. } => blocks = bytes.blocks,
            _ => {}
        }
        let filters = alive.iter().map(|&slot| match slot {
            Slot::FIRST => bytes.first_filter,
            _ => bytes.later_filter,
        });
        let scan = step.input().map_or(0, |_| bytes.scan);
        let set = match step {
            Step::Join { .. } => joined,
            step if step.is_of_set() => bytes.set,
            _ => 0,
        };
        filters.fold(scan, u64::saturating_add) + blocks + set
    };
    let most = steps.iter().enumerate().map(held).max();
    most.unwrap_or(0).min(bytes.all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::steps::List;
    use crate::selection::{Order, Sides};

    const HELD: HeldBytes = HeldBytes {
        scan: 1,
        first_filter: 10,
        later_filter: 100,
        blocks: 1000,
        set: 10_000,
        all: 100_000,
    };

    #[test]
    fn a_filter_counts_from_the_step_that_fills_it_to_the_last_that_asks_it() {
        let sides = |inputs| Sides::common(inputs, Order::Any);
        let peak_of = |list: List, inputs| peak(&list.steps(inputs, &sides(inputs)), &HELD);
        // The first filter is dropped before there are blocks, if there is another one to ask.
        let chain = List::Chain { has_stored: false };
        assert_eq!(peak_of(chain, 2), 1011);
        assert_eq!(peak_of(chain, 3), 1101);
        assert_eq!(peak_of(List::Sieve, 2), 1111);
        assert_eq!(peak_of(List::Sieve, 3), 1201);
        assert_eq!(peak_of(List::Partition { feeds: true }, 2), 100_000);
        assert_eq!(peak_of(List::Set, 2), 10_001);
        assert_eq!(peak_of(List::PrefilteredSet, 3), 10_111);
    }
}
