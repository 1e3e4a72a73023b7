//! How the lines of an input are records: where their keys are, and which of its lines are headers.
//!
//! *Owns:* reading headers, and what is known of each file since then. *Invariants:* the columns of every file are known
//! before any record is read; the header of a file is no record of it. *Cost:* up to 64 KiB read of each file where there
//! are headers; nothing elsewhere.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::input::chunk::Place;
use crate::input::compressed::{Front, recognise};
use crate::input::lines::LineFormat;
use crate::input::parts::Parts;
use crate::input::stream::StoppableStream;
use crate::input::supply::{PieceOpening, Supply, bytes_before};
use crate::input::{Input, unreadable};
use crate::interrupt::Interrupt;
use crate::memory::budget::MemoryBudget;
use crate::record::{BadRecords, Columns, Header, Key, Keys, MOST_HEADER_BYTES};

/// How inputs are opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening<'a> {
    /// Whether what is compressed is decoded.
    pub(crate) decodes: bool,
    /// What a line is.
    pub(crate) format: LineFormat,
    /// Where the keys of lines are; `None` where a line is its own key.
    pub(crate) keys: Option<&'a Keys>,
    /// The number of the first input with the caller, 1 for all of them.
    pub(crate) first_number: u32,
    /// What a decoder may have that reads a header, in bytes.
    pub(crate) memory_bytes: u64,
    /// Ends the waiting for a header.
    pub(crate) interrupt: &'a Interrupt,
}

#[cfg(test)]
impl<'a> Opening<'a> {
    /// For lines that are their own keys.
    pub(crate) fn plain(interrupt: &'a Interrupt) -> Self {
        Self {
            interrupt,
            decodes: true,
            format: LineFormat::default(),
            keys: None,
            first_number: 1,
            memory_bytes: 1 << 20,
        }
    }
}

/// How the lines of an input are records.
#[derive(Debug)]
pub(crate) struct Keying {
    /// Where the keys are in each file; of a stream there is one.
    columns: Vec<Arc<Columns>>,
    /// The header of the first file that has one, and the number of that file.
    header: Option<(Header, usize)>,
    /// What each of its fields is called, by the rules for comparing keys.
    names: Vec<Vec<u8>>,
    /// The number of a file whose header has other names, or in another order.
    other_part: Option<usize>,
    /// Bytes that were read of a stream as its header, and the lines in them.
    taken: (u64, u64),
    /// Whether the first line of each file is its header.
    has_headers: bool,
    /// Whether a record without a key is left out.
    skips_bad: bool,
}

impl Keying {
    /// Reads the headers of the files of an input whose first side has `number`, from 1.
    ///
    /// # Errors
    /// Where one cannot be read, is too long, or does not have the fields of the key.
    pub(super) fn of_parts(
        parts: &Parts,
        number: u32,
        opening: Opening<'_>,
    ) -> Result<Option<Self>> {
        let Some(keys) = opening.keys else {
            return Ok(None);
        };
        let mut keying = Self::new(keys, number);
        for part in 0..parts.all().len() {
            if let Some(table) = parts.all()[part].form.table() {
                let columns = Columns::of_table(keys, number, table.columns());
                let header = table.header().map(|names| Header {
                    record: names.to_vec(),
                });
                keying.add(keys, columns, header, parts.name(part))?;
                continue;
            }
            let header = if keys.has_header_of(number) {
                header_of_part(parts, part, opening)?
            } else {
                None
            };
            keying.add_text(keys, number, header, parts.name(part))?;
        }
        Ok(Some(keying))
    }

    /// Reads the header of a stream, so that its first record comes next.
    ///
    /// # Errors
    /// As [`Keying::of_parts`]; [`Error::Usage`] where the stream is compressed.
    pub(super) fn of_stream(
        stream: &File,
        number: u32,
        name: &Path,
        opening: Opening<'_>,
    ) -> Result<Option<Self>> {
        let Some(keys) = opening.keys else {
            return Ok(None);
        };
        let mut keying = Self::new(keys, number);
        let header = if keys.has_header_of(number) {
            header_of_stream(stream, name, opening)?
        } else {
            None
        };
        keying.add_text(keys, number, header, name)?;
        // It is read already.
        keying.has_headers = false;
        if let Some((header, _)) = &keying.header {
            let lines = memchr::memchr_iter(opening.format.terminator, &header.record).count();
            keying.taken = (header.record.len() as u64 + 1, lines as u64 + 1);
        }
        Ok(Some(keying))
    }

