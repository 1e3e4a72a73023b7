//! Generated files through the program, judged by their manifest: every operation, with repeats and carriage returns.

use std::path::Path;

use data_gen::options::Crlf;
use data_gen::{
    Manifest, Operation, Options, Question, Rules, Share, Target, Workload, check, check_table,
    generate,
};

use crate::sandbox::Sandbox;

const STRATEGIES: [&str; 3] = ["memory", "partition", "sieve"];
const FILES: [&str; 2] = ["a.txt b.txt", "a.txt b.txt c.txt"];

/// These files, of URLs in which lines repeat, are shared by some files or all, and end in CR LF in one file.
fn generated(sandbox: &Sandbox, files: &str) -> Manifest {
    let mut options = Options::of(Workload::Urls);
    options.lines = vec![2000, 3000, 2500];
    options.lines.truncate(files.split(' ').count());
    options.duplicates = Share::percent(60);
    options.zipf = Some(1.0);
    options.partial = Share::percent(30);
    options.empty_lines = Share::percent(1);
    options.crlf = Crlf::Only(1);
    generate(&options, &Target::new(sandbox.root().join("in"))).unwrap()
}

/// Commands, and the questions that they answer. The last is for two files only.
fn jobs() -> [(&'static str, Question); 10] {
    let new = Question::new;
    let exactly_2 = Question::INTERSECT.within(Some(2), Some(2));
    [
        ("diff", new(Operation::Diff)),
        ("union", new(Operation::Union)),
        ("symdiff", new(Operation::Symdiff)),
        ("intersect --all", new(Operation::Intersect).with_all()),
        ("diff --all", new(Operation::Diff).with_all()),
        ("union --all", new(Operation::Union).with_all()),
        (
            "intersect --repeats",
            new(Operation::Intersect).with_repeats(),
        ),
        ("diff --repeats", new(Operation::Diff).with_repeats()),
        ("intersect --exactly 2", exactly_2),
        ("symdiff --all", new(Operation::Symdiff).with_all()),
    ]
}

#[test]
#[ignore = "slow: more than a second"]
fn generated_files_give_what_their_manifest_says_for_every_operation() {
    for files in FILES {
        let sandbox = Sandbox::new();
        let manifest = generated(&sandbox, files);
        let jobs = jobs();
        let jobs = if manifest.files.len() == 2 {
            &jobs[..]
        } else {
            &jobs[..9]
        };
        for &(words, question) in jobs {
            for (strip, strip_cr) in [("", false), ("--strip-cr", true)] {
                let rules = Rules {
                    strip_cr,
                    question,
                    ..Rules::default()
                };
                judge(
                    &sandbox,
                    &manifest,
                    &format!("{words} {strip} {files}"),
                    rules,
                );
            }
        }
    }
}

/// Runs a command by every exact strategy and judges what it writes.
fn judge(sandbox: &Sandbox, manifest: &Manifest, words: &str, rules: Rules) {
    for strategy in STRATEGIES {
        let arguments = format!("{words} --strategy {strategy}");
        let outcome = sandbox.run(&arguments);
        let result = &outcome.succeeds().stdout[..];
        let verdict = check(manifest, result, Path::new("standard output"), rules).unwrap();
        assert!(verdict.right, "{arguments}: {verdict}");
    }
}

#[test]
fn generated_files_overlap_as_their_manifest_says() {
    for files in FILES {
        let sandbox = Sandbox::new();
        let manifest = generated(&sandbox, files);
        for (strip, strip_cr) in [("", false), ("--strip-cr", true)] {
            for form in ["", "--json"] {
                let arguments = format!("overlaps {strip} {form} {files}");
                let outcome = sandbox.run(&arguments);
                let table = String::from_utf8(outcome.succeeds().stdout.clone()).unwrap();
                let verdict = check_table(&manifest, &table, strip_cr).unwrap();
                assert!(verdict.right, "{arguments}: {verdict}");
            }
        }
    }
}
