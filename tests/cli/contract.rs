//! What a run that goes well does: results, options, reports, plans; and requests that make no sense.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::thread;

use serde_json::Value;

use crate::data::{addresses, common, lines, megabytes, split};
use crate::sandbox::{Feed, Outcome, Sandbox, assert_same_lines};

const EXACT: [&str; 4] = ["auto", "memory", "partition", "sieve"];

fn small() -> (Vec<u8>, Vec<u8>) {
    (lines(0..3000), lines(2000..6000))
}

fn number(value: &Value, path: &str) -> f64 {
    let found = value.pointer(path);
    found
        .and_then(Value::as_f64)
        .unwrap_or_else(|| panic!("{path} is no number in {value:#}"))
}

fn parse(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}

fn keys(value: &Value, path: &str) -> BTreeSet<String> {
    let object = value.pointer(path).and_then(Value::as_object);
    object
        .unwrap_or_else(|| panic!("{path} is no object in {value:#}"))
        .keys()
        .cloned()
        .collect()
}

fn assert_has_keys(value: &Value, path: &str, expected: &str) {
    let keys = keys(value, path);
    for name in expected.split_whitespace() {
        assert!(keys.contains(name), "{path}/{name} is not in {value:#}");
    }
}

// Results.

#[test]
fn every_exact_strategy_writes_the_common_lines_once_and_says_nothing() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    for strategy in EXACT {
        sandbox
            .run(&format!("intersect a b --strategy {strategy}"))
            .succeeds_silently()
            .has_lines(&common(&[&a, &b]));
    }
}

#[test]
fn a_result_that_spills_is_the_same_for_every_exact_strategy() {
    let (a, b) = (megabytes(14, 0), megabytes(14, 200_000));
    let sandbox = Sandbox::with(&a, &b);
    let expected = common(&[&a, &b]);
    for strategy in ["auto", "partition", "sieve"] {
        sandbox
            .run(&format!("intersect a b --strategy {strategy} --memory 16M"))
            .succeeds_silently()
            .has_lines(&expected);
    }
}

#[test]
fn bloom_misses_no_line_adds_only_lines_of_the_larger_input_and_each_once() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    let outcome = sandbox.run("intersect a b --strategy bloom --bits-per-key 4");
    outcome.succeeds();
    let written = split(&outcome.stdout, b'\n');
    let distinct: BTreeSet<&[u8]> = written.iter().copied().collect();
    assert_eq!(written.len(), distinct.len());
    assert!(distinct.is_superset(&common(&[&a, &b])));
    assert!(distinct.is_subset(&common(&[&b])));
    // 3000 lines are not common, and 4 bits a key let 15 % of them pass.
    let false_lines = distinct.len() - common(&[&a, &b]).len();
    assert!((200..900).contains(&false_lines), "{false_lines}");
}

#[test]
fn an_approximate_result_is_labelled_even_when_quiet_and_an_exact_one_is_not() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    for (quiet, lines) in [("", 2), ("-q", 1), ("--quiet", 1)] {
        let outcome = sandbox.run(&format!("intersect a b --strategy bloom {quiet}"));
        assert_eq!(
            outcome.succeeds().stderr.lines().count(),
            lines,
            "{outcome}"
        );
        assert!(
            outcome.stderr.starts_with("outset: approximate"),
            "{outcome}"
        );
    }
    sandbox
        .run("intersect a b --max-fpr 5% -q")
        .succeeds_silently();
}

#[test]
fn an_output_file_gets_what_standard_output_would_get() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    for strategy in EXACT {
        for option in ["-o", "--output"] {
            let outcome = sandbox.run(&format!(
                "intersect a b --strategy {strategy} {option} ../out/{strategy}"
            ));
            outcome.succeeds_silently();
            assert!(outcome.stdout.is_empty(), "{outcome}");
            let written = fs::read(sandbox.output(strategy)).unwrap();
            assert_same_lines(&written, b'\n', &common(&[&a, &b]));
        }
    }
}

#[test]
fn a_replaced_output_keeps_its_mode_and_a_link_to_it() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    let (target, link) = (sandbox.output("target"), sandbox.output("link"));
    fs::write(&target, "before").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("target", &link).unwrap();
    sandbox
        .run("intersect a b -o ../out/link")
        .succeeds_silently();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(
        fs::metadata(&target).unwrap().permissions().mode() & 0o7777,
        0o640
    );
    assert_same_lines(&fs::read(&target).unwrap(), b'\n', &common(&[&a, &b]));
}

