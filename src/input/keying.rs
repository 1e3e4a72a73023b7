//! The rules by which lines of an input are records: where their keys are, and which lines are headers.
//!
//! *Owns:* what is known of each file since its header was read. *Invariants:* the columns of every file are known
//! before any record is read; the header of a file is no record of it. *Cost:* reading headers
//! ([`front`](crate::input::front)) where there are some, and 24 bytes for each file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::decode::request::Opening;
use crate::error::{Error, Result};
use crate::input::beginning::explained;
use crate::input::front::{Front, FrontRules, front_of_part};
use crate::input::parts::Parts;
use crate::lines::LineFormat;
use crate::notice::Foreign;
use crate::record::{
    BYTE_ORDER_MARK, BadRecords, Columns, HeaderRecord, Key, Keys, PassedOver, Syntax,
};

/// The rules by which the lines of an input are records.
#[derive(Debug)]
pub(crate) struct Keying {
    /// The columns of the keys in each file; of a stream there is one.
    columns: Vec<Arc<Columns>>,
    /// The bytes of each file before its first record: a header, with comments and blank lines before it.
    fronts: Vec<u64>,
    /// The lines that are no records, of each file; `None` of rows, which are all records.
    passed_over: Vec<Option<PassedOver>>,
    /// True if a byte order mark at the start of a text is no part of its first record.
    drops_marks: bool,
    /// The header of the first file that has one, and the number of that file.
    header: Option<(HeaderRecord, usize)>,
    /// The names of its fields, by the rules for comparing keys.
    names: Vec<Vec<u8>>,
    /// The number of a file whose header has other names, or in another order.
    other_part: Option<usize>,
    /// The header of each stream, which was read before; empty for files.
    taken: Vec<Taken>,
    /// The kind of data that the header of a stream shows, if that is no plain text.
    foreign_header: Option<Foreign>,
    /// True if a record without a key is left out.
    skips_bad: bool,
}

/// The part of a stream that was read as its header, before its first chunk.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Taken {
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
    /// Comments and blank lines before the header.
    pub(crate) passed_over: u64,
}

