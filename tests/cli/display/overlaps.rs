//! The report of `outset overlaps`: that it draws and lists the numbers of the table.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use scraper::{ElementRef, Html};
use serde_json::{Value, json};

use super::report::{
    all, assert_colours, assert_needs_nothing, compared_cells, document, parsed, selector,
};
use crate::data::lines;
use crate::limits::memory::measured;
use crate::sandbox::Sandbox;

/// The number of combinations that the plot draws, and that the table lists.
const DRAWN: usize = 40;
const LISTED: usize = 1000;

/// Files with these names: a file has the numbers in which `mask` sets its bit.
fn with_files(names: &[&str], numbers: u64, mask: fn(u64) -> u64) -> Sandbox {
    let sandbox = Sandbox::new();
    for (file, name) in names.iter().enumerate() {
        let mut text = String::new();
        for number in (1..numbers).filter(|&number| mask(number) >> file & 1 == 1) {
            writeln!(text, "{number}").unwrap();
        }
        sandbox.write(name, text);
    }
    sandbox
}

const SIXTEEN: [&str; 16] = [
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p",
];

/// Returns the table of these files as JSON, and its page.
fn reported(sandbox: &Sandbox, files: &str, options: &str) -> (Value, Html) {
    let arguments = format!("overlaps {files} --json -q {options} --report ../out/r.html");
    let outcome = sandbox.run(&arguments);
    let table = serde_json::from_slice(&outcome.succeeds().stdout).unwrap();
    (table, parsed(&sandbox.output("r.html")))
}

fn texts(picture: ElementRef<'_>, text: &str) -> Vec<String> {
    let selector = selector(text);
    let elements = picture.select(&selector);
    elements.map(|e| e.text().collect()).collect()
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let parts: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    String::from_utf8(parts.join(&b","[..])).unwrap()
}

/// The lines of each combination of a table by its digits, in the order of the table.
fn combinations(table: &Value) -> Vec<(&str, u64)> {
    let rows = table["combinations"].as_array().unwrap();
    let rows = rows
        .iter()
        .map(|row| (row["which"].as_str(), row["lines"].as_u64()));
    rows.map(|(which, lines)| (which.unwrap(), lines.unwrap()))
        .collect()
}

/// The digits of the combinations in the matrix of a plot, column by column.
fn matrix(plot: ElementRef<'_>) -> Vec<String> {
    let mut columns: BTreeMap<i64, BTreeMap<i64, char>> = BTreeMap::new();
    for dot in plot.select(&selector("circle")) {
        let coordinate = |name| (dot.attr(name).unwrap().parse::<f64>().unwrap() * 10.0) as i64;
        let digit = if dot.attr("fill") == Some("#1F2328") {
            '1'
        } else {
            '0'
        };
        columns
            .entry(coordinate("cx"))
            .or_default()
            .insert(coordinate("cy"), digit);
    }
    columns
        .values()
        .map(|column| column.values().collect())
        .collect()
}

/// The page must have the numbers of the table as JSON, in tables and in the plot.
fn assert_shows(page: &Html, table: &Value) {
    let document = document(page);
    for field in ["inputs", "labels", "combinations", "stats"] {
        // The run that printed the table is the one that the page is about.
        assert_eq!(document[field], table[field], "{field}");
    }
    assert_eq!(document["plan"]["strategy"], table["stats"]["strategy"]);
    assert!(compared_cells(page, &document) > 40);
    let combinations = combinations(table);
    let names = table["inputs"].as_array().unwrap();
    for (file, set) in document["sets"].as_array().unwrap().iter().enumerate() {
        let its = combinations
            .iter()
            .filter(|(which, _)| &which[file..=file] == "1");
        let lines: u64 = its.map(|(_, lines)| lines).sum();
        assert_eq!(
            set,
            &json!({ "label": names[file], "path": names[file], "distinct_lines": lines })
        );
    }
    let listed = all(
        page,
        "td[data-figure^='/combinations/'][data-figure$='/which']",
    );
    assert_eq!(listed.len(), combinations.len().min(LISTED));
    let common = all(
        page,
        "td[data-figure^='/combinations/'][data-figure$='/common_lines']",
    );
    assert_eq!(common.len(), listed.len());
    let plot = all(page, "svg[aria-describedby='upset-description']")[0];
    let drawn = &combinations[..combinations.len().min(DRAWN)];
    let numbers: Vec<String> = drawn.iter().map(|&(_, lines)| grouped(lines)).collect();
    assert_eq!(texts(plot, "text[transform]"), numbers);
    let which: Vec<&str> = drawn.iter().map(|&(which, _)| which).collect();
    assert_eq!(matrix(plot), which);
}

