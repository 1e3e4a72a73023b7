//! The words that the command line takes and says (rows I14, I15 and K of `tests/matrix.tsv`): rates that are kept or
//! refused, numbers that are no numbers, names with control characters, and the argument that a usage error points to.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;

use differential::sweep;
use serde_json::Value;

use crate::data::{lines, megabytes};
use crate::sandbox::Sandbox;
use crate::terminal::Terminal;

fn stdout(sandbox: &Sandbox, arguments: &str) -> String {
    let outcome = sandbox.run(arguments);
    String::from_utf8(outcome.succeeds().stdout.clone()).unwrap()
}

fn json(sandbox: &Sandbox, arguments: &str) -> Value {
    serde_json::from_str(&stdout(sandbox, arguments)).unwrap()
}

// Rates.

#[test]
fn i14_a_filter_that_was_built_for_a_rate_is_accepted_at_it() {
    let sandbox = Sandbox::with(&lines(0..20_000), &lines(10_000..30_000));
    let kinds = ["blocked", "classic", "counting", "spectral", "fingerprint"];
    let rates = ["35%", "10%", "1%", "0.01%"];
    // Whether the fill's rate is above the prediction is a matter of chance.
    for (kind, rate, key) in sweep::triples(&kinds, &rates, &[0, 1, 2, 3, 4, 5]) {
        let accepted: f64 = rate.trim_end_matches('%').parse().unwrap();
        let build = "filter build a -o ../out/f --lines 20000";
        sandbox
            .run(&format!(
                "{build} --kind {kind} --max-fpr {rate} --hash-key {key:064x}"
            ))
            .succeeds_silently();
        let info = json(&sandbox, "filter info ../out/f --json");
        let planned = info["planned_fpr"].as_f64().unwrap();
        assert!(planned <= accepted / 100.0, "{kind} {rate}: {planned}");
        let plan = format!("plan --filter ../out/f b --max-fpr {rate} --json");
        let predicted = json(&sandbox, &plan)["filter"]["predicted_fpr"].clone();
        assert!(predicted.as_f64().unwrap() <= planned, "{predicted}");
        sandbox
            .run(&format!("intersect --filter ../out/f b --max-fpr {rate}"))
            .succeeds();
    }
}

#[test]
fn i14_a_filter_with_more_lines_than_planned_is_judged_by_its_fill_and_the_refusal_says_so() {
    let sandbox = Sandbox::with(&lines(0..20_000), &lines(10_000..30_000));
    for kind in ["blocked", "classic", "counting"] {
        let build = format!("filter build a -o ../out/f --kind {kind} --max-fpr 1%");
        sandbox.run(&format!("{build} --lines 18000")).succeeds();
        sandbox
            .run("intersect --filter ../out/f b --max-fpr 1%")
            .fails(6, &["max-fpr: ", "was built for 18000 lines", "larger"]);
        // Repeats are no more lines.
        sandbox
            .run(&format!("{build} --lines 20000"))
            .succeeds_silently();
        sandbox.run("filter insert ../out/f a").succeeds_silently();
        sandbox
            .run("intersect --filter ../out/f b --max-fpr 1%")
            .succeeds();
        // A filter that is nearly empty is better than what it was built for.
        sandbox
            .run(&format!("{build} --lines 200000"))
            .succeeds_silently();
        sandbox
            .run("intersect --filter ../out/f b --max-fpr 0.01%")
            .succeeds();
        sandbox
            .run("intersect --filter ../out/f b --max-fpr 1e-9%")
            .fails(6, &["max-fpr: ", "build a larger filter"]);
    }
}

