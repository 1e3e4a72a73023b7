//! Records: lines of which a part, the key, is what is compared.
//!
//! *Owns:* what a caller says of keys ([`Keys`]), where they are in the records of one file ([`Columns`]), and taking
//! them out. *Invariants:* two keys are equal exactly if their fields have the same bytes, without the quotes around
//! them: a key is written in one way, whatever way its record writes it. A record that has no such key is never passed
//! over in silence.
//!
//! ```text
//!  record                        key of field 2          taken from
//!  7,alpha,x                     alpha                   the record, no copy
//!  7,"alpha",x                   alpha                   the record, between the quotes
//!  7,"al, pha",x                 "al, pha"               the record: quotes that are needed stay
//!  7,Alpha,x    ignoring case    alpha                   a copy
//! ```
//!
//! Quotes stay where a field needs them (it has a delimiter, a quote or a newline), so that a key is also a field that
//! can be written, and several fields of a key, with delimiters between them, are told apart without doubt.
//!
//! *Cost:* one look at the record up to the last field of the key, and to its end where quotes must be checked.
//!
//! *Sources:* RFC 4180 for quotes; RFC 8259 for JSON.

mod columns;
mod csv;
mod delimited_values;
mod field;
mod folding;
mod form;
mod header;
mod json;
mod passed_over_lines;
mod quotes;
mod rank;
#[cfg(test)]
mod tests;
#[cfg(feature = "parquet")]
mod writing;

pub(crate) use columns::{Columns, Key, MOST_BUILT_BYTES};
pub(crate) use csv::Closing;
pub use csv::Dialect;
pub use field::Field;
pub use form::{Joined, KeyForm};
pub(crate) use header::{BYTE_ORDER_MARK, HeaderRecord, MOST_HEADER_BYTES, noted_delimiter};
#[cfg(feature = "parquet")]
pub(crate) use header::{MOST_SHOWN, shown as shown_names};
pub(crate) use passed_over_lines::PassedOver;
pub(crate) use quotes::Quotes;
pub(crate) use rank::NO_NUMBER;
pub use rank::Ranking;
#[cfg(feature = "parquet")]
pub(crate) use writing::{Unwritable, Writing};

use crate::error::{Error, Result};

/// The ways in which fields stand in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Syntax {
    /// A record has no fields: all of it is the key.
    #[default]
    Whole,
    /// Fields with this byte between them, and no quotes: what TSV is.
    Delimited(u8),
    /// Comma-separated values as in RFC 4180: a field in double quotes may have delimiters and line ends in it, and two
    /// double quotes stand for one. In a field that does not begin with a quote, quotes are text.
    Csv(Dialect),
    /// Each record is a JSON object.
    JsonLines,
}

/// The treatment of a record that has no key: a field is missing, one is damaged by its quotes, it is no JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum BadRecords {
    /// The run fails with [`Error::BadRecord`].
    #[default]
    Fail,
    /// It is left out and counted ([`InputStats::bad_records`](crate::stats::InputStats::bad_records)).
    Skip,
}

