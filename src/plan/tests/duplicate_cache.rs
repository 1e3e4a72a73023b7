//! Memory for lines that come again and again.

use super::*;
use crate::selection::{Label, MOST_COUNTED_SIDES};

/// Makes an input of `count` lines, of which one in `times` is different.
fn repeated(count: u64, times: u64) -> InputShape {
    InputShape {
        distinct_lines: Some(Distinct::exactly(count / times)),
        ..lines(count)
    }
}

/// Plans `partition` of a selection of these inputs. Returns the bytes of the duplicate cache, and the bytes that the
/// plan writes.
fn known(selection: Selection, inputs: &[InputShape]) -> (u64, u64) {
    let plan = plan(&Job {
        selection,
        sides: (0..inputs.len()).collect(),
        strategy: Some(Strategy::Partition),
        ..job(inputs, 1 << 30)
    })
    .unwrap();
    (plan.duplicate_cache_bytes, plan.costs.bytes_written)
}

#[test]
fn lines_that_repeat_often_are_known_and_the_others_are_not() {
    let (bytes, written) = known(Selection::union(), &[repeated(100_000_000, 20)]);
    assert!(bytes > 400 << 20, "{bytes}");
    // A twentieth is different.
    assert!((250_000_000..350_000_000).contains(&written), "{written}");
    // Only a part of the different lines finds room.
    let (_, written) = known(Selection::union(), &[repeated(400_000_000, 20)]);
    assert!(
        (5_000_000_000..20_000_000_000).contains(&written),
        "{written}"
    );
    let (bytes, written) = known(Selection::union(), &[lines(400_000_000)]);
    assert_eq!(bytes, 0);
    assert!(written > 25_000_000_000, "{written}");
}

#[test]
fn lines_are_counted_in_the_cache_where_the_set_tells_what_is_written() {
    let inputs = [repeated(400_000_000, 50); 2];
    for (selection, is_told) in [
        (Selection::union().with_all(), true),
        (Selection::union().labelled(Label::Count), true),
        (Selection::at_least(2).min_count(3), false),
        (Selection::at_most(1).min_count(3), true),
        (Selection::difference().with_all(), true),
        (Selection::difference().with_repeats(), false),
        (
            Selection::union().labelled(Label::Count).of_records(),
            false,
        ),
    ] {
        assert_eq!(known(selection, &inputs).0 > 0, is_told, "{selection:?}");
    }
}

#[test]
fn inputs_are_told_apart_only_while_the_marks_have_room_for_them() {
    // So large that a filter of the first one would be of no use.
    let inputs = vec![repeated(2_000_000_000, 1_000_000); MOST_COUNTED_SIDES + 1];
    assert!(known(Selection::intersection(), &inputs[1..]).0 > 0);
    assert_eq!(known(Selection::intersection(), &inputs).0, 0);
}
