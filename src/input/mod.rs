//! Inputs: files, pipes, and the chunks of whole lines that are read from them.
//!
//! *Owns:* opening and identifying inputs ([`Input`]), sampling them ([`sample`]), one reading of an input
//! ([`reading`]) in chunks that end at line ends ([`chunk`]), and the one place that knows what a line is
//! ([`lines`]). Nothing else in the crate knows terminators.
//!
//! *Invariants.*
//! - All inputs are opened and checked before any work starts. What an input is decides whether it was
//!   named twice, not what it is called ([`FileId`]): a file counts as one, and what can be read only
//!   once (a pipe, a FIFO, a terminal) is refused.
//! - A regular file is closed again after the check and opened anew for each pass, so that any
//!   number of inputs runs under any descriptor limit. Its identity (device, inode, size, time of
//!   writing) is compared at every opening and after every reading: a changed input fails the run.
//! - A pipe stays open and is read once. What must be read twice is spooled first.
//!
//! *Cost:* no memory that grows with the input; one descriptor per pipe, one per file being read.

pub(crate) mod chunk;
pub(crate) mod file;
pub(crate) mod lines;
pub(crate) mod long_lines;
pub(crate) mod reading;
pub(crate) mod sample;
pub(crate) mod stream;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::sys::file_id::FileId;

/// What a user names as an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file, a FIFO or a device.
    Path(PathBuf),
    /// Standard input; at most once in a run.
    Stdin,
}

impl<P: AsRef<Path>> From<P> for Source {
    /// `-` is standard input, everything else a path.
    fn from(path: P) -> Self {
        if path.as_ref() == Path::new(STDIN) {
            Self::Stdin
        } else {
            Self::Path(path.as_ref().to_owned())
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(f),
            Self::Stdin => f.write_str(STDIN),
        }
    }
}

/// How standard input is called in messages.
const STDIN: &str = "-";

/// An input that was opened and checked.
#[derive(Debug)]
pub(crate) struct Input {
    /// How it is called in messages and statistics.
    name: PathBuf,
    /// Its place in the caller's order, from 0, repeats of a file not counted.
    number: usize,
    /// The sides that it is, as places in what the caller named, from 1: more than one if it was named again.
    sides: Vec<u32>,
    /// The ordinal of its first byte, where the order of its lines is kept.
    first_ordinal: Option<u64>,
    /// How its bytes are reached.
    access: Access,
    /// Whether it is gone once it was read, under whatever name: a pipe, a FIFO, a socket, a terminal.
    is_read_once: bool,
    /// Lines of the last complete reading; 0 before it.
    lines: AtomicU64,
    /// Bytes of the last complete reading, terminators included.
    read_bytes: AtomicU64,
}

#[derive(Debug)]
enum Access {
    /// A regular file: can be read by position, any number of times. Whether it is in the page
    /// cache is asked before anything else is read of it.
    File {
        path: PathBuf,
        state: FileState,
        is_warm: bool,
    },
    /// Anything else, read once from its start; `None` after that.
    Stream(Mutex<Option<File>>),
}

/// What tells that a file is still as it was at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileState {
    /// Device and inode.
    id: FileId,
    /// Bytes.
    pub(crate) size: u64,
    /// Time of the last write: seconds, nanoseconds.
    modified: (i64, i64),
}

