//! A worker of a scan that deals with the lines that pass a filter, and with no others.
//!
//! *Owns:* asking the filter, and gathering what passes ([`Gathered`]). *Invariants:*
//! the work gets each line that passes once, in any order. *Cost:* that of the filter; a copy of each line where few pass.

use crate::batch::gather::Gathered;
use crate::batch::{BATCH, Batch, Screen};
use crate::error::Result;
use crate::memory::budget::MemoryBudget;
use crate::pass::scan::Worker;

/// What is done to lines that pass.
pub(crate) trait Work {
    /// Deals with the lines of `batch` at `indexes`; the batch may have keys in the place of lines.
    ///
    /// # Errors
    /// Any failure ends the scan.
    fn work_on(&mut self, batch: Batch<'_>, indexes: &[u32]) -> Result<()>;

    /// Called once, after the last line.
    ///
    /// # Errors
    /// Any failure ends the scan.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A worker of a scan whose lines go through a filter first.
pub(crate) struct Screened<'a, W> {
    /// Decides which lines pass; without one all do.
    screen: Option<&'a dyn Screen>,
    /// The indexes of the lines of the present batch that pass; kept for its capacity.
    passing: Vec<u32>,
    /// Those of earlier batches, where they are gathered.
    gathered: Option<Gathered>,
    work: W,
}

impl<'a, W> Screened<'a, W> {
    /// A worker for one thread.
    pub(crate) fn new(screen: Option<&'a dyn Screen>, work: W) -> Self {
        Self {
            screen,
            passing: Vec::with_capacity(BATCH),
            gathered: None,
            work,
        }
    }

    /// The same, gathering lines if there is a filter and `budget` has the memory: for work that is faster on full batches.
    pub(crate) fn gathering(self, budget: &MemoryBudget) -> Self {
        Self {
            gathered: self.screen.and_then(|_| Gathered::new(budget)),
            ..self
        }
    }
}

impl<W: Work> Worker for Screened<'_, W> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        batch.passing(self.screen, &mut self.passing)?;
        let work = |batch: Batch<'_>, indexes: &[u32]| self.work.work_on(batch, indexes);
        match &mut self.gathered {
            Some(gathered) => gathered.take(batch, &self.passing, work),
            None => self.work.work_on(batch, &self.passing),
        }
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(gathered) = &mut self.gathered {
            gathered.flush(|batch, indexes| self.work.work_on(batch, indexes))?;
        }
        self.work.finish()
    }
}
