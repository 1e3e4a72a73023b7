//! A bit for each row of Parquet files whose numbers are the answer: put in order without a sort.
//!
//! *Owns:* [`RowBits`]. *Invariants:* a row has its number in its ordinal; each that was inserted comes out once, file
//! after file, ascending.
//! *Cost:* a bit of memory for each row of the files, whether it is in the answer or not; a sort takes 20 bytes or so
//! for each that is.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::answer::rules::KEPT_LINES;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::input::parts::{Part, Parts};
use crate::memory::budget::{MemoryBudget, Reservation};
use crate::memory::buffer::{AtomicWords, PAGE, round_up};

/// Bits of a word.
const WORD: u64 = 64;
/// Words whose rows are passed on together.
const WORDS_AT_ONCE: usize = 32;

/// A bit for each row, shared by threads.
#[derive(Debug)]
pub(crate) struct RowBits {
    /// The files, by the ordinals at which they begin.
    files: Vec<FileRows>,
    bits: AtomicWords,
    /// The memory of `files`.
    _memory: Reservation,
    /// The name of the first input, for messages.
    name: PathBuf,
}

/// The rows of a file.
#[derive(Debug)]
struct FileRows {
    /// The ordinal of its first row.
    start: u64,
    /// The word that has the bits of its first rows.
    first_word: u64,
    /// All its rows, as its footer says.
    rows: u64,
}

/// Rows of a file that were kept.
pub(super) struct KeptRows<'a> {
    /// The number of the row that the first bit is of.
    first: u64,
    words: &'a [AtomicU64],
}

impl KeptRows<'_> {
    /// Counts them.
    pub(super) fn count(&self) -> u64 {
        let ones = |word: &AtomicU64| u64::from(word.load(Ordering::Relaxed).count_ones());
        self.words.iter().map(ones).sum()
    }

    /// Lists their numbers, ascending.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> {
        let first_of_words = (self.first..).step_by(WORD as usize);
        first_of_words.zip(self.words).flat_map(|(first, word)| {
            let mut left = word.load(Ordering::Relaxed);
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(first + u64::from(bit))
            })
        })
    }

    /// Counts the bytes of their numbers as text, each with a terminator.
    pub(super) fn line_bytes(&self) -> u64 {
        let last = self.first + self.words.len() as u64 * WORD - 1;
        if digits(self.first) == digits(last) {
            return self.count() * (digits(last) + 1);
        }
        self.numbers().map(|number| digits(number) + 1).sum()
    }
}

/// Counts the rows of a file: of one that is no Parquet file, none.
fn rows_of(part: &Part) -> u64 {
    part.format.table().map_or(0, |table| table.rows())
}

/// Returns the memory for so many files, in bytes.
fn files_bytes(files: usize) -> u64 {
    (files * size_of::<FileRows>()) as u64
}

/// Counts the digits of a number.
fn digits(number: u64) -> u64 {
    u64::from(number.checked_ilog10().unwrap_or(0)) + 1
}

impl RowBits {
    /// Makes a bit for each row of the files of those `inputs` that have ordinals. Files that are no Parquet files have
    /// no rows.
    ///
    /// # Errors
    /// [`Error::Memory`] where these bits take more than `bytes`.
    pub(crate) fn new(inputs: &[Input], bytes: u64) -> Result<Self> {
        let with_ordinals = inputs.iter();
        let with_ordinals = with_ordinals.filter_map(|input| Some((input.first_ordinal()?, input)));
        let mut with_ordinals: Vec<_> = with_ordinals.collect();
        with_ordinals.sort_unstable_by_key(|&(start, _)| start);
        let name = with_ordinals.first().map(|(_, input)| input.name());
        let parts = with_ordinals
            .iter()
            .filter_map(|(start, input)| Some((start, input.parts()?)));
        let count = parts.clone().map(|(_, parts)| parts.all().len()).sum();
        let budget = MemoryBudget::new(bytes, 0);
        let memory = budget.reserve(KEPT_LINES, files_bytes(count))?;
        let (mut files, mut words) = (Vec::with_capacity(count), 0);
        for (start, parts) in parts {
            for (part, offset) in parts.all().iter().zip(parts.starts()) {
                let rows = rows_of(part);
                files.push(FileRows {
                    start: start + offset,
                    first_word: words,
                    rows,
                });
                words = rows.div_ceil(WORD).saturating_add(words);
            }
        }
        Ok(Self {
            files,
            bits: AtomicWords::new(&budget, KEPT_LINES, words)?,
            _memory: memory,
            name: name.map_or_else(PathBuf::new, Path::to_owned),
        })
    }

