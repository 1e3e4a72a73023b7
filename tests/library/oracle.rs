//! The naive oracle: what belongs here is the definition of the right answer, trustworthy by reading, and nothing else.

use std::collections::BTreeSet;

use outset::LineFormat;

/// Distinct lines, in byte order.
pub(crate) type Lines = BTreeSet<Vec<u8>>;

/// The distinct lines of one input.
pub(crate) fn distinct(bytes: &[u8], format: LineFormat) -> Lines {
    let mut pieces: Vec<&[u8]> = bytes.split(|&byte| byte == format.terminator).collect();
    // What follows the last terminator is a line only if there is something.
    if pieces.last().is_some_and(|last| last.is_empty()) {
        pieces.pop();
    }
    let without_cr = |line: &[u8]| match line.strip_suffix(b"\r") {
        Some(stripped) if format.strip_cr => stripped.to_vec(),
        _ => line.to_vec(),
    };
    pieces.into_iter().map(without_cr).collect()
}

/// The lines that are in every input.
pub(crate) fn common(inputs: &[Vec<u8>], format: LineFormat) -> Lines {
    inputs
        .iter()
        .map(|bytes| distinct(bytes, format))
        .reduce(|common, next| common.intersection(&next).cloned().collect())
        .unwrap_or_default()
}

#[test]
fn the_oracle_knows_the_hard_cases() {
    let newline = LineFormat::default();
    let set = |lines: &[&str]| lines.iter().map(|line| line.as_bytes().to_vec()).collect();
    let cases: [(&str, Lines); 5] = [
        ("", set(&[])),
        ("\n", set(&[""])),
        ("a\n\nb", set(&["", "a", "b"])),
        ("a\r\na\n", set(&["a", "a\r"])),
        ("a\na\n", set(&["a"])),
    ];
    for (text, lines) in cases {
        assert_eq!(distinct(text.as_bytes(), newline), lines, "{text:?}");
    }
    let stripping = LineFormat {
        terminator: 0,
        strip_cr: true,
    };
    assert_eq!(
        distinct(b"a\r\0b\r\r\0\r", stripping),
        set(&["a", "b\r", ""])
    );
    let inputs = [b"a\nb\n".to_vec(), b"b\nc".to_vec(), b"\nb".to_vec()];
    assert_eq!(common(&inputs, newline), set(&["b"]));
}
