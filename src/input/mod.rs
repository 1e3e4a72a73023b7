//! Inputs: what a caller names, and what is known of it before it is read.
//!
//! *Owns:* what a caller names ([`source`]), opening and identifying it ([`opening`], [`Input`]), its files ([`parts`])
//! and the pieces of them that are decoded ([`pieces`]), the bytes in order ([`byte_reader`]), where records have
//! their keys ([`keying`]), and samples ([`sample`](mod@sample)). Below it are what a line is
//! ([`lines`](crate::lines)) and the decoding of bytes ([`decode`](crate::decode)); above it is
//! [`reading`](crate::reading) in chunks.
//!
//! *Invariants.*
//! - All inputs are opened and checked before any work starts. What an input is decides whether it was
//!   named twice, not what it is called ([`FileId`]): a file, or a list of the same files, counts as one input,
//!   and what can be read only once (a pipe, a FIFO, a terminal) is refused.
//! - A regular file is closed again after the check and opened anew for each pass, so that any
//!   number of inputs and parts runs under any descriptor limit. A file that changed fails the run.
//! - A pipe stays open and is read once. What must be read twice is spooled first.
//!
//! *Cost:* no memory that grows with the input, save what is known of each file; one descriptor per pipe.

mod access;
mod beginning;
pub(crate) mod byte_reader;
mod commands;
mod findings;
mod front;
pub(crate) mod keying;
mod labels;
mod notices;
mod opening;
mod part_lines;
pub(crate) mod parts;
pub(crate) mod pieces;
pub(crate) mod sample;
mod source;

