//! Bodies whose checksums are right and that no filter ever had: opening such a file gives an error or a filter with
//! other answers, and neither a panic nor an endless search.

use std::fs;

use outset::ErrorKind;

use super::hostile::{empties, patched};
use super::image::{Image, PAGE};
use super::{Numbers, examine, refuses_bytes};
use crate::util::{Sandbox, beside_others};

#[test]
fn bits_behind_the_last_cell_and_in_the_rest_of_the_table_are_refused() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    for (mut parts, shape) in empties() {
        let behind = shape.bytes() * 8 - shape.bits();
        for bit in 0..behind {
            let mut body = vec![0; shape.bytes() as usize];
            let at = (shape.bits() + bit) as usize;
            body[at / 8] = 1 << (at % 8);
            parts.body = body;
            let bytes = Image::new(&parts).bytes;
            refuses_bytes(&sandbox, &bytes, "bits set after its last cell");
        }
        // The zeros behind the table are under its checksum alone.
        let mut bytes = patched(&parts, &[]);
        bytes[2 * PAGE - 1] = 1;
        refuses_bytes(&sandbox, &bytes, "its table is damaged");
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
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let four = [[1, 1], [1, 2], [1, 3], [1, 4]];
    // Without an empty slot no search would end.
    for keys in 0..4 {
        let bytes = digests(4, &four, keys);
        refuses_bytes(&sandbox, &bytes, "does not have as many digests");
    }
    refuses_bytes(
        &sandbox,
        &digests(4, &four, 4),
        "has 4 digests, too many for 4 slots",
    );
    for keys in [0, 2, 4, 6] {
        let bytes = digests(7, &four[..3], keys);
        refuses_bytes(&sandbox, &bytes, "does not have as many digests");
    }
}

#[test]
fn digests_where_no_search_finds_them_can_be_worked_with() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
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
        let path = sandbox.file("digests", digests(slots, &table, used));
        assert_eq!(examine::examine(&path).unwrap().keys(), used);
    }
    let equal = sandbox.file("digests", digests(7, &[[9, 9]; 6], 6));
    examine::examine(&equal).unwrap();
}

#[test]
fn cells_that_are_all_at_their_top_can_be_worked_with() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    for (mut parts, shape) in empties().take(4) {
        let bits = shape.bits() as usize;
        for bit in 0..bits {
            parts.body[bit / 8] |= 1 << (bit % 8);
        }
        let path = sandbox.file("full", Image::new(&parts).bytes);
        let filter = examine::examine(&path).unwrap();
        assert!(filter.contains(b"anything"));
        assert_eq!(filter.occupancy().used, shape.cells);
    }
}

#[test]
fn files_with_some_bytes_changed_and_right_checksums_are_refused_or_can_be_worked_with() {
    some_bytes_changed(1500);
}

#[test]
#[ignore = "slow: many files"]
fn files_with_any_bytes_changed_and_right_checksums_are_refused_or_can_be_worked_with() {
    some_bytes_changed(20_000);
}

/// Does what the fuzz target does, from a fixed seed: bytes anywhere are changed and all checksums made right.
fn some_bytes_changed(rounds: usize) {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let mut numbers = Numbers(2026);
    let path = sandbox.path("patched");
    let mut taken = 0;
    for round in 0..rounds {
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
    assert!(
        (rounds / 10..rounds / 10 * 9).contains(&taken),
        "{taken} of {rounds}"
    );
}
