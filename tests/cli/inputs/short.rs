//! Short and interrupted reads and writes (rows B18 and E12 of `tests/matrix.tsv`), by a library that is loaded before
//! the C library (`shim.c`): it changes nothing that a system might not do.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use differential::sweep;

use crate::data::lines;
use crate::sandbox::{Sandbox, root};
use crate::tasks::TASKS;

/// Compiles the library; `None`, which is said, where that cannot be done.
fn shim(sandbox: &Sandbox) -> Option<PathBuf> {
    let source = root().join("tests/cli/inputs/shim.c");
    let library = sandbox.root().join("shim.so");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .output()
        .is_ok_and(|output| output.status.success());
    if !compiled {
        eprintln!("skipped: no C compiler");
    }
    compiled.then_some(library)
}

#[test]
fn b18_e12_short_and_interrupted_reads_and_writes_change_nothing() {
    let (a, b) = (lines(0..9000), lines(4000..15_000));
    let sandbox = Sandbox::with(&a, &b);
    let Some(shim) = shim(&sandbox) else {
        return;
    };
    let preload = |arguments: &str| {
        let mut command = sandbox.command(arguments);
        command.env("LD_PRELOAD", &shim);
        sandbox.start(command).finish()
    };
    let strategies = [
        "memory",
        "partition --buckets 4",
        "sieve --buckets 4",
        "partition --buckets 1 -j 1",
        "sieve",
    ];
    // Five strategies and eight tasks: each time round they meet differently.
    let tasks: Vec<_> = TASKS.iter().zip(strategies.into_iter().cycle()).collect();
    for ((task, strategy), output) in sweep::pairs(&tasks, &["", "-o ../out/r"]) {
        let words = task.words;
        // So little memory that an answer is put in order by runs on disk.
        let arguments = format!("{words} a b --memory 16M --strategy {strategy} {output}");
        let outcome = preload(&arguments);
        outcome.succeeds_silently();
        let found = match *output {
            "" => outcome.stdout,
            _ => fs::read(sandbox.output("r")).unwrap(),
        };
        task.of(&[&a, &b]).assert_is(&found, &arguments);
    }
    preload("filter build a --max-fpr 1% -o ../out/f").succeeds();
    let outcome = preload("filter query ../out/f a");
    assert_eq!(outcome.succeeds().stdout, a);
}
