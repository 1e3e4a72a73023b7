//! A new Parquet file for rows of others.
//!
//! *Owns:* [`RowOutput`]: the form of the new file, and the end of its writing. *Invariants:* it has the columns of the
//! file that it is made like, with their types, names and compression, and takes rows of files with the same columns
//! only. *Cost:* what the footer says of each row group stays in memory until the end.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ParquetMetaData;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::{Type, TypePtr};

use crate::decode::parquet::group_copy::dictionaries_of;
use crate::error::{Error, Result};
use crate::output::output_error;

/// A Parquet file that is written: it gets rows of one file, or of several with the same columns, one after the
/// other. [`RowCopy::begin`](crate::RowCopy::begin) makes it.
pub struct RowOutput<'a, W: Write + Send> {
    pub(super) writer: SerializedFileWriter<&'a mut W>,
    pub(super) properties: WriterPropertiesPtr,
    /// For each column, true if it gets a dictionary.
    pub(super) dictionaries: Vec<bool>,
    /// The file whose columns it has.
    like: PathBuf,
    name: &'a str,
}

impl<'a, W: Write + Send> RowOutput<'a, W> {
    /// Begins a file like the one at `like`, of which this is said.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub(super) fn create(
        (metadata, like): (&ParquetMetaData, &Path),
        (target, name): (&'a mut W, &'a str),
    ) -> Result<Self> {
        let dictionaries = dictionaries_of(metadata);
        let properties = Arc::new(properties(metadata, &dictionaries));
        let schema = metadata.file_metadata().schema_descr().root_schema_ptr();
        let writer = SerializedFileWriter::new(target, schema, Arc::clone(&properties));
        Ok(Self {
            writer: writer.map_err(|error| unwritable(name, error))?,
            properties,
            dictionaries,
            like: like.to_owned(),
            name,
        })
    }

    /// Ends the file; returns its bytes. The target is still to be flushed.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn finish(mut self) -> Result<u64> {
        let finished = self.writer.finish();
        finished.map_err(|error| unwritable(self.name, error))?;
        Ok(self.writer.bytes_written() as u64)
    }

    /// Returns what messages call the target.
    pub(super) fn name(&self) -> &'a str {
        self.name
    }

    /// Checks that the file at `path`, whose schema this is, has the columns of this one.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub(super) fn check_columns(&self, schema: &Type, path: &Path) -> Result<()> {
        check_columns(
            (schema, path),
            (self.writer.schema_descr().root_schema(), &self.like),
        )
    }
}

/// Checks that a file has the columns of another one; of both, the schema and the path.
///
/// # Errors
/// [`Error::Usage`].
pub(super) fn check_columns(
    (schema, path): (&Type, &Path),
    (expected, like): (&Type, &Path),
) -> Result<()> {
    // Each writer has its own name for the schema itself.
    let (columns, expected) = (schema.get_fields(), expected.get_fields());
    if columns == expected {
        return Ok(());
    }
    let like = like.display();
    let lacks = |columns: &[TypePtr], name| !columns.iter().any(|column| column.name() == name);
    let own = columns.iter().find(|&column| !expected.contains(column));
    let missing = expected.iter().find(|column| lacks(columns, column.name()));
    let what = match (own, missing) {
        (Some(column), _) if lacks(expected, column.name()) => {
            format!("its column {} is not in {like}", column.name())
        }
        (Some(column), _) => format!("its column {} has another type in {like}", column.name()),
        (None, Some(column)) => format!("it lacks the column {} of {like}", column.name()),
        (None, None) => format!("its columns have another order in {like}"),
    };
    Err(Error::usage(
        format!(
            "{}: {what}, and a Parquet file cannot have the rows of both",
            path.display()
        ),
        "write the rows of each file to a file of its own, with `divides_by_file`",
    ))
}

/// Returns the properties of a file like one of which this is said: its compression, and what its writer noted in it.
fn properties(metadata: &ParquetMetaData, dictionaries: &[bool]) -> WriterProperties {
    let notes = metadata.file_metadata().key_value_metadata().cloned();
    // An index of the pages would be held in memory until the end.
    let mut builder = WriterProperties::builder()
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_created_by(concat!("outset ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(notes);
    let first = metadata.row_groups().first();
    let columns = first.iter().flat_map(|group| group.columns());
    for (column, &has_dictionary) in columns.zip(dictionaries) {
        let path = column.column_path().clone();
        builder = builder
            .set_column_compression(path.clone(), column.compression())
            .set_column_dictionary_enabled(path, has_dictionary);
    }
    builder.build()
}

/// Makes the error of a target, which messages call `name`, for a failure of the writer.
pub(super) fn unwritable(name: &str, error: ParquetError) -> Error {
    let source = match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(own) => *own,
            Err(other) => io::Error::other(other.to_string()),
        },
        other => io::Error::other(other),
    };
    output_error(name, "cannot write", source)
}
