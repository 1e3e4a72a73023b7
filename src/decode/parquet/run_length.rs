//! Small numbers in runs: levels, and indexes of a dictionary.
//!
//! *Owns:* the encoding RLE of Parquet, both ways. *Invariants:* no more numbers are made than asked for, whatever a
//! run says of its length. *Cost:* a run of equal numbers is one number; others take their bits.
//!
//! *Sources:* Encodings.md of Parquet's format, "Run Length Encoding / Bit-Packing Hybrid":
//!
//! ```text
//!  │ 2 x count     │ number │   a run of equal numbers
//!  │ 2 x count + 1 │ 8 x count numbers of `width` bits, the lowest bit first │
//! ```

use bytes::{Buf, Bytes};

use crate::decode::parquet::delta::varint;

/// Numbers that are packed together: a run of packed ones has a multiple of them.
const PACKED: usize = 8;

/// Reads numbers of `width` bits.
pub(super) struct RunDecoder {
    rest: Bytes,
    width: usize,
    run: Run,
}

/// The run that numbers come from, and how many it has left.
enum Run {
    Equal {
        number: u32,
        left: usize,
    },
    Packed {
        bytes: Bytes,
        /// The index of the next number.
        next: usize,
        left: usize,
    },
}

impl RunDecoder {
    /// Reads the runs in `bytes`; `None` if there are no numbers of so many bits.
    pub(super) fn new(bytes: Bytes, width: u8) -> Option<Self> {
        let run = Run::Equal { number: 0, left: 0 };
        (width <= 32).then_some(Self {
            rest: bytes,
            width: width.into(),
            run,
        })
    }

    /// Reads numbers of one bit, the highest first: an old encoding of levels.
    pub(super) fn of_reversed_bits(bytes: &[u8]) -> Self {
        let bytes: Bytes = bytes.iter().map(|byte| byte.reverse_bits()).collect();
        Self {
            rest: Bytes::new(),
            width: 1,
            run: Run::Packed {
                left: PACKED * bytes.len(),
                bytes,
                next: 0,
            },
        }
    }

    /// Fills `numbers` with those that come next; `None` if there are fewer.
    pub(super) fn read(&mut self, mut numbers: &mut [u32]) -> Option<()> {
        while !numbers.is_empty() {
            let count = match &mut self.run {
                Run::Equal { left: 0, .. } | Run::Packed { left: 0, .. } => {
                    self.run = self.next_run()?;
                    0
                }
                Run::Equal { number, left } => {
                    let count = numbers.len().min(*left);
                    numbers[..count].fill(*number);
                    *left -= count;
                    count
                }
                Run::Packed { bytes, next, left } => {
                    let count = numbers.len().min(*left);
                    unpack(bytes, self.width, *next, &mut numbers[..count]);
                    (*next, *left) = (*next + count, *left - count);
                    count
                }
            };
            numbers = &mut numbers[count..];
        }
        Some(())
    }

    /// Reads the front of the next run.
    fn next_run(&mut self) -> Option<Run> {
        let (front, behind) = varint(&self.rest)?;
        let front = u32::try_from(front).ok()?;
        let front_bytes = self.rest.len() - behind.len();
        self.rest.advance(front_bytes);
        let count = (front >> 1) as usize;
        if front & 1 == 0 {
            let bytes = self.width.div_ceil(8);
            let number = word(self.rest.get(..bytes)?) as u32;
            self.rest.advance(bytes);
            return Some(Run::Equal {
                number,
                left: count,
            });
        }
        // Some writers leave out what the last run does not need.
        let bytes = (count * self.width).min(self.rest.len());
        let bytes = self.rest.split_to(bytes);
        let numbers = (8 * bytes.len()).checked_div(self.width);
        let left = numbers.map_or(PACKED * count, |there| there.min(PACKED * count));
        Some(Run::Packed {
            bytes,
            next: 0,
            left,
        })
    }
}

/// Unpacks the numbers from that with the index `first` on; the bytes have all of them.
fn unpack(bytes: &[u8], width: usize, first: usize, numbers: &mut [u32]) {
    let mask = (1_u64 << width) - 1;
    let mut bit = first * width;
    for number in numbers {
        let from = &bytes[bit / 8..];
        let word = from
            .first_chunk()
            .map_or_else(|| word(from), |word| u64::from_le_bytes(*word));
        *number = ((word >> (bit % 8)) & mask) as u32;
        bit += width;
    }
}

