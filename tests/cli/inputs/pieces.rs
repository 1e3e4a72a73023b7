//! Inputs that several threads decode, each a piece: files of frames that say where they end, and sides of many files.

use std::io::Write;

use data_gen::Compression;

use crate::data::{EXACT, OPERATIONS, UNION};
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
fn a19_pieces_of_compressed_files_give_every_answer() {
    let texts = [
        dense(0..70_000),
        dense(30_000..100_000),
        dense(60_000..64_000),
    ];
    let all = [&texts[0][..], &texts[1], &texts[2]];
    let sandbox = Sandbox::new();
    let mut strategies = EXACT.into_iter().cycle();
    for compression in FRAMED {
        for (name, text) in ["a", "b", "c"].into_iter().zip(&texts) {
            let file = compression.compress(text).unwrap();
            assert!(name == "c" || file.len() > 2 << 20, "{}", file.len());
            sandbox.write(name, file);
        }
        for operation in OPERATIONS {
            let (words, strategy) = (operation.words, strategies.next().unwrap());
            for threads in [1, 3] {
                sandbox
                    .run(&format!("{words} a b c --strategy {strategy} -j {threads}"))
                    .succeeds_silently()
                    .has_written(&operation.of(&all));
            }
        }
        strategies.next();
        // In the order of the input.
        let outcome = sandbox.run("union a --order input -j 3");
        assert!(outcome.succeeds_silently().stdout == texts[0]);
    }
}

#[test]
fn b22_what_is_wrong_in_a_piece_is_named_by_its_place_in_the_file() {
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

#[test]
fn c12_later_frames_that_take_more_than_the_first_have_room_in_each_lane() {
    let sandbox = Sandbox::new();
    let frame = |text: &[u8], window_log: u32| {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(window_log).unwrap();
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
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
            .succeeds_silently()
            .has_written(&UNION.of(&[&texts.concat()]));
    }
}
