//! Decisions between two passes: how a run goes on, by what it has found out.
//!
//! *Owns:* the questions of [`Question`], and all their outcomes. *Invariants:* exact whatever is decided. Nothing but
//! filters is in memory when a question is asked. *Cost:* a sample of an input.
//!
//! | question | outcomes |
//! |---|---|
//! | [`Survivors`](Question::Survivors) | a set in memory; everything into buckets; as planned, in another layout |
//! | [`SmallSet`](Question::SmallSet) | a set without filters; as planned |
//! | [`Again`](Question::Again) | as planned, in another layout |
//! | [`Rate`](Question::Rate) | as planned, in another layout; or an error, and the engine plans again |

use crate::answer::Collector;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::input::Input;
use crate::output::CountSink;
use crate::pass::survivor_sample::sample_survivors;
use crate::plan::Again;
use crate::plan::revision::SurvivorSample;
use crate::plan::steps::{At, List, Question, Slot, Step, prefiltered_build, set_tail};
use crate::run::Run;
use crate::strategy::slots::{HeldKind, distinct};
use crate::strategy::state::StepState;

impl StepState<'_> {
    /// Decides how the run goes on. `None`: with the steps that are still to come; else with these in their place.
    ///
    /// # Errors
    /// Where a sample cannot be read, or a new layout finds no room; [`Error::RateTooHigh`].
    pub(super) fn replan(
        &mut self,
        run: &mut Run<'_>,
        question: Question,
    ) -> Result<Option<Vec<Step>>> {
        match question {
            Question::Survivors(at) => self.survivors(run, at),
            Question::SmallSet(at) => Ok(self.small_set(run, at)),
            Question::Again => {
                let layout = self
                    .about_again()
                    .and_then(|it| self.plan.revised_singletons(it));
                layout.map_or(Ok(()), |layout| run.set_layout(layout))?;
                Ok(None)
            }
            Question::Rate(at) => {
                self.check_rate(run, at)?;
                Ok(None)
            }
        }
    }

    /// Goes on with a set in memory, if the filter of the first input shows that its different lines fit as one: what
    /// survives of the next becomes the set, the others are streamed past it, and nothing is spilled. If not, a sample
    /// of the next input tells how many lines pass.
    fn survivors(&mut self, run: &mut Run<'_>, at: At) -> Result<Option<Vec<Step>>> {
        let Some(next) = self.inputs.get(at as usize) else {
            return Ok(None);
        };
        if next.is_file() && self.builds_set(run)? {
            let tail = set_tail(self.inputs.len() as At);
            self.announce(run, &tail, 0);
            return Ok(Some(tail));
        }
        let Some(prefilter) = self
            .slots
            .find(Slot::FIRST)
            .and_then(|held| held.prefilter())
        else {
            return Ok(None);
        };
        let Some(sample) = sample_survivors(run, next, at as usize, prefilter)? else {
            return Ok(None);
        };
        let Some(filter) = self.first_filter() else {
            return Ok(None);
        };
        // The sample knows its own numbers; those of the filter are added here.
        let sample = SurvivorSample {
            filter_fpr: filter.occupancy_sampled().fpr,
            filter_distinct: distinct(filter),
            ..sample
        };
        match self.plan.revised_sieve(sample) {
            None => Ok(None),
            Some(revision) if revision.asks_filter => {
                self.slots.later_shape = revision.second_filter;
                run.set_layout(revision.layout)?;
                Ok(None)
            }
            Some(revision) => {
                // The new layout uses the filter's memory.
                self.slots.held.clear();
                run.set_layout(revision.layout)?;
                let list = List::Partition { feeds: false };
                let tail = self.plan.sized.steps(list);
                let joined = self.inputs.iter().filter_map(Input::likely_bytes).sum();
                self.announce(run, &tail, joined);
                Ok(Some(tail))
            }
        }
    }

    /// Builds the set of what survives of the second input, with a filter of it, if lines repeat so often that it fits.
    /// The plan took every line for a different one; the filter shows how many there are. The second input must be a
    /// file.
    ///
    /// False means that the sieve goes on. That includes a set that turned out too large: its memory is free
    /// again, nothing was written, and a file can be read again. The price is one reading of the input.
    fn builds_set(&mut self, run: &Run<'_>) -> Result<bool> {
        let Some(filter) = self.first_filter() else {
            return Ok(false);
        };
        let (fpr, keys) = (filter.occupancy_sampled().fpr, filter.keys());
        let (distinct, held) = (distinct(filter), run.held_bytes());
        let shape = self.plan.set_beside_filters(distinct, keys, held, fpr);
        let Some(shape) = shape else {
            return Ok(false);
        };
        let planned = self.slots.later_shape.replace(shape);
        let build = prefiltered_build();
        let tail = set_tail(self.inputs.len() as At);
        self.announce(run, &[&[build][..], &tail].concat(), 0);
        // Nothing is written while the set is built.
        let mut nothing = CountSink;
        match self.perform(run, build, &Collector::new(&mut nothing)) {
            Err(Error::Memory { .. }) => {
                (self.set, self.slots.later_shape) = (None, planned);
                self.slots.held.retain(|held| held.slot == Slot::FIRST);
                run.expect(&self.plan.phases);
                Ok(false)
            }
            built => built.map(|()| true),
        }
    }

    /// Keeps the plan if what of the input at `at` passes the filter by mistake is little compared with the set of the
    /// first input, for which the memory was planned: at most a quarter of its bytes. A filter with more lines than
    /// expected, or a small one compared with a large second input, would fill the set with lines that are not common.
    /// Then the sample has misled the plan; only the time of one reading is lost, because the planner chooses filters
    /// only if the first input is a cached file.
    ///
    /// If a size is unknown, as that of a pipe, the rate alone decides.
    fn small_set(&mut self, run: &Run<'_>, at: At) -> Option<Vec<Step>> {
        let known = |input: &Input| input.likely_bytes().map(|bytes| bytes as f64);
        let held = self.slots.find(Slot::FIRST)?;
        let first = known(&self.inputs[0]);
        let second = self.inputs.get(at as usize).and_then(known);
        let is_small = match (first, second) {
            (Some(first), Some(second)) => second * held.fpr <= first / 4.0,
            _ => held.prefilter_if_useful().is_some(),
        };
        if is_small {
            // The set is prepared for the lines that are expected to pass, but never for more than the set
            // of the first input would have had, which is what fits.
            if let Some(shape) = &mut self.slots.later_shape {
                shape.keys = shape.keys.min(self.plan.build_lines);
            }
            return None;
        }
        self.accuracy.stats = None;
        let tail = self.plan.sized.steps(List::Set);
        self.announce(run, &tail, 0);
        Some(tail)
    }

    /// Describes what the second filter, now complete, shows of lines that come again.
    fn about_again(&self) -> Option<Again> {
        let HeldKind::Filter(again) = &self.slots.find(Slot::SECOND)?.kind else {
            return None;
        };
        Some(Again {
            lines: self.inputs.iter().map(Input::lines).sum(),
            keys: again.keys(),
            distinct: distinct(again),
            fpr: again.occupancy_sampled().fpr,
            filter_bytes: again.shape().bytes(),
        })
    }

    /// Checks the rate of a filter that is the answer; and plans the buckets for what passes of the input at `at`.
    /// Unlike that of a sieve, this filter is never dropped.
    fn check_rate(&self, run: &mut Run<'_>, at: Option<At>) -> Result<()> {
        // A stored filter was judged when it was opened.
        let stats = self.accuracy.stats.as_ref();
        if let Some(stats) = stats.filter(|_| self.filters.stored.is_none()) {
            self.plan.check_rate(stats.fill_fpr)?;
        }
        let Some((at, held)) = at.zip(self.slots.held.first()) else {
            return Ok(());
        };
        let (input, at) = (&self.inputs[at as usize], at as usize);
        let seen = held
            .prefilter()
            .map(|prefilter| sample_survivors(run, input, at, prefilter));
        let layout = seen
            .transpose()?
            .flatten()
            .and_then(|it| self.plan.revised_bloom(it));
        layout.map_or(Ok(()), |layout| run.set_layout(layout))
    }

    /// Finds the filter of the first input.
    fn first_filter(&self) -> Option<&Filter> {
        match &self.slots.find(Slot::FIRST)?.kind {
            HeldKind::Filter(filter) => Some(filter),
            HeldKind::Stored(_) | HeldKind::Addresses(_) => None,
        }
    }

    /// Tells the observer that `steps` take the place of those that were planned. Their join goes through `joined`
    /// bytes.
    fn announce(&self, run: &Run<'_>, steps: &[Step], joined: u64) {
        run.expect(&self.plan.phases_of(steps, joined, 0));
    }
}