    fn new(keys: &Keys, number: u32) -> Self {
        Self {
            columns: Vec::new(),
            header: None,
            names: Vec::new(),
            other_part: None,
            taken: (0, 0),
            has_headers: keys.has_header_of(number),
            skips_bad: keys.bad_records == BadRecords::Skip,
        }
    }

    /// Adds a file of text.
    fn add_text(
        &mut self,
        keys: &Keys,
        number: u32,
        header: Option<Header>,
        name: &Path,
    ) -> Result<()> {
        let columns = match (&header, self.columns.last()) {
            // Without a header and without records.
            (None, Some(last)) if keys.has_header_of(number) => Columns::clone(last),
            _ => keys.columns(number, header.as_ref(), name)?,
        };
        self.add(keys, columns, header, name)
    }

    /// Adds a file whose columns are known.
    fn add(
        &mut self,
        keys: &Keys,
        columns: Columns,
        header: Option<Header>,
        name: &Path,
    ) -> Result<()> {
        let columns = match self.columns.last() {
            Some(last) if **last == columns => Arc::clone(last),
            _ => Arc::new(columns),
        };
        self.columns.push(columns);
        let part = self.columns.len() - 1;
        if let Some(header) = header {
            let names = header.names(keys, name)?.into_iter();
            let names = names
                .map(|name| keys.folded_name(&name).into_owned())
                .collect();
            if self.header.is_none() {
                (self.header, self.names) = (Some((header, part)), names);
            } else if names != self.names {
                self.other_part = self.other_part.or(Some(part));
            }
        }
        Ok(())
    }

    /// Where the keys are in the file with this number.
    pub(crate) fn columns(&self, part: usize) -> &Arc<Columns> {
        &self.columns[part]
    }

    /// Checks that the fields of all files are in the same places.
    ///
    /// # Errors
    /// [`Error::Usage`] where they are not: their records cannot be written together.
    pub(super) fn check_layouts(&self, input: &Input) -> Result<()> {
        let first = &self.columns[0];
        let other = self.columns.iter().position(|columns| columns != first);
        match other.or(self.other_part) {
            None => Ok(()),
            Some(part) => Err(Error::Usage {
                what: format!(
                    "{}: its fields are not in the same places as those of {}",
                    input.part_name(part).display(),
                    input.part_name(0).display()
                ),
                advice: "use the same fields in the same order in all files whose lines are written, or add --keys-only"
                    .into(),
            }),
        }
    }

    /// The header of an answer of records, or else of their keys, without its terminator: that of the first file that has
    /// one.
    pub(crate) fn header(&self, of_records: bool) -> Option<Vec<u8>> {
        let (header, part) = self.header.as_ref()?;
        let record = &header.record;
        if self.columns[*part].has_row_numbers() {
            return None;
        }
        if of_records {
            return Some(record.clone());
        }
        let (columns, mut built) = (self.columns[*part].as_written(), Vec::new());
        Some(match columns.key(header.fields(), &mut built) {
            Ok(Key::Piece(key)) => key.to_vec(),
            Ok(Key::Built(range)) => built[range].to_vec(),
            Err(_) => record.clone(),
        })
    }

    /// What the fields are called, by the header and the rules for comparing keys; none without a header.
    pub(crate) fn names(&self) -> &[Vec<u8>] {
        &self.names
    }

    /// Whether the first line of each file is its header.
    pub(crate) fn has_headers(&self) -> bool {
        self.has_headers
    }

    /// Whether a CR before the line end is no part of any key.
    pub(crate) fn ignores_cr(&self) -> bool {
        self.columns[0].ignores_cr()
    }

    /// Whether a record without a key is left out.
    pub(crate) fn skips_bad(&self) -> bool {
        self.skips_bad
    }

    /// The same for a copy of a stream, which has no header.
    pub(super) fn of_copy(self) -> Self {
        Self {
            has_headers: false,
            ..self
        }
    }
}

