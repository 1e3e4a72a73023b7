//! The source of the ordinals of a batch's lines.
//!
//! *Owns:* the five ways: from where a line lies in its chunk, from its number in a cell of its file, from its number
//! in its chunk, from the number of its row before it, or from a number behind it: of its row, or the ordinal that a
//! record of a bucket has.
//! *Invariants:* a batch has an ordinal for each line, or none at all. *Cost:* 8 bytes a line, where the order of
//! the input is kept; nothing elsewhere.

use crate::selection::{CELL_BYTES, LAST_OF_CELL};

/// Bytes of an ordinal after its line in a record of a bucket.
pub(crate) const ORDINAL_BYTES: usize = 8;

/// The source of the ordinals of lines.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ordinals {
    /// Nobody asks for them.
    None,
    /// From the address of the line in memory.
    ByAddress {
        /// The address of a byte in memory, and its ordinal.
        address: usize,
        ordinal: u64,
        /// The bits that are turned over in each, as [`keep_mask`](crate::selection::keep_mask) says.
        mask: u64,
    },
    /// From the number of the line in the cell where it begins.
    ByCell {
        /// The address at which the bytes of the file would begin that are divided into cells, modulo 2^64.
        address: usize,
        /// The ordinal of the first cell.
        ordinal: u64,
        /// The cell of the last line.
        cell: u64,
        /// The number of the next line there.
        next: u64,
        /// The bits that are turned over in each.
        mask: u64,
    },
    /// From the number of the line in its chunk.
    ByNumber {
        /// The ordinal of the next line.
        next: u64,
        /// The byte that ends lines, where a record may have several; `None` where each is one.
        terminator: Option<u8>,
        /// The bits that are turned over in each.
        mask: u64,
    },
    /// From the number of its row, which it begins with.
    ByRow {
        /// The ordinal of the first row of the file.
        ordinal: u64,
        /// The bits that are turned over in each.
        mask: u64,
    },
    /// From the number behind each line, which is none of its bytes.
    Behind {
        /// The ordinal of the row with the number 0.
        ordinal: u64,
        /// The bits that are turned over in each.
        mask: u64,
    },
}

impl Ordinals {
    /// Ordinals as they are in the records of a bucket.
    pub(crate) const OF_BUCKET: Self = Self::Behind {
        ordinal: 0,
        mask: 0,
    };

    /// Adds those of `lines` to `ordinals`, and cuts off what is not part of a line.
    pub(super) fn take(&mut self, lines: &mut [&[u8]], ordinals: &mut Vec<u64>) {
        match self {
            Self::None => {}
            Self::ByAddress {
                address,
                ordinal,
                mask,
            } => {
                let distance =
                    |line: &&[u8]| (line.as_ptr() as usize).wrapping_sub(*address) as u64;
                ordinals.extend(
                    lines
                        .iter()
                        .map(|line| ordinal.wrapping_add(distance(line)) ^ *mask),
                );
            }
            Self::ByCell {
                address,
                ordinal,
                cell,
                next,
                mask,
            } => ordinals.extend(lines.iter().map(|line| {
                let start = (line.as_ptr() as usize).wrapping_sub(*address) as u64;
                if start / CELL_BYTES != *cell {
                    (*cell, *next) = (start / CELL_BYTES, 0);
                }
                let goes_on = (start + line.len() as u64) / CELL_BYTES != *cell;
                let number = if goes_on { LAST_OF_CELL } else { *next };
                *next += 1;
                (*ordinal + *cell * CELL_BYTES + number) ^ *mask
            })),
            Self::ByNumber {
                next,
                terminator,
                mask,
            } => ordinals.extend(lines.iter().map(|line| {
                let ends = terminator.map_or(0, |terminator| {
                    memchr::memchr_iter(terminator, line).count()
                });
                let ordinal = *next;
                *next += 1 + ends as u64;
                ordinal ^ *mask
            })),
            Self::ByRow { ordinal, mask } => {
                ordinals.extend(lines.iter().map(|line| (*ordinal + row(line)) ^ *mask));
            }
            Self::Behind { ordinal, mask } => {
                for line in lines {
                    // A block with a shorter record is damaged; the counts of its bucket show that.
                    let (rest, number) = line.split_last_chunk().unwrap_or((&[], &[0; 8]));
                    ordinals.push(ordinal.wrapping_add(u64::from_le_bytes(*number)) ^ *mask);
                    *line = rest;
                }
            }
        }
    }
}

/// Reads the number that a row begins with.
fn row(line: &[u8]) -> u64 {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0u64, |number, byte| {
        number.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'))
    })
}
