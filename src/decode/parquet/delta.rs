//! The length of a list of differences.
//!
//! *Owns:* counting its numbers before a decoder makes room for them. *Invariants:* nothing is decoded. *Cost:* one
//! look at the front of each block.
//!
//! *Sources:* Encodings.md of Parquet's format, "Delta Encoding":
//!
//! ```text
//!  │ block size │ parts of a block │ numbers │ first number │ block │ block │ ...
//!                                                             └ least difference │ bits of each part │ parts
//! ```

/// Finds the values of a page of the first version: after `levels` lists of levels, each after its length.
pub(super) fn behind_levels(page: &[u8], levels: usize) -> Option<usize> {
    let mut start = 0;
    for _ in 0..levels {
        let length = page.get(start..)?.first_chunk()?;
        start += 4 + u32::from_le_bytes(*length) as usize;
    }
    Some(start)
}

/// Returns true if `values` begins with `lists` lists of at most `most` numbers each. Of the last of them only the
/// front is looked at.
pub(super) fn counts_are_at_most(values: &[u8], lists: usize, most: u64) -> bool {
    let mut rest = values;
    for list in 1..=lists {
        let Some((front, blocks)) = DeltaHeader::read(rest) else {
            return false;
        };
        if front.numbers > most {
            return false;
        }
        if list < lists {
            let Some(behind) = front.skip(blocks) else {
                return false;
            };
            rest = behind;
        }
    }
    true
}

/// The header of a list: the numbers before its blocks.
struct DeltaHeader {
    block_numbers: u64,
    parts: u64,
    numbers: u64,
}

impl DeltaHeader {
    fn read(list: &[u8]) -> Option<(Self, &[u8])> {
        let (block_numbers, list) = varint(list)?;
        let (parts, list) = varint(list)?;
        let (numbers, list) = varint(list)?;
        let (_first, list) = varint(list)?;
        let front = Self {
            block_numbers,
            parts,
            numbers,
        };
        (parts > 0).then_some((front, list))
    }

    /// Returns what follows the blocks.
    fn skip<'a>(&self, mut blocks: &'a [u8]) -> Option<&'a [u8]> {
        let of_part = self.block_numbers / self.parts;
        // The first number is in the front.
        let mut left = self.numbers.saturating_sub(1);
        while left > 0 && of_part > 0 {
            let (_least, block) = varint(blocks)?;
            let (widths, mut block) = block.split_at_checked(usize::try_from(self.parts).ok()?)?;
            for &width in widths {
                if left == 0 {
                    break;
                }
                let bytes = of_part.checked_mul(width.into())? / 8;
                block = block.get(usize::try_from(bytes).ok()?..)?;
                left = left.saturating_sub(of_part);
            }
            blocks = block;
        }
        Some(blocks)
    }
}

/// Reads a number in groups of seven bits; returns what is behind it, too.
pub(super) fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (index, shift) in (0..64).step_by(7).enumerate() {
        let byte = bytes.get(index)?;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some((value, &bytes[index + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of 128 numbers in 4 parts; `numbers` numbers, all equal.
    fn list(numbers: u8) -> Vec<u8> {
        let mut list = vec![0x80, 0x01, 4, numbers, 2];
        for _ in 0..numbers.saturating_sub(1).div_ceil(128) {
            list.extend([0, 0, 0, 0, 0]);
        }
        list
    }

    #[test]
    fn b23_lists_with_more_numbers_than_values_are_found() {
        for numbers in [0, 1, 2, 100] {
            let two = [list(numbers), list(numbers), b"text".to_vec()].concat();
            assert!(counts_are_at_most(&two, 2, numbers.into()));
            assert!(
                !counts_are_at_most(&two, 2, u64::from(numbers).wrapping_sub(1)) || numbers == 0
            );
            let second = [list(numbers), list(101)].concat();
            assert!(!counts_are_at_most(&second, 2, 100));
            assert!(counts_are_at_most(&second, 1, 100));
        }
    }

    #[test]
    fn b23_lists_that_are_cut_short_are_none() {
        let two = [list(100), list(100)].concat();
        let front_of_second = list(100).len() + 5;
        for end in 0..front_of_second {
            assert!(!counts_are_at_most(&two[..end], 2, 100), "{end}");
        }
        assert_eq!(behind_levels(&[1, 0, 0, 0, 7, 9], 1), Some(5));
        assert_eq!(behind_levels(&[1, 0, 0], 1), None);
    }
}
