//! Where the bytes come from that are cut in order: a pipe, or files that are decoded or whose rows become records.
//!
//! *Owns:* the choice between bytes as they are and decoded ones, and the way from one file of an input to the next.
//!
//! *Invariants.*
//! - What a pipe carries is recognised by its first bytes when they come, not before: opening never waits for a writer.
//! - The bytes of a file end where the file does: [`Supply::fill`] ends there, and [`Supply::next_file`] goes on.
//! - A file is compared with the one that was checked at the start when it was read, also where decoding it fails: that
//!   it changed is the better reason.
//!
//! *Cost:* what a decoder takes, if there is one.

use std::path::Path;

use crate::error::{Error, Result};
use crate::input::Input;
use crate::input::compressed::{Decoder, Front, SOURCE_BYTES, Source, recognise};
use crate::input::form::Form;
use crate::input::parquet::Rows;
use crate::input::parts::Parts;
use crate::input::stream::{Filled, StoppableStream};
use crate::memory::budget::MemoryBudget;

/// The bytes of an input in order.
pub(crate) struct Supply<'a> {
    bytes: Bytes<'a>,
    files: Option<Files<'a>>,
    name: &'a Path,
    budget: MemoryBudget,
    /// Bytes that were given of this stream or file.
    given_bytes: u64,
}

