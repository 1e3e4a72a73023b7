//! Results of every operation, right and wrong, against their manifests.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::{Counts, Run, counts, run, small, text_of, weighed};
use data_gen::options::Crlf;
use data_gen::{
    Amount, Error, Operation, Options, Question, Rules, Share, Workload, check, check_table,
};

/// How often a line is written, given how often each file has it.
type Times = fn(&[u64]) -> u64;

/// In how many files a line is.
fn files(counts: &[u64]) -> usize {
    counts.iter().filter(|&&count| count > 0).count()
}

fn is_only_in_first(counts: &[u64]) -> bool {
    counts[0] > 0 && files(counts) == 1
}

const PLAIN: [(Operation, Times); 4] = [
    (Operation::Intersect, |counts| {
        u64::from(files(counts) == counts.len())
    }),
    (Operation::Diff, |counts| {
        u64::from(is_only_in_first(counts))
    }),
    (Operation::Union, |_| 1),
    (Operation::Symdiff, |counts| u64::from(files(counts) == 1)),
];

const ALL: [(Operation, Times); 4] = [
    (Operation::Intersect, |counts| {
        counts.iter().copied().min().unwrap()
    }),
    (Operation::Diff, |counts| {
        counts[0].saturating_sub(counts[1..].iter().sum())
    }),
    (Operation::Union, |counts| counts.iter().sum()),
    (Operation::Symdiff, |counts| counts[0].abs_diff(counts[1])),
];

const REPEATS: [(Operation, Times); 2] = [
    (Operation::Intersect, |counts| {
        if files(counts) == counts.len() {
            counts[0]
        } else {
            0
        }
    }),
    (Operation::Diff, |counts| {
        if is_only_in_first(counts) {
            counts[0]
        } else {
            0
        }
    }),
];

/// At least, at most.
const NUMBERS: [(Option<usize>, Option<usize>, Times); 4] = [
    (Some(2), None, |counts| u64::from(files(counts) >= 2)),
    (None, Some(2), |counts| u64::from(files(counts) <= 2)),
    (Some(1), Some(1), |counts| u64::from(files(counts) == 1)),
    (Some(2), Some(2), |counts| u64::from(files(counts) == 2)),
];

/// Every question about `files` files, and how it is answered.
fn questions(files: usize) -> Vec<(Question, Times)> {
    let mut questions = Vec::new();
    for (operation, times) in PLAIN {
        questions.push((Question::new(operation), times));
    }
    for (operation, times) in ALL {
        if operation != Operation::Symdiff || files == 2 {
            questions.push((Question::new(operation).with_all(), times));
        }
    }
    for (operation, times) in REPEATS {
        questions.push((Question::new(operation).with_repeats(), times));
    }
    for (at_least, at_most, times) in NUMBERS {
        questions.push((Question::INTERSECT.within(at_least, at_most), times));
    }
    questions
}

/// Two to four files in which lines of every kind are repeated.
fn runs() -> Vec<Run> {
    let mut runs = Vec::new();
    for files in 2..=4 {
        for crlf in [Crlf::None, Crlf::All, Crlf::Only(0), Crlf::Only(1)] {
            let mut options = small(Workload::Urls, 200);
            options.lines = vec![200; files];
            options.common = Amount::Share(Share::percent(40));
            options.partial = Share::percent(30);
            options.duplicates = Share::percent(60);
            options.hot = Share::percent(5);
            options.empty_lines = Share::percent(2);
            options.final_newline = false;
            options.crlf = crlf;
            runs.push(run(&options, 2));
        }
    }
    runs
}

fn is_right(run: &Run, question: Question, strip_cr: bool, lines: &[Vec<u8>]) -> bool {
    let rules = Rules {
        strip_cr,
        question,
        ..Rules::default()
    };
    check(
        &run.manifest,
        &text_of(lines)[..],
        Path::new("result"),
        rules,
    )
    .unwrap()
    .right
}

