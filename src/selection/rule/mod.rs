//! A selection for a known number of sides: what the passes go by.
//!
//! *Owns:* the checks of a selection, and the choice of the marks that answer it. *Invariants:* a rule that was
//! made can be answered: its bounds lie within the sides, and its marks have room for them.

mod questions;

use arrayvec::ArrayVec;

use crate::error::{Error, Result};
use crate::selection::marks::{MOST_COUNTED_SIDES, MOST_TOLD_SIDES};
use crate::selection::{
    EXCLUDED, Kept, LARGEST_MARK, Label, LineState, Marks, Occurrences, Order, Selection,
    StateLayout, Tally, keep_mask,
};

/// The most sides of any run.
const MOST_SIDES: usize = 65_534;
const _: () = assert!(MOST_SIDES <= LARGEST_MARK as usize);

/// The text of a label: a digit for each side in quotes, and what stands before the line.
type LabelText = ArrayVec<u8, { MOST_TOLD_SIDES + 3 }>;

/// The marks that are selected, for a known number of sides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    selection: Selection,
    /// The number of sides.
    sides: u32,
    /// True if a line must be in every side.
    needs_all: bool,
    marks: Marks,
    tally: Tally,
}

impl Rule {
    /// Makes the rule by which `selection` is answered for `sides` sides.
    ///
    /// # Errors
    /// [`Error::Usage`] for bounds that no line can meet, and for more sides than marks can tell apart.
    pub(crate) fn new(selection: Selection, sides: usize) -> Result<Self> {
        match selection.only {
            Some(only) => only.check(sides)?,
            None => selection.counts.check(sides)?,
        }
        selection.occurrence_counts.check()?;
        check_top(selection)?;
        let needs_all = !selection.in_first && selection.counts.is_all(sides as u32);
        let keeps_repeats = selection.occurrences == Occurrences::OfFirst;
        if keeps_repeats && !selection.in_first && !needs_all {
            return usage(
                "`with_repeats`: only diff, and intersect without `at_least`, `at_most`, `exactly` or `only`, \
                 can repeat lines"
                    .into(),
                "leave out `with_repeats`, or those options",
            );
        }
        let tally = tally(selection, sides, needs_all)?;
        let tells_sides = selection.tells_sides();
        let marks = match selection {
            _ if tells_sides || (selection.only.is_some() && !needs_all) => Marks::telling(sides),
            // A bit for the first side, and one for all others.
            _ if selection.in_first => Marks::Bits,
            _ if needs_all => Marks::Row,
            _ => Marks::Count,
        };
        let room = match marks {
            _ if tells_sides || selection.only.is_some() => MOST_TOLD_SIDES,
            Marks::Count => MOST_COUNTED_SIDES,
            _ => MOST_SIDES,
        };
        if sides > room {
            return usage(
                format!(
                    "{}: {sides} files given, but with these options it takes at most {room}",
                    selection.name()
                ),
                "give files that belong together as one side with `Files`, or as a list with `Listing`",
            );
        }
        Ok(Self {
            selection,
            sides: sides as u32,
            needs_all,
            marks,
            tally,
        })
    }

    /// Makes the rule of an intersection of `sides` sides, at most [`MOST_SIDES`], with its lines in `order`.
    pub(crate) fn common(sides: usize, order: Order) -> Self {
        Self {
            selection: Selection::intersection().ordered(order),
            sides: sides as u32,
            needs_all: true,
            marks: Marks::Row,
            tally: Tally::None,
        }
    }

    /// Makes the rule of an intersection of `sides` sides whose lines come in the same order as those of this rule, and
    /// have the places of the same occurrences.
    pub(super) fn common_as_here(&self, sides: usize) -> Self {
        let kept = self.selection.kept;
        let rule = Self::common(sides, self.order());
        Self {
            selection: Selection {
                kept,
                ..rule.selection
            },
            ..rule
        }
    }

    /// Returns what a set keeps of each line.
    pub(crate) fn kept(&self) -> StateLayout {
        StateLayout {
            marks: self.marks,
            tally: self.tally,
            has_ordinal: self.order() == Order::Input || self.picks_first(),
            has_rank: self.selection.kept == Kept::Ranked && self.picks_first(),
        }
    }

    /// Returns the bits that are turned over in ordinals.
    pub(crate) fn ordinal_mask(&self) -> u64 {
        keep_mask(self.selection.kept == Kept::Last)
    }

