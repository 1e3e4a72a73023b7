//! Inputs that cannot be read: found and named before any work.

use super::{EXACT, large, small, unprivileged};
use crate::tasks::TASKS;
use differential::sweep;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

#[test]
fn b1_a_missing_input_is_found_before_anything_else_is_done() {
    let sandbox = large();
    let tasks: Vec<_> = TASKS.iter().zip(EXACT.into_iter().cycle()).collect();
    let inputs = ["a missing", "missing a", "a b missing"];
    for ((task, strategy), inputs) in sweep::pairs(&tasks, &inputs) {
        let start = Instant::now();
        let words = task.words;
        sandbox
            .run(&format!(
                "{words} {inputs} --memory 16M --strategy {strategy} -o ../out/new"
            ))
            .fails(3, &["outset: missing: No such file", "check the name"]);
        assert!(start.elapsed() < Duration::from_secs(1));
    }
}

#[test]
fn b2_a_directory_as_input_is_refused() {
    let sandbox = small();
    for task in &TASKS {
        sandbox
            .run(&format!("{} a ../out -o ../out/r", task.words))
            .fails(3, &["outset: ../out: Is a directory"]);
    }
}

#[test]
fn b4_links_that_lead_nowhere_are_refused() {
    let sandbox = small();
    for (name, target) in [("loop", "loop"), ("dangling", "missing")] {
        std::os::unix::fs::symlink(target, sandbox.input(name)).unwrap();
    }
    for task in &TASKS {
        sandbox
            .run(&format!("{} a loop -o ../out/r", task.words))
            .fails(3, &["outset: loop: ", "symbolic link"]);
        sandbox
            .run(&format!("{} dangling a -o ../out/r", task.words))
            .fails(3, &["outset: dangling: No such file"]);
    }
}

#[test]
fn b3_an_input_that_may_not_be_read_is_named() {
    let sandbox = small();
    fs::set_permissions(sandbox.input("b"), fs::Permissions::from_mode(0o000)).unwrap();
    for task in &TASKS {
        if let Some(command) = unprivileged(&sandbox, &format!("{} a b", task.words)) {
            sandbox
                .start(command)
                .finish()
                .fails(3, &["outset: b: Permission denied", "permissions"]);
        }
    }
    let closed = sandbox.input("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(closed.join("c"), "x\n").unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    if let Some(command) = unprivileged(&sandbox, "intersect a closed/c") {
        sandbox
            .start(command)
            .finish()
            .fails(3, &["outset: closed/c: Permission denied", "permissions"]);
    }
}
