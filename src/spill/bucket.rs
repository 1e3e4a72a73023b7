//! A sealed bucket: where its blocks are, and what must come out of them.
//!
//! *Owns:* the blocks of a bucket, held in memory or written to its file. *Invariants:* a sealed
//! bucket does not change; its counts are those of the lines that were appended. *Cost:* the held
//! blocks; 24 bytes per block.

use crate::buffer::Buffer;
use crate::error::Error;
use crate::spill::block::Address;
use crate::spill::space::{SpillPath, TempSpace};

/// Where a block is.
#[derive(Debug)]
pub(crate) enum Place {
    /// Still in memory.
    Held {
        /// The block.
        buffer: Buffer,
        /// Its length without padding.
        length: usize,
    },
    /// In the bucket's file.
    Written {
        /// Where in the file.
        offset: u64,
        /// Its length without padding.
        length: usize,
    },
}

/// All lines of one input that fall into one bucket.
#[derive(Debug)]
pub(crate) struct Bucket {
    /// Where it belongs; the sequence is not used.
    pub(crate) address: Address,
    pub(crate) file: Option<SpillPath>,
    pub(crate) file_bytes: u64,
    pub(crate) blocks: Vec<Place>,
    /// Lines appended.
    pub(crate) lines: u64,
    /// Bytes of their records.
    pub(crate) record_bytes: u64,
    /// The longest of them, in bytes.
    pub(crate) longest_line: u64,
}

impl Bucket {
    /// Gives its memory and its disk back.
    pub(crate) fn discard(self, space: &TempSpace) {
        if let Some(file) = &self.file {
            space.remove(file, self.file_bytes);
        }
    }

    pub(crate) fn damaged(&self, sequence: usize, what: String) -> Error {
        let path = self
            .file
            .as_ref()
            .map(|file| file.path.clone())
            .unwrap_or_default();
        Error::Damaged {
            path,
            block: sequence as u64,
            what,
        }
    }
}
