//! The sieve of everything but intersections: singletons leave at once, the other lines are spilled.
//!
//! *Owns:* the design of that sieve, and its second plan. *Invariants:* as those of `design`.
//!
//! A singleton, a line that occurs once in all inputs together, is in exactly one side, so nothing needs to be
//! compared to know whether it is selected. The first filter sees every line; a line that seems to have been there
//! before goes into the second filter. In the second reading, a line that the second filter refuses occurs once for
//! certain.
//!
//! ```text
//!  pass                 memory
//!  filter all inputs    scan │ first filter: all lines       │ second filter: lines that come again
//!  spill all inputs     scan │ blocks                        │ second filter
//!  join                 sets and held blocks
//! ```
//!
//! *Formulas*, as shares of all lines, with c the share of lines that come again, f1 and f2 the rates of the
//! filters: the second filter gets c + f1 / 3, and c + f1 / 3 + f2 are spilled. A third of f1, because a line is
//! asked for when it is inserted: the first lines find an empty filter, and only the last ones the full rate.
//! Bytes moved are 2 T + 2 (c + f1 / 3 + f2) T for inputs of T bytes.

use crate::error::Error;
use crate::memory::buffer::PAGE;
use crate::plan::assumptions::OF_STRATEGY;
use crate::plan::design::partition::partition_layout;
use crate::plan::design::{Design, fit_pool, most_blocks};
use crate::plan::filters::SURVIVOR_SLACK;
use crate::plan::job::DataSize;
use crate::plan::layout::Layout;
use crate::plan::sizes::SizedJob;
use crate::plan::steps::List;
use crate::plan::{FilterPlan, Plan, SIEVE_BITS_PER_KEY, Strategy};

/// The part that the second filter may have of the memory that reading leaves. Blocks need the rest.
const SECOND_SHARE: u64 = 4;
/// The mean rate of a filter that is asked while it fills up, as a share of its last rate.
const MEAN_RATE: f64 = 1.0 / 3.0;

/// Designs `sieve` of anything but an intersection.
///
/// # Errors
/// [`Error::MemoryPlan`] when there is no room for the least number of blocks; [`Error::Usage`] for an input that
/// can only be read once, unless the caller asked for `sieve`.
pub(in crate::plan) fn singleton_sieve(sized: &SizedJob) -> Result<Design<'_>, Error> {
    refuse_pipes(sized, &sized.order)?;
    let (job, sizes) = (&sized.job, &sized.sizes);
    let all = sizes.total;
    let cap = job.bits_per_key.unwrap_or(SIEVE_BITS_PER_KEY);
    let room = sized.scan.rest_bytes();
    let most_second = room / SECOND_SHARE;
    let guess = FilterPlan::new(all.lines, room - most_second, cap);
    let again = sizes.common_share.max(sizes.repeats) + guess.predicted_fpr * MEAN_RATE;
    let keys = all.part((again * SURVIVOR_SLACK).min(1.0)).lines + 1024;
    let second = FilterPlan::new(keys, most_second, cap);
    let survivors = all.part((again + second.predicted_fpr).min(1.0));
    let layout = layout_for(sized, sized.scan, survivors, second.bits / 8)?;
    // Each filter is rounded up to whole pages.
    let taken = layout.scan.bytes() + second.bits / 8 + 2 * PAGE;
    let first = FilterPlan::new(all.lines, layout.usable_bytes.saturating_sub(taken), cap);

    // The run lays out its buckets again, for the different ones of the lines that come again: at most half of them.
    let different = all.part((again / 2.0 + second.predicted_fpr).min(1.0));
    let revised = layout_for(sized, layout.without_buckets(), different, second.bits / 8)?;
    let mut design = Design::new(sized, Strategy::Sieve, List::SingletonSieve, layout);
    design.joined_bytes = survivors.bytes;
    design.revised = Some(revised);
    design.costs.filter = Some(first);
    design.second_filter = Some(second);
    Ok(design.priced())
}

/// Refuses a sieve that would have to copy one of these inputs, unless the caller asked for it.
///
/// # Errors
/// [`Error::Usage`].
pub(in crate::plan) fn refuse_pipes(sized: &SizedJob, read_twice: &[usize]) -> Result<(), Error> {
    let job = &sized.job;
    let is_pipe = |&index: &usize| job.inputs[index].bytes.is_none();
    if !read_twice.iter().any(is_pipe) || job.strategy == Some(Strategy::Sieve) {
        return Ok(());
    }
    Err(Error::usage(
        format!("{OF_STRATEGY}sieve would copy the pipe, to read it twice"),
        "choose partition, or leave the choice to auto",
    ))
}

/// Makes the layout for spilling and joining lines that are `survivors` at most, together with a second filter of
/// `filter_bytes`.
fn layout_for(
    sized: &SizedJob,
    layout: Layout,
    survivors: DataSize,
    filter_bytes: u64,
) -> Result<Layout, Error> {
    let mut layout = partition_layout(sized, layout, survivors)?;
    fit_pool(&mut layout, filter_bytes, &sized.job)?;
    Ok(layout)
}

/// The facts that are known when the second filter is complete.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Again {
    /// Lines of all inputs.
    pub(crate) lines: u64,
    /// Lines that went into the second filter, and how many of them are different.
    pub(crate) keys: u64,
    /// About how many different lines these are.
    pub(crate) distinct: f64,
    /// The rate of the second filter, 0..1.
    pub(crate) fpr: f64,
    /// Its size.
    pub(crate) filter_bytes: u64,
}

impl Plan {
    /// Plans the rest of a sieve of singletons when the second filter is complete: with buckets for the different
    /// lines that are about to be spilled. `None` keeps the first layout.
    pub(crate) fn revised_singletons(&self, again: Again) -> Option<Layout> {
        let singletons = (again.lines as f64 - again.keys as f64 - again.distinct).max(0.0);
        let different = again.distinct + singletons * again.fpr;
        let share = (different / again.lines.max(1) as f64).min(1.0);
        let survivors = self.sized.sizes.total.part(share);
        let layout = self.layout.without_buckets();
        let mut layout = layout_for(&self.sized, layout, survivors, again.filter_bytes).ok()?;
        let set_bytes = self.sized.set_bytes(survivors);
        let filters = again.filter_bytes + 2 * PAGE;
        layout.pool.blocks = most_blocks(&layout, filters, set_bytes, &self.sized.job);
        Some(layout)
    }
}