/// The header of a file; `None` of an empty one.
fn header_of_part(parts: &Parts, part: usize, opening: Opening<'_>) -> Result<Option<Header>> {
    let budget = MemoryBudget::new(opening.memory_bytes, 0);
    let stop = || opening.interrupt.check();
    let mut supply = Supply::of_part(parts, part, &stop, &budget)?;
    let mut bytes = vec![0; MOST_HEADER_BYTES];
    let (mut filled, mut is_ended) = (0, false);
    while filled < bytes.len() && !is_ended {
        let more = supply.fill(&mut bytes[filled..])?;
        (filled, is_ended) = (filled + more.bytes, more.is_ended);
        let mut lines = opening.format.lines(&bytes[..filled]);
        if let (Some(first), Some(_)) = (lines.next(), lines.next()) {
            return Ok(Some(Header {
                record: first.to_vec(),
            }));
        }
    }
    let only = opening.format.lines(&bytes[..filled]).next();
    match only {
        Some(_) if !is_ended => Err(too_long(parts.name(part))),
        only => Ok(only.map(|record| Header {
            record: record.to_vec(),
        })),
    }
}

/// Reads the header of a stream, byte by byte, so that nothing behind it is taken.
fn header_of_stream(stream: &File, name: &Path, opening: Opening<'_>) -> Result<Option<Header>> {
    let stop = || opening.interrupt.check();
    // The same open file: what is read here is gone from the stream.
    let same = stream
        .try_clone()
        .map_err(|error| unreadable(name, error))?;
    let mut stream = StoppableStream::new(same, &stop);
    let (mut bytes, mut byte) = (Vec::new(), [0]);
    let mut is_inside = false;
    loop {
        if stream.fill(&mut byte, name)?.bytes == 0 {
            break;
        }
        bytes.push(byte[0]);
        is_inside ^= opening.format.quoted && byte[0] == b'"';
        if byte[0] == opening.format.terminator && !is_inside {
            break;
        }
        if opening.decodes && matches!(recognise(&bytes, false), Front::Frame(_)) {
            return Err(Error::Usage {
                what: format!(
                    "{}: the header of compressed data cannot be read from a pipe",
                    name.display()
                ),
                advice: "pipe the data decompressed, or give a file".into(),
            });
        }
        if bytes.len() > MOST_HEADER_BYTES {
            return Err(too_long(name));
        }
    }
    let record = opening.format.lines(&bytes).next();
    Ok(record.map(|record| Header {
        record: record.to_vec(),
    }))
}

fn too_long(name: &Path) -> Error {
    Error::Usage {
        what: format!(
            "{}: its first record is longer than 64 KiB, so it cannot be a header",
            name.display()
        ),
        advice:
            "leave out --header and give fields by their numbers, or check quotes and line ends"
                .into(),
    }
}

impl Input {
    /// Where `place` is for the user: its line, from 1, or `None` where lines cannot be counted, and its offset; the header of a
    /// stream counts, too.
    pub(crate) fn place_of(&self, place: Place, opening: &PieceOpening<'_>) -> (Option<u64>, u64) {
        let offset = self.offset_of(place, opening);
        let (bytes, lines) = self.keying().map_or((0, 0), |keying| keying.taken);
        let line = self
            .parts()
            .map(|parts| lines_before(parts, (place.part, offset), opening));
        let line = line.and_then(Result::ok).map(|before| lines + before + 1);
        (line, bytes + offset)
    }

    /// Where `place` is in its file or stream, in bytes when it is decoded; in its piece where the file cannot be decoded up to
    /// there any more.
    pub(crate) fn offset_of(&self, place: Place, opening: &PieceOpening<'_>) -> u64 {
        let piece = (place.part, place.piece_start);
        let before = self
            .parts()
            .map(|parts| bytes_before(parts, piece, opening));
        before.and_then(Result::ok).unwrap_or(0) + place.offset
    }
}

/// How many lines end in the bytes of a file before `offset`.
fn lines_before(
    parts: &Parts,
    (part, offset): (usize, u64),
    opening: &PieceOpening<'_>,
) -> Result<u64> {
    let mut supply = Supply::of_part(parts, part, opening.stop, &opening.budget)?;
    let (mut buffer, mut left, mut lines) = (vec![0; MOST_HEADER_BYTES], offset, 0);
    while left > 0 {
        let filled = supply.fill(&mut buffer)?;
        let before = left.min(filled.bytes as u64) as usize;
        lines += memchr::memchr_iter(opening.terminator, &buffer[..before]).count() as u64;
        left -= before as u64;
        if filled.is_ended {
            break;
        }
    }
    Ok(lines)
}
