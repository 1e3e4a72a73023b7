//! Values of options in every form, and requests that make no sense.

use std::fs;
use std::process::Stdio;

use crate::data::small;
use crate::json::{number, parse};
use crate::sandbox::Sandbox;

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
        ("--max-fpr 2", &["--max-fpr", "such as 1%"]),
        ("--max-fpr 1", &["--max-fpr", "such as 1%"]),
        ("--max-fpr 1.0", &["--max-fpr", "such as 1%"]),
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
