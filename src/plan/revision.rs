//! The plan once its first filter is complete: how much passes it is known by then.
//!
//! *Owns:* the second look at buckets, blocks and filters of `sieve` and `bloom`, from the share of the
//! next input that a sample of it lets expect ([`Passing`]).
//!
//! *Invariants:* what a revised layout assigns, and the filter that is there, add up to no more than the
//! limit. Without a better layout there is none, and the first one stays.
//!
//! *Cost:* a few microseconds.
//!
//! The first plan has to assume how many lines survive a filter. Where far more do, their buckets would
//! not fit, and each would be written and read once more. And where nearly all lines pass, the filter
//! saves less than it costs to ask: then the rest of the run is `partition`, with the filter's memory for
//! its blocks.

use crate::plan::buckets::{LEAST_BUCKET_BYTES, one_level_bytes, set_buckets};
use crate::plan::design::{JOIN_SLACK_BYTES, partition_layout};
use crate::plan::filters::SURVIVOR_SLACK;
use crate::plan::job::{Sizes, sizes_in_order};
use crate::plan::layout::Layout;
use crate::plan::{FilterPlan, LEAST_USEFUL_SAVING, Plan, SIEVE_BITS_PER_KEY};
use crate::set::line_set::estimate_set_bytes;

/// Bits per key below which a filter of survivors is better built afterwards, of their known number.
const LEAST_FED_BITS: f64 = 4.0;

/// What is known when the first filter is complete.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passing {
    /// The input that comes next, as a place in the plan's order.
    pub(crate) input: usize,
    /// The share of its lines that the filter lets through, 0..1.
    pub(crate) share: f64,
    /// What the filter takes of the memory, in bytes.
    pub(crate) filter_bytes: u64,
}

/// How the run goes on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Revision {
    /// How memory is divided from now on.
    pub(crate) layout: Layout,
    /// Whether the first filter is worth asking; if not, its memory is in the layout.
    pub(crate) asks_filter: bool,
    /// The filter of survivors, if it is fed while they are found.
    pub(crate) second_filter: Option<FilterPlan>,
}

impl Plan {
    /// How `sieve` goes on.
    pub(crate) fn revised_sieve(&self, passing: Passing) -> Option<Revision> {
        let sizes = Sizes::of(&self.job);
        let (bytes, lines) = self.survivors(passing);
        // The build side of a bucket is the smaller one.
        let (set_bytes, set_lines) = (bytes.min(sizes.build.0), lines.min(sizes.build.1));
        let set_bytes = estimate_set_bytes(set_lines, set_bytes);
        if passing.share > 1.0 - LEAST_USEFUL_SAVING {
            return self.partitioned(&sizes);
        }
        let feeds = self.second_filter.map(|_| lines);
        self.sieved(passing, set_bytes, feeds)
            .or_else(|| self.partitioned(&sizes))
    }

    /// How `bloom` goes on: its filter is asked in any case, for it makes the result.
    pub(crate) fn revised_bloom(&self, passing: Passing) -> Option<Layout> {
        let (bytes, lines) = self.survivors(passing);
        self.sieved(passing, estimate_set_bytes(lines, bytes), None)
            .map(|revision| revision.layout)
    }

    /// Bytes and lines of the next input that are expected to pass.
    fn survivors(&self, passing: Passing) -> (u64, u64) {
        let sizes = sizes_in_order(&self.job);
        let (bytes, lines) = sizes.get(passing.input).copied().unwrap_or_default();
        let part = |whole: u64| (whole as f64 * passing.share) as u64;
        (part(bytes), part(lines))
    }

    /// Buckets for survivors whose set has `set_bytes`, in what the filter leaves; `feeds` is the number of
    /// lines that go into a second filter.
    fn sieved(&self, passing: Passing, set_bytes: u64, feeds: Option<u64>) -> Option<Revision> {
        let mut layout = self.layout.without_buckets();
        let rest = layout.rest_bytes().checked_sub(passing.filter_bytes)?;
        let rest = rest.saturating_sub(JOIN_SLACK_BYTES.min(layout.usable_bytes / 8));
        let least_pool = one_level_bytes(&layout, set_bytes);
        let room = rest.checked_sub(least_pool)?;
        let second_filter = feeds.and_then(|lines| {
            let keys = (lines as f64 * SURVIVOR_SLACK) as u64;
            let cap = self.job.bits_per_key.unwrap_or(SIEVE_BITS_PER_KEY);
            let plan = FilterPlan::new(keys, room, cap);
            (plan.bits / 8 <= room && plan.bits_per_key >= LEAST_FED_BITS.min(cap)).then_some(plan)
        });
        let fed_bytes = second_filter.map_or(0, |plan| plan.bits / 8);
        let pool_bytes = (rest - fed_bytes).min(layout.usable_bytes / 2);
        // Blocks that stay in memory leave less for the sets of the join.
        let crowded = layout.usable_bytes as f64 / (layout.usable_bytes - pool_bytes).max(1) as f64;
        let crowded_set = (set_bytes as f64 * crowded) as u64;
        let wanted = |blocks: u64| blocks.min(set_bytes / LEAST_BUCKET_BYTES);
        set_buckets(&self.job, &mut layout, pool_bytes, crowded_set, wanted).ok()?;
        Some(Revision {
            layout,
            asks_filter: true,
            second_filter,
        })
    }

