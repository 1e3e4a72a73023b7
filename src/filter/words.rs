//! The words of a filter, wherever they are, and the ways to read one of them.
//!
//! *Owns:* the traits of what has words, and words that are read from a file one cache line at a
//! time: for a filter that is larger than the memory that may be used. *Invariants:* words do not
//! change while they are asked for; a line that cannot be read is noted as a failure, and the caller who
//! asked learns of it before any answer is given. *Cost:* in a file one read of 64 bytes for each line, from
//! the page cache where it is there.
//!
//! Why not map such a filter and let pages go again: one touch may make 2 MiB resident, where the
//! page cache is in pieces of that size, and neither `MADV_RANDOM` nor `MADV_NOHUGEPAGE` changes it.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::memory::buffer::Buffer;
use crate::sys::cpu;

/// Words that are in memory.
pub trait Words: private::Sealed {
    /// Returns all words, and perhaps some after them.
    #[doc(hidden)]
    fn words(&self) -> &[u64];
}

pub(super) mod private {
    /// Keeps other crates from implementing [`Words`](super::Words).
    pub trait Sealed {}
}

impl private::Sealed for Buffer {}
impl Words for Buffer {
    fn words(&self) -> &[u64] {
        self.words()
    }
}

/// Words of a cache line.
pub(super) const LINE_WORDS: usize = 8;

/// Words that can be read one by one.
pub(super) trait ReadWords {
    /// Reads a word.
    fn word(&self, index: usize) -> u64;

    /// Reads the words of the line that begins at `start`, a multiple of [`LINE_WORDS`].
    fn line(&self, start: usize) -> [u64; LINE_WORDS];

    /// Fetches the memory that a word is in ahead of its use. May do nothing.
    fn fetch(&self, index: usize);
}

impl<W: AsRef<[u64]>> ReadWords for W {
    #[inline]
    fn word(&self, index: usize) -> u64 {
        self.as_ref()[index]
    }

    #[inline]
    fn line(&self, start: usize) -> [u64; LINE_WORDS] {
        let mut line = [0; LINE_WORDS];
        line.copy_from_slice(&self.as_ref()[start..start + LINE_WORDS]);
        line
    }

    #[inline]
    fn fetch(&self, index: usize) {
        cpu::prefetch(self.as_ref(), index);
    }
}

/// The words of a filter in a file, to be read by position.
#[derive(Debug)]
pub struct InFile {
    pub(super) file: File,
    /// The byte of the file at which the words begin.
    pub(super) offset: u64,
    /// Their size in bytes, a multiple of 8.
    pub(super) bytes: u64,
}

impl InFile {
    /// Calls `work` with the words.
    ///
    /// # Errors
    /// The first failure of reading. The result of `work` is then wrong, and is dropped: words that cannot
    /// be read look like zeros to it.
    pub(super) fn read<R>(&self, work: impl FnOnce(&FileWords<'_>) -> R) -> io::Result<R> {
        let words = FileWords {
            file: self,
            last: Cell::new((usize::MAX, [0; LINE_WORDS])),
            failure: RefCell::new(None),
        };
        let result = work(&words);
        words.failure.into_inner().map_or(Ok(result), Err)
    }
}

/// Words that are read as they are wanted; the line that was read last is kept.
#[derive(Debug)]
pub(super) struct FileWords<'a> {
    file: &'a InFile,
    /// The line that was read last, and the index of its first word; `usize::MAX` before the first.
    last: Cell<(usize, [u64; LINE_WORDS])>,
    /// The first failure, kept here because answering has no way to return one.
    failure: RefCell<Option<io::Error>>,
}

impl FileWords<'_> {
    /// Reads the line that begins at word `start`; words after the last one are 0.
    fn read_line(&self, start: usize) -> io::Result<[u64; LINE_WORDS]> {
        let mut line = [0u64; LINE_WORDS];
        let from = start as u64 * 8;
        // The last line may be shorter.
        let wanted = (self.file.bytes - from).min(8 * LINE_WORDS as u64) as usize;
        let bytes = &mut bytemuck::cast_slice_mut(&mut line)[..wanted];
        self.file
            .file
            .read_exact_at(bytes, self.file.offset + from)?;
        Ok(line)
    }
}

impl ReadWords for &FileWords<'_> {
    fn word(&self, index: usize) -> u64 {
        let start = index / LINE_WORDS * LINE_WORDS;
        self.line(start)[index - start]
    }

    fn line(&self, start: usize) -> [u64; LINE_WORDS] {
        let (held, line) = self.last.get();
        if held == start {
            return line;
        }
        match self.read_line(start) {
            Ok(line) => {
                self.last.set((start, line));
                line
            }
            Err(error) => {
                self.failure.borrow_mut().get_or_insert(error);
                [0; LINE_WORDS]
            }
        }
    }

    fn fetch(&self, _index: usize) {}
}
