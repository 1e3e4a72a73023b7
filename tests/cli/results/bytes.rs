//! Lines that a naive program gets wrong (rows A and B of `tests/matrix.tsv`): bytes of every kind, lengths around
//! every buffer, texts that look like options or like the tool's own files, offsets beyond 2^32, inputs that come in
//! drops.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::Duration;

use crate::data::{common, lines, small};
use crate::sandbox::{Feed, Sandbox, assert_same_lines};

const EXACT: [&str; 3] = ["memory", "partition", "sieve"];

/// Every exact strategy gives what the texts have in common.
fn gives_what_is_common(a: &[u8], b: &[u8], memory: &str) {
    let sandbox = Sandbox::with(a, b);
    let expected = common(&[a, b]);
    for strategy in EXACT {
        sandbox
            .run(&format!(
                "intersect a b --strategy {strategy} --memory {memory}"
            ))
            .succeeds_silently()
            .has_lines(&expected);
    }
}

#[test]
fn a2_a_last_line_without_an_end_counts_in_one_input_and_in_both() {
    for (a, b) in [
        ("x\ny", "y\n"),
        ("y\n", "x\ny"),
        ("x\ny", "z\ny"),
        ("y", "y"),
    ] {
        gives_what_is_common(a.as_bytes(), b.as_bytes(), "64M");
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn a4_megabytes_of_empty_lines_are_one_line() {
    empty_lines(2 << 20);
}

#[test]
#[ignore = "slow: ten million lines"]
fn a4_ten_megabytes_of_empty_lines_are_one_line() {
    empty_lines(10 << 20);
}

fn empty_lines(count: usize) {
    let empty = vec![b'\n'; count];
    gives_what_is_common(&empty, b"x\n\n", "64M");
    gives_what_is_common(&empty, &empty[..1 << 20], "64M");
}

#[test]
fn a5_a7_bytes_that_are_no_text_are_compared_as_they_are() {
    // NUL, no UTF-8 at all, cut off, overlong, surrogates, a byte-order mark.
    let odd: [&[u8]; 9] = [
        b"a\0b",
        b"\0",
        b"\xff",
        b"\xfe\xff",
        b"\xc3",
        b"\xc0\xaf",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbfx",
        b"\xf4\x90\x80\x80",
    ];
    let mut a = odd.join(&b'\n');
    a.push(b'\n');
    // Half of them, and what a lossy program would make of the others.
    let b = [odd[..5].join(&b'\n'), b"\nx\n\xef\xbf\xbd\na\n".to_vec()].concat();
    gives_what_is_common(&a, &b, "64M");
    gives_what_is_common(&a, &a, "64M");
}

#[test]
fn a10_a13_lines_of_every_length_around_a_buffer_differ_by_their_last_byte() {
    let mut texts = [Vec::new(), Vec::new()];
    for size in [
        1,
        64,
        4096,
        16 << 10,
        64 << 10,
        128 << 10,
        256 << 10,
        512 << 10,
        1 << 20,
    ] {
        for length in [size - 1, size, size + 1, size + 2] {
            for (text, last) in texts.iter_mut().zip([b'x', b'y']) {
                // One line that both have, and one that differs at its end.
                text.resize(text.len() + length, b'c');
                text.push(b'\n');
                text.resize(text.len() + length, b'd');
                text.push(last);
                text.push(b'\n');
            }
        }
    }
    gives_what_is_common(&texts[0], &texts[1], "256M");
}

#[test]
fn a16_lines_that_look_like_options_or_spill_files_are_lines() {
    let header = [&b"OUTSETB1"[..], &[0; 56], b"--help\r", &[0xff; 40]].concat();
    let mut a = [
        &b"--help\n-o\n--\n-\n$(reboot)\n../out/r\n"[..],
        &header,
        b"\n",
    ]
    .concat();
    let b = [a.clone(), lines(0..3000)].concat();
    a.extend(lines(2000..60_000));
    gives_what_is_common(&a, &b, "16M");
}

#[test]
#[ignore = "slow: ten million lines"]
fn a14_a_line_that_comes_ten_million_times_is_written_once() {
    let text = b"again and again\n".repeat(10_000_000);
    let sandbox = Sandbox::with(&text, &[&text[..], b"x\n"].concat());
    for strategy in ["auto", "partition", "sieve"] {
        let outcome = sandbox.run(&format!(
            "intersect a b --strategy {strategy} --memory 64M --stats -"
        ));
        assert_eq!(outcome.succeeds().stdout, b"again and again\n");
        let stats: serde_json::Value = serde_json::from_str(&outcome.stderr).unwrap();
        assert_eq!(stats["inputs"][1]["lines"].as_u64(), Some(10_000_001));
    }
}

/// A file with one line of `length` bytes, and `last` behind it.
fn long_line(sandbox: &Sandbox, name: &str, length: usize, last: &[u8]) {
    let mut file = BufWriter::new(File::create(sandbox.input(name)).unwrap());
    let block = vec![b'l'; 1 << 20];
    for _ in 0..length >> 20 {
        file.write_all(&block).unwrap();
    }
    file.write_all(last).unwrap();
    file.flush().unwrap();
}

#[test]
#[ignore = "slow: needs 3 GB of disk and 6 GB of memory"]
fn a11_a_line_of_a_gigabyte_is_a_line_like_any_other() {
    let sandbox = Sandbox::new();
    long_line(&sandbox, "a", 1 << 30, b"1\nx\n");
    long_line(&sandbox, "b", 1 << 30, b"1\ny\n");
    long_line(&sandbox, "c", 1 << 30, b"2\nx\n");
    for (inputs, count) in [("a b", "1\n"), ("a c", "1\n"), ("b c", "0\n")] {
        let outcome = sandbox.run(&format!("intersect {inputs} --count-only --memory 6G"));
        assert_eq!(
            outcome.succeeds_silently().stdout,
            count.as_bytes(),
            "{inputs}: {outcome}"
        );
    }
}

#[test]
#[ignore = "slow: reads 5 GB of holes"]
fn b16_offsets_beyond_four_gigabytes_are_named_right() {
    let line = [vec![0; (1 << 20) - 1], b"\n".to_vec()].concat();
    let few = [&line[..], b"last\n"].concat();
    let sandbox = Sandbox::with(b"", &few);
    let file = File::create(sandbox.input("a")).unwrap();
    // Lines of a mebibyte each, all holes but their ends.
    for number in 1..=5u64 << 10 {
        file.write_all_at(b"\n", (number << 20) - 1).unwrap();
    }
    let offset = 5u64 << 30;
    file.write_all_at(b"last\n", offset).unwrap();
    let outcome = sandbox.run("intersect a b --memory 64M --stats -");
    outcome.succeeds().has_lines(&common(&[&few]));
    let stats: serde_json::Value = serde_json::from_str(&outcome.stderr).unwrap();
    assert_eq!(stats["inputs"][0]["lines"].as_u64(), Some((5 << 10) + 1));
    assert_eq!(stats["inputs"][0]["bytes"].as_u64(), Some(offset + 5));
    // A line that begins there and is too long.
    file.set_len(offset + 5 + (40 << 20)).unwrap();
    let named = format!("a: the line at byte {} ", offset + 5);
    sandbox
        .run("intersect a b -q --memory 32M --strategy partition")
        .fails(6, &[&named]);
}

#[test]
fn b16_sizes_of_ten_terabytes_are_planned_without_overflow() {
    let sandbox = Sandbox::new();
    for (lines, bytes) in [("1e11,1e11", 100), ("1e12,5", 1000), ("1e13,1e13", 1)] {
        sandbox
            .run(&format!(
                "plan --lines {lines} --line-bytes {bytes} --memory 4G --json"
            ))
            .succeeds();
    }
}

#[test]
fn b10_a_writer_that_dies_looks_like_the_end_of_its_input() {
    let a = lines(0..3000);
    let sandbox = Sandbox::with(&a, b"");
    let pipe = sandbox.fifo("pipe");
    for strategy in EXACT {
        let mut running = sandbox.start(sandbox.command(&format!(
            "intersect a pipe --memory 64M --strategy {strategy}"
        )));
        let sent = &lines(1000..2000)[..20_000];
        let mut feed = Feed::open(&pipe, &mut running);
        assert!(feed.send(sent));
        drop(feed);
        running
            .finish()
            .succeeds_silently()
            .has_lines(&common(&[&a, sent]));
    }
}

#[test]
fn b18_an_input_that_comes_in_drops_is_read_like_any_other() {
    let (a, b) = (lines(0..3000), lines(2900..3100));
    let sandbox = Sandbox::with(&a, b"");
    let pipe = sandbox.fifo("pipe");
    for strategy in EXACT {
        let mut running = sandbox.start(sandbox.command(&format!(
            "intersect a pipe --memory 64M --strategy {strategy}"
        )));
        let mut feed = Feed::open(&pipe, &mut running);
        for (number, byte) in b.chunks(1).enumerate() {
            assert!(feed.send(byte));
            if number % 500 == 0 {
                thread::sleep(Duration::from_millis(1));
            }
        }
        drop(feed);
        running
            .finish()
            .succeeds_silently()
            .has_lines(&common(&[&a, &b]));
    }
}

#[test]
fn a2_a4_a_last_line_without_an_end_counts_and_so_does_an_empty_line() {
    let sandbox = Sandbox::with(b"x\n\ny\nz", b"z\n\n\nx");
    for strategy in EXACT {
        sandbox
            .run(&format!("intersect a b --strategy {strategy}"))
            .succeeds_silently()
            .has_lines(&BTreeSet::from([&b"x"[..], b"", b"z"]));
    }
}

#[test]
fn a3_a5_a7_lines_are_bytes_and_nothing_is_trimmed_or_folded() {
    let sandbox = Sandbox::with(b"\xff\x00 A\n b\nc \nD\ne\r\n", b"\xff\x00 A\nb\nc\nd\ne\n");
    sandbox
        .run("intersect a b")
        .succeeds_silently()
        .has_lines(&BTreeSet::from([&b"\xff\x00 A"[..]]));
}

#[test]
fn a6_zero_terminated_lines_may_hold_newlines() {
    let sandbox = Sandbox::with(b"one\ntwo\0three\0four", b"four\0one\ntwo\0five\0");
    for strategy in EXACT {
        for option in ["-z", "--zero-terminated"] {
            let outcome = sandbox.run(&format!("intersect a b {option} --strategy {strategy}"));
            let expected = BTreeSet::from([&b"one\ntwo"[..], b"four"]);
            assert_same_lines(&outcome.succeeds_silently().stdout, 0, &expected);
        }
    }
}

#[test]
fn a3_strip_cr_ignores_one_carriage_return_before_the_line_end_and_writes_none() {
    let sandbox = Sandbox::with(b"x\r\ny\nz\r\r\nl\r", b"x\ny\r\nz\r\nl\n");
    for strategy in EXACT {
        sandbox
            .run(&format!("intersect a b --strip-cr --strategy {strategy}"))
            .succeeds_silently()
            .has_lines(&BTreeSet::from([&b"x"[..], b"y", b"l"]));
    }
}

#[test]
fn a1_empty_inputs_have_nothing_in_common() {
    let (a, _) = small();
    let sandbox = Sandbox::with(&a, b"");
    sandbox.write("c", b"");
    for strategy in EXACT {
        for inputs in ["a b", "b a", "b c", "a b c"] {
            let outcome = sandbox.run(&format!("intersect {inputs} --strategy {strategy}"));
            assert!(outcome.succeeds_silently().stdout.is_empty(), "{inputs}");
        }
    }
    let outcome = sandbox.run("intersect a b --count-only");
    assert_eq!(outcome.succeeds_silently().stdout, b"0\n");
}
