//! Sides that commands write (`--via`): what a command gives is the input, all of it or none (row B27 of
//! `tests/matrix.tsv`).

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use data_gen::Compression;
use differential::sweep;
use rustix::process::Signal;

use crate::data::lines;
use crate::sandbox::{Outcome, Sandbox};

/// The program with `arguments`, and the value of `--via` after them.
fn via(sandbox: &Sandbox, arguments: &str, script: &str) -> Command {
    let mut command = sandbox.command(arguments);
    command.args(["--via", script]);
    command
}

fn run_via(sandbox: &Sandbox, arguments: &str, script: &str) -> Outcome {
    sandbox.start(via(sandbox, arguments, script)).finish()
}

/// The answer of a run, in the order in which it comes.
fn answer(sandbox: &Sandbox, arguments: &str, script: &str) -> String {
    let outcome = run_via(sandbox, arguments, script);
    String::from_utf8(outcome.succeeds().stdout.clone()).unwrap()
}

fn sorted(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    lines.sort_unstable();
    lines
}

#[test]
fn b27_the_name_of_a_file_says_nothing_of_what_a_command_makes_of_it() {
    let sandbox = Sandbox::new();
    sandbox.write("a.zst", "a\n");
    sandbox.write("b.zst", "b\n");
    for strategy in ["auto", "partition", "sieve"] {
        let arguments = format!("diff a.zst b.zst --strategy {strategy}");
        let outcome = run_via(&sandbox, &arguments, "cat");
        assert!(
            !outcome.succeeds().stderr.contains("as its name says"),
            "{outcome}"
        );
        let outcome = sandbox.run(&arguments);
        assert!(
            outcome.succeeds().stderr.contains("as its name says"),
            "{outcome}"
        );
    }
}

#[test]
fn b27_what_commands_write_is_what_files_hold() {
    let (a, b) = (lines(0..9000), lines(4000..15_000));
    let sandbox = Sandbox::with(&a, &b);
    let strategies = ["memory", "partition --buckets 4", "sieve --buckets 4"];
    let operations = ["intersect", "diff", "union --count", "union --order input"];
    let scripts = ["cat", "cat {}", "sh -c 'cat {}'", "sh -c 'cat < \"$0\"'"];
    for (strategy, words, script) in sweep::triples(&strategies, &operations, &scripts) {
        let arguments = format!("{words} a b --memory 17M --strategy {strategy}");
        let expected = sandbox.run(&arguments).succeeds().stdout.clone();
        let found = run_via(&sandbox, &arguments, script)
            .succeeds()
            .stdout
            .clone();
        assert!(sorted(&found) == sorted(&expected), "{arguments} {script}");
        assert!(
            found == expected || !words.contains("order"),
            "{arguments} {script}"
        );
    }
}

#[test]
fn b27_outputs_of_several_commands_are_a_side() {
    let sandbox = Sandbox::with(b"one\ntwo", b"two\nthree\n");
    sandbox.write("none", "");
    sandbox.write("c", "four");
    for compression in Compression::ALL {
        let packed = compression.compress(b"five\nsix").unwrap();
        sandbox.write(&format!("{compression:?}"), packed);
    }
    let names: Vec<String> = Compression::ALL
        .iter()
        .map(|one| format!("{one:?}"))
        .collect();
    let side = format!("none a b none {} c none", names.join(" "));
    for strategy in ["memory", "partition", "sieve"] {
        let arguments = format!("union --order input --strategy {strategy} --side {side}");
        let found = answer(&sandbox, &arguments, "cat {}");
        assert_eq!(found, "one\ntwo\nthree\nfive\nsix\nfour\n");
    }
    sandbox.write("list", format!("a\n{}\nc\n", names[0]));
    let found = answer(&sandbox, "union --order input --files-from list", "cat");
    assert_eq!(found, "one\ntwo\nfive\nsix\nfour\n");
}

#[test]
fn b27_headers_of_outputs_are_no_records() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "id,url\n1,x\n2,y\n");
    sandbox.write("b", "# note\nid,url\n3,y\n4,z");
    sandbox.write("other", "id,name\n3,y\n");
    sandbox.write("marked", "\u{feff}id,url\r\n5,z\n");
    sandbox.write("empty", "");
    for strategy in ["partition", "sieve"] {
        let arguments =
            format!("union --csv --header --comment # -k url --order input --strategy {strategy}");
        let found = answer(&sandbox, &format!("{arguments} --side a empty b"), "cat");
        assert_eq!(found, "id,url\n1,x\n2,y\n4,z\n");
        // A byte order mark and the end of a line are no part of a header.
        let found = answer(&sandbox, &format!("{arguments} --side a marked"), "cat");
        assert_eq!(found, "id,url\n1,x\n2,y\n5,z\n");
        run_via(&sandbox, &format!("{arguments} --side a other"), "cat")
            .fails(2, &["other: its header is not that of a"]);
    }
    run_via(
        &sandbox,
        "union --csv --header -k url a",
        "sh -c 'cat {}; exit 9'",
    )
    .fails(3, &["status 9"]);
    run_via(
        &sandbox,
        "union --csv --header -k url empty",
        "sh -c 'cat {}; exit 9'",
    )
    .fails(3, &["status 9"]);
}

