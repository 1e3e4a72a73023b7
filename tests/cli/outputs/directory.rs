//! A directory of results, with a file for each file that lines come from.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::Instant;

use data_gen::Compression;
use differential::sweep;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::compressed::decoded;
use crate::data::{EXACT, lines, megabytes, split};
use crate::faults::signals::held_in_spill;
use crate::json::parse;
use crate::sandbox::{Sandbox, can_mount};

/// The files of each side, each with the numbers of its lines.
type Sides<'a> = &'a [&'a [(&'a str, Vec<u64>)]];

/// The place of a line: its side, the file there, and the line in the file.
type Place = (usize, usize, usize);

/// The words of a command, whether it writes a line, given how often each side has it, and the number of sides whose
/// lines it writes.
type Job = (&'static str, fn(&[usize]) -> bool, usize);

const JOBS: [Job; 5] = [
    ("union", |_| true, 3),
    ("diff", |counts| counts[1] + counts[2] == 0, 1),
    ("intersect", |counts| !counts.contains(&0), 1),
    (
        "intersect --at-least 2",
        |counts| counts.iter().filter(|&&it| it > 0).count() > 1,
        3,
    ),
    (
        "union --min-count 3",
        |counts| counts.iter().sum::<usize>() > 2,
        3,
    ),
];

/// Writes the files of each side into a directory of its own: a, b, and c.
fn write(sandbox: &Sandbox, sides: Sides<'_>) {
    for (side, files) in ["a", "b", "c"].iter().zip(sides) {
        for (name, numbers) in *files {
            let path = sandbox.input(side).join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text = text_of(numbers);
            let compression = match path.extension().and_then(|end| end.to_str()) {
                Some("gz") => Some(Compression::Gzip),
                Some("zst") => Some(Compression::Zstd),
                Some("xz") => Some(Compression::Xz),
                _ => None,
            };
            let stored = compression.map_or(text.clone(), |it| it.compress(&text).unwrap());
            fs::write(path, stored).unwrap();
        }
    }
}

fn text_of(numbers: &[u64]) -> Vec<u8> {
    let mut text = Vec::new();
    for &number in numbers {
        text.extend_from_slice(&lines(number..number + 1));
    }
    text
}

/// Finds the lines that each file of the sides keeps.
fn kept(sides: Sides<'_>, (_, is_asked, writing): Job, keep: &str) -> Vec<Vec<u8>> {
    // By number: how often each side has it, and its first and its last place.
    let mut counts: Vec<[usize; 3]> = Vec::new();
    let mut places: Vec<Option<[Place; 2]>> = Vec::new();
    for (side, files) in sides.iter().enumerate() {
        for (file, (_, numbers)) in files.iter().enumerate() {
            for (at, &number) in numbers.iter().enumerate() {
                let (number, place) = (number as usize, (side, file, at));
                if counts.len() <= number {
                    counts.resize(number + 1, [0; 3]);
                    places.resize(number + 1, None);
                }
                counts[number][side] += 1;
                if side < writing {
                    places[number].get_or_insert([place; 2])[1] = place;
                }
            }
        }
    }
    let stays = |number: u64, place: Place| {
        let (counts, places) = (counts[number as usize], places[number as usize]);
        is_asked(&counts)
            && match keep {
                "none" => counts.iter().sum::<usize>() == 1,
                "last" => places.is_some_and(|[_, last]| last == place),
                _ => places.is_some_and(|[first, _]| first == place),
            }
    };
    let mut texts = Vec::new();
    for (side, files) in sides.iter().enumerate().take(writing) {
        for (file, (_, numbers)) in files.iter().enumerate() {
            let numbers = numbers.iter().enumerate();
            let left = numbers.filter(|&(at, &number)| stays(number, (side, file, at)));
            texts.push(text_of(
                &left.map(|(_, &number)| number).collect::<Vec<_>>(),
            ));
        }
    }
    texts
}

/// Checks that the directory of results has each file of the first `writing` sides with its text, and nothing else.
fn check(directory: &Path, sides: Sides<'_>, writing: usize, texts: &[Vec<u8>], words: &str) {
    let mut texts = texts.iter();
    let mut expected = 0;
    for (side, files) in ["a", "b", "c"].iter().zip(sides).take(writing) {
        for (name, _) in *files {
            // Names are below what all sides have in common.
            let below = if writing > 1 {
                directory.join(side)
            } else {
                directory.to_owned()
            };
            let stored = fs::read(below.join(name)).unwrap();
            let is_plain = Path::new(name).extension().is_none();
            let text = if is_plain { stored } else { decoded(&stored) };
            assert!(text == *texts.next().unwrap(), "{words}: {side}/{name}");
            expected += 1;
        }
    }
    assert_eq!(count(directory), expected, "{words}");
}

/// Checks that the statistics have each file of the first `writing` sides, with its lines and those that were written.
fn check_stats(stats: &Value, sides: Sides<'_>, writing: usize, texts: &[Vec<u8>], words: &str) {
    let sides = ["a", "b", "c"].iter().zip(sides).take(writing);
    let files = sides.flat_map(|(side, files)| files.iter().map(move |file| (side, file)));
    let expected: Vec<Value> = files
        .zip(texts)
        .map(|((side, (name, numbers)), text)| {
            let written = split(text, b'\n').len();
            json!({ "path": format!("{side}/{name}"), "lines": numbers.len(), "written": written })
        })
        .collect();
    assert_eq!(stats["files"], Value::from(expected), "{words}");
}

/// The path, the lines and the written lines of each file in the statistics of the last run.
fn files_in_stats(sandbox: &Sandbox) -> Vec<(String, u64, u64)> {
    let stats = parse(&fs::read(sandbox.output("s")).unwrap());
    let files = stats["files"].as_array().unwrap().iter();
    let count = |file: &Value, name: &str| file[name].as_u64().unwrap();
    files
        .map(|file| {
            let path = file["path"].as_str().unwrap().to_owned();
            (path, count(file, "lines"), count(file, "written"))
        })
        .collect()
}

/// Counts the files below a directory.
fn count(directory: &Path) -> usize {
    let entries = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .map(|path| if path.is_dir() { count(&path) } else { 1 })
        .sum()
}

/// The words for these sides: a directory for each, or a command for each file.
fn named(sides: Sides<'_>, by_commands: bool) -> String {
    if !by_commands {
        return "--side a --side b --side c".to_owned();
    }
    let words = ["a", "b", "c"].iter().zip(sides).map(|(side, files)| {
        let paths = files.iter().map(|(name, _)| format!(" {side}/{name}"));
        format!("--side{} ", paths.collect::<String>())
    });
    format!("{}--via cat -q", words.collect::<String>())
}

/// Runs these jobs over these sides, with each way to keep a line, and strategies, limits and threads by turns.
fn jobs_over(
    jobs: &[Job],
    sides: Sides<'_>,
    by_commands: bool,
    keeps: &[&str],
    strategies: &[&str],
    limits: [&str; 2],
) {
    let sandbox = Sandbox::new();
    write(&sandbox, sides);
    let ways = jobs
        .iter()
        .flat_map(|job| keeps.iter().map(move |keep| (*job, *keep)));
    for (turn, (job, keep)) in ways.enumerate() {
        let strategy = strategies[turn % strategies.len()];
        let (limit, threads) = (limits[turn % 2], 1 + turn % 3);
        // No line occurs three times and once.
        let keep_none = keep == "none" && job.0.contains("count");
        let keep = if keep_none { "last" } else { keep };
        let words = format!(
            "{} {} --keep {keep} --strategy {strategy} -m {limit} -j {threads}",
            job.0,
            named(sides, by_commands)
        );
        sandbox
            .run(&format!("{words} --out-dir ../out/d --stats ../out/s"))
            .succeeds_silently();
        let (directory, texts) = (sandbox.output("d"), kept(sides, job, keep));
        check(&directory, sides, job.2, &texts, &words);
        let stats = parse(&fs::read(sandbox.output("s")).unwrap());
        check_stats(&stats, sides, job.2, &texts, &words);
        fs::remove_dir_all(directory).unwrap();
    }
}

#[test]
fn f12_each_file_keeps_its_own_lines_in_their_order_compressed_as_it_was() {
    small_files(&JOBS, false, &EXACT, ["1G", "24M"]);
}

#[test]
fn f12_b27_each_output_of_a_command_gets_a_file_with_its_own_lines() {
    // Two of the jobs write one side and all of them.
    let jobs = if sweep::is_full() { JOBS.len() } else { 2 };
    let strategies = ["auto", "sieve", "partition", "memory"];
    small_files(&JOBS[..jobs], true, &strategies, ["1G", "64M"]);
}

/// Runs these jobs over a few small files, some of them empty.
fn small_files(jobs: &[Job], by_commands: bool, strategies: &[&str], limits: [&str; 2]) {
    let mixed = |from: u64, to: u64| (from..to).map(|i| i * 7 % 500).collect::<Vec<u64>>();
    jobs_over(
        jobs,
        &[
            &[
                ("1", mixed(0, 300)),
                ("2.gz", mixed(200, 420)),
                ("deep/er/3.zst", mixed(0, 100)),
                ("deep/er/empty", vec![]),
            ],
            &[
                ("1", vec![]),
                ("2", mixed(250, 900)),
                ("3.xz", mixed(40, 60)),
            ],
            &[("0.zst", vec![]), ("9", mixed(100, 350)), ("99.gz", vec![])],
        ],
        by_commands,
        &["first", "last", "none"],
        strategies,
        limits,
    );
}

#[test]
fn f12_b27_outputs_that_are_spilled_keep_their_own_lines_and_a_command_that_fails_leaves_nothing() {
    let mixed = |from: u64, to: u64| (from..to).map(|i| i * 7919 % 90_001).collect::<Vec<u64>>();
    let sides: Sides<'_> = &[
        &[
            ("1", mixed(0, 60_000)),
            ("2", vec![]),
            ("3", mixed(30_000, 80_000)),
        ],
        &[("1", mixed(50_000, 110_000))],
        &[("1", vec![])],
    ];
    // Each of the jobs is in this test or in the next one.
    let first = if sweep::is_full() { 0 } else { 3 };
    // Sieve copies each output to a file of its own.
    jobs_over(
        &JOBS[first..],
        sides,
        true,
        &["last"],
        &["partition", "sieve"],
        ["16M", "24M"],
    );
    let sandbox = Sandbox::new();
    write(&sandbox, sides);
    sandbox
        .run("union --side a/1 a/2 a/no a/3 --via cat --out-dir ../out/d")
        .fails(3, &["a/no", "ended with status 1"]);
    assert!(!sandbox.output("d").exists());
    let sieve = "--strategy sieve --out-dir ../out/d -q";
    sandbox
        .run(&format!("diff --via-of 2=cat a/1 b/1 {sieve}"))
        .succeeds_silently();
    // The last 20,000 numbers of the other file come again.
    let text = text_of(&mixed(19_999, 50_000));
    assert!(fs::read(sandbox.output("d/1")).unwrap() == text);
    sandbox
        .run_fed("union - --out-dir ../out/e", b"x\n")
        .fails(2, &["-: is not a file", "--via"]);
}

