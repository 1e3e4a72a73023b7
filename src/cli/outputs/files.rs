//! The files of [`Outputs`](super::Outputs): the result and the statistics.
//!
//! *Owns:* opening, filling and finishing them. *Invariants:* a writer is flushed before its file is put
//! in place. *Cost:* a buffer of 256 KiB, and as much for each thread that writes.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use outset::{CompressorPlan, Consumer, Error, Interrupt, OutputFile, OutputWriter, Result};

use crate::cli::events::{self, Event};
use crate::cli::streams::check_stderr;

/// Standard output, a command, or a file that is put in place at the end.
pub(crate) struct ResultFile(OutputFile);

impl ResultFile {
    /// Opens the file at `path` for text that is compressed so; `-` is standard output.
    pub(super) fn open(
        path: &Path,
        compressing: Option<CompressorPlan>,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        OutputFile::create(path, interrupt).map(|file| Self::of(file, compressing))
    }

    /// Starts the command that takes the text, compressed so.
    pub(super) fn consumed(
        consumer: &Consumer,
        compressing: Option<CompressorPlan>,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        OutputFile::consumed(consumer, interrupt).map(|file| Self::of(file, compressing))
    }

    fn of(file: OutputFile, compressing: Option<CompressorPlan>) -> Self {
        Self(match compressing {
            Some(plan) => file.compressed(plan),
            None => file,
        })
    }

    /// Returns the name that messages have for it.
    pub(crate) fn name(&self) -> &str {
        self.0.name()
    }

    /// Opens a writer into it.
    pub(crate) fn writer(&self) -> Result<OutputWriter> {
        self.0.writer()
    }

    /// Hands what was written to the system.
    pub(crate) fn flush(&self, mut writer: OutputWriter) -> Result<()> {
        writer.flush().map_err(|error| self.error(error))
    }

    /// Returns a writer with one number and a line end written to it.
    pub(crate) fn number(&self, number: u64) -> Result<OutputWriter> {
        self.text(&number.to_string())
    }

    /// Returns a writer with a text and a line end written to it.
    pub(crate) fn text(&self, text: &str) -> Result<OutputWriter> {
        self.written(|writer| writeln!(writer, "{text}"))
    }

    /// Returns a writer to which `write` has written, piece by piece.
    pub(crate) fn written(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<OutputWriter> {
        let mut writer = self.writer()?;
        write(&mut writer).map_err(|error| self.error(error))?;
        Ok(writer)
    }

    /// Puts the file in place. Everything must have been flushed.
    pub(super) fn put_in_place(self) -> Result<()> {
        self.0.finish()
    }

    /// Makes the error of a write that failed.
    pub(crate) fn error(&self, source: io::Error) -> Error {
        self.0.error(source)
    }
}

/// The destination of the statistics of a run, if they are wanted.
pub(super) enum StatsFile {
    Nowhere,
    Stderr,
    File(OutputFile, String),
}

impl StatsFile {
    /// Opens the file at `path`; `-` is standard error.
    pub(super) fn open(path: Option<&Path>, interrupt: &Interrupt) -> Result<Self> {
        Ok(match path {
            None => Self::Nowhere,
            Some(path) if path == Path::new("-") => {
                check_stderr().map_err(|source| Error::Output {
                    target: "standard error".to_owned(),
                    what: "cannot write the statistics",
                    source,
                    advice: "name another file for --stats",
                })?;
                Self::Stderr
            }
            Some(path) => {
                let name = path.display().to_string();
                Self::File(OutputFile::create(path, interrupt)?, name)
            }
        })
    }

    /// Writes the statistics; a file is not in place yet.
    pub(super) fn fill(&self, report: &impl serde::Serialize) -> Result<()> {
        let name = match self {
            Self::Nowhere => return Ok(()),
            Self::Stderr => "standard error",
            Self::File(_, name) => name,
        };
        let fail = |source: io::Error| Error::Output {
            target: name.to_owned(),
            what: "cannot write the statistics",
            source,
            advice: "name another file for --stats",
        };
        // Piece by piece: there may be many files in them.
        let write = |writer: &mut dyn Write| {
            match self {
                Self::Stderr if events::are_wanted() => {
                    serde_json::to_writer(&mut *writer, &Event::Stats { stats: report })?;
                }
                _ => serde_json::to_writer_pretty(&mut *writer, report)?,
            }
            writeln!(writer)?;
            writer.flush()
        };
        match self {
            Self::File(file, _) => write(&mut file.writer()?).map_err(fail),
            _ => write(&mut BufWriter::new(io::stderr())).map_err(fail),
        }
    }

    /// Puts the file in place, if it is one.
    pub(super) fn put_in_place(self) -> Result<()> {
        match self {
            Self::File(file, _) => file.finish(),
            Self::Nowhere | Self::Stderr => Ok(()),
        }
    }
}
