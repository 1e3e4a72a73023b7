//! Inputs: files, pipes, and the chunks of whole lines that are read from them.
//!
//! *Owns:* opening and identifying inputs ([`Input`]), sampling them ([`sample`]), reading them in
//! chunks that end at line ends ([`chunk`]), and the one place that knows what a line is
//! ([`lines`]). Nothing else in the crate knows terminators.
//!
//! *Invariants.*
//! - All inputs are opened and checked before any work starts.
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
pub(crate) mod sample;
pub(crate) mod spool;
pub(crate) mod stream;

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};

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
        if path.as_ref() == Path::new("-") {
            Self::Stdin
        } else {
            Self::Path(path.as_ref().to_owned())
        }
    }
}

/// An input that was opened and checked.
#[derive(Debug)]
pub(crate) struct Input {
    /// How it is called in messages and statistics.
    name: PathBuf,
    /// Its place in the caller's order.
    number: usize,
    reading: Reading,
    /// Lines and bytes of the last complete reading.
    lines: AtomicU64,
    read_bytes: AtomicU64,
}

#[derive(Debug)]
enum Reading {
    /// A regular file: can be read by position, any number of times. Whether it is in the page
    /// cache is asked before anything else is read of it.
    File {
        path: PathBuf,
        identity: Identity,
        is_warm: bool,
    },
    /// Anything else, read once from its start; `None` after that.
    Stream(Mutex<Option<File>>),
}

/// What tells that a file is still the one that was opened at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    pub(crate) size: u64,
    modified: (i64, i64),
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    /// Which of the properties differ, in words.
    fn difference(&self, now: &Self) -> Option<String> {
        if (self.device, self.inode) != (now.device, now.inode) {
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
    /// Opens and checks all `sources`. The same file given twice counts once.
    ///
    /// # Errors
    /// [`Error::Input`] for the first that cannot be read, [`Error::Usage`] for standard input
    /// twice.
    pub(crate) fn open_all(sources: &[Source]) -> Result<Vec<Self>> {
        if sources.iter().filter(|s| **s == Source::Stdin).count() > 1 {
            return Err(Error::Usage {
                what: "-: standard input was named twice".into(),
                advice: "name it once; its lines can only be read once".into(),
            });
        }
        let mut inputs = Vec::with_capacity(sources.len());
        let mut seen = Vec::with_capacity(sources.len());
        for source in sources {
            let (mut input, metadata) = Self::open(source)?;
            let key = (metadata.dev(), metadata.ino());
            // Standard input may be a named file that somebody has read a part of: never the same.
            if *source == Source::Stdin || !seen.contains(&key) {
                if *source != Source::Stdin {
                    seen.push(key);
                }
                input.number = inputs.len();
                inputs.push(input);
            }
        }
        Ok(inputs)
    }

    fn open(source: &Source) -> Result<(Self, Metadata)> {
        let (name, opened) = match source {
            Source::Path(path) => (path.clone(), File::open(path)),
            Source::Stdin => (PathBuf::from("-"), stdin()),
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
        // Files of /proc and /sys claim to be empty and are not: such a claim is checked.
        let has_known_size = || metadata.size() > 0 || matches!(file.read_at(&mut [0], 0), Ok(0));
        let by_position = metadata.is_file() && *source != Source::Stdin && has_known_size();
        let reading = if by_position {
            Reading::File {
                path: name.clone(),
                identity: Identity::of(&metadata),
                is_warm: file::is_cached(&file, metadata.size()),
            }
        } else {
            Reading::Stream(Mutex::new(Some(file)))
        };
        Ok((Self::new(name, reading), metadata))
    }

    fn new(name: PathBuf, reading: Reading) -> Self {
        Self {
            name,
            number: 0,
            reading,
            lines: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
        }
    }

    /// This input, after it was copied to `path`; messages still call it by its own name.
    pub(crate) fn spooled(self, path: PathBuf) -> Result<Self> {
        let metadata = std::fs::metadata(&path).map_err(|error| unreadable(&path, error))?;
        let identity = Identity::of(&metadata);
        Ok(Self {
            reading: Reading::File {
                path,
                identity,
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
        let Reading::File { identity, .. } = &self.reading else {
            return false;
        };
        path.metadata().is_ok_and(|metadata| {
            (metadata.dev(), metadata.ino()) == (identity.device, identity.inode)
        })
    }

    /// Whether it can be read (again): a stream only before its one reading.
    pub(crate) fn can_be_read(&self) -> bool {
        match &self.reading {
            Reading::File { .. } => true,
            Reading::Stream(file) => file
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
        match &self.reading {
            Reading::File { identity, .. } => Some(identity.size),
            Reading::Stream(_) => None,
        }
    }

    /// Whether it can be read by position, and more than once.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.reading, Reading::File { .. })
    }

    /// Opens a regular file for one reading and checks that it is still the same; `None` for a
    /// stream.
    pub(crate) fn open_file(&self) -> Result<Option<(File, u64)>> {
        let Reading::File { path, identity, .. } = &self.reading else {
            return Ok(None);
        };
        let file = File::open(path).map_err(|error| unreadable(&self.name, error))?;
        self.verify(&file)?;
        Ok(Some((file, identity.size)))
    }

    /// Whether most of the file was in the page cache when it was checked.
    pub(crate) fn is_warm(&self) -> bool {
        matches!(self.reading, Reading::File { is_warm: true, .. })
    }

    /// Takes the stream for its one reading.
    pub(crate) fn take_stream(&self) -> Result<File> {
        let taken = match &self.reading {
            Reading::Stream(file) => file.lock().unwrap_or_else(PoisonError::into_inner).take(),
            Reading::File { .. } => None,
        };
        taken.ok_or_else(|| Error::Input {
            path: self.name.clone(),
            source: io::Error::other("a pipe can be read only once"),
            advice: "write it to a file first",
        })
    }

    /// Compares the file that was read with the one that was checked at the start.
    pub(crate) fn verify(&self, file: &File) -> Result<()> {
        let Reading::File { identity, .. } = &self.reading else {
            return Ok(());
        };
        let metadata = file
            .metadata()
            .map_err(|error| unreadable(&self.name, error))?;
        match identity.difference(&Identity::of(&metadata)) {
            Some(what) => Err(Error::InputChanged {
                path: self.name.clone(),
                what,
            }),
            None => Ok(()),
        }
    }
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
        io::ErrorKind::PermissionDenied => "check its permissions and those of its directories",
        _ if path == Path::new("-") => {
            "check what standard input comes from, and that it is not closed"
        }
        _ => "check the file and the disk it is on",
    };
    Error::Input {
        path: path.to_owned(),
        source,
        advice,
    }
}
