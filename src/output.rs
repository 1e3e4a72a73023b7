//! Where the result goes.
//!
//! *Owns:* the [`Sink`] that a caller gives, the collecting of lines from many threads into one
//! sink, and the file that is put in place as a whole or not at all.
//!
//! *Invariants.*
//! - A sink is called by one thread at a time, once per line of the result.
//! - An [`OutputFile`] is invisible under its name until [`OutputFile::finish`] has flushed and
//!   synced it; dropped before that, it leaves what was there before.
//!
//! *Cost:* one lock per 64 KiB of result and thread. The engine pushes (rather than being iterated)
//! because its lines come from many threads and live in buffers that are reused.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

use crate::error::{Error, Result};
use crate::interrupt::{Interrupt, PathGuard};
use crate::stats::OutputStats;

/// Takes the lines of a result. Implemented for closures `FnMut(&[u8]) -> io::Result<()>`.
pub trait Sink: Send {
    /// One line of the result, without its terminator.
    ///
    /// # Errors
    /// Any error ends the run with [`Error::Output`].
    fn line(&mut self, line: &[u8]) -> io::Result<()>;

    /// What the sink is called in messages.
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
}

/// A sink that writes each line and a terminator.
#[derive(Debug)]
pub struct WriteSink<W: Write + Send> {
    writer: W,
    terminator: u8,
    target: String,
}

impl<W: Write + Send> WriteSink<W> {
    /// Writes to `writer` (buffer it), which messages call `target`.
    pub fn new(writer: W, terminator: u8, target: impl Into<String>) -> Self {
        Self {
            writer,
            terminator,
            target: target.into(),
        }
    }

    /// Gives the writer back, to be flushed and closed.
    pub fn into_inner(self) -> W {
        self.writer
    }
}

impl<W: Write + Send> Sink for WriteSink<W> {
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.writer.write_all(line)?;
        self.writer.write_all(&[self.terminator])
    }

    fn target(&self) -> String {
        self.target.clone()
    }
}

/// Collects lines from several threads into one sink and counts them.
pub(crate) struct Collector<'s> {
    shared: Mutex<Shared<'s>>,
}

struct Shared<'s> {
    sink: &'s mut dyn Sink,
    written: OutputStats,
    /// Set by the first error of the sink: it is not called again.
    has_failed: bool,
}

impl<'s> Collector<'s> {
    pub(crate) fn new(sink: &'s mut dyn Sink) -> Self {
        Self {
            shared: Mutex::new(Shared {
                sink,
                written: OutputStats::default(),
                has_failed: false,
            }),
        }
    }

    /// What was passed on so far.
    pub(crate) fn written(&self) -> OutputStats {
        self.lock().written
    }

    fn lock(&self) -> MutexGuard<'_, Shared<'s>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared<'_> {
    fn pass_on(&mut self, line: &[u8]) -> Result<()> {
        if self.has_failed {
            return Err(Error::Interrupted);
        }
        if let Err(error) = self.sink.line(line) {
            self.has_failed = true;
            return Err(output_error(&self.sink.target(), "cannot write", error));
        }
        self.written.lines += 1;
        self.written.bytes += line.len() as u64 + 1;
        Ok(())
    }
}

/// One thread's lines on their way to the collector. Must be flushed at the end.
pub(crate) struct Outbox<'c, 's> {
    collector: &'c Collector<'s>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl<'c, 's> Outbox<'c, 's> {
    const BYTES: usize = 64 << 10;

    pub(crate) fn new(collector: &'c Collector<'s>) -> Self {
        Self {
            collector,
            bytes: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Adds a line to the result.
    pub(crate) fn push(&mut self, line: &[u8]) -> Result<()> {
        if self.bytes.len() + line.len() > Self::BYTES || self.ends.len() == Self::BYTES / 16 {
            self.flush()?;
        }
        // A line that does not fit is passed on as it is, without a copy.
        if line.len() > Self::BYTES {
            return self.collector.lock().pass_on(line);
        }
        self.bytes.extend_from_slice(line);
        self.ends.push(self.bytes.len());
        Ok(())
    }

    /// Passes everything on to the sink.
    pub(crate) fn flush(&mut self) -> Result<()> {
        if self.ends.is_empty() {
            return Ok(());
        }
        let mut shared = self.collector.lock();
        let mut start = 0;
        for &end in &self.ends {
            shared.pass_on(&self.bytes[start..end])?;
            start = end;
        }
        self.bytes.clear();
        self.ends.clear();
        Ok(())
    }
}

/// The error of a result that cannot be written.
pub(crate) fn output_error(target: &str, what: &'static str, source: io::Error) -> Error {
    let advice = match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or write elsewhere"
        }
        io::ErrorKind::NotFound => "make its directory first",
        io::ErrorKind::PermissionDenied => "choose a place you may write to",
        _ => "check where the result goes",
    };
    Error::Output {
        target: target.to_owned(),
        what,
        source,
        advice,
    }
}

/// A file that appears complete or not at all.
///
/// A regular file is written under another name beside its target, synced, and renamed over it,
/// keeping the mode of a file that it replaces; a symbolic link is followed. A FIFO or a device is
/// written directly.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    place: OutputPlace,
}

