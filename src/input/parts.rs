//! The regular files of an input: one, or the parts of a side of many.
//!
//! *Owns:* what is known of each file since it was checked ([`Part`]), and where it starts in the side.
//!
//! *Invariants.*
//! - Parts are numbered from 0 in the order of the side. Positions in the side count the bytes of the parts before,
//!   without anything between them. Where some are decoded, nobody knows how many bytes come before a part until these
//!   were read; so each byte of a file as it is stored has the same number of positions, for what it may become, and
//!   parts are read by several threads at the same time.
//! - A file is closed again after the check and opened anew for each reading. Its identity (device, inode, size,
//!   time of writing) is compared whenever it is opened and after it was read.
//!
//! - The lines of each part are those of the last reading of the input.
//!
//! *Cost:* [`bytes_to_list`] for each file; nine system calls or so to check one.

use std::fs::{File, Metadata};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::decode::compressed::Decoding;
use crate::decode::file;
use crate::decode::file_format::FileFormat;
use crate::decode::file_state::{FileState, has_size};
use crate::decode::io_error::unreadable;
use crate::decode::parquet::Table;
use crate::decode::request::Opening;
use crate::error::{Error, Result};
use crate::record::{Columns, Syntax};
use crate::selection::MOST_ORDERED_BYTES;
use crate::stats::FileStats;
use crate::sys::file_id::FileId;

/// The knowledge of one file since it was checked.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) state: FileState,
    /// Its start in the side: the bytes of the parts before it.
    pub(crate) start: u64,
    /// True if most of it was in the page cache. Asked before anything else was read of it.
    pub(crate) is_warm: bool,
    /// The format in which it has lines.
    pub(crate) format: FileFormat,
    /// Its lines that workers went through in the last reading, or in the one that is going on.
    lines: AtomicU64,
}

/// Computes what one of many files with a path of `path_bytes` takes besides buffers, in bytes, from when it is listed
/// to the end of the run.
pub(crate) fn bytes_to_list(path_bytes: u64) -> u64 {
    // An allocation has 32 bytes at least, in steps of 16, of which 8 are not its own.
    let text = (path_bytes + 8).next_multiple_of(16).max(32);
    let path = text + size_of::<PathBuf>() as u64;
    let columns = size_of::<Arc<Columns>>() as u64;
    // Where an answer is divided by files, each has a position, and two counts of lines.
    let counts = 3 * size_of::<u64>() as u64;
    // The command compares it with its outputs, and opening compares the sides.
    let ids = (size_of::<Option<FileId>>() + size_of::<FileId>()) as u64;
    let in_run = size_of::<Part>() as u64 + ids + columns;
    // The statistics are made when all of that is free again.
    let in_stats = size_of::<FileStats>() as u64 + text;
    path + counts + in_run.max(in_stats)
}

impl Part {
    /// Makes a part that does not know yet what comes before it.
    fn new(metadata: &Metadata, is_warm: bool, format: FileFormat) -> Self {
        Self {
            state: FileState::of(metadata),
            start: 0,
            is_warm,
            format,
            lines: AtomicU64::new(0),
        }
    }

    /// Counts lines that a worker went through.
    pub(crate) fn count_lines(&self, lines: u64) {
        self.lines.fetch_add(lines, Ordering::Relaxed);
    }

    /// Returns its lines that workers went through in the last reading.
    pub(crate) fn lines(&self) -> u64 {
        self.lines.load(Ordering::Relaxed)
    }
}

/// The regular files of an input: can be read by position, any number of times.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The path of each.
    paths: Arc<Vec<PathBuf>>,
    /// Their parts, in the same order.
    all: Vec<Part>,
    /// The name of each in messages, where these are not the paths: of the copies of streams, and of a file that was
    /// not named as one of a side.
    names: Option<Arc<Vec<PathBuf>>>,
    /// The lines that begin in these bytes of the only file are the input; `None` for all lines.
    range: Option<Range<u64>>,
    /// The positions of a stored byte, as the power of two: 0 where each is read as it is.
    spread: u32,
    padding: Padding,
}

/// Bytes after compressed data that were passed over.
#[derive(Debug, Default)]
pub(crate) struct Padding {
    /// Of the file that is named; 0 where nothing was.
    bytes: AtomicU64,
    part: AtomicUsize,
}

