//! The identity of the file that a name stands for.
//!
//! *Owns:* the one answer to "are these two names the same file?", for every input and output of
//! every command: device and inode of what exists; directory and name of what does not exist yet.
//!
//! *Invariants:* symbolic links are followed, also where nothing is at their end yet; a loop of links
//! is an error. Two names of one file (hard link, symbolic link, `/dev/stdin`, another spelling of
//! the path) are equal.
//!
//! *Cost:* one system call for what exists, a few for what does not.
//!
//! *Sources:* stat(2); path_resolution(7), whose limit of 40 links is used here too.

use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most symbolic links that are followed in a row, as by the system.
const MOST_LINKS: usize = 40;

/// Device and inode: what tells a file from every other that exists at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// Identifies the file that this metadata describes.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }

    /// Identifies the file at `path`; links are followed.
    ///
    /// # Errors
    /// Where there is none, or it cannot be looked at.
    pub fn at(path: &Path) -> io::Result<Self> {
        std::fs::metadata(path).map(|metadata| Self::of(&metadata))
    }

    /// Identifies the open file, pipe or device that `file` refers to.
    ///
    /// # Errors
    /// Where the descriptor is closed.
    pub fn of_open(file: impl AsFd) -> io::Result<Self> {
        let stat = rustix::fs::fstat(file)?;
        Ok(Self {
            device: stat.st_dev,
            inode: stat.st_ino,
        })
    }

    /// Returns the number of the file system that the file is on.
    pub(crate) fn device(self) -> u64 {
        self.device
    }
}

/// The end of a path: a file, or a name that a new file would get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// Something is there.
    Existing(FileId),
    /// Nothing is there yet.
    New {
        /// The directory that the file would be in.
        directory: FileId,
        /// Its name there.
        name: OsString,
    },
}

impl Destination {
    /// Finds where `path` leads now.
    ///
    /// # Errors
    /// Where it leads nowhere: its directory does not exist, or its links are a loop.
    pub fn of(path: &Path) -> io::Result<Self> {
        if let Ok(id) = FileId::at(path) {
            return Ok(Self::Existing(id));
        }
        let path = follow_links(path)?;
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self::New {
            directory: FileId::at(directory_of(&path))?,
            name: name.to_owned(),
        })
    }
}

/// Follows the links that begin at `path` and returns the path at their end; nothing need be there.
///
/// # Errors
/// ELOOP where the links are a loop, or more than [`MOST_LINKS`].
pub(crate) fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match std::fs::read_link(&path) {
            Ok(target) => path = directory_of(&path).join(target),
            // No link, or nothing at all.
            Err(_) => return Ok(path),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

/// Returns true if what is at `path` is on another device than the directory that it is in.
pub(crate) fn is_of_another_device(path: &Path) -> bool {
    let device = |path: &Path| FileId::at(path).ok().map(FileId::device);
    let (own, other) = (device(path), device(directory_of(path)));
    own.is_some() && own != other
}

/// Returns the directory that a path is in, in a form that can be opened.
pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn b8_every_name_of_a_file_is_that_file() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("file"), "x").unwrap();
        std::fs::write(at("other"), "x").unwrap();
        std::fs::hard_link(at("file"), at("hard")).unwrap();
        symlink("file", at("soft")).unwrap();
        let of = |name: &str| Destination::of(&at(name)).unwrap();
        for name in ["hard", "soft", "./file", "../../file"] {
            let name = name.replace("../..", &format!("../{}", last_of(directory.path())));
            assert_eq!(of(&name), of("file"), "{name}");
        }
        assert_ne!(of("other"), of("file"));
        let open = std::fs::File::open(at("soft")).unwrap();
        assert_eq!(
            Destination::Existing(FileId::of_open(&open).unwrap()),
            of("file")
        );
    }

    fn last_of(path: &Path) -> String {
        path.file_name().unwrap().to_string_lossy().into_owned()
    }

    #[test]
    fn f5_links_are_followed_to_where_nothing_is_yet_and_a_loop_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        symlink("second", at("first")).unwrap();
        symlink("new", at("second")).unwrap();
        let of = |name: &str| Destination::of(&at(name));
        assert_eq!(of("first").unwrap(), of("new").unwrap());
        assert_ne!(of("first").unwrap(), of("newer").unwrap());
        symlink("pong", at("ping")).unwrap();
        symlink("ping", at("pong")).unwrap();
        let error = of("ping").unwrap_err();
        assert_eq!(
            error.raw_os_error(),
            Some(rustix::io::Errno::LOOP.raw_os_error())
        );
        assert!(of("missing/new").is_err());
    }
}
