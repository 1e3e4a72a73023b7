//! Headers whose checksum is right and that claim what cannot be (rows I3, I4 and I7 of the fault table): refused
//! before any memory is taken for it.

use std::fs::File;
use std::os::unix::fs::FileExt;

use outset::filter::Shape;
use xxhash_rust::xxh3::Xxh3;

use super::image::{Image, PAGE, Parts};
use super::{KEY, budget, examine, open, refuses_bytes, small_shapes};
use crate::util::{MIB, Sandbox, alone, beside_others, peak_of};

/// Numbers on which sizes go wrong.
const EDGES: [u64; 14] = [
    0,
    1,
    (1 << 32) - 1,
    1 << 32,
    (1 << 32) + 1,
    (1 << 53) + 1,
    (1 << 57) - 512,
    1 << 60,
    (1 << 61) - 1,
    1 << 63,
    (1 << 63) - 1,
    u64::MAX - 511,
    u64::MAX - 7,
    u64::MAX,
];

/// An empty filter of this shape, whose kind has number `kind` in files.
fn empty(kind: u8, shape: Shape) -> Parts {
    Parts {
        kind,
        terminator: b'\n',
        strip_cr: 0,
        hashes: shape.hashes,
        cells: shape.cells,
        keys: 0,
        planned_keys: 100,
        key: KEY,
        body: vec![0; shape.bytes() as usize],
    }
}

pub(super) fn empties() -> impl Iterator<Item = (Parts, Shape)> {
    (1..)
        .zip(small_shapes())
        .map(|(kind, shape)| (empty(kind, shape), shape))
}

/// The file, with numbers of 8 bytes put into its header at these offsets.
pub(super) fn patched(parts: &Parts, patches: &[(usize, u64)]) -> Vec<u8> {
    let mut image = Image::new(parts);
    for &(at, number) in patches {
        image.put_number(at, number);
    }
    image.seal_header();
    image.bytes
}

/// Works as [`patched`], with bytes at one offset.
fn patched_bytes(parts: &Parts, at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut image = Image::new(parts);
    image.put(at, bytes);
    image.seal_header();
    image.bytes
}

#[test]
fn what_the_tests_start_from_is_a_filter() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    for (parts, shape) in empties() {
        let path = sandbox.file("empty", patched(&parts, &[]));
        assert_eq!(examine::examine(&path).unwrap().shape(), shape);
    }
}

#[test]
fn i3_a_body_of_another_size_or_at_another_place_is_refused() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    for (parts, shape) in empties() {
        let (body_at, body_bytes) = (2 * PAGE as u64, shape.bytes());
        let off = [1, 8, PAGE as u64, 1 << 32, 1 << 63];
        for by in off.into_iter().flat_map(|by| [by, by.wrapping_neg()]) {
            let (at, bytes) = (body_at.wrapping_add(by), body_bytes.wrapping_add(by));
            for patches in [
                &[(48, at)][..],
                &[(56, bytes)],
                &[(48, at), (56, body_bytes.wrapping_sub(by))],
            ] {
                let bytes = patched(&parts, patches);
                refuses_bytes(&sandbox, &bytes, "its layout is invalid");
            }
        }
        let bytes = patched_bytes(&parts, 12, &8192u32.to_le_bytes());
        refuses_bytes(&sandbox, &bytes, "its layout is invalid");
    }
}

#[test]
fn i4_a_shape_that_cannot_be_is_refused_whatever_the_file_says_of_its_size() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    for (parts, shape) in empties() {
        for cells in EDGES {
            // The size of the old shape, and that of the new one as far as numbers go.
            let bits = cells.wrapping_mul(shape.kind.cell_bits());
            let bytes = bits.div_ceil(64).wrapping_mul(8);
            let sections = bytes.div_ceil(MIB);
            let body_at = (PAGE as u64).wrapping_add((sections * 8).next_multiple_of(4096));
            for patches in [
                &[(24, cells)][..],
                &[(24, cells), (56, bytes)],
                &[(24, cells), (48, body_at), (56, bytes)],
            ] {
                refuses_bytes(&sandbox, &patched(&parts, patches), "");
            }
        }
        for hashes in [0, shape.kind.most_hashes() + 1, 65, 1 << 31, u32::MAX] {
            let bytes = patched_bytes(&parts, 20, &hashes.to_le_bytes());
            refuses_bytes(&sandbox, &bytes, "impossible number of hashes");
        }
    }
}

#[test]
fn i4_what_a_header_claims_takes_no_memory() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let (parts, _) = empties().nth(1).unwrap();
    // 1 GiB of bits, in a file of 8 KiB.
    let bits = 1 << 33;
    let table = [(24, bits), (48, 3 * PAGE as u64), (56, bits / 8)];
    let bytes = patched(&parts, &table);
    let peak = || peak_of(|| refuses_bytes(&sandbox, &bytes, "bytes instead of"));
    let Some((first, ())) = peak() else {
        eprintln!("skipped: the system does not let resident memory be measured");
        return;
    };
    let (second, ()) = peak().unwrap();
    // The table of the sections alone would have 8 KiB, which is too little to see; the body is not.
    assert!(second < first + MIB, "{second} after {first}");
}

