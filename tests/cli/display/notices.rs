//! Reports of a run that goes well: lines that end otherwise in one input than in another (row A3 of
//! `tests/matrix.tsv`), data that is no plain text (row A20), temporary files that take memory (row E7).

use std::collections::BTreeSet;
use std::fs;

use differential::sweep;

use crate::data::{common, lines, megabytes};
use crate::sandbox::{Outcome, Sandbox, assert_is_summary, can_mount};

/// `text` with CR LF at the end of each line.
fn with_cr(text: &[u8]) -> Vec<u8> {
    let pieces = text.split_inclusive(|&byte| byte == b'\n');
    pieces
        .flat_map(|line| [&line[..line.len() - 1], b"\r\n"].concat())
        .collect()
}

/// Three inputs: `a` with CR LF, `b` and `c` without.
fn mixed(count: u64) -> Sandbox {
    let sandbox = Sandbox::with(&with_cr(&lines(0..count)), &lines(0..count));
    sandbox.write("c", lines(0..count));
    sandbox
}

#[test]
fn a3_lines_that_end_in_cr_on_one_side_only_get_one_hint_and_stay_what_they_are() {
    // The second is sampled in windows, the first is read whole.
    let sandboxes = [1, 50_000].map(mixed);
    let ways = [
        ("a b", "memory"),
        ("b a", "partition"),
        ("c b a", "sieve"),
        ("a b", "sieve"),
    ];
    for (sandbox, (inputs, strategy)) in sweep::pairs(&sandboxes, &ways) {
        let outcome = sandbox.run(&format!(
            "intersect {inputs} --memory 64M --strategy {strategy}"
        ));
        outcome.succeeds().has_lines(&BTreeSet::new());
        let said: Vec<&str> = outcome.stderr.lines().collect();
        assert_eq!(said.len(), 2, "{outcome}");
        assert!(said[0].starts_with("outset: a: "), "{outcome}");
        assert!(said[0].contains("CR") && said[0].contains("--strip-cr"));
        assert_is_summary(said[1], "exact");
    }
    let commands = [
        "intersect a b --strategy bloom",
        "compare a b",
        "estimate a b",
    ];
    for (sandbox, arguments) in sweep::pairs(&sandboxes, &commands) {
        let outcome = sandbox.run(arguments);
        let hints = outcome.succeeds().stderr.matches("--strip-cr");
        assert_eq!(hints.count(), 1, "{arguments}: {outcome}");
    }
    for sandbox in &sandboxes {
        let quiet = sandbox.run("intersect a b -q");
        assert_eq!(quiet.succeeds().stderr, "");
        // What is on standard error can be parsed.
        let report = sandbox.run("intersect a b --stats -");
        let _report: serde_json::Value = serde_json::from_str(&report.succeeds().stderr).unwrap();
    }
}

#[test]
fn a20_lines_that_are_encoded_otherwise_in_one_input_get_one_hint() {
    let sandbox = Sandbox::new();
    // Most of Latin-1 is CP1252.
    let texts = |count: usize| {
        let text: Vec<String> = (0..count).map(|i| format!("{i},café,plain\n")).collect();
        let text = text.concat();
        let latin: Vec<u8> = text.chars().map(|letter| letter as u8).collect();
        (text, latin)
    };
    // The second is sampled in windows.
    for count in [3, 50_000] {
        let (text, latin) = texts(count);
        sandbox.write("a", &text);
        sandbox.write("b", &latin);
        sandbox.write("c", &text);
        for inputs in ["a b", "b a c", "a b --csv -k 1,2", "a b --csv -k 2"] {
            let outcome = sandbox.run(&format!("intersect {inputs} --count-only"));
            let said: Vec<&str> = outcome.succeeds().stderr.lines().collect();
            assert_eq!(said.len(), 2, "{outcome}");
            assert!(said[0].starts_with("outset: b: ") && said[0].contains("those of a are"));
            assert!(said[0].contains("iconv -f CP1252 -t UTF-8"), "{outcome}");
        }
        // The keys are ASCII; the others are encoded alike; a filter has nothing to compare with.
        for arguments in [
            "intersect a b --csv -k 1 --count-only",
            "intersect a c --count-only",
            "union b --count-only",
            "filter build b -o ../out/f -q",
        ] {
            sandbox.run(arguments).succeeds_silently();
        }
    }
}

