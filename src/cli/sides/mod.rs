//! The sides of an operation as they are named on the command line.
//!
//! *Owns:* the arguments FILE, --side, --files-from, --via and --name, and what they mean. *Invariants:* sides count
//! in the order of the command line, however they are named; nothing is looked at before
//! [`InputArguments::sources`]. *Cost:* the paths of all files, within the memory limit.

mod arguments;
mod expand;
mod labels;
mod list;
mod names;
mod stdin;
mod via;
mod words;

use std::path::{Path, PathBuf};

use outset::{Error, Files, Interrupt, Producer, Result, Source};

pub(crate) use self::arguments::{FILES, SIDES};
use self::expand::expand;
pub(crate) use self::labels::LabelArguments;
pub(crate) use self::list::List;
pub(crate) use self::names::Names;
use self::stdin::{STDIN, check_part};
pub(crate) use self::via::CommandWords;
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
    /// The command that all sides are read through.
    via: Option<CommandWords>,
    /// The commands of single sides, by their numbers from 1; `None` for a side that is read as files.
    via_of: Vec<(usize, Option<CommandWords>)>,
    /// True if what the commands say is passed on.
    is_verbose: bool,
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

impl Side {
    /// Returns the words that name it: one at least.
    fn words(&self) -> &[PathBuf] {
        match self {
            Self::File(path) | Self::List(path) => std::slice::from_ref(path),
            Self::Paths(paths) => paths,
        }
    }

    /// Returns true if its bytes are those of standard input.
    fn is_stdin(&self) -> bool {
        match self {
            Self::File(path) => path == Path::new(STDIN),
            Self::Paths(paths) => paths.as_slice() == [Path::new(STDIN)],
            Self::List(_) => false,
        }
    }
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
        let reads_stdin = |side: &&Side| match side {
            Side::List(path) => path == Path::new(STDIN),
            side => side.is_stdin(),
        };
        if self.lists().any(|list| list == Path::new(STDIN))
            && self.sides.iter().filter(reads_stdin).count() > 1
        {
            return Err(Error::usage(
                "-: standard input was named twice",
                "name it once, because it can only be read once",
            ));
        }
        let absent = self
            .via_of
            .iter()
            .find(|(number, _)| *number > self.sides.len());
        if let Some((number, _)) = absent {
            return Err(Error::usage(
                format!("--via-of {number}: there is no side {number}"),
                "number the sides from 1, in the order of the command line",
            ));
        }
        let mut names = Names::new(&self.machine.options(&Interrupt::new()));
        let sides = self.sides.iter().zip(1..);
        let sources = sides.map(|(side, number)| match self.command_of(side, number) {
            Some(words) => self.producer(side, words, &mut names),
            None => self.source(side, &mut names),
        });
        let sources = sources.collect::<Result<_>>()?;
        names.finish()?;
        Ok(sources)
    }

    /// Returns the words of the command that this side, with this number, is read through.
    fn command_of(&self, side: &Side, number: usize) -> Option<&CommandWords> {
        let own = self.via_of.iter().rfind(|(other, _)| *other == number);
        let words = own.map_or(self.via.as_ref(), |(_, words)| words.as_ref());
        words.filter(|_| !side.is_stdin())
    }

    /// Makes the source of what a command writes for the paths of a side, which are not looked at.
    fn producer(&self, side: &Side, words: &CommandWords, names: &mut Names) -> Result<Source> {
        let name = match side {
            Side::File(path) => {
                names.push(path.clone())?;
                path.as_path()
            }
            Side::Paths(paths) => {
                for path in paths {
                    check_part(path)?;
                    names.push(path.clone())?;
                }
                paths.first().map_or(Path::new(""), PathBuf::as_path)
            }
            Side::List(list) => {
                self.read_list(list, names)?;
                list.as_path()
            }
        };
        let producer = Producer::new(name, words.words(), names.take());
        Ok(Source::from(producer.heard(self.is_verbose)))
    }

    /// Adds the names that a list has.
    fn read_list(&self, list: &Path, names: &mut Names) -> Result<()> {
        let terminator = if self.null { 0 } else { b'\n' };
        names.read(List::open(list, terminator, LIST_ADVICE)?, check_part)
    }

    fn source(&self, side: &Side, names: &mut Names) -> Result<Source> {
        match side {
            Side::File(path) => Ok(Source::from(path)),
            Side::Paths(paths) => source_of(paths, names),
            Side::List(list) => {
                self.read_list(list, names)?;
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