impl FileState {
    fn of(metadata: &Metadata) -> Self {
        Self {
            id: FileId::of(metadata),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    /// Which of the properties differ, in words.
    fn difference(&self, now: &Self) -> Option<String> {
        if self.id != now.id {
            return Some("another file has its name".into());
        }
        if self.size != now.size {
            return Some(format!(
                "{} bytes at the start, {} now",
                self.size, now.size
            ));
        }
        // The change time is no evidence: it also moves when a file is linked or renamed.
        (self.modified != now.modified).then(|| "it was written to".into())
    }
}

impl Input {
    /// Opens and checks all `sources`. The same file named twice is one input, and two sides.
    ///
    /// # Errors
    /// [`Error::Input`] for the first that cannot be read, [`Error::Usage`] for standard input, or
    /// anything else that can be read only once, named twice.
    pub(crate) fn open_all(sources: &[Source]) -> Result<Vec<Self>> {
        if sources.iter().filter(|s| **s == Source::Stdin).count() > 1 {
            return Err(Error::Usage {
                what: "-: standard input was named twice".into(),
                advice: "name it once, because it can only be read once".into(),
            });
        }
        let mut inputs: Vec<Self> = Vec::with_capacity(sources.len());
        // Sorted: a table of hashes would ask the system for a random key, and panic where there is none.
        let mut seen: BTreeMap<FileId, usize> = BTreeMap::new();
        for (source, side) in sources.iter().zip(1..) {
            // Before it is opened: a FIFO whose writer is done would be waited for.
            if let Source::Path(path) = source
                && let Some(&first) = FileId::at(path).ok().and_then(|id| seen.get(&id))
            {
                inputs[first].refuse_if_read_once(path)?;
            }
            let (mut input, id) = Self::open(source)?;
            // Another process may have read a part of standard input: it is never the same as its file.
            if *source != Source::Stdin || input.is_read_once {
                match seen.entry(id) {
                    Entry::Vacant(place) => {
                        place.insert(inputs.len());
                    }
                    Entry::Occupied(first) => {
                        let first = &mut inputs[*first.get()];
                        first.refuse_if_read_once(&input.name)?;
                        first.sides.push(side);
                        continue;
                    }
                }
            }
            input.number = inputs.len();
            input.sides = vec![side];
            inputs.push(input);
        }
        Ok(inputs)
    }

    /// The error for a second name of what can be read only once.
    fn refuse_if_read_once(&self, name: &Path) -> Result<()> {
        if !self.is_read_once {
            return Ok(());
        }
        let (first, second) = (self.name.display(), name.display());
        let what = if self.name == name {
            format!("{second}: was named twice, and can only be read once")
        } else {
            format!("{second}: is the same as {first}, and can only be read once")
        };
        Err(Error::Usage {
            what,
            advice: "name it once, or copy it to a file".into(),
        })
    }

    /// Opens one source, finds out what it is, and closes it again if it can be opened anew.
    fn open(source: &Source) -> Result<(Self, FileId)> {
        let (name, opened) = match source {
            Source::Path(path) => (path.clone(), File::open(path)),
            Source::Stdin => (PathBuf::from(STDIN), stdin()),
        };
        let file = opened.map_err(|error| unreadable(&name, error))?;
        let metadata = file.metadata().map_err(|error| unreadable(&name, error))?;
        if metadata.is_dir() {
            return Err(Error::Input {
                path: name,
                source: io::Error::from_raw_os_error(rustix::io::Errno::ISDIR.raw_os_error()),
                advice: "name the files in it",
            });
        }
        // Whether it is cached is asked first: a look at its size reads of it.
        let is_warm = metadata.is_file() && file::is_cached(&file, metadata.size());
        let by_position = metadata.is_file() && *source != Source::Stdin && has_size(&file);
        let is_read_once = is_read_once(&file, &metadata);
        let access = if by_position {
            Access::File {
                path: name.clone(),
                state: FileState::of(&metadata),
                is_warm,
            }
        } else {
            Access::Stream(Mutex::new(Some(file)))
        };
        let input = Self {
            name,
            number: 0,
            sides: Vec::new(),
            first_ordinal: None,
            access,
            is_read_once,
            lines: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
        };
        Ok((input, FileId::of(&metadata)))
    }

    /// This input, after it was copied to `path`; messages still call it by its own name.
    pub(crate) fn spooled(self, path: PathBuf) -> Result<Self> {
        let metadata = std::fs::metadata(&path).map_err(|error| unreadable(&path, error))?;
        let state = FileState::of(&metadata);
        Ok(Self {
            access: Access::File {
                path,
                state,
                is_warm: false,
            },
            ..self
        })
    }

    /// The same under another name.
    pub(crate) fn called(self, name: &str) -> Self {
        Self {
            name: name.into(),
            ..self
        }
    }

    /// Lets its lines have ordinals that begin with this one; `None` for lines whose order does not matter.
    pub(crate) fn set_first_ordinal(&mut self, first_ordinal: Option<u64>) {
        self.first_ordinal = first_ordinal;
    }

    /// The ordinal of its first byte, where the order of its lines is kept.
    pub(crate) fn first_ordinal(&self) -> Option<u64> {
        self.first_ordinal
    }

    /// The sides that it is, from 1.
    pub(crate) fn sides(&self) -> &[u32] {
        &self.sides
    }

    /// Its place in the caller's order, repeats of a file not counted.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Notes what a complete reading found.
    pub(crate) fn note_reading(&self, lines: u64, bytes: u64) {
        self.lines.store(lines, Ordering::Relaxed);
        self.read_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Its lines, once it was read.
    pub(crate) fn lines(&self) -> u64 {
        self.lines.load(Ordering::Relaxed)
    }

    /// Its bytes, once it was read.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }

    /// Whether the file is the one at `path`.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        let Access::File { state, .. } = &self.access else {
            return false;
        };
        FileId::at(path).is_ok_and(|id| id == state.id)
    }

    /// Whether it can be read (again): a stream only before its one reading.
    pub(crate) fn can_be_read(&self) -> bool {
        match &self.access {
            Access::File { .. } => true,
            Access::Stream(file) => file
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .is_some(),
        }
    }

    /// How the input is called.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// Its size, where that is known before reading it.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match &self.access {
            Access::File { state, .. } => Some(state.size),
            Access::Stream(_) => None,
        }
    }

    /// Whether it can be read by position, and more than once.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.access, Access::File { .. })
    }

    /// Opens a regular file for one reading and checks that it is still the same; `None` for a
    /// stream. The descriptor is the caller's, so no more are open than there are readings.
    ///
    /// # Errors
    /// [`Error::Input`] where it cannot be opened any more, [`Error::InputChanged`].
    pub(crate) fn open_file(&self) -> Result<Option<(File, u64)>> {
        let Access::File { path, state, .. } = &self.access else {
            return Ok(None);
        };
        let file = File::open(path).map_err(|error| unreadable(&self.name, error))?;
        self.verify(&file)?;
        Ok(Some((file, state.size)))
    }

    /// Whether most of the file was in the page cache when it was checked.
    pub(crate) fn is_warm(&self) -> bool {
        matches!(self.access, Access::File { is_warm: true, .. })
    }

    /// Takes the stream for its one reading.
    ///
    /// # Errors
    /// [`Error::Input`] the second time, and for a regular file.
    pub(crate) fn take_stream(&self) -> Result<File> {
        let taken = match &self.access {
            Access::Stream(file) => file.lock().unwrap_or_else(PoisonError::into_inner).take(),
            Access::File { .. } => None,
        };
        taken.ok_or_else(|| Error::Input {
            path: self.name.clone(),
            source: io::Error::other("a pipe can be read only once"),
            advice: "write it to a file first",
        })
    }

    /// Compares the file that was read with the one that was checked at the start: same device and inode, size
    /// and time of writing. A write that changes none of these is not noticed here.
    ///
    /// # Errors
    /// [`Error::InputChanged`], with what differs.
    pub(crate) fn verify(&self, file: &File) -> Result<()> {
        let Access::File { state, .. } = &self.access else {
            return Ok(());
        };
        let metadata = file
            .metadata()
            .map_err(|error| unreadable(&self.name, error))?;
        match state.difference(&FileState::of(&metadata)) {
            Some(what) => Err(Error::InputChanged {
                path: self.name.clone(),
                what,
            }),
            None => Ok(()),
        }
    }
}

