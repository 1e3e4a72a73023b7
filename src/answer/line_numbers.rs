//! The numbers of lines in their files, for those who ask which lines were dropped, and for which.
//!
//! *Owns:* [`LineNumbers`]: the number of lines of each piece of an input, and the name of the place of a line. Where
//! an input is read in order, its reader counts the lines before each chunk of a piece. A file that is read by position
//! has many readers: none knows how many lines come before its chunk. So each chunk is a piece of its own there, and a
//! line is known by its number in its piece until all inputs are read:
//!
//! ```text
//! ordinal   │ side, from 1: 16 │ position of its piece in the side, plus the lines before it in the piece: 48 │
//!
//!  piece at 0             piece at 65,530         piece at 131,000
//!  aaa⏎bb⏎cccccc⏎ddd⏎     ee⏎ffff⏎                g⏎
//!  0   1  2      3        65,530 65,531           131,000            its ordinal in the side
//!  1   2  3      4        5  6                    7                  its number in the file, when all pieces are known
//! ```
//!
//! A row of a Parquet file is known by its number at once: its ordinal is that of the file, plus this number.
//!
//! *Invariants:* ordinals have the order of the lines, as those have that are made of bytes: a piece has no more lines
//! than bytes. Lines are counted in the pass that spills them; other passes may cut chunks elsewhere. Nobody asks for a
//! number before all are counted.
//!
//! *Cost:* 64 bytes for each piece, counting line ends, and a binary search for each place that is told.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use serde::Serialize;

use crate::answer::rules::LINE_NUMBERS;
use crate::error::Result;
use crate::input::Input;
use crate::memory::budget::{MemoryBudget, Reservation};
use crate::selection::{NUMBERED_PIECE_BYTES, side_and_offset};
use crate::sys::sync::Mutex;

/// The lines of a piece.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PieceLines {
    /// The ordinal of its first line.
    pub(crate) ordinal: u64,
    /// The number of its lines; of all lines before them in the file, once all are counted.
    pub(crate) lines: u64,
    /// The file that it is of.
    pub(crate) part: u32,
    /// The lines of its file that were read before its first chunk: a header.
    pub(crate) taken: u32,
}

// A map has gaps, and is copied once.
const _: () = assert!(size_of::<PieceLines>() as u64 * 8 / 3 <= NUMBERED_PIECE_BYTES);

/// The files of a side.
#[derive(Debug, Default)]
struct SideFiles {
    /// The name of each.
    names: Arc<Vec<PathBuf>>,
    /// The ordinals of the files, if they are Parquet files.
    tables: Vec<u64>,
}

/// The place of a line, or of a row.
#[derive(Debug, Serialize)]
struct LinePlace<'a> {
    file: Cow<'a, str>,
    #[serde(flatten)]
    number: Number,
}

/// A number in a file.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Number {
    /// Of a line, from 1.
    Line(u64),
    /// Of a row, from 0.
    Row(u64),
}

/// A line that is dropped, and the one that is kept.
#[derive(Debug, Serialize)]
struct Dropped<'a> {
    #[serde(flatten)]
    dropped: LinePlace<'a>,
    kept: LinePlace<'a>,
}

/// The numbers of all lines of the inputs that have ordinals, shared by threads.
#[derive(Debug)]
pub(crate) struct LineNumbers {
    /// The files of each side, by its number.
    sides: Vec<SideFiles>,
    /// The bits that are turned over in ordinals.
    mask: u64,
    /// The pieces by their ordinals, and the memory for them.
    counted: Mutex<(BTreeMap<u64, PieceLines>, Reservation)>,
    /// All of them, once the first number is asked for.
    sorted: OnceLock<Vec<PieceLines>>,
}

impl LineNumbers {
    /// Returns the memory for the last pieces of each file of `inputs`, in bytes.
    pub(crate) fn bytes_of_files(inputs: &[Input]) -> u64 {
        let files = inputs.iter().map(Input::part_count).sum::<usize>() as u64;
        files * 2 * NUMBERED_PIECE_BYTES
    }

    /// Makes room in `bytes`, and in [`LineNumbers::bytes_of_files`], for the pieces of those `inputs` that have
    /// ordinals, which have the bits of `mask` turned over.
    pub(crate) fn new(inputs: &[Input], mask: u64, bytes: u64) -> Self {
        let mut sides = Vec::new();
        for input in inputs {
            let Some(ordinal) = input.first_ordinal() else {
                continue;
            };
            let (side, _) = side_and_offset(ordinal);
            sides.resize_with(sides.len().max(side + 1), SideFiles::default);
            let tables = input.parts().filter(|parts| parts.has_tables());
            sides[side] = SideFiles {
                names: input.part_names(),
                tables: tables.map_or_else(Vec::new, |parts| {
                    parts.starts().map(|start| ordinal + start).collect()
                }),
            };
        }
        let budget = MemoryBudget::new(bytes + Self::bytes_of_files(inputs), 0);
        let memory = budget.reserve_nothing(LINE_NUMBERS);
        Self {
            sides,
            mask,
            counted: Mutex::new((BTreeMap::new(), memory)),
            sorted: OnceLock::new(),
        }
    }

