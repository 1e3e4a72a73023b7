//! Sides of many files: directories, patterns and lists are read as if their files were concatenated.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use differential::{oracle, sweep};
use serde_json::Value;

use crate::data::{EXACT, lines, megabytes, small, split};
use crate::json::{number, parse};
use crate::sandbox::{Feed, Outcome, Sandbox};

/// Every way of combining two sides and a third.
const COMMANDS: [&str; 9] = [
    "intersect",
    "intersect --at-least 2 --which",
    "intersect --all",
    "diff",
    "diff --repeats",
    "union",
    "union --count",
    "symdiff --count-files",
    "overlaps",
];

/// Lines with repeats, an empty line, and one that is longer than a chunk of a small run.
fn texts() -> [Vec<u8>; 3] {
    let long = |byte: u8| [&vec![byte; 300_000][..], b"\n\n"].concat();
    [
        [lines(0..2000), long(b'x'), lines(500..700)].concat(),
        [long(b'x'), lines(1000..3000), lines(1000..1100), long(b'y')].concat(),
        [lines(1500..1700), b"\n".to_vec(), lines(2500..4000)].concat(),
    ]
}

/// Writes `text` as `count` files of a directory: some are empty, some have no newline at their end.
fn write_parts(sandbox: &Sandbox, directory: &str, text: &[u8], count: usize) {
    let path = sandbox.input(directory);
    fs::create_dir(&path).unwrap();
    let all = split(text, b'\n');
    // Every seventh file of many stays empty.
    let is_empty = |part: usize| count > 7 && part % 7 == 3;
    let full = (0..count).filter(|&part| !is_empty(part)).count();
    let mut pieces = all.chunks(all.len().div_ceil(full));
    for part in 0..count {
        let piece = if is_empty(part) {
            &[]
        } else {
            pieces.next().unwrap_or_default()
        };
        let mut content = piece.join(&b'\n');
        let needs_its_newline = piece.last().is_some_and(|line| line.is_empty());
        if !piece.is_empty() && (needs_its_newline || part % 3 > 0) {
            content.push(b'\n');
        }
        fs::write(path.join(format!("part-{part:05}")), content).unwrap();
    }
}

/// A sandbox with three inputs as files `a`, `b`, `c`, and as directories `a1`, `a3`, `a50` of 1, 3 and 50 files.
fn with_parts(texts: &[Vec<u8>; 3]) -> Sandbox {
    let sandbox = Sandbox::new();
    for (name, text) in ["a", "b", "c"].iter().zip(texts) {
        sandbox.write(name, text);
        for count in [1, 3, 50] {
            write_parts(&sandbox, &format!("{name}{count}"), text, count);
        }
    }
    sandbox
}

/// Returns the lines that a run wrote, in order; the table of overlaps without the names.
fn written(outcome: &Outcome) -> Vec<Vec<u8>> {
    let mut found = split(&outcome.succeeds().stdout, b'\n');
    oracle::sort(&mut found);
    found.into_iter().map(<[u8]>::to_vec).collect()
}

/// Sides of 1, 3 and 50 files.
const SIDES: [&str; 4] = [
    "--side a1 --side b1 --side c1",
    "--side a3 -- b c",
    "--side a50 --side b3 --side c",
    "a --side b50/part-000[0-3]? b50/part-0004? --side c50",
];

/// Runs the command of files, and of each of these sides, and compares what they write.
fn check_sides(sandbox: &Sandbox, command: &str, options: &str, given: &[&str]) {
    let without_names = |mut found: Vec<Vec<u8>>| {
        for line in found.iter_mut().filter(|_| command == "overlaps") {
            let row: Vec<u8> = line.to_ascii_lowercase();
            let words = row
                .split(|byte| *byte == b' ')
                .filter(|word| !word.is_empty());
            *line = words.take(2).collect::<Vec<_>>().join(&b' ');
        }
        found
    };
    let expected = without_names(written(&sandbox.run(&format!("{command} a b c {options}"))));
    assert!(expected.len() > 1, "{command}");
    for sides in given {
        // Options before the FILEs behind `--`.
        let outcome = sandbox.run(&format!("{command} {options} {sides}"));
        let found = without_names(written(&outcome));
        assert!(found == expected, "{command} {options} {sides}: {outcome}");
    }
}

