//! The places that the parts of a file are in.
//!
//! *Owns:* the list of those parts of one file that are not in the place where it begins.
//!
//! A file of three places, whose first two became full:
//!
//! ```text
//!  offset       0            40 MiB      100 MiB       130 MiB
//!  place 0      │ blocks     │ (hole)
//!  place 1      │ (hole)     │ blocks    │ (hole)
//!  place 2      │ (hole)                 │ blocks      │
//!  elsewhere    { 40..100 MiB: place 1 }, { 100..130 MiB: place 2 }
//! ```
//!
//! All parts have the same name and keep their offsets, so each is a sparse file. Two writer threads may move
//! the file on at the same time, to different places; then parts of both alternate for a few blocks.
//!
//! *Invariants:* parts do not overlap, and are sorted. After a file has moved on, later writes begin in the
//! new place. So the list is no longer than the number of places and of writes that were under way at the
//! same time.
//!
//! *Cost:* a lock per read or write; no memory for a file whose place has room.

use parking_lot::Mutex;

/// The parts of a file. The threads that write it share it; places are their numbers in [`Places`].
///
/// [`Places`]: crate::temp::places::Places
#[derive(Debug)]
pub(super) struct Extents {
    /// The place where the file begins, and which has everything that is not in the list.
    first_place: usize,
    parts: Mutex<Parts>,
}

/// The list behind the lock. It is never locked during I/O.
#[derive(Debug)]
struct Parts {
    /// The place where the next write is tried first.
    latest: usize,
    /// Parts that are not in the first place, sorted by offset. They do not overlap.
    elsewhere: Vec<Extent>,
}

/// A range of offsets in one place.
#[derive(Debug, Clone, Copy)]
struct Extent {
    /// The first byte.
    start: u64,
    /// The end behind the last byte; that of a block includes the hole up to the next.
    end: u64,
    place: usize,
}

impl Extents {
    /// Describes a file that is in one place, as far as it is written.
    pub(super) fn new(first_place: usize) -> Self {
        Self {
            first_place,
            parts: Mutex::new(Parts {
                latest: first_place,
                elsewhere: Vec::new(),
            }),
        }
    }

    /// Returns the place that the next write goes to.
    pub(super) fn latest(&self) -> usize {
        self.parts.lock().latest
    }

    /// Returns true if anything is in another place than the first.
    pub(super) fn has_parts(&self) -> bool {
        !self.parts.lock().elsewhere.is_empty()
    }

    /// Notes that `bytes` from `start` on are in `place`, after they were written there. True if they are the
    /// first of this file in a place where it does not begin: of several threads, one gets true for a place.
    pub(super) fn note(&self, place: usize, start: u64, bytes: u64) -> bool {
        // Nothing to note. `latest` stays as well: another thread may have moved the file on meanwhile.
        if place == self.first_place {
            return false;
        }
        let mut parts = self.parts.lock();
        parts.latest = place;
        let is_first = parts.elsewhere.iter().all(|part| part.place != place);
        let end = start + bytes;
        let at = parts.elsewhere.partition_point(|part| part.start < start);
        // Joined with the part in front of it, as nearly all are. A gap to the part behind is filled later by the
        // thread that writes it, as a part of its own.
        let before = at.checked_sub(1).map(|before| parts.elsewhere[before]);
        if before.is_some_and(|before| before.end == start && before.place == place) {
            parts.elsewhere[at - 1].end = end;
        } else {
            parts.elsewhere.insert(at, Extent { start, end, place });
        }
        is_first
    }

    /// Returns the place of the byte at `offset`, and the offset up to which everything is in that place, at most
    /// `end`. A reader calls it again from there until it is at `end`.
    pub(super) fn part_at(&self, offset: u64, end: u64) -> (usize, u64) {
        let parts = self.parts.lock();
        let next = parts.elsewhere.iter().find(|part| part.end > offset);
        match next {
            Some(part) if part.start <= offset => (part.place, part.end.min(end)),
            Some(part) => (self.first_place, part.start.min(end)),
            None => (self.first_place, end),
        }
    }

    /// Lists all places that have a part of the file, the first one included, each once.
    pub(super) fn places(&self) -> Vec<usize> {
        let mut places = vec![self.first_place];
        for part in &self.parts.lock().elsewhere {
            if !places.contains(&part.place) {
                places.push(part.place);
            }
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e14_what_went_elsewhere_is_found_where_it_went() {
        let extents = Extents::new(0);
        assert!(!extents.note(0, 0, 10) && !extents.has_parts());
        // The block at 20 was under way when the one at 10 found no room.
        assert!(extents.note(1, 10, 10));
        assert!(!extents.note(0, 20, 10));
        assert_eq!(extents.latest(), 1);
        for start in [30, 40] {
            assert!(!extents.note(1, start, 10));
        }
        assert!(extents.note(2, 50, 10), "the second place is full, too");
        assert_eq!(
            extents.parts.lock().elsewhere.len(),
            3,
            "neighbours are one part"
        );
        let (mut at, mut found) = (0, Vec::new());
        while at < 60 {
            let (place, end) = extents.part_at(at, 60);
            found.push((place, at, end));
            at = end;
        }
        let parts = [
            (0, 0, 10),
            (1, 10, 20),
            (0, 20, 30),
            (1, 30, 50),
            (2, 50, 60),
        ];
        assert_eq!(found, parts);
        assert_eq!(extents.part_at(12, 15), (1, 15));
        assert_eq!(extents.places(), [0, 1, 2]);
    }
}