#[test]
fn k9_a_rate_of_zero_that_is_given_is_kept() {
    let sandbox = Sandbox::with(&lines(0..3000), &lines(2000..6000));
    sandbox
        .run("filter build a -o ../out/f")
        .succeeds_silently();
    for command in [
        "intersect a b --strategy bloom",
        "plan a b --strategy bloom",
        "plan --lines 5e9,5e9 --strategy bloom",
        "compare a b",
        "intersect --filter ../out/f b",
        "plan --filter ../out/f b",
    ] {
        sandbox
            .run(&format!("{command} --max-fpr 0"))
            .fails(6, &["max-fpr: ", "is above 0%: no filter has a rate of 0"]);
    }
    sandbox
        .run("compare a b --max-fpr 0 --sweep max-fpr=5%")
        .fails(2, &["--max-fpr: cannot be combined"]);
    let plan = json(&sandbox, "plan a b --max-fpr 0 --json");
    assert_eq!(plan["exact"], true);
    // One that is not given allows any.
    sandbox.run("intersect a b --strategy bloom").succeeds();
}

#[test]
fn k10_a_low_rate_gets_the_bits_that_it_takes_or_the_message_says_what_stands_against_it() {
    let sandbox = Sandbox::new();
    let plan = "plan --lines 1e6,1e6 -m 1G --strategy bloom --max-fpr";
    for rate in [1e-6, 1e-9, 1e-10] {
        let found = json(&sandbox, &format!("{plan} {rate} --json"));
        let predicted = found["filter"]["predicted_fpr"].as_f64().unwrap();
        assert!(predicted <= rate && predicted > rate / 20.0, "{found:#}");
        let bits = found["filter"]["bits_per_key"].as_f64().unwrap();
        assert!((32.0..=129.0).contains(&bits), "{bits}");
    }
    let three = "plan --lines 1e6,1e6,1e6 -m 1G --strategy bloom --max-fpr 1e-9 --json";
    assert!(json(&sandbox, three)["filter"]["predicted_fpr"].as_f64() <= Some(1e-9));
    sandbox
        .run(&format!("{plan} 1e-12"))
        .fails(6, &["128 bits per key is too few"]);
    sandbox
        .run(&format!("{plan} 1e-9 --bits-per-key 20"))
        .fails(6, &["20 bits per key are too few", "raise --bits-per-key"]);
    let large = "plan --lines 5e9,5e9 -m 1G --strategy bloom --max-fpr 1e-9";
    sandbox
        .run(large)
        .fails(6, &["give about ", " GiB of memory"]);
}

// Sizes and numbers.

#[test]
fn i15_a_filter_of_any_size_is_built_or_refused_in_words_of_the_command() {
    let sandbox = Sandbox::with(&lines(0..10), &lines(0..10));
    for kind in ["blocked", "classic", "counting", "spectral", "fingerprint"] {
        let build = format!("filter build -o ../out/f --kind {kind}");
        sandbox
            .run(&format!("{build} a --size 1 --lines 10"))
            .succeeds();
        let all = sandbox.run("filter query ../out/f b --count-only");
        assert_eq!(all.succeeds().stdout, b"10\n", "{kind}");
        for size in ["--max-fpr 1%", "--bits-per-key 1e6"] {
            sandbox
                .run(&format!("{build} --lines 18446744073709551615 {size}"))
                .fails(2, &["filter: ", "18446744073709551615 lines", "128 TiB"]);
        }
        sandbox
            .run(&format!("{build} --lines 10 --size 1P"))
            .fails(2, &["filter: ", "128 TiB", "give fewer"]);
    }
}

#[test]
fn k1_more_lines_than_any_machine_has_are_refused() {
    let sandbox = Sandbox::new();
    for lines in ["1e19,1e19", "5,1e19", "1e16,1e16"] {
        sandbox
            .run(&format!("plan --lines {lines}"))
            .fails(2, &["inputs: ", "64 PiB", "give smaller numbers"]);
    }
    let most = "plan --lines 1e15,1e15 --line-bytes 72 -m 4G --json";
    let plan = json(&sandbox, most);
    assert!(plan["bytes_read"].as_u64().unwrap() >= 2 * 72 * 10u64.pow(15));
}