/// Whether the size of a regular file is true. Files of /proc claim to be empty and are not, those of
/// /sys claim a page and have less: they are read to their end, like a stream.
fn has_size(file: &File) -> bool {
    let Ok(metadata) = file.metadata() else {
        return true;
    };
    let size = metadata.size();
    // Behind an empty file there must be nothing, and any other must have its last byte.
    let wanted = usize::from(size > 0);
    match file.read_at(&mut [0], size.saturating_sub(1)) {
        Ok(read) if read == wanted => true,
        // One that is cut short at this moment has changed: the next look at it tells.
        Ok(_) => file.metadata().is_ok_and(|now| now.size() != size),
        // Reading it fails later, and says why.
        Err(_) => true,
    }
}

/// Whether what was read of `file` can be read again under no name. Other devices, such as
/// `/dev/null`, give the same at every opening.
fn is_read_once(file: &File, metadata: &Metadata) -> bool {
    let kind = metadata.file_type();
    kind.is_fifo() || kind.is_socket() || (kind.is_char_device() && rustix::termios::isatty(file))
}

/// Standard input as a file of its own, so that it is closed like any other. One that is only for
/// writing is refused before any work is done.
fn stdin() -> io::Result<File> {
    use rustix::fs::OFlags;
    let stdin = rustix::io::dup(std::io::stdin())?;
    let flags = rustix::fs::fcntl_getfl(&stdin)?;
    // A place that was opened as such and not as a file stands for a stream that was closed.
    let cannot_be_read =
        flags.contains(OFlags::PATH) || flags.intersection(OFlags::RWMODE) == OFlags::WRONLY;
    if cannot_be_read {
        return Err(rustix::io::Errno::BADF.into());
    }
    Ok(File::from(stdin))
}

/// The error for an input that cannot be opened or read.
pub(crate) fn unreadable(path: &Path, source: io::Error) -> Error {
    let advice = match source.kind() {
        io::ErrorKind::NotFound => "check the name",
        io::ErrorKind::PermissionDenied => "check the permissions of the file and its directories",
        _ if path == Path::new(STDIN) => "check that standard input is open and readable",
        _ => "check the file and the disk it is on",
    };
    Error::Input {
        path: path.to_owned(),
        source,
        advice,
    }
}
