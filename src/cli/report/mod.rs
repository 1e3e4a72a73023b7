//! The report of a run as a page: one HTML file that needs nothing else (`--report`).
//!
//! *Owns:* the place of the file and the recording of the run ([`recording`]); the page is made of a
//! document of all figures ([`figures`]), tables of it ([`tables`]), pictures ([`charts`]), the parts
//! that both commands have ([`sections`]) and those of each ([`intersection`], [`comparison`]), in
//! one frame ([`page`]).
//!
//! *Invariants:* the place is opened before the run and filled after it, so a failed run leaves no
//! report; the page has all its figures as JSON, and its tables show nothing else; it loads nothing
//! and runs nothing. *Cost:* while the run goes on that of [`recording`]; after it, when the run's memory
//! is free again, some 100 KiB.

mod charts;
mod comparison;
mod figures;
mod intersection;
mod page;
mod recording;
mod samples;
mod sections;
mod tables;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use outset::compare::{Comparison, Plans};
use outset::{Error, Interrupt, Observer, OutputFile, Result, Stats};

use recording::{Both, Recorded, Recorder};

/// A report that is going to be written.
pub(crate) struct Report {
    path: String,
    file: OutputFile,
    recorder: Recorder,
}

impl Report {
    /// As [`Report::open`], if there is a path.
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
            return Err(Error::Usage {
                what: "--report: a page is a file".to_owned(),
                advice: "name a file for it, such as run.html".to_owned(),
            });
        }
        Ok(Self {
            path: path.display().to_string(),
            file: OutputFile::create(path, interrupt)?,
            recorder: Recorder::start()?,
        })
    }

    /// An observer that records, and tells `other` too.
    pub(crate) fn beside(&self, other: Arc<dyn Observer>) -> Arc<dyn Observer> {
        Arc::new(Both(other, self.recorder.observer()))
    }

    /// Writes the report of a run of `outset intersect`.
    ///
    /// # Errors
    /// [`Error::Output`] where the file cannot be written.
    pub(crate) fn write_intersection(self, stats: &Stats) -> Result<()> {
        self.write(|recorded| intersection::page(stats, recorded))
    }

    /// Writes the report of a comparison: its `points`, the plans of each, and the rates that are
    /// predicted for some memory limits in bytes.
    ///
    /// # Errors
    /// [`Error::Output`] where the file cannot be written.
    pub(crate) fn write_comparison(
        self,
        points: &[Comparison],
        plans: &[Plans],
        predicted: &[(u64, f64)],
    ) -> Result<()> {
        self.write(|recorded| comparison::page(points, plans, predicted, recorded))
    }

    fn write(self, page: impl FnOnce(&Recorded) -> serde_json::Result<String>) -> Result<()> {
        let Self {
            path,
            file,
            recorder,
        } = self;
        let fail = |source: std::io::Error| Error::Output {
            target: path.clone(),
            what: "cannot write the report",
            source,
            advice: "check where --report points",
        };
        let text = page(&recorder.finish()).map_err(|error| fail(error.into()))?;
        let mut writer = file.writer()?;
        writer
            .write_all(text.as_bytes())
            .and_then(|()| writer.flush())
            .map_err(fail)?;
        drop(writer);
        file.finish()
    }
}
