//! The report of a run as a page: one HTML file that needs nothing else (`--report`).
//!
//! *Owns:* the target of the page and the recording of the run ([`recording`]); the page is made of a
//! document of all figures ([`figures`]), tables of it ([`tables`]), pictures ([`charts`]), the parts
//! that all commands have ([`sections`]) and those of each ([`selected`] with [`removed`] and [`groups`],
//! [`overlaps`], [`pairs`], [`comparison`]), in one frame ([`page`]).
//!
//! *Invariants:* the target is opened before the run and filled after it, so a failed run leaves no
//! report; the page has all its figures as JSON, and its tables show nothing else; it loads nothing
//! and runs nothing. *Cost:* while the run goes on that of [`recording`]; after it, when the run's memory
//! is free again, some 100 KiB; 4 MiB with the longest tables.

mod charts;
mod comparison;
mod figures;
mod groups;
mod overlaps;
mod page;
mod pairs;
mod recording;
mod removed;
mod samples;
mod sections;
mod selected;
mod tables;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use outset::compare::Plans;
use outset::stats::FileStats;
use outset::{Error, Interrupt, Observer, OutputFile, Overlaps, Pairs, Result, Stats};

use super::compare::report::ComparisonReport;
use super::origin::Origin;
pub(crate) use recording::Both;
use recording::Recorder;

/// The results that a page is about.
pub(crate) enum Subject<'a> {
    /// Selected lines (`intersect`, `diff`, `union`, `symdiff`): the statistics, and their files, which those have not
    /// any more: there may be many.
    Run(&'a Stats, &'a [FileStats]),
    Overlaps(&'a Overlaps),
    Pairs(&'a Pairs),
    /// A comparison: the report, the plans of each point, and the rates that are predicted for some memory limits in
    /// bytes.
    Comparison(&'a ComparisonReport<'a>, (&'a [Plans], &'a [(u64, f64)])),
}

/// A page that is going to be written.
pub(crate) struct Page {
    path: String,
    file: OutputFile,
    /// `None` once the page is written.
    recorder: Option<Recorder>,
}

impl Page {
    /// Opens the file and begins to record.
    ///
    /// # Errors
    /// [`Error::Output`] where the file cannot be written, [`Error::Machine`] where there is no
    /// thread for the recording, [`Error::Usage`] for a standard stream.
    pub(crate) fn open(path: &Path, interrupt: &Interrupt) -> Result<Self> {
        if path == Path::new("-") {
            return Err(Error::usage(
                "--report: cannot write to a stream",
                "name a file, such as run.html",
            ));
        }
        Ok(Self {
            path: path.display().to_string(),
            file: OutputFile::create(path, interrupt)?,
            recorder: Some(Recorder::start()?),
        })
    }

    /// Makes an observer that records, and tells `other` too.
    pub(crate) fn beside(&self, other: Arc<dyn Observer>) -> Arc<dyn Observer> {
        match &self.recorder {
            Some(recorder) => Arc::new(Both(other, recorder.observer())),
            None => other,
        }
    }

    /// Writes the report, which is not in place yet.
    ///
    /// # Errors
    /// [`Error::Output`] where the file cannot be written.
    pub(crate) fn fill(&mut self, subject: &Subject<'_>, origin: &Origin) -> Result<()> {
        let Some(recorder) = self.recorder.take() else {
            return Ok(());
        };
        let mut out = self.file.writer()?;
        let recorded = &recorder.finish();
        let written = match *subject {
            Subject::Run(stats, files) => selected::page(stats, files, recorded, origin, &mut out),
            Subject::Overlaps(found) => overlaps::page(found, recorded, origin, &mut out),
            Subject::Pairs(found) => pairs::page(found, recorded, origin, &mut out),
            Subject::Comparison(report, outlook) => {
                comparison::page(report, outlook, recorded, origin, &mut out)
            }
        };
        written
            .and_then(|()| out.flush())
            .map_err(|source| Error::Output {
                target: self.path.clone(),
                what: "cannot write the report",
                source,
                advice: "name another file for --report",
            })
    }

    /// Puts the page in place.
    ///
    /// # Errors
    /// [`Error::Output`]; what was there before stays then.
    pub(crate) fn put_in_place(self) -> Result<()> {
        self.file.finish()
    }
}
