//! The cases of a test that runs every value of one list with every value of others.
//!
//! *Owns:* how many of them a test takes: a few, or with `OUTSET_SWEEP=full` all, as nights do. *Invariants:* among
//! the few, every value of every list has a turn, and those of the shorter lists meet in ever other pairs. *Cost:* as
//! many cases as the longest list has values; of a full sweep, the product of all lengths.

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
    let cases = cases([first.len(), second.len()], is_full());
    let pair = |[a, b]: [usize; 2]| (&first[a], &second[b]);
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
fn cases<const N: usize>(lengths: [usize; N], is_full: bool) -> Vec<[usize; N]> {
    if is_full {
        let count = lengths.iter().product();
        let all = (0..count).map(|mut number| {
            // The last list changes fastest, as in nested loops.
            let mut case = [0; N];
            for (index, length) in case.iter_mut().zip(lengths).rev() {
                (*index, number) = (number % length, number / length);
            }
            case
        });
        return all.collect();
    }
    // Of an empty list there are no values that others could meet.
    let turns = match lengths.into_iter().min() {
        Some(1..) => lengths.into_iter().max().unwrap_or_default(),
        _ => 0,
    };
    let case = |turn: usize| {
        // Each time that a list begins again, it is shifted against the others.
        let index = |list: usize| (turn + (list + 1) * (turn / lengths[list])) % lengths[list];
        std::array::from_fn(index)
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
        for lengths in [[1, 1, 1], [7, 3, 2], [4, 12, 2], [2, 2, 9], [5, 4, 4]] {
            let few = cases(lengths, false);
            assert_eq!(few.len(), *lengths.iter().max().unwrap());
            for (list, length) in lengths.into_iter().enumerate() {
                let values: BTreeSet<usize> = few.iter().map(|case| case[list]).collect();
                assert!(values.into_iter().eq(0..length), "{lengths:?}, {list}");
            }
            let all: BTreeSet<[usize; 3]> = cases(lengths, true).into_iter().collect();
            assert_eq!(all.len(), lengths.iter().product::<usize>());
            assert!(few.iter().all(|case| all.contains(case)));
        }
    }

    #[test]
    fn values_of_the_shorter_lists_meet_in_every_pair_where_turns_suffice() {
        for lengths in [[12, 4, 2], [4, 12, 2], [2, 2, 4], [9, 3, 3], [3, 3, 9]] {
            let few = cases(lengths, false);
            let turns = lengths.into_iter().max();
            let [one, other] = [[0, 1], [0, 2], [1, 2]]
                .into_iter()
                .find(|pair| pair.iter().all(|&list| Some(lengths[list]) < turns))
                .unwrap();
            let pairs: BTreeSet<[usize; 2]> =
                few.iter().map(|case| [case[one], case[other]]).collect();
            assert_eq!(pairs.len(), lengths[one] * lengths[other], "{lengths:?}");
        }
    }
}
