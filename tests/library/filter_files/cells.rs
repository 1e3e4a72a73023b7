//! The cells of a line, computed from the documentation of the format, and nothing of the library.

use std::collections::BTreeSet;

use highway::{HighwayHash, HighwayHasher, Key};
use outset::filter::{Kind, Shape};

use super::{budget, rules, saved};
use crate::util::{Sandbox, beside_others};
use outset::filter::Filter;

const KEY: [u64; 4] = [1, 2, 3, 4];

/// w(c) of the documentation.
fn word(hash: u64, constant: u64) -> u64 {
    let product = u128::from(hash) * u128::from(constant);
    (product as u64) ^ ((product >> 64) as u64)
}

/// r(x, n) of the documentation.
fn reduced(word: u64, range: u64) -> u64 {
    ((u128::from(word) * u128::from(range)) >> 64) as u64
}

/// The bits of the body that are set when a filter has this one line.
fn bits(shape: Shape, line: &[u8]) -> BTreeSet<u64> {
    let hasher = || HighwayHasher::new(Key(KEY));
    let (hash, cells) = (hasher().hash64(line), shape.cells);
    let hashes = u64::from(shape.hashes);
    match shape.kind {
        Kind::Blocked => {
            let block = reduced(word(hash, 0x6a09_e667_f3bc_c909), cells / 512);
            let fields = (0..hashes).map(|number| {
                let (word, field) = if number < 7 {
                    (word(hash, 0xbb67_ae85_84ca_a73b), number)
                } else {
                    (word(hash, 0x3c6e_f372_fe94_f82b), number - 7)
                };
                block * 512 + (word >> (55 - 9 * field)) % 512
            });
            fields.collect()
        }
        Kind::Fingerprint => {
            let digest = hasher().hash128(line);
            let slot = reduced(digest[0], cells);
            let is_set = |bit: &u64| digest[(bit / 64) as usize] >> (bit % 64) & 1 == 1;
            let set = (0..128).filter(is_set);
            set.map(|bit| slot * 128 + bit).collect()
        }
        kind => {
            let width = if kind == Kind::Classic {
                1
            } else if kind == Kind::Counting {
                4
            } else {
                16
            };
            let mut position = reduced(word(hash, 0xdb0c_2e0d_64f9_8fa7), cells);
            let mut step = reduced(word(hash, 0x47b5_481d_befa_4fa5), cells);
            let mut set = BTreeSet::new();
            for number in 1..=hashes {
                set.insert(position * width);
                position = (position + step) % cells;
                step = (step + number) % cells;
            }
            set
        }
    }
}

#[test]
fn the_cells_of_a_line_are_those_of_the_documentation() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    for (kind, cells, hashes) in [
        (Kind::Blocked, 512 * 7, 14),
        (Kind::Blocked, 512, 3),
        (Kind::Classic, 1009, 13),
        (Kind::Counting, 333, 5),
        (Kind::Spectral, 77, 20),
        (Kind::Fingerprint, 41, 1),
    ] {
        let shape = Shape {
            kind,
            cells,
            hashes,
        };
        let mut rules = rules();
        rules.hasher = outset::hash::LineHasher::with_key(KEY);
        for line in [&b"https://example.org/"[..], b"", b"a\tb"] {
            let mut filter = Filter::new(&budget(), shape, rules).unwrap();
            filter.insert(line).unwrap();
            let file = saved(&sandbox, &filter);
            let body = &file[8192..];
            let is_set = |bit: &u64| body[(bit / 8) as usize] >> (bit % 8) & 1 == 1;
            let set: BTreeSet<u64> = (0..body.len() as u64 * 8).filter(is_set).collect();
            assert_eq!(set, bits(shape, line), "{shape:?}");
        }
    }
}
