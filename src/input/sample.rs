//! What a file looks like, from a few windows of it: how many lines, and how long.
//!
//! *Owns:* the windows, and the estimates that the planner starts from. *Invariants:* nothing but the plan depends
//! on an estimate; a wrong one costs time, never a line. *Cost:* at most 1 MiB read per file (a
//! file up to that size is counted exactly); 32 KiB of memory.

use std::io::ErrorKind;
use std::os::unix::fs::FileExt;

use memchr::memmem;

use crate::error::Result;
use crate::input::lines::LineFormat;
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
    /// The longest line seen, in bytes; where a window saw no line end, twice the window.
    pub(crate) longest_line_bytes: u64,
    /// Line ends seen.
    pub(crate) ends: u64,
    /// Of these, with a CR before them.
    pub(crate) ends_after_cr: u64,
}

/// Samples a regular file; `None` for a stream, which cannot be looked into before it is read.
pub(crate) fn sample(input: &Input, format: LineFormat) -> Result<Option<Sample>> {
    let (mut sampled, mut ends, mut ends_after_cr) = (0u64, 0u64, 0u64);
    let mut lengths = Lengths::default();
    let Some(size) = for_each_window(input, WINDOWS, WINDOW, |window| {
        sampled += window.bytes.len() as u64;
        ends += memchr::memchr_iter(format.terminator, window.bytes).count() as u64;
        // One that is parted between two windows does not matter for a share.
        ends_after_cr +=
            memmem::find_iter(window.bytes, &[b'\r', format.terminator]).count() as u64;
        lengths.add(window.bytes, format);
        if !window.is_followed {
            lengths.interrupt();
        }
        Ok(())
    })?
    else {
        return Ok(None);
    };
    let longest = lengths.longest.max(lengths.unfinished);
    let lines = match ends {
        0 => size.div_ceil(WINDOW * WINDOWS).max(1),
        _ if sampled == size => ends + 1,
        _ => (size as f64 * ends as f64 / sampled as f64).ceil() as u64,
    };
    Ok(Some(Sample {
        lines,
        longest_line_bytes: longest,
        ends,
        ends_after_cr,
    }))
}

/// A piece of a file.
pub(crate) struct Window<'a> {
    /// Where it begins in the file, in bytes.
    pub(crate) offset: u64,
    pub(crate) bytes: &'a [u8],
    /// Whether the next window begins where this one ends.
    is_followed: bool,
}

/// Goes through up to `count` windows of `bytes` bytes of a regular file, at even distances; one that is
/// no larger than all of them is read without gaps. Returns its size in bytes, or `None` for a stream.
///
/// # Errors
/// Where it cannot be read, or has changed, or the first of `look`.
pub(crate) fn for_each_window(
    input: &Input,
    count: u64,
    bytes: u64,
    mut look: impl FnMut(Window<'_>) -> Result<()>,
) -> Result<Option<u64>> {
    let Some((file, size)) = input.open_file()? else {
        return Ok(None);
    };
    let mut buffer = vec![0u8; bytes as usize];
    let is_followed = size <= bytes * count;
    let count = size.div_ceil(bytes).min(count);
    for number in 0..count {
        let offset = if is_followed {
            number * bytes
        } else {
            size / count * number
        };
        let wanted = bytes.min(size - offset) as usize;
        let read = loop {
            match file.read_at(&mut buffer[..wanted], offset) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other.map_err(|e| unreadable(input.name(), e))?,
            }
        };
        look(Window {
            offset,
            bytes: &buffer[..read],
            is_followed,
        })?;
    }
    Ok(Some(size))
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
}
