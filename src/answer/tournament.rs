//! Which of several entries comes first: a tree of losers.
//!
//! *Owns:* the comparisons of a merge. Each source has its next entry in a match against others; the loser of a match
//! stays at its node, the winner goes up:
//!
//! ```text
//!                 [0] winner of all
//!                  │
//!                 [1] loser
//!            ┌─────┴─────┐
//!           [2] loser   [3] loser
//!          ┌─┴─┐       ┌─┴─┐
//!          0   1       2   3        sources
//! ```
//!
//! When the winner has been handed over, the next entry of its source climbs the same way, from its leaf to the root.
//!
//! Lines that are neighbours in the answer share their first bytes, and to compare these again at each node is most of
//! what a merge would cost. So each contender has a *code*: how many bytes its line shares with the line that was handed
//! over last, or that won against it, and the byte behind them. At one node both codes refer to the same line. Hence:
//!
//! - The one that shares more comes first; of two that share as many, the one with the smaller byte. The loser's code
//!   is right for the winner, too.
//! - Codes that are equal decide nothing. Then the lines are compared behind what they share, and the loser gets a new
//!   code.
//!
//! A code is a number, the smaller first. In the order of the input it is the ordinal, and no line is looked at.
//!
//! *Invariants:* the code at a node refers to the line that won there last.
//!
//! *Cost:* a comparison of numbers for each level of the tree; of bytes, as many as the lines of the answer have
//! altogether, at most.
//!
//! *Sources:* Knuth, The Art of Computer Programming, volume 3, 5.4.1 (trees of losers); Conner, Offset-Value Coding, IBM
//! Technical Disclosure Bulletin 20(7), 1977; Do and Graefe, Robust and Efficient Sorting with Offset-Value Coding, ACM
//! TODS 48(1), 2023.

use crate::answer::entry::{Entry, shared_bytes};
use crate::answer::sort_buffer::SortBuffer;
use crate::answer::sorted_run::RunReader;
use crate::error::Result;
use crate::selection::Order;

/// The code of a source without a further entry: behind all others.
const AT_END: u64 = u64::MAX;
/// Bits of a code for the byte behind what lines share. Zero is the end of the line.
const BYTE_BITS: u32 = 16;
/// The most bytes that a code says are shared.
const MOST_SHARED: u64 = (1 << (u64::BITS - BYTE_BITS)) - 1;

/// Entries in order, of which the merge sees one at a time.
pub(super) enum Source<'a> {
    /// The entries of a buffer that was sorted, up to `next` of which the merge has seen.
    SortBuffer {
        buffer: &'a SortBuffer,
        next: usize,
    },
    Run(Box<RunReader<'a>>),
}

impl Source<'_> {
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

    /// The present entry.
    fn entry(&self) -> Option<Entry<'_>> {
        match self {
            Self::SortBuffer { buffer, next } => buffer.entry(next.checked_sub(1)?),
            Self::Run(reader) => reader.entry(),
        }
    }

    fn line(&self) -> &[u8] {
        self.entry().map_or(&[], |entry| entry.line)
    }

    /// How many bytes its line shares with the line before it.
    fn shared(&self) -> usize {
        match self {
            Self::SortBuffer { buffer, next } => {
                next.checked_sub(1).map_or(0, |at| buffer.shared(at))
            }
            Self::Run(reader) => reader.shared(),
        }
    }

    /// The code of the present entry, referring to the line before it.
    fn code(&self, order: Order) -> u64 {
        match order {
            Order::Input => self
                .entry()
                .map_or(0, |entry| entry.ordinal.min(AT_END - 1)),
            Order::Any | Order::Sorted => code(self.shared(), self.line()),
        }
    }
}

/// The code of a line that shares `shared` bytes with another, which does not come behind it.
fn code(shared: usize, line: &[u8]) -> u64 {
    let byte = line.get(shared).map_or(0, |&byte| u64::from(byte) + 1);
    ((MOST_SHARED - shared as u64) << BYTE_BITS) | byte
}

/// What a code says is shared.
fn shared_in(code: u64) -> usize {
    (MOST_SHARED - (code >> BYTE_BITS)) as usize
}

/// The present entry of a source, in a match.
#[derive(Debug, Clone, Copy)]
struct Contender {
    code: u64,
    /// The number of the source.
    source: usize,
}

/// The tree: see the module.
pub(super) struct Tournament<'m, 'a> {
    sources: &'m mut [Source<'a>],
    order: Order,
    /// The winner of all, then the losers of the matches; `None` before the first match there.
    nodes: Vec<Option<Contender>>,
}

