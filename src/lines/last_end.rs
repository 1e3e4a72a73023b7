//! The last record that is whole in bytes that are still coming.
//!
//! *Owns:* where a reading in order cuts its chunks. *Invariants:* what [`Lines`](crate::lines::Lines) finds in
//! the bytes up to there are the same records. *Cost:* one search of the bytes; those of the last record are searched
//! again where its quotes are not all in place.

use crate::lines::LineFormat;
use crate::lines::block::{SEARCHED, filled};
use crate::lines::quotes::{QuoteMarks, Quotes, Walk};

/// The search for the last record that is whole in bytes of which more and more are there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastEnd {
    /// The start of the first record.
    first: usize,
    /// The start of the last one that was found.
    start: usize,
    /// The end of the blocks that were searched.
    searched: usize,
    /// The state after them.
    quotes: Quotes,
    /// The way through the last record, where its quotes are not all in place.
    walk: Option<Walk>,
}

impl LastEnd {
    /// Begins a search whose first record starts here.
    pub(crate) fn new(first: usize) -> Self {
        Self {
            first,
            start: first,
            searched: first,
            quotes: Quotes::START,
            walk: None,
        }
    }

    /// Searches the rest of `bytes`, to which some may have been added since the last time. Returns where the last
    /// whole record ends, terminator included; `None` if none does.
    pub(crate) fn advance(&mut self, bytes: &[u8], format: LineFormat) -> Option<usize> {
        if let Some(marks) = format.marks() {
            self.advance_quoted(bytes, marks);
        } else {
            if let Some(last) = format.find_last(&bytes[self.searched..]) {
                self.start = self.searched + last + 1;
            }
            self.searched = bytes.len();
        }
        self.found()
    }

    /// Returns the end of the last whole record that was found; `None` if there is none.
    pub(crate) fn found(&self) -> Option<usize> {
        (self.start > self.first).then_some(self.start)
    }

    /// Returns the way through the rest of the bytes, if they end in a quoted field.
    pub(crate) fn open_field(&self, bytes: &[u8], format: LineFormat) -> Option<Walk> {
        let mut walk = Walk::new(self.start);
        let end = walk.end(bytes, format.marks()?, false);
        (end.is_none() && walk.open_field().is_some()).then_some(walk)
    }

    fn advance_quoted(&mut self, bytes: &[u8], marks: QuoteMarks) {
        loop {
            if let Some(walk) = &mut self.walk {
                let Some(end) = walk.end(bytes, marks, false) else {
                    return;
                };
                *self = Self {
                    first: self.first,
                    ..Self::new(end + 1)
                };
            }
            let rest = &bytes[self.searched.min(bytes.len())..];
            let found = match rest.first_chunk() {
                Some(block) => self.quotes.ends(block, SEARCHED, marks),
                None if rest.is_empty() => return,
                None => self.quotes.ends(&filled(rest), rest.len(), marks),
            };
            let Some((ends, quotes)) = found else {
                self.walk = Some(Walk::new(self.start));
                continue;
            };
            if ends != 0 {
                self.start = self.searched + SEARCHED - ends.leading_zeros() as usize;
            }
            // A part of a block is searched again when there is more of it.
            if rest.len() < SEARCHED {
                return;
            }
            (self.searched, self.quotes) = (self.searched + SEARCHED, quotes);
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::record::{Dialect, Keys, Syntax};

    /// Finds where the records of `bytes` begin and end, by a loop over bytes and fields.
    fn records(bytes: &[u8], format: LineFormat) -> Vec<(usize, usize)> {
        let (mut records, mut start) = (Vec::new(), 0);
        while start < bytes.len() {
            let (end, _) = end_of_record(bytes, start, format);
            records.push((start, end));
            start = end + 1;
        }
        records
    }

    /// Finds the end of a record, and whether it is damaged.
    fn end_of_record(bytes: &[u8], start: usize, format: LineFormat) -> (usize, bool) {
        let dialect = format.quoted.unwrap();
        let line_end = |from: usize| {
            let found = bytes[from..]
                .iter()
                .position(|&byte| byte == format.terminator);
            found.map_or(bytes.len(), |found| from + found)
        };
        if format.comment == Some(bytes[start]) {
            return (line_end(start), false);
        }
        let mut at = start;
        // Each round begins at the start of a field.
        while at < bytes.len() {
            let open = at;
            if bytes[at] == b'"' {
                at += 1;
                loop {
                    match (bytes.get(at), bytes.get(at + 1)) {
                        (None, _) => return (line_end(open), true),
                        (Some(byte), _) if Some(*byte) == dialect.escape => at += 2,
                        (Some(b'"'), Some(b'"')) => at += 2,
                        (Some(b'"'), _) => break,
                        _ => at += 1,
                    }
                }
                at += 1;
                let is_end =
                    |at: usize| bytes.get(at).is_none_or(|&byte| byte == format.terminator);
                match bytes.get(at) {
                    Some(&byte) if byte == dialect.delimiter => at += 1,
                    _ if is_end(at) => return (at, false),
                    Some(b'\r') if is_end(at + 1) => return (at + 1, false),
                    _ => return (line_end(open), true),
                }
                continue;
            }
            loop {
                match bytes.get(at) {
                    None => return (bytes.len(), false),
                    Some(byte) if Some(*byte) == dialect.escape => at += 2,
                    Some(&byte) if byte == format.terminator => return (at, false),
                    Some(&byte) if byte == dialect.delimiter => break,
                    Some(_) => at += 1,
                }
            }
            at += 1;
        }
        (bytes.len(), false)
    }

    /// A generator of numbers below a bound; the tests need no more than that they are mixed.
    fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        move |bound| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as usize % bound
        }
    }

