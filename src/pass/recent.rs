//! Lines that were seen a moment ago: hot lines are spilled a few times, not each
//! time.
//!
//! *Owns:* a small table of recent lines, one per worker. *Invariants:* a line is called a repeat
//! only if the very same bytes were noted before by this worker, and so are in a bucket already;
//! that a repeat is not noticed costs nothing but the spill that it would have cost anyway.
//! *Cost:* 72 KiB per worker; one look into it a line, and a copy of the line where its hash came
//! twice.
//!
//! Real logs and crawls have lines that make up a per cent or half of the file. Spilled each time,
//! they would be written, read back and compared, all into one bucket.
//!
//! A place remembers a hash first and the line only when the hash comes again: most lines come once
//! in the time that a place is theirs, and need no copy.

/// Places for lines. A power of two.
const PLACES: usize = 512;
/// The longest line that is remembered, in bytes.
const LONGEST: usize = 120;

/// Recently seen lines of one worker.
#[derive(Debug)]
pub(super) struct RecentLines {
    /// The hash that came to each place last; 0 at the start.
    hashes: Vec<u64>,
    /// A line of each place whose hash came at least twice.
    lines: Vec<RecentLine>,
}

#[derive(Debug, Clone, Copy)]
struct RecentLine {
    hash: u64,
    /// Bytes in use, up to [`LONGEST`]; more than that means that there is no line.
    length: u8,
    bytes: [u8; LONGEST],
}

impl RecentLines {
    /// A table that remembers nothing.
    pub(super) fn new() -> Self {
        let nothing = RecentLine {
            hash: 0,
            length: u8::MAX,
            bytes: [0; LONGEST],
        };
        Self {
            hashes: vec![0; PLACES],
            lines: vec![nothing; PLACES],
        }
    }

    /// Whether exactly this line was noted before. Notes it if its hash came before.
    pub(super) fn is_repeat(&mut self, hash: u64, line: &[u8]) -> bool {
        let place = hash as usize % PLACES;
        if self.hashes[place] != hash {
            self.hashes[place] = hash;
            return false;
        }
        let recent = &mut self.lines[place];
        if recent.hash == hash && recent.line() == Some(line) {
            return true;
        }
        recent.set(hash, line);
        false
    }
}

impl RecentLine {
    /// The line; `None` where there is none.
    fn line(&self) -> Option<&[u8]> {
        self.bytes.get(..usize::from(self.length))
    }

    /// Remembers `line`, unless it is too long: then the place keeps what it had.
    fn set(&mut self, hash: u64, line: &[u8]) {
        if line.len() <= LONGEST {
            self.hash = hash;
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
        let mut recent = RecentLines::new();
        let times: Vec<bool> = (0..4).map(|_| recent.is_repeat(7, b"hot")).collect();
        assert_eq!(times, [false, false, true, true]);
        // What shares its place drives it out.
        assert!(!recent.is_repeat(7 + PLACES as u64, b"other"));
        assert!(!recent.is_repeat(7, b"hot"));
        assert!(recent.is_repeat(7, b"hot"));
    }

    #[test]
    fn equal_hashes_do_not_make_a_repeat() {
        let mut recent = RecentLines::new();
        for _ in 0..3 {
            for line in [&b"one"[..], b"two", b"", &[b'x'; LONGEST + 1]] {
                assert!(!recent.is_repeat(0, line), "{line:?}");
            }
        }
        // The empty line was the last that found the place.
        assert!(recent.is_repeat(0, b""));
    }
}
