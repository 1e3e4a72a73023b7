//! The statistics of a run: every name, and the true numbers.

use std::fs;

use serde_json::Value;

use crate::data::{EXACT, common, lines, megabytes, small, split};
use crate::json::{assert_has_keys, number, parse};
use crate::sandbox::{CODE_OF_DEBUG, Sandbox};

fn stats_of(sandbox: &Sandbox, options: &str) -> Value {
    let outcome = sandbox.run(&format!("intersect {options} --stats ../out/stats"));
    outcome.succeeds();
    parse(&fs::read(sandbox.output("stats")).unwrap())
}

#[test]
fn the_report_has_every_name_and_the_true_numbers() {
    let (a, b) = (megabytes(6, 0), megabytes(7, 100_000));
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
            &format!("b a --strategy {strategy} --memory {}K", memory << 10),
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
        assert!(
            peak > 2e6 && peak <= limit + CODE_OF_DEBUG as f64,
            "{peak} of {limit}"
        );
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
            "1,000 common lines (exact, sieve)",
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
fn statistics_and_page_say_where_they_come_from() {
    let sandbox = Sandbox::with(b"x\n", b"x\n");
    let before = sandbox.run("-m 32M --stats - --hash-key 00 -q union a b");
    before.fails(2, &["--hash-key"]);
    let before = sandbox.run("-m 32M --stats - -q union a b");
    let before = parse(before.succeeds().stderr.as_bytes());
    assert_eq!(before["origin"]["options"]["--memory"][0], "32M");
    let key = "0123456789abcdef".repeat(4);
    let arguments = format!(
        "union a b -q -m 32M --hash-key {key} --order sorted --stats ../out/s --report ../out/r.html -o ../out/it's"
    );
    let mut command = sandbox.command("union");
    command.args(arguments.split(' ').skip(1));
    sandbox.start(command).finish().succeeds();
    let stats = parse(&std::fs::read(sandbox.output("s")).unwrap());
    let origin = &stats["origin"];
    assert_eq!(origin["version"], stats["version"]);
    let line = origin["command_line"].as_str().unwrap();
    assert!(
        line.ends_with(r"--report ../out/r.html -o '../out/it'\''s'"),
        "{line}"
    );
    assert!(
        line.contains(" union a b -q -m 32M --hash-key HIDDEN "),
        "{line}"
    );
    assert_eq!(origin["options"]["--memory"][0], "32M");
    assert_eq!(origin["options"]["--order"][0], "sorted");
    assert_eq!(origin["options"]["--strategy"][0], "auto");
    assert!(origin["options"].get("--count").is_none());
    let date = origin["date"].as_str().unwrap();
    assert!(
        date.starts_with("20") && date.ends_with('Z') && date.len() == 20,
        "{date}"
    );
    assert!(origin["machine"]["cores"].as_u64() > Some(0));
    assert!(origin["machine"]["memory_bytes"].as_u64() > Some(1 << 20));
    assert_eq!(
        origin["temp_dirs"][0].as_str(),
        Some(sandbox.temp().to_str().unwrap())
    );
    let page = std::fs::read_to_string(sandbox.output("r.html")).unwrap();
    for part in ["How this was made", "--hash-key HIDDEN", "32M", date] {
        assert!(page.contains(part), "no {part:?} on the page");
    }
    for text in [&page, &stats.to_string()] {
        assert!(!text.contains(&key), "the key of the hash is in a report");
    }
    // Those that have no page, and one without statistics.
    sandbox
        .run("compare a b --max-fpr 1% -q --stats ../out/c --report ../out/c.html")
        .succeeds();
    let compared = parse(&std::fs::read(sandbox.output("c")).unwrap());
    assert!(
        compared["origin"]["command_line"]
            .as_str()
            .unwrap()
            .contains(" compare a b ")
    );
    sandbox
        .run("overlaps a b -q --report ../out/o.html")
        .succeeds();
    for page in ["c.html", "o.html"] {
        let page = std::fs::read_to_string(sandbox.output(page)).unwrap();
        assert!(page.contains("How this was made"), "{page}");
    }
}
