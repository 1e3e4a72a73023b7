//! Pages of comparisons made on small files.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use outset::compare::{Comparer, Point};
use outset::{Options, Selection, Source};

use super::*;
use crate::cli::report::recording::Recorder;

/// Writes two files with lines in common, in a directory that goes with the first of the result.
fn files() -> (tempfile::TempDir, Vec<Source>) {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, numbers: std::ops::Range<u64>| {
        let lines = numbers.map(|n| format!("line {:x}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let path: PathBuf = directory.path().join(name);
        std::fs::write(&path, lines.collect::<String>()).unwrap();
        Source::from(&path)
    };
    let sources = vec![file("<a>&'\u{1b}\"", 0..30_000), file("b", 25_000..60_000)];
    (directory, sources)
}

/// Makes the page of a comparison of intersections at these points, and its document.
fn page_at(points: &[Point], has_prediction: bool) -> (String, Value) {
    page_of(Selection::intersection(), points, has_prediction)
}

/// Makes the page of a comparison of this selection.
fn page_of(selection: Selection, points: &[Point], has_prediction: bool) -> (String, Value) {
    let (directory, sources) = files();
    let recorder = Recorder::start().unwrap();
    let options = Options {
        temp_dirs: vec![directory.path().to_owned()],
        observer: Some(recorder.observer()),
        ..Options::default()
    };
    let mut comparer = Comparer::new(&sources, selection, &options).unwrap();
    let mut plans = Vec::new();
    let mut found = Vec::new();
    for point in points {
        plans.push(comparer.plans(*point).unwrap());
        found.push(comparer.compare(*point, &mut |_: &[u8]| Ok(())).unwrap());
    }
    // As the planner would tell for much larger files.
    let predicted = |number: u32| {
        let limit = (24u64 << 20) * 5u64.pow(number) / 4u64.pow(number);
        (limit, 0.4f64.powf(1.3f64.powi(number as i32)))
    };
    let predicted: Vec<(u64, f64)> = (0..8).filter(|_| has_prediction).map(predicted).collect();
    let recorded = recorder.finish();
    let mut text = Vec::new();
    page(
        &ComparisonReport::new(&found, points.len() > 1),
        (&plans, &predicted),
        &recorded,
        &Origin::of(SystemTime::now(), &[]),
        &mut text,
    )
    .unwrap();
    let text = String::from_utf8(text).unwrap();
    let (_, json) = text.split_once("id=\"report\">").unwrap();
    let document = serde_json::from_str(json.split_once("</script>").unwrap().0).unwrap();
    (text, document)
}

fn limits(mebibytes: &[u64], bits: Option<f64>) -> Vec<Point> {
    // The tests of this process are many, and its memory counts.
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kibibytes: u64 = line
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let resident = (kibibytes >> 10) + 64;
    let point = |size: &u64| Point {
        memory_bytes: Some((resident + size) << 20),
        filter_fpr: bits,
    };
    mebibytes.iter().map(point).collect()
}

/// Checks tables and text of `page`, whose document is `document`.
fn check(page: &str, document: &Value) {
    let parsed = scraper::Html::parse_document(page);
    assert_eq!(parsed.errors, Vec::<String>::new());
    let select = |selector| scraper::Selector::parse(selector).unwrap();
    let mut cells = 0;
    for cell in parsed.select(&select("td[data-figure]")) {
        let pointer = cell.attr("data-figure").unwrap();
        let shown: Value = serde_json::from_str(cell.attr("data-value").unwrap()).unwrap();
        assert_eq!(document.pointer(pointer), Some(&shown), "{pointer}");
        cells += 1;
    }
    assert!(cells > 60, "{cells} cells");
    for section in parsed.select(&select("section:has(svg)")) {
        let count = |selector| section.select(&select(selector)).count();
        assert!(count("table") >= count("svg"), "{}", section.html());
    }
}

#[test]
fn several_limits_give_both_curves_and_every_table_shows_what_the_document_has() {
    let (page, document) = page_at(&limits(&[32, 48, 96], Some(0.1)), true);
    check(&page, &document);
    assert_eq!(
        document["comparison"]["points"].as_array().unwrap().len(),
        3
    );
    for title in [
        "False-positive rate by memory",
        "Time by memory",
        "memory limit of the process",
    ] {
        assert!(page.contains(title), "{title}");
    }
    assert!(page.matches("<svg ").count() >= 4);
    for run in ["exact", "approximate", "false lines", "distinct lines"] {
        let phases = document["recording"]["phases"].as_array().unwrap();
        assert!(
            phases.iter().any(|phase| phase["part"] == run),
            "no phase of {run}"
        );
    }
}

#[test]
fn one_point_alone_makes_charts_too_and_hostile_names_are_harmless() {
    let (page, document) = page_at(&limits(&[32], Some(0.02)), false);
    check(&page, &document);
    assert!(document["comparison"]["measured_fpr"].is_number());
    assert!(page.contains("False-positive rate by memory"));
    assert!(!page.contains("<a>") && !page.contains('\u{1b}'));
    assert!(page.contains("&lt;a&gt;&amp;'\\u{1b}&quot;"));
}

#[test]
fn l14_the_page_of_a_difference_speaks_of_missing_lines() {
    let difference = Selection::difference();
    for points in [limits(&[32], Some(0.1)), limits(&[32, 48, 96], Some(0.1))] {
        let (page, document) = page_of(difference, &points, true);
        check(&page, &document);
        for part in [
            "Exact and approximate difference",
            "lines that only the first file has",
            "missing lines</strong> (recall ",
            "A missing line is in the exact result",
            "expected to be missing",
            "Distinct lines in the filter",
        ] {
            assert!(page.contains(part), "{part}");
        }
        for part in ["common lines", "precision", "should never happen"] {
            // The document that the page carries has a field of that name.
            let (shown, _) = page.split_once("id=\"report\">").unwrap();
            assert!(!shown.contains(part), "{part}");
        }
    }
}

#[test]
fn filters_of_several_rates_under_one_limit_are_over_the_filters_size() {
    let point = |fpr| Point {
        memory_bytes: Some(32 << 20),
        filter_fpr: Some(fpr),
    };
    let (page, document) = page_at(&[point(0.2), point(0.05), point(0.01)], true);
    check(&page, &document);
    assert!(page.contains("memory of the filter"));
}

#[test]
fn without_a_rate_the_section_says_so() {
    let (directory, _) = files();
    let name = directory.path().join("same");
    std::fs::write(&name, "one\ntwo\n").unwrap();
    let again = directory.path().join("again");
    std::fs::write(&again, "one\ntwo\n").unwrap();
    let options = Options {
        temp_dirs: vec![directory.path().to_owned()],
        ..Options::default()
    };
    let sources = [Source::from(&name), Source::from(&again)];
    let mut found = outset::compare(
        &sources,
        Selection::intersection(),
        &options,
        &mut |_: &[u8]| Ok(()),
    )
    .unwrap();
    found.predicted_fpr = None;
    let recorded = Recorder::start().unwrap().finish();
    let mut text = Vec::new();
    let origin = Origin::of(SystemTime::now(), &[]);
    page(
        &ComparisonReport::One(&found),
        (&[], &[]),
        &recorded,
        &origin,
        &mut text,
    )
    .unwrap();
    let page = String::from_utf8(text).unwrap();
    assert!(page.contains("there is no false-positive rate"));
    assert!(!page.contains("False-positive rate by memory"));
}
