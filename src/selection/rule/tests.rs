//! Rules compared with what they select.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use super::*;

const SIDES: usize = 3;

/// A selection, and whether it asks for a line that these of the sides have.
type Kind = (Selection, fn(&[bool]) -> bool);

fn count(which: &[bool]) -> usize {
    which.iter().filter(|&&has| has).count()
}

/// The lines of the first and the last side alone.
const ONLY_OUTER: Selection = Selection::only(&[true, false, true]);

const KINDS: [Kind; 13] = [
    (Selection::intersection(), |which| count(which) == SIDES),
    (Selection::difference(), |which| {
        which[0] && count(which) == 1
    }),
    (Selection::union(), |which| count(which) >= 1),
    (Selection::symmetric_difference(), |which| count(which) == 1),
    (Selection::at_least(2), |which| count(which) >= 2),
    (Selection::at_least(3), |which| count(which) == SIDES),
    (Selection::at_most(2), |which| count(which) <= 2),
    (Selection::exactly(2), |which| count(which) == 2),
    (Selection::between(2, 3), |which| count(which) >= 2),
    (ONLY_OUTER, |which| which == [true, false, true]),
    (Selection::only(&[true, false, false]), |which| {
        which == [true, false, false]
    }),
    (Selection::only(&[false, true, true]), |which| {
        which == [false, true, true]
    }),
    (Selection::only(&[true; SIDES]), |which| {
        count(which) == SIDES
    }),
];
const LABELS: [Label; 5] = [
    Label::None,
    Label::Sides,
    Label::SideCount,
    Label::Count,
    Label::SidesOnly,
];

/// Lists every way in which a line can be in one side or more.
fn combinations() -> Vec<[bool; SIDES]> {
    let bits = 1u32..1 << SIDES;
    bits.map(|bits| [0, 1, 2].map(|side| bits >> side & 1 == 1))
        .collect()
}

/// Returns the mark of a line that is in `which` sides, when they had their readings in this order of numbers from 1.
fn mark(rule: &Rule, which: &[bool], order: [u32; SIDES]) -> u32 {
    let readings = order.into_iter().zip(1..);
    let own = readings.filter(|&(number, _)| which[number as usize - 1]);
    own.fold(0, |mark, (number, rank)| {
        let side = rule.side(number, rank);
        // A side may have a line more than once.
        let once = rule.kept().marks.next(mark, side).unwrap_or(mark);
        rule.kept().marks.next(once, side).unwrap_or(once)
    })
}

/// Returns what must be written of the line `line`.
fn written(label: Label, which: &[bool]) -> String {
    let digits: String = which
        .iter()
        .map(|&has| if has { '1' } else { '0' })
        .collect();
    match label {
        Label::None => "line".to_owned(),
        Label::Sides => format!("{digits}\tline"),
        Label::SideCount => format!("{}\tline", count(which)),
        Label::Count => "7\tline".to_owned(),
        Label::SidesOnly => digits,
    }
}