    /// Counts the lines of a piece, or of more of one than before.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where there is no room for more pieces.
    pub(crate) fn count(&self, piece: PieceLines) -> Result<()> {
        let (counted, memory) = &mut *self.counted.lock();
        match counted.entry(piece.ordinal) {
            Entry::Occupied(mut known) => {
                let lines = &mut known.get_mut().lines;
                *lines = piece.lines.max(*lines);
            }
            Entry::Vacant(new) => {
                memory.grow(NUMBERED_PIECE_BYTES)?;
                new.insert(piece);
            }
        }
        Ok(())
    }

    /// Writes to `text` which line was dropped, and which was kept, by what the set and the batch have as their
    /// ordinals.
    pub(super) fn tell(&self, text: &mut Vec<u8>, dropped: u64, kept: u64) {
        text.clear();
        let dropped = Dropped {
            dropped: self.place(dropped ^ self.mask),
            kept: self.place(kept ^ self.mask),
        };
        // Writing to memory does not fail, and names are texts.
        let written = serde_json::to_writer(text, &dropped);
        debug_assert!(written.is_ok());
    }

    /// Returns the place of the line at `ordinal`.
    fn place(&self, ordinal: u64) -> LinePlace<'_> {
        let (side, _) = side_and_offset(ordinal);
        let (part, number) = match self.sides.get(side) {
            Some(side) if !side.tables.is_empty() => {
                let behind = side.tables.partition_point(|&start| start <= ordinal);
                let part = behind.saturating_sub(1);
                (part, Number::Row(ordinal - side.tables[part]))
            }
            _ => self.line(ordinal),
        };
        let side = self.sides.get(side);
        let name = side.and_then(|side| side.names.get(part));
        LinePlace {
            file: name.map_or_else(Default::default, |name| name.to_string_lossy()),
            number,
        }
    }

    /// Returns the number of the line at `ordinal`, and of the file that it is in.
    fn line(&self, ordinal: u64) -> (usize, Number) {
        let pieces = self.sorted.get_or_init(|| self.sorted());
        let behind = pieces.partition_point(|piece| piece.ordinal <= ordinal);
        let piece = behind.checked_sub(1).and_then(|at| pieces.get(at));
        piece.map_or((0, Number::Line(0)), |piece| {
            let before = piece.lines + (ordinal - piece.ordinal);
            (piece.part as usize, Number::Line(before + 1))
        })
    }

    /// Takes the pieces, each with the number of lines before it in its file.
    fn sorted(&self) -> Vec<PieceLines> {
        let counted = std::mem::take(&mut self.counted.lock().0);
        let mut pieces: Vec<PieceLines> = counted.into_values().collect();
        let (mut file, mut before) = (None, 0);
        for piece in &mut pieces {
            let (side, _) = side_and_offset(piece.ordinal);
            if file.replace((side, piece.part)) != Some((side, piece.part)) {
                before = piece.taken.into();
            }
            before += std::mem::replace(&mut piece.lines, before);
        }
        pieces
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::selection::first_ordinal;

    /// Returns the number of the file of side 2, and of the line, that is told of an ordinal of the side.
    fn told(numbers: &LineNumbers, ordinal: u64) -> (usize, u64) {
        match numbers.line(first_ordinal(2) + ordinal) {
            (part, Number::Line(line)) => (part, line),
            (_, Number::Row(_)) => panic!("it has no rows"),
        }
    }

    #[test]
    fn l12_lines_are_numbered_in_their_files_whatever_the_order_of_their_pieces() {
        let numbers = LineNumbers::new(&[], 0, 4 * NUMBERED_PIECE_BYTES);
        let count = |start: u64, lines, part, taken| {
            numbers.count(PieceLines {
                ordinal: first_ordinal(2) + start,
                lines,
                part,
                taken,
            })
        };
        // The third file has nothing; the first piece of the second one is counted in steps, the later one first.
        count(900, 3, 3, 0).unwrap();
        count(100, 40, 1, 2).unwrap();
        count(300, 5, 1, 0).unwrap();
        count(100, 30, 1, 2).unwrap();
        count(0, 7, 0, 0).unwrap();
        let full = count(2000, 1, 4, 0).unwrap_err();
        assert!(matches!(full, Error::Memory { consumer, .. } if consumer == LINE_NUMBERS));
        assert_eq!([0, 6].map(|at| told(&numbers, at)), [(0, 1), (0, 7)]);
        assert_eq!([100, 139].map(|at| told(&numbers, at)), [(1, 3), (1, 42)]);
        assert_eq!([300, 304].map(|at| told(&numbers, at)), [(1, 43), (1, 47)]);
        assert_eq!([900, 902].map(|at| told(&numbers, at)), [(3, 1), (3, 3)]);
    }
}
