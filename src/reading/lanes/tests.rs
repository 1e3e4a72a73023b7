//! Pieces of files of every form, read in any number of lanes, against the lines of the file.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

use data_gen::Compression;

use super::*;
use crate::decode::request::Opening;
use crate::error::{Error, Result};
use crate::input::byte_reader::PieceOpening;
use crate::input::{Files, Input, Source};
use crate::interrupt::Interrupt;
use crate::lines::LineFormat;
use crate::memory::budget::MemoryBudget;
use crate::reading::chunk::{ChunkRules, Pooled};
use crate::reading::failure::LocatedFailure;
use crate::reading::long_lines::{LimitAdvice, LongLines};
use crate::reading::{Reading, ReadingRules};
use crate::temp::quota::Quota;
use crate::temp::space::TempSpace;

#[derive(Debug)]
struct NoAdvice;

impl LimitAdvice for NoAdvice {
    fn limit_for_long_lines(&self, needed_bytes: u64, _: u64) -> u64 {
        needed_bytes
    }
}

/// A line that was read: the number of its file, where it starts there when that is decoded, and its bytes.
type Read = (usize, u64, Vec<u8>);

/// All lines of the files at `paths`, read in up to `lanes` lanes by three threads; and how many lanes there were.
fn read(paths: &[PathBuf], lanes: usize) -> Result<(Vec<Read>, usize)> {
    let budget = MemoryBudget::new(64 << 20, 0);
    let decoding = MemoryBudget::new(64 << 20, 0);
    let (interrupt, failure) = (Interrupt::new(), LocatedFailure::default());
    let source = Source::from(Files::new("all", paths.to_vec()));
    let opening = Opening {
        decodes: true,
        ..Opening::plain(&interrupt)
    };
    let input = Input::open_all(&[source], opening)?.remove(0);
    let room = budget.split_off("long lines", 1 << 20).unwrap();
    let long_lines = LongLines::new(room, &NoAdvice, &interrupt, &failure);
    let go_on = || Ok(());
    let rules = ReadingRules {
        chunks: ChunkRules {
            format: LineFormat::default(),
            chunk_bytes: 4096,
            long_lines: &long_lines,
            counts_lines: false,
            are_prefixed: false,
        },
        budget: &budget,
        decoding: &decoding,
        space: &TempSpace::new(&[], Quota::new(0), &interrupt),
        lanes,
        stop: &go_on,
        waiting: None,
    };
    let reading = Reading::open(&input, rules)?;
    let piece_opening = PieceOpening {
        terminator: b'\n',
        stop: &go_on,
        budget: budget.clone(),
        are_prefixed: false,
    };
    let read_all = || -> Result<Vec<Read>> {
        let mut lines = Vec::new();
        loop {
            let buffer = Buffer::new(&budget, "a chunk", reading.buffer_bytes()).unwrap();
            let Some((_, cut)) = reading.next(buffer)? else {
                return Ok(lines);
            };
            let pooled = match cut.pooled {
                Pooled::Lines(chunk) => Some(chunk),
                Pooled::Spare(_) => None,
            };
            for chunk in pooled.into_iter().chain(cut.long_line) {
                let bytes = chunk.bytes();
                let start = input.offset_of(chunk.location_of(bytes), &piece_opening);
                for line in LineFormat::default().lines(bytes) {
                    let offset = line.as_ptr() as u64 - bytes.as_ptr() as u64;
                    lines.push((chunk.part, start + offset, line.to_vec()));
                }
            }
        }
    };
    let all = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(read_all)).collect();
        let each = threads.into_iter().map(|thread| thread.join().unwrap());
        each.collect::<Result<Vec<_>>>()
    });
    let mut lines = all?.concat();
    lines.sort_unstable();
    Ok((lines, reading.readers(usize::MAX)))
}

/// The lines of texts, as [`read`] gives them.
fn lines_of(texts: &[Vec<u8>]) -> Vec<Read> {
    let of_text = |(part, text): (usize, &Vec<u8>)| {
        let mut offset = 0;
        let lines = text.split_inclusive(|&byte| byte == b'\n').map(|line| {
            let start = offset;
            offset += line.len() as u64;
            (
                part,
                start,
                line.strip_suffix(b"\n").unwrap_or(line).to_vec(),
            )
        });
        lines.collect::<Vec<_>>()
    };
    texts.iter().enumerate().flat_map(of_text).collect()
}

/// Numbers without a pattern.
fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    let next = |state: &u64| {
        Some(
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1),
        )
    };
    std::iter::successors(Some(seed), next).map(|state| state >> 33)
}

/// A text of lines of up to `most` bytes that do not compress well; it ends in the middle of one if `is_open`.
fn text(lines: u64, most: u64, is_open: bool) -> Vec<u8> {
    let mut numbers = numbers(lines * 31 + most);
    let mut next = || numbers.next().unwrap_or(0);
    let mut text = Vec::new();
    for _ in 0..lines {
        let bytes = next() % (most + 1);
        text.extend((0..bytes).map(|_| b' ' + (next() % 90) as u8));
        text.push(b'\n');
    }
    if is_open {
        text.pop();
    }
    text
}

/// `text` in frames of `size` bytes of it, or compressed as a whole.
fn in_frames(compression: Compression, text: &[u8], size: usize) -> Vec<u8> {
    let frames = text.chunks(size);
    let frames = frames.map(|frame| compression.compress(frame).unwrap());
    frames.collect::<Vec<_>>().concat()
}

fn write(directory: &Path, files: &[Vec<u8>]) -> Vec<PathBuf> {
    let path = |number: usize| directory.join(number.to_string());
    for (number, file) in files.iter().enumerate() {
        fs::write(path(number), file).unwrap();
    }
    (0..files.len()).map(path).collect()
}

