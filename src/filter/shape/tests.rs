//! Shapes at the sizes of the textbooks, at 5 billion keys, and at silly ones.

use super::*;

const FLAT: [Kind; 3] = [Kind::Classic, Kind::Counting, Kind::Spectral];
const BILLION: u64 = 1_000_000_000;

fn close(value: f64, expected: f64, tolerance: f64) {
    assert!(
        (value - expected).abs() <= tolerance * expected,
        "{value} instead of {expected}"
    );
}

#[test]
fn a_rate_gives_hardly_more_than_the_textbooks_cells_and_their_hashes() {
    for (keys, fpr, textbook, hashes, exact) in [
        (1_000_000, 0.0001, 19_170_117, 13, 13.29),
        (10_000_000, 0.0001, 191_701_168, 13, 13.29),
        (1_000_000, 0.01, 9_585_059, 7, 6.64),
        (1_000_000, 0.001, 14_377_588, 10, 9.97),
        (5 * BILLION, 0.01, 47_925_291_887, 7, 6.64),
        (50 * BILLION, 0.001, 718_879_378_303, 10, 9.97),
    ] {
        for kind in FLAT {
            let shape = Shape::for_fpr(kind, keys, fpr, None);
            assert_eq!(shape.hashes, hashes);
            assert!(shape.cells >= textbook, "{shape:?}");
            close(shape.cells as f64, textbook as f64, 2e-3);
            assert_eq!(shape.bits(), shape.cells * kind.cell_bits());
            close(shape.hashes_exact(keys), exact, 3e-3);
        }
    }
}

#[test]
fn i14_what_is_laid_out_for_a_rate_is_predicted_at_or_under_it_with_no_cell_to_spare() {
    let rates = [
        0.9, 0.5, 0.35, 0.1, 0.05, 0.03, 0.01, 0.001, 1e-4, 1e-9, 1e-30,
    ];
    for kind in FLAT {
        for keys in [1, 3, 1000, 100_000, 999_999_937, 5 * BILLION] {
            for fpr in rates {
                for hashes in [None, Some(1), Some(4), Some(64)] {
                    let shape = Shape::for_fpr(kind, keys, fpr, hashes);
                    let context = format!("{fpr}, {hashes:?}: {shape:?} for {keys}");
                    if shape.is_too_large() {
                        continue;
                    }
                    assert!(shape.predicted_fpr(keys) <= fpr, "{context}");
                    // What the rounding up and the margin may have added, and as much again.
                    let less = shape
                        .cells
                        .saturating_sub(2 + (shape.cells as f64 * 1e-8) as u64);
                    let hashes = hashes.map_or(1..=64, |hashes| hashes..=hashes);
                    let tighter = hashes.map(|hashes| Shape {
                        kind,
                        cells: less,
                        hashes,
                    });
                    let mut rates = tighter.map(|shape| match less {
                        0 => 1.0,
                        _ => shape.predicted_fpr(keys),
                    });
                    assert!(rates.all(|rate| rate > fpr), "{context}");
                }
            }
        }
    }
}

#[test]
fn i15_the_least_size_of_every_kind_is_one_that_it_can_have() {
    for kind in Kind::ALL {
        for shape in [
            Shape::for_bytes(kind, 1000, 1, None),
            Shape::for_bits_per_key(kind, 1, 1e-9, None),
            Shape::for_fpr(kind, 0, 0.999, None),
        ] {
            assert_eq!(shape.check(), Ok(()), "{shape:?}");
        }
    }
}

#[test]
fn a_rate_is_reached_with_hashes_that_are_given_or_must_be_fewer_than_the_formula_wants() {
    for (fpr, hashes, used) in [
        (0.01, Some(1), 1),
        (1e-4, Some(14), 14),
        (0.01, Some(3), 3),
        (0.9, None, 1),
        (1e-20, None, 64),
        (1e-20, Some(1000), 64),
    ] {
        for kind in FLAT {
            let shape = Shape::for_fpr(kind, BILLION, fpr, hashes);
            assert_eq!(shape.hashes, used, "{kind} {fpr} {hashes:?}");
            close(shape.predicted_fpr(BILLION), fpr, 1e-6);
            assert!(shape.predicted_fpr(BILLION) <= fpr, "{shape:?}");
        }
    }
}

#[test]
fn a_blocked_shape_is_whole_blocks_and_keeps_to_its_rate_with_no_block_to_spare() {
    for keys in [1000, 1_000_000, 5 * BILLION] {
        for fpr in [0.3, 0.05, 0.01, 0.001, 1e-4, 1.0001e-5, 0.9999e-5] {
            for hashes in [None, Some(1), Some(6)] {
                let shape = Shape::for_fpr(Kind::Blocked, keys, fpr, hashes);
                assert_eq!(shape.cells % 512, 0);
                assert!(shape.predicted_fpr(keys) <= fpr, "{shape:?} {fpr}");
                let less = (shape.cells as f64 * 0.999_999) as u64 / 512 * 512 - 512;
                let tighter = Shape {
                    cells: less,
                    ..shape
                };
                assert!(tighter.predicted_fpr(keys) > fpr, "{shape:?} {fpr}");
            }
        }
    }
}

