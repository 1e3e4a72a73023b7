//! The sources of a merge: entries in order, and which source has the first of all.
//!
//! *Owns:* [`MergeSource`], and the tournament of a merge: a tree of losers. Each node has the source that lost there;
//! the one that won goes on. When the first of all sources has gone on to its next entry, that one plays against the
//! losers on its way up.
//!
//! ```text
//!            winner: 2
//!            node 1: 0               node 1 has the loser between the winners of nodes 2 and 3
//!        node 2: 1   node 3: 3
//!        0      1    2      3        sources
//! ```
//!
//! Sources are compared by their heads ([`key_order`](crate::answer::key_order)). All losers on the way of the winner
//! lost against it, so they are coded against its entry, and so is its next one.
//!
//! *Invariants:* of equal entries any may come first. A source that has no further entry loses to all others.
//!
//! *Cost:* a comparison of two numbers for each level of the tree and each entry, mostly.
//!
//! *Sources:* Knuth, The Art of Computer Programming, volume 3, 5.4.1 (multiway merging, trees of losers).

use std::cmp::Ordering;

use crate::answer::entry::Entry;
use crate::answer::key_order::{Head, compare_entries, compare_heads, shared_prefix};
use crate::answer::run_reader::RunReader;
use crate::answer::sort_buffer::SortBuffer;
use crate::answer::sorted_run::SortedRun;
use crate::error::Result;
use crate::selection::Order;

/// Entries in order, of which the merge sees one at a time.
pub(super) struct MergeSource<'a> {
    entries: Entries<'a>,
    order: Order,
}

/// The entries of a source, in memory or in a file.
enum Entries<'a> {
    /// A buffer that was sorted, up to `next` of which the merge has seen.
    SortBuffer {
        buffer: &'a SortBuffer,
        next: usize,
    },
    Run(Box<RunReader<'a>>),
}

impl Entries<'_> {
    /// Goes to the next entry; false at the end.
    fn advance(&mut self) -> Result<bool> {
        match self {
            Self::SortBuffer { buffer, next } => {
                *next += 1;
                Ok(*next <= buffer.len())
            }
            Self::Run(reader) => reader.advance(),
        }
    }

    /// Returns the present entry.
    fn entry(&self) -> Option<Entry<'_>> {
        match self {
            Self::SortBuffer { buffer, next } => buffer.entry(next.checked_sub(1)?),
            Self::Run(reader) => reader.entry(),
        }
    }

    /// Counts the first bytes that the line of the present entry shares with the one before it.
    fn shared(&self) -> usize {
        match self {
            Self::SortBuffer { buffer, next } => {
                let line = |number: Option<usize>| buffer.entry(number?).map(|entry| entry.line);
                let pair = line(next.checked_sub(2)).zip(line(next.checked_sub(1)));
                pair.map_or(0, |(before, line)| shared_prefix(before, line))
            }
            Self::Run(reader) => reader.shared(),
        }
    }
}

impl<'a> MergeSource<'a> {
    /// Makes a source of a buffer that was sorted.
    pub(super) fn of_buffer(buffer: &'a SortBuffer, order: Order) -> Self {
        Self::new(Entries::SortBuffer { buffer, next: 0 }, order)
    }

    /// Makes a source of a run.
    pub(super) fn of_run(reader: RunReader<'a>, order: Order) -> Self {
        Self::new(Entries::Run(Box::new(reader)), order)
    }

    fn new(entries: Entries<'a>, order: Order) -> Self {
        Self { entries, order }
    }

    /// Returns the run, to be discarded.
    pub(super) fn into_run(self) -> Option<SortedRun> {
        match self.entries {
            Entries::SortBuffer { .. } => None,
            Entries::Run(reader) => Some(reader.into_run()),
        }
    }

    /// Goes to the next entry, whose head is then coded against the present one; the first against an empty line with
    /// the place 0.
    ///
    /// # Errors
    /// Where a run cannot be read.
    fn advance(&mut self, head: &mut Head) -> Result<()> {
        let place_before = self.entries.entry().map_or(0, |entry| entry.place);
        let goes_on = self.entries.advance()?;
        match self.entries.entry().filter(|_| goes_on) {
            Some(entry) => head.take(&entry, self.order, place_before, self.entries.shared()),
            None => *head = Head::ended(),
        }
        Ok(())
    }
}

/// The sources of a merge as a tree of losers.
struct Tournament<'a> {
    sources: Vec<MergeSource<'a>>,
    /// The head of each source, coded against the entry that it lost to, or the last that was taken.
    heads: Vec<Head>,
    /// The source that lost at each node, and at 0 the one that won. The children of node n are 2 n and 2 n + 1, which
    /// are sources from the number of sources on.
    losers: Vec<usize>,
}

impl<'a> Tournament<'a> {
    /// Lets `sources`, at least one, play against each other, each with its first entry.
    ///
    /// # Errors
    /// Where a source cannot be read.
    fn new(mut sources: Vec<MergeSource<'a>>) -> Result<Self> {
        let mut heads = vec![Head::ended(); sources.len()];
        for (source, head) in sources.iter_mut().zip(&mut heads) {
            source.advance(head)?;
        }
        let mut tournament = Self {
            losers: vec![0; sources.len()],
            sources,
            heads,
        };
        tournament.losers[0] = tournament.play(1);
        Ok(tournament)
    }

