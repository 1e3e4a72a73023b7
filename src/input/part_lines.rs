//! The lines of each file of an input, or of each output of its commands.
//!
//! *Owns:* counting them, and where each begins in the side. *Invariants:* the counts are those of the last reading.
//! *Cost:* an addition for each chunk.

use std::path::PathBuf;
use std::sync::Arc;

use crate::input::Input;
use crate::input::findings::PartLines;
use crate::input::parts::Parts;

impl Input {
    /// Forgets the lines of the last reading: another one begins.
    pub(crate) fn begin_reading(&self) {
        self.parts().into_iter().for_each(Parts::begin_reading);
        if let Some(commands) = self.access.commands() {
            commands.begin_reading();
        }
    }

    /// Counts `lines` that a worker went through in a chunk of a file or output, which is at `position` in the side.
    pub(crate) fn count_lines(&self, part: usize, position: u64, lines: u64) {
        if let Some(parts) = self.parts() {
            parts.all()[part].count_lines(lines);
        }
        if let Some(commands) = self.access.commands() {
            commands.count_lines(part, position, lines);
        }
    }

    /// Returns the name of each file or output, and what the last reading found of it; `None` for any other stream.
    pub(crate) fn part_lines(&self) -> Option<(Arc<Vec<PathBuf>>, Vec<PartLines>)> {
        if let Some(commands) = self.access.commands() {
            return Some((commands.names(), commands.part_lines()));
        }
        let parts = self.parts()?;
        let lines = parts.starts().zip(parts.all());
        let lines = lines.map(|(start, part)| PartLines {
            start,
            lines: part.lines(),
        });
        Some((Arc::clone(parts.names()), lines.collect()))
    }
}
