//! One thing under two names: what is read twice, what is read and written, what is written twice.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use differential::sweep;

use crate::data::{common, lines};
use crate::sandbox::Sandbox;
use crate::tasks::TASKS;

/// Every strategy that intersects inputs.
const STRATEGIES: [&str; 5] = ["auto", "memory", "sieve", "partition", "bloom"];

#[test]
fn b11_one_pipe_named_twice_is_refused_whatever_it_is_called() {
    let text = lines(0..3000);
    let sandbox = Sandbox::with(&text, b"");
    let pipes = [
        "- /dev/stdin",
        "/dev/stdin -",
        "- /dev/fd/0",
        "/proc/self/fd/0 -",
        "a - /dev/fd/0",
        "/dev/stdin /dev/stdin",
    ];
    let tasks = TASKS.iter().map(|task| task.words);
    let commands: Vec<&str> = tasks.chain(["estimate", "plan"]).collect();
    for (names, command) in sweep::pairs(&pipes, &commands) {
        sandbox
            .run_fed(&format!("{command} {names}"), &text)
            .fails(2, &["can only be read once"]);
    }
    for strategy in STRATEGIES {
        let arguments = format!("intersect - /dev/stdin --strategy {strategy}");
        let outcome = sandbox.run_fed(&arguments, &text);
        outcome.fails(2, &["can only be read once"]);
    }
    sandbox
        .run_fed(
            "filter build --lines 10 - /dev/stdin -o ../out/filter",
            &text,
        )
        .fails(2, &["can only be read once"]);
}

#[test]
fn b11_a_fifo_named_twice_is_refused_and_not_waited_for() {
    let names = ["pipe pipe", "pipe link", "link ./pipe"]
        .into_iter()
        .cycle();
    for (task, names) in TASKS.iter().zip(names) {
        let sandbox = Sandbox::new();
        let fifo = sandbox.fifo("pipe");
        symlink("pipe", sandbox.input("link")).unwrap();
        // A writer that is done before anybody could open the FIFO a second time.
        let writer = thread::spawn(move || fs::write(fifo, "a\nb\n"));
        sandbox
            .start(sandbox.command(&format!("{} {names}", task.words)))
            .finish_within(Duration::from_secs(20))
            .fails(2, &["can only be read once"]);
        let _reader_may_be_gone = writer.join().unwrap();
    }
}

#[test]
fn b11_a_fifo_that_is_standard_input_too_is_refused() {
    for (task, names) in TASKS.iter().zip(["- pipe", "pipe -"].into_iter().cycle()) {
        let sandbox = Sandbox::new();
        let fifo = sandbox.fifo("pipe");
        let mut both = OpenOptions::new();
        let mut writer = both.read(true).write(true).open(&fifo).unwrap();
        writer.write_all(b"a\nb\n").unwrap();
        let mut command = sandbox.command(&format!("{} {names}", task.words));
        command.stdin(Stdio::from(fs::File::open(&fifo).unwrap()));
        sandbox
            .start(command)
            .finish_within(Duration::from_secs(20))
            .fails(2, &["can only be read once"]);
    }
}

#[test]
fn b8_a_file_on_standard_input_is_read_from_where_it_stands() {
    let (text, other) = (lines(0..4000), lines(2000..5000));
    let sandbox = Sandbox::with(&text, &other);
    let from = |path: &Path| Stdio::from(fs::File::open(path).unwrap());
    for strategy in STRATEGIES {
        let mut command = sandbox.command(&format!("intersect - a --strategy {strategy}"));
        command.stdin(from(&sandbox.input("a")));
        let outcome = sandbox.start(command).finish();
        outcome.succeeds().has_lines(&common(&[&text]));
        let mut command = sandbox.command(&format!("intersect /dev/stdin b --strategy {strategy}"));
        command.stdin(from(&sandbox.input("b")));
        let outcome = sandbox.start(command).finish();
        outcome.succeeds().has_lines(&common(&[&other]));
    }
}

#[test]
fn b19_files_of_the_kernel_whose_size_is_not_true_are_read_to_their_end() {
    // Of /sys, which claim a page, and of /proc, which claim to be empty.
    let shown = [
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/kernel/uevent_seqnum",
        "/proc/version",
    ];
    let (there, others): (Vec<&str>, Vec<&str>) =
        shown.into_iter().partition(|path| fs::read(path).is_ok());
    for path in others {
        println!("skipped: {path} is not there");
    }
    assert!(!there.is_empty(), "none of {shown:?} is there");
    let sandbox = Sandbox::with(b"", b"other\n");
    for (path, strategy) in sweep::pairs(&there, &STRATEGIES) {
        let text = fs::read(path).unwrap();
        sandbox.write("copy", &text);
        let outcome = sandbox.run(&format!("intersect copy {path} --strategy {strategy}"));
        outcome.succeeds().has_lines(&common(&[&text]));
    }
    for (path, task) in sweep::pairs(&there, &TASKS) {
        let arguments = format!("{} {path} b", task.words);
        let outcome = sandbox.run(&arguments);
        let answer = task.of(&[&fs::read(path).unwrap(), b"other\n"]);
        answer.assert_is(&outcome.succeeds().stdout, &arguments);
    }
}