    /// Bytes of which most are among those that mean something.
    fn text(next: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
        let alphabet: &[u8] = match next(4) {
            0 => b"\",\n",
            1 => b"\",\n\r\\#aaa",
            2 => b"\",,\naaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            _ => b"\"\"\"\n\\aaaaaaa,,,,",
        };
        (0..next(400))
            .map(|_| alphabet[next(alphabet.len())])
            .collect()
    }

    fn formats() -> Vec<LineFormat> {
        let format = |(escape, comment): &(Option<u8>, Option<u8>)| LineFormat {
            quoted: Some(Dialect {
                delimiter: b',',
                escape: *escape,
            }),
            comment: *comment,
            ..LineFormat::default()
        };
        let settings = [
            (None, None),
            (None, None),
            (Some(b'\\'), None),
            (None, Some(b'#')),
            (Some(b'\\'), Some(b'#')),
        ];
        settings.iter().map(format).collect()
    }

    #[test]
    fn a21_records_of_any_bytes_end_where_a_loop_over_their_fields_ends() {
        for seed in 0..1000 {
            let mut next = numbers(seed);
            let bytes = text(&mut next);
            for format in formats() {
                let expected = records(&bytes, format);
                let lines: Vec<&[u8]> = format.lines(&bytes).collect();
                let wanted: Vec<&[u8]> = expected
                    .iter()
                    .map(|&(start, end)| &bytes[start..end])
                    .collect();
                assert_eq!(
                    lines,
                    wanted,
                    "{:?} {format:?}",
                    bytes.escape_ascii().to_string()
                );
                let first = expected.first().map(|&(_, end)| end);
                assert_eq!(format.first_end(&bytes, true), first.or(Some(0)));
            }
        }
    }

    #[test]
    fn a21_bytes_that_come_in_pieces_are_cut_at_the_ends_of_the_same_records() {
        for seed in 0..500 {
            let mut next = numbers(seed);
            let bytes = text(&mut next);
            for format in formats() {
                let all = records(&bytes, format);
                let mut search = LastEnd::new(0);
                let (mut upto, mut last) = (0, None);
                while upto < bytes.len() {
                    upto = (upto + 1 + next(150)).min(bytes.len());
                    let before = last;
                    last = search.advance(&bytes[..upto], format);
                    assert!(last >= before);
                    let Some(end) = last else { continue };
                    // It is the end of a record of the whole, and the bytes up to it have the same records.
                    assert!(
                        all.iter().any(|&(_, of_all)| of_all + 1 == end),
                        "{end} {upto}"
                    );
                    let cut = records(&bytes[..end], format);
                    assert_eq!(cut, all[..cut.len()]);
                    let lines = format.lines(&bytes[..end]).count();
                    assert_eq!(lines, cut.len());
                }
                // What is after the last end is one record, except for damage that only the end of the bytes shows.
                let rest = last.unwrap_or(0);
                if search.open_field(&bytes, format).is_none() {
                    assert!(all.iter().filter(|(start, _)| *start >= rest).count() <= 2);
                }
            }
        }
    }

    #[test]
    fn a21_the_records_that_have_no_fields_are_those_that_are_damaged() {
        for seed in 0..500 {
            let mut next = numbers(seed);
            let bytes = text(&mut next);
            for format in formats()
                .into_iter()
                .filter(|format| format.comment.is_none())
            {
                let keys = Keys {
                    syntax: Syntax::Csv(format.quoted.unwrap()),
                    ..Keys::default()
                };
                let columns = keys.columns(1, None, Path::new("a")).unwrap();
                let mut start = 0;
                for line in format.lines(&bytes) {
                    let (end, is_damaged) = end_of_record(&bytes, start, format);
                    let key = columns.key(line, &mut Vec::new());
                    assert_eq!(
                        key.is_err(),
                        is_damaged,
                        "{:?}",
                        line.escape_ascii().to_string()
                    );
                    start = end + 1;
                }
            }
        }
    }
}
