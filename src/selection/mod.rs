//! The lines that an operation writes, chosen by the sides that have them.
//!
//! *Owns:* [`Selection`], what a caller asks for, and [`Rule`], the same for a known number of sides.
//!
//! *Invariants:* every operation is a value of one idea: bounds for the number of sides that have a line, and which of
//! them must have it: the first, or those of one combination. Bounds for the number of its occurrences, how often a
//! selected line is written, what stands before it, and in which order the lines come are further values, which any
//! operation can have. Nothing here knows how lines are stored.
//!
//! ```text
//!                          at least   at most   first side    all: as often as          repeats
//! intersection             all        all       has it, too   the side that has fewest  as the first side has it
//! difference               1          1         must have it  first, less all others    as the first side has it
//! union                    1          all                     all together
//! symmetric difference     1          1                       one of two, less the other
//! in K sides or more       K          all
//! of one combination of K  K          K         if it is of them
//! ```
//!
//! *Cost:* a comparison or two for each distinct line.

mod counts;
mod label;
mod line_state;
mod marks;
mod occurrence_counts;
mod one_combination;
mod order;
mod rule;
mod sides;
mod tally;

use serde::Serialize;

use counts::SideCounts;
pub use label::Label;
pub(crate) use label::LabelForm;
pub(crate) use line_state::{LineState, StateLayout};
use marks::LARGEST_MARK;
pub(crate) use marks::{EXCLUDED, MOST_COUNTED_SIDES, MOST_TOLD_SIDES, Marks};
use occurrence_counts::OccurrenceCounts;
use one_combination::OneCombination;
pub use order::Order;
pub(crate) use order::{
    CELL_BYTES, LAST_OF_CELL, MOST_ORDERED_BYTES, NO_ORDINAL, NUMBERED_PIECE_BYTES, Place,
    first_ordinal, keep_mask, side_and_offset,
};
pub(crate) use rule::Rule;
pub(crate) use sides::{SideReading, Sides};
pub(crate) use tally::Tally;

/// The lines that are written, chosen by the number of sides that have them and by how often these have them; how
/// often, in which order, and after what label.
///
/// A side is one input. A file that is given twice is two sides.
///
/// ```
/// use outset::{Label, Selection};
/// let in_two_or_more = Selection::at_least(2).labelled(Label::Sides);
/// assert_ne!(in_two_or_more, Selection::intersection());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Selection {
    /// The numbers of sides that a line may be in to be written.
    #[serde(flatten)]
    counts: SideCounts,
    /// The combination of sides that must have a line to be written; `None` means any.
    #[serde(skip_serializing_if = "Option::is_none")]
    only: Option<OneCombination>,
    /// The numbers of occurrences, in all sides together, that a line may have to be written.
    #[serde(flatten)]
    occurrence_counts: OccurrenceCounts,
    /// True if the first side must have the line.
    pub(crate) in_first: bool,
    /// The occurrences of a line that are written.
    pub(crate) occurrences: Occurrences,
    /// The occurrence of a line that counts, where one of them is written or has the line's place.
    #[serde(skip_serializing_if = "Kept::is_first")]
    pub(crate) kept: Kept,
    /// True if lines are records, which are written where their keys are selected.
    pub(crate) records: bool,
    /// The label that stands before each line.
    pub(crate) label: Label,
    /// The form in which it stands there.
    #[serde(skip)]
    pub(crate) label_form: LabelForm,
    /// The order in which the lines come.
    pub(crate) order: Order,
    /// The number of lines of that order that are written, from the first; `None` means all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) top: Option<u64>,
}

/// The occurrences of a selected line that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Occurrences {
    /// The first.
    #[default]
    Once,
    /// The first; the others go elsewhere.
    OnceAndRest,
    /// The first; the places of the others go elsewhere.
    OnceAndPlaces,
    /// All that the first side has.
    OfFirst,
    /// All that the multiset operation gives.
    All,
}

/// The occurrence of a line that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kept {
    #[default]
    First,
    Last,
    /// The one with the smallest rank; of several the first.
    Ranked,
}

impl Kept {
    /// Returns true if it is the first, as nobody has to say.
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the serializer passes a reference"
    )]
    fn is_first(&self) -> bool {
        *self == Self::First
    }
}

/// The results other than an intersection that can be approximate: a filter that takes a line for one that it has
/// loses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approximate {
    /// Lines of the first side that a filter of the others refuses.
    Difference,
    /// Lines that a filter of the lines before them refuses.
    Union,
}

