//! Every format whole, in several frames, cut, followed by other bytes, and damaged.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::io::Write;

use data_gen::Compression;

use super::*;
use crate::decode::stream::StoppableStream;
use crate::error::{Error, ErrorKind};
use crate::memory::budget::MemoryBudget;

/// The formats: the program that writes each, and what compresses a text to one frame.
fn formats() -> impl Iterator<Item = (&'static str, impl Fn(&[u8]) -> Vec<u8>)> {
    Compression::ALL.into_iter().map(|compression| {
        let (_, name) = compression.suffix_and_program();
        (name, move |text: &[u8]| compression.compress(text).unwrap())
    })
}

/// Returns the name in messages of the data that a program writes.
fn kind(program: &str) -> &str {
    match program {
        "bgzip" => "gzip",
        "pzstd" => "zstd",
        own => own,
    }
}

/// Lines that compress to several blocks.
fn text() -> Vec<u8> {
    let line = |number: u32| format!("line {}\n", number.wrapping_mul(2_654_435_761));
    (0..20_000)
        .flat_map(|number| line(number).into_bytes())
        .collect()
}

/// Decodes `file` with `memory_bytes`.
fn decode_in(memory_bytes: u64, file: &[u8]) -> Result<Vec<u8>, Error> {
    let named = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(named.path(), file).unwrap();
    let opened = std::fs::File::open(named.path()).unwrap();
    let budget = MemoryBudget::new(memory_bytes, 0);
    let go_on = || Ok(());
    let stream = StoppableStream::new(opened, &go_on);
    let source = CompressedSource::new(stream, named.path(), &budget, &[], false)?;
    let mut decoder = Decoder::new(source, &budget);
    let (mut decoded, mut buffer) = (Vec::new(), vec![0; 10_000]);
    loop {
        let filled = decoder.fill(&mut buffer)?;
        decoded.extend_from_slice(&buffer[..filled.bytes]);
        if filled.is_ended {
            assert_eq!(decoder.given_bytes(), file.len() as u64);
            return Ok(decoded);
        }
    }
}

fn decode(file: &[u8]) -> Result<Vec<u8>, Error> {
    decode_in(64 << 20, file)
}

/// Fails unless decoding `file` is an error of the input that has `words`.
fn is_refused(file: &[u8], words: &str, what: &str) {
    let error = decode(file).map(|decoded| decoded.len());
    let Err(error) = error else {
        panic!("{what}: decoded to {error:?} bytes");
    };
    assert_eq!(error.kind(), ErrorKind::Input, "{what}: {error}");
    assert!(error.to_string().contains(words), "{what}: {error}");
}

