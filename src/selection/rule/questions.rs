//! The questions that a run asks of a selection before it has seen a line.
//!
//! *Owns:* the questions, all of them. *Invariants:* nobody else answers one, or hands one on. *Cost:* a few
//! comparisons.
//!
//! The answers for each operation of n sides. What the last column names turns a yes into a no. All other questions are
//! about what that column names. A combination of K sides has the answers of K or more.
//!
//! ```text
//!                      intersection  difference  union  symmetric  K or more  but not with
//!  needs_all           yes           -           -      -          K = n
//!  in_first            -             yes         -      -          -
//!  finds_common        yes           -           -      -          K = n      occurrences, counts, label, records
//!  is_told_by_a_set    yes           yes         -      -          K = n      counts, label, first records
//!  has a last_mark     yes           -           -      -          K = n      tally, label of sides, again, in order
//!  takes_any           -             -           yes    -          K = 1      tally, label
//!  writes_new          -             -           yes    -          K = 1      the same, again, in order
//!  is approximate      -             yes         yes    -          -          counts, label, first records
//!  keeps_..._of a side the first     the first   all    all        all
//!  building_sides      1             1           n      n          n + 1 - K
//! ```

use super::Rule;
use crate::selection::counts::SideCounts;
use crate::selection::{Approximate, Kept, Label, Marks, Occurrences, Order, Tally};

impl Rule {
    /// Returns true if a line must be in every side, so that a filter of one side may drop lines of the others. The
    /// union of one side is not of that kind.
    pub(crate) fn needs_all(&self) -> bool {
        self.needs_all
    }

    /// Returns true if the first side must have a line, so that it must be the first in the order of the work.
    pub(crate) fn in_first(&self) -> bool {
        self.selection.in_first
    }

    /// Returns true if the lines are wanted that all sides have, once, without a label and however often they occur:
    /// what every strategy can find.
    pub(crate) fn finds_common(&self) -> bool {
        let is_once = self.selection.occurrences == Occurrences::Once;
        self.needs_all()
            && self.selection.label == Label::None
            && is_once
            && !self.selection.is_counted()
            && !self.selection.records
    }

    /// Returns true if one set tells which lines of the first side are selected: those that are in it, or those that
    /// are not.
    pub(crate) fn is_told_by_a_set(&self) -> bool {
        self.is_bare() && (self.in_first() || self.needs_all())
    }

    /// Returns the mark at which a line is known to be selected, so that it can be written at once: with the last
    /// side that it must be in. `None` if that is only known when all sides were read.
    pub(crate) fn last_mark(&self) -> Option<u32> {
        let is_known = self.marks == Marks::Row && self.sides > 1 && self.tally == Tally::None;
        (is_known && self.writes_at_once()).then_some(self.sides)
    }

    /// Returns true if a line is selected, once, whichever side has it: nothing more needs to be known of it.
    pub(crate) fn takes_any(&self) -> bool {
        let is_plain = self.tally == Tally::None && self.selection.label == Label::None;
        is_plain && !self.in_first() && self.selection.counts.is_any(self.sides)
    }

    /// Returns true if a line can be written as soon as it is seen for the first time: it is selected, once, and
    /// nothing more is wanted of it.
    pub(crate) fn writes_new(&self) -> bool {
        self.takes_any() && self.writes_at_once()
    }

    /// Returns what a filter can answer of it; `None` for intersections, and where it takes more than a filter knows:
    /// several sides, occurrences, a label.
    pub(crate) fn approximate(&self) -> Option<Approximate> {
        match self.selection.counts {
            _ if !self.is_bare() => None,
            _ if self.in_first() => Some(Approximate::Difference),
            SideCounts::ANY if !self.repeats() => Some(Approximate::Union),
            _ => None,
        }
    }

    /// Returns true if all that is written of a line is the line itself, once for each place where it stands.
    pub(crate) fn writes_lines_alone(&self) -> bool {
        self.selection.label == Label::None && !self.selection.is_counted()
    }

    /// Returns true if a line, or key, of the answer is written once, however often it comes.
    pub(crate) fn writes_once(&self) -> bool {
        self.selection.occurrences == Occurrences::Once
    }