#[test]
fn k4_a_limit_that_is_a_byte_too_small_is_named_to_the_byte() {
    let sandbox = Sandbox::with(b"a\n", b"a\n");
    sandbox
        .run("intersect a b -m 16777215")
        .fails(6, &["16777215 bytes is too low", "give at least 16 MiB"]);
    sandbox
        .run("intersect a b -m 15M")
        .fails(6, &["15 MiB is too low", "give at least 16 MiB"]);
}

#[test]
fn k5_a_count_that_is_not_whole_is_refused() {
    let sandbox = Sandbox::new();
    sandbox
        .run("plan --lines 1.5,5")
        .fails(2, &["usage: ", "'1.5' is not a count"]);
    let size = json(&sandbox, "size --lines 1.5M --max-fpr 1% --json");
    assert_eq!(size["lines"], 1_500_000);
}

// Words.

#[test]
fn k2_names_with_control_characters_are_escaped_on_standard_output() {
    let sandbox = Sandbox::with(&lines(0..100), &lines(50..150));
    let name = OsStr::from_bytes(b"red\x1b[31m\nrest");
    std::fs::rename(sandbox.input("a"), sandbox.input("x").with_file_name(name)).unwrap();
    let run = |words: &[&str]| {
        let mut command = sandbox.command(words[0]);
        command.args(&words[1..]);
        let outcome = sandbox.start(command).finish();
        String::from_utf8(outcome.succeeds().stdout.clone()).unwrap()
    };
    let name = name.to_str().unwrap();
    let filter = format!("../out/{name}");
    run(&["filter", "build", name, "-o", &filter]);
    for words in [
        &["estimate", name, "b"][..],
        &["plan", name, "b", "-m", "16M"],
        &["plan", "--filter", &filter, name],
        &["compare", name, "b"],
        &["filter", "info", &filter],
    ] {
        let text = run(words);
        let is_fit = |c: char| c == '\n' || !c.is_control();
        assert!(text.chars().all(is_fit), "{words:?}: {text:?}");
        assert!(!text.lines().any(|line| line.starts_with("rest")), "{text}");
    }
    for words in [&["estimate", name, "b"][..], &["filter", "info", &filter]] {
        let text = run(words);
        assert!(text.contains("red\\u{1b}[31m\\nrest"), "{text}");
    }
    let report: Value = serde_json::from_str(&run(&["estimate", name, "b", "--json"])).unwrap();
    assert_eq!(report["inputs"][0]["path"], name);
}

#[test]
fn k3_a_hash_key_beside_a_filter_is_refused() {
    let sandbox = Sandbox::with(&lines(0..100), &lines(50..150));
    sandbox
        .run("filter build a -o ../out/f")
        .succeeds_silently();
    let key = "0".repeat(64);
    for command in ["intersect", "plan"] {
        sandbox
            .run(&format!("{command} --filter ../out/f b --hash-key {key}"))
            .fails(2, &["--hash-key: a stored filter contains", "leave"]);
    }
}

#[test]
fn k6_an_overfull_filter_is_not_called_wrong_for_a_rate_instead_of_the_same() {
    let sandbox = Sandbox::with(&lines(0..20_000), &lines(0..10));
    let build = "filter build a -o ../out/f --lines 10000 --bits-per-key 0.05 --hashes 1";
    let outcome = sandbox.run(build);
    let text = &outcome.succeeds().stderr;
    assert!(text.contains(": overfull ("), "{text}");
    assert!(!text.contains(" instead of "), "{text}");
    assert!(text.contains("), false-positive rate 100"), "{text}");
}

