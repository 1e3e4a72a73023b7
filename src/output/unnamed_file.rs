//! A file without a name, until it is complete.
//!
//! *Owns:* making it, and giving it its name:
//!
//! ```text
//!  nothing at the target:   open(O_TMPFILE) ── linkat ──▶ target
//!  a file at the target:    open(O_TMPFILE) ── linkat ──▶ .outset-XXXXXX.part ── rename ──▶ target
//! ```
//!
//! *Invariants:* a process that is killed leaves nothing of the file, because the system frees a file without
//! a name. The exception is the moment between linkat and rename, if the file replaces another; a signal
//! that can be caught removes the temporary name.
//!
//! *Cost:* one descriptor.
//!
//! *Sources:* open(2) on `O_TMPFILE`; linkat(2) on how such a file gets a name without privileges.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::Mode;

use crate::interrupt::Interrupt;
use crate::sys::calls::{make_unnamed, name_unnamed};
use crate::sys::failpoint::fail_point;
use crate::sys::file_id::directory_of;

/// A file without a name: it can be reached only through its descriptor.
#[derive(Debug)]
pub(super) struct UnnamedFile(File);

impl UnnamedFile {
    /// Makes a file that can be named `path` later, with `mode` before the umask. `None` if the file system has no such
    /// files, or the system would have no way to name it.
    pub(super) fn create(path: &Path, mode: u32) -> Option<Self> {
        make_unnamed(directory_of(path), Mode::from_raw_mode(mode as _)).map(Self)
    }

    /// Returns the file, for writing and syncing.
    pub(super) fn as_file(&self) -> &File {
        &self.0
    }

    /// Gives it the name `path`, which no file must have.
    ///
    /// # Errors
    /// As [`UnnamedFile::name`]; [`io::ErrorKind::AlreadyExists`].
    pub(super) fn name_anew(&self, path: &Path, interrupt: &Interrupt) -> io::Result<()> {
        fail_point!("output-name", Err(crate::sys::failpoint::injected()));
        interrupt.unless_stopped(|| name_unnamed(&self.0, path))
    }

    /// Gives it the name `path`, replacing a file that has it. Sync the content before. `interrupt` keeps the temporary
    /// name for signals.
    ///
    /// # Errors
    /// What the system reports; [`crate::Error::Interrupted`] after a signal. `path` is then what it was before.
    pub(super) fn name(&self, path: &Path, interrupt: &Interrupt) -> io::Result<()> {
        match self.name_anew(path, interrupt) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other,
        }
        // linkat does not replace: the file gets a temporary name first, and rename moves that over the target.
        let link =
            || part_names().make_in(directory_of(path), |other| name_unnamed(&self.0, other));
        let (linked, _guard) = interrupt.guarded(link, tempfile::NamedTempFile::path)?;
        interrupt.unless_stopped(|| linked.persist(path).map_err(|error| error.error))
    }
}

/// Makes temporary names of results: `.outset-`, random characters, `.part`. Shells and listings hide them.
pub(super) fn part_names() -> tempfile::Builder<'static, 'static> {
    let mut names = tempfile::Builder::new();
    names.prefix(".outset-").suffix(".part");
    names
}
