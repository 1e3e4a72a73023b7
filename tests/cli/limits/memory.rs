//! Memory, descriptors and address space, measured and limited from outside the process.
//!
//! The peak is what the kernel reports to `time` when the process ends; where there is no such program, what
//! `/proc` says while it goes on, which may miss the very last moments.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use differential::choices::Choices;
use differential::sweep;

use crate::data::{EXACT, common, lines, megabytes};
use crate::sandbox::{
    CODE_OF_DEBUG, INSTALLED, Outcome, Sandbox, can_trace, makes_linux_calls, outset,
};
use crate::tasks::{TASKS, Task, by_turns};

const TIME: &str = "/usr/bin/time";

/// Returns a copy of the program, as users install one. It lies in larger pieces in the page cache than what the linker
/// has written, so that more of its code may become resident.
fn installed() -> &'static Path {
    static COPY: OnceLock<PathBuf> = OnceLock::new();
    COPY.get_or_init(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let copied = directory.join(format!("outset-{}", std::process::id()));
        let path = directory.join(INSTALLED);
        fs::copy(outset(), &copied).unwrap();
        // Another process of tests may be running the one before.
        fs::rename(copied, &path).unwrap();
        path
    })
}

/// Runs the program and returns its outcome and its largest resident size in bytes, less the code of a debug build.
pub(crate) fn measured(sandbox: &Sandbox, arguments: &str) -> (Outcome, u64) {
    // The limit itself, for which a debug build gets a little more elsewhere. One that knows nothing but its peak
    // counts all of its code, and cannot do with less; then it goes over that as any other does.
    let exact = arguments.replace(" 16M", " 16384K");
    let (given, beyond) = if cfg!(portable) {
        (arguments, CODE_OF_DEBUG + (CODE_OF_DEBUG >> 1))
    } else {
        (exact.as_str(), CODE_OF_DEBUG)
    };
    let command = sandbox.command(given);
    if !Path::new(TIME).exists() {
        let (outcome, peak) = polled(sandbox, command);
        return (outcome, peak.saturating_sub(beyond));
    }
    let report = sandbox.root().join("time");
    let mut timed = Command::new(TIME);
    timed
        .args(["-q", "-f", "%M", "-o"])
        .arg(&report)
        .arg(installed())
        .args(command.get_args())
        .current_dir(command.get_current_dir().unwrap())
        .env("TMPDIR", sandbox.temp())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let outcome = sandbox.start(timed).finish();
    let text = fs::read_to_string(&report).unwrap();
    let kibibytes: u64 = text.trim().parse().unwrap();
    (outcome, (kibibytes << 10).saturating_sub(beyond))
}

fn polled(sandbox: &Sandbox, command: Command) -> (Outcome, u64) {
    let mut running = sandbox.start(command);
    let status = format!("/proc/{}/status", running.child.id());
    let mut peak = 0;
    while running.is_going_on() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
        peak = peak.max(number.unwrap_or(0u64) << 10);
        thread::sleep(Duration::from_millis(1));
    }
    (running.finish(), peak)
}

/// Numbers of threads for runs that are to stay under a limit.
const THREADS: [u32; 3] = [1, 2, 8];

/// Runs each strategy that is named, with these numbers of threads, under each limit; each must succeed and stay under
/// it.
fn stays_under(
    sandbox: &Sandbox,
    strategies: &[&str],
    mebibytes: &[u64],
    threads: &[u32],
    count: usize,
) {
    for strategy in strategies {
        for limit in mebibytes {
            for threads in threads {
                let arguments = format!(
                    "intersect a b --count-only -q --strategy {strategy} -j {threads} --memory {limit}M"
                );
                let (outcome, peak) = measured(sandbox, &arguments);
                assert!(outcome.status.success(), "{arguments}: {outcome}");
                assert_is_under(&arguments, peak);
                if !strategy.starts_with("bloom") {
                    assert_eq!(
                        outcome.stdout,
                        format!("{count}\n").into_bytes(),
                        "{arguments}"
                    );
                }
            }
        }
    }
}

