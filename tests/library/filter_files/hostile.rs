//! Files whose checksums are right and whose content is not (rows I3, I4 and I7 of the fault table): whoever makes such a file
//! gets an error or a filter with other answers, and neither a panic, nor an endless search, nor memory beyond the file's size.

use std::fs;

use outset::ErrorKind;
use outset::filter::Shape;

use super::image::{Image, PAGE, Parts};
use super::{KEY, Numbers, examine, open, refuses_bytes, small_shapes};
use crate::util::{MIB, Place, alone, peak_of};

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

fn empties() -> impl Iterator<Item = (Parts, Shape)> {
    (1..)
        .zip(small_shapes())
        .map(|(kind, shape)| (empty(kind, shape), shape))
}

/// The file, with numbers of 8 bytes put into its header at these places.
fn patched(parts: &Parts, patches: &[(usize, u64)]) -> Vec<u8> {
    let mut image = Image::new(parts);
    for &(at, number) in patches {
        image.put_number(at, number);
    }
    image.seal_header();
    image.bytes
}

/// As [`patched`], with bytes at one place.
fn patched_bytes(parts: &Parts, at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut image = Image::new(parts);
    image.put(at, bytes);
    image.seal_header();
    image.bytes
}

#[test]
fn what_the_tests_start_from_is_a_filter() {
    let _alone = alone();
    let place = Place::new();
    for (parts, shape) in empties() {
        let path = place.file("empty", patched(&parts, &[]));
        assert_eq!(examine::examine(&path).unwrap().shape(), shape);
    }
}

#[test]
fn i3_a_body_of_another_size_or_at_another_place_is_refused() {
    let _alone = alone();
    let place = Place::new();
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
                refuses_bytes(&place, &bytes, "its parts are not where they belong");
            }
        }
        let bytes = patched_bytes(&parts, 12, &8192u32.to_le_bytes());
        refuses_bytes(&place, &bytes, "its parts are not where they belong");
    }
}

#[test]
fn i4_a_shape_that_cannot_be_is_refused_whatever_the_file_says_of_its_size() {
    let _alone = alone();
    let place = Place::new();
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
                refuses_bytes(&place, &patched(&parts, patches), "");
            }
        }
        for hashes in [0, shape.kind.most_hashes() + 1, 65, 1 << 31, u32::MAX] {
            let bytes = patched_bytes(&parts, 20, &hashes.to_le_bytes());
            refuses_bytes(&place, &bytes, "impossible number of hashes");
        }
    }
}

#[test]
fn i4_what_a_header_claims_takes_no_memory() {
    let _alone = alone();
    let place = Place::new();
    let (parts, _) = empties().nth(1).unwrap();
    // 1 GiB of bits, in a file of 8 KiB.
    let bits = 1 << 33;
    let table = [(24, bits), (48, 3 * PAGE as u64), (56, bits / 8)];
    let bytes = patched(&parts, &table);
    let peak = || peak_of(|| refuses_bytes(&place, &bytes, "bytes instead of"));
    let Some((first, ())) = peak() else {
        eprintln!("skipped: the system does not let resident memory be measured");
        return;
    };
    let (second, ()) = peak().unwrap();
    // The table of the sections alone would have 8 KiB, which is too little to see; the body is not.
    assert!(second < first + MIB, "{second} after {first}");
}

#[test]
fn i4_more_digests_than_slots_are_refused() {
    let _alone = alone();
    let place = Place::new();
    let (parts, shape) = empties().last().unwrap();
    for keys in EDGES.into_iter().filter(|&keys| keys > shape.cells) {
        refuses_bytes(&place, &patched(&parts, &[(32, keys)]), "digests in");
    }
    refuses_bytes(&place, &patched(&parts, &[(32, shape.cells)]), "digests in");
    let one_less = patched(&parts, &[(32, shape.cells - 1)]);
    refuses_bytes(&place, &one_less, "does not have as many digests");
}

#[test]
fn i4_counts_that_nothing_depends_on_may_be_any() {
    let _alone = alone();
    let place = Place::new();
    for (parts, _) in empties().take(4) {
        for number in EDGES {
            let bytes = patched(&parts, &[(32, number), (40, number)]);
            let path = place.file("counts", bytes);
            examine::examine(&path).unwrap();
            let (stored, occupancy) = (open(&path), examine::examine(&path).unwrap().occupancy());
            let _any = occupancy.is_overfull(stored.shape(), stored.rules());
        }
    }
}

#[test]
fn i7_another_version_kind_rule_or_hash_is_refused_by_name() {
    let _alone = alone();
    let place = Place::new();
    for (parts, _) in empties() {
        for version in [0u32, 2, u32::MAX] {
            let bytes = patched_bytes(&parts, 8, &version.to_le_bytes());
            refuses_bytes(&place, &bytes, &format!("of version {version};"));
            // A newer version may have its checksum elsewhere.
            refuses_bytes(&place, &bytes[..100], &format!("of version {version};"));
        }
        for kind in [0, 6, 255] {
            let bytes = patched_bytes(&parts, 16, &[kind]);
            refuses_bytes(&place, &bytes, &format!("unknown kind {kind}"));
        }
        for (at, byte) in [
            (17, b'\r'),
            (17, 255),
            (18, 2),
            (19, 1),
            (112, 1),
            (4087, 1),
        ] {
            let bytes = patched_bytes(&parts, at, &[byte]);
            refuses_bytes(&place, &bytes, "rules that this program does not know");
        }
        for other in [0, u64::MAX] {
            refuses_bytes(&place, &patched(&parts, &[(96, other)]), "another hash");
        }
        // The key belongs to the hash of the touchstone.
        refuses_bytes(&place, &patched(&parts, &[(64, 12)]), "another hash");
    }
}

