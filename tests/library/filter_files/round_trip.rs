//! Filters that are saved and come back the same: answers, counts, key and rules, and the bytes of the file when it is
//! saved again.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use outset::filter::{Filter, Kind, Rules, Shape, Words};
use outset::hash::LineHasher;
use outset::{Interrupt, Joined, KeyForm, LineFormat};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

use super::image::{Image, Parts};
use super::{budget, filled, line, mapped, open, rules, saved, small_shapes};
use crate::util::{Sandbox, beside_others};

/// Both answer alike, for lines that are in and lines that are not.
fn assert_alike<A: Words, B: Words>(one: &Filter<A>, other: &Filter<B>, lines: u32) {
    assert_eq!(one.shape(), other.shape());
    assert_same_rules(one.rules(), other.rules());
    assert_eq!(one.keys(), other.keys());
    assert_eq!(one.occupancy(), other.occupancy());
    for number in 0..3 * lines {
        let line = line(number);
        assert!(number >= lines || other.contains(&line), "lost {number}");
        assert_eq!(one.contains(&line), other.contains(&line), "{number}");
        assert_eq!(one.count(&line), other.count(&line), "{number}");
    }
}

fn assert_same_rules(one: Rules, other: Rules) {
    assert_eq!(one.format, other.format);
    assert_eq!(one.key_form, other.key_form);
    assert_eq!(one.planned_keys, other.planned_keys);
    // The key is not shown to anybody.
    assert_eq!(one.hasher.hash(b"a line"), other.hasher.hash(b"a line"));
}

/// Saves a filter and takes the file through everything.
fn assert_comes_back(sandbox: &Sandbox, filter: &Filter, lines: u32) {
    let path = sandbox.path("filter");
    filter.save(&path, &Interrupt::new()).unwrap();
    let bytes = fs::read(&path).unwrap();
    let stored = open(&path);
    assert_eq!(stored.shape(), filter.shape());
    assert_same_rules(stored.rules(), filter.rules());
    assert_eq!(stored.keys(), filter.keys());
    assert_eq!(stored.file_bytes(), bytes.len() as u64);
    assert_eq!(stored.occupancy(&budget()).unwrap(), filter.occupancy());
    let loaded = stored.load(&budget(), 2).unwrap();
    assert_alike(filter, &loaded, lines);
    assert_alike(filter, &mapped(open(&path)), lines);
    assert!(
        saved(sandbox, &loaded) == bytes,
        "{:?} is saved otherwise once it was loaded",
        filter.shape()
    );
}

#[test]
fn a_small_filter_comes_back_the_same() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    for shape in small_shapes() {
        assert_comes_back(&sandbox, &filled(shape, rules(), 0), 0);
        assert_comes_back(&sandbox, &filled(shape, rules(), 40), 40);
    }
}

#[test]
fn a_filter_of_several_sections_comes_back_the_same() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    // A filter of exactly three sections, and of three and a bit.
    for bytes in [3 << 20, (3 << 20) + 64] {
        for shape in small_shapes() {
            let shape = Shape {
                cells: bytes * 8 / shape.kind.cell_bits(),
                ..shape
            };
            assert_comes_back(&sandbox, &filled(shape, rules(), 3000), 3000);
        }
    }
}

#[test]
fn the_file_is_what_the_documentation_says() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    for (number, shape) in (1..).zip(small_shapes()) {
        for cells in [shape.cells, 10_000_000 / shape.kind.cell_bits() / 512 * 512] {
            let filter = filled(Shape { cells, ..shape }, rules(), 40);
            let bytes = saved(&sandbox, &filter);
            let body = bytes[bytes.len() - filter.shape().bytes() as usize..].to_vec();
            assert!(body.iter().any(|&byte| byte != 0));
            let image = Image::new(&Parts {
                kind: number,
                terminator: b'\n',
                strip_cr: 0,
                hashes: shape.hashes,
                cells,
                keys: if shape.kind == Kind::Fingerprint {
                    40
                } else {
                    54
                },
                planned_keys: 100,
                key: super::KEY,
                body,
            });
            assert!(image.bytes == bytes, "{shape:?} has another layout");
        }
    }
}

#[test]
fn a_new_file_is_its_owners_and_a_replaced_one_keeps_its_mode() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let path = sandbox.path("filter");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let filter = filled(small_shapes()[0], rules(), 40);
    filter.save(&path, &Interrupt::new()).unwrap();
    assert_eq!(mode(&path), 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    filter.save(&path, &Interrupt::new()).unwrap();
    assert_eq!(mode(&path), 0o640);
}

fn any_shape() -> impl Strategy<Value = Shape> {
    (0..Kind::ALL.len(), 1u64..20_000, any::<u32>()).prop_map(|(kind, cells, hashes)| {
        let kind = Kind::ALL[kind];
        Shape {
            kind,
            cells: match kind {
                Kind::Blocked => cells.div_ceil(512) * 512,
                Kind::Fingerprint => cells + 1,
                _ => cells,
            },
            hashes: 1 + hashes % kind.most_hashes(),
        }
    })
}

fn any_rules() -> impl Strategy<Value = Rules> {
    let forms = (any::<[bool; 3]>(), 0u32..4, 0usize..3, any::<u8>());
    let forms = forms.prop_map(
        |([ignores_case, trims, squeezes], fields, joined, byte)| KeyForm {
            ignores_case,
            trims,
            squeezes,
            fields,
            joined: (fields > 1)
                .then_some([Joined::Delimited(byte), Joined::Csv(byte), Joined::Json][joined]),
        },
    );
    (any::<[u64; 4]>(), any::<u64>(), any::<[bool; 2]>(), forms).prop_map(
        |(key, planned_keys, [ends_in_nul, strip_cr], key_form)| Rules {
            hasher: LineHasher::with_key(key),
            format: LineFormat {
                terminator: if ends_in_nul { 0 } else { b'\n' },
                strip_cr,
                ..LineFormat::default()
            },
            key_form,
            planned_keys,
        },
    )
}

#[test]
fn any_shape_and_any_rules_come_back() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let config = Config {
        // Each is synced to the disk, twice.
        cases: 64,
        rng_seed: RngSeed::Fixed(4),
        failure_persistence: None,
        ..Config::default()
    };
    proptest!(config, |(shape in any_shape(), rules in any_rules(), lines in 0u32..30)| {
        assert_comes_back(&sandbox, &filled(shape, rules, lines), lines);
    });
}
