//! The lines of a result as an iterator, or all at once.
//!
//! *Owns:* the thread that a run has where its caller takes lines one by one. *Invariants:* a run goes on only as far
//! as its lines are taken, and a few thousand lines further; after an error nothing comes. *Cost:* a thread, and up to
//! five pieces of lines of 64 KiB each; an allocation for each line.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::vec;

use crate::engine::select;
use crate::error::{Error, Result};
use crate::input::Source;
use crate::interrupt::Interrupt;
use crate::options::Options;
use crate::output::Sink;
use crate::selection::Selection;
use crate::stats::Stats;
use crate::sys::threads::no_thread;

/// Lines that go from the run to its caller together.
type Portion = Vec<Vec<u8>>;

/// The size at which a piece of lines is handed over, in bytes: 64 KiB.
const PIECE_BYTES: usize = 64 << 10;
/// The number of pieces that wait for the caller at most.
const WAITING: usize = 3;

/// Returns all lines of `inputs` that `selection` asks for, labels included: [`select`] for results that fit in memory.
/// The lines are the caller's, and not within [`Options::memory_bytes`].
///
/// ```
/// use outset::{Options, Selection, Source, collect};
/// # let directory = tempfile::tempdir()?;
/// # let [a, b] = ["a", "b"].map(|name| directory.path().join(name));
/// std::fs::write(&a, "apple\nbanana\n")?;
/// std::fs::write(&b, "banana\n")?;
/// let new = collect(&[Source::from(&a), Source::from(&b)], Selection::difference(), &Options::default())?;
/// assert_eq!(new, [b"apple"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`select`].
pub fn collect(inputs: &[Source], selection: Selection, options: &Options) -> Result<Vec<Vec<u8>>> {
    let mut lines = Vec::new();
    select(inputs, selection, options, &mut |line: &[u8]| {
        lines.push(line.to_vec());
        Ok(())
    })?;
    Ok(lines)
}

/// The lines of a result, one after the other. The run goes on, on threads of its own, while its caller works on them.
///
/// Dropping it before its end stops the run through its [`Options::interrupt`], and waits until its temporary files are
/// removed. An error is the last that comes.
///
/// ```
/// use outset::{Options, Results, Selection, Source};
/// # let directory = tempfile::tempdir()?;
/// # let [a, b] = ["a", "b"].map(|name| directory.path().join(name));
/// std::fs::write(&a, "apple\nbanana\n")?;
/// std::fs::write(&b, "banana\ncherry\n")?;
/// let mut results = Results::of(vec![Source::from(&a), Source::from(&b)], Selection::union(), Options::default());
/// let mut bytes = 0;
/// for line in &mut results {
///     bytes += line?.len();
/// }
/// assert_eq!(bytes, "applebananacherry".len());
/// assert!(results.stats().is_some_and(|stats| stats.exact));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Results {
    /// Lines that have come.
    piece: vec::IntoIter<Vec<u8>>,
    /// Gives more of them; `None` after the last.
    pieces: Option<Receiver<Portion>>,
    /// The run; `None` when it has ended.
    run: Option<JoinHandle<Result<Stats>>>,
    /// Why there is none.
    failure: Option<Error>,
    stats: Option<Stats>,
    interrupt: Interrupt,
}

impl Results {
    /// Starts a run for the lines of `inputs` that `selection` asks for. An error in them is the first item.
    pub fn of(inputs: Vec<Source>, selection: Selection, options: Options) -> Self {
        let (sender, receiver) = sync_channel(WAITING);
        let interrupt = options.interrupt.clone();
        let run = std::thread::Builder::new().name("results".into());
        let run = run.spawn(move || {
            let mut sink = Portions {
                sender,
                piece: Vec::new(),
                bytes: 0,
            };
            let stats = select(&inputs, selection, &options, &mut sink)?;
            // The last lines. If nobody takes them any more, that is no failure.
            _ = sink.send();
            Ok(stats)
        });
        let (run, failure) = match run {
            Ok(run) => (Some(run), None),
            Err(error) => (None, Some(no_thread(&error))),
        };
        Self {
            piece: Vec::new().into_iter(),
            pieces: Some(receiver),
            run,
            failure,
            stats: None,
            interrupt,
        }
    }

    /// Returns what the run did; `None` before the last line was taken, and where it failed.
    pub fn stats(&self) -> Option<&Stats> {
        self.stats.as_ref()
    }
}

impl Iterator for Results {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(line) = self.piece.next() {
                return Some(Ok(line));
            }
            match self.pieces.as_ref()?.recv() {
                Ok(piece) => self.piece = piece.into_iter(),
                // The run has dropped its sink: it has ended.
                Err(_) => {
                    self.pieces = None;
                    return self.end().err().map(Err);
                }
            }
        }
    }
}

impl Results {
    /// Waits for the run, and keeps what it did.
    fn end(&mut self) -> Result<()> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let Some(run) = self.run.take() else {
            return Ok(());
        };
        match run.join() {
            Ok(stats) => self.stats = Some(stats?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
        Ok(())
    }
}

impl Drop for Results {
    fn drop(&mut self) {
        // The run fails at its next piece of lines, or sees the flag before.
        self.pieces = None;
        if let Some(run) = self.run.take() {
            self.interrupt.stop();
            _ = run.join();
        }
    }
}

/// Collects lines, and hands them over in pieces.
struct Portions {
    sender: SyncSender<Portion>,
    piece: Portion,
    /// Bytes of the lines in it.
    bytes: usize,
}

impl Portions {
    /// Hands over what there is. Waits while enough pieces wait.
    fn send(&mut self) -> io::Result<()> {
        self.bytes = 0;
        let piece = std::mem::take(&mut self.piece);
        let sent = self.sender.send(piece);
        sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

impl Sink for Portions {
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.piece.push(line.to_vec());
        // A short line takes more memory than its bytes.
        self.bytes += line.len() + size_of::<Vec<u8>>();
        if self.bytes < PIECE_BYTES {
            return Ok(());
        }
        self.send()
    }
}
