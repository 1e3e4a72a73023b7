//! Directories and patterns as lists of files.
//!
//! *Owns:* which names count, and their order. *Invariants:* the files of a directory or a pattern come in the order of
//! their names, byte by byte, and no file that counts is left out: what cannot be looked at is an error. What exists is
//! never a pattern. *Cost:* the names of one directory at a time, besides the list, and all of them within the memory
//! limit; a system call or two for each file.
//!
//! Names that begin with `.` or `_` do not count, as in Spark and Hive: they are markers such as `_SUCCESS`, check
//! sums, and files that are not complete yet.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use glob::{MatchOptions, Pattern};
use outset::{Error, Result};

use super::names::Names;
use super::stdin::check_part;

/// Adds the files that `path` stands for. A path that does not exist is added as it is: opening it says why it fails.
///
/// # Errors
/// [`Error::Usage`] for a directory or a pattern without files, and for standard input; [`Error::Input`] for what
/// cannot be looked at; as [`Names::finish`].
pub(super) fn expand(path: &Path, files: &mut Names) -> Result<()> {
    check_part(path)?;
    let is_pattern = path.as_os_str().to_str().is_some_and(has_wildcard);
    if is_pattern && fs::symlink_metadata(path).is_err() {
        for found in matching(path, files)? {
            add(found, files)?;
        }
        return Ok(());
    }
    files.count(path)?;
    add(path.to_owned(), files)
}

/// Adds `path`, which was counted, or all files below it.
fn add(path: PathBuf, files: &mut Names) -> Result<()> {
    if !path.is_dir() {
        files.push_counted(path);
        return Ok(());
    }
    let before = files.len();
    // Directories that are open, with the names in them that are to be looked at.
    let mut open = vec![(path.clone(), names_in(&path, files)?)];
    while let Some((directory, names)) = open.last_mut() {
        let Some(name) = names.next() else {
            open.pop();
            continue;
        };
        let next = directory.join(name);
        // Asked of the target of a link. A path that no longer exists, or is no file, is refused when it is opened.
        if is_directory(&next)? {
            let names = names_in(&next, files)?;
            open.push((next, names));
        } else {
            files.push_counted(next);
        }
    }
    if files.len() == before && files.fit() {
        return Err(Error::usage(
            format!("{}: this directory has no files to read", path.display()),
            "name a directory that has some (files whose names begin with . or _ do not count)",
        ));
    }
    Ok(())
}

/// Tells whether a name in a directory counts.
fn counts(name: &OsStr) -> bool {
    !matches!(name.as_encoded_bytes(), [b'.' | b'_', ..])
}

pub(super) fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

fn is_directory(path: &Path) -> Result<bool> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(metadata.is_dir()),
        Err(source) if source.kind() == ErrorKind::NotFound => Ok(false),
        Err(source) => Err(unreadable(path, source)),
    }
}

/// Returns the names in a directory that count, in order, once they are counted; where there is no room for them, those
/// of directories.
fn names_in(directory: &Path, files: &mut Names) -> Result<impl Iterator<Item = OsString> + use<>> {
    let fail = |source| unreadable(directory, source);
    let mut names = DirectoryNames::default();
    for entry in fs::read_dir(directory).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let name = entry.file_name();
        if !counts(&name) {
            continue;
        }
        let path = entry.path();
        if files.count(&path)? || is_directory(&path)? {
            names.push(&name);
        }
    }
    Ok(names.in_order())
}

/// The names of one directory, close together.
#[derive(Default)]
struct DirectoryNames {
    text: Vec<u8>,
    /// The range of each in `text`.
    ranges: Vec<Range<usize>>,
}

impl DirectoryNames {
    fn push(&mut self, name: &OsStr) {
        let start = self.text.len();
        self.text.extend_from_slice(name.as_bytes());
        self.ranges.push(start..self.text.len());
    }

    fn in_order(self) -> impl Iterator<Item = OsString> {
        let Self { text, mut ranges } = self;
        ranges.sort_unstable_by(|one, other| text[one.clone()].cmp(&text[other.clone()]));
        let name = move |range: Range<usize>| OsStr::from_bytes(&text[range]).to_owned();
        ranges.into_iter().map(name)
    }
}

/// Finds the files and directories that match a pattern; at least one.
fn matching(pattern: &Path, files: &mut Names) -> Result<Vec<PathBuf>> {
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        let text = component
            .as_os_str()
            .to_str()
            .filter(|text| has_wildcard(text));
        match (component, text) {
            (Component::Normal(_), Some(text)) => {
                found = matching_in(&found, pattern, text, files)?;
            }
            _ => found.iter_mut().for_each(|path| path.push(component)),
        }
    }
    // The part after a wildcard need not exist in every directory.
    found.retain(|path| fs::symlink_metadata(path).is_ok());
    if found.is_empty() && files.fit() {
        return Err(Error::usage(
            format!("{}: this pattern matches no file", pattern.display()),
            "check it against the names there (those that begin with . or _ do not count)",
        ));
    }
    Ok(found)
}

/// Finds the files and directories in these directories that match `text`, which is one component of `pattern`.
fn matching_in(
    directories: &[PathBuf],
    pattern: &Path,
    text: &str,
    files: &mut Names,
) -> Result<Vec<PathBuf>> {
    let refused = |reason: &str| {
        Error::usage(
            format!("{}: is not a pattern: {reason}", pattern.display()),
            "correct it, or name the directory instead to read all files below it",
        )
    };
    if text.contains("**") {
        return Err(refused("** has no meaning here"));
    }
    let matcher = Pattern::new(text).map_err(|error| refused(error.msg))?;
    let mut found = Vec::new();
    for directory in directories {
        let here = Path::new(".");
        let readable = if directory.as_os_str().is_empty() {
            here
        } else {
            directory
        };
        if !readable.is_dir() {
            continue;
        }
        let first = found.len();
        for entry in fs::read_dir(readable).map_err(|source| unreadable(readable, source))? {
            let name = entry
                .map_err(|source| unreadable(readable, source))?
                .file_name();
            let asks_for_it = name.as_encoded_bytes().first() == text.as_bytes().first();
            let path = directory.join(&name);
            if (counts(&name) || asks_for_it)
                && matcher.matches_with(&name.to_string_lossy(), MatchOptions::new())
                && files.count(&path)?
            {
                found.push(path);
            }
        }
        found[first..].sort_unstable_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
    }
    Ok(found)
}

fn unreadable(path: &Path, source: io::Error) -> Error {
    Error::Input {
        path: path.to_owned(),
        source,
        advice: "check the directory and the links in it, or name its files with --files-from",
    }
}
