//! The header of a file: the record that names its fields.
//!
//! *Owns:* finding the columns of a key by their names. *Invariants:* a name that the header has not, or has twice, is an
//! error before any record is read. *Cost:* one look at the header.

use std::path::Path;

use crate::error::{Error, Result};
use crate::record::{Columns, Field, Keys, Syntax, csv};

/// The most bytes that a header may have: 64 KiB.
pub(crate) const MOST_HEADER_BYTES: usize = 64 << 10;
/// What some programs put before a text in UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The first record of a file, which names its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    /// As it stands in the file, without its terminator.
    pub(crate) record: Vec<u8>,
}

impl Header {
    /// The fields: the record without a CR at its end and a byte order mark before it.
    pub(crate) fn fields(&self) -> &[u8] {
        let record = self.record.strip_suffix(b"\r").unwrap_or(&self.record);
        record.strip_prefix(BYTE_ORDER_MARK).unwrap_or(record)
    }

    /// What each field is called.
    ///
    /// # Errors
    /// [`Error::Usage`] where quotes are out of place.
    pub(crate) fn names(&self, keys: &Keys, path: &Path) -> Result<Vec<Vec<u8>>> {
        let record = self.fields();
        match keys.syntax {
            Syntax::Csv(dialect) => {
                let fields = csv::fields(record, dialect).map_err(|_| Error::Usage {
                    what: format!("{}: the header has a misplaced quote", path.display()),
                    advice: "correct it, or give --delimiter instead of --csv".into(),
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
    /// Where the key is in the file `path` of the input with `number`, from 1, that has this header.
    ///
    /// # Errors
    /// [`Error::Usage`] for a name that the header has not, or has twice, and for a name without a header.
    pub(crate) fn columns(
        &self,
        number: u32,
        header: Option<&Header>,
        path: &Path,
    ) -> Result<Columns> {
        // The fields are those of Parquet files.
        if self.syntax == Syntax::Whole {
            return Ok(Columns::new(self, number, &[]));
        }
        let fields = self.fields_of(number);
        let has_fields = |(_, fields): &(u32, Vec<Field>)| !fields.is_empty();
        if fields.is_empty() && self.fields_of.iter().any(has_fields) {
            return Err(Error::Usage {
                what: format!("{}: nothing says where its key is", path.display()),
                advice: format!("add --key, or --key-of {number}=FIELD"),
            });
        }
        if self.syntax == Syntax::JsonLines {
            return Ok(Columns::new(self, number, &[]));
        }
        let names = header.map(|header| header.names(self, path)).transpose()?;
        let place = |field: &Field| match (field, &names) {
            (Field::Number(number), _) => Ok(number - 1),
            (Field::Name(name), Some(names)) => place_of(name, names, path),
            // The file is empty: it has no record that a column could be wrong for.
            (Field::Name(_), None) if self.has_header => Ok(0),
            (Field::Name(name), None) => Err(Error::Usage {
                what: format!("--key: {name} is a name, but the files have no header"),
                advice: "add --header, or give the number of the field".into(),
            }),
        };
        let places: Vec<u32> = fields.iter().map(place).collect::<Result<_>>()?;
        Ok(Columns::new(self, number, &places))
    }
}

/// The number, from 0, of the field that is called `name`.
fn place_of(name: &str, names: &[Vec<u8>], path: &Path) -> Result<u32> {
    /// As many names are shown at most.
    const SHOWN: usize = 20;
    let mut places = (0..)
        .zip(names)
        .filter(|(_, other)| *other == name.as_bytes());
    match (places.next(), places.next()) {
        (Some((place, _)), None) => Ok(place),
        (Some(_), Some(_)) => Err(Error::Usage {
            what: format!("{}: two fields are called {name}", path.display()),
            advice: "give the number of the field".into(),
        }),
        (None, _) => {
            let shown = names
                .iter()
                .take(SHOWN)
                .map(|name| String::from_utf8_lossy(name));
            let shown: Vec<_> = shown.collect();
            let more = if names.len() > SHOWN { ", ..." } else { "" };
            Err(Error::Usage {
                what: format!("{}: no field is called {name}", path.display()),
                advice: format!("name one of: {}{more}", shown.join(", ")),
            })
        }
    }
}
