//! A bit for each line of plain files that are read once more: it says whether the line is in the answer.
//!
//! *Owns:* [`CellBits`], and the numbers that lines have in it.
//!
//! Files are divided into cells of 64 KiB from where their reading begins, and a line is one of the cell in which it
//! begins. Lines are numbered in their cell, so its number does not depend on the chunks in which it is read, by which
//! thread, or how often: chunks are made of whole cells. The ordinal of a line is made of both:
//!
//! ```text
//! ordinal   │ side, from 1: 16 │ start of the cell in the side, plus the number of the line in the cell: 48 │
//!
//!  cell 0                 cell 1                  cell 2
//!  aaa⏎bb⏎cccccc⏎ddddddddd│dddddddd⏎ee⏎ffff⏎ggg⏎│h⏎ ...
//!  0   1  2      the last │         0  1    2     0
//! ```
//!
//! A line that goes on beyond its cell may come in a chunk of its own, where nobody knows how many are before it. It is
//! the last of its cell, and has the last number: one below the next cell's start. It has a bit for its cell.
//!
//! *Invariants:* of two lines the one that comes earlier has the smaller ordinal, and no two have the same. A cell gets
//! the bits for its lines when it is read for the first time, before any of them can be in the answer.
//!
//! *Cost:* a bit for each line, and 16 bytes or so for each cell. A page becomes resident with its first bit.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::answer::rules::KEPT_LINES;
use crate::error::Result;
use crate::input::Input;
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::AtomicWords;
use crate::selection::{CELL_BYTES, LAST_OF_CELL, side_and_offset};

/// Bits of a word.
const WORD: u64 = 64;

/// A bit for each line, shared by threads.
#[derive(Debug)]
pub(crate) struct CellBits {
    /// The cells of each side, by its number; empty for one whose lines are not written.
    sides: Vec<Vec<FileCells>>,
    /// A bit for each cell: the line is kept that goes on beyond it.
    last_bits: AtomicWords,
    /// For each cell one more than the word that its bits begin with; 0 before it is read.
    starts: AtomicWords,
    /// The bits of all other lines.
    bits: AtomicWords,
    /// Words of `bits` that cells have.
    used: AtomicU64,
    budget: MemoryBudget,
}

/// The cells of a file.
#[derive(Debug, Clone, Copy)]
struct FileCells {
    /// The start of its first cell in the side, in bytes.
    start: u64,
    /// The number of that cell among those of all sides.
    first: u64,
}

impl CellBits {
    /// Makes room in `bytes` for the lines of those `inputs` that have ordinals.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where they have too many cells.
    pub(super) fn new(inputs: &[Input], bytes: u64) -> Result<Self> {
        let budget = MemoryBudget::new(bytes, 0);
        let (mut sides, mut cells) = (Vec::new(), 0);
        for input in inputs {
            let (Some(ordinal), Some(parts)) = (input.first_ordinal(), input.parts()) else {
                continue;
            };
            let (side, _) = side_and_offset(ordinal);
            sides.resize_with(sides.len().max(side + 1), Vec::new);
            for (number, part) in parts.all().iter().enumerate() {
                let range = parts.range(number);
                sides[side].push(FileCells {
                    start: part.start + range.start,
                    first: cells,
                });
                cells += (range.end - range.start).div_ceil(CELL_BYTES);
            }
        }
        let last_bits = AtomicWords::new(&budget, KEPT_LINES, cells.div_ceil(WORD))?;
        let starts = AtomicWords::new(&budget, KEPT_LINES, cells)?;
        let words = budget.available_bytes() / 8;
        Ok(Self {
            sides,
            last_bits,
            starts,
            bits: AtomicWords::new(&budget, KEPT_LINES, words & !511)?,
            used: AtomicU64::new(0),
            budget,
        })
    }

    /// Gives the cell at `ordinal`, its first, bits for `lines` lines, unless it has them. One thread at a time has a
    /// cell.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where there is no room.
    pub(super) fn make_room(&self, ordinal: u64, lines: u64) -> Result<()> {
        let Some(start) = self
            .cell(ordinal)
            .and_then(|(cell, _)| self.starts.get(cell))
        else {
            return Ok(());
        };
        if lines == 0 || start.load(Ordering::Relaxed) > 0 {
            return Ok(());
        }
        let words = lines.div_ceil(WORD);
        let first = self.used.fetch_add(words, Ordering::Relaxed);
        if first + words > self.bits.len() as u64 {
            return Err(self.budget.refusal(KEPT_LINES, 8 * words));
        }
        start.store(first + 1, Ordering::Relaxed);
        Ok(())
    }