#[test]
fn b27_a_command_that_fails_fails_the_run() {
    let sandbox = Sandbox::with(&lines(0..5000), &lines(1000..9000));
    let strategies = ["memory", "partition", "sieve"].into_iter().cycle();
    for ((script, words), strategy) in [
        (
            "sh -c 'cat {}; exit 1'",
            &["a: \"sh -c cat a; exit 1\" ended with status 1:"][..],
        ),
        ("sh -c 'exit 255'", &["status 255"]),
        (
            "sh -c 'head -c 60000 {}; kill -9 $$'",
            &["was ended by a signal: 9 (SIGKILL)"],
        ),
        ("sh -c 'head -c 7 {}; kill -TERM $$'", &["signal: 15"]),
        // What it says last is the reason.
        (
            "sh -c 'cat {}; echo first >&2; echo no such bucket >&2; exit 4'",
            &["status 4 after saying \"first / no such bucket\""],
        ),
        (
            "sh -c 'yes | head -c 3000000 >&2; echo end >&2; exit 5'",
            &["y / y / end"],
        ),
        // The output ends long before the command does.
        ("sh -c 'cat {}; exec >&-; sleep 0.2; exit 6'", &["status 6"]),
        // Somebody else still holds its standard error.
        ("sh -c 'cat {}; sleep 3 >&- & exit 7'", &["status 7"]),
        (
            "no-such-program",
            &[
                "cannot start \"no-such-program a\": No such file",
                "check that the program",
            ],
        ),
    ]
    .into_iter()
    .zip(strategies)
    {
        let arguments = format!("union a b --strategy {strategy} -o ../out/r");
        run_via(&sandbox, &arguments, script).fails(3, words);
    }
    // Only the second command fails, or only the second of a side.
    let fails_for_b = "sh -c 'cat {}; test {} = a'";
    run_via(&sandbox, "intersect a b", fails_for_b).fails(3, &["b: \"sh -c cat b; test b = a\""]);
    run_via(&sandbox, "union --side a b a", fails_for_b)
        .fails(3, &["b: \"sh -c cat b; test b = a\""]);
    // Compressed output that breaks off is the fault of its command.
    let packed = Compression::Gzip.compress(&lines(0..5000)).unwrap();
    sandbox.write("c", packed);
    run_via(&sandbox, "union c", "sh -c 'head -c 5000 {}; exit 8'").fails(3, &["status 8"]);
}

#[test]
fn b27_commands_are_chosen_for_each_side() {
    let sandbox = Sandbox::with(b"x\ny\n", b"y\nz\n");
    let run = |words: &[&str], fed: &[u8]| {
        let mut command = sandbox.command("diff --order sorted");
        command.args(words);
        sandbox.feed(command, fed)
    };
    let tr = "tr a-z A-Z < {}";
    let shell = format!("sh -c '{tr}'");
    let text = |outcome: Outcome| String::from_utf8(outcome.succeeds().stdout.clone()).unwrap();
    assert_eq!(text(run(&["a", "b", "--via", &shell], b"")), "X\n");
    assert_eq!(
        text(run(&["a", "b", "--via-of", &format!("2={shell}")], b"")),
        "x\ny\n"
    );
    assert_eq!(
        text(run(&["a", "b", "--via", &shell, "--via-of", "2=none"], b"")),
        "X\nY\n"
    );
    assert_eq!(
        text(run(
            &[
                "a", "b", "--via", "false", "--via-of", "1=cat", "--via-of", "2=cat"
            ],
            b""
        )),
        "x\n"
    );
    // Standard input is no name for a command.
    assert_eq!(text(run(&["a", "-", "--via", &shell], b"Y\n")), "X\n");
    // Nothing is looked up, and quotes are those of a shell.
    assert_eq!(
        text(run(
            &[
                "*",
                "b",
                "--via",
                r#"printf '%s\n' "<{}>" 'q r'"#,
                "--via-of",
                "2=none"
            ],
            b""
        )),
        "<*>\nq r\n"
    );
    for (words, says) in [
        (
            &["a", "b", "--via", "cat 'x"][..],
            "a quote is not closed, or a backslash stands at the end",
        ),
        (&["a", "b", "--via", " "], "give a command"),
        (&["a", "b", "--via-of", "cat"], "give N=COMMAND"),
        (&["a", "b", "--via-of", "0=cat"], "numbered from 1"),
        (
            &["a", "b", "--via-of", "3=cat"],
            "--via-of 3: there is no side 3",
        ),
        (
            &["a", "--side", "b", "-", "--via", "cat"],
            "cannot include standard input",
        ),
    ] {
        run(words, b"").fails(2, &[says]);
    }
}

