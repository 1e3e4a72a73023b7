//! Records with keys against the naive answer: every syntax, operation, order and strategy.

use differential::choices::Choices;
use differential::keyed;

use crate::util::alone;

#[test]
fn a21_records_with_keys_are_those_of_the_oracle() {
    check(0..60);
}

#[test]
#[ignore = "slow: thousands of cases"]
fn thousands_of_cases_with_keys_are_those_of_the_oracle() {
    check(1000..6000);
}

fn check(seeds: std::ops::Range<u64>) {
    let _alone = alone();
    for seed in seeds {
        let place = tempfile::tempdir().unwrap();
        println!("seed {seed}");
        keyed::check(&mut Choices::seeded(seed), place.path());
    }
}
