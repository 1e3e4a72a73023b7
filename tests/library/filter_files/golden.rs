//! Files that were written once, by the first version of the format, and must be read for ever (row I7 of the fault
//! table). `tests/golden/README.md` says how they were made.

use std::fs;
use std::path::PathBuf;

use outset::filter::{Filter, Kind, Rules, Shape, Words};
use outset::hash::LineHasher;
use outset::{Interrupt, LineFormat};

use super::{budget, mapped, open, small_shapes};
use crate::util::{Sandbox, beside_others, root};

const KEY: [u64; 4] = [
    0x0706_0504_0302_0100,
    0x0f0e_0d0c_0b0a_0908,
    0x1716_1514_1312_1110,
    0x1f1e_1d1c_1b1a_1918,
];
/// Lines that are in the filters.
const LINES: u32 = 40;

fn line(number: u32) -> Vec<u8> {
    format!("https://example.org/{number}").into_bytes()
}

/// Returns how often a line was inserted.
fn times(number: u32) -> u64 {
    1 + u64::from(number % 3)
}

fn path(kind: Kind) -> PathBuf {
    let name = format!("tests/golden/v1-{kind}.osf");
    root().join(name)
}

/// The rules of each kind: all there are, once.
fn rules(kind: Kind) -> Rules {
    let (terminator, strip_cr) = match kind {
        Kind::Blocked | Kind::Fingerprint => (b'\n', false),
        Kind::Classic => (b'\n', true),
        Kind::Counting => (0, false),
        Kind::Spectral => (0, true),
        kind => panic!("{kind} has no golden file"),
    };
    Rules {
        hasher: LineHasher::with_key(KEY),
        format: LineFormat {
            terminator,
            strip_cr,
            ..LineFormat::default()
        },
        key_form: outset::KeyForm::default(),
        planned_keys: u64::from(LINES),
    }
}

/// The filter that is in the file, made anew.
fn made_anew(shape: Shape) -> Filter {
    let mut filter = Filter::new(&budget(), shape, rules(shape.kind)).unwrap();
    for number in 0..LINES {
        for _ in 0..times(number) {
            filter.insert(&line(number)).unwrap();
        }
    }
    filter
}

/// The number of lines that are not in the filter and seem to be, of 1000.
fn wrong<W: Words>(filter: &Filter<W>) -> usize {
    let others = (LINES..LINES + 1000).map(line);
    others.filter(|line| filter.contains(line)).count()
}

fn assert_answers<W: Words>(filter: &Filter<W>) {
    let kind = filter.shape().kind;
    for number in 0..LINES {
        let line = line(number);
        assert!(filter.contains(&line), "{kind} lost {number}");
        let count = filter.count(&line);
        match kind {
            Kind::Counting | Kind::Spectral => assert!(count >= times(number), "{kind} {number}"),
            _ => assert_eq!(count, 1, "{kind} {number}"),
        }
    }
    assert!(!filter.contains(b""));
    let expected = match kind {
        Kind::Blocked | Kind::Fingerprint => 0,
        Kind::Classic => 1,
        Kind::Counting => 35,
        Kind::Spectral => 193,
        kind => panic!("{kind} has no golden file"),
    };
    assert_eq!(wrong(filter), expected, "{kind}");
}

#[test]
fn i7_files_of_version_1_are_read_as_ever() {
    let _shared = beside_others();
    for shape in small_shapes() {
        let kind = shape.kind;
        let stored = open(&path(kind));
        assert_eq!(stored.shape(), shape);
        assert_eq!(stored.rules().format, rules(kind).format);
        assert_eq!(stored.rules().planned_keys, 40);
        let hasher = LineHasher::with_key(KEY);
        let hash = |hasher: LineHasher| hasher.hash(b"outset");
        assert_eq!(hash(stored.rules().hasher), hash(hasher));
        let keys = if kind == Kind::Fingerprint { 40 } else { 79 };
        assert_eq!(stored.keys(), keys, "{kind}");
        assert_answers(&stored.load(&budget(), 2).unwrap());
        assert_answers(&mapped(stored));
    }
}

#[test]
fn i7_a_filter_of_the_same_lines_is_written_as_ever() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    for shape in small_shapes() {
        let made = sandbox.path("made");
        made_anew(shape).save(&made, &Interrupt::new()).unwrap();
        assert!(
            fs::read(made).unwrap() == fs::read(path(shape.kind)).unwrap(),
            "{} differs from what is written now",
            path(shape.kind).display()
        );
    }
}
