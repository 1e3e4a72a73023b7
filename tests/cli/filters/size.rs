//! Sizes of filters: the textbooks' figures as the program prints them, requests of every form, and those that make no
//! sense.

use serde_json::Value;

use crate::sandbox::Sandbox;

fn text(arguments: &str) -> String {
    let sandbox = Sandbox::new();
    let outcome = sandbox.run(&format!("size {arguments}"));
    outcome.succeeds_silently();
    String::from_utf8(outcome.stdout).unwrap()
}

fn json(arguments: &str) -> Value {
    serde_json::from_str(&text(&format!("{arguments} --json"))).unwrap()
}

/// The row of a kind in an answer as JSON.
fn row(answer: &Value, kind: &str) -> Value {
    let rows = answer["kinds"].as_array().unwrap();
    let found = rows.iter().find(|row| row["kind"] == kind);
    found
        .unwrap_or_else(|| panic!("no {kind} in {answer:#}"))
        .clone()
}

/// `row[name]` is `expected`, to the digits that are written: off by half of the last one at most.
fn assert_figure(row: &Value, name: &str, expected: &str) {
    let value = row[name].as_f64();
    let value = value.unwrap_or_else(|| panic!("{name} is no number in {row:#}"));
    let (mantissa, exponent) = expected.split_once('e').unwrap_or((expected, "0"));
    let decimals = mantissa
        .split_once('.')
        .map_or(0, |(_, digits)| digits.len() as i32);
    let half = 0.500_001 * 10f64.powi(exponent.parse::<i32>().unwrap() - decimals);
    let number: f64 = expected.parse().unwrap();
    assert!(
        (value - number).abs() <= half,
        "{name} is {value}, not {expected}, in {row:#}"
    );
}

fn assert_figures(row: &Value, expected: &[(&str, &str)]) {
    for (name, figure) in expected {
        assert_figure(row, name, figure);
    }
}

// The figures of the textbooks.

/// The options, the words that must be printed, and those that must be in the JSON.
type Figure = (
    &'static str,
    &'static [&'static str],
    &'static [(&'static str, &'static str)],
);

const FIGURES: [Figure; 12] = [
    (
        "n = 1 million, p = 0.01%",
        &[
            "19,170,117 bits",
            "2.285 MiB",
            "13.29",
            "k = 13, p = 0.01001%",
            "k = 14, p = 0.01008%",
        ],
        &[
            ("bits", "19170117"),
            ("hashes", "13"),
            ("hashes_exact", "13.29"),
            ("predicted_fpr", "1.001e-4"),
            ("fpr_one_more_hash", "1.008e-4"),
        ],
    ),
    (
        "n = 10 million, p = 0.01%",
        &["22.85 MiB"],
        &[("bits", "191701168"), ("hashes", "13")],
    ),
    (
        "n = 100 million, p = 0.01%",
        &["228.5 MiB"],
        &[("bits", "1917011676"), ("hashes", "13")],
    ),
    (
        "p = 1%",
        &["9.585 bits", "6.64; with k = 7"],
        &[
            ("bits_per_key", "9.585"),
            ("hashes", "7"),
            ("hashes_exact", "6.64"),
        ],
    ),
    (
        "p = 0.1%",
        &["14.38 bits", "4.79 more bits per line each time"],
        &[("bits_per_key", "14.38"), ("bits_per_tenfold", "4.79")],
    ),
    (
        "n = 50 billion, p = 1%",
        &["59.91 GB", "8 bytes: 600 GB"],
        &[("bytes", "59.9e9"), ("hash_table_bytes", "600e9")],
    ),
    (
        "n = 50 billion, p = 0.1%",
        &["89.86 GB", "8 bytes: 600 GB"],
        &[("bytes", "89.9e9")],
    ),
    (
        "n = 5 billion, p = 1%",
        &["47.93 Gbit", "5.991 GB", "6.64; with k = 7"],
        &[("bits", "47.9e9"), ("bytes", "5.99e9"), ("hashes", "7")],
    ),
    (
        "n = 5 billion, m = 4 GiB",
        &["34.36 Gbit", "6.872 bits", "with k = 5, p = 3.691%"],
        &[
            ("bits", "34359738368"),
            ("bits_per_key", "6.87"),
            ("hashes", "5"),
            ("predicted_fpr", "0.0369"),
        ],
    ),
    (
        "m = 8 n",
        &["5.55; with k = 6, p = 2.158%", "with k = 5, p = 2.168%"],
        &[
            ("hashes", "6"),
            ("hashes_exact", "5.55"),
            ("predicted_fpr", "0.0216"),
            ("fpr_one_less_hash", "0.0217"),
        ],
    ),
    (
        "m = 20 n, k = 10",
        &["p = 0.0000889"],
        &[("hashes", "10"), ("predicted_fpr", "0.0000889")],
    ),
    (
        "4-bit counters, k = (m/n) ln 2",
        &["<= m * 1.37e-15", "never wrap"],
        &[("overflow_per_counter", "1.37e-15")],
    ),
];

