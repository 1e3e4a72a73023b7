//! Runs that never ran: the phases that a plan expected, and those that came.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use super::*;

const MEBIBYTE: u64 = 1 << 20;

/// Phases as a plan has them, in MiB.
fn plan(phases: &[(&'static str, u64)]) -> Vec<PlannedPhase> {
    let phase = |(step, &(name, mebibytes)): (usize, &(&'static str, u64))| PlannedPhase {
        step,
        name,
        bytes_read: mebibytes * MEBIBYTE,
    };
    phases.iter().enumerate().map(phase).collect()
}

/// A phase as it comes: its step in the plan, its name, MiB, and MiB per second.
type Real = (usize, &'static str, u64, f64);

fn seconds_of(&(_, _, mebibytes, rate): &Real) -> f64 {
    mebibytes as f64 / rate
}

/// Lets the phases go by, and tells at these shares of the whole time how much was left, as the estimate over the
/// truth.
fn ratios(pace: &mut Pace, phases: &[Real], shares: &[f64]) -> Vec<f64> {
    let whole: f64 = phases.iter().map(seconds_of).sum();
    let mut wanted = shares.iter().peekable();
    let (mut start, mut found) = (0.0, Vec::new());
    for phase in phases {
        let (step, name, mebibytes, rate) = *phase;
        pace.started(name, Some(step), Some(mebibytes * MEBIBYTE), start);
        let end = start + seconds_of(phase);
        let mut now = start;
        while now < end {
            now = (now + 0.2).min(end);
            pace.sample(((now - start) * rate * MEBIBYTE as f64) as u64, now);
            while wanted.next_if(|&&share| share * whole <= now).is_some() {
                let outlook = pace.outlook();
                let left = outlook.run_left.or(outlook.phase_left).unwrap();
                found.push(left / (whole - now).max(0.1));
            }
        }
        pace.finished(mebibytes * MEBIBYTE, end - start);
        start = end;
    }
    found
}

#[test]
fn with_an_even_rate_and_a_true_plan_the_time_left_is_right_from_the_start() {
    let mut pace = Pace::default();
    pace.planned(&plan(&[("filter", 1000), ("spill", 2000), ("join", 500)]));
    let phases = [
        (0, "filter a", 1000, 50.0),
        (1, "spill b", 2000, 50.0),
        (2, "join", 500, 50.0),
    ];
    for ratio in ratios(&mut pace, &phases, &[0.02, 0.25, 0.5, 0.75, 0.9]) {
        assert!((0.98..1.02).contains(&ratio), "{ratio}");
    }
    assert_eq!(pace.outlook().run_left, Some(0.0));
}

#[test]
fn the_time_left_converges_where_rates_differ_and_the_plan_was_wrong() {
    // A sieve that was planned with a tenth common: nearly nothing is, a half is, nearly all is. How
    // much more than planned survives is only known when it is joined.
    for (survivors, factors) in [
        (10, [1.5, 1.5, 1.5, 2.0]),
        (1000, [2.0, 4.0, 1.2, 1.2]),
        (1900, [3.0, 8.0, 1.2, 1.2]),
    ] {
        let mut pace = Pace::default();
        pace.planned(&plan(&[
            ("filter", 1000),
            ("spill", 1000),
            ("filter survivors", 140),
            ("spill", 1000),
            ("join", 240),
        ]));
        let phases = [
            (0, "filter a", 1000, 200.0),
            (1, "spill b", 1000, 150.0),
            (3, "spill a", 1000, 150.0),
            (4, "join", survivors, 120.0),
        ];
        let found = ratios(&mut pace, &phases, &[0.25, 0.5, 0.75, 0.9]);
        for (ratio, factor) in found.iter().zip(factors) {
            let is_near = (1.0 / factor..=factor).contains(ratio);
            assert!(is_near, "{survivors}: {found:?}");
        }
        assert_eq!(pace.outlook().run_left, Some(0.0));
    }
}

#[test]
fn a_rate_that_changes_is_believed_after_some_seconds() {
    let mut pace = Pace::default();
    pace.started("spill a", None, Some(4000 * MEBIBYTE), 0.0);
    let mut now = 0.0;
    let mut done = 0;
    let mut go_on = |pace: &mut Pace, seconds: f64, rate: u64| {
        let until = now + seconds;
        while now < until {
            now += 0.2;
            done += rate * MEBIBYTE / 5;
            pace.sample(done, now);
        }
        pace.outlook().rate.unwrap() / MEBIBYTE as f64
    };
    assert!((go_on(&mut pace, 1.0, 100) - 100.0).abs() < 1.0);
    assert!((go_on(&mut pace, 10.0, 100) - 100.0).abs() < 1.0);
    let after = go_on(&mut pace, 8.0, 20);
    assert!((30.0..70.0).contains(&after), "{after}");
    assert!((go_on(&mut pace, 30.0, 20) - 20.0).abs() < 3.0);
    // A standstill is seen: the rate goes towards nothing, and the time left grows.
    let before = pace.outlook().phase_left.unwrap();
    assert!(go_on(&mut pace, 60.0, 0) < 1.0);
    assert!(pace.outlook().phase_left.unwrap() > 10.0 * before);
}

#[test]
fn a_phase_of_unknown_size_has_a_rate_and_no_end() {
    let mut pace = Pace::default();
    pace.planned(&plan(&[("spill", 100), ("join", 100)]));
    pace.started("spool", None, None, 0.0);
    pace.sample(10 * MEBIBYTE, 1.0);
    let outlook = pace.outlook();
    assert_eq!(outlook.rate, Some(10.0 * MEBIBYTE as f64));
    assert_eq!((outlook.phase_left, outlook.run_left), (None, None));
    pace.finished(50 * MEBIBYTE, 5.0);
    // It was not in the plan, which is still ahead.
    pace.started("spill -", Some(0), Some(50 * MEBIBYTE), 5.0);
    pace.sample(10 * MEBIBYTE, 6.0);
    let outlook = pace.outlook();
    assert!(
        (outlook.phase_left.unwrap() - 4.0).abs() < 0.01,
        "{outlook:?}"
    );
    assert!(
        (outlook.run_left.unwrap() - 14.0).abs() < 0.01,
        "{outlook:?}"
    );
}

#[test]
fn before_anything_moved_nothing_is_claimed() {
    let mut pace = Pace::default();
    assert_eq!(pace.outlook().phase_left, None);
    pace.planned(&plan(&[("build", 100), ("probe", 100)]));
    assert_eq!(pace.outlook().run_left, None);
    pace.started("build a", Some(0), Some(100 * MEBIBYTE), 0.0);
    pace.sample(0, 1.0);
    let outlook = pace.outlook();
    assert_eq!((outlook.phase_left, outlook.run_left), (None, None));
}

#[test]
fn a_second_plan_starts_over() {
    let mut pace = Pace::default();
    pace.planned(&plan(&[("build", 100), ("probe", 900)]));
    pace.started("build a", Some(0), Some(100 * MEBIBYTE), 0.0);
    pace.sample(50 * MEBIBYTE, 5.0);
    pace.finished(50 * MEBIBYTE, 5.0);
    pace.planned(&plan(&[("spill", 100), ("spill", 100), ("join", 100)]));
    // Nothing but the rate is left of the first.
    assert!((pace.outlook().run_left.unwrap() - 30.0).abs() < 0.01);
    let phases = [
        (0, "spill a", 100, 10.0),
        (1, "spill b", 100, 10.0),
        (2, "join", 100, 10.0),
    ];
    for ratio in ratios(&mut pace, &phases, &[0.25, 0.5, 0.75, 0.9]) {
        assert!((0.98..1.02).contains(&ratio), "{ratio}");
    }
}

#[test]
fn runs_to_come_count_and_each_is_replaced_by_its_plan() {
    let mut pace = Pace::default();
    pace.expect_runs([200, 300, 400].map(|mebibytes| mebibytes * MEBIBYTE));
    pace.next_run();
    pace.planned(&plan(&[("build", 100), ("probe", 100)]));
    // The engine plans again: that is the same run.
    pace.planned(&plan(&[("spill", 100), ("join", 100)]));
    pace.started("spill a", Some(0), Some(100 * MEBIBYTE), 0.0);
    pace.sample(50 * MEBIBYTE, 5.0);
    assert!((pace.outlook().run_left.unwrap() - (5.0 + 10.0 + 70.0)).abs() < 0.01);
    pace.finished(100 * MEBIBYTE, 10.0);
    pace.next_run();
    assert!((pace.outlook().run_left.unwrap() - 70.0).abs() < 0.01);
    pace.next_run();
    pace.planned(&plan(&[("spill", 400)]));
    pace.started("spill a", Some(0), Some(400 * MEBIBYTE), 30.0);
    pace.sample(400 * MEBIBYTE, 70.0);
    let outlook = pace.outlook();
    assert_eq!((outlook.phase_left, outlook.run_left), (Some(0.0), None));
}

#[test]
fn phases_of_one_kind_are_expected_to_be_as_fast_as_those_before() {
    let mut pace = Pace::default();
    pace.planned(&plan(&[("filter", 100), ("spill", 100), ("filter", 100)]));
    let mut now = 0.0;
    for (step, name, rate) in [(0, "filter a", 100.0), (1, "spill b", 10.0)] {
        pace.started(name, Some(step), Some(100 * MEBIBYTE), now);
        now += 100.0 / rate;
        pace.finished(100 * MEBIBYTE, 100.0 / rate);
    }
    assert!((pace.outlook().run_left.unwrap() - 1.0).abs() < 0.01);
}