/// The part of a record that is its key, and the rules by which keys are compared.
///
/// ```
/// use outset::{Dialect, Keys, Syntax};
/// let by_url = Keys {
///     syntax: Syntax::Csv(Dialect::new(b',')),
///     fields: vec!["url".parse().unwrap()],
///     has_header: true,
///     ..Keys::default()
/// };
/// assert!(!by_url.ignores_case);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a wish of its own, and all go together"
)]
pub struct Keys {
    /// The way in which fields stand in a record.
    pub syntax: Syntax,
    /// The fields of the key, in their order; none for all of the record.
    pub fields: Vec<Field>,
    /// The fields of those inputs that have them elsewhere: the number of an input, from 1, and its fields.
    pub fields_of: Vec<(u32, Vec<Field>)>,
    /// True if the first record of each file names its fields. It is no record itself.
    pub has_header: bool,
    /// The inputs that differ in that: the number of an input, from 1, and true if its files have headers.
    pub headers_of: Vec<(u32, bool)>,
    /// True if keys are compared without regard to the case of ASCII letters.
    pub ignores_case: bool,
    /// True if blanks and tabs at both ends of each field are left out of the key.
    pub trims: bool,
    /// True if each run of blanks and tabs in a field counts as one blank. At an end of the field one stays: see
    /// [`Keys::trims`].
    pub squeezes: bool,
    /// The number by which one of the records with the same key is kept, for
    /// [`Selection::keeping_ranked`](crate::Selection::keeping_ranked). A record without it (the field is empty, or its
    /// object has none) is kept only if none with the same key has one; one with another text there has no key.
    pub ranking: Option<Ranking>,
    /// The treatment of records without a key.
    pub bad_records: BadRecords,
    /// The byte that begins a line which is no record, but a comment. Such lines are passed over and counted.
    pub comment: Option<u8>,
    /// True if the records that are written are the numbers of rows, from 0: of a single Parquet file, or of all files
    /// of all inputs whose records may be written, where the sink is told which file a line is of.
    pub row_numbers: bool,
}

impl Keys {
    /// Returns the fields of the input with this number, from 1.
    pub(crate) fn fields_of(&self, number: u32) -> &[Field] {
        let own = self.fields_of.iter().find(|(input, _)| *input == number);
        own.map_or(&self.fields, |(_, fields)| fields)
    }

    /// Returns true if the first record of each file of the input with this number, from 1, names its fields.
    pub(crate) fn has_header_of(&self, number: u32) -> bool {
        let own = self.headers_of.iter().find(|(input, _)| *input == number);
        own.map_or(self.has_header, |&(_, has_header)| has_header)
    }

    /// Returns true if any input has a header.
    pub(crate) fn has_headers(&self) -> bool {
        self.has_header || self.headers_of.iter().any(|&(_, has_header)| has_header)
    }

    /// Returns the byte that ends the number of a row, which records of Parquet files begin with; `None` if they begin
    /// with none.
    pub(crate) fn row_number_end(&self) -> Option<u8> {
        let end = match self.syntax {
            // The number is a field, so that a quote after it opens the next one.
            Syntax::Csv(dialect) => dialect.delimiter,
            Syntax::Whole | Syntax::Delimited(_) | Syntax::JsonLines => b'\t',
        };
        self.row_numbers.then_some(end)
    }

