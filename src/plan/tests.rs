//! Plans at silly and at serious sizes; nothing here reads a file.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use super::*;
use crate::error::Error;
use crate::selection::Selection;

const CANONICAL: InputShape = InputShape {
    bytes: Some(320_000_000_000),
    lines: Some(5_000_000_000),
    distinct_lines: None,
    is_cached: false,
};

/// A job of two threads that asks for nothing.
pub(super) fn job(inputs: &[InputShape], memory_bytes: u64) -> Job {
    Job {
        inputs: inputs.to_vec(),
        longest_line_bytes: 64,
        memory_bytes,
        base_bytes: 8 << 20,
        threads: 2,
        strategy: None,
        max_fpr: None,
        buckets: None,
        bits_per_key: None,
        selection: Selection::intersection(),
        sides: 2,
        stored_filter: None,
        wants_filter: false,
        is_ipv4: false,
        common_share: None,
        always_spill: false,
        set_estimate: SetEstimate::Trust,
    }
}

pub(super) fn lines(count: u64) -> InputShape {
    InputShape {
        bytes: Some(count * 64),
        lines: Some(count),
        distinct_lines: None,
        is_cached: false,
    }
}

fn canonical(strategy: Option<Strategy>, max_fpr: Option<f64>) -> Plan {
    plan(&Job {
        strategy,
        max_fpr,
        ..job(&[CANONICAL, CANONICAL], 4 << 30)
    })
    .unwrap()
}

#[test]
fn the_canonical_case_is_bloom_at_five_per_cent_and_exact_at_one() {
    let approximate = canonical(None, Some(0.05));
    let filter = approximate.costs.filter.unwrap();
    assert_eq!(
        (approximate.strategy(), filter.hashes),
        (Strategy::Bloom, 5)
    );
    assert!(
        filter.bits_per_key <= 6.9 && filter.bits_per_key > 6.3,
        "{filter:?}"
    );
    assert!(
        (0.037..=0.045).contains(&filter.predicted_fpr),
        "{filter:?}"
    );
    assert!((1.8e8..2.3e8).contains(&approximate.costs.expected_false_lines));
    assert!(!approximate.costs.exact);

    for accepted in [Some(0.01), Some(0.0), None] {
        let exact = canonical(None, accepted);
        assert_eq!(
            (exact.strategy(), exact.costs.exact),
            (Strategy::Sieve, true)
        );
        assert!(exact.costs.temp_peak_bytes < CANONICAL.bytes.unwrap() * 2 / 5);
    }
}

#[test]
fn the_canonical_partition_has_a_thousand_buckets() {
    let plan = canonical(Some(Strategy::Partition), None);
    assert_eq!(plan.costs.buckets, 1000);
    assert_eq!(plan.costs.temp_peak_bytes, 640_000_000_000);
    assert_eq!(plan.layout.block_bytes, 1 << 20);
}

#[test]
fn a_filter_above_the_accepted_rate_is_refused_when_asked_for_and_passed_over_when_not() {
    let asked = Job {
        strategy: Some(Strategy::Bloom),
        max_fpr: Some(0.01),
        ..job(&[CANONICAL, CANONICAL], 4 << 30)
    };
    assert!(matches!(plan(&asked), Err(Error::RateTooHigh { .. })));
    let chosen = canonical(None, Some(0.01));
    let reason = &chosen
        .rejected
        .iter()
        .find(|r| r.strategy == Strategy::Bloom)
        .unwrap()
        .reason;
    assert!(reason.contains("above the accepted 1.000%"), "{reason}");
    // Asking for bloom is itself the request for an approximate result.
    assert_eq!(
        canonical(Some(Strategy::Bloom), None).strategy(),
        Strategy::Bloom
    );
}

#[test]
fn memory_is_chosen_when_the_smallest_input_fits_whatever_the_others() {
    let small_and_huge = plan(&job(&[CANONICAL, lines(1000)], 64 << 20)).unwrap();
    assert_eq!(
        (small_and_huge.strategy(), &small_and_huge.order[..]),
        (Strategy::Memory, &[1, 0][..])
    );
    let overflowed = Job {
        set_estimate: SetEstimate::Overflowed,
        ..job(&[CANONICAL, lines(1000)], 64 << 20)
    };
    assert_ne!(plan(&overflowed).unwrap().strategy(), Strategy::Memory);
}