#[test]
fn f12_plain_files_that_are_read_once_more_keep_their_own_lines() {
    let mixed = |from: u64, to: u64| (from..to).map(|i| i * 7919 % 90_001).collect::<Vec<u64>>();
    let jobs = if sweep::is_full() { JOBS.len() } else { 3 };
    jobs_over(
        &JOBS[..jobs],
        &[
            &[
                ("1", mixed(0, 60_000)),
                ("2", vec![]),
                ("3", mixed(30_000, 80_000)),
            ],
            &[("1", mixed(50_000, 110_000))],
            &[("1", mixed(0, 20_000)), ("2", vec![])],
        ],
        false,
        &["last"],
        &["partition", "sieve"],
        ["16M", "24M"],
    );
}

#[test]
fn f12_names_are_those_of_the_first_side_where_every_side_must_have_a_line() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.input("x/one")).unwrap();
    fs::create_dir_all(sandbox.input("x/two")).unwrap();
    sandbox.write("x/one/1", "a\nb\n");
    sandbox.write("x/two/2", "b\nc\n");
    let kinds = [
        "",
        "--at-least 2",
        "--exactly 2",
        "--only 11",
        "--at-least 2 --at-most 2",
    ];
    for (number, kind) in kinds.iter().enumerate() {
        let directory = sandbox.output(&number.to_string());
        sandbox
            .run(&format!(
                "intersect {kind} --side x/one --side x/two --out-dir ../out/{number}"
            ))
            .succeeds();
        assert_eq!(fs::read(directory.join("1")).unwrap(), b"b\n", "{kind}");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "{kind}");
    }
}

