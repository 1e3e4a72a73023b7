//! Writing a filter file.
//!
//! *Owns:* the order of its parts. *Invariants:* written beside its name, synced, and put in place
//! at the end: a reader sees the old file or the new one. *Cost:* two passes over the cells: their
//! checksums come before them in the file.

use std::io::Write;
use std::path::Path;

use crate::buffer::Buffer;
use crate::error::Result;
use crate::filter::blocked::BlockedFilter;
use crate::filter::file::header::{HEADER_BYTES, Header};
use crate::filter::file::{SECTION_BYTES, section_checksum};
use crate::filter::kept::{Filter, Rules};
use crate::filter::shape::{Kind, Shape};
use crate::interrupt::Interrupt;
use crate::output::{OutputFile, output_error};
use xxhash_rust::xxh3::xxh3_64;

impl Filter<Buffer> {
    /// Writes the filter to `path`, complete or not at all, readable by its owner alone (a file that
    /// is replaced keeps its mode).
    ///
    /// # Errors
    /// [`crate::Error::Output`]; what was there before is still there then.
    pub fn save(&self, path: &Path, interrupt: &Interrupt) -> Result<()> {
        self.save_into(OutputFile::create_private(path, interrupt)?, path)
    }

    /// As [`Filter::save`], into a file that was opened beforehand.
    ///
    /// # Errors
    /// As [`Filter::save`].
    pub fn save_into(&self, file: OutputFile, path: &Path) -> Result<()> {
        let header = header(self.shape, self.rules, self.keys());
        write(header, self.cells(), file, path)
    }
}

impl BlockedFilter {
    /// Writes the filter to `path`, as [`Filter::save`] does. `rules` say how its keys were made.
    ///
    /// # Errors
    /// As [`Filter::save`].
    pub fn save(&self, path: &Path, rules: Rules, interrupt: &Interrupt) -> Result<()> {
        let shape = Shape {
            kind: Kind::Blocked,
            cells: self.bits(),
            hashes: self.hashes(),
        };
        let file = OutputFile::create_private(path, interrupt)?;
        let header = header(shape, rules, self.keys());
        write(header, self.blocks().words, file, path)
    }
}

/// A header that lacks the checksum of the table.
fn header(shape: Shape, rules: Rules, keys: u64) -> Header {
    Header {
        shape,
        hasher: rules.hasher,
        format: rules.format,
        keys,
        planned_keys: rules.planned_keys,
        table_checksum: 0,
    }
}

fn write(mut header: Header, cells: &[u64], file: OutputFile, path: &Path) -> Result<()> {
    let fail = |error| output_error(&path.display().to_string(), "cannot write", error);
    let body: &[u8] = bytemuck::cast_slice(cells);
    let mut table = Vec::new();
    for (number, section) in (0..).zip(body.chunks(SECTION_BYTES as usize)) {
        table.extend(section_checksum(number, section).to_le_bytes());
    }
    table.resize((header.body_at() - HEADER_BYTES) as usize, 0);
    header.table_checksum = xxh3_64(&table);
    let mut writer = file.writer()?;
    for part in [&header.encode(), &table[..], body] {
        writer.write_all(part).map_err(fail)?;
    }
    writer.flush().map_err(fail)?;
    drop(writer);
    file.finish()
}
