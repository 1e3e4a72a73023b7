//! The verdict on a table of `outset overlaps`.
//!
//! *Owns:* reading the table, as text or as JSON, and the verdict. *Invariants:* each combination of
//! files that has lines must come exactly once with the right number; the order does not matter.
//!
//! *Cost:* the table is kept in memory: 100 bytes a row.

use std::fmt;

use serde::Deserialize;

use crate::error::Result;
use crate::manifest::Manifest;

/// A combination of files, a digit for each file, and its number of distinct lines.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct Row {
    which: String,
    lines: u64,
}

/// The part of the JSON that counts.
#[derive(Debug, Deserialize)]
struct Json {
    combinations: Vec<Row>,
}

/// The content of a table, and its verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableVerdict {
    /// True if it has each row of the right table once, and no other.
    pub right: bool,
    found: Vec<Row>,
    expected: Vec<Row>,
}

impl fmt::Display for TableVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.right { "right" } else { "WRONG" };
        let lines = |rows: &[Row]| -> u64 { rows.iter().map(|row| row.lines).sum() };
        write!(
            f,
            "{word}: {} combinations with {} lines, {} with {} expected",
            self.found.len(),
            lines(&self.found),
            self.expected.len(),
            lines(&self.expected)
        )?;
        let rows = |f: &mut fmt::Formatter<'_>, rows: &[Row], others: &[Row], word| {
            let wrong = rows.iter().filter(|row| !others.contains(row));
            wrong
                .take(20)
                .try_for_each(|Row { which, lines }| write!(f, "\n  {word:8} {which} {lines}"))
        };
        rows(f, &self.found, &self.expected, "found")?;
        rows(f, &self.expected, &self.found, "expected")
    }
}

/// Compares the `table` that `outset overlaps` printed with `manifest`. What cannot be read as a table
/// counts as one without rows.
///
/// # Errors
/// [`crate::Error::Usage`] for a manifest of format 1.
pub fn check_table(manifest: &Manifest, table: &str, strip_cr: bool) -> Result<TableVerdict> {
    let answers = manifest.answers(strip_cr)?;
    let row = |which: &String, lines| Row {
        which: which.clone(),
        lines,
    };
    let combinations = answers.combinations.iter();
    let mut expected: Vec<Row> = combinations
        .map(|lines| row(&lines.which, lines.once.count))
        .collect();
    let mut found = rows(table);
    expected.sort_unstable();
    found.sort_unstable();
    Ok(TableVerdict {
        right: found == expected,
        found,
        expected,
    })
}

fn rows(table: &str) -> Vec<Row> {
    if table.starts_with('{') {
        return serde_json::from_str(table)
            .map_or_else(|_| Vec::new(), |json: Json| json.combinations);
    }
    // The first line has the names of the columns; behind the number stand the names of the files.
    let row = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let which = words.next()?.to_owned();
        let lines = words.next()?.parse().ok()?;
        Some(Row { which, lines })
    };
    let mut lines = table.lines();
    let head = lines.next().filter(|line| line.starts_with("which "));
    let rows: Option<Vec<Row>> = head.and_then(|_| lines.map(row).collect());
    rows.unwrap_or_default()
}
