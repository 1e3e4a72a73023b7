//! The targets that are written themselves, because nothing can take their place.
//!
//! *Owns:* telling that a path leads to one, and what is done after the last byte:
//!
//! | target | after the last byte |
//! |---|---|
//! | standard output (`-`) | close, which tells of what a network between has lost |
//! | a pipe, a device, a file that standard output or standard error goes to | sync, if it goes to a disk |
//! | a file that was removed, behind a descriptor (`/dev/fd/3`) | cut off what is left of before, sync |
//!
//! *Invariants:* bytes are there as they are written. A run that fails before that has changed nothing.
//!
//! *Cost:* a sync, of a file or a block device.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Seek};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::output::OutputWriter;
use crate::sys::file_id::FileId;

/// A target that is written itself.
#[derive(Debug)]
pub(super) enum Unreplaced {
    /// Standard output. Its writer has the same descriptor: of two, one would be closed without a look.
    Stdout(Arc<File>),
    /// A pipe, a device, or a file that a standard stream goes to.
    Stream(File),
    /// A file that was removed, and is read by whoever has a descriptor of it.
    Removed(File),
}

impl Unreplaced {
    /// Takes standard output. If that is closed, or open only for reading, the error comes now, before any work is
    /// done.
    pub(super) fn stdout() -> io::Result<Self> {
        let stdout = rustix::io::fcntl_dupfd_cloexec(io::stdout(), 0)?;
        let flags = rustix::fs::fcntl_getfl(&stdout)?;
        if flags.intersection(OFlags::RWMODE) == OFlags::RDONLY {
            return Err(Errno::BADF.into());
        }
        Ok(Self::Stdout(Arc::new(File::from(stdout))))
    }

    /// Opens what is at `path`; `None` if that is a regular file, or nothing yet: something that can be replaced.
    pub(super) fn at(path: &Path) -> Option<io::Result<Self>> {
        if let Some(file) = standard_stream_at(path) {
            return Some(Ok(Self::Stream(file)));
        }
        let open = || OpenOptions::new().write(true).open(path);
        if was_removed(path) {
            return Some(open().map(Self::Removed));
        }
        (!is_replaceable(path)).then(|| open().map(Self::Stream))
    }

    /// Makes a writer into it, from its start if it has one.
    ///
    /// # Errors
    /// When the system gives no second handle, or no memory for a buffer.
    pub(super) fn writer(&self) -> io::Result<OutputWriter> {
        match self {
            Self::Stdout(file) => OutputWriter::buffered(Arc::clone(file)),
            Self::Stream(file) => file.try_clone().and_then(OutputWriter::buffered),
            Self::Removed(file) => {
                let mut start = file.try_clone()?;
                start.rewind()?;
                OutputWriter::buffered(start)
            }
        }
    }

    /// Does what is to be done after the last byte. Drop the writer first.
    ///
    /// # Errors
    /// What the system says to that.
    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::Stdout(file) => Arc::into_inner(file).map_or(Ok(()), close),
            Self::Stream(file) => {
                let kind = file.metadata()?.file_type();
                let is_on_disk = kind.is_file() || kind.is_block_device();
                if is_on_disk { file.sync_all() } else { Ok(()) }
            }
            Self::Removed(mut file) => {
                // Its writers share the position.
                let end = file.stream_position()?;
                file.set_len(end)?;
                file.sync_all()
            }
        }
    }
}

/// Returns a handle to standard output or standard error, if that is redirected to the regular file at `path`;
/// `/dev/stdout` may be such a path. That file must not be replaced: the stream would go on into the old one.
fn standard_stream_at(path: &Path) -> Option<File> {
    let wanted = std::fs::metadata(path).ok().filter(Metadata::is_file)?;
    let wanted = FileId::of(&wanted);
    let is_it = |id: FileId| id == wanted;
    let fd = if FileId::of_open(io::stdout()).is_ok_and(is_it) {
        rustix::io::fcntl_dupfd_cloexec(io::stdout(), 0)
    } else if FileId::of_open(io::stderr()).is_ok_and(is_it) {
        rustix::io::fcntl_dupfd_cloexec(io::stderr(), 0)
    } else {
        return None;
    };
    fd.ok().map(File::from)
}

/// Returns true if `path`, such as `/dev/fd/3`, leads to a regular file that was removed: nothing can take its place.
fn was_removed(path: &Path) -> bool {
    path.is_file() && path.canonicalize().is_err()
}

/// Returns true if standard output or standard error goes to the file at `path` and that has some content: bytes
/// written there would follow it.
pub(crate) fn is_appended_to(path: &Path) -> bool {
    standard_stream_at(path).is_some() && std::fs::metadata(path).is_ok_and(|found| found.len() > 0)
}

/// Returns true if `path` is a regular file, or nothing yet: something that can be replaced as a whole. Where the
/// system does not say, opening the file will.
fn is_replaceable(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(metadata) => {
            let kind = metadata.file_type();
            !(kind.is_fifo() || kind.is_char_device() || kind.is_block_device() || kind.is_socket())
        }
        Err(_) => true,
    }
}

/// Closes a file, and tells what the system says to that.
fn close(file: File) -> io::Result<()> {
    #[expect(
        unsafe_code,
        reason = "the standard library closes files, but does not tell how that went"
    )]
    // SAFETY: `file` has given the descriptor away, so nobody else uses or closes it.
    unsafe {
        rustix::io::try_close(file.into_raw_fd()).map_err(io::Error::from)
    }
}
