//! A sample of an input: how many lines a few windows of it suggest, and how long.
//!
//! *Owns:* the estimates that the planner starts from. *Invariants:* nothing but the plan depends on an estimate; a
//! wrong one costs time, never a line. *Cost:* at most 1 MiB read and 32 files opened per input (one of up to that size
//! is counted exactly), or decoded of up to 8 files, or pieces of fewer; 32 KiB of memory, and what
//! [`repeats`](crate::input::sample::distinct_lines) takes.

pub(crate) mod distinct_lines;
pub(crate) mod first_lines;
mod wide_lines;
pub(crate) mod windows;

use memchr::memmem;

use crate::error::Result;
use crate::input::Input;
use crate::input::beginning::are_mixed;
use crate::input::keying::Keying;
use crate::input::sample::distinct_lines::{Distinct, WindowLines};
use crate::input::sample::first_lines::FirstLines;
use crate::input::sample::wide_lines::WideLines;
use crate::input::sample::windows::{Then, Window, for_each_decoded_window, for_each_window};
use crate::lines::LineFormat;
use crate::notice::Notice;
use crate::record::{Columns, Key};

/// The bytes of one window.
const WINDOW: u64 = 32 << 10;
/// The number of windows that are spread over a file.
const WINDOWS: u64 = 32;

/// The length that lines are taken to have where none was decoded, in bytes.
const LIKELY_LINE_BYTES: u64 = 64;

/// The findings of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Sample {
    /// Estimated lines of the whole file.
    pub(crate) lines: u64,
    /// About how many of them are different.
    pub(crate) distinct_lines: Distinct,
    /// The mean length of their keys in bytes, terminators included, where lines are records; 0 where none was seen.
    pub(crate) mean_key_bytes: f64,
    /// The longest line seen, in bytes; where a window saw no line end, twice the window.
    pub(crate) longest_line_bytes: u64,
    /// Line ends seen.
    pub(crate) ends: u64,
    /// Of these, with a CR before them.
    pub(crate) ends_after_cr: u64,
    /// Lines seen, or their keys, that are not ASCII.
    pub(crate) wide_lines: WideLines,
    /// The first lines of its files, where they have fields and none is a header.
    pub(crate) first_lines: FirstLines,
}

impl Sample {
    /// Returns true if about half of its lines end in CR LF, and the others in LF alone.
    pub(crate) fn has_mixed_line_ends(&self) -> bool {
        are_mixed(self.ends, self.ends_after_cr)
    }
}

/// Samples regular files; `None` for a stream, which cannot be looked into before it is read. Of a compressed file the
/// beginning is decoded, and of a Parquet file some row groups, in at most `memory_bytes`; where that is too little,
/// its lines are guessed. `stop` is asked while it is read, and `tell` hears of what is no plain text, if somebody
/// watches ([`Input::watch_fronts`]).
///
/// # Errors
/// Where a file cannot be read or decoded, or has changed, and what `stop` returns.
pub(crate) fn sample(
    input: &Input,
    format: LineFormat,
    memory_bytes: u64,
    stop: &(dyn Fn() -> Result<()> + Sync),
    tell: &dyn Fn(&Notice),
) -> Result<Option<Sample>> {
    let Some(parts) = input.parts() else {
        input.look_at_header().iter().for_each(tell);
        return Ok(None);
    };
    let mut sampler = Sampler::new(format, input.keying());
    let look = |window: &Window<'_>| {
        if window.offset == 0 {
            let found = input.look_at_front(window.part, window.bytes, format);
            found.iter().for_each(tell);
        }
    };
    let add = |window: Window<'_>| {
        look(&window);
        sampler.add(&window);
        stop()
    };
    let size = match for_each_window(input, WINDOWS, WINDOW, add)? {
        Some(size) => size,
        None => {
            let add = |window: Window<'_>| {
                look(&window);
                sampler.add(&window);
                Ok(())
            };
            let size = for_each_decoded_window(parts, WINDOWS, WINDOW, memory_bytes, stop, add)?;
            input.found.note_likely_bytes(size);
            size
        }
    };
    Ok(Some(sampler.finish(size)))
}

/// The counts of the windows of an input.
struct Sampler<'k> {
    format: LineFormat,
    keying: Option<&'k Keying>,
    /// The keys of a window, each between terminators.
    keys: Vec<u8>,
    /// Bytes of all keys, and how many there were.
    key_bytes: (u64, u64),
    /// Bytes of the windows.
    sampled: u64,
    ends: u64,
    ends_after_cr: u64,
    /// Last lines of files that have no terminator.
    open_ends: u64,
    lengths: Lengths,
    wide_lines: WideLines,
    repeats: WindowLines,
    first_lines: FirstLines,
}

impl<'k> Sampler<'k> {
    fn new(format: LineFormat, keying: Option<&'k Keying>) -> Self {
        Self {
            format,
            keying,
            keys: Vec::new(),
            key_bytes: (0, 0),
            sampled: 0,
            ends: 0,
            ends_after_cr: 0,
            open_ends: 0,
            lengths: Lengths::default(),
            wide_lines: WideLines::default(),
            repeats: WindowLines::new(),
            first_lines: FirstLines::default(),
        }
    }

