//! The lines of an answer that came most often.
//!
//! *Owns:* [`LargestGroups`]. *Invariants:* of groups with as many occurrences those stay whose lines come first in the
//! order of bytes, so threads do not decide. *Cost:* 2 KiB; a comparison for each line that is noted.

use crate::stats::GroupStats;

/// The groups that are kept.
const MOST: usize = 10;
/// The bytes that are kept of each line.
const MOST_BYTES: usize = 200;

/// The groups with the most occurrences of those that were noted, the largest first.
#[derive(Debug, Default)]
pub(crate) struct LargestGroups(Vec<GroupStats>);

impl LargestGroups {
    /// Notes a line that came this often. One that came once is no group.
    pub(super) fn note(&mut self, occurrences: u64, line: &[u8]) {
        let least = self.0.get(MOST - 1).map_or(2, |group| group.occurrences);
        if occurrences >= least {
            self.insert(GroupStats {
                occurrences,
                bytes: line.len() as u64,
                beginning: line[..line.len().min(MOST_BYTES)].to_vec(),
            });
        }
    }

    /// Adds the groups that another thread has noted.
    pub(super) fn add(&mut self, others: Self) {
        others.0.into_iter().for_each(|group| self.insert(group));
    }

    /// Returns the groups.
    pub(super) fn into_stats(self) -> Vec<GroupStats> {
        self.0
    }

    fn insert(&mut self, group: GroupStats) {
        let is_before = |other: &GroupStats| {
            let by_occurrences = other.occurrences.cmp(&group.occurrences);
            by_occurrences
                .then_with(|| group.beginning.cmp(&other.beginning))
                .is_ge()
        };
        let place = self.0.partition_point(is_before);
        if place < MOST {
            self.0.truncate(MOST - 1);
            self.0.insert(place, group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_groups_stay_whatever_the_order_and_the_threads() {
        let lines: Vec<String> = (0..40)
            .map(|number| number.to_string().repeat(150))
            .collect();
        // 0 and 1 come once; of those that come 15 times only the first have room.
        let groups = |number: usize| (number as u64).min(15);
        let noted = |numbers: &mut dyn Iterator<Item = usize>| {
            let mut largest = LargestGroups::default();
            numbers.for_each(|it| largest.note(groups(it), lines[it].as_bytes()));
            largest
        };
        let expected = noted(&mut (0..40)).into_stats();
        let beginnings: Vec<&[u8]> = expected.iter().map(|it| &it.beginning[..]).collect();
        let mut sorted: Vec<&[u8]> = lines[15..]
            .iter()
            .map(|it| &it.as_bytes()[..it.len().min(200)])
            .collect();
        sorted.sort_unstable();
        assert_eq!(beginnings, sorted[..10]);
        assert!(
            expected
                .iter()
                .all(|it| (it.occurrences, it.bytes) == (15, 300))
        );
        let mut parts = noted(&mut (20..40).rev());
        parts.add(noted(&mut (0..20)));
        assert_eq!(parts.into_stats(), expected);
        let few = noted(&mut (0..5)).into_stats();
        assert_eq!(
            few.iter().map(|it| it.occurrences).collect::<Vec<_>>(),
            [4, 3, 2]
        );
    }
}
