//! How often lines occur that are asked for.
//!
//! *Owns:* [`Counts`]: its choice, the request to the library, and what the oracle thinks of a line. *Invariants:* only
//! numbers that the library accepts are drawn.

use outset::Selection;

use crate::choices::Choices;

/// The numbers of occurrences that a line may have, and how many of the most frequent lines are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// The fewest occurrences, if they are given.
    pub least: Option<u64>,
    /// The most, if they are given.
    pub most: Option<u64>,
    /// The lines that are wanted, if they are not all.
    pub top: Option<u64>,
}

impl Counts {
    /// Draws them: mostly any number, of all lines.
    pub fn random(choices: &mut Choices) -> Self {
        let bound = |choices: &mut Choices| choices.one_in(4).then(|| choices.between(1, 6));
        let (least, most) = (bound(choices), bound(choices));
        Self {
            least,
            most: most.map(|most| most.max(least.unwrap_or(1))),
            top: choices
                .one_in(5)
                .then(|| choices.pick(&[1, 2, 10, 1000, 30_000])),
        }
    }

    /// Tells whether every line has a number of occurrences that is asked for.
    pub fn is_any(self) -> bool {
        self == Self::default()
    }

    /// Tells whether a line is wanted that the inputs have so often.
    pub fn contains(self, counts: &[usize]) -> bool {
        let sum = counts.iter().sum::<usize>() as u64;
        self.least.is_none_or(|least| sum >= least) && self.most.is_none_or(|most| sum <= most)
    }

    /// Leaves the lines that are wanted of those that come in order.
    pub fn cut<L>(self, lines: &mut Vec<L>) {
        lines.truncate(self.top.map_or(usize::MAX, |top| top as usize));
    }

    /// Asks for them.
    pub fn add_to(self, mut selection: Selection) -> Selection {
        if let Some(least) = self.least {
            selection = selection.min_count(least);
        }
        if let Some(most) = self.most {
            selection = selection.max_count(most);
        }
        if let Some(top) = self.top {
            selection = selection.top(top);
        }
        selection
    }
}