#[test]
fn f12_every_file_has_the_header_and_dropped_records_go_elsewhere() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.input("s")).unwrap();
    sandbox.write("s/p.csv", "k,v\na,1\nb,2\na,3\n");
    sandbox.write("s/q.csv", "k,v\nb,9\n");
    sandbox.write("s/r.csv", "k,v\nc,\"4\n5\"\n");
    let of = |keep: &str| {
        let words = format!("union --csv -k k --side s --keep {keep} --out-dir ../out/d");
        let dropped = if keep == "none" {
            ""
        } else {
            " -D ../out/dropped"
        };
        sandbox.run(&(words + dropped)).succeeds_silently();
        let read = |name: &str| fs::read_to_string(sandbox.output("d").join(name)).unwrap();
        let texts = ["p.csv", "q.csv", "r.csv"].map(read);
        fs::remove_dir_all(sandbox.output("d")).unwrap();
        texts
    };
    let last = "k,v\nc,\"4\n5\"\n";
    assert_eq!(of("first"), ["k,v\na,1\nb,2\n", "k,v\n", last]);
    assert_eq!(of("last"), ["k,v\na,3\n", "k,v\nb,9\n", last]);
    let mut dropped: Vec<_> = fs::read_to_string(sandbox.output("dropped"))
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    dropped.sort_unstable();
    assert_eq!(dropped, ["a,1", "b,2", "k,v"]);
    assert_eq!(of("none"), ["k,v\n", "k,v\n", last]);
}