    /// Computes the memory for a bit of each row of the files of `inputs`, in bytes.
    pub(crate) fn bytes_of(inputs: &[Input]) -> u64 {
        let parts = || inputs.iter().filter_map(Input::parts).flat_map(Parts::all);
        let words = parts().map(|part| rows_of(part).div_ceil(WORD));
        let words = words.fold(0, u64::saturating_add);
        let bits = round_up(words.saturating_mul(8).max(1), PAGE);
        bits.saturating_add(files_bytes(parts().count()))
    }

    /// Keeps the row whose ordinal is `place`. What is no row of its file is missed at the end.
    #[inline]
    pub(super) fn insert(&self, place: u64) {
        if let Some((word, bit)) = self.bit(place) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Finds the word that has the bit of a row, and that bit.
    fn bit(&self, place: u64) -> Option<(&AtomicU64, u64)> {
        // Of files that begin at the same ordinal, all but the last are empty.
        let behind = self.files.partition_point(|file| file.start <= place);
        let file = &self.files[behind.checked_sub(1)?];
        let number = place - file.start;
        let word = self.bits.get((file.first_word + number / WORD) as usize)?;
        (number < file.rows).then_some((word, 1 << (number % WORD)))
    }

    /// Hands the rows that were kept to `each`, file after file, some at a time, after the ordinal of the first row of
    /// the file. There must be `found` of them.
    ///
    /// # Errors
    /// Those of `each`; [`Error::InputChanged`] where there are more or fewer rows.
    pub(super) fn for_each(
        &self,
        found: u64,
        mut each: impl FnMut(u64, &KeptRows<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut kept = 0;
        for file in &self.files {
            let words = &self.bits[file.first_word as usize..][..file.rows.div_ceil(WORD) as usize];
            for (number, words) in (0..).zip(words.chunks(WORDS_AT_ONCE)) {
                let first = number * WORDS_AT_ONCE as u64 * WORD;
                let rows = KeptRows { first, words };
                kept += rows.count();
                each(file.start, &rows)?;
            }
        }
        if kept == found {
            return Ok(());
        }
        Err(Error::InputChanged {
            path: self.name.clone(),
            what: format!("{kept} rows of the result are in it, of {found}"),
        })
    }

    /// Estimates the bytes of lines that [`RowBits::for_each`] makes of `found` rows: each as long as the last number.
    pub(super) fn line_bytes(&self, found: u64) -> u64 {
        let most = self.files.iter().map(|file| file.rows).max();
        found * (digits(most.unwrap_or(0)) + 1)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    /// Makes bits for files with these rows, of which the ordinals lie far apart.
    fn bits_of(files: &[u64]) -> RowBits {
        let mut words = 0;
        let file = |(number, &rows): (u64, &u64)| {
            let first_word = words;
            words += rows.div_ceil(WORD);
            let start = 1_000_000 * number;
            FileRows {
                start,
                first_word,
                rows,
            }
        };
        let files = (0..).zip(files).map(file).collect();
        let budget = MemoryBudget::new(1 << 20, 0);
        RowBits {
            files,
            bits: AtomicWords::new(&budget, KEPT_LINES, words).unwrap(),
            _memory: budget.reserve_nothing(KEPT_LINES),
            name: "side".into(),
        }
    }

    #[test]
    fn b23_rows_come_as_they_were_kept_file_after_file_with_the_bytes_of_their_numbers() {
        let files = [0, 1, 64, 0, 65, 40_000, 9];
        for kept in [1, 3, 64, 7001] {
            let bits = bits_of(&files);
            let (mut expected, mut count) = (Vec::new(), 0);
            for (number, &rows) in (0..).zip(&files) {
                let start = 1_000_000 * number;
                let numbers: Vec<u64> = (0..rows).filter(|row| row % kept == kept - 1).collect();
                // In any order, and again.
                for row in numbers.iter().rev().chain(&numbers) {
                    bits.insert(start + row);
                }
                count += numbers.len() as u64;
                expected.extend(numbers.into_iter().map(|row| (start, row)));
            }
            let mut found = Vec::new();
            let passed = bits.for_each(count, |start, rows| {
                let numbers: Vec<u64> = rows.numbers().collect();
                let text = numbers.iter().map(|number| number.to_string().len() + 1);
                assert_eq!(rows.count(), numbers.len() as u64);
                assert_eq!(rows.line_bytes(), text.sum::<usize>() as u64, "{numbers:?}");
                found.extend(numbers.into_iter().map(|row| (start, row)));
                Ok(())
            });
            passed.unwrap();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn b23_a_row_that_its_file_has_not_is_missed() {
        let bits = bits_of(&[10, 3]);
        for place in [5, 10, 999_999, 1_000_003, u64::MAX] {
            bits.insert(place);
        }
        let passed = bits.for_each(5, |_, _| Ok(()));
        let told = passed.unwrap_err().to_string();
        assert!(
            told.contains("1 rows of the result are in it, of 5"),
            "{told}"
        );
    }
}
