//! Filter files: what was saved comes back the same, what is not what was saved is refused, and a file of any bytes at
//! all cannot do more than that.
//!
//! All that is random here is so from a fixed seed.

use std::path::Path;

use outset::filter::{Filter, Kind, Mapped, Rules, Shape, StoredFilter};
use outset::hash::LineHasher;
use outset::memory::budget::MemoryBudget;
use outset::{Error, ErrorKind, Interrupt, LineFormat};

use crate::util::{MIB, Sandbox};

mod cells;
mod crafted; // bodies with right checksums over what no filter has
mod damaged; // every bit, every length, what is no filter file, what happens while one is in use
mod examine; // all that can be asked of a file
mod golden; // files that were written once and must be read for ever
mod hostile; // headers with right checksums over what cannot be
mod image; // a file as the documentation says
mod merging; // filters that do not belong together
pub(crate) mod recipe; // files from the bytes of a fuzzer
mod round_trip; // saved, opened, loaded, mapped

/// The key of all filters here that do not say otherwise.
const KEY: [u64; 4] = [11, 22, 33, 44];

fn rules() -> Rules {
    Rules {
        hasher: LineHasher::with_key(KEY),
        format: LineFormat::default(),
        key_form: outset::KeyForm::default(),
        planned_keys: 100,
    }
}

fn budget() -> MemoryBudget {
    MemoryBudget::new(64 * MIB, 0)
}

/// Shapes of a few hundred cells, of which the last word is not full where the kind allows it.
fn small_shapes() -> [Shape; 5] {
    [
        (Kind::Blocked, 1024, 6),
        (Kind::Classic, 500, 7),
        (Kind::Counting, 300, 4),
        (Kind::Spectral, 150, 3),
        (Kind::Fingerprint, 64, 1),
    ]
    .map(|(kind, cells, hashes)| Shape {
        kind,
        cells,
        hashes,
    })
}

fn line(number: u32) -> Vec<u8> {
    format!("line {number}").into_bytes()
}

/// A filter of the lines 0 to `lines`, of which every third is in twice.
fn filled(shape: Shape, rules: Rules, lines: u32) -> Filter {
    let mut filter = Filter::new(&budget(), shape, rules).unwrap();
    for number in 0..lines {
        for _ in 0..=u32::from(number % 3 == 0) {
            filter.insert(&line(number)).unwrap();
        }
    }
    filter
}

/// The bytes of the file of a filter.
fn saved(sandbox: &Sandbox, filter: &Filter) -> Vec<u8> {
    let path = sandbox.path("saved");
    filter.save(&path, &Interrupt::new()).unwrap();
    std::fs::read(path).unwrap()
}

/// Opens a file, which must be a filter.
fn open(path: &Path) -> StoredFilter {
    StoredFilter::open(path).unwrap()
}

/// Checks the rest of a file and maps it.
fn mapped(stored: StoredFilter) -> Filter<Mapped> {
    let checked = stored.check(&budget()).unwrap();
    checked.map(&budget()).unwrap()
}

/// Checks that opening, loading or mapping the file fails, in one line that begins with its name.
fn refuses(path: &Path, kind: ErrorKind) -> Error {
    let error = match examine::examine(path) {
        Ok(filter) => panic!("{} was taken for {filter:?}", path.display()),
        Err(error) => error,
    };
    let message = error.to_string();
    assert_eq!(error.kind(), kind, "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    let name = path.display().to_string();
    assert!(message.starts_with(&name), "{message}");
    error
}

/// Works as [`refuses`], for a file of these bytes and a reason that has `part` in it.
fn refuses_bytes(sandbox: &Sandbox, bytes: &[u8], part: &str) {
    let message = refuses(&sandbox.file("bytes", bytes), ErrorKind::Damaged).to_string();
    assert!(message.contains(part), "{message}, not {part:?}");
}

/// Numbers that look random and are not.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}
