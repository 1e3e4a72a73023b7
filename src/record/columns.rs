//! The columns of the key in the records of one file.
//!
//! *Owns:* [`Columns`], made from [`Keys`] and, where fields have names, the header of the file; and taking the key out
//! of a record. *Invariants:* a key is a field that can be written: quotes stay where it needs them. *Cost:* no memory
//! but for a key that is not in its record as it is; 16 bytes for each field.

use std::borrow::Cow;
use std::ops::Range;

use crate::record::folding::Folding;
use crate::record::rank::{NO_NUMBER, Ranking};
use crate::record::{Bad, Dialect, Field, Keys, PassedOver, Syntax, csv, delimited_values, json};

/// The most bytes of a key that is copied without a reservation. No record is longer that is not alone in a chunk: see
/// [`ChunkRules`](crate::reading::chunk::ChunkRules).
pub(crate) const MOST_BUILT_BYTES: usize = (256 + 16) << 10;

/// The key of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key<'r> {
    /// A piece of the record.
    Piece(&'r [u8]),
    /// The bytes that were appended to the buffer for keys that are built.
    Built(Range<usize>),
}

/// The columns that the fields of a key are in, in the records of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Columns {
    syntax: Syntax,
    /// The fields in the words of the caller, in the order of the key.
    names: Vec<Field>,
    /// The numbers of fields that have numbers: from 0, ascending.
    numbers: Vec<u32>,
    /// The index in the key of each of the numbers.
    order: Vec<usize>,
    /// The paths of fields of objects, in the order of the key.
    paths: Vec<json::Path>,
    /// The changes of each field before it is compared.
    folding: Folding,
    /// The field that has the rank of a record, if records are ranked.
    ranked: Option<Ranked>,
    /// The lines of a text that are no records.
    passed_over: PassedOver,
    /// The byte after the number of the row that stands before each record; `None` if there is none.
    row_number_end: Option<u8>,
}

/// The field that has the rank of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Ranked {
    ranking: Ranking,
    /// Its number, from 0; of objects it means nothing.
    number: u32,
    /// Its path in objects.
    path: json::Path,
}

impl Columns {
    /// Makes the columns of a file of the input with `number` whose fields have these numbers, from 0: one for each
    /// field of the key. For objects none.
    pub(super) fn new(keys: &Keys, number: u32, numbers: &[u32]) -> Self {
        let names = match keys.syntax {
            // The fields are those of Parquet files; of a text a line is the key.
            Syntax::Whole => &[],
            _ => keys.fields_of(number),
        };
        let mut order: Vec<usize> = (0..numbers.len()).collect();
        order.sort_by_key(|&index| numbers[index]);
        let paths = match keys.syntax {
            Syntax::JsonLines => names.iter().map(json::Path::new).collect(),
            _ => Vec::new(),
        };
        Self {
            syntax: keys.syntax,
            names: names.to_vec(),
            numbers: order.iter().map(|&index| numbers[index]).collect(),
            order,
            paths,
            folding: Folding::of(keys),
            ranked: None,
            passed_over: PassedOver::of(keys, !names.is_empty()),
            row_number_end: None,
        }
    }

    /// Returns the same where records are ranked, by the field with this number, from 0, where fields have numbers.
    pub(super) fn ranked(self, ranking: &Ranking, number: u32) -> Self {
        let ranked = Some(Ranked {
            ranking: ranking.clone(),
            number,
            path: json::Path::new(ranking.field()),
        });
        Self { ranked, ..self }
    }

    /// Returns true if records are ranked.
    pub(crate) fn ranks(&self) -> bool {
        self.ranked.is_some()
    }

    /// Returns the caller's name for the field by which records are ranked.
    pub(crate) fn ranked_by(&self) -> String {
        let field = self.ranked.as_ref().map(|ranked| ranked.ranking.field());
        field.map_or_else(String::new, Field::to_string)
    }

