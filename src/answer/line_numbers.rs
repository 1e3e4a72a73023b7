//! The numbers of lines in their files, for those who ask which lines were dropped, and for which.
//!
//! *Owns:* [`LineNumbers`]: the number of lines of each chunk, and the name of the place of a line. A thread that reads
//! a chunk does not know how many lines come before it, because others read those at the same time. So a line is known
//! by its number in its chunk until all inputs are read:
//!
//! ```text
//! ordinal   │ side, from 1: 16 │ position of its chunk in the side, plus the lines before it in the chunk: 48 │
//!
//!  chunk at 0             chunk at 65,530         chunk at 131,000
//!  aaa⏎bb⏎cccccc⏎ddd⏎     ee⏎ffff⏎                g⏎
//!  0   1  2      3        65,530 65,531           131,000            its ordinal in the side
//!  1   2  3      4        5  6                    7                  its number in the file, when all chunks are known
//! ```
//!
//! A row of a Parquet file is known by its number at once: its ordinal is that of the file, plus this number.
//!
//! *Invariants:* ordinals have the order of the lines, as those have that are made of bytes: a chunk has no more lines
//! than bytes. Each chunk is counted once, in the pass that spills its lines; other passes may cut chunks elsewhere.
//! Nobody asks for a number before all chunks are counted.
//!
//! *Cost:* 24 bytes for each chunk, counting its line ends, and a binary search for each place that is told.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use serde::Serialize;

use crate::answer::rules::LINE_NUMBERS;
use crate::error::Result;
use crate::input::Input;
use crate::memory::budget::MemoryBudget;
use crate::selection::{NUMBERED_CHUNK_BYTES, side_and_offset};
use crate::sys::sync::Mutex;

/// The lines of a chunk.
#[derive(Debug, Clone, Copy)]
struct ChunkLines {
    /// The ordinal of its first line.
    ordinal: u64,
    /// The number of its lines; of all lines before them in the file, once all are counted.
    lines: u64,
    /// The file that it is of.
    part: u32,
}

const _: () = assert!(size_of::<ChunkLines>() as u64 == NUMBERED_CHUNK_BYTES);

/// The files of a side.
#[derive(Debug, Default)]
struct SideFiles {
    /// The name of each.
    names: Arc<Vec<PathBuf>>,
    /// The ordinals of the files, if they are Parquet files.
    tables: Vec<u64>,
    /// Lines of a stream that were read as its header.
    taken_lines: u64,
}

/// The place of a line, or of a row.
#[derive(Debug, Serialize)]
struct LinePlace<'a> {
    file: Cow<'a, str>,
    #[serde(flatten)]
    number: Number,
}

/// A number in a file.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Number {
    /// Of a line, from 1.
    Line(u64),
    /// Of a row, from 0.
    Row(u64),
}

/// A line that is dropped, and the one that is kept.
#[derive(Debug, Serialize)]
struct Dropped<'a> {
    #[serde(flatten)]
    dropped: LinePlace<'a>,
    kept: LinePlace<'a>,
}

/// The numbers of all lines of the inputs that have ordinals, shared by threads.
#[derive(Debug)]
pub(crate) struct LineNumbers {
    /// The files of each side, by its number.
    sides: Vec<SideFiles>,
    /// The bits that are turned over in ordinals.
    mask: u64,
    /// The chunks as they come.
    counted: Mutex<Vec<ChunkLines>>,
    /// All of them in their order, once the first number is asked for.
    sorted: OnceLock<Vec<ChunkLines>>,
    budget: MemoryBudget,
}

impl LineNumbers {
    /// Returns the memory for the last chunks of each file of `inputs`, in bytes.
    pub(crate) fn bytes_of_files(inputs: &[Input]) -> u64 {
        let files = |input: &Input| input.parts().map_or(1, |parts| parts.all().len()) as u64;
        inputs.iter().map(files).sum::<u64>() * 2 * NUMBERED_CHUNK_BYTES
    }

