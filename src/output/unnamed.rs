//! A file without a name, until it is complete.
//!
//! *Owns:* making it, and giving it its name. *Invariants:* a process that is killed leaves nothing of
//! it, but in the moment between the two names that it has where it replaces another. *Cost:* one
//! descriptor.
//!
//! *Sources:* open(2) on `O_TMPFILE`; linkat(2) on how such a file gets a name without privileges.

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};

use crate::interrupt::Interrupt;
use crate::output::file::part_names;
use crate::sys::failpoint::fail_point;
use crate::sys::file_id::directory_of;

/// A file that nobody can find yet.
#[derive(Debug)]
pub(super) struct UnnamedFile {
    file: File,
    /// That of the file that will be replaced.
    mode: Option<u32>,
    interrupt: Interrupt,
}

impl UnnamedFile {
    /// A file that can be named `path` later, with the mode `replaced` of what is there, else with
    /// `new_mode`, to which the umask is applied. `None` where the file system has no such files, or
    /// the system would have no way to name it.
    pub(super) fn create(
        path: &Path,
        replaced: Option<u32>,
        new_mode: u32,
        interrupt: &Interrupt,
    ) -> Option<Self> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(replaced.unwrap_or(new_mode));
        let file = File::from(open(directory_of(path), flags, mode).ok()?);
        path_of(&file).exists().then(|| Self {
            file,
            mode: replaced,
            interrupt: interrupt.clone(),
        })
    }

    /// The file.
    pub(super) fn as_file(&self) -> &File {
        &self.file
    }

    /// Gives it the mode of the file that it replaces.
    pub(super) fn take_mode(&self) -> io::Result<()> {
        match self.mode {
            Some(mode) => self.file.set_permissions(Permissions::from_mode(mode)),
            None => Ok(()),
        }
    }

    /// Gives it the name `path`, in the place of what is there.
    pub(super) fn name(&self, path: &Path) -> io::Result<()> {
        fail_point!("output-name", Err(crate::sys::failpoint::injected()));
        match self.link(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other,
        }
        // No call gives a name that is taken: another one first, which is then moved.
        let link = || part_names().make_in(directory_of(path), |other| self.link(other));
        let (linked, _guard) = self
            .interrupt
            .guarded(link, tempfile::NamedTempFile::path)?;
        linked.persist(path).map_err(|error| error.error)
    }

    fn link(&self, path: &Path) -> io::Result<()> {
        let own = path_of(&self.file);
        linkat(CWD, own, CWD, path, AtFlags::SYMLINK_FOLLOW).map_err(io::Error::from)
    }
}

/// How the system calls an open file.
fn path_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}
