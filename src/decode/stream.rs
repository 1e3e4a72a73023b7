//! A stream that can be waited for without keeping a run from stopping.
//!
//! *Owns:* waiting for a pipe. *Invariants:* nothing blocks for longer than [`LOOK_UP`]; what was read is returned,
//! also where the stream has ended or is silent after it. *Cost:* a poll for each read.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::decode::io_error::unreadable;
use crate::error::Result;
use crate::sys::calls::enlarge_pipe;
use crate::sys::first_error::LOOK_UP;

/// The time that a read waits before it checks whether the run is to stop.
const PATIENCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: LOOK_UP.subsec_nanos() as _,
};

/// The capacity that is asked for a pipe, in bytes: what Linux grants without privileges (pipe(7),
/// /proc/sys/fs/pipe-max-size). By default a pipe holds 64 KiB, and both ends wake sixteen times as often.
const PIPE_BYTES: usize = 1 << 20;

/// A poll that returns at once.
const NOW: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// The result of reading a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filled {
    /// Bytes that were read.
    pub(crate) bytes: usize,
    /// True if there are no more.
    pub(crate) is_ended: bool,
}

/// The rules for a stream whose lines are wanted as soon as they are there.
#[derive(Clone, Copy)]
struct Prompt<'a> {
    terminator: u8,
    /// Called with `true` when reading begins to wait, and with `false` when it no longer does.
    waiting: &'a (dyn Fn(bool) -> Result<()> + Sync),
}

/// The writer of a stream, which can tell whether it gave all that it had.
pub(crate) trait Writer: fmt::Debug + Send + Sync {
    /// Checks, at the end of the stream that messages call `name`, that it is the end of what there was to write. Waits
    /// for the writer to say so, for as long as `stop` gives no error.
    ///
    /// # Errors
    /// [`crate::Error::Input`] where the writer failed; what `stop` returns.
    fn check(&self, name: &Path, stop: &dyn Fn() -> Result<()>) -> Result<()>;

    /// Looks at the writer of a stream that is silent.
    ///
    /// # Errors
    /// [`crate::Error::Input`] where it has failed already: somebody else holds the stream open.
    fn check_silent(&self, name: &Path) -> Result<()> {
        let _ = name;
        Ok(())
    }
}

/// A pipe whose silence does not keep a run from stopping.
pub(crate) struct StoppableStream<'a> {
    file: File,
    /// Its writer; `None` if any end is the end of the input.
    writer: Option<Arc<dyn Writer>>,
    /// The rules for lines that are wanted as soon as they are there; `None` if they are not.
    prompt: Option<Prompt<'a>>,
    /// An error when the run is to stop.
    stop: &'a (dyn Fn() -> Result<()> + Sync),
}

impl<'a> StoppableStream<'a> {
    /// Reads `file` for as long as `stop` gives no error.
    pub(crate) fn new(file: File, stop: &'a (dyn Fn() -> Result<()> + Sync)) -> Self {
        // Fewer, larger pieces.
        enlarge_pipe(&file, PIPE_BYTES);
        Self {
            file,
            writer: None,
            prompt: None,
            stop,
        }
    }

    /// Returns the same stream, whose end `writer` must confirm.
    pub(crate) fn written_by(self, writer: Option<Arc<dyn Writer>>) -> Self {
        Self { writer, ..self }
    }

    /// Returns the same stream, to be read in pieces as they come, once they hold the end of a line. `waiting` is
    /// called with `true` when reading begins to wait, and with `false` when it no longer does.
    pub(crate) fn promptly(
        self,
        terminator: u8,
        waiting: &'a (dyn Fn(bool) -> Result<()> + Sync),
    ) -> Self {
        let prompt = Prompt {
            terminator,
            waiting,
        };
        Self {
            prompt: Some(prompt),
            ..self
        }
    }

    /// Goes back by so many bytes in a regular file.
    ///
    /// # Errors
    /// [`crate::Error::Input`] where that fails.
    pub(crate) fn go_back(&mut self, bytes: u64, name: &Path) -> Result<()> {
        let moved = self.file.seek(SeekFrom::Current(-(bytes as i64)));
        moved.map(drop).map_err(|error| unreadable(name, error))
    }

    /// Reads until `buffer` is full or the stream has ended. A prompt stream also stops where it has a line
    /// and would have to wait for more.
    ///
    /// 1. Ask `stop`, so that a run can end while nobody writes.
    /// 2. Poll: for 50 milliseconds, or not at all where there is something to give already.
    /// 3. Nothing came: return what there is if the stream is prompt and has a line, else start over.
    /// 4. Something came: read it, which does not block now.
    ///
    /// # Errors
    /// What `stop` returns; [`crate::Error::Input`] where reading fails.
    pub(crate) fn fill(&mut self, buffer: &mut [u8], name: &Path) -> Result<Filled> {
        let (mut filled, mut has_line, mut is_waiting) = (0, false, false);
        while filled < buffer.len() {
            (self.stop)()?;
            let mut waiting = [PollFd::new(&self.file, PollFlags::IN)];
            // A prompt stream looks first, and waits only where it has nothing to give.
            let looks = has_line || (self.prompt.is_some() && !is_waiting);
            let patience = if looks { &NOW } else { &PATIENCE };
            let ready = poll(&mut waiting, Some(patience));
            if ready == Err(Errno::INTR) {
                continue;
            }
            if ready == Ok(0) {
                if has_line {
                    break;
                }
                if !is_waiting {
                    is_waiting = true;
                    self.tell(is_waiting)?;
                }
                let writer = self.writer.as_ref();
                writer.map_or(Ok(()), |writer| writer.check_silent(name))?;
                continue;
            }
            if is_waiting {
                is_waiting = false;
                self.tell(is_waiting)?;
            }
            // Where polling itself fails, reading tells why.
            match self.file.read(&mut buffer[filled..]) {
                Ok(0) => {
                    let stop = || (self.stop)();
                    let writer = self.writer.as_ref();
                    writer.map_or(Ok(()), |writer| writer.check(name, &stop))?;
                    return Ok(Filled {
                        bytes: filled,
                        is_ended: true,
                    });
                }
                Ok(read) => {
                    let new = &buffer[filled..filled + read];
                    has_line |= self
                        .prompt
                        .is_some_and(|prompt| memchr::memchr(prompt.terminator, new).is_some());
                    filled += read;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(name, error)),
            }
        }
        Ok(Filled {
            bytes: filled,
            is_ended: false,
        })
    }

    /// Passes on that reading waits, or does not any more.
    fn tell(&self, is_waiting: bool) -> Result<()> {
        self.prompt
            .map_or(Ok(()), |prompt| (prompt.waiting)(is_waiting))
    }
}
