//! Filters from the command line: order and completeness of answers, promptness, what a killed run leaves, and
//! reports. What is asked for when one is built is in [`crate::filters::requests`].

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use differential::sweep;
use rustix::process::Signal;
use serde_json::Value;

use crate::data::{lines, megabytes, split};
use crate::sandbox::{Feed, Sandbox};

/// An answer that takes longer than this was not prompt.
const PROMPTLY: Duration = Duration::from_secs(20);
const SOON: Duration = Duration::from_secs(5);

/// A sandbox with inputs and a filter of the lines of `a`.
pub(crate) fn with_filter(a: &[u8], b: &[u8], options: &str) -> Sandbox {
    let sandbox = Sandbox::with(a, b);
    sandbox
        .run(&format!("filter build a -o ../out/f {options}"))
        .succeeds_silently();
    sandbox
}

pub(crate) fn info(sandbox: &Sandbox, filter: &str) -> Value {
    let outcome = sandbox.run(&format!("filter info ../out/{filter} --json"));
    serde_json::from_slice(&outcome.succeeds().stdout).unwrap()
}

fn mode(sandbox: &Sandbox, name: &str) -> u32 {
    let metadata = fs::metadata(sandbox.output(name)).unwrap();
    metadata.permissions().mode() & 0o777
}

// Asking.

#[test]
fn answers_come_in_the_order_of_the_lines_with_all_repeats() {
    // Lines that are in between others that are not, and again.
    let asked: Vec<u8> = (0..120_000u64)
        .flat_map(|number| lines(number * 7 % 50_000..number * 7 % 50_000 + 1))
        .collect();
    let sandbox = with_filter(&lines(10_000..20_000), &asked, "--kind fingerprint");
    let is_known = |line: &&[u8]| {
        let number = std::str::from_utf8(&line[line.len() - 10..]).unwrap();
        (10_000..20_000).contains(&number.parse().unwrap())
    };
    let (known, unknown): (Vec<&[u8]>, Vec<&[u8]>) =
        split(&asked, b'\n').into_iter().partition(is_known);
    let limits = [(1, "16M"), (2, "1G"), (4, "16M")];
    let answers = [("", &known), ("--invert", &unknown)];
    for (&(threads, memory), &(options, expected), &is_piped) in
        sweep::triples(&limits, &answers, &[false, true])
    {
        let query = format!("filter query ../out/f -j {threads} --memory {memory} {options}");
        let outcome = if is_piped {
            sandbox.run_fed(&query, &asked)
        } else {
            sandbox.run(&format!("{query} b"))
        };
        let found = split(&outcome.succeeds_silently().stdout, b'\n');
        assert!(found == *expected, "{query}: {outcome}");
    }
}

#[test]
fn present_and_absent_lines_are_all_lines() {
    let asked = megabytes(3, 0);
    let sandbox = with_filter(&lines(0..30_000), &asked, "--max-fpr 5%");
    let present = sandbox.run("filter query ../out/f b");
    let absent = sandbox.run("filter query ../out/f b --invert");
    let (present, absent) = (
        split(&present.succeeds_silently().stdout, b'\n'),
        split(&absent.succeeds_silently().stdout, b'\n'),
    );
    let mut next = (present.iter().peekable(), absent.iter().peekable());
    for line in split(&asked, b'\n') {
        let is_either = next.0.next_if(|&&other| other == line).is_some()
            != next.1.next_if(|&&other| other == line).is_some();
        assert!(is_either, "a line is in neither, or out of order");
    }
    assert!(next.0.next().is_none() && next.1.next().is_none());
    for (options, expected) in [("", present.len()), ("--invert", absent.len())] {
        let count = sandbox.run(&format!("filter query ../out/f b --count-only {options}"));
        assert_eq!(
            count.succeeds_silently().stdout,
            format!("{expected}\n").into_bytes()
        );
        sandbox
            .run(&format!("filter query ../out/f b {options} -o ../out/r"))
            .succeeds_silently();
        let written = fs::read(sandbox.output("r")).unwrap();
        assert_eq!(split(&written, b'\n').len(), expected);
    }
}

#[test]
fn what_a_line_is_comes_from_the_filter() {
    let sandbox = Sandbox::with(b"one\0two\nlines\0", b"one\0two\nlines\0one\n\0");
    sandbox
        .run("filter build a -o ../out/f -z --lines 100 --max-fpr 0.01%")
        .succeeds_silently();
    let outcome = sandbox.run("filter query ../out/f b");
    assert_eq!(outcome.succeeds_silently().stdout, b"one\0two\nlines\0");
    assert_eq!(info(&sandbox, "f")["zero_terminated"], true);
    let sandbox = Sandbox::with(b"one\r\ntwo\n", b"one\ntwo\r\none\r\r\nthree\r\n");
    sandbox
        .run("filter build a -o ../out/f --strip-cr --lines 100 --max-fpr 0.01%")
        .succeeds_silently();
    let outcome = sandbox.run("filter query ../out/f b");
    assert_eq!(outcome.succeeds_silently().stdout, b"one\ntwo\n");
    assert_eq!(info(&sandbox, "f")["strip_cr"], true);
}

