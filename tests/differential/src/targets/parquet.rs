//! Parquet files that any bytes are.

use outset::{Dialect, Error, ErrorKind, Field, Keys, Options, Selection, Source, Syntax};

use crate::resident::OF_COMMAND;

/// The memory of a run, in bytes.
const MEMORY: u64 = 1 << 30;

/// The bytes are a file, of which two columns are read.
///
/// # Panics
/// Where a reading fails in another way than with an error about the file.
pub fn parquet(data: &[u8]) {
    let sandbox = super::sandbox();
    let path = sandbox.path("file");
    if let Err(error) = std::fs::write(&path, data) {
        panic!("no temporary file: {error}");
    }
    for field in [Field::Name("url".into()), Field::Number(1)] {
        drop(read(&path, field, &sandbox.temp()));
    }
}

/// Reads a column of the file at `path` as CSV; returns its different values.
///
/// # Errors
/// Those of a file that cannot be read.
///
/// # Panics
/// At any other error.
pub fn read(
    path: &std::path::Path,
    field: Field,
    directory: &std::path::Path,
) -> Result<Vec<Vec<u8>>, Error> {
    let options = Options {
        memory_bytes: Some(MEMORY),
        resident_bytes: Some(OF_COMMAND),
        threads: Some(1),
        temp_dirs: vec![directory.to_owned()],
        keys: Some(Keys {
            syntax: Syntax::Csv(Dialect::new(b',')),
            fields: vec![field],
            ..Keys::default()
        }),
        ..Options::default()
    };
    let mut values: Vec<Vec<u8>> = Vec::new();
    let mut collect = |value: &[u8]| {
        values.push(value.to_vec());
        Ok(())
    };
    let found = outset::select(
        &[Source::from(path)],
        Selection::union(),
        &options,
        &mut collect,
    );
    match found {
        Ok(_) => {
            values.sort();
            Ok(values)
        }
        Err(error) => {
            let expected = [ErrorKind::Input, ErrorKind::Usage, ErrorKind::Memory];
            assert!(expected.contains(&error.kind()), "{error}");
            Err(error)
        }
    }
}