#[test]
fn a3_no_hint_is_given_where_none_is_due() {
    let sandbox = mixed(5000);
    let text = lines(0..5000);
    let all: BTreeSet<&[u8]> = common(&[&text]);
    sandbox
        .run("intersect a b c --strip-cr")
        .succeeds_silently()
        .has_lines(&all);
    sandbox.write("d", with_cr(&text));
    for arguments in ["a d", "b c", "a b -z", "b -z --strip-cr a"] {
        sandbox
            .run(&format!("intersect {arguments} --count-only"))
            .succeeds_silently();
    }
    // What comes through a pipe is not looked into before it is read.
    sandbox
        .run_fed("intersect a - --count-only", &text)
        .succeeds_silently();
    // Half of the lines are not most of them.
    let half = [with_cr(&lines(0..2000)), lines(2000..4000)].concat();
    sandbox.write("half", half);
    let outcome = sandbox.run("intersect half a --count-only");
    assert!(outcome.succeeds().stderr.starts_with("outset: a: "));
}

#[test]
fn a3_a_file_with_line_ends_of_both_kinds_gets_a_hint_of_its_own() {
    let half = [with_cr(&lines(0..2000)), lines(2000..4000)].concat();
    let sandbox = Sandbox::with(&half, &lines(0..4000));
    // Of a pipe the first block is looked at.
    let in_turn: Vec<u8> = (0..2000)
        .flat_map(|number| format!("{number}\r\n{number}x\n").into_bytes())
        .collect();
    sandbox.run("filter build b -o ../out/f").succeeds();
    for arguments in [
        "intersect a b",
        "union a",
        "estimate a b",
        "filter query ../out/f a",
        "filter build a -o ../out/g",
    ] {
        let outcome = sandbox.run(arguments);
        assert!(
            outcome
                .stderr
                .starts_with("outset: a: has lines that end in CR LF and"),
            "{outcome}"
        );
        assert!(outcome.stderr.contains("--strip-cr"), "{outcome}");
    }
    let outcome = sandbox.run_fed("diff - b --count-only", &in_turn);
    assert!(
        outcome
            .succeeds()
            .stderr
            .starts_with("outset: -: has lines that end in CR LF and")
    );
    for arguments in [
        "intersect a b --strip-cr",
        "intersect a b -z",
        "union --csv -k 1 a",
    ] {
        sandbox
            .run(&format!("{arguments} --count-only"))
            .succeeds_silently();
    }
    // A few are no reason.
    let few = [with_cr(&lines(0..200)), lines(200..4000)].concat();
    sandbox.write("a", few);
    sandbox
        .run("intersect a b --count-only")
        .succeeds_silently();
}

#[test]
#[ignore = "slow: more than a second"]
fn e7_temporary_files_on_a_file_system_in_memory_get_one_word() {
    if !can_mount() {
        return;
    }
    let sandbox = Sandbox::with(&megabytes(3, 0), &megabytes(3, 1000));
    let notices = |arguments: &str| {
        let command = sandbox.command_on_small_disk("temp", "200m", arguments);
        let outcome = sandbox.start(command).finish();
        fs::remove_dir_all(sandbox.root().join("saved")).unwrap();
        outcome.succeeds();
        outcome.notices
    };
    for arguments in [
        "intersect a b --memory 16M --strategy partition",
        "intersect a b --memory 16M --strategy sieve",
        "intersect a b --memory 16M --strategy partition -o ../out/r --progress always",
        "compare a b --memory 16M --strategy partition",
    ] {
        let said = notices(arguments);
        assert_eq!(said.len(), 1, "{arguments}: {said:?}");
        let directory = sandbox.temp();
        let begins = format!("outset: {}: ", directory.display());
        assert!(said[0].starts_with(&begins), "{said:?}");
        assert!(said[0].contains("memory") && said[0].contains("--temp-dir"));
    }
    for arguments in [
        "intersect a b --memory 64M --strategy memory",
        "intersect a b --memory 16M --strategy partition -q",
        "intersect a b --memory 16M --strategy partition --stats -",
    ] {
        let said = notices(arguments);
        assert!(said.is_empty(), "{arguments}: {said:?}");
    }
}