    /// Returns the order in which the lines are wanted.
    pub(crate) fn order(&self) -> Order {
        self.selection.order
    }

    /// Returns the number of lines of that order that are wanted, from the first; `u64::MAX` if all are.
    pub(crate) fn top(&self) -> u64 {
        self.selection.top.unwrap_or(u64::MAX)
    }

    /// Returns the number of sides that a line must be in.
    pub(crate) fn least(&self) -> usize {
        self.selection.counts.least(self.sides) as usize
    }

    /// Counts how often a line is written, and how often it goes to the duplicates, where lines are read once more.
    /// The line is one of `sides` sides and stands at `ordinal`; `found` is known of its key.
    pub(crate) fn times_again(&self, found: LineState, ordinal: u64, sides: u64) -> (u64, u64) {
        if !self.selects(found) {
            return (0, 0);
        }
        let is_written = !self.picks_first() || found.ordinal == ordinal;
        let dropped = if self.drops_rest() {
            sides - u64::from(is_written)
        } else {
            0
        };
        (u64::from(is_written), dropped)
    }

    /// Returns the number that marks have for a side: from its number (from 1) with the caller and its rank (from 1)
    /// in the order of the work.
    pub(crate) fn side(&self, number: u32, rank: u32) -> u32 {
        match self.marks {
            Marks::Row | Marks::Count => rank,
            // Without labels, all sides but the first share a bit.
            Marks::Bits if self.selection.in_first && !self.selection.tells_sides() => {
                number.min(2)
            }
            Marks::Bits | Marks::Wide => number,
        }
    }

    /// Counts how often a line is written that is known as `found` when all sides were read.
    pub(crate) fn times(&self, found: LineState) -> u64 {
        let LineState { mark, tally, .. } = found;
        let selection = self.selection;
        match self.tally {
            // The tally alone tells: a line that other sides have, too, may be left.
            Tally::Left | Tally::Signed if mark != EXCLUDED => tally,
            _ if !self.selects(found) => 0,
            _ if selection.occurrences == Occurrences::All => tally,
            _ => 1,
        }
    }

    /// Returns true if occurrences after the first of each line, or their places, go elsewhere.
    fn drops_rest(&self) -> bool {
        self.selection.occurrences == Occurrences::OnceAndRest || self.tells_places()
    }

    /// Counts how often a selected line came again after its first time, if that is wanted.
    pub(crate) fn duplicates(&self, found: LineState) -> u64 {
        if self.drops_rest() {
            found.tally.saturating_sub(1)
        } else {
            0
        }
    }

    /// Returns true if a line that is known as `found` when all sides were read is selected.
    pub(crate) fn selects(&self, found: LineState) -> bool {
        let sides = self.marks.sides(found.mark);
        let is_in_first = !self.selection.in_first || found.sides & 1 == 1;
        let has_sides = match self.selection.only {
            // Not where all sides must have the line: their marks tell no sides.
            Some(only) if !self.needs_all => found.mark != EXCLUDED && only.has(found.sides),
            _ => is_in_first && self.selection.counts.contains(sides, self.sides),
        };
        has_sides && self.selection.occurrence_counts.contains(found.tally)
    }

    /// Returns the number by which a selected line that stands at `ordinal` is put in order, the smaller first.
    pub(crate) fn place(&self, found: LineState, ordinal: u64) -> u64 {
        match self.order() {
            Order::Count => !found.tally,
            _ => ordinal ^ self.ordinal_mask(),
        }
    }

    /// Returns what is known of a line, whose mark is 0 if it is nowhere else, when the first side has it, too; `rank`
    /// is the rank of that side.
    pub(crate) fn with_first(&self, found: LineState, rank: u32) -> LineState {
        let side = self.side(1, rank);
        let mark = self.marks.next(found.mark, side).unwrap_or(found.mark);
        LineState {
            mark,
            sides: found.sides | 1,
            ..found
        }
    }

    /// Makes the label of a line with this mark. Nothing else is returned, so that it is made where its caller has it:
    /// to move it, just written, keeps the processor waiting.
    pub(crate) fn label(&self, found: LineState) -> LabelText {
        let LineState { mark, tally, .. } = found;
        let mut label = LabelText::new();
        match self.selection.label {
            Label::None => return label,
            Label::SidesOnly | Label::Sides => {
                let digit = |side: u32| b'0' + (found.sides >> side & 1) as u8;
                let is_field = self.selection.label == Label::Sides;
                let quote = (is_field && self.selection.label_form.quotes).then_some(b'"');
                label.extend(quote);
                label.extend((0..self.sides).map(digit));
                label.extend(quote);
            }
            Label::SideCount => push_number(&mut label, self.marks.sides(mark).into()),
            Label::Count => push_number(&mut label, tally),
        }
        if self.selection.label != Label::SidesOnly {
            label.push(self.selection.label_form.delimiter);
        }
        label
    }

