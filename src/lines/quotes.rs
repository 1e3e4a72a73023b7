//! The quotes of a CSV file, and where its records end.
//!
//! *Owns:* telling the line ends that stand in quoted fields from those that end records. *Invariants:* a record ends
//! where [`record`](crate::record) says that its fields end. A field that is damaged, because text follows its closing
//! quote or because it is never closed, spoils no more than its record up to the end of the line that it begins in: the
//! next record begins on the next line. So every byte is looked at twice at most. *Cost:* 64 bytes at a time, one or
//! two comparisons for each 16 of them, three more where there are quotes; a search for each quote where some are not
//! at the borders of fields.
//!
//! ```text
//!  1,"a⏎b",x⏎          one record: the line end is in the quotes
//!  2,5" disk⏎          a record: the quote is text, because its field does not begin with one
//!  3,"5" disk⏎         damaged: text after the closing quote; the next line is a record again
//!  4,"a⏎5,b⏎6,"c"⏎     the field `"a⏎5,b⏎6,"` is damaged: record 4 ends with its line, and 5 and 6 are records
//! ```
//!
//! *Two ways.* [`Quotes`] takes 64 bytes at once as bit masks. Each quote changes sides, so the exclusive or of all
//! quotes up to a byte tells whether that is between quotes. This holds as long as every quote that opens follows a
//! delimiter, a line end or the quote before it (two quotes are one), and as every quote that closes is followed by
//! one. The masks show where that is not so; then [`Walk`] goes through the record from its start, from quote to quote.
//!
//! *Source:* Langdale and Lemire, "Parsing Gigabytes of JSON per Second", VLDB Journal 2019, section 3.1.1, for the
//! exclusive or.

use crate::lines::block::{SEARCHED, matches};
use crate::record::{Closing, Dialect};

/// The bytes that mean something where records end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QuoteMarks {
    /// The byte that ends a record.
    pub(crate) terminator: u8,
    pub(crate) dialect: Dialect,
    /// The byte that begins a record which is a comment, and has no fields.
    pub(crate) comment: Option<u8>,
    /// True if quotes are all that hides the end of a record: there are no escapes and no comments.
    pub(crate) are_simple: bool,
}

/// The state that the bytes before a block leave it in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quotes {
    /// All bits set if the block begins between quotes.
    inside: u64,
    /// The byte just before it, as bits.
    last: u64,
}

/// The end of a record, of a field, or of a quoted text: a quote may open.
const BORDER: u64 = 1;
/// A quote that closed, and may be the first of two.
const CLOSING: u64 = 2;
/// A CR after such a quote.
const CR: u64 = 4;

impl Quotes {
    /// The start of a record.
    pub(crate) const START: Self = Self {
        inside: 0,
        last: BORDER,
    };

    /// Finds the ends of records in a block: a bit for each, and what comes of the state after it. `None` if a
    /// quote is out of place, or where quotes are not all that counts. Only the first `bytes` bytes of the block count.
    #[inline]
    pub(crate) fn ends(
        self,
        block: &[u8; SEARCHED],
        bytes: usize,
        marks: QuoteMarks,
    ) -> Option<(u64, Self)> {
        if !marks.are_simple {
            return None;
        }
        let valid = u64::MAX >> (SEARCHED - bytes);
        let quotes = matches(block, b'"') & valid;
        let ends = matches(block, marks.terminator) & valid;
        let Self { inside, last } = self;
        if quotes == 0 && last & (CLOSING | CR) == 0 {
            let byte = block[bytes - 1];
            let is_border = byte == marks.terminator || byte == marks.dialect.delimiter;
            let last = if is_border && inside == 0 { BORDER } else { 0 };
            return Some((ends & !inside, Self { inside, last }));
        }
        let borders = matches(block, marks.dialect.delimiter) & valid | ends;
        let between = running_parity(quotes) ^ inside;
        let closing = quotes & !between;
        let may_open = borders & !between | closing;
        // A quote that opens is after a border or a quote. What follows one that closes is a border or a quote.
        let behind_closing = closing << 1 | last >> 1 & 1;
        let misplaced = quotes & between & !(may_open << 1 | last & BORDER)
            | behind_closing & valid & !(borders | quotes);
        let mut crs = 0;
        if misplaced != 0 || last & CR != 0 {
            // Or else a CR at the end of a record.
            crs = misplaced & behind_closing & matches(block, b'\r');
            if misplaced & !crs | (crs << 1 | last >> 2) & valid & !ends != 0 {
                return None;
            }
        }
        let bit = |mask: u64| mask >> (bytes - 1) & 1;
        let after = Self {
            inside: bit(between).wrapping_neg(),
            last: bit(may_open) | bit(closing) << 1 | bit(crs) << 2,
        };
        Some((ends & !between, after))
    }
}

