//! The header of a file: the record that names its fields.
//!
//! *Owns:* finding the columns of a key by their names. *Invariants:* a name that the header has not, or has twice, is
//! an error before any record is read; a field that is called just so comes before one that is by the rules for
//! comparing keys. *Cost:* one look at the header.

use std::borrow::Cow;
use std::path::Path;

use crate::error::{Error, Result};
use crate::record::folding::{Folding, trim};
use crate::record::{Columns, Field, Keys, Syntax, csv};

/// The most bytes that a header may have: 64 KiB.
pub(crate) const MOST_HEADER_BYTES: usize = 64 << 10;
/// The most names that a message has.
pub(crate) const MOST_SHOWN: usize = 20;
/// The bytes that some programs put before a text in UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The first record of a file, which names its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeaderRecord {
    /// The record as it stands in the file, without its terminator.
    pub(crate) record: Vec<u8>,
}

impl HeaderRecord {
    /// Returns the fields: the record without a CR at its end and a byte order mark before it.
    pub(crate) fn fields(&self) -> &[u8] {
        let record = self.record.strip_suffix(b"\r").unwrap_or(&self.record);
        record.strip_prefix(BYTE_ORDER_MARK).unwrap_or(record)
    }

    /// Returns the delimiter that the record is a note about, as Excel takes one: `sep=;`.
    fn noted_delimiter(&self) -> Option<u8> {
        noted_delimiter(self.fields())
    }

    /// Lists the names of the fields.
    ///
    /// # Errors
    /// [`Error::Usage`] where quotes are out of place.
    pub(crate) fn names(&self, keys: &Keys, path: &Path) -> Result<Vec<Vec<u8>>> {
        let record = self.fields();
        match keys.syntax {
            Syntax::Csv(dialect) => {
                let fields = csv::fields(record, dialect).map_err(|_| {
                    Error::usage(
                        format!("{}: the header has a misplaced quote", path.display()),
                        "correct it, or give `delimiter` instead of `Syntax::Csv`",
                    )
                })?;
                Ok(fields
                    .iter()
                    .map(|field| field.text(dialect).into_owned())
                    .collect())
            }
            Syntax::Delimited(delimiter) => {
                let fields = record.split(|&byte| byte == delimiter);
                Ok(fields.map(<[u8]>::to_vec).collect())
            }
            Syntax::Whole | Syntax::JsonLines => Ok(Vec::new()),
        }
    }
}

impl Keys {
    /// Finds the key in the file `path` of the input with `number`, from 1, that has this header.
    ///
    /// # Errors
    /// [`Error::Usage`] for a name that the header has not, or has twice, and for a name without a header.
    pub(crate) fn columns(
        &self,
        number: u32,
        header: Option<&HeaderRecord>,
        path: &Path,
    ) -> Result<Columns> {
        // The fields are those of Parquet files.
        if self.syntax == Syntax::Whole {
            return Ok(Columns::new(self, number, &[]));
        }
        let fields = self.fields_of(number);
        let has_fields = |(_, fields): &(u32, Vec<Field>)| !fields.is_empty();
        if fields.is_empty() && self.fields_of.iter().any(has_fields) {
            return Err(Error::usage(
                format!("{}: nothing says where its key is", path.display()),
                format!("add `keys`, or `fields_of` {number}=FIELD"),
            ));
        }
        let ranked = |columns: Columns, number| match &self.ranking {
            Some(ranking) => columns.ranked(ranking, number),
            None => columns,
        };
        if self.syntax == Syntax::JsonLines {
            return Ok(ranked(Columns::new(self, number, &[]), 0));
        }
        let names = header.map(|header| header.names(self, path)).transpose()?;
        let number_of = |field: &Field| match (field, header.zip(names.as_ref())) {
            (Field::Number(number), _) => Ok(number - 1),
            (Field::Name(name), Some((header, names))) => self.number_of(name, names, header, path),
            // The file is empty: it has no record that a column could be wrong for.
            (Field::Name(_), None) if self.has_header_of(number) => Ok(0),
            (Field::Name(name), None) if self.has_headers() => Err(Error::usage(
                format!(
                    "{}: the key {name} is a name, but this file has no header",
                    path.display()
                ),
                format!("add `headers_of` {number}=yes, or give the number of the field"),
            )),
            (Field::Name(name), None) => Err(Error::usage(
                format!("`keys`: {name} is a name, but the files have no header"),
                "add `has_header`, or give the number of the field",
            )),
        };
        let numbers: Vec<u32> = fields.iter().map(number_of).collect::<Result<_>>()?;
        let by = self
            .ranking
            .as_ref()
            .map(|ranking| number_of(ranking.field()));
        Ok(ranked(
            Columns::new(self, number, &numbers),
            by.transpose()?.unwrap_or(0),
        ))
    }