#[test]
fn a19_frames_of_each_format_come_back_one_behind_the_other() {
    let text = text();
    for (name, compress) in formats() {
        let (whole, empty, half) = (compress(&text), compress(b""), compress(&text[..100]));
        assert_eq!(decode(&whole).unwrap(), text, "{name}");
        assert_eq!(decode(&empty).unwrap(), b"", "{name}");
        let file = [&empty[..], &half, &empty, &empty, &whole, &half, &empty].concat();
        let expected = [&text[..100], &text, &text[..100]].concat();
        assert_eq!(decode(&file).unwrap(), expected, "{name}");
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn b21_a_file_that_is_cut_at_any_byte_is_an_error() {
    let text = &text()[..450];
    for (name, compress) in formats() {
        let (frame, first) = (compress(text), compress(b"first\n"));
        for cut in 1..frame.len() {
            // Of less nothing is recognised.
            if cut >= if name == "bzip2" { 6 } else { 2 } {
                is_refused(&frame[..cut], "", &format!("{name} of {cut} bytes"));
            }
            let file = [&first[..], &frame[..cut]].concat();
            is_refused(
                &file,
                "",
                &format!("{name}: two, the second of {cut} bytes"),
            );
        }
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn b21_a_byte_that_is_changed_is_an_error_or_changes_nothing() {
    let text = &text()[..900];
    for (name, compress) in formats() {
        let (frame, mut harmless) = (compress(text), 0);
        for offset in 0..frame.len() {
            let mut damaged = frame.clone();
            damaged[offset] ^= 0x24;
            if let Ok(decoded) = decode(&damaged) {
                assert_eq!(decoded, text, "{name}: byte {offset}");
                harmless += 1;
            }
        }
        // Times and levels in headers, and bits that fill a last byte, mean nothing. BGZF has two headers, and its
        // sizes are those of blocks that are found without them.
        let most = if name == "bgzip" { 24 } else { 12 };
        assert!(harmless < most, "{name}: {harmless}");
    }
}

#[test]
fn b21_what_stands_behind_the_last_frame_is_an_error_save_padding() {
    for (name, compress) in formats() {
        let frame = compress(b"one\ntwo\n");
        for behind in [
            &b"x"[..],
            b"\n \nx",
            b"more lines\n",
            b"\x1f",
            &[0, 0, 0, 1],
        ] {
            is_refused(&[&frame[..], behind].concat(), "follow", name);
        }
        for behind in [&b"\n"[..], b" \t\r\n\n", b"\n\0\0\n"] {
            let padded = [&frame[..], behind].concat();
            if kind(name) == "gzip" {
                assert_eq!(decode(&padded).unwrap(), b"one\ntwo\n");
            } else {
                is_refused(&padded, "follow", name);
            }
        }
        let padded = [&frame[..], &[0; 10_000]].concat();
        if ["gzip", "xz"].contains(&kind(name)) {
            assert_eq!(decode(&padded).unwrap(), b"one\ntwo\n");
        } else {
            is_refused(&padded, "other bytes follow", name);
        }
        for (other, compress) in formats().filter(|(other, _)| kind(other) != kind(name)) {
            let file = [frame.clone(), compress(b"three\n")].concat();
            // Of pzstd comes a skippable frame first, which lz4 has, too.
            let found = match (other, kind(name)) {
                ("pzstd", "gzip" | "bzip2" | "xz") => "other bytes".to_owned(),
                _ => format!("{} data", kind(other)),
            };
            let says = format!("{found} follow the {} data", kind(name));
            is_refused(&file, &says, name);
        }
    }
}

#[test]
fn a19_frames_that_may_be_skipped_are_skipped_wherever_they_stand() {
    let skippable = |bytes: u32| {
        let size = bytes.to_le_bytes();
        [
            &[0x5a, 0x2a, 0x4d, 0x18][..],
            &size,
            &vec![7; bytes as usize],
        ]
        .concat()
    };
    for compression in [Compression::Zstd, Compression::Lz4] {
        let frame = compression.compress(b"one\n").unwrap();
        let parts = [
            skippable(3),
            frame.clone(),
            skippable(200_000),
            skippable(0),
            frame,
            skippable(9),
        ];
        assert_eq!(decode(&parts.concat()).unwrap(), b"one\none\n");
        let cut = parts.concat();
        is_refused(
            &cut[..cut.len() - 1],
            "end early",
            "a frame that is skipped",
        );
    }
    let gzip = Compression::Gzip.compress(b"one\n").unwrap();
    is_refused(&[gzip, skippable(5)].concat(), "other bytes", "gzip");
}

#[test]
fn c12_a_frame_that_wants_more_memory_than_there_is_is_refused() {
    // Frames with a window of 64 MiB, and a dictionary of as much.
    let mut encoder = ::zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(26).unwrap();
    encoder.write_all(b"one\n").unwrap();
    let zstd_frame = encoder.finish().unwrap();
    let mut options = lzma_rust2::XzOptions::with_preset(0);
    options.lzma_options.dict_size = 64 << 20;
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(b"one\n").unwrap();
    let xz_stream = encoder.finish().unwrap();
    for (frame, compression) in [
        (zstd_frame, Compression::Zstd),
        (xz_stream, Compression::Xz),
    ] {
        assert_eq!(decode_in(80 << 20, &frame).unwrap(), b"one\n");
        for file in [
            frame.clone(),
            [compression.compress(b"first\n").unwrap(), frame].concat(),
        ] {
            let error = decode_in(32 << 20, &file).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
        }
    }
}
