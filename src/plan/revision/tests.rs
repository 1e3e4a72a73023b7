//! Revised plans at every overlap, number of inputs and size; nothing here reads a file.

use super::*;
use crate::plan::Strategy;
use crate::plan::tests::{job, lines};
use crate::plan::{InputShape, Job, plan};
use crate::set::line_set::estimate_set_bytes;

const SHARES: [f64; 7] = [0.0, 0.02, 0.1, 0.3, 0.5, 0.89, 1.0];
/// Lines of a sample.
const SAMPLED: u64 = 16_000;
const MIB: u64 = 1 << 20;

fn plan_of(strategy: Strategy, inputs: &[InputShape], memory: u64) -> Plan {
    plan(&Job {
        strategy: Some(strategy),
        ..job(inputs, memory)
    })
    .unwrap()
}

/// Makes a sample of which this share passes, with no line repeated.
fn sample(plan: &Plan, share: f64) -> SurvivorSample {
    let filter = plan.costs.filter.unwrap();
    let passed = (SAMPLED as f64 * share) as u64;
    SurvivorSample {
        input: 1,
        sampled: SAMPLED,
        passed,
        passed_distinct: passed,
        filter_bytes: filter.bits / 8,
        filter_fpr: filter.predicted_fpr,
        filter_distinct: filter.keys as f64,
        temp_bytes: u64::MAX,
    }
}

/// Counts the most bytes that are in use at one time after the revision: with a further input the filter that was fed
/// is asked while another is fed.
fn in_use(revision: &Revision, filter_bytes: u64, inputs: usize) -> u64 {
    let layout = &revision.layout;
    let first = if revision.asks_filter {
        filter_bytes
    } else {
        0
    };
    let second = revision.second_filter.map_or(0, |plan| plan.bits / 8);
    let asked = if inputs > 2 { first.max(second) } else { first };
    layout.scan.bytes() + layout.pool.bytes() + asked + second
}

#[test]
fn c9_a_revised_layout_adds_up_to_the_limit_at_every_size() {
    for memory in [16 * MIB, 24 * MIB, 64 * MIB, 160 * MIB, 1 << 30, 4 << 30] {
        for count in [200_000, 5_000_000, 20_000_000, 5_000_000_000] {
            for (further, factor) in [(1, 1), (1, 7), (2, 1), (3, 8), (23, 2)] {
                let mut inputs = vec![lines(count)];
                inputs.resize(1 + further, lines(count * factor));
                let sieve = plan_of(Strategy::Sieve, &inputs, memory);
                for share in SHARES {
                    let sample = sample(&sieve, share);
                    let Some(revision) = sieve.revised_sieve(sample) else {
                        continue;
                    };
                    let usable = revision.layout.usable_bytes;
                    let used = in_use(&revision, sample.filter_bytes, inputs.len());
                    assert!(
                        used <= usable,
                        "{count} lines, {further} further, in {memory}, {share}: {used} of {usable}"
                    );
                    assert!(usable <= sieve.layout.usable_bytes);
                }
            }
        }
    }
}

#[test]
fn h11_buckets_are_for_what_survives() {
    let count = 5_000_000;
    for memory in [16 * MIB, 64 * MIB] {
        for share in SHARES {
            for strategy in [Strategy::Sieve, Strategy::Bloom] {
                let plan = plan_of(strategy, &[lines(count), lines(count)], memory);
                let sample = sample(&plan, share);
                let layout = if strategy == Strategy::Sieve {
                    plan.revised_sieve(sample).map(|revision| revision.layout)
                } else {
                    plan.revised_bloom(sample)
                };
                let Some(layout) = layout else {
                    let is_tight = (strategy, memory) == (Strategy::Bloom, 16 * MIB);
                    assert!(is_tight, "{strategy} in {memory}, {share}");
                    continue;
                };
                let survivors = (count as f64 * share) as u64;
                let set = estimate_set_bytes(survivors, survivors * 64);
                let fits = layout.join_share(layout.pool.join_workers);
                assert!(
                    set / u64::from(layout.pool.buckets) <= fits,
                    "{strategy} in {memory}, {share}: {} buckets",
                    layout.pool.buckets
                );
            }
        }
    }
}