    /// Makes room in `bytes`, and in [`LineNumbers::bytes_of_files`], for the chunks of those `inputs` that have
    /// ordinals, which have the bits of `mask` turned over.
    pub(crate) fn new(inputs: &[Input], mask: u64, bytes: u64) -> Self {
        let bytes = bytes + Self::bytes_of_files(inputs);
        let mut sides = Vec::new();
        for input in inputs {
            let Some(ordinal) = input.first_ordinal() else {
                continue;
            };
            let (side, _) = side_and_offset(ordinal);
            sides.resize_with(sides.len().max(side + 1), SideFiles::default);
            let tables = input
                .parts()
                .filter(|parts| parts.tables().next().is_some());
            sides[side] = SideFiles {
                names: input.part_names(),
                tables: tables.map_or_else(Vec::new, |parts| {
                    parts.starts().map(|start| ordinal + start).collect()
                }),
                taken_lines: input.keying().map_or(0, |keying| keying.taken().lines),
            };
        }
        Self {
            sides,
            mask,
            // Pages become resident when they are written to.
            counted: Mutex::new(Vec::with_capacity((bytes / NUMBERED_CHUNK_BYTES) as usize)),
            sorted: OnceLock::new(),
            budget: MemoryBudget::new(bytes, 0),
        }
    }

    /// Counts the `lines` lines of a chunk of file number `part`, of which the first has this ordinal.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where there is no room for more chunks.
    pub(crate) fn count(&self, ordinal: u64, lines: u64, part: usize) -> Result<()> {
        let mut counted = self.counted.lock();
        if counted.len() == counted.capacity() {
            return Err(self.budget.refusal(LINE_NUMBERS, NUMBERED_CHUNK_BYTES));
        }
        let part = part as u32;
        counted.push(ChunkLines {
            ordinal,
            lines,
            part,
        });
        Ok(())
    }

    /// Writes to `text` which line was dropped, and which was kept, by what the set and the batch have as their
    /// ordinals.
    pub(super) fn tell(&self, text: &mut Vec<u8>, dropped: u64, kept: u64) {
        text.clear();
        let dropped = Dropped {
            dropped: self.place(dropped ^ self.mask),
            kept: self.place(kept ^ self.mask),
        };
        // Writing to memory does not fail, and names are texts.
        let written = serde_json::to_writer(text, &dropped);
        debug_assert!(written.is_ok());
    }

    /// Returns the place of the line at `ordinal`.
    fn place(&self, ordinal: u64) -> LinePlace<'_> {
        let (side, _) = side_and_offset(ordinal);
        let (part, number) = match self.sides.get(side) {
            Some(side) if !side.tables.is_empty() => {
                let behind = side.tables.partition_point(|&start| start <= ordinal);
                let part = behind.saturating_sub(1);
                (part, Number::Row(ordinal - side.tables[part]))
            }
            _ => self.line(ordinal),
        };
        let side = self.sides.get(side);
        let name = side.and_then(|side| side.names.get(part));
        LinePlace {
            file: name.map_or_else(Default::default, |name| name.to_string_lossy()),
            number,
        }
    }

    /// Returns the number of the line at `ordinal`, and of the file that it is in.
    fn line(&self, ordinal: u64) -> (usize, Number) {
        let chunks = self.sorted.get_or_init(|| self.sorted());
        let behind = chunks.partition_point(|chunk| chunk.ordinal <= ordinal);
        let chunk = behind.checked_sub(1).and_then(|at| chunks.get(at));
        chunk.map_or((0, Number::Line(0)), |chunk| {
            let in_chunk = ordinal - chunk.ordinal;
            (
                chunk.part as usize,
                Number::Line(chunk.lines + in_chunk + 1),
            )
        })
    }

    /// Takes the chunks in their order, each with the number of lines before it in its file.
    fn sorted(&self) -> Vec<ChunkLines> {
        let mut chunks = std::mem::take(&mut *self.counted.lock());
        chunks.sort_unstable_by_key(|chunk| chunk.ordinal);
        let (mut file, mut before) = (None, 0);
        for chunk in &mut chunks {
            let (side, _) = side_and_offset(chunk.ordinal);
            if file.replace((side, chunk.part)) != Some((side, chunk.part)) {
                before = self.sides.get(side).map_or(0, |side| side.taken_lines);
            }
            before += std::mem::replace(&mut chunk.lines, before);
        }
        chunks
    }
}
