//! The phases that a plan expects, and the bytes that they go through.

use super::*;

fn names(plan: &Plan) -> Vec<&'static str> {
    plan.phases.iter().map(|phase| phase.name).collect()
}

/// Fails unless the phases go through the bytes that `plan` reads, and through no more blocks in memory than fit it.
fn assert_phases_add_up(plan: &Plan) {
    let sum: u64 = plan.phases.iter().map(|phase| phase.bytes_read).sum();
    let (costs, pool_bytes) = (&plan.costs, plan.layout.pool.bytes());
    let read = costs.bytes_read..costs.bytes_read + pool_bytes;
    assert!(read.contains(&sum), "{}: {sum}, {read:?}", costs.strategy);
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
        assert_phases_add_up(&plan);
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
        assert_phases_add_up(&plan);
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
        decoding: None,
        key_bytes: None,
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
