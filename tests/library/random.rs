//! Random cases of the differential runner, as tests: every strategy under any setting gives the oracle's set, and an
//! approximate one a superset of it.
//!
//! A failure prints the case as a script. `cargo run --release -p differential` tries thousands of others, and makes a
//! case that fails as small as it can.

use differential::case::{Case, HashChoice, Setting, Way};
use differential::choices::{Choices, mixed};
use differential::generate;
use differential::judge::{Tally, first_difference};
use differential::lines::Scale;
use differential::run::Runner;
use differential::sandbox::{Sandbox, quick_directory};
use differential::script::script;
use outset::Strategy;

use crate::util::{EXACT, MIB, beside_others};

/// Cases that are tried with every change, and before a release.
const QUICK_CASES: u64 = 3;
const CASES: u64 = 300;
/// Lines that may all have one hash: they are compared one by one.
const MOST_WITH_ONE_HASH: usize = 600;

fn case(number: u64, scale: Scale) -> Case {
    generate::case(&mut Choices::seeded(mixed(number)), scale)
}

/// Runs all settings of a case; how many lines they found.
fn judge(case: &Case) -> u64 {
    let sandbox = Sandbox::new(&quick_directory()).unwrap();
    let runner = Runner {
        sandbox: &sandbox,
        measures_memory: false,
    };
    let mut tally = Tally::default();
    let difference = first_difference(&runner, case, &mut tally).unwrap();
    if let Some(difference) = difference {
        let case = case.with_setting(difference.setting);
        panic!("{}\n{}", difference.wrong, script(&case));
    }
    tally.lines
}

#[test]
fn a10_a13_j1_j2_j3_random_cases_under_random_settings_give_the_oracles_set() {
    random_cases(QUICK_CASES);
}

#[test]
#[ignore = "slow: hundreds of cases"]
fn a10_a13_j1_j2_j3_hundreds_of_random_cases_give_the_oracles_set() {
    random_cases(CASES);
}

fn random_cases(count: u64) {
    let _shared = beside_others();
    let found: u64 = (0..count)
        .map(|number| judge(&case(number, Scale::SEEDED)))
        .sum();
    assert!(found > 20 * count, "{found} lines found: nothing was tried");
}

/// Every exact strategy with numbers of buckets up to `most` and with numbers of threads, spilling and not. `memory`
/// has neither buckets nor spill.
fn all_settings(most: u32) -> Vec<Setting> {
    let mut settings = Vec::new();
    for strategy in EXACT {
        for threads in [1, 2, 4] {
            for (buckets, always_spill) in [
                (1, false),
                (1, true),
                (7, false),
                (7, true),
                (most, false),
                (most, true),
            ] {
                let setting = Setting {
                    way: Way::Intersect,
                    strategy,
                    max_fpr: None,
                    memory_bytes: 64 * MIB,
                    threads,
                    buckets: Some(buckets),
                    bits_per_key: None,
                    always_spill,
                    hash: HashChoice::Fixed(7),
                    is_reversed: threads == 2,
                };
                if strategy != Some(Strategy::Memory) || (buckets, always_spill) == (1, false) {
                    settings.push(setting);
                }
            }
        }
    }
    settings
}

#[test]
fn h9_j1_settings_agree_on_the_same_inputs() {
    // The first three are of `memory`; of the others each two of a strategy, a number of threads, and a number of
    // buckets, spilling or not.
    settings_agree(30, |number| {
        let other = number.checked_sub(3);
        other.is_none_or(|other| (other / 18 + other / 6 + other) % 3 == 0)
    });
}

#[test]
#[ignore = "slow: tens of thousands of files"]
fn h9_j1_all_settings_up_to_a_thousand_buckets_agree_on_the_same_inputs() {
    settings_agree(1000, |_| true);
}

/// Runs those settings that are wanted by their number.
fn settings_agree(most_buckets: u32, is_wanted: fn(usize) -> bool) {
    let _shared = beside_others();
    // The first case in which something is common; a small one, for many buckets are many files.
    let has_common = |case: &Case| {
        let first = all_settings(1)[0];
        judge(&case.with_setting(first)) > 0
    };
    let cases = (0..).map(|number| case(number, Scale::FUZZED));
    let cases = cases.filter(|case| case.inputs.iter().all(|input| !input.is_fifo));
    for case in cases.filter(has_common).take(1) {
        let settings = all_settings(most_buckets).into_iter().enumerate();
        let wanted = settings.filter(|&(number, _)| is_wanted(number));
        let found = judge(&Case {
            settings: wanted.map(|(_, setting)| setting).collect(),
            ..case
        });
        assert!(found > 0);
    }
}

#[test]
fn h4_equal_hashes_for_all_lines_give_the_oracles_set() {
    equal_hashes(7);
}

#[test]
#[ignore = "slow: more cases"]
fn h4_equal_hashes_for_all_lines_of_many_cases_give_the_oracles_set() {
    equal_hashes(40);
}

fn equal_hashes(count: usize) {
    let _shared = beside_others();
    let is_small = |case: &Case| {
        let lines = case.inputs.iter().map(|input| input.lines.len());
        (2..=MOST_WITH_ONE_HASH).contains(&lines.sum())
    };
    let cases = (0..).map(|number| case(number, Scale::FUZZED));
    for mut case in cases.filter(is_small).take(count) {
        case.settings.truncate(1);
        let any = case.settings[0];
        case.settings = EXACT
            .into_iter()
            .map(|strategy| Setting {
                way: Way::Intersect,
                strategy,
                max_fpr: None,
                hash: HashChoice::Constant,
                ..any
            })
            .collect();
        judge(&case);
    }
}
