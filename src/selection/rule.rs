//! A selection for a known number of sides: what the passes go by.
//!
//! *Owns:* the checks of a selection, and the choice of the marks that answer it. *Invariants:* a rule that was
//! made can be answered: its bounds lie within the sides, and its marks have room for them.

use arrayvec::ArrayVec;

use crate::error::{Error, Result};
use crate::selection::marks::{MOST_BITS, MOST_COUNTED_SIDES};
use crate::selection::{LARGEST_MARK, Label, Marks, Selection};

/// The most sides whose combination is written before a line, or counted: 2^16 combinations.
const MOST_LABELLED_SIDES: usize = 16;
/// The most sides of any run.
const MOST_SIDES: usize = 65_534;
const _: () = assert!(MOST_SIDES <= LARGEST_MARK as usize);
const _: () = assert!(MOST_LABELLED_SIDES <= MOST_BITS as usize);

/// Which marks are selected, for a known number of sides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    selection: Selection,
    /// The number of sides.
    sides: u32,
    least: u32,
    most: u32,
    marks: Marks,
}

impl Rule {
    /// The rule by which `selection` is answered for `sides` sides.
    ///
    /// # Errors
    /// [`Error::Usage`] for bounds that no line can meet, and for more sides than marks can tell apart.
    pub(crate) fn new(selection: Selection, sides: usize) -> Result<Self> {
        let least = selection.least.unwrap_or(sides as u32);
        let most = selection.most.unwrap_or(sides as u32);
        if least == 0 || least > most || most as usize > sides {
            let (least, most) = (selection.least, selection.most);
            let bound = |name, bound: Option<u32>| bound.map(|bound| format!("{name} {bound}"));
            let bounds = [bound("at least", least), bound("at most", most)];
            let bounds: Vec<String> = bounds.into_iter().flatten().collect();
            return usage(
                format!(
                    "no line can be in {} of {sides} files",
                    bounds.join(" and ")
                ),
                &format!("give numbers from 1 to {sides}"),
            );
        }
        let tells_sides = matches!(selection.label, Label::Sides | Label::SidesOnly);
        let marks = match selection {
            _ if tells_sides => Marks::Bits,
            // A bit for the first side, and one for all others.
            _ if selection.in_first => Marks::Bits,
            _ if selection.needs_all(sides) => Marks::Row,
            _ => Marks::Count,
        };
        let (room, advice) = match marks {
            _ if tells_sides => (MOST_LABELLED_SIDES, "combine them in groups"),
            Marks::Count => (MOST_COUNTED_SIDES, "combine them in groups"),
            _ => (MOST_SIDES, "combine them in groups"),
        };
        if sides > room {
            return usage(
                format!("inputs: {sides} given, and this operation takes at most {room}"),
                advice,
            );
        }
        Ok(Self {
            selection,
            sides: sides as u32,
            least,
            most,
            marks,
        })
    }

    /// The rule of an intersection of `sides` sides, at most [`MOST_SIDES`].
    pub(crate) fn common(sides: usize) -> Self {
        Self {
            selection: Selection::intersection(),
            sides: sides as u32,
            least: sides as u32,
            most: sides as u32,
            marks: Marks::Row,
        }
    }

    /// The code of the marks.
    pub(crate) fn marks(&self) -> Marks {
        self.marks
    }

    /// The number of sides that a line must be in.
    pub(crate) fn least(&self) -> usize {
        self.least as usize
    }

    /// Whether the first side must have a line, so that it must be the first in the order of the work.
    pub(crate) fn in_first(&self) -> bool {
        self.selection.in_first
    }

    /// How many sides, in the order of the work, may bring a line that is new.
    pub(crate) fn building_sides(&self) -> usize {
        self.selection.building_sides(self.sides as usize)
    }

    /// What marks call a side that has this number (from 1) with the caller, and this rank (from 1) in the
    /// order of the work.
    pub(crate) fn side(&self, number: u32, rank: u32) -> u32 {
        match self.marks {
            Marks::Row | Marks::Count => rank,
            // Without labels, only the first side is told from the others.
            Marks::Bits if self.selection.in_first && self.selection.label == Label::None => {
                number.min(2)
            }
            Marks::Bits => number,
        }
    }

    /// The mark at which a line is known to be selected, so that it can be written at once: with the last side
    /// that it must be in. `None` where that is only known when all sides were read.
    pub(crate) fn last_mark(&self) -> Option<u32> {
        (self.marks == Marks::Row && self.sides > 1).then_some(self.sides)
    }

    /// Whether a line that has `mark` when all sides were read is selected.
    pub(crate) fn selects(&self, mark: u32) -> bool {
        let sides = self.marks.sides(mark);
        let is_in_first = !self.selection.in_first || mark & 1 == 1;
        is_in_first && (self.least..=self.most).contains(&sides)
    }

    /// What is written of a line with this mark: its label, and the line.
    pub(crate) fn written<'l>(&self, line: &'l [u8], mark: u32) -> (ArrayVec<u8, 24>, &'l [u8]) {
        let mut label = ArrayVec::new();
        match self.selection.label {
            Label::None => return (label, line),
            Label::SidesOnly | Label::Sides => {
                let digit = |side: u32| b'0' + (mark >> side & 1) as u8;
                label.extend((0..self.sides).map(digit));
            }
            Label::SideCount => {
                let mut digits: ArrayVec<u8, 16> = ArrayVec::new();
                let mut rest = self.marks.sides(mark);
                while rest > 0 {
                    digits.push(b'0' + (rest % 10) as u8);
                    rest /= 10;
                }
                label.extend(digits.into_iter().rev());
            }
        }
        if self.selection.label == Label::SidesOnly {
            return (label, &[]);
        }
        label.push(b'\t');
        (label, line)
    }
}