#[test]
fn k7_a_terminal_without_a_name_gets_no_control_sequences() {
    let sandbox = Sandbox::with(&lines(0..100_000), &lines(50_000..150_000));
    for name in [Some(""), Some("dumb"), None] {
        for more in ["", "--progress always"] {
            let (terminal, end) = Terminal::open();
            let mut command = sandbox.command(&format!("intersect a b {more}"));
            command.stderr(end);
            match name {
                Some(name) => command.env("TERM", name),
                None => command.env_remove("TERM"),
            };
            command.stdout(File::create("/dev/null").unwrap());
            let watched = terminal.listen();
            let status = command.spawn().unwrap().wait().unwrap();
            drop(command);
            let text = watched.join().unwrap();
            assert!(status.success(), "{}", String::from_utf8_lossy(&text));
            assert!(text.starts_with(b"outset: "), "TERM={name:?}: {text:?}");
            assert!(!text.contains(&0x1b), "TERM={name:?}: {text:?}");
        }
    }
}

#[test]
fn k8_a_usage_error_points_to_the_help_of_its_command() {
    let sandbox = Sandbox::new();
    for (arguments, command) in [
        ("intersect --nothing a b", "outset intersect"),
        ("intersect a b --memory much", "outset intersect"),
        ("filter build", "outset filter build"),
        ("filter build -o f --kind none", "outset filter build"),
        ("filter nothing", "outset filter"),
        ("plan intersect --nothing", "outset plan"),
        ("nothing", "outset"),
        ("--nothing", "outset"),
    ] {
        let see = format!(": see '{command} --help'");
        sandbox.run(arguments).fails(2, &["usage: ", &see]);
        let help = command.trim_start_matches("outset").to_owned() + " --help";
        sandbox.run(&help).succeeds();
    }
}

#[test]
fn k12_what_was_probably_meant_is_said() {
    let sandbox = Sandbox::with(b"x\n", b"x\n");
    for (arguments, meant) in [
        ("intersct a b", "'intersect'"),
        ("overlap a b", "'overlaps'"),
        ("filter biuld a", "'build'"),
        ("intersect --memroy 64M a b", "'--memory'"),
        ("union --keep-ordr a", "'--keep-order'"),
        ("intersect --strategy memroy a b", "'memory'"),
        ("plan --operation symdif a b", "'symdiff'"),
        ("--vresion", "'--version'"),
    ] {
        let meant = format!(" (did you mean {meant}?): see 'outset");
        sandbox.run(arguments).fails(2, &["usage: ", &meant]);
    }
    sandbox
        .run("intersect a b --nothing-like-it")
        .fails(2, &["'--nothing-like-it' found: see"]);
}

#[test]
fn k12_options_may_stand_before_the_command() {
    let sandbox = Sandbox::with(b"x\ny\n", b"x\n");
    for (arguments, expected) in [
        ("--memory 64M intersect a b", "x\n"),
        ("-m 64M diff a b", "y\n"),
        ("-q --order sorted -m 64M union a -j 1", "x\ny\n"),
        ("--strategy partition difference a b", "y\n"),
    ] {
        let outcome = sandbox.run(arguments);
        assert_eq!(
            outcome.succeeds().stdout,
            expected.as_bytes(),
            "{arguments}"
        );
    }
    sandbox
        .run("-q --max-fpr 1% filter build a -o ../out/f")
        .succeeds();
    // What is wrong behind the command is named as ever, and no word is taken for a command that may be a value.
    sandbox
        .run("--memory 64 intersect a b")
        .fails(6, &["64 B is too low"]);
    sandbox
        .run("--memory 64M intersect a b --nothing")
        .fails(2, &["'--nothing'"]);
    sandbox
        .run("--nothing intersect a b")
        .fails(2, &["'--nothing'"]);
    for (arguments, option, command) in [
        ("--temp-dir diff intersect a b", "--temp-dir", "outset diff"),
        (
            "filter --memory 64M build a",
            "--memory",
            "outset filter build",
        ),
    ] {
        let what = format!("{option} stands before the command");
        let advice = format!("as in {command} {option}: see ");
        sandbox
            .run(arguments)
            .fails(2, &["usage: ", &what, &advice]);
    }
}

