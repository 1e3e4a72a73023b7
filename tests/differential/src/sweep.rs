//! The cases of a test that runs every value of one list with every value of others.
//!
//! *Owns:* how many of them a test takes: a few, or with `OUTSET_SWEEP=full` all, as nights do. *Invariants:* among
//! the few, every value of every list has a turn, and values of any two lists meet in as many pairs as there are turns.
//! *Cost:* as many cases as the longest list has values; of a full sweep, the product of all lengths.

use std::cmp::Reverse;

/// Returns true if every case is asked for.
pub fn is_full() -> bool {
    std::env::var_os("OUTSET_SWEEP").is_some_and(|sweep| sweep == "full")
}

/// Returns `most` of the values, from all over the list; in a full sweep all.
pub fn some<T>(values: &[T], most: usize) -> impl Iterator<Item = &T> {
    let count = values.len();
    let most = if is_full() { count } else { most.min(count) };
    (0..most).map(move |turn| &values[turn * count / most])
}

/// Returns pairs of values of two lists.
pub fn pairs<'a, A, B>(first: &'a [A], second: &'a [B]) -> Vec<(&'a A, &'a B)> {
    let cases = cases([first.len(), second.len(), 1], is_full());
    let pair = |[a, b, _]: [usize; 3]| (&first[a], &second[b]);
    cases.into_iter().map(pair).collect()
}

/// Returns triples of values of three lists.
pub fn triples<'a, A, B, C>(
    first: &'a [A],
    second: &'a [B],
    third: &'a [C],
) -> Vec<(&'a A, &'a B, &'a C)> {
    let cases = cases([first.len(), second.len(), third.len()], is_full());
    let triple = |[a, b, c]: [usize; 3]| (&first[a], &second[b], &third[c]);
    cases.into_iter().map(triple).collect()
}

/// Returns the cases over lists of these lengths, each as an index into every list.
fn cases([first, second, third]: [usize; 3], is_full: bool) -> Vec<[usize; 3]> {
    if is_full {
        // The last list changes fastest, as in nested loops.
        let case = |number| {
            [
                number / third / second,
                number / third % second,
                number % third,
            ]
        };
        return (0..first * second * third).map(case).collect();
    }
    let lengths = [first, second, third];
    let mut lists = [0, 1, 2];
    lists.sort_by_key(|&list| Reverse(lengths[list]));
    let [longest, middle, shortest] = lists;
    // Of an empty list there are no values that others could meet.
    let turns = lengths[longest] * lengths[shortest].min(1);
    let case = |turn| {
        let (round, place) = (turn / lengths[middle], turn % lengths[middle]);
        let mut case = [0; 3];
        case[longest] = turn;
        case[middle] = place;
        // In every round it is shifted against the list that the round is of.
        case[shortest] = (round + place) % lengths[shortest];
        case
    };
    (0..turns).map(case).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_value_has_a_turn_and_a_full_sweep_has_every_combination() {
        for number in 0..10_usize.pow(3) {
            let lengths = [number / 100, number / 10 % 10, number % 10];
            let all = cases(lengths, true);
            assert_eq!(all.len(), lengths.iter().product::<usize>(), "{lengths:?}");
            assert!(all.is_sorted_by(|a, b| a < b), "{lengths:?}");
            let few = cases(lengths, false);
            assert!(few.iter().all(|case| all.contains(case)), "{lengths:?}");
            if all.is_empty() {
                assert!(few.is_empty(), "{lengths:?}");
                continue;
            }
            assert_eq!(few.len(), *lengths.iter().max().unwrap());
            for (list, length) in lengths.into_iter().enumerate() {
                let values: BTreeSet<usize> = few.iter().map(|case| case[list]).collect();
                assert!(values.into_iter().eq(0..length), "{lengths:?}, {list}");
            }
        }
    }

    #[test]
    fn values_of_any_two_lists_meet_in_as_many_pairs_as_there_are_turns() {
        for number in 0..10_usize.pow(3) {
            let lengths = [number / 100, number / 10 % 10, number % 10].map(|digit| digit + 1);
            let few = cases(lengths, false);
            for [one, other] in [[0, 1], [0, 2], [1, 2]] {
                let pairs: BTreeSet<[usize; 2]> =
                    few.iter().map(|case| [case[one], case[other]]).collect();
                let most = few.len().min(lengths[one] * lengths[other]);
                assert_eq!(pairs.len(), most, "{lengths:?}: {one}, {other}");
            }
        }
    }
}
