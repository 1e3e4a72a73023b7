//! The front of a text, which comes before its first record: a header, and what may come before that.
//!
//! *Owns:* reading it, from a file or from a stream. *Invariants:* comments and blank lines before a header are passed
//! over; nothing after the header of a stream is taken. *Cost:* 64 KiB read of each file, and the comments before its
//! header; a stream is read byte by byte.

use std::fs::File;
use std::path::Path;

use crate::decode::compressed::{Signature, recognise};
use crate::decode::io_error::unreadable;
use crate::decode::request::Opening;
use crate::decode::stream::StoppableStream;
use crate::error::{Error, Result};
use crate::input::beginning::{Beginning, explained};
use crate::input::byte_reader::ByteReader;
use crate::input::parts::Parts;
use crate::lines::LineFormat;
use crate::memory::budget::MemoryBudget;
use crate::notice::Foreign;
use crate::record::{BYTE_ORDER_MARK, HeaderRecord, MOST_HEADER_BYTES, PassedOver};

/// The most bytes of comments and blank lines before a header: 1 MiB, as much as the first piece of a file that is
/// decoded in several ones has at least.
const MOST_BEFORE_HEADER: u64 = 1 << 20;

/// The rules for what comes before the first record of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrontRules {
    /// The lines that are no records.
    pub(super) passed_over: PassedOver,
    /// The rules by which lines are told apart.
    pub(super) format: LineFormat,
    /// True if what is compressed is decoded.
    pub(super) decodes: bool,
}

/// The lines of a text before its first record.
#[derive(Debug, Default)]
pub(super) struct Front {
    /// The record that names the fields; `None` if there is none.
    pub(super) header: Option<HeaderRecord>,
    /// Its bytes, and those of the lines before it, with their terminators.
    pub(super) bytes: u64,
    /// The number of terminators in them.
    pub(super) lines: u64,
    /// Lines before the header.
    pub(super) passed_over: u64,
    /// The kind of data that the beginning shows, if that is no plain text.
    pub(super) foreign: Option<Foreign>,
}

impl Front {
    /// Adds a line, which ends in a terminator unless it is the last; returns true if it is the header.
    fn add(&mut self, line: &[u8], passed_over: PassedOver, format: LineFormat) -> bool {
        let terminators = memchr::memchr_iter(format.terminator, line).count();
        self.bytes += line.len() as u64 + 1;
        self.lines += terminators as u64 + 1;
        let is_passed_over = passed_over.has(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line));
        self.passed_over += u64::from(is_passed_over);
        if !is_passed_over {
            let line = match line {
                [line @ .., b'\r'] if format.strip_cr => line,
                line => line,
            };
            self.header = Some(HeaderRecord {
                record: line.to_vec(),
            });
        }
        !is_passed_over
    }

    /// Looks at the bytes that it begins with, of which those that `name` has stored are not decoded.
    fn look_at(&mut self, bytes: &[u8], name: &Path, is_stored: bool, rules: FrontRules) {
        let beginning = Beginning {
            bytes: bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes),
            name,
            terminator: rules.format.terminator,
            decodes: rules.decodes,
            is_stored,
        };
        self.foreign = beginning.foreign();
    }

    /// Fails where more comes before the header than may.
    fn check(&self, name: &Path) -> Result<()> {
        if self.bytes <= MOST_BEFORE_HEADER {
            return Ok(());
        }
        Err(Error::usage(
            format!(
                "{}: more than 1 MiB of comments come before its header",
                name.display()
            ),
            "remove them, or give fields by their numbers and leave out `has_header`",
        ))
    }
}

/// Finds where the first line of `bytes` ends, which may begin with a byte order mark.
fn first_end(bytes: &[u8], format: LineFormat, is_all: bool) -> Option<usize> {
    let rest = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let end = format.first_end(rest, is_all)?;
    Some(end + bytes.len() - rest.len())
}