#[test]
fn i4_a_file_of_holes_takes_no_memory_however_long_it_is() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let (mut parts, _) = empties().nth(1).unwrap();
    let path = sandbox.file("holes", b"");
    // 8 TiB, with a table of 64 MiB.
    let (table, body) = (1u64 << 26, 1u64 << 43);
    let file = File::options().write(true).open(&path).unwrap();
    if let Err(error) = file.set_len(PAGE as u64 + table + body) {
        eprintln!("skipped: no file of 8 TiB can be made here: {error}");
        return;
    }
    let mut checksum = Xxh3::new();
    (0..1 << 14).for_each(|_| checksum.update(&[0; PAGE]));
    (parts.cells, parts.body) = (body * 8, Vec::new());
    let mut image = Image::new(&parts);
    for (at, number) in [
        (48, PAGE as u64 + table),
        (56, body),
        (104, checksum.digest()),
    ] {
        image.put_number(at, number);
    }
    image.seal_header();
    file.write_all_at(&image.bytes[..PAGE], 0).unwrap();
    let peak = peak_of(|| {
        let stored = open(&path);
        let error = stored.occupancy(&budget()).unwrap_err();
        assert!(error.to_string().contains("section 0"), "{error}");
    });
    let Some((first, ())) = peak_of(|| ()) else {
        eprintln!("skipped: the system does not let resident memory be measured");
        return;
    };
    let (peak, ()) = peak.unwrap();
    assert!(peak < first + 8 * MIB, "{peak}, and {first} after it");
}

#[test]
fn i4_more_digests_than_slots_are_refused() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let (parts, shape) = empties().last().unwrap();
    for keys in EDGES.into_iter().filter(|&keys| keys > shape.cells) {
        refuses_bytes(
            &sandbox,
            &patched(&parts, &[(32, keys)]),
            "digests, too many for",
        );
    }
    refuses_bytes(
        &sandbox,
        &patched(&parts, &[(32, shape.cells)]),
        "digests, too many for",
    );
    let one_less = patched(&parts, &[(32, shape.cells - 1)]);
    refuses_bytes(&sandbox, &one_less, "does not have as many digests");
}

#[test]
fn i4_counts_that_nothing_depends_on_may_be_any_that_can_be_counted_on_from() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    for (parts, _) in empties().take(4) {
        for number in EDGES {
            let keys = number.min(1 << 62);
            if number > keys {
                let bytes = patched(&parts, &[(32, number)]);
                refuses_bytes(&sandbox, &bytes, "number of lines");
            }
            let bytes = patched(&parts, &[(32, keys), (40, number)]);
            let path = sandbox.file("counts", bytes);
            examine::examine(&path).unwrap();
            let (stored, occupancy) = (open(&path), examine::examine(&path).unwrap().occupancy());
            let _any = occupancy.is_overfull(stored.shape(), stored.rules().planned_keys);
        }
    }
}

#[test]
fn i7_another_version_kind_rule_or_hash_is_refused_by_name() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    for (parts, _) in empties() {
        for version in [0u32, 2, u32::MAX] {
            let bytes = patched_bytes(&parts, 8, &version.to_le_bytes());
            refuses_bytes(&sandbox, &bytes, &format!("of version {version};"));
            // A newer version may have its checksum elsewhere.
            refuses_bytes(&sandbox, &bytes[..100], &format!("of version {version};"));
        }
        for kind in [0, 6, 255] {
            let bytes = patched_bytes(&parts, 16, &[kind]);
            refuses_bytes(&sandbox, &bytes, &format!("unknown kind {kind}"));
        }
        for (at, byte) in [
            (17, b'\r'),
            (17, 255),
            (18, 2),
            // Key forms that there are not: of several fields that nothing joins, or that are joined and not several.
            (19, 8),
            (19, 255),
            (112, 2),
            (113, 1),
            (116, 1),
            (116, 4),
            (117, 1),
            (118, 1),
            (4087, 1),
        ] {
            let bytes = patched_bytes(&parts, at, &[byte]);
            refuses_bytes(
                &sandbox,
                &bytes,
                "settings that this version of outset does not know",
            );
        }
        for other in [0, u64::MAX] {
            refuses_bytes(
                &sandbox,
                &patched(&parts, &[(96, other)]),
                "a different hash",
            );
        }
        // The key belongs to the hash of the touchstone.
        refuses_bytes(&sandbox, &patched(&parts, &[(64, 12)]), "a different hash");
    }
}