#[test]
fn b27_commands_run_again_where_a_first_plan_has_no_room_for_a_line() {
    let sandbox = Sandbox::new();
    // Only the reading tells how long a line of an output is.
    let long = [&b"k\n"[..], b"short\n", &vec![b'x'; 3_000_000], b"\nend\n"].concat();
    sandbox.write("long", long);
    sandbox.write(
        "many",
        [&b"k\n"[..], &lines(0..200_000), b"end\nshort\n"].concat(),
    );
    let script = "sh -c 'echo run >> ../runs; cat {}'";
    let mut command = sandbox.command(
        "intersect long many --csv --header -k k --keys-only --order sorted --memory 24M -j 2",
    );
    command.args(["--via-of", &format!("1={script}")]);
    let found = sandbox.start(command).finish();
    assert_eq!(found.succeeds().stdout, b"k\nend\nshort\n");
    let runs = fs::read_to_string(sandbox.root().join("runs")).unwrap();
    assert_eq!(runs, "run\nrun\n");
}

#[test]
fn b27_v_passes_on_what_commands_say() {
    let sandbox = Sandbox::with(b"x\n", b"y\n");
    let script = "sh -c 'echo from here >&2; cat {}'";
    let quiet = run_via(&sandbox, "union a", script);
    assert!(!quiet.succeeds().stderr.contains("from here"));
    let loud = run_via(&sandbox, "union a -v", script);
    assert!(loud.succeeds().stderr.contains("from here\n"));
}

#[test]
fn b27_a_plan_starts_no_command() {
    let sandbox = Sandbox::with(b"x\n", b"y\n");
    let script = "sh -c 'echo started > ../started; cat {}'";
    run_via(&sandbox, "plan a b", script).succeeds();
    assert!(!sandbox.root().join("started").exists());
}

/// A script that writes its number to a file beside the inputs, gives a few lines and hangs.
const HANGS: &str = "sh -c 'echo $$ > ../number; echo x; while :; do sleep 1; done'";

/// Waits until the program with the number in that file is gone.
fn assert_gone(sandbox: &Sandbox) {
    let number = fs::read_to_string(sandbox.root().join("number")).unwrap();
    let start = Instant::now();
    loop {
        let state = fs::read_to_string(format!("/proc/{}/stat", number.trim())).unwrap_or_default();
        // One that nobody has collected yet is dead, too.
        if state.is_empty() || state.contains(") Z") {
            return;
        }
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "it goes on: {state}"
        );
        thread::sleep(Duration::from_millis(5));
    }
}