/// Returns a bit for each byte that has an odd number of set bits at or below it.
fn running_parity(bits: u64) -> u64 {
    [1, 2, 4, 8, 16, 32]
        .iter()
        .fold(bits, |bits, shift| bits ^ bits << shift)
}

/// A way through one record, from quote to quote. It can stop where the bytes end, and go on when there are more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Walk {
    /// The start of the record.
    start: usize,
    /// The offset up to which the walk has come.
    at: usize,
    /// The start of the quoted field that it is in.
    open: Option<usize>,
    /// The end of the last escape outside of quotes. What was escaped ends no field.
    escaped: usize,
}

impl Walk {
    /// Begins a way through the record that starts here.
    pub(crate) fn new(start: usize) -> Self {
        Self {
            start,
            at: start,
            open: None,
            escaped: start,
        }
    }

    /// Finds the end of the record in `bytes`: its terminator, or the end of the bytes if they are all that there is.
    /// `None` if it does not end in them.
    pub(crate) fn end(&mut self, bytes: &[u8], marks: QuoteMarks, is_all: bool) -> Option<usize> {
        let end_of_all = is_all.then_some(bytes.len());
        let QuoteMarks {
            terminator,
            dialect,
            comment,
            ..
        } = marks;
        let line_end =
            |from: usize| memchr::memchr(terminator, &bytes[from..]).map(|found| from + found);
        if comment.is_some() && bytes.get(self.start).copied() == comment {
            return line_end(self.start).or(end_of_all);
        }
        loop {
            if let Some(open) = self.open {
                match self.close(bytes, marks, is_all) {
                    Field::Ended(end) => (self.open, self.at) = (None, end),
                    Field::Damaged => return line_end(open).or(end_of_all),
                    Field::Unfinished => return None,
                }
            }
            let rest = bytes.get(self.at..).unwrap_or_default();
            let found = match dialect.escape {
                None => memchr::memchr2(terminator, b'"', rest),
                Some(escape) => memchr::memchr3(terminator, b'"', escape, rest),
            };
            let Some(found) = found.map(|found| self.at + found) else {
                self.at = bytes.len().max(self.at);
                return end_of_all;
            };
            match bytes[found] {
                byte if byte == terminator => return Some(found),
                b'"' => {
                    let is_behind_delimiter =
                        found > self.escaped && bytes[found - 1] == dialect.delimiter;
                    let opens = found == self.start || is_behind_delimiter;
                    (self.open, self.at) = (opens.then_some(found), found + 1);
                }
                _ => {
                    self.at = found + 2;
                    self.escaped = self.at;
                }
            }
        }
    }

    /// Returns the start of the quoted field in which the way stopped.
    pub(crate) fn open_field(&self) -> Option<usize> {
        self.open
    }

    /// Begins a way inside a quoted field, whose earlier bytes are not there. It goes to the end of that field alone.
    pub(crate) fn inside() -> Self {
        Self {
            open: Some(0),
            ..Self::new(0)
        }
    }

    /// Returns the offset up to which the walk has come: what comes before it is not looked at again.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Goes to the end of the quoted field that the way is in.
    pub(crate) fn close(&mut self, bytes: &[u8], marks: QuoteMarks, is_all: bool) -> Field {
        let dialect = marks.dialect;
        let closing = match dialect.closing_quote(bytes, self.at, is_all) {
            Closing::At { at, .. } => at,
            Closing::Beyond(_) if is_all => return Field::Damaged,
            Closing::Beyond(at) => {
                self.at = at;
                return Field::Unfinished;
            }
        };
        // Where the bytes end here, the search for the closing quote begins with it the next time.
        self.at = closing;
        let is_end = |byte: u8| byte == marks.terminator;
        match (bytes.get(closing + 1), bytes.get(closing + 2)) {
            (None, _) => Field::Ended(closing + 1),
            (Some(&next), _) if next == dialect.delimiter || is_end(next) => {
                Field::Ended(closing + 1)
            }
            (Some(b'\r'), Some(&next)) if is_end(next) => Field::Ended(closing + 2),
            (Some(b'\r'), None) if is_all => Field::Ended(closing + 2),
            (Some(b'\r'), None) => Field::Unfinished,
            _ => Field::Damaged,
        }
    }
}

/// The end of a quoted field, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    /// Its closing quote is in place; what follows it, a delimiter or the end of a record, is here.
    Ended(usize),
    /// Text follows its closing quote, or it has none.
    Damaged,
    /// It goes on after the bytes.
    Unfinished,
}
