//! Estimates of real files against their recorded answers, under many keys each.

use outset::hash::HashKey;
use outset::{Options, Source, estimate};

use crate::truth::rows;
use crate::util::beside_others;

/// The estimates of a row of the table of answers are within their bounds in at least 95 of 100 runs, or of
/// as many as `keys`.
fn check(group: &str, keys: u64) {
    let _shared = beside_others();
    let Some(row) = rows().and_then(|rows| rows.into_iter().find(|row| row.group == group)) else {
        return;
    };
    let sources: Vec<Source> = row.files.iter().map(Source::from).collect();
    let mut within = 0u64;
    for seed in 0..keys {
        let options = Options {
            hash_key: HashKey::Fixed([seed, 0, 0, 0]),
            ..Options::default()
        };
        let found = estimate(&sources, &options).unwrap();
        assert!(!found.exact, "{group} fits a sketch");
        let truth = row.lines as f64;
        within += u64::from(found.common.low <= truth && truth <= found.common.high);
    }
    assert!(100 * within >= 95 * keys, "{group}: {within} of {keys}");
    eprintln!("{group}: {within} of {keys}");
}

#[test]
#[ignore = "slow: more than a second"]
fn addresses_are_within_the_bounds() {
    check("P09-ipv4", 5);
}

#[test]
#[ignore = "slow: a hundred estimates"]
fn addresses_are_within_the_bounds_under_a_hundred_keys() {
    check("P09-ipv4", 100);
}

#[test]
#[ignore = "slow: reads 1.4 GB"]
fn domains_are_within_the_bounds() {
    check("P06-domain-feeds", 100);
}

#[test]
#[ignore = "slow: reads 1.4 GB"]
fn urls_are_within_the_bounds() {
    check("P01-url-feeds", 100);
}

#[test]
#[ignore = "slow: reads 11 GB"]
fn names_of_which_most_are_repeated_are_within_the_bounds() {
    check("P04-repo-3way", 100);
}
