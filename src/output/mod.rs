//! The receiver of the result.
//!
//! *Owns:* the [`Sink`] that a caller gives, and the file of a command. [`OutputFile`] is the file that is put in
//! place as a whole or not at all, or the input of another program ([`Consumer`]); [`OutputWriter`] writes it on
//! threads of its own, compressed if that is wanted. [`OutputDirectory`] has a file for each file of the inputs.
//!
//! *Invariants:* a sink is called by one thread at a time, once for each line of the result.
//!
//! *Cost:* a file is written once, in pieces of 256 KiB.

mod compressed;
mod consumer;
mod directory;
mod file;
mod file_names;
mod rereadable;
mod target;
mod threads;
mod unnamed_file;
mod unreplaced;
mod writer;

use std::io::{self, Write};
use std::path::Path;

pub(crate) use self::compressed::{COMPRESSING_SHARE, compressors_bytes};
pub use self::compressed::{Codec, Compression, CompressorPlan};
use self::consumer::CommandFailure;
pub use self::consumer::Consumer;
pub use self::directory::{Compressing, OutputDirectory};
pub use self::file::OutputFile;
pub use self::rereadable::Rereadable;
pub(crate) use self::unreplaced::is_appended_to;
pub use self::writer::OutputWriter;
use crate::error::Error;
use crate::interrupt::is_interrupted;

/// Takes the lines of a result. Implemented for closures `FnMut(&[u8]) -> io::Result<()>`.
pub trait Sink: Send {
    /// Takes one line of the result, without its terminator. It is valid during the call only. Called with a lock
    /// held that all workers need: be quick.
    ///
    /// # Errors
    /// Any error ends the run with [`Error::Output`].
    fn line(&mut self, line: &[u8]) -> io::Result<()>;

    /// Takes a [`Label`](crate::Label) and its line, where the two are not in one piece: only for lines of 64
    /// KiB or more. A sink that can take them one after the other saves a copy of the line, which is not in the
    /// memory limit.
    ///
    /// # Errors
    /// As [`Sink::line`].
    fn long_line(&mut self, label: &[u8], line: &[u8]) -> io::Result<()> {
        self.line(&[label, line].concat())
    }

    /// Takes the header of the result, without its terminator: before all lines, and also where there are none. Called
    /// once (again after [`Rereadable::empty`]), and only where the inputs have headers
    /// ([`Keys::has_header`](crate::Keys)).
    ///
    /// # Errors
    /// As [`Sink::line`].
    fn header(&mut self, _header: &[u8]) -> io::Result<()> {
        Ok(())
    }

