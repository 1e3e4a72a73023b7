//! The splitter of lines against a loop over bytes.

use outset::{Dialect, LineFormat};

use crate::oracle;

/// The first byte says what a line is, the others are the input.
///
/// # Panics
/// Where the two do not find the same lines, or one of them is not where the other has it.
pub fn split_lines(data: &[u8]) {
    let Some((&rules, bytes)) = data.split_first() else {
        return;
    };
    let format = LineFormat {
        terminator: [b'\n', 0, b'\r', 0xff][usize::from(rules % 4)],
        strip_cr: rules & 4 != 0,
        quoted: (rules & 8 != 0).then_some(Dialect::new(b',')),
        comment: None,
    };
    let found: Vec<&[u8]> = format.lines(bytes).collect();
    let LineFormat {
        terminator,
        strip_cr,
        ..
    } = format;
    let expected = match format.quoted {
        Some(dialect) => oracle::split_csv(bytes, terminator, strip_cr, dialect.delimiter),
        None => oracle::split(bytes, terminator, strip_cr),
    };
    assert_eq!(found, expected, "{format:?}");
    // Of equal lines, too, each is its own part of the input.
    let ranges =
        |lines: &[&[u8]]| -> Vec<*const u8> { lines.iter().map(|line| line.as_ptr()).collect() };
    assert_eq!(ranges(&found), ranges(&expected), "{format:?}");
}