    /// Checks what does not depend on what is in the inputs; the last of them has the number `inputs`.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub(crate) fn check(&self, inputs: u32) -> Result<()> {
        let usage = |option: &str, what: String, advice: &str| {
            Err(Error::usage(format!("{option}: {what}"), advice))
        };
        let fields_in = |fields: &Vec<Field>| match fields.len() {
            1 => "1 field".to_owned(),
            count => format!("{count} fields"),
        };
        let numbers = self.fields_of.iter().map(|(number, _)| *number);
        check_numbers(numbers.collect(), inputs, "`fields_of`", "key")?;
        let numbers = self.headers_of.iter().map(|(number, _)| *number);
        check_numbers(numbers.collect(), inputs, "`headers_of`", "header")?;
        let own = self.fields_of.iter().map(|(_, fields)| fields);
        let all = std::iter::once(&self.fields).chain(own);
        let given: Vec<&Vec<Field>> = all.filter(|fields| !fields.is_empty()).collect();
        for fields in &given {
            if fields.len() != given[0].len() {
                let (one, other) = (fields_in(given[0]), fields.len());
                return usage(
                    "`keys`",
                    format!("one file's key has {one}, another's has {other}"),
                    "give the same number of fields for every input",
                );
            }
            let mut sorted: Vec<&Field> = fields.iter().collect();
            sorted.sort();
            let mut pairs = sorted.iter().zip(sorted.iter().skip(1));
            if let Some((twice, _)) = pairs.find(|(field, next)| field == next) {
                let what = format!("field {twice} is given twice");
                return usage("`keys`", what, "name it once");
            }
            let number = fields
                .iter()
                .find(|field| matches!(field, Field::Number(_)));
            if self.syntax == Syntax::JsonLines && number.is_some() {
                let what = "a JSON object has no numbered fields".into();
                return usage(
                    "`keys`",
                    what,
                    "give a name; one that is a number is given as name:7",
                );
            }
        }
        if let Syntax::Csv(Dialect { delimiter, escape }) = self.syntax
            && escape.is_some_and(|escape| [delimiter, b'"', b'\n', b'\r'].contains(&escape))
        {
            let what = "this character has another meaning".into();
            return usage("`escape`", what, "give another one, such as \\");
        }
        let delimiter = match self.syntax {
            Syntax::Csv(Dialect { delimiter, .. }) | Syntax::Delimited(delimiter) => {
                Some(delimiter)
            }
            Syntax::Whole | Syntax::JsonLines => None,
        };
        if self.comment.is_some() && (self.comment == delimiter || self.comment == Some(b'"')) {
            let what = "this character has another meaning".into();
            return usage("`comment`", what, "give another one, such as #");
        }
        if given.is_empty() && self.syntax == Syntax::JsonLines {
            return usage(
                "`Syntax::JsonLines`",
                "needs a key".into(),
                "add `keys` with a name",
            );
        }
        if let Some(ranking) = &self.ranking {
            let field = ranking.field();
            if given.is_empty() || self.syntax == Syntax::Whole {
                return usage(
                    "`ranking`",
                    format!("nothing says where {field} is in a record"),
                    "add `keys` and the format of the records; Parquet rows cannot be chosen by a number",
                );
            }
            if self.syntax == Syntax::JsonLines && matches!(field, Field::Number(_)) {
                return usage(
                    "`ranking`",
                    "a JSON object has no numbered fields".into(),
                    "give a name; one that is a number is given as name:7",
                );
            }
        }
        if self.has_headers() && self.syntax == Syntax::JsonLines {
            let (option, advice) = if self.has_header {
                ("`has_header`", "leave out `has_header`")
            } else {
                ("`headers_of`", "leave out `headers_of`, or say no")
            };
            return usage(option, "JSON objects have no header".into(), advice);
        }
        Ok(())
    }

    /// Returns the quotes of keys that cannot stand as they are: of single fields. Several fields are joined, and lines
    /// stand as they are.
    pub(crate) fn key_quotes(&self) -> Option<Quotes> {
        match self.syntax {
            _ if self.form().fields != 1 => None,
            Syntax::Csv(_) => Some(Quotes::Csv),
            Syntax::JsonLines => Some(Quotes::Json),
            Syntax::Delimited(_) | Syntax::Whole => None,
        }
    }

    /// Returns the quotes of records that may have line ends in them.
    pub(crate) fn quotes(&self) -> Option<Dialect> {
        match self.syntax {
            Syntax::Csv(dialect) => Some(dialect),
            _ => None,
        }
    }
}

/// Checks the numbers of inputs that `option` gives something of, at most `inputs` and each once.
///
/// # Errors
/// [`Error::Usage`].
fn check_numbers(mut numbers: Vec<u32>, inputs: u32, option: &str, what: &str) -> Result<()> {
    numbers.sort_unstable();
    if let Some(&number) = numbers.last().filter(|&&number| number > inputs) {
        let given = match inputs {
            1 => "1 file is".to_owned(),
            _ => format!("{inputs} files are"),
        };
        return Err(Error::usage(
            format!("{option}: there is no file {number}, only {given} given"),
            "give the number of a file",
        ));
    }
    let mut pairs = numbers.iter().zip(numbers.iter().skip(1));
    match pairs.find(|(number, next)| number == next) {
        Some((number, _)) => Err(Error::usage(
            format!("{option}: the {what} of file {number} is given twice"),
            "give it once",
        )),
        None => Ok(()),
    }
}

