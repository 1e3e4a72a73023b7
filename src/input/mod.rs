//! Inputs: files, pipes, and the chunks of whole lines that are read from them.
//!
//! *Owns:* what a caller names ([`source`]), opening and identifying inputs ([`opening`], [`Input`]) and their files
//! ([`parts`]), sampling them ([`windows`], [`sample`]), where records have their keys ([`keying`]), one reading of an
//! input ([`reading`]) in chunks that end at line ends ([`chunk`]), and the one place that knows what a line is
//! ([`lines`]). Nothing else in the crate knows terminators.
//!
//! *Invariants.*
//! - All inputs are opened and checked before any work starts. What an input is decides whether it was
//!   named twice, not what it is called ([`FileId`]): a file, or a list of the same files, counts as one input,
//!   and what can be read only once (a pipe, a FIFO, a terminal) is refused.
//! - A regular file is closed again after the check and opened anew for each pass, so that any
//!   number of inputs and parts runs under any descriptor limit. A file that changed fails the run.
//! - A pipe stays open and is read once. What must be read twice is spooled first.
//! - A compressed file is read in order, and decoded anew for each pass ([`compressed`]).
//!
//! *Cost:* no memory that grows with the input, save what is known of each file; one descriptor per pipe, one per
//! file being read.

mod ahead;
mod block;
pub(crate) mod chunk;
pub(crate) mod claims;
pub(crate) mod compressed;
mod feed;
pub(crate) mod file;
pub(crate) mod first_lines;
pub(crate) mod foreign;
mod form;
mod front;
pub(crate) mod keying;
mod lanes;
pub(crate) mod last_end;
pub(crate) mod lines;
pub(crate) mod long_lines;
mod opening;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "no_parquet.rs"]
pub(crate) mod parquet;
pub(crate) mod parts;
mod pieces;
pub(crate) mod placed;
mod quotes;
pub(crate) mod range;
pub(crate) mod reading;
pub(crate) mod repeats;
pub(crate) mod request;
pub(crate) mod sample;
pub(crate) mod source;
pub(crate) mod stream;
mod stream_chunks;
pub(crate) mod supply;
pub(crate) mod windows;

use std::fs::File;
use std::io;
use std::ops::{Add, Range};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::input::compressed::Decoding;
use crate::input::feed::Feed;
use crate::input::foreign::Told;
use crate::input::form::Form;
use crate::input::keying::Keying;
use crate::input::parts::{Padding, Parts};
use crate::input::source::STDIN;
use crate::input::stream::StoppableStream;
use crate::record::Columns;
use crate::sys::file_id::FileId;

pub use crate::input::feed::Reader;
pub use crate::input::source::{Files, Source};

/// An input that was opened and checked.
#[derive(Debug)]
pub(crate) struct Input {
    /// How it is called in messages and statistics.
    name: PathBuf,
    /// Its place in the caller's order, from 0, repeats of a file not counted.
    number: usize,
    /// The sides that it is, as places in what the caller named, from 1: more than one if it was named again.
    sides: Vec<u32>,
    /// The ordinal of its first byte, where the order of its lines is kept.
    first_ordinal: Option<u64>,
    /// How its bytes are reached.
    access: Access,
    /// The note about the end of its reader, if it has one.
    feed: Option<Feed>,
    /// Whether it is gone once it was read, under whatever name: a pipe, a FIFO, a socket, a terminal.
    is_read_once: bool,
    /// Lines of the last complete reading; 0 before it.
    lines: AtomicU64,
    /// Bytes of the last complete reading, terminators included.
    read_bytes: AtomicU64,
    /// Whether what is compressed is decoded.
    decodes: bool,
    /// About how many bytes it has when it is decoded; [`u64::MAX`] before a sample.
    likely_bytes: AtomicU64,
    /// How its lines are records; `None` where each is its own key.
    keying: Option<Keying>,
    /// Whether its records are kept whole; else only their keys are.
    keeps_records: bool,
    /// Lines of records without a key of the last complete reading.
    bad_records: AtomicU64,
    /// Blank lines and comments of the last complete reading.
    passed_over: AtomicU64,
    /// The number of bytes that were passed over at the end of a stream.
    padding: Padding,
    /// The record of what was told of data that is no plain text.
    told: Told,
}