impl Selection {
    /// Selects the lines that every side has.
    pub const fn intersection() -> Self {
        Self {
            counts: SideCounts::ALL,
            only: None,
            occurrence_counts: OccurrenceCounts::ANY,
            in_first: false,
            occurrences: Occurrences::Once,
            kept: Kept::First,
            records: false,
            label: Label::None,
            label_form: LabelForm {
                delimiter: b'\t',
                quotes: false,
            },
            order: Order::Any,
            top: None,
        }
    }

    /// Selects the lines of the first side that no other side has.
    pub const fn difference() -> Self {
        Self {
            counts: SideCounts::ONE,
            in_first: true,
            ..Self::intersection()
        }
    }

    /// Selects the lines of all sides.
    pub const fn union() -> Self {
        Self::at_least(1)
    }

    /// Selects the lines that exactly one side has.
    pub const fn symmetric_difference() -> Self {
        Self::exactly(1)
    }

    /// Selects the lines that `sides` sides have, or more.
    pub const fn at_least(sides: u32) -> Self {
        Self {
            counts: SideCounts::from(sides),
            ..Self::intersection()
        }
    }

    /// Selects the lines that `sides` sides have, or fewer, but one at least.
    pub const fn at_most(sides: u32) -> Self {
        Self::between(1, sides)
    }

    /// Selects the lines that exactly `sides` sides have.
    pub const fn exactly(sides: u32) -> Self {
        Self::between(sides, sides)
    }

    /// Selects the lines that `least` to `most` sides have.
    pub const fn between(least: u32, most: u32) -> Self {
        Self {
            counts: SideCounts::between(least, most),
            ..Self::intersection()
        }
    }

    /// Selects the lines that exactly those sides have that are true in `has`, which names every side, 64 at most: the
    /// lines of one row of [`overlaps()`](crate::overlaps()).
    ///
    /// ```
    /// use outset::{Options, Reader, Selection, Source, collect};
    ///
    /// let side = |text: &'static str| Source::from(Reader::new("side", text.as_bytes()));
    /// let sides = [side("a\nb\nc\n"), side("b\nd\n"), side("a\nb\nd\n")];
    /// let found = collect(&sides, Selection::only(&[true, false, true]), &Options::default())?;
    /// assert_eq!(found, [b"a"]);
    /// # Ok::<(), outset::Error>(())
    /// ```
    pub const fn only(has: &[bool]) -> Self {
        let combination = OneCombination::new(has);
        Self {
            only: Some(combination),
            ..Self::exactly(combination.count())
        }
    }

    /// Puts a label before each line.
    #[must_use]
    pub const fn labelled(self, label: Label) -> Self {
        Self { label, ..self }
    }

    /// Writes only lines that occur `count` times or more, in all sides together: of a union of one side with 2 those
    /// that `uniq -d` writes.
    ///
    /// ```
    /// use outset::{Label, Options, Order, Reader, Selection, Source, collect};
    ///
    /// let log = Source::from(Reader::new("log", &b"a\nb\na\nc\nb\na\n"[..]));
    /// let often = Selection::union().min_count(2).labelled(Label::Count).ordered(Order::Count);
    /// let found = collect(&[log], often, &Options::default())?;
    /// assert_eq!(found, [b"3\ta", b"2\tb"]);
    /// # Ok::<(), outset::Error>(())
    /// ```
    #[must_use]
    pub const fn min_count(self, count: u64) -> Self {
        let occurrence_counts = self.occurrence_counts.from(count);
        Self {
            occurrence_counts,
            ..self
        }
    }

    /// Writes only lines that occur `count` times or fewer, in all sides together: of a union of one side with 1 those
    /// that `uniq -u` writes.
    #[must_use]
    pub const fn max_count(self, count: u64) -> Self {
        let occurrence_counts = self.occurrence_counts.up_to(count);
        Self {
            occurrence_counts,
            ..self
        }
    }

    /// Writes the `lines` lines that come first in [`Order::Count`], and in this order. The others are dropped as they
    /// come, and only where memory has no room for `lines` lines does the order take temporary disk.
    #[must_use]
    pub const fn top(self, lines: u64) -> Self {
        Self {
            top: Some(lines),
            order: Order::Count,
            ..self
        }
    }