#[test]
fn the_figures_of_the_textbooks_are_printed() {
    let text = text("");
    for (given, printed, _) in FIGURES {
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("{given}  ")));
        let line = line.unwrap_or_else(|| panic!("no {given} in {text}"));
        for part in printed {
            assert!(line.contains(part), "no {part:?} in {line:?}");
        }
    }
}

#[test]
fn the_figures_of_the_textbooks_are_in_the_json() {
    let figures = json("");
    let figures = figures.as_array().unwrap();
    assert_eq!(figures.len(), FIGURES.len());
    for ((given, printed, expected), figure) in FIGURES.iter().zip(figures) {
        assert_eq!(figure["given"], *given);
        let result = figure["result"].as_str().unwrap();
        assert!(result.contains(printed[0]), "{figure:#}");
        assert_figures(figure, expected);
    }
}

// Answers.

#[test]
fn lines_and_a_rate_give_the_size_of_every_kind() {
    let answer = json("--lines 1e6 --max-fpr 0.01%");
    assert_eq!(
        (&answer["lines"], &answer["max_fpr"]),
        (&1_000_000.into(), &0.0001.into())
    );
    assert!(answer.get("memory_bytes").is_none());
    let kinds: Vec<&str> = answer["kinds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["blocked", "classic", "counting", "spectral", "fingerprint"]
    );
    for (kind, bits) in [
        ("classic", "19173013"),
        ("counting", "76692052"),
        ("spectral", "306768208"),
    ] {
        let row = row(&answer, kind);
        assert_figures(
            &row,
            &[
                ("cells", "19173013"),
                ("bits", bits),
                ("hashes", "13"),
                ("hashes_exact", "13.29"),
                ("predicted_fpr", "0.0001000"),
                ("fpr_one_more_hash", "0.0001006"),
                ("fpr_one_less_hash", "0.0001028"),
                ("hash_table_bytes", "12000000"),
            ],
        );
    }
    for kind in ["classic", "counting", "spectral"] {
        assert!(row(&answer, kind)["predicted_fpr"].as_f64().unwrap() <= 0.0001);
    }
    assert_figure(&row(&answer, "counting"), "overflow_chance", "1.84e-8");
    let blocked = row(&answer, "blocked");
    assert_eq!(blocked["bits"].as_u64().unwrap() % 512, 0);
    assert!(blocked["bits"].as_u64().unwrap() > 20_000_000);
    assert!(blocked["predicted_fpr"].as_f64().unwrap() <= 0.0001);
    let fingerprint = row(&answer, "fingerprint");
    assert_figures(
        &fingerprint,
        &[
            ("cells", "1250000"),
            ("bytes", "20000000"),
            ("collision_chance", "1.469e-27"),
        ],
    );
    assert_eq!(fingerprint["fpr_one_less_hash"], Value::Null);
}