/// The counts of a complete reading.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadCounts {
    /// Lines that were worked on.
    pub(crate) lines: u64,
    /// Bytes of all lines, terminators included.
    pub(crate) bytes: u64,
    /// Lines of records without a key.
    pub(crate) bad_records: u64,
    /// Blank lines and comments.
    pub(crate) passed_over: u64,
}

#[derive(Debug)]
enum Access {
    /// Regular files.
    Parts(Parts),
    /// Anything else, read once from its start; `None` after that.
    Stream(Mutex<Option<File>>),
}

impl Input {
    /// An input without a place among others yet.
    fn new(name: PathBuf, access: Access, decodes: bool) -> Self {
        Self {
            name,
            number: 0,
            sides: Vec::new(),
            first_ordinal: None,
            access,
            feed: None,
            is_read_once: false,
            lines: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
            decodes,
            likely_bytes: AtomicU64::new(u64::MAX),
            keying: None,
            keeps_records: false,
            bad_records: AtomicU64::new(0),
            padding: Padding::default(),
            passed_over: AtomicU64::new(0),
            told: Told::default(),
        }
    }

    /// This input, after it was copied to `path`; messages still call it by its own name.
    pub(crate) fn spooled(self, path: PathBuf) -> Result<Self> {
        let copy = File::open(&path).and_then(|file| {
            let metadata = file.metadata()?;
            let form = if self.decodes {
                Form::of_text(&file, metadata.size())?
            } else {
                Form::Plain
            };
            Ok((metadata, form))
        });
        let (metadata, form) = copy.map_err(|error| unreadable(&path, error))?;
        let copy = Parts::one(path, self.name.clone(), &metadata, false, form);
        Ok(Self {
            access: Access::Parts(copy),
            keying: self.keying.map(Keying::of_copy),
            ..self
        })
    }

    /// The same with only those lines of the file that begin in `range`.
    ///
    /// # Errors
    /// [`Error::Usage`] for anything but one plain file, whose lines can begin anywhere.
    pub(crate) fn in_range(self, range: Range<u64>) -> Result<Self> {
        let refuse = |what: &str, advice: &str| {
            Error::usage(format!("{}: {what}", self.name.display()), advice)
        };
        if self.parts().is_some_and(|parts| parts.decoding().is_some()) {
            return Err(refuse(
                "is compressed, so it cannot be read from the middle",
                "leave out `range`: one command reads all of it",
            ));
        }
        match self.access {
            Access::Parts(parts) => {
                let parts = parts.in_range(range);
                let likely = parts.range(0);
                Ok(Self {
                    likely_bytes: AtomicU64::new(likely.end - likely.start),
                    access: Access::Parts(parts),
                    ..self
                })
            }
            Access::Stream(_) => Err(refuse(
                "is not a regular file, so it has no ranges",
                "leave out `range`, or name a file",
            )),
        }
    }

    /// The file's size as it is stored; `None` for a stream.
    pub(crate) fn file_bytes(&self) -> Option<u64> {
        self.parts().map(Parts::bytes)
    }

    /// The same under another name.
    pub(crate) fn called(self, name: &str) -> Self {
        let access = match self.access {
            Access::Parts(parts) => Access::Parts(parts.called(name.into())),
            stream @ Access::Stream(_) => stream,
        };
        Self {
            name: name.into(),
            access,
            ..self
        }
    }

    /// Lets its lines have ordinals that begin with this one; `None` for lines whose order does not matter.
    pub(crate) fn set_first_ordinal(&mut self, first_ordinal: Option<u64>) {
        self.first_ordinal = first_ordinal;
    }

