//! Which input is which side.
//!
//! *Owns:* [`Sides`], a rule with the inputs that it is about. *Invariants:* all turns of one side come one
//! after the other; where the first side counts by itself, it has the first turn.

use crate::selection::Rule;

/// A rule, and the inputs in the order of the work as its sides.
#[derive(Debug, Clone)]
pub(crate) struct Sides {
    rule: Rule,
    turns: Vec<Turn>,
}

/// One reading of an input, or of its buckets, as one side. An input that was given twice has two turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Turn {
    /// The input: its index in the order of the work.
    pub(crate) input: usize,
    /// The number of the side with the caller, from 1.
    pub(crate) number: u32,
}

impl Sides {
    /// The sides of inputs in the order of the work, of which `numbers` has the sides of each (from 1).
    pub(crate) fn new<'n>(rule: Rule, numbers: impl Iterator<Item = &'n [u32]>) -> Self {
        let turns = numbers
            .enumerate()
            .flat_map(|(input, numbers)| numbers.iter().map(move |&number| Turn { input, number }));
        let mut turns: Vec<Turn> = turns.collect();
        if rule.in_first() {
            turns.sort_by_key(|turn| turn.number);
        }
        Self { rule, turns }
    }

    /// What `inputs` inputs have in common, each of which is one side.
    pub(crate) fn common(inputs: usize) -> Self {
        let turn = |input| Turn {
            input,
            number: input as u32 + 1,
        };
        Self {
            rule: Rule::common(inputs),
            turns: (0..inputs).map(turn).collect(),
        }
    }

    /// The rule.
    pub(crate) fn rule(&self) -> &Rule {
        &self.rule
    }

    /// The turns in the order of the work.
    pub(crate) fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// The mark of a line that occurs once in this input and nowhere else, and what is counted of it.
    pub(crate) fn lone(&self, input: usize) -> (u32, u64) {
        let (marks, tally) = (self.rule.marks(), self.rule.tally());
        let (mut mark, mut words) = (0, [0; 2]);
        let mut is_first = true;
        for (turn, rank) in self.turns.iter().zip(1..) {
            if turn.input != input {
                continue;
            }
            let side = self.rule.side(turn.number, rank);
            let new = marks.next(mark, side);
            mark = new.unwrap_or(mark);
            if is_first {
                tally.start(&mut words[..tally.words()], side);
            } else {
                tally.add(&mut words[..tally.words()], side, new.is_some(), mark);
            }
            is_first = false;
        }
        (mark, tally.result(&words[..tally.words()]))
    }

    /// The turns in the order that suits inputs of these sizes: the smallest first, unless the first side
    /// counts by itself.
    pub(crate) fn turns_by_size(&self, size: impl Fn(usize) -> u64) -> Vec<Turn> {
        let mut turns = self.turns.clone();
        if !self.rule.in_first() {
            turns.sort_by_key(|turn| (size(turn.input), turn.input));
        }
        turns
    }
}