impl Taken {
    /// Counts what came before the first record.
    pub(super) fn of(front: &Front) -> Self {
        Self {
            bytes: front.bytes,
            lines: front.lines,
            passed_over: front.passed_over,
        }
    }
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
        let Some(keys) = opening.keys_of(number) else {
            return Ok(None);
        };
        let keys = &*keys;
        let mut keying = Self::new(keys);
        let mut empties = Vec::new();
        let mut all = parts.all().iter();
        let are_tables = all.all(|part| part.state.size == 0 || part.format.table().is_some());
        for part in 0..parts.all().len() {
            let is_empty = parts.all()[part].state.size == 0;
            empties.push(is_empty);
            if let Some(table) = parts.all()[part].format.table() {
                if keys.ranking.is_some() {
                    return Err(Error::usage(
                        format!(
                            "{}: is Parquet, whose rows cannot be chosen by `ranking`",
                            parts.name(part).display()
                        ),
                        "leave out `ranking`, or give the records as text",
                    ));
                }
                let columns = Columns::of_table(keys, number, table.columns(), are_tables);
                let header = table.header().map(|names| HeaderRecord {
                    record: names.to_vec(),
                });
                let bytes = table.header().map_or(0, |names| names.len() as u64 + 1);
                keying.passed_over.push(None);
                keying.add(
                    keys,
                    columns,
                    Front {
                        header,
                        bytes,
                        lines: 1,
                        passed_over: 0,
                        foreign: None,
                    },
                    parts.name(part),
                )?;
                continue;
            }
            let front = if keys.has_header_of(number) {
                front_of_part(parts, part, front_rules(keys, number, opening), opening)?
            } else {
                Front::default()
            };
            // Or what is compressed is empty, or all lines are blank or comments.
            empties[part] |= keys.has_header_of(number) && front.header.is_none();
            keying.add_text(keys, number, front, parts.name(part))?;
        }
        keying.settle_empty(&empties);
        Ok(Some(keying))
    }

    /// Gives files without bytes, such as the marks that some writers of data sets leave, the columns of the others.
    /// `empties` says which they are.
    fn settle_empty(&mut self, empties: &[bool]) {
        let Some(first) = empties.iter().position(|is_empty| !is_empty) else {
            return;
        };
        for (part, _) in empties
            .iter()
            .enumerate()
            .filter(|(_, is_empty)| **is_empty)
        {
            self.columns[part] = Arc::clone(&self.columns[first]);
        }
    }

    /// Lets `read_front` read the header of one of so many `streams`, so that its first record comes next; the others
    /// have the same. `name_of` gives the name of a stream in messages.
    ///
    /// # Errors
    /// As [`Keying::of_parts`], and those of `read_front`.
    pub(super) fn of_streams(
        (streams, name_of): (usize, impl Fn(usize) -> PathBuf),
        number: u32,
        opening: Opening<'_>,
        read_front: impl FnOnce(FrontRules) -> Result<(Front, usize)>,
    ) -> Result<Option<Self>> {
        let Some(keys) = opening.keys_of(number) else {
            return Ok(None);
        };
        let keys = &*keys;
        let mut keying = Self::new(keys);
        if !keys.has_header_of(number) {
            keying.add_text(keys, number, Front::default(), &name_of(0))?;
            return Ok(Some(keying.repeated(streams)));
        }
        let (front, stream) = read_front(front_rules(keys, number, opening))?;
        // It is read already, and so is a mark before it.
        keying.taken = vec![Taken::of(&front)];
        keying.drops_marks = false;
        keying.foreign_header = front.foreign;
        keying.add_text(keys, number, Front { bytes: 0, ..front }, &name_of(stream))?;
        Ok(Some(keying.repeated(streams)))
    }

    /// Returns the same for so many streams that are like the first.
    fn repeated(mut self, streams: usize) -> Self {
        self.columns.resize(streams, Arc::clone(&self.columns[0]));
        self.fronts.resize(streams, 0);
        self.passed_over.resize(streams, self.passed_over[0]);
        self
    }

    fn new(keys: &Keys) -> Self {
        Self {
            columns: Vec::new(),
            fronts: Vec::new(),
            passed_over: Vec::new(),
            drops_marks: keys.syntax != Syntax::Whole,
            header: None,
            names: Vec::new(),
            other_part: None,
            taken: Vec::new(),
            foreign_header: None,
            skips_bad: keys.bad_records == BadRecords::Skip,
        }
    }

    /// Adds a file of text.
    fn add_text(&mut self, keys: &Keys, number: u32, front: Front, name: &Path) -> Result<()> {
        let foreign = front.foreign;
        let columns = match (&front.header, self.columns.last()) {
            // Without a header and without records.
            (None, Some(last)) if keys.has_header_of(number) => Ok(Columns::clone(last)),
            _ => keys.columns(number, front.header.as_ref(), name),
        };
        let columns = columns.map_err(|error| explained(error, foreign))?;
        self.passed_over.push(Some(columns.passed_over()));
        self.add(keys, columns, front, name)
            .map_err(|error| explained(error, foreign))
    }

    /// Adds a file whose columns are known.
    fn add(&mut self, keys: &Keys, columns: Columns, front: Front, name: &Path) -> Result<()> {
        let columns = match self.columns.last() {
            Some(last) if **last == columns => Arc::clone(last),
            _ => Arc::new(columns),
        };
        self.columns.push(columns);
        self.fronts.push(front.bytes);
        let part = self.columns.len() - 1;
        if let Some(header) = front.header {
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

    /// Returns what was read of each stream as its header.
    pub(super) fn taken(&self) -> &[Taken] {
        &self.taken
    }

    /// Returns the columns of the keys in the file with this number.
    pub(crate) fn columns(&self, part: usize) -> &Arc<Columns> {
        &self.columns[part]
    }

    /// Returns the columns of the keys, if they are the same in all files.
    pub(crate) fn same_columns(&self) -> Option<&Columns> {
        let first = &**self.columns.first()?;
        let are_same = self.columns.iter().all(|other| **other == *first);
        are_same.then_some(first)
    }

    /// Counts the bytes of the file with this number before its first record.
    pub(crate) fn front(&self, part: usize) -> u64 {
        self.fronts[part]
    }

    /// Returns the rule for lines of the file with this number that are no records; `None` if all are.
    pub(crate) fn passed_over(&self, part: usize) -> Option<PassedOver> {
        self.passed_over[part]
    }

    /// Counts the bytes at the start of a file that are no part of its first record: those of a byte order mark, if
    /// `front`, with which it begins, has one.
    pub(crate) fn mark(&self, front: &[u8]) -> usize {
        let has_mark = self.drops_marks && front.starts_with(BYTE_ORDER_MARK);
        if has_mark { BYTE_ORDER_MARK.len() } else { 0 }
    }

    /// Finds the first record of the file with this number, which begins with `bytes`, and what separates its fields;
    /// `None` if it has none, or its key is in none of them.
    pub(super) fn first_record<'b>(
        &self,
        part: usize,
        bytes: &'b [u8],
        format: LineFormat,
    ) -> Option<(&'b [u8], u8)> {
        let delimiter = self.columns[part].delimiter()?;
        let passed_over = self.columns[part].passed_over();
        let mut lines = format.lines(&bytes[self.mark(bytes)..]);
        let first = lines.find(|line| !passed_over.has(line))?;
        Some((first, delimiter))
    }

    /// Returns the kind of data that the header of a stream shows, if that is no plain text.
    pub(super) fn foreign_header(&self) -> Option<Foreign> {
        self.foreign_header
    }

    /// Checks that the fields of all files are in the same columns. Messages call a file by the `name` of its number.
    ///
    /// # Errors
    /// [`Error::Usage`] where they are not: their records cannot be written together.
    pub(super) fn check_layouts<'n>(&self, name: impl Fn(usize) -> &'n Path) -> Result<()> {
        let first = &self.columns[0];
        let other = self.columns.iter().position(|columns| columns != first);
        match other.or(self.other_part) {
            None => Ok(()),
            Some(part) => Err(Error::usage(
                format!(
                    "{}: its fields are not in the same columns as those of {}",
                    name(part).display(),
                    name(0).display()
                ),
                "use the same fields in the same order in all files whose lines are written, or leave out `of_records`",
            )),
        }
    }

    /// Returns the header of an answer of records, or else of their keys, without its terminator: that of the first
    /// file that has one.
    pub(crate) fn header(&self, of_records: bool) -> Option<Vec<u8>> {
        let (header, part) = self.header.as_ref()?;
        let record = &header.record;
        if self.columns[*part].has_row_numbers() {
            return None;
        }
        // Where lines are their own keys, the header is one, too.
        if of_records || !self.columns[*part].has_fields() {
            return Some(record.clone());
        }
        let (columns, mut built) = (self.columns[*part].as_written(), Vec::new());
        Some(match columns.key(header.fields(), &mut built) {
            Ok(Key::Piece(key)) => key.to_vec(),
            Ok(Key::Built(range)) => built[range].to_vec(),
            Err(_) => record.clone(),
        })
    }

    /// Returns the names of the fields, by the header and the rules for comparing keys; none without a header.
    pub(crate) fn names(&self) -> &[Vec<u8>] {
        &self.names
    }

    /// Returns true if a CR before the line end is no part of any key.
    pub(crate) fn ignores_cr(&self) -> bool {
        self.columns[0].ignores_cr()
    }

    /// Returns true if a record without a key is left out.
    pub(crate) fn skips_bad(&self) -> bool {
        self.skips_bad
    }

    /// Returns the same for copies of streams, which have no header: that was `taken` of each.
    fn of_copies(self, taken: Vec<Taken>) -> Self {
        let fronts = vec![0; self.fronts.len()];
        Self {
            fronts,
            taken,
            ..self
        }
    }
}