#[test]
fn bits_behind_the_last_cell_and_in_the_rest_of_the_table_are_refused() {
    let _alone = alone();
    let place = Place::new();
    for (mut parts, shape) in empties() {
        let behind = shape.bytes() * 8 - shape.bits();
        for bit in 0..behind {
            let mut body = vec![0; shape.bytes() as usize];
            let at = (shape.bits() + bit) as usize;
            body[at / 8] = 1 << (at % 8);
            parts.body = body;
            let bytes = Image::new(&parts).bytes;
            refuses_bytes(&place, &bytes, "bits behind its last cell");
        }
        // The zeros behind the table are under its checksum alone.
        let mut bytes = patched(&parts, &[]);
        bytes[2 * PAGE - 1] = 1;
        refuses_bytes(&place, &bytes, "its table is damaged");
    }
}

/// A table of these digests, in this order from slot 0 on.
fn digests(slots: u64, digests: &[[u64; 2]], keys: u64) -> Vec<u8> {
    let (mut parts, _) = empties().last().unwrap();
    (parts.cells, parts.keys) = (slots, keys);
    let words = digests.iter().flatten().copied();
    parts.body = words.flat_map(u64::to_le_bytes).collect();
    parts.body.resize(slots as usize * 16, 0);
    Image::new(&parts).bytes
}

#[test]
fn digests_that_are_not_as_many_as_the_header_says_are_refused() {
    let _alone = alone();
    let place = Place::new();
    let four = [[1, 1], [1, 2], [1, 3], [1, 4]];
    // Without an empty slot no search would end.
    for keys in 0..4 {
        let bytes = digests(4, &four, keys);
        refuses_bytes(&place, &bytes, "does not have as many digests");
    }
    refuses_bytes(&place, &digests(4, &four, 4), "claims 4 digests in 4 slots");
    for keys in [0, 2, 4, 6] {
        let bytes = digests(7, &four[..3], keys);
        refuses_bytes(&place, &bytes, "does not have as many digests");
    }
}

#[test]
fn digests_where_no_search_finds_them_can_be_worked_with() {
    let _alone = alone();
    let place = Place::new();
    let mut numbers = Numbers(7);
    for round in 0..300 {
        // Any home, anywhere, and often the same digest twice; the last slot stays empty.
        let slots = 2 + round % 9;
        let mut table = Vec::new();
        for _ in 1..slots {
            let digest = [numbers.next() % 3 * (u64::MAX / 3), numbers.next() % 3];
            table.push(digest);
        }
        let used = table.iter().filter(|&&digest| digest != [0, 0]).count() as u64;
        let start = numbers.below(slots as usize);
        table.push([0, 0]);
        table.rotate_left(start);
        let path = place.file("digests", digests(slots, &table, used));
        assert_eq!(examine::examine(&path).unwrap().keys(), used);
    }
    let equal = place.file("digests", digests(7, &[[9, 9]; 6], 6));
    examine::examine(&equal).unwrap();
}

#[test]
fn cells_that_are_all_at_their_top_can_be_worked_with() {
    let _alone = alone();
    let place = Place::new();
    for (mut parts, shape) in empties().take(4) {
        let bits = shape.bits() as usize;
        for bit in 0..bits {
            parts.body[bit / 8] |= 1 << (bit % 8);
        }
        let path = place.file("full", Image::new(&parts).bytes);
        let filter = examine::examine(&path).unwrap();
        assert!(filter.contains(b"anything"));
        assert_eq!(filter.occupancy().used, shape.cells);
    }
}

/// What the fuzz target does, from a fixed seed: bytes anywhere are changed and all checksums made right.
#[test]
fn files_with_some_bytes_changed_and_right_checksums_are_refused_or_can_be_worked_with() {
    let _alone = alone();
    let place = Place::new();
    let mut numbers = Numbers(2026);
    let path = place.path("patched");
    let mut taken = 0;
    for round in 0..4000 {
        let (mut parts, shape) = empties().nth(round % 5).unwrap();
        let filled = numbers.below(shape.bits() as usize / 8);
        let noise = numbers.bytes(filled);
        parts.body[..filled].copy_from_slice(&noise);
        let mut image = Image::new(&parts);
        for _ in 0..numbers.below(3) {
            // Where the fields are, mostly.
            let end = [120, PAGE - 8, image.bytes.len()][numbers.below(3)];
            let at = numbers.below(end);
            image.put(at, [numbers.next() as u8]);
        }
        image.seal();
        fs::write(&path, &image.bytes).unwrap();
        match examine::examine(&path) {
            Ok(_) => taken += 1,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Damaged, "{error}"),
        }
    }
    // Neither all nor none: otherwise the changes would have proved nothing.
    assert!((400..3600).contains(&taken), "{taken} of 4000");
}