    /// Returns true if the answer is keys in the order of their bytes, all of them: what is compared is what is written
    /// and sorted.
    pub(crate) fn writes_keys_sorted(&self) -> bool {
        let is_of_keys = !self.selection.records && !self.tells_places();
        self.order() == Order::Sorted && is_of_keys && self.selection.top.is_none()
    }

    /// Returns true if the answer has lines in the order of the inputs, as they stand there.
    pub(crate) fn writes_lines_as_they_stand(&self) -> bool {
        let is_multiset = self.selection.occurrences == Occurrences::All;
        self.order() == Order::Input && self.selection.label == Label::None && !is_multiset
    }

    /// Returns true if it matters where the lines of the side with this number (from 1) stand.
    pub(crate) fn keeps_ordinals_of(&self, number: u32) -> bool {
        self.kept().has_ordinal && self.writes_lines_of(number)
    }

    /// Returns true if the records of the side with this number (from 1) are written.
    pub(crate) fn keeps_records_of(&self, number: u32) -> bool {
        self.selection.records && self.writes_lines_of(number)
    }

    /// Returns true if a selected line may be one of the side with this number, from 1.
    pub(crate) fn may_be_of(&self, number: u32) -> bool {
        let only = self.selection.only;
        only.is_none_or(|only| only.includes(number))
    }

    /// Counts the sides that may bring a selected line first, in the order of the work. Their lines must all be kept;
    /// the lines of the sides after them only matter if they are there already.
    pub(crate) fn building_sides(&self) -> usize {
        let sides = self.sides as usize;
        let least = if self.in_first() { sides } else { self.least() };
        (sides + 1).saturating_sub(least).max(1)
    }

    /// Returns true if lines of the first side are written as they come, when all else is known. Not where
    /// occurrences are counted: then those of the first side must be known before, too.
    pub(crate) fn repeats(&self) -> bool {
        self.selection.occurrences == Occurrences::OfFirst && !self.selection.is_counted()
    }

    /// Returns true if of the records with the same key, or of equal lines whose places are told, the first one is
    /// written.
    pub(crate) fn picks_first(&self) -> bool {
        let is_one_of_several = self.selection.records || self.tells_places();
        is_one_of_several && self.selection.occurrences != Occurrences::OfFirst
    }

    /// Returns true if of equal lines the first in the order of the inputs counts, if any does.
    pub(crate) fn takes_first(&self) -> bool {
        self.selection.kept == Kept::First
    }

    /// Returns true if it is told where a line stands that is dropped, and where the one that is kept.
    pub(crate) fn tells_places(&self) -> bool {
        self.selection.tells_places()
    }

    /// Returns true if the tally of a line is the number of its occurrences in all sides together.
    pub(crate) fn counts_all(&self) -> bool {
        self.tally == Tally::Sum
    }

    /// Returns true if what is written must be read once more, when it is known to be selected: a set does not have
    /// it.
    pub(crate) fn writes_again(&self) -> bool {
        self.repeats() || self.selection.records || self.tells_places()
    }

    /// Returns true if the lines of the answer are found by going through the first side once more, when the others
    /// are known.
    pub(crate) fn asks_first(&self) -> bool {
        // Where occurrences are counted, those of the other sides must not be dropped.
        let has_all = self.needs_all() && !self.selection.is_counted();
        self.repeats() || (self.selection.records && has_all)
    }

    /// Returns true if the lines of an input, which is the sides with these numbers (from 1), must be seen as often
    /// as they come.
    pub(crate) fn needs_repeats_of(&self, numbers: &[u32]) -> bool {
        self.tally != Tally::None || (self.repeats() && numbers.contains(&1))
    }

    /// Returns true if nothing must be known of a line but which sides have it: neither occurrences, nor a label, nor
    /// a position.
    fn is_bare(&self) -> bool {
        let is_labelled = self.selection.label != Label::None;
        !is_labelled && !self.selection.is_counted() && !self.picks_first()
    }

    /// Returns true if a line can be written from where it is first known to be selected.
    fn writes_at_once(&self) -> bool {
        // The same line may come later with a smaller ordinal: in a block of the same side that is read later.
        !self.writes_again() && self.order() != Order::Input
    }

    /// Returns true if lines of the side with this number (from 1) are written: of all sides, or of the first alone
    /// where it has every line of the answer.
    fn writes_lines_of(&self, number: u32) -> bool {
        number == 1 || !(self.in_first() || self.needs_all())
    }
}
