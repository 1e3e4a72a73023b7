//! The sides of an operation as they are named on the command line.
//!
//! *Owns:* the arguments FILE, --side and --files-from, and what they mean. *Invariants:* sides count in the order of
//! the command line, however they are named; nothing is looked at before [`InputArguments::sources`]. *Cost:* the
//! paths of all files, within the memory limit.

mod arguments;
mod expand;
mod list;
mod names;
mod stdin;
mod words;

use std::path::{Path, PathBuf};

use outset::{Error, Files, Interrupt, Result, Source};

pub(crate) use self::arguments::{FILES, SIDES};
use self::expand::expand;
pub(crate) use self::list::List;
pub(crate) use self::names::Names;
use self::stdin::{STDIN, check_part};
pub(crate) use self::words::SidesPurpose;
use super::options::MachineArguments;

/// Advice where a list cannot be read.
const LIST_ADVICE: &str = "give --files-from a file that lists the names of other files";

/// The sides that an operation is about, in the order of the command line.
#[derive(Debug, Clone)]
pub(crate) struct InputArguments {
    sides: Vec<Side>,
    /// True if names in lists end in NUL.
    null: bool,
    /// The memory that names may take, in bytes.
    machine: MachineArguments,
}

/// One side as it was named.
#[derive(Debug, Clone)]
enum Side {
    /// A file of its own.
    File(PathBuf),
    /// Files, directories and patterns.
    Paths(Vec<PathBuf>),
    /// The files that this file lists.
    List(PathBuf),
}

impl InputArguments {
    /// Tells whether no side was named.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn is_empty(&self) -> bool {
        self.sides.is_empty()
    }

    /// Yields the files with the names of others, which the command reads as well.
    pub(crate) fn lists(&self) -> impl Iterator<Item = &PathBuf> {
        self.sides.iter().filter_map(|side| match side {
            Side::List(list) => Some(list),
            Side::File(_) | Side::Paths(_) => None,
        })
    }

    /// Returns the sides as the library reads them: directories and patterns are looked up, and lists are read. Call it
    /// once: a list may be standard input.
    ///
    /// # Errors
    /// [`Error::Usage`] for a directory or a pattern without files, for standard input in a side of several files or
    /// named twice; [`Error::Input`] for what cannot be looked at; [`Error::MemoryPlan`] for more files than the limit
    /// has room for.
    fn sources(&self) -> Result<Vec<Source>> {
        let is_stdin = |side: &&Side| match side {
            Side::File(path) | Side::List(path) => path == Path::new(STDIN),
            Side::Paths(paths) => paths.as_slice() == [Path::new(STDIN)],
        };
        if self.lists().any(|list| list == Path::new(STDIN))
            && self.sides.iter().filter(is_stdin).count() > 1
        {
            return Err(Error::usage(
                "-: standard input was named twice",
                "name it once, because it can only be read once",
            ));
        }
        let mut names = Names::new(&self.machine.options(&Interrupt::new()));
        let sides = self.sides.iter();
        let sources = sides.map(|side| self.source(side, &mut names));
        let sources = sources.collect::<Result<_>>()?;
        names.finish()?;
        Ok(sources)
    }

    fn source(&self, side: &Side, names: &mut Names) -> Result<Source> {
        match side {
            Side::File(path) => Ok(Source::from(path)),
            Side::Paths(paths) => source_of(paths, names),
            Side::List(list) => {
                let terminator = if self.null { 0 } else { b'\n' };
                names.read(List::open(list, terminator, LIST_ADVICE)?, check_part)?;
                Ok(Source::from(Files::new(list, names.take())))
            }
        }
    }
}

/// Makes the side of these files, directories and patterns.
fn source_of(paths: &[PathBuf], names: &mut Names) -> Result<Source> {
    if let [path] = paths
        && path == Path::new(STDIN)
    {
        return Ok(Source::Stdin);
    }
    for path in paths {
        expand(path, names)?;
    }
    let mut files = names.take();
    // One file is read as it would be without --side: it may be a FIFO.
    if files == paths && files.len() == 1 {
        return Ok(Source::Path(files.remove(0)));
    }
    let name = paths.first().map_or(Path::new(""), PathBuf::as_path);
    Ok(Source::from(Files::new(name, files)))
}
