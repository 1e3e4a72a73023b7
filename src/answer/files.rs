//! The files that an answer is divided by: each line goes where the file goes that it comes from.
//!
//! *Owns:* [`AnswerFiles`], the files of the inputs whose lines are written (or the outputs of commands), whose turn
//! it is, and how many lines of each were read and written. *Invariants:* lines come by their ordinals, so files take
//! turns in the order of the sides, and each has one; also a file of which no line is left. *Cost:* 24 bytes a file,
//! and a comparison for each line that is put in order.

use std::path::PathBuf;
use std::sync::Arc;

use crate::input::Input;
use crate::stats::FileStats;

/// The files that the lines of an answer come from.
#[derive(Debug)]
pub(crate) struct AnswerFiles {
    /// The files of each input, by the ordinals of their lines.
    inputs: Vec<InputFiles>,
    /// The next file: the index of its input, and its own among the files of that.
    next: (usize, usize),
    /// The file whose turn it is, as in `next`; `None` before the first.
    current: Option<(usize, usize)>,
}

/// The files of an input.
#[derive(Debug)]
struct InputFiles {
    paths: Arc<Vec<PathBuf>>,
    /// Each of them, in the same order.
    all: Vec<AnswerFile>,
}

/// A file that lines of an answer come from.
#[derive(Debug)]
struct AnswerFile {
    /// The ordinal at which it begins.
    start: u64,
    /// Its lines that were compared.
    lines: u64,
    /// Its lines that were written so far.
    written: u64,
}

impl AnswerFiles {
    /// Lists the files of those `inputs` that have ordinals. These were read, and not yet for the answer to be written.
    pub(crate) fn of(inputs: &[Input]) -> Self {
        let files = inputs.iter().filter_map(|input| {
            let (first, (paths, parts)) = (input.first_ordinal()?, input.part_lines()?);
            let all = parts.into_iter().map(|part| AnswerFile {
                start: first + part.start,
                lines: part.lines,
                written: 0,
            });
            let all = all.collect();
            Some(InputFiles { paths, all })
        });
        let mut inputs: Vec<InputFiles> = files.collect();
        inputs.sort_by_key(|files| files.all.first().map(|file| file.start));
        Self {
            inputs,
            next: (0, 0),
            current: None,
        }
    }

    /// Returns the ordinal at which the next file begins; [`u64::MAX`] after the last.
    pub(super) fn next_start(&self) -> u64 {
        let (input, file) = self.next;
        let files = self.inputs.get(input);
        files
            .and_then(|files| files.all.get(file))
            .map_or(u64::MAX, |file| file.start)
    }

    /// Takes the next file if it `is_its_turn`, and there is one.
    pub(super) fn take_next_if(&mut self, is_its_turn: bool) -> Option<PathBuf> {
        let (input, file) = self.next;
        let files = self.inputs.get(input).filter(|_| is_its_turn)?;
        let path = files.paths.get(file)?.clone();
        let is_last = file + 1 == files.paths.len();
        self.current = Some(self.next);
        self.next = if is_last {
            (input + 1, 0)
        } else {
            (input, file + 1)
        };
        Some(path)
    }

    /// Counts lines that were written of the file whose turn it is.
    pub(super) fn count_written(&mut self, lines: u64) {
        if let Some((input, file)) = self.current {
            self.inputs[input].all[file].written += lines;
        }
    }

    /// Describes each file, in their order.
    pub(super) fn stats(&self) -> Vec<FileStats> {
        let count = self.inputs.iter().map(|files| files.all.len()).sum();
        let mut stats = Vec::with_capacity(count);
        for files in &self.inputs {
            let all = files.paths.iter().zip(&files.all);
            stats.extend(all.map(|(path, file)| FileStats {
                path: path.display().to_string(),
                lines: file.lines,
                written: file.written,
            }));
        }
        stats
    }
}
