//! A rehearsal: how many seconds each phase of a plan will take on this machine, measured over slices of the inputs.
//!
//! The passes are those of the run itself, in its layout, with its threads, on its files and its temporary disk. Only
//! what they meet is arranged, so that a line costs what it will cost later:
//!
//! 1. The planned filter is filled at random, until it lets as many lines pass as the plan expects. Slices that are
//!    put into it give the rate of `filter`.
//! 2. Slices are spilled through this filter, and through the filter of their survivors, if the plan has one. Where the
//!    plan writes, the pool has no block to spare, so that survivors are written as they will be most of the time, and as
//!    large a part of them goes through the page cache as will of all. Where the plan has very many buckets, slices go
//!    to few, and some files are made and removed besides: how many there will be does not depend on the length of a
//!    slice.
//! 3. A slice of each input is spilled whole into a few buckets, each as large as the plan's: in memory, or to disk
//!    where the plan writes.
//! 4. These buckets are joined, and the answer is written: the rate of `join`.
//! 5. For `memory`, slices become a part of a set that was prepared for all lines, and are looked up in it: the rates
//!    of `build` and `probe`.
//!
//! Most passes run twice: before that, memory is touched for the first time, and how long a slice should be is a guess.
//! Of spills, the difference counts.
//!
//! *Owns:* the arrangement. *Invariants:* nothing of it is kept: filters, sets and temporary files are gone when it
//! ends. A run that is measured first does not fail for that: what finds no room in memory or on disk has no
//! prediction. *Cost:* the memory of the plan, and one to three seconds. Not rehearsed are the order of an answer,
//! bitmaps of addresses, lines that are remembered because they repeat, a union that a filter answers, and the opening
//! and sampling of inputs.

mod rates;
mod slices;

use std::io::Write;
use std::time::Instant;

use self::rates::{Measured, Rates};
use self::slices::Slices;
use crate::answer::Collector;
use crate::batch::Screen;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::hash::LineHasher;
use crate::input::{Input, Source};
use crate::memory::buffer::{Buffer, PAGE};
use crate::options::Options;
use crate::output::{CountSink, OutputFile, WriteSink, output_error};
use crate::pass::filter::{empty, filter_again, filter_store, insert, shape_for_store};
use crate::pass::join::join;
use crate::pass::resident::ResidentSet;
use crate::pass::spill::{Refused, Screening, spill};
use crate::plan::steps::{Question, Step};
use crate::plan::{FilterPlan, Layout, Plan, PlannedPhase, SIEVE_BITS_PER_KEY, Strategy};
use crate::run::Run;
use crate::selection::{Order, Sides};
use crate::temp::space::{BUCKET_LABEL, TempSpace};

/// The most bytes of a filter that are filled. More would cost seconds, and a line no more: it misses every cache.
const MOST_FILTER: u64 = 256 << 20;
/// What is joined of all inputs together, in bytes.
const JOINED_BYTES: u64 = 320 << 20;
/// The fewest buckets that are joined, for each worker that may join.
const LEAST_BUCKETS: usize = 2;
/// The buckets that slices are spilled into where the files of the plan's would be most of the work.
const FEW_BUCKETS: u32 = 1000;
/// The files by which it is measured how long one takes.
const MEASURED_FILES: u32 = 500;

/// What is rehearsed: a plan, and the inputs in its order.
#[derive(Clone, Copy)]
pub(crate) struct Rehearsal<'a> {
    /// The caller's sources, one for each side.
    pub(crate) sources: &'a [Source],
    /// The options of the run, without its observer: a rehearsal is no progress.
    pub(crate) options: &'a Options,
    pub(crate) plan: &'a Plan,
    pub(crate) inputs: &'a [Input],
    pub(crate) sides: &'a Sides,
    pub(crate) hasher: LineHasher,
    /// Temporary space in the places of the run, which counts nothing of the run.
    pub(crate) space: &'a TempSpace,
}

