//! A new Parquet file for rows of others.
//!
//! *Owns:* [`RowOutput`]: the form of the new file, and the end of its writing. *Invariants:* it has the columns of the
//! file that it is made like, with their types, names and compression, and takes rows of files with the same columns
//! only; of the notes of writers it has those that all these files have alike: one of Arrow can say that a number is a
//! duration, or in which unit. *Cost:* what the footer says of each row group stays in memory until the end.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{KeyValue, ParquetMetaData};
use ::parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use ::parquet::file::writer::SerializedFileWriter;

use crate::decode::parquet::group_copy::dictionaries_of;
use crate::decode::parquet::same_columns::check_columns;
use crate::error::{Error, Result};
use crate::output::output_error;

/// The target of a new file.
pub(super) type Target<'a> = &'a mut (dyn Write + Send + 'a);

/// A Parquet file that is written: it gets rows of one file, or of several with the same columns, one after the
/// other. [`RowCopy::begin`](crate::RowCopy::begin) makes it.
pub struct RowOutput<'a> {
    pub(super) writer: SerializedFileWriter<Target<'a>>,
    pub(super) properties: WriterPropertiesPtr,
    /// For each column, true if it gets a dictionary where its values are decoded.
    pub(super) dictionaries: Arc<[bool]>,
    /// The file whose columns it has.
    like: PathBuf,
    /// The notes that all files have whose rows it got; `None` before the first.
    notes: Option<Vec<KeyValue>>,
    name: &'a str,
}

impl<'a> RowOutput<'a> {
    /// Begins a file like the one at `like`, of which this is said.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub(super) fn create(
        (metadata, like): (&ParquetMetaData, &Path),
        (target, name): (Target<'a>, &'a str),
    ) -> Result<Self> {
        let dictionaries = dictionaries_of(metadata);
        let properties = Arc::new(properties(metadata, &dictionaries));
        let schema = metadata.file_metadata().schema_descr().root_schema_ptr();
        let writer = SerializedFileWriter::new(target, schema, Arc::clone(&properties));
        Ok(Self {
            writer: writer.map_err(|error| unwritable(name, error))?,
            properties,
            dictionaries: dictionaries.into(),
            like: like.to_owned(),
            notes: None,
            name,
        })
    }

    /// Ends the file; returns its bytes. The target is still to be flushed. After a copy that failed the file lacks
    /// rows: drop it then.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn finish(mut self) -> Result<u64> {
        for note in self.notes.take().into_iter().flatten() {
            self.writer.append_key_value_metadata(note);
        }
        let finished = self.writer.finish();
        finished.map_err(|error| unwritable(self.name, error))?;
        Ok(self.writer.bytes_written() as u64)
    }

    /// Returns what messages call the target.
    pub(super) fn name(&self) -> &'a str {
        self.name
    }

    /// Takes a file at `path`, of which this is said, as one of those whose rows it gets.
    ///
    /// # Errors
    /// [`Error::Usage`] where that has other columns.
    pub(super) fn admit(&mut self, metadata: &ParquetMetaData, path: &Path) -> Result<()> {
        let file = metadata.file_metadata();
        let expected = (
            self.writer.schema_descr().root_schema(),
            self.like.as_path(),
        );
        check_columns((file.schema_descr().root_schema(), path), expected)?;
        let own = file.key_value_metadata().map_or(&[][..], Vec::as_slice);
        match &mut self.notes {
            Some(notes) => notes.retain(|note| own.contains(note)),
            None => self.notes = Some(own.to_vec()),
        }
        Ok(())
    }
}

/// Returns the properties of a file like one of which this is said: the compression of its columns.
fn properties(metadata: &ParquetMetaData, dictionaries: &[bool]) -> WriterProperties {
    // An index of the pages would be held in memory until the end.
    let mut builder = WriterProperties::builder()
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_created_by(concat!("outset ", env!("CARGO_PKG_VERSION")).to_owned());
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
