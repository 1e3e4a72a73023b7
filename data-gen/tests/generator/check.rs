//! Right and wrong results against their manifests.

use std::path::Path;

use crate::common::{Run, intersection, lines_of, run, small, text_of};
use data_gen::options::{Crlf, Terminator};
use data_gen::{Question, Rules, Verdict, Workload, check};

fn judge(run: &Run, result: &[u8], rules: Rules) -> Verdict {
    check(&run.manifest, result, Path::new("result"), rules).unwrap()
}

const EXACT: Rules = Rules {
    strip_cr: false,
    superset: false,
    nul: false,
    question: Question::INTERSECT,
};

const SUPERSET: Rules = Rules {
    superset: true,
    ..EXACT
};

const STRIP_CR: Rules = Rules {
    strip_cr: true,
    ..EXACT
};

#[test]
fn the_right_result_of_every_workload_is_right() {
    for &workload in Workload::all() {
        let mut options = small(workload, 300);
        options.longest = 5000;
        let run = run(&options, 2);
        let nul = options.terminator == Terminator::Nul;
        let mut result = text_of(&intersection(&run, false));
        if nul {
            result
                .iter_mut()
                .filter(|byte| **byte == b'\n')
                .for_each(|byte| *byte = 0);
        }
        let verdict = judge(&run, &result, Rules { nul, ..EXACT });
        assert!(verdict.right, "{workload:?}: {verdict}");
        assert_eq!((verdict.not_selected, verdict.foreign), (0, 0));
        if !nul {
            let bare = text_of(&intersection(&run, true));
            assert!(judge(&run, &bare, STRIP_CR).right, "{workload:?}");
        }
    }
}

#[test]
fn every_line_of_every_workload_is_told_apart() {
    for &workload in Workload::all() {
        let mut options = small(workload, 300);
        options.longest = 5000;
        let run = run(&options, 2);
        let rules = Rules {
            nul: options.terminator == Terminator::Nul,
            ..STRIP_CR
        };
        let common = intersection(&run, true);
        for file in &run.files {
            let verdict = judge(&run, file, rules);
            let bare = |line: &[u8]| line.strip_suffix(b"\r").unwrap_or(line).to_vec();
            let lines = lines_of(file, options.terminator);
            let in_common = lines
                .iter()
                .filter(|line| common.contains(&bare(line)))
                .count();
            assert_eq!(verdict.foreign, 0, "{workload:?}");
            assert_eq!(
                verdict.found_selected.count, in_common as u64,
                "{workload:?}"
            );
            assert_eq!(
                verdict.not_selected,
                (lines.len() - in_common) as u64,
                "{workload:?}"
            );
        }
    }
}

#[test]
fn a_missing_a_repeated_and_a_changed_line_are_wrong() {
    let run = run(&small(Workload::Urls, 500), 2);
    let lines: Vec<Vec<u8>> = intersection(&run, false).into_iter().collect();
    for rules in [EXACT, SUPERSET] {
        assert!(!judge(&run, &text_of(&lines[1..]), rules).right);
        assert!(!judge(&run, &text_of(lines.iter().chain(&lines[..1])), rules).right);
        let mut changed = text_of(&lines);
        changed[10] ^= 1;
        let verdict = judge(&run, &changed, rules);
        assert!(!verdict.right);
        assert_eq!(verdict.foreign, 1);
        assert!(!judge(&run, b"", rules).right);
    }
    let mut unterminated = text_of(&lines);
    unterminated.pop();
    assert!(judge(&run, &unterminated, EXACT).right);
}

#[test]
fn a_superset_may_hold_other_lines_of_the_input_only() {
    let run = run(&small(Workload::Many, 500), 2);
    let mut lines: Vec<Vec<u8>> = intersection(&run, false).into_iter().collect();
    let other = lines_of(&run.files[0], Terminator::Lf)
        .into_iter()
        .find(|line| !lines.contains(&line.to_vec()));
    lines.push(other.unwrap().to_vec());
    assert!(!judge(&run, &text_of(&lines), EXACT).right);
    let verdict = judge(&run, &text_of(&lines), SUPERSET);
    assert!(verdict.right);
    assert_eq!(verdict.not_selected, 1);
    lines.push(b"https://example.com/".to_vec());
    assert!(!judge(&run, &text_of(&lines), SUPERSET).right);
}

#[test]
fn carriage_returns_count_unless_they_are_stripped() {
    let mut options = small(Workload::Empty, 300);
    options.crlf = Crlf::All;
    let run = run(&options, 2);
    let with_cr = text_of(&intersection(&run, false));
    let bare = text_of(&intersection(&run, true));
    assert!(judge(&run, &with_cr, EXACT).right);
    assert!(!judge(&run, &bare, EXACT).right);
    assert!(judge(&run, &with_cr, STRIP_CR).right);
    assert!(judge(&run, &bare, STRIP_CR).right);
}
