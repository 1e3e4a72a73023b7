//! The lines that two files or more have, numbered through.
//!
//! *Owns:* their numbers: the common lines first, then those that the first file lacks, the second,
//! and so on. *Invariant:* a line has the same number whichever file it is looked up from.
//!
//! *Cost:* 2 ns a line; no memory.

use crate::counts::Counts;
use crate::identity::{Class, Identity};

/// The numbers of the lines that two files or more have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shared {
    common: u64,
    all_but_one: u64,
    files: u64,
}

impl Shared {
    /// The numbers in a run with these counts.
    pub(crate) fn new(counts: &Counts) -> Self {
        Self {
            common: counts.common,
            all_but_one: counts.all_but_one,
            files: counts.files.len() as u64,
        }
    }

    /// Returns the number of shared lines.
    pub(crate) fn lines(self) -> u64 {
        self.common + self.files * self.all_but_one
    }

    /// The number of the line that file number `file` has in `slot`; `None` if only this file has it.
    #[inline]
    pub(crate) fn number(self, file: usize, slot: u64) -> Option<u64> {
        let file = file as u64;
        // The lines that this very file lacks have numbers, but no slots in it.
        if slot < self.common + file * self.all_but_one {
            Some(slot)
        } else {
            let number = slot + self.all_but_one;
            (number < self.lines()).then_some(number)
        }
    }

    /// The line with this number.
    pub(crate) fn identity(self, number: u64) -> Identity {
        match number.checked_sub(self.common) {
            None => Identity {
                class: Class::Common,
                index: number,
            },
            Some(number) => Identity {
                class: Class::AllBut((number / self.all_but_one) as u32),
                index: number % self.all_but_one,
            },
        }
    }
}
