//! Where a command's result goes: standard output, or a file that is put in place at the end.
//!
//! *Owns:* opening, naming and finishing it, and printing reports to standard output. *Invariants:* the writer is flushed before the file is
//! put in place. *Cost:* a buffer of 512 KiB.

use std::io::{self, Write};
use std::path::Path;

use outset::{Error, Interrupt, OutputFile, OutputWriter, Result};

use super::streams::{check_stderr, check_stdout};

/// Standard output or a file.
pub(crate) struct ResultPlace(OutputFile);

impl ResultPlace {
    /// The file `output`; standard output without one.
    pub(crate) fn open(output: Option<&Path>, interrupt: &Interrupt) -> Result<Self> {
        OutputFile::create(output.unwrap_or(Path::new("-")), interrupt).map(Self)
    }

    /// What messages call it.
    pub(crate) fn name(&self) -> &str {
        self.0.name()
    }

    /// A writer into it.
    pub(crate) fn writer(&self) -> Result<OutputWriter> {
        self.0.writer()
    }

    /// Hands what was written to the system.
    pub(crate) fn flush(&self, mut writer: OutputWriter) -> Result<()> {
        writer
            .flush()
            .map_err(|error| self.error("cannot write", error))
    }

    /// Puts the file in place. Everything must have been flushed.
    pub(crate) fn put_in_place(self) -> Result<()> {
        self.0.finish()
    }

    /// The error of a result that cannot be written.
    pub(crate) fn error(&self, what: &'static str, source: io::Error) -> Error {
        Error::Output {
            target: self.name().to_owned(),
            what,
            source,
            advice: "check where the result goes",
        }
    }
}

/// Where the JSON report of a run goes, if it is wanted.
pub(crate) enum StatsPlace {
    Nowhere,
    Stderr,
    File(OutputFile, String),
}

impl StatsPlace {
    /// The file at `path`; `-` is standard error.
    pub(crate) fn open(path: Option<&Path>, interrupt: &Interrupt) -> Result<Self> {
        Ok(match path {
            None => Self::Nowhere,
            Some(path) if path == Path::new("-") => {
                check_stderr().map_err(|source| Error::Output {
                    target: "standard error".to_owned(),
                    what: "cannot write the report",
                    source,
                    advice: "check where --stats points",
                })?;
                Self::Stderr
            }
            Some(path) => {
                let name = path.display().to_string();
                Self::File(OutputFile::create(path, interrupt)?, name)
            }
        })
    }

    /// Writes the report: a file is not in place yet.
    pub(crate) fn fill(&self, report: &impl serde::Serialize) -> Result<()> {
        let name = match self {
            Self::Nowhere => return Ok(()),
            Self::Stderr => "standard error",
            Self::File(_, name) => name,
        };
        let fail = |source: io::Error| Error::Output {
            target: name.to_owned(),
            what: "cannot write the report",
            source,
            advice: "check where --stats points",
        };
        let text = serde_json::to_string_pretty(report).map_err(|error| fail(error.into()))?;
        let Self::File(file, _) = self else {
            return writeln!(io::stderr(), "{text}").map_err(fail);
        };
        let mut writer = file.writer()?;
        writeln!(writer, "{text}")
            .and_then(|()| writer.flush())
            .map_err(fail)
    }

    /// Puts the file in place, if it is one.
    pub(crate) fn put_in_place(self) -> Result<()> {
        match self {
            Self::File(file, _) => file.finish(),
            Self::Nowhere | Self::Stderr => Ok(()),
        }
    }
}

/// Writes a text and a line end to standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    print_bytes(format!("{text}\n").as_bytes())
}

/// Writes what is complete as it is to standard output.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut stdout = io::stdout().lock();
    check_stdout()
        .and_then(|()| stdout.write_all(bytes))
        .and_then(|()| stdout.flush())
        .map_err(unwritable)
}

/// A report as JSON.
pub(crate) fn json(report: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string_pretty(report).map_err(|error| unwritable(error.into()))
}

/// The error of standard output.
pub(crate) fn unwritable(source: io::Error) -> Error {
    Error::Output {
        target: "standard output".to_owned(),
        what: "cannot write",
        source,
        advice: "check where it goes",
    }
}
