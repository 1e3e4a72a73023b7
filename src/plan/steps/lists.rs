//! The strategies: each is a list of steps.
//!
//! *Owns:* the lists. *Invariants:* those of [`steps`](super). *Cost:* a step or two for each input.
//!
//! With inputs 0 to n - 1, of which 0 is the first in the plan's order, and filters s0, s1, ...; `>` feeds or fills:
//!
//! ```text
//!  partition      spill 0 [> s1] · spill k [through s1] · join
//!  sieve          filter 0 > s0 · replan · (spill k through s(k-1) > sk · refilter k > sk) ·
//!                 spill 0 through the last · join
//!  singletons     filter k > s0, again > s1 · replan · spill k through s1, refused lines are written · join
//!  first side     filter k > s0 · spill 0 through s0 > s1, refused lines are written · spill k through s1 · join
//!  bloom          filter 0 > s0 · filter k through s(k-1) > sk · replan · spill n-1 through the last · distinct
//!    difference   filter k > s0 · replan · spill 0 what s0 has not · distinct     (or write 0 what s0 has not)
//!    union        filter k > s0, new lines are written · replan, which can only fail
//!  memory         build k · mark k · write
//!    filters      filter 0 > s0 · replan · build 1 through s0 > s1 · mark k through s1 · mark 0 through s1 · write
//!    repeats      build k · mark k · look up 0
//!    written      write new lines of k, in the order of the sides
//!    addresses    collect k > s0 · tell 0 of s0
//! ```
//!
//! The order of an answer is one more step after each; but for a set that is the answer, and for buckets that are
//! ranges of lines ([`PoolLayout::by_range`](crate::plan::layout::PoolLayout::by_range)).

use super::step::{At, Lets, Question, Seen, Slot, Step, Through};
use crate::selection::{Order, SideReading, Sides};

/// A list of steps, one for each kind of design.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    /// Everything into buckets; with `feeds` through a filter of the first input.
    Partition { feeds: bool },
    /// An intersection: each input through a filter of the one before it.
    Sieve,
    /// Anything: lines that occur once are written at once.
    SingletonSieve,
    /// Lines of the first input, as often as they come: those that a filter of the next `filtered` inputs refuses are
    /// written at once.
    FirstSideSieve { filtered: usize },
    /// An intersection, as filters say; a stored filter counts as one more input.
    Chain { has_stored: bool },
    /// A difference: the lines of the first input that a filter of the others refuses.
    Absent,
    /// A union: the lines that a filter of the lines before them refuses.
    New,
    /// A set in memory.
    Set,
    /// A union: the answer is the set, and only where its lines stand is in memory.
    WrittenSet,
    /// A set in memory, after filters.
    PrefilteredSet,
    /// Bitmaps of addresses.
    Bitmaps,
}

impl List {
    /// Lists the steps for `inputs` inputs, which are these sides.
    pub(crate) fn steps(self, inputs: usize, sides: &Sides) -> Vec<Step> {
        let rule = sides.rule();
        let is_twice = sides
            .readings()
            .iter()
            .filter(|reading| reading.input == 0)
            .count()
            > 1;
        let n = inputs as At;
        let mut steps = match self {
            _ if n == 0 => return Vec::new(),
            Self::Partition { feeds } => partition(n, feeds),
            Self::Sieve => sieve(n),
            Self::SingletonSieve => singleton_sieve(n),
            // Where the first input is another side, too, no filter tells more than the sides do.
            Self::FirstSideSieve { .. } if n == 1 || is_twice => partition(n, false),
            Self::FirstSideSieve { filtered } => first_side_sieve(n, filtered as At),
            Self::Chain { has_stored } => chain(n, has_stored),
            Self::Absent => absent(n, is_twice, rule.repeats()),
            Self::New => {
                let filters = (0..n).map(|at| filter(at, Seen::NewIsWritten));
                filters
                    .chain([Step::Replan(Question::Rate(None))])
                    .collect()
            }
            Self::WrittenSet => written_set(sides),
            Self::Set if rule.repeats() => looked_up(sides),
            Self::PrefilteredSet if n == 1 => set(sides),
            Self::Set => set(sides),
            Self::PrefilteredSet => {
                let front = [
                    filter(0, Seen::Nothing),
                    Step::Replan(Question::SmallSet(1)),
                ];
                [&front[..], &[prefiltered_build()], &set_tail(n)].concat()
            }
            Self::Bitmaps => bitmaps(n, sides),
        };
        if rule.order() != Order::Any && self != Self::WrittenSet {
            steps.push(Step::Order);
        }
        steps
    }
}

