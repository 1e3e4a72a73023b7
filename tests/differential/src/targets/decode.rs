//! The decoders against files that no encoder made.
//!
//! Input whose first byte is odd is a file with the bytes behind it. Any other describes a file: the lines behind the
//! second byte, compressed in the format that the first byte chooses, with one byte changed where the second says.

use data_gen::Compression;
use outset::{CountSink, Error, ErrorKind, Options, Selection, Source, select};

use super::sandbox;
use crate::oracle;
use crate::resident::OF_COMMAND;

/// Decodes what `data` is or describes.
///
/// # Panics
/// Where an intact file does not give its lines, a changed one gives other lines, or an error is none about the file.
pub fn decode(data: &[u8]) {
    let Some((&first, data)) = data.split_first() else {
        return;
    };
    if first % 2 == 1 {
        let _any_number = lines_of(data);
        return;
    }
    let Some((&changed, text)) = data.split_first() else {
        return;
    };
    let compression = Compression::ALL[usize::from(first / 2) % Compression::ALL.len()];
    let Ok(mut file) = compression.compress(text) else {
        panic!("{compression:?}: {} bytes are not compressed", text.len());
    };
    let mut lines = oracle::split(text, b'\n', false);
    lines.sort_unstable();
    lines.dedup();
    let expected = lines.len() as u64;
    assert_eq!(lines_of(&file), Some(expected), "{compression:?}");
    // Not of the front: what is not recognised is read as it is.
    let offset = 16 + usize::from(changed) % file.len().saturating_sub(16).max(1);
    if let Some(byte) = file.get_mut(offset) {
        *byte ^= 1 | changed;
        let found = lines_of(&file).unwrap_or(expected);
        assert_eq!(found, expected, "{compression:?}: byte {offset}");
    }
}

/// The different lines of a file; `None` where it is refused.
fn lines_of(file: &[u8]) -> Option<u64> {
    let sandbox = sandbox();
    let written = sandbox.write(0, file);
    assert!(written.is_ok(), "{written:?}");
    let options = Options {
        memory_bytes: Some(64 << 20),
        resident_bytes: Some(OF_COMMAND),
        threads: Some(1),
        temp_dirs: vec![sandbox.temp()],
        ..Options::default()
    };
    let source = Source::from(sandbox.input(0));
    match select(&[source], Selection::union(), &options, &mut CountSink) {
        Ok(stats) => Some(stats.output.lines),
        Err(error) => {
            let is_about_it = matches!(
                error,
                Error::Undecodable { .. } | Error::MemoryPlan { .. } | Error::LineTooLong { .. }
            );
            assert!(is_about_it || error.kind() == ErrorKind::Memory, "{error}");
            None
        }
    }
}
