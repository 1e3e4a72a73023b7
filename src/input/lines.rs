//! What a line is: the bytes between terminators.
//!
//! *Owns:* the terminator and the rule for carriage returns. *Invariants:* the terminator is never
//! part of a line; a last line without one counts; an empty line is a line; bytes are never changed
//! otherwise. *Cost:* 2 to 3 ns for a line of 64 bytes, no copy.

/// How lines are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineFormat {
    /// The byte that ends a line: a newline, or NUL.
    pub terminator: u8,
    /// Whether one CR before the terminator (or the end of the input) is left out of the line.
    pub strip_cr: bool,
    /// Whether a terminator between double quotes belongs to the line, as in a record of a CSV file.
    pub quoted: bool,
}

impl Default for LineFormat {
    fn default() -> Self {
        Self {
            terminator: b'\n',
            strip_cr: false,
            quoted: false,
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
        Lines::new(self, bytes)
    }

    /// Where the first terminator is.
    pub(crate) fn find(self, bytes: &[u8]) -> Option<usize> {
        memchr::memchr(self.terminator, bytes)
    }

    /// Where the last line in `bytes` ends, terminator included; `None` where no line ends in it. `is_inside` says
    /// whether `bytes` begins between quotes, and becomes whether it ends so.
    pub(crate) fn last_end(self, bytes: &[u8], is_inside: &mut bool) -> Option<usize> {
        if !self.quoted {
            return self.find_last(bytes).map(|at| at + 1);
        }
        let mut inside = u64::from(*is_inside).wrapping_neg();
        let mut last = None;
        for (number, block) in bytes.chunks(SEARCHED).enumerate() {
            let ends = ends_outside(&filled(block), self.terminator, &mut inside);
            // Behind the bytes there are zeros, which a NUL at the end of lines must not find.
            let ends = ends & (u64::MAX >> (SEARCHED - block.len()));
            if ends != 0 {
                last = Some(number * SEARCHED + SEARCHED - ends.leading_zeros() as usize);
            }
        }
        *is_inside = inside != 0;
        last
    }

    /// The same without regard to quotes: for a piece of a file that may begin between some.
    pub(crate) fn unquoted(self) -> Self {
        Self {
            quoted: false,
            ..self
        }
    }

    /// Where the last terminator is.
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
    /// Where the next line starts.
    start: usize,
    /// The end of what was searched: a multiple of [`SEARCHED`], or the end of the bytes.
    searched: usize,
    /// The terminators in the last [`SEARCHED`] bytes that were searched, lowest bit first, less
    /// those that were passed.
    ends: u64,
    /// All bits set while the search is between quotes.
    inside: u64,
}

/// Bytes that are searched together.
const SEARCHED: usize = 64;

impl<'a> Lines<'a> {
    fn new(format: LineFormat, bytes: &'a [u8]) -> Self {
        Self {
            format,
            bytes,
            start: 0,
            searched: 0,
            ends: 0,
            inside: 0,
        }
    }

    /// Where the next line ends: at a terminator, or the end of the bytes.
    #[expect(clippy::inline_always, reason = "as `next`")]
    #[inline(always)]
    fn next_end(&mut self) -> usize {
        while self.ends == 0 {
            let Some(block) = self.bytes[self.searched..].first_chunk::<SEARCHED>() else {
                return self.next_end_in_rest();
            };
            self.ends = ends_in(block, self.format.terminator);
            if self.format.quoted {
                let between;
                (between, self.inside) = between_quotes(block, self.inside);
                self.ends &= !between;
            }
            self.searched += SEARCHED;
        }
        let end = self.searched - SEARCHED + self.ends.trailing_zeros() as usize;
        self.ends &= self.ends - 1;
        end
    }