#[test]
fn long_lines_empty_lines_and_a_last_line_without_an_end_are_answered_in_their_place() {
    let long = |byte: u8, bytes: usize| [vec![byte; bytes], vec![b'\n']].concat();
    let known = [
        long(b'x', 1_500_000),
        b"\nshort\n".to_vec(),
        long(b'y', 300_000),
    ]
    .concat();
    let asked = [
        lines(0..3000),
        long(b'x', 1_500_000),
        lines(3000..6000),
        long(b'x', 1_499_999),
        b"\n".to_vec(),
        long(b'y', 300_000),
        b"short".to_vec(),
    ]
    .concat();
    let sandbox = with_filter(&known, &asked, "--lines 1000 --max-fpr 0.0001%");
    let expected = [long(b'x', 1_500_000), b"\n".to_vec(), long(b'y', 300_000)].concat();
    let expected = [&expected[..], b"short\n"].concat();
    for options in ["-j 1 --memory 128M", "-j 4 --memory 128M", "-j 2"] {
        let outcome = sandbox.run(&format!("filter query ../out/f b {options}"));
        assert!(outcome.succeeds_silently().stdout == expected, "{outcome}");
        let outcome = sandbox.run_fed(&format!("filter query ../out/f {options}"), &asked);
        assert!(outcome.succeeds_silently().stdout == expected, "{outcome}");
    }
}

/// Writes lines one at a time, and waits for the answer where there is one before it writes the next.
fn converse(sandbox: &Sandbox, arguments: &str, lines: &[(&str, bool)]) {
    let mut command = sandbox.command(arguments);
    command.stdin(Stdio::piped());
    let mut running = sandbox.start_unread(command);
    let mut stdin = running.child.stdin.take().unwrap();
    let stdout = BufReader::new(running.child.stdout.take().unwrap());
    let (answers, answered) = mpsc::channel();
    let reader = thread::spawn(move || {
        for line in stdout.lines() {
            answers.send(line.unwrap()).unwrap();
        }
    });
    for &(line, is_answered) in lines {
        writeln!(stdin, "{line}").unwrap();
        if is_answered {
            let answer = answered.recv_timeout(PROMPTLY);
            assert_eq!(answer.as_deref(), Ok(line), "{arguments}");
        }
    }
    drop(stdin);
    running.finish().succeeds_silently();
    reader.join().unwrap();
    assert!(answered.try_recv().is_err(), "{arguments}: one answer more");
}

#[test]
fn lines_from_a_pipe_are_answered_before_the_next_ones_come() {
    for threads in [1, 2, 4] {
        let sandbox = with_filter(b"one\ntwo\n", b"", "--lines 1000 --max-fpr 0.0001%");
        let talk = [
            ("one", true),
            ("three", false),
            ("two", true),
            ("one", true),
        ];
        converse(
            &sandbox,
            &format!("filter query ../out/f -j {threads}"),
            &talk,
        );
        let talk = [("three", true), ("one", false), ("four", true)];
        let query = format!("filter query ../out/f --invert -j {threads}");
        converse(&sandbox, &query, &talk);
        let talk = [
            ("one", false),
            ("new", true),
            ("new", false),
            ("newer", true),
        ];
        let insert = format!("filter insert ../out/f --print-new -j {threads}");
        converse(&sandbox, &insert, &talk);
        converse(&sandbox, &insert, &[("new", false), ("newest", true)]);
    }
}

// A filter that changes.

#[test]
fn i16_print_new_counts_a_line_as_often_as_it_comes() {
    for (kind, count) in [("counting", 3), ("spectral", 3)] {
        let sandbox = Sandbox::with(b"x\nx\nx\n", b"x\n");
        sandbox
            .run(&format!(
                "filter build -o ../out/f --kind {kind} --lines 100"
            ))
            .succeeds_silently();
        let new = sandbox.run("filter insert ../out/f a --print-new");
        assert_eq!(new.succeeds_silently().stdout, b"x\n", "{kind}");
        let counted = sandbox.run("filter count ../out/f b");
        let expected = format!("x\t{count}\n");
        assert_eq!(counted.succeeds_silently().stdout, expected.as_bytes());
    }
}