#[test]
fn l13_the_report_of_overlaps_has_the_numbers_of_the_table() {
    let sandbox = with_files(&["a", "b", "c"], 40_000, |number| match number % 10 {
        0..4 => 0b001,
        4..7 => 0b110,
        7..9 => 0b010,
        _ => 0b111,
    });
    for (files, pictures) in [("a", 1), ("a b", 2), ("a b c", 2), ("a b a c", 1)] {
        let (table, page) = reported(&sandbox, files, "");
        assert_shows(&page, &table);
        let shapes = all(&page, "svg[aria-describedby]");
        assert_eq!(shapes.len(), pictures, "{files}");
    }
}

#[test]
fn l13_two_and_three_files_are_circles_with_a_number_in_each_part() {
    let sandbox = with_files(&["a", "b", "c"], 40_000, |number| number % 7);
    for files in ["a b", "a b c"] {
        let (table, page) = reported(&sandbox, files, "");
        let circles = all(&page, "svg[aria-describedby='venn-description']")[0];
        let names: Vec<&str> = files.split(' ').collect();
        let mut numbers: Vec<String> = texts(circles, "text").split_off(names.len());
        let mut expected: Vec<String> = combinations(&table).iter().map(|c| grouped(c.1)).collect();
        // A part of which no line is has its number, too.
        expected.resize((1 << names.len()) - 1, "0".to_owned());
        numbers.sort();
        expected.sort();
        assert_eq!(numbers, expected, "{files}");
    }
}

#[test]
fn l13_combinations_that_are_too_many_are_left_out_and_counted() {
    let sandbox = with_files(&SIXTEEN, 3_000, |number| number * 21 % 65_536);
    let (table, page) = reported(&sandbox, &SIXTEEN.join(" "), "");
    assert_shows(&page, &table);
    let count = combinations(&table).len();
    assert!(count > LISTED, "{count}");
    let text = all(&page, "main section p")[0].text().collect::<String>();
    let (left_out, count) = (grouped((count - DRAWN) as u64), grouped(count as u64));
    assert!(text.contains(&format!("leaves out {left_out}.")), "{text}");
    let rows = format!("the first 1,000; all {count} are in the figures");
    assert!(text.contains(&rows), "{text}");
}

#[test]
fn l13_the_report_of_overlaps_needs_nothing_else_and_has_colours_for_dark_mode() {
    let sandbox = with_files(&SIXTEEN, 1_500, |number| number);
    for files in ["a b", "a b c", &SIXTEEN.join(" ")] {
        let (_, page) = reported(&sandbox, files, "--memory 16M --strategy partition");
        assert_needs_nothing(&sandbox);
        assert_colours(&page);
        for title in ["Plan", "Timeline", "Memory", "Buckets"] {
            let titles = all(&page, "h2").into_iter();
            let mut titles = titles.map(|title| title.text().collect::<String>());
            assert!(titles.any(|found| found == title), "{files}: {title}");
        }
    }
}

