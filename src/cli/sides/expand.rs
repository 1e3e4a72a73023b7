//! Directories and patterns as lists of files.
//!
//! *Owns:* which names count, and their order. *Invariants:* the files of a directory or a pattern come in the order of
//! their names, byte by byte, and no file that counts is left out: what cannot be looked at is an error. What exists is
//! never a pattern. *Cost:* the names of one directory at a time, beside the list; a system call or two for each file.
//!
//! Names that begin with `.` or `_` do not count, as in Spark and Hive: they are markers such as `_SUCCESS`, check
//! sums, and files that are not complete yet.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use glob::{MatchOptions, Pattern};
use outset::{Error, Result};

use super::check_part;

/// Adds the files that `path` stands for. What is not there is added as it is: opening it says why it fails.
///
/// # Errors
/// [`Error::Usage`] for a directory or a pattern without files, and for standard input; [`Error::Input`] for what cannot
/// be looked at.
pub(super) fn expand(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    check_part(path)?;
    let is_pattern = path.as_os_str().to_str().is_some_and(has_wildcard);
    if is_pattern && fs::symlink_metadata(path).is_err() {
        for found in matching(path)? {
            add(&found, files)?;
        }
        return Ok(());
    }
    add(path, files)
}

/// Adds `path`, or all files below it.
fn add(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let before = files.len();
    // Those to be looked at, the next one last.
    let mut waiting = vec![path.to_owned()];
    while let Some(next) = waiting.pop() {
        // Asked of what a link leads to. What is gone, or is no file, is refused when it is opened.
        if !is_directory(&next)? {
            files.push(next);
            continue;
        }
        let names = names_in(&next)?.into_iter().rev();
        waiting.extend(
            names
                .filter(|name| counts(name))
                .map(|name| next.join(name)),
        );
    }
    if files.len() == before {
        return Err(Error::Usage {
            what: format!("{}: this directory has no files to read", path.display()),
            advice:
                "name a directory that has some (files whose names begin with . or _ do not count)"
                    .into(),
        });
    }
    Ok(())
}

/// Whether a name in a directory counts.
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

/// The names in a directory, in order.
fn names_in(directory: &Path) -> Result<Vec<OsString>> {
    let names = |directory| -> io::Result<Vec<OsString>> {
        let entries = fs::read_dir(directory)?;
        entries.map(|entry| Ok(entry?.file_name())).collect()
    };
    let mut names = names(directory).map_err(|source| unreadable(directory, source))?;
    names.sort_unstable();
    Ok(names)
}

/// The files and directories that match a pattern; at least one.
fn matching(pattern: &Path) -> Result<Vec<PathBuf>> {
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        let text = component
            .as_os_str()
            .to_str()
            .filter(|text| has_wildcard(text));
        match (component, text) {
            (Component::Normal(_), Some(text)) => found = matching_in(&found, pattern, text)?,
            _ => found.iter_mut().for_each(|path| path.push(component)),
        }
    }
    // What stands behind a wildcard need not be everywhere.
    found.retain(|path| fs::symlink_metadata(path).is_ok());
    if found.is_empty() {
        return Err(Error::Usage {
            what: format!("{}: this pattern matches no file", pattern.display()),
            advice: "check it against the names there (those that begin with . or _ do not count)"
                .into(),
        });
    }
    Ok(found)
}

/// What in these directories matches `text`, which is one component of `pattern`.
fn matching_in(directories: &[PathBuf], pattern: &Path, text: &str) -> Result<Vec<PathBuf>> {
    let refused = |reason: &str| Error::Usage {
        what: format!("{}: is not a pattern: {reason}", pattern.display()),
        advice: "correct it, or name the directory instead to read all files below it".into(),
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
        for name in names_in(readable)? {
            let asks_for_it = name.as_encoded_bytes().first() == text.as_bytes().first();
            if (counts(&name) || asks_for_it)
                && matcher.matches_with(&name.to_string_lossy(), MatchOptions::new())
            {
                found.push(directory.join(name));
            }
        }
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