#[test]
fn the_sieve_gives_way_to_partition_when_its_filter_is_useless() {
    // 2 x 10^11 lines and 64 MiB: a few thousandths of a bit a key.
    let plan = plan(&job(
        &[lines(100_000_000_000), lines(100_000_000_000)],
        64 << 20,
    ))
    .unwrap();
    assert_eq!(plan.strategy(), Strategy::Partition);
    assert!(
        plan.rejected
            .iter()
            .any(|r| r.strategy == Strategy::Sieve && r.reason.contains("fewer bytes"))
    );
}

#[test]
fn c9_below_the_floor_the_least_that_would_do_is_named_and_does() {
    for memory in [0, 1 << 20, (16 << 20) - 1] {
        let Err(Error::MemoryPlan { least_bytes, .. }) =
            plan(&job(&[lines(10), lines(10)], memory))
        else {
            panic!("{memory} bytes were accepted");
        };
        plan(&job(&[lines(10), lines(10)], least_bytes)).unwrap();
    }
    let wide = Job {
        buckets: Some(60_000),
        strategy: Some(Strategy::Partition),
        ..job(&[lines(10), lines(10)], 16 << 20)
    };
    let Err(Error::MemoryPlan { least_bytes, .. }) = plan(&wide) else {
        panic!("60,000 buckets fit in 16 MiB")
    };
    plan(&Job {
        memory_bytes: least_bytes,
        ..wide
    })
    .unwrap();
}

#[test]
fn c9_every_layout_adds_up_to_the_limit_at_every_size() {
    for memory in [
        16 << 20,
        20 << 20,
        32 << 20,
        64 << 20,
        160 << 20,
        1 << 30,
        4 << 30,
        1 << 40,
    ] {
        for count in [
            0,
            1,
            1000,
            20_000_000,
            5_000_000_000,
            50_000_000_000,
            1 << 45,
        ] {
            for (inputs, threads, longest) in [
                (2, 1, 10),
                (2, 2, 1 << 20),
                (5, 64, 64),
                (300, 1000, 1 << 40),
            ] {
                for strategy in Strategy::ALL {
                    let shapes = vec![lines(count); inputs];
                    let job = Job {
                        threads,
                        longest_line_bytes: longest,
                        strategy: Some(strategy),
                        ..job(&shapes, memory)
                    };
                    if let Ok(plan) = plan(&job) {
                        check_layout(&plan, &job);
                    } else {
                        assert_eq!(strategy, Strategy::Memory, "{job:?}");
                    }
                }
            }
        }
    }
}

fn check_layout(plan: &Plan, job: &Job) {
    let layout = &plan.layout;
    let filter =
        plan.costs.filter.map_or(0, |f| f.bits / 8) + plan.second_filter.map_or(0, |f| f.bits / 8);
    let pool = if plan.strategy() == Strategy::Memory {
        0
    } else {
        layout.pool_bytes()
    };
    let sum = filter + layout.scan_bytes() + pool;
    assert!(
        sum <= layout.usable_bytes,
        "{sum} of {} for {job:?}: {plan:?}",
        layout.usable_bytes
    );
    assert!(layout.usable_bytes + layout.base_bytes <= job.memory_bytes);
    assert!(
        layout.workers >= 1 && layout.join_workers >= 1 && layout.join_workers <= layout.workers
    );
    assert!(layout.long_line_bytes >= 2 * (layout.chunk_bytes + 2 * 4096));
    if plan.strategy() != Strategy::Memory {
        assert!(layout.block_bytes >= 4096 && layout.block_bytes.is_multiple_of(4096));
        assert!(
            layout.pool_blocks > u64::from(plan.costs.buckets),
            "{plan:?}"
        );
        assert!(plan.costs.memory_bytes <= job.memory_bytes);
    }
}