    /// The ordinal of its first byte, where the order of its lines is kept.
    pub(crate) fn first_ordinal(&self) -> Option<u64> {
        self.first_ordinal
    }

    /// The sides that it is, from 1.
    pub(crate) fn sides(&self) -> &[u32] {
        &self.sides
    }

    /// Its place in the caller's order, repeats of a file not counted.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Lets passes keep its records whole, where its lines are records.
    ///
    /// # Errors
    /// [`Error::Usage`] where its files do not have their keys in the same places.
    pub(crate) fn keep_records(&mut self) -> Result<()> {
        if let Some(keying) = &self.keying {
            keying.check_layouts(self)?;
            self.keeps_records = true;
        }
        Ok(())
    }

    /// How its lines are records; `None` where each is its own key.
    pub(crate) fn keying(&self) -> Option<&Keying> {
        self.keying.as_ref()
    }

    /// Whether its records are kept whole; else only their keys are.
    pub(crate) fn keeps_records(&self) -> bool {
        self.keeps_records
    }

    /// Where the keys of the records are that are kept whole; `None` where lines are keys.
    pub(crate) fn record_columns(&self) -> Option<&Arc<Columns>> {
        let keying = self.keying.as_ref().filter(|_| self.keeps_records);
        keying.map(|keying| keying.columns(0))
    }

    /// Notes what a complete reading found.
    pub(crate) fn note_reading(&self, found: ReadCounts) {
        self.lines.store(found.lines, Ordering::Relaxed);
        self.read_bytes.store(found.bytes, Ordering::Relaxed);
        self.bad_records.store(found.bad_records, Ordering::Relaxed);
        self.passed_over.store(found.passed_over, Ordering::Relaxed);
    }

    /// Counts its blank lines and comments, once it was read.
    pub(crate) fn passed_over(&self) -> u64 {
        self.passed_over.load(Ordering::Relaxed)
    }

    /// How many of its lines, and of its rows, belong to records that have no key and were left out, once it was read.
    pub(crate) fn bad_records(&self) -> u64 {
        let tables = self.parts().into_iter().flat_map(Parts::tables);
        let of_tables: u64 = tables.map(|table| table.left_out().1).sum();
        self.bad_records.load(Ordering::Relaxed) + of_tables
    }

    /// Counts the bytes that were passed over at the end of a file or stream.
    fn padding(&self) -> &Padding {
        self.parts().map_or(&self.padding, Parts::padding)
    }

    /// A file with bytes behind its compressed data that are no data, and how many; known once it was read.
    pub(crate) fn padded(&self) -> Option<(&Path, u64)> {
        // A copy of a pipe has none, and the pipe may have had some.
        let found = self.padding().found().or_else(|| self.padding.found());
        found.map(|(part, bytes)| (self.part_name(part), bytes))
    }

    /// The bytes of its files, where some of them are decoded.
    pub(crate) fn stored_bytes(&self) -> Option<u64> {
        let parts = self.parts()?;
        parts.decoding()?;
        Some(parts.all().iter().map(|part| part.state.size).sum())
    }

    /// How many rows of its Parquet files have NULL in the key and were left out, once it was read; `None` where it has
    /// no such files.
    pub(crate) fn null_rows(&self) -> Option<u64> {
        let tables = self.parts().into_iter().flat_map(Parts::tables);
        tables.map(|table| table.left_out().0).reduce(u64::add)
    }

    /// Whether it is one Parquet file.
    pub(crate) fn is_table(&self) -> bool {
        let all = self.parts().map_or(&[][..], Parts::all);
        matches!(all, [only] if only.form.table().is_some())
    }

    /// Its lines, once it was read.
    pub(crate) fn lines(&self) -> u64 {
        self.lines.load(Ordering::Relaxed)
    }

    /// Its bytes, once it was read.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }

    /// Its files; `None` for a stream.
    fn parts(&self) -> Option<&Parts> {
        match &self.access {
            Access::Parts(parts) => Some(parts),
            Access::Stream(_) => None,
        }
    }