impl Padding {
    /// Notes `bytes` of a file; of several files one is remembered.
    pub(crate) fn note(&self, part: usize, bytes: u64) {
        self.part.store(part, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Returns the number of a file, and the bytes of it that were passed over.
    pub(crate) fn found(&self) -> Option<(usize, u64)> {
        let bytes = self.bytes.load(Ordering::Relaxed);
        (bytes > 0).then(|| (self.part.load(Ordering::Relaxed), bytes))
    }
}

impl Parts {
    /// Makes the one part of the file at `path`, which messages call `name`.
    pub(crate) fn one(
        path: PathBuf,
        name: PathBuf,
        metadata: &Metadata,
        is_warm: bool,
        format: FileFormat,
    ) -> Self {
        let only = Part::new(metadata, is_warm, format);
        Self::new(Arc::new(vec![path]), Some(Arc::new(vec![name])), [only])
    }

    /// Makes the parts that are copies of streams, which messages call by their `names`; `decodes` is true if they may
    /// be compressed.
    ///
    /// # Errors
    /// [`Error::Input`] where one cannot be read.
    pub(super) fn copies(
        paths: Vec<PathBuf>,
        names: Arc<Vec<PathBuf>>,
        decodes: bool,
    ) -> Result<Self> {
        let part = |path: &PathBuf| {
            let file = File::open(path)?;
            let metadata = file.metadata()?;
            let format = if decodes {
                FileFormat::of_text(&file, metadata.len())?
            } else {
                FileFormat::Plain
            };
            Ok(Part::new(&metadata, false, format))
        };
        let parts = paths
            .iter()
            .map(|path| part(path).map_err(|error| unreadable(path, error)));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        Ok(Self::new(Arc::new(paths), Some(names), parts))
    }

    /// Puts `parts` one behind the other.
    fn new(
        paths: Arc<Vec<PathBuf>>,
        names: Option<Arc<Vec<PathBuf>>>,
        parts: impl IntoIterator<Item = Part>,
    ) -> Self {
        let mut next = 0;
        let placed = parts.into_iter().map(|part| {
            let start = next;
            next += part.state.size;
            Part { start, ..part }
        });
        let all: Vec<Part> = placed.collect();
        Self {
            paths,
            spread: spread(&all),
            all,
            names,
            range: None,
            padding: Padding::default(),
        }
    }

    /// Returns the same where only the lines count that begin in `range` of the only file.
    pub(crate) fn in_range(self, range: Range<u64>) -> Self {
        Self {
            range: Some(range),
            ..self
        }
    }

    /// Returns `range` without what lies after the end of the only file.
    pub(crate) fn clamped(&self, range: Range<u64>) -> Range<u64> {
        let size = self.bytes();
        let start = range.start.min(size);
        start..range.end.clamp(start, size)
    }

    /// Returns the bytes of a part in which the lines begin that are read.
    pub(crate) fn range(&self, part: usize) -> Range<u64> {
        self.range.clone().unwrap_or(0..self.all[part].state.size)
    }

    /// Returns true if only a range of the file is read.
    pub(crate) fn has_range(&self) -> bool {
        self.range.is_some()
    }

    /// Checks the files at `paths` of the input with `number`, from 1, one after the other: no more than one is open at
    /// a time.
    ///
    /// # Errors
    /// [`Error::Input`] for the first that cannot be read, [`Error::Usage`] for the first that is not a regular
    /// file.
    pub(crate) fn check(
        paths: Arc<Vec<PathBuf>>,
        number: u32,
        opening: Opening<'_>,
    ) -> Result<Self> {
        let mut parts = Vec::with_capacity(paths.len());
        for path in paths.iter() {
            parts.push(check(path, number, opening)?);
        }
        let parts = Self::new(paths, None, parts);
        if opening
            .keys
            .is_some_and(|keys| keys.syntax == Syntax::Whole)
        {
            parts.check_tables()?;
        }
        Ok(parts)
    }

    /// Checks that all files that are not empty are Parquet files, if one is: whole lines of others would be keys.
    ///
    /// # Errors
    /// [`Error::Undecodable`] for the first that is none.
    fn check_tables(&self) -> Result<()> {
        let is_other = |part: &Part| part.state.size > 0 && part.format.table().is_none();
        match self.all.iter().position(is_other) {
            Some(other) if self.has_tables() => Err(Error::Undecodable {
                path: self.name(other).to_owned(),
                what: "is not a Parquet file, as others of this side are".into(),
                advice: "fetch it again, leave it out, or, if it has records, add `Syntax::Csv`, `Syntax::Delimited(b'\\t')` or `Syntax::JsonLines`",
            }),
            _ => Ok(()),
        }
    }

    /// Forgets the lines of the last reading: another one begins.
    pub(crate) fn begin_reading(&self) {
        for part in &self.all {
            part.lines.store(0, Ordering::Relaxed);
        }
    }

    /// Returns all parts.
    pub(crate) fn all(&self) -> &[Part] {
        &self.all
    }

    /// Returns the name of each in messages.
    pub(crate) fn names(&self) -> &Arc<Vec<PathBuf>> {
        self.names.as_ref().unwrap_or(&self.paths)
    }

    /// Returns the positions in the side of what begins at `start` of a part, of a piece as
    /// [`pieces`](crate::input::pieces) says, and ends where the next piece begins.
    pub(crate) fn positions(&self, part: usize, start: u64, end: Option<u64>) -> Range<u64> {
        let Part {
            start: part_start,
            state,
            format,
            ..
        } = &self.all[part];
        let position = |offset: u64| {
            let stored = format.stored_offset(offset, state.size);
            part_start.saturating_add(stored) << self.spread
        };
        position(start)..end.map_or((part_start + state.size) << self.spread, position)
    }

    /// Returns the position of each part.
    pub(crate) fn starts(&self) -> impl Iterator<Item = u64> {
        self.all.iter().map(|part| part.start << self.spread)
    }

    /// Returns the note of the bytes that were passed over at the end of one.
    pub(crate) fn padding(&self) -> &Padding {
        &self.padding
    }

    /// Returns the name of a part in messages.
    pub(crate) fn name(&self, part: usize) -> &Path {
        &self.names()[part]
    }

    /// Returns these files with `name` as the name of the only one.
    pub(crate) fn called(self, name: PathBuf) -> Self {
        Self {
            names: Some(Arc::new(vec![name])),
            ..self
        }
    }

    /// Counts the files or outputs that were named as one side; `None` if one was named as itself.
    pub(crate) fn count(&self) -> Option<u64> {
        let count = self.all.len() as u64;
        (self.names.is_none() || count > 1).then_some(count)
    }

    /// Returns what decoding the files takes; `None` if none is compressed.
    pub(crate) fn decoding(&self) -> Option<Decoding> {
        let all = self.all.iter().filter_map(|part| part.format.decoding());
        all.reduce(Decoding::with)
    }

    /// Iterates over those that are Parquet files.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.all.iter().filter_map(|part| part.format.table())
    }

    /// Returns true if any of them is a Parquet file.
    pub(crate) fn has_tables(&self) -> bool {
        self.tables().next().is_some()
    }

    /// Counts all bytes, as they are in the files.
    pub(crate) fn bytes(&self) -> u64 {
        let last = self.all.last();
        last.map_or(0, |part| part.start + part.state.size)
    }

    /// Returns true if most bytes were in the page cache when the files were checked.
    pub(crate) fn is_warm(&self) -> bool {
        let warm = self.all.iter().filter(|part| part.is_warm);
        let warm: u64 = warm.map(|part| part.state.size).sum();
        // A single file is warm or not, however small it is.
        match &self.all[..] {
            [only] => only.is_warm,
            _ => warm * 2 >= self.bytes(),
        }
    }

    /// Finds the part that has the byte at `position` of the side; of an empty side the last.
    pub(crate) fn at(&self, position: u64) -> usize {
        // Empty parts start where the next one does: the last of them has the byte.
        let behind = self.all.partition_point(|part| part.start <= position);
        behind.saturating_sub(1)
    }

    /// Opens a part for one reading and checks that it is still the same. The descriptor is the caller's, so no
    /// more are open than there are readings.
    ///
    /// # Errors
    /// [`Error::Input`] where it cannot be opened any more, [`Error::InputChanged`].
    pub(crate) fn open(&self, part: usize) -> Result<File> {
        let opened = File::open(&self.paths[part]);
        let file = opened.map_err(|error| unreadable(self.name(part), error))?;
        self.verify(part, &file)?;
        Ok(file)
    }

    /// Compares the file that was read with the one that was checked at the start: same device and inode, size
    /// and time of writing. A write that changes none of these is not noticed here.
    ///
    /// # Errors
    /// [`Error::InputChanged`], with what differs.
    pub(crate) fn verify(&self, part: usize, file: &File) -> Result<()> {
        let name = self.name(part);
        let metadata = file.metadata().map_err(|error| unreadable(name, error))?;
        let state = self.all[part].state;
        state.check(&FileState::of(&metadata), name)
    }
}

/// Looks at one file of many, and closes it again.
fn check(path: &Path, number: u32, opening: Opening<'_>) -> Result<Part> {
    let fail = |error| unreadable(path, error);
    // Before it is opened: a FIFO would be waited for.
    if !std::fs::metadata(path).map_err(fail)?.is_file() {
        return Err(not_a_part(path));
    }
    let file = File::open(path).map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    let state = FileState::of(&metadata);
    let is_warm = file::is_cached(&file, state.size);
    // One that claims more than it has is noticed when it is read.
    if !metadata.is_file() || (state.size == 0 && !has_size(&file)) {
        return Err(not_a_part(path));
    }
    let format = FileFormat::of_file(&file, state.size, path, number, opening)?;
    Ok(Part::new(&metadata, is_warm, format))
}

/// Returns the spread of an input with these parts: as large as there is room for. Each file of a terabyte may become
/// 256 times as large when it is decoded, each of a gigabyte 262,144 times.
fn spread(parts: &[Part]) -> u32 {
    let is_decoded = parts.iter().any(|part| part.format.decoding().is_some());
    let bytes = parts.last().map_or(0, |part| part.start + part.state.size);
    if is_decoded {
        (MOST_ORDERED_BYTES / (bytes + 1)).max(1).ilog2()
    } else {
        0
    }
}

fn not_a_part(path: &Path) -> Error {
    if path.is_dir() {
        return Error::usage(
            format!("{}: is a directory, in a list of files", path.display()),
            "list the files in it",
        );
    }
    Error::usage(
        format!(
            "{}: is not a regular file, but a side of several files takes only regular files",
            path.display()
        ),
        "copy it to a file, or give it as a side of its own",
    )
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::io::Write;

    use flate2::write::GzEncoder;

    use super::*;
    use crate::interrupt::Interrupt;

    #[test]
    fn l10_parts_have_positions_one_behind_the_other_with_room_for_what_is_decoded() {
        let directory = tempfile::tempdir().unwrap();
        let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&b"line\n".repeat(1000)).unwrap();
        let packed = packed.finish().unwrap();
        let parts_of = |texts: &[&[u8]]| {
            let paths = texts.iter().enumerate().map(|(number, text)| {
                let path = directory.path().join(number.to_string());
                std::fs::write(&path, text).unwrap();
                path
            });
            let paths = Arc::new(paths.collect::<Vec<_>>());
            Parts::check(paths, 1, Opening::plain(&Interrupt::new())).unwrap()
        };
        for (texts, is_decoded) in [
            (vec![&b"a\n"[..], b"", b"bb\ncc\n"], false),
            (vec![&packed[..], b"", b"bb\n", &packed[..]], true),
        ] {
            let parts = parts_of(&texts);
            let mut next = 0;
            for (part, text) in texts.iter().enumerate() {
                let positions = parts.positions(part, 0, None);
                let room = positions.end - positions.start;
                assert_eq!(positions.start, next);
                assert_eq!(room == text.len() as u64, !is_decoded || text.is_empty());
                assert!(room >= 65536 * text.len() as u64 || !is_decoded);
                // A piece takes its share.
                let half = text.len() as u64 / 2;
                assert_eq!(
                    parts.positions(part, 0, Some(half)).end,
                    parts.positions(part, half, None).start
                );
                next = positions.end;
            }
            assert!(next <= MOST_ORDERED_BYTES);
            let starts: Vec<u64> = parts.starts().collect();
            assert!(starts.is_sorted() && starts[0] == 0 && starts.len() == texts.len());
        }
    }
}
