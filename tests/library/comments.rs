//! Comments can be read: no line is too long, and no description opens with a word that makes its reader wait for the
//! noun.
//!
//! CONTRIBUTING.md has the rules; what a machine can see of them is here.

use std::fs;
use std::path::Path;

use crate::util::root;

/// The most columns of a line with a comment.
const COLUMNS: usize = 120;
/// The words that no description opens with: a function's opens with a verb, a field's with a noun, a bool's with
/// "True if".
const OPENINGS: [&str; 9] = [
    "What", "Whether", "How", "As", "Which", "Where", "When", "If", "That",
];

/// All files with code below a directory.
fn collect(directory: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path.display().to_string(), text));
        }
    }
}

fn files() -> Vec<(String, String)> {
    let root = root();
    let mut found = Vec::new();
    for directory in ["src", "tests", "data-gen/src", "benches"] {
        collect(&root.join(directory), &mut found);
    }
    found
}

/// The first line of each description in a file, with its number.
fn openings(text: &str) -> Vec<(usize, &str)> {
    let described = |line: &str| line.trim_start().starts_with("///");
    let lines: Vec<&str> = text.lines().collect();
    let firsts = (0..lines.len())
        .filter(|&at| described(lines[at]) && (at == 0 || !described(lines[at - 1])));
    let words = |at: usize| lines[at].trim_start().trim_start_matches('/').trim_start();
    firsts.map(|at| (at + 1, words(at))).collect()
}

#[test]
fn no_comment_is_wider_than_the_code() {
    let mut wide = Vec::new();
    for (file, text) in files() {
        let lines = (1..).zip(text.lines());
        let lines = lines.filter(|(_, line)| {
            line.trim_start().starts_with("//") && line.chars().count() > COLUMNS
        });
        wide.extend(lines.map(|(number, _)| format!("{file}:{number}")));
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}

#[test]
fn descriptions_open_with_a_verb_or_a_noun() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for (file, text) in files() {
        // There descriptions are help texts, which address a person.
        if text.contains("derive(Debug, Args)")
            || text.contains("ValueEnum")
            || text.contains("Parser")
        {
            continue;
        }
        for (number, words) in openings(&text) {
            seen += 1;
            let first = words.split([' ', ',']).next().unwrap_or_default();
            if OPENINGS.contains(&first) {
                wrong.push(format!("{file}:{number}: {words}"));
            }
        }
    }
    assert!(seen > 5000, "{seen}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