#[test]
fn a_new_output_has_the_mode_that_the_umask_leaves() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    let command = sandbox.command_after("umask 027", "intersect a b -o ../out/new");
    sandbox.start(command).finish().succeeds_silently();
    let mode = fs::metadata(sandbox.output("new"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o640);
}

#[test]
fn a_fifo_as_output_is_written_directly() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    let fifo = sandbox.fifo("result");
    let reader = thread::spawn(move || fs::read(fifo).unwrap());
    sandbox.run("intersect a b -o result").succeeds_silently();
    assert_same_lines(&reader.join().unwrap(), b'\n', &common(&[&a, &b]));
}

#[test]
fn count_only_prints_the_number_of_lines_to_the_same_place() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    for strategy in EXACT {
        let outcome = sandbox.run(&format!("intersect a b --count-only --strategy {strategy}"));
        assert_eq!(outcome.succeeds_silently().stdout, b"1000\n", "{strategy}");
    }
    sandbox
        .run("intersect a b --count-only -o ../out/count")
        .succeeds_silently();
    assert_eq!(fs::read(sandbox.output("count")).unwrap(), b"1000\n");
}

// What a line is.

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

#[test]
fn addresses_are_intersected_with_and_without_room_for_the_bitmap() {
    let (a, b, c) = (
        addresses(0..3000),
        addresses(1000..9000),
        addresses(500..1500),
    );
    let sandbox = Sandbox::with(&a, &b);
    sandbox.write("c", &c);
    for memory in ["16M", "600M", "1G", "1200M"] {
        for (inputs, expected) in [("a b", common(&[&a, &b])), ("b c a", common(&[&a, &b, &c]))] {
            sandbox
                .run(&format!(
                    "intersect {inputs} --key-type ipv4 --memory {memory}"
                ))
                .succeeds_silently()
                .has_lines(&expected);
        }
    }
}

#[test]
fn a_line_that_is_no_address_fails_the_run_with_its_file_and_place() {
    let mut bad = addresses(0..100);
    let place = bad.len();
    bad.extend(b"10.0.0.256\n");
    bad.extend(addresses(100..200));
    let sandbox = Sandbox::with(&addresses(0..300), &bad);
    for memory in ["16M", "1G"] {
        for strategy in ["auto", "memory", "partition", "sieve", "bloom"] {
            sandbox
                .run(&format!(
                    "intersect a b --key-type ipv4 --memory {memory} --strategy {strategy} -o ../out/r"
                ))
                .fails(3, &["b: ", &format!("byte {place} "), "10.0.0.256"]);
        }
    }
}

// Inputs.

#[test]
fn one_input_is_wrong_usage() {
    let (a, b) = small();
    Sandbox::with(&a, &b).run("intersect a").fails(2, &["two"]);
}

#[test]
fn b8_the_same_file_twice_counts_as_one_and_gives_its_distinct_lines() {
    let mut doubled = lines(0..2000);
    doubled.extend(lines(500..1000));
    let sandbox = Sandbox::with(&doubled, b"");
    std::os::unix::fs::symlink("a", sandbox.input("link")).unwrap();
    for strategy in EXACT {
        for inputs in ["a a", "a ./a", "a link", "a a a"] {
            sandbox
                .run(&format!("intersect {inputs} --strategy {strategy}"))
                .succeeds_silently()
                .has_lines(&common(&[&doubled]));
        }
    }
}

#[test]
fn h10_a_line_must_be_in_all_of_many_inputs() {
    let texts: Vec<Vec<u8>> = (0..7u64).map(|i| lines(i * 100..2000 + i * 300)).collect();
    let sandbox = Sandbox::new();
    for (number, text) in texts.iter().enumerate() {
        sandbox.write(&number.to_string(), text);
    }
    let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    for strategy in EXACT {
        for (names, count) in [("2 1 0", 3), ("3 0 2 1", 4), ("6 5 4 3 2 1 0", 7)] {
            sandbox
                .run(&format!("intersect {names} --strategy {strategy}"))
                .succeeds_silently()
                .has_lines(&common(&texts[..count]));
        }
    }
}