/// Makes data that is no plain text, by its kind, and words that its hint has.
fn foreign() -> Vec<(Vec<u8>, &'static str)> {
    let wide = |step: usize, index: usize| -> Vec<u8> {
        let text = b"alpha\nbeta\ngamma delta\n";
        let of = |&byte: &u8| (0..step).map(move |at| if at == index { byte } else { 0 });
        text.iter().flat_map(of).collect()
    };
    let front = |front: &[u8]| [front, &lines(0..3)].concat();
    let mut tar = [&b"n50"[..], &[0; 97], b"0000644\0", &[0; 149], b"ustar  \0"].concat();
    tar.resize(512, 0);
    vec![
        (front(b"\xef\xbb\xbf"), "tail -c +4"),
        (front(b"\xff\xfe"), "iconv -f UTF-16 "),
        (front(b"\xfe\xff"), "iconv -f UTF-16 "),
        (front(b"\xff\xfe\0\0"), "iconv -f UTF-32 "),
        (front(b"\0\0\xfe\xff"), "iconv -f UTF-32 "),
        (wide(2, 0), "iconv -f UTF-16LE"),
        (wide(2, 1), "iconv -f UTF-16BE"),
        (wide(4, 0), "UTF-32"),
        (front(b"PK\x03\x04"), "unzip"),
        (front(b"7z\xbc\xaf\x27\x1c"), "7z"),
        (front(b"Rar!\x1a\x07\0"), "rar"),
        (front(b"\x1f\x9d\x90"), "compress"),
        (front(b"\x5d\0\0\x80\0\xff\xff\xff\xff"), "lzma"),
        (front(b"LZIP\x01"), "lzip"),
        (front(b"\x89LZO\0\r\n\x1a\n"), "lzop"),
        (front(b"\x78\x9c\x0d\xcd\x47\x01\xc0\x30"), "zlib"),
        (front(b"\xff\x06\0\0sNaPpY"), "snappy"),
        (front(b"\0\0\0\x12\0\0\0\x14\x12\x44"), "snappy"),
        (front(b"SQLite format 3\0"), "SQLite"),
        (front(b"ORC\0\0"), "ORC"),
        (front(b"ARROW1\0\0"), "Arrow"),
        (front(b"Obj\x01\x04"), "Avro"),
        (front(b"<!DOCTYPE html>\n"), "HTML"),
        (front(b"\n <HTML><head>"), "HTML"),
        (front(b"<?xml version=\"1.0\"?><Error/>\n"), "XML"),
        (front(b"a\0\0\x01\0b\0\0"), "binary"),
        (b"one\0two\0three\nfour\0".to_vec(), "-z"),
        (b"\x01\x02\x03\x04\x05 and more\n".to_vec(), "binary"),
        (b"alpha\rbeta\rgamma\r".to_vec(), "tr '\\r' '\\n'"),
        (tar, "tar -xO"),
    ]
}

/// The hints of a run.
fn hints(stderr: &str) -> Vec<&str> {
    let is_hint = |line: &&str| line.starts_with("outset: a") || line.starts_with("outset: -: ");
    stderr.lines().filter(is_hint).collect()
}

#[test]
fn a20_what_is_no_plain_text_gets_one_hint_as_a_file_compressed_or_through_a_pipe() {
    let sandbox = Sandbox::with(b"", &lines(0..10));
    let has_hint = |outcome: &Outcome, words: &str| {
        let said = hints(&outcome.succeeds().stderr);
        assert!(
            said.len() == 1 && said[0].contains(words),
            "{words}: {outcome}"
        );
    };
    let foreign = foreign();
    let ways = [
        "intersect a b",
        "intersect - b --count-only",
        "diff a.zst b --count-only",
        "diff - b --count-only",
    ];
    for ((text, words), way) in sweep::pairs(&foreign, &ways) {
        let compressed = data_gen::Compression::Zstd.compress(text).unwrap();
        sandbox.write("a.zst", &compressed);
        sandbox.write("a", text);
        let is_compressed = way.starts_with("diff");
        let outcome = sandbox.run_fed(way, if is_compressed { &compressed } else { text });
        has_hint(&outcome, words);
        if *way == "intersect a b" {
            outcome.has_lines(&common(&[text, &lines(0..10)]));
            assert_eq!(outcome.stderr.lines().count(), 2, "{words}: {outcome}");
        }
    }
    for (text, _) in sweep::some(&foreign, 1) {
        sandbox.write("a", text);
        assert_eq!(sandbox.run("intersect a b -q").succeeds().stderr, "");
    }
    // What is compressed once is not foreign.
    let gzip = data_gen::Compression::Gzip.compress(&lines(0..9)).unwrap();
    let twice = data_gen::Compression::Zstd.compress(&gzip).unwrap();
    sandbox.write("a.zst", &twice);
    for way in &ways[2..] {
        has_hint(&sandbox.run_fed(way, &twice), "compressed twice");
    }
}

