//! What an input looks like, from a few windows of it: how many lines, and how long.
//!
//! *Owns:* the windows, and the estimates that the planner starts from. *Invariants:* nothing but the plan depends
//! on an estimate; a wrong one costs time, never a line. Each of as many equal parts of the bytes of all files of
//! an input has a window, and each has bytes of one file. *Cost:* at most 1 MiB read and 32 files opened per input (one of up to
//! that size is counted exactly); 32 KiB of memory, and what [`repeats`](crate::input::repeats) takes.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;

use memchr::memmem;

use crate::error::Result;
use crate::input::lines::LineFormat;
use crate::input::parts::Parts;
use crate::input::repeats::Repeats;
use crate::input::{Input, unreadable};

/// The bytes of one window.
const WINDOW: u64 = 32 << 10;
/// How many windows are spread over a file.
const WINDOWS: u64 = 32;

/// What sampling found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sample {
    /// Estimated lines of the whole file.
    pub(crate) lines: u64,
    /// About how many of them are different.
    pub(crate) distinct_lines: u64,
    /// The longest line seen, in bytes; where a window saw no line end, twice the window.
    pub(crate) longest_line_bytes: u64,
    /// Line ends seen.
    pub(crate) ends: u64,
    /// Of these, with a CR before them.
    pub(crate) ends_after_cr: u64,
}

/// Samples regular files; `None` for a stream, which cannot be looked into before it is read.
pub(crate) fn sample(input: &Input, format: LineFormat) -> Result<Option<Sample>> {
    let (mut sampled, mut ends, mut ends_after_cr) = (0u64, 0u64, 0u64);
    // Last lines of files that have no terminator.
    let mut open_ends = 0;
    let mut lengths = Lengths::default();
    let mut repeats = Repeats::new();
    let Some(size) = for_each_window(input, WINDOWS, WINDOW, |window| {
        sampled += window.bytes.len() as u64;
        ends += memchr::memchr_iter(format.terminator, window.bytes).count() as u64;
        // One that is parted between two windows does not matter for a share.
        ends_after_cr +=
            memmem::find_iter(window.bytes, &[b'\r', format.terminator]).count() as u64;
        lengths.add(window.bytes, format);
        repeats.add(window.bytes, format.terminator);
        match window.then {
            Then::NextWindow => {}
            Then::Gap => lengths.interrupt(),
            Then::End => {
                open_ends += u64::from(!window.bytes.ends_with(&[format.terminator]));
                lengths.end();
            }
        }
        Ok(())
    })?
    else {
        return Ok(None);
    };
    let lines = match ends + open_ends {
        0 => size.div_ceil(WINDOW * WINDOWS).max(1),
        _ if sampled == size => ends + open_ends.max(1),
        seen => (size as f64 * seen as f64 / sampled as f64).ceil() as u64,
    };
    Ok(Some(Sample {
        lines,
        distinct_lines: repeats.distinct(lines),
        longest_line_bytes: lengths.longest,
        ends,
        ends_after_cr,
    }))
}

/// A piece of a file.
pub(crate) struct Window<'a> {
    /// Where it begins in the file, in bytes.
    pub(crate) offset: u64,
    pub(crate) bytes: &'a [u8],
    then: Then,
}

/// What comes behind a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// The next window.
    NextWindow,
    /// Bytes that no window has.
    Gap,
    /// The end of the file.
    End,
}