impl Rehearsal<'_> {
    /// Refuses what cannot be rehearsed. Call it before anything is read of the inputs.
    ///
    /// # Errors
    /// [`Error::Usage`] for inputs that are no regular files of plain lines, and for stored filters.
    pub(crate) fn check(inputs: &[Input], options: &Options) -> Result<()> {
        slices::check(inputs, options)
    }

    /// The phases of the plan, each with the seconds that it is predicted to take, as far as it could be measured.
    ///
    /// # Errors
    /// Where an input cannot be read or the run was stopped.
    pub(crate) fn phases(&self) -> Result<Vec<PlannedPhase>> {
        let mut slices = Slices::new(self.inputs, self.sources, self.options);
        let mut rates = Rates::default();
        let rehearsed = self.rehearse(&mut slices, &mut rates);
        // Other runs may go on in the same places.
        self.space.shrink_page_cache(1.0);
        match rehearsed {
            // Whether the run has the room that slices did not find, the run finds out.
            Ok(())
            | Err(
                Error::Memory { .. }
                | Error::LineTooLong { .. }
                | Error::Temp { .. }
                | Error::TempLimit { .. }
                | Error::Output { .. },
            ) => Ok(rates.predict(&self.plan.phases)),
            Err(error) => Err(error),
        }
    }

    /// The steps of the module's list that the plan has.
    fn rehearse(&self, slices: &mut Slices<'_>, rates: &mut Rates) -> Result<()> {
        if self.is_of_bitmaps() || self.plan.known_bytes > 0 {
            return Ok(());
        }
        if self.has("build") {
            self.rehearse_set(slices, rates)?;
        } else if self.has("spill") {
            self.answering(|out| self.rehearse_spill(slices, rates, out))?;
            self.rehearse_join(slices, rates)?;
        }
        Ok(())
    }

    /// Steps 1 and 2. Filters are gone when it returns: the join has their memory.
    fn rehearse_spill(
        &self,
        slices: &mut Slices<'_>,
        rates: &mut Rates,
        out: &Collector<'_>,
    ) -> Result<()> {
        let mut run = self.run_in(self.plan.layout);
        let screen = self.filter(&run, slices, rates)?;
        let (layout, second) = self.plan.expected_revision();
        run.set_layout(self.with_blocks(self.with_few_files(layout)))?;
        let run = run;
        if let Some(many) = self.plan.many_files {
            rates.files_seconds = Some(many.files as f64 * self.seconds_of_file(&run)?);
        }
        // Of the lone sieve it is the one that is asked; a chain of approximate filters feeds none while it spills.
        let is_fed = !self.finds_lone() && self.plan.costs.exact;
        let second = second.filter(|_| is_fed).map(capped);
        let mut fed = second.map(|shape| empty(&run, &shape)).transpose()?;
        // One pool for all of them, as in a run: its memory is touched for the first time once.
        let pool = run.block_pool();
        let all_bytes = self.inputs.iter().filter_map(Input::bytes).sum();
        let spill_slice = |slice: &Input, screening: Screening<'_, '_>| {
            let bytes = slice.likely_bytes().unwrap_or(0);
            self.space.shrink_page_cache(part(bytes, all_bytes));
            for bucket in spill(&run, &pool, slice, screening)?.buckets {
                bucket.discard(self.space);
            }
            Ok(Measured::last(&run))
        };
        // Inputs by their places in the order of the plan: what is written of their refused lines depends on it.
        let is_spill = |step: &&Step| matches!(step, Step::Spill { .. });
        let mut spills = self
            .plan
            .steps
            .list
            .iter()
            .filter(is_spill)
            .filter_map(Step::input);
        let first = spills.next().unwrap_or(0) as usize;
        let further = spills.next_back().map_or(first, |at| at as usize);
        let (refused, keeps_repeats) = (self.refused(first, out), self.keeps_repeats(first));
        rates.spill = slices.twice(|slice| {
            let screening = Screening {
                feed: fed.as_mut(),
                keeps_repeats,
                refused,
                ..by(screen.as_ref())
            };
            spill_slice(slice, screening)
        })?;
        let asked = if let Some(fed) = &mut fed {
            self.complete(fed, second);
            drop(screen);
            Some(&*fed)
        } else {
            screen.as_ref().filter(|_| self.finds_lone())
        };
        if let Some(asked) = asked {
            let (refused, keeps_repeats) =
                (self.refused(further, out), self.keeps_repeats(further));
            rates.further_spill = slices.twice(|slice| {
                let screening = Screening {
                    keeps_repeats,
                    refused,
                    ..by(Some(asked))
                };
                spill_slice(slice, screening)
            })?;
        }
        Ok(())
    }

    /// Whether bitmaps of addresses tell the answer.
    fn is_of_bitmaps(&self) -> bool {
        let tells = |step: &Step| matches!(step, Step::Tell { .. });
        self.plan.steps.list.iter().any(tells)
    }

    /// The seconds that it takes to make a file of one page and to remove it.
    fn seconds_of_file(&self, run: &Run<'_>) -> Result<f64> {
        let page = Buffer::new(&run.budget, "bucket blocks", PAGE)?;
        let began = Instant::now();
        let make = |number| {
            let label = format!("file{number}-{BUCKET_LABEL}");
            let file = self.space.new_bucket_path(&label)?;
            self.space.write(&file, 0, &page)?;
            Ok(file)
        };
        let files = (0..MEASURED_FILES).map(make).collect::<Result<Vec<_>>>()?;
        for file in &files {
            self.space.remove(file, PAGE);
        }
        Ok(began.elapsed().as_secs_f64() / f64::from(MEASURED_FILES))
    }

    /// Whether lines of the input at this place are spilled as often as they come.
    fn keeps_repeats(&self, number: usize) -> bool {
        let rule = self.sides.rule();
        rule.needs_repeats_of(self.inputs[number].sides())
    }

    /// Whether it is the sieve of lone lines: two filters of all inputs, of which the second one is asked.
    fn finds_lone(&self) -> bool {
        self.plan.steps.question() == Some(Question::Again)
    }

    /// How lines of this input are written that a filter refuses; `None` where they are dropped.
    fn refused<'r, 'o>(&'r self, number: usize, out: &'r Collector<'o>) -> Option<Refused<'r, 'o>> {
        let (rule, lone) = (self.sides.rule(), self.sides.lone(number));
        let times = rule.times(lone);
        (self.plan.strategy() == Strategy::Sieve && times > 0).then_some(Refused {
            rule,
            lone,
            times,
            out,
        })
    }

    /// Steps 3 and 4.
    fn rehearse_join(&self, slices: &mut Slices<'_>, rates: &mut Rates) -> Result<()> {
        // An approximate answer is what passes of the last input.
        let is_exact = self.plan.costs.exact;
        let inputs = if is_exact { self.inputs.len() } else { 1 };
        let common = Sides::common(1, Order::Any);
        let sides = if is_exact { self.sides } else { &common };
        slices.shorten(JOINED_BYTES / inputs as u64);
        let bytes = slices.bytes() * inputs as u64;
        let layout =
            self.with_blocks(self.with_buckets_for(bytes, self.plan.expected_revision().0));
        if !self.plan.writes_buckets() {
            slices.shorten(layout.pool.bytes() / (2 * inputs as u64));
        }
        let run = self.run_in(layout);
        let pool = run.block_pool();
        let joined_bytes = self.plan.joined_bytes();
        self.space.shrink_page_cache(part(bytes, joined_bytes));
        // What filters let through is mostly common, so the same slice of each input is joined.
        let is_common = is_exact && self.plan.costs.filter.is_some();
        let first = slices.of(if is_common { inputs - 1 } else { 0 })?;
        let mut stores = Vec::with_capacity(inputs);
        for number in 0..inputs {
            let other = match number {
                0 => None,
                _ if is_common => None,
                _ => Some(slices.of(number)?),
            };
            let slice = other.as_ref().unwrap_or(&first);
            let screening = Screening {
                keeps_repeats: self.keeps_repeats(number),
                ..Screening::default()
            };
            stores.push(spill(&run, &pool, slice, screening)?.buckets);
        }
        drop(pool);
        if self.has("filter survivors")
            && let Some(shape) = shape_for_store(&run, &stores[0], SIEVE_BITS_PER_KEY)
        {
            drop(filter_store(&run, &stores[0], &shape)?);
            rates.survivors = Measured::last(&run).if_any();
        }
        self.answering(|out| join(&run, stores, sides, out))?;
        rates.join = Measured::last(&run).if_any();
        Ok(())
    }

    /// Step 5. With filters, the survivors of the second input are the set, and the first one is looked up in it.
    fn rehearse_set(&self, slices: &mut Slices<'_>, rates: &mut Rates) -> Result<()> {
        let plan = self.plan;
        let run = self.run_in(plan.layout);
        let screen = self.filter(&run, slices, rates)?;
        let second = plan.second_filter.filter(|_| screen.is_some()).map(capped);
        let mut feed = second.map(|shape| empty(&run, &shape)).transpose()?;
        let lines = second.map_or(plan.build_lines, |shape| shape.keys.min(plan.build_lines));
        let new_set = match screen {
            Some(_) => ResidentSet::screened,
            None => ResidentSet::new,
        };
        let set = new_set(&run, self.sides.rule(), lines, plan.build_line_bytes)?;
        let mut built = Vec::new();
        rates.build = slices.again(|slice| {
            let asked = screen.as_ref().map(|screen| screen as &dyn Screen);
            set.insert(&run, &slice, 1, asked.zip(feed.as_mut()))?;
            built.push(slice);
            Ok(Measured::last(&run))
        })?;
        drop(screen);
        // Where repeats are kept, a run writes these lines as they come, which is another pass.
        if !self.has("probe") || self.sides.rule().repeats() {
            return Ok(());
        }
        let probe = |slice: &Input, feed: Option<&Filter>| {
            let screen = feed.map(|feed| feed as &dyn Screen);
            self.answering(|out| set.mark(&run, slice, 2, screen, out))?;
            Ok(Measured::last(&run))
        };
        match &mut feed {
            // What survived of these slices is in the set and in its filter, as it is for the input that comes last.
            Some(feed) if built.iter().all(Input::is_warm) => {
                for slice in &built {
                    rates.probe = probe(slice, Some(feed))?.if_any();
                }
            }
            // A slice that was read is cached now, and the input is not: another one, which is not in the set.
            feed => {
                if let Some(feed) = feed {
                    self.complete(feed, second);
                }
                rates.probe = slices.again(|slice| probe(&slice, feed.as_ref()))?;
            }
        }
        Ok(())
    }

    /// Step 1: the filter that the plan asks, as it will be when it is complete; `None` where it asks none.
    fn filter(
        &self,
        run: &Run<'_>,
        slices: &mut Slices<'_>,
        rates: &mut Rates,
    ) -> Result<Option<Filter>> {
        let plan = self.plan;
        let Some(shape) = plan.costs.filter.map(capped) else {
            return Ok(None);
        };
        let mut filter = empty(run, &shape)?;
        self.complete(&mut filter, Some(shape));
        let second = plan.second_filter.filter(|_| self.finds_lone()).map(capped);
        let mut again = second.map(|shape| empty(run, &shape)).transpose()?;
        rates.filter = slices.again(|slice| {
            match &mut again {
                Some(again) => filter_again(run, &slice, &mut filter, again)?,
                None => insert(run, &slice, None, &mut filter)?,
            }
            Ok(Measured::last(run))
        })?;
        // Slices have put lines into it, too many for a small one.
        let (mut asked, shape) = match again {
            Some(again) => (again, second),
            None => (filter, Some(shape)),
        };
        self.complete(&mut asked, shape);
        Ok(Some(asked))
    }

    /// Fills a filter as it will be when it is asked.
    fn complete(&self, filter: &mut Filter, shape: Option<FilterPlan>) {
        let fpr = shape.map_or(0.0, |shape| shape.predicted_fpr);
        filter.fill_at_random(fpr, self.plan.passing_share());
    }

    /// Hands `work` a collector that writes the answer as a run does: to a file, which never gets a name. Under a cap
    /// on temporary disk, which would have to count it, the answer goes nowhere.
    fn answering(&self, work: impl FnOnce(&Collector<'_>) -> Result<()>) -> Result<()> {
        if self.options.max_temp_bytes.is_some() {
            return work(&Collector::new(&mut CountSink));
        }
        let path = self.space.new_path("answer")?.path;
        let file = OutputFile::create(&path, &self.options.interrupt)?;
        let terminator = self.options.format.terminator;
        let mut sink = WriteSink::new(file.writer()?, terminator, file.name());
        work(&Collector::new(&mut sink))?;
        let flushed = sink.into_inner().flush();
        flushed.map_err(|error| output_error(file.name(), "cannot be written", error))
    }

    /// Whether the plan has a phase of this name.
    fn has(&self, name: &str) -> bool {
        self.plan.phases.iter().any(|phase| phase.name == name)
    }

    /// A run of this plan in another layout.
    fn run_in(&self, layout: Layout) -> Run<'_> {
        Run::new(self.options, layout, self.hasher, self.space)
    }

    /// This layout with as many buckets as `bytes` fill to the size of the plan's.
    fn with_buckets_for(&self, bytes: u64, layout: Layout) -> Layout {
        let most = layout.pool.buckets.max(1);
        let least = (LEAST_BUCKETS * layout.pool.join_workers) as u32;
        let bucket_bytes = self.plan.joined_bytes() / u64::from(most);
        let wanted = u32::try_from(bytes / bucket_bytes.max(1)).unwrap_or(most);
        let mut layout = layout;
        layout.pool.buckets = wanted.max(least).min(most);
        layout
    }

    /// This layout, with few buckets where those of the plan make very many files.
    fn with_few_files(&self, layout: Layout) -> Layout {
        let most = self.plan.many_files.map_or(u32::MAX, |_| FEW_BUCKETS);
        let mut layout = layout;
        layout.pool.buckets = layout.pool.buckets.min(most);
        layout
    }

    /// This layout; where the plan writes, without a block to spare, as if all were held that can be: each further
    /// block is written.
    fn with_blocks(&self, layout: Layout) -> Layout {
        let least = u64::from(layout.pool.buckets) + layout.pool.writers as u64 + 1;
        let mut layout = layout;
        if self.plan.writes_buckets() {
            layout.pool.blocks = least.min(layout.pool.blocks);
        }
        layout
    }
}

/// How large a part `bytes` are of `of_bytes`: at most 1.
fn part(bytes: u64, of_bytes: u64) -> f64 {
    (bytes as f64 / of_bytes.max(1) as f64).min(1.0)
}

/// As much of a filter as is filled.
fn capped(shape: FilterPlan) -> FilterPlan {
    FilterPlan {
        bits: shape.bits.min(8 * MOST_FILTER),
        ..shape
    }
}

/// Spills what this filter lets through.
fn by(screen: Option<&Filter>) -> Screening<'_, '_> {
    Screening::by(screen.map(|screen| screen as &dyn Screen))
}
