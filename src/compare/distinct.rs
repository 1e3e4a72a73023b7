//! The number of different lines, as far as the rates of a comparison need it.
//!
//! *Owns:* [`DistinctLines`], from one estimate. *Invariants:* what a limit leaves no room to estimate is unknown, and
//! the comparison goes on. *Cost:* one reading of both inputs of an intersection, and of all but the first of a
//! difference: what could be missing from that is the exact result, which was counted. A union needs no more than that.

use crate::compare::Mistake;
use crate::decode::request::Opening;
use crate::error::{Error, Result};
use crate::estimate::{Bounds, estimate, estimate_opened};
use crate::input::{Input, Source};
use crate::options::Options;
use crate::plan;
use crate::run::survey::survey;

/// The different lines of the inputs, as far as they are known.
#[derive(Debug, Clone, Default)]
pub(super) struct DistinctLines {
    /// Of each input, in the order given; empty where they were not estimated.
    pub(super) each: Vec<Bounds>,
    /// Those in the filter.
    pub(super) in_filter: Option<Bounds>,
    /// Those that are held against the filter, if they were estimated.
    pub(super) asked: Option<Bounds>,
}

impl DistinctLines {
    /// Estimates what the rate of this kind of mistake takes, of `sources` that are open as `inputs`, too.
    ///
    /// # Errors
    /// Those of [`estimate`], except for a limit that leaves no room for it.
    pub(super) fn estimated(
        mistake: Mistake,
        sources: &[Source],
        inputs: &[Input],
        options: &Options,
    ) -> Result<Self> {
        let found = match mistake {
            Mistake::FalseLines => Self::of_each(sources, inputs, options),
            Mistake::MissingLines => Self::of_others(sources, options),
            // The exact result has each of them once.
            Mistake::LostLines => Ok(Self::default()),
        };
        match found {
            // A line or a limit that the two runs could deal with, but that leaves no room for a sketch. Rates that
            // need the number of different lines are not reported.
            Err(Error::LineTooLong { .. } | Error::Memory { .. } | Error::MemoryPlan { .. }) => {
                Ok(Self::default())
            }
            found => found,
        }
    }

    /// Estimates those of two inputs, of which the smallest is in the filter.
    fn of_each(sources: &[Source], inputs: &[Input], options: &Options) -> Result<Self> {
        let found = estimate(sources, options)?;
        let each: Vec<Bounds> = found.inputs.iter().map(|input| input.distinct).collect();
        let build = plan::smallest(&survey(inputs, options)?.inputs);
        let last = each.len().saturating_sub(1);
        let probe = if build == last { 0 } else { last };
        Ok(Self {
            in_filter: each.get(build).copied(),
            asked: each.get(probe).copied(),
            each,
        })
    }

    /// Estimates those of all inputs but the first together: they are in one filter.
    fn of_others(sources: &[Source], options: &Options) -> Result<Self> {
        let opening = Opening {
            first_number: 2,
            ..options.opening()
        };
        let others = Input::open_all(sources.get(1..).unwrap_or_default(), opening)?;
        let found = estimate_opened(&others, &survey(&others, options)?, options)?;
        let lines: u64 = others.iter().map(Input::lines).sum();
        Ok(Self {
            in_filter: Some(found.any.within(Bounds::exactly(lines as f64))),
            ..Self::default()
        })
    }
}
