//! The files that a command reads and those that it writes: none may be both, and none written twice.
//!
//! *Owns:* the one rule for all commands. The file itself decides, not its name ([`Destination`]): links,
//! other spellings, `/dev/stdin` and redirected standard streams included.
//!
//! *Invariants:*
//! - A file that a command reads is never one of its outputs. (A filter that a command changes is its
//!   output, and so may not be one of its inputs.)
//! - Two outputs that are named never go to one regular file. A standard stream may go to the file of
//!   another output, because the user has redirected it there; so may several outputs to one FIFO. The result and what
//!   it drops never go to one place: nobody could tell them apart.
//! - Devices and sockets hold nothing that could be lost, and may be both.

use std::path::{Path, PathBuf};

use outset::{CompressorPlan, Consumer, Destination, Error, FileId, Files, Result, Source};
use rustix::fs::{FileType, fstat, stat};

use super::directory::DirectoryClaim;

/// Standard input or output, as the command line names it.
const STREAM: &str = "-";
/// The words for the filter that a command changes, where an option would stand.
const CHANGED_FILTER: &str = "the changed filter";
/// The option for what the result drops.
const DUPLICATES: &str = "--duplicates";
/// The words for standard error.
const STDERR: &str = "standard error";

/// The files of a command: what it reads, and the outputs that it has claimed so far. When all are
/// claimed, [`Claims::open`] opens those that the command fills itself.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    inputs: Vec<(PathBuf, Destination)>,
    /// Sides of many files, with what each file is, as far as it is there.
    sides: Vec<(Files, Vec<Option<FileId>>)>,
    outputs: Vec<Output>,
    /// `-` is standard output, and standard error for statistics.
    pub(super) result: Option<PathBuf>,
    /// The directory that takes the result, in the place of one file.
    pub(super) directory: Option<DirectoryClaim>,
    /// The command that takes the result, whose name is then no file.
    pub(super) consumer: Option<Consumer>,
    pub(super) duplicates: Option<PathBuf>,
    pub(super) filter: Option<PathBuf>,
    pub(super) stats: Option<PathBuf>,
    pub(super) page: Option<PathBuf>,
    /// The compression of the result, and of what it drops.
    pub(super) compressing: [Option<CompressorPlan>; 2],
    /// True if the user has said how they are stored: their names promise nothing then.
    pub(super) is_stored_as_asked: bool,
}

#[derive(Debug)]
struct Output {
    path: PathBuf,
    /// The word of the command line that asked for it.
    option: &'static str,
    destination: Destination,
    kind: FileType,
}

impl Claims {
    /// Claims the files at `paths` for a command that reads them; `-` is standard input. A path at which nothing exists
    /// is not claimed: opening it fails, with a better message.
    pub(crate) fn reading<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Self {
        Self {
            inputs: paths.into_iter().filter_map(|path| claim(path)).collect(),
            ..Self::default()
        }
    }

    /// Claims `sources` as well, of which standard input is one that a command may read.
    pub(crate) fn and_sources(mut self, sources: &[Source]) -> Self {
        for source in sources {
            match source {
                Source::Path(path) => self.inputs.extend(claim(path)),
                Source::Files(files) => {
                    let ids = files.paths().iter().map(|path| FileId::at(path).ok());
                    self.sides.push((files.clone(), ids.collect()));
                }
                // No path.
                _ => {}
            }
        }
        if sources.contains(&Source::Stdin) {
            self.inputs.extend(claim(Path::new(STREAM)));
        }
        self
    }

    /// Claims the result; `option` asks for it. Without a path it goes to standard output.
    ///
    /// # Errors
    /// As [`Claims::write`].
    pub(crate) fn write_result(&mut self, path: Option<&Path>, option: &'static str) -> Result<()> {
        let path = path.unwrap_or(Path::new(STREAM));
        self.result = Some(path.to_owned());
        self.write(Some(path), option)
    }

    /// Refuses an output in the directory of the result, which takes its place as a whole.
    fn refuse_in_directory(&self, path: &Path) -> Result<()> {
        let directory = self.directory.as_ref().filter(|_| !is_stream(path));
        if !directory.is_some_and(|directory| directory.contains(path)) {
            return Ok(());
        }
        Err(Error::usage(
            format!("{}: is in the directory of --out-dir", path.display()),
            "choose a path outside of it",
        ))
    }

    /// Claims the file for what the result drops, if it is wanted.
    ///
    /// # Errors
    /// As [`Claims::write`].
    pub(crate) fn write_duplicates(&mut self, path: Option<&Path>) -> Result<()> {
        self.duplicates = path.map(Path::to_owned);
        path.map_or(Ok(()), |path| self.write(Some(path), DUPLICATES))
    }

    /// Claims a filter that the command writes itself; `option` asks for it.
    ///
    /// # Errors
    /// As [`Claims::write`].
    pub(crate) fn write_filter(&mut self, path: &Path, option: &'static str) -> Result<()> {
        self.filter = Some(path.to_owned());
        self.write(Some(path), option)
    }

    /// Claims the statistics, if they are wanted; `-` is standard error.
    ///
    /// # Errors
    /// As [`Claims::write`].
    pub(crate) fn write_stats(&mut self, path: Option<&Path>) -> Result<()> {
        self.stats = path.map(Path::to_owned);
        match path {
            Some(path) if !is_stream(path) => self.write(Some(path), "--stats"),
            Some(_) => self.refuse_inputs(Output::stderr().as_ref()),
            None => Ok(()),
        }
    }

