//! The directory of results.
//!
//! *Owns:* `--out-dir`: whose names its files have, how each is compressed, and what command takes it, if one does.
//! *Invariants:* no two files get one name. *Cost:* the names of all files, once, before the run.

use std::path::{Path, PathBuf};

use outset::{Compressing, Consumer, Error, Interrupt, OutputDirectory, Result, Source};

/// A directory of results that was asked for.
pub(super) struct DirectoryClaim {
    path: PathBuf,
    /// The command that takes each file, if one does: the directory is none of this machine then.
    consumer: Option<Consumer>,
    /// The files and directories that were named.
    given: Vec<PathBuf>,
    /// The files that get a file there.
    files: Vec<PathBuf>,
    /// Chooses how each is compressed.
    compressing: Compressing,
}

impl std::fmt::Debug for DirectoryClaim {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut fields = formatter.debug_struct("DirectoryClaim");
        fields.field("path", &self.path).finish_non_exhaustive()
    }
}

impl DirectoryClaim {
    /// Claims the directory at `path` for the files of `sources`, which were named as `given`; or has `consumer` take
    /// each.
    pub(super) fn new(
        path: &Path,
        consumer: Option<Consumer>,
        given: Vec<PathBuf>,
        sources: &[Source],
    ) -> Self {
        let mut files = Vec::new();
        for source in sources {
            match source {
                Source::Path(path) => files.push(path.clone()),
                Source::Files(side) => files.extend_from_slice(side.paths()),
                Source::Producer(producer) => files.extend_from_slice(producer.names()),
                // The engine refuses what has no name.
                _ => {}
            }
        }
        Self {
            path: path.to_owned(),
            consumer,
            given,
            files,
            compressing: Box::new(|_| None),
        }
    }

    /// Returns true if `path` is that of the directory, or below it.
    pub(super) fn contains(&self, path: &Path) -> bool {
        self.consumer.is_none() && resolved(path).starts_with(resolved(&self.path))
    }

    /// Returns the files that get a file there.
    pub(super) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Has files compressed as `compressing` says.
    pub(super) fn compress_by(&mut self, compressing: Compressing) {
        self.compressing = compressing;
    }

    /// Makes the directory, or what stands for it.
    ///
    /// # Errors
    /// Those of [`OutputDirectory::create`]; [`Error::Usage`] where two files would have one name, and for a directory
    /// below one that is read: the next run would read it, too.
    pub(super) fn open(self, interrupt: &Interrupt) -> Result<OutputDirectory> {
        let is_around = |given: &&PathBuf| {
            let is_below = resolved(&self.path).starts_with(resolved(given));
            self.consumer.is_none() && given.is_dir() && is_below
        };
        if let Some(given) = self.given.iter().find(is_around) {
            return Err(Error::usage(
                format!(
                    "{}: is in {}, which is read",
                    self.path.display(),
                    given.display()
                ),
                "choose a directory outside of it",
            ));
        }
        let (given, compressing) = (&self.given, self.compressing);
        let directory = match self.consumer {
            Some(consumer) => OutputDirectory::sent(consumer, given, compressing, interrupt)?,
            None => OutputDirectory::create(&self.path, given, compressing, interrupt)?,
        };
        let mut names: Vec<_> = self
            .files
            .iter()
            .map(|file| (directory.name_of(file), file))
            .collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(Error::usage(
                format!(
                    "{}: is named twice, but --out-dir writes one file for it",
                    pair[1].1.display()
                ),
                "name it once",
            )),
            None => Ok(directory),
        }
    }
}

/// Returns a path without links, as far as it is there.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let real = path.ancestors().find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        Some(above.canonicalize().ok()?.join(rest))
    });
    real.unwrap_or(path)
}