#[test]
fn b10_standard_input_is_an_input_in_any_place_for_every_strategy() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, b"");
    for strategy in EXACT {
        for inputs in ["a -", "- a"] {
            sandbox
                .run_fed(&format!("intersect {inputs} --strategy {strategy}"), &b)
                .succeeds_silently()
                .has_lines(&common(&[&a, &b]));
        }
    }
    let outcome = sandbox.run_fed("intersect a - --strategy bloom", &b);
    let distinct: BTreeSet<&[u8]> = split(&outcome.succeeds().stdout, b'\n')
        .into_iter()
        .collect();
    assert!(distinct.is_superset(&common(&[&a, &b])));
}

#[test]
fn b11_standard_input_named_twice_is_wrong_usage() {
    let (a, b) = small();
    Sandbox::with(&a, &b)
        .run_fed("intersect - a -", &b)
        .fails(2, &["standard input", "twice"]);
}

#[test]
fn b10_fifos_are_inputs_like_any_other_even_when_all_inputs_are() {
    let (a, b) = small();
    for strategy in EXACT {
        for (first, second) in [("a", "pipe1"), ("pipe1", "pipe2")] {
            let sandbox = Sandbox::with(&a, b"");
            let mut writers = Vec::new();
            for (name, text) in [("pipe1", &b), ("pipe2", &a)] {
                let (path, text) = (sandbox.fifo(name), text.clone());
                if [first, second].contains(&name) {
                    writers.push(thread::spawn(move || fs::write(path, text)));
                }
            }
            let outcome = sandbox.run(&format!(
                "intersect {first} {second} --strategy {strategy} --memory 16M"
            ));
            outcome.succeeds_silently().has_lines(&common(&[&a, &b]));
            for writer in writers {
                writer.join().unwrap().unwrap();
            }
        }
    }
}

#[test]
fn b10_a_fifo_larger_than_memory_is_intersected_with_a_file() {
    let (a, b) = (megabytes(2, 0), megabytes(20, 30_000));
    for strategy in ["auto", "partition", "sieve"] {
        let sandbox = Sandbox::with(&a, b"");
        let path = sandbox.fifo("pipe");
        thread::scope(|scope| {
            scope.spawn(|| fs::write(&path, &b).unwrap());
            sandbox
                .run(&format!(
                    "intersect pipe a --strategy {strategy} --memory 16M"
                ))
                .succeeds_silently()
                .has_lines(&common(&[&a, &b]));
        });
    }
}

// Options.

#[test]
fn memory_has_aliases_and_takes_sizes_in_every_form() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    let limit = |option: &str| {
        let outcome = sandbox.run(&format!("intersect a b --count-only {option} --stats -"));
        number(
            &parse(outcome.succeeds().stderr.as_bytes()),
            "/memory/limit_bytes",
        )
    };
    for option in [
        "-m 64M",
        "-S 64M",
        "--memory 64M",
        "--memory-limit 64M",
        "--buffer-size 64M",
        "--memory 64m",
        "--memory 64MiB",
        "--memory 65536K",
        "--memory 65536KiB",
        "--memory 0.0625G",
        "--memory 67108864",
        "--memory 67108864B",
    ] {
        assert_eq!(limit(option), f64::from(64 << 20), "{option}");
    }
    assert_eq!(limit("--memory 64MB"), 64e6);
    assert_eq!(limit("--memory 1.5GB"), 1.5e9);
    // The machine's free memory moves between two runs.
    let (half, default) = (limit("--memory 50%"), limit(""));
    assert!((half / default - 1.0).abs() < 0.2, "{half} {default}");
    let quarter = limit("--memory 25%");
    assert!((quarter * 2.0 / half - 1.0).abs() < 0.2, "{quarter} {half}");
}

#[test]
fn values_that_make_no_sense_are_wrong_usage_and_named() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    for (options, parts) in [
        ("--memory 64Q", &["64Q", "--memory"][..]),
        ("--memory -5M", &["-5"]),
        ("--memory x", &["--memory"]),
        ("--memory 99999999999T", &["--memory"]),
        ("--max-fpr 2", &["--max-fpr"]),
        ("--max-fpr 101%", &["--max-fpr"]),
        ("--buckets 0", &["--buckets"]),
        ("--threads 0", &["--threads"]),
        ("--bits-per-key 0", &["--bits-per-key"]),
        ("--bits-per-key nan", &["--bits-per-key"]),
        ("--strategy quick", &["quick"]),
        ("--key-type ipv6", &["ipv6"]),
        ("--hash-key 12", &["--hash-key"]),
        ("--progress often", &["often"]),
        ("-v -q", &["--quiet"]),
        ("--no-such-option", &["--no-such-option"]),
    ] {
        sandbox
            .run(&format!("intersect a b {options} -o ../out/r"))
            .fails(2, parts);
    }
    sandbox.run("intersect").fails(2, &[]);
    sandbox
        .run("no-such-command")
        .fails(2, &["no-such-command"]);
    sandbox.run("plan").fails(2, &[]);
    sandbox.run("plan --lines 5e9").fails(2, &["5e9,5e9"]);
    sandbox.run("plan a b --lines 5,5").fails(2, &["--lines"]);
}