    /// Ranks `record` among those with the same key: the smallest rank wins. It is 0 where records are not ranked.
    ///
    /// # Errors
    /// Why it has no rank.
    pub(crate) fn rank(&self, record: &[u8]) -> Result<u128, Bad> {
        let Some(Ranked {
            ranking,
            number,
            path,
        }) = &self.ranked
        else {
            return Ok(0);
        };
        let mut rank = None;
        match self.syntax {
            Syntax::Delimited(delimiter) => {
                delimited_values::for_fields(record, delimiter, &[*number], |_, field| {
                    rank = ranking.of_text(field);
                })?;
            }
            Syntax::Csv(dialect) => {
                csv::for_fields(without_cr(record), dialect, &[*number], |_, field| {
                    // No number is as long as that.
                    let is_short = field.bytes() <= MOST_BUILT_BYTES;
                    rank = is_short
                        .then(|| field.text(dialect))
                        .and_then(|text| ranking.of_text(&text));
                })?;
            }
            Syntax::JsonLines => {
                let value = json::value(record, path, false, MOST_BUILT_BYTES);
                rank = match value.map_err(|_| Bad::NoRank)? {
                    None => Some(NO_NUMBER),
                    Some(json::Value::Plain(text)) => ranking.of_text(text.as_bytes()),
                    Some(json::Value::Text(text)) => ranking.of_text(text.as_bytes()),
                    Some(_) => None,
                };
            }
            Syntax::Whole => {}
        }
        rank.ok_or(Bad::NoRank)
    }

    /// Makes the columns of a Parquet file of the input with `number`: what is read of it are the `count` fields of
    /// the key, in their order.
    pub(crate) fn of_table(keys: &Keys, number: u32, count: usize) -> Self {
        let numbers: Vec<u32> = match keys.syntax {
            Syntax::Delimited(_) | Syntax::Csv(_) => (0..count as u32).collect(),
            Syntax::Whole | Syntax::JsonLines => Vec::new(),
        };
        let columns = Self::new(keys, number, &numbers);
        // A name with dots is one name in the records that are made of rows.
        let names = columns.names.iter().take(columns.paths.len());
        let paths = names.map(json::Path::plain).collect();
        Self {
            paths,
            row_number_end: keys.row_number_end(),
            ..columns
        }
    }

    /// Returns true if the number of a row stands before each record.
    pub(crate) fn has_row_numbers(&self) -> bool {
        self.row_number_end.is_some()
    }

    /// Returns the caller's name for the field at this index of the key.
    pub(super) fn name(&self, index: usize) -> String {
        self.names
            .get(index)
            .map_or_else(String::new, Field::to_string)
    }

    /// Returns true if the caller gave this number for a field.
    pub(super) fn has_number(&self, number: u32) -> bool {
        self.names.contains(&Field::Number(number))
    }

    /// Takes fields as they are written: the names in a header.
    pub(crate) fn as_written(&self) -> Self {
        Self {
            folding: Folding::default(),
            row_number_end: None,
            ..self.clone()
        }
    }

    /// Returns the byte that separates the fields of a record; `None` of objects, and of lines that are compared whole.
    pub(crate) fn delimiter(&self) -> Option<u8> {
        match self.syntax {
            Syntax::Csv(Dialect { delimiter, .. }) => Some(delimiter),
            Syntax::Delimited(delimiter) if self.has_fields() => Some(delimiter),
            _ => None,
        }
    }

    /// Returns true if a CR at the end of a record is no part of a field.
    pub(crate) fn ignores_cr(&self) -> bool {
        let has_line_ends = matches!(self.syntax, Syntax::Csv(_) | Syntax::JsonLines);
        has_line_ends && !self.names.is_empty()
    }

    /// Returns true if each key is made anew; else a key is a piece of its record, but for some that have quotes or
    /// escapes.
    fn changes(&self) -> bool {
        self.folding.changes() || self.names.len() > 1
    }

    /// Returns true if a key may be no piece of its record.
    pub(crate) fn may_copy(&self) -> bool {
        self.changes() || matches!(self.syntax, Syntax::Csv(_) | Syntax::JsonLines)
    }

    /// Returns true if fields are compared; else all of a line is.
    pub(crate) fn has_fields(&self) -> bool {
        !self.names.is_empty()
    }

    /// Returns the lines of a text that are no records.
    pub(crate) fn passed_over(&self) -> PassedOver {
        self.passed_over
    }