    /// Keeps the line at `ordinal`.
    pub(super) fn insert(&self, ordinal: u64) {
        if let Some((word, bit)) = self.bit(ordinal) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Returns true if the line at `ordinal` is kept.
    pub(super) fn contains(&self, ordinal: u64) -> bool {
        let is_set = |(word, bit): (&AtomicU64, u64)| word.load(Ordering::Relaxed) & bit != 0;
        self.bit(ordinal).is_some_and(is_set)
    }

    /// Finds the word that has the bit of a line, and that bit.
    fn bit(&self, ordinal: u64) -> Option<(&AtomicU64, u64)> {
        let (cell, number) = self.cell(ordinal)?;
        let (words, at) = if number == LAST_OF_CELL {
            (&self.last_bits, cell as u64)
        } else {
            let start = self.starts.get(cell)?.load(Ordering::Relaxed);
            (&self.bits, start.checked_sub(1)? * WORD + number)
        };
        Some((words.get((at / WORD) as usize)?, 1 << (at % WORD)))
    }

    /// Finds the cell of a line, and its number in there.
    fn cell(&self, ordinal: u64) -> Option<(usize, u64)> {
        let (side, offset) = side_and_offset(ordinal);
        let files = self.sides.get(side)?;
        // Of files that begin at the same byte, all but the last are empty.
        let file = match files.len() {
            1 => 0,
            _ => files
                .partition_point(|file| file.start <= offset)
                .checked_sub(1)?,
        };
        let file = files.get(file)?;
        let in_file = offset.checked_sub(file.start)?;
        let cell = file.first + in_file / CELL_BYTES;
        Some((cell as usize, in_file % CELL_BYTES))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::batch::{Ordinals, Scratch, for_each_batch};
    use crate::selection::first_ordinal;

    /// Lists the ordinals of the lines of `text`, which is the second side, when it is read in ranges of this size and
    /// a line that does not end a page after its range comes alone.
    fn ordinals(text: &[u8], range: usize) -> Vec<u64> {
        let mut found = Vec::new();
        let line_at =
            |at: usize| memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end);
        let mut at = 0;
        for end in (range..)
            .step_by(range)
            .take_while(|end| end - range < text.len())
        {
            let start = at;
            let mut alone = None;
            while at < end.min(text.len()) {
                let next = line_at(at) + 1;
                alone = (next > end + 4096).then_some(at);
                at = next.min(text.len());
            }
            let border = alone.unwrap_or(at);
            for (start, end) in [(start, border), (border, at)] {
                let address = (text.as_ptr() as usize).wrapping_add(start);
                let by_cell = Ordinals::ByCell {
                    address: address.wrapping_sub(start),
                    ordinal: first_ordinal(2),
                    cell: u64::MAX,
                    next: 0,
                    mask: 0,
                };
                let lines = text[start..end].split_inclusive(|&byte| byte == b'\n');
                let lines = lines.map(|line| line.strip_suffix(b"\n").unwrap_or(line));
                let mut scratch = Scratch::default();
                for_each_batch(lines, by_cell, None, None, &mut scratch, |batch| {
                    found.extend_from_slice(batch.ordinals);
                    Ok(true)
                })
                .unwrap();
            }
        }
        found
    }

    /// Texts whose lines lie in every way about the borders of cells.
    fn texts() -> Vec<Vec<u8>> {
        let cell = CELL_BYTES as usize;
        let line = |length: usize| [&vec![b'x'; length][..], b"\n"].concat();
        let mut texts = vec![
            b"\n".repeat(2 * cell + 5),
            [line(3 * cell), b"a\nb".to_vec(), line(5 * cell)].concat(),
            b"no end".to_vec(),
        ];
        for length in cell - 2..cell + 3 {
            texts.push(
                [line(length), line(0), line(1), line(2 * cell - 9)]
                    .concat()
                    .repeat(3),
            );
        }
        texts.push((0..20_000).flat_map(|i| line(i * 7919 % 97)).collect());
        texts
    }

    #[test]
    fn l10_a_line_has_the_same_ordinal_in_every_reading_and_a_later_line_a_larger_one() {
        for text in texts() {
            let small = ordinals(&text, CELL_BYTES as usize);
            assert!(small.is_sorted_by(|one, next| one < next));
            for cells in [2, 4, 16] {
                assert_eq!(
                    ordinals(&text, cells * CELL_BYTES as usize),
                    small,
                    "{cells}"
                );
            }
        }
    }

    #[test]
    fn l10_a_line_is_kept_that_was_inserted_and_no_other() {
        for text in texts() {
            let ordinals = ordinals(&text, 4 * CELL_BYTES as usize);
            let budget = MemoryBudget::new(1 << 20, 0);
            let words = |words| AtomicWords::new(&budget, KEPT_LINES, words).unwrap();
            let cells = (text.len() as u64).div_ceil(CELL_BYTES) + 7;
            let file = FileCells { start: 0, first: 7 };
            let kept = CellBits {
                sides: vec![vec![], vec![], vec![file]],
                last_bits: words(cells.div_ceil(WORD)),
                starts: words(cells),
                bits: words(8192),
                used: AtomicU64::new(0),
                budget,
            };
            let mut lines: HashMap<u64, u64> = HashMap::new();
            for ordinal in &ordinals {
                *lines.entry(ordinal & !LAST_OF_CELL).or_default() += 1;
            }
            for (cell, lines) in lines {
                kept.make_room(cell, lines).unwrap();
            }
            ordinals.iter().step_by(3).for_each(|&it| kept.insert(it));
            for (number, &ordinal) in ordinals.iter().enumerate() {
                assert_eq!(kept.contains(ordinal), number % 3 == 0, "{number}");
            }
            assert!(!kept.contains(first_ordinal(1)) && !kept.contains(first_ordinal(3)));
            assert!(kept.make_room(first_ordinal(2), u64::MAX / 2).is_ok());
        }
    }
}