/// Goes through up to `count` windows of `bytes` bytes of an input's regular files, one in each of as many parts; an input
/// that is no larger than all of them, and has no more files, is read without gaps. Returns its size in bytes, or
/// `None` for a stream.
///
/// # Errors
/// Where it cannot be read, or has changed, or the first of `look`.
pub(crate) fn for_each_window(
    input: &Input,
    count: u64,
    bytes: u64,
    mut look: impl FnMut(Window<'_>) -> Result<()>,
) -> Result<Option<u64>> {
    let Some(parts) = input.parts() else {
        return Ok(None);
    };
    let (places, is_complete) = places(parts, count, bytes);
    let mut buffer = vec![0u8; bytes as usize];
    // One file is open at a time.
    let mut open: Option<(usize, File)> = None;
    for Place { part, offset } in places {
        let file = match open.take() {
            Some((number, file)) if number == part => file,
            _ => parts.open(part)?,
        };
        let size = parts.all()[part].state.size;
        let window = &mut buffer[..bytes.min(size - offset) as usize];
        let read = read_at(&file, window, offset);
        let read = read.map_err(|error| unreadable(parts.name(part), error))?;
        look(Window {
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

/// Where a window begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    part: usize,
    /// In the file, in bytes.
    offset: u64,
}

/// Where up to `count` windows of `bytes` bytes begin, in order, and whether they have all bytes between them. A
/// file that is no larger than a window is looked at as a whole.
fn places(parts: &Parts, count: u64, bytes: u64) -> (Vec<Place>, bool) {
    let sizes = || parts.all().iter().map(|part| part.state.size);
    let windows: u64 = sizes().map(|size| size.div_ceil(bytes)).sum();
    if windows <= count {
        let of_file = |(part, size): (usize, u64)| {
            let offsets = (0..size).step_by(bytes as usize);
            offsets.map(move |offset| Place { part, offset })
        };
        return (sizes().enumerate().flat_map(of_file).collect(), true);
    }
    let place = |number| {
        // Not at even distances: a file that repeats itself would have the same lines in all of them.
        let jitter = (number * 618 % 1000) * (parts.bytes() / count / 2000);
        let position = parts.bytes() / count * number + jitter;
        let number = parts.at(position);
        let part = &parts.all()[number];
        let last = part.state.size.saturating_sub(bytes);
        Place {
            part: number,
            offset: (position - part.start).min(last),
        }
    };
    let mut places: Vec<Place> = (0..count).map(place).collect();
    // A small file may have several of the positions.
    places.dedup();
    (places, false)
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

/// The longest line in windows that follow one another.
#[derive(Debug, Default)]
struct Lengths {
    longest: u64,
    /// What the last window had of a line that goes on.
    unfinished: u64,
}

impl Lengths {
    fn add(&mut self, window: &[u8], format: LineFormat) {
        let mut pieces = window.split(|&byte| byte == format.terminator).peekable();
        while let Some(piece) = pieces.next() {
            self.unfinished += piece.len() as u64;
            if pieces.peek().is_some() {
                self.longest = self.longest.max(std::mem::take(&mut self.unfinished));
            }
        }
    }

    /// The next window does not follow the last: where that was all one line, it is likely longer.
    fn interrupt(&mut self) {
        let unfinished = std::mem::take(&mut self.unfinished);
        let likely = if unfinished == WINDOW {
            2 * WINDOW
        } else {
            unfinished
        };
        self.longest = self.longest.max(likely);
    }

    /// The file ends here, and with it the line.
    fn end(&mut self) {
        self.longest = self.longest.max(std::mem::take(&mut self.unfinished));
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::input::Source;

    fn sample_of(bytes: &[u8]) -> Sample {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let input = Input::open_all(&[Source::from(file.path())])
            .unwrap()
            .remove(0);
        sample(&input, LineFormat::default()).unwrap().unwrap()
    }

    #[test]
    fn a_small_file_is_counted() {
        let sample = sample_of(b"a\nbcd\ne");
        assert_eq!(
            sample,
            Sample {
                lines: 3,
                distinct_lines: 3,
                longest_line_bytes: 3,
                ends: 2,
                ends_after_cr: 0,
            }
        );
    }

    #[test]
    fn a3_line_ends_with_a_carriage_return_are_told_apart() {
        let few = sample_of(b"a\r\nb\nc\r\r\n\rd\ne\r");
        assert_eq!((few.ends, few.ends_after_cr), (4, 2));
        let many = sample_of(&b"a line of some length\r\n".repeat(200_000));
        let parted = many.ends - many.ends_after_cr;
        assert!(parted <= WINDOWS && many.ends > 20_000, "{many:?}");
    }

    #[test]
    fn a_large_file_is_estimated_within_a_few_per_cent() {
        let text: Vec<u8> = (0..400_000u32)
            .flat_map(|i| format!("line number {i}\n").into_bytes())
            .collect();
        let sample = sample_of(&text);
        assert!((390_000..410_000).contains(&sample.lines), "{sample:?}");
        assert_eq!(sample.longest_line_bytes, 18);
    }

    #[test]
    fn a_line_across_windows_is_measured_in_a_small_file() {
        let mut text = b"short\n".to_vec();
        text.extend(vec![b'x'; 300_000]);
        text.extend_from_slice(b"\nshort\n");
        assert_eq!(sample_of(&text).longest_line_bytes, 300_000);
    }

    #[test]
    fn a_file_of_one_endless_line_says_so() {
        let sample = sample_of(&vec![b'a'; 3 << 20]);
        assert!(
            sample.longest_line_bytes >= 2 * WINDOW && sample.lines >= 1,
            "{sample:?}"
        );
    }

    fn sample_of_files(texts: &[&[u8]]) -> Sample {
        let place = tempfile::tempdir().unwrap();
        let write = |(number, text): (usize, &&[u8])| {
            let path = place.path().join(number.to_string());
            std::fs::write(&path, text).unwrap();
            path
        };
        let files = crate::Files::new("files", texts.iter().enumerate().map(write));
        let input = Input::open_all(&[Source::from(files)]).unwrap().remove(0);
        sample(&input, LineFormat::default()).unwrap().unwrap()
    }

    #[test]
    fn b20_a_few_small_files_are_counted() {
        let sample = sample_of_files(&[b"a\nbcd", b"", b"efgh", b"i\n"]);
        let expected = Sample {
            lines: 4,
            distinct_lines: 4,
            longest_line_bytes: 4,
            ends: 2,
            ends_after_cr: 0,
        };
        assert_eq!(sample, expected);
    }

    #[test]
    fn b20_many_files_are_estimated_by_their_bytes() {
        // 300 of two lines, and one that has most of the bytes.
        let large = b"a line of the large file\n".repeat(100_000);
        let small: &[u8] = b"one\ntwo";
        let mut texts = vec![small; 300];
        texts.insert(100, &large);
        let sample = sample_of_files(&texts);
        assert!((95_000..105_000).contains(&sample.lines), "{sample:?}");
        let sample = sample_of_files(&vec![small; 1000]);
        assert_eq!(sample.lines, 2000);
    }
}
