//! The page `tests/README.md`, which says for each row of the test matrix what it is about and which test covers it: the page
//! names every row of the first wave, and every test that it names is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The rows of the first wave, by the letter of their table.
const FIRST_WAVE: [(&str, &[u32]); 10] = [
    ("A", &[1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 16]),
    (
        "B",
        &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 17, 18, 19],
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

/// All functions of the sources and tests, as `path::name`, with the path from the root of the repository.
fn functions(root: &Path, directory: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(root.join(directory)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{directory}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            functions(root, &path, found);
        } else if entry.path().extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(entry.path()).unwrap();
            let names = text.lines().filter_map(|line| {
                let (name, _) = line.trim_start().strip_prefix("fn ")?.split_once('(')?;
                Some(format!("{path}::{name}"))
            });
            found.extend(names);
        }
    }
}

/// The id of a row and the tests that the page names for it.
fn rows(page: &str) -> Vec<(&str, Vec<&str>)> {
    let cells = page.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        (cells.len() == 6 && cells[1].ends_with(|c: char| c.is_ascii_digit()))
            .then(|| (cells[1], cells[3]))
    });
    cells
        .map(|(id, cell)| (id, cell.split('`').skip(1).step_by(2).collect()))
        .collect()
}

#[test]
fn every_row_of_the_first_wave_is_on_the_page_and_every_test_named_there_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut known = BTreeSet::new();
    for directory in ["tests", "src", "data-gen/tests"] {
        functions(root, directory, &mut known);
    }
    let page = fs::read_to_string(root.join("tests/README.md")).unwrap();
    let rows = rows(&page);
    for (table, numbers) in FIRST_WAVE {
        for number in numbers {
            let id = format!("{table}{number}");
            let tests = rows.iter().filter(|(row, _)| *row == id);
            assert_eq!(tests.count(), 1, "row {id} is not on the page once");
        }
    }
    for (id, tests) in rows {
        for test in tests {
            assert!(known.contains(test), "row {id}: there is no {test}");
            let name = test.rsplit("::").next().unwrap();
            let is_of_row = name.split('_').any(|word| word.eq_ignore_ascii_case(id));
            assert!(is_of_row, "row {id} is not in the name of {test}");
        }
    }
}
