//! Compressed inputs: the same answers as from plain ones, whatever the format, and an error where one is damaged.

use std::fs;

use data_gen::Compression;
use differential::sweep;
use serde_json::Value;

use crate::data::{DIFF, EXACT, OPERATIONS, UNION, lines, megabytes};
use crate::sandbox::Sandbox;
use crate::tasks::TASKS;

/// The text in this many frames of one format.
fn frames(compression: Compression, text: &[u8], count: usize) -> Vec<u8> {
    let end = |frame: usize| text.len() * frame / count;
    let frame = |frame| compression.compress(&text[end(frame)..end(frame + 1)]);
    (0..count)
        .flat_map(|number| frame(number).unwrap())
        .collect()
}

/// The text with a newline at its end.
fn ending(text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    if text.last() != Some(&b'\n') {
        text.push(b'\n');
    }
    text
}

/// Three texts with lines of their own, of two and of all of them.
fn three() -> [Vec<u8>; 3] {
    [lines(0..3000), lines(1000..6000), lines(2000..4000)]
}

#[test]
fn a19_every_operation_reads_every_format_by_every_strategy() {
    let texts = three();
    let all = [&texts[0][..], &texts[1], &texts[2]];
    let formats = Compression::ALL.map(|compression| {
        let of = |text: usize, count| frames(compression, &texts[text], count);
        (of(0, 3), of(1, 1))
    });
    let sandbox = Sandbox::new();
    // A plain file among the others.
    sandbox.write("c", &texts[2]);
    for ((a, b), operation, strategy) in sweep::triples(&formats, &OPERATIONS, &EXACT) {
        sandbox.write("a", a);
        sandbox.write("b", b);
        let words = operation.words;
        sandbox
            .run(&format!("{words} a b c --strategy {strategy}"))
            .succeeds_silently()
            .has_written(&operation.of(&all));
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn a19_orders_and_multisets_are_those_of_the_decoded_lines() {
    let texts = three();
    let plain = Sandbox::with(&texts[0], &texts[1]);
    let packed = Sandbox::new();
    for (compression, other) in Compression::ALL
        .into_iter()
        .zip(Compression::ALL.iter().rev())
    {
        packed.write("a", frames(compression, &texts[0], 2));
        packed.write("b", frames(*other, &texts[1], 1));
        for words in [
            "intersect a b --order input",
            "diff a b --order sorted",
            "union a b --order input",
            "union b a --all --order sorted",
            "diff a b --repeats --order input",
            "overlaps a b",
        ] {
            let expected = plain.run(words).stdout;
            assert_eq!(packed.run(words).stdout, expected, "{words}");
        }
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn a19_compressed_lines_come_through_pipes_and_standard_input() {
    let texts = three();
    let expected = DIFF.of(&[&texts[0], &texts[1]]);
    for compression in Compression::ALL {
        let sandbox = Sandbox::new();
        sandbox.write("b", frames(compression, &texts[1], 2));
        let packed = frames(compression, &texts[0], 2);
        for strategy in ["auto", "partition", "sieve"] {
            sandbox
                .run_fed(&format!("diff - b --strategy {strategy}"), &packed)
                .succeeds_silently()
                .has_written(&expected);
        }
        // Without decoding its bytes are lines; a hint says what they seem to be.
        sandbox
            .run_fed("union - --decompress none", &packed)
            .succeeds()
            .has_written(&UNION.of(&[&packed]));
        sandbox.write("f", &packed);
        sandbox
            .run("filter build f --decompress none -o ../out/filter")
            .succeeds();
        let asked = "filter query ../out/filter f --decompress none";
        assert_eq!(sandbox.run(asked).succeeds().stdout, ending(&packed));
        fs::remove_file(sandbox.output("filter")).unwrap();
    }
}

#[test]
fn a19_what_begins_like_a_compressed_file_is_one_only_if_it_goes_on_like_one() {
    let sandbox = Sandbox::new();
    let texts: [&[u8]; 5] = [b"BZh9\n", b"BZ", b"P*M\n", b"(\n", b"B\nBZh1\n"];
    for text in texts {
        sandbox.write("a", text);
        let expected = UNION.of(&[text]);
        sandbox
            .run("union a")
            .succeeds_silently()
            .has_written(&expected);
        sandbox
            .run_fed("union -", text)
            .succeeds_silently()
            .has_written(&expected);
    }
}

#[test]
fn b20_files_of_a_side_may_be_compressed_each_in_its_own_way() {
    let sandbox = Sandbox::new();
    let text = lines(0..6000);
    let mut parts = text.split_inclusive(|&byte| byte == b'\n');
    let mut part = |lines: usize| parts.by_ref().take(lines).collect::<Vec<_>>().concat();
    let mut names = String::new();
    for (number, compression) in Compression::ALL.into_iter().enumerate() {
        let mut content = part(1000);
        // A line ends with its file.
        content.pop();
        sandbox.write(&format!("p{number}"), frames(compression, &content, 2));
        names.push_str(&[" p", &number.to_string()].concat());
    }
    sandbox.write("p5", part(1000));
    sandbox.write("b", lines(500..9000));
    let expected = DIFF.of(&[&text, &lines(500..9000)]);
    for strategy in EXACT {
        sandbox
            .run(&format!(
                "diff --side {names} p5 --side b --strategy {strategy} --order sorted"
            ))
            .succeeds()
            .has_written(&expected);
    }
}

#[test]
fn b21_a_damaged_file_fails_the_run_with_its_name_and_leaves_no_output() {
    let sandbox = Sandbox::new();
    let text = lines(0..20_000);
    sandbox.write("b", lines(0..100));
    let formats: Vec<_> = Compression::ALL.into_iter().zip(&TASKS).collect();
    // As a file, and through a pipe.
    let inputs = [("a", "--decompress none"), ("-", "")];
    let faults = [
        "end early",
        "other bytes follow",
        " data are damaged at byte ",
    ];
    for ((compression, task), (input, advice), words) in sweep::triples(&formats, &inputs, &faults)
    {
        let mut file = frames(*compression, &text, 2);
        let middle = file.len() / 2 + 100;
        match *words {
            "end early" => file.truncate(file.len() - 3),
            "other bytes follow" => file.extend_from_slice(b"https://example.com/\n"),
            _ => file[middle..middle + 4].fill(0x55),
        }
        sandbox.write("a", &file);
        let fed: &[u8] = if *input == "-" { &file } else { b"" };
        let arguments = format!("{} {input} b -o ../out/r", task.words);
        sandbox
            .run_fed(&arguments, fed)
            .fails(3, &[&format!("{input}: "), words, advice]);
        assert!(!sandbox.output("r").exists());
    }
}

#[test]
fn a19_a_filter_of_a_compressed_file_is_laid_out_for_its_lines() {
    let sandbox = Sandbox::new();
    // The beginning has long lines and the rest short ones: a sample would see a tenth of them.
    let long = "x".repeat(900);
    let first = (0..3000).map(|number| format!("{number}{long}\n"));
    let rest = (0..400_000).map(|number| format!("{number}\n"));
    let text = first.chain(rest).collect::<Vec<_>>().concat();
    sandbox.write("a", frames(Compression::Zstd, text.as_bytes(), 1));
    let outcome = sandbox.run("filter build a --max-fpr 1% -o ../out/f");
    outcome.succeeds_silently();
    let outcome = sandbox.run("filter info ../out/f --json");
    outcome.succeeds();
    let info: Value = serde_json::from_slice(&outcome.stdout).unwrap();
    assert_eq!(info["planned_keys"], 403_000, "{info}");
}

#[test]
#[ignore = "slow: more than a second"]
fn c12_memory_stays_under_the_limit_while_inputs_are_decoded() {
    let sandbox = Sandbox::new();
    let texts = [megabytes(4, 0), megabytes(4, 100_000)];
    let expected = DIFF.of(&[&texts[0], &texts[1]]);
    let mut strategies = ["auto", "partition"].into_iter().cycle();
    for (compression, memory) in Compression::ALL
        .into_iter()
        .zip([16, 18, 20, 20, 28, 16, 20])
    {
        for (name, text) in ["a", "b"].into_iter().zip(&texts) {
            sandbox.write(name, frames(compression, text, 3));
        }
        let strategy = strategies.next().unwrap();
        sandbox
            .run(&format!(
                "diff a b --strategy {strategy} --memory {memory}M --stats ../out/s"
            ))
            .succeeds_silently()
            .has_written(&expected);
        let stats: Value = serde_json::from_slice(&fs::read(sandbox.output("s")).unwrap()).unwrap();
        let peak = stats["memory"]["peak_rss_bytes"].as_u64().unwrap();
        assert!(
            peak <= memory << 20,
            "{compression:?}: {peak} of {memory} MiB"
        );
    }
}

#[test]
fn c12_a_window_that_is_larger_than_the_memory_is_refused_with_a_limit_that_does() {
    let sandbox = Sandbox::new();
    // The header of a frame that wants a window of 128 MiB, with one raw block.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 17 << 3];
    frame.extend([(4 << 3) | 1, 0, 0]);
    frame.extend(b"one\n");
    sandbox.write("a", &frame);
    sandbox.write("b", "one\ntwo\n");
    let refused = sandbox.run("intersect a b --memory 64M");
    refused.fails(6, &["memory", "give at least"]);
    let limit = refused.advised();
    let outcome = sandbox.run(&format!("intersect a b --memory {limit}"));
    assert_eq!(outcome.succeeds().stdout, b"one\n");
    // Through a pipe it is known only when it is read.
    sandbox
        .run_fed("intersect - b --memory 64M", &frame)
        .fails(6, &["data of - takes", "decompress it first"]);
}

#[test]
fn a19_no_rate_is_promised_where_sizes_are_guesses() {
    let sandbox = Sandbox::new();
    // Its beginning shows few long lines, and most of them are short.
    let long = |number: u8| [vec![b'a' + number; 600_000], b"\n".to_vec()].concat();
    let text = [long(0), long(1), long(2), lines(0..100_000)].concat();
    sandbox.write("a", frames(Compression::Gzip, &text, 1));
    sandbox.write("b", lines(90_000..150_000));
    let expected = DIFF.of(&[&lines(90_000..150_000), &text]);
    for memory in ["20M", "1G"] {
        sandbox
            .run(&format!("diff b a --max-fpr 1% --memory {memory}"))
            .succeeds_silently()
            .has_written(&expected);
    }
    sandbox
        .run("diff b a --max-fpr 1% --strategy bloom")
        .fails(2, &["max-fpr", "only estimated"]);
}

#[test]
fn a19_empty_blocks_and_padding_between_streams_are_decoded() {
    let sandbox = Sandbox::new();
    sandbox.write("b", "none\n");
    // A header without checksums, raw blocks, and the mark of the end.
    let header = [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82];
    let (block, empty) = ([&[4, 0, 0, 0x80][..], b"one\n"].concat(), [0, 0, 0, 0x80]);
    let frame = |blocks: &[&[u8]]| [&header[..], &blocks.concat()].concat();
    let end = [0; 4];
    let whole = frame(&[&block, &empty, &block, &end]);
    sandbox.write("a", &whole);
    let one = UNION.of(&[b"one\n"]);
    sandbox
        .run("diff a b")
        .succeeds_silently()
        .has_written(&one);
    for cut in [frame(&[&block, &empty]), frame(&[&block])] {
        for file in [cut.clone(), [&cut[..], &whole].concat()] {
            sandbox.write("a", &file);
            sandbox.run("diff a b").fails(3, &["a: the lz4 data"]);
        }
    }
    let stream = frames(Compression::Xz, b"one\n", 1);
    sandbox.write("a", [&stream[..], &[0; 8], &stream].concat());
    sandbox
        .run("diff a b")
        .succeeds_silently()
        .has_written(&one);
    sandbox.write("a", [&stream[..], &[0; 7], &stream].concat());
    sandbox.run("diff a b").fails(3, &["other bytes follow"]);
}

#[test]
fn a19_what_is_no_data_behind_gzip_is_passed_over_with_a_word() {
    let sandbox = Sandbox::new();
    let whole = frames(Compression::Gzip, b"one\ntwo\n", 2);
    sandbox.write("b", "two\n");
    let name = "a: ";
    for (behind, bytes) in [
        (&b"\n"[..], "1 byte behind the gzip data was"),
        (b"\r\n \t\n", "5 bytes behind the gzip data were"),
        (&[0; 10_240], "10240 bytes behind the gzip data were"),
    ] {
        let padded = [&whole[..], behind].concat();
        sandbox.write("a", &padded);
        let said = |outcome: &crate::sandbox::Outcome, name: &str| {
            let says = format!("outset: {name}{bytes} passed over");
            assert_eq!(outcome.succeeds().stdout, b"one\n");
            assert!(outcome.stderr.contains(&says), "{outcome}");
        };
        for arguments in [
            "diff a b",
            "diff a b --strategy sieve",
            "diff --side a a --side b",
        ] {
            said(&sandbox.run(arguments), name);
        }
        for arguments in ["diff - b", "diff - b --strategy sieve"] {
            said(&sandbox.run_fed(arguments, &padded), "-: ");
        }
        let built = sandbox.run("filter build a -o ../out/filter");
        assert!(
            built.succeeds().stderr.contains("behind the gzip data"),
            "{built}"
        );
        let quiet = sandbox.run("diff a b --quiet");
        assert_eq!(
            (quiet.stdout.as_slice(), quiet.stderr.as_str()),
            (&b"one\n"[..], "")
        );
    }
    sandbox.write("a", [&whole[..], b"\nx\n"].concat());
    sandbox
        .run("diff a b")
        .fails(3, &["a: other bytes follow the gzip data"]);
}

#[test]
fn c12_a_window_that_no_limit_leaves_a_pipe_is_refused_with_what_does() {
    // A frame of zstd with a window of 2 GiB, as --long=31 makes it: one raw block of four bytes.
    let window = (31_u8 - 10) << 3;
    let frame = [
        &[0x28, 0xb5, 0x2f, 0xfd, 0x00, window, 0x21, 0, 0][..],
        b"one\n",
    ]
    .concat();
    let sandbox = Sandbox::with(&frame, b"two\n");
    for limit in ["64M", "8G"] {
        let refused = sandbox.run_fed(&format!("diff - b -m {limit}"), &frame);
        refused.fails(6, &["write it to a file and give that with at least "]);
        let (_, advice) = refused.stderr.split_once(" with at least ").unwrap();
        let limit: String = advice.split_whitespace().take(2).collect();
        let outcome = sandbox.run(&format!("diff a b -m {limit} -q"));
        assert_eq!(outcome.succeeds().stdout, b"one\n");
    }
}

#[test]
fn a19_the_plan_says_that_the_size_of_a_compressed_file_is_a_guess() {
    let sandbox = Sandbox::new();
    let text = megabytes(6, 0);
    sandbox.write("a", frames(Compression::Gzip, &text, 1));
    sandbox.write("b", &text);
    let plan = sandbox.run("plan a b --json");
    let plan: Value = serde_json::from_slice(&plan.succeeds().stdout).unwrap();
    assert_eq!(plan["guesses_sizes"], true);
    let read = plan["bytes_read"].as_u64().unwrap() as f64;
    // The first megabyte shows the rest.
    let ratio = read / (2 * text.len()) as f64;
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
    let text = sandbox.run("plan a b");
    let text = String::from_utf8(text.succeeds().stdout.clone()).unwrap();
    assert!(text.contains("estimated from their first bytes"), "{text}");
    assert!(
        !sandbox
            .run("plan b b")
            .stdout
            .windows(9)
            .any(|word| word == b"estimated")
    );
}
