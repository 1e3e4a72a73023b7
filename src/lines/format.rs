//! What a line is: the bytes between terminators.
//!
//! *Owns:* the terminator and the rule for carriage returns. *Invariants:* the terminator is never
//! part of a line; a last line without one counts; an empty line is a line; bytes are never changed
//! otherwise. *Cost:* 2 to 3 ns for a line of 64 bytes, no copy.

use crate::lines::block::{SEARCHED, matches};
use crate::lines::quotes::{QuoteMarks, Quotes, Walk};
use crate::record::Dialect;

/// The rules by which lines are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineFormat {
    /// The byte that ends a line: a newline, or NUL.
    pub terminator: u8,
    /// True if one CR before the terminator (or the end of the input) is left out of the line.
    pub strip_cr: bool,
    /// The quotes of a CSV file, in which a terminator belongs to the line; `None` if quotes are bytes like all
    /// others.
    pub quoted: Option<Dialect>,
    /// The byte that begins a line in which quotes have no meaning: a comment. All lines come, comments as well.
    pub comment: Option<u8>,
}

impl Default for LineFormat {
    fn default() -> Self {
        Self {
            terminator: b'\n',
            strip_cr: false,
            quoted: None,
            comment: None,
        }
    }
}

impl LineFormat {
    /// Returns the rules for rows of a table as text, in which only quotes mean something: a CR is one of a value, and
    /// no row is a comment.
    pub(crate) const fn of_rows(self) -> Self {
        Self {
            strip_cr: false,
            comment: None,
            ..self
        }
    }

    /// Iterates over the lines of `bytes`, which must begin at the start of a line.
    ///
    /// ```
    /// use outset::LineFormat;
    /// let lines: Vec<&[u8]> = LineFormat::default().lines(b"a\n\nlast").collect();
    /// assert_eq!(lines, [&b"a"[..], b"", b"last"]);
    /// ```
    pub fn lines(self, bytes: &[u8]) -> Lines<'_> {
        Lines::new(self, bytes)
    }

    /// Finds the first terminator.
    pub(crate) fn find(self, bytes: &[u8]) -> Option<usize> {
        memchr::memchr(self.terminator, bytes)
    }

    /// Returns the bytes that mean something where quotes count; `None` if they do not.
    #[inline]
    pub(crate) fn marks(self) -> Option<QuoteMarks> {
        let marks = |dialect| QuoteMarks {
            terminator: self.terminator,
            dialect,
            comment: self.comment,
            are_simple: dialect.escape.is_none() && self.comment.is_none(),
        };
        self.quoted.map(marks)
    }

    /// Finds the end of the first line of `bytes`: its terminator, or the end of the bytes if they are all that there
    /// is. `None` if it does not end in them.
    pub(crate) fn first_end(self, bytes: &[u8], is_all: bool) -> Option<usize> {
        match self.marks() {
            Some(marks) => Walk::new(0).end(bytes, marks, is_all),
            None => self.find(bytes).or(is_all.then_some(bytes.len())),
        }
    }

    /// Returns the same without regard to quotes: for a piece of a file that may begin between some.
    pub(crate) fn unquoted(self) -> Self {
        Self {
            quoted: None,
            ..self
        }
    }

    /// Finds the last terminator.
    pub(crate) fn find_last(self, bytes: &[u8]) -> Option<usize> {
        memchr::memrchr(self.terminator, bytes)
    }
}

/// Iterates over the lines of a slice; see [`LineFormat::lines`].
///
/// Terminators are looked for in 64 bytes at a time, which gives one bit for each byte; a line's
/// end is then the next bit that is set, wherever it is. A search that starts anew for each line
/// costs two to three times as much.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    format: LineFormat,
    bytes: &'a [u8],
    /// The start of the next line.
    start: usize,
    /// The end of what was searched: a multiple of [`SEARCHED`], or the end of the bytes.
    searched: usize,
    /// The terminators in the last [`SEARCHED`] bytes that were searched, lowest bit first, less
    /// those that were passed.
    ends: u64,
    /// The state of the search, where quotes count.
    quotes: Quotes,
}

impl<'a> Lines<'a> {
    fn new(format: LineFormat, bytes: &'a [u8]) -> Self {
        Self {
            format,
            bytes,
            start: 0,
            searched: 0,
            ends: 0,
            quotes: Quotes::START,
        }
    }

