//! The sources of lines: files, FIFOs, standard input, one or many, in any place.

use std::collections::BTreeSet;
use std::fs;
use std::thread;

use differential::sweep;

use crate::data::{EXACT, common, lines, megabytes, small, split};
use crate::sandbox::{Sandbox, outset};
use crate::tasks::TASKS;

#[test]
fn one_input_is_wrong_usage() {
    let (a, b) = small();
    Sandbox::with(&a, &b).run("intersect a").fails(2, &["two"]);
}

#[test]
fn b8_the_same_file_twice_counts_as_one_and_gives_its_distinct_lines() {
    let mut doubled = lines(0..2000);
    doubled.extend(lines(500..1000));
    let sandbox = Sandbox::with(&doubled, b"");
    std::os::unix::fs::symlink("a", sandbox.input("link")).unwrap();
    for strategy in EXACT {
        for inputs in ["a a", "a ./a", "a link", "a a a"] {
            sandbox
                .run(&format!("intersect {inputs} --strategy {strategy}"))
                .succeeds_silently()
                .has_lines(&common(&[&doubled]));
        }
    }
}

#[test]
fn h10_a_line_must_be_in_all_of_many_inputs() {
    let texts: Vec<Vec<u8>> = (0..7u64).map(|i| lines(i * 100..2000 + i * 300)).collect();
    let sandbox = Sandbox::new();
    for (number, text) in texts.iter().enumerate() {
        sandbox.write(&number.to_string(), text);
    }
    let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    for strategy in EXACT {
        for (names, count) in [("2 1 0", 3), ("3 0 2 1", 4), ("6 5 4 3 2 1 0", 7)] {
            sandbox
                .run(&format!("intersect {names} --strategy {strategy}"))
                .succeeds_silently()
                .has_lines(&common(&texts[..count]));
        }
    }
}

#[test]
fn b10_standard_input_is_an_input_in_any_position_for_every_strategy() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, b"");
    for (task, strategy) in TASKS.iter().zip(EXACT.into_iter().cycle()) {
        for (inputs, texts) in [("a -", [&a, &b]), ("- a", [&b, &a])] {
            let arguments = format!("{} {inputs} --strategy {strategy}", task.words);
            let outcome = sandbox.run_fed(&arguments, &b);
            let answer = task.of(&texts.map(Vec::as_slice));
            answer.assert_is(&outcome.succeeds_silently().stdout, &arguments);
        }
    }
    let outcome = sandbox.run_fed("intersect a - --strategy bloom", &b);
    let distinct: BTreeSet<&[u8]> = split(&outcome.succeeds().stdout, b'\n')
        .into_iter()
        .collect();
    assert!(distinct.is_superset(&common(&[&a, &b])));
}

#[test]
fn b11_standard_input_named_twice_is_wrong_usage() {
    let (a, b) = small();
    Sandbox::with(&a, &b)
        .run_fed("intersect - a -", &b)
        .fails(2, &["standard input", "twice"]);
}

#[test]
fn b10_fifos_are_inputs_like_any_other_even_when_all_inputs_are() {
    let (a, b) = small();
    let inputs = [("a", "pipe1"), ("pipe1", "pipe2")];
    for (task, strategy, &(first, second)) in sweep::triples(&TASKS, &EXACT, &inputs) {
        let sandbox = Sandbox::with(&a, b"");
        let mut writers = Vec::new();
        for (name, text) in [("pipe1", &b), ("pipe2", &a)] {
            let (path, text) = (sandbox.fifo(name), text.clone());
            if [first, second].contains(&name) {
                writers.push(thread::spawn(move || fs::write(path, text)));
            }
        }
        let words = task.words;
        let outcome = sandbox.run(&format!(
            "{words} {first} {second} --strategy {strategy} --memory 16M"
        ));
        let answer = if first == "a" {
            task.of(&[&a, &b])
        } else {
            task.of(&[&b, &a])
        };
        answer.assert_is(&outcome.succeeds_silently().stdout, words);
        for writer in writers {
            writer.join().unwrap().unwrap();
        }
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn b10_a_fifo_larger_than_memory_is_intersected_with_a_file() {
    let (a, b) = (megabytes(2, 0), megabytes(17, 30_000));
    for (strategy, task) in ["sieve", "auto"].into_iter().zip(&TASKS) {
        let sandbox = Sandbox::with(&a, b"");
        let path = sandbox.fifo("pipe");
        thread::scope(|scope| {
            scope.spawn(|| fs::write(&path, &b).unwrap());
            let words = task.words;
            let arguments = format!("{words} pipe a --strategy {strategy} --memory 16M");
            let outcome = sandbox.run(&arguments);
            let answer = task.of(&[&b, &a]);
            answer.assert_is(&outcome.succeeds_silently().stdout, &arguments);
        });
    }
}

#[test]
fn standard_input_that_was_partly_read_is_another_input_than_its_file() {
    let sandbox = Sandbox::with(b"h\na\nb\n", b"");
    let file = sandbox.input("a");
    for inputs in [
        [file.as_os_str(), "-".as_ref()],
        ["-".as_ref(), file.as_os_str()],
    ] {
        let mut rest = std::fs::File::open(&file).unwrap();
        std::io::Read::read_exact(&mut rest, &mut [0; 2]).unwrap();
        let output = std::process::Command::new(outset())
            .arg("intersect")
            .args(inputs)
            .stdin(rest)
            .output()
            .unwrap();
        let mut lines: Vec<&[u8]> = output
            .stdout
            .split_inclusive(|&byte| byte == b'\n')
            .collect();
        lines.sort_unstable();
        assert_eq!(lines, [b"a\n", b"b\n"], "{inputs:?}");
    }
}
