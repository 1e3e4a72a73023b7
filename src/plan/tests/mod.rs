//! Plans at silly and at serious sizes; nothing here reads a file.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use super::*;
use crate::error::Error;
use crate::input::sample::distinct_lines::Distinct;
use crate::selection::{Label, Order, Selection};

mod duplicate_cache;
mod files;
mod layouts;
mod phases;

const CANONICAL: InputShape = InputShape {
    bytes: Some(320_000_000_000),
    lines: Some(5_000_000_000),
    distinct_lines: None,
    is_cached: false,
    decoding: None,
    key_bytes: None,
};

/// Makes a job of two threads that asks for nothing.
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
        sides: (0..inputs.len()).collect(),
        stored_filter: None,
        wants_filter: false,
        is_ipv4: false,
        common_share: None,
        any_lines: None,
        always_spill: false,
        compressions: Vec::new(),
        lines_go_on: false,
        max_temp_bytes: None,
        row_bits_bytes: None,
        can_read_again: true,
        rereadable_bytes: 0,
        set_estimate: SetEstimate::Trust,
    }
}

pub(super) fn lines(count: u64) -> InputShape {
    InputShape {
        bytes: Some(count * 64),
        lines: Some(count),
        distinct_lines: None,
        is_cached: false,
        decoding: None,
        key_bytes: None,
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
fn l10_inputs_are_read_once_more_if_a_third_of_the_memory_has_a_bit_for_each_line() {
    let reads_again = |selection: Selection, memory_bytes: u64| {
        let selection = selection.ordered(Order::Input);
        let of_bytes = |memory_bytes| Job {
            selection,
            ..job(&[CANONICAL, CANONICAL], memory_bytes)
        };
        plan(&of_bytes(memory_bytes)).unwrap().reads_again()
    };
    // Of a difference the lines of the first input have bits, of a union those of both: a gigabyte each.
    let (difference, union) = (Selection::difference(), Selection::union());
    assert!(reads_again(difference, 4 << 30) && !reads_again(difference, 2 << 30));
    assert!(reads_again(union, 8 << 30) && !reads_again(union, 4 << 30));
}

#[test]
fn l10_inputs_that_take_long_to_decode_are_not_read_once_more() {
    let reads_again = |cost: u64| {
        let decoding = Some(Decoding {
            memory_bytes: 1 << 20,
            cost,
            pieces: 1,
        });
        let stored = InputShape {
            decoding,
            ..lines(10_000_000)
        };
        let of_cost = Job {
            selection: Selection::difference().ordered(Order::Input),
            strategy: Some(Strategy::Partition),
            ..job(&[stored, stored], 512 << 20)
        };
        plan(&of_cost).unwrap().reads_again()
    };
    assert!(reads_again(0) && !reads_again(20));
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
fn a_large_answer_is_sorted_in_ranges_where_a_sample_shows_enough_of_plain_lines() {
    let in_ranges = |shapes: &[InputShape], selection| {
        let job = Job {
            selection,
            strategy: Some(Strategy::Partition),
            ..job(shapes, 64 << 20)
        };
        let plan = plan(&job).unwrap();
        assert_eq!(
            plan.layout.pool.by_range,
            !plan.holds_answer() && selection.order != Order::Any
        );
        plan.layout.pool.by_range
    };
    let (all, file) = (Selection::union(), lines(20_000_000));
    let sorted = all.ordered(Order::Sorted);
    assert!(in_ranges(&[file, file], sorted));
    assert!(in_ranges(&[file, file], sorted.labelled(Label::Count)));
    for selection in [
        all,
        all.ordered(Order::Input),
        all.ordered(Order::Count),
        sorted.of_records(),
        sorted.with_duplicate_places(),
    ] {
        assert!(!in_ranges(&[file, file], selection), "{selection:?}");
    }
    let pipe = InputShape {
        bytes: None,
        lines: None,
        ..file
    };
    let long = InputShape {
        bytes: Some(20_000_000 * 300),
        ..file
    };
    for other in [pipe, long] {
        assert!(!in_ranges(&[file, other], sorted), "{other:?}");
    }
    assert!(!in_ranges(&[lines(1000); 2], sorted), "it fits");
    assert!(!in_ranges(&[lines(400_000); 65], sorted), "too many");
    // Most lines come again, and the answer is small.
    let repeated = InputShape {
        distinct_lines: Some(Distinct::exactly(1000)),
        ..file
    };
    assert!(!in_ranges(&[repeated], sorted));
}

#[test]
fn a_union_is_read_where_it_is_written_where_the_first_line_of_each_key_is_all_that_is_wanted() {
    let all = Selection::union();
    let records = all.of_records();
    let long = |count| InputShape {
        bytes: Some(count * 2000),
        ..lines(count)
    };
    let of = |selection| Job {
        selection,
        rereadable_bytes: 1 << 40,
        strategy: Some(Strategy::Memory),
        ..job(&[long(100_000), long(200_000)], 1 << 30)
    };
    let writes_new = |job: &Job| plan(job).is_ok_and(|plan| plan.writes_in_order());
    for selection in [
        records,
        records.ordered(Order::Input),
        all.ordered(Order::Input),
    ] {
        assert!(writes_new(&of(selection)), "{selection:?}");
        let unreadable = Job {
            rereadable_bytes: 0,
            ..of(selection)
        };
        assert!(!writes_new(&unreadable), "{selection:?}");
    }
    // Short lines that a set has room for: it would be more work.
    assert!(writes_new(&of(all)));
    let short = Job {
        inputs: vec![lines(1_000_000), lines(2_000_000)],
        ..of(all)
    };
    assert!(!writes_new(&short));
    // A sort might need temporary disk, and a set that was asked for by name needs none.
    let in_order = Job {
        selection: all.ordered(Order::Input),
        ..short.clone()
    };
    assert!(writes_new(&in_order));
    // Repeats would be read from the disk.
    assert!(!writes_new(&Job {
        rereadable_bytes: 1 << 20,
        ..of(all)
    }));
    for selection in [
        records.ordered(Order::Sorted),
        records.ordered(Order::Count),
        records.keeping_last(),
        records.keeping_ranked(),
        records.labelled(Label::Sides),
        records.labelled(Label::Count),
        records.with_duplicates(),
        records.with_duplicate_places(),
        records.min_count(2),
        records.max_count(1),
        records.top(5),
        all.with_all().ordered(Order::Input),
        Selection::intersection().of_records(),
        Selection::difference().of_records(),
        Selection::symmetric_difference().of_records(),
        Selection::at_least(2).of_records(),
    ] {
        assert!(!writes_new(&of(selection)), "{selection:?}");
    }
    let rows = Job {
        row_bits_bytes: Some(1 << 20),
        ..of(records)
    };
    assert!(!writes_new(&rows));
    // `auto` does not go beyond the page cache, and a caller may.
    let large = Job {
        rereadable_bytes: 1 << 20,
        ..of(records)
    };
    assert!(
        writes_new(&large)
            && !writes_new(&Job {
                strategy: None,
                ..large
            })
    );
}

#[test]
fn a_set_that_is_much_larger_than_caches_is_no_better_than_blocks_in_memory() {
    let strategy = |count: u64| {
        let shape = InputShape {
            distinct_lines: Some(Distinct::exactly(count / 4 * 3)),
            // To decode it twice would take long.
            decoding: Some(Decoding {
                memory_bytes: 1 << 20,
                cost: 4,
                pieces: 1,
            }),
            ..lines(count)
        };
        let job = Job {
            selection: Selection::union().ordered(Order::Input),
            can_read_again: false,
            ..job(&[shape], 64 << 30)
        };
        plan(&job).unwrap().strategy()
    };
    assert_eq!(strategy(200_000), Strategy::Memory);
    assert_eq!(strategy(20_000_000), Strategy::Partition);
}

#[test]
fn b23_rows_by_their_numbers_have_a_bit_each_and_only_their_keys_are_spilled() {
    let rows = |selection: Selection| Job {
        selection: selection.of_records().ordered(Order::Input),
        row_bits_bytes: Some(1 << 20),
        ..job(&[lines(10_000_000), lines(10_000_000)], 1 << 30)
    };
    // Whether they have bits, and whether their records are kept.
    let way = |job: &Job| {
        let plan = plan(job).unwrap();
        assert!(plan.holds_answer() && !plan.reads_again());
        let rule = plan.sized.rule();
        (plan.has_row_bits(), rule.keeps_records_of(1))
    };
    let (union, difference) = (rows(Selection::union()), rows(Selection::difference()));
    let repeated = rows(Selection::difference().with_repeats());
    for job in [&union, &difference, &repeated] {
        assert_eq!(way(job), (true, false), "{:?}", job.selection);
    }
    // By another field of the record.
    assert_eq!(
        way(&rows(Selection::union().keeping_ranked())),
        (true, true)
    );
    let without = [
        Job {
            row_bits_bytes: Some(400 << 20),
            ..union.clone()
        },
        Job {
            always_spill: true,
            ..union.clone()
        },
        Job {
            can_read_again: false,
            ..union.clone()
        },
        rows(Selection::union().with_duplicates()),
        Job {
            selection: union.selection.ordered(Order::Any),
            ..union
        },
    ];
    for job in &without[..4] {
        assert_eq!(way(job), (false, true), "{:?}", job.selection);
    }
    assert!(!plan(&without[4]).unwrap().has_row_bits());
}

#[test]
fn more_memory_does_not_tempt_a_union_into_a_set_of_lines_that_come_once() {
    let strategy = |distinct_lines: u64, key_bytes: Option<u64>, memory_bytes: u64| {
        let shape = InputShape {
            bytes: Some(500_000_000),
            distinct_lines: Some(Distinct::exactly(distinct_lines)),
            key_bytes,
            ..lines(10_000_000)
        };
        let job = Job {
            selection: Selection::union(),
            ..job(&[shape, shape], memory_bytes)
        };
        plan(&job).unwrap().strategy()
    };
    for memory_bytes in [64 << 20, 1 << 30, 4 << 30, 64 << 30] {
        let found = strategy(10_000_000, None, memory_bytes);
        assert_eq!(found, Strategy::Sieve, "{memory_bytes}");
    }
    // A set is sure to need no temporary disk.
    let capped = Job {
        selection: Selection::union(),
        max_temp_bytes: Some(0),
        ..job(&[lines(10_000_000)], 4 << 30)
    };
    assert_eq!(plan(&capped).unwrap().strategy(), Strategy::Memory);
    // Where each comes ten times, the set is small.
    assert_eq!(strategy(1_000_000, None, 4 << 30), Strategy::Memory);
    // To read records twice takes finding their keys twice.
    let of_keys = strategy(10_000_000, Some(300_000_000), 64 << 20);
    assert_eq!(of_keys, Strategy::Partition);
}

#[test]
fn the_canonical_partition_has_a_thousand_buckets() {
    let plan = canonical(Some(Strategy::Partition), None);
    assert_eq!(plan.costs.buckets, 1000);
    let in_memory = 640_000_000_000 - plan.costs.temp_peak_bytes;
    assert!(in_memory < plan.layout.pool.bytes(), "{in_memory}");
    assert_eq!(plan.layout.pool.block_bytes, 1 << 20);
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
        (small_and_huge.strategy(), &small_and_huge.sized.order[..]),
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

/// Returns the size of this number of lines of 64 bytes.
fn lines_extent(lines: u64) -> crate::plan::job::DataSize {
    let bytes = lines * 64;
    crate::plan::job::DataSize { bytes, lines }
}

#[test]
fn sides_that_are_not_those_of_the_inputs_are_refused() {
    let both = [lines(1000), lines(2000)];
    for (sides, is_fine) in [
        (vec![0, 1], true),
        (vec![1, 0, 1], true),
        (vec![0, 2], false),
        (vec![0, 0], false),
        (vec![], false),
    ] {
        let planned = plan(&Job {
            sides: sides.clone(),
            selection: Selection::union(),
            ..job(&both, 64 << 20)
        });
        let is_refused =
            matches!(&planned, Err(Error::Usage { what, .. }) if what.starts_with("sides"));
        assert_eq!(
            (planned.is_ok(), is_refused),
            (is_fine, !is_fine),
            "{sides:?}"
        );
    }
}
