//! The ordinals of the lines of a chunk.
//!
//! *Owns:* the choice of the way in which they are made, for a chunk of a scan. *Invariants:* a line has the same
//! ordinal in each reading that somebody compares with another one. *Cost:* where lines are numbered, a search for
//! their ends.

use crate::answer::{KeptLines, LineNumbers, PieceLines};
use crate::batch::Ordinals;
use crate::decode::parquet::Table;
use crate::error::{Error, Result};
use crate::input::parts::Parts;
use crate::pass::scan_state::{ScanState, Worker};
use crate::reading::chunk::Chunk;
use crate::selection::{CELL_BYTES, MOST_ORDERED_BYTES};
use crate::size::display_bytes;

impl ScanState<'_> {
    /// Returns the source of the ordinals of a chunk's lines, if the order of the input is kept.
    ///
    /// # Errors
    /// [`Error::Usage`] for an input that is too long for that.
    pub(super) fn ordinals_in<W: Worker>(&self, chunk: &Chunk, front: usize) -> Result<Ordinals> {
        let Some(first) = self.input.first_ordinal() else {
            return Ok(Ordinals::None);
        };
        let bytes = chunk.bytes();
        if let Some((parts, table)) = self.numbered_table(chunk) {
            let positions = parts.positions(chunk.part, 0, None);
            // Rows that are left out have numbers, too, and no bytes in any chunk.
            if table.rows() > positions.end - positions.start {
                return Err(self.without_positions(chunk));
            }
            let (ordinal, mask) = (first + positions.start, self.input.ordinal_mask());
            return Ok(if self.are_prefixed() {
                Ordinals::Behind { ordinal, mask }
            } else {
                Ordinals::ByRow { ordinal, mask }
            });
        }
        if !chunk.has_positions() {
            return Err(self.without_positions(chunk));
        }
        if let Some(numbers) = self.run.line_numbers.as_ref().filter(|_| W::KEEPS_ORDINALS) {
            return self.numbers_in(numbers, first, chunk, front);
        }
        let kept = self.run.kept.as_ref().filter(|kept| kept.numbers_lines());
        let (Some(kept), Some(parts)) = (kept, self.input.parts()) else {
            return Ok(Ordinals::ByAddress {
                address: bytes.as_ptr() as usize,
                ordinal: first + chunk.position(),
                mask: self.input.ordinal_mask(),
            });
        };
        let in_file = chunk.offset - parts.range(chunk.part).start;
        let ordinal = first + chunk.position() - in_file;
        if chunk.is_pooled {
            make_room(
                kept,
                ordinal,
                in_file,
                bytes,
                self.run.options.format.terminator,
            )?;
        }
        Ok(Ordinals::ByCell {
            address: (bytes.as_ptr() as usize).wrapping_sub(in_file as usize),
            ordinal,
            cell: u64::MAX,
            next: 0,
            mask: self.input.ordinal_mask(),
        })
    }

    /// Returns the Parquet file of a chunk whose rows have their numbers, among the files of its input.
    fn numbered_table(&self, chunk: &Chunk) -> Option<(&Parts, &Table)> {
        let columns = self.input.keying()?.columns(chunk.part);
        let parts = self.input.parts().filter(|_| columns.has_row_numbers())?;
        Some((parts, parts.all()[chunk.part].format.table()?))
    }

    /// Returns the source of the ordinals by which the lines of a chunk are numbered, and counts them. The ordinals of
    /// its input begin with `first`, and its records at `front`.
    ///
    /// # Errors
    /// [`Error::Memory`] where the plan had too little room for its pieces.
    fn numbers_in(
        &self,
        numbers: &LineNumbers,
        first: u64,
        chunk: &Chunk,
        front: usize,
    ) -> Result<Ordinals> {
        let mask = self.input.ordinal_mask();
        let (bytes, terminator) = (chunk.bytes(), self.run.options.format.terminator);
        let count = |bytes: &[u8]| memchr::memchr_iter(terminator, bytes).count() as u64;
        let (position, before) = chunk.lines_before().unwrap_or((chunk.position(), 0));
        let ordinal = first + position;
        let before = before + count(&bytes[..front]);
        let unended = u64::from(bytes.last() != Some(&terminator));
        let taken = if chunk.is_first_of_file() {
            self.input.taken(chunk.part).lines as u32
        } else {
            0
        };
        numbers.count(PieceLines {
            ordinal,
            lines: before + count(&bytes[front..]) + unended,
            part: chunk.part as u32,
            taken,
        })?;
        let quoted = self.run.options.line_format().quoted;
        Ok(Ordinals::ByNumber {
            next: ordinal + before,
            terminator: quoted.map(|_| terminator),
            mask,
        })
    }

    /// Makes the error for a chunk whose bytes have no positions.
    #[cold]
    fn without_positions(&self, chunk: &Chunk) -> Error {
        let mut most = MOST_ORDERED_BYTES;
        if let Some(parts) = self.input.parts() {
            // A file that grew is the better reason.
            if let Err(changed) = parts.open(chunk.part) {
                return changed;
            }
            let positions = parts.positions(chunk.part, 0, None);
            most = positions.end - positions.start;
        }
        Error::usage(
            format!(
                "{}: has more than {}, which is too much where the order of lines matters",
                self.input.part_name(chunk.part).display(),
                display_bytes(most)
            ),
            "decompress it first, or give it as a side of its own",
        )
    }
}

/// Makes room for each line that begins in `bytes`, which are whole lines and begin at `in_file` of the file whose
/// first cell is at `ordinal`.
fn make_room(
    kept: &KeptLines,
    ordinal: u64,
    in_file: u64,
    bytes: &[u8],
    terminator: u8,
) -> Result<()> {
    let end = in_file + bytes.len() as u64;
    let first = in_file / CELL_BYTES;
    (first..end.div_ceil(CELL_BYTES)).try_for_each(|cell| {
        // A line begins where the byte before is a terminator, and at the start.
        let before = |at: u64| (at.min(end - 1) - in_file) as usize;
        let from = before((cell * CELL_BYTES).max(in_file + 1) - 1);
        let to = before((cell + 1) * CELL_BYTES - 1);
        let starts = memchr::memchr_iter(terminator, &bytes[from..to]).count() as u64;
        kept.make_room(
            ordinal + cell * CELL_BYTES,
            starts + u64::from(cell == first),
        )
    })
}