#[test]
fn b20_a_side_in_parts_gives_what_its_files_give_one_behind_the_other() {
    let sandbox = with_parts(&texts());
    let strategies = [(1, "memory"), (3, "partition"), (2, "sieve"), (5, "auto")];
    for (command, (threads, strategy), sides) in sweep::triples(&COMMANDS, &strategies, &SIDES) {
        let options = format!("--strategy {strategy} --threads {threads}");
        check_sides(&sandbox, command, &options, &[sides]);
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn b20_sides_in_parts_that_do_not_fit_in_memory_are_spilled_like_files() {
    spilled_sides(&[("union --order input", "partition"), ("symdiff", "sieve")]);
}

#[test]
#[ignore = "slow: 24 runs over 4 MB"]
fn b20_sides_of_any_operation_that_do_not_fit_in_memory_are_spilled_like_files() {
    spilled_sides(&[
        ("intersect", "sieve"),
        ("union", "partition"),
        ("union --count", "sieve"),
        ("intersect --all", "partition"),
    ]);
}

fn spilled_sides(ways: &[(&str, &str)]) {
    let [long, _, few] = texts();
    let sandbox = with_parts(&[[megabytes(2, 0), long].concat(), megabytes(2, 3000), few]);
    for (command, strategy) in ways {
        let options = format!("--memory 20M --threads 3 --strategy {strategy}");
        check_sides(&sandbox, command, &options, &SIDES);
        let spilled = sandbox.run(&format!(
            "{command} {options} --side a50 --side b50 --side c3 -o ../out/result --stats ../out/s"
        ));
        spilled.succeeds();
        let stats = parse(&fs::read(sandbox.output("s")).unwrap());
        assert!(number(&stats, "/temp/written_bytes") > 0.0, "{command}");
    }
}

#[test]
fn b20_sides_count_in_the_order_of_the_command_line() {
    let sandbox = Sandbox::with(b"first\n", b"second\n");
    fs::create_dir(sandbox.input("d")).unwrap();
    sandbox.write("d/x", "third\n");
    sandbox.write("list", "a\nd/x\n\n");
    for (sides, expected) in [
        (
            "a --side b b --side d",
            ["100\tfirst", "010\tsecond", "001\tthird"],
        ),
        (
            "--side d --files-from list -- b",
            ["010\tfirst", "001\tsecond", "110\tthird"],
        ),
        (
            "b --files-from list --side d",
            ["010\tfirst", "100\tsecond", "011\tthird"],
        ),
    ] {
        let outcome = sandbox.run(&format!("intersect --at-least 1 --which {sides}"));
        let mut expected = expected.map(|line| line.as_bytes().to_vec());
        expected.sort_unstable();
        assert_eq!(written(&outcome), expected, "{sides}");
    }
}

#[test]
fn b20_directories_and_patterns_leave_out_what_is_hidden() {
    let sandbox = Sandbox::new();
    for directory in ["d", "d/sub", "d/_temporary", "d/.hidden", "e"] {
        fs::create_dir(sandbox.input(directory)).unwrap();
    }
    for name in ["d/_SUCCESS", "d/.part.crc", "d/_temporary/x", "d/.hidden/x"] {
        sandbox.write(name, "hidden\n");
    }
    sandbox.write("d/part-1", "one\n");
    sandbox.write("d/sub/part-2", "two\n");
    sandbox.write("d/x[1]", "three\n");
    sandbox.write("e/part-3", "four\n");
    symlink("../e", sandbox.input("d/link")).unwrap();
    for (side, expected) in [
        ("d", "four one three two"),
        ("d/*", "four one three two"),
        ("d/part-?", "one"),
        ("d/*/part-*", "four two"),
        ("./[de]/p*", "four one"),
        ("d/x[1]", "three"),
        ("d/_*", "hidden"),
        ("d/.p*", "hidden"),
        ("d/_SUCCESS e", "four hidden"),
    ] {
        let outcome = sandbox.run(&format!("union --side {side}"));
        let found = written(&outcome).join(&b' ');
        assert_eq!(String::from_utf8_lossy(&found), expected, "{side}");
    }
}

#[test]
fn b20_a_list_ends_its_names_in_newlines_or_nul() {
    let sandbox = Sandbox::with(b"1\n", b"2\n");
    sandbox.write("new\nline", "3\n");
    sandbox.write("lines", "a\n\n./b\n");
    sandbox.write("nuls", "a\0new\nline\0");
    for (arguments, expected) in [
        ("union --files-from lines", "1 2"),
        ("union -0 --files-from nuls", "1 3"),
        ("union --files-from nuls --null b", "1 2 3"),
    ] {
        let found = written(&sandbox.run(arguments)).join(&b' ');
        assert_eq!(String::from_utf8_lossy(&found), expected, "{arguments}");
    }
    let fed = sandbox.run_fed("union --files-from - -0", b"b\0new\nline");
    assert_eq!(written(&fed).join(&b' '), b"2 3");
}

#[test]
fn b20_equal_sides_are_one_input_and_a_file_in_a_side_twice_is_read_twice() {
    let (a, _) = small();
    let sandbox = Sandbox::new();
    write_parts(&sandbox, "d", &a, 5);
    for strategy in EXACT {
        let run = |arguments: &str| {
            let outcome = sandbox.run(&format!(
                "{arguments} --strategy {strategy} --stats ../out/s -q"
            ));
            let stats = parse(&fs::read(sandbox.output("s")).unwrap());
            (written(&outcome), stats)
        };
        let (found, stats) = run("diff --side d --side d/part-*");
        assert!(found.is_empty());
        assert_eq!(stats["inputs"].as_array().map(Vec::len), Some(1));
        let (found, _) = run("intersect --side d --side d --all");
        assert_eq!(found.len(), 3000);
        let (found, stats) = run("union --count --side d d/part-00000");
        assert_eq!(stats["inputs"][0]["files"], 6);
        assert_eq!(
            found.iter().filter(|line| line.starts_with(b"2\t")).count(),
            600
        );
    }
    sandbox
        .run("diff --side d d")
        .fails(2, &["--side d d: is one side of two files"]);
    sandbox
        .run("diff --side d")
        .fails(2, &["one file given", "two or more"]);
}

#[test]
fn b20_statistics_count_per_side() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    write_parts(&sandbox, "d", &a, 4);
    let outcome = sandbox.run("intersect --stats ../out/s --side d/part-* -- b");
    outcome.succeeds_silently();
    let stats = parse(&fs::read(sandbox.output("s")).unwrap());
    let (side, file) = (&stats["inputs"][0], &stats["inputs"][1]);
    assert_eq!(
        (&side["path"], &side["files"]),
        (&Value::from("d/part-*"), &Value::from(4))
    );
    assert_eq!(
        (number(side, "/lines"), number(file, "/lines")),
        (3000.0, 4000.0)
    );
    // Two parts have no newline at their end.
    assert_eq!(number(side, "/bytes"), a.len() as f64 - 2.0);
    assert_eq!(file.get("files"), None);
    let plan = parse(&sandbox.run("plan --json --side d -- b").succeeds().stdout);
    assert!(number(&plan, "/bytes_read") >= (a.len() + b.len() - 2) as f64);
    let found = parse(
        &sandbox
            .run("estimate --json --side d -- b")
            .succeeds()
            .stdout,
    );
    assert_eq!(number(&found, "/common/estimate"), 1000.0);
    let compared = sandbox.run("compare --side d --side b");
    assert!(String::from_utf8_lossy(&compared.succeeds().stdout).contains("1,000"));
}

#[test]
fn b20_what_cannot_be_a_part_of_a_side_is_refused() {
    let sandbox = Sandbox::with(b"a\n", b"b\n");
    for directory in ["empty", "hidden", "loop", "pipes"] {
        fs::create_dir(sandbox.input(directory)).unwrap();
    }
    sandbox.write("hidden/_SUCCESS", "");
    symlink(".", sandbox.input("loop/again")).unwrap();
    sandbox.fifo("pipes/pipe");
    sandbox.write("list", "a\nmissing\n");
    sandbox.write("of-directories", "empty\n");
    sandbox.write("none", "\n\n");
    sandbox.write("of-find", "a\0b\0");
    for (arguments, code, parts) in [
        ("union --side empty", 2, ["empty: ", "has no files"]),
        ("union --side a hidden", 2, ["hidden: ", "has no files"]),
        ("union --side none-*", 2, ["none-*: ", "matches no file"]),
        ("union --side a[", 2, ["a[: ", "is not a pattern"]),
        ("union --side **", 2, ["**: ", "is not a pattern"]),
        ("union --side loop", 3, ["loop/again/again", "links"]),
        ("union --side missing a", 3, ["missing: ", "check the name"]),
        (
            "union --side pipes",
            2,
            ["pipes/pipe: ", "not a regular file"],
        ),
        (
            "union --side a /dev/null",
            2,
            ["/dev/null: ", "not a regular file"],
        ),
        ("union --side a -", 2, ["-: ", "standard input"]),
        (
            "union --files-from list",
            3,
            ["missing: ", "check the name"],
        ),
        (
            "union --files-from missing",
            3,
            ["missing: ", "--files-from"],
        ),
        (
            "union --files-from of-directories",
            2,
            ["empty: is a directory", "list the files in it"],
        ),
        ("union --files-from none", 2, ["none: ", "names no file"]),
        (
            "union --files-from of-find",
            2,
            ["of-find: name 1 has a NUL in it", "--null"],
        ),
        (
            "union --files-from - -",
            2,
            ["standard input", "named twice"],
        ),
        (
            "union --files-from - --files-from -",
            2,
            ["standard input", "named twice"],
        ),
        ("union -0 a", 2, ["--files-from", "required"]),
        ("union a --side", 2, ["--side", "value is required"]),
        ("union empty", 3, ["empty: ", "--side"]),
    ] {
        sandbox.run(arguments).fails(code, &parts);
    }
}

#[test]
fn b20_a_side_of_one_path_may_be_a_pipe() {
    let sandbox = Sandbox::with(b"a\nb\n", b"b\n");
    let fed = sandbox.run_fed("intersect --side - --side a b", b"b\nc\n");
    assert_eq!(written(&fed), [b"b"]);
}

#[test]
fn b9_no_command_replaces_a_part_of_a_side() {
    let sandbox = Sandbox::with(b"a\n", b"b\n");
    fs::create_dir(sandbox.input("d")).unwrap();
    sandbox.write("d/x", "x\n");
    sandbox.write("list", "d/x\na\n");
    for side in ["--side d", "--side d/*", "--files-from list", "--side b d"] {
        for option in ["-o", "--stats", "--report", "--save-filter"] {
            let run = format!("intersect {option} d/x {side} -- b");
            sandbox
                .run(&run)
                .fails(2, &["d/x: this command reads it", option]);
        }
    }
    sandbox
        .run("intersect -o list --files-from list -- b")
        .fails(2, &["list: this command reads it"]);
}

#[test]
#[ignore = "slow: close to a second"]
fn b5_b6_a_part_that_changes_during_the_run_is_named() {
    for (how, strategy) in [
        ("shrunk", "memory"),
        ("grown", "partition"),
        ("replaced", "sieve"),
        ("removed", "memory"),
    ] {
        let sandbox = Sandbox::new();
        write_parts(&sandbox, "d", &lines(0..3000), 20);
        let pipe = sandbox.fifo("pipe");
        let arguments = format!("diff pipe --side d --strategy {strategy}");
        let mut running = sandbox.start(sandbox.command(&arguments));
        // All is checked when the pipe, which is first, is being read.
        let mut feed = Feed::open(&pipe, &mut running);
        assert!(feed.send(&lines(0..3000)));
        std::thread::sleep(Duration::from_millis(200));
        let part = sandbox.input("d/part-00011");
        let content = fs::read(&part).unwrap();
        match how {
            "shrunk" => fs::write(&part, &content[..100]).unwrap(),
            "grown" => fs::write(&part, [&content[..], b"more\n"].concat()).unwrap(),
            "removed" => fs::remove_file(&part).unwrap(),
            _ => {
                fs::write(sandbox.input("d/_other"), &content).unwrap();
                fs::rename(sandbox.input("d/_other"), &part).unwrap();
            }
        }
        running.note_inputs();
        drop(feed);
        running.finish().fails(3, &["outset: d/part-00011: "]);
    }
}

#[test]
fn b20_an_error_about_a_line_names_its_file_and_its_location() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.input("d")).unwrap();
    sandbox.write("d/1", "1.2.3.4\n");
    sandbox.write("d/2", "1.2.3.4\n5.6.7.8\nnone\n");
    sandbox.write("d/3", "1.2.3.4");
    sandbox
        .run("union --key-type ipv4 --side d")
        .fails(3, &["outset: d/2: the line at byte 16 is not"]);
    sandbox.write("d/3", [b"short\n".to_vec(), vec![b'x'; 20 << 20]].concat());
    sandbox
        .run("union --memory 16M --side d")
        .fails(6, &["outset: d/3: the line at byte 6 is 20 MiB long"]);
}

