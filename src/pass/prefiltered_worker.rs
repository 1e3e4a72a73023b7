//! A worker of a scan that deals with the lines that pass a filter, and with no others.
//!
//! *Owns:* asking the filter, and gathering what passes ([`Coalescer`]). *Invariants:* the work gets each line that
//! passes once, in any order. *Cost:* that of the filter; a copy of each line where few pass.

use crate::batch::coalescer::Coalescer;
use crate::batch::{BATCH, Batch, Prefilter};
use crate::error::Result;
use crate::memory::budget::MemoryBudget;
use crate::pass::scan::Worker;

/// The work on lines that pass.
pub(crate) trait BatchWork {
    /// Deals with the lines of `batch` at `indexes`; the batch may have keys instead of lines.
    ///
    /// # Errors
    /// Any failure ends the scan.
    fn work_on(&mut self, batch: Batch<'_>, indexes: &[u32]) -> Result<()>;

    /// Ends the work. Called once, after the last line.
    ///
    /// # Errors
    /// Any failure ends the scan.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A worker of a scan whose lines go through a filter first.
pub(crate) struct PrefilteredWorker<'a, W> {
    /// The filter that decides which lines pass; without one all do.
    prefilter: Option<&'a dyn Prefilter>,
    /// The indexes of the lines of the present batch that pass; kept for its capacity.
    passing: Vec<u32>,
    /// Those of earlier batches, where they are gathered.
    coalescer: Option<Coalescer>,
    work: W,
}

impl<'a, W> PrefilteredWorker<'a, W> {
    /// Makes a worker for one thread.
    pub(crate) fn new(prefilter: Option<&'a dyn Prefilter>, work: W) -> Self {
        Self {
            prefilter,
            passing: Vec::with_capacity(BATCH),
            coalescer: None,
            work,
        }
    }

    /// Gathers lines if there is a filter and `budget` has the memory: for work that is faster on full batches.
    pub(crate) fn coalescing(self, budget: &MemoryBudget) -> Self {
        Self {
            coalescer: self.prefilter.and_then(|_| Coalescer::new(budget)),
            ..self
        }
    }
}

impl<W: BatchWork> Worker for PrefilteredWorker<'_, W> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        batch.passing(self.prefilter, &mut self.passing)?;
        let work = |batch: Batch<'_>, indexes: &[u32]| self.work.work_on(batch, indexes);
        match &mut self.coalescer {
            Some(coalescer) => coalescer.take(batch, &self.passing, work),
            None => self.work.work_on(batch, &self.passing),
        }
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(coalescer) = &mut self.coalescer {
            coalescer.flush(|batch, indexes| self.work.work_on(batch, indexes))?;
        }
        self.work.finish()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    /// Lets every ninth line of all through, by its first byte.
    struct Ninth;

    impl Prefilter for Ninth {
        fn passing(&self, batch: Batch<'_>, passing: &mut Vec<u32>) -> Result<()> {
            passing.clear();
            let indexes = 0..batch.keys.len() as u32;
            passing.extend(indexes.filter(|&index| batch.keys[index as usize][0] == 0));
            Ok(())
        }
    }

    /// A record of the lines, of how many batches they came in, and of whether the end came.
    #[derive(Default)]
    struct Note {
        lines: Vec<Vec<u8>>,
        batches: usize,
        is_finished: bool,
    }

    impl BatchWork for &mut Note {
        fn work_on(&mut self, batch: Batch<'_>, indexes: &[u32]) -> Result<()> {
            self.batches += 1;
            let lines = indexes
                .iter()
                .map(|&index| batch.lines[index as usize].to_vec());
            self.lines.extend(lines);
            Ok(())
        }

        fn finish(&mut self) -> Result<()> {
            self.is_finished = true;
            Ok(())
        }
    }

    #[test]
    fn each_line_that_passes_is_worked_on_once_gathered_or_not() {
        let lines: Vec<[u8; 3]> = (0..4500u16)
            .map(|number| {
                let [high, low] = number.to_be_bytes();
                [(number % 9) as u8, high, low]
            })
            .collect();
        let (budget, none) = (MemoryBudget::new(1 << 20, 0), MemoryBudget::new(0, 0));
        for (prefilter, budget, batches) in [
            (Some(&Ninth as &dyn Prefilter), Some(&budget), 1),
            (Some(&Ninth), Some(&none), 9),
            (Some(&Ninth), None, 9),
            (None, Some(&budget), 9),
        ] {
            let mut note = Note::default();
            let mut worker = PrefilteredWorker::new(prefilter, &mut note);
            if let Some(budget) = budget {
                worker = worker.coalescing(budget);
            }
            for part in lines.chunks(500) {
                let slices: Vec<&[u8]> = part.iter().map(<[u8; 3]>::as_slice).collect();
                let hashes = vec![0; slices.len()];
                worker.work(Batch::new(&slices, &hashes)).unwrap();
            }
            worker.finish().unwrap();
            drop(worker);
            let passes = |line: &&[u8; 3]| prefilter.is_none() || line[0] == 0;
            assert!(note.lines.iter().eq(lines.iter().filter(passes)));
            assert_eq!((note.batches, note.is_finished), (batches, true));
        }
    }
}