/// Returns the number that up to 8 bytes are, the lowest first.
fn word(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Counts the bits of the numbers up to `most`.
pub(super) fn width_of(most: u32) -> u8 {
    (u32::BITS - most.leading_zeros()) as u8
}

/// Appends the runs of `numbers`, which have `width` bits, to `to`.
pub(super) fn encode_runs(numbers: &[u32], width: u8, to: &mut Vec<u8>) {
    let (mut packed, mut next) = (0, 0);
    while next < numbers.len() {
        let equal = numbers[next..]
            .iter()
            .take_while(|&&number| number == numbers[next])
            .count();
        // Those before a run are as many as are packed together.
        let before = (packed..next).len().next_multiple_of(PACKED) - (next - packed);
        if equal >= before + PACKED {
            pack(&numbers[packed..next + before], width, to);
            put_varint(((equal - before) as u32) << 1, to);
            let bytes = numbers[next].to_le_bytes();
            to.extend_from_slice(&bytes[..usize::from(width).div_ceil(8)]);
            packed = next + equal;
        }
        next += equal;
    }
    pack(&numbers[packed..], width, to);
}

/// Appends a run of packed numbers; those that lack to a multiple are 0.
fn pack(numbers: &[u32], width: u8, to: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    put_varint((numbers.len().div_ceil(PACKED) as u32) << 1 | 1, to);
    let end = to.len() + numbers.len().div_ceil(PACKED) * usize::from(width);
    let (mut word, mut bits) = (0_u64, 0);
    for &number in numbers {
        word |= u64::from(number) << bits;
        bits += width;
        if bits >= 32 {
            to.extend_from_slice(&(word as u32).to_le_bytes());
            (word, bits) = (word >> 32, bits - 32);
        }
    }
    to.extend_from_slice(&word.to_le_bytes());
    to.resize(end, 0);
}

fn put_varint(mut number: u32, to: &mut Vec<u8>) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Reads `count` numbers, `step` at a time.
    fn read(bytes: &[u8], width: u8, count: usize, step: usize) -> Option<Vec<u32>> {
        let mut decoder = RunDecoder::new(Bytes::copy_from_slice(bytes), width)?;
        let mut numbers = vec![7; count];
        for piece in numbers.chunks_mut(step) {
            decoder.read(piece)?;
        }
        Some(numbers)
    }

    proptest! {
        #[test]
        fn b23_numbers_come_back_from_runs(
            width in 0_u8..=32,
            runs in vec((any::<u32>(), prop_oneof![Just(1_usize), 1..30_usize]), 0..60),
            step in 1_usize..50,
        ) {
            let most = 1_u64.checked_shl(width.into()).unwrap() - 1;
            let number = |number: u32| (u64::from(number) & most) as u32;
            let runs = runs.into_iter().flat_map(|(it, times)| std::iter::repeat_n(number(it), times));
            let numbers: Vec<u32> = runs.collect();
            let mut bytes = Vec::new();
            encode_runs(&numbers, width, &mut bytes);
            prop_assert_eq!(read(&bytes, width, numbers.len(), step), Some(numbers.clone()));
            // The last run is filled with up to 7 others.
            prop_assert_eq!(read(&bytes, width, numbers.len() + PACKED, step), None);
            // What is cut is noticed, but for bits that no number needs.
            let cut = &bytes[..bytes.len().saturating_sub(1 + usize::from(width))];
            if width > 0 && !numbers.is_empty() {
                prop_assert_eq!(read(cut, width, numbers.len(), step), None);
            }
        }

        #[test]
        fn b23_bytes_that_are_no_runs_give_numbers_of_the_width_or_none(
            bytes in vec(any::<u8>(), 0..50),
            width in 0_u8..=33,
        ) {
            let numbers = read(&bytes, width, 100, 33);
            let most = if width < 32 { (1 << width) - 1 } else { u32::MAX };
            // A number of a run of equal ones has whole bytes.
            let most = most.max(1_u32.checked_shl(8 * u32::from(width.div_ceil(8))).map_or(u32::MAX, |it| it - 1));
            prop_assert!(numbers.is_none_or(|numbers| numbers.iter().all(|&number| number <= most)));
        }
    }

    #[test]
    fn b23_runs_have_the_bytes_of_the_description() {
        // Encodings.md: the numbers 0 to 7 of three bits.
        let packed = [0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        let numbers: Vec<u32> = (0..8).collect();
        let mut bytes = Vec::new();
        encode_runs(&numbers, 3, &mut bytes);
        assert_eq!(bytes, packed);
        assert_eq!(read(&packed, 3, 8, 8).unwrap(), numbers);
        // A hundred times the number 300, in ten bits.
        let equal = [0xc8, 1, 0x2c, 1];
        let mut bytes = Vec::new();
        encode_runs(&[300; 100], 10, &mut bytes);
        assert_eq!(bytes, equal);
        assert_eq!(read(&equal, 10, 100, 3).unwrap(), [300; 100]);
    }

    #[test]
    fn b23_a_run_of_any_length_takes_no_memory() {
        let longest = [0xfe, 0xff, 0xff, 0xff, 0xf];
        assert_eq!(
            read(&[&longest[..], &[1]].concat(), 1, 9, 9).unwrap(),
            [1; 9]
        );
        // Packed ones are as many as there are bytes for; without bits they are all 0.
        let packed = [0xff, 0xff, 0xff, 0xff, 0xf, 0b101];
        assert_eq!(read(&packed, 1, 8, 8).unwrap(), [1, 0, 1, 0, 0, 0, 0, 0]);
        assert_eq!(read(&packed, 1, 9, 9), None);
        assert_eq!(read(&packed, 0, 9, 9).unwrap(), [0; 9]);
        // A front of more than 32 bits, and none.
        assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x1f, 1], 1, 1, 1), None);
        assert_eq!(read(&[0x80; 9], 1, 1, 1), None);
        assert_eq!(read(&[], 1, 1, 1), None);
    }

    #[test]
    fn b23_old_levels_have_the_highest_bit_first() {
        let mut decoder = RunDecoder::of_reversed_bits(&[0b1100_0000, 0b0100_0000]);
        let mut levels = [0; 10];
        decoder.read(&mut levels).unwrap();
        assert_eq!(levels, [1, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
    }
}