/// The records of an input.
#[derive(Debug, Default)]
pub(super) struct RecordRules {
    /// The rules by which its lines are records; `None` if each line is its own key.
    pub(super) keying: Option<Keying>,
    /// True if records are kept whole; else only their keys are.
    pub(super) are_kept: bool,
    /// True if records are written whole by a last pass, whatever was kept before.
    pub(super) are_written: bool,
}

impl RecordRules {
    /// Returns the columns of the keys in records that are kept whole; `None` if lines are keys.
    pub(super) fn columns(&self) -> Option<&Arc<Columns>> {
        let keying = self.keying.as_ref().filter(|_| self.are_kept);
        keying.map(|keying| keying.columns(0))
    }

    /// Returns those of copies of streams, which have no header.
    pub(super) fn of_copies(self, taken: Vec<Taken>) -> Self {
        Self {
            keying: self.keying.map(|keying| keying.of_copies(taken)),
            ..self
        }
    }
}

/// Returns the rules for what comes before the first record of the input with `number`.
fn front_rules(keys: &Keys, number: u32, opening: Opening<'_>) -> FrontRules {
    FrontRules {
        passed_over: PassedOver::of(keys, !keys.fields_of(number).is_empty()),
        format: opening.format,
        decodes: opening.decodes,
    }
}
