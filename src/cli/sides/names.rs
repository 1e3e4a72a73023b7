//! The names of files, as they are found.
//!
//! *Owns:* collecting them within the memory limit. *Invariants:* once they do not fit, none is kept any more, and all
//! are counted up to a bound. *Cost:* that of [`Listing`].

use std::path::{Path, PathBuf};

use outset::{Listing, Options, Result};

use super::list::List;

/// Names that are counted of lists that do not fit the limit: a pipe may have no end.
const MOST_COUNTED: u64 = 50_000_000;

/// The names of the files of all sides, of which one side is collected at a time.
pub(crate) struct Names {
    listing: Listing,
    files: Vec<PathBuf>,
    /// Those that are counted after the limit.
    left: u64,
}

impl Names {
    /// Makes a list without names, for a run with these options.
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            listing: Listing::new(options),
            files: Vec::new(),
            left: MOST_COUNTED,
        }
    }

    /// Adds a file.
    ///
    /// # Errors
    /// As [`Names::finish`], after very many.
    pub(super) fn push(&mut self, path: PathBuf) -> Result<()> {
        if self.count(&path)? {
            self.files.push(path);
        }
        Ok(())
    }

    /// Counts a file that is added later by [`Names::push_counted`]. False if there is no room for it.
    ///
    /// # Errors
    /// As [`Names::finish`], after very many.
    pub(super) fn count(&mut self, path: &Path) -> Result<bool> {
        if self.listing.count(path.as_os_str().len()) {
            return Ok(true);
        }
        self.files = Vec::new();
        self.left -= 1;
        if self.left == 0 {
            self.listing.check()?;
        }
        Ok(false)
    }

    /// Adds a file that was counted.
    pub(super) fn push_counted(&mut self, path: PathBuf) {
        if self.listing.fits() {
            self.files.push(path);
        }
    }

    /// Adds all files that `list` names, after `check`.
    ///
    /// # Errors
    /// Where the list cannot be read; as `check` and [`Names::push`].
    pub(crate) fn read(
        &mut self,
        mut list: List<'_>,
        check: fn(&Path) -> Result<()>,
    ) -> Result<()> {
        while let Some(file) = list.next()? {
            check(&file)?;
            self.push(file)?;
        }
        Ok(())
    }

    /// Returns the number of files that the side has so far; 0 where they are only counted.
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns true if names are kept: the limit has room for all of them.
    pub(super) fn fit(&self) -> bool {
        self.listing.fits()
    }

    /// Takes the files of a side.
    pub(crate) fn take(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.files)
    }

    /// Refuses names for which there is no room.
    ///
    /// # Errors
    /// [`outset::Error::MemoryPlan`] with a limit that would do.
    pub(crate) fn finish(self) -> Result<()> {
        self.listing.check()
    }
}