impl<'m, 'a> Tournament<'m, 'a> {
    /// A tournament of the first entries of `sources`, of which none was advanced.
    ///
    /// # Errors
    /// Where a source cannot be read.
    pub(super) fn new(sources: &'m mut [Source<'a>], order: Order) -> Result<Self> {
        let nodes = vec![None; sources.len().max(1)];
        let mut tournament = Self {
            sources,
            order,
            nodes,
        };
        for source in 0..tournament.sources.len() {
            tournament.enter(source)?;
        }
        Ok(tournament)
    }

    /// Hands all entries to `each`, in order, with the number of bytes that a line shares with the line before it
    /// (which says nothing in the order of the input).
    ///
    /// # Errors
    /// What `each` reports; where a source cannot be read.
    pub(super) fn for_each(
        mut self,
        mut each: impl FnMut(&Entry<'_>, usize) -> Result<()>,
    ) -> Result<()> {
        while let Some(winner) = self.nodes[0].filter(|winner| winner.code != AT_END) {
            if let Some(entry) = self.sources[winner.source].entry() {
                let shared = match self.order {
                    Order::Input => 0,
                    Order::Any | Order::Sorted => shared_in(winner.code),
                };
                each(&entry, shared)?;
            }
            self.enter(winner.source)?;
        }
        Ok(())
    }

    /// Advances a source, and lets its entry climb from its leaf as far as it wins.
    fn enter(&mut self, source: usize) -> Result<()> {
        let code = if self.sources[source].advance()? {
            self.sources[source].code(self.order)
        } else {
            AT_END
        };
        let mut winner = Contender { code, source };
        let mut node = (self.sources.len() + source) >> 1;
        while node > 0 {
            // The first to come to a node waits for the other.
            let Some(mut other) = self.nodes[node] else {
                self.nodes[node] = Some(winner);
                return Ok(());
            };
            if self.comes_first(&mut other, &mut winner) {
                (winner, other) = (other, winner);
            }
            self.nodes[node] = Some(other);
            node >>= 1;
        }
        self.nodes[0] = Some(winner);
        Ok(())
    }

    /// Whether `one` comes before `other`. The loser's code refers to the winner then.
    fn comes_first(&self, one: &mut Contender, other: &mut Contender) -> bool {
        if one.code != other.code || one.code == AT_END || self.order == Order::Input {
            return one.code < other.code;
        }
        let (line, other_line) = (
            self.sources[one.source].line(),
            self.sources[other.source].line(),
        );
        let before = shared_in(one.code);
        let shared = before + shared_bytes(&line[before..], &other_line[before..]);
        let is_first = line.get(shared) <= other_line.get(shared);
        if is_first {
            other.code = code(shared, other_line);
        } else {
            one.code = code(shared, line);
        }
        is_first
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::memory::budget::MemoryBudget;

    /// What comes out of a merge of buffers with these lines, and that each line shares what the merge says it does.
    fn merged(lines: &[Vec<Vec<u8>>], order: Order) -> Vec<(u64, Vec<u8>)> {
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
        let source = |buffer| Source::SortBuffer { buffer, next: 0 };
        let mut sources: Vec<Source<'_>> = buffers.iter().map(source).collect();
        let mut found: Vec<(u64, Vec<u8>)> = Vec::new();
        let collect = |entry: &Entry<'_>, shared: usize| {
            let before = found.last().map_or(&[][..], |(_, line)| line);
            if order == Order::Sorted {
                assert_eq!(shared, shared_bytes(before, entry.line));
            }
            found.push((entry.ordinal, entry.line.to_vec()));
            Ok(())
        };
        let tournament = Tournament::new(&mut sources, order).unwrap();
        tournament.for_each(collect).unwrap();
        found
    }

    proptest! {
        #[test]
        fn lines_of_any_number_of_sources_come_in_order(
            lines in vec(vec(vec(prop_oneof![4 => Just(b'a'), 1 => Just(0), 1 => any::<u8>()], 0..12), 0..9), 0..12)
        ) {
            let mut expected = lines.concat();
            expected.sort();
            let found = merged(&lines, Order::Sorted);
            let found_lines: Vec<Vec<u8>> = found.into_iter().map(|(_, line)| line).collect();
            prop_assert_eq!(found_lines, expected);
            let found = merged(&lines, Order::Input);
            prop_assert_eq!(found.len(), lines.concat().len());
            prop_assert!(found.is_sorted());
        }
    }
}