#[test]
fn any_number_of_buckets_and_threads_gives_the_same_lines() {
    let (a, b) = (megabytes(3, 0), megabytes(3, 50_000));
    let sandbox = Sandbox::with(&a, &b);
    let expected = common(&[&a, &b]);
    for (strategy, memory) in [("partition", "32M"), ("sieve", "128M")] {
        for buckets in [1, 7, 1000] {
            let outcome = sandbox.run(&format!(
                "intersect a b --strategy {strategy} --buckets {buckets} --memory {memory} --stats -"
            ));
            outcome.succeeds().has_lines(&expected);
            let stats = parse(outcome.stderr.as_bytes());
            assert_eq!(number(&stats, "/buckets/count"), f64::from(buckets));
        }
    }
    for strategy in EXACT {
        for threads in ["-j 1", "--threads 2", "-j 16"] {
            sandbox
                .run(&format!(
                    "intersect a b --strategy {strategy} {threads} --memory 64M"
                ))
                .succeeds_silently()
                .has_lines(&expected);
        }
    }
}

#[test]
fn h3_a_bucket_that_does_not_fit_memory_is_split() {
    let (a, b) = (megabytes(30, 0), megabytes(30, 400_000));
    let sandbox = Sandbox::with(&a, &b);
    let outcome =
        sandbox.run("intersect a b --strategy partition --buckets 1 --memory 16M --stats -");
    outcome.succeeds().has_lines(&common(&[&a, &b]));
    let stats = parse(outcome.stderr.as_bytes());
    assert!(number(&stats, "/buckets/split") >= 1.0, "{stats:#}");
    assert!(number(&stats, "/buckets/levels") >= 2.0, "{stats:#}");
}

#[test]
fn e9_temporary_files_go_where_the_option_says_and_to_all_of_the_places() {
    let (a, b) = (megabytes(8, 0), megabytes(8, 0));
    let sandbox = Sandbox::with(&a, &b);
    let (one, two) = (sandbox.root().join("one"), sandbox.root().join("two"));
    let pipe = sandbox.fifo("pipe");
    for directory in [&one, &two] {
        fs::create_dir(directory).unwrap();
    }
    let mut running = sandbox.start(sandbox.command(
        "intersect a b pipe --strategy partition --memory 16M -T ../one --temp-dir ../two",
    ));
    let mut feed = Feed::open(&pipe, &mut running);
    assert!(feed.send(&b[..200_000]), "the run ended early");
    for directory in [&one, &two] {
        let names: Vec<_> = fs::read_dir(directory).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
        let private = names[0].as_ref().unwrap();
        let mode = private.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o700);
        assert!(fs::read_dir(private.path()).unwrap().count() > 0);
    }
    assert_eq!(sandbox.temp_names().len(), 0, "TMPDIR was used");
    drop(feed);
    running.finish().succeeds();
    for directory in [&one, &two] {
        assert_eq!(fs::read_dir(directory).unwrap().count(), 0);
    }
}

#[test]
fn e7_without_tmpdir_temporary_files_go_beside_the_output() {
    let (a, b) = (megabytes(8, 0), megabytes(8, 0));
    let sandbox = Sandbox::with(&a, &b);
    let pipe = sandbox.fifo("pipe");
    let mut command =
        sandbox.command("intersect a b pipe --strategy partition --memory 16M -o ../out/r");
    command.env_remove("TMPDIR");
    let mut running = sandbox.start(command);
    let mut feed = Feed::open(&pipe, &mut running);
    assert!(feed.send(&b[..200_000]), "the run ended early");
    let directories = fs::read_dir(sandbox.root().join("out"))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().is_dir());
    assert_eq!(directories.count(), 1);
    drop(feed);
    running.finish().succeeds();
    assert_eq!(fs::read_dir(sandbox.root().join("out")).unwrap().count(), 1);
}

