//! An input that a program reads itself, or has in memory.
//!
//! *Owns:* [`Reader`], and the thread that feeds what it gives into a stream. To the engine it is one more pipe: it is
//! read once, and copied to temporary space where it is needed twice.
//!
//! ```text
//!  thread `feed`: Read::read ──▶ 64 KiB ──▶ socket ──▶ StoppableStream, on a thread of the run
//! ```
//!
//! 1. Opening the inputs starts the thread, with one end of a pair of sockets. A socket and no pipe: writing to one
//!    whose other end is closed can be an error without a signal.
//! 2. The thread writes what the reader gives, and waits while the socket is full.
//! 3. At its end it notes whether the reader came to its end, and then closes the socket. So whoever sees the end of
//!    the stream finds the note. A reader that panics leaves none, which is a failure, too.
//! 4. A run that ends early closes the other end; the thread ends at its next write. Nobody waits for it: a reader may
//!    be silent for as long as it wants.
//!
//! *Invariants:* the end of a stream counts as the end of the input only after the reader said so. *Cost:* a thread, 64
//! KiB, and the buffer of a socket.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rustix::io::Errno;
use rustix::net::SendFlags;

use crate::decode::stream::Writer;
use crate::error::{Error, Result};

/// Bytes that are asked of a reader at once: 64 KiB.
const PIECE: usize = 64 << 10;

/// The reader that gives the bytes.
type Bytes = Box<dyn Read + Send>;

/// An input that is read through [`std::io::Read`]: of a program's own source of lines, or of lines in memory. It can
/// be read by one run, once.
///
/// ```
/// use outset::{Options, Reader, Source, intersect};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("b");
/// std::fs::write(&path, "banana\ncherry\n")?;
///
/// let in_memory = Source::from(Reader::new("fruit", &b"apple\nbanana\n"[..]));
/// let mut common = Vec::new();
/// intersect(&[in_memory, Source::from(&path)], &Options::default(), &mut |line: &[u8]| {
///     common.push(line.to_vec());
///     Ok(())
/// })?;
/// assert_eq!(common, [b"banana"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Reader {
    name: PathBuf,
    /// `None` once a run has it.
    bytes: Arc<Mutex<Option<Bytes>>>,
}

impl Reader {
    /// Reads lines from `bytes`, on a thread of its own. Messages and statistics call them `name`. What is compressed
    /// is decoded as from a pipe. If reading fails or panics, so does the run.
    pub fn new(name: impl Into<PathBuf>, bytes: impl Read + Send + 'static) -> Self {
        Self {
            name: name.into(),
            bytes: Arc::new(Mutex::new(Some(Box::new(bytes)))),
        }
    }

    /// Returns the name that messages have for it.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Starts the thread that reads from this reader; returns the stream that the thread writes to.
    ///
    /// # Errors
    /// [`Error::Usage`] the second time; [`Error::Input`] where the system refuses sockets or a thread.
    pub(crate) fn start(&self) -> Result<(File, Arc<dyn Writer>)> {
        let bytes = self.bytes.lock().take();
        let Some(bytes) = bytes else {
            return Err(Error::usage(
                format!("{}: this reader was read already", self.name.display()),
                "make a new one for each run, and name it once",
            ));
        };
        let feed = Feed::default();
        let refused = |source| Error::Input {
            path: self.name.clone(),
            source,
            advice: "raise the limits on open files (ulimit -n) and on processes (ulimit -u)",
        };
        let (ours, theirs) = UnixStream::pair().map_err(refused)?;
        let (ours, theirs) = (OwnedFd::from(ours), OwnedFd::from(theirs));
        let ended = feed.clone();
        let thread = std::thread::Builder::new().name("feed".into());
        let started = thread.spawn(move || {
            let end = copy(bytes, &theirs);
            // Before the socket is closed: who sees its end looks here.
            _ = ended.end.set(end);
            drop(theirs);
        });
        started.map_err(refused)?;
        Ok((File::from(ours), Arc::new(feed)))
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reader").field(&self.name).finish()
    }
}

impl PartialEq for Reader {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.bytes, &other.bytes)
    }
}

impl Eq for Reader {}

/// The note of a thread about the end of its reader.
#[derive(Debug, Clone, Default)]
struct Feed {
    /// Set when the reader has ended, or has failed.
    end: Arc<OnceLock<io::Result<()>>>,
}

impl Writer for Feed {
    /// Looks for the note: it stands there before the socket is closed.
    fn check(&self, name: &Path, _stop: &dyn Fn() -> Result<()>) -> Result<()> {
        let source = match self.end.get() {
            Some(Ok(())) => return Ok(()),
            Some(Err(error)) => io::Error::new(error.kind(), error.to_string()),
            None => io::Error::other("its reader panicked"),
        };
        Err(Error::Input {
            path: name.to_owned(),
            source,
            advice: "check what the reader reads from",
        })
    }
}

/// Keeps a socket that nobody reads any more from being a signal. Where the flag is missing, Rust's runtime ignores
/// that signal, unless somebody has changed that.
#[cfg(not(target_vendor = "apple"))]
const FLAGS: SendFlags = SendFlags::NOSIGNAL;
#[cfg(target_vendor = "apple")]
const FLAGS: SendFlags = SendFlags::empty();

/// Writes all that `bytes` gives to a socket. That nobody reads from it any more is no failure.
fn copy(mut bytes: Bytes, socket: &OwnedFd) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let mut left = match bytes.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(read) => &piece[..read],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        while !left.is_empty() {
            match rustix::net::send(socket, left, FLAGS) {
                Ok(sent) => left = &left[sent..],
                Err(Errno::INTR) => {}
                Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
