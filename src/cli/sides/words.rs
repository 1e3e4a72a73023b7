//! The words of a side that may mean something else than their user gets.
//!
//! *Owns:* the names of sides that have several words, and the refusals of words that were meant
//! otherwise: one side for two, a pattern for a FILE, an output for a FILE. *Invariants:* nothing is refused here that
//! could be read. *Cost:* a question to the system for each FILE.

use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use outset::{Error, Result, Source};
use rustix::io::Errno;

use super::expand::has_wildcard;
use super::stdin::STDIN;
use super::{InputArguments, Side};
use crate::cli::{numbers, urls};

/// The number of words of a side that are named.
const MOST_NAMED: usize = 5;

/// The use that a command makes of its sides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SidesPurpose {
    /// The fewest sides that it needs.
    pub(crate) least: usize,
    /// True if the command has an option for a file of its result, which was not given.
    pub(crate) lacks_output: bool,
}

impl Side {
    /// Returns its words, if they are several.
    fn several_words(&self) -> Option<&[PathBuf]> {
        Some(self.words()).filter(|words| words.len() > 1)
    }
}

impl InputArguments {
    /// Works as [`InputArguments::sources`], for this `purpose`: first checks that its words mean what they seem to.
    ///
    /// # Errors
    /// Those of [`InputArguments::sources`]; [`Error::Usage`] for one side of several words where more sides are
    /// needed; [`Error::Input`] for a FILE that is not there and looks like something else.
    pub(crate) fn sources_for(&self, purpose: SidesPurpose) -> Result<Vec<Source>> {
        self.check_number(purpose)?;
        self.check_files(purpose)?;
        self.sources()
    }

    /// Says for people what each side of several words is; `sources` are the sides as they are read.
    pub(crate) fn names_of_sides(&self, sources: &[Source]) -> Vec<String> {
        let sides = (1..).zip(self.sides.iter().zip(sources));
        let names =
            sides.filter_map(
                |(number, (side, source))| match (side.several_words(), source) {
                    (Some(words), Source::Files(files)) => {
                        let files = numbers::counted(files.paths().len() as u64, "file");
                        Some(format!("side {number}: {files}: {}", named(words)))
                    }
                    (Some(words), Source::Producer(producer)) => {
                        let outputs = numbers::counted(producer.names().len() as u64, "output");
                        Some(format!("side {number}: {outputs}: {}", named(words)))
                    }
                    _ => None::<String>,
                },
            );
        names.collect()
    }

    /// Lists the files and directories that the first sides were named by, of which `sources` are the sources; of a
    /// pattern the directory that it begins with.
    pub(crate) fn given(&self, sources: &[Source]) -> Vec<PathBuf> {
        let mut given = Vec::new();
        for (side, source) in self.sides.iter().zip(sources) {
            match (side, source) {
                (_, Source::Producer(producer)) => given.extend_from_slice(producer.names()),
                (Side::File(path), _) => given.push(path.clone()),
                (Side::Paths(words), _) => given.extend(words.iter().map(|word| fixed(word))),
                (Side::List(_), Source::Files(files)) => given.extend_from_slice(files.paths()),
                (Side::List(_), _) => {}
            }
        }
        given
    }

    /// Refuses one side of several words where the command needs more sides.
    fn check_number(&self, purpose: SidesPurpose) -> Result<()> {
        let [only] = &self.sides[..] else {
            return Ok(());
        };
        let Some(words) = only.several_words().filter(|_| purpose.least > 1) else {
            return Ok(());
        };
        let number = match words.len() {
            2 => "two".to_owned(),
            more => numbers::grouped(more as u64),
        };
        Err(Error::usage(
            format!("--side {}: is one side of {number} files", named(words)),
            "give each side a --side of its own, such as --side A --side B, or give the files without --side",
        ))
    }

    /// Refuses URLs, and FILEs that are not there and look like a pattern, or like the name of a result.
    fn check_files(&self, purpose: SidesPurpose) -> Result<()> {
        for (index, side) in self.sides.iter().enumerate() {
            if self.command_of(side, index + 1).is_some() || matches!(side, Side::List(_)) {
                continue;
            }
            let is_last = index + 1 == self.sides.len() && index >= purpose.least;
            let of_file = |path: &Path| match side {
                Side::File(_) if !is_missing(path) => None,
                Side::File(_) if path.to_str().is_some_and(has_wildcard) => Some(
                    "give the pattern to --side, which reads all files that match it as one side",
                ),
                Side::File(_) if is_last && purpose.lacks_output => {
                    Some("check the name, or put -o before it if it is where the result goes")
                }
                _ => None,
            };
            for path in side.words() {
                if let Some(advice) = urls::to_read(path).or_else(|| of_file(path)) {
                    return Err(Error::Input {
                        path: path.clone(),
                        source: Errno::NOENT.into(),
                        advice,
                    });
                }
            }
        }
        Ok(())
    }
}

/// Returns a path that exists, or of a pattern the directory that it begins with.
fn fixed(path: &Path) -> PathBuf {
    if !is_missing(path) {
        return path.to_owned();
    }
    let has_wildcards = |component: &std::path::Component<'_>| {
        component.as_os_str().to_str().is_some_and(has_wildcard)
    };
    let fixed: PathBuf = path
        .components()
        .take_while(|it| !has_wildcards(it))
        .collect();
    if fixed.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        fixed
    }
}

fn is_missing(path: &Path) -> bool {
    let found = fs::symlink_metadata(path);
    path != Path::new(STDIN) && found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Lists the first of these words, and the last one if there are more.
fn named(words: &[PathBuf]) -> String {
    let shown: Vec<String> = words
        .iter()
        .take(MOST_NAMED)
        .map(|word| word.display().to_string())
        .collect();
    let mut text = shown.join(" ");
    if words.len() > MOST_NAMED {
        let _always_fits = write!(text, " ... {}", words[words.len() - 1].display());
    }
    text
}
