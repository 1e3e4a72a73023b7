//! The sieve that asks the first input once more: for its repeats, or for its records.
//!
//! *Owns:* the design of that sieve. *Invariants:* as those of `design`.
//!
//! *Formulas,* with A the first input, F the inputs whose filter is built, B all others; c the share of A that is
//! in the others, f1 and f2 the rates of the filters: of A survive (c + f1) A, of B survive c A + f2 B. The inputs
//! are read once, and F twice.

use crate::error::Error;
use crate::plan::design::partition::partition_layout;
use crate::plan::design::singleton_sieve::refuse_pipes;
use crate::plan::design::{Design, fit_pool};
use crate::plan::filters::SURVIVOR_SLACK;
use crate::plan::job::DataSize;
use crate::plan::sizes::SizedJob;
use crate::plan::steps::List;
use crate::plan::{FilterPlan, SIEVE_BITS_PER_KEY, Strategy};

/// The part that the filter of the first input's survivors may have of the memory that reading leaves.
const SECOND_SHARE: u64 = 8;
/// The part that the filter of the others may have: blocks need the rest.
const FIRST_SHARE: u64 = 2;

/// Designs `sieve` where the lines of the answer are those of the first input, as they come.
///
/// # Errors
/// [`Error::MemoryPlan`] when there is no room for the least number of blocks; [`Error::Usage`] where the filter
/// would be of a pipe, unless the caller asked for `sieve`.
pub(in crate::plan) fn first_side_sieve(sized: &SizedJob) -> Result<Design<'_>, Error> {
    let (job, sizes, telling) = (&sized.job, &sized.sizes, 1..=sized.sizes.telling);
    refuse_pipes(sized, sized.order.get(telling.clone()).unwrap_or_default())?;
    let others = DataSize::sum(sized.kept.get(1..).unwrap_or_default());
    let filtered = DataSize::sum(sized.kept.get(telling).unwrap_or_default());
    let cap = job.bits_per_key.unwrap_or(SIEVE_BITS_PER_KEY);
    let scan = sized.scan;
    let filter = FilterPlan::new(filtered.lines, scan.rest_bytes() / FIRST_SHARE, cap);
    let passing = (sizes.common_share + filter.predicted_fpr).min(1.0);
    let of_first = sizes.build.part(passing);
    let keys = (of_first.lines as f64 * SURVIVOR_SLACK) as u64 + 1024;
    let second = FilterPlan::new(keys, scan.rest_bytes() / SECOND_SHARE, cap);
    let of_others = others.part((sizes.common_share + second.predicted_fpr).min(1.0));
    let survivors = of_first.and(of_others);

    let filters = (filter.bits + second.bits) / 8;
    // Blocks have what both filters leave, at most as much as `partition` gives them.
    let mut layout = partition_layout(sized, scan, of_first)?;
    fit_pool(&mut layout, filters, job)?;
    let list = List::FirstSideSieve {
        filtered: sizes.telling,
    };
    let mut design = Design::new(sized, Strategy::Sieve, list, layout);
    design.joined_bytes = survivors.bytes;
    design.costs.filter = Some(filter);
    design.second_filter = Some(second);
    Ok(design.priced())
}