#[test]
fn f12_the_statistics_count_the_records_of_each_file() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.input("s")).unwrap();
    // Headers, a comment, blank lines, and a record without a key; records that go on in the next line.
    let first = "n,v,k\n# none\n1,\"1\n1\",a\n\n2,x,b\n3,x,a\nnone\n";
    sandbox.write("s/1.csv", first);
    sandbox.write("s/2.csv", "n,v,k\n");
    let more = Compression::Zstd.compress(b"n,v,k\n5,\"5\n\n5\",b\n6,x,b\n7,x,c\n");
    sandbox.write("s/3.csv.zst", more.unwrap());
    sandbox.write("s/4.csv", "n,v,k\n8,x,a\n");
    sandbox.write("s/5.csv", "");
    sandbox.write("t", "n,v,k\n9,x,a\n9,x,a\n");
    let run = |words: &str| {
        let other = if words.starts_with("union") {
            ""
        } else {
            "--side t"
        };
        let skipping = format!("--csv -k k --comment # --bad-records skip --side s {other}");
        let outputs = "--out-dir ../out/d --stats ../out/s";
        let outcome = sandbox.run(&format!("{words} {skipping} {outputs}"));
        outcome.succeeds();
        fs::remove_dir_all(sandbox.output("d")).unwrap();
        let files = files_in_stats(&sandbox).into_iter();
        files.map(|file| (file.1, file.2)).collect::<Vec<_>>()
    };
    for strategy in ["partition", "sieve"] {
        let run = |words: &str| run(&format!("{words} --strategy {strategy}"));
        let lines = [3, 0, 3, 1, 0];
        let with = |written: [u64; 5]| lines.into_iter().zip(written).collect::<Vec<_>>();
        assert_eq!(run("union"), with([2, 0, 1, 0, 0]), "{strategy}");
        assert_eq!(
            run("union --keep last"),
            with([0, 0, 2, 1, 0]),
            "{strategy}"
        );
        assert_eq!(
            run("union --keep max:n"),
            with([0, 0, 2, 1, 0]),
            "{strategy}"
        );
        assert_eq!(
            run("union --keep none"),
            with([0, 0, 1, 0, 0]),
            "{strategy}"
        );
        let dropping = "union -D ../out/dropped";
        assert_eq!(run(dropping), with([2, 0, 1, 0, 0]), "{strategy}");
        // The second side is read, too, but none of its lines is written.
        assert_eq!(run("diff"), with([1, 0, 3, 0, 0]), "{strategy}");
        assert_eq!(run("intersect"), with([2, 0, 0, 1, 0]), "{strategy}");
    }
    sandbox
        .run("union t -o ../out/r --stats ../out/s")
        .succeeds();
    let stats = parse(&fs::read(sandbox.output("s")).unwrap());
    assert!(stats.get("files").is_none(), "{stats}");
}