/// How a stream is read.
enum Bytes<'a> {
    /// Nothing has come yet. It may be compressed.
    Unknown(StoppableStream<'a>),
    Plain(StoppableStream<'a>),
    Decoded(Box<Decoder<'a>>),
    Rows(Box<Rows<'a>>),
    /// It failed.
    None,
}

/// The files of an input, one after the other.
struct Files<'a> {
    parts: &'a Parts,
    stop: &'a (dyn Fn() -> Result<()> + Sync),
    /// The number of the file that is read.
    part: usize,
    /// The decoded bytes of the files before it.
    part_start: u64,
}

impl<'a> Supply<'a> {
    /// Supplies the bytes of a pipe; a decoder, if it needs one, gets its memory from `budget`.
    pub(crate) fn of_stream(
        input: &'a Input,
        stream: StoppableStream<'a>,
        budget: &MemoryBudget,
    ) -> Self {
        let bytes = if input.decodes() {
            Bytes::Unknown(stream)
        } else {
            Bytes::Plain(stream)
        };
        Self {
            bytes,
            files: None,
            name: input.name(),
            budget: budget.clone(),
            given_bytes: 0,
        }
    }

    /// Supplies the bytes of files, some of which are compressed.
    ///
    /// # Errors
    /// As [`Parts::open`], of the first.
    pub(super) fn of_parts(
        parts: &'a Parts,
        stop: &'a (dyn Fn() -> Result<()> + Sync),
        budget: &MemoryBudget,
    ) -> Result<Self> {
        Ok(Self {
            bytes: open(parts, 0, stop, budget)?,
            files: Some(Files {
                parts,
                stop,
                part: 0,
                part_start: 0,
            }),
            name: parts.name(0),
            budget: budget.clone(),
            given_bytes: 0,
        })
    }

    /// Supplies the bytes of one file, which may be compressed, for a look at it that `stop` can end.
    ///
    /// # Errors
    /// As [`Parts::open`].
    pub(super) fn of_part(
        parts: &'a Parts,
        part: usize,
        stop: &'a (dyn Fn() -> Result<()> + Sync),
        budget: &MemoryBudget,
    ) -> Result<Self> {
        Ok(Self {
            bytes: open(parts, part, stop, budget)?,
            files: None,
            name: parts.name(part),
            budget: budget.clone(),
            given_bytes: 0,
        })
    }

    /// How many bytes of a compressed file were taken to give those that it gave; `None` where it is plain or all of it
    /// was read.
    pub(super) fn taken_bytes(&self) -> Option<u64> {
        match &self.bytes {
            Bytes::Decoded(decoder) => Some(decoder.given_bytes()),
            Bytes::Rows(rows) => Some(rows.taken_bytes()),
            Bytes::Plain(_) => Some(self.given_bytes),
            Bytes::Unknown(_) | Bytes::None => None,
        }
    }

    /// The number of the file that is read, and the bytes before it; 0 and 0 for a pipe.
    pub(crate) fn place(&self) -> (usize, u64) {
        let place = |files: &Files<'_>| (files.part, files.part_start);
        self.files.as_ref().map_or((0, 0), place)
    }

    /// Reads until `buffer` is full or the stream or file has ended. Less comes of a stream whose lines are wanted promptly,
    /// and the first time of a plain one.
    ///
    /// # Errors
    /// As [`StoppableStream::fill`] and [`Decoder::fill`].
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Result<Filled> {
        match self.fill_any(buffer) {
            Ok(filled) => {
                self.given_bytes += filled.bytes as u64;
                Ok(filled)
            }
            // That a file changed is the better reason.
            Err(error) => self.verify().and(Err(error)),
        }
    }

    fn fill_any(&mut self, buffer: &mut [u8]) -> Result<Filled> {
        match &mut self.bytes {
            Bytes::Unknown(stream) => {
                let (front, filled) = read_front(stream, buffer, self.name)?;
                self.settle(front, (&buffer[..filled.bytes], filled.is_ended))?;
                match &mut self.bytes {
                    Bytes::Decoded(decoder) => decoder.fill(buffer),
                    _ => Ok(filled),
                }
            }
            Bytes::Plain(stream) => stream.fill(buffer, self.name),
            Bytes::Decoded(decoder) => decoder.fill(buffer),
            Bytes::Rows(rows) => rows.fill(buffer),
            Bytes::None => Ok(Filled {
                bytes: 0,
                is_ended: true,
            }),
        }
    }

    /// Decides how a stream is read that begins with `read`, which is all of it or not: as it is, or by a decoder, which gets
    /// what was read.
    fn settle(&mut self, front: Front, read: (&[u8], bool)) -> Result<()> {
        self.bytes = match std::mem::replace(&mut self.bytes, Bytes::None) {
            Bytes::Unknown(stream) if front == Front::Plain => Bytes::Plain(stream),
            Bytes::Unknown(_) if front == Front::Parquet => {
                return Err(Error::Usage {
                    what: format!("{}: is a Parquet file in a pipe", self.name.display()),
                    advice: "write it to a file first: its columns are found from its end".into(),
                });
            }
            Bytes::Unknown(stream) => {
                let source = Source::new(stream, self.name, &self.budget, read)?;
                Bytes::Decoded(Box::new(Decoder::new(source, &self.budget)))
            }
            settled => settled,
        };
        Ok(())
    }

    /// Goes on to the next file; false where there is none. To be called when one has ended.
    ///
    /// # Errors
    /// As [`Parts::open`] of the file that was read, and of the next.
    pub(crate) fn next_file(&mut self) -> Result<bool> {
        self.verify()?;
        let Some(files) = &mut self.files else {
            return Ok(false);
        };
        if files.part + 1 == files.parts.all().len() {
            return Ok(false);
        }
        files.part += 1;
        files.part_start += std::mem::take(&mut self.given_bytes);
        self.name = files.parts.name(files.part);
        self.bytes = Bytes::None;
        self.bytes = open(files.parts, files.part, files.stop, &self.budget)?;
        Ok(true)
    }

    /// Fails if the file that is read has changed.
    fn verify(&self) -> Result<()> {
        let Some(files) = &self.files else {
            return Ok(());
        };
        files.parts.open(files.part).map(drop)
    }
}

/// Reads the first bytes of a stream, no more than a decoder reads at a time, until they tell what it is.
fn read_front(
    stream: &mut StoppableStream<'_>,
    buffer: &mut [u8],
    name: &Path,
) -> Result<(Front, Filled)> {
    let most = buffer.len().min(SOURCE_BYTES as usize);
    let mut bytes = 0;
    loop {
        let Filled {
            bytes: more,
            is_ended,
        } = stream.fill(&mut buffer[bytes..most], name)?;
        bytes += more;
        match recognise(&buffer[..bytes], is_ended || bytes == most) {
            Front::Unclear => {}
            front => return Ok((front, Filled { bytes, is_ended })),
        }
    }
}

/// Opens a file of `parts` for reading in order.
fn open<'a>(
    parts: &'a Parts,
    part: usize,
    stop: &'a (dyn Fn() -> Result<()> + Sync),
    budget: &MemoryBudget,
) -> Result<Bytes<'a>> {
    let file = parts.open(part)?;
    Ok(match &parts.all()[part].form {
        Form::Plain => Bytes::Plain(StoppableStream::new(file, stop)),
        Form::Compressed(_) => Bytes::Unknown(StoppableStream::new(file, stop)),
        Form::Table(table) => {
            let file = (file, parts.name(part));
            Bytes::Rows(Box::new(Rows::new(table, file, stop, budget)))
        }
    })
}