#[test]
fn an_overlap_that_is_known_takes_the_place_of_the_assumed_one() {
    let with_share = |common_share| {
        let job = Job {
            common_share,
            strategy: Some(Strategy::Bloom),
            ..job(&[CANONICAL, CANONICAL], 4 << 30)
        };
        plan(&job).unwrap().costs
    };
    let assumed = with_share(None);
    assert_eq!(assumed.expected_precision, None);
    assert_eq!(with_share(Some(ASSUMED_COMMON)).buckets, assumed.buckets);
    let half = with_share(Some(0.5));
    let (common, false_lines) = (2.5e9, half.expected_false_lines);
    assert!(half.bytes_written > assumed.bytes_written);
    assert!((false_lines / assumed.expected_false_lines - 0.5).abs() < 0.01);
    assert_eq!(
        half.expected_precision,
        Some(common / (common + false_lines))
    );
    assert_eq!(with_share(Some(0.0)).expected_precision, Some(0.0));
}

fn names(plan: &Plan) -> Vec<&'static str> {
    plan.phases.iter().map(|phase| phase.name).collect()
}

#[test]
fn the_phases_of_the_canonical_case_add_up_to_the_bytes_that_it_reads() {
    for (strategy, expected) in [
        (Strategy::Partition, &["spill", "spill", "join"][..]),
        (
            Strategy::Sieve,
            &["filter", "spill", "filter survivors", "spill", "join"],
        ),
        (Strategy::Bloom, &["filter", "spill", "join"]),
    ] {
        let plan = canonical(Some(strategy), None);
        assert_eq!(names(&plan), expected);
        let sum: u64 = plan.phases.iter().map(|phase| phase.bytes_read).sum();
        assert_eq!(sum, plan.costs.bytes_read, "{strategy}");
        assert_eq!(plan.phases[0].bytes_read, CANONICAL.bytes.unwrap());
    }
}

#[test]
fn the_phases_of_many_inputs_are_in_working_order_and_add_up() {
    let inputs = [
        lines(4_000_000_000),
        lines(1_000_000_000),
        lines(2_000_000_000),
    ];
    for strategy in [Strategy::Partition, Strategy::Sieve, Strategy::Bloom] {
        let plan = plan(&Job {
            strategy: Some(strategy),
            ..job(&inputs, 1 << 30)
        })
        .unwrap();
        let sum: u64 = plan.phases.iter().map(|phase| phase.bytes_read).sum();
        assert_eq!(sum, plan.costs.bytes_read, "{strategy}");
        let first = plan.phases[0];
        assert_eq!(first.bytes_read, inputs[1].bytes.unwrap(), "{strategy}");
    }
}

#[test]
fn what_is_joined_in_memory_is_a_phase_though_nothing_is_read() {
    let plan = plan(&Job {
        strategy: Some(Strategy::Partition),
        ..job(&[lines(100_000), lines(100_000)], 1 << 30)
    })
    .unwrap();
    assert_eq!(plan.costs.bytes_written, 0);
    assert_eq!(plan.phases.last().unwrap().bytes_read, 2 * 6_400_000);
}

#[test]
fn the_phases_of_a_set_are_those_of_its_filters_too() {
    let cached = InputShape {
        distinct_lines: None,
        is_cached: true,
        ..lines(20_000_000)
    };
    for (inputs, expected) in [
        (vec![lines(1000); 3], &["build", "probe", "probe"][..]),
        (vec![cached, cached], &["filter", "build", "probe"]),
    ] {
        let plan = plan(&Job {
            strategy: Some(Strategy::Memory),
            ..job(&inputs, 8 << 30)
        })
        .unwrap();
        assert_eq!(names(&plan), expected);
        let sum: u64 = plan.phases.iter().map(|phase| phase.bytes_read).sum();
        assert_eq!(sum, plan.costs.bytes_read);
    }
}

#[test]
fn the_limit_that_is_advised_for_many_buckets_behind_a_stored_filter_is_accepted() {
    let shape = crate::filter::Shape::for_fpr(crate::filter::Kind::Counting, 1000, 0.3, None);
    let with_memory = |memory_bytes| Job {
        buckets: Some(4096),
        stored_filter: Some(FilterPlan::existing(shape, 1000, 0.3)),
        ..job(&[lines(1000)], memory_bytes)
    };
    let Err(Error::MemoryPlan { least_bytes, .. }) = plan(&with_memory(24 << 20)) else {
        panic!("4096 buckets in 24 MiB");
    };
    assert!(plan(&with_memory(least_bytes)).is_ok(), "{least_bytes}");
}