/// Why a record has no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bad {
    /// It has fewer fields than this number.
    TooFewFields(u32),
    /// It is no record, but blank or a comment.
    PassedOver,
    /// Something between the closing quote of a field and the next delimiter.
    BehindQuote,
    /// A quote that is never closed.
    OpenQuote,
    /// Its key is not an IPv4 address, though keys are to be such.
    NoAddress,
    /// It is not a JSON object.
    NoObject,
    /// It has NaN or Infinity at this byte, from 0, as Python writes them, and so is no JSON.
    NoNumber(usize),
    /// The text at this index of the key has an escape that is no character.
    NoCharacter(usize),
    /// The object has no field with the name at this index of the key, or null in it.
    NoField(usize),
    /// The value of the object there is an object or a list.
    NoValue(usize),
    /// The key must be copied, and is too long for that.
    LongKey,
    /// The field by which records are ranked has a text that is no number.
    NoRank,
}

impl Bad {
    /// Returns the advice for a record that looks like something else, if it does: a comment, or a part of JSON that
    /// does not have an object on each line.
    pub(crate) fn advice_by_look(self, record: &[u8]) -> Option<&'static str> {
        let advice = match (self, record.trim_ascii()) {
            _ if record.starts_with(b"#") => {
                "if lines that begin with # are comments, pass over them with `comment` '#'; else correct it, or leave such \
                 records out with `BadRecords::Skip`"
            }
            (Self::NoObject, [b'[', ..]) => {
                "if the file is one JSON array, write each of its objects on a line of its own, as jq -c '.[]' does; or leave \
                 such records out with `BadRecords::Skip`"
            }
            (Self::NoObject, b"{") => {
                "if objects go on in the next lines, write each on one line, as jq -c . does; or leave such records out with \
                 `BadRecords::Skip`"
            }
            _ => return None,
        };
        Some(advice)
    }

    /// Says what is wrong, and what helps, for a message about a record of these columns.
    pub(crate) fn describe(self, columns: &Columns) -> (String, &'static str) {
        const OR_SKIP: &str = "correct it, or leave such records out with `BadRecords::Skip`";
        const OR_NAME: &str = "correct it, leave such records out with `BadRecords::Skip`, or, if the number is a name \
                               in the header, give it as name:NUMBER";
        const QUOTES: &str = "double the quotes in a quoted field; or give `escape`, or, if quotes have no special meaning \
                              in this file, `delimiter` instead of `Syntax::Csv`; or leave such records out with `BadRecords::Skip`";
        match self {
            Self::TooFewFields(wanted) if columns.has_number(wanted) => {
                (format!("has no field {wanted}"), OR_NAME)
            }
            Self::TooFewFields(wanted) => (format!("has no field {wanted}"), OR_SKIP),
            Self::PassedOver => ("is blank, or a comment".into(), OR_SKIP),
            Self::BehindQuote => ("has text after a closing quote".into(), QUOTES),
            Self::OpenQuote => (
                "has a quote that is never closed".into(),
                "close it; or, if quotes have no special meaning in this file, give `delimiter` instead of `Syntax::Csv`; or leave \
                 such records out with `BadRecords::Skip`",
            ),
            Self::NoRank => (format!("has no number in {}", columns.ranked_by()), OR_SKIP),
            Self::LongKey => ("has a key of more than 256 KiB".into(), OR_SKIP),
            Self::NoAddress => ("has a key that is not an IPv4 address".into(), OR_SKIP),
            Self::NoObject => ("is not a JSON object".into(), OR_SKIP),
            Self::NoNumber(at) => (
                format!(
                    "has NaN or Infinity at byte {}, which JSON does not have",
                    at + 1
                ),
                "write null instead, or leave such records out with \
                 `BadRecords::Skip`",
            ),
            Self::NoCharacter(index) => (
                format!(
                    "has an escape that is no character in {} (a surrogate without its other half)",
                    columns.name(index)
                ),
                OR_SKIP,
            ),
            Self::NoField(index) => (format!("has no value for {}", columns.name(index)), OR_SKIP),
            Self::NoValue(index) => (
                format!("has no text or number for {}", columns.name(index)),
                "if it is an object, name a field inside it, as in a.b; or leave such records out with \
                 `BadRecords::Skip`",
            ),
        }
    }
}