#[test]
fn f12_a_directory_that_cannot_take_the_result_is_refused_before_the_run() {
    let sandbox = Sandbox::with(b"x\n", b"y\n");
    fs::create_dir(sandbox.output("full")).unwrap();
    fs::write(sandbox.output("full/x"), "x").unwrap();
    fs::write(sandbox.output("file"), "x").unwrap();
    fs::create_dir(sandbox.output("empty")).unwrap();
    std::os::unix::fs::symlink("../in", sandbox.output("link")).unwrap();
    for (arguments, status, said) in [
        ("union a b --out-dir ../out/full", 2, "full: is not empty"),
        (
            "union --side ../in --out-dir ../in/new",
            2,
            "../in/new: is in ../in, which is read",
        ),
        (
            "union --side ../in --out-dir ../out/link/new",
            2,
            "link/new: is in ../in, which is read",
        ),
        (
            "union a b --out-dir ../out/file",
            2,
            "file: is not a directory",
        ),
        (
            "union a b --out-dir ../out/no/d",
            5,
            "no/d: cannot make a directory beside it",
        ),
        ("union a - --out-dir ../out/d", 2, "-: is not a file"),
        (
            "union a --out-dir ../out/d -D ../out/d",
            2,
            "is in the directory of --out-dir",
        ),
        (
            "union a --out-dir ../out/d --stats ../out/d",
            2,
            "is in the directory of --out-dir",
        ),
        (
            "union a --out-dir ../out/d --stats ../out/d/s.json",
            2,
            "is in the directory of --out-dir",
        ),
        ("union --side a ./a --out-dir ../out/d", 2, "is named twice"),
        (
            "union a b --out-dir ../out/d --count",
            2,
            "cannot be used with",
        ),
        (
            "union a b --out-dir ../out/d -o r",
            2,
            "cannot be used with",
        ),
        (
            "union a b --keep none --max-count 2",
            2,
            "cannot be used with",
        ),
    ] {
        sandbox.run(arguments).fails(status, &[said]);
    }
    // A pipe may be compared where none of its lines is written.
    let fed = sandbox.run_fed("diff a - --out-dir ../out/empty", b"y\n");
    fed.succeeds();
    assert_eq!(fs::read(sandbox.output("empty/a")).unwrap(), b"x\n");
}

