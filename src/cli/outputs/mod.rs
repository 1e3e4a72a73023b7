//! The outputs of a command: all of them are put in place at the end, or none.
//!
//! *Owns:* the steps that every command goes through, in this order:
//!
//! 1. [`Claims`]: the command names its inputs and outputs. An output that is an input, or another output,
//!    is refused.
//! 2. [`Claims::open`] opens the outputs. Whatever cannot be written is refused before any work is done.
//! 3. The command fills each: [`Outputs::result`], [`Outputs::fill_filter`], [`Outputs::fill_stats`],
//!    [`Outputs::fill_page`]. No file is visible under its name yet.
//! 4. [`Outputs::put_in_place`] gives the files their names.
//!
//! *Invariants:* everything is written and flushed before the first file is put in place, so a failure
//! leaves what was there before. Dropped earlier, the outputs leave nothing behind.

mod claims;
mod directory;
mod files;
mod names;
mod via;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use outset::filter::{Filter, FilterTarget};
use outset::{Error, Interrupt, Observer, Options, OutputDirectory, Result};
use serde::Serialize;

pub(crate) use self::claims::Claims;
pub(crate) use self::files::ResultFile;
use self::files::StatsFile;
pub(crate) use self::names::{CompressArguments, is_table};
pub(crate) use self::via::OutViaArguments;
use super::origin::{Origin, StatsWithOrigin};
use super::report::{Page, Subject};

/// The open outputs of a command.
pub(crate) struct Outputs {
    result: Option<ResultFile>,
    directory: Option<OutputDirectory>,
    duplicates: Option<ResultFile>,
    filter: Option<FilterTarget>,
    stats: StatsFile,
    page: Option<Page>,
    /// The moment at which they were opened, for statistics and page.
    began: SystemTime,
    temp_dirs: Vec<PathBuf>,
}

impl Claims {
    /// Opens everything that was claimed for the command to fill.
    ///
    /// # Errors
    /// [`outset::Error::Output`] where something cannot be written.
    pub(crate) fn open(self, interrupt: &Interrupt) -> Result<Outputs> {
        let filter = self.filter.as_deref();
        let filter = filter.map(|path| FilterTarget::open(path, interrupt));
        let filter = filter.transpose()?;
        let stats = StatsFile::open(self.stats.as_deref(), interrupt)?;
        let page = self.page.as_deref();
        let page = page.map(|path| Page::open(path, interrupt)).transpose()?;
        let [of_result, of_duplicates] = self.compressing;
        let file = |path: Option<PathBuf>, compressing| {
            let file = path.map(|path| ResultFile::open(&path, compressing, interrupt));
            file.transpose()
        };
        let duplicates = file(self.duplicates, of_duplicates)?;
        // Last: a command is not started where a file cannot be opened.
        let result = match self.consumer {
            Some(consumer) => Some(ResultFile::consumed(&consumer, of_result, interrupt)?),
            None => file(self.result, of_result)?,
        };
        let directory = self.directory.map(|claim| claim.open(interrupt));
        Ok(Outputs {
            result,
            directory: directory.transpose()?,
            duplicates,
            filter,
            stats,
            page,
            began: SystemTime::now(),
            temp_dirs: Vec::new(),
        })
    }
}

impl Outputs {
    /// Returns `observer`, joined by the recorder of the page if there is one.
    pub(crate) fn observer(&self, observer: Arc<dyn Observer>) -> Arc<dyn Observer> {
        match &self.page {
            Some(page) => page.beside(observer),
            None => observer,
        }
    }

    /// Tells whether there will be a page.
    pub(crate) fn has_page(&self) -> bool {
        self.page.is_some()
    }

    /// Returns the result, if it was claimed.
    pub(crate) fn result(&self) -> Option<&ResultFile> {
        self.result.as_ref()
    }

    /// Returns the directory that takes the result, if it was claimed.
    pub(crate) fn directory(&mut self) -> &mut Option<OutputDirectory> {
        &mut self.directory
    }

    /// Returns the result of a command that always claims it.
    ///
    /// # Errors
    /// [`Error::Usage`] where it was not claimed, which is a bug.
    pub(crate) fn require_result(&self) -> Result<&ResultFile> {
        self.result()
            .ok_or_else(|| Error::usage("output: this command has none", "report this bug"))
    }

    /// Returns the file for the lines that the result drops, if it was claimed.
    pub(crate) fn duplicates(&self) -> Option<&ResultFile> {
        self.duplicates.as_ref()
    }

    /// Writes the filter, if it was claimed.
    pub(crate) fn fill_filter(&self, filter: &Filter) -> Result<()> {
        let target = self.filter.as_ref();
        target.map_or(Ok(()), |target| target.write(filter))
    }

    /// Notes where temporary files go, for statistics and page.
    pub(crate) fn note_temp_dirs(&mut self, options: &Options) {
        self.temp_dirs.clone_from(&options.temp_dirs);
    }

    /// Writes the statistics, with where they come from, if they were claimed.
    pub(crate) fn fill_stats(&self, stats: &impl Serialize) -> Result<()> {
        if matches!(self.stats, StatsFile::Nowhere) {
            return Ok(());
        }
        let origin = &Origin::of(self.began, &self.temp_dirs);
        self.stats.fill(&StatsWithOrigin { stats, origin })
    }

    /// Writes the page, with its origin, if a page was claimed.
    pub(crate) fn fill_page(&mut self, subject: &Subject<'_>) -> Result<()> {
        let origin = || Origin::of(self.began, &self.temp_dirs);
        let page = self.page.as_mut();
        page.map_or(Ok(()), |page| page.fill(subject, &origin()))
    }

    /// Puts everything in place: the result first. A file that cannot be put in place leaves what was
    /// there before, and so do those after it.
    pub(crate) fn put_in_place(self) -> Result<()> {
        self.put_in_place_with_label(|| ())
    }

    /// Works as [`Outputs::put_in_place`], and calls `label` when the result is in place, even if another output then
    /// fails.
    pub(crate) fn put_in_place_with_label(self, label: impl FnOnce()) -> Result<()> {
        self.result.map_or(Ok(()), ResultFile::put_in_place)?;
        self.directory.map_or(Ok(()), OutputDirectory::finish)?;
        label();
        self.duplicates.map_or(Ok(()), ResultFile::put_in_place)?;
        self.filter.map_or(Ok(()), FilterTarget::finish)?;
        self.stats.put_in_place()?;
        self.page.map_or(Ok(()), Page::put_in_place)
    }
}
