//! Writing a result: in large pieces, around the page cache where the file system allows it.
//!
//! *Owns:* the buffer between lines and file. *Invariants:* bytes reach the file in order; what was
//! flushed was handed to the system. *Cost:* 256 KiB of memory. A result that went through the page
//! cache would have to be written to the disk before it is put in place anyway; on common disks
//! writing it directly takes a third of the time, and a container's memory limit stays free of it.
//!
//! *Sources:* open(2) on `O_DIRECT`.

use std::fs::File;
use std::io::{self, Write};

use memmap2::MmapMut;

use crate::buffer::PAGE;
use crate::direct::{is_refusal, set_direct};

const BYTES: usize = 256 << 10;

/// A buffered writer into the file of a result. Flush it: what is in the buffer when it is dropped
/// is lost.
#[derive(Debug)]
pub struct OutputWriter {
    file: File,
    /// A mapping, because direct writing needs it aligned.
    buffer: MmapMut,
    filled: usize,
    is_direct: bool,
}

impl OutputWriter {
    /// A writer through the page cache, or to what is no regular file.
    ///
    /// # Errors
    /// When the system gives no memory for the buffer.
    pub fn buffered(file: File) -> io::Result<Self> {
        Ok(Self {
            file,
            buffer: MmapMut::map_anon(BYTES)?,
            filled: 0,
            is_direct: false,
        })
    }

    /// A writer into an empty regular file, around the page cache if that can be.
    pub(super) fn direct(file: File) -> io::Result<Self> {
        let is_direct = set_direct(&file, true);
        Ok(Self {
            is_direct,
            ..Self::buffered(file)?
        })
    }

    /// Writes the first `bytes` of the buffer, which is empty then.
    fn write_out(&mut self, bytes: usize) -> io::Result<()> {
        self.filled = 0;
        let whole_pages = bytes & !(PAGE as usize - 1);
        let mut written = 0;
        if self.is_direct {
            match self.file.write_all(&self.buffer[..whole_pages]) {
                Ok(()) => written = whole_pages,
                Err(error) if is_refusal(&error) => self.stop_direct(),
                Err(error) => return Err(error),
            }
        }
        if written < bytes {
            // Less than a page is left, the end of the file most likely.
            self.stop_direct();
            self.file.write_all(&self.buffer[written..bytes])?;
        }
        Ok(())
    }

    fn stop_direct(&mut self) {
        if self.is_direct {
            set_direct(&self.file, false);
            self.is_direct = false;
        }
    }
}

impl Write for OutputWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.filled == self.buffer.len() {
            self.write_out(self.filled)?;
        }
        let taken = bytes.len().min(self.buffer.len() - self.filled);
        self.buffer[self.filled..self.filled + taken].copy_from_slice(&bytes[..taken]);
        self.filled += taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_out(self.filled)?;
        self.file.flush()
    }
}
