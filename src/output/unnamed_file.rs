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

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::Mode;

use crate::interrupt::Interrupt;
use crate::sys::calls::{make_unnamed, name_unnamed};
use crate::sys::failpoint::fail_point;
use crate::sys::file_id::directory_of;

/// A file without a name: it can be reached only through its descriptor.
#[derive(Debug)]
pub(super) struct UnnamedFile {
    file: File,
    /// The permission bits of the file that will be replaced; `None` if there was none.
    mode: Option<u32>,
    /// Keeps the temporary name for signals.
    interrupt: Interrupt,
}

impl UnnamedFile {
    /// Makes a file that can be named `path` later, with the mode `replaced` of what is there, else with `new_mode`,
    /// to which the umask is applied. `None` if the file system has no such files, or the system would have no way
    /// to name it.
    pub(super) fn create(
        path: &Path,
        replaced: Option<u32>,
        new_mode: u32,
        interrupt: &Interrupt,
    ) -> Option<Self> {
        let mode = Mode::from_raw_mode(replaced.unwrap_or(new_mode) as _);
        make_unnamed(directory_of(path), mode).map(|file| Self {
            file,
            mode: replaced,
            interrupt: interrupt.clone(),
        })
    }

    /// Returns the file, for writing and syncing.
    pub(super) fn as_file(&self) -> &File {
        &self.file
    }

    /// Gives it the mode of the file that it replaces. Opening has applied the umask to that; this does not.
    pub(super) fn take_mode(&self) -> io::Result<()> {
        match self.mode {
            Some(mode) => self.file.set_permissions(Permissions::from_mode(mode)),
            None => Ok(()),
        }
    }

    /// Gives it the name `path`, replacing a file that has it. Sync the content before.
    ///
    /// # Errors
    /// What the system reports; [`io::ErrorKind::Interrupted`] after a signal. `path` is then what it was before.
    pub(super) fn name(&self, path: &Path) -> io::Result<()> {
        fail_point!("output-name", Err(crate::sys::failpoint::injected()));
        match name_unnamed(&self.file, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other,
        }
        // linkat does not replace: the file gets a temporary name first, and rename moves that over the target.
        let link =
            || part_names().make_in(directory_of(path), |other| name_unnamed(&self.file, other));
        let (linked, _guard) = self
            .interrupt
            .guarded(link, tempfile::NamedTempFile::path)?;
        linked.persist(path).map_err(|error| error.error)
    }
}

/// Makes temporary names of results: `.outset-`, random characters, `.part`. Shells and listings hide them.
pub(super) fn part_names() -> tempfile::Builder<'static, 'static> {
    let mut names = tempfile::Builder::new();
    names.prefix(".outset-").suffix(".part");
    names
}