    /// How many files it has, where they were named as one side.
    pub(crate) fn file_count(&self) -> Option<u64> {
        self.parts().and_then(Parts::count)
    }

    /// Whether one of its files is the one at `path`.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        let all = self.parts().map_or(&[][..], Parts::all);
        FileId::at(path).is_ok_and(|id| all.iter().any(|part| part.state.id == id))
    }

    /// Whether it can be read (again): a stream only before its one reading.
    pub(crate) fn can_be_read(&self) -> bool {
        match &self.access {
            Access::Parts(_) => true,
            Access::Stream(file) => file
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .is_some(),
        }
    }

    /// How the input is called.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// How messages call one of its files, by its number; of a stream there is one, number 0.
    pub(crate) fn part_name(&self, part: usize) -> &Path {
        self.parts().map_or(&self.name, |parts| parts.name(part))
    }

    /// Its size, where that is known: of a plain file, and of a compressed one that was read.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let parts = self.parts()?;
        let is_known = parts.decoding().is_none() && !parts.has_range();
        match self.read_bytes() {
            _ if is_known => Some(parts.bytes()),
            0 => None,
            read => Some(read),
        }
    }

    /// Its size as far as it is known; of a compressed file that was not read yet what a sample shows.
    pub(crate) fn likely_bytes(&self) -> Option<u64> {
        let likely = self.likely_bytes.load(Ordering::Relaxed);
        self.bytes().or((likely < u64::MAX).then_some(likely))
    }

    /// Notes what a sample shows of the size of a compressed file.
    pub(crate) fn note_likely_bytes(&self, bytes: u64) {
        self.likely_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Whether what is compressed is decoded.
    pub(crate) fn decodes(&self) -> bool {
        self.decodes
    }

    /// What decoding it takes: `None` where it is not compressed, and a little for a pipe that may be.
    pub(crate) fn decoding(&self) -> Option<Decoding> {
        let of_pipe = self.decodes.then_some(Decoding::OF_PIPE);
        self.parts().map_or(of_pipe, Parts::decoding)
    }

    /// Whether it can be read by position, and more than once.
    pub(crate) fn is_file(&self) -> bool {
        self.parts().is_some()
    }

    /// Checks that all of its files are as they were at the start.
    ///
    /// # Errors
    /// As a reading of them.
    pub(crate) fn verify(&self) -> Result<()> {
        let Some(parts) = self.parts() else {
            return Ok(());
        };
        (0..parts.all().len()).try_for_each(|part| parts.open(part).map(drop))
    }

    /// Whether most of its bytes were in the page cache when it was checked.
    pub(crate) fn is_warm(&self) -> bool {
        self.parts().is_some_and(Parts::is_warm)
    }

    /// Takes the stream for its one reading, which `stop` can end.
    ///
    /// # Errors
    /// [`Error::Input`] the second time, and for a regular file.
    pub(crate) fn take_stream<'a>(
        &self,
        stop: &'a (dyn Fn() -> Result<()> + Sync),
    ) -> Result<StoppableStream<'a>> {
        let taken = match &self.access {
            Access::Stream(file) => file.lock().unwrap_or_else(PoisonError::into_inner).take(),
            Access::Parts(_) => None,
        };
        let file = taken.ok_or_else(|| Error::Input {
            path: self.name.clone(),
            source: io::Error::other("a pipe can be read only once"),
            advice: "write it to a file first",
        })?;
        Ok(StoppableStream::new(file, stop).fed_by(self.feed.clone()))
    }
}

/// The error for an input that cannot be opened or read.
pub(crate) fn unreadable(path: &Path, source: io::Error) -> Error {
    let advice = match source.kind() {
        io::ErrorKind::NotFound => "check the name",
        io::ErrorKind::PermissionDenied => "check the permissions of the file and its directories",
        _ if path == Path::new(STDIN) => "check that standard input is open and readable",
        _ => "check the file and the disk it is on",
    };
    Error::Input {
        path: path.to_owned(),
        source,
        advice,
    }
}