#[test]
fn a20_every_command_that_reads_lines_gives_the_hint_for_every_file_of_a_side() {
    let text = [&b"Obj\x01"[..], &lines(0..3)].concat();
    let sandbox = Sandbox::with(&text, &lines(0..10));
    sandbox
        .run("filter build b --kind fingerprint -o ../out/f")
        .succeeds();
    sandbox
        .run("filter build b --kind counting --lines 100 -o ../out/counting")
        .succeeds();
    for arguments in [
        "union a b",
        "symdiff a b",
        "overlaps a b",
        "estimate a b",
        "compare a b",
        "filter build a -o ../out/g",
        "filter query ../out/f a",
        "filter insert ../out/f a",
        "filter remove ../out/counting a",
        "filter count ../out/counting a",
    ] {
        let outcome = sandbox.run(arguments);
        let said = hints(&outcome.stderr);
        assert!(
            said.len() == 1 && said[0].contains("Avro"),
            "{arguments}: {outcome}"
        );
    }
    let outcome = sandbox.run_fed("filter query ../out/f -", &text);
    assert!(hints(&outcome.stderr)[0].contains("Avro"), "{outcome}");
    // More files than are sampled.
    for number in 0..40 {
        sandbox.write(&format!("a{number}"), lines(number..number + 2000));
    }
    for number in [0, 17, 39] {
        sandbox.write(&format!("a{number}"), &text);
        let files: Vec<String> = (0..40).map(|number| format!("a{number}")).collect();
        let outcome = sandbox.run(&format!(
            "diff --side {} --side b --count-only",
            files.join(" ")
        ));
        let said = hints(&outcome.succeeds().stderr);
        assert_eq!(said.len(), 1, "{outcome}");
        assert!(
            said[0].starts_with(&format!("outset: a{number}: ")),
            "{outcome}"
        );
        sandbox.write(&format!("a{number}"), lines(0..2000));
    }
}

#[test]
fn a20_names_that_say_compressed_over_other_bytes_get_a_hint() {
    let sandbox = Sandbox::with(b"", &lines(0..10));
    let gzip = data_gen::Compression::Gzip.compress(&lines(0..9)).unwrap();
    let brotli = b"\x1b\x8c\0\0\x04\x74\x38\xf4\x71\x8a\x1e\x76".to_vec();
    for (name, text, words) in [
        ("a.gz", lines(0..3), "name says"),
        ("a.GZ", lines(0..3), "name says"),
        ("a.txt.bz2", lines(0..3), "name says"),
        ("a.snappy", lines(0..3), "name says"),
        ("a.gz", b"<?xml version=\"1.0\"?>\n".to_vec(), "XML"),
        ("a.br", brotli.clone(), "brotli"),
        ("a.deflate", brotli.clone(), "zlib"),
        ("a.gz", brotli, "binary"),
        // What it is decides, whatever it is called.
        ("a.xz", gzip.clone(), ""),
        ("a.gz", gzip, ""),
        ("a.gz", Vec::new(), ""),
    ] {
        sandbox.write(name, text);
        let outcome = sandbox.run(&format!("diff {name} b --count-only"));
        let said = hints(&outcome.succeeds().stderr);
        assert_eq!(
            said.len(),
            usize::from(!words.is_empty()),
            "{name}: {outcome}"
        );
        assert!(
            said.iter().all(|said| said.contains(words)),
            "{name}: {outcome}"
        );
        fs::remove_file(sandbox.input(name)).unwrap();
    }
    // As it is wanted.
    sandbox.write("a.gz", lines(0..3));
    sandbox
        .run("diff a.gz b --count-only --decompress none")
        .succeeds_silently();
}