#[test]
fn h6_a_fixed_hash_key_reproduces_a_run() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    let run = || {
        let key = "0123456789abcdef".repeat(4);
        let outcome = sandbox.run(&format!(
            "intersect a b --strategy bloom --bits-per-key 3 --hash-key {key} -j 1"
        ));
        outcome.succeeds();
        let mut lines: Vec<Vec<u8>> = split(&outcome.stdout, b'\n')
            .into_iter()
            .map(<[u8]>::to_vec)
            .collect();
        lines.sort();
        lines
    };
    let first = run();
    assert!(first.len() > 1000, "no false lines: nothing is shown");
    assert_eq!(first, run());
}

#[test]
fn a_bloom_filter_with_too_high_a_rate_is_refused_before_anything_is_done() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    sandbox
        .run("intersect a b --strategy bloom --bits-per-key 8 --max-fpr 0.000001 -o ../out/r")
        .fails(6, &["max-fpr", "rate"]);
    sandbox
        .run("intersect a b --strategy bloom --bits-per-key 8 --max-fpr 3%")
        .succeeds();
}

// Reports.

fn stats_of(sandbox: &Sandbox, options: &str) -> Value {
    let outcome = sandbox.run(&format!("intersect {options} --stats ../out/stats"));
    outcome.succeeds();
    parse(&fs::read(sandbox.output("stats")).unwrap())
}

