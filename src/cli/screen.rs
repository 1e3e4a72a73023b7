//! Lines on standard error, and what is drawn on the terminal meanwhile.
//!
//! *Owns:* the one line that is drawn, the thread that draws it, and the order between it and all other lines.
//! *Invariants:* every other line on standard error goes through [`warn`] or [`fail`], and stands above what is drawn;
//! after [`end`] nothing is drawn and the line is empty, however often and by whatever thread it was called. Nobody but
//! the drawing thread waits for a terminal that was stopped. *Cost:* a thread that wakes up five times a second.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use outset::Error;

use super::escaping::shortened;
use super::events::{self, Event, Failure};
use super::settings::as_typed;

/// The time from one drawing of the line to the next.
const INTERVAL: Duration = Duration::from_millis(200);
/// The time from one plain line to the next.
const PLAIN_INTERVAL: Duration = Duration::from_secs(2);
/// More than the thread needs, and less than a huge page.
const STACK_BYTES: usize = 256 << 10;

/// The most characters of a message: a name may have any length.
const MOST_SAID: usize = 2_000;

/// The line that is drawn now.
static SHOWN: Mutex<Option<Shown>> = Mutex::new(None);

/// The form in which progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineStyle {
    /// One line of a terminal that is drawn again and again.
    Bar,
    /// A line now and then.
    Plain,
    /// An event, several times a second.
    Event,
    /// Says how far a run came that was interrupted.
    Last,
}

#[derive(Clone)]
struct Shown {
    /// The line of a terminal; `None` if none is drawn.
    line: Option<Arc<DrawnLine>>,
    end: Arc<End>,
    thread: Thread,
}

/// The end of the drawing.
#[derive(Default)]
struct End {
    is_wanted: AtomicBool,
    /// True if the run was interrupted, which the last line says.
    is_interruption: AtomicBool,
    has_come: AtomicBool,
}

/// Shows the lines that `look` returns, which have no control characters, until [`end`].
///
/// # Errors
/// That there can be no thread.
pub(crate) fn show(
    kind: LineStyle,
    look: impl Fn(LineStyle) -> Option<String> + Send + 'static,
) -> io::Result<()> {
    let line = (kind == LineStyle::Bar).then(Arc::<DrawnLine>::default);
    let end = Arc::new(End::default());
    let (drawn, watched) = (line.clone(), end.clone());
    let drawing = thread::Builder::new()
        .name("progress".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            match drawn {
                Some(line) => draw(&line, &watched, &look),
                None => print(kind, &watched, &look),
            }
            if watched.is_interruption.load(Ordering::Acquire)
                && let Some(text) = look(LineStyle::Last)
            {
                warn(&format!("interrupted in {text}"));
            }
            watched.has_come.store(true, Ordering::Release);
        })?;
    *SHOWN.lock() = Some(Shown {
        line,
        end,
        thread: drawing.thread().clone(),
    });
    Ok(())
}

/// Notes that the run is interrupted: [`end`], whoever calls it, then leaves a line that says so and where.
pub(crate) fn interrupt() {
    if let Some(shown) = SHOWN.lock().as_ref() {
        shown.end.is_interruption.store(true, Ordering::Release);
    }
}

/// Ends the drawing and leaves the line empty; waits `patience` at most. A signal must end the process
/// though its terminal is stopped.
pub(crate) fn end(patience: Duration) {
    // Left where it is: who comes second must wait, too.
    let Some(shown) = SHOWN.lock().clone() else {
        return;
    };
    shown.end.is_wanted.store(true, Ordering::Release);
    shown.thread.unpark();
    let start = Instant::now();
    while !shown.end.has_come.load(Ordering::Acquire) && start.elapsed() < patience {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Prints one line on standard error, without its middle where it is very long.
pub(crate) fn warn(message: &str) {
    let message = as_typed(message);
    let text = shortened(&message, MOST_SAID, " ... ");
    if events::are_wanted() {
        return tell(&Event::Message { text: &text });
    }
    print_above(|| write_error(&format!("outset: {text}\n")));
}

/// Says why there is no result.
pub(crate) fn fail(error: &Error) {
    if !events::are_wanted() {
        return warn(&error.to_string());
    }
    let message = error.to_string();
    let message = as_typed(&message);
    let message = shortened(&message, MOST_SAID, " ... ");
    tell(&Event::Error(Failure::of(error, &message)));
}

/// Writes an event.
fn tell(event: &Event<'_>) {
    write_error(&format!("{}\n", event.line()));
}

/// Lets `write` print lines above what is drawn.
fn print_above(write: impl FnOnce()) {
    let line = SHOWN.lock().as_ref().and_then(|shown| {
        let is_over = shown.end.has_come.load(Ordering::Acquire);
        shown.line.clone().filter(|_| !is_over)
    });
    match line {
        Some(line) => line.print_above(write),
        None => write(),
    }
}

/// Returns the width of the terminal in columns.
pub(super) fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stderr());
    match size.map(|size| size.ws_col) {
        Ok(columns) if columns > 0 => columns.into(),
        _ => 80,
    }
}

/// The line that is drawn on the terminal. The lock is held while something is written, so that lines do not run into
/// each other.
#[derive(Default)]
struct DrawnLine(Mutex<()>);

impl DrawnLine {
    /// Draws `text` in the place of what is drawn. It has no line break, and fits the terminal.
    fn draw(&self, text: &str) {
        let _written_alone = self.0.lock();
        write_error(&format!("{CLEARED}{text}"));
    }

    /// Lets `write` print whole lines in the place of what is drawn, which comes again below them within [`INTERVAL`].
    fn print_above(&self, write: impl FnOnce()) {
        let _written_alone = self.0.lock();
        write_error(CLEARED);
        write();
    }
}

/// Returns to the start of the line and erases it, as every terminal understands it.
const CLEARED: &str = "\r\x1b[2K";

/// Writes to standard error in one piece: others may write to the same place. A closed or full one is no reason to
/// fail.
fn write_error(text: &str) {
    let _nowhere_to_report = io::stderr().write_all(text.as_bytes());
}

fn draw(line: &DrawnLine, end: &End, look: &dyn Fn(LineStyle) -> Option<String>) {
    while !end.is_wanted.load(Ordering::Acquire) {
        if let Some(text) = look(LineStyle::Bar) {
            line.draw(&text);
        }
        thread::park_timeout(INTERVAL);
    }
    line.draw("");
}

fn print(kind: LineStyle, end: &End, look: &dyn Fn(LineStyle) -> Option<String>) {
    let mut last = Instant::now();
    while !end.is_wanted.load(Ordering::Acquire) {
        // Also when nothing is printed: the rate follows from many looks.
        match look(kind) {
            Some(event) if kind == LineStyle::Event => write_error(&format!("{event}\n")),
            Some(text) if last.elapsed() >= PLAIN_INTERVAL => {
                last = Instant::now();
                warn(&text);
            }
            _ => {}
        }
        thread::park_timeout(INTERVAL);
    }
}