    /// Writes each line as often as the first side has it. For the intersection and the difference. Of this,
    /// [`Selection::with_all`] and [`Selection::with_duplicates`] the last one counts.
    #[must_use]
    pub const fn with_repeats(self) -> Self {
        Self {
            occurrences: Occurrences::OfFirst,
            ..self
        }
    }

    /// Writes the records whose keys ([`Keys`](crate::Keys)) are selected. Of the records with the same key it is the
    /// first one, in the order of the inputs and in each of them; with [`Selection::with_repeats`] all that the first
    /// side has. Without this the keys are what is written.
    #[must_use]
    pub const fn of_records(self) -> Self {
        Self {
            records: true,
            ..self
        }
    }

    /// Keeps the last occurrence of each line, not the first: of records with the same key the last one is written, and
    /// in [`Order::Input`] a line has the place of its last occurrence.
    ///
    /// ```
    /// use outset::{Options, Order, Reader, Selection, Source, collect};
    ///
    /// let log = Source::from(Reader::new("log", &b"a\nb\na\nc\n"[..]));
    /// let last = Selection::union().keeping_last().ordered(Order::Input);
    /// assert_eq!(collect(&[log], last, &Options::default())?, [b"b", b"a", b"c"]);
    /// # Ok::<(), outset::Error>(())
    /// ```
    #[must_use]
    pub const fn keeping_last(self) -> Self {
        Self {
            kept: Kept::Last,
            ..self
        }
    }

