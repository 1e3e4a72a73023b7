//! The files that an answer is divided by: each line goes where the file goes that it comes from.
//!
//! *Owns:* [`AnswerFiles`], the files of the inputs whose lines are written, and whose turn it is. *Invariants:* lines
//! come by their ordinals, so files take turns in the order of the sides, and each has one; also a file of which no
//! line is left. *Cost:* eight bytes a file, and a comparison for each line that is put in order.

use std::path::PathBuf;
use std::sync::Arc;

use crate::input::Input;

/// The files that the lines of an answer come from.
#[derive(Debug)]
pub(crate) struct AnswerFiles {
    /// The files of each input, by the ordinals of their lines.
    inputs: Vec<InputFiles>,
    /// The next file: the index of its input, and its own among the files of that.
    next: (usize, usize),
}

/// The files of an input.
#[derive(Debug)]
struct InputFiles {
    paths: Arc<Vec<PathBuf>>,
    /// The ordinal at which each begins.
    starts: Vec<u64>,
}

impl AnswerFiles {
    /// Lists the files of those `inputs` that have ordinals.
    pub(crate) fn of(inputs: &[Input]) -> Self {
        let files = inputs.iter().filter_map(|input| {
            let (first, parts) = (input.first_ordinal()?, input.parts()?);
            let starts = parts.starts().map(|start| first + start).collect();
            let paths = Arc::clone(parts.paths());
            Some(InputFiles { paths, starts })
        });
        let mut inputs: Vec<InputFiles> = files.collect();
        inputs.sort_by_key(|files| files.starts.first().copied());
        Self {
            inputs,
            next: (0, 0),
        }
    }

    /// Returns the ordinal at which the next file begins; [`u64::MAX`] after the last.
    pub(super) fn next_start(&self) -> u64 {
        let (input, file) = self.next;
        let files = self.inputs.get(input);
        files
            .and_then(|files| files.starts.get(file).copied())
            .unwrap_or(u64::MAX)
    }

    /// Takes the next file if it `is_its_turn`, and there is one.
    pub(super) fn take_next_if(&mut self, is_its_turn: bool) -> Option<PathBuf> {
        let (input, file) = self.next;
        let files = self.inputs.get(input).filter(|_| is_its_turn)?;
        let path = files.paths.get(file)?.clone();
        let is_last = file + 1 == files.paths.len();
        self.next = if is_last {
            (input + 1, 0)
        } else {
            (input, file + 1)
        };
        Some(path)
    }
}
