//! Writing a filter file.
//!
//! *Owns:* the order of its parts. *Invariants:* the file is written under another name beside the old one, synced, and
//! put in its place at the end: a reader sees the old file or the new one. *Cost:* two passes over the cells, because
//! their checksums come before them in the file.

use std::io::Write;

use crate::error::Result;
use crate::filter::file::header::{FilterHeader, HEADER_BYTES};
use crate::filter::file::{SECTION_BYTES, section_checksum};
use crate::filter::filter::Rules;
use crate::filter::shape::Shape;
use crate::output::{OutputFile, output_error};
use crate::sys::checksum;

/// Makes a header without the checksum of the table, which `write` computes.
pub(super) fn header(shape: Shape, rules: Rules, keys: u64) -> FilterHeader {
    FilterHeader {
        shape,
        hasher: rules.hasher,
        format: rules.format,
        key_form: rules.key_form.consistent(),
        keys,
        planned_keys: rules.planned_keys,
        table_checksum: 0,
    }
}

/// Writes a file from its start, and flushes it.
pub(super) fn write(mut header: FilterHeader, cells: &[u64], file: &OutputFile) -> Result<()> {
    let fail = |error| output_error(file.name(), "cannot write", error);
    let body: &[u8] = bytemuck::cast_slice(cells);
    let mut table = Vec::new();
    for (number, section) in (0..).zip(body.chunks(SECTION_BYTES as usize)) {
        table.extend(section_checksum(number, section).to_le_bytes());
    }
    table.resize((header.body_at() - HEADER_BYTES) as usize, 0);
    header.table_checksum = checksum::of(&table);
    let mut writer = file.writer()?;
    for part in [&header.encode(), &table[..], body] {
        writer.write_all(part).map_err(fail)?;
    }
    writer.flush().map_err(fail)
}
