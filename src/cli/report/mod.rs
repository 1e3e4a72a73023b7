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

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use outset::compare::Plans;
use outset::stats::FileStats;
use outset::{Error, Interrupt, Observer, OutputFile, Overlaps, Pairs, Result, Stats};

use super::compare::report::ComparisonReport;
use super::origin::Origin;
use recording::{Both, Recorded, Recorder};

/// A page that is going to be written.
pub(crate) struct Page {
    path: String,
    file: OutputFile,
    /// `None` once the page is written.
    recorder: Option<Recorder>,
}

impl Page {
    /// Works as [`Page::open`], if there is a path.
    pub(crate) fn open_if_wanted(
        path: Option<&Path>,
        interrupt: &Interrupt,
    ) -> Result<Option<Self>> {
        path.map(|path| Self::open(path, interrupt)).transpose()
    }

    /// Opens the file and begins to record.
    ///
    /// # Errors
    /// [`Error::Output`] where the file cannot be written, [`Error::Machine`] where there is no
    /// thread for the recording, [`Error::Usage`] for a standard stream.
    fn open(path: &Path, interrupt: &Interrupt) -> Result<Self> {
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

    /// Writes the report of a run that selects lines (`intersect`, `diff`, `union`, `symdiff`), which is not in place
    /// yet. `files` are those of its statistics, which have none any more: there may be many.
    ///
    /// # Errors
    /// [`Error::Output`] where the file cannot be written.
    pub(crate) fn fill_run(
        &mut self,
        stats: &Stats,
        files: &[FileStats],
        origin: &Origin,
    ) -> Result<()> {
        self.fill(|recorded, out| selected::page(stats, files, recorded, origin, out))
    }

    /// Writes the report of overlaps, which is not in place yet.
    ///
    /// # Errors
    /// [`Error::Output`] where the file cannot be written.
    pub(crate) fn fill_overlaps(&mut self, found: &Overlaps, origin: &Origin) -> Result<()> {
        self.fill(|recorded, out| overlaps::page(found, recorded, origin, out))
    }

    /// Writes the report of pairs of files, which is not in place yet.
    ///
    /// # Errors
    /// [`Error::Output`] where the file cannot be written.
    pub(crate) fn fill_pairs(&mut self, found: &Pairs, origin: &Origin) -> Result<()> {
        self.fill(|recorded, out| pairs::page(found, recorded, origin, out))
    }

    /// Writes the report of a comparison, which is not in place yet: the plans of each point, and the rates that are
    /// predicted for some memory limits in bytes.
    ///
    /// # Errors
    /// [`Error::Output`] where the file cannot be written.
    pub(crate) fn fill_comparison(
        &mut self,
        report: &ComparisonReport<'_>,
        outlook: (&[Plans], &[(u64, f64)]),
        origin: &Origin,
    ) -> Result<()> {
        self.fill(|recorded, out| comparison::page(report, outlook, recorded, origin, out))
    }

    fn fill(
        &mut self,
        page: impl FnOnce(&Recorded, &mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        let fail = |source: io::Error| Error::Output {
            target: self.path.clone(),
            what: "cannot write the report",
            source,
            advice: "name another file for --report",
        };
        let Some(recorder) = self.recorder.take() else {
            return Ok(());
        };
        let mut writer = self.file.writer()?;
        page(&recorder.finish(), &mut writer)
            .and_then(|()| writer.flush())
            .map_err(fail)
    }

    /// Puts the page in place.
    ///
    /// # Errors
    /// [`Error::Output`]; what was there before stays then.
    pub(crate) fn put_in_place(self) -> Result<()> {
        self.file.finish()
    }
}