use std::ops::{Add, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::decode::compressed::Decoding;
use crate::decode::stream::StoppableStream;
use crate::error::{Error, Result};
use crate::input::access::Access;
use crate::input::byte_reader::{ByteReader, Streams};
use crate::input::findings::Findings;
use crate::input::keying::{Keying, RecordRules, Taken};
use crate::input::parts::{Part, Parts};
use crate::lines::LineFormat;
use crate::memory::budget::MemoryBudget;
use crate::record::Columns;
use crate::sys::file_id::FileId;

pub(crate) use crate::input::findings::ReadCounts;
pub(crate) use crate::input::labels::labels;
pub use crate::input::source::{Files, Source};

/// Bytes of a chunk of records whose keys may have to be copied, at most: those of a chunk that is in the page cache.
const MOST_COPIED_CHUNK: u64 = 256 << 10;

/// An input that was opened and checked.
#[derive(Debug)]
pub(crate) struct Input {
    identity: Identity,
    /// The way to its bytes.
    access: Access,
    /// The rules by which its lines are records.
    records: RecordRules,
    /// Everything found of it since it was opened.
    found: Findings,
}

/// The name of an input, and its number among the others.
#[derive(Debug, Default)]
struct Identity {
    /// Its name in messages and statistics.
    name: PathBuf,
    /// Its index in the caller's order, from 0, repeats of a file not counted.
    number: usize,
    /// The sides that it is, by their numbers among what the caller named, from 1: more than one if it was named again.
    sides: Vec<u32>,
    /// The ordinal of its first byte, where the order of its lines is kept.
    first_ordinal: Option<u64>,
    /// The bits that are turned over in each ordinal.
    ordinal_mask: u64,
}

impl Input {
    /// Makes an input without a number among others yet.
    fn new(name: PathBuf, access: Access) -> Self {
        Self {
            identity: Identity {
                name,
                ..Identity::default()
            },
            access,
            records: RecordRules::default(),
            found: Findings::default(),
        }
    }

    /// Returns this input, after its streams were copied to `paths`; messages still call it by its own name.
    ///
    /// # Errors
    /// [`Error::Input`] where a copy cannot be read.
    pub(crate) fn spooled(self, paths: Vec<PathBuf>) -> Result<Self> {
        let copies = Parts::copies(paths, self.part_names(), self.decodes())?;
        let taken = self.all_taken();
        Ok(Self {
            access: self.access.copied_to(copies),
            records: self.records.of_copies(taken),
            ..self
        })
    }

    /// Returns the same with only those lines of the file that begin in `range`.
    ///
    /// # Errors
    /// [`Error::Usage`] for anything but one plain file, whose lines can begin anywhere.
    pub(crate) fn in_range(self, range: Range<u64>) -> Result<Self> {
        let refuse = |what: &str, advice: &str| {
            Error::usage(format!("{}: {what}", self.name().display()), advice)
        };
        let Some(parts) = self.parts() else {
            return Err(refuse(
                "is not a regular file, so it has no ranges",
                "leave out `range`, or name a file",
            ));
        };
        if parts.decoding().is_some() {
            return Err(refuse(
                "is compressed, so it cannot be read from the middle",
                "leave out `range`: one command reads all of it",
            ));
        }
        let range = parts.clamped(range);
        self.found.note_likely_bytes(range.end - range.start);
        Ok(Self {
            access: self.access.map_parts(|parts| parts.in_range(range)),
            ..self
        })
    }

    /// Returns the same under another name.
    pub(crate) fn called(self, name: &str) -> Self {
        Self {
            identity: Identity {
                name: name.into(),
                ..self.identity
            },
            access: self.access.map_parts(|parts| parts.called(name.into())),
            ..self
        }
    }

    /// Returns its name.
    pub(crate) fn name(&self) -> &Path {
        &self.identity.name
    }

    /// Returns the name of one of its files in messages, by its number; of a stream there is one, number 0, and of
    /// commands there is one for each.
    pub(crate) fn part_name(&self, part: usize) -> &Path {
        match (self.parts(), self.access.commands()) {
            (Some(parts), _) => parts.name(part),
            (None, Some(commands)) => commands.name(part),
            (None, None) => self.name(),
        }
    }

    /// Returns the names of its files, as [`Input::part_name`] has them.
    pub(crate) fn part_names(&self) -> Arc<Vec<PathBuf>> {
        match (self.parts(), self.access.commands()) {
            (Some(parts), _) => Arc::clone(parts.names()),
            (None, Some(commands)) => commands.names(),
            (None, None) => Arc::new(vec![self.name().to_owned()]),
        }
    }

    /// Returns what was read of one of its streams as its header, before its first chunk; nothing of a file.
    pub(crate) fn taken(&self, part: usize) -> Taken {
        let of_stream = || Some(*self.keying()?.taken().get(part)?);
        match self.access.commands() {
            Some(commands) => commands.front(part),
            None => of_stream().unwrap_or_default(),
        }
    }

    /// Returns the same of each of its streams, once all were read.
    pub(crate) fn all_taken(&self) -> Vec<Taken> {
        match self.access.commands() {
            Some(commands) => commands.fronts(),
            None => self
                .keying()
                .map_or(Vec::new(), |keying| keying.taken().to_vec()),
        }
    }

    /// Counts its files, or the outputs of its commands.
    pub(crate) fn part_count(&self) -> usize {
        match (self.parts(), self.access.commands()) {
            (Some(parts), _) => parts.all().len(),
            (None, Some(commands)) => commands.count(),
            (None, None) => 1,
        }
    }

    /// Returns its index in the caller's order, repeats of a file not counted.
    pub(crate) fn number(&self) -> usize {
        self.identity.number
    }

    /// Returns the sides that it is, from 1.
    pub(crate) fn sides(&self) -> &[u32] {
        &self.identity.sides
    }

    /// Lets its lines have ordinals that begin with this one, with the bits of `mask` turned over; `None` for lines
    /// whose order does not matter.
    pub(crate) fn set_first_ordinal(&mut self, first_ordinal: Option<u64>, mask: u64) {
        self.identity.first_ordinal = first_ordinal;
        self.identity.ordinal_mask = mask;
    }

    /// Returns the bits that are turned over in each of its ordinals.
    pub(crate) fn ordinal_mask(&self) -> u64 {
        self.identity.ordinal_mask
    }

    /// Returns the ordinal of its first byte, where the order of its lines is kept.
    pub(crate) fn first_ordinal(&self) -> Option<u64> {
        self.identity.first_ordinal
    }

    /// Lets passes keep its records whole, where its lines are records, or their keys alone.
    ///
    /// # Errors
    /// [`Error::Usage`] where its files do not have their keys in the same columns.
    pub(crate) fn keep_records(&mut self, are_kept: bool) -> Result<()> {
        self.records.are_kept = are_kept;
        self.check_layouts_if(are_kept)
    }

    /// Lets a last pass write its records whole, where its lines are records, whatever other passes keep; or not.
    ///
    /// # Errors
    /// As [`Input::keep_records`].
    pub(crate) fn write_records(&mut self, are_written: bool) -> Result<()> {
        self.records.are_written = are_written;
        self.check_layouts_if(are_written)
    }

    /// Checks that its files have their keys in the same columns, if that matters.
    fn check_layouts_if(&self, matters: bool) -> Result<()> {
        if !matters {
            return Ok(());
        }
        let (name, parts) = (&self.identity.name, self.access.parts());
        let name_of = |part| parts.map_or(name.as_path(), |parts| parts.name(part));
        self.keying()
            .map_or(Ok(()), |keying| keying.check_layouts(name_of))
    }

    /// Returns the rules by which its lines are records; `None` if each is its own key.
    pub(crate) fn keying(&self) -> Option<&Keying> {
        self.records.keying.as_ref()
    }

    /// Returns true if its lines are records whose keys may have to be copied.
    pub(crate) fn copies_keys(&self) -> bool {
        let keying = self.keying();
        keying.is_some_and(|keying| keying.columns(0).may_copy())
    }

    /// Returns the bytes of a chunk of it, where there is room for `planned`: fewer where keys may have to be copied,
    /// so that a record with a long key is alone in its chunk.
    pub(crate) fn chunk_bytes(&self, planned: u64) -> u64 {
        if self.copies_keys() {
            planned.min(MOST_COPIED_CHUNK)
        } else {
            planned
        }
    }

    /// Returns true if its records are kept whole; else only their keys are.
    pub(crate) fn keeps_records(&self) -> bool {
        self.records.are_kept && self.keying().is_some()
    }

    /// Returns true if its rows need not become text: the run wants nothing of them but their keys, as they are
    /// compared, and, if they are numbered, these numbers as ordinals.
    ///
    /// All readings of a run must agree: one as text has other bytes, as if the input had changed. They do, because
    /// what an attempt keeps of numbered rows depends on nothing that a complete reading finds out.
    pub(crate) fn gives_keys_of_rows(&self) -> bool {
        let (Some(keying), Some(parts)) = (self.keying(), self.parts()) else {
            return false;
        };
        let wants_numbers_alone = self.first_ordinal().is_some() && !self.keeps_records();
        let mut columns = (0..parts.all().len()).map(|part| keying.columns(part));
        // Only rows are written as keys are; what is written of those with numbers begins with them.
        columns.all(|it| it.are_keys() && (wants_numbers_alone || !it.has_row_numbers()))
    }

    /// Returns true if its records are written by a last pass; else it writes their keys.
    pub(crate) fn writes_records(&self) -> bool {
        self.records.are_written && self.keying().is_some()
    }

    /// Returns the columns of the keys in records that are kept whole; `None` if lines are keys.
    pub(crate) fn record_columns(&self) -> Option<&Arc<Columns>> {
        self.records.columns()
    }

    /// Notes what a complete reading found.
    pub(crate) fn note_reading(&self, found: ReadCounts) {
        self.found.note_reading(found);
    }

    /// Counts its lines, once it was read.
    pub(crate) fn lines(&self) -> u64 {
        self.found.last_reading().lines
    }

    /// Counts its bytes, once it was read.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.found.last_reading().bytes
    }

    /// Counts its blank lines and comments, once it was read.
    pub(crate) fn passed_over(&self) -> u64 {
        self.found.last_reading().passed_over
    }

    /// Returns the field by which its records are ranked, if none of those read has a number in it.
    pub(crate) fn ranked_by_nothing(&self) -> Option<String> {
        let found = self.found.last_reading();
        let is_missing = found.lines > 0 && found.without_number == found.lines;
        let keying = self.keying().filter(|_| is_missing)?;
        Some(keying.columns(0).ranked_by())
    }

    /// Counts those of its lines and rows that belong to records without a key and were left out, once it was read.
    pub(crate) fn bad_records(&self) -> u64 {
        let tables = self.parts().into_iter().flat_map(Parts::tables);
        let of_tables: u64 = tables.map(|table| table.left_out().1).sum();
        self.found.last_reading().bad_records + of_tables
    }

    /// Counts the rows of its Parquet files that have NULL in the key and were left out, once it was read; `None` if
    /// it has no such files.
    pub(crate) fn null_rows(&self) -> Option<u64> {
        let tables = self.parts().into_iter().flat_map(Parts::tables);
        tables.map(|table| table.left_out().0).reduce(u64::add)
    }

    /// Returns a file with bytes after its compressed data that are no data, and their number; known once it was read.
    pub(crate) fn padded(&self) -> Option<(&Path, u64)> {
        let found = self.access.padded();
        found.map(|(part, bytes)| (self.part_name(part), bytes))
    }

    /// Returns its size, where that is known: of a plain file, and of a compressed one that was read.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let parts = self.parts()?;
        let is_known = parts.decoding().is_none() && !parts.has_range();
        match self.read_bytes() {
            _ if is_known => Some(parts.bytes()),
            0 => None,
            read => Some(read),
        }
    }

    /// Returns its size as far as it is known; of a compressed file that was not read yet what a sample shows.
    pub(crate) fn likely_bytes(&self) -> Option<u64> {
        self.bytes().or(self.found.likely_bytes())
    }

    /// Returns its size as it is stored; `None` for a stream.
    pub(crate) fn file_bytes(&self) -> Option<u64> {
        self.parts().map(Parts::bytes)
    }

    /// Counts the bytes of its files, where some of them are decoded.
    pub(crate) fn stored_bytes(&self) -> Option<u64> {
        let parts = self.parts()?;
        parts.decoding()?;
        Some(parts.all().iter().map(|part| part.state.size).sum())
    }

    /// Counts its files, where they were named as one side.
    pub(crate) fn file_count(&self) -> Option<u64> {
        let commands = self.commands().map(|commands| commands.count() as u64);
        let of_parts = self.parts().and_then(Parts::count);
        of_parts.or(commands.filter(|&count| count > 1))
    }

    /// Counts its files if all that are not empty are Parquet files; 0 if one is not.
    pub(crate) fn tables(&self) -> usize {
        let all = self.parts().map_or(&[][..], Parts::all);
        let is_table = |part: &Part| part.format.table().is_some() || part.state.size == 0;
        if self.null_rows().is_some() && all.iter().all(is_table) {
            all.len()
        } else {
            0
        }
    }

    /// Returns true if one of its files is the one at `path`.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        let all = self.parts().map_or(&[][..], Parts::all);
        FileId::at(path).is_ok_and(|id| all.iter().any(|part| part.state.id == id))
    }

    /// Returns true if it can be read by position, and more than once.
    pub(crate) fn is_file(&self) -> bool {
        self.parts().is_some()
    }

    /// Returns the streams that commands write, if it consists of these.
    pub(crate) fn commands(&self) -> Option<&dyn Streams> {
        self.access
            .commands()
            .map(|commands| commands as &dyn Streams)
    }

    /// Returns true if it consists of several streams, one after the other.
    pub(crate) fn is_joined(&self) -> bool {
        self.commands().is_some_and(|commands| commands.count() > 1)
    }

    /// Returns true if it can be read (again): a stream only before its one reading.
    pub(crate) fn can_be_read(&self) -> bool {
        self.is_file() || self.commands().is_some() || self.access.look_at_stream(|_| ()).is_some()
    }

    /// Returns true if most of its bytes were in the page cache when it was checked.
    pub(crate) fn is_warm(&self) -> bool {
        self.parts().is_some_and(Parts::is_warm)
    }

    /// Returns true if what is compressed is decoded.
    pub(crate) fn decodes(&self) -> bool {
        self.access.decodes
    }

    /// Returns what decoding it takes: `None` if it is not compressed, and a little for a pipe that may be.
    pub(crate) fn decoding(&self) -> Option<Decoding> {
        self.access.decoding()
    }

    /// Returns its files; `None` for a stream.
    pub(crate) fn parts(&self) -> Option<&Parts> {
        self.access.parts()
    }

    /// Checks that all of its files are as they were at the start.
    ///
    /// # Errors
    /// Those of [`Parts::open`].
    pub(crate) fn verify(&self) -> Result<()> {
        let Some(parts) = self.parts() else {
            return Ok(());
        };
        (0..parts.all().len()).try_for_each(|part| parts.open(part).map(drop))
    }

    /// Takes the stream for its one reading, which `stop` can end; of commands the output with this `number`, from 0.
    ///
    /// # Errors
    /// [`Error::Input`] the second time, and for a regular file.
    pub(crate) fn take_stream<'a>(
        &self,
        number: usize,
        stop: &'a (dyn Fn() -> Result<()> + Sync),
    ) -> Result<StoppableStream<'a>> {
        self.access.take_stream(self.name(), number, stop)
    }

    /// Returns the rules for the lines of one of its files, where those of text are `format`.
    pub(crate) fn format_of(&self, part: usize, format: LineFormat) -> LineFormat {
        let table = self
            .parts()
            .and_then(|parts| parts.all()[part].format.table());
        table.map_or(format, |_| format.of_rows())
    }

    /// Makes the reader of the bytes of its stream, once that was taken, and of those that follow; `stop` ends it. A
    /// decoder gets its memory from `budget`.
    pub(crate) fn byte_reader<'a>(
        &'a self,
        stream: StoppableStream<'a>,
        budget: &MemoryBudget,
        stop: &'a (dyn Fn() -> Result<()> + Sync),
    ) -> ByteReader<'a> {
        let (decodes, padding) = (self.decodes(), self.access.padding());
        let reader = ByteReader::of_stream(stream, self.part_name(0), decodes, padding, budget);
        match self.commands() {
            Some(commands) => reader.followed_by(commands, stop),
            None => reader,
        }
    }
}