#[test]
fn h11_blocks_that_stay_in_memory_leave_the_join_its_sets() {
    let count = 5_000_000;
    for memory in (16..=64).map(|mebibytes| mebibytes * MIB) {
        let plan = plan_of(Strategy::Sieve, &[lines(count), lines(count)], memory);
        for share in [0.1, 0.19, 0.3] {
            let Some(revision) = plan.revised_sieve(sample(&plan, share)) else {
                continue;
            };
            let layout = revision.layout;
            let survivors = (count as f64 * share) as u64;
            let set =
                estimate_set_bytes(survivors, survivors * 64) / u64::from(layout.pool.buckets);
            let left = layout.usable_bytes - layout.pool.bytes();
            assert!(
                left > set * layout.pool.join_workers as u64,
                "{share} under {memory}: {left} for sets of {set}"
            );
        }
    }
}

#[test]
fn what_survives_stays_in_memory_where_it_fits_beside_the_join() {
    for (count, memory) in [(20_000_000, 400 * MIB), (100_000_000, 1700 * MIB)] {
        let both = [lines(count), lines(count)];
        let plan = plan_of(Strategy::Sieve, &both, memory);
        let sample = sample(&plan, 0.1);
        let layout = plan.revised_sieve(sample).unwrap().layout;
        let blocks = layout.pool.blocks;
        // An open block for each bucket of an input is half full at the end.
        let records = (blocks - u64::from(layout.pool.buckets)) * layout.pool.block_bytes;
        assert!(records > 2 * count / 10 * 65, "{layout:?}");
        let set = estimate_set_bytes(count / 10, count / 10 * 64) / u64::from(layout.pool.buckets);
        let left = layout.usable_bytes - blocks * layout.pool.block_bytes;
        assert!(left > set * layout.pool.join_workers as u64, "{layout:?}");
        let spilling = plan_of_always_spilling(&both, memory);
        let revision = spilling.revised_sieve(sample).unwrap();
        assert_eq!(
            revision.layout.pool.blocks,
            u64::from(revision.layout.pool.buckets) + revision.layout.pool.writers as u64
        );
    }
}

/// Plans a sieve of a job whose blocks must all be written.
fn plan_of_always_spilling(inputs: &[InputShape], memory: u64) -> Plan {
    plan(&Job {
        strategy: Some(Strategy::Sieve),
        always_spill: true,
        ..job(inputs, memory)
    })
    .unwrap()
}

#[test]
fn h11_what_passes_by_mistake_is_no_line_of_the_first_input() {
    let both = [lines(20_000_000), lines(20_000_000)];
    let plan = plan_of(Strategy::Sieve, &both, 16 * MIB);
    let sample = SurvivorSample {
        filter_fpr: 0.36,
        ..sample(&plan, 0.42)
    };
    let survivors = plan.survivors(sample);
    // 58 % of the second input; of the first 91 % are not common, of which the second filter refuses most.
    let saved = saving(&plan.sized.sizes, sample, survivors);
    assert!((0.55..0.75).contains(&saved), "{saved}");
    let revision = plan.revised_sieve(sample);
    assert!(revision.is_none_or(|revision| revision.asks_filter));
}

#[test]
fn h11_filters_that_are_overfull_save_nothing() {
    let both = [lines(20_000_000), lines(20_000_000)];
    let plan = plan_of(Strategy::Sieve, &both, 64 * MIB);
    for fpr in [0.97, 0.999, 1.0] {
        let sample = SurvivorSample {
            filter_fpr: fpr,
            filter_bytes: MIB,
            ..sample(&plan, fpr + 0.1 * (1.0 - fpr))
        };
        let revision = plan.revised_sieve(sample).unwrap();
        assert!(!revision.asks_filter, "{fpr}");
    }
}