    /// Returns what is written of a line after its label.
    pub(crate) fn behind_label<'l>(&self, line: &'l [u8]) -> &'l [u8] {
        match self.selection.label {
            Label::SidesOnly => &[],
            _ => line,
        }
    }
}

/// Refuses a number of lines that cannot be the first ones in the order of their counts.
///
/// # Errors
/// [`Error::Usage`].
fn check_top(selection: Selection) -> Result<()> {
    let order = match (selection.top, selection.order) {
        (None, _) | (Some(1..), Order::Count) => return Ok(()),
        (Some(0), _) => {
            return usage(
                "`top` 0: no line is wanted".into(),
                "give `top` a number from 1",
            );
        }
        (_, Order::Input) => "`Order::Input`",
        (_, Order::Sorted) => "`Order::Sorted`",
        (_, Order::Any) => "`Order::Any`",
    };
    usage(
        format!("`top`: the most frequent lines come in the order of their counts, not in {order}"),
        "leave out `top`, or ask for `Order::Count`",
    )
}

/// Returns what must be counted for a selection.
///
/// # Errors
/// [`Error::Usage`] where a multiset makes no sense of it.
fn tally(selection: Selection, sides: usize, needs_all: bool) -> Result<Tally> {
    let occurrences = selection.occurrences;
    if let Some(counting) = selection.counting() {
        let repeating = match occurrences {
            Occurrences::OfFirst if !selection.records => Some("`with_repeats`"),
            Occurrences::All if selection.label == Label::None => Some("`with_all`"),
            Occurrences::OnceAndRest if selection.bound().is_some() => Some("`with_duplicates`"),
            Occurrences::OnceAndPlaces if selection.bound().is_some() => {
                Some("`with_duplicate_places`")
            }
            _ => None,
        };
        if let Some(repeating) = repeating {
            let other = selection.bound().unwrap_or(counting);
            return usage(
                format!("{repeating}: cannot be combined with {other}"),
                "choose one of them",
            );
        }
    }
    if selection.records && occurrences == Occurrences::All {
        return usage(
            "`with_all`: is not defined for whole lines that are compared by key".into(),
            "leave out `with_all`, or leave out `of_records`",
        );
    }
    let dropping = match occurrences {
        Occurrences::OnceAndRest => Some("`with_duplicates`"),
        Occurrences::OnceAndPlaces => Some("`with_duplicate_places`"),
        _ => None,
    };
    if let Some(setting) = dropping.filter(|_| selection.name() != "union") {
        return usage(
            format!("{setting}: only a union drops lines"),
            "leave it out, or ask for a union",
        );
    }
    if occurrences != Occurrences::All {
        return Ok(if selection.is_counted() {
            Tally::Sum
        } else {
            Tally::None
        });
    }
    if selection.label != Label::None {
        return usage(
            "`with_all`: cannot be combined with a label before each line".into(),
            "leave out `with_all`, or `Label::Sides`, `Label::Count` and `Label::SideCount`",
        );
    }
    match selection.name() {
        _ if needs_all => Ok(Tally::Least),
        "diff" => Ok(Tally::Left),
        "union" => Ok(Tally::Sum),
        "symdiff" if sides == 2 => Ok(Tally::Signed),
        "symdiff" => usage(
            format!("`with_all`: the symmetric difference of {sides} multisets is not defined"),
            "give two files, or leave out `with_all`",
        ),
        _ => usage(
            "`with_all`: cannot be combined with `at_least`, `at_most`, `exactly` or `only`".into(),
            "leave out `with_all`, or those options",
        ),
    }
}

/// Appends a number in decimal.
fn push_number(label: &mut LabelText, mut number: u64) {
    let mut digits: ArrayVec<u8, 20> = ArrayVec::new();
    loop {
        digits.push(b'0' + (number % 10) as u8);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    label.extend(digits.into_iter().rev());
}

fn usage<T>(what: String, advice: &str) -> Result<T> {
    Err(Error::usage(what, advice))
}

#[cfg(test)]
mod tests;
