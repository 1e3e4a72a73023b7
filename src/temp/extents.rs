//! Which parts of a file are in which place.
//!
//! *Owns:* the list of those parts of one file that are not where it begins. *Invariants:* a file that has
//! gone on in another place writes what follows there; so the list is no longer than the number of
//! places and of writes that were under way at the same time. *Cost:* nothing for a file whose place has room.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The parts of a file.
#[derive(Debug)]
pub(super) struct Extents {
    first_place: usize,
    parts: Mutex<Parts>,
}

#[derive(Debug)]
struct Parts {
    /// Where the next write goes.
    latest: usize,
    /// Parts that are not in the first place, by offset. They do not overlap.
    elsewhere: Vec<Extent>,
}

#[derive(Debug, Clone, Copy)]
struct Extent {
    start: u64,
    end: u64,
    place: usize,
}

impl Extents {
    /// A file that is in one place.
    pub(super) fn new(first_place: usize) -> Self {
        Self {
            first_place,
            parts: Mutex::new(Parts {
                latest: first_place,
                elsewhere: Vec::new(),
            }),
        }
    }

    /// The place that the next write goes to.
    pub(super) fn latest(&self) -> usize {
        self.lock().latest
    }

    /// Whether anything is in another place than the first.
    pub(super) fn has_parts(&self) -> bool {
        !self.lock().elsewhere.is_empty()
    }

    /// Notes that `bytes` from `start` on are in `place`; true if they are the first of this file in
    /// a place where it does not begin.
    pub(super) fn note(&self, place: usize, start: u64, bytes: u64) -> bool {
        if place == self.first_place {
            return false;
        }
        let mut parts = self.lock();
        parts.latest = place;
        let is_first = parts.elsewhere.iter().all(|part| part.place != place);
        let end = start + bytes;
        let at = parts.elsewhere.partition_point(|part| part.start < start);
        let before = at.checked_sub(1).map(|before| parts.elsewhere[before]);
        if before.is_some_and(|before| before.end == start && before.place == place) {
            parts.elsewhere[at - 1].end = end;
        } else {
            parts.elsewhere.insert(at, Extent { start, end, place });
        }
        is_first
    }

    /// The place of what is at `offset`, and where that part ends, at `end` or before.
    pub(super) fn part_at(&self, offset: u64, end: u64) -> (usize, u64) {
        let parts = self.lock();
        let next = parts.elsewhere.iter().find(|part| part.end > offset);
        match next {
            Some(part) if part.start <= offset => (part.place, part.end.min(end)),
            Some(part) => (self.first_place, part.start.min(end)),
            None => (self.first_place, end),
        }
    }

    /// All places that have a part of it.
    pub(super) fn places(&self) -> Vec<usize> {
        let mut places = vec![self.first_place];
        for part in &self.lock().elsewhere {
            if !places.contains(&part.place) {
                places.push(part.place);
            }
        }
        places
    }

    fn lock(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
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
        assert_eq!(extents.lock().elsewhere.len(), 3, "neighbours are one part");
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
