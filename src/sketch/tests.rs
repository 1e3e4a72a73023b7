//! Sketches of numbered lines, against what is known of them.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::ops::Range;

use super::bounds::CONFIDENCE;
use super::*;
use crate::hash::LineHasher;

/// Makes the sketch of lines, one for each number, under the key of `seed`.
fn sketch(k: usize, seed: u64, numbers: impl IntoIterator<Item = u64>) -> Sketch {
    gathered(k, seed, numbers).into_sketch().unwrap()
}

fn gathered(k: usize, seed: u64, numbers: impl IntoIterator<Item = u64>) -> Gatherer {
    let hasher = LineHasher::with_key([seed, 1, 2, 3]);
    let mut gatherer = Gatherer::new(&MemoryBudget::new(1 << 30, 0), k).unwrap();
    for number in numbers {
        gatherer.add_all(&[hasher.hash(&number.to_le_bytes())]);
    }
    gatherer
}

fn parts(sketch: &Sketch) -> (&[u64], u64) {
    (sketch.below(ALL), sketch.threshold)
}

#[test]
fn it_depends_neither_on_order_nor_on_repeats_nor_on_who_gathers_what() {
    for count in [100u64, 1024, 1025, 5000, 100_000] {
        let whole = sketch(1024, 7, 0..count);
        let backwards = sketch(1024, 7, (0..count).rev().flat_map(|number| [number; 3]));
        assert_eq!(parts(&whole), parts(&backwards), "{count} backwards");
        for workers in [2u64, 3, 40] {
            let mut all = gathered(1024, 7, []);
            // Uneven parts, in which some lines are repeated.
            for worker in 0..workers {
                let of_worker = |number: &u64| number * number % workers == worker;
                all.absorb(&gathered(1024, 7, (0..count).filter(of_worker)));
                all.absorb(&gathered(1024, 7, (0..count).step_by(7)));
            }
            let divided = all.into_sketch().unwrap();
            assert_eq!(parts(&whole), parts(&divided), "{count} by {workers}");
        }
    }
}

#[test]
fn it_is_exact_up_to_k_different_lines() {
    let (a, b) = (sketch(1024, 1, 0..1024), sketch(1024, 1, 900..1500));
    assert_eq!(a.distinct(), Bounds::exactly(1024.0));
    let overlap = Overlap::of(&[a, b]);
    assert!(overlap.is_exact());
    assert_eq!(overlap.common(), Bounds::exactly(124.0));
    assert_eq!(overlap.any(), Bounds::exactly(1500.0));
    assert_eq!(overlap.jaccard(), Bounds::exactly(124.0 / 1500.0));
    let distinct = [0, 1].map(|input| overlap.own_seen[input].0);
    assert_eq!(distinct[0] + distinct[1], 1624);
    for (input, distinct) in distinct.into_iter().enumerate() {
        assert_eq!(
            overlap.only(input),
            Bounds::exactly((distinct - 124) as f64)
        );
        let containment = 124.0 / distinct as f64;
        assert_eq!(overlap.containment(input), Bounds::exactly(containment));
    }
    assert!(!sketch(1024, 1, 0..1025).distinct().is_exact());
}

#[test]
fn nothing_is_known_to_be_common_to_no_lines() {
    let overlap = Overlap::of(&[sketch(1024, 1, []), sketch(1024, 1, [])]);
    assert_eq!(overlap.common(), Bounds::exactly(0.0));
    assert_eq!(overlap.jaccard(), Bounds::exactly(0.0));
    assert_eq!(overlap.containment(1), Bounds::exactly(0.0));
}

/// Tells whether the truth is within the bounds.
fn covers(bounds: Bounds, truth: u64) -> bool {
    bounds.low <= truth as f64 && truth as f64 <= bounds.high
}

/// Counts the seeded runs in which each bound covers the truth: different lines of the first, common, any, Jaccard,
/// lines of the first that no other has, containment of the first. The first begins before all others.
fn coverage(runs: u64, inputs: &[Range<u64>]) -> [u64; 6] {
    let start = inputs.iter().map(|range| range.start).max().unwrap();
    let end = inputs.iter().map(|range| range.end).min().unwrap();
    let common = end.saturating_sub(start);
    let any = inputs.iter().map(|range| range.end).max().unwrap();
    let others = inputs[1..].iter().map(|range| range.start).min().unwrap();
    let only = others.min(inputs[0].end) - inputs[0].start;
    let own = inputs[0].end - inputs[0].start;
    let mut covered = [0; 6];
    for seed in 0..runs {
        let sketches = inputs.iter().map(|range| sketch(512, seed, range.clone()));
        let sketches: Vec<Sketch> = sketches.collect();
        let overlap = Overlap::of(&sketches);
        let jaccard = overlap.jaccard();
        let truth = common as f64 / any as f64;
        let (contained, share) = (overlap.containment(0), common as f64 / own as f64);
        let now = [
            covers(sketches[0].distinct(), own),
            covers(overlap.common(), common),
            covers(overlap.any(), any),
            jaccard.low <= truth && truth <= jaccard.high,
            covers(overlap.only(0), only),
            contained.low <= share && share <= contained.high,
        ];
        for (count, is_covered) in covered.iter_mut().zip(now) {
            *count += u64::from(is_covered);
        }
    }
    covered
}

#[test]
#[ignore = "slow: more than a second"]
fn the_truth_is_within_the_bounds_as_often_as_is_said() {
    // Sizes and overlaps from half of the lines to none; small in large; three inputs.
    let cases: [&[Range<u64>]; 7] = [
        &[0..2000, 1000..3000],
        &[0..2000, 1900..20_000],
        &[0..20_000, 10_000..30_000],
        &[0..20_000, 19_700..30_000],
        &[0..20_000, 20_000..30_000],
        &[0..600, 0..20_000],
        &[0..20_000, 5000..25_000, 10_000..30_000],
    ];
    for inputs in cases {
        let runs = 100;
        let expected = CONFIDENCE * runs as f64;
        let sigma = (expected * (1.0 - CONFIDENCE)).sqrt();
        for (what, count) in coverage(runs, inputs).into_iter().enumerate() {
            assert!(
                count as f64 >= expected - 3.0 * sigma,
                "bound {what} of {inputs:?}: {count} of {runs}"
            );
        }
    }
}