#[test]
fn a19_lines_of_pieces_are_those_of_the_file_wherever_frames_end() {
    // The numbers of lanes by turns.
    lines_of_pieces(|size, text, lanes| (size + text + lanes) % 3 == 0);
}

#[test]
#[ignore = "slow: close to a second"]
fn a19_lines_of_pieces_are_those_of_the_file_wherever_frames_end_in_any_number_of_lanes() {
    lines_of_pieces(|_, _, _| true);
}

/// Reads those texts in frames of those sizes in those numbers of lanes that are wanted by their numbers.
fn lines_of_pieces(is_wanted: fn(usize, usize, usize) -> bool) {
    let directory = tempfile::tempdir().unwrap();
    let texts = [
        text(400, 60, false),
        text(300, 20, true),
        // Frames end after lines, and lines go through several frames and pieces.
        b"1234567\n".repeat(500),
        text(20, 3000, true),
        b"x".repeat(9000),
        b"\n".repeat(2000),
        [&b"y".repeat(5000)[..], b"\n", &text(50, 9, false)].concat(),
    ];
    for compression in [Compression::Bgzf, Compression::Pzstd] {
        for (turn, size) in [80, 97, 1000, 1 << 16].into_iter().enumerate() {
            for (number, text) in texts.iter().enumerate() {
                let file = in_frames(compression, text, size);
                let paths = write(directory.path(), &[file]);
                let expected = lines_of(std::slice::from_ref(text));
                let lanes = [1, 2, 4].into_iter().enumerate();
                for (_, lanes) in lanes.filter(|&(way, _)| is_wanted(turn, number, way)) {
                    let (found, _) = read(&paths, lanes).unwrap();
                    assert!(found == expected, "{compression:?}, frames of {size}");
                }
            }
        }
        let long = in_frames(compression, &texts[0], 97);
        let paths = write(directory.path(), &[long]);
        assert_eq!(read(&paths, 4).unwrap().1, 4);
        assert_eq!(read(&paths, 1).unwrap().1, 1);
    }
}

#[test]
fn b20_files_of_any_formats_are_decoded_side_by_side() {
    let directory = tempfile::tempdir().unwrap();
    let (mut texts, mut files) = (vec![text(500, 40, true)], vec![text(500, 40, true)]);
    for (number, compression) in (1..).zip(Compression::ALL) {
        for (lines, most) in [(200 + number, 50), (0, 0), (9, 2000)] {
            texts.push(text(lines, most, number % 2 == 0));
            files.push(in_frames(compression, &texts[texts.len() - 1], 500));
        }
    }
    let paths = write(directory.path(), &files);
    let expected = lines_of(&texts);
    for lanes in [1, 2, 3, 9] {
        let (found, in_all) = read(&paths, lanes).unwrap();
        assert!(found == expected, "{lanes}");
        assert_eq!(in_all, lanes);
    }
}

#[test]
fn b21_frames_that_do_not_end_where_the_file_says_are_errors() {
    let directory = tempfile::tempdir().unwrap();
    let text = text(400, 60, false);
    for (compression, offset_of_size) in [(Compression::Bgzf, 16), (Compression::Pzstd, 8)] {
        let frame = |text: &[u8]| compression.compress(text).unwrap();
        let (first, second) = (frame(&text[..5000]), frame(&text[5000..9000]));
        let third = frame(&text[9000..]);
        let whole = [&first[..], &second, &third].concat();
        assert!(read(&write(directory.path(), std::slice::from_ref(&whole)), 2).is_ok());
        // The first says that it goes on to the end of the second, which is a frame's begin, too.
        let mut lie = whole;
        let said = (first.len() + second.len()) as u32;
        match compression {
            Compression::Bgzf => {
                let said = ((said - 1) as u16).to_le_bytes();
                lie[offset_of_size..offset_of_size + 2].copy_from_slice(&said);
            }
            _ => {
                let said = (said - 12).to_le_bytes();
                lie[offset_of_size..offset_of_size + 4].copy_from_slice(&said);
            }
        }
        // Both frames are read then, before the border.
        let (found, _) = read(&write(directory.path(), &[lie]), 2).unwrap();
        assert!(
            found == lines_of(std::slice::from_ref(&text)),
            "{compression:?}"
        );
        // A border within a frame, where something stands that looks like another.
        let inner = frame(b"looks like a frame\n");
        // No encoder makes less of it.
        let noise: Vec<u8> = numbers(7).map(|number| number as u8).take(900).collect();
        let stored = [&noise[..300], &inner, &noise[300..]].concat();
        let mut outer = match compression {
            Compression::Bgzf => {
                let field = flate2::GzBuilder::new().extra(&b"BC\x02\0\0\0"[..]);
                let mut encoder = field.write(Vec::new(), flate2::Compression::none());
                std::io::Write::write_all(&mut encoder, &stored).unwrap();
                encoder.finish().unwrap()
            }
            _ => frame(&stored),
        };
        let Some(at) = outer.windows(inner.len()).position(|bytes| bytes == inner) else {
            panic!("{compression:?}: it is not stored as it is");
        };
        match compression {
            Compression::Bgzf => {
                let said = ((at - 1) as u16).to_le_bytes();
                outer[offset_of_size..offset_of_size + 2].copy_from_slice(&said);
            }
            _ => {
                let said = ((at - 12) as u32).to_le_bytes();
                outer[offset_of_size..offset_of_size + 4].copy_from_slice(&said);
            }
        }
        let file = [&outer[..], &third].concat();
        let error = read(&write(directory.path(), &[file]), 2).unwrap_err();
        assert!(matches!(error, Error::Undecodable { .. }), "{error}");
    }
}
