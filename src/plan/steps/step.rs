//! The definition of a step.
//!
//! *Owns:* [`Step`] and what it is made of, and the list of a plan ([`Steps`]). *Invariants:* a step says what is done,
//! not with which memory or threads. *Cost:* 32 bytes.

/// An input, by its index in the plan's order. It is valid for one plan: the next may have another order.
pub(crate) type At = u32;

/// A filter of a list, by its number. The first has the shape of the plan's first filter, and all others that of its
/// second, if it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(pub(crate) u32);

impl Slot {
    /// The filter that is built first, or stored.
    pub(crate) const FIRST: Self = Self(0);
    /// The one after it.
    pub(crate) const SECOND: Self = Self(1);
}

/// The steps of a plan.
#[derive(Debug, Clone)]
pub(crate) struct Steps {
    /// The steps in their order.
    pub(crate) list: Vec<Step>,
    /// The number of each input with the caller, from 1.
    pub(super) numbers: Vec<u32>,
    /// True if filters of survivors are fed while those are spilled.
    pub(super) feeds: bool,
    /// True if buckets are ranges of lines, which are joined in order.
    pub(super) by_range: bool,
}

impl Steps {
    /// Makes them of a list for inputs that have these numbers with the caller.
    pub(in crate::plan) fn new(
        list: Vec<Step>,
        numbers: Vec<u32>,
        feeds: bool,
        by_range: bool,
    ) -> Self {
        Self {
            list,
            numbers,
            feeds,
            by_range,
        }
    }
}

/// A pass, or a decision between two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Puts the lines of an input into a filter; of several such steps, one after the other, into the same.
    Filter {
        at: At,
        /// The filter that a line must pass.
        through: Option<Slot>,
        into: Slot,
        seen: Seen,
    },
    /// Writes the lines of an input to buckets.
    Spill {
        at: At,
        through: Option<Through>,
        /// The filter that gets what is spilled. None is fed where the plan has no shape for it, or the budget no room.
        feed: Option<Slot>,
        /// True if a line that the filter refuses is written, provided that the selection takes lines of this input
        /// alone. Otherwise such a line is dropped.
        writes_refused: bool,
    },
    /// Builds the filter of what was spilled of an input from its buckets, if it was not fed and pays for the input
    /// that is read next.
    Refilter { of: At, before: At, into: Slot },
    /// Puts the lines of an input into the set in memory.
    Build {
        at: At,
        /// The number of this input in marks.
        side: u32,
        through: Option<Slot>,
        feed: Option<Slot>,
    },
    /// Marks the lines of the set that an input has, and writes those that get their last mark.
    Mark {
        at: At,
        side: u32,
        through: Option<Slot>,
    },
    /// Writes those lines of an input that the answer does not have yet. It is itself the set, and read where a hash
    /// comes again.
    WriteNew { at: At },
    /// Looks the lines of the first side up in the set, and writes the selected ones as often as they come.
    LookUp { at: At, rank: u32 },
    /// Writes what the set selects, unless lines were written with their last mark.
    Write,
    /// Writes the lines of an input that a filter does not have.
    Ask { at: At, slot: Slot },
    /// Puts the addresses of an input into a bitmap; with `through` those that another bitmap has.
    Collect {
        at: At,
        through: Option<Slot>,
        into: Slot,
    },
    /// Writes the lines of an input whose addresses a bitmap has, or has not.
    Tell { at: At, slot: Slot, has: bool },
    /// Joins what was spilled, bucket by bucket.
    Join {
        /// True if it is of one input, and only removes repeats.
        is_distinct: bool,
    },
    /// Sorts the answer.
    Order,
    /// Reads an input once more, in order, and writes those of its lines that are in the answer.
    Rewrite { at: At },
    /// Decides how the run goes on, by what the steps before have shown.
    Replan(Question),
}

/// The further use of a line that is put into a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Nothing.
    Nothing,
    /// It goes into this filter, too, if the first one seems to have it already.
    Again(Slot),
    /// It is written if the filter did not have it.
    NewIsWritten,
}

/// A filter that is asked about each line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Through {
    pub(crate) slot: Slot,
    pub(crate) lets: Lets,
}

/// The lines that a filter lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lets {
    /// Those that it may have, to compare them later. A filter that is too full to be of use is not asked.
    Survivors,
    /// Those that it may have, which are the answer.
    Answer,
    /// Those that it certainly has not, which are the answer.
    Absent,
}

/// A decision between two passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// The choice of how a sieve goes on from this input, when the filter of the first is complete: with a set in
    /// memory; without filters, as `partition`; or as planned, in a layout for what survives.
    Survivors(At),
    /// The use of filters for the set: it is built without them, unless the filter of the first input keeps what
    /// survives of this one small.
    SmallSet(At),
    /// The layout for the lines that come again, which the second filter has.
    Again,
    /// The rate of the filter: if it is above the accepted one, the engine plans again. And the layout for what
    /// passes of this input, if it is spilled.
    Rate(Option<At>),
}