#[derive(Debug)]
enum OutputPlace {
    Direct(File),
    // The guard is declared behind the file: the path stays on the list until the file is gone or
    // in place.
    Replacing(NamedTempFile, PathGuard),
}

impl OutputFile {
    /// Opens `path` for a result. What is there stays until [`OutputFile::finish`].
    ///
    /// # Errors
    /// [`Error::Output`] where the target cannot be written.
    pub fn create(path: &Path, interrupt: &Interrupt) -> Result<Self> {
        let fail = |error| {
            output_error(
                &path.display().to_string(),
                "cannot open for writing",
                error,
            )
        };
        if path.is_dir() {
            return Err(fail(io::Error::from_raw_os_error(
                rustix::io::Errno::ISDIR.raw_os_error(),
            )));
        }
        if !is_replaceable(path) {
            let file = OpenOptions::new().write(true).open(path).map_err(fail)?;
            return Ok(Self {
                path: path.to_owned(),
                place: OutputPlace::Direct(file),
            });
        }
        let path = followed(path);
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mode = replaced_mode(&path).map_err(fail)?;
        let make = || {
            tempfile::Builder::new()
                .prefix(".outset-")
                .suffix(".part")
                .permissions(Permissions::from_mode(mode))
                .tempfile_in(directory)
        };
        let (file, guard) = interrupt.guarded(make, NamedTempFile::path).map_err(fail)?;
        Ok(Self {
            path,
            place: OutputPlace::Replacing(file, guard),
        })
    }

    /// A buffered writer into the file.
    ///
    /// # Errors
    /// [`Error::Output`] when the system gives no second handle.
    pub fn writer(&self) -> Result<BufWriter<File>> {
        let file = match &self.place {
            OutputPlace::Direct(file) => file.try_clone(),
            OutputPlace::Replacing(file, _) => file.as_file().try_clone(),
        };
        file.map(|file| BufWriter::with_capacity(128 << 10, file))
            .map_err(|error| {
                output_error(
                    &self.path.display().to_string(),
                    "cannot open for writing",
                    error,
                )
            })
    }

    /// Syncs the file and puts it in place. Flush the writer first.
    ///
    /// # Errors
    /// [`Error::Output`]; the target is then what it was before.
    pub fn finish(self) -> Result<()> {
        let Self { path, place } = self;
        let target = path.display().to_string();
        match place {
            // A pipe or a device cannot be synced, and has nothing to be put in place.
            OutputPlace::Direct(_) => Ok(()),
            OutputPlace::Replacing(file, _guard) => {
                file.as_file()
                    .sync_all()
                    .map_err(|e| output_error(&target, "cannot sync", e))?;
                file.persist(&path)
                    .map_err(|e| output_error(&target, "cannot put in place", e.error))?;
                sync_directory(&path)
                    .map_err(|e| output_error(&target, "cannot sync its directory", e))
            }
        }
    }
}

/// Whether `path` is a regular file, or nothing yet: something that can be replaced as a whole.
fn is_replaceable(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(metadata) => {
            let kind = metadata.file_type();
            !(kind.is_fifo() || kind.is_char_device() || kind.is_block_device() || kind.is_socket())
        }
        Err(_) => true,
    }
}

/// Where a symbolic link points, even if nothing is there yet.
fn followed(path: &Path) -> PathBuf {
    if let Ok(existing) = path.canonicalize() {
        return existing;
    }
    match (std::fs::read_link(path), path.parent()) {
        (Ok(target), Some(parent)) => parent.join(target),
        _ => path.to_owned(),
    }
}

/// The mode of the file that will be replaced, or that of a new file under the process's umask.
fn replaced_mode(path: &Path) -> io::Result<u32> {
    match std::fs::metadata(path) {
        Ok(metadata) => {
            // A file that may not be written must not be replaced either.
            OpenOptions::new().write(true).open(path)?;
            Ok(metadata.permissions().mode() & 0o7777)
        }
        Err(_) => Ok(0o666),
    }
}

fn sync_directory(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_or_not_at_all() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("out");
        std::fs::write(&path, "before").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();

        let dropped = OutputFile::create(&path, &Interrupt::new()).unwrap();
        dropped.writer().unwrap().write_all(b"half").unwrap();
        drop(dropped);
        assert_eq!(std::fs::read(&path).unwrap(), b"before");

        let finished = OutputFile::create(&path, &Interrupt::new()).unwrap();
        let mut writer = finished.writer().unwrap();
        writer.write_all(b"after").unwrap();
        writer.flush().unwrap();
        finished.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"after");
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_is_followed_and_a_directory_refused() {
        let place = tempfile::tempdir().unwrap();
        let (target, link) = (place.path().join("target"), place.path().join("link"));
        std::fs::write(&target, "before").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        OutputFile::create(&link, &Interrupt::new())
            .unwrap()
            .finish()
            .unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&target).unwrap(), b"");
        assert!(matches!(
            OutputFile::create(place.path(), &Interrupt::new()),
            Err(Error::Output { .. })
        ));
    }

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