#[test]
fn l1_every_kind_of_rule_selects_by_the_sides_in_any_order_of_the_work() {
    for (selection, is_asked) in KINDS {
        for label in LABELS {
            let rule = Rule::new(selection.labelled(label), SIDES).unwrap();
            for which in combinations() {
                for order in [[1, 2, 3], [1, 3, 2], [2, 3, 1], [3, 2, 1]] {
                    // Where the first side counts by itself, it has the first reading.
                    if rule.in_first() && order[0] != 1 {
                        continue;
                    }
                    let mark = mark(&rule, &which, order);
                    assert_eq!(
                        rule.selects(LineState::with_mark(mark)),
                        is_asked(&which),
                        "{selection:?} with {label:?}: {which:?} in the order {order:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn l1_the_questions_of_every_operation_have_the_answers_of_their_table() {
    let numbered = |selection: Selection| selection.labelled(Label::SideCount);
    for (selection, yes, building) in [
        (Selection::intersection(), "all, common, last, a set", 1),
        (Selection::difference(), "first, a set", 1),
        (Selection::union(), "any, new", SIDES),
        (Selection::symmetric_difference(), "", SIDES),
        (Selection::at_least(2), "", SIDES - 1),
        (Selection::at_least(3), "all, common, last, a set", 1),
        (numbered(Selection::at_least(3)), "all, last", 1),
        (numbered(Selection::union()), "", SIDES),
        (ONLY_OUTER, "", SIDES - 1),
        (
            Selection::only(&[true; SIDES]),
            "all, common, last, a set",
            1,
        ),
    ] {
        let rule = Rule::new(selection, SIDES).unwrap();
        let answers = [
            (rule.needs_all(), "all"),
            (rule.in_first(), "first"),
            (rule.finds_common(), "common"),
            (rule.last_mark().is_some(), "last"),
            (rule.takes_any(), "any"),
            (rule.writes_new(), "new"),
            (rule.is_told_by_a_set(), "a set"),
            (rule.writes_again() || rule.asks_first(), "again"),
        ];
        let told = answers.iter().filter(|(is, _)| *is).map(|(_, name)| *name);
        assert_eq!(told.collect::<Vec<_>>().join(", "), yes, "{selection:?}");
        assert_eq!(rule.building_sides(), building, "{selection:?}");
        let records = Rule::new(selection.of_records(), SIDES).unwrap();
        let (is_of_all, keeps) = (yes.contains("all"), records.keeps_records_of(2));
        assert_eq!(
            (records.asks_first(), records.writes_again()),
            (is_of_all, true)
        );
        assert_eq!(keeps, !is_of_all && !yes.contains("first"), "{selection:?}");
    }
}

#[test]
fn l2_every_kind_of_rule_writes_the_label_that_was_asked_for() {
    for (selection, is_asked) in KINDS {
        for label in LABELS {
            let rule = Rule::new(selection.labelled(label), SIDES).unwrap();
            for which in combinations().into_iter().filter(|which| is_asked(which)) {
                let mark = mark(&rule, &which, [1, 2, 3]);
                let found = LineState {
                    tally: 7,
                    ..LineState::with_mark(mark)
                };
                assert_eq!(
                    [&rule.label(found)[..], rule.behind_label(b"line")].concat(),
                    written(label, &which).into_bytes(),
                    "{selection:?} with {label:?}: {which:?}"
                );
            }
        }
    }
}

#[test]
fn l2_a_number_of_files_has_all_its_digits() {
    let rule = Rule::new(Selection::union().labelled(Label::SideCount), 1234).unwrap();
    for sides in [9, 10, 999, 1234] {
        let mark = (1..=sides).fold(0, |mark, side| rule.kept().marks.next(mark, side).unwrap());
        let before = rule.label(LineState::with_mark(mark));
        assert_eq!(before[..], *format!("{sides}\t").as_bytes());
    }
}

#[test]
fn l15_a_bound_on_occurrences_is_one_more_bound_of_every_rule() {
    for (selection, is_asked) in KINDS {
        let bounded = selection.min_count(3).max_count(5);
        let rule = Rule::new(bounded, SIDES).unwrap();
        for (which, tally) in combinations()
            .into_iter()
            .flat_map(|which| (1..8).map(move |n| (which, n)))
        {
            let found = LineState {
                tally,
                ..LineState::with_mark(mark(&rule, &which, [1, 2, 3]))
            };
            let expected = is_asked(&which) && (3..=5).contains(&tally);
            assert_eq!(
                rule.selects(found),
                expected,
                "{bounded:?}: {which:?}, {tally}"
            );
            assert_eq!(rule.times(found), u64::from(expected));
        }
        // Occurrences matter, so none may be dropped, and no line be written before all were seen.
        for counted in [
            bounded,
            selection.min_count(2),
            selection.ordered(Order::Count),
            selection.top(3),
        ] {
            let rule = Rule::new(counted, SIDES).unwrap();
            assert_eq!(rule.kept().tally, Tally::Sum, "{counted:?}");
            let is_early = rule.takes_any() || rule.finds_common() || rule.last_mark().is_some();
            assert!(!is_early && rule.approximate().is_none(), "{counted:?}");
        }
        let any = Rule::new(selection.min_count(1), SIDES).unwrap();
        assert_eq!(any.kept().tally, Tally::None, "every line occurs once");
    }
}

#[test]
fn l16_a_combination_is_of_every_side_and_its_refusal_says_how() {
    for (only, sides, parts) in [
        (
            &[true, false][..],
            3,
            ["`only` 10: 2 digits for 3 sides", "such as 101"],
        ),
        (
            &[true],
            2,
            ["`only` 1: one digit for 2 sides", "such as 11"],
        ),
        (&[false; 4], 4, ["`only` 0000", "such as 1001"]),
        (&[true; 65], 65, ["65 digits given", "at most 64"]),
        (&[true; 90], 3, ["90 digits given", "at most 64"]),
        (&[true, false], 65, ["65 files given", "at most 64"]),
    ] {
        let refused = Rule::new(Selection::only(only), sides)
            .unwrap_err()
            .to_string();
        assert!(parts.iter().all(|part| refused.contains(part)), "{refused}");
    }
    for only in [[true; MOST_TOLD_SIDES], {
        let mut first = [false; MOST_TOLD_SIDES];
        first[0] = true;
        first
    }] {
        assert!(Rule::new(Selection::only(&only), MOST_TOLD_SIDES).is_ok());
    }
}

#[test]
fn l18_up_to_64_sides_are_told_apart_in_any_order_of_the_work() {
    for sides in [16, 23, 24, 40, 63, 64] {
        // Every third side has the line, or the last alone.
        for which in [
            |side: usize| side.is_multiple_of(3),
            |side: usize| side == 15,
        ] {
            let which: Vec<bool> = (0..sides).map(which).collect();
            let digits: String = which
                .iter()
                .map(|&has| char::from(b'0' + u8::from(has)))
                .collect();
            let mut order: Vec<u32> = (1..=sides as u32).collect();
            order.rotate_left(sides / 2);
            for selection in [
                Selection::only(&which),
                Selection::union(),
                Selection::difference(),
            ] {
                let rule = Rule::new(selection.labelled(Label::Sides), sides).unwrap();
                let kept = rule.kept();
                let (mut mark, mut words) = (0, vec![0; kept.words()]);
                for (&number, rank) in order
                    .iter()
                    .zip(1..)
                    .filter(|&(&number, _)| which[number as usize - 1])
                {
                    let side = rule.side(number, rank);
                    for _again in 0..2 {
                        let new = kept.marks.next(mark, side);
                        if mark == 0 {
                            kept.start(&mut words, side, 0.into());
                        } else {
                            kept.add(&mut words, side, new.is_some(), mark, 0.into());
                        }
                        mark = new.unwrap_or(mark);
                    }
                }
                let found = kept.found(&words, mark);
                let is_selected = selection != Selection::difference();
                assert_eq!(rule.selects(found), is_selected, "{selection:?} of {sides}");
                let label = rule.label(found);
                assert_eq!(
                    label[..],
                    *format!("{digits}\t").as_bytes(),
                    "{selection:?}"
                );
                let other = Rule::new(Selection::only(&vec![true; sides]), sides).unwrap();
                assert!(!other.selects(LineState { mark: 1, ..found }));
            }
        }
    }
}

#[test]
fn l16_a_combination_is_an_intersection_without_a_rate_and_has_its_digits_in_figures() {
    for (has, digits) in [([true, false, true], "101"), ([true, false, false], "100")] {
        let rule = Rule::new(Selection::only(&has), SIDES).unwrap();
        assert!(rule.approximate().is_none() && !rule.finds_common());
        assert_eq!(rule.selection.name(), "intersect");
        let figures = serde_json::to_value(Selection::only(&has)).unwrap();
        assert_eq!(figures["only"], digits);
    }
    let any = serde_json::to_value(Selection::exactly(2)).unwrap();
    assert!(any.get("only").is_none());
}

#[test]
fn l15_the_more_often_a_line_occurs_the_earlier_is_its_place() {
    let found = |tally| LineState {
        tally,
        ..LineState::with_mark(1)
    };
    let counted = Rule::new(Selection::union().top(1), 1).unwrap();
    assert!(counted.place(found(3), 9) < counted.place(found(2), 1));
    let in_order = Rule::new(Selection::union().ordered(Order::Input), 1).unwrap();
    assert_eq!(in_order.place(found(3), 9), 9);
}

#[test]
fn l7_bounds_that_no_line_can_meet_are_refused() {
    for selection in [
        Selection::union().min_count(0),
        Selection::union().max_count(0),
        Selection::union().min_count(3).max_count(2),
        Selection::union().top(0),
        Selection::union().top(3).ordered(Order::Sorted),
        Selection::union().top(3).ordered(Order::Any),
        Selection::at_least(4),
        Selection::at_most(4),
        Selection::exactly(4),
        Selection::exactly(0),
        Selection::between(3, 2),
        Selection::only(&[]),
        Selection::only(&[true; 2]),
        Selection::only(&[true, false, true, false]),
        Selection::only(&[false; SIDES]),
        Selection::only(&[true; MOST_TOLD_SIDES + 1]),
    ] {
        let error = Rule::new(selection, SIDES).unwrap_err();
        assert!(matches!(error, Error::Usage { .. }), "{error}");
    }
}

#[test]
fn l7_more_sides_than_marks_tell_apart_are_refused() {
    let labelled = Selection::union().labelled(Label::Sides);
    for (selection, most) in [
        (labelled, MOST_TOLD_SIDES),
        (
            Selection::difference().labelled(Label::Sides),
            MOST_TOLD_SIDES,
        ),
        (Selection::union(), MOST_COUNTED_SIDES),
        (Selection::difference(), MOST_SIDES),
        (Selection::intersection(), MOST_SIDES),
    ] {
        assert!(Rule::new(selection, most).is_ok(), "{selection:?}");
        let error = Rule::new(selection, most + 1).unwrap_err();
        assert!(matches!(error, Error::Usage { .. }), "{error}");
    }
}

#[test]
fn lines_are_written_when_they_are_new_only_where_each_is_selected_once_with_nothing_before_it() {
    for (selection, _) in KINDS {
        for label in LABELS {
            let rule = Rule::new(selection.labelled(label), SIDES).unwrap();
            let is_plain = |which: [bool; SIDES]| {
                let found = LineState::with_mark(mark(&rule, &which, [1, 2, 3]));
                rule.times(found) == 1
                    && rule.label(found).is_empty()
                    && rule.behind_label(b"line") == b"line"
            };
            let is_any = combinations().into_iter().all(is_plain);
            assert_eq!(rule.writes_new(), is_any, "{selection:?} with {label:?}");
        }
    }
    let writes_new = |selection| Rule::new(selection, SIDES).unwrap().writes_new();
    for any in [
        Selection::union().ordered(Order::Sorted),
        Selection::at_most(3),
        Selection::between(1, 3),
    ] {
        assert!(writes_new(any), "{any:?}");
    }
    let repeats = Rule::new(Selection::intersection().with_repeats(), 1).unwrap();
    assert!(!repeats.writes_new());
    // What is wanted besides the line is known when all were read.
    for more in [
        Selection::union().ordered(Order::Input),
        Selection::union().with_duplicates(),
        Selection::union().of_records(),
    ] {
        assert!(!writes_new(more), "{more:?}");
    }
    assert!(Rule::common(1, Order::Any).writes_new() && !Rule::common(2, Order::Any).writes_new());
}