#[test]
fn a20_a_hint_is_not_lost_where_no_key_is_found() {
    let sandbox = Sandbox::with(b"", b"id,name\n1,b\n");
    let utf16: Vec<u8> = "id,name\r\n1,a\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let marked = [b"\xff\xfe", &utf16[..]].concat();
    let nul = [b"\0".to_vec(), vec![b'x'; 70_000]].concat();
    for (text, words) in [
        (&marked, "UTF-16"),
        (&utf16, "UTF-16LE"),
        (&b"<html>\n<p>no access</p>\n".to_vec(), "HTML"),
        (&nul, "binary"),
    ] {
        sandbox.write("a", text);
        for outcome in [
            sandbox.run("diff --csv -k id a b"),
            sandbox.run_fed("diff --csv -k id - b", text),
        ] {
            outcome.fails(2, &[words]);
            assert!(!outcome.stderr.contains("name one of"), "{outcome}");
        }
    }
    // A record without a key, and a header that swallows everything.
    sandbox.write("a", b"\xfe\xff\0a\n");
    let outcome = sandbox.command("diff --csv -k 2 a b").output().unwrap();
    let said = String::from_utf8(outcome.stderr).unwrap();
    assert_eq!(outcome.status.code(), Some(3), "{said}");
    assert!(
        hints(&said)[0].contains("UTF-16") && said.contains("field 2"),
        "{said}"
    );
    for arguments in ["diff --csv -k id - b", "diff --csv -H -k 1 - b"] {
        let outcome = sandbox.run_fed(arguments, b"id,name\r1,a\r2,b\r");
        assert!(
            hints(&outcome.succeeds().stderr)[0].contains("CR"),
            "{outcome}"
        );
    }
}

#[test]
fn a20_text_with_odd_bytes_gets_no_hint() {
    let sandbox = Sandbox::with(b"", &lines(0..10));
    // Bytes of Latin-1 in some order, without control bytes.
    let latin: Vec<u8> = (1..40_000_u64)
        .map(
            |number| match (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % 250 {
                byte @ 0..0xe0 => 0x20 + byte as u8,
                0xe0..0xee => b'\n',
                _ => b'\t',
            },
        )
        .collect();
    let texts = [
        latin,
        lines(0..3),
        [&lines(0..3)[..], b"PAR1"].concat(),
        b"PAR1 is a name\n".to_vec(),
        b"ORCA\nOrca\n".to_vec(),
        b"PKW\nRar\n7z\nLZIP\nxml\n".to_vec(),
        b"x^2\nx\x01y\n".to_vec(),
        "x\u{da}\n\u{e9}t\u{e9}\n".into(),
        b"1\x012\x013\n4\x015\x016\n".to_vec(),
        b"\x1b[31mred\x1b[0m\n\x07\n".to_vec(),
        b"10 %\r20 %\r30 %\n".to_vec(),
        b"one\r\ntwo\r\n".to_vec(),
        b"one line\r".to_vec(),
        b"<p>\n<xml>\n".to_vec(),
        b"\n".to_vec(),
        b"\x01\n".to_vec(),
        b"a\0b\n\0\nc\nd\n".to_vec(),
    ];
    for (text, &is_piped) in sweep::pairs(&texts, &[false, true]) {
        sandbox.write("a", text);
        let outcome = if is_piped {
            sandbox.run_fed("union - --count-only", text)
        } else {
            sandbox.run("diff a b --count-only")
        };
        let said = hints(&outcome.succeeds().stderr);
        let said: Vec<_> = said
            .iter()
            .filter(|said| !said.contains("most lines end in CR"))
            .collect();
        assert!(said.is_empty(), "{outcome}");
    }
    // Lines that end in NUL are meant.
    sandbox.write("a", b"one\0two\0three\0");
    sandbox.run("diff -z a b --count-only").succeeds_silently();
    let outcome = sandbox.run_fed("union -z - --count-only", b"one\0two\0three\0");
    outcome.succeeds_silently();
}
