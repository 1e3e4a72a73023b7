//! Inputs that change during a run: the run fails.

use super::{EXACT, small};
use crate::data::megabytes;
use crate::sandbox::{Feed, Running, Sandbox};
use crate::tasks::TASKS;
use differential::sweep;
use std::fs::{self, File, OpenOptions};
use std::io::Write;

/// Changes `a` while a run is held.
fn change(sandbox: &Sandbox, running: &mut Running<'_>, name: &str, how: &str) {
    let path = sandbox.input(name);
    let open = || OpenOptions::new().write(true).open(&path).unwrap();
    match how {
        "shrunk" => open().set_len(1000).unwrap(),
        "emptied" => open().set_len(0).unwrap(),
        "grown" => File::options()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"more\n")
            .unwrap(),
        "rewritten" => open().write_all(b"ffff").unwrap(),
        "replaced" => {
            let other = sandbox.output("other");
            fs::copy(&path, &other).unwrap();
            fs::rename(&other, &path).unwrap();
        }
        "removed" => fs::remove_file(&path).unwrap(),
        _ => panic!("{how}"),
    }
    running.note_inputs();
}

const CHANGES: [&str; 6] = [
    "shrunk",
    "emptied",
    "grown",
    "rewritten",
    "replaced",
    "removed",
];

#[test]
fn b6_an_input_that_changes_before_it_is_read_fails_the_run() {
    let mut tasks = TASKS.iter().cycle();
    for how in CHANGES {
        for strategy in EXACT {
            let sandbox = small();
            let (pipe, gate) = (sandbox.fifo("pipe"), sandbox.fifo("gate"));
            let words = tasks.next().unwrap().words;
            let mut running = sandbox.start(sandbox.command(&format!(
                "{words} a b pipe gate --strategy {strategy} --memory 64M -o ../out/r"
            )));
            // When it has come to the first FIFO, `a` and `b` are checked; until the second is open, nothing is read.
            let feed = Feed::open(&pipe, &mut running);
            change(&sandbox, &mut running, "a", how);
            drop((feed, Feed::open(&gate, &mut running)));
            running.finish().fails(3, &["outset: a: "]);
        }
    }
}

#[test]
fn b7_an_input_that_changes_between_two_readings_fails_the_run() {
    for (how, task) in CHANGES.into_iter().cycle().zip(&TASKS) {
        let sandbox = small();
        let pipe = sandbox.fifo("pipe");
        // The sieve of common lines reads `a`, then the FIFO, then `a` again; others copy the FIFO first.
        let words = task.words;
        let arguments = format!("{words} a pipe --strategy sieve --memory 16M -o ../out/r");
        let mut running = sandbox.start(sandbox.command(&arguments));
        let mut feed = Feed::open(&pipe, &mut running);
        assert!(feed.send(&megabytes(2, 0)));
        change(&sandbox, &mut running, "a", how);
        drop(feed);
        running.finish().fails(3, &["outset: a: "]);
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn b7_an_input_that_changes_between_the_readings_of_a_sieve_of_singletons_fails_the_run() {
    // Lines that occur once are written in the second reading, which comes to `b` when it is done with `a`.
    for (how, command) in sweep::pairs(&CHANGES, &["union a b", "symdiff a b", "diff a b"]) {
        let sandbox = Sandbox::with(&megabytes(6, 0), &megabytes(8, 180_000));
        // Nobody reads the result: when the pipe and the buffers are full of lines of `a`, the run goes no further.
        let arguments = format!("{command} --strategy sieve --memory 16M");
        let mut running = sandbox.start_unread(sandbox.command(&arguments));
        running.wait_for_output();
        assert!(running.is_going_on(), "{command}: the run was not held");
        change(&sandbox, &mut running, "b", how);
        running.read_stdout();
        running.finish().fails(3, &["outset: b: "]);
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn b5_b6_an_input_that_changes_while_it_is_read_fails_the_run() {
    // Both write what they find in `b` while they read it, and there is much of it.
    let commands = ["intersect a b", "diff --repeats b a"];
    let b = [megabytes(4, 0), megabytes(30, 0)].concat();
    let changes = ["shrunk", "emptied", "grown", "rewritten"].into_iter();
    for (how, command) in changes.zip(commands.into_iter().cycle()) {
        let sandbox = Sandbox::with(&megabytes(4, 0), &b);
        // Nobody reads the result: when the pipe and the buffers are full, `b` is read no further.
        let arguments = format!("{command} --strategy memory --memory 32M");
        let mut running = sandbox.start_unread(sandbox.command(&arguments));
        running.wait_for_output();
        assert!(running.is_going_on(), "the run was not held");
        change(&sandbox, &mut running, "b", how);
        running.read_stdout();
        running.finish().fails(3, &["outset: b: ", "changed"]);
    }
}
