//! Filters of billions of lines: sizes by arithmetic, and real filters of more than 2^35 bits, of which only a little
//! is ever touched.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use outset::filter::{Filter, Kind, Shape};

use crate::filters::empty;
use crate::util::beside_others;

const FIVE_BILLION: u64 = 5_000_000_000;
const GIB: u64 = 1 << 30;

#[test]
fn i8_sizes_are_right_beyond_32_bits() {
    // -n k / ln(1 - p^(1/k)) for n = 5e9, p = 1 %, k = 7: 47.96 Gbit.
    let shape = Shape::for_fpr(Kind::Classic, FIVE_BILLION, 0.01, None);
    assert!(shape.cells.abs_diff(47_964_773_586) < 100, "{shape:?}");
    assert_eq!(shape.hashes, 7);
    assert_eq!(shape.bytes(), shape.cells.div_ceil(64) * 8);
    let counting = Shape::for_fpr(Kind::Counting, FIVE_BILLION, 0.01, None);
    assert_eq!((counting.cells, counting.hashes), (shape.cells, 7));
    assert_eq!(counting.bits(), 4 * shape.cells);
    let spectral = Shape::for_fpr(Kind::Spectral, FIVE_BILLION, 0.01, None);
    assert_eq!(spectral.bits(), 16 * shape.cells);
    let blocked = Shape::for_fpr(Kind::Blocked, FIVE_BILLION, 0.01, None);
    assert_eq!(blocked.cells % 512, 0);
    assert!(blocked.cells > shape.cells && blocked.cells < shape.cells * 5 / 4);
    assert!(blocked.predicted_fpr(FIVE_BILLION) <= 0.01);
    let digests = Shape::for_fpr(Kind::Fingerprint, FIVE_BILLION, 0.01, None);
    assert!(digests.capacity() >= FIVE_BILLION && digests.bytes() == digests.cells * 16);
    for kind in Kind::ALL {
        let shape = Shape::for_bytes(kind, FIVE_BILLION, 8 * GIB, None);
        assert_eq!(shape.bytes(), 8 * GIB, "{kind}");
        assert_eq!(shape.cells, (1 << 36) / kind.cell_bits(), "{kind}");
    }
}

/// Lines that are put into a large filter: a page that is touched may be one of 2 MiB.
const LINES: u32 = 600;
/// Parts of a filter that must all be reached.
const PARTS: u64 = 32;

fn line(number: u32) -> Vec<u8> {
    format!("https://example.org/{number}").into_bytes()
}

/// Finds the parts of the one mapping of at least `bytes` bytes that have been touched; `None` where the system does
/// not say.
fn touched(bytes: u64) -> Option<Vec<bool>> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let ranges = maps.lines().filter_map(|line| {
        let (start, end) = line.split_whitespace().next()?.split_once('-')?;
        let parse = |text| u64::from_str_radix(text, 16).ok();
        Some((parse(start)?, parse(end)?))
    });
    let (start, end) = ranges
        .into_iter()
        .find(|(start, end)| end - start >= bytes)?;
    let pages = File::open("/proc/self/pagemap").ok()?;
    let part = (end - start) / PARTS;
    let is_touched = |number: u64| {
        let mut entries = vec![0u8; (part / 4096 * 8) as usize];
        let offset = (start + number * part) / 4096 * 8;
        pages.read_exact_at(&mut entries, offset).ok()?;
        // The highest bit of an entry: the page is present.
        Some(entries.chunks_exact(8).any(|entry| entry[7] & 0x80 != 0))
    };
    (0..PARTS).map(is_touched).collect()
}

fn check_large(kind: Kind, hashes: u32) {
    let shape = Shape::for_bytes(kind, FIVE_BILLION, 8 * GIB, Some(hashes));
    assert!(shape.bits() > 1 << 35);
    let mut filter: Filter = empty(shape, FIVE_BILLION);
    for number in 0..LINES {
        assert!(filter.insert(&line(number)).unwrap(), "{kind}: {number}");
    }
    match touched(8 * GIB) {
        Some(parts) => assert!(parts.iter().all(|&part| part), "{kind}: {parts:?}"),
        None => eprintln!("not checked which parts of a filter were reached"),
    }
    for number in 0..LINES {
        assert!(filter.contains(&line(number)), "{kind}: {number}");
        // Cells that wrapped around at 2^32 or 2^35 would meet.
        assert!(!filter.contains(&line(LINES + number)), "{kind}: {number}");
    }
    if kind == Kind::Counting {
        for number in 0..LINES {
            assert!(filter.remove(&line(number)).unwrap());
            assert!(!filter.contains(&line(number)));
        }
    }
}

#[test]
#[ignore = "slow: touches up to 3 GB of memory"]
fn i8_filters_of_8_gibibytes_are_used_up_to_their_top() {
    let _shared = beside_others();
    check_large(Kind::Blocked, 5);
    check_large(Kind::Classic, 2);
    check_large(Kind::Counting, 2);
    check_large(Kind::Fingerprint, 1);
}
