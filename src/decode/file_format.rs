//! The format of an input: plain lines, compressed, or a Parquet file.
//!
//! *Owns:* finding it out when a file is opened ([`FileFormat`]). *Invariants:* the first bytes decide, not the name.
//! *Cost:* a look at the first bytes; see [`crate::decode::compressed`] and [`crate::decode::parquet`].

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::decode::compressed::{Decoding, Signature, signature_of};
use crate::decode::io_error::unreadable;
use crate::decode::parquet::Table;
use crate::decode::request::Opening;
use crate::error::Result;

/// The format of a file: how its bytes become lines.
#[derive(Debug, Clone)]
pub(crate) enum FileFormat {
    /// They are lines.
    Plain,
    /// They are decompressed.
    Compressed(Decoding),
    /// Its rows become records.
    Table(Arc<Table>),
}

impl FileFormat {
    /// Recognises the format of a file of `size` bytes that belongs to the input with `number`, from 1. Messages call
    /// it `name`.
    ///
    /// # Errors
    /// Where it cannot be read; as [`Table::open`].
    pub(crate) fn of_file(
        file: &File,
        size: u64,
        name: &Path,
        number: u32,
        opening: Opening<'_>,
    ) -> Result<Self> {
        if !opening.decodes {
            return Ok(Self::Plain);
        }
        let fail = |error| unreadable(name, error);
        if signature_of(file, size).map_err(fail)? == Signature::Parquet {
            let table = Table::open(file, size, name, number, opening)?;
            return Ok(Self::Table(Arc::new(table)));
        }
        Self::of_text(file, size).map_err(fail)
    }

    /// Recognises the format of a file that is no Parquet file.
    pub(crate) fn of_text(file: &File, size: u64) -> std::io::Result<Self> {
        let decoding = Decoding::of_file(file, size)?;
        Ok(decoding.map_or(Self::Plain, Self::Compressed))
    }

    /// Returns what decoding it takes; `None` if it is read as it is.
    pub(crate) fn decoding(&self) -> Option<Decoding> {
        match self {
            Self::Plain => None,
            Self::Compressed(decoding) => Some(*decoding),
            Self::Table(table) => Some(table.decoding()),
        }
    }

    /// Returns where a piece of a file of `size` bytes is stored that begins at `start`, as
    /// [`pieces`](crate::input::pieces) count: about, in the order of the pieces.
    pub(crate) fn stored_offset(&self, start: u64, size: u64) -> u64 {
        match self {
            Self::Table(table) => size / table.row_groups().max(1) * start,
            Self::Plain | Self::Compressed(_) => start,
        }
    }

    /// Returns the table that it is.
    pub(crate) fn table(&self) -> Option<&Arc<Table>> {
        match self {
            Self::Table(table) => Some(table),
            Self::Plain | Self::Compressed(_) => None,
        }
    }
}