#[test]
fn memory_is_used_to_the_last_cell_and_never_exceeded() {
    for kind in Kind::ALL {
        for bytes in [64, 100, 4096, 4 << 30, (5 << 30) + 7, 1 << 50] {
            let shape = Shape::for_bytes(kind, 5 * BILLION, bytes, None);
            assert!(shape.bytes() <= bytes, "{shape:?} in {bytes}");
            let unit = if kind == Kind::Blocked { 64 } else { 16 };
            assert!(shape.bytes() + unit > bytes, "{shape:?} in {bytes}");
        }
    }
    let shape = Shape::for_bytes(Kind::Classic, 5 * BILLION, 4 << 30, None);
    assert_eq!((shape.cells, shape.hashes), (34_359_738_368, 5));
    close(shape.predicted_fpr(5 * BILLION), 0.0369, 2e-3);
    let shape = Shape::for_bytes(Kind::Blocked, 5 * BILLION, 4 << 30, None);
    assert_eq!((shape.cells, shape.hashes), (34_359_738_368, 5));
    close(shape.predicted_fpr(5 * BILLION), 0.0389, 2e-3);
}

#[test]
fn bits_per_key_are_bits_of_storage() {
    for (kind, cells) in [
        (Kind::Blocked, 20_000_256),
        (Kind::Classic, 20_000_000),
        (Kind::Counting, 5_000_000),
        (Kind::Spectral, 1_250_000),
        (Kind::Fingerprint, 156_250),
    ] {
        let shape = Shape::for_bits_per_key(kind, 1_000_000, 20.0, None);
        assert_eq!(shape.cells, cells, "{kind}");
    }
    let eight = Shape::for_bits_per_key(Kind::Classic, 5 * BILLION, 8.0, None);
    assert_eq!((eight.cells, eight.hashes), (40_000_000_000, 6));
    close(eight.predicted_fpr(5 * BILLION), 0.0216, 2e-3);
    let twenty = Shape::for_bits_per_key(Kind::Classic, 1_000_000, 20.0, Some(10));
    close(twenty.predicted_fpr(1_000_000), 0.000_088_9, 1e-3);
}

#[test]
fn as_many_keys_as_fit_keep_to_the_rate_and_more_do_not() {
    for kind in Kind::ALL {
        for (bytes, fpr) in [(1 << 20, 0.01), (4 << 30, 1e-4)] {
            let keys = Shape::most_keys(kind, bytes, fpr, None);
            let needed = Shape::for_fpr(kind, keys, fpr, None).bytes();
            assert!(needed <= bytes, "{kind}: {keys} need {needed} of {bytes}");
            let needed = Shape::for_fpr(kind, keys + keys / 1000, fpr, None).bytes();
            assert!(needed > bytes, "{kind}: {keys} need {needed} of {bytes}");
        }
    }
    assert_eq!(Shape::most_keys(Kind::Fingerprint, 1600, 0.5, None), 80);
}

#[test]
fn a_table_of_digests_has_room_to_spare() {
    let shape = Shape::for_fpr(Kind::Fingerprint, 5 * BILLION, 0.01, Some(3));
    assert_eq!((shape.cells, shape.hashes), (6_250_000_000, 1));
    assert_eq!(shape.bytes(), 100 * BILLION);
    assert_eq!(shape.capacity(), 5 * BILLION);
    assert!(shape.predicted_fpr(5 * BILLION) < 1e-28);
    let classic = Shape::for_fpr(Kind::Classic, 1, 0.01, None);
    assert_eq!(classic.capacity(), u64::MAX);
}

#[test]
fn absurd_requests_give_a_shape() {
    let silly = [
        0.0,
        -1.0,
        1e-300,
        0.5,
        1.0,
        64.0,
        1e30,
        f64::INFINITY,
        f64::NAN,
    ];
    for kind in Kind::ALL {
        let check = |shape: Shape, keys: u64| {
            assert!(shape.cells >= 1 && shape.bits() >= shape.cells, "{shape:?}");
            assert!(shape.cells.checked_mul(kind.cell_bits()).is_some());
            assert!(
                (1..=kind.most_hashes()).contains(&shape.hashes),
                "{shape:?}"
            );
            assert!(
                kind != Kind::Blocked || shape.cells.is_multiple_of(512),
                "{shape:?}"
            );
            assert!(
                (0.0..=1.0).contains(&shape.predicted_fpr(keys)),
                "{shape:?}"
            );
            assert!(shape.hashes_exact(keys) >= 0.0 && shape.bytes() >= 8);
            let _any = shape.capacity();
        };
        for keys in [0, 1, 5 * BILLION, u64::MAX] {
            for hashes in [None, Some(0), Some(1), Some(u32::MAX)] {
                for number in silly {
                    check(Shape::for_fpr(kind, keys, number, hashes), keys);
                    check(Shape::for_bits_per_key(kind, keys, number, hashes), keys);
                    let _any = Shape::most_keys(kind, keys, number, hashes);
                }
                for bytes in [0, 1, 64, u64::MAX] {
                    check(Shape::for_bytes(kind, keys, bytes, hashes), keys);
                }
            }
        }
    }
}