#[test]
fn k12_the_last_of_two_values_counts() {
    let sandbox = Sandbox::with(&lines(0..100), &lines(50..150));
    let plan = json(
        &sandbox,
        "plan a b -m 64M --json -m 32M --strategy memory --strategy partition",
    );
    assert_eq!(plan["strategy"], "partition");
    let stats = sandbox.run("union a b -q -q -m 64M --memory 32M --stats -");
    let stats: Value = serde_json::from_str(&stats.succeeds().stderr).unwrap();
    assert_eq!(stats["memory"]["limit_bytes"], 32 << 20);
    // Options that may be repeated still add up.
    assert_eq!(
        stdout(&sandbox, "union --count-only --side a --side b"),
        "150\n"
    );
}

#[test]
fn k12_a_number_out_of_range_is_refused_in_plain_words() {
    let sandbox = Sandbox::with(b"x\n", b"x\n");
    for (arguments, advice) in [
        ("intersect a b --at-least 0", "give a number of 1 or more"),
        ("intersect a b --exactly 0", "give a number of 1 or more"),
        ("intersect a b --buckets x", "give a whole number"),
        (
            "intersect a b --buckets 99999999999",
            "give a number of 1 or more",
        ),
        (
            "plan --lines 5 --line-bytes 0",
            "give a number of 1 or more",
        ),
        (
            "size --lines 5 --max-fpr 1% --hashes 65",
            "give a number from 1 to 64",
        ),
    ] {
        let refused = sandbox.run(arguments);
        refused.fails(2, &["usage: ", advice]);
        assert!(!refused.stderr.contains(" is not in "), "{refused}");
    }
}

#[test]
fn k12_a_temporary_directory_that_is_not_there_gets_a_word() {
    let sandbox = Sandbox::with(b"x\n", b"x\n");
    for command in ["union a b", "overlaps a b"] {
        let said = |more: &str| {
            let outcome = sandbox.run(&format!("{command} {more}"));
            outcome.succeeds().stderr.clone()
        };
        let found = said("-T nowhere -T ../temp");
        assert!(
            found.starts_with("outset: nowhere: is not a directory: "),
            "{found}"
        );
        assert_eq!(found.lines().count(), 2, "{found}");
        assert_eq!(said("-T nowhere -q"), "");
        assert_eq!(said("-T .").lines().count(), 1);
    }
    // Not of a run that goes on to fail.
    sandbox.write("many", megabytes(24, 0));
    let failing = "union many -m 16M --strategy partition -T nowhere --progress always";
    let outcome = sandbox.run(failing);
    outcome.fails(4, &["nowhere: "]);
    assert!(!outcome.stderr.contains("has needed no"), "{outcome}");
}

#[test]
fn k14_an_option_that_would_be_ignored_is_refused() {
    let sandbox = Sandbox::with(b"x\n", b"y\n");
    sandbox
        .run("filter build a -o ../out/f")
        .succeeds_silently();
    for (arguments, said) in [
        ("union a --all --duplicates-format map", "'--all' cannot"),
        (
            "union a --count-only --duplicates-format map",
            "'--count-only' cannot",
        ),
        ("plan a b --machines 3", "cannot be used with '--machines"),
        ("plan a b --tasks 3", "cannot be used with '--tasks"),
        ("plan --lines 5,5 --via cat", "cannot be used with '--via"),
        ("plan --lines 5,5 -0", "cannot be used with '--null"),
        ("filter insert ../out/f b --compress gz", "--print-new"),
        (
            "compare a b --compress gz",
            "--compress: there is no list of lines to compress: leave it out, or name a file with --list-false",
        ),
    ] {
        sandbox.run(arguments).fails(2, &[said]);
    }
}

