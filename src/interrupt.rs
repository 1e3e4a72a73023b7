//! Stopping a run from outside, with nothing left behind.
//!
//! *Owns:* the flag that a run looks at between chunks, and the lists of what must be removed, and of the programs that
//! must be stopped, if the process is about to end without unwinding (a signal).
//!
//! A signal, step by step:
//!
//! 1. The thread that waits for signals calls [`Interrupt::stop_and_clean_up`]. That sets the flag.
//! 2. The same thread stops the programs on their list: one that takes a result would see its end when this process
//!    ends, and take a part for all. Then it locks the list of paths and removes every one. Nothing can be added
//!    meanwhile.
//! 3. A thread that starts such a program, or creates a directory or an output file, waits for the lock, then sees the
//!    flag and fails. Workers see the flag at their next chunk, or fail because their directory was removed.
//! 4. The thread ends the process. Whether the workers have noticed by then does not matter.
//!
//! *Invariants:*
//! - A path is created and put on the list under one lock, so no clean-up can miss it.
//! - A path leaves the list only after it is removed or in place.
//! - Only paths that the run itself made are on it.
//!
//! *Cost:* a relaxed load per chunk, a lock per temporary directory or output file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::error::{Error, Result};
use crate::sys::child::{Child, Stopper};
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
    /// Set once and never cleared. Relaxed loads are enough for the workers, who only end earlier or later;
    /// where the order matters, the lock of `paths` provides it.
    is_stopped: AtomicBool,
    /// Files and directories to remove: a few, one for each temporary directory and output.
    paths: Mutex<Vec<PathBuf>>,
    /// Programs to stop: one for each command whose output is read, or that takes a result.
    programs: Mutex<Vec<Stopper>>,
}

impl Interrupt {
    /// Makes a handle that is not stopped.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks every run with this handle to stop at its next chunk or block. Returns at once. A stopped handle
    /// cannot be used for another run.
    pub fn stop(&self) {
        self.inner.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Tells whether [`Interrupt::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.inner.is_stopped.load(Ordering::Relaxed)
    }

    /// Stops the run and its commands, and removes its temporary files at once, for a process that is about to be ended
    /// by a signal. Threads that still write find their directory removed and fail; they cannot bring it back. Call it
    /// from a thread, not from a signal handler: it locks, allocates, does I/O, and waits up to a second for commands.
    ///
    /// A file that cannot be removed stays. The next run with the same temporary directory removes what is left.
    pub fn stop_and_clean_up(&self) {
        self.stop();
        Stopper::stop_all(self.inner.programs.lock().drain(..));
        // The lock is held until the loop ends: threads that create or drop a guarded path wait for that.
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

    /// Returns [`Error::Interrupted`] if the run was stopped. For loops: once per chunk or block.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_stopped() {
            Err(Error::Interrupted)
        } else {
            Ok(())
        }
    }

    /// Makes a file or directory with `make` and puts it on the list of what to remove, until the
    /// returned guard is dropped. `path` says where it is. Both happen under one lock: a clean-up comes
    /// before it, and then nothing is made, or after it, and then it is removed.
    ///
    /// # Errors
    /// What `make` reports; [`Error::Interrupted`] if the run was stopped, and `make` is not called.
    pub(crate) fn guarded<T>(
        &self,
        make: impl FnOnce() -> io::Result<T>,
        path: impl FnOnce(&T) -> &Path,
    ) -> io::Result<(T, PathGuard)> {
        let mut paths = self.paths();
        if self.is_stopped() {
            return Err(io::Error::other(Error::Interrupted));
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

    /// Does a step in a directory that is on the list of what to remove: makes a file in it, or moves it into place. A
    /// clean-up comes before the step, and then it is not done, or after it: none removes one half of what it makes.
    ///
    /// # Errors
    /// What `step` reports; [`Error::Interrupted`] if the run was stopped, and `step` is not called.
    pub(crate) fn unless_stopped<T>(&self, step: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        // Held until the step is done.
        let _paths = self.paths();
        if self.is_stopped() {
            return Err(io::Error::other(Error::Interrupted));
        }
        step()
    }

    /// Starts a program, which a signal stops from then on, before this process ends. Both happen under one lock, as in
    /// [`Interrupt::guarded`].
    ///
    /// # Errors
    /// What `start` reports; [`Error::Interrupted`] if the run was stopped, and `start` is not called.
    pub(crate) fn started<T>(
        &self,
        start: impl FnOnce() -> io::Result<(Child, T)>,
    ) -> io::Result<(Child, T)> {
        let mut programs = self.inner.programs.lock();
        if self.is_stopped() {
            return Err(io::Error::other(Error::Interrupted));
        }
        let started = start()?;
        programs.retain(|program| !program.has_ended());
        programs.push(started.0.stopper());
        Ok(started)
    }

    /// Locks the list of paths. It is consistent after every statement.
    fn paths(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.inner.paths.lock()
    }
}

/// Returns true if `error` is the one of a run that was stopped, as [`Interrupt::guarded`] and its like give it.
pub(crate) fn is_interrupted(error: &io::Error) -> bool {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    matches!(cause, Some(Error::Interrupted))
}

/// Keeps a path on the list of what a signal must remove. Drop it after the path is removed or in place: a struct
/// that has both declares the guard after the file.
#[derive(Debug)]
#[must_use = "the path leaves the list when this is dropped"]
pub(crate) struct PathGuard {
    interrupt: Interrupt,
    path: PathBuf,
}

impl Drop for PathGuard {
    fn drop(&mut self) {
        let mut paths = self.interrupt.paths();
        // A clean-up may have emptied the list already.
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
        let directory = tempfile::tempdir().unwrap();
        let (guarded, released) = (
            directory.path().join("guarded"),
            directory.path().join("released"),
        );
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
