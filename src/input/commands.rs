//! The commands whose output is an input.
//!
//! *Owns:* starting them, one after the other, the headers before their records, and the count of their lines.
//! *Invariants:* a command is started when its output is to be read, not before; where a header must say what the
//! fields are called, the first is started early, and those behind it until one has a header. Every reading runs them
//! anew. *Cost:* one process at a time, and meanwhile the one with the header.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::decode::producer::Producer;
use crate::decode::request::Opening;
use crate::decode::stream::{StoppableStream, Writer};
use crate::error::{Error, Result};
use crate::input::byte_reader::Streams;
use crate::input::findings::PartLines;
use crate::input::front::{Front, FrontRules, front_of_stream};
use crate::input::keying::Taken;
use crate::interrupt::Interrupt;
use crate::selection::MOST_ORDERED_BYTES;

/// The output of a command, and who says whether it is all.
type Output = (File, Arc<dyn Writer>);

/// The facts that are known of an output.
#[derive(Debug, Clone, Copy)]
struct OutputFacts {
    /// The header before its records, once that is read.
    front: Taken,
    /// The lines that the last reading found. They begin with the first of its chunks that was read.
    read: PartLines,
}

/// The lines of an output that was not read yet.
const UNREAD: PartLines = PartLines {
    start: u64::MAX,
    lines: 0,
};

/// The commands of an input.
#[derive(Debug)]
pub(crate) struct Commands {
    producer: Producer,
    /// The handle that stops those that run.
    interrupt: Interrupt,
    /// The command that runs already, because its header was read, and its number.
    started: Mutex<Option<(usize, Output)>>,
    /// The facts that are known of each output.
    outputs: Mutex<Vec<OutputFacts>>,
    /// The rules for what comes before the records of each output; `None` if nothing does.
    rules: Option<FrontRules>,
    /// The fields of the first header of an output, and the number of that.
    header: Option<(Vec<u8>, usize)>,
}

impl Commands {
    /// Makes the commands of a producer, of which none runs yet. `interrupt` stops them.
    pub(super) fn new(producer: Producer, interrupt: &Interrupt) -> Self {
        let unread = OutputFacts {
            front: Taken::default(),
            read: UNREAD,
        };
        let outputs = vec![unread; producer.names().len()];
        Self {
            producer,
            interrupt: interrupt.clone(),
            started: Mutex::new(None),
            outputs: Mutex::new(outputs),
            rules: None,
            header: None,
        }
    }

    /// Notes what comes before the records of an output.
    fn note_front(&self, number: usize, front: &Front) {
        self.outputs.lock()[number].front = Taken::of(front);
    }

    /// Returns what comes before the records of each output, once that is read.
    pub(super) fn fronts(&self) -> Vec<Taken> {
        let outputs = self.outputs.lock();
        outputs.iter().map(|output| output.front).collect()
    }

    /// Returns what comes before the records of an output, once that is read.
    pub(super) fn front(&self, number: usize) -> Taken {
        self.outputs.lock()[number].front
    }

    /// Forgets the lines of the last reading.
    pub(super) fn begin_reading(&self) {
        for output in self.outputs.lock().iter_mut() {
            output.read = UNREAD;
        }
    }

    /// Counts the lines of a chunk of an output, which is at `position` in the side. Chunks come in any order.
    pub(super) fn count_lines(&self, number: usize, position: u64, lines: u64) {
        let read = &mut self.outputs.lock()[number].read;
        read.start = read.start.min(position);
        read.lines += lines;
    }

    /// Returns where each output begins in the side, and its lines. One without lines begins where the next does, or at
    /// the end.
    pub(super) fn part_lines(&self) -> Vec<PartLines> {
        let outputs = self.outputs.lock();
        let mut next = MOST_ORDERED_BYTES - 1;
        let mut found: Vec<PartLines> = Vec::with_capacity(outputs.len());
        found.extend(outputs.iter().rev().map(|output| {
            next = output.read.start.min(next);
            PartLines {
                start: next,
                ..output.read
            }
        }));
        found.reverse();
        found
    }

    /// Returns the name of each, in the order of reading.
    pub(super) fn names(&self) -> Arc<Vec<PathBuf>> {
        self.producer.shared_names()
    }

    /// Starts commands until one writes a header, and reads what comes before its records, by `rules`. Returns that,
    /// and the number of the command.
    ///
    /// # Errors
    /// As [`front_of_stream`]; where a command fails.
    pub(super) fn read_front(
        &mut self,
        rules: FrontRules,
        opening: Opening<'_>,
    ) -> Result<(Front, usize)> {
        self.rules = Some(rules);
        let last = self.count() - 1;
        for number in 0..=last {
            let output = self.producer.start(number, &self.interrupt)?;
            let stop = || opening.interrupt.check();
            let front = header(&output, self.name(number), rules, &stop)?;
            self.note_front(number, &front);
            if let Some(header) = &front.header {
                self.header = Some((header.fields().to_vec(), number));
            } else if number < last {
                // One that is empty says nothing of the others. It runs again in its turn.
                continue;
            }
            *self.started.lock() = Some((number, output));
            return Ok((front, number));
        }
        Ok((Front::default(), 0))
    }

    /// Starts the command with this number, and passes over its header.
    fn start(&self, number: usize, stop: &(dyn Fn() -> Result<()> + Sync)) -> Result<Output> {
        let (output, name) = (
            self.producer.start(number, &self.interrupt)?,
            self.name(number),
        );
        let Some(rules) = self.rules else {
            return Ok(output);
        };
        let front = header(&output, name, rules, stop)?;
        self.note_front(number, &front);
        match (front.header, &self.header) {
            (Some(header), Some((first, of))) if header.fields() != first => Err(Error::usage(
                format!(
                    "{}: its header is not that of {}",
                    name.display(),
                    self.name(*of).display()
                ),
                "give a side only outputs with the same header",
            )),
            _ => Ok(output),
        }
    }
}

impl Streams for Commands {
    fn count(&self) -> usize {
        self.producer.names().len()
    }

    fn name(&self, number: usize) -> &Path {
        let name = self.producer.names().get(number);
        name.map_or(self.producer.name(), |name| name)
    }

    /// Starts the command with this number, unless it runs already for its header.
    fn open<'a>(
        &self,
        number: usize,
        stop: &'a (dyn Fn() -> Result<()> + Sync),
    ) -> Result<StoppableStream<'a>> {
        let started = self.started.lock().take_if(|(of, _)| *of == number);
        let (file, writer) = match started {
            Some((_, output)) => output,
            None => self.start(number, stop)?,
        };
        Ok(StoppableStream::new(file, stop).written_by(Some(writer)))
    }
}

/// Reads what comes before the records of an output. Where that has ended, its command must have come to its end, too.
fn header(
    (file, writer): &Output,
    name: &Path,
    rules: FrontRules,
    stop: &(dyn Fn() -> Result<()> + Sync),
) -> Result<Front> {
    let found = front_of_stream(file, name, rules, stop);
    match found {
        Ok(front) if front.header.is_none() => writer.check(name, stop).and(Ok(front)),
        found => found,
    }
}