#[test]
fn k14_advice_is_about_the_option_that_was_given() {
    let sandbox = Sandbox::with(b"x\n", b"y\n");
    sandbox
        .run("filter build a -o ../out/f")
        .succeeds_silently();
    sandbox.write("key", "0".repeat(64));
    for (arguments, said) in [
        (
            "union a --jsonl -k a --header-of 1=yes",
            "--header-of: JSON objects have no header: leave out --header-of",
        ),
        (
            "union a --csv -k 1 --key-of 5=2",
            "--key-of: there is no file 5",
        ),
        (
            "intersect a --filter ../out/f --hash-key-file key",
            "'--filter <FILTER>' cannot be used with '--hash-key-file <FILE>'",
        ),
        (
            "union a b -D ../out/d --keep none",
            "--keep none: drops every copy, so -D has no kept line to refer to",
        ),
        (
            "compare a -",
            "-: compare reads each input several times, and a pipe can be read only once",
        ),
    ] {
        sandbox.run(arguments).fails(2, &[said]);
    }
    let outcome = sandbox.run("union a --via false");
    outcome.fails(3, &["its output may be incomplete: run it by itself"]);
}

#[test]
fn k13_counts_that_people_read_are_in_groups_of_three() {
    let sandbox = Sandbox::with(&lines(0..1234), &lines(0..1234));
    let summary = sandbox.run("intersect a b").succeeds().stderr.clone();
    assert!(
        summary.starts_with("outset: 1,234 common lines ("),
        "{summary}"
    );
    let estimate = stdout(&sandbox, "estimate a b");
    assert!(
        estimate.starts_with("a: 1,234 lines, 1,234 distinct\n"),
        "{estimate}"
    );
    let verbose = sandbox.run("union a b -v").succeeds().stderr.clone();
    assert!(verbose.contains(": 1,234 lines, "), "{verbose}");
    let approximate = sandbox
        .run("intersect a b --strategy bloom -q")
        .succeeds()
        .stderr
        .clone();
    assert!(
        approximate.contains(" of its 1,234 lines, "),
        "{approximate}"
    );
    // What programs read is plain.
    assert_eq!(stdout(&sandbox, "intersect a b --count-only"), "1234\n");
    assert_eq!(
        json(&sandbox, "estimate a b --json")["inputs"][0]["lines"],
        1234
    );
}

#[test]
fn k8_help_is_a_command_and_has_no_page() {
    let sandbox = Sandbox::new();
    for command in ["intersect", "filter", "filter build"] {
        let help = stdout(&sandbox, &format!("help {command}"));
        assert_eq!(help, stdout(&sandbox, &format!("{command} --help")));
    }
    assert_eq!(stdout(&sandbox, "help"), stdout(&sandbox, "--help"));
    assert_eq!(
        stdout(&sandbox, "filter help build"),
        stdout(&sandbox, "help filter build")
    );
    sandbox
        .run("help nothing")
        .fails(2, &["usage: ", "nothing"]);
    sandbox
        .run("man help")
        .fails(2, &["man: ", "has no command help"]);
    assert!(!stdout(&sandbox, "man").contains("outset\\-help"));
    assert!(!stdout(&sandbox, "man filter").contains("filter\\-help"));
}

// A set that is tried.

#[test]
#[ignore = "slow: close to a second"]
fn k11_a_set_of_lines_that_repeat_is_tried_in_a_small_limit() {
    let sandbox = Sandbox::with(&b"\n".repeat(8_000_000), &b"\n".repeat(8_000_001));
    let outcome = sandbox.run("intersect a b --strategy memory -m 16384K --count-only");
    assert_eq!(outcome.succeeds().stdout, b"1\n");
}

#[test]
fn k11_the_refusal_of_a_set_that_was_tried_says_what_does_even_if_less_would() {
    let many: Vec<u8> = [lines(0..200_000), lines(0..200_000)].concat();
    let sandbox = Sandbox::with(&many, &many);
    let refused = sandbox.run("intersect a b --strategy memory -m 16384K");
    refused.fails(
        6,
        &[
            "does not fit in 16 MiB as an in-memory set",
            "less may be enough if many lines repeat",
        ],
    );
    let (_, advice) = refused.stderr.split_once("give at least ").unwrap();
    let mebibytes = advice.split_whitespace().next().unwrap();
    sandbox
        .run(&format!(
            "intersect a b --strategy memory -m {mebibytes}M --count-only"
        ))
        .succeeds();
}
