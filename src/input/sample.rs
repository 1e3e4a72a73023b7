//! What a file looks like, from a few windows of it: how many lines, and how long.
//!
//! *Owns:* the estimates that the planner starts from. *Invariants:* nothing but the plan depends
//! on an estimate; a wrong one costs time, never a line. *Cost:* at most 1 MiB read per file (a
//! file up to that size is counted exactly); 32 KiB of memory.

use std::os::unix::fs::FileExt;

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
}

/// Samples a regular file; `None` for a stream, which cannot be looked into before it is read.
pub(crate) fn sample(input: &Input, format: LineFormat) -> Result<Option<Sample>> {
    let Some((file, size)) = input.open_file()? else {
        return Ok(None);
    };
    let mut window = vec![0u8; WINDOW as usize];
    let (mut sampled, mut ends, mut longest) = (0u64, 0u64, 0u64);
    let count = size.div_ceil(WINDOW).min(WINDOWS);
    for number in 0..count {
        // Evenly spread; a file of at most WINDOWS windows is read without gaps.
        let offset = if size <= WINDOW * WINDOWS {
            number * WINDOW
        } else {
            size / count * number
        };
        let wanted = WINDOW.min(size - offset) as usize;
        let read = file
            .read_at(&mut window[..wanted], offset)
            .map_err(|e| unreadable(input.name(), e))?;
        let seen = &window[..read];
        sampled += read as u64;
        ends += memchr::memchr_iter(format.terminator, seen).count() as u64;
        longest = longest.max(longest_line(seen, format, read as u64 == size));
    }
    let lines = match ends {
        0 => size.div_ceil(WINDOW * WINDOWS).max(1),
        _ if sampled == size => ends + 1,
        _ => (size as f64 * ends as f64 / sampled as f64).ceil() as u64,
    };
    Ok(Some(Sample {
        lines,
        longest_line_bytes: longest,
    }))
}

fn longest_line(window: &[u8], format: LineFormat, is_whole: bool) -> u64 {
    let longest = window
        .split(|&byte| byte == format.terminator)
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0) as u64;
    if longest == window.len() as u64 && !is_whole {
        longest * 2
    } else {
        longest
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
                longest_line_bytes: 3
            }
        );
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
    fn a_file_of_one_endless_line_says_so() {
        let sample = sample_of(&vec![b'a'; 3 << 20]);
        assert!(
            sample.longest_line_bytes >= 2 * WINDOW && sample.lines >= 1,
            "{sample:?}"
        );
    }
}
