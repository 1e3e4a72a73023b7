//! A stand-in for [`crate::decode::parquet`] in a build that reads no Parquet files: it refuses them.
//!
//! *Owns:* the refusal. *Invariants:* a Parquet file is not taken for lines because its reader is missing. *Cost:*
//! none.

use std::convert::Infallible;
use std::fs::File;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use crate::decode::compressed::Decoding;
use crate::decode::request::Opening;
use crate::decode::stream::Filled;
use crate::error::{Error, Result};
use crate::memory::budget::MemoryBudget;

/// There is none in this build.
#[derive(Debug)]
pub(crate) struct Table(Infallible);

impl Table {
    /// Refuses a Parquet file.
    ///
    /// # Errors
    /// [`Error::Usage`], always.
    pub(crate) fn open(
        _file: &File,
        _size: u64,
        name: &Path,
        _number: u32,
        _opening: Opening<'_>,
    ) -> Result<Self> {
        Err(Error::usage(
            format!(
                "{}: is a Parquet file, which this build does not read",
                name.display()
            ),
            "build outset with the feature parquet, or write the column as lines first",
        ))
    }

    pub(crate) fn decoding(&self) -> Decoding {
        match self.0 {}
    }

    pub(crate) fn header(&self) -> Option<&[u8]> {
        match self.0 {}
    }

    pub(crate) fn columns(&self) -> usize {
        match self.0 {}
    }

    pub(crate) fn begin_reading(&self) {
        match self.0 {}
    }

    pub(crate) fn row_groups(&self) -> u64 {
        match self.0 {}
    }

    pub(crate) fn rows(&self) -> u64 {
        match self.0 {}
    }

    pub(crate) fn piece_end(&self, _start: u64) -> Option<u64> {
        match self.0 {}
    }

    pub(crate) fn piece_starts(&self) -> std::iter::Empty<u64> {
        match self.0 {}
    }

    pub(crate) fn left_out(&self) -> (u64, u64) {
        match self.0 {}
    }
}

/// There are none in this build.
pub(crate) struct Rows<'a>(Infallible, PhantomData<&'a ()>);

impl<'a> Rows<'a> {
    pub(crate) fn new(
        table: &Arc<Table>,
        _file: File,
        _name: &'a Path,
        _start: u64,
        _end: Option<u64>,
        _stop: &'a (dyn Fn() -> Result<()> + Sync),
        _budget: &MemoryBudget,
    ) -> Self {
        match table.0 {}
    }

    pub(crate) fn with_prefixes(self) -> Self {
        match self.0 {}
    }

    pub(crate) fn fill(&mut self, _buffer: &mut [u8]) -> Result<Filled> {
        match self.0 {}
    }

    pub(crate) fn taken_bytes(&self) -> u64 {
        match self.0 {}
    }
}
