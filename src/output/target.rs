//! The file that a result is written to, a piece at a time and from several threads.
//!
//! *Owns:* writing a piece at its offset, around the page cache where the file system allows it. *Invariants:* a
//! thread that finds direct I/O turned off finds the descriptor changed, too. *Cost:* a system call for each piece.
//! *Sources:* open(2) on `O_DIRECT`.

use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use memmap2::MmapMut;

use crate::memory::buffer::PAGE;
use crate::output::consumer::Program;
use crate::sys::calls::begin_writing;
use crate::sys::direct_io::{is_refusal, set_direct};
use crate::sys::failpoint::fail_point;

/// The size of a buffer, in bytes: a multiple of the page size. Direct writes are fast only in large pieces.
pub(super) const BYTES: usize = 256 << 10;

/// A buffer and how much of it is filled. A mapping, because direct writing needs it aligned.
#[derive(Debug)]
pub(super) struct WriteBuffer {
    pub(super) buffer: MmapMut,
    /// Bytes in use from the start: 0 to [`BYTES`].
    pub(super) filled: usize,
}

impl WriteBuffer {
    /// Makes an empty one. It is not reserved from the budget, because it does not grow with the input.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            buffer: MmapMut::map_anon(BYTES)?,
            filled: 0,
        })
    }
}

/// The file that pieces are written to.
#[derive(Debug)]
pub(super) struct Target {
    /// The file. Whoever looks at what closing it brings has it, too: of two descriptors of it, one would be closed
    /// unseen.
    file: Arc<File>,
    /// True if the file is written around the page cache. Once false it stays false, until the file is emptied.
    is_direct: AtomicBool,
    /// The program that reads the file, where that is the input of a command.
    program: Option<Arc<Program>>,
}

impl Target {
    /// Makes a target that is written through the page cache, or is no regular file.
    pub(super) fn buffered(file: Arc<File>) -> Self {
        Self {
            file,
            is_direct: AtomicBool::new(false),
            program: None,
        }
    }

    /// Makes a target of the input of a command.
    pub(super) fn consumed(input: File, program: Arc<Program>) -> Self {
        Self {
            program: Some(program),
            ..Self::buffered(Arc::new(input))
        }
    }

    /// Makes a target of a regular file, written around the page cache if the file system allows that.
    pub(super) fn direct(file: File) -> Self {
        let is_direct = AtomicBool::new(set_direct(&file, true));
        Self {
            file: Arc::new(file),
            is_direct,
            program: None,
        }
    }

    /// Writes what is in the piece at its offset, and empties it, also if that fails.
    ///
    /// While writing is direct, whole pages are written directly. A file system that refuses that, and the rest
    /// of a page, make it write through the page cache from then on: the offset is no longer aligned.
    pub(super) fn write(&self, piece: &mut WriteBuffer, offset: Option<u64>) -> io::Result<()> {
        let bytes = mem::take(&mut piece.filled);
        let whole_pages = bytes & !(PAGE as usize - 1);
        let mut written = 0;
        if self.is_direct.load(Ordering::Acquire) {
            match self.put(&piece.buffer[..whole_pages], offset) {
                Ok(()) => written = whole_pages,
                // Written again from the start of the piece, at the same offset.
                Err(error) if is_refusal(&error) => self.stop_direct(),
                Err(error) => return Err(error),
            }
        }
        if written < bytes {
            // Less than a page is left, the end of the file most likely.
            self.stop_direct();
            let offset = offset.map(|offset| offset + written as u64);
            self.put(&piece.buffer[written..bytes], offset)?;
        }
        Ok(())
    }

    /// Writes all of `bytes` at their offset.
    fn put(&self, bytes: &[u8], offset: Option<u64>) -> io::Result<()> {
        fail_point!("output-write", Err(crate::sys::failpoint::injected()));
        match (offset, &self.program) {
            (Some(offset), _) => self.file.write_all_at(bytes, offset),
            (None, Some(program)) => program.write_all(&self.file, bytes),
            (None, None) => (&*self.file).write_all(bytes),
        }
    }

    /// Returns the file, once all further writes go through the page cache.
    pub(super) fn through_cache(&self) -> Arc<File> {
        self.stop_direct();
        Arc::clone(&self.file)
    }

    /// Empties the file, which is written around the page cache again, if the file system allows that. No thread may be
    /// writing.
    pub(super) fn empty(&self) -> io::Result<()> {
        self.file.set_len(0)?;
        let is_direct = set_direct(&self.file, true);
        self.is_direct.store(is_direct, Ordering::Release);
        Ok(())
    }

    /// Has the system begin to write to the disk what went through the page cache.
    pub(super) fn begin_writing(&self) {
        begin_writing(&self.file);
    }

    /// Makes all further writes go through the page cache. Several threads may call it at the same time.
    fn stop_direct(&self) {
        if self.is_direct.load(Ordering::Acquire) {
            // First: a thread that finds the flag down must find the descriptor changed. Twice does no harm.
            set_direct(&self.file, false);
            self.is_direct.store(false, Ordering::Release);
        }
    }
}
