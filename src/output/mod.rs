//! Where the result goes.
//!
//! *Owns:* the [`Sink`] that a caller gives, and the collecting of lines from many threads into one
//! sink. [`OutputFile`] is the file that is put in place as a whole or not at all.
//!
//! ```text
//!  work-0 ─ push ─▶ Outbox ─┐ 64 KiB
//!  work-1 ─ push ─▶ Outbox ─┼─ flush ─▶ Collector: one lock ─▶ Sink, the caller's
//!  work-2 ─ push ─▶ Outbox ─┘                                   │ the command's:
//!                                                               ▼
//!                               OutputWriter ─ 512 KiB ─▶ thread `result` ─▶ OutputFile
//! ```
//!
//! *Invariants.*
//! - A sink is called by one thread at a time, once per line of the result. The thread may be another one
//!   each time. Lines come in no particular order.
//! - After its first error a sink is not called again.
//!
//! *Cost:* one lock per 64 KiB of result and thread. A slow sink stops the workers: they wait for the lock, so
//! no more than an outbox per worker is ever stored. The engine pushes (rather than being iterated)
//! because its lines come from many threads and live in buffers that are reused.

mod file;
mod unnamed;
mod writer;

use std::io::{self, Write};

pub use self::file::OutputFile;
pub(crate) use self::file::is_appended_to;
pub use self::writer::OutputWriter;
use crate::error::{Error, Result};
use crate::stats::OutputStats;
use crate::sys::sync::{Mutex, MutexGuard, PoisonError};

/// Takes the lines of a result. Implemented for closures `FnMut(&[u8]) -> io::Result<()>`.
pub trait Sink: Send {
    /// One line of the result, without its terminator. It is valid during the call only. Called with a lock
    /// held that all workers need: be quick.
    ///
    /// # Errors
    /// Any error ends the run with [`Error::Output`].
    fn line(&mut self, line: &[u8]) -> io::Result<()>;

    /// One line behind its [`Label`](crate::Label), where the two are not in one piece: only for lines of 64 KiB
    /// or more. A sink that can take them one after the other saves a copy of the line, which is not in the
    /// memory limit.
    ///
    /// # Errors
    /// As [`Sink::line`].
    fn long_line(&mut self, label: &[u8], line: &[u8]) -> io::Result<()> {
        self.line(&[label, line].concat())
    }

    /// Lines that lie one behind the other in `block`, each with [`Sink::terminator`] behind it. `ends` says
    /// where each line ends; the next one begins after its terminator. A sink that writes them as they are
    /// saves a call for each.
    ///
    /// # Errors
    /// As [`Sink::line`].
    fn block(&mut self, block: &[u8], ends: &[usize]) -> io::Result<()> {
        let mut start = 0;
        for &end in ends {
            self.line(&block[start..end])?;
            start = end + 1;
        }
        Ok(())
    }

    /// The byte behind each line of a [`Sink::block`]. Asked once, at the start of a run.
    fn terminator(&self) -> u8 {
        b'\n'
    }

    /// What the sink is called in messages about its errors.
    fn target(&self) -> String {
        "the result".into()
    }
}

impl<F: FnMut(&[u8]) -> io::Result<()> + Send> Sink for F {
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self(line)
    }
}

/// A sink that only counts; the run's statistics have the number.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountSink;

impl Sink for CountSink {
    fn line(&mut self, _line: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn long_line(&mut self, _label: &[u8], _line: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn block(&mut self, _block: &[u8], _ends: &[usize]) -> io::Result<()> {
        Ok(())
    }
}

/// A sink that writes each line and a terminator.
#[derive(Debug)]
pub struct WriteSink<W: Write + Send> {
    writer: W,
    /// Written after each line: a line feed, or a zero byte.
    terminator: u8,
    /// What messages call the writer.
    target: String,
}

impl<W: Write + Send> WriteSink<W> {
    /// Writes to `writer`, which messages call `target`. Buffer it: each line is two small writes.
    pub fn new(writer: W, terminator: u8, target: impl Into<String>) -> Self {
        Self {
            writer,
            terminator,
            target: target.into(),
        }
    }

    /// Gives the writer back, to be flushed and closed. The sink itself never flushes.
    pub fn into_inner(self) -> W {
        self.writer
    }
}

impl<W: Write + Send> Sink for WriteSink<W> {
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.long_line(&[], line)
    }

    fn long_line(&mut self, label: &[u8], line: &[u8]) -> io::Result<()> {
        self.writer.write_all(label)?;
        self.writer.write_all(line)?;
        self.writer.write_all(&[self.terminator])
    }

    fn block(&mut self, block: &[u8], _ends: &[usize]) -> io::Result<()> {
        self.writer.write_all(block)
    }

    fn terminator(&self) -> u8 {
        self.terminator
    }

    fn target(&self) -> String {
        self.target.clone()
    }
}

/// Collects lines from several threads into one sink and counts them. Each thread has an [`Outbox`] for it.
pub(crate) struct Collector<'s> {
    /// The sink's terminator.
    terminator: u8,
    shared: Mutex<Shared<'s>>,
}

/// What the lock protects. It is held while the sink works.
struct Shared<'s> {
    sink: &'s mut dyn Sink,
    /// Lines and bytes that the sink has accepted; each line counts one byte more, for its terminator.
    written: OutputStats,
    /// Set by the first error of the sink: it is not called again.
    has_failed: bool,
}

