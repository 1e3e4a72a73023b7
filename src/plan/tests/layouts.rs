//! Every part of a plan fits its limit, and what does not is refused with a limit that would do.

use super::*;
use crate::decode::compressed::Decoding;
use crate::output::{Codec, Compression, compressors_bytes};
use crate::reading::long_lines::{LimitAdvice, long_line_buffer};

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
    // A third of them, so that each two of these numbers meet.
    layouts_add_up(|memory, count, shape| (memory + count + shape) % 3 == 0);
}

#[test]
#[ignore = "slow: close to a second"]
fn c9_every_layout_adds_up_to_every_limit_at_every_size() {
    layouts_add_up(|_, _, _| true);
}

/// Checks the layouts of those plans that are wanted by the numbers of their memory, count and shape.
fn layouts_add_up(is_wanted: fn(usize, usize, usize) -> bool) {
    let memories = [
        16 << 20,
        20 << 20,
        32 << 20,
        64 << 20,
        160 << 20,
        1 << 30,
        4 << 30,
        1 << 40,
    ];
    for (size, memory) in memories.into_iter().enumerate() {
        let counts = [
            0,
            1,
            1000,
            20_000_000,
            5_000_000_000,
            50_000_000_000,
            1 << 45,
        ];
        for (order, count) in counts.into_iter().enumerate() {
            let shapes = [
                (2, 1, 10),
                (2, 2, 1 << 20),
                (5, 64, 64),
                (300, 1000, 1 << 40),
            ];
            for (shape, (inputs, threads, longest)) in shapes.into_iter().enumerate() {
                if !is_wanted(size, order, shape) {
                    continue;
                }
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
        layout.pool.bytes()
    };
    let sum = filter + layout.scan.bytes() + pool;
    assert!(
        sum <= layout.usable_bytes,
        "{sum} of {} for {job:?}: {plan:?}",
        layout.usable_bytes
    );
    assert!(layout.usable_bytes + layout.base_bytes <= job.memory_bytes);
    assert!(
        layout.scan.workers >= 1
            && layout.pool.join_workers >= 1
            && layout.pool.join_workers <= layout.scan.workers
    );
    assert!(layout.scan.long_line_bytes >= 2 * (layout.scan.chunk_bytes + 2 * 4096));
    if plan.strategy() != Strategy::Memory {
        assert!(layout.pool.block_bytes >= 4096 && layout.pool.block_bytes.is_multiple_of(4096));
        assert!(
            layout.pool.blocks > u64::from(plan.costs.buckets),
            "{plan:?}"
        );
        assert!(plan.costs.memory_bytes <= job.memory_bytes);
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
fn chunks_have_seven_parts_of_32_at_most() {
    let decoding = Decoding {
        memory_bytes: 64 << 10,
        pieces: 1000,
        cost: 1,
    };
    let mut lanes = 0;
    for threads in [1, 2, 3, 8, 16, 64] {
        for memory in (15 << 20..1 << 30).step_by(777_777) {
            for decoding in [None, Some(decoding)] {
                let shape = InputShape {
                    decoding,
                    ..lines(1000)
                };
                let job = Job {
                    threads,
                    ..job(&[shape; 2], memory)
                };
                let layout = Layout::for_scan(&job, false);
                let chunks = layout.scan.bytes() - layout.scan.long_line_bytes;
                let usable = layout.usable_bytes;
                assert!(chunks <= usable * 7 / 32, "{job:?}: {chunks} of {usable}");
                lanes = lanes.max(layout.scan.lanes);
            }
        }
    }
    assert!(lanes > 4, "{lanes}");
}

#[test]
fn very_many_buckets_that_fit_in_memory_are_not_written() {
    for buckets in [1000, 10_000, 60_000] {
        let many = Job {
            buckets: Some(buckets),
            strategy: Some(Strategy::Partition),
            ..job(&[lines(5_000_000); 2], 12 << 30)
        };
        let plan = plan(&many).unwrap();
        assert_eq!(plan.costs.bytes_written, 0, "{buckets}");
        let (blocks, all) = (plan.layout.pool.blocks, 2 * u64::from(buckets));
        assert!(blocks > all, "{buckets}: {blocks} blocks");
    }
}

#[test]
#[ignore = "slow: more than a second"]
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
fn c9_below_the_floor_the_limit_that_is_advised_is_enough_for_what_was_asked() {
    let decoded = |memory_bytes: u64| InputShape {
        decoding: Some(Decoding {
            memory_bytes,
            pieces: 1,
            cost: 1,
        }),
        ..lines(4_000_000)
    };
    let mut refused = 0;
    for window in [16 << 20, 64 << 20, 128 << 20] {
        for order in [Order::Any, Order::Input, Order::Sorted] {
            for strategy in Strategy::ALL.map(Some).into_iter().chain([None]) {
                let job = Job {
                    strategy,
                    selection: Selection::intersection().ordered(order),
                    ..job(&[decoded(window), lines(4_000_000)], 16 << 20)
                };
                let Err(Error::MemoryPlan { least_bytes, .. }) = plan(&job) else {
                    panic!("{window} bytes in 16 MiB");
                };
                let again = plan(&job.with_memory(least_bytes));
                let is_refused = matches!(again, Err(Error::MemoryPlan { .. }));
                assert!(!is_refused, "{least_bytes}: {again:?} for {job:?}");
                refused += 1;
            }
        }
        let job = job(&[decoded(window)], 16 << 20);
        for beside in [1 << 20, 6 << 20, 100 << 20] {
            let Err(Error::MemoryPlan { least_bytes, .. }) = scan_layout(&job, "a table", beside)
            else {
                panic!("{beside} bytes and {window} in 16 MiB");
            };
            let again = scan_layout(&job.with_memory(least_bytes), "a table", beside);
            assert!(again.is_ok(), "{least_bytes}: {again:?}");
            refused += 1;
        }
    }
    assert_eq!(refused, 3 * (3 * 5 + 3));
}

#[test]
fn a17_the_limit_for_a_long_line_has_room_for_all_that_grows_with_it() {
    let zstd = || vec![Compression::of(Codec::Zstd)];
    for (threads, order, compressions) in [
        (2, Order::Any, Vec::new()),
        (64, Order::Any, Vec::new()),
        (64, Order::Sorted, Vec::new()),
        (2, Order::Any, zstd()),
        (8, Order::Sorted, zstd()),
    ] {
        let at_limit = |memory_bytes, longest_line_bytes| {
            let job = Job {
                threads,
                longest_line_bytes,
                selection: Selection::intersection().ordered(order),
                base_bytes: program_bytes(memory_bytes)
                    + threads_bytes(threads, memory_bytes)
                    + compressors_bytes(&compressions, threads, memory_bytes),
                compressions: compressions.clone(),
                ..job(&[lines(1000)], memory_bytes)
            };
            Layout::for_scan(&job, false)
        };
        for mebibytes in [9, 40, 250, 1000] {
            let line = mebibytes << 20;
            let (here, needed) = (at_limit(16 << 20, 0), long_line_buffer(line));
            let advised = here.limit_for_long_lines(needed, here.scan.long_line_bytes);
            let room = |memory| at_limit(memory, line).scan.long_line_bytes;
            assert!(room(advised) >= needed, "{advised} for {mebibytes} MiB");
            let is_least = room(advised - advised / 64) < needed;
            assert!(is_least || !compressions.is_empty(), "{advised}");
        }
    }
}

#[test]
fn what_is_read_beside_something_leaves_room_for_it_or_says_what_would_do() {
    let job = |memory| job(&[lines(1000), lines(1000)], memory);
    for mebibytes in [16, 20, 64] {
        let room = Layout::for_scan(&job(mebibytes << 20), true).rest_bytes();
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
        decoding: None,
        key_bytes: None,
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

/// Checks the sieves of other operations: filters, blocks and reading fit the memory together, before and after the
/// second plan, however many inputs there are and however much they have in common.
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
                        sides: (0..inputs).collect(),
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
                    let reading = layout.scan.bytes() + second;
                    assert!(reading + first <= layout.usable_bytes, "{what}: filters");
                    let blocks = reading + layout.pool.bytes();
                    if plan.sized.rule().repeats() {
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
                        let Some(revised) = plan.revised_singletons(again) else {
                            continue;
                        };
                        // What the run has is what the first plan gave it.
                        let charged = layout.usable_bytes - revised.usable_bytes;
                        let taken = revised.scan.bytes() + revised.pool.bytes() + second;
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
        let of_bucket = set_bytes / u64::from(plan.layout.pool.buckets);
        let share = plan.layout.join_share(plan.layout.pool.join_workers);
        assert!(of_bucket < share, "{count}: {of_bucket} in {share}");
    }
}

#[test]
fn buckets_that_must_all_be_split_have_large_blocks_on_both_levels() {
    for (memory, count) in [(16 << 20, 30_000_000), (64 << 20, 2_000_000_000)] {
        let job = Job {
            strategy: Some(Strategy::Partition),
            ..job(&[lines(count), lines(count)], memory)
        };
        let plan = plan(&job).unwrap();
        check_layout(&plan, &job);
        let layout = &plan.layout;
        let parts = (count * 84) / layout.join_share(1);
        assert!(layout.pool.block_bytes >= 64 << 10, "{layout:?}");
        // A split has half of the memory for its blocks.
        let of_a_split =
            layout.join_share(1) / 2 / (3 * parts / 2 / u64::from(layout.pool.buckets));
        assert!(of_a_split >= 48 << 10, "{of_a_split}: {layout:?}");
    }
}
