//! The names of files below a directory of results.
//!
//! *Owns:* [`FileNames`]: the directory whose files keep their names. *Invariants:* two files with different paths have
//! different names where what was given contains both. *Cost:* none of disk: links and what is there are not looked at,
//! but for whether what was given is a directory.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The deepest directory that has all files and directories that were named; it may be one of the latter.
#[derive(Debug)]
pub(super) struct FileNames(PathBuf);

impl FileNames {
    /// Finds it for `given`.
    pub(super) fn of<P: AsRef<Path>>(given: impl IntoIterator<Item = P>) -> Self {
        let directories = given.into_iter().map(|path| {
            let path = path.as_ref();
            let mut directory = absolute(path);
            if !path.is_dir() {
                directory.pop();
            }
            directory
        });
        let common = |one: PathBuf, other: PathBuf| {
            let both = one.components().zip(other.components());
            both.take_while(|(one, other)| one == other)
                .map(|(one, _)| one)
                .collect()
        };
        Self(directories.reduce(common).unwrap_or_default())
    }

    /// Returns the name that a file has below the directory of results.
    pub(super) fn of_file(&self, path: &Path) -> PathBuf {
        let path = absolute(path);
        let below = path.strip_prefix(&self.0).ok();
        let below = below.filter(|below| !below.as_os_str().is_empty());
        below.map_or_else(
            || path.file_name().map_or_else(PathBuf::new, PathBuf::from),
            Path::to_owned,
        )
    }
}

/// Returns the path from the root of the file system, without steps up. Links are names as others.
fn absolute(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut names: Vec<OsString> = Vec::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                if names.len() > 1 {
                    names.pop();
                }
            }
            other => names.push(other.as_os_str().to_owned()),
        }
    }
    names.iter().collect()
}
