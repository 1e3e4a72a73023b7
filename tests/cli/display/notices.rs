//! What a run that goes well reports to its user: lines that end otherwise in one input than in another (row A3 of
//! `tests/matrix.tsv`), temporary files that take memory (row E7).

use std::collections::BTreeSet;
use std::fs;

use crate::data::{common, lines, megabytes};
use crate::sandbox::{Sandbox, assert_is_summary, can_mount};

/// `text` with CR LF at the end of each line.
fn with_cr(text: &[u8]) -> Vec<u8> {
    let pieces = text.split_inclusive(|&byte| byte == b'\n');
    pieces
        .flat_map(|line| [&line[..line.len() - 1], b"\r\n"].concat())
        .collect()
}

/// Three inputs: `a` with CR LF, `b` and `c` without.
fn mixed(count: u64) -> Sandbox {
    let sandbox = Sandbox::with(&with_cr(&lines(0..count)), &lines(0..count));
    sandbox.write("c", lines(0..count));
    sandbox
}

#[test]
fn a3_lines_that_end_in_cr_on_one_side_only_get_one_hint_and_stay_what_they_are() {
    // The second is sampled in windows, the first is read whole.
    for count in [1, 50_000] {
        let sandbox = mixed(count);
        for strategy in ["memory", "partition", "sieve"] {
            for inputs in ["a b", "b a", "c b a"] {
                let outcome = sandbox.run(&format!(
                    "intersect {inputs} --memory 64M --strategy {strategy}"
                ));
                outcome.succeeds().has_lines(&BTreeSet::new());
                let said: Vec<&str> = outcome.stderr.lines().collect();
                assert_eq!(said.len(), 2, "{outcome}");
                assert!(said[0].starts_with("outset: a: "), "{outcome}");
                assert!(said[0].contains("CR") && said[0].contains("--strip-cr"));
                assert_is_summary(said[1], "exact");
            }
        }
        for arguments in [
            "intersect a b --strategy bloom",
            "compare a b",
            "estimate a b",
        ] {
            let outcome = sandbox.run(arguments);
            let hints = outcome.succeeds().stderr.matches("--strip-cr");
            assert_eq!(hints.count(), 1, "{arguments}: {outcome}");
        }
        let quiet = sandbox.run("intersect a b -q");
        assert_eq!(quiet.succeeds().stderr, "");
        // What is on standard error can be parsed.
        let report = sandbox.run("intersect a b --stats -");
        let _report: serde_json::Value = serde_json::from_str(&report.succeeds().stderr).unwrap();
    }
}

#[test]
fn a3_no_hint_is_given_where_none_is_due() {
    let sandbox = mixed(5000);
    let text = lines(0..5000);
    let all: BTreeSet<&[u8]> = common(&[&text]);
    sandbox
        .run("intersect a b c --strip-cr")
        .succeeds_silently()
        .has_lines(&all);
    sandbox.write("d", with_cr(&text));
    for arguments in ["a d", "b c", "a b -z", "b -z --strip-cr a"] {
        sandbox
            .run(&format!("intersect {arguments} --count-only"))
            .succeeds_silently();
    }
    // What comes through a pipe is not looked into before it is read.
    sandbox
        .run_fed("intersect a - --count-only", &text)
        .succeeds_silently();
    // Half of the lines are not most of them.
    let half = [with_cr(&lines(0..2000)), lines(2000..4000)].concat();
    sandbox.write("half", half);
    sandbox
        .run("intersect half b --count-only")
        .succeeds_silently();
    let outcome = sandbox.run("intersect half a --count-only");
    assert!(outcome.succeeds().stderr.starts_with("outset: a: "));
}

#[test]
#[ignore = "slow: more than a second"]
fn e7_temporary_files_on_a_file_system_in_memory_get_one_word() {
    if !can_mount() {
        return;
    }
    let sandbox = Sandbox::with(&megabytes(3, 0), &megabytes(3, 1000));
    let notices = |arguments: &str| {
        let command = sandbox.command_on_small_disk("temp", "200m", arguments);
        let outcome = sandbox.start(command).finish();
        fs::remove_dir_all(sandbox.root().join("saved")).unwrap();
        outcome.succeeds();
        outcome.notices
    };
    for arguments in [
        "intersect a b --memory 16M --strategy partition",
        "intersect a b --memory 16M --strategy sieve",
        "intersect a b --memory 16M --strategy partition -o ../out/r --progress always",
        "compare a b --memory 16M --strategy partition",
    ] {
        let said = notices(arguments);
        assert_eq!(said.len(), 1, "{arguments}: {said:?}");
        let place = sandbox.temp();
        let begins = format!("outset: {}: ", place.display());
        assert!(said[0].starts_with(&begins), "{said:?}");
        assert!(said[0].contains("memory") && said[0].contains("--temp-dir"));
    }
    for arguments in [
        "intersect a b --memory 64M --strategy memory",
        "intersect a b --memory 16M --strategy partition -q",
        "intersect a b --memory 16M --strategy partition --stats -",
    ] {
        let said = notices(arguments);
        assert!(said.is_empty(), "{arguments}: {said:?}");
    }
}

#[test]
fn a20_a_file_that_is_no_plain_text_gets_one_hint_and_is_read_as_it_is() {
    let sandbox = Sandbox::with(b"", &lines(0..10));
    for (front, words) in [
        (&b"\xef\xbb\xbf"[..], "tail -c +4"),
        (b"\xff\xfe", "iconv"),
        (b"\xfe\xff", "iconv"),
        (b"PK\x03\x04", "unzip"),
        (b"PAR1", "Parquet"),
        (b"SQLite format 3\0", "SQLite"),
    ] {
        let text = [front, &lines(0..3)].concat();
        sandbox.write("a", &text);
        // What is compressed is looked into.
        sandbox.write("c", data_gen::Compression::Gzip.compress(&text).unwrap());
        for file in ["a", "c"] {
            let outcome = sandbox.run(&format!("intersect {file} b"));
            outcome
                .succeeds()
                .has_lines(&common(&[&text, &lines(0..10)]));
            let said: Vec<&str> = outcome.stderr.lines().collect();
            assert_eq!(said.len(), 2, "{outcome}");
            assert!(
                said[0].starts_with(&format!("outset: {file}: ")),
                "{outcome}"
            );
            assert!(said[0].contains(words), "{outcome}");
            let quiet = sandbox.run(&format!("intersect {file} b -q"));
            assert_eq!(quiet.succeeds().stderr, "");
        }
    }
    // The same bytes anywhere else say nothing.
    sandbox.write("a", [&lines(0..3)[..], b"PAR1"].concat());
    sandbox.run("intersect a b").succeeds_silently();
}
