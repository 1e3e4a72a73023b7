//! The inputs as the sides of an operation.
//!
//! *Owns:* [`Sides`], a rule with the inputs that it is about. *Invariants:* all readings of one side come one
//! after the other; where the first side counts by itself, it has the first reading.

#[cfg(test)]
use crate::selection::Order;
use crate::selection::{LineState, NO_ORDINAL, Rule, StateLayout};

/// A rule, and the inputs in the order of the work as its sides.
#[derive(Debug, Clone)]
pub(crate) struct Sides {
    rule: Rule,
    readings: Vec<SideReading>,
}

/// One reading of an input, or of its buckets, as one side. An input that was given twice has two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SideReading {
    /// The input: its index in the order of the work.
    pub(crate) input: usize,
    /// The number of the side with the caller, from 1.
    pub(crate) number: u32,
}

impl Sides {
    /// Makes the sides of inputs: a reading for each side, in any order. What all sides have is what all inputs have,
    /// however often one was given.
    pub(crate) fn new(rule: Rule, mut readings: Vec<SideReading>) -> Self {
        if rule.finds_common() {
            let last = readings.iter().map(|reading| reading.input).max();
            return Self::common_as(&rule, last.map_or(0, |last| last + 1));
        }
        if rule.in_first() {
            readings.sort_by_key(|reading| reading.number);
        } else {
            readings.sort_by_key(|reading| (reading.input, reading.number));
        }
        Self { rule, readings }
    }

    /// Makes the sides of an intersection of `inputs` inputs, each of which is one side, in `order`.
    #[cfg(test)]
    pub(crate) fn common(inputs: usize, order: Order) -> Self {
        Self::common_as(&Rule::common(inputs, order), inputs)
    }

    /// Makes the sides of an intersection of `inputs` inputs, with the order and the places of another rule.
    pub(crate) fn common_as(rule: &Rule, inputs: usize) -> Self {
        let reading = |input| SideReading {
            input,
            number: input as u32 + 1,
        };
        Self {
            rule: rule.common_as_here(inputs),
            readings: (0..inputs).map(reading).collect(),
        }
    }

    /// Returns the rule.
    pub(crate) fn rule(&self) -> &Rule {
        &self.rule
    }

    /// Returns the readings in the order of the work.
    pub(crate) fn readings(&self) -> &[SideReading] {
        &self.readings
    }

    /// Finds what is known of a line that occurs once in this input and nowhere else.
    pub(crate) fn singleton(&self, input: usize) -> LineState {
        let kept = StateLayout {
            has_ordinal: false,
            has_rank: false,
            ..self.rule.kept()
        };
        let (mut mark, mut words) = (0, [0; 3]);
        let words = &mut words[..kept.words()];
        let mut is_first = true;
        for (reading, rank) in self.readings.iter().zip(1..) {
            if reading.input != input {
                continue;
            }
            let side = self.rule.side(reading.number, rank);
            let new = kept.marks.next(mark, side);
            mark = new.unwrap_or(mark);
            if is_first {
                kept.start(words, side, NO_ORDINAL.into());
            } else {
                kept.add(words, side, new.is_some(), mark, NO_ORDINAL.into());
            }
            is_first = false;
        }
        kept.found(words, mark)
    }

    /// Returns the readings in the order that suits inputs of these sizes: the smallest first, unless the first side
    /// counts by itself.
    pub(crate) fn readings_by_size(&self, size: impl Fn(usize) -> u64) -> Vec<SideReading> {
        let mut readings = self.readings.clone();
        if !self.rule.in_first() {
            readings.sort_by_key(|reading| (size(reading.input), reading.input));
        }
        readings
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::selection::{Label, Selection};

    /// Makes three sides: the first input is the first and the third, the second input is the second.
    fn sides(selection: Selection) -> Sides {
        let rule = Rule::new(selection, 3).unwrap();
        let readings =
            [(0, 1), (1, 2), (0, 3)].map(|(input, number)| SideReading { input, number });
        Sides::new(rule, readings.to_vec())
    }

    #[test]
    fn l3_a_line_of_an_input_that_is_two_sides_is_in_both() {
        for (selection, is_asked) in [
            (Selection::union(), [true, true]),
            (Selection::symmetric_difference(), [false, true]),
            (Selection::exactly(2), [true, false]),
            (Selection::at_least(2), [true, false]),
            (Selection::at_most(2), [true, true]),
            (Selection::intersection(), [false, false]),
            // The third side has every line of the first.
            (Selection::difference(), [false, false]),
        ] {
            for label in [Label::None, Label::SideCount] {
                let sides = sides(selection.labelled(label));
                let found = [0, 1].map(|input| sides.rule().selects(sides.singleton(input)));
                assert_eq!(found, is_asked, "{selection:?} with {label:?}");
            }
        }
    }

    #[test]
    fn l3_a_line_of_an_input_that_is_two_sides_is_labelled_with_both() {
        for (label, expected) in [
            (Label::Sides, ["101\t", "010\t"]),
            (Label::SideCount, ["2\t", "1\t"]),
        ] {
            let sides = sides(Selection::union().labelled(label));
            for (input, expected) in expected.into_iter().enumerate() {
                let before = sides.rule().label(sides.singleton(input));
                assert_eq!(before[..], *expected.as_bytes(), "{label:?}");
            }
        }
    }
}
