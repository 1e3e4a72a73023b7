//! Results that commands take (`--out-via`): the run succeeds only if the command has all of it (row F11 of
//! `tests/matrix.tsv`).
//!
//! Commands write beside the directories that a sandbox watches: outset itself writes nothing.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use data_gen::Compression;
use differential::sweep;
use rustix::process::Signal;

use crate::data::{lines, megabytes};
use crate::sandbox::{Outcome, Sandbox};

/// The program with `arguments`, and the value of `--out-via` after them.
fn out_via(sandbox: &Sandbox, arguments: &str, script: &str) -> Command {
    let mut command = sandbox.command(arguments);
    command.args(["--out-via", script]);
    command
}

fn run_out_via(sandbox: &Sandbox, arguments: &str, script: &str) -> Outcome {
    sandbox.start(out_via(sandbox, arguments, script)).finish()
}

/// A command that keeps what it takes, and notes that it saw the end of that.
const KEEPS: &str = "sh -c 'cat > ../taken; echo > ../whole'";

fn taken(sandbox: &Sandbox) -> Vec<u8> {
    fs::read(sandbox.root().join("taken")).unwrap_or_default()
}

fn is_whole(sandbox: &Sandbox) -> bool {
    sandbox.root().join("whole").exists()
}

fn wait_for(sandbox: &Sandbox, name: &str) -> String {
    let start = Instant::now();
    loop {
        let text = fs::read_to_string(sandbox.root().join(name)).unwrap_or_default();
        if !text.is_empty() {
            return text;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "no {name}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Checks that the program whose number is in the file `number` is gone.
fn assert_gone(sandbox: &Sandbox) {
    let number = wait_for(sandbox, "number");
    let state = fs::read_to_string(format!("/proc/{}/stat", number.trim())).unwrap_or_default();
    // One that nobody has collected yet is dead, too.
    assert!(state.is_empty() || state.contains(") Z"), "{state}");
}

#[test]
fn f11_a_command_takes_what_a_file_would_hold() {
    let sandbox = Sandbox::with(&lines(0..40_000), b"x\ny");
    sandbox.write("none", "");
    sandbox.write("c", "id,name\n1,x\n");
    sandbox
        .run("filter build b -o ../out/filter")
        .succeeds_silently();
    for (arguments, script) in [
        ("union a b --order input", "cp /dev/stdin"),
        ("union b a --order sorted", "sh -c 'cat > {}'"),
        ("diff a b --order sorted", "sh -c 'cat > \"$0\"'"),
        ("intersect none a", "dd status=none of={}"),
        ("symdiff b none --order sorted", "tee {}"),
        (
            "union none a --count-only",
            "sh -c 'sleep 0.2; cat > {}' {} {}",
        ),
        ("overlaps a b", "sh -c 'cat > {}'"),
        ("filter query ../out/filter b a", "sh -c 'cat > {}'"),
        ("union --csv -k id c", "sh -c 'cat > {}'"),
    ] {
        let expected = sandbox.run(arguments).succeeds().stdout.clone();
        let arguments = format!("{arguments} -o ../taken");
        let outcome = run_out_via(&sandbox, &arguments, script);
        assert_eq!(outcome.succeeds().stdout, b"", "{script}");
        assert!(taken(&sandbox) == expected, "{arguments} {script}");
    }
    // The name is no local file: an input may have it, and a directory of temporary files is not looked for there.
    let arguments = "union a --order input -o no-such-directory/a --strategy partition";
    run_out_via(&sandbox, arguments, "sh -c 'cat > ../taken'").succeeds();
    assert!(taken(&sandbox) == lines(0..40_000));
    run_out_via(&sandbox, "union b -o b", KEEPS).succeeds();
    assert!(is_whole(&sandbox));
}

#[test]
fn f11_what_a_command_takes_is_compressed_as_its_name_says() {
    let sandbox = Sandbox::with(&lines(0..40_000), b"");
    for (arguments, magic) in [
        ("-o s3://b/r.gz", &[0x1f, 0x8b][..]),
        ("-o s3://b/r --compress zst:1", &[0x28, 0xb5, 0x2f, 0xfd]),
    ] {
        let arguments = format!("union a --order input {arguments}");
        run_out_via(&sandbox, &arguments, KEEPS).succeeds();
        assert!(taken(&sandbox).starts_with(magic), "{arguments}");
        let again = sandbox.run("union ../taken --order input");
        assert!(again.succeeds().stdout == lines(0..40_000), "{arguments}");
    }
    let duplicates = "union a a --order input -o s3://b/r -D ../out/d.gz";
    run_out_via(&sandbox, duplicates, KEEPS).succeeds();
    assert!(taken(&sandbox) == lines(0..40_000));
    let again = sandbox.run("union ../out/d.gz --order input");
    assert!(again.succeeds().stdout == lines(0..40_000));
}

#[test]
fn f11_a_command_that_does_not_take_all_fails_the_run() {
    let text = lines(0..40_000);
    let sandbox = || Sandbox::with(&text, b"x\ny\n");
    let commands = [
        (
            "sh -c 'cat >&-; exit 1'",
            &["s3://b/r: cannot write: \"sh -c cat >&-; exit 1 s3://b/r\" ended with status 1"][..],
        ),
        (
            "sh -c 'cat > ../taken; echo first >&2; echo access denied >&2; exit 4'",
            &["ended with status 4 after saying \"first / access denied\": run it by itself"],
        ),
        (
            "sh -c 'head -c 1 > ../taken; kill -9 $$'",
            &["was ended by a signal: 9 (SIGKILL)"],
        ),
        (
            "sh -c 'yes | head -c 3000000 >&2; echo end >&2; exit 5'",
            &["ended with status 5 after saying \"y / y / end\""],
        ),
        (
            "sh -c 'exit 0'",
            &["ended with status 0, but has not read all"],
        ),
        (
            "sh -c 'sleep 0.3; dd bs=1 count=1 of=../taken status=none'",
            &["ended with status 0, but has not read all"],
        ),
        (
            "sh -c 'exec <&-; sleep 20'",
            &["has closed its standard input, but has not read all"],
        ),
        // Somebody else still holds its standard input.
        (
            "sh -c 'exec 3<&0; sleep 5 <&3 & exit 7'",
            &["ended with status 7"],
        ),
        (
            "sh -c 'exec 3<&0; sleep 5 <&3 & exit 0'",
            &["ended with status 0, but has not read all"],
        ),
        (
            "no-such-program",
            &[
                "cannot start \"no-such-program s3://b/r\": No such file",
                "check that the program",
            ],
        ),
    ];
    // A result that fills the pipe, one that fits it, and one that is compressed.
    let inputs = ["a", "b", "a --compress zst"];
    let tries = |script: &str, says: &[&str], input: &str| {
        let arguments = format!("union {input} -o s3://b/r");
        run_out_via(&sandbox(), &arguments, script).fails(5, says);
    };
    // Beside each other, for some only wait.
    thread::scope(|scope| {
        for (&(script, says), &input) in sweep::pairs(&commands, &inputs) {
            let tries = &tries;
            scope.spawn(move || tries(script, says, input));
        }
    });
    // Nothing to read is all.
    let sandbox = sandbox();
    sandbox.write("none", "");
    run_out_via(&sandbox, "union none -o s3://b/r", "true").succeeds();
}

/// Runs with an input whose command fails, into one that must not see the end of its own.
fn input_fails(sandbox: &Sandbox, words: &str, fails: &str, script: &str) {
    let mut command = out_via(sandbox, words, script);
    let producer = format!("sh -c '{fails}'");
    command.args(["-o", "s3://b/r", "--via-of", &format!("2={producer}")]);
    sandbox.start(command).finish().fails(3, &["b: \"sh -c"]);
    assert!(!is_whole(sandbox), "{words} {fails} {script}");
}

#[test]
fn f11_a_command_does_not_see_the_end_of_a_result_that_is_not_whole() {
    let sandbox = Sandbox::with(&lines(0..40_000), &lines(30_000..60_000));
    let words = [
        "union a b",
        "union a b --compress zst",
        "union a b --strategy memory",
    ];
    let failing = ["cat {}; exit 9", "head -c 500000 {}; kill -9 $$"];
    for fails in failing {
        for words in words {
            input_fails(&sandbox, words, fails, KEEPS);
        }
    }
    let small = "union a b --order sorted --memory 24M --strategy memory --max-temp 1M -o s3://b/r";
    run_out_via(&sandbox, small, KEEPS).fails(4, &["1 MiB allowed by --max-temp"]);
    assert!(!is_whole(&sandbox));
    // A part of the result was written.
    let dropped = "union a a a --strategy memory -o s3://b/r -D /dev/full";
    run_out_via(&sandbox, dropped, KEEPS).fails(5, &["/dev/full"]);
    assert!(!is_whole(&sandbox));
    // Another output fails after the result.
    let unwritable = "union a b -o s3://b/r --report /dev/full";
    run_out_via(&sandbox, unwritable, KEEPS).fails(5, &["/dev/full"]);
    assert!(!is_whole(&sandbox));
}

#[test]
#[ignore = "slow: it has a second to end"]
fn f11_a_command_that_does_not_end_when_asked_to_does_not_see_the_end() {
    let sandbox = Sandbox::with(&lines(0..40_000), &lines(30_000..60_000));
    let stubborn = "sh -c 'trap \"\" TERM; cat > ../taken; echo > ../whole'";
    input_fails(
        &sandbox,
        "union a b",
        "head -c 500000 {}; kill -9 $$",
        stubborn,
    );
}

#[test]
fn f11_g1_a_signal_stops_the_command_before_its_input_ends() {
    // Slow enough that the signal comes while the run waits for it.
    let takes = "dd bs=1 of=../taken status=none; echo > ../whole";
    // The one that takes it is a program that the command has started.
    let slow =
        &format!("sh -c 'echo $$ > ../number; exec 3<&0; ({takes}) <&3 & wait; echo > ../whole'");
    let text = megabytes(4, 0);
    let stops = |signal| {
        let sandbox = Sandbox::with(&text, b"");
        let running = sandbox.start(out_via(&sandbox, "union a -o s3://b/r", slow));
        wait_for(&sandbox, "taken");
        running.signal(signal);
        running.end_within(Duration::from_secs(20)).ends_by(signal);
        assert_gone(&sandbox);
        let stopped = taken(&sandbox);
        thread::sleep(Duration::from_millis(200));
        assert!(!is_whole(&sandbox) && taken(&sandbox) == stopped);
    };
    // Beside each other, for most of it is waiting.
    thread::scope(|scope| {
        for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
            scope.spawn(move || stops(signal));
        }
    });
}

#[test]
fn f11_g1_a_command_that_hangs_ends_with_the_run() {
    for script in [
        // It reads nothing more, all but the status, or nothing at all.
        "head -c 5 > /dev/null",
        "cat > /dev/null",
        "true",
    ] {
        for input in ["a", "b"] {
            let sandbox = Sandbox::with(&lines(0..40_000), b"x\n");
            let arguments = format!("union {input} -o s3://b/r");
            let script =
                format!("sh -c 'echo $$ > ../number; {script}; while :; do sleep 1; done'");
            let running = sandbox.start(out_via(&sandbox, &arguments, &script));
            wait_for(&sandbox, "number");
            thread::sleep(Duration::from_millis(100));
            running.signal(Signal::INT);
            let outcome = running.end_within(Duration::from_secs(20));
            outcome.ends_by(Signal::INT);
            assert_gone(&sandbox);
        }
    }
    let sandbox = Sandbox::with(b"x\n", b"");
    let script = "sh -c 'echo $$ > ../number; cat > /dev/null; sleep 1000'";
    let running = sandbox.start(out_via(&sandbox, "union a -o s3://b/r", script));
    wait_for(&sandbox, "number");
    running.signal(Signal::KILL);
    running.end_within(Duration::from_secs(20));
    let start = Instant::now();
    let number = wait_for(&sandbox, "number");
    let state = || fs::read_to_string(format!("/proc/{}/stat", number.trim())).unwrap_or_default();
    while !state().is_empty() && !state().contains(") Z") {
        assert!(start.elapsed() < Duration::from_secs(10), "it goes on");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn f11_v_passes_on_what_the_command_prints() {
    let sandbox = Sandbox::with(b"x\n", b"");
    let script = "sh -c 'cat > ../taken; echo printed; echo said >&2'";
    let quiet = run_out_via(&sandbox, "union a -o s3://b/r", script);
    assert!(!quiet.succeeds().stderr.contains("printed") && !quiet.stderr.contains("said"));
    let loud = run_out_via(&sandbox, "union a -v -o s3://b/r", script);
    assert!(loud.succeeds().stderr.contains("printed\n") && loud.stderr.contains("said\n"));
}

#[test]
fn f11_a_result_without_a_name_and_a_table_are_refused() {
    let sandbox = Sandbox::with(b"x\n", b"y\n");
    for (arguments, script, says) in [
        (
            "union a",
            "cat",
            "--out-via: the result has no name: add -o NAME",
        ),
        ("union a -o -", "cat", "--out-via: the result has no name"),
        (
            "union a -o s3://b/r.parquet",
            "cat",
            "s3://b/r.parquet: --out-via cannot write a Parquet file",
        ),
        ("union a -o r", " ", "give a command"),
        (
            "union a -o r",
            "cat 'x",
            "a quote is not closed, or a backslash stands at the end",
        ),
    ] {
        run_out_via(&sandbox, arguments, script).fails(2, &[says]);
    }
    // Nothing is started before all else is known to be right.
    let arguments = "union a -o r -D no-such-directory/d";
    run_out_via(&sandbox, arguments, "sh -c 'echo > ../whole'").fails(5, &["no-such-directory/d"]);
    run_out_via(&sandbox, "union no-such-file -o r", KEEPS).fails(3, &["no-such-file"]);
    assert!(!is_whole(&sandbox));
}

#[test]
fn f11_a_command_takes_each_file_of_a_directory() {
    let sandbox = Sandbox::new();
    for (name, text) in [("a/1", "x\ny\nx\n"), ("a/2.gz", "y\nz\n"), ("b", "x\n")] {
        let path = sandbox.input("side").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = match name.strip_suffix(".gz") {
            Some(_) => Compression::Gzip.compress(text.as_bytes()).unwrap(),
            None => text.into(),
        };
        fs::write(path, text).unwrap();
    }
    // Each command has seen the end of its input before the next one begins.
    let keeps =
        "sh -c 'echo began $0 >> ../log; cat > ../taken-$(basename $0); echo ended >> ../log' {}";
    let arguments = "union --side side --out-dir s3://bucket/clean";
    run_out_via(&sandbox, arguments, keeps).succeeds();
    let of = |name: &str| fs::read(sandbox.root().join(name)).unwrap();
    let names = ["a/1", "a/2.gz", "b"];
    let log = names.map(|name| format!("began s3://bucket/clean/{name}\nended\n"));
    assert_eq!(of("log"), log.concat().into_bytes());
    assert_eq!(of("taken-1"), b"x\ny\n");
    assert!(of("taken-2.gz").starts_with(b"\x1f\x8b") && of("taken-b").is_empty());
    // One that fails, or reads a part, is the last.
    for script in [
        "exit 3",
        "head -c 1",
        "cat; case $0 in */2.gz) exit 3;; esac",
    ] {
        fs::remove_file(sandbox.root().join("log")).unwrap();
        let script = format!("sh -c 'echo began >> ../log; {script}' {{}}");
        let outcome = run_out_via(&sandbox, arguments, &script);
        outcome.fails(5, &["s3://bucket/clean/", "run it by itself"]);
        let began = if script.contains("cat") { 2 } else { 1 };
        assert_eq!(of("log"), b"began\n".repeat(began), "{script}");
    }
    // Before all work.
    let outcome = run_out_via(&sandbox, arguments, "no-such-program");
    outcome.fails(
        5,
        &["no-such-program", "check that the program is installed"],
    );
    assert!(!sandbox.input("s3:").exists());
}