    /// Claims the filter that the command changes.
    ///
    /// # Errors
    /// [`Error::Usage`] where its lines are to be read from it, too.
    pub(crate) fn change_filter(&mut self, path: &Path) -> Result<()> {
        self.write_filter(path, CHANGED_FILTER)
    }

    /// Refuses an output that is one of the inputs.
    fn refuse_inputs(&self, output: Option<&Output>) -> Result<()> {
        let Some(output) = output.filter(|output| !output.holds_nothing()) else {
            return Ok(());
        };
        let is_read = |(_, input): &&(PathBuf, Destination)| *input == output.destination;
        let found = self.inputs.iter().find(is_read).map(|(path, _)| path);
        let found = found.or_else(|| {
            let Destination::Existing(id) = output.destination else {
                return None;
            };
            self.sides.iter().find_map(|(files, ids)| {
                let index = ids.iter().position(|other| *other == Some(id))?;
                files.paths().get(index)
            })
        });
        found.map_or(Ok(()), |input| Err(output.refused_as_input(input)))
    }

    /// Claims the page, if it is wanted.
    ///
    /// # Errors
    /// As [`Claims::write`].
    pub(crate) fn write_page(&mut self, path: Option<&Path>) -> Result<()> {
        self.page = path.map(Path::to_owned);
        path.map_or(Ok(()), |path| self.write(Some(path), "--report"))
    }

    /// Claims an output that others open; `option` asks for it. Without a path it is standard output, as
    /// with `-`.
    ///
    /// # Errors
    /// [`Error::Usage`] where the command reads the file, or has claimed it for another output, and where it is in the
    /// directory of the result, which is claimed first.
    pub(crate) fn write(&mut self, path: Option<&Path>, option: &'static str) -> Result<()> {
        let path = path.unwrap_or(Path::new(STREAM));
        self.refuse_in_directory(path)?;
        // A link that leads nowhere cannot be opened, and is refused then.
        let output = Output::new(path, option);
        self.refuse_inputs(output.as_ref())?;
        let Some(output) = output else {
            return Ok(());
        };
        if let Some(other) = self.outputs.iter().find(|other| output.clashes_with(other)) {
            return Err(output.refused_beside(other));
        }
        self.outputs.push(output);
        Ok(())
    }
}

/// Claims the file that is read at `path`, if it is there.
fn claim(path: &Path) -> Option<(PathBuf, Destination)> {
    let id = if is_stream(path) {
        FileId::of_open(std::io::stdin())
    } else {
        FileId::at(path)
    };
    Some((path.to_owned(), Destination::Existing(id.ok()?)))
}

impl Output {
    fn new(path: &Path, option: &'static str) -> Option<Self> {
        let (destination, found) = if is_stream(path) {
            let id = FileId::of_open(std::io::stdout()).ok()?;
            (Destination::Existing(id), fstat(std::io::stdout()))
        } else {
            (Destination::of(path).ok()?, stat(path))
        };
        let kind = found.map_or(FileType::RegularFile, |stat| {
            FileType::from_raw_mode(stat.st_mode)
        });
        Some(Self {
            path: path.to_owned(),
            option,
            destination,
            kind,
        })
    }

    /// Claims standard error, which has no name among the outputs.
    fn stderr() -> Option<Self> {
        let id = FileId::of_open(std::io::stderr()).ok()?;
        let stat = fstat(std::io::stderr()).ok()?;
        Some(Self {
            path: STREAM.into(),
            option: STDERR,
            destination: Destination::Existing(id),
            kind: FileType::from_raw_mode(stat.st_mode),
        })
    }

    /// Tells whether nothing can be lost there: a terminal, `/dev/null`, a socket.
    fn holds_nothing(&self) -> bool {
        matches!(self.kind, FileType::CharacterDevice | FileType::Socket)
    }

    /// Tells whether two outputs would be one file. A standard stream may be redirected to where another output goes,
    /// but it is one output alone.
    fn clashes_with(&self, other: &Self) -> bool {
        let is_one = self.destination == other.destination;
        match (is_stream(&self.path), is_stream(&other.path)) {
            (true, true) => true,
            // Claimed behind the result, and before all others.
            _ if is_one && self.option == DUPLICATES => !self.holds_nothing(),
            (false, false) => is_one && self.kind == FileType::RegularFile,
            _ => false,
        }
    }

    fn refused_as_input(&self, input: &Path) -> Error {
        let (input, option) = (input.display(), self.option);
        let (what, advice) = if is_stream(&self.path) {
            let stream = if option == STDERR {
                STDERR
            } else {
                "standard output"
            };
            let what = format!("{stream}: goes to {input}, which this command reads");
            (what, "redirect it to another file".to_owned())
        } else if option == CHANGED_FILTER {
            let what = format!("{input}: is the filter that this command changes");
            (
                what,
                "name the files with the lines to insert or remove".to_owned(),
            )
        } else {
            let path = self.path.display();
            let what = format!("{path}: this command reads it, but {option} would replace it");
            (what, format!("name another file for {option}"))
        };
        Error::usage(what, advice)
    }

    fn refused_beside(&self, other: &Self) -> Error {
        let path = if is_stream(&self.path) {
            "standard output".to_owned()
        } else {
            self.path.display().to_string()
        };
        let (option, other) = (self.option, other.option);
        let what = if other == CHANGED_FILTER {
            format!(
                "{path}: is the filter that this command changes, but {option} would replace it"
            )
        } else {
            format!("{path}: both {other} and {option} would write to it")
        };
        Error::usage(what, format!("name another file for {option}"))
    }
}

fn is_stream(path: &Path) -> bool {
    path == Path::new(STREAM)
}