    fn add(&mut self, window: &Window<'_>) {
        let terminator = self.format.terminator;
        if window.offset == 0 {
            self.take_first_line(window);
        }
        self.sampled += window.bytes.len() as u64;
        self.ends += memchr::memchr_iter(terminator, window.bytes).count() as u64;
        // One that is parted between two windows does not matter for a share.
        let after_cr = [b'\r', terminator];
        if !self.keying.is_some_and(Keying::ignores_cr) {
            self.ends_after_cr += memmem::find_iter(window.bytes, &after_cr).count() as u64;
        }
        self.lengths.add(window.bytes, self.format);
        let lines = match self.keying {
            None => window.bytes,
            Some(keying) => {
                self.take_keys(window, keying.columns(window.part));
                &self.keys
            }
        };
        if let Some(lines) = whole(lines, terminator) {
            self.repeats.add(lines, terminator);
            self.wide_lines.add(lines, terminator);
        }
        match window.then {
            Then::NextWindow => {}
            Then::Gap => self.lengths.interrupt(),
            Then::End => {
                self.open_ends += u64::from(!window.bytes.ends_with(&[terminator]));
                self.lengths.end();
            }
        }
    }

    /// Looks at the first line of a file, where it has fields.
    fn take_first_line(&mut self, window: &Window<'_>) {
        let Some(keying) = self.keying else { return };
        let first = keying.first_record(window.part, window.bytes, self.format);
        if let Some((first, delimiter)) = first
            && keying.front(window.part) == 0
        {
            self.first_lines.add(first, delimiter);
        }
    }

    /// Takes the keys of the records that are whole in the window. One that begins between quotes has others: what is
    /// no record is left out.
    fn take_keys(&mut self, window: &Window<'_>, columns: &Columns) {
        let terminator = self.format.terminator;
        self.keys.clear();
        self.keys.push(terminator);
        let mut built = Vec::new();
        for record in window.whole_lines(self.format) {
            built.clear();
            if columns.passed_over().has(record) {
                continue;
            }
            let key = match columns.key(record, &mut built) {
                Ok(Key::Piece(key)) => key,
                Ok(Key::Built(range)) => &built[range],
                Err(_) => continue,
            };
            self.keys.extend_from_slice(key);
            self.keys.push(terminator);
            self.key_bytes = (
                self.key_bytes.0 + key.len() as u64 + 1,
                self.key_bytes.1 + 1,
            );
        }
    }

    /// Makes the sample of an input of `size` bytes.
    fn finish(self, size: u64) -> Sample {
        let (ends, open_ends) = (self.ends, self.open_ends);
        let lines = match ends + open_ends {
            // Nothing of it was decoded.
            _ if self.sampled == 0 => (size / LIKELY_LINE_BYTES).max(1),
            0 => size.div_ceil(WINDOW * WINDOWS).max(1),
            _ if self.sampled == size => ends + open_ends.max(1),
            seen => (size as f64 * seen as f64 / self.sampled as f64).ceil() as u64,
        };
        Sample {
            lines,
            distinct_lines: self.repeats.distinct(lines),
            mean_key_bytes: self.key_bytes.0 as f64 / self.key_bytes.1.max(1) as f64,
            longest_line_bytes: self.lengths.longest,
            ends,
            ends_after_cr: self.ends_after_cr,
            wide_lines: self.wide_lines,
            first_lines: self.first_lines,
        }
    }
}

/// Returns the lines of a window that are whole. Its first and its last piece may belong to other windows.
fn whole(window: &[u8], terminator: u8) -> Option<&[u8]> {
    let first = memchr::memchr(terminator, window)?;
    let last = memchr::memrchr(terminator, window)?;
    (first < last).then(|| &window[first + 1..last])
}

/// The longest line in windows that follow one another.
#[derive(Debug, Default)]
struct Lengths {
    longest: u64,
    /// The bytes that the last window had of a line that goes on.
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

    /// Ends the line of the last window, which the next one does not follow: where that was all one line, it is likely
    /// longer.
    fn interrupt(&mut self) {
        let unfinished = std::mem::take(&mut self.unfinished);
        let likely = if unfinished == WINDOW {
            2 * WINDOW
        } else {
            unfinished
        };
        self.longest = self.longest.max(likely);
    }

    /// Ends the line, because the file ends here.
    fn end(&mut self) {
        self.longest = self.longest.max(std::mem::take(&mut self.unfinished));
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::decode::request::Opening;
    use crate::input::Source;
    use crate::interrupt::Interrupt;

    fn sample_of_source(source: Source) -> Sample {
        let opened = Input::open_all(&[source], Opening::plain(&Interrupt::new()));
        let input = opened.unwrap().remove(0);
        let sampled = sample(&input, LineFormat::default(), 0, &|| Ok(()), &|_| {});
        sampled.unwrap().unwrap()
    }

    fn sample_of(bytes: &[u8]) -> Sample {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        sample_of_source(Source::from(file.path()))
    }

    #[test]
    fn a_small_file_is_counted() {
        let sample = sample_of(b"a\nbcd\ne");
        assert_eq!(
            sample,
            Sample {
                lines: 3,
                distinct_lines: Distinct::exactly(3),
                longest_line_bytes: 3,
                mean_key_bytes: 0.0,
                ends: 2,
                ends_after_cr: 0,
                wide_lines: WideLines::default(),
                first_lines: FirstLines::default(),
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
        let directory = tempfile::tempdir().unwrap();
        let write = |(number, text): (usize, &&[u8])| {
            let path = directory.path().join(number.to_string());
            std::fs::write(&path, text).unwrap();
            path
        };
        let files = crate::Files::new("files", texts.iter().enumerate().map(write));
        sample_of_source(Source::from(files))
    }

    #[test]
    fn b20_a_few_small_files_are_counted() {
        let sample = sample_of_files(&[b"a\nbcd", b"", b"efgh", b"i\n"]);
        let expected = Sample {
            lines: 4,
            distinct_lines: Distinct::exactly(4),
            longest_line_bytes: 4,
            mean_key_bytes: 0.0,
            ends: 2,
            ends_after_cr: 0,
            wide_lines: WideLines::default(),
            first_lines: FirstLines::default(),
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
