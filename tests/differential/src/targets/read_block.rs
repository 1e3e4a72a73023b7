//! The reader of spill files against files that no writer made.
//!
//! A recipe (first byte even) describes blocks whose headers and checksums are right: what is in them may be no
//! records, pieces may be missing or too many, counts may be wrong. The same is decoded here, naively; where that gives
//! lines and the counts agree, the reader must give them, and otherwise an error. Other input is taken as the file
//! itself.

use outset::ErrorKind;
use outset::hash::LineHasher;
use outset::internals::{SpilledBucket, sealed_block};

use super::sandbox;
use crate::choices::Choices;

/// The distance between blocks in bytes, and the header of one.
const BLOCK: usize = 4096;
const HEADER: usize = 64;
/// Longer lines are not expected.
const LONGEST: u64 = 64 << 10;

/// A block of a recipe.
struct Block {
    kind: u32,
    records: u64,
    payload: Vec<u8>,
}

/// Reads what `data` is or describes.
///
/// # Panics
/// Where the reader gives lines that are not those of the file, or an error that is none about it.
pub fn read_block(data: &[u8]) {
    let Some((&first, data)) = data.split_first() else {
        return;
    };
    if first % 2 == 1 {
        // One line of one byte is said to be in it. That the checksum fits is next to impossible.
        let lines = read(data, 1, 2, 0);
        assert!(lines.is_none(), "lines out of nothing: {lines:?}");
        return;
    }
    let (blocks, lie) = recipe(data);
    let hasher = LineHasher::with_key([3; 4]);
    let expected = decoded(&blocks);
    let sum = expected.iter().flatten();
    let hash_sum = sum.fold(0, |sum: u64, line| sum.wrapping_add(hasher.hash(line)));
    let lines = blocks
        .iter()
        .fold(0, |sum: u64, block| sum.wrapping_add(block.records));
    let bytes: usize = blocks.iter().map(|block| block.payload.len()).sum();
    let expected = expected.filter(|found| found.len() as u64 == lines && lie == Lie::None);
    let read = match lie {
        Lie::None => read(&file(&blocks), lines, bytes as u64, hash_sum),
        Lie::Lines => read(
            &file(&blocks),
            lines.wrapping_add(1),
            bytes as u64,
            hash_sum,
        ),
        Lie::Bytes => read(&file(&blocks), lines, bytes as u64 + 1, hash_sum),
        Lie::Sum => read(&file(&blocks), lines, bytes as u64, hash_sum ^ 1),
    };
    assert_eq!(read, expected);
}

/// The number of a bucket that is remembered wrongly.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lie {
    None,
    Lines,
    Bytes,
    Sum,
}

fn recipe(data: &[u8]) -> (Vec<Block>, Lie) {
    let mut choices = Choices::from_bytes(data);
    let lie = choices.pick(&[
        Lie::None,
        Lie::None,
        Lie::None,
        Lie::None,
        Lie::None,
        Lie::Lines,
        Lie::Bytes,
        Lie::Sum,
    ]);
    let count = choices.below(5);
    let blocks = (0..count).map(|_| block(&mut choices)).collect();
    (blocks, lie)
}

fn block(choices: &mut Choices) -> Block {
    let kind = choices.pick(&[0, 0, 1, 2]);
    let mut payload = Vec::new();
    let mut records = 0;
    for _ in 0..choices.below(8) {
        let length = choices.pick(&[0, 1, 3, 127, 128, 300, 2000, 4000]);
        if kind < 2 {
            // Mostly a length and as many bytes, else anything.
            let told = if choices.one_in(16) {
                choices.any()
            } else {
                length as u64
            };
            put_length(&mut payload, told);
            records += 1;
        }
        payload.resize(payload.len() + length, choices.below(256) as u8);
    }
    payload.truncate(BLOCK - HEADER);
    if choices.one_in(16) {
        records = choices.below(16);
    }
    Block {
        kind,
        records,
        payload,
    }
}

/// A length as records have it: seven bits a byte, low ones first, the last byte below 128.
fn put_length(out: &mut Vec<u8>, mut length: u64) {
    while length >= 128 {
        out.push(length as u8 | 128);
        length >>= 7;
    }
    out.push(length as u8);
}

fn file(blocks: &[Block]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, block) in (0..).zip(blocks) {
        bytes.extend(sealed_block(
            number,
            block.kind,
            block.records,
            &block.payload,
        ));
        bytes.resize((number as usize + 1) * BLOCK, 0);
    }
    bytes
}

/// The lines of the blocks; `None` where they make no sense.
fn decoded(blocks: &[Block]) -> Option<Vec<Vec<u8>>> {
    let mut lines = Vec::new();
    // Of a long line: what there is, and how long it gets.
    let mut long: Option<(Vec<u8>, u64)> = None;
    for block in blocks {
        let mut rest = &block.payload[..];
        match (block.kind, &mut long) {
            (0, _) => {
                // What follows the last whole record is not asked for: the number of records tells.
                while let Some((length, taken)) = length(rest) {
                    let end = usize::try_from(length)
                        .ok()
                        .and_then(|length| length.checked_add(taken));
                    let Some(line) = end.and_then(|end| rest.get(taken..end)) else {
                        break;
                    };
                    lines.push(line.to_vec());
                    rest = &rest[taken + line.len()..];
                }
                continue;
            }
            (1, None) => {
                let (length, taken) = length(rest)?;
                // No longer than the longest of the bucket, with the page that the reader has beside.
                if length > LONGEST + 4096 {
                    return None;
                }
                long = Some((rest[taken..].to_vec(), length));
            }
            (2, Some((line, _))) => line.extend_from_slice(rest),
            _ => return None,
        }
        let (line, length) = long.take()?;
        match (line.len() as u64).cmp(&length) {
            std::cmp::Ordering::Less => long = Some((line, length)),
            std::cmp::Ordering::Equal => lines.push(line),
            std::cmp::Ordering::Greater => return None,
        }
    }
    Some(lines)
}

/// A length and the bytes it takes, ten at most; more bits than 64 are lost.
fn length(bytes: &[u8]) -> Option<(u64, usize)> {
    let end = bytes.iter().take(10).position(|&byte| byte < 128)? + 1;
    let length = bytes[..end]
        .iter()
        .rev()
        .fold(0, |length: u64, &byte| length << 7 | u64::from(byte & 127));
    Some((length, end))
}

fn read(bytes: &[u8], lines: u64, record_bytes: u64, hash_sum: u64) -> Option<Vec<Vec<u8>>> {
    let sandbox = sandbox();
    let bucket = SpilledBucket {
        bytes,
        block_bytes: BLOCK as u64,
        lines,
        record_bytes,
        longest_line: LONGEST,
        hash_sum,
    };
    match bucket.read(&sandbox.temp(), LineHasher::with_key([3; 4])) {
        Ok(lines) => Some(lines),
        Err(error) => {
            // A length that the bucket's memory does not have is refused as such.
            let is_about_it = matches!(error.kind(), ErrorKind::Damaged | ErrorKind::Memory);
            assert!(is_about_it, "{error}");
            None
        }
    }
}
