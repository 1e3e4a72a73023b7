//! Stopping a run from outside, with nothing left behind.
//!
//! *Owns:* the flag that a run looks at between chunks, and the list of what must be removed if the
//! process is about to end without unwinding (a signal). *Invariants:* a path is on the list before
//! the file exists under it, and off the list only after it is gone or in place; only paths that
//! the run itself made are on it. *Cost:* a relaxed load per chunk, a lock per temporary directory
//! or output file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::sys::failpoint::fail_point;

/// A handle that stops a run; clones are one handle.
///
/// Hand one to [`Options::interrupt`](crate::Options) and call [`Interrupt::stop`] from any thread
/// (or from a thread that waits for signals): the run ends with [`Error::Interrupted`] after its
/// clean-up.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    is_stopped: AtomicBool,
    paths: Mutex<Vec<PathBuf>>,
}

impl Interrupt {
    /// A handle that nobody has stopped yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the run to stop at its next chunk or block.
    pub fn stop(&self) {
        self.inner.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Whether [`Interrupt::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.inner.is_stopped.load(Ordering::Relaxed)
    }

    /// Stops the run and removes its temporary files at once, for a process that is about to be
    /// ended by a signal. Threads that still write find their directory gone and fail; they cannot
    /// bring it back.
    pub fn stop_and_clean_up(&self) {
        self.stop();
        for path in self.paths().drain(..) {
            fail_point!("clean-up");
            // A file may be created while its directory is emptied: a few tries outlast that,
            // because no new one is made once the flag is set.
            for _ in 0..10 {
                let removed = if path.is_dir() {
                    std::fs::remove_dir_all(&path)
                } else {
                    std::fs::remove_file(&path)
                };
                if removed.is_ok() || !path.exists() {
                    break;
                }
            }
        }
    }

    /// An error if the run was stopped.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_stopped() {
            Err(Error::Interrupted)
        } else {
            Ok(())
        }
    }

    /// Makes a file or directory with `make` and puts it on the list of what to remove, until the
    /// returned guard is dropped. Both happen under one lock: a clean-up comes before it, and then
    /// nothing is made, or after it, and then it is removed.
    pub(crate) fn guarded<T>(
        &self,
        make: impl FnOnce() -> io::Result<T>,
        path: impl FnOnce(&T) -> &Path,
    ) -> io::Result<(T, PathGuard)> {
        let mut paths = self.paths();
        if self.is_stopped() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let made = make()?;
        let path = path(&made).to_owned();
        paths.push(path.clone());
        drop(paths);
        Ok((
            made,
            PathGuard {
                interrupt: self.clone(),
                path,
            },
        ))
    }

    fn paths(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.inner
            .paths
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a path on the list of what a signal must remove.
#[derive(Debug)]
#[must_use = "the path leaves the list when this is dropped"]
pub(crate) struct PathGuard {
    interrupt: Interrupt,
    path: PathBuf,
}

impl Drop for PathGuard {
    fn drop(&mut self) {
        let mut paths = self.interrupt.paths();
        if let Some(position) = paths.iter().position(|path| *path == self.path) {
            paths.swap_remove(position);
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn e10_only_guarded_paths_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let (guarded, released) = (place.path().join("guarded"), place.path().join("released"));
        let interrupt = Interrupt::new();
        let directory = || std::fs::create_dir(&guarded).map(|()| guarded.clone());
        let (_, guard) = interrupt.guarded(directory, |path| path.as_path()).unwrap();
        std::fs::write(guarded.join("block"), b"x").unwrap();
        let file = || std::fs::write(&released, b"x").map(|()| released.clone());
        drop(interrupt.guarded(file, |path| path.as_path()).unwrap());
        interrupt.stop_and_clean_up();
        assert!(interrupt.is_stopped() && interrupt.check().is_err());
        assert!(!guarded.exists() && released.exists());
        drop(guard);
        let late = || std::fs::create_dir(&guarded).map(|()| guarded.clone());
        assert!(interrupt.guarded(late, |path| path.as_path()).is_err() && !guarded.exists());
    }
}