#[test]
fn b20_a_thousand_files_are_read_with_few_descriptors() {
    many_files(1000);
}

#[test]
#[ignore = "slow: ten thousand files"]
fn b20_ten_thousand_files_are_read_with_few_descriptors() {
    many_files(10_000);
}

fn many_files(count: u64) {
    let sandbox = Sandbox::with(b"", &lines(0..2 * count));
    fs::create_dir(sandbox.input("d")).unwrap();
    for part in 0..count {
        sandbox.write(&format!("d/{part:05}"), lines(part * 2..part * 2 + 2));
    }
    for (arguments, found) in [
        (
            "intersect --strategy memory --count-only --side d -- b",
            2 * count,
        ),
        (
            "diff b --count-only --strategy partition --memory 32M --threads 8 --side d",
            0,
        ),
    ] {
        let start = Instant::now();
        let command = sandbox.command_after("ulimit -n 64", arguments);
        let outcome = sandbox.start(command).finish();
        assert_eq!(outcome.succeeds().stdout, format!("{found}\n").into_bytes());
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{:?}",
            start.elapsed()
        );
    }
}

#[test]
fn b20_sides_of_several_words_are_named() {
    let sandbox = Sandbox::new();
    for name in ["a", "b", "c", "d"] {
        sandbox.write(name, "x\n");
    }
    fs::create_dir(sandbox.input("many")).unwrap();
    for name in ["many/1", "many/2"] {
        sandbox.write(name, "x\n");
    }
    for command in [
        "intersect",
        "diff",
        "union",
        "symdiff",
        "overlaps",
        "plan",
        "estimate",
    ] {
        let said = |sides: &str| {
            sandbox
                .run(&format!("{command} {sides}"))
                .succeeds()
                .stderr
                .clone()
        };
        let found = said("--side a --side b c");
        assert!(
            found.starts_with("outset: side 2: 2 files: b c\n"),
            "{found}"
        );
        let found = said("--side many a b c many d --side b");
        assert!(
            found.contains("outset: side 1: 8 files: many a b c many ... d\n"),
            "{found}"
        );
        for sides in ["--side a --side b c -q", "--side a --side many", "a b"] {
            assert!(!said(sides).contains("side "), "{command} {sides}");
        }
        if !["union", "overlaps"].contains(&command) {
            sandbox.run(&format!("{command} --side a b")).fails(
                2,
                &["--side a b: is one side of two files", "--side A --side B"],
            );
        }
    }
    let found = sandbox.run("union --side a b");
    assert_eq!(found.succeeds().stdout, b"x\n");
}