/// Every question about every run, in both senses, with the counts of its lines and the right answer.
fn each(test: impl Fn(&Run, Question, bool, &Counts, Vec<Vec<u8>>)) {
    for run in runs() {
        for strip_cr in [false, true] {
            let counts = counts(&run, strip_cr);
            for (question, times) in questions(run.files.len()) {
                let right = weighed(&counts, times);
                test(&run, question, strip_cr, &counts, right);
            }
        }
    }
}

#[test]
fn the_right_result_of_every_operation_is_right() {
    each(|run, question, strip_cr, _, right| {
        let options = &run.manifest.options;
        assert!(
            is_right(run, question, strip_cr, &right),
            "{question:?} {strip_cr} {options:?}"
        );
    });
}

#[test]
fn a_missing_an_extra_and_a_repeated_line_are_wrong_for_every_operation() {
    each(|run, question, strip_cr, counts, right| {
        let refuse = |lines: &[Vec<u8>], what| {
            assert!(
                !is_right(run, question, strip_cr, lines),
                "{what}: {question:?} {strip_cr} {:?}",
                run.manifest.options
            );
        };
        let and = |line: &[u8]| [&right[..], &[line.to_vec()]].concat();
        refuse(&and(b"https://example.com/"), "a foreign line");
        if let Some(other) = counts.keys().find(|&line| !right.contains(line)) {
            refuse(&and(other), "a line that is not selected");
        }
        if let [first, middle @ .., last] = &right[..] {
            refuse(&and(last), "a line too often");
            refuse(&right[1..], "a line too few");
            let first = first.clone();
            let swapped = [&[first.clone(), first.clone()], middle].concat();
            if first != *last {
                refuse(&swapped, "a line for another");
            }
        }
    });
}

#[test]
fn a_verdict_tells_selected_lines_from_others() {
    let run = &runs()[0];
    let counts = counts(run, false);
    let rules = Rules {
        question: Question::new(Operation::Diff),
        ..Rules::default()
    };
    let all = text_of(counts.keys());
    let verdict = check(&run.manifest, &all[..], Path::new("result"), rules).unwrap();
    let selected = weighed(&counts, PLAIN[1].1).len();
    assert!(!verdict.right);
    assert_eq!(verdict.found_selected, verdict.expected);
    assert_eq!(verdict.expected.count, selected as u64);
    assert_eq!(verdict.not_selected, (counts.len() - selected) as u64);
    assert_eq!(verdict.foreign, 0);
}

/// The table of overlaps as outset prints it.
fn table(counts: &Counts) -> String {
    let mut rows = BTreeMap::<String, u64>::new();
    for counts in counts.values() {
        let digit = |&count: &u64| if count > 0 { '1' } else { '0' };
        *rows.entry(counts.iter().map(digit).collect()).or_default() += 1;
    }
    let rows = rows.iter();
    let rows = rows.map(|(which, lines)| format!("{which}  {lines:>5}  a b\n"));
    "which  lines  files\n".to_owned() + &rows.collect::<String>()
}

#[test]
fn a_table_of_overlaps_is_right_in_any_order_and_with_no_other_number() {
    for run in runs() {
        for strip_cr in [false, true] {
            let table = table(&counts(&run, strip_cr));
            let is_right = |table: &str| check_table(&run.manifest, table, strip_cr).unwrap().right;
            assert!(is_right(&table), "{table}");
            let (head, rows) = table.split_once('\n').unwrap();
            let rows: Vec<&str> = rows.lines().collect();
            let of = |rows: &[&str]| format!("{head}\n{}\n", rows.join("\n"));
            let reversed: Vec<&str> = rows.iter().rev().copied().collect();
            assert!(is_right(&of(&reversed)));
            assert!(!is_right(&of(&rows[1..])), "a row is missing");
            assert!(!is_right(&of(&[&rows[..], &rows[..1]].concat())), "twice");
            let (which, rest) = rows[0].split_once("  ").unwrap();
            let changed = format!("{which}  1{}", rest.trim_start());
            assert!(!is_right(&of(&[&[&changed[..]], &rows[1..]].concat())));
            assert!(!is_right("outset: a: no such file"));
        }
    }
}

