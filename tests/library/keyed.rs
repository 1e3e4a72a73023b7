//! Records with keys against the naive answer: every syntax, operation, order and strategy.

use std::path::{Path, PathBuf};
use std::process::Command;

use differential::choices::Choices;
use differential::keyed;
use differential::sandbox::quick_directory;
use outset::{Dialect, Keys, Options, Selection, Syntax};

use crate::truth::{QUICK_BYTES, Row, rows, sha256};
use crate::util::{EXACT, MIB, Sandbox, beside_others, run_to_select};

#[test]
fn a21_records_with_keys_are_those_of_the_oracle() {
    check(0..12);
}

#[test]
#[ignore = "slow: hundreds of cases"]
fn a_thousand_cases_with_keys_are_those_of_the_oracle() {
    check(12..1000);
}

#[test]
fn a21_keys_of_random_records_are_those_of_a_loop() {
    random_records(100_000);
}

#[test]
#[ignore = "slow: a million records"]
fn a21_keys_of_a_million_random_records_are_those_of_a_loop() {
    random_records(1_000_000);
}

/// Compares the keys of so many records.
fn random_records(count: usize) {
    let mut choices = Choices::seeded(7);
    for _ in 0..count {
        let length = choices.below(24);
        let mut record = vec![choices.below(16) as u8, choices.below(12) as u8];
        record.extend((0..length).map(|_| choices.pick(b"ab,;\t\"\"\"x\n\r")));
        differential::targets::records(&record);
    }
}

fn check(seeds: std::ops::Range<u64>) {
    let _shared = beside_others();
    for seed in seeds {
        let sandbox = tempfile::tempdir_in(quick_directory()).unwrap();
        println!("seed {seed}");
        keyed::check(&mut Choices::seeded(seed), sandbox.path());
    }
}

/// Another hand: Python's own libraries, and pyarrow, write the lines of a file as one column of three, or say that
/// they cannot.
const PYTHON: &str = r#"
import csv, json, sys
kind, source, target = sys.argv[1:]
lines = open(source, encoding='latin-1', newline='\n').read().split('\n')
if lines[-1] == '':
    lines.pop()
if kind == 'parquet':
    try:
        import pyarrow, pyarrow.parquet
    except ImportError:
        sys.exit(8)
    values = [line.encode('latin-1') for line in lines]
    structure = pyarrow.array([{'line': value} for value in values], pyarrow.struct([('line', pyarrow.binary())]))
    numbers = pyarrow.array(range(len(lines)), pyarrow.int64())
    table = pyarrow.table({'number': numbers, 'of': structure})
    pyarrow.parquet.write_table(table, target, row_group_size=30_000, compression='zstd')
    sys.exit()
with open(target, 'w', encoding='latin-1' if kind != 'jsonl' else 'ascii', newline='') as out:
    if kind == 'csv':
        writer = csv.writer(out)
        writer.writerow(['number', 'the "line"', 'end'])
        writer.writerows([number, line, 'x, y'] for number, line in enumerate(lines))
    elif kind == 'tsv':
        if any('\t' in line for line in lines):
            sys.exit(7)
        for number, line in enumerate(lines):
            out.write(f'{number}\t{line}\tend\n')
    else:
        for number, line in enumerate(lines):
            text = line.encode('latin-1').decode('utf-8')
            out.write(json.dumps({'number': number, 'of': {'line': text}, 'end': [text]}) + '\n')
"#;

/// The lines of `file` as records of this kind at `target`; false where they cannot be written so.
fn written_by_python(kind: &str, file: &Path, target: &Path) -> bool {
    let mut python = Command::new("python3");
    python.args(["-c", PYTHON, kind]).args([file, target]);
    let output = python.output().unwrap();
    output.status.success()
}

/// A key as it is written in an answer, as the line that it was.
fn line_of(key: Vec<u8>) -> Vec<u8> {
    match &key[..] {
        [b'"', .., b'"'] if key.len() > 1 => {
            let text = String::from_utf8_lossy(&key[1..key.len() - 1]).into_owned();
            text.replace("\"\"", "\"").into_bytes()
        }
        _ => key,
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn a21_real_lines_in_columns_that_python_wrote_give_the_recorded_answers() {
    // The kinds by turns.
    recorded_answers(
        |row| row.bytes() <= QUICK_BYTES,
        |row, kind| row % KINDS.len() == kind,
    );
}

#[test]
#[ignore = "slow: all real files, written by Python as CSV, TSV, JSON and Parquet"]
fn a21_all_real_lines_in_columns_that_python_wrote_give_the_recorded_answers() {
    recorded_answers(|_| true, |_, _| true);
}

/// The kinds of files that Python writes, and the way to read the column.
const KINDS: [(&str, Syntax, &str, bool); 4] = [
    ("csv", Syntax::Csv(Dialect::new(b',')), "the \"line\"", true),
    ("tsv", Syntax::Delimited(b'\t'), "2", false),
    ("jsonl", Syntax::JsonLines, "of.line", false),
    // Only where pyarrow is installed.
    ("parquet", Syntax::Csv(Dialect::new(b',')), "of.line", false),
];

/// Checks the rows that are wanted, each as those kinds that are wanted for its number.
fn recorded_answers(is_wanted: impl Fn(&Row) -> bool, is_kind: impl Fn(usize, usize) -> bool) {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: there is no python3");
        return;
    }
    let rows = rows().unwrap_or_default();
    let rows = rows.iter().filter(|row| is_wanted(row));
    let mut checked = 0;
    for (number, (row, strategy)) in rows.zip(EXACT.into_iter().cycle()).enumerate() {
        let kinds = KINDS.into_iter().enumerate();
        for (_, (kind, syntax, field, has_header)) in
            kinds.filter(|&(kind, _)| is_kind(number, kind))
        {
            let sandbox = Sandbox::new();
            let targets: Vec<PathBuf> = (0..row.files.len())
                .map(|number| sandbox.file(&format!("{number}.{kind}"), b""))
                .collect();
            let mut files = row.files.iter().zip(&targets);
            if !files.all(|(file, target)| written_by_python(kind, file, target)) {
                // Lines with tabs, or with bytes that are no text.
                assert_ne!(kind, "csv", "{}", row.group);
                continue;
            }
            let options = Options {
                strategy,
                memory_bytes: Some(256 * MIB),
                keys: Some(Keys {
                    syntax,
                    fields: vec![field.parse().unwrap()],
                    has_header,
                    ..Keys::default()
                }),
                ..sandbox.options()
            };
            let _shared = beside_others();
            let found = run_to_select(Selection::intersection(), &targets, &options);
            let (lines, _) = found.unwrap_or_else(|error| panic!("{} {kind}: {error}", row.group));
            let lines = match kind {
                "csv" | "parquet" => lines.into_iter().map(line_of).collect(),
                _ => lines,
            };
            let expected = (row.lines, &row.sha256);
            assert_eq!(
                (lines.len() as u64, &sha256(&lines)),
                expected,
                "{} {kind}",
                row.group
            );
            checked += 1;
        }
    }
    println!("{checked} answers");
}