fn usage<T>(what: String, advice: &str) -> Result<T> {
    Err(Error::Usage {
        what,
        advice: advice.into(),
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    const SIDES: usize = 3;

    /// A selection, and whether it asks for a line that these of the sides have.
    type Kind = (Selection, fn(&[bool]) -> bool);

    fn count(which: &[bool]) -> usize {
        which.iter().filter(|&&has| has).count()
    }

    const KINDS: [Kind; 9] = [
        (Selection::intersection(), |which| count(which) == SIDES),
        (Selection::difference(), |which| {
            which[0] && count(which) == 1
        }),
        (Selection::union(), |which| count(which) >= 1),
        (Selection::symmetric_difference(), |which| count(which) == 1),
        (Selection::at_least(2), |which| count(which) >= 2),
        (Selection::at_least(3), |which| count(which) == SIDES),
        (Selection::at_most(2), |which| count(which) <= 2),
        (Selection::exactly(2), |which| count(which) == 2),
        (Selection::between(2, 3), |which| count(which) >= 2),
    ];
    const LABELS: [Label; 4] = [
        Label::None,
        Label::Sides,
        Label::SideCount,
        Label::SidesOnly,
    ];

    /// Every way in which a line can be in one side or more.
    fn combinations() -> Vec<[bool; SIDES]> {
        let bits = 1u32..1 << SIDES;
        bits.map(|bits| [0, 1, 2].map(|side| bits >> side & 1 == 1))
            .collect()
    }

    /// The mark of a line that is in `which` sides, when they had their turns in this order of numbers from 1.
    fn mark(rule: &Rule, which: &[bool], order: [u32; SIDES]) -> u32 {
        let turns = order.into_iter().zip(1..);
        let own = turns.filter(|&(number, _)| which[number as usize - 1]);
        own.fold(0, |mark, (number, rank)| {
            let side = rule.side(number, rank);
            // A side may have a line more than once.
            let once = rule.marks().next(mark, side).unwrap_or(mark);
            rule.marks().next(once, side).unwrap_or(once)
        })
    }

    /// What must be written of the line `line`.
    fn written(label: Label, which: &[bool]) -> String {
        let digits: String = which
            .iter()
            .map(|&has| if has { '1' } else { '0' })
            .collect();
        match label {
            Label::None => "line".to_owned(),
            Label::Sides => format!("{digits}\tline"),
            Label::SideCount => format!("{}\tline", count(which)),
            Label::SidesOnly => digits,
        }
    }

    #[test]
    fn l1_every_kind_of_rule_selects_by_the_sides_in_any_order_of_the_work() {
        for (selection, is_asked) in KINDS {
            for label in LABELS {
                let rule = Rule::new(selection.labelled(label), SIDES).unwrap();
                for which in combinations() {
                    for order in [[1, 2, 3], [1, 3, 2], [2, 3, 1], [3, 2, 1]] {
                        // Where the first side counts by itself, it has the first turn.
                        if rule.in_first() && order[0] != 1 {
                            continue;
                        }
                        let mark = mark(&rule, &which, order);
                        assert_eq!(
                            rule.selects(mark),
                            is_asked(&which),
                            "{selection:?} with {label:?}: {which:?} in the order {order:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn l2_every_kind_of_rule_writes_the_label_that_was_asked_for() {
        for (selection, is_asked) in KINDS {
            for label in LABELS {
                let rule = Rule::new(selection.labelled(label), SIDES).unwrap();
                for which in combinations().into_iter().filter(|which| is_asked(which)) {
                    let mark = mark(&rule, &which, [1, 2, 3]);
                    let (before, line) = rule.written(b"line", mark);
                    assert_eq!(
                        [&before[..], line].concat(),
                        written(label, &which).into_bytes(),
                        "{selection:?} with {label:?}: {which:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn l2_a_number_of_files_has_all_its_digits() {
        let rule = Rule::new(Selection::union().labelled(Label::SideCount), 1234).unwrap();
        for sides in [9, 10, 999, 1234] {
            let mark = (1..=sides).fold(0, |mark, side| rule.marks().next(mark, side).unwrap());
            let (before, _) = rule.written(b"", mark);
            assert_eq!(before[..], *format!("{sides}\t").as_bytes());
        }
    }

    #[test]
    fn l7_bounds_that_no_line_can_meet_are_refused() {
        for selection in [
            Selection::at_least(4),
            Selection::at_most(4),
            Selection::exactly(4),
            Selection::exactly(0),
            Selection::between(3, 2),
        ] {
            let error = Rule::new(selection, SIDES).unwrap_err();
            assert!(matches!(error, Error::Usage { .. }), "{error}");
        }
    }

    #[test]
    fn l7_more_sides_than_marks_tell_apart_are_refused() {
        let labelled = Selection::union().labelled(Label::Sides);
        for (selection, most) in [
            (labelled, MOST_LABELLED_SIDES),
            (
                Selection::difference().labelled(Label::Sides),
                MOST_LABELLED_SIDES,
            ),
            (Selection::union(), MOST_COUNTED_SIDES),
            (Selection::difference(), MOST_SIDES),
            (Selection::intersection(), MOST_SIDES),
        ] {
            assert!(Rule::new(selection, most).is_ok(), "{selection:?}");
            let error = Rule::new(selection, most + 1).unwrap_err();
            assert!(matches!(error, Error::Usage { .. }), "{error}");
        }
    }
}
