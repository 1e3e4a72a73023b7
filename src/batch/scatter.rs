//! Scattering a batch: which of its lines go to which part.
//!
//! *Owns:* the grouping of a batch by part (bucket, filter region, shard of a set), so that a
//! part's lock is taken once per batch and its lines are worked on together.
//!
//! *Invariants:* each index given comes out once, in the group of its part. Within a group the indexes keep
//! their order.
//!
//! *Cost:* a counting sort: about 3 ns a line, and one step per part even if no line goes there; 4 bytes per
//! part and 8 per line of a batch.

/// Reusable room for grouping; one per thread. It holds the groups of the last call.
#[derive(Debug, Default)]
pub(crate) struct Scatter {
    /// The part of each index, in the order given.
    parts: Vec<u32>,
    /// The end of each part's group in `order`; one more at the end, the number of indexes.
    ends: Vec<u32>,
    /// The indexes, group after group.
    order: Vec<u32>,
}

impl Scatter {
    /// Groups `indexes` by the part that `part_of` names, which must be below `parts`. Forgets what was
    /// grouped before. `indexes` is iterated twice, `part_of` is called once for each.
    pub(crate) fn group(
        &mut self,
        parts: usize,
        indexes: impl Iterator<Item = u32> + Clone,
        part_of: impl Fn(u32) -> u32,
    ) {
        self.ends.clear();
        self.ends.resize(parts + 1, 0);
        self.parts.clear();
        self.parts.extend(indexes.clone().map(part_of));
        for &part in &self.parts {
            self.ends[part as usize + 1] += 1;
        }
        for part in 0..parts {
            self.ends[part + 1] += self.ends[part];
        }
        // Counted one element further on and summed up, `ends[part]` is where the part begins. It moves forward
        // with each index and is left where the part ends.
        self.order.clear();
        self.order.resize(self.parts.len(), 0);
        for (index, &part) in indexes.zip(&self.parts) {
            let next = &mut self.ends[part as usize];
            self.order[*next as usize] = index;
            *next += 1;
        }
    }

    /// Returns all indexes, group after group.
    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }

    /// Lists the groups that are not empty, in the order of the parts: part and indexes.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (u32, &[u32])> {
        let parts = self.ends.len().saturating_sub(1);
        (0..parts).filter_map(|part| {
            let start = if part == 0 {
                0
            } else {
                self.ends[part - 1] as usize
            };
            let group = &self.order[start..self.ends[part] as usize];
            (!group.is_empty()).then_some((part as u32, group))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_comes_out_once_in_its_part() {
        let mut scatter = Scatter::default();
        for parts in [1usize, 2, 7, 100] {
            scatter.group(parts, (0..500).filter(|i| i % 3 != 0), |i| {
                (i * 31) % parts as u32
            });
            let mut seen: Vec<u32> = Vec::new();
            for (part, group) in scatter.groups() {
                assert!(group.iter().all(|i| (i * 31) % parts as u32 == part));
                seen.extend(group);
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..500).filter(|i| i % 3 != 0).collect::<Vec<u32>>());
        }
        scatter.group(5, std::iter::empty(), |_| 0);
        assert_eq!(scatter.groups().count(), 0);
    }
}
