//! A bit for each row of Parquet files whose numbers are the answer: put in order without a sort.
//!
//! *Owns:* [`RowBits`]. *Invariants:* each number that was inserted comes out once, file after file, ascending.
//! *Cost:* a bit of memory for each row of the files, whether it is in the answer or not; a sort takes 20 bytes or so
//! for each that is.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::answer::entry::Entry;
use crate::answer::rules::KEPT_LINES;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::memory::budget::{MemoryBudget, Reservation};
use crate::memory::buffer::AtomicWords;

/// Bits of a word.
const WORD: u64 = 64;

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
    /// The ordinal at which the file begins.
    start: u64,
    /// The word that has the bits of its first rows.
    first_word: u64,
    /// All its rows, as its footer says.
    rows: u64,
}

impl RowBits {
    /// Makes a bit for each row of those `inputs` that have ordinals, if all their files are Parquet files. `None` if
    /// these bits take more than `bytes`.
    pub(crate) fn new(inputs: &[Input], bytes: u64) -> Option<Self> {
        let with_ordinals = inputs.iter();
        let with_ordinals = with_ordinals.filter_map(|input| Some((input.first_ordinal()?, input)));
        let mut with_ordinals: Vec<_> = with_ordinals.collect();
        with_ordinals.sort_unstable_by_key(|&(start, _)| start);
        let name = with_ordinals.first()?.1.name().to_owned();
        let parts = with_ordinals.iter().filter_map(|(_, input)| input.parts());
        let count: usize = parts.map(|parts| parts.all().len()).sum();
        let budget = MemoryBudget::new(bytes, 0);
        let memory = budget.reserve(KEPT_LINES, (count * size_of::<FileRows>()) as u64);
        let memory = memory.ok()?;
        let (mut files, mut words) = (Vec::with_capacity(count), 0);
        for (start, input) in with_ordinals {
            let parts = input.parts()?;
            for (part, offset) in parts.all().iter().zip(parts.starts()) {
                let rows = match part.format.table() {
                    Some(table) => table.rows(),
                    None if part.state.size == 0 => 0,
                    None => return None,
                };
                files.push(FileRows {
                    start: start + offset,
                    first_word: words,
                    rows,
                });
                words = rows.div_ceil(WORD).checked_add(words)?;
            }
        }
        words.checked_mul(8)?;
        let bits = AtomicWords::new(&budget, KEPT_LINES, words).ok()?;
        Some(Self {
            files,
            bits,
            _memory: memory,
            name,
        })
    }

    /// Keeps the row that has `number` as text, of the file that `place` is in. What is no row of that file is missed
    /// at the end.
    pub(super) fn insert(&self, place: u64, number: &[u8]) {
        if let Some((word, bit)) = self.bit(place, number) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Finds the word that has the bit of a row, and that bit.
    fn bit(&self, place: u64, number: &[u8]) -> Option<(&AtomicU64, u64)> {
        // Of files that begin at the same ordinal, all but the last are empty.
        let behind = self.files.partition_point(|file| file.start <= place);
        let file = &self.files[behind.checked_sub(1)?];
        let number = std::str::from_utf8(number).ok()?.parse::<u64>().ok()?;
        let word = self.bits.get((file.first_word + number / WORD) as usize)?;
        (number < file.rows).then_some((word, 1 << (number % WORD)))
    }

    /// Makes an entry of each row that was kept, with its number as the line, and hands it to `each`. There must be
    /// `found` of them.
    ///
    /// # Errors
    /// Those of `each`; [`Error::InputChanged`] where there are more or fewer rows.
    pub(super) fn for_each(
        &self,
        found: u64,
        mut each: impl FnMut(&Entry<'_>) -> Result<()>,
    ) -> Result<()> {
        let (mut kept, mut digits) = (0, itoa::Buffer::new());
        for file in &self.files {
            let words = &self.bits[file.first_word as usize..][..file.rows.div_ceil(WORD) as usize];
            for (index, word) in (0..).zip(words) {
                let mut left = word.load(Ordering::Relaxed);
                kept += u64::from(left.count_ones());
                while left != 0 {
                    let number = index * WORD + u64::from(left.trailing_zeros());
                    each(&Entry::once(digits.format(number).as_bytes(), file.start))?;
                    left &= left - 1;
                }
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
        let digits = most.and_then(u64::checked_ilog10).unwrap_or(0) + 1;
        found * u64::from(digits + 1)
    }
}
