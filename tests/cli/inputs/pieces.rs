//! Inputs that several threads decode, each a piece: files of frames that say where they end, and sides of many files.

use std::io::Write;

use data_gen::Compression;

use crate::data::{EXACT, OPERATIONS, UNION};
use crate::limits::memory::measured;
use crate::sandbox::Sandbox;

/// Lines with these numbers that hardly compress: 1 MiB has about 16,000 of them.
fn dense(numbers: std::ops::Range<u64>) -> Vec<u8> {
    let mut text = Vec::new();
    for number in numbers {
        let mut state = number;
        for _ in 0..4 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            write!(text, "{state:016x}").unwrap();
        }
        text.push(b'\n');
    }
    text
}

/// Two formats whose files are cut in pieces of a MiB.
const FRAMED: [Compression; 2] = [Compression::Bgzf, Compression::Pzstd];

#[test]
#[ignore = "slow: more than a second"]
fn a19_pieces_of_compressed_files_give_every_answer() {
    let texts = [
        dense(0..70_000),
        dense(30_000..100_000),
        dense(60_000..64_000),
    ];
    let all = [&texts[0][..], &texts[1], &texts[2]];
    let sandbox = Sandbox::new();
    let mut strategies = EXACT.into_iter().cycle();
    for (compression, turn) in FRAMED.into_iter().zip(0..) {
        for (name, text) in ["a", "b", "c"].into_iter().zip(&texts) {
            let file = compression.compress(text).unwrap();
            assert!(name == "c" || file.len() > 2 << 20, "{}", file.len());
            sandbox.write(name, file);
        }
        // The formats by turns.
        for (operation, threads) in OPERATIONS
            .into_iter()
            .zip([3, 1, 3].into_iter().cycle())
            .skip(turn)
            .step_by(2)
        {
            let (words, strategy) = (operation.words, strategies.next().unwrap());
            sandbox
                .run(&format!("{words} a b c --strategy {strategy} -j {threads}"))
                .succeeds_silently()
                .has_written(&operation.of(&all));
        }
        strategies.next();
        // In the order of the input.
        let outcome = sandbox.run("union a --order input -j 3");
        assert!(outcome.succeeds_silently().stdout == texts[0]);
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn b22_what_is_wrong_in_a_piece_is_named_by_its_location_in_the_file() {
    let sandbox = Sandbox::new();
    let hex = dense(0..60_000);
    let mut records = Vec::new();
    for (number, line) in hex.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let separator = if number == 55_555 { " " } else { "\t" };
        write!(records, "{number}{separator}").unwrap();
        records.extend_from_slice(line);
    }
    let mut addresses: Vec<u8> = (0..400_000u32)
        .flat_map(|number| {
            let [a, b, c, d] = number.wrapping_mul(2_654_435_761).to_be_bytes();
            format!("{a}.{b}.{c}.{d}\n").into_bytes()
        })
        .collect();
    addresses.extend_from_slice(b"1.2.3.256\n1.2.3.4\n");
    for (text, options, says) in [
        (&records, "--tsv -k 2", "line 55556"),
        (&addresses, "--key-type ipv4", "1.2.3.256"),
    ] {
        sandbox.write("a", text);
        let plain = sandbox.run(&format!("union a {options} -j 1"));
        plain.fails(3, &[says]);
        for compression in FRAMED {
            sandbox.write("a", compression.compress(text).unwrap());
            let outcome = sandbox.run(&format!("union a {options} -j 3"));
            outcome.fails(3, &[]);
            assert_eq!(outcome.stderr, plain.stderr, "{compression:?}");
        }
    }
}

#[test]
fn b22_a_bad_record_in_one_of_many_compressed_files_is_named_by_that_file() {
    let sandbox = Sandbox::new();
    let mut names = String::new();
    for number in 0..6 {
        let bad = if number == 4 { "no field\n" } else { "" };
        let text = format!("a\t1\n{bad}b\t2\n").repeat(300);
        let name = format!("p{number}");
        sandbox.write(&name, Compression::Gzip.compress(text.as_bytes()).unwrap());
        names.push_str(&[" ", &name].concat());
    }
    let options = format!("union --side {names} --tsv -k 2 -j 3");
    sandbox.run(&options).fails(3, &["p4: ", "line 2"]);
    let outcome = sandbox.run(&format!("{options} --bad-records skip --order sorted"));
    assert_eq!(outcome.succeeds().stdout, b"a\t1\nb\t2\n");
    assert!(outcome.stderr.contains("300"), "{}", outcome.stderr);
}

/// A frame of zstd with a window of this many bits.
fn frame(text: &[u8], window_log: u32) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(window_log).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Makes a frame after its size, as pzstd writes it.
fn sized_frame(text: &[u8], window_log: u32) -> Vec<u8> {
    let frame = frame(text, window_log);
    let size = (frame.len() as u32).to_le_bytes();
    [&b"\x50\x2a\x4d\x18\x04\0\0\0"[..], &size, &frame].concat()
}

#[test]
fn c12_many_workers_that_meet_bad_records_stay_within_the_limit() {
    let sandbox = Sandbox::new();
    // A window of 8 MiB is full when the first bad record comes, and then each worker has some.
    let mut text = Vec::new();
    let mut lines = 0;
    while text.len() < 9 << 20 {
        writeln!(text, "{lines}\t{}", lines * 7919).unwrap();
        lines += 1;
    }
    text.extend(b"1\tx\nbad\n".repeat(500_000));
    sandbox.write("a", frame(&text, 23));
    let (outcome, peak) = measured(&sandbox, "union a --tsv -k 2 -j 8 -m 32M --count-only");
    outcome.fails(3, &["a: the record at line "]);
    let line = outcome.stderr.split("at line ").nth(1).unwrap();
    let line: u64 = line.split(' ').next().unwrap().parse().unwrap();
    assert!(
        line > lines && (line - lines).is_multiple_of(2),
        "{outcome}"
    );
    assert!(peak <= 32 << 20, "{} KiB resident", peak >> 10);
}

#[test]
#[ignore = "slow: more than a second"]
fn c12_several_decoders_leave_room_for_the_lines_that_one_would() {
    let sandbox = Sandbox::new();
    let mut text = dense(0..100_000);
    text.extend(b"long ".repeat((27 << 20) / 5));
    text.push(b'\n');
    text.extend(dense(100_000..200_000));
    let frames = text.chunks(6 << 20);
    sandbox.write(
        "a",
        frames
            .flat_map(|part| sized_frame(part, 22))
            .collect::<Vec<_>>(),
    );
    for threads in [1, 4] {
        let outcome = sandbox.run(&format!("union a -j {threads} -m 96M --count-only"));
        assert_eq!(outcome.succeeds().stdout, b"200001\n", "{outcome}");
    }
}

#[test]
fn c12_a_frame_that_takes_too_much_is_refused_whatever_other_threads_decode() {
    let sandbox = Sandbox::new();
    let text = dense(0..160_000);
    let frames = text.chunks(1 << 20).enumerate();
    let frame_of = |(number, part): (usize, &[u8])| {
        let is_large = number == 5;
        sized_frame(part, if is_large { 21 } else { 17 })
    };
    sandbox.write("a", frames.flat_map(frame_of).collect::<Vec<_>>());
    let run = |memory: &str| sandbox.run(&format!("union a -j 4 -m {memory} --count-only"));
    let refused = run("64M");
    refused.fails(6, &["decoding the zstd data of "]);
    for _ in 0..3 {
        assert_eq!(run("64M").stderr, refused.stderr);
    }
    run(&refused.advised()).succeeds();
}

#[test]
fn c12_later_frames_that_take_more_than_the_first_have_room_in_each_lane() {
    let sandbox = Sandbox::new();
    let (mut names, mut texts) = (String::new(), Vec::new());
    for number in 0..4 {
        let text = dense(number * 20_000..(number + 1) * 20_000);
        let (small, large) = text.split_at(1000 * 65);
        let file = [frame(small, 10), frame(large, 19)].concat();
        let name = format!("p{number}");
        sandbox.write(&name, file);
        names.push_str(&[" ", &name].concat());
        texts.push(text);
    }
    for strategy in ["partition", "memory"] {
        let options = format!("--memory 64M -j 2 --strategy {strategy}");
        sandbox
            .run(&format!("union --side {names} {options}"))
            .succeeds()
            .has_written(&UNION.of(&[&texts.concat()]));
    }
}
