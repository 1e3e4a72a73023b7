use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::decode::request::Opening;
use crate::error::{Error, Result};
use crate::input::{Files, Input, Source};
use crate::interrupt::Interrupt;
use crate::lines::LineFormat;
use crate::memory::budget::MemoryBudget;
use crate::memory::buffer::Buffer;
use crate::reading::chunk::{ChunkRules, Pooled};
use crate::reading::failure::LocatedFailure;
use crate::reading::long_lines::{LimitAdvice, LongLines};
use crate::reading::{Reading, ReadingRules};
use crate::record::Dialect;
use crate::temp::quota::Quota;
use crate::temp::space::TempSpace;

/// The room for one record, in bytes.
const ROOM: u64 = 64 << 10;

#[derive(Debug)]
struct NoAdvice;

impl LimitAdvice for NoAdvice {
    fn limit_for_long_lines(&self, needed_bytes: u64, _: u64) -> u64 {
        needed_bytes
    }
}

/// The records of a side as they come, file after file, with little room for each; copies go to `space`.
fn read(source: Source, format: LineFormat, space: &TempSpace) -> Result<Vec<Vec<u8>>> {
    let budget = MemoryBudget::new(1 << 20, 0);
    let decoding = MemoryBudget::new(1 << 20, 0);
    let (interrupt, failure) = (Interrupt::new(), LocatedFailure::default());
    let room = budget.split_off("long lines", ROOM)?;
    let long_lines = LongLines::new(room, &NoAdvice, &interrupt, &failure);
    let opening = Opening {
        decodes: true,
        ..Opening::plain(&interrupt)
    };
    let input = Input::open_all(&[source], opening)?.remove(0);
    let rules = ReadingRules {
        chunks: ChunkRules {
            format,
            chunk_bytes: 4096,
            long_lines: &long_lines,
            counts_lines: false,
            are_prefixed: false,
        },
        budget: &budget,
        decoding: &decoding,
        space,
        lanes: 1,
        stop: &|| Ok(()),
        waiting: None,
    };
    let reading = Reading::open(&input, rules)?;
    let mut records = Vec::new();
    loop {
        let buffer = Buffer::new(&budget, "a chunk", reading.buffer_bytes())?;
        let Some((_, cut)) = reading.next(buffer)? else {
            return Ok(records);
        };
        let pooled = match cut.pooled {
            Pooled::Lines(chunk) => Some(chunk),
            Pooled::Spare(_) => None,
        };
        for chunk in pooled.into_iter().chain(cut.long_line) {
            records.extend(format.lines(chunk.bytes()).map(<[u8]>::to_vec));
        }
    }
}

fn format() -> LineFormat {
    LineFormat {
        quoted: Some(Dialect::new(b',')),
        ..LineFormat::default()
    }
}

/// A text of records of which some have quotes out of place, far from each other.
fn text(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) % bound
    };
    let parts: &[&[u8]] = match seed % 3 {
        0 => &[b"1,\"open\n", b"2,\"\"\"open\n", b"3,\"\"\n"],
        1 => &[b"1,\"open\n", b"2,\"closed\"\n", b"3,\"dam\"aged\n"],
        _ => &[
            b"\"open,",
            b"\"\"",
            b"\"\r\n",
            b"\"\n",
            b"\",\"",
            b"\"open\r\n",
        ],
    };
    let mut text = Vec::new();
    for _ in 0..=next(12) {
        // Above and below the room.
        let plain = next(3) * next(1000) * 100;
        while (text.len() as u64) < plain {
            text.extend(
                format!("{},a field,{}\n", next(1000), "x".repeat(next(80) as usize)).bytes(),
            );
        }
        for _ in 0..=next(2) {
            text.extend(parts[next(parts.len() as u64) as usize]);
        }
        let more = next(3) * next(1000) * 100;
        let end = text.len() as u64 + more;
        while (text.len() as u64) < end {
            text.extend(format!("{},more,{}\n", next(1000), "y".repeat(next(80) as usize)).bytes());
        }
    }
    text
}

/// Puts the texts into plain files, into compressed ones, and into a pipe.
fn sources(
    directory: &Path,
    texts: &[Vec<u8>],
) -> Vec<(Source, Option<std::thread::JoinHandle<()>>)> {
    let write = |name: String, bytes: &[u8]| -> PathBuf {
        let path = directory.join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let plain = texts
        .iter()
        .enumerate()
        .map(|(number, text)| write(format!("{number}"), text));
    let plain = Source::from(Files::new("plain", plain.collect::<Vec<_>>()));
    let packed = texts.iter().enumerate().map(|(number, text)| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        write(format!("{number}.gz"), &encoder.finish().unwrap())
    });
    let packed = Source::from(Files::new("packed", packed.collect::<Vec<_>>()));
    let path = directory.join("pipe");
    mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let (fifo, text) = (path.clone(), texts.concat());
    let writer = std::thread::spawn(move || {
        let mut pipe = fs::OpenOptions::new().write(true).open(fifo).unwrap();
        // A reading that fails closes its end.
        let _closed = pipe.write_all(&text);
    });
    vec![
        (plain, None),
        (packed, None),
        (Source::from(&path), Some(writer)),
    ]
}

#[test]
fn a21_records_with_quotes_that_are_never_closed_are_found_within_little_memory() {
    quotes_that_are_never_closed(0..15);
}

#[test]
#[ignore = "slow: close to a second"]
fn a21_more_records_with_quotes_that_are_never_closed_are_found_within_little_memory() {
    quotes_that_are_never_closed(15..75);
}

/// Reads texts of these seeds.
fn quotes_that_are_never_closed(seeds: std::ops::Range<u64>) {
    let (mut copies, mut refused) = (0, 0);
    for seed in seeds {
        let texts = [text(2 * seed), text(2 * seed + 1)];
        let directory = tempfile::tempdir().unwrap();
        let space_directory = tempfile::tempdir().unwrap();
        let quota = Quota::new(u64::MAX);
        let parents = [space_directory.path().to_owned()];
        for (number, (source, writer)) in sources(directory.path(), &texts).into_iter().enumerate()
        {
            let is_pipe = writer.is_some();
            let whole = if is_pipe {
                vec![texts.concat()]
            } else {
                texts.to_vec()
            };
            let wanted: Vec<Vec<u8>> = whole
                .iter()
                .flat_map(|text| format().lines(text))
                .map(<[u8]>::to_vec)
                .collect();
            let space = TempSpace::new(&parents, Arc::clone(&quota), &Interrupt::new());
            let read = read(source, format(), &space);
            copies += space.space_use().files;
            match read {
                Ok(records) => assert_eq!(records, wanted, "{seed} {number}"),
                // A record that is as long is refused, and no other.
                Err(Error::LineTooLong { .. }) => {
                    let longest = wanted.iter().map(Vec::len).max().unwrap_or(0);
                    assert!(
                        longest as u64 > ROOM - 2 * 4096,
                        "{seed} {number} {longest}"
                    );
                    refused += 1;
                }
                Err(error) => panic!("{error}"),
            }
            drop(space);
            assert_eq!(quota.used_bytes(), 0);
            if let Some(writer) = writer {
                writer.join().unwrap();
            }
        }
    }
    assert!(copies > 5 && refused > 1, "{copies} {refused}");
}