/// A sandbox with two inputs, a filter of one, and other names for it.
fn with_filter() -> Sandbox {
    let sandbox = Sandbox::with(&lines(0..500), &lines(250..900));
    let build = sandbox
        .command("filter build a -o filter")
        .status()
        .unwrap();
    assert!(build.success());
    symlink("filter", sandbox.input("soft")).unwrap();
    fs::hard_link(sandbox.input("filter"), sandbox.input("hard")).unwrap();
    sandbox
}

#[test]
fn b9_no_command_replaces_a_file_that_it_reads() {
    let sandbox = with_filter();
    for name in ["filter", "soft", "hard", "./filter", "../in/filter"] {
        for option in ["-o", "--stats", "--report"] {
            sandbox
                .run(&format!("intersect --filter filter b {option} {name}"))
                .fails(2, &["this command reads it", option]);
        }
        for command in [
            "filter query filter b",
            "filter query filter b --count-only",
            "filter build b --like filter",
            "filter build b filter",
            "filter merge filter filter",
        ] {
            sandbox
                .run(&format!("{command} -o {name}"))
                .fails(2, &["this command reads it"]);
        }
        for command in ["insert", "remove"] {
            sandbox
                .run(&format!("filter {command} {name} filter"))
                .fails(2, &["is the filter that this command changes"]);
        }
    }
}

#[test]
fn b9_an_input_is_no_output_of_any_command_whatever_it_is_called() {
    let sandbox = with_filter();
    symlink("a", sandbox.input("link")).unwrap();
    let tasks = TASKS.iter().map(|task| format!("{} a b -o", task.words));
    let others = [
        "intersect a b --stats",
        "intersect a b --report",
        "intersect a b --save-filter",
        "compare a b --stats",
        "compare a b --report",
        "overlaps a b --report",
        "compare a b --list-false",
        "compare --operation diff a b --list-missing",
        "filter build a -o",
        "filter query filter a -o",
    ];
    let commands: Vec<String> = tasks.chain(others.map(str::to_owned)).collect();
    for (name, command) in sweep::pairs(&["a", "link", "./a"], &commands) {
        sandbox
            .run(&format!("{command} {name}"))
            .fails(2, &["this command reads it"]);
    }
}

#[test]
fn b9_what_standard_streams_are_redirected_to_counts() {
    let sandbox = with_filter();
    // Standard input is a file that the output would replace.
    for task in &TASKS {
        let mut command = sandbox.command(&format!("{} - b -o a", task.words));
        command.stdin(fs::File::open(sandbox.input("a")).unwrap());
        let outcome = sandbox.start(command).finish();
        outcome.fails(2, &["a: this command reads it"]);
    }
    // The report goes to standard error, and that to an input: nothing is left to say it on.
    let mut command = sandbox.command("intersect a b --count-only --stats -");
    let append = OpenOptions::new().append(true).open(sandbox.input("a"));
    command.stderr(append.unwrap()).stdout(Stdio::null());
    assert_eq!(command.status().unwrap().code(), Some(2));
    sandbox.write("a", lines(0..500));
    // Standard output is appended to a file that is read.
    let others = [
        "plan a b",
        "estimate a b",
        "compare a b",
        "filter query filter a",
    ];
    let tasks = TASKS.iter().map(|task| format!("{} a b", task.words));
    for arguments in tasks.chain(others.map(str::to_owned)) {
        let mut command = sandbox.command(&arguments);
        let append = OpenOptions::new()
            .append(true)
            .open(sandbox.input("a"))
            .unwrap();
        command.stdout(append);
        let outcome = sandbox.start_unread(command).finish();
        outcome.fails(2, &["standard output: goes to a, which this command reads"]);
    }
    sandbox.write("key", "0".repeat(64));
    let mut command = sandbox.command("plan a b --hash-key-file key");
    let append = OpenOptions::new().append(true).open(sandbox.input("key"));
    command.stdout(append.unwrap());
    let outcome = sandbox.start_unread(command).finish();
    outcome.fails(
        2,
        &["standard output: goes to key, which this command reads"],
    );
}

