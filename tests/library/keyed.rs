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

#[test]
fn a21_keys_of_random_records_are_those_of_a_loop() {
    let mut choices = Choices::seeded(7);
    for _ in 0..300_000 {
        let length = choices.below(24);
        let mut record = vec![choices.below(16) as u8, choices.below(12) as u8];
        record.extend((0..length).map(|_| choices.pick(b"ab,;\t\"\"\"x\n\r")));
        differential::targets::records(&record);
    }
}

fn check(seeds: std::ops::Range<u64>) {
    let _alone = alone();
    for seed in seeds {
        let place = tempfile::tempdir().unwrap();
        println!("seed {seed}");
        keyed::check(&mut Choices::seeded(seed), place.path());
    }
}