#[test]
fn the_report_has_every_name_and_the_true_numbers() {
    let (a, b) = (megabytes(8, 0), megabytes(10, 100_000));
    let sandbox = Sandbox::with(&a, &b);
    let expected = common(&[&a, &b]);
    for (strategy, memory) in [
        ("memory", 64),
        ("partition", 16),
        ("sieve", 16),
        ("bloom", 16),
    ] {
        let stats = stats_of(
            &sandbox,
            &format!("b a --strategy {strategy} --memory {memory}M"),
        );
        for (path, names) in [
            (
                "",
                "version command strategy exact seconds threads inputs output memory temp buckets phases",
            ),
            ("/inputs/0", "path bytes lines"),
            ("/inputs/1", "path bytes lines"),
            ("/output", "lines bytes"),
            ("/memory", "limit_bytes peak_rss_bytes"),
            ("/temp", "written_bytes read_bytes peak_bytes files"),
            ("/buckets", "count split largest_lines levels"),
            ("/phases/0", "name seconds bytes_read bytes_written lines"),
        ] {
            assert_has_keys(&stats, path, names);
        }
        assert_eq!(stats["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(stats["command"], "intersect");
        assert_eq!(stats["strategy"], strategy);
        assert_eq!(stats["exact"], strategy != "bloom");
        for (input, name, text) in [(0, "b", &b), (1, "a", &a)] {
            let input = &stats["inputs"][input];
            assert_eq!(input["path"], name);
            assert_eq!(input["bytes"], text.len());
            assert_eq!(input["lines"], split(text, b'\n').len());
        }
        let is_exact = strategy != "bloom";
        let bytes: usize = expected.iter().map(|line| line.len() + 1).sum();
        if is_exact {
            assert_eq!(stats["output"]["lines"], expected.len());
            assert_eq!(stats["output"]["bytes"], bytes);
        } else {
            assert!(number(&stats, "/output/lines") >= expected.len() as f64);
        }
        let limit = number(&stats, "/memory/limit_bytes");
        let peak = number(&stats, "/memory/peak_rss_bytes");
        assert_eq!(limit, f64::from(memory << 20));
        assert!(peak > 2e6 && peak <= limit, "{peak} of {limit}");
        assert!(number(&stats, "/seconds") > 0.0 && number(&stats, "/threads") >= 1.0);
        let phases = stats["phases"].as_array().unwrap();
        let read: f64 = phases
            .iter()
            .map(|phase| number(phase, "/bytes_read"))
            .sum();
        assert!(read >= (a.len() + b.len()) as f64, "{stats:#}");
        check_temp(&stats, strategy);
        check_filter(&stats, strategy, split(&a, b'\n').len());
    }
}

fn check_temp(stats: &Value, strategy: &str) {
    let temp = |name: &str| number(stats, &format!("/temp/{name}"));
    let spilled = temp("written_bytes");
    let phases = stats["phases"].as_array().unwrap();
    let written: f64 = phases
        .iter()
        .map(|phase| number(phase, "/bytes_written"))
        .sum();
    assert_eq!(spilled, written, "{stats:#}");
    assert!(temp("peak_bytes") <= spilled, "{stats:#}");
    match strategy {
        "memory" => {
            assert_eq!(
                spilled + temp("read_bytes") + temp("files"),
                0.0,
                "{stats:#}"
            );
            assert_eq!(number(stats, "/buckets/count"), 0.0);
        }
        "partition" => {
            assert!(spilled > 8e6 && temp("read_bytes") > 8e6, "{stats:#}");
            assert!(
                temp("files") >= 1.0 && temp("peak_bytes") > 0.0,
                "{stats:#}"
            );
            assert!(number(stats, "/buckets/count") >= 1.0);
            assert!(number(stats, "/buckets/largest_lines") >= 1.0);
        }
        _ => assert!(number(stats, "/buckets/count") >= 1.0),
    }
}

fn check_filter(stats: &Value, strategy: &str, keys: usize) {
    if !["sieve", "bloom"].contains(&strategy) {
        assert!(stats.get("filter").is_none(), "{stats:#}");
        return;
    }
    let names =
        "kind bits hashes keys bits_per_key predicted_fpr fill fill_fpr expected_false_lines";
    assert_has_keys(stats, "/filter", names);
    let filter = |name: &str| number(stats, &format!("/filter/{name}"));
    assert_eq!(filter("keys"), keys as f64);
    assert!((filter("bits") / filter("keys") - filter("bits_per_key")).abs() < 0.01);
    assert!((1.0..=14.0).contains(&filter("hashes")));
    assert!(filter("fill") > 0.1 && filter("fill") < 0.9, "{stats:#}");
    for rate in ["predicted_fpr", "fill_fpr"] {
        assert!(filter(rate) > 0.0 && filter(rate) < 0.5, "{stats:#}");
    }
}

#[test]
fn the_expected_false_lines_of_bloom_are_about_those_that_there_are() {
    let (a, b) = (lines(0..50_000), lines(40_000..140_000));
    let sandbox = Sandbox::with(&a, &b);
    let stats = stats_of(
        &sandbox,
        "a b --strategy bloom --bits-per-key 5 --count-only",
    );
    let expected = number(&stats, "/filter/expected_false_lines");
    let counted = number(&stats, "/output/lines") - 10_000.0;
    assert!(
        (counted / expected - 1.0).abs() < 0.1,
        "{counted} {expected}"
    );
    let rate = counted / 90_000.0;
    let predicted = number(&stats, "/filter/predicted_fpr");
    assert!((rate / predicted - 1.0).abs() < 0.1, "{rate} {predicted}");
}

#[test]
fn the_report_can_go_to_standard_error_and_standard_output_has_the_result_only() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    let outcome = sandbox.run("intersect a b --stats -");
    outcome.succeeds().has_lines(&common(&[&a, &b]));
    let stats = parse(outcome.stderr.as_bytes());
    assert_eq!(stats["output"]["lines"], 1000);
}

#[test]
fn a_report_in_the_place_of_the_result_is_wrong_usage() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    for options in [
        "-o ../out/r --stats ../out/r",
        "-o ../out/r --stats ../out/./r",
    ] {
        sandbox
            .run(&format!("intersect a b {options}"))
            .fails(2, &["--stats"]);
    }
}

#[test]
fn the_report_counts_what_came_through_standard_input() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, b"");
    for strategy in EXACT {
        let outcome = sandbox.run_fed(
            &format!("intersect - a --strategy {strategy} --stats - -o ../out/r"),
            &b,
        );
        let stats = parse(outcome.succeeds().stderr.as_bytes());
        assert_eq!(stats["inputs"][0]["path"], "-", "{strategy}");
        assert_eq!(stats["inputs"][0]["bytes"], b.len(), "{strategy}");
        assert_eq!(stats["inputs"][0]["lines"], 4000, "{strategy}");
        assert_eq!(stats["inputs"][1]["lines"], 3000, "{strategy}");
    }
}