/// Puts an input into the first filter.
fn filter(at: At, seen: Seen) -> Step {
    Step::Filter {
        at,
        through: None,
        into: Slot::FIRST,
        seen,
    }
}

fn spill(at: At, through: Option<Through>) -> Step {
    Step::Spill {
        at,
        through,
        feed: None,
        writes_refused: false,
    }
}

fn survivors_of(slot: Slot) -> Through {
    Through {
        slot,
        lets: Lets::Survivors,
    }
}

const JOIN: Step = Step::Join { is_distinct: false };
const DISTINCT: Step = Step::Join { is_distinct: true };

fn partition(n: At, feeds: bool) -> Vec<Step> {
    let fed = feeds.then_some(Slot::SECOND);
    let first = Step::Spill {
        at: 0,
        through: None,
        feed: fed,
        writes_refused: false,
    };
    let others = (1..n).map(|at| spill(at, fed.map(survivors_of)));
    [first].into_iter().chain(others).chain([JOIN]).collect()
}

fn sieve(n: At) -> Vec<Step> {
    let mut steps = vec![
        filter(0, Seen::Nothing),
        Step::Replan(Question::Survivors(1)),
    ];
    for at in 1..n {
        steps.push(Step::Spill {
            at,
            through: Some(survivors_of(Slot(at - 1))),
            feed: Some(Slot(at)),
            writes_refused: false,
        });
        steps.push(Step::Refilter {
            of: at,
            before: (at + 1) % n,
            into: Slot(at),
        });
    }
    steps.extend([spill(0, Some(survivors_of(Slot(n - 1)))), JOIN]);
    steps
}

fn singleton_sieve(n: At) -> Vec<Step> {
    let filters = (0..n).map(|at| filter(at, Seen::Again(Slot::SECOND)));
    let spills = (0..n).map(|at| Step::Spill {
        at,
        through: Some(survivors_of(Slot::SECOND)),
        feed: None,
        writes_refused: true,
    });
    let replan = Step::Replan(Question::Again);
    filters
        .chain([replan])
        .chain(spills)
        .chain([JOIN])
        .collect()
}

fn first_side_sieve(n: At, filtered: At) -> Vec<Step> {
    let filters = (1..=filtered).map(|at| filter(at, Seen::Nothing));
    let first = Step::Spill {
        at: 0,
        through: Some(survivors_of(Slot::FIRST)),
        feed: Some(Slot::SECOND),
        writes_refused: true,
    };
    let others = (1..n).map(|at| spill(at, Some(survivors_of(Slot::SECOND))));
    filters.chain([first]).chain(others).chain([JOIN]).collect()
}

fn chain(n: At, has_stored: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    // A single input passes its own filter, which may be one to save.
    let (mut slot, lets) = (Slot::FIRST, Lets::Answer);
    let first_link = if has_stored {
        0
    } else {
        steps.push(filter(0, Seen::Nothing));
        1
    };
    for at in first_link..n - 1 {
        let next = Slot(slot.0 + 1);
        steps.push(Step::Filter {
            at,
            through: Some(slot),
            into: next,
            seen: Seen::Nothing,
        });
        slot = next;
    }
    steps.extend([
        Step::Replan(Question::Rate(Some(n - 1))),
        spill(n - 1, Some(Through { slot, lets })),
        DISTINCT,
    ]);
    steps
}

fn absent(n: At, is_twice: bool, repeats: bool) -> Vec<Step> {
    // Where the first input is another side, too, it has no line alone.
    let others = (1..n).chain(is_twice.then_some(0));
    let mut steps: Vec<Step> = others.map(|at| filter(at, Seen::Nothing)).collect();
    steps.push(Step::Replan(Question::Rate(None)));
    let (slot, lets) = (Slot::FIRST, Lets::Absent);
    if repeats {
        steps.push(Step::Ask { at: 0, slot });
    } else {
        steps.extend([spill(0, Some(Through { slot, lets })), DISTINCT]);
    }
    steps
}

