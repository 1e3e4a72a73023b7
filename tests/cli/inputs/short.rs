//! Short and interrupted reads and writes (rows B18 and E12 of `tests/matrix.tsv`), by a library that is loaded before the C library
//! (`shim.c`): it changes nothing that a system might not do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::data::{common, lines};
use crate::sandbox::{Sandbox, assert_same_lines};

/// Compiles the library; `None`, which is said, where that cannot be done.
fn shim(sandbox: &Sandbox) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/inputs/shim.c");
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
    for strategy in [
        "memory",
        "partition --buckets 4",
        "sieve --buckets 4",
        "partition --buckets 1 -j 1",
    ] {
        let arguments = format!("intersect a b --memory 64M --strategy {strategy}");
        preload(&arguments)
            .succeeds_silently()
            .has_lines(&common(&[&a, &b]));
        preload(&format!("{arguments} -o ../out/r")).succeeds_silently();
        let result = fs::read(sandbox.output("r")).unwrap();
        assert_same_lines(&result, b'\n', &common(&[&a, &b]));
    }
    preload("filter build a --max-fpr 1% -o ../out/f").succeeds();
    let outcome = preload("filter query ../out/f a");
    assert_eq!(outcome.succeeds().stdout, a);
}
