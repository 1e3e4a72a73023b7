//! Windows: pieces of the files of an input, spread over all of their bytes.
//!
//! *Owns:* where windows lie, and reading them. *Invariants:* each equal part of the bytes of all files has
//! a window, and each window has bytes of one file; of a compressed file the beginning is decoded, of a Parquet file
//! the beginnings of some pieces. *Cost:* one window of memory; one file is open at a time, at most one for each
//! window, or [`DECODED_PIECES`] that are decoded.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;

use crate::decode::file_format::FileFormat;
use crate::decode::io_error::unreadable;
use crate::error::Result;
use crate::input::Input;
use crate::input::byte_reader::{ByteReader, PieceOpening};
use crate::input::parts::{Part, Parts};
use crate::input::pieces::Piece;
use crate::lines::{LineFormat, Lines};
use crate::memory::budget::MemoryBudget;

/// A compressed text is taken to be this multiple of its file, where there is no memory to look.
const LIKELY_RATIO: u64 = 4;
/// The most files of an input, or pieces of fewer files, that are decoded for a sample.
const DECODED_PIECES: usize = 8;

/// A piece of a file.
pub(crate) struct Window<'a> {
    /// The number of the file.
    pub(crate) part: usize,
    /// Its beginning in the file, in bytes.
    pub(crate) offset: u64,
    pub(crate) bytes: &'a [u8],
    pub(super) then: Then,
}

impl<'a> Window<'a> {
    /// Iterates over the lines that are whole in the window: what comes before the first line end is the rest of a
    /// line, and what follows the last one is the beginning of another. Quotes do not count, because the window may
    /// begin between some.
    pub(crate) fn whole_lines(&self, format: LineFormat) -> Lines<'a> {
        let format = format.unquoted();
        let start = match self.offset {
            0 => 0,
            _ => format
                .find(self.bytes)
                .map_or(self.bytes.len(), |end| end + 1),
        };
        let end = format.find_last(self.bytes).map_or(0, |end| end + 1);
        format.lines(&self.bytes[start.min(end)..end])
    }
}

/// The continuation of a file after a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// The next window.
    NextWindow,
    /// Bytes that no window has.
    Gap,
    /// The end of the file.
    End,
}