#[test]
fn b1_a_url_gets_the_option_for_the_command_that_reads_or_writes_it() {
    let sandbox = Sandbox::with(b"x\n", b"x\n");
    for (url, command) in [
        ("s3://b/a", "--via 'aws s3 cp {} -'"),
        ("gs://b/a", "--via 'gcloud storage cat {}'"),
        ("http://b/a", "--via 'curl -fsS {}'"),
        ("https://b/a", "--via 'curl -fsS {}'"),
        ("file:///a", "without file://"),
        ("hdfs://b/a", "the command that reads it to --via"),
    ] {
        for files in [format!("a {url}"), format!("--side a --side b {url}")] {
            sandbox
                .run(&format!("intersect {files}"))
                .fails(3, &[&format!("{url}: No such file"), command]);
        }
    }
    for output in ["-o", "--out-dir"] {
        sandbox
            .run(&format!("union a b {output} s3://b/all"))
            .fails(5, &["s3://b/all: ", "--out-via 'aws s3 cp - {}'"]);
    }
    // What is there is a file, and a path is no URL.
    fs::create_dir(sandbox.input("s3:")).unwrap();
    sandbox.write("s3:/b", "x\n");
    let found = sandbox.run("intersect a s3://b");
    assert_eq!(found.succeeds().stdout, b"x\n");
    sandbox
        .run("intersect a no/://")
        .fails(3, &["check the name"]);
}

#[test]
fn b1_a_file_that_is_not_there_may_be_a_pattern_or_a_result() {
    let sandbox = Sandbox::with(b"x\n", b"x\n");
    sandbox
        .run("intersect a crawl/*")
        .fails(3, &["crawl/*: ", "give the pattern to --side"]);
    for command in ["intersect a b", "diff a b", "union a", "overlaps a b"] {
        sandbox
            .run(&format!("{command} out.txt"))
            .fails(3, &["out.txt: ", "put -o before it"]);
    }
    for command in [
        "intersect a out.txt",
        "intersect out.txt a b",
        "estimate a b out.txt",
    ] {
        sandbox
            .run(command)
            .fails(3, &["out.txt: ", ": check the name\n"]);
    }
}