#[test]
fn a_table_of_overlaps_may_be_json() {
    let run = run(&small(Workload::Urls, 100), 1);
    let json = r#"{"inputs": ["a", "b"], "combinations": [{"which": "11", "lines": 10},
        {"which": "10", "lines": 90}, {"which": "01", "lines": 90}], "stats": {}}"#;
    let verdict = check_table(&run.manifest, json, false).unwrap();
    assert!(verdict.right, "{verdict}");
    let verdict = check_table(&run.manifest, &json.replace("10}", "11}"), false).unwrap();
    let said = verdict.to_string();
    assert!(!verdict.right && said.contains("found    11 11"), "{said}");
    assert!(said.contains("expected 11 10"), "{said}");
}

/// The option that is at fault in a question about `files` files.
fn refused(question: Question, files: usize) -> &'static str {
    let mut options: Options = small(Workload::Urls, 100);
    options.lines = vec![100; files];
    let run = run(&options, 1);
    let rules = Rules {
        question,
        ..Rules::default()
    };
    match check(&run.manifest, &b""[..], Path::new("result"), rules) {
        Err(Error::Usage { option, .. }) => option,
        other => panic!("{question:?} of {files} files gave {other:?}"),
    }
}

#[test]
fn questions_without_an_answer_are_refused_with_the_option_to_change() {
    let new = Question::new;
    assert_eq!(refused(new(Operation::Symdiff).with_all(), 3), "--all");
    let two = new(Operation::Intersect).within(Some(2), None);
    assert_eq!(refused(two.with_all(), 3), "--all");
    assert_eq!(refused(two.with_repeats(), 3), "--repeats");
    assert_eq!(
        refused(new(Operation::Union).with_repeats(), 2),
        "--repeats"
    );
    assert_eq!(
        refused(new(Operation::Symdiff).with_repeats(), 2),
        "--repeats"
    );
    let numbers = "--at-least, --at-most or --exactly";
    assert_eq!(
        refused(new(Operation::Diff).within(Some(1), None), 2),
        numbers
    );
    assert_eq!(
        refused(new(Operation::Intersect).within(Some(0), None), 2),
        numbers
    );
    assert_eq!(
        refused(new(Operation::Intersect).within(Some(3), None), 2),
        numbers
    );
    let below = two.within(Some(2), Some(1));
    assert_eq!(refused(below, 3), numbers);
    assert_eq!(refused(new(Operation::Overlaps), 2), "--operation");
    assert_eq!(refused(new(Operation::Diff), 1), "--operation");
    assert_eq!(refused(new(Operation::Intersect), 1), "--operation");
}

#[test]
fn a_manifest_of_format_1_has_the_answer_of_intersect_only() {
    let mut run = run(&small(Workload::Urls, 100), 1);
    let text = serde_json::to_string(&run.manifest).unwrap();
    let (former, _) = text.split_once(",\"answers\"").unwrap();
    let former = former.replace("\"common\":{\"lines\"", "\"common\":{\"distinct_lines\"") + "}";
    run.manifest = serde_json::from_str(&former).unwrap();
    let counts = counts(&run, false);
    let common = weighed(&counts, PLAIN[0].1);
    assert!(is_right(&run, Question::INTERSECT, false, &common));
    let rules = Rules {
        question: Question::new(Operation::Union),
        ..Rules::default()
    };
    let refused = check(&run.manifest, &b""[..], Path::new("result"), rules).unwrap_err();
    assert!(
        refused.to_string().contains("generate the data again"),
        "{refused}"
    );
}