const ALL: [&str; 4] = ["auto", "partition", "sieve", "bloom"];

#[test]
#[ignore = "slow: more than a second"]
fn c1_memory_stays_under_the_smallest_limit() {
    let (a, b) = (megabytes(8, 0), megabytes(8, 100_000));
    let sandbox = Sandbox::with(&a, &b);
    let count = common(&[&a, &b]).len();
    stays_under(&sandbox, &ALL, &[16], &[2], count);
    stays_under(&sandbox, &ALL[1..3], &[16], &[8], count);
}

#[test]
fn c1_memory_stays_under_the_smallest_limit_for_every_operation() {
    // Still more than the memory, with what is beside the lines; two of which the answer has an order.
    every_operation_stays_under(5, &[16], |task| task % 4 == 1);
}

#[test]
#[ignore = "slow: some 50 runs over 14 MB"]
fn c1_memory_stays_under_every_limit_for_every_operation() {
    every_operation_stays_under(7, &[16, 16, 24, 24, 64, 64], |_| true);
}

/// Runs the tasks that are wanted by their numbers under each limit, with strategies and numbers of threads by turns;
/// each must give its answer and stay under it.
fn every_operation_stays_under(
    megabytes_each: u64,
    mebibytes: &[u64],
    is_wanted: fn(usize) -> bool,
) {
    let (a, b) = (
        megabytes(megabytes_each, 0),
        megabytes(megabytes_each, megabytes_each * 10_000),
    );
    let sandbox = Sandbox::with(&a, &b);
    let mut threads = THREADS.into_iter().cycle();
    for (turn, limit) in mebibytes.iter().enumerate() {
        let ways = by_turns(turn).enumerate();
        for (_, (task, strategy)) in ways.filter(|&(number, _)| is_wanted(number)) {
            let words = task.words;
            let threads = threads.next().unwrap();
            let arguments =
                format!("{words} a b -q --strategy {strategy} -j {threads} --memory {limit}M");
            let (outcome, peak) = measured(&sandbox, &arguments);
            let answer = task.of(&[&a, &b]);
            answer.assert_is(&outcome.succeeds().stdout, &arguments);
            assert_is_under(&arguments, peak);
        }
        let both = common(&[&a, &b]).len();
        let arguments = format!("overlaps a b --strategy sieve -q --memory {limit}M");
        let (outcome, peak) = measured(&sandbox, &arguments);
        let table = String::from_utf8(outcome.succeeds().stdout.clone()).unwrap();
        let row = table.lines().find(|line| line.starts_with("11 "));
        let number = row.and_then(|row| row.split_whitespace().nth(1)).unwrap();
        assert_eq!(number, both.to_string(), "{arguments}: {table}");
        assert_is_under(&arguments, peak);
    }
}

/// The peak of a run is under the limit in mebibytes that its arguments end with.
fn assert_is_under(arguments: &str, peak: u64) {
    let limit = arguments.rsplit(' ').next().unwrap();
    let limit: u64 = limit.strip_suffix('M').unwrap().parse().unwrap();
    assert!(
        peak > 2 << 20 && peak <= limit << 20,
        "{arguments}: {} KiB resident, {} KiB over the limit",
        peak >> 10,
        peak.saturating_sub(limit << 20) >> 10
    );
}

#[test]
fn c1_the_smallest_limit_is_enough_every_time() {
    smallest_limit_is_enough(8);
}

#[test]
#[ignore = "slow: 40 runs"]
fn c1_the_smallest_limit_is_enough_every_time_of_many() {
    smallest_limit_is_enough(20);
}