impl<'s> Collector<'s> {
    /// A collector into `sink`, which has got no line yet.
    pub(crate) fn new(sink: &'s mut dyn Sink) -> Self {
        Self {
            terminator: sink.terminator(),
            shared: Mutex::new(Shared {
                sink,
                written: OutputStats::default(),
                has_failed: false,
            }),
        }
    }

    /// What the sink has accepted so far. Lines in outboxes are not counted. The engine asks it whether a run
    /// may be started over: only before the first line.
    pub(crate) fn written(&self) -> OutputStats {
        self.lock().written
    }

    fn lock(&self) -> MutexGuard<'_, Shared<'s>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared<'_> {
    /// Lets `pass` hand `lines` lines, which have `bytes` bytes with their terminators, to the sink, with the lock
    /// held.
    ///
    /// # Errors
    /// [`Error::Output`] with the sink's error, once; [`Error::Interrupted`] for every call after that, so that
    /// the first error is the one that the run reports.
    fn pass_on(
        &mut self,
        lines: usize,
        bytes: usize,
        pass: impl FnOnce(&mut dyn Sink) -> io::Result<()>,
    ) -> Result<()> {
        if self.has_failed {
            return Err(Error::Interrupted);
        }
        if let Err(error) = pass(self.sink) {
            self.has_failed = true;
            return Err(output_error(&self.sink.target(), "cannot write", error));
        }
        self.written.lines += lines as u64;
        self.written.bytes += bytes as u64;
        Ok(())
    }
}

/// One thread's lines on their way to the collector. It must be flushed at the end: lines in an outbox that
/// is dropped are lost, which is right only after a failure.
pub(crate) struct Outbox<'c, 's> {
    collector: &'c Collector<'s>,
    /// The lines, each with the sink's terminator behind it; at most [`Outbox::BYTES`].
    bytes: Vec<u8>,
    /// Where each line ends in `bytes`, before its terminator.
    ends: Vec<usize>,
}

impl<'c, 's> Outbox<'c, 's> {
    /// Large enough that the lock is taken seldom, small enough to stay in the second-level cache.
    const BYTES: usize = 64 << 10;

    /// An empty outbox. It takes no memory before the first line.
    pub(crate) fn new(collector: &'c Collector<'s>) -> Self {
        Self {
            collector,
            bytes: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Adds a line to the result. Copies it, and passes the lines before it on when there is no room: then it
    /// waits for the collector's lock and for the sink.
    ///
    /// # Errors
    /// As [`Outbox::flush`].
    pub(crate) fn push(&mut self, line: &[u8]) -> Result<()> {
        self.push_labelled(&[], line)
    }

    /// As [`Outbox::push`], of a line behind its label.
    ///
    /// # Errors
    /// As [`Outbox::flush`].
    pub(crate) fn push_labelled(&mut self, label: &[u8], line: &[u8]) -> Result<()> {
        let bytes = label.len() + line.len() + 1;
        // Lines are counted, too: each takes an end, which is more than a short one has bytes.
        if self.bytes.len() + bytes > Self::BYTES || self.ends.len() == Self::BYTES / 16 {
            self.flush()?;
        }
        // A line that does not fit is passed on as it is, without a copy.
        if bytes > Self::BYTES {
            let mut shared = self.collector.lock();
            return shared.pass_on(1, bytes, |sink| match label {
                [] => sink.line(line),
                label => sink.long_line(label, line),
            });
        }
        self.bytes.extend_from_slice(label);
        self.bytes.extend_from_slice(line);
        self.ends.push(self.bytes.len());
        self.bytes.push(self.collector.terminator);
        Ok(())
    }

    /// Passes everything on to the sink, in one go under the collector's lock.
    ///
    /// # Errors
    /// [`Error::Output`] when the sink fails, [`Error::Interrupted`] when it has failed before. Some lines may have
    /// been passed on; the outbox is of no further use.
    pub(crate) fn flush(&mut self) -> Result<()> {
        if self.ends.is_empty() {
            return Ok(());
        }
        let (block, ends) = (&self.bytes, &self.ends);
        let mut shared = self.collector.lock();
        shared.pass_on(ends.len(), block.len(), |sink| sink.block(block, ends))?;
        drop(shared);
        self.bytes.clear();
        self.ends.clear();
        Ok(())
    }
}

/// The error of a result that cannot be written to `target`: what could not be done, why, and what to do.
pub(crate) fn output_error(target: &str, what: &'static str, source: io::Error) -> Error {
    let advice = match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or write to another disk"
        }
        io::ErrorKind::NotFound => "create its directory first",
        io::ErrorKind::PermissionDenied => "choose a directory that you may write to",
        _ => "check where the result goes",
    };
    Error::Output {
        target: target.to_owned(),
        what,
        source,
        advice,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn the_collector_counts_what_all_threads_push() {
        let mut lines = Vec::new();
        let mut sink = |line: &[u8]| {
            lines.push(line.to_vec());
            Ok(())
        };
        let collector = Collector::new(&mut sink);
        std::thread::scope(|scope| {
            for thread in 0..3u8 {
                let collector = &collector;
                scope.spawn(move || {
                    let mut outbox = Outbox::new(collector);
                    for length in [0usize, 1, 70_000, 500] {
                        outbox.push(&vec![thread; length]).unwrap();
                    }
                    outbox.flush().unwrap();
                });
            }
        });
        assert_eq!(collector.written().lines, 12);
        assert_eq!(lines.len(), 12);
    }
}