/// Reads what a file has before its first record. An empty one has no header.
///
/// # Errors
/// [`Error::Usage`] for a header of more than 64 KiB; where the file cannot be read.
pub(super) fn front_of_part(
    parts: &Parts,
    part: usize,
    rules: FrontRules,
    opening: Opening<'_>,
) -> Result<Front> {
    let budget = MemoryBudget::new(opening.memory_bytes, 0);
    let stop = || opening.interrupt.check();
    let mut reader = ByteReader::of_part(parts, part, &stop, &budget)?;
    let (mut front, format) = (Front::default(), rules.format);
    let mut bytes = vec![0; MOST_HEADER_BYTES];
    let (mut filled, mut is_ended) = (0, false);
    loop {
        while filled < bytes.len() && !is_ended {
            let more = reader.fill(&mut bytes[filled..])?;
            (filled, is_ended) = (filled + more.bytes, more.is_ended);
        }
        if front.bytes == 0 {
            let is_stored = parts.all()[part].format.decoding().is_none();
            front.look_at(&bytes[..filled], parts.name(part), is_stored, rules);
        }
        let mut start = 0;
        while start < filled
            && let Some(end) = first_end(&bytes[start..filled], format, is_ended)
        {
            if front.add(&bytes[start..start + end], rules.passed_over, format) {
                return Ok(front);
            }
            front.check(parts.name(part))?;
            start += end + 1;
        }
        if is_ended {
            return Ok(front);
        }
        if start == 0 {
            return Err(explained(too_long(parts.name(part)), front.foreign));
        }
        bytes.copy_within(start..filled, 0);
        filled -= start;
    }
}

/// Reads what a stream has before its first record, byte by byte, so that nothing after it is taken.
///
/// # Errors
/// As [`front_of_part`], and for a stream that is compressed.
pub(super) fn front_of_stream(
    stream: &File,
    name: &Path,
    rules: FrontRules,
    stop: &(dyn Fn() -> Result<()> + Sync),
) -> Result<Front> {
    // The same open file: what is read here is no longer in the stream.
    let same = stream
        .try_clone()
        .map_err(|error| unreadable(name, error))?;
    let mut stream = StoppableStream::new(same, stop);
    let (mut front, format) = (Front::default(), rules.format);
    let (mut bytes, mut byte) = (Vec::new(), [0]);
    loop {
        let is_ended = stream.fill(&mut byte, name)?.bytes == 0;
        if is_ended && bytes.is_empty() {
            return Ok(front);
        }
        bytes.extend_from_slice(if is_ended { &[] } else { &byte });
        // Quotes may span lines, so a line is looked at when it may have ended.
        let may_end = is_ended || byte[0] == format.terminator;
        if may_end && let Some(end) = first_end(&bytes, format, is_ended) {
            if front.bytes == 0 {
                front.look_at(&bytes, name, false, rules);
            }
            if front.add(&bytes[..end], rules.passed_over, format) {
                return Ok(front);
            }
            front.check(name)?;
            bytes.clear();
            continue;
        }
        let is_first = front.bytes == 0 && rules.decodes;
        let is_compressed = |bytes: &[u8]| {
            let signature = recognise(bytes, false);
            matches!(
                signature,
                Signature::Frame(_) | Signature::Skippable(_) | Signature::LegacyLz4
            )
        };
        if is_first && is_compressed(&bytes) {
            return Err(Error::usage(
                format!(
                    "{}: the header of compressed data cannot be read from a pipe",
                    name.display()
                ),
                "pipe the data decompressed, or give a file",
            ));
        }
        if bytes.len() > MOST_HEADER_BYTES {
            if front.bytes == 0 {
                front.look_at(&bytes, name, false, rules);
            }
            return Err(explained(too_long(name), front.foreign));
        }
    }
}

fn too_long(name: &Path) -> Error {
    Error::usage(
        format!(
            "{}: its first record is longer than 64 KiB, so it cannot be a header",
            name.display()
        ),
        "leave out `has_header` and give fields by their numbers, or check quotes and line ends",
    )
}
