//! A cache of hot lines, those that were seen a moment ago: they are spilled a few times, not each time.
//!
//! *Owns:* a small table of recent lines, one per worker. *Invariants:* a line is called a repeat only if the very same
//! bytes were noted before by this worker, and so are in a bucket already, with a place that is not larger. A repeat
//! that is not noticed costs nothing but the spill that it would have cost anyway. *Cost:* 88 KiB per worker; one look
//! into it a line, and a copy of the line where its hash came twice.
//!
//! Real logs and crawls have lines that make up a per cent or half of the file. Spilled each time,
//! they would be written, read back and compared, all into one bucket.
//!
//! A slot remembers a hash first and the line only when the hash comes again: most lines come once
//! while a slot is theirs, and need no copy. The slots are in groups; a line may have any slot of its group, and takes
//! the one that was not used for longest. With one slot for a line, a sixth of a hundred hot lines had to share theirs,
//! and drove each other out.

use crate::selection::{NO_ORDINAL, Place};

/// Groups of slots. A power of two.
const GROUPS: usize = 128;
/// Slots of a group. A power of two.
const WAYS: usize = 4;
/// The bits of a hash that [`HotLines::hashes`] uses for a number of a slot.
const WAY_BITS: u64 = WAYS as u64 - 1;
/// The longest line that is remembered, in bytes.
const LONGEST: usize = 120;

/// Recently seen lines of one worker.
#[derive(Debug)]
pub(super) struct HotLines {
    /// The hashes that came to each group last, the latest first. The lowest bits of each are the number of its slot in
    /// the group, instead of its own.
    hashes: Vec<[u64; WAYS]>,
    /// A line of each slot whose hash came at least twice.
    lines: Vec<[HotLine; WAYS]>,
}

#[derive(Debug, Clone, Copy)]
struct HotLine {
    hash: u64,
    /// The smallest place with which it was spilled.
    place: Place,
    /// Bytes in use, up to [`LONGEST`]; more than that means that there is no line.
    length: u8,
    bytes: [u8; LONGEST],
}

impl HotLines {
    /// Makes a table that remembers nothing.
    pub(super) fn new() -> Self {
        let nothing = HotLine {
            hash: 0,
            place: NO_ORDINAL.into(),
            length: u8::MAX,
            bytes: [0; LONGEST],
        };
        Self {
            hashes: vec![std::array::from_fn(|slot| slot as u64); GROUPS],
            lines: vec![[nothing; WAYS]; GROUPS],
        }
    }

    /// Returns true if exactly this line was noted before, with a place that is not larger. Notes it if its hash
    /// came before.
    pub(super) fn is_repeat(&mut self, hash: u64, line: &[u8], place: impl Into<Place>) -> bool {
        let place = place.into();
        let group = hash as usize / WAYS % GROUPS;
        let hashes = &mut self.hashes[group];
        let noted = hashes.iter().position(|noted| (noted ^ hash) <= WAY_BITS);
        hashes[..=noted.unwrap_or(WAYS - 1)].rotate_right(1);
        let slot = hashes[0] & WAY_BITS;
        hashes[0] = hash & !WAY_BITS | slot;
        if noted.is_none() {
            return false;
        }
        let recent = &mut self.lines[group][slot as usize];
        if recent.hash == hash && recent.line() == Some(line) && recent.place <= place {
            return true;
        }
        recent.set(hash, line, place);
        false
    }
}

impl HotLine {
    /// Returns the line; `None` if there is none.
    fn line(&self) -> Option<&[u8]> {
        self.bytes.get(..usize::from(self.length))
    }

    /// Remembers `line`, unless it is too long: then the slot keeps what it had.
    fn set(&mut self, hash: u64, line: &[u8], place: Place) {
        if line.len() <= LONGEST {
            self.hash = hash;
            self.place = place;
            self.length = line.len() as u8;
            self.bytes[..line.len()].copy_from_slice(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_repeat_from_its_third_time_on() {
        let mut recent = HotLines::new();
        let times: Vec<bool> = (0..4).map(|_| recent.is_repeat(7, b"hot", 9)).collect();
        assert_eq!(times, [false, false, true, true]);
    }

    #[test]
    fn the_line_of_a_group_that_came_least_recently_is_driven_out() {
        let mut recent = HotLines::new();
        let mut comes = |number: usize| {
            let hash = 7 + (number * GROUPS * WAYS) as u64;
            recent.is_repeat(hash, format!("{number}").as_bytes(), 9)
        };
        // As many lines as slots come by turns without end.
        let turns: Vec<bool> = (0..4 * WAYS).map(|turn| comes(turn % WAYS)).collect();
        assert_eq!(turns, [[false; 2 * WAYS], [true; 2 * WAYS]].concat());
        // Another one drives out the first of them; the others stay.
        assert!(!comes(WAYS));
        assert!((1..WAYS).all(&mut comes));
        // It left no copy behind, so the first, when it is back in the same slot, finds its own.
        assert_eq!([0; 3].map(comes), [false, true, true]);
    }

    #[test]
    fn an_earlier_offset_of_a_line_is_no_repeat() {
        let mut recent = HotLines::new();
        let repeats = [5, 5, 6, 4, 4].map(|ordinal| recent.is_repeat(7, b"hot", ordinal));
        assert_eq!(repeats, [false, false, true, false, true]);
    }

    #[test]
    fn equal_hashes_do_not_make_a_repeat() {
        let mut recent = HotLines::new();
        for _ in 0..3 {
            for line in [&b"one"[..], b"two", b"", &[b'x'; LONGEST + 1]] {
                assert!(!recent.is_repeat(0, line, 9), "{line:?}");
            }
        }
        // The empty line was the last that found the slot.
        assert!(recent.is_repeat(0, b"", 9));
    }
}
