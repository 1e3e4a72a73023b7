//! Which buckets a worker takes, and in which order it reads them.

use super::joiner::claim;
use super::work::Work;
use crate::selection::{Rule, Selection, Sides};
use crate::spill::block::Address;
use crate::spill::bucket::{Bucket, BucketFile};
use crate::sys::sync::Mutex;

/// A bucket with this number and as many lines of a byte; its record bytes are a number of lines, too.
fn bucket(number: u32, lines: u64) -> Bucket {
    Bucket {
        address: Address {
            run: 1,
            store: 0,
            bucket: number,
            level: 0,
            number: 0,
        },
        block_bytes: 4096,
        file: BucketFile::default(),
        held: Vec::new(),
        has_ordinals: false,
        columns: None,
        lines,
        record_bytes: lines,
        longest_line: 1,
        hash_sum: 0,
    }
}

/// The sizes of the groups that one worker takes, in pairs of those that it joins now and those that it has claimed.
fn claims(sizes: &[u64], left_to_others: usize) -> Vec<(u64, Option<u64>)> {
    let groups = sizes.iter().map(|&lines| vec![bucket(0, lines)]);
    let queue = Mutex::new(groups.collect::<Vec<_>>());
    let mut claimed = None;
    let mut taken = Vec::new();
    loop {
        let (now, next) = claim(&queue, claimed, left_to_others);
        let Some(now) = now else { return taken };
        taken.push((now[0].lines, next.as_ref().map(|next| next[0].lines)));
        claimed = next;
    }
}

#[test]
fn a_group_is_claimed_ahead_while_enough_are_left_to_the_others() {
    assert_eq!(claims(&[], 2), []);
    assert_eq!(claims(&[7], 2), [(7, None)]);
    assert_eq!(
        claims(&[6, 7, 8, 9, 9], 2),
        [(9, Some(9)), (9, Some(8)), (8, None), (7, None), (6, None)]
    );
    assert_eq!(claims(&[8, 9], 0), [(9, Some(8)), (8, None)]);
}

#[test]
fn a_group_is_not_claimed_ahead_where_the_others_are_small() {
    // One worker would have both large ones, and the others would soon be out of work.
    assert_eq!(
        claims(&[1, 1, 1, 1, 90, 100], 2)[..2],
        [(100, None), (90, None)]
    );
    assert_eq!(
        claims(&[1, 1, 1, 1, 1], 2)[..2],
        [(1, Some(1)), (1, Some(1))]
    );
}

/// What is expected behind each turn; and the buckets that are read once more, with what is expected behind each.
type Expected = (Vec<Option<u32>>, Vec<(u32, Option<u32>)>);

/// The numbers of the buckets that are expected, of two inputs of which the second is the third side, too. The next group has
/// the numbers 10 and 11 and so many lines.
fn readings(selection: Selection, next_lines: [u64; 2]) -> Expected {
    let rule = Rule::new(selection, 3).unwrap();
    let sides = Sides::new(rule, [&[1][..], &[2, 3]].into_iter());
    let (now, next) = (
        [bucket(0, 9), bucket(1, 5)],
        [bucket(10, next_lines[0]), bucket(11, next_lines[1])],
    );
    let number = |bucket: &Bucket| bucket.address.bucket;
    let work = Work::new(&sides, &now, Some(&next));
    let after = (0..work.turns.len()).map(|turn| work.after(turn).map(number));
    let again = work.read_again();
    let again = again.map(|(bucket, _, next)| (number(bucket), next.map(number)));
    (after.collect(), again.collect())
}

#[test]
fn the_bucket_that_is_read_next_is_known_from_turn_to_turn_and_group_to_group() {
    // The smaller input first, as both of its sides.
    let common = Selection::intersection();
    assert_eq!(
        readings(common, [7, 6]),
        (vec![Some(1), Some(0), Some(11)], vec![])
    );
    // What cannot have a common line is not read.
    assert_eq!(readings(common, [7, 0]).0, [Some(1), Some(0), None]);
    // A difference begins with the first side; where lines repeat, it ends with that.
    let difference = Selection::difference();
    assert_eq!(
        readings(difference, [7, 0]),
        (vec![Some(1), Some(1), Some(10)], vec![])
    );
    assert_eq!(
        readings(difference.with_repeats(), [7, 0]),
        (vec![Some(1), Some(1), Some(0)], vec![(0, Some(10))])
    );
    assert_eq!(readings(difference, [0, 7]).0, [Some(1), Some(1), None]);
}
