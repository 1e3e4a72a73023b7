//! The test matrix: `tests/matrix.tsv` says for each kind of fault or input which tests cover it.
//!
//! The list in `docs/testing.md` is made from that table. `OUTSET_RENEW_MATRIX=1` writes it anew; without
//! it a stale list fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

use crate::sandbox::root;

/// The rows that must be there, by the letter of their group.
const REQUIRED: [(&str, &[u32]); 10] = [
    ("A", &[1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 16]),
    (
        "B",
        &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 17, 18, 19, 20],
    ),
    ("C", &[1, 2, 3, 4, 5, 6, 8, 9]),
    ("D", &[1, 2, 3, 4]),
    ("E", &[1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13]),
    ("F", &[1, 2, 3, 4, 5, 6, 7, 8]),
    ("G", &[1, 2, 3, 5]),
    ("H", &[1, 2, 3, 4, 6, 7, 9, 10, 11, 12]),
    ("I", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12]),
    ("J", &[1, 2, 3, 5]),
];
/// The things that a test may need. `default` stands alone: it needs nothing.
const NEEDS: [&str; 6] = [
    "default",
    "ignored",
    "root",
    "strace",
    "failpoints",
    "schedules",
];
const PAGE: &str = "docs/testing.md";
const BEGIN: &str = "<!-- matrix: made from tests/matrix.tsv by OUTSET_RENEW_MATRIX=1 cargo test --test cli matrix -->\n";
const END: &str = "<!-- end of matrix -->\n";

/// A row of the matrix: one kind of fault or input.
struct Row {
    id: String,
    what: String,
    /// The needs of each test, and its path.
    tests: Vec<(String, String)>,
}

/// A group of rows, named by the letter that their ids begin with.
struct Group {
    letter: String,
    title: String,
    rows: Vec<Row>,
}

/// Reads the table: a line with a letter begins a group, a line with a description begins a row, and
/// every other line is one more test of the row above it.
fn matrix() -> Vec<Group> {
    let table = fs::read_to_string(root().join("tests/matrix.tsv")).unwrap();
    let mut groups: Vec<Group> = Vec::new();
    for (number, line) in (1..).zip(table.lines()).skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        match cells[..] {
            [letter, title] => groups.push(Group {
                letter: letter.to_owned(),
                title: title.to_owned(),
                rows: Vec::new(),
            }),
            [id, what, needs, test] => {
                let group = groups.last_mut().unwrap();
                assert!(
                    id.starts_with(&group.letter),
                    "line {number}: {id} is in another group"
                );
                if !what.is_empty() {
                    group.rows.push(Row {
                        id: id.to_owned(),
                        what: what.to_owned(),
                        tests: Vec::new(),
                    });
                }
                let row = group.rows.last_mut().unwrap();
                assert_eq!(
                    row.id, id,
                    "line {number}: a row begins without a description"
                );
                row.tests.push((needs.to_owned(), test.to_owned()));
            }
            _ => panic!("line {number}: neither a group (2 cells) nor a test (4 cells)"),
        }
    }
    groups
}

/// The matrix as a list in Markdown.
fn list(groups: &[Group]) -> String {
    let mut text = String::new();
    for Group {
        letter,
        title,
        rows,
    } in groups
    {
        writeln!(text, "\n### {letter}: {title}\n").unwrap();
        for Row { id, what, tests } in rows {
            writeln!(text, "- **{id}**: {what}").unwrap();
            for (needs, test) in tests {
                let needs = if needs == "default" {
                    String::new()
                } else {
                    format!(" ({needs})")
                };
                writeln!(text, "  - `{test}`{needs}").unwrap();
            }
        }
    }
    text.push('\n');
    text
}

/// Every function of the sources and tests, as `path::name`, and whether it is marked `#[ignore]`. The
/// path is relative to the root of the repository.
fn functions(directory: &str, found: &mut BTreeMap<String, bool>) {
    for entry in fs::read_dir(root().join(directory)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{directory}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            functions(&path, found);
        } else if entry.path().extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(entry.path()).unwrap();
            let mut is_ignored = false;
            for line in text.lines().map(str::trim_start) {
                if let Some((name, _)) = line
                    .strip_prefix("fn ")
                    .and_then(|rest| rest.split_once('('))
                {
                    found.insert(format!("{path}::{name}"), is_ignored);
                }
                // Attributes and comments stand between `#[ignore]` and its function.
                is_ignored = line.starts_with("#[ignore")
                    || is_ignored && (line.starts_with("#[") || line.starts_with("//"));
            }
        }
    }
}

#[test]
fn every_row_is_there_once_and_every_test_that_it_names_exists() {
    let mut known = BTreeMap::new();
    for directory in ["tests", "src", "data-gen/tests"] {
        functions(directory, &mut known);
    }
    let groups = matrix();
    let rows: Vec<&Row> = groups.iter().flat_map(|group| &group.rows).collect();
    let ids: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids.len(), rows.len(), "a row is there twice");
    for (group, numbers) in REQUIRED {
        for number in numbers {
            let id = format!("{group}{number}");
            assert!(ids.contains(id.as_str()), "row {id} is missing");
        }
    }
    for Row { id, tests, .. } in rows {
        for (needs, test) in tests {
            let Some(&is_ignored) = known.get(test) else {
                panic!("row {id}: there is no {test}");
            };
            let name = test.rsplit("::").next().unwrap();
            let is_of_row = name.split('_').any(|word| word.eq_ignore_ascii_case(id));
            assert!(is_of_row, "row {id} is not in the name of {test}");
            let mut needs = needs.split(", ");
            assert!(
                needs.clone().all(|need| NEEDS.contains(&need)),
                "row {id}: {test}"
            );
            assert_eq!(
                needs.any(|need| need == "ignored"),
                is_ignored,
                "row {id}: {test}"
            );
        }
    }
}

#[test]
fn the_page_has_the_matrix_as_it_is() {
    let path = root().join(PAGE);
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (on_page, after) = rest.split_once(END).unwrap();
    let list = list(&matrix());
    if std::env::var_os("OUTSET_RENEW_MATRIX").is_some() {
        fs::write(path, [before, BEGIN, &list, END, after].concat()).unwrap();
        return;
    }
    assert!(
        on_page == list,
        "{PAGE} is stale: OUTSET_RENEW_MATRIX=1 cargo test --test cli matrix"
    );
}