impl Step {
    /// Returns the input that the step reads.
    pub(crate) fn input(&self) -> Option<At> {
        match *self {
            Self::Filter { at, .. }
            | Self::Spill { at, .. }
            | Self::Build { at, .. }
            | Self::Mark { at, .. }
            | Self::WriteNew { at }
            | Self::LookUp { at, .. }
            | Self::Ask { at, .. }
            | Self::Collect { at, .. }
            | Self::Tell { at, .. }
            | Self::Rewrite { at } => Some(at),
            Self::Refilter { .. }
            | Self::Write
            | Self::Join { .. }
            | Self::Order
            | Self::Replan(_) => None,
        }
    }

    /// Returns the filter that the step asks.
    pub(crate) fn asked(&self) -> Option<Slot> {
        match *self {
            Self::Spill { through, .. } => through.map(|through| through.slot),
            Self::Filter { through, .. }
            | Self::Build { through, .. }
            | Self::Mark { through, .. }
            | Self::Collect { through, .. } => through,
            Self::Ask { slot, .. } | Self::Tell { slot, .. } => Some(slot),
            _ => None,
        }
    }

    /// Returns the filters that the step fills.
    pub(crate) fn filled(&self) -> [Option<Slot>; 2] {
        match *self {
            Self::Filter {
                into,
                seen: Seen::Again(again),
                ..
            } => [Some(into), Some(again)],
            Self::Filter { into, .. }
            | Self::Refilter { into, .. }
            | Self::Collect { into, .. } => [Some(into), None],
            Self::Spill { feed, .. } | Self::Build { feed, .. } => [feed, None],
            _ => [None, None],
        }
    }

    /// Returns true if the step asks or fills a filter.
    pub(crate) fn names_filter(&self) -> bool {
        self.asked().is_some() || self.filled()[0].is_some()
    }

    /// Returns true if the step is of the set in memory, or of bitmaps.
    pub(crate) fn is_of_set(&self) -> bool {
        matches!(
            self,
            Self::Build { .. }
                | Self::Mark { .. }
                | Self::WriteNew { .. }
                | Self::LookUp { .. }
                | Self::Write
                | Self::Collect { .. }
                | Self::Tell { .. }
        )
    }

    /// Returns true if the step fills buckets, or reads them before the join.
    pub(crate) fn is_of_buckets(&self) -> bool {
        matches!(self, Self::Spill { .. } | Self::Refilter { .. })
    }
}

/// The life of each filter of a list: from the first step that names it to the last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lives {
    /// The steps up to the last one that fills it, by the number of the filter.
    filled: Vec<u32>,
    /// The steps up to the last one that names it.
    named: Vec<u32>,
}

impl Lives {
    /// Goes through a list once.
    pub(crate) fn of(steps: &[Step]) -> Self {
        let mut lives = Self::default();
        for (done, step) in (1..).zip(steps) {
            let filled = step.filled();
            for slot in filled.into_iter().chain([step.asked()]).flatten() {
                let index = slot.0 as usize;
                if lives.named.len() <= index {
                    lives.named.resize(index + 1, 0);
                    lives.filled.resize(index + 1, 0);
                }
                lives.named[index] = done;
                if filled.contains(&Some(slot)) {
                    lives.filled[index] = done;
                }
            }
        }
        lives
    }

    /// Returns true if none of the steps after the first `done` fills the filter: it is complete.
    pub(crate) fn is_complete(&self, slot: Slot, done: usize) -> bool {
        self.filled
            .get(slot.0 as usize)
            .is_none_or(|&last| last as usize <= done)
    }

    /// Returns true if none of the steps after the first `done` names the filter: its memory is free.
    pub(crate) fn is_over(&self, slot: Slot, done: usize) -> bool {
        self.named
            .get(slot.0 as usize)
            .is_none_or(|&last| last as usize <= done)
    }
}

/// Returns true if the steps write the answer in the order of the inputs, while these are read one after the other.
pub(crate) fn writes_in_order(steps: &[Step]) -> bool {
    steps
        .iter()
        .any(|step| matches!(step, Step::WriteNew { .. }))
}

/// Returns true if the answer waits until the last of these steps puts it in order.
pub(crate) fn holds_answer(steps: &[Step]) -> bool {
    matches!(steps.last(), Some(Step::Order | Step::Rewrite { .. }))
}

/// Counts how often each of `inputs` inputs is read.
pub(crate) fn readings(steps: &[Step], inputs: usize) -> Vec<u32> {
    let mut readings = vec![0; inputs];
    for at in steps.iter().filter_map(Step::input) {
        readings[at as usize] += 1;
    }
    readings
}