    /// Finds the key of `record`, which has no terminator. A key that is not a piece of it is appended to `built`.
    ///
    /// # Errors
    /// Why the record has none; [`Bad::LongKey`] for a key of more than [`MOST_BUILT_BYTES`] that is not a piece.
    /// `built` may have grown then.
    #[inline]
    pub(crate) fn key<'r>(&self, record: &'r [u8], built: &mut Vec<u8>) -> Result<Key<'r>, Bad> {
        self.key_up_to(record, built, MOST_BUILT_BYTES)
    }

    /// Returns the memory that copying the key of a record of `record_bytes` may take, in bytes: a text without its
    /// escapes, the same folded, and the key, in a buffer that grows by doubling.
    pub(crate) fn most_copied(record_bytes: u64) -> u64 {
        record_bytes.saturating_mul(4)
    }

    /// Works as [`Columns::key`], for a key of up to `most_bytes`; the caller has memory for [`Columns::most_copied`].
    ///
    /// # Errors
    /// As [`Columns::key`].
    #[inline]
    pub(crate) fn key_up_to<'r>(
        &self,
        record: &'r [u8],
        built: &mut Vec<u8>,
        most_bytes: usize,
    ) -> Result<Key<'r>, Bad> {
        let start = built.len();
        let record = match self.row_number_end {
            Some(end) => behind_number(record, end),
            None => record,
        };
        let key = self.find(record, built, most_bytes)?;
        // Before the memory for a copy could be missed: what is copied is not in the budget.
        if built.len() - start > most_bytes {
            return Err(Bad::LongKey);
        }
        Ok(key)
    }

    #[inline]
    fn find<'r>(
        &self,
        record: &'r [u8],
        built: &mut Vec<u8>,
        most_bytes: usize,
    ) -> Result<Key<'r>, Bad> {
        let start = built.len();
        if self.names.is_empty() {
            return self.whole(record, built, most_bytes);
        }
        match self.syntax {
            Syntax::Whole => return Ok(Key::Piece(record)),
            Syntax::Delimited(delimiter) if !self.changes() => {
                let mut key = record;
                delimited_values::for_fields(record, delimiter, &self.numbers, |_, field| {
                    key = field;
                })?;
                return Ok(Key::Piece(key));
            }
            Syntax::Csv(dialect) if !self.changes() => {
                let record = without_cr(record);
                let mut key = Some(record);
                csv::for_fields(record, dialect, &self.numbers, |_, field| {
                    key = field.written(dialect);
                })?;
                return match key.filter(|key| !key.is_empty()) {
                    Some(piece) => Ok(Key::Piece(piece)),
                    None => self.written_anew(record, dialect, built, most_bytes),
                };
            }
            Syntax::Delimited(delimiter) => {
                let mut fields = vec![&[][..]; self.numbers.len()];
                delimited_values::for_fields(record, delimiter, &self.numbers, |index, field| {
                    fields[self.order[index]] = field;
                })?;
                self.build(&fields, built, most_bytes)?;
            }
            Syntax::Csv(dialect) => {
                let mut fields = vec![Cow::default(); self.numbers.len()];
                let mut is_long = false;
                csv::for_fields(
                    without_cr(record),
                    dialect,
                    &self.numbers,
                    |index, field| {
                        is_long |= field.bytes() > most_bytes.saturating_mul(2);
                        if !is_long {
                            fields[self.order[index]] = field.text(dialect);
                        }
                    },
                )?;
                if is_long {
                    return Err(Bad::LongKey);
                }
                self.build(&fields, built, most_bytes)?;
            }
            Syntax::JsonLines => return self.of_object(record, built, most_bytes),
        }
        Ok(Key::Built(start..built.len()))
    }

    /// Writes the key of a record whose only field does not stand in it as a key is written.
    #[cold]
    fn written_anew<'r>(
        &self,
        record: &'r [u8],
        dialect: Dialect,
        built: &mut Vec<u8>,
        most_bytes: usize,
    ) -> Result<Key<'r>, Bad> {
        let start = built.len();
        let mut is_long = false;
        csv::for_fields(record, dialect, &self.numbers, |_, field| {
            is_long = field.bytes() > most_bytes;
            if !is_long {
                csv::write_alone(&field.text(dialect), dialect.of_keys(), built);
            }
        })?;
        if is_long {
            return Err(Bad::LongKey);
        }
        Ok(Key::Built(start..built.len()))
    }

    /// Takes all of the record as its key, as it stands in the file. Quotes are checked: one that is out of place may
    /// have moved the ends of records.
    fn whole<'r>(
        &self,
        record: &'r [u8],
        built: &mut Vec<u8>,
        most_bytes: usize,
    ) -> Result<Key<'r>, Bad> {
        let start = built.len();
        if let Syntax::Csv(dialect) = self.syntax {
            csv::for_fields(without_cr(record), dialect, &[], |_, _| {})?;
        }
        if !self.changes() {
            return Ok(Key::Piece(record));
        }
        self.build(&[record], built, most_bytes)?;
        Ok(Key::Built(start..built.len()))
    }

    /// Appends the key that these fields make, in the order of the key.
    ///
    /// # Errors
    /// [`Bad::LongKey`], before anything is copied.
    fn build<T: AsRef<[u8]>>(
        &self,
        fields: &[T],
        built: &mut Vec<u8>,
        most_bytes: usize,
    ) -> Result<(), Bad> {
        let bytes: usize = fields.iter().map(|field| field.as_ref().len()).sum();
        if bytes > most_bytes {
            return Err(Bad::LongKey);
        }
        let joint = match self.syntax {
            Syntax::Delimited(delimiter) if self.names.len() > 1 => Some(delimiter),
            _ => None,
        };
        for (index, field) in fields.iter().enumerate() {
            // Before it is put in quotes.
            let field = self.folding.field(field.as_ref(), joint);
            match self.syntax {
                Syntax::Delimited(delimiter) | Syntax::Csv(Dialect { delimiter, .. })
                    if index > 0 =>
                {
                    built.push(delimiter);
                }
                _ => {}
            }
            match self.syntax {
                Syntax::Csv(dialect) if self.names.len() == 1 => {
                    csv::write_alone(&field, dialect.of_keys(), built);
                }
                Syntax::Csv(dialect) if self.has_fields() => {
                    csv::write(&field, dialect.of_keys(), built);
                }
                _ => built.extend_from_slice(&field),
            }
        }
        Ok(())
    }

    /// Makes the key of an object: its only field as text, several of them as a list of texts.
    fn of_object<'r>(
        &self,
        record: &'r [u8],
        built: &mut Vec<u8>,
        most_bytes: usize,
    ) -> Result<Key<'r>, Bad> {
        let start = built.len();
        let is_list = self.paths.len() > 1;
        for (index, path) in self.paths.iter().enumerate() {
            let value = json::value(record, path, !self.changes(), most_bytes).map_err(
                |fault| match fault {
                    json::Fault::NotJson => Bad::NoObject,
                    json::Fault::NotFinite(at) => Bad::NoNumber(at),
                    json::Fault::LoneSurrogate => Bad::NoCharacter(index),
                },
            )?;
            let text = match value {
                None => return Err(Bad::NoField(index)),
                Some(json::Value::Other) => return Err(Bad::NoValue(index)),
                Some(json::Value::Long) => return Err(Bad::LongKey),
                Some(json::Value::Quoted(raw)) => return Ok(Key::Piece(raw.as_bytes())),
                Some(json::Value::Plain(text)) => text.into(),
                Some(json::Value::Text(text)) => text,
            };
            if let Cow::Borrowed(text) = text
                && !self.changes()
                && !json::needs_quotes(text)
            {
                return Ok(Key::Piece(text.as_bytes()));
            }
            // Before it is copied: copies are not in the budget.
            if text.len() + (built.len() - start) > most_bytes {
                return Err(Bad::LongKey);
            }
            let text = self.folding.text(&text);
            if is_list {
                built.push(if index == 0 { b'[' } else { b',' });
            }
            if is_list || json::needs_quotes(&text) {
                json::write(&text, built);
            } else {
                built.extend_from_slice(text.as_bytes());
            }
        }
        if is_list {
            built.push(b']');
        }
        Ok(Key::Built(start..built.len()))
    }
}

/// Leaves out the number of the row, which the byte `end` ends, from a record.
fn behind_number(record: &[u8], end: u8) -> &[u8] {
    memchr::memchr(end, record).map_or(record, |at| &record[at + 1..])
}

/// Leaves out the CR at the end of a record, which belongs to the line end.
fn without_cr(record: &[u8]) -> &[u8] {
    record.strip_suffix(b"\r").unwrap_or(record)
}