fn wait_for_number(sandbox: &Sandbox) {
    let number = sandbox.root().join("number");
    while fs::read_to_string(&number).unwrap_or_default().is_empty() {
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn b27_g1_a_command_ends_with_the_run_however_that_ends() {
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let sandbox = Sandbox::with(b"x\n", b"y\n");
        let running = sandbox.start(via(&sandbox, "union a", HANGS));
        wait_for_number(&sandbox);
        running.signal(signal);
        let outcome = running.end_within(Duration::from_secs(20));
        assert!(!outcome.status.success());
        assert_gone(&sandbox);
    }
    // One that does not end when it is asked to.
    let hangs = HANGS.replacen("echo", "trap \"\" TERM; echo", 1);
    let sandbox = Sandbox::with(b"x\n", b"y\n");
    let mut command = sandbox.command("union a b --strategy partition");
    command.args(["--via-of", &format!("1={hangs}"), "--via-of", "2=false"]);
    let running = sandbox.start(command);
    wait_for_number(&sandbox);
    running.signal(Signal::TERM);
    running.end_within(Duration::from_secs(20));
    assert_gone(&sandbox);
}

/// Kills a command after this number of its bytes, or of its milliseconds.
fn killed(sandbox: &Sandbox, number: u32) {
    let script = match number % 2 {
        0 => format!("sh -c 'head -c {} {{}}; kill -9 $$'", number * 611 % 90_000),
        _ => format!(
            "sh -c '(sleep 0.00{}; kill -9 $$) & cat {{}} {{}} {{}}; sleep 9'",
            number % 10
        ),
    };
    let strategy = ["memory", "partition", "sieve"][number as usize % 3];
    let arguments = format!("union a b --memory 17M --strategy {strategy} -o ../out/r");
    let mut command = sandbox.command(&arguments);
    command.args(["--via-of", &format!("{}={script}", 1 + number % 2)]);
    sandbox
        .start(command)
        .finish()
        .fails(3, &["signal: 9 (SIGKILL)"]);
}

#[test]
fn b27_a_command_that_is_killed_at_some_moments_leaves_no_answer() {
    let sandbox = Sandbox::with(&lines(0..5000), &lines(1000..9000));
    (0..6).for_each(|number| killed(&sandbox, number));
}

#[test]
#[ignore = "slow: 500 kills"]
fn b27_a_command_that_is_killed_at_any_moment_leaves_no_answer() {
    let sandbox = Sandbox::with(&lines(0..5000), &lines(1000..9000));
    (0..500).for_each(|number| killed(&sandbox, number));
}

#[test]
fn b27_each_output_begins_and_ends_by_itself_whether_it_is_copied_or_not() {
    let sandbox = Sandbox::new();
    sandbox.write("marked1", "\u{feff}a,1\n");
    sandbox.write("marked2", "\u{feff}b,1\n");
    sandbox.write("one", "b,2\n");
    sandbox.write("open1", "1,\"a");
    sandbox.write("open2", "2,b\"\n3,c\n");
    sandbox.write("two", "2,x\n3,y\n");
    for strategy in ["auto", "memory", "partition", "sieve"] {
        let words = format!("intersect --csv -k 1 --bad-records skip --strategy {strategy}");
        let arguments = format!("{words} -q --side marked1 marked2 --side one");
        assert_eq!(answer(&sandbox, &arguments, "cat"), "b,1\n", "{strategy}");
        let outcome = run_via(
            &sandbox,
            &format!("{words} --side open1 open2 --side two"),
            "cat",
        );
        let found = sorted(&outcome.succeeds().stdout);
        assert_eq!(found, [&b"2,b\"\n"[..], b"3,c\n"], "{outcome}");
        assert!(
            outcome.stderr.contains("open1: left out 1 line"),
            "{outcome}"
        );
    }
    // What is wrong is told of the output, and of its line, whatever comes before its header.
    sandbox.write("rows1", "id,n\n1,x\n");
    sandbox.write("rows2", "# one\n# two\nid,n\n2,x\n3\n");
    sandbox.write("row", "id,n\n3,y\n");
    for (strategy, place) in [
        ("memory", "byte 21"),
        ("partition", "byte 21"),
        ("sieve", "line 5"),
    ] {
        let arguments = format!(
            "intersect --csv -k n --comment # --strategy {strategy} --side rows1 rows2 --side row"
        );
        run_via(&sandbox, &arguments, "cat").fails(3, &[&format!("rows2: the record at {place} ")]);
    }
    sandbox.write("objects1", "{\"id\":1}\n{\"id\":2}\n");
    sandbox.write("objects2", "{\"id\":3}\n[]\n");
    sandbox.write("object", "{\"id\":3}\n");
    for strategy in ["auto", "sieve"] {
        let arguments = format!(
            "intersect --jsonl -k id --strategy {strategy} --side objects1 objects2 --side object"
        );
        run_via(&sandbox, &arguments, "cat").fails(3, &["objects2: the record at line 2 "]);
    }
}

#[test]
fn b27_an_output_without_records_says_nothing_of_the_columns_of_others() {
    let sandbox = Sandbox::new();
    sandbox.write("rows", "id,url\n1,x\n2,x\n3,y\n");
    sandbox.write("others", "url,id\nx,7\n");
    let outputs = [("", ""), ("\n\n", ""), ("# none\n", "--comment #")];
    let strategies = ["memory", "partition", "sieve"];
    for ((first, more), strategy) in sweep::pairs(&outputs, &strategies) {
        sandbox.write("first", first);
        let words = format!("--csv -k url --strategy {strategy} {more} -q --side first rows");
        for (arguments, count) in [
            (format!("diff {words} --side first"), 4),
            (format!("intersect {words} --side others"), 3),
        ] {
            let of_files = sandbox.run(&arguments);
            let found = answer(&sandbox, &arguments, "cat");
            assert_eq!(
                sorted(found.as_bytes()),
                sorted(&of_files.succeeds().stdout),
                "{first:?} {arguments}"
            );
            assert_eq!(
                found.lines().count(),
                count,
                "{first:?} {arguments}: {found}"
            );
        }
        // A header that differs is refused, whichever came first.
        let arguments = format!("union --csv -k url {more} -q --side first rows others");
        run_via(&sandbox, &arguments, "cat").fails(2, &["others: its header is not that of rows"]);
    }
}