    /// Finds the field that is called `name`, by its number from 0.
    ///
    /// # Errors
    /// [`Error::Usage`] where there is none, or more than one.
    fn number_of(
        &self,
        name: &str,
        names: &[Vec<u8>],
        header: &HeaderRecord,
        path: &Path,
    ) -> Result<u32> {
        let mut ways = names_to_try(self, name).into_iter();
        let found = ways.find_map(|is_it| {
            let numbers = (0..).zip(names).filter(|(_, other)| is_it(other));
            let numbers: Vec<u32> = numbers.map(|(number, _)| number).collect();
            (!numbers.is_empty()).then_some(numbers)
        });
        match found.as_deref() {
            Some(&[number]) => Ok(number),
            Some(_) => Err(Error::usage(
                format!("{}: two fields are called {name}", path.display()),
                "give the number of the field",
            )),
            None => Err(not_found(name, names, header, path)),
        }
    }

    /// Folds a name, to compare it with others by the rules for keys.
    pub(crate) fn folded_name<'n>(&self, name: &'n [u8]) -> Cow<'n, [u8]> {
        Folding::of(self).field(name, None)
    }
}

/// A test for the field that is meant.
type IsMeant<'k> = Box<dyn Fn(&[u8]) -> bool + 'k>;

/// Lists the ways to look for `name`, in their order: just so; between quotes, which have no meaning to a delimiter
/// alone; and by the rules for comparing keys.
fn names_to_try<'k>(keys: &'k Keys, name: &'k str) -> [IsMeant<'k>; 3] {
    let between_quotes = matches!(keys.syntax, Syntax::Delimited(_)).then(|| format!("\"{name}\""));
    [
        Box::new(move |other| other == name.as_bytes()),
        Box::new(move |other| {
            between_quotes
                .as_ref()
                .is_some_and(|name| other == name.as_bytes())
        }),
        Box::new(move |other| keys.folded_name(other) == keys.folded_name(name.as_bytes())),
    ]
}

/// Makes the error for a name that the header has not.
fn not_found(name: &str, names: &[Vec<u8>], header: &HeaderRecord, path: &Path) -> Error {
    if let Some(noted) = header.noted_delimiter() {
        return Error::usage(
            format!(
                "{}: begins with the line sep={}, which is no header",
                path.display(),
                char::from(noted)
            ),
            format!(
                "remove that line, for example with tail -n +2, and give {}",
                option_for(noted)
            ),
        );
    }
    let what = format!("{}: no field is called {name}", path.display());
    let advice = match other_delimiter(name, header.fields()) {
        Some(other) if names.len() == 1 => {
            format!(
                "the fields seem to be separated otherwise: did you mean {}?",
                option_for(other)
            )
        }
        _ if names.first().is_some_and(|name| name.starts_with(b"#")) => format!(
            "if lines that begin with # are comments, pass over them with `comment` '#'; else name one of: {}",
            shown(names)
        ),
        _ if names.iter().any(|name| name.contains(&b',')) => format!(
            "name one of: {}, with the quotes, or give the number of the field",
            shown(names)
        ),
        _ => format!("name one of: {}", shown(names)),
    };
    Error::usage(what, advice)
}

/// Names for a message, each as it is given in a list of fields.
pub(crate) fn shown(names: &[impl AsRef<[u8]>]) -> String {
    let shown = names.iter().take(MOST_SHOWN);
    let shown = shown.map(|name| Field::written(&String::from_utf8_lossy(name.as_ref())));
    let shown: Vec<String> = shown.collect();
    let more = if names.len() > MOST_SHOWN {
        ", ..."
    } else {
        ""
    };
    format!("{}{more}", shown.join(", "))
}

/// Returns the delimiter that `record`, the first of a file, is a note about: `sep=;`.
pub(crate) fn noted_delimiter(record: &[u8]) -> Option<u8> {
    match record.strip_prefix(b"sep=")? {
        &[delimiter] | &[delimiter, b'\r'] => Some(delimiter),
        _ => None,
    }
}

/// Finds the usual delimiter that `record` has around a field with this name.
fn other_delimiter(name: &str, record: &[u8]) -> Option<u8> {
    let has_name = |&delimiter: &u8| {
        let mut fields = record.split(|&byte| byte == delimiter);
        let bare = |field: &[u8]| {
            let field = trim(field);
            let inner = field
                .strip_prefix(b"\"")
                .and_then(|field| field.strip_suffix(b"\""));
            inner.unwrap_or(field).eq_ignore_ascii_case(name.as_bytes())
        };
        fields.any(bare)
    };
    // Where the whole record is called so, it was found.
    [b',', b';', b'\t', b'|', b':', b' ']
        .into_iter()
        .find(has_name)
}

/// Returns the option for fields that this byte separates.
fn option_for(delimiter: u8) -> String {
    match delimiter {
        b',' => "`Syntax::Csv` without `delimiter`".into(),
        b'\t' => "`Syntax::Delimited(b'\\t')`, or `Syntax::Csv` with `delimiter` '\\t'".into(),
        _ => format!("`delimiter` '{}'", char::from(delimiter)),
    }
}
