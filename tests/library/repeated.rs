//! Files in which most lines come again and again: what is known is not spilled again, and the answer is the same.

use differential::sweep;
use outset::{Label, Options, Order, Selection, Strategy};

use crate::oracle::selected;
use crate::util::{MIB, Sandbox, assert_same, beside_others, run_to_select, select_into};

/// A test of whether a line is selected, given which inputs have it.
type IsAsked = fn(&[bool]) -> bool;

/// Lines of the first input.
const LINES: u32 = 160_000;
/// Different lines that an input is drawn from.
const DISTINCT: u32 = 50_000;

/// Two inputs of 10 and 7 MB, each line three times on average, at random; two thirds of what they are drawn from is
/// the same.
fn inputs() -> [Vec<u8>; 2] {
    let line = |number: u32| format!("{number:0>60}\n").into_bytes();
    let input = |lines: u32, seed: u32, first: u32| {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            first + ((u64::from(state) * u64::from(DISTINCT)) >> 32) as u32
        };
        (0..lines).flat_map(|_| line(next())).collect()
    };
    // The smaller one is spilled first.
    [input(LINES, 1, 0), input(LINES / 4 * 3, 2, DISTINCT / 3)]
}

/// Options under which less than all different lines fit into memory.
fn little(sandbox: &Sandbox, threads: usize) -> Options {
    Options {
        memory_bytes: Some(18 * MIB),
        threads: Some(threads),
        strategy: Some(Strategy::Partition),
        ..sandbox.options()
    }
}

#[test]
fn a18_lines_that_come_again_are_spilled_once_and_found_in_any_selection() {
    let _shared = beside_others();
    let (sandbox, contents) = (Sandbox::new(), inputs());
    let files = sandbox.files(&contents);
    let total: usize = contents.iter().map(Vec::len).sum();
    // With numbers of threads.
    let questions: [(Selection, IsAsked, usize); 4] = [
        (Selection::union(), |which| which[0] || which[1], 1),
        (
            Selection::symmetric_difference(),
            |which| which[0] != which[1],
            2,
        ),
        (Selection::intersection(), |which| which[0] && which[1], 2),
        (Selection::difference(), |which| which[0] && !which[1], 1),
    ];
    for &(selection, is_asked, threads) in sweep::some(&questions, 2) {
        let expected = selected(&contents, is_asked);
        let options = little(&sandbox, threads);
        let (found, stats) = run_to_select(selection, &files, &options).unwrap();
        assert_same(&found, &expected, &(selection, threads));
        let written = stats.temp.written_bytes;
        assert!(
            written > 0 && written < total as u64 * 2 / 3,
            "{written} bytes of {total} were spilled, {selection:?}"
        );
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn a18_lines_that_come_again_are_known_where_no_order_matters() {
    let _shared = beside_others();
    let (sandbox, contents) = (Sandbox::new(), inputs());
    let files = sandbox.files(&contents);
    let total: usize = contents.iter().map(Vec::len).sum();
    let questions: [(Selection, IsAsked); 2] = [
        (Selection::difference(), |which| which[0] && !which[1]),
        (Selection::intersection(), |which| which[0] && which[1]),
    ];
    // The lines of the second file have no position in the order of the first.
    for (selection, is_asked) in questions {
        let expected = selected(&contents, is_asked);
        let selection = selection.ordered(Order::Input);
        let (found, stats) = run_to_select(selection, &files, &little(&sandbox, 2)).unwrap();
        assert_same(&found, &expected, &selection);
        let written = stats.temp.written_bytes;
        assert!(
            written > 0 && written < total as u64 * 3 / 4,
            "{written} bytes of {total} were spilled, {selection:?}"
        );
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn a18_lines_that_come_again_are_counted_for_each_input() {
    let _shared = beside_others();
    let (sandbox, contents) = (Sandbox::new(), inputs());
    let files = sandbox.files(&contents);
    let labelled = |label: &str, is_asked: IsAsked| {
        let lines = selected(&contents, is_asked).into_iter();
        lines
            .map(|line| [label.as_bytes(), b"\t", &line].concat())
            .collect::<Vec<_>>()
    };
    let one: IsAsked = |which| which[0] != which[1];
    let (first, second): (IsAsked, IsAsked) =
        (|which| which[0] && !which[1], |which| !which[0] && which[1]);
    let both: IsAsked = |which| which[0] && which[1];
    let cases = [
        (
            Label::SideCount,
            vec![labelled("1", one), labelled("2", both)],
        ),
        (
            Label::Sides,
            vec![
                labelled("10", first),
                labelled("01", second),
                labelled("11", both),
            ],
        ),
    ];
    for (label, expected) in cases {
        let expected = expected.concat().into_iter().collect();
        let selection = Selection::union().labelled(label);
        let (found, stats) = run_to_select(selection, &files, &little(&sandbox, 2)).unwrap();
        assert_same(&found, &expected, &label);
        assert!(stats.temp.written_bytes < stats.inputs.iter().map(|input| input.bytes).sum());
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn a18_lines_that_come_again_are_written_where_they_came_first() {
    let _shared = beside_others();
    let (sandbox, contents) = (Sandbox::new(), inputs());
    let files = sandbox.files(&contents);
    let mut seen = std::collections::HashSet::new();
    let lines = contents
        .iter()
        .flat_map(|bytes| bytes[..bytes.len() - 1].split(|&byte| byte == b'\n'));
    let expected: Vec<&[u8]> = lines.filter(|line| seen.insert(*line)).collect();
    for threads in [1, 2] {
        let mut found: Vec<Vec<u8>> = Vec::new();
        let mut collect = |line: &[u8]| {
            found.push(line.to_vec());
            Ok(())
        };
        let selection = Selection::union().ordered(Order::Input);
        let options = little(&sandbox, threads);
        select_into(selection, &files, &options, &mut collect).unwrap();
        assert!(found.iter().eq(&expected), "{threads} threads");
    }
}