/// Nobody removes the unfinished files of a process that was killed.
fn remove_parts(sandbox: &Sandbox) {
    for entry in fs::read_dir(sandbox.root().join("out")).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "part")
        {
            fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn i12_a_run_that_is_killed_leaves_the_filter_and_its_lines_are_new_again() {
    let sandbox = with_filter(&lines(0..1000), &lines(500..1500), "--kind fingerprint");
    let before = fs::read(sandbox.output("f")).unwrap();
    let path = sandbox.fifo("pipe");
    for signal in [Signal::TERM, Signal::INT, Signal::KILL] {
        let insert = "filter insert ../out/f pipe --print-new -o ../out/new";
        let mut running = sandbox.start(sandbox.command(insert));
        let mut feed = Feed::open(&path, &mut running);
        assert!(feed.send(&lines(500..1500)), "the run ended early");
        thread::sleep(Duration::from_millis(50));
        running.signal(signal);
        if signal == Signal::KILL {
            drop(running);
            remove_parts(&sandbox);
        } else {
            // Nothing is beside the filter then, and it is what it was.
            running.finish_within(SOON).ends_by(signal);
        }
        assert!(
            fs::read(sandbox.output("f")).unwrap() == before,
            "{signal:?}"
        );
        assert!(!sandbox.output("new").exists());
    }
    let next = sandbox.run("filter insert ../out/f b --print-new");
    assert_eq!(next.succeeds_silently().stdout, lines(1000..1500));
}

#[test]
fn of_two_that_would_change_a_filter_one_is_refused() {
    let sandbox = with_filter(&lines(0..1000), &lines(500..1500), "--kind fingerprint");
    let path = sandbox.fifo("pipe");
    let mut running = sandbox.start(sandbox.command("filter insert ../out/f pipe"));
    let mut feed = Feed::open(&path, &mut running);
    assert!(feed.send(&lines(1000..1200)));
    for command in ["insert", "remove"] {
        let refused = sandbox.command(&format!("filter {command} ../out/f b"));
        let outcome = sandbox.start_unread(refused).finish();
        outcome.fails(5, &["../out/f"]);
    }
    // To ask is allowed, and gives the answers of before.
    let asked = sandbox.command("filter query ../out/f b").output().unwrap();
    assert!(asked.status.success());
    assert_eq!(asked.stdout, lines(500..1000));
    drop(feed);
    running.finish().succeeds_silently();
    let asked = sandbox.run("filter query ../out/f b");
    assert_eq!(asked.succeeds_silently().stdout, lines(500..1200));
}

#[test]
fn h7_a_new_filter_is_its_owners_alone_and_a_changed_one_keeps_its_mode() {
    let sandbox = with_filter(&lines(0..100), &lines(0..200), "");
    assert_eq!(mode(&sandbox, "f"), 0o600);
    fs::set_permissions(sandbox.output("f"), fs::Permissions::from_mode(0o640)).unwrap();
    for command in [
        "filter insert ../out/f b",
        "filter insert ../out/f b --print-new -o ../out/new",
        "filter build a -o ../out/f",
    ] {
        sandbox.run(command).succeeds();
        assert_eq!(mode(&sandbox, "f"), 0o640, "{command}");
    }
    sandbox
        .run("filter build a --like ../out/f -o ../out/g")
        .succeeds();
    sandbox
        .run("filter merge ../out/f ../out/g -o ../out/h")
        .succeeds();
    sandbox
        .run("intersect a b --strategy bloom --save-filter ../out/s")
        .succeeds();
    for name in ["g", "h", "s"] {
        assert_eq!(mode(&sandbox, name), 0o600, "{name}");
    }
}

/// Builds small filters: as many lines as planned are never too many, whatever chance does.
fn as_many_as_planned(times: usize) {
    let sandbox = Sandbox::with(&lines(0..1000), b"");
    for _ in 0..times {
        sandbox
            .run("filter build a -o ../out/f --lines 1000 --max-fpr 0.1%")
            .succeeds_silently();
    }
}

#[test]
fn a_filter_with_far_too_many_lines_is_said_to_be_overfull() {
    for kind in ["blocked", "classic", "counting", "spectral"] {
        let sandbox = Sandbox::with(&lines(0..1000), &lines(0..10_000));
        sandbox
            .run(&format!(
                "filter build a -o ../out/f --kind {kind} --lines 1000"
            ))
            .succeeds_silently();
        let outcome = sandbox.run("filter insert ../out/f b");
        let said = &outcome.succeeds().stderr;
        assert!(
            said.starts_with("outset: ../out/f: overfull (built for 1,000 lines, holds "),
            "{kind}: {said}"
        );
        assert!(said.contains("), false-positive rate"), "{kind}: {said}");
        assert!(said.contains("inserted 10,000 lines"), "{kind}: {said}");
        assert_eq!(said.lines().count(), 2);
        let told = info(&sandbox, "f");
        assert_eq!(told["is_overfull"], true, "{kind}");
        // The rate of now, from the cells: other lines pass as often.
        sandbox.write("others", lines(100_000..120_000));
        let passed = sandbox.run("filter query ../out/f others --count-only");
        assert!(passed.stderr.contains("overfull"), "{}", passed.stderr);
        let passed: f64 = String::from_utf8_lossy(&passed.stdout)
            .trim()
            .parse()
            .unwrap();
        let rate = told["fill_fpr"].as_f64().unwrap();
        assert!(
            (passed / 20_000.0 - rate).abs() < 0.03,
            "{kind}: {passed}, {rate}"
        );
        assert!(rate > 0.3, "{kind}: {rate}");
    }
    as_many_as_planned(5);
    // More than the filter has cells: none is free, and how many lines it holds cannot be known.
    let sandbox = Sandbox::with(&lines(0..100_000), b"");
    let outcome = sandbox.run("filter build a -o ../out/f --kind classic --lines 10");
    let said = &outcome.succeeds().stderr;
    assert!(said.contains("overfull") && !said.contains("inf"), "{said}");
    assert_eq!(info(&sandbox, "f")["distinct_keys"], Value::Null);
}

#[test]
#[ignore = "slow: 100 runs"]
fn a_filter_with_as_many_lines_as_planned_is_never_said_to_be_overfull() {
    as_many_as_planned(100);
}

#[test]
fn info_has_the_names_and_the_numbers_of_a_report() {
    let sandbox = with_filter(
        &lines(0..3000),
        b"",
        "--kind classic --lines 4000 --max-fpr 1%",
    );
    let told = info(&sandbox, "f");
    // -n k / ln(1 - p^(1/k)) is 38,372; some cells more for lines that have all cells in common with another.
    assert_eq!(told["bits"], 38_375);
    assert_eq!(
        (&told["kind"], &told["hashes"]),
        (&"classic".into(), &7.into())
    );
    assert_eq!(
        (&told["keys"], &told["planned_keys"]),
        (&3000.into(), &4000.into())
    );
    let number = |name: &str| told[name].as_f64().unwrap();
    assert!((number("bits_per_key") - 38_375.0 / 3000.0).abs() < 1e-9);
    let fill = 1.0 - (-7.0 * 3000.0 / 38_375.0f64).exp();
    assert!((number("fill") - fill).abs() < 0.01, "{told:#}");
    assert!(
        (number("predicted_fpr") / fill.powi(7) - 1.0).abs() < 0.01,
        "{told:#}"
    );
    assert!(
        (number("fill_fpr") / fill.powi(7) - 1.0).abs() < 0.15,
        "{told:#}"
    );
    assert!((number("distinct_keys") - 3000.0).abs() < 60.0, "{told:#}");
    assert_eq!(number("expected_false_lines"), 0.0);
    assert_eq!(told["is_overfull"], false);
    let size = fs::metadata(sandbox.output("f")).unwrap().len();
    assert_eq!(told["file_bytes"], size);
    let outcome = sandbox.run("filter info ../out/f");
    let text = String::from_utf8_lossy(&outcome.succeeds_silently().stdout).into_owned();
    for part in [
        "classic filter",
        "38375 bits",
        "k = 7",
        "3000 lines",
        "sized for 4000",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn counts_come_before_the_cr_of_a_line_end() {
    let sandbox = Sandbox::new();
    sandbox.write("rows", "id,url\r\n1,x\r\n2,y\r\n");
    sandbox
        .run("filter build --csv -k id rows --kind counting -o ../out/f -q")
        .succeeds();
    let outcome = sandbox.run("filter count --csv -k id ../out/f rows -q");
    let expected = "id,url,count\r\n1,x,1\r\n2,y,1\r\n";
    assert_eq!(
        String::from_utf8_lossy(&outcome.succeeds().stdout),
        expected
    );
}

#[test]
fn a_filter_that_was_made_meanwhile_is_not_lost() {
    let sandbox = Sandbox::with(b"b\n", b"c\n");
    let fifo = sandbox.fifo("slow");
    let build = "--lines 10 --max-fpr 1% -o ../f -q";
    let mut slow = sandbox.start(sandbox.command(&format!("filter build slow {build}")));
    let mut feed = Feed::open(&fifo, &mut slow);
    assert!(feed.send(b"a\n"));
    sandbox
        .run(&format!("filter build a {build}"))
        .succeeds_silently();
    sandbox.run("filter insert ../f b -q").succeeds_silently();
    drop(feed);
    slow.finish()
        .fails(5, &["f: ", "another process has made it"]);
    let outcome = sandbox.run("filter query ../f b -q");
    assert_eq!(outcome.succeeds().stdout, b"c\n");
}
