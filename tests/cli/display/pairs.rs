//! `outset overlaps` of pairs: the table, JSON and the page, of up to 64 files.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::report::{all, assert_colours, assert_needs_nothing, compared_cells, document, parsed};
use crate::data::lines;
use crate::limits::memory::measured;
use crate::sandbox::Sandbox;

/// Makes so many files, in directories of their own: file n has 100 numbers from 40 n on, some of them twice.
fn with_many(count: u64) -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let mut names = String::new();
    for file in 0..count {
        let name = format!("d{file}/numbers.txt");
        std::fs::create_dir(sandbox.input(&format!("d{file}"))).unwrap();
        let own = file * 40;
        sandbox.write(&name, [lines(own..own + 100), lines(own..own + 9)].concat());
        write!(names, " {name}").unwrap();
    }
    (sandbox, names)
}

/// The common lines of two of these files.
fn common(one: u64, other: u64) -> u64 {
    100_u64.saturating_sub(40 * one.abs_diff(other))
}

fn parse(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn l20_the_table_has_every_file_and_then_the_pairs_with_the_most_common_lines_first() {
    let sandbox = Sandbox::with(&lines(0..30), &lines(20..60));
    sandbox.write("c", lines(25..30));
    sandbox.write("empty", b"");
    let expected = "lines  file\n\
                    \x20  30  a\n\
                    \x20  40  the second\n\
                    \x20   5  c\n\
                    \x20   0  empty\n\
                    \n\
                    common  jaccard  a_in_b  b_in_a  a           b\n\
                    \x20   10   16.67%  33.33%  25.00%  a           the second\n\
                    \x20    5   16.67%  16.67%  100.0%  a           c\n\
                    \x20    5   12.50%  12.50%  100.0%  the second  c\n";
    let mut command = sandbox.command("overlaps --pairs a b c empty");
    command.args(["--name", "the second=b"]);
    let outcome = sandbox.start(command).finish();
    let text = String::from_utf8(outcome.succeeds().stdout.clone()).unwrap();
    assert_eq!(text, expected);
    let outcome = sandbox.run("overlaps --pairs empty empty -q");
    assert_eq!(
        outcome.succeeds().stdout,
        b"lines  file\n    0  empty\n    0  empty\n"
    );
}

#[test]
fn l20_json_has_whole_tables_of_numbers() {
    let sandbox = Sandbox::with(&lines(0..30), &lines(20..60));
    sandbox.write("empty", b"");
    let found = parse(&sandbox.run("overlaps --pairs a b empty --json").stdout);
    assert_eq!(found["inputs"], json!(["a", "b", "empty"]));
    assert_eq!(found["distinct_lines"], json!([30, 40, 0]));
    assert_eq!(
        found["common_lines"],
        json!([[30, 10, 0], [10, 40, 0], [0, 0, 0]])
    );
    assert_eq!(
        found["jaccard"],
        json!([
            [1.0, 10.0 / 60.0, 0.0],
            [10.0 / 60.0, 1.0, 0.0],
            [0.0, 0.0, null]
        ])
    );
    let containment = json!([
        [1.0, 10.0 / 30.0, 0.0],
        [0.25, 1.0, 0.0],
        [null, null, null]
    ]);
    assert_eq!(found["containment"], containment);
    assert_eq!(found["stats"]["output"]["lines"], 60);
}

#[test]
fn l20_more_than_16_files_are_counted_in_pairs_and_more_than_64_refused() {
    for count in [16, 17, 64] {
        let (sandbox, names) = with_many(count);
        let table = sandbox
            .run(&format!("overlaps{names}"))
            .succeeds()
            .stdout
            .clone();
        let table = String::from_utf8(table).unwrap();
        let is_of_pairs = table.starts_with("lines  file\n");
        assert_eq!(is_of_pairs, count > 16, "{table}");
        assert!(
            table.lines().all(|line| line.len() < 80 || !is_of_pairs),
            "{table}"
        );
        let json = parse(
            &sandbox
                .run(&format!("overlaps --pairs{names} --json"))
                .stdout,
        );
        for (one, other) in (0..count).flat_map(|one| (0..count).map(move |other| (one, other))) {
            let found = &json["common_lines"][one as usize][other as usize];
            assert_eq!(found, &json!(common(one, other)), "{one} and {other}");
        }
        // A pair is common with the two files before and after each.
        let rows = table.lines().count() as u64;
        assert!(
            !is_of_pairs || rows == 1 + count + 2 + (count - 1) + (count - 2),
            "{table}"
        );
        if count == 64 {
            let refused = sandbox.run(&format!("overlaps{names} d0/numbers.txt"));
            refused.fails(2, &["65 files given", "at most 64", "--side"]);
            let planned = sandbox.run(&format!("plan --operation overlaps{names} --json"));
            planned.succeeds();
        }
    }
}

#[test]
fn l20_pairs_of_records_and_of_pipes_are_those_of_their_keys_and_lines() {
    let sandbox = Sandbox::with(b"id,x\n1,a\n2,b\n2,c\n", b"x,id\nq,2\nr,3\n");
    for strategy in ["auto", "memory", "partition", "sieve"] {
        let words = format!("overlaps --pairs --csv -k id a b --json -q --strategy {strategy}");
        let found = parse(&sandbox.run(&words).succeeds().stdout);
        assert_eq!(found["common_lines"], json!([[2, 1], [1, 2]]), "{strategy}");
    }
    let found = sandbox.run_fed("overlaps --pairs - a - --json -q", b"x\n");
    found.fails(2, &["standard input"]);
    let found = sandbox.run_fed("overlaps --pairs - a a --json -q", b"1,a\n");
    assert_eq!(
        parse(&found.succeeds().stdout)["common_lines"],
        json!([[1, 1, 1], [1, 4, 4], [1, 4, 4]])
    );
}

/// The numbers of cells of a heat map, by how opaque they are.
fn cells(page: &scraper::Html) -> BTreeMap<String, usize> {
    let shapes = all(page, "svg[aria-describedby='pairs-description'] path");
    let cells = |shape: &scraper::ElementRef<'_>| shape.attr("d").unwrap().matches('M').count();
    let opacity = |shape: &scraper::ElementRef<'_>| shape.attr("fill-opacity").unwrap().to_owned();
    shapes
        .iter()
        .map(|shape| (opacity(shape), cells(shape)))
        .collect()
}

#[test]
fn l20_the_page_draws_and_lists_the_numbers_of_the_table() {
    for count in [2, 17] {
        let (sandbox, names) = with_many(count);
        let words = format!("overlaps --pairs{names} --json -q --report ../out/r.html");
        let table = parse(&sandbox.run(&words).succeeds().stdout);
        let page = parsed(&sandbox.output("r.html"));
        let document = document(&page);
        for field in [
            "inputs",
            "labels",
            "common_lines",
            "jaccard",
            "containment",
            "stats",
        ] {
            assert_eq!(document[field], table[field], "{field}");
        }
        assert!(compared_cells(&page, &document) > 40);
        let pairs = (count - 1) + count.saturating_sub(2);
        let listed = all(&page, "td[data-figure^='/common_lines/']");
        assert_eq!(listed.len() as u64, pairs);
        // With the next file 60 lines of 100 are common, with the one after it 20.
        let mut expected = BTreeMap::from([("0.6".to_owned(), 2 * (count as usize - 1))]);
        if count > 2 {
            expected.insert("0.2".to_owned(), 2 * (count as usize - 2));
        }
        assert_eq!(cells(&page), expected);
        assert_needs_nothing(&sandbox);
        assert_colours(&page);
    }
}

#[test]
fn l20_pages_of_files_without_common_lines_have_no_pair_and_those_without_lines_no_map() {
    let sandbox = Sandbox::with(&lines(0..3), &lines(3..9));
    sandbox.write("empty", b"");
    for (files, has_map) in [("a b", true), ("empty empty", false), ("a", true)] {
        sandbox
            .run(&format!(
                "overlaps --pairs {files} -q --report ../out/r.html"
            ))
            .succeeds();
        let page = parsed(&sandbox.output("r.html"));
        assert!(cells(&page).is_empty(), "{files}");
        let maps = all(&page, "svg[aria-describedby='pairs-description']").len();
        assert_eq!(maps, usize::from(has_map), "{files}");
        assert!(all(&page, "td[data-figure^='/common_lines/']").is_empty());
    }
}

#[test]
fn l20_a_page_of_64_files_that_all_have_lines_in_common_stays_under_the_limit() {
    let sandbox = Sandbox::new();
    let mut names = String::new();
    for file in 0..64 {
        let name = format!("{}-{file}", "long-name-of-a-file".repeat(3));
        sandbox.write(&name, lines(file..file + 5000));
        write!(names, " {name}").unwrap();
    }
    let arguments = format!("overlaps{names} -q --memory 16M --report ../out/r.html");
    let (outcome, peak) = measured(&sandbox, &arguments);
    let table = String::from_utf8(outcome.succeeds().stdout.clone()).unwrap();
    assert_eq!(table.lines().count(), 1 + 64 + 2 + 64 * 63 / 2);
    assert!(peak <= 16 << 20, "{} KiB resident", peak >> 10);
    let page = parsed(&sandbox.output("r.html"));
    assert_eq!(cells(&page).values().sum::<usize>(), 64 * 63);
    let text = all(&page, "main section p")[0].text().collect::<String>();
    assert!(
        text.contains("the first 1,000; all 2,016 are in the figures"),
        "{text}"
    );
}