#[test]
fn a_limit_that_is_advised_is_accepted_and_so_is_a_little_less_or_more() {
    let mut refused = 0;
    for (count, buckets) in [
        (3, None),
        (300_000, Some(7)),
        (20_000_000, None),
        (9, Some(4096)),
        (1 << 33, Some(300)),
    ] {
        for (inputs, longest, threads) in
            [(2, 64, 2), (3, 3 << 20, 16), (40, 64, 4), (2, 50 << 20, 2)]
        {
            for strategy in Strategy::ALL.map(Some).into_iter().chain([None]) {
                for memory in [16, 23, 77] {
                    let with_memory = |memory_bytes, base_bytes| Job {
                        buckets,
                        strategy,
                        threads,
                        longest_line_bytes: longest,
                        base_bytes,
                        ..job(&vec![lines(count); inputs], memory_bytes)
                    };
                    let Err(error) = plan(&with_memory(memory << 20, 8 << 20)) else {
                        continue;
                    };
                    let Error::MemoryPlan { least_bytes, .. } = error else {
                        panic!("{error}")
                    };
                    refused += 1;
                    for base in [7 << 20, 8 << 20, (8 << 20) + (600 << 10)] {
                        let again = with_memory(least_bytes, base);
                        assert!(plan(&again).is_ok(), "{least_bytes} for {again:?}");
                    }
                }
            }
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn a_rate_that_is_just_reached_is_accepted() {
    let predicted = canonical(Some(Strategy::Bloom), None)
        .costs
        .filter
        .unwrap()
        .predicted_fpr;
    assert_eq!(canonical(None, Some(predicted)).strategy(), Strategy::Bloom);
    assert_eq!(
        canonical(Some(Strategy::Bloom), Some(predicted)).strategy(),
        Strategy::Bloom
    );
    assert_ne!(
        canonical(None, Some(predicted * 0.999)).strategy(),
        Strategy::Bloom
    );
}

#[test]
fn what_is_read_beside_something_leaves_room_for_it_or_says_what_would_do() {
    let job = |memory| job(&[lines(1000), lines(1000)], memory);
    for mebibytes in [16, 20, 64] {
        let room = Layout::for_single_try(&job(mebibytes << 20)).rest_bytes();
        for beside in [0, 1 << 20, room] {
            let layout = scan_layout(&job(mebibytes << 20), "a table", beside).unwrap();
            assert_eq!(layout.memory_bytes, mebibytes << 20);
        }
        for beside in [room + 1, 300 << 20, 5 << 30] {
            let refused = scan_layout(&job(mebibytes << 20), "a table", beside);
            let Err(Error::MemoryPlan { least_bytes, .. }) = refused else {
                panic!("{beside} bytes beside {mebibytes} MiB");
            };
            assert!(scan_layout(&job(least_bytes), "a table", beside).is_ok());
            assert!(
                least_bytes < (beside + (24 << 20)) / 32 * 40,
                "{least_bytes}"
            );
        }
    }
}

#[test]
fn k1_sizes_that_nobody_has_are_refused_and_those_below_never_wrap_around() {
    let absurd = |bytes, lines| InputShape {
        bytes: Some(bytes),
        lines: Some(lines),
        distinct_lines: None,
        is_cached: true,
    };
    for shape in [
        absurd(u64::MAX, u64::MAX),
        absurd(u64::MAX, 1),
        absurd(u64::MAX / 4, 1 << 60),
        absurd(1 << 56, 1 << 50),
    ] {
        for inputs in [2, 40] {
            for memory in [16 << 20, 1 << 40] {
                for strategy in Strategy::ALL.map(Some).into_iter().chain([None]) {
                    let job = Job {
                        strategy,
                        ..job(&vec![shape; inputs], memory)
                    };
                    match plan(&job) {
                        Err(Error::Usage { what, .. }) => {
                            assert!(shape.bytes > Some(1 << 56), "{shape:?}");
                            assert!(what.contains("64 PiB"), "{what}");
                        }
                        _ if shape.bytes > Some(1 << 56) => panic!("{shape:?} is planned"),
                        Ok(plan) => {
                            assert_ne!(plan.strategy(), Strategy::Memory);
                            assert!(plan.costs.bytes_read >= 1 << 56, "{plan:?}");
                        }
                        Err(Error::MemoryPlan { advice, .. }) => {
                            assert!(advice.starts_with("no memory limit is enough"), "{advice}");
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        }
    }
}

/// The sieves of other operations: filters, blocks and reading fit the memory together, before and after the second
/// plan, however many inputs there are and however much they have in common.
#[test]
fn c1_the_parts_of_the_other_sieves_fit_the_memory_for_any_number_of_inputs() {
    use crate::plan::Again;
    for inputs in [1, 2, 20, 100, 300] {
        for memory_bytes in [16, 18, 24, 64, 1024].map(|mebibytes| mebibytes << 20) {
            for buckets in [None, Some(40), Some(150), Some(400)] {
                for (selection, least) in [
                    (Selection::union(), 1),
                    (Selection::at_least(2), 2),
                    (Selection::difference().with_repeats(), 2),
                    (Selection::intersection().with_all(), 2),
                ] {
                    if inputs < least {
                        continue;
                    }
                    let job = Job {
                        selection,
                        sides: inputs,
                        strategy: Some(Strategy::Sieve),
                        buckets,
                        ..job(&vec![lines(500_000); inputs], memory_bytes)
                    };
                    let Ok(plan) = plan(&job) else {
                        continue;
                    };
                    let what = format!("{inputs} inputs, {memory_bytes} bytes, {selection:?}");
                    let layout = plan.layout;
                    let filter = |filter: FilterPlan| filter.bits / 8;
                    let (first, second) = (
                        plan.costs.filter.map_or(0, filter),
                        plan.second_filter.map_or(0, filter),
                    );
                    let reading = layout.scan_bytes() + second;
                    assert!(reading + first <= layout.usable_bytes, "{what}: filters");
                    let blocks = reading + layout.pool_bytes();
                    if selection.repeats {
                        assert!(blocks + first <= layout.usable_bytes, "{what}: all");
                        continue;
                    }
                    assert!(blocks <= layout.usable_bytes, "{what}: blocks");
                    for share in [0.0, 0.1, 1.0] {
                        let lines = 500_000 * inputs as u64;
                        let keys = (lines as f64 * share) as u64;
                        let again = Again {
                            lines,
                            keys,
                            distinct: keys as f64 / 2.0,
                            fpr: 0.02,
                            filter_bytes: second,
                        };
                        let Some(revised) = plan.revised_lone(again) else {
                            continue;
                        };
                        // What the run has is what the first plan gave it.
                        let charged = layout.usable_bytes - revised.usable_bytes;
                        let taken = revised.scan_bytes() + revised.pool_bytes() + second;
                        let share = format!("{what}: {share} come again");
                        assert!(taken + charged <= layout.usable_bytes, "{share}");
                    }
                }
            }
        }
    }
}

#[test]
fn buckets_have_room_for_the_whole_answer_of_an_approximate_difference() {
    for (count, memory_bytes) in [(2_000_000, 16 << 20), (200_000_000, 256 << 20)] {
        let plan = plan(&Job {
            selection: Selection::difference(),
            strategy: Some(Strategy::Bloom),
            ..job(&[lines(count); 2], memory_bytes)
        })
        .unwrap();
        // Nine tenths are assumed to be in no other input.
        let set_bytes = lines_extent(count / 10 * 9).set_bytes();
        let of_bucket = set_bytes / u64::from(plan.layout.buckets);
        let share = plan.layout.join_share(plan.layout.join_workers);
        assert!(of_bucket < share, "{count}: {of_bucket} in {share}");
    }
}

/// The size of as many lines of 64 bytes.
fn lines_extent(lines: u64) -> crate::plan::job::Extent {
    let bytes = lines * 64;
    crate::plan::job::Extent { bytes, lines }
}
