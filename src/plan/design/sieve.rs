//! `sieve` of an intersection: each input through a filter of the one before it.
//!
//! *Owns:* its design. *Invariants:* as those of [`design`](crate::plan::design).

use crate::error::Error;
use crate::plan::buckets::{SIEVE_HEADROOM, buckets_for_survivors};
use crate::plan::design::{Design, give_rest_to_pool};
use crate::plan::filters::SievePlan;
use crate::plan::sizes::SizedJob;
use crate::plan::steps::List;
use crate::plan::{SIEVE_BITS_PER_KEY, Strategy};

/// Both filters of a sieve, as a multiple of the first: the second is of a tenth of the lines, with slack.
const SIEVE_FILTERS: f64 = 1.2;
/// Blocks have at least this fraction of the memory for buffers, next to the filters of a sieve.
const SIEVE_POOL_SHARE: u64 = 16;

/// Designs `sieve`: each input through a filter of the one before it; the first again at the end.
///
/// Memory is divided in this order: buffers for scanning; blocks, as `buckets_for_survivors` chooses them;
/// both filters in what is left, up to their cap; then what the filters cannot use goes back to the blocks,
/// so that survivors stay in memory.
///
/// # Errors
/// [`Error::MemoryPlan`] when there is no room for the least number of blocks.
pub(crate) fn sieve(sized: &SizedJob) -> Result<Design<'_>, Error> {
    let (job, sizes) = (&sized.job, &sized.sizes);
    let mut layout = sized.scan;
    let cap = job.bits_per_key.unwrap_or(SIEVE_BITS_PER_KEY);
    let wanted_filters = (sizes.build.lines as f64 * cap / 8.0 * SIEVE_FILTERS) as u64;
    buckets_for_survivors(
        job,
        &mut layout,
        sizes.build.set_bytes(),
        SIEVE_HEADROOM,
        wanted_filters,
        SIEVE_POOL_SHARE,
    )?;
    let plan = SievePlan::new(sizes, layout.rest_bytes(), cap);
    let filters = (plan.first.bits + plan.fed.map_or(0, |fed| fed.bits)) / 8;
    give_rest_to_pool(&mut layout, filters, job);

    let mut design = Design::new(sized, Strategy::Sieve, List::Sieve, layout);
    design.joined_bytes = plan.survivors;
    design.costs.filter = Some(plan.first);
    design.second_filter = plan.fed;
    design.read_back_bytes = plan.read_back;
    Ok(design.priced())
}