#[test]
fn f8_a_dash_is_standard_output_for_every_result() {
    let (a, b) = (lines(0..500), lines(250..900));
    let sandbox = with_filter();
    for task in &TASKS {
        let outcome = sandbox.run(&format!("{} a b -o -", task.words));
        let answer = task.of(&[&a, &b]);
        answer.assert_is(&outcome.succeeds_silently().stdout, task.words);
    }
    let queried = sandbox.run("filter query filter b -o -");
    assert_eq!(
        queried.succeeds().stdout,
        sandbox.run("filter query filter b").stdout
    );
    let built = sandbox.run("filter build --like filter a -o -");
    built.succeeds();
    sandbox.write("copy", &built.stdout);
    sandbox.run("filter query copy a --count-only").succeeds();
    // Nobody could tell the result from what it drops.
    sandbox.fifo("pipe");
    for arguments in [
        "union a b -D /dev/stdout",
        "union a b -D -",
        "union a b -o pipe -D pipe",
    ] {
        sandbox
            .run(arguments)
            .fails(2, &["both -o and --duplicates would write to it"]);
    }
    sandbox
        .run("intersect a b --save-filter - --strategy bloom")
        .fails(
            2,
            &["standard output: both -o and --save-filter would write to it"],
        );
    assert!(!sandbox.input("-").exists());
}

#[test]
fn f5_a_loop_of_links_as_output_is_refused_and_stays() {
    let sandbox = Sandbox::with(&lines(0..10), &lines(0..10));
    symlink("pong", sandbox.output("ping")).unwrap();
    symlink("ping", sandbox.output("pong")).unwrap();
    let others = ["--stats", "--report", "--save-filter"];
    let others = others.map(|option| format!("intersect a b {option}"));
    let tasks = TASKS.iter().map(|task| format!("{} a b -o", task.words));
    for option in tasks.chain(others) {
        // A loop has no content that the sandbox could compare.
        let mut command = sandbox.command(&format!("{option} ../out/ping"));
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{option}: {said}");
        assert!(said.contains("Too many levels of symbolic links"), "{said}");
        for name in ["ping", "pong"] {
            assert!(sandbox.output(name).is_symlink(), "{option}: {name}");
        }
    }
    // A chain that ends where nothing is yet is followed to its end.
    fs::remove_file(sandbox.output("ping")).unwrap();
    fs::remove_file(sandbox.output("pong")).unwrap();
    symlink("second", sandbox.output("first")).unwrap();
    symlink("new", sandbox.output("second")).unwrap();
    let mut command = sandbox.command("intersect a b -q -o ../out/first");
    assert!(command.status().unwrap().success());
    for name in ["first", "second"] {
        assert!(sandbox.output(name).is_symlink());
    }
    assert!(sandbox.output("new").is_file() && !sandbox.output("new").is_symlink());
}

#[test]
fn b9_a_stream_that_is_appended_to_the_filter_is_refused() {
    let sandbox = with_filter();
    let before = fs::read(sandbox.input("filter")).unwrap();
    let append = || {
        let mut options = OpenOptions::new();
        Stdio::from(options.append(true).open(sandbox.input("filter")).unwrap())
    };
    for arguments in [
        "filter insert filter b",
        "filter insert filter b --print-new",
        "filter build b -o filter",
        "filter merge hard-copy hard-copy -o filter",
        "intersect a b --save-filter filter --strategy bloom",
    ] {
        fs::copy(sandbox.input("filter"), sandbox.input("hard-copy")).unwrap();
        for is_stdout in [true, false] {
            let mut command = sandbox.command(arguments);
            if is_stdout {
                command.stdout(append());
            } else {
                command.stderr(append());
            }
            let status = command.status().unwrap();
            let after = fs::read(sandbox.input("filter")).unwrap();
            if is_stdout {
                assert_eq!((status.code(), &after), (Some(2), &before), "{arguments}");
            } else {
                // The message itself goes behind the filter.
                assert_eq!(status.code(), Some(2), "{arguments}");
                assert!(after.starts_with(&before), "{arguments}");
                fs::write(sandbox.input("filter"), &before).unwrap();
            }
        }
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn a_set_that_repeats_is_planned_as_it_is_run() {
    let empty = vec![b'\n'; 4 << 20];
    let sandbox = Sandbox::with(&empty, b"x\n\n");
    let options = "a b --strategy memory -m 16M";
    sandbox
        .run(&format!("intersect {options} --count-only"))
        .succeeds();
    sandbox.run(&format!("plan {options}")).succeeds();
    sandbox.run(&format!("compare {options}")).succeeds();
}