/// Compresses an answer in each of two formats so many times.
fn smallest_limit_is_enough(times: usize) {
    let sandbox = Sandbox::with(b"a\n", b"b\n");
    for name in ["r.zst", "r.gz"] {
        for _ in 0..times {
            let (outcome, peak) = measured(
                &sandbox,
                &format!("union a b -q -o ../out/{name} --memory 16M"),
            );
            assert!(outcome.status.success(), "{outcome}");
            assert_is_under("--memory 16M", peak);
        }
    }
}

#[test]
fn c1_memory_stays_under_the_limit_while_an_answer_is_sorted_that_is_larger() {
    let (a, b) = (megabytes(12, 0), megabytes(12, 60_000));
    let sandbox = Sandbox::with(&a, &b);
    for limit in sweep::some(&[16, 18, 24], 1) {
        let arguments = format!("union a b --order sorted -q -o ../out/r --memory {limit}M");
        let (outcome, peak) = measured(&sandbox, &arguments);
        assert!(outcome.status.success(), "{outcome}");
        assert_is_under(&arguments, peak);
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn memory_stays_under_the_limit_when_the_set_just_fits() {
    // With 8 threads there is room for a set of about that size.
    let (a, b) = (megabytes(1, 0), megabytes(8, 0));
    let sandbox = Sandbox::with(&a, &b);
    let count = common(&[&a, &b]).len();
    stays_under(&sandbox, &["memory"], &[16, 24, 64], &THREADS, count);
}

#[test]
#[ignore = "slow: some 40 runs over 80 MB"]
fn c1_memory_stays_under_every_limit_with_inputs_much_larger() {
    let (a, b) = (megabytes(40, 0), megabytes(40, 600_000));
    let sandbox = Sandbox::with(&a, &b);
    stays_under(
        &sandbox,
        &ALL,
        &[16, 32, 64],
        &THREADS,
        common(&[&a, &b]).len(),
    );
}

#[test]
#[ignore = "slow: some 20 runs over 600 MB"]
fn c1_memory_stays_under_the_limit_with_inputs_of_twenty_times_as_much() {
    let sandbox = Sandbox::new();
    for (name, first) in [("a", 0u64), ("b", 6_000_000)] {
        let mut file = BufWriter::new(File::create(sandbox.input(name)).unwrap());
        for part in 0..40u64 {
            file.write_all(&lines(first + part * 250_000..first + (part + 1) * 250_000))
                .unwrap();
        }
        file.flush().unwrap();
    }
    stays_under(&sandbox, &ALL, &[16], &THREADS, 4_000_000);
}

#[test]
#[ignore = "slow: more than a second"]
fn c1_memory_stays_under_the_smallest_limit_when_lines_are_very_short() {
    // What is kept of each line of a sample is more than the line.
    let text = |seed| -> Vec<u8> {
        let mut choices = Choices::seeded(seed);
        let line = |_| [b'a' + choices.below(26) as u8, b'\n'];
        (0..2_000_000).flat_map(line).collect()
    };
    let sandbox = Sandbox::with(&text(1), &text(2));
    stays_under(&sandbox, &ALL, &[16], &THREADS, 26);
}

#[test]
#[ignore = "slow: some 40 runs over 100 MB"]
fn c1_h1_memory_stays_under_the_limit_when_nearly_all_lines_are_the_same() {
    let hot = "the line that nearly all lines are\n".repeat(1_000_000);
    let (a, b) = (
        [hot.as_bytes(), &megabytes(10, 0)].concat(),
        [&megabytes(10, 0), hot.as_bytes()].concat(),
    );
    let sandbox = Sandbox::with(&a, &b);
    stays_under(
        &sandbox,
        &ALL,
        &[16, 32, 64],
        &THREADS,
        common(&[&a, &b]).len(),
    );
}

#[test]
#[ignore = "slow: some 40 runs over 20 M lines"]
fn memory_stays_under_the_limit_when_all_lines_are_one_byte_long() {
    let text = |shift: usize| -> Vec<u8> {
        let byte = |number: usize| b'a' + ((number * 7 + shift) % 26) as u8;
        (0..10_000_000)
            .flat_map(|number| [byte(number), b'\n'])
            .collect()
    };
    let sandbox = Sandbox::with(&text(0), &text(13));
    stays_under(&sandbox, &ALL, &[16, 32, 64], &THREADS, 26);
}

#[test]
#[ignore = "slow: some 40 runs over 80 MB"]
fn memory_stays_under_the_limit_when_all_lines_are_long() {
    let text = |numbers: std::ops::Range<u64>| -> Vec<u8> {
        numbers
            .flat_map(|number| {
                let line = lines(number..number + 1);
                let mut long = line[..line.len() - 1].repeat(100_000 / line.len());
                long.push(b'\n');
                long
            })
            .collect()
    };
    let (a, b) = (text(0..400), text(300..700));
    let sandbox = Sandbox::with(&a, &b);
    stays_under(&sandbox, &ALL, &[16, 32, 64], &THREADS, 100);
}

#[test]
#[ignore = "slow: more than a second"]
fn memory_stays_under_the_limit_with_inputs_from_pipes() {
    let (a, b) = (megabytes(7, 0), megabytes(7, 100_000));
    for (strategy, task) in ["auto", "partition", "sieve"].into_iter().zip(&TASKS) {
        let sandbox = Sandbox::with(b"", b"");
        let (one, two) = (sandbox.fifo("one"), sandbox.fifo("two"));
        thread::scope(|scope| {
            scope.spawn(|| fs::write(one, &a).unwrap());
            scope.spawn(|| fs::write(two, &b).unwrap());
            let (outcome, peak) = measured(
                &sandbox,
                &format!("{} one two --strategy {strategy} --memory 16M", task.words),
            );
            let answer = task.of(&[&a, &b]);
            answer.assert_is(&outcome.succeeds_silently().stdout, task.words);
            assert!(peak > 2 << 20 && peak <= 16 << 20, "{strategy}: {peak}");
        });
    }
}

#[test]
fn what_the_report_says_of_the_peak_is_what_the_system_says() {
    let (a, b) = (megabytes(12, 0), megabytes(12, 100_000));
    let sandbox = Sandbox::with(&a, &b);
    let (outcome, peak) = measured(
        &sandbox,
        "intersect a b --count-only --strategy partition --memory 32M --stats -",
    );
    let stats: serde_json::Value = serde_json::from_str(&outcome.succeeds().stderr).unwrap();
    let reported = stats["memory"]["peak_rss_bytes"].as_f64().unwrap();
    assert!(
        (reported / (peak + CODE_OF_DEBUG) as f64 - 1.0).abs() < 0.1,
        "{reported} reported, {peak} seen"
    );
}

#[test]
fn d1_d2_a_hundred_buckets_need_few_descriptors() {
    buckets_need_few_descriptors(120, 4, 20, &TASKS[..1]);
}

#[test]
#[ignore = "slow: a thousand files"]
fn d1_d2_a_thousand_buckets_need_few_descriptors() {
    buckets_need_few_descriptors(1000, 24, 64, &TASKS);
}

/// Runs with this number of buckets, over inputs of this size in megabytes, under a limit in mebibytes.
fn buckets_need_few_descriptors(buckets: u64, size: u64, limit: u64, tasks: &[Task]) {
    let (a, b) = (megabytes(size, 0), megabytes(size, size * 12_000));
    let sandbox = Sandbox::with(&a, &b);
    for task in tasks {
        let words = task.words;
        let arguments = format!(
            "{words} a b --strategy partition --buckets {buckets} --memory {limit}M --stats ../out/s"
        );
        let command = sandbox.command_after("ulimit -n 16", &arguments);
        let outcome = sandbox.start(command).finish();
        let answer = task.of(&[&a, &b]);
        answer.assert_is(&outcome.succeeds_silently().stdout, &arguments);
        let stats: serde_json::Value =
            serde_json::from_slice(&fs::read(sandbox.output("s")).unwrap()).unwrap();
        let files = stats["temp"]["files"].as_u64().unwrap();
        assert!(files > buckets / 2, "only {files} files: nothing is shown");
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn d3_any_number_of_inputs_needs_few_descriptors() {
    let sandbox = Sandbox::new();
    let common = lines(0..50);
    let own = |number: u64| lines(1000 + number * 20..1020 + number * 20);
    let texts: Vec<Vec<u8>> = (0..80)
        .map(|number| [own(number), common.clone()].concat())
        .collect();
    let mut names = String::new();
    for (number, text) in texts.iter().enumerate() {
        sandbox.write(&format!("f{number}"), text);
        names = format!("{names} f{number}");
    }
    let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    for (task, strategy) in TASKS.iter().zip(EXACT.into_iter().cycle()) {
        let arguments = format!("{} {names} --strategy {strategy} --memory 32M", task.words);
        let command = sandbox.command_after("ulimit -n 30", &arguments);
        let outcome = sandbox.start(command).finish();
        let answer = task.of(&texts);
        answer.assert_is(&outcome.succeeds_silently().stdout, task.words);
    }
}

#[test]
fn d2_too_few_descriptors_fail_the_run_without_a_panic() {
    let ways = by_turns(0)
        .map(|(task, strategy)| format!("{} a b --strategy {strategy} -o ../out/r", task.words));
    too_few_descriptors((5..10).cycle().zip(ways), "open files");
}

/// Runs with these numbers of descriptors, each of which must succeed or fail with `reason` in its message.
fn too_few_descriptors(runs: impl Iterator<Item = (u32, String)>, reason: &str) {
    let sandbox = Sandbox::with(&megabytes(6, 0), &megabytes(6, 1000));
    for (descriptors, arguments) in runs {
        let command = sandbox.command_after(
            &format!("ulimit -n {descriptors}"),
            &format!("{arguments} --memory 16M"),
        );
        let outcome = sandbox.start(command).finish();
        let is_explained = outcome.stderr.contains(reason);
        assert!(outcome.status.success() || is_explained, "{outcome}");
        let _next_run_has_no_earlier_result = fs::remove_file(sandbox.output("r"));
    }
}

#[test]
fn c2_c4_a_limit_on_address_space_is_heeded() {
    let (a, b) = (megabytes(4, 0), megabytes(4, 40_000));
    let sandbox = Sandbox::with(&a, &b);
    let ways = [
        ("", "auto"),
        ("--memory 64M", "partition"),
        ("--memory 16M -j 8", "sieve"),
    ];
    for ((memory, strategy), task) in ways.into_iter().zip(&TASKS) {
        let words = task.words;
        let command = sandbox.command_after(
            "ulimit -v 307200",
            &format!("{words} a b --strategy {strategy} --stats ../out/s {memory}"),
        );
        let outcome = sandbox.start(command).finish();
        let answer = task.of(&[&a, &b]);
        answer.assert_is(&outcome.succeeds_silently().stdout, words);
        let stats: serde_json::Value =
            serde_json::from_slice(&fs::read(sandbox.output("s")).unwrap()).unwrap();
        let limit = stats["memory"]["limit_bytes"].as_u64().unwrap();
        assert!(limit <= 150 << 20, "the limit was {limit}");
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn c4_c5_more_memory_than_the_address_space_has_fails_the_run_without_a_panic() {
    let (a, b) = (megabytes(14, 0), megabytes(14, 1000));
    let sandbox = Sandbox::with(&a, &b);
    let strategies = ["memory", "partition", "sieve", "memory"];
    for (strategy, task) in strategies.into_iter().zip(&TASKS) {
        let arguments = format!(
            "{} a b --strategy {strategy} --memory 2G -o ../out/r",
            task.words
        );
        let command = sandbox.command_after("ulimit -v 102400", &arguments);
        let outcome = sandbox.start(command).finish();
        if !outcome.status.success() {
            outcome.fails(6, &["ulimit -v"]);
        }
        let _next_run_has_no_earlier_result = fs::remove_file(sandbox.output("r"));
    }
}

#[test]
fn c10_a_file_on_a_slow_disk_is_read_by_more_than_two_threads() {
    // Elsewhere every file is taken for cached.
    if !makes_linux_calls() || !can_trace() {
        return;
    }
    // The copy of a pipe is read as if it were not in the page cache; each answer takes 20 ms more.
    let sandbox = Sandbox::with(b"", &lines(0..1000));
    let trace = sandbox.root().join("trace");
    let words = [
        "strace",
        "-f",
        "-o",
        trace.to_str().unwrap(),
        "-e",
        "trace=prctl,pread64",
        "-e",
        "inject=pread64:delay_enter=20000",
    ];
    let arguments = "symdiff - b --memory 1G --strategy sieve --count-only";
    let outcome = sandbox.feed(
        sandbox.command_under(&words, arguments),
        &lines(0..1_000_000),
    );
    assert_eq!(outcome.succeeds().stdout, b"999000\n");
    let trace = fs::read_to_string(&trace).unwrap();
    let has_thread = |name: &str| trace.contains(&format!("PR_SET_NAME, \"{name}\""));
    assert!(has_thread("read-0") && has_thread("read-3"), "{trace}");
    assert!(!has_thread("read-8"), "{trace}");
}

#[test]
fn c10_threads_without_work_cost_nothing() {
    let (few, many) = (lines(0..5), lines(0..40_000));
    let sandbox = Sandbox::with(&few, &lines(2..7));
    sandbox.write("c", &many);
    sandbox.write("d", lines(10_000..60_000));
    for arguments in [
        "intersect a b",
        "intersect a b --strategy partition",
        "intersect a b --strategy sieve",
        "intersect a -",
        "intersect c d --strategy partition --memory 4G",
        "intersect c d --strategy sieve --memory 4G",
        "union c d --order input --memory 16M",
        "diff --repeats c d --memory 16M",
        "estimate a b",
    ] {
        let start = Instant::now();
        let outcome = sandbox.run_fed(&format!("{arguments} -j 4096"), &few);
        let took = start.elapsed();
        outcome.succeeds();
        // With a thread for each of the 4096 it was half a minute and more.
        assert!(took < Duration::from_secs(5), "{arguments}: {took:?}");
    }
}

#[test]
fn c11_a_stack_of_64_kib_is_enough_for_every_command() {
    let sandbox = Sandbox::with(&lines(0..3000), &lines(1000..5000));
    for (task, strategy) in by_turns(0) {
        let arguments = format!("{} a b -m 16M --strategy {strategy}", task.words);
        let command = sandbox.command_after("ulimit -s 64", &arguments);
        sandbox.start(command).finish().succeeds();
    }
    for arguments in [
        "--help",
        "intersect a b",
        "intersect a b --report ../out/r",
        "overlaps a b --report ../out/r",
        "compare a b",
        "plan a b",
        "estimate a b",
        "size --lines 10M --max-fpr 1%",
        "man",
        "completions bash",
    ] {
        let command = sandbox.command_after("ulimit -s 64", arguments);
        sandbox.start(command).finish().succeeds();
    }
    let command = sandbox.command_after("ulimit -s 64", "nonsense");
    sandbox.start(command).finish().fails(2, &["usage"]);
}

#[test]
fn d5_too_few_descriptors_get_the_advice_to_raise_their_limit() {
    let words = TASKS.iter().map(|task| task.words).chain(["compare"]);
    let ways = words.map(|words| format!("{words} a b --strategy partition"));
    too_few_descriptors((5..9).cycle().zip(ways), "(ulimit -n)");
}