    /// Takes the path of a file of an input, or the name of an output of a [`Producer`](crate::Producer): the lines
    /// from here to the next call come from it. Called where [`Sink::divides_by_file`], before the first line, and
    /// once for each file whose lines may be written, also where none is. A file of which lines are compared, but
    /// never written, as the second of a difference, is not among them.
    ///
    /// # Errors
    /// As [`Sink::line`].
    fn file(&mut self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Returns true if it is to be told which file each line comes from, by [`Sink::file`]. Lines then come in
    /// [`Order::Input`](crate::Order), without labels, and the inputs whose lines are written must be files, or come
    /// from a [`Producer`](crate::Producer). Asked once, at the start of a run.
    fn divides_by_file(&self) -> bool {
        false
    }

    /// Takes lines that lie one after the other in `block`, each followed by [`Sink::terminator`]. `ends` says
    /// where each line ends; the next one begins after its terminator. A sink that writes them as they are saves a
    /// call for each.
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

    /// Takes rows of a Parquet file by their numbers, ascending, where these are the lines of the result
    /// ([`Keys::row_numbers`](crate::Keys)). A sink that wants no text saves making it; others get [`Sink::block`].
    /// Called only where each row has a bit ([`OrderPlan::has_row_bits`](crate::plan::OrderPlan)); else rows come as
    /// lines.
    ///
    /// # Errors
    /// As [`Sink::line`].
    fn rows(&mut self, numbers: &mut dyn Iterator<Item = u64>) -> io::Result<()> {
        let (mut block, mut ends) = (Vec::new(), Vec::new());
        let (mut digits, terminator) = (itoa::Buffer::new(), self.terminator());
        for number in numbers {
            block.extend_from_slice(digits.format(number).as_bytes());
            ends.push(block.len());
            block.push(terminator);
        }
        self.block(&block, &ends)
    }

    /// Takes one line that the result drops, for a selection [`with_duplicates`](crate::Selection::with_duplicates):
    /// once for each time that it occurs after the first.
    ///
    /// # Errors
    /// As [`Sink::line`].
    fn duplicate(&mut self, _line: &[u8]) -> io::Result<()> {
        Ok(())
    }

    /// Takes the header of what the result drops: as [`Sink::header`], which it follows, but without a name for the
    /// labels, which these lines do not have.
    ///
    /// # Errors
    /// As [`Sink::line`].
    fn duplicates_header(&mut self, _header: &[u8]) -> io::Result<()> {
        Ok(())
    }

    /// Takes lines that the result drops, as in [`Sink::block`].
    ///
    /// # Errors
    /// As [`Sink::line`].
    fn duplicates(&mut self, block: &[u8], ends: &[usize]) -> io::Result<()> {
        let mut start = 0;
        for &end in ends {
            self.duplicate(&block[start..end])?;
            start = end + 1;
        }
        Ok(())
    }

    /// Returns the byte after each line of a [`Sink::block`]. Asked once, at the start of a run.
    fn terminator(&self) -> u8 {
        b'\n'
    }

    /// Returns the file that the result goes to, if a run may read there what it has written, and empty it: then a
    /// union of long lines need not hold them in memory, or spill them. The header, if there is one, and the lines must
    /// stand there as they come, each with the terminator after it, from the start of the file on, and nothing else.
    fn rereadable(&mut self) -> Option<&mut dyn Rereadable> {
        None
    }

    /// Returns the name of the sink in messages about its errors.
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
    /// The byte after each line: a line feed, or a zero byte.
    terminator: u8,
    /// The name of the writer in messages.
    target: String,
    /// The way to the file behind the writer, where a run may read it.
    rereadable: fn(&mut W) -> Option<&mut dyn Rereadable>,
}

impl WriteSink<OutputWriter> {
    /// Lets a run read in the file what it has written, if it is a regular file and nothing is compressed.
    #[must_use]
    pub fn reread(self) -> Self {
        Self {
            rereadable: OutputWriter::rereadable,
            ..self
        }
    }
}

impl<W: Write + Send> WriteSink<W> {
    /// Writes to `writer`, which messages call `target`. Buffer it: each line is two small writes.
    pub fn new(writer: W, terminator: u8, target: impl Into<String>) -> Self {
        Self {
            writer,
            terminator,
            target: target.into(),
            rereadable: |_| None,
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

    fn header(&mut self, header: &[u8]) -> io::Result<()> {
        self.line(header)
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

    fn rereadable(&mut self) -> Option<&mut dyn Rereadable> {
        (self.rereadable)(&mut self.writer)
    }

    fn target(&self) -> String {
        self.target.clone()
    }
}

/// Makes the error of a result that cannot be written to `target`: what could not be done, why, and what to do.
pub(crate) fn output_error(target: &str, what: &'static str, source: io::Error) -> Error {
    // The run was stopped meanwhile.
    if is_interrupted(&source) {
        return Error::Interrupted;
    }
    let is_of_command = matches!(source.get_ref(), Some(cause) if cause.is::<CommandFailure>());
    let advice = match source.kind() {
        io::ErrorKind::NotFound if is_of_command => {
            "check that the program is installed, and its name"
        }
        _ if is_of_command => "run it by itself to see what is wrong",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or write to another disk"
        }
        io::ErrorKind::NotFound => "create its directory first",
        io::ErrorKind::AlreadyExists => {
            "another process has made it meanwhile: choose another name"
        }
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