    /// Plays all matches at `node` and below. Returns the winner.
    fn play(&mut self, node: usize) -> usize {
        if let Some(source) = node.checked_sub(self.sources.len()) {
            return source;
        }
        let (one, other) = (self.play(2 * node), self.play(2 * node + 1));
        let (winner, loser) = self.meet(one, other);
        self.losers[node] = loser;
        winner
    }

    /// Lets two sources play whose heads are coded against the same entry. Returns the winner, and the loser, which is
    /// then coded against it.
    #[inline]
    fn meet(&mut self, one: usize, other: usize) -> (usize, usize) {
        let order = self.sources[one].order;
        let Ok(heads) = self.heads.get_disjoint_mut([one, other]) else {
            return (one, other);
        };
        let ordering = compare_heads(heads, order).unwrap_or_else(|| self.look_up(one, other));
        if ordering.is_gt() {
            (other, one)
        } else {
            (one, other)
        }
    }

    /// Compares the entries of two sources.
    #[cold]
    fn look_up(&mut self, one: usize, other: usize) -> Ordering {
        let entries = [one, other].map(|source| self.sources[source].entries.entry());
        let heads = self.heads.get_disjoint_mut([one, other]);
        match (heads, &entries) {
            (Ok(heads), [Some(of_one), Some(of_other)]) => {
                compare_entries(heads, [of_one, of_other], self.sources[one].order)
            }
            _ => Ordering::Equal,
        }
    }

    /// Returns the first of all entries; `None` if there is no further one.
    fn first(&self) -> Option<Entry<'_>> {
        let winner = self.losers[0];
        let entries = &self.sources[winner].entries;
        entries.entry().filter(|_| !self.heads[winner].has_ended())
    }

    /// Goes on to the next entry.
    ///
    /// # Errors
    /// Where a source cannot be read.
    fn advance(&mut self) -> Result<()> {
        let mut winner = self.losers[0];
        self.sources[winner].advance(&mut self.heads[winner])?;
        let mut node = usize::midpoint(self.sources.len(), winner);
        while node > 0 {
            (winner, self.losers[node]) = self.meet(winner, self.losers[node]);
            node /= 2;
        }
        self.losers[0] = winner;
        Ok(())
    }
}

/// Hands the first `most` entries of `sources`, of which none was advanced, to `each`, in order. Returns the sources.
///
/// # Errors
/// The first error of `each`, or of reading a source.
pub(super) fn merge(
    sources: Vec<MergeSource<'_>>,
    most: u64,
    mut each: impl FnMut(&Entry<'_>) -> Result<()>,
) -> Result<Vec<MergeSource<'_>>> {
    if sources.is_empty() {
        return Ok(sources);
    }
    let mut tournament = Tournament::new(sources)?;
    let mut left = most;
    while left > 0
        && let Some(entry) = tournament.first()
    {
        each(&entry)?;
        left -= 1;
        // After the last that is wanted, nothing more is read.
        if left > 0 {
            tournament.advance()?;
        }
    }
    Ok(tournament.sources)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::answer::key_order::MOST_SHARED;
    use crate::memory::budget::MemoryBudget;

    /// Merges buffers with these lines.
    fn merged(lines: &[Vec<Vec<u8>>], order: Order, most: u64) -> Vec<(u64, Vec<u8>)> {
        let budget = MemoryBudget::new(64 << 20, 0);
        let mut ordinals = 0..;
        let fill = |lines: &Vec<Vec<u8>>| {
            let mut buffer = SortBuffer::new(&budget, 1 << 16, order).unwrap();
            for (line, ordinal) in lines.iter().zip(&mut ordinals) {
                // Not in the order in which they come.
                assert!(buffer.push(&Entry::once(line, ordinal * 7919 % 10_007)));
            }
            buffer.sort();
            buffer
        };
        let buffers: Vec<SortBuffer> = lines.iter().map(fill).collect();
        let source = |buffer| MergeSource::of_buffer(buffer, order);
        let mut found: Vec<(u64, Vec<u8>)> = Vec::new();
        let collect = |entry: &Entry<'_>| {
            found.push((entry.place, entry.line.to_vec()));
            Ok(())
        };
        let ended = merge(buffers.iter().map(source).collect(), most, collect).unwrap();
        assert_eq!(ended.len(), buffers.len());
        found
    }

    proptest! {
        #[test]
        fn lines_of_any_number_of_sources_come_in_order(
            lines in vec(vec(vec(prop_oneof![4 => Just(b'a'), 1 => Just(0), 1 => any::<u8>()], 0..12), 0..9), 0..12),
            // Lines may differ only after what is compared first.
            shared in prop_oneof![Just(0), 0..20_usize, MOST_SHARED - 12..MOST_SHARED + 3],
        ) {
            let mut lines = lines;
            for line in lines.iter_mut().flatten() {
                line.splice(0..0, vec![b'a'; shared]);
            }
            let mut expected = lines.concat();
            expected.sort();
            let found = merged(&lines, Order::Sorted, u64::MAX);
            let found_lines: Vec<Vec<u8>> = found.into_iter().map(|(_, line)| line).collect();
            prop_assert_eq!(found_lines, expected);
            for order in [Order::Input, Order::Count] {
                let found = merged(&lines, order, u64::MAX);
                prop_assert_eq!(found.len(), lines.concat().len());
                prop_assert!(found.is_sorted());
                let first = merged(&lines, order, 5);
                prop_assert_eq!(&first[..], &found[..found.len().min(5)]);
            }
        }
    }
}
