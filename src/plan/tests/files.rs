//! The notice of a plan about very many files.

use super::*;

/// Plans a partition of two inputs of `count` lines in a gibibyte, into the number of buckets that is asked for.
fn partition(count: u64, buckets: Option<u32>) -> Plan {
    let job = Job {
        buckets,
        strategy: Some(Strategy::Partition),
        ..job(&[lines(count); 2], 1 << 30)
    };
    plan(&job).unwrap()
}

#[test]
fn d6_very_many_buckets_are_announced_with_their_files_and_a_number_that_would_do() {
    let chosen = partition(10_000_000, None);
    assert_eq!(chosen.notice(), None);
    let many = partition(10_000_000, Some(100_000));
    let files = many.many_files.unwrap();
    assert_eq!(files.files, 200_000);
    assert_eq!(files.enough_buckets, chosen.costs.buckets);
    assert!(files.seconds > 10.0);
    let notice = many.notice().unwrap().to_string();
    let said = "`buckets` 100000: makes up to 200000 temporary files, ";
    assert!(notice.starts_with(said), "{notice}");
    let said = format!(": {} are enough", chosen.costs.buckets);
    assert!(notice.ends_with(&said), "{notice}");
}

#[test]
fn d6_buckets_that_make_few_files_are_no_notice() {
    // Few buckets; few lines, all of which stay in memory; and nothing to write.
    for (count, buckets) in [(10_000_000, 1_000), (10_000, 100_000), (100_000, 60_000)] {
        let plan = partition(count, Some(buckets));
        assert_eq!(plan.notice(), None, "{count} lines, {buckets} buckets");
    }
}

#[test]
fn d6_the_planner_makes_no_very_many_files_of_many_inputs() {
    let of = |count: usize| {
        let union = Job {
            selection: Selection::union(),
            sides: (0..count).collect(),
            strategy: Some(Strategy::Partition),
            ..job(&vec![lines(40_000_000); count], 8 << 30)
        };
        plan(&union).unwrap().costs.buckets as usize
    };
    let (few, many) = (of(4), of(100));
    assert!(few > 500, "{few} buckets");
    assert!(many * 100 <= 20_000, "{many} buckets");
}
