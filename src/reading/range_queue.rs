//! The ranges of files, and which thread reads which of them.
//!
//! *Owns:* the next range to be read, and the files that are open for a reading.
//!
//! ```text
//!  files    a (3 ranges)      b   c   d (empty)   e (2 ranges)
//!  claims   0    1    2       3   4   5           6    7
//!           └── one opening ──┘   each thread opens and closes a small file for itself
//! ```
//!
//! 1. A thread claims the next range: a number, a file, and where in it. Files of one range are not opened yet.
//! 2. It reads the range without any lock. A file of one range it opens before that, and compares and closes after.
//! 3. A file of several ranges stays open until all of them are read and another such file is opened, or the
//!    reading ends. It is compared then.
//!
//! *Invariants.*
//! - Claims are numbered from 0 without a gap, in the order of the files and of their ranges. An empty file is one
//!   range, so that it is opened and compared like any other.
//! - Files are opened in the order of the claims: one for each thread is open, and a few.
//!
//! *Cost:* a short lock for each range, held while a larger file is opened; a descriptor for each open file.

use std::sync::Arc;

use crate::decode::file::PositionedFile;
use crate::error::Result;
use crate::input::parts::Parts;
use crate::memory::buffer::Buffer;
use crate::reading::chunk::{ChunkRules, Cut};
use crate::reading::range::RangeReader;
use crate::sys::sync::Mutex;

/// Reads the files of an input in chunks, for any number of threads.
#[derive(Debug)]
pub(super) struct RangeQueue<'a> {
    parts: &'a Parts,
    rules: ChunkRules<'a>,
    /// Locked for a moment before and after a range is read.
    state: Mutex<QueueState>,
}

#[derive(Debug)]
struct QueueState {
    /// The number of the next claim.
    number: u64,
    /// The file that it is of. The number of files when there are no more.
    part: usize,
    /// The start of its range in that file.
    start: u64,
    /// Files of several ranges, and the one that the reading began with.
    open: Vec<OpenFile>,
}

#[derive(Debug)]
struct OpenFile {
    part: usize,
    file: Arc<PositionedFile>,
    /// The number of its ranges that are not read yet.
    unread: u64,
}

/// A range that one thread reads.
struct Claim {
    number: u64,
    part: usize,
    /// Its start in the file.
    start: u64,
    /// The file, where several threads may read it.
    shared: Option<Arc<PositionedFile>>,
}

impl<'a> RangeQueue<'a> {
    /// Returns true if all threads read the same file.
    pub(super) fn has_one_file(&self) -> bool {
        self.parts.all().len() == 1
    }

    /// Starts a reading of `parts`, of which `first`, the first one, is open.
    pub(super) fn new(parts: &'a Parts, first: PositionedFile, rules: ChunkRules<'a>) -> Self {
        let range = parts.range(0);
        let first = OpenFile {
            part: 0,
            unread: ranges(range.end - range.start, rules.chunk_bytes),
            file: Arc::new(first),
        };
        Self {
            parts,
            rules,
            state: Mutex::new(QueueState {
                number: 0,
                part: 0,
                start: range.start,
                open: vec![first],
            }),
        }
    }

    /// Claims the next range and reads it into `buffer`: its number, and the lines that start in it. `None` at the
    /// end of the input.
    ///
    /// # Errors
    /// As [`RangeReader::read`]; where a file cannot be opened.
    pub(super) fn next(&self, buffer: Buffer) -> Result<Option<(u64, Cut)>> {
        let Some(claim) = self.claim()? else {
            return self.verify_open().map(|()| None);
        };
        let read = |file: &PositionedFile| {
            let reader = RangeReader {
                parts: self.parts,
                part: claim.part,
                file,
                number: claim.number,
                rules: self.rules,
            };
            reader.read(claim.start, buffer)
        };
        let cut = match &claim.shared {
            Some(file) => {
                let cut = read(file)?;
                self.note_read(claim.part);
                cut
            }
            None => {
                let file = open(self.parts, claim.part)?;
                let cut = read(&file)?;
                self.parts.verify(claim.part, file.file())?;
                cut
            }
        };
        Ok(Some((claim.number, cut)))
    }

    /// Claims the next range; `None` at the end of the last file.
    fn claim(&self) -> Result<Option<Claim>> {
        let mut state = self.state.lock();
        let part = state.part;
        if part >= self.parts.all().len() {
            return Ok(None);
        }
        let range = self.parts.range(part);
        let mut claim = Claim {
            number: state.number,
            part,
            start: state.start,
            shared: None,
        };
        // Also where opening fails: the number, and so the ticket, is not given to another.
        state.number += 1;
        state.start += self.rules.chunk_bytes;
        if state.start >= range.end {
            // Only an input of one file has a range that does not begin with the file.
            (state.part, state.start) = (part + 1, 0);
        }
        let unread = ranges(range.end - range.start, self.rules.chunk_bytes);
        claim.shared = match state.open.iter().find(|open| open.part == part) {
            Some(open) => Some(open.file.clone()),
            None if unread > 1 => Some(self.open_shared(&mut state, part, unread)?),
            None => None,
        };
        Ok(Some(claim))
    }

    /// Opens a file of several ranges, after those that were read to their ends are compared and closed.
    fn open_shared(
        &self,
        state: &mut QueueState,
        part: usize,
        unread: u64,
    ) -> Result<Arc<PositionedFile>> {
        for done in state.open.extract_if(.., |open| open.unread == 0) {
            self.parts.verify(done.part, done.file.file())?;
        }
        let file = Arc::new(open(self.parts, part)?);
        state.open.push(OpenFile {
            part,
            file: file.clone(),
            unread,
        });
        Ok(file)
    }

    /// Notes that a range of an open file was read.
    fn note_read(&self, part: usize) {
        let mut state = self.state.lock();
        if let Some(open) = state.open.iter_mut().find(|open| open.part == part) {
            open.unread -= 1;
        }
    }

    /// Checks at the end of a reading that no file changed that is still open; the others were checked when they
    /// were closed.
    fn verify_open(&self) -> Result<()> {
        for open in &self.state.lock().open {
            self.parts.verify(open.part, open.file.file())?;
        }
        Ok(())
    }
}

/// Counts the ranges in which `bytes` of a file are read.
fn ranges(bytes: u64, chunk_bytes: u64) -> u64 {
    bytes.div_ceil(chunk_bytes).max(1)
}

/// Opens a file for reading, directly if it was not in the page cache.
///
/// # Errors
/// As [`Parts::open`].
pub(super) fn open(parts: &Parts, part: usize) -> Result<PositionedFile> {
    let known = &parts.all()[part];
    let file = parts.open(part)?;
    Ok(PositionedFile::new(file, known.state.size, known.is_warm))
}
