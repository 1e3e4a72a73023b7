//! What a line is: the bytes between terminators.
//!
//! *Owns:* the terminator and the rule for carriage returns. *Invariants:* the terminator is never
//! part of a line; a last line without one counts; an empty line is a line; bytes are never changed
//! otherwise. *Cost:* one vectorised search per line (memchr), no copy.

/// How lines are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineFormat {
    /// The byte that ends a line: a newline, or NUL.
    pub terminator: u8,
    /// Whether one CR before the terminator (or the end of the input) is left out of the line.
    pub strip_cr: bool,
}

impl Default for LineFormat {
    fn default() -> Self {
        Self {
            terminator: b'\n',
            strip_cr: false,
        }
    }
}

impl LineFormat {
    /// The lines of `bytes`, which must begin at the start of a line.
    ///
    /// ```
    /// use outset::LineFormat;
    /// let lines: Vec<&[u8]> = LineFormat::default().lines(b"a\n\nlast").collect();
    /// assert_eq!(lines, [&b"a"[..], b"", b"last"]);
    /// ```
    pub fn lines(self, bytes: &[u8]) -> Lines<'_> {
        Lines {
            format: self,
            rest: bytes,
        }
    }

    /// Where the first terminator is.
    pub(crate) fn find(self, bytes: &[u8]) -> Option<usize> {
        memchr::memchr(self.terminator, bytes)
    }

    /// Where the last terminator is.
    pub(crate) fn find_last(self, bytes: &[u8]) -> Option<usize> {
        memchr::memrchr(self.terminator, bytes)
    }
}

/// Iterates over the lines of a slice; see [`LineFormat::lines`].
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    format: LineFormat,
    rest: &'a [u8],
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let line = match self.format.find(self.rest) {
            Some(end) => {
                let line = &self.rest[..end];
                self.rest = &self.rest[end + 1..];
                line
            }
            None => std::mem::take(&mut self.rest),
        };
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
            strip_cr: false,
        };
        assert_eq!(split(format, b"a\nb\0c"), [&b"a\nb"[..], b"c"]);
    }
}
