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
//! while a slot is theirs, and need no copy.

use crate::selection::{NO_ORDINAL, Place};

/// Slots for lines. A power of two.
const SLOTS: usize = 512;
/// The longest line that is remembered, in bytes.
const LONGEST: usize = 120;

/// Recently seen lines of one worker.
#[derive(Debug)]
pub(super) struct HotLines {
    /// The hash that came to each slot last; 0 at the start.
    hashes: Vec<u64>,
    /// A line of each slot whose hash came at least twice.
    lines: Vec<HotLine>,
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
            hashes: vec![0; SLOTS],
            lines: vec![nothing; SLOTS],
        }
    }

    /// Returns true if exactly this line was noted before, with a place that is not larger. Notes it if its hash
    /// came before.
    pub(super) fn is_repeat(&mut self, hash: u64, line: &[u8], place: impl Into<Place>) -> bool {
        let place = place.into();
        let slot = hash as usize % SLOTS;
        if self.hashes[slot] != hash {
            self.hashes[slot] = hash;
            return false;
        }
        let recent = &mut self.lines[slot];
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
        // A line of the same slot drives it out.
        assert!(!recent.is_repeat(7 + SLOTS as u64, b"other", 9));
        assert!(!recent.is_repeat(7, b"hot", 9));
        assert!(recent.is_repeat(7, b"hot", 9));
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