#[test]
fn l13_files_without_lines_have_no_plot() {
    let sandbox = Sandbox::with(b"", b"");
    let (_, page) = reported(&sandbox, "a b", "");
    let text = all(&page, "p.absent")[0].text().collect::<String>();
    assert!(text.contains("not enough data for a chart"), "{text}");
    assert!(all(&page, "svg[aria-describedby]").is_empty());
}

#[test]
fn l13_names_in_the_plot_are_shortened_harmless_and_said_in_full() {
    let hostile = "<&\"'>\u{202e}\u{1b}</svg><script>";
    let long = "a-file-with-a-name-that-goes-on-".repeat(3) + "file.txt";
    let sandbox = Sandbox::with(&lines(0..300), &lines(200..500));
    fs::create_dir(sandbox.input("<&\"'>\u{202e}\u{1b}<")).unwrap();
    for name in [hostile, &long] {
        fs::write(sandbox.input(name), lines(100..400)).unwrap();
    }
    let mut command = sandbox.command("overlaps a -q --report ../out/r.html");
    command.args([hostile, &long, "--name", &format!("{hostile}={hostile}")]);
    sandbox.start(command).finish().succeeds();
    let text = fs::read_to_string(sandbox.output("r.html")).unwrap();
    assert!(!text.contains(['\u{1b}', '\u{202e}']));
    let page = parsed(&sandbox.output("r.html"));
    assert_eq!(all(&page, "script").len(), 1);
    assert_eq!(document(&page)["inputs"], json!(["a", hostile, long]));
    let shown = hostile
        .replace('\u{202e}', "\\u{202e}")
        .replace('\u{1b}', "\\u{1b}");
    let plot = all(&page, "svg[aria-describedby='upset-description']")[0];
    let titles = texts(plot, "text title");
    assert_eq!(titles, ["a", &shown, &long]);
    let named = texts(plot, "text:has(title)");
    let labelled = named[1].strip_prefix(&shown).unwrap();
    assert!(
        labelled.starts_with("<&\"'>") && labelled.ends_with("<script>"),
        "{labelled}"
    );
    let short = named[2].strip_prefix(&long).unwrap();
    assert!(
        short.contains('…') && short.ends_with("file.txt"),
        "{short}"
    );
}

#[test]
fn l13_overlaps_that_fail_leave_no_report_and_what_was_there_stays() {
    let sandbox = Sandbox::with(&lines(0..3000), &lines(2000..5000));
    // The sandbox checks that no failure touches or adds an output.
    for before in [None, Some("before")] {
        if let Some(before) = before {
            fs::write(sandbox.output("r.html"), before).unwrap();
        }
        for (arguments, code) in [
            ("a b --memory 1M --report ../out/r.html", 6),
            ("a missing --report ../out/r.html", 3),
            ("a b --report ../out/none/r.html", 5),
            ("a b --report a", 2),
            ("a b --report -", 2),
        ] {
            sandbox
                .run(&format!("overlaps {arguments}"))
                .fails(code, &[]);
        }
    }
    let mut command = sandbox.command("overlaps a b --report ../out/r.html");
    command.stdout(fs::File::options().write(true).open("/dev/full").unwrap());
    sandbox
        .start_unread(command)
        .finish()
        .fails(5, &["standard output"]);
    assert_eq!(fs::read(sandbox.output("r.html")).unwrap(), b"before");
}

#[test]
#[ignore = "slow: 65,535 combinations"]
fn l13_a_report_of_all_combinations_of_sixteen_files_stays_under_the_limit() {
    let sandbox = with_files(&SIXTEEN, 65_536, |number| number);
    let files = SIXTEEN.join(" ");
    let arguments = format!("overlaps {files} -q --memory 16M --report ../out/r.html");
    let (outcome, peak) = measured(&sandbox, &arguments);
    outcome.succeeds();
    assert!(peak <= 16 << 20, "{} KiB resident", peak >> 10);
    let document = document(&parsed(&sandbox.output("r.html")));
    assert_eq!(combinations(&document).len(), 65_535);
}