    /// Keeps of the records with the same key the one that [`Keys::ranking`](crate::Keys::ranking) prefers; of those
    /// that it ranks alike, the first.
    ///
    /// ```
    /// use outset::{Dialect, Keys, Options, Ranking, Reader, Selection, Source, Syntax, collect};
    ///
    /// let pages = Source::from(Reader::new("pages", &b"a,7\nb,2\na,10\n"[..]));
    /// let keys = Keys {
    ///     syntax: Syntax::Csv(Dialect::new(b',')),
    ///     fields: vec!["1".parse()?],
    ///     ranking: Some(Ranking::Greatest("2".parse()?)),
    ///     ..Keys::default()
    /// };
    /// let options = Options { keys: Some(keys), ..Options::default() };
    /// let mut found = collect(&[pages], Selection::union().of_records().keeping_ranked(), &options)?;
    /// found.sort();
    /// assert_eq!(found, [b"a,10".to_vec(), b"b,2".to_vec()]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn keeping_ranked(self) -> Self {
        Self {
            kept: Kept::Ranked,
            ..self
        }
    }

    /// Takes the sides as multisets, as INTERSECT ALL, EXCEPT ALL and UNION ALL do in SQL. A line of an intersection
    /// comes as often as the side has it that has it least; of a difference as often as the first side has it more
    /// than all others together; of a union as often as all have it together. A symmetric difference must be of two
    /// sides: a line comes as often as one has it more than the other.
    #[must_use]
    pub const fn with_all(self) -> Self {
        Self {
            occurrences: Occurrences::All,
            ..self
        }
    }

    /// Passes on what a union drops: each line goes to [`Sink::duplicate`](crate::Sink::duplicate) as often as it
    /// occurs after its first time.
    #[must_use]
    pub const fn with_duplicates(self) -> Self {
        Self {
            occurrences: Occurrences::OnceAndRest,
            ..self
        }
    }

    /// Passes on which lines a union drops, and for which line: for each, [`Sink::duplicate`](crate::Sink::duplicate)
    /// gets a JSON object such as `{"file":"b.txt","line":7,"kept":{"file":"a.txt","line":2}}`. Lines are numbered in
    /// their file from 1, as an editor numbers them; rows of a Parquet file, which need
    /// [`Keys::row_numbers`](crate::Keys::row_numbers), from 0 and as `row`. Bytes in names that are no UTF-8 are
    /// replaced. Each line is spilled as often as it comes, with 8 bytes more.
    ///
    /// ```
    /// use std::io;
    /// use outset::{Options, Reader, Selection, Sink, Source, select};
    ///
    /// struct Dropped(Vec<String>);
    /// impl Sink for Dropped {
    ///     fn line(&mut self, _: &[u8]) -> io::Result<()> {
    ///         Ok(())
    ///     }
    ///     fn duplicate(&mut self, place: &[u8]) -> io::Result<()> {
    ///         self.0.push(String::from_utf8_lossy(place).into());
    ///         Ok(())
    ///     }
    /// }
    /// let log = Source::from(Reader::new("log", &b"a\nb\na\n"[..]));
    /// let mut dropped = Dropped(Vec::new());
    /// select(&[log], Selection::union().with_duplicate_places(), &Options::default(), &mut dropped)?;
    /// assert_eq!(dropped.0, [r#"{"file":"log","line":3,"kept":{"file":"log","line":1}}"#]);
    /// # Ok::<(), outset::Error>(())
    /// ```
    #[must_use]
    pub const fn with_duplicate_places(self) -> Self {
        Self {
            occurrences: Occurrences::OnceAndPlaces,
            ..self
        }
    }

    /// Writes the lines in this order.
    #[must_use]
    pub const fn ordered(self, order: Order) -> Self {
        Self { order, ..self }
    }

    /// Returns true if each line can be written as often as the first side has it ([`Selection::with_repeats`]): of a
    /// difference, and of an intersection without a number of sides.
    pub fn can_repeat(&self) -> bool {
        self.in_first || self.counts == SideCounts::ALL
    }

    /// Returns true if, of so many sides, the lines of the first alone are written: of a difference, and where every
    /// side must have a line.
    pub fn writes_first_alone(&self, sides: usize) -> bool {
        self.in_first || self.counts.is_all(sides as u32)
    }

    /// Writes the labels in this form.
    pub(crate) const fn with_label_form(self, label_form: LabelForm) -> Self {
        Self { label_form, ..self }
    }

    /// Names the command for it: `intersect`, `diff`, `union`, `symdiff` or `overlaps`. A selection by the number of
    /// sides, or by their combination, is an `intersect`, too.
    pub fn name(&self) -> &'static str {
        match self.counts {
            _ if self.label == Label::SidesOnly => "overlaps",
            _ if self.in_first => "diff",
            _ if self.only.is_some() => "intersect",
            SideCounts::ANY => "union",
            SideCounts::ONE => "symdiff",
            _ => "intersect",
        }
    }

    /// Returns what finds the keys of the same records, each once and where its record is; `None` where more than one
    /// record of a key may be written, where another of its fields decides which, or where lines are no records.
    pub(crate) fn of_keys(self) -> Option<Self> {
        let is_of_records = self.records && self.occurrences == Occurrences::Once;
        // The rank of a record is in the record.
        let is_ranked = self.kept == Kept::Ranked;
        (is_of_records && !is_ranked).then_some(Self {
            records: false,
            ..self
        })
    }

    /// Works as [`Selection::of_keys`], where records are known by the numbers of their rows: several with the same key
    /// have numbers of their own.
    pub(crate) fn of_rows(self) -> Option<Self> {
        let is_of_first = self.records && self.occurrences == Occurrences::OfFirst;
        self.of_keys().or(is_of_first.then_some(Self {
            records: false,
            ..self
        }))
    }

    /// Returns true if it is told where a line stands that is dropped, and where the one that is kept.
    pub(crate) fn tells_places(&self) -> bool {
        self.occurrences == Occurrences::OnceAndPlaces
    }

    /// Returns true if the occurrences of all sides are counted.
    fn is_counted(&self) -> bool {
        let is_counted = matches!(
            self.occurrences,
            Occurrences::All | Occurrences::OnceAndRest | Occurrences::OnceAndPlaces
        );
        is_counted || self.counting().is_some()
    }

    /// Names the setting, if there is one, that asks for the number of occurrences in all sides together.
    fn counting(&self) -> Option<&'static str> {
        match self {
            _ if self.label == Label::Count => Some("`Label::Count`"),
            _ if self.top.is_some() => Some("`top`"),
            _ if self.order == Order::Count => Some("`Order::Count`"),
            _ => self.occurrence_counts.name(),
        }
    }

    /// Names the setting, if there is one, by which the number of occurrences decides which lines are written.
    fn bound(&self) -> Option<&'static str> {
        let of_top = self.top.map(|_| "`top`");
        of_top.or_else(|| self.occurrence_counts.name())
    }

    /// Returns true if the label says which sides have the line.
    fn tells_sides(&self) -> bool {
        matches!(self.label, Label::Sides | Label::SidesOnly)
    }

    /// Returns the fewest sides that a run needs: one for a union, two to compare anything.
    pub fn least_sides(&self) -> usize {
        if self.counts == SideCounts::ANY { 1 } else { 2 }
    }
}