    /// Finds the end of the next line: a terminator, or the end of the bytes.
    #[expect(clippy::inline_always, reason = "as `next`")]
    #[inline(always)]
    fn next_end(&mut self) -> usize {
        while self.ends == 0 {
            let Some(block) = self.bytes[self.searched..].first_chunk::<SEARCHED>() else {
                return self.next_end_in_rest();
            };
            match self.format.marks() {
                None => self.ends = matches(block, self.format.terminator),
                Some(marks) => match ends_outside(self.quotes, block, marks) {
                    Some(found) => (self.ends, self.quotes) = found,
                    None => return self.next_end_by_walk(marks),
                },
            }
            self.searched += SEARCHED;
        }
        let end = self.searched - SEARCHED + self.ends.trailing_zeros() as usize;
        self.ends &= self.ends - 1;
        end
    }

    /// Works as [`Lines::next_end`] where fewer bytes are left than a block has. They are searched again for each line,
    /// which is short work.
    #[inline(never)]
    fn next_end_in_rest(&mut self) -> usize {
        if let Some(marks) = self.format.marks() {
            return self.next_end_by_walk(marks);
        }
        let from = self.start.max(self.searched);
        let found = self.format.find(&self.bytes[from..]);
        found.map_or(self.bytes.len(), |found| from + found)
    }

    /// Works as [`Lines::next_end`] from the start of the line on. The search goes on after it.
    #[inline(never)]
    fn next_end_by_walk(&mut self, marks: QuoteMarks) -> usize {
        let all = self.bytes.len();
        let end = Walk::new(self.start).end(self.bytes, marks, true);
        let end = end.unwrap_or(all);
        (self.searched, self.quotes) = (all.min(end + 1), Quotes::START);
        end
    }
}

/// Calls [`Quotes::ends`]: with values, and in a function of its own, so that [`Lines`] stays in registers where there
/// are no quotes.
#[inline(never)]
fn ends_outside(
    quotes: Quotes,
    block: &[u8; SEARCHED],
    marks: QuoteMarks,
) -> Option<(u64, Quotes)> {
    quotes.ends(block, SEARCHED, marks)
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    // Always: batches are gathered in three ways, and a call for each line takes a third more time than the search.
    #[expect(clippy::inline_always, reason = "measured")]
    #[inline(always)]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.start >= self.bytes.len() {
            return None;
        }
        let end = self.next_end();
        let line = &self.bytes[self.start..end];
        self.start = end + 1;
        match line {
            [stripped @ .., b'\r'] if self.format.strip_cr => Some(stripped),
            line => Some(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(format: LineFormat, bytes: &[u8]) -> Vec<&[u8]> {
        format.lines(bytes).collect()
    }

    #[test]
    fn lines_of_every_ending() {
        let newline = LineFormat::default();
        assert_eq!(split(newline, b""), Vec::<&[u8]>::new());
        assert_eq!(split(newline, b"\n"), [b""]);
        assert_eq!(split(newline, b"\n\n"), [b"", b""]);
        assert_eq!(split(newline, b"a\nb"), [b"a", b"b"]);
        assert_eq!(split(newline, b"a\r\nb\n"), [&b"a\r"[..], b"b"]);
        assert_eq!(split(newline, b"a\0b\xff\n"), [b"a\0b\xff"]);
    }

    #[test]
    fn lines_across_searched_blocks_are_those_of_split() {
        for gap in 1..200usize {
            let bytes: Vec<u8> = (0..1000)
                .map(|i| if (i * i / 7) % gap == 0 { b'\n' } else { b'x' })
                .collect();
            for length in (0..1000).rev().take(130).chain([0, 1, 63, 64, 65]) {
                let bytes = &bytes[..length];
                let mut expected: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
                if expected.last().is_some_and(|last| last.is_empty()) {
                    expected.pop();
                }
                assert_eq!(split(LineFormat::default(), bytes), expected);
            }
        }
    }

    #[test]
    fn one_carriage_return_is_stripped_on_request() {
        let format = LineFormat {
            strip_cr: true,
            ..LineFormat::default()
        };
        assert_eq!(
            split(format, b"a\r\n\r\nb\r\r\nc\r"),
            [&b"a"[..], b"", b"b\r", b"c"]
        );
    }

    #[test]
    fn nul_separated_records_keep_their_newlines() {
        let format = LineFormat {
            terminator: 0,
            ..LineFormat::default()
        };
        assert_eq!(split(format, b"a\nb\0c"), [&b"a\nb"[..], b"c"]);
    }
}
