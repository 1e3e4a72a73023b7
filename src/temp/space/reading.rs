//! Reading temporary files back, from all the directories that their parts are in.
//!
//! *Owns:* the errors of reading. *Invariants:* a file that is shorter than what was written is damaged, never read
//! as if it ended there. *Cost:* that of [`pages`](super::pages), for each part.

use std::io;
use std::sync::atomic::Ordering;

use super::{SpillPath, TempSpace};
use crate::error::{Error, Result};
use crate::sys::direct_io::is_refusal;

impl TempSpace {
    /// Fills `buffer` (whole pages) from `offset` (a multiple of the page size) of a file whose blocks lie
    /// `block_bytes` apart. Holes read as zeros. All writes to the range must have returned.
    ///
    /// # Errors
    /// [`Error::Damaged`] where the file is shorter, with the first block that is not whole; [`Error::Temp`]
    /// where it cannot be read; [`Error::Interrupted`] when the run was stopped.
    pub(crate) fn read(
        &self,
        file: &SpillPath,
        offset: u64,
        buffer: &mut [u8],
        block_bytes: u64,
    ) -> Result<()> {
        self.interrupt.check()?;
        let end = offset + buffer.len() as u64;
        let mut at = offset;
        while at < end {
            let (directory, part_end) = match &file.extents {
                Some(extents) => extents.part_at(at, end),
                None => (file.directory, end),
            };
            let part = &mut buffer[(at - offset) as usize..(part_end - offset) as usize];
            self.read_part(file, directory, at, part, block_bytes)?;
            at = part_end;
        }
        self.read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Reads a range that is all in `directory`. A file system that refuses direct reading is asked again without.
    fn read_part(
        &self,
        file: &SpillPath,
        directory: usize,
        offset: u64,
        part: &mut [u8],
        block_bytes: u64,
    ) -> Result<()> {
        let was_direct = self.is_direct(directory);
        match self.read_pages(file, directory, offset, part) {
            Ok(()) => Ok(()),
            Err(error) if is_refusal(&error) && was_direct => {
                self.stop_direct(directory);
                self.read_part(file, directory, offset, part, block_bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let path = self.path_in(file, directory).unwrap_or(file.path.clone());
                let end = std::fs::metadata(&path).map_or(offset, |found| found.len());
                Err(Error::Damaged {
                    path,
                    block: end / block_bytes,
                    what: "the file is shorter than when outset wrote it".into(),
                })
            }
            Err(source) => Err(Error::Temp {
                path: self.path_in(file, directory).unwrap_or(file.path.clone()),
                what: "cannot read a spill file",
                source,
                advice: "run again (the temporary disk is faulty, or the file no longer exists)",
            }),
        }
    }
}