#[test]
fn h11_filters_that_keep_hardly_anything_out_are_dropped() {
    let both = [lines(5_000_000), lines(5_000_000)];
    let plan = plan_of(Strategy::Sieve, &both, 64 * MIB);
    for (share, asks) in [(0.1, true), (0.5, true), (0.97, false), (1.0, false)] {
        let revision = plan.revised_sieve(sample(&plan, share)).unwrap();
        assert_eq!(revision.asks_filter, asks, "{share}");
    }
}

#[test]
fn h11_a_sieve_whose_survivors_are_few_stays_one_if_their_buckets_must_be_split() {
    // Of long lines the buckets for a third do not fit together with the filter.
    let long = InputShape {
        bytes: Some(5_000_000 * 200),
        ..lines(5_000_000)
    };
    let plan = plan_of(Strategy::Sieve, &[long, long], 16 * MIB);
    for (share, stays) in [
        (0.1, true),
        (0.35, true),
        (0.4, true),
        (0.6, false),
        (1.0, false),
    ] {
        let revision = plan.revised_sieve(sample(&plan, share));
        let asks = revision.is_none_or(|revision| revision.asks_filter);
        assert_eq!(asks, stays, "{share}");
    }
}

#[test]
fn h11_few_lines_that_repeat_do_not_make_a_sieve_a_partition() {
    let both = [lines(5_000_000), lines(5_000_000)];
    let plan = plan_of(Strategy::Sieve, &both, 64 * MIB);
    // All of the second input passes, but it has a hundred different lines.
    let few = SurvivorSample {
        passed_distinct: 100,
        ..sample(&plan, 1.0)
    };
    assert!(plan.revised_sieve(few).unwrap().asks_filter);
    // Of lines that come twenty times each a sample of this size shows few repeats.
    let distinct = 250_000.0;
    let shown = distinct * (1.0 - (-(SAMPLED as f64) / distinct).exp());
    let repeated = SurvivorSample {
        passed_distinct: shown as u64,
        filter_distinct: distinct,
        ..sample(&plan, 1.0)
    };
    assert!(!plan.revised_sieve(repeated).unwrap().asks_filter);
}

#[test]
fn h11_buckets_are_for_different_lines() {
    let both = [lines(5_000_000), lines(5_000_000)];
    let plan = plan_of(Strategy::Sieve, &both, 16 * MIB);
    let buckets = |filter_distinct| {
        let sample = SurvivorSample {
            filter_distinct,
            ..sample(&plan, 1.0)
        };
        plan.revised_sieve(sample).unwrap().layout
    };
    let (all, few) = (buckets(5e6), buckets(250_000.0));
    assert!(few.pool.buckets * 5 < all.pool.buckets, "{few:?} {all:?}");
    assert!(
        few.pool.block_bytes > 4 * all.pool.block_bytes,
        "{few:?} {all:?}"
    );
}

#[test]
fn e5_a_sieve_stays_one_where_there_is_no_disk_for_a_partition() {
    let both = [lines(5_000_000), lines(5_000_000)];
    let plan = plan_of(Strategy::Sieve, &both, 64 * MIB);
    let with = |temp_bytes| SurvivorSample {
        temp_bytes,
        ..sample(&plan, 1.0)
    };
    assert!(!plan.revised_sieve(with(640_000_000)).unwrap().asks_filter);
    assert!(plan.revised_sieve(with(639_999_999)).is_none());
}

#[test]
fn different_lines_are_estimated_from_the_repeats_of_a_sample() {
    let plan = plan_of(
        Strategy::Sieve,
        &[lines(5_000_000), lines(5_000_000)],
        64 * MIB,
    );
    for all in [10.0, 1000.0, 20_000.0, 400_000.0] {
        let shown = all * (1.0 - (-(SAMPLED as f64) / all).exp());
        let sample = SurvivorSample {
            passed_distinct: shown.round() as u64,
            ..sample(&plan, 1.0)
        };
        let found = sample.distinct(5_000_000);
        assert!((found - all).abs() <= 0.1 * all + 1.0, "{found} of {all}");
    }
    // Without a repeat there are as many as pass.
    assert!((sample(&plan, 1.0).distinct(5_000_000) - 5e6).abs() < 1.0);
    assert!(sample(&plan, 0.0).distinct(0) <= 1.0);
}