#[test]
fn lines_and_memory_give_the_rate() {
    let answer = json("--lines 5e9 --memory 4G");
    assert_eq!(answer["memory_bytes"], 1u64 << 32);
    let (blocked, classic) = (row(&answer, "blocked"), row(&answer, "classic"));
    for row in [&blocked, &classic] {
        assert_figures(
            row,
            &[
                ("bits", "34359738368"),
                ("bytes", "4294967296"),
                ("hashes", "5"),
                ("bits_per_key", "6.872"),
            ],
        );
    }
    assert_figures(
        &classic,
        &[
            ("predicted_fpr", "0.0369"),
            ("fpr_one_less_hash", "0.0379"),
            ("fpr_one_more_hash", "0.0390"),
        ],
    );
    // What the blocks cost is in its rate.
    assert_figure(&blocked, "predicted_fpr", "0.0389");
    let note = row(&answer, "fingerprint")["notes"][0]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(note.contains("full after 214,748,364 lines"), "{note}");

    let text = text("--lines 5e9 --memory 4G");
    for part in [
        "5,000,000,000 lines, 4 GiB of memory (4,294,967,296 bytes)",
        "3.691%",
        "3.892%",
        "fingerprint: full after 214,748,364 lines",
        "1.5 slots of 8 bytes per line: 60 GB",
        "same digest: at most 3.67e-20",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn bits_per_key_are_bits_of_storage_whatever_the_kind() {
    let answer = json("--lines 1e6 --bits-per-key 20 --hashes 10");
    assert_eq!(answer["bits_per_key"], 20.0);
    assert_figures(
        &row(&answer, "classic"),
        &[("bits", "20000000"), ("predicted_fpr", "0.0000889")],
    );
    let counting = row(&answer, "counting");
    assert_figures(&counting, &[("cells", "5000000"), ("bits", "20000000")]);
    assert_figures(
        &row(&answer, "blocked"),
        &[("bits_per_key", "20.00"), ("predicted_fpr", "0.000203")],
    );
}

#[test]
fn memory_and_a_rate_give_the_lines_that_fit() {
    let answer = json("--memory 4G --max-fpr 1%");
    assert!(answer.get("lines").is_none());
    assert_figures(
        &row(&answer, "classic"),
        &[
            ("lines", "3.582e9"),
            ("bits", "34359738368"),
            ("hashes", "7"),
        ],
    );
    let blocked = row(&answer, "blocked");
    assert!(blocked["lines"].as_u64() < row(&answer, "classic")["lines"].as_u64());
    assert!(blocked["predicted_fpr"].as_f64().unwrap() <= 0.01);
    assert_figure(&row(&answer, "fingerprint"), "lines", "214748364");

    let answer = json("--memory 1M --bits-per-key 8");
    assert_figures(
        &row(&answer, "classic"),
        &[
            ("lines", "1048576"),
            ("hashes", "6"),
            ("predicted_fpr", "0.0216"),
        ],
    );
}

#[test]
fn one_hash_is_the_plain_bitmap_and_one_kind_can_be_asked_for() {
    let answer = json("--lines 5e9 --memory 4G --hashes 1 --kind classic");
    assert_eq!(answer["kinds"].as_array().unwrap().len(), 1);
    // 1 - e^(-1/6.872).
    assert_figures(
        &row(&answer, "classic"),
        &[
            ("hashes", "1"),
            ("predicted_fpr", "0.1354"),
            ("hashes_exact", "4.76"),
        ],
    );
    assert_eq!(row(&answer, "classic")["fpr_one_less_hash"], Value::Null);
    let answer = json("--lines 1e6 --max-fpr 1% --hashes 1 --kind classic");
    assert_figures(
        &row(&answer, "classic"),
        &[("bits_per_key", "99.50"), ("predicted_fpr", "0.0100")],
    );
}

#[test]
fn what_a_kind_cannot_do_is_said_and_not_faked() {
    let answer = json("--lines 1e6 --max-fpr 1e-40");
    let blocked = row(&answer, "blocked");
    assert_eq!(blocked["notes"][0], "cannot reach a rate of 1.00e-38%");
    assert!(blocked["predicted_fpr"].as_f64().unwrap() > 1e-40);
    // With sqrt(n/p) bits a filter could, but nobody can count so many.
    let classic = row(&answer, "classic");
    assert_eq!(classic["notes"][0], "cannot reach a rate of 1.00e-38%");
    let answer = json("--lines 1e6 --max-fpr 1e-15");
    assert_figures(
        &row(&answer, "classic"),
        &[
            ("hashes", "64"),
            ("predicted_fpr", "1.000e-15"),
            ("cells", "3.162e10"),
        ],
    );

    let text = text("--lines 1e6 --max-fpr 1% --hashes 20");
    assert!(
        text.contains("blocked: uses at most 14 hash functions"),
        "{text}"
    );
}

// Requests that make no sense.

#[test]
fn a_request_that_cannot_be_answered_says_what_to_give() {
    let sandbox = Sandbox::new();
    for (arguments, parts) in [
        (
            "--lines 5",
            ["--lines alone", "add --max-fpr, --memory or --bits-per-key"],
        ),
        (
            "--memory 1G",
            ["--memory alone", "add --lines, --max-fpr or --bits-per-key"],
        ),
        ("--max-fpr 1%", ["a rate", "add --lines or --memory"]),
        (
            "--bits-per-key 8",
            ["bits per key", "add --lines or --memory"],
        ),
        ("--hashes 3", ["--hashes", "add --lines"]),
        ("--kind classic", ["--kind", "add --lines"]),
        (
            "--lines 5 --max-fpr 1% --bits-per-key 8",
            ["--max-fpr and --bits-per-key", "leave one out"],
        ),
        (
            "--lines 5 --max-fpr 1% --memory 1G",
            ["--memory", "leave one out"],
        ),
        (
            "--lines 5 --bits-per-key 8 --memory 1G",
            ["--memory", "leave one out"],
        ),
        ("--lines 0 --max-fpr 1%", ["lines: 0", "at least 1"]),
        (
            "--lines 5 --max-fpr 0",
            ["max-fpr: 0", "above 0 and below 1"],
        ),
        (
            "--lines 5 --max-fpr 100%",
            ["max-fpr: 1", "above 0 and below 1"],
        ),
        ("--lines 5 --max-fpr 5", ["'5' is not a rate", "1%"]),
        ("--lines 5 --memory 63", ["memory: 63 bytes", "at least 64"]),
        (
            "--lines 5 --bits-per-key 0",
            ["bits-per-key: 0", "a positive number"],
        ),
        (
            "--lines 5 --bits-per-key -2",
            ["bits-per-key: -2", "a positive number"],
        ),
        (
            "--lines 5 --bits-per-key nan",
            ["bits-per-key: NaN", "a positive number"],
        ),
        (
            "--lines 5 --bits-per-key inf",
            ["bits-per-key: inf", "a positive number"],
        ),
        (
            "--lines 1e19 --max-fpr 1%",
            ["2^63 bits", "give fewer lines"],
        ),
        (
            "--lines 5 --bits-per-key 1e30",
            ["2^63 bits", "give fewer lines"],
        ),
        (
            "--lines 5 --memory 9000P",
            ["2^63 bits", "give fewer lines"],
        ),
        (
            "--lines 5 --max-fpr 1% --hashes 0",
            ["--hashes", "from 1 to 64"],
        ),
        (
            "--lines 5 --max-fpr 1% --hashes 65",
            ["--hashes", "from 1 to 64"],
        ),
        (
            "--lines 5 --max-fpr 1% --kind blocked --hashes 15",
            ["uses at most 14", "--kind classic"],
        ),
        ("--lines 5 --max-fpr 1% --kind bloom", ["'bloom'", "--kind"]),
        (
            "--lines many --max-fpr 1%",
            ["'many' is not a count", "5e9"],
        ),
    ] {
        let outcome = sandbox.run(&format!("size {arguments}"));
        outcome.fails(2, &parts);
        assert!(outcome.stdout.is_empty(), "{arguments}: {outcome}");
    }
}

#[test]
fn the_help_has_an_example_that_works() {
    let help = text("--help");
    let examples = help
        .lines()
        .filter_map(|line| line.split_once("outset size --"));
    let mut count = 0;
    for (_, example) in examples {
        let arguments = format!("--{}", example.split("   ").next().unwrap());
        assert!(text(&arguments).contains("m/n ln 2"), "{arguments}");
        count += 1;
    }
    assert_eq!(count, 4, "{help}");
    assert!(
        help.contains("Give two of these three, and the third follows"),
        "{help}"
    );
}