    /// Buckets for everything, in all of the memory.
    fn partitioned(&self, sizes: &Sizes) -> Option<Revision> {
        let scan = self.layout.without_buckets();
        let layout = partition_layout(&self.job, scan, sizes).ok()?;
        Some(Revision {
            layout,
            asks_filter: false,
            second_filter: None,
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::plan::Strategy;
    use crate::plan::tests::{job, lines};
    use crate::plan::{Job, plan};

    const SHARES: [f64; 7] = [0.0, 0.02, 0.1, 0.3, 0.5, 0.89, 1.0];

    fn plan_of(strategy: Strategy, count: u64, memory: u64) -> Plan {
        plan(&Job {
            strategy: Some(strategy),
            ..job(&[lines(count), lines(count)], memory)
        })
        .unwrap()
    }

    fn passing(plan: &Plan, share: f64) -> Passing {
        Passing {
            input: 1,
            share,
            filter_bytes: plan.costs.filter.unwrap().bits / 8,
        }
    }

    /// What is in use at one time after the revision.
    fn in_use(revision: &Revision, filter_bytes: u64) -> u64 {
        let layout = &revision.layout;
        let first = if revision.asks_filter {
            filter_bytes
        } else {
            0
        };
        let second = revision.second_filter.map_or(0, |plan| plan.bits / 8);
        layout.scan_bytes() + layout.pool_bytes() + first + second
    }

    #[test]
    fn c9_a_revised_layout_adds_up_to_the_limit_at_every_size() {
        for memory in [16 << 20, 24 << 20, 64 << 20, 160 << 20, 1 << 30, 4 << 30] {
            for count in [200_000, 5_000_000, 20_000_000, 5_000_000_000] {
                for share in SHARES {
                    let sieve = plan_of(Strategy::Sieve, count, memory);
                    let passing = passing(&sieve, share);
                    let Some(revision) = sieve.revised_sieve(passing) else {
                        panic!("no revision: {count} lines in {memory}, {share}");
                    };
                    let usable = revision.layout.usable_bytes;
                    let used = in_use(&revision, passing.filter_bytes);
                    assert!(
                        used <= usable,
                        "{count} in {memory}, {share}: {used} of {usable}"
                    );
                    assert!(usable <= sieve.layout.usable_bytes);
                }
            }
        }
    }

    #[test]
    fn h11_buckets_are_for_what_survives() {
        let count = 5_000_000;
        for memory in [16 << 20, 64 << 20] {
            for share in SHARES {
                for strategy in [Strategy::Sieve, Strategy::Bloom] {
                    let plan = plan_of(strategy, count, memory);
                    let passing = passing(&plan, share);
                    let layout = if strategy == Strategy::Sieve {
                        plan.revised_sieve(passing).map(|revision| revision.layout)
                    } else {
                        plan.revised_bloom(passing)
                    };
                    let Some(layout) = layout else {
                        assert_eq!((strategy, memory), (Strategy::Bloom, 16 << 20), "{share}");
                        continue;
                    };
                    let survivors = (count as f64 * share) as u64;
                    let set = estimate_set_bytes(survivors, survivors * 64);
                    let fits = layout.join_share(layout.join_workers);
                    assert!(
                        set / u64::from(layout.buckets) <= fits,
                        "{strategy} in {memory}, {share}: {} buckets",
                        layout.buckets
                    );
                }
            }
        }
    }

    #[test]
    fn h11_a_filter_that_keeps_hardly_anything_out_is_dropped() {
        let plan = plan_of(Strategy::Sieve, 5_000_000, 64 << 20);
        for (share, asks) in [(0.1, true), (0.5, true), (0.95, false), (1.0, false)] {
            let revision = plan.revised_sieve(passing(&plan, share)).unwrap();
            assert_eq!(revision.asks_filter, asks, "{share}");
        }
    }
}