#[test]
fn f12_g1_a_run_that_ends_early_leaves_no_directory() {
    let sandbox = Sandbox::with(&megabytes(7, 0), &[]);
    for signal in [Signal::TERM, Signal::INT] {
        let (running, _feed) = held_in_spill(&sandbox, "true", "--out-dir ../out/d");
        assert_eq!(fs::read_dir(sandbox.root().join("out")).unwrap().count(), 1);
        running.signal(signal);
        running.finish().ends_by(signal);
        assert_eq!(fs::read_dir(sandbox.root().join("out")).unwrap().count(), 0);
    }
    let (running, _feed) = held_in_spill(&sandbox, "true", "--out-dir ../out/d");
    running.signal(Signal::KILL);
    drop(running);
    assert!(!sandbox.output("d").exists());
}

#[test]
fn f12_g1_a_signal_at_any_moment_leaves_the_directory_whole_or_absent() {
    signals_at_any_moment(12);
}

#[test]
#[ignore = "slow: 300 runs"]
fn f12_g1_many_signals_at_any_moment_leave_the_directory_whole_or_absent() {
    signals_at_any_moment(300);
}

/// Ends runs that write 300 files at moments that lie evenly from their middle to a little after their end.
fn signals_at_any_moment(runs: u32) {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.input("s")).unwrap();
    for number in 0..300 {
        sandbox.write(&format!("s/{number:03}"), format!("{number}\n"));
    }
    let arguments = "union --side s -j 1 --out-dir ../out/d";
    let start = Instant::now();
    sandbox.run(arguments).succeeds_silently();
    let whole = start.elapsed();
    fs::remove_dir_all(sandbox.output("d")).unwrap();
    for number in 0..runs {
        let mut child = sandbox.command(arguments).spawn().unwrap();
        thread::sleep(whole * 11 * (runs + number) / (20 * runs));
        let signal = [Signal::INT, Signal::TERM][number as usize % 2];
        let _ended = kill_process(Pid::from_child(&child), signal);
        let status = child.wait().unwrap();
        let out = sandbox.root().join("out");
        let names: Vec<_> = fs::read_dir(&out)
            .unwrap()
            .map(|it| it.unwrap().file_name())
            .collect();
        if names.is_empty() {
            assert!(!status.success(), "{number}");
            continue;
        }
        assert_eq!(names, ["d"], "{number}");
        assert_eq!(count(&sandbox.output("d")), 300, "{number}");
        fs::remove_dir_all(sandbox.output("d")).unwrap();
    }
}

#[test]
fn f12_f3_a_full_disk_fails_the_run_and_leaves_no_directory() {
    if !can_mount() {
        return;
    }
    let sandbox = Sandbox::with(&megabytes(3, 0), &megabytes(3, 50_000));
    let arguments = "union a b -m 16M --out-dir ../out/d";
    let command = sandbox.command_on_small_disk("out", "4m", arguments);
    let outcome = sandbox.start(command).finish();
    outcome.fails(5, &["out/d/", "No space left", "free some space"]);
}

#[test]
fn f12_an_empty_directory_that_is_replaced_keeps_its_mode() {
    let sandbox = Sandbox::with(b"x\n", b"y\n");
    let directory = sandbox.output("d");
    for mode in [0o2775, 0o700] {
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(&directory, Permissions::from_mode(mode)).unwrap();
        let arguments = "union a b --out-dir ../out/d -q";
        let command = sandbox.command_after("umask 022", arguments);
        sandbox.start(command).finish().succeeds_silently();
        let found = fs::metadata(&directory).unwrap().permissions().mode();
        assert_eq!(found & 0o7777, mode);
        fs::remove_dir_all(&directory).unwrap();
    }
}