#[test]
fn verbose_prints_the_limit_the_strategy_and_the_phases() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    for option in ["-v", "--verbose"] {
        let outcome = sandbox.run(&format!(
            "intersect a b {option} --memory 24M --strategy sieve"
        ));
        outcome.succeeds().has_lines(&common(&[&a, &b]));
        for part in [
            "24 MiB",
            "sieve",
            "filter a",
            "spill b",
            "join",
            "1000 common lines (exact, sieve)",
        ] {
            assert!(outcome.stderr.contains(part), "no {part:?}: {outcome}");
        }
        assert!(
            outcome
                .stderr
                .lines()
                .all(|line| line.starts_with("outset: ")),
            "{outcome}"
        );
    }
}

#[test]
fn help_and_version_go_to_standard_output() {
    let sandbox = Sandbox::new();
    for (arguments, part) in [
        ("--help", "intersect"),
        ("-h", "plan"),
        ("intersect --help", "--memory"),
        ("plan --help", "--lines"),
        ("--version", env!("CARGO_PKG_VERSION")),
    ] {
        let outcome = sandbox.run(arguments);
        let text = String::from_utf8_lossy(&outcome.succeeds_silently().stdout).into_owned();
        assert!(text.contains(part), "{arguments}: {text}");
    }
}

#[test]
fn f1_help_that_cannot_be_written_is_an_output_failure() {
    let sandbox = Sandbox::new();
    for arguments in ["--help", "intersect --help", "--version"] {
        let mut command = sandbox.command(arguments);
        let full = fs::OpenOptions::new().write(true).open("/dev/full");
        command.stdout(Stdio::from(full.unwrap()));
        sandbox
            .start(command)
            .finish()
            .fails(5, &["standard output", "No space left"]);
    }
}

// Plans.

fn plan_json(sandbox: &Sandbox, arguments: &str) -> Value {
    let outcome = sandbox.run(&format!("plan {arguments} --json"));
    parse(&outcome.succeeds_silently().stdout)
}

fn plan_text(sandbox: &Sandbox, arguments: &str) -> String {
    let outcome: Outcome = sandbox.run(&format!("plan {arguments}"));
    String::from_utf8(outcome.succeeds_silently().stdout.clone()).unwrap()
}

const FIVE_BILLION: &str = "--lines 5e9,5e9 --line-bytes 64 --memory 4G";