    /// As [`Lines::next_end`], where fewer bytes are left than a block has. They are searched again for each line, which is
    /// short work.
    #[inline(never)]
    fn next_end_in_rest(&self) -> usize {
        let passed = self.start.saturating_sub(self.searched);
        let rest = &self.bytes[self.searched..];
        if !self.format.quoted {
            let found = self.format.find(&rest[passed..]);
            return found.map_or(self.bytes.len(), |found| self.searched + passed + found);
        }
        let mut inside = self.inside;
        let ends = ends_outside(&filled(rest), self.format.terminator, &mut inside);
        // A terminator of zeros is none behind the bytes.
        let ends = ends >> passed << passed & !(u64::MAX << rest.len());
        match ends {
            0 => self.bytes.len(),
            ends => self.searched + ends.trailing_zeros() as usize,
        }
    }
}

/// `bytes`, at most [`SEARCHED`] of them, with zeros behind them up to a whole block.
#[inline]
fn filled(bytes: &[u8]) -> [u8; SEARCHED] {
    let mut block = [0; SEARCHED];
    block[..bytes.len()].copy_from_slice(bytes);
    block
}

/// A bit for each byte of `block` that is the terminator and not between quotes. `inside` has all bits set where the block
/// begins between quotes, and becomes the same for the next block.
///
/// Each quote changes sides: the exclusive or of all quotes up to a byte tells its side. A doubled quote changes it twice.
/// *Source:* Langdale and Lemire, "Parsing Gigabytes of JSON per Second", VLDB Journal 2019, section 3.1.1.
#[inline]
fn ends_outside(block: &[u8; SEARCHED], terminator: u8, inside: &mut u64) -> u64 {
    let between;
    (between, *inside) = between_quotes(block, *inside);
    ends_in(block, terminator) & !between
}

/// A bit for each byte of `block` that is between quotes, and what [`ends_outside`] calls `inside` for the next block.
/// Values, no reference: so that [`Lines`] stays in registers where there are no quotes.
#[inline(never)]
fn between_quotes(block: &[u8; SEARCHED], inside: u64) -> (u64, u64) {
    let mut between = ends_in(block, b'"');
    for shift in [1, 2, 4, 8, 16, 32] {
        between ^= between << shift;
    }
    between ^= inside;
    (between, ((between as i64) >> 63) as u64)
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

/// A bit for each byte of `block` that is the terminator.
#[cfg(target_arch = "x86_64")]
#[inline]
fn ends_in(block: &[u8; SEARCHED], terminator: u8) -> u64 {
    use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set1_epi8};

    let (parts, _) = block.as_chunks::<16>();
    parts.iter().rev().fold(0, |ends, part| {
        let bytes: __m128i = bytemuck::must_cast(*part);
        #[expect(unsafe_code, reason = "vector instructions")]
        // SAFETY: these are instructions of SSE2, which every x86-64 processor has.
        let equal =
            unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(terminator as i8))) };
        ends << 16 | u64::from(equal as u16)
    })
}

/// A bit for each byte of `block` that is the terminator.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn ends_in(block: &[u8; SEARCHED], terminator: u8) -> u64 {
    memchr::memchr_iter(terminator, block).fold(0, |ends, at| ends | 1 << at)
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

    /// The lines, and where the last one ends, by a loop over bytes.
    fn split_quoted(bytes: &[u8]) -> (Vec<&[u8]>, Option<usize>, bool) {
        let (mut lines, mut start, mut inside, mut last) = (Vec::new(), 0, false, None);
        for (at, &byte) in bytes.iter().enumerate() {
            inside ^= byte == b'"';
            if byte == b'\n' && !inside {
                lines.push(&bytes[start..at]);
                start = at + 1;
                last = Some(start);
            }
        }
        if start < bytes.len() {
            lines.push(&bytes[start..]);
        }
        (lines, last, inside)
    }

    #[test]
    fn a21_line_ends_between_quotes_belong_to_the_line() {
        let format = LineFormat {
            quoted: true,
            ..LineFormat::default()
        };
        for gap in 2..90usize {
            let bytes: Vec<u8> = (0..700)
                .map(|i| match (i * i / 5) % gap {
                    0 => b'"',
                    1 => b'\n',
                    _ => b'x',
                })
                .collect();
            for length in (0..700).rev().take(130).chain([0, 1, 63, 64, 65, 128]) {
                let bytes = &bytes[..length];
                let (lines, last, ends_inside) = split_quoted(bytes);
                assert_eq!(split(format, bytes), lines);
                // In two steps, of which the second may begin between quotes.
                let middle = length / 3;
                let (front, back) = bytes.split_at(middle);
                let mut inside = false;
                let first = format.last_end(front, &mut inside);
                let second = format.last_end(back, &mut inside);
                assert_eq!(second.map(|end| middle + end).or(first), last);
                assert_eq!(inside, ends_inside);
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