fn set(sides: &Sides) -> Vec<Step> {
    let building = sides.rule().building_sides();
    let step = |(reading, rank): (&SideReading, u32)| {
        let (at, side) = (reading.input as At, sides.rule().side(reading.number, rank));
        built_or_marked(at, side, rank as usize <= building)
    };
    let steps = sides.readings().iter().zip(1..).map(step);
    steps.chain([Step::Write]).collect()
}

/// Lists the steps where new lines are written in the order of the inputs, each at the first side that it is.
fn written_set(sides: &Sides) -> Vec<Step> {
    let mut readings: Vec<&SideReading> = sides.readings().iter().collect();
    readings.sort_by_key(|reading| reading.number);
    let mut steps: Vec<Step> = Vec::new();
    for reading in readings {
        let step = Step::WriteNew {
            at: reading.input as At,
        };
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    steps
}

fn built_or_marked(at: At, side: u32, builds: bool) -> Step {
    if builds {
        Step::Build {
            at,
            side,
            through: None,
            feed: None,
        }
    } else {
        Step::Mark {
            at,
            side,
            through: None,
        }
    }
}

/// Lists the steps where the set is of the sides after the first (of an intersection, of one of them).
fn looked_up(sides: &Sides) -> Vec<Step> {
    let rule = sides.rule();
    let (first, others) = first_and_others(sides);
    let building = if rule.in_first() { others.len() } else { 1 };
    let rank = others.len() as u32 + 1;
    let others = (1..).zip(others).map(|(rank, reading)| {
        let (at, side) = (reading.input as At, rule.side(reading.number, rank));
        built_or_marked(at, side, rank as usize <= building)
    });
    let first = first.into_iter().map(|reading| Step::LookUp {
        at: reading.input as At,
        rank,
    });
    others.chain(first).collect()
}

/// Divides the readings into those of the first side and those of the others.
fn first_and_others(sides: &Sides) -> (Vec<&SideReading>, Vec<&SideReading>) {
    sides
        .readings()
        .iter()
        .partition(|reading| reading.number == 1)
}

/// Makes the step that builds a set of what survives of the second input.
pub(crate) fn prefiltered_build() -> Step {
    Step::Build {
        at: 1,
        side: 1,
        through: Some(Slot::FIRST),
        feed: Some(Slot::SECOND),
    }
}

/// Lists what follows when the survivors of the second of `n` inputs are a set.
pub(crate) fn set_tail(n: At) -> Vec<Step> {
    let marks = (2..).zip((2..n).chain([0]));
    let marks = marks.map(|(side, at)| Step::Mark {
        at,
        side,
        through: Some(Slot::SECOND),
    });
    marks.chain([Step::Write]).collect()
}

/// Lists the steps with bitmaps. The input that comes last is the first side where it alone has the answer: in a
/// difference, and where its repeats or its records are written; else it is the largest.
fn bitmaps(n: At, sides: &Sides) -> Vec<Step> {
    let rule = sides.rule();
    let (others, last): (Vec<At>, At) = if rule.in_first() || rule.repeats() {
        let (first, others) = first_and_others(sides);
        let others = others
            .into_iter()
            .map(|reading| reading.input as At)
            .collect();
        (
            others,
            first.first().map_or(0, |reading| reading.input as At),
        )
    } else {
        ((0..n - 1).collect(), n - 1)
    };
    // Nothing but the last side: it has what it has in common with itself, and nothing of it is there yet.
    let has = !rule.in_first() && !others.is_empty();
    let mut slot = Slot::FIRST;
    let mut steps: Vec<Step> = Vec::new();
    for at in others {
        let through = (has && !steps.is_empty()).then_some(slot);
        slot = through.map_or(slot, |before| Slot(before.0 + 1));
        steps.push(Step::Collect {
            at,
            through,
            into: slot,
        });
    }
    steps.push(Step::Tell {
        at: last,
        slot,
        has,
    });
    steps
}