#[test]
fn five_billion_lines_in_4_gigabytes_are_a_bloom_filter_where_five_per_cent_are_accepted() {
    let sandbox = Sandbox::new();
    let plan = plan_json(&sandbox, &format!("{FIVE_BILLION} --max-fpr 5%"));
    assert_eq!(plan["strategy"], "bloom");
    assert_eq!(plan["exact"], false);
    assert_eq!(plan["filter"]["hashes"], 5);
    let bits = number(&plan, "/filter/bits_per_key");
    assert!((6.0..=6.9).contains(&bits), "{bits}");
    let rate = number(&plan, "/filter/predicted_fpr");
    assert!((0.037..0.045).contains(&rate), "{rate}");
    let false_lines = number(&plan, "/expected_false_lines");
    assert!(
        (false_lines / (rate * 5e9) - 1.0).abs() < 0.01,
        "{false_lines}"
    );
    let text = plan_text(&sandbox, &format!("{FIVE_BILLION} --max-fpr 5%"));
    for part in [
        "strategy bloom",
        "approximate",
        "4 GiB",
        "k = 5",
        "bits per key",
        "not sieve",
        "not partition",
        "not memory",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn five_billion_lines_in_4_gigabytes_are_exact_where_one_per_cent_is_accepted_or_nothing() {
    let sandbox = Sandbox::new();
    for accepted in ["", "--max-fpr 1%", "--max-fpr 0.01", "--max-fpr 0"] {
        let plan = plan_json(&sandbox, &format!("{FIVE_BILLION} {accepted}"));
        assert_eq!(plan["exact"], true, "{accepted}");
        let strategy = plan["strategy"].as_str().unwrap();
        assert!(["sieve", "partition"].contains(&strategy), "{strategy}");
        assert_eq!(number(&plan, "/expected_false_lines"), 0.0);
    }
}

#[test]
fn the_plan_as_json_has_every_name_and_a_reason_for_each_strategy_that_was_not_chosen() {
    let sandbox = Sandbox::new();
    let names = "strategy exact buckets passes bytes_read bytes_written temp_peak_bytes memory_bytes expected_false_lines";
    for arguments in [
        FIVE_BILLION.to_owned(),
        format!("{FIVE_BILLION} --max-fpr 5%"),
        format!("{FIVE_BILLION} --strategy partition"),
        "--lines 1000,1000 --memory 1G".to_owned(),
        "--lines 1e9,2e9,3e9 --line-bytes 20 --memory 1G".to_owned(),
    ] {
        let plan = plan_json(&sandbox, &arguments);
        assert_has_keys(&plan, "", names);
        assert_has_keys(&plan, "", "rejected phases");
        assert_has_keys(&plan, "/phases/0", "name bytes_read");
        let limit = if arguments.contains("4G") {
            4u64 << 30
        } else {
            1 << 30
        };
        assert!(number(&plan, "/memory_bytes") <= limit as f64, "{plan:#}");
        let mut strategies = vec![plan["strategy"].as_str().unwrap()];
        for (number, rejected) in plan["rejected"].as_array().unwrap().iter().enumerate() {
            assert!(!rejected["reason"].as_str().unwrap().is_empty());
            strategies.push(rejected["strategy"].as_str().unwrap());
            if rejected.get("costs").is_some() {
                assert_has_keys(&plan, &format!("/rejected/{number}/costs"), names);
            }
        }
        strategies.sort_unstable();
        assert_eq!(strategies, ["bloom", "memory", "partition", "sieve"]);
        if ["sieve", "bloom"].contains(&plan["strategy"].as_str().unwrap()) {
            let names = "kind bits hashes keys bits_per_key predicted_fpr";
            assert_has_keys(&plan, "/filter", names);
        }
    }
}

#[test]
fn intersect_does_what_the_plan_says() {
    let (a, b) = (megabytes(6, 0), megabytes(12, 100_000));
    let sandbox = Sandbox::with(&a, &b);
    let mut chosen = BTreeSet::new();
    for options in [
        "--memory 16M",
        "--memory 64M",
        "--memory 16M --max-fpr 5%",
        "--memory 16M --strategy partition",
        "--memory 16M --strategy sieve",
    ] {
        let plan = plan_json(&sandbox, &format!("a b {options}"));
        let outcome = sandbox.run(&format!(
            "intersect a b {options} --count-only --stats ../out/s"
        ));
        outcome.succeeds();
        let stats = parse(&fs::read(sandbox.output("s")).unwrap());
        assert_eq!(plan["strategy"], stats["strategy"], "{options}");
        assert_eq!(plan["exact"], stats["exact"], "{options}");
        // Behind a filter they are planned anew, by what passes it.
        if plan["strategy"] == "partition" {
            let (planned, used) = (&plan["buckets"], &stats["buckets"]["count"]);
            assert_eq!(planned, used, "{options}");
        }
        chosen.insert(plan["strategy"].as_str().unwrap().to_owned());
    }
    assert!(chosen.len() >= 3, "the choice was always {chosen:?}");
}

#[test]
fn a_plan_of_files_touches_nothing_and_names_a_missing_file() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    let text = plan_text(&sandbox, "a b --memory 64M");
    assert!(text.starts_with("strategy memory (exact)"), "{text}");
    sandbox.run("plan a missing").fails(3, &["missing: "]);
    sandbox.run("plan a").fails(2, &["two"]);
    sandbox.run("plan a b --memory 1M").fails(6, &["16 MiB"]);
}

#[test]
fn a_plan_that_cannot_be_written_is_an_output_failure() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&format!("plan {FIVE_BILLION}"));
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    command.stdout(Stdio::from(full.unwrap()));
    sandbox
        .start(command)
        .finish()
        .fails(5, &["standard output"]);
}

#[test]
fn standard_input_that_was_partly_read_is_another_input_than_its_file() {
    let sandbox = Sandbox::with(b"h\na\nb\n", b"");
    let file = sandbox.input("a");
    for inputs in [
        [file.as_os_str(), "-".as_ref()],
        ["-".as_ref(), file.as_os_str()],
    ] {
        let mut rest = std::fs::File::open(&file).unwrap();
        std::io::Read::read_exact(&mut rest, &mut [0; 2]).unwrap();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_outset"))
            .arg("intersect")
            .args(inputs)
            .stdin(rest)
            .output()
            .unwrap();
        let mut lines: Vec<&[u8]> = output
            .stdout
            .split_inclusive(|&byte| byte == b'\n')
            .collect();
        lines.sort_unstable();
        assert_eq!(lines, [b"a\n", b"b\n"], "{inputs:?}");
    }
}
