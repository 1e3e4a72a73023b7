//! The work of a run, in order, as data.
//!
//! *Owns:* [`Step`]: one pass of a run with what it reads, asks, fills and leaves ([`step`]); and the list of each
//! strategy ([`lists`]). *Invariants:* a filter is complete before it is asked: no step that fills it comes after one
//! that asks it. Every store that is filled is joined, once. At most two filters are in memory at a time. A test checks
//! all lists. *Cost:* 32 bytes a step.
//!
//! Everything that is said of a run comes from its list: the phases that a progress display expects ([`phases`]), the
//! bytes that are read, the inputs that are read twice, the memory at the peak ([`peak`]), the lines of `outset plan`
//! ([`text`]), and the run itself ([`strategy`](crate::strategy)).
//!
//! ```text
//!  sieve of two files        filter 0 > s0 · replan · spill 1 through s0 > s1 · refilter · spill 0 through s1 · join
//!                            └─ s0 ──────────────────────────────┘
//!                                                     └─ s1 ───────────────────────────────────────┘
//! ```
//!
//! A filter is made where it is named first, and dropped after the last step that names it. So nobody has to say when:
//! the list does.

pub(in crate::plan) mod lists;
pub(in crate::plan) mod peak;
pub(in crate::plan) mod phases;
mod step;
mod text;

#[cfg(test)]
mod check;

pub(crate) use lists::{List, prefiltered_build, set_tail};
pub(crate) use step::{
    At, Lets, Lives, Question, Seen, Slot, Step, Steps, Through, holds_answer, readings,
    writes_in_order,
};
