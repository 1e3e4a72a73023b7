//! A look at bytes of an input before their turn.
//!
//! *Owns:* the question whether a quoted field for which there is no more memory is damaged, and the bytes that are
//! read to answer it. *Invariants:* memory does not grow with them: a file is read a second time, and of a pipe, or of
//! what is decoded, they are copied to temporary space. *Cost:* a second reading of the bytes up to the next quote that
//! closes the field; between two such looks every byte is looked at twice at most (see
//! [`quotes`](crate::lines::quotes)).
//!
//! ```text
//!  1,"never closed⏎2,b⏎3,c⏎ ······································· end
//!  |<- the memory for one record ->|<- looked at, and not kept in memory ->|
//!    ^ the field is damaged: record 1 ends with its line, and reading goes on with line 2
//! ```

use crate::decode::stream::Filled;
use crate::error::Result;
use crate::input::byte_reader::ByteReader;
use crate::lines::quotes::{Field, QuoteMarks, Walk};
use crate::memory::buffer::PAGE;
use crate::temp::copy::{Copy, CopyReader};
use crate::temp::space::TempSpace;

/// The bytes of a reader that were taken from it before their turn.
pub(super) struct Lookahead<'a> {
    /// The bytes that were taken.
    bytes: u64,
    /// A copy of them; `None` if the reader can go back itself.
    copy: Option<Copy<'a>>,
}

impl<'a> Lookahead<'a> {
    /// Begins a look ahead in `reader`, whose bytes `space` may have to keep. `None` if there is no such space.
    ///
    /// # Errors
    /// As [`Copy::new`].
    pub(super) fn of(reader: &ByteReader<'a>, space: &'a TempSpace) -> Result<Option<Self>> {
        let copy = match reader.can_seek() {
            true => None,
            false if space.has_directories() => Some(Copy::new(space, "ahead")?),
            false => return Ok(None),
        };
        Ok(Some(Self { bytes: 0, copy }))
    }

    /// Adds the first `filled` bytes of `pages`, which were taken. Only the last may be less than whole pages.
    ///
    /// # Errors
    /// As [`Copy::append`].
    pub(super) fn add(&mut self, pages: &mut [u8], filled: usize) -> Result<()> {
        self.bytes += filled as u64;
        let copy = self.copy.as_mut();
        copy.map_or(Ok(()), |copy| copy.append(pages, filled))
    }

    /// Returns true if the quoted field that is open at the end of `bytes` is damaged; `walk` is the way through them.
    /// What is taken from `reader` for that goes through `window`, of two pages or more.
    ///
    /// # Errors
    /// As [`ByteReader::fill`] and [`Lookahead::add`].
    pub(super) fn finds_damage(
        &mut self,
        reader: &mut ByteReader<'a>,
        mut walk: Walk,
        bytes: &[u8],
        marks: QuoteMarks,
        window: &mut [u8],
    ) -> Result<bool> {
        let front = PAGE as usize;
        // A quote, an escape or a CR at the end means something only together with what follows.
        let mut rest = &bytes[walk.at()..];
        let mut kept = rest.len();
        window[front - kept..front].copy_from_slice(rest);
        loop {
            let filled = self.take(reader, &mut window[front..])?;
            let all = front - kept..front + filled.bytes;
            rest = &window[all.clone()];
            walk = Walk::inside();
            match walk.close(rest, marks, filled.is_ended) {
                Field::Ended(_) => return Ok(false),
                Field::Damaged => return Ok(true),
                Field::Unfinished => kept = rest.len() - walk.at(),
            }
            window.copy_within(all.end - kept..all.end, front - kept);
        }
    }

    /// Takes from `reader` until `pages` are full or it has ended.
    fn take(&mut self, reader: &mut ByteReader<'a>, pages: &mut [u8]) -> Result<Filled> {
        let mut filled = Filled {
            bytes: 0,
            is_ended: false,
        };
        while filled.bytes < pages.len() && !filled.is_ended {
            let more = reader.fill(&mut pages[filled.bytes..])?;
            filled.bytes += more.bytes;
            filled.is_ended = more.is_ended;
        }
        self.add(pages, filled.bytes)?;
        Ok(filled)
    }

    /// Ends the look. Returns the number of bytes after the first `used` that are to come again, and what reads them;
    /// `None` if the reader goes back itself.
    ///
    /// # Errors
    /// As [`Copy::read_from`].
    pub(super) fn finish(self, used: u64) -> Result<(u64, Option<CopyReader<'a>>)> {
        let copy = self.copy.map(|copy| copy.read_from(used)).transpose()?;
        Ok((self.bytes - used, copy))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