/// Goes through up to `count` windows of `bytes` bytes of an input's regular files, one in each of `count` equal parts;
/// an input that is no larger than all of them, and has no more files, is read without gaps. Returns its size in bytes,
/// or `None` for a stream, and for files of which one is compressed.
///
/// # Errors
/// Where it cannot be read, or has changed, or the first of `look`.
pub(crate) fn for_each_window(
    input: &Input,
    count: u64,
    bytes: u64,
    mut look: impl FnMut(Window<'_>) -> Result<()>,
) -> Result<Option<u64>> {
    let Some(parts) = input.parts().filter(|parts| parts.decoding().is_none()) else {
        return Ok(None);
    };
    let (starts, is_complete) = starts(parts, count, bytes);
    let mut buffer = vec![0u8; bytes as usize];
    // One file is open at a time.
    let mut open: Option<(usize, File)> = None;
    for WindowStart { part, offset } in starts {
        let file = match open.take() {
            Some((number, file)) if number == part => file,
            _ => parts.open(part)?,
        };
        let size = parts.all()[part].state.size;
        let window = &mut buffer[..bytes.min(size - offset) as usize];
        let read = read_at(&file, window, offset);
        let read = read.map_err(|error| unreadable(parts.name(part), error))?;
        look(Window {
            part,
            offset,
            bytes: &window[..read],
            then: match offset + window.len() as u64 {
                end if end == size => Then::End,
                _ if is_complete => Then::NextWindow,
                _ => Then::Gap,
            },
        })?;
        open = Some((part, file));
    }
    Ok(Some(parts.bytes()))
}

/// Goes through up to `count` windows of `bytes` bytes of what some of `parts`, evenly spread, begin with when they are
/// decoded. Files whose decoders take more than `memory_bytes` are passed over; `stop` ends it. Returns about how many
/// bytes all have when they are decoded.
///
/// # Errors
/// Where one cannot be read or decoded, or has changed; what `stop` returns, and the first error of `look`.
pub(super) fn for_each_decoded_window(
    parts: &Parts,
    count: u64,
    bytes: u64,
    memory_bytes: u64,
    stop: &(dyn Fn() -> Result<()> + Sync),
    mut look: impl FnMut(Window<'_>) -> Result<()>,
) -> Result<u64> {
    let files = parts.all().len();
    let wanted = files.min(DECODED_PIECES);
    // What was looked into, in bytes of the files, and what it is when it is decoded.
    let (mut taken, mut decoded) = (0, 0);
    let mut buffer = vec![0; bytes as usize];
    for number in 0..wanted {
        let part = number * files / wanted;
        let Part { state, format, .. } = &parts.all()[part];
        if format
            .decoding()
            .is_some_and(|decoding| decoding.memory_bytes > memory_bytes)
        {
            continue;
        }
        let opening = PieceOpening {
            terminator: b'\n',
            stop,
            budget: MemoryBudget::new(memory_bytes, 0),
            are_prefixed: false,
        };
        let pieces = pieces_of(format, part, DECODED_PIECES / wanted);
        let windows = count.div_ceil((wanted * pieces.len()) as u64);
        for piece in pieces {
            let mut reader = ByteReader::of_piece(parts, piece, &opening)?;
            decoded += front_windows(&mut reader, piece, windows, &mut buffer, &mut look)?;
            let read = reader.taken_bytes();
            taken += read.map_or(state.size, |read| read.min(state.size));
        }
    }
    let size = parts.bytes();
    Ok(match taken {
        0 => size.saturating_mul(LIKELY_RATIO),
        taken if taken == size => decoded,
        taken => (size as f64 * decoded as f64 / taken as f64) as u64,
    })
}

/// Lists up to `most` pieces of a file, evenly spread: of one that can only be decoded from its start, that.
fn pieces_of(format: &FileFormat, part: usize, most: usize) -> Vec<Piece> {
    let Some(table) = format.table() else {
        return vec![Piece::whole(part)];
    };
    let starts: Vec<u64> = table.piece_starts().collect();
    let pieces = starts.len().min(most);
    let piece = |number| {
        let start = starts[number * starts.len() / pieces];
        Piece {
            part,
            start,
            end: table.piece_end(start),
        }
    };
    (0..pieces).map(piece).collect()
}

/// Goes through the first `count` windows of a piece; returns their bytes.
fn front_windows(
    reader: &mut ByteReader<'_>,
    Piece { part, start, .. }: Piece,
    count: u64,
    buffer: &mut [u8],
    mut look: impl FnMut(Window<'_>) -> Result<()>,
) -> Result<u64> {
    let mut offset = 0;
    for number in 1..=count {
        let filled = reader.fill(buffer)?;
        let bytes = &buffer[..filled.bytes];
        // The end may show only after the last bytes.
        if !bytes.is_empty() {
            look(Window {
                part,
                // Where a later piece begins is not known. It is not the beginning of the file.
                offset: start + offset,
                bytes,
                then: match filled.is_ended {
                    true => Then::End,
                    false if number == count => Then::Gap,
                    false => Then::NextWindow,
                },
            })?;
        }
        offset += filled.bytes as u64;
        if filled.is_ended {
            break;
        }
    }
    Ok(offset)
}

/// The beginning of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WindowStart {
    part: usize,
    /// In the file, in bytes.
    offset: u64,
}

/// Finds the beginnings of up to `count` windows of `bytes` bytes, in order, and whether they have all bytes between
/// them. A file that is no larger than a window is looked at as a whole.
fn starts(parts: &Parts, count: u64, bytes: u64) -> (Vec<WindowStart>, bool) {
    let sizes = || parts.all().iter().map(|part| part.state.size);
    let windows: u64 = sizes().map(|size| size.div_ceil(bytes)).sum();
    if windows <= count {
        let of_file = |(part, size): (usize, u64)| {
            let offsets = (0..size).step_by(bytes as usize);
            offsets.map(move |offset| WindowStart { part, offset })
        };
        return (sizes().enumerate().flat_map(of_file).collect(), true);
    }
    let start = |number| {
        // Not at even distances: a file that repeats itself would have the same lines in all of them.
        let jitter = (number * 618 % 1000) * (parts.bytes() / count / 2000);
        let position = parts.bytes() / count * number + jitter;
        let number = parts.at(position);
        let part = &parts.all()[number];
        let last = part.state.size.saturating_sub(bytes);
        WindowStart {
            part: number,
            offset: (position - part.start).min(last),
        }
    };
    let mut starts: Vec<WindowStart> = (0..count).map(start).collect();
    // A small file may have several of the positions.
    starts.dedup();
    (starts, false)
}

/// Reads what there is for `buffer` at `offset`; fewer bytes at the end of the file.
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    loop {
        match file.read_at(buffer, offset) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
