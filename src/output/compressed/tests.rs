#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::io::Read;

use super::encoder::Encoder;
use super::*;

/// Decodes a file of this format.
fn decoded(codec: Codec, stored: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    match codec {
        Codec::Gzip => flate2::read::MultiGzDecoder::new(stored).read_to_end(&mut text),
        Codec::Zstd => zstd::stream::read::Decoder::new(stored)
            .unwrap()
            .read_to_end(&mut text),
        Codec::Bzip2 => bzip2::read::MultiBzDecoder::new(stored).read_to_end(&mut text),
        Codec::Xz => lzma_rust2::XzReader::new(stored, true).read_to_end(&mut text),
        Codec::Lz4 => {
            let mut rest = stored;
            while !rest.is_empty() {
                let mut decoder = lz4_flex::frame::FrameDecoder::new(&mut rest);
                decoder.read_to_end(&mut text).unwrap();
            }
            Ok(text.len())
        }
    }
    .unwrap();
    text
}

/// Lines that can be compressed a little.
fn text(bytes: usize) -> Vec<u8> {
    let lines = (0u64..).flat_map(|number| {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("https://example.com/{mixed:x}/{number}\n").into_bytes()
    });
    lines.take(bytes).collect()
}

fn compressed(plan: CompressorPlan, text: &[u8], part: usize, flush_after: usize) -> Vec<u8> {
    let (mut compressor, mut stored) = (Compressor::new(plan), Vec::new());
    let mut since_flush = 0;
    for mut part in text.chunks(part) {
        since_flush += part.len();
        while !part.is_empty() {
            let out = |frame: &[u8]| {
                stored.extend_from_slice(frame);
                Ok(())
            };
            part = &part[compressor.take(part, out).unwrap()..];
        }
        if since_flush > flush_after {
            since_flush = 0;
            let out = |frame: &[u8]| {
                stored.extend_from_slice(frame);
                Ok(())
            };
            compressor.finish(out).unwrap();
        }
    }
    compressor
        .finish(|frame| {
            stored.extend_from_slice(frame);
            Ok(())
        })
        .unwrap();
    stored
}

#[test]
fn f10_frames_come_in_order_however_text_is_cut_and_flushed() {
    // The ways to cut the text by turns.
    frames_in_order(|turn, way| turn % 2 == way);
}

#[test]
#[ignore = "slow: every text of every codec cut in every way"]
fn f10_frames_of_every_text_come_in_order_however_it_is_cut_and_flushed() {
    frames_in_order(|_, _| true);
}

fn frames_in_order(is_wanted: fn(usize, usize) -> bool) {
    for (number, codec) in Codec::ALL.into_iter().enumerate() {
        let compression = Compression::of(codec);
        let texts = [
            (0, 2, 1 << 30),
            (1, 1, 0),
            (300_000, 1, 0),
            (700_000, 3, 0),
            (1_500_000, 2, 64 << 20),
        ];
        for (turn, (bytes, threads, share)) in texts.into_iter().enumerate() {
            let plan = CompressorPlan::within(compression, threads, share);
            let text = text(bytes);
            let ways = [(4099, usize::MAX), (1 << 20, 200_000)].into_iter();
            for (_, (part, flush_after)) in ways
                .enumerate()
                .filter(|&(way, _)| is_wanted(number + turn, way))
            {
                let stored = compressed(plan, &text, part, flush_after);
                assert!(!stored.is_empty());
                assert!(decoded(codec, &stored) == text, "{codec:?} {bytes} {part}");
            }
        }
    }
}

#[test]
fn f10_every_level_is_decoded() {
    let text = text(150_000);
    for codec in Codec::ALL {
        let (least, _, most) = codec.levels();
        assert!(Compression::with_level(codec, most + 1).is_none());
        for level in least..=most {
            let compression = Compression::with_level(codec, level).unwrap();
            let plan = CompressorPlan::within(compression, 1, 0);
            let stored = compressed(plan, &text, 1 << 16, usize::MAX);
            assert!(decoded(codec, &stored) == text, "{codec:?} {level}");
        }
    }
}

#[test]
fn f10_an_error_of_the_file_comes_back_and_so_does_every_later_call() {
    let plan = CompressorPlan::within(Compression::of(Codec::Lz4), 2, 0);
    let mut compressor = Compressor::new(plan);
    let full = |_: &[u8]| Err(std::io::ErrorKind::StorageFull.into());
    let text = text(plan.piece_bytes);
    let errors: Vec<_> = (0..9)
        .filter_map(|_| compressor.take(&text, full).err())
        .collect();
    assert_eq!(errors[0].kind(), std::io::ErrorKind::StorageFull);
    assert!(errors.len() > 1 && compressor.finish(|_| Ok(())).is_err());
}

#[test]
fn c16_an_encoder_of_zstd_takes_no_more_than_is_planned() {
    // One size for each level.
    encoders_of_zstd(|level, halvings| (level + halvings) % 6 == 0);
}

#[test]
#[ignore = "slow: every level with every size"]
fn c16_an_encoder_of_zstd_takes_no_more_than_is_planned_for_any_piece() {
    encoders_of_zstd(|_, _| true);
}

fn encoders_of_zstd(is_wanted: fn(usize, usize) -> bool) {
    for level in 1..=19 {
        let compression = Compression::with_level(Codec::Zstd, level).unwrap();
        let pieces = compression.pieces().enumerate();
        for (_, piece_bytes) in pieces.filter(|&(halvings, _)| is_wanted(level as usize, halvings))
        {
            let plan = CompressorPlan {
                compression,
                threads: 1,
                piece_bytes: piece_bytes as usize,
            };
            let mut encoder = Encoder::new(&plan).unwrap();
            let mut frame = Vec::new();
            encoder
                .encode(&text(piece_bytes as usize), &mut frame)
                .unwrap();
            assert!(frame.len() <= plan.frame_bytes());
            let Encoder::Zstd(mut encoder) = encoder else {
                panic!("not zstd")
            };
            let taken = encoder.context_mut().sizeof() as u64;
            let planned = compression.encoder_bytes(piece_bytes);
            println!("level {level}, pieces of {piece_bytes}: {taken} of {planned}");
            assert!(taken <= planned, "level {level}: {taken} of {planned}");
        }
    }
}

#[test]
fn c16_compressing_takes_a_twentieth_of_the_memory_or_the_least_there_is() {
    for codec in Codec::ALL {
        let compression = Compression::of(codec);
        let least = CompressorPlan::within(compression, 1, 0).bytes();
        for mebibytes in [16, 24, 64, 256, 4096] {
            for threads in [1, 2, 64] {
                let taken = compressors_bytes(&[compression; 2], threads, mebibytes << 20);
                assert!(taken <= (mebibytes << 20) / COMPRESSING_SHARE || taken == 2 * least);
            }
        }
        let roomy = CompressorPlan::within(compression, 8, 1 << 40);
        assert_eq!(roomy.threads, 8);
        assert_eq!(
            Some(roomy.piece_bytes as u64),
            compression.pieces().next(),
            "{codec:?}"
        );
    }
}
