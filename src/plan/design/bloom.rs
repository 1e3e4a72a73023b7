//! `bloom` of an intersection: one filter, or a chain of them.
//!
//! *Owns:* its design, and how many bits per key a rate takes. *Invariants:* as those of
//! [`design`](crate::plan::design).

use crate::error::Error;
use crate::filter::sizing::best_blocked;
use crate::plan::buckets::{SIEVE_HEADROOM, buckets_for_survivors};
use crate::plan::design::{Design, give_rest_to_pool};
use crate::plan::filters::MOST_BITS_PER_KEY;
use crate::plan::job::Job;
use crate::plan::sizes::{SizedJob, all_distinct};
use crate::plan::steps::List;
use crate::plan::{FilterPlan, Strategy};

/// The cap on bits per key of `bloom`, unless a lower rate is asked for: beyond it an approximate result
/// hardly gets better.
const BLOOM_BITS_PER_KEY: f64 = 32.0;
/// The step, in bits per key, in which the cap grows for a lower rate.
const BLOOM_BITS_STEP: f64 = 8.0;
/// Both filters of a chain of `bloom`, as a multiple of the first.
const BLOOM_FILTERS: f64 = 1.4;
/// The fraction of the memory that blocks get in addition to the filters of `bloom`, which spills only the last input.
pub(in crate::plan) const BLOOM_POOL_SHARE: u64 = 128;
/// The fraction of the room for filters that the second filter of a chain has.
const CHAIN_SHARE: u64 = 4;

/// Designs `bloom`: the lines of the last input that pass a filter of the one before; with three inputs or more, a
/// chain of filters. The result goes through buckets, so that each line is written once.
///
/// Rates: with rate p1 for the first filter and p2 for each of the n - 1 later ones, a line that is not
/// common passes at most with p = 1 - (1 - p1) (1 - p2)^(n - 1). Lines of the result that are false, with L
/// lines in the last input of which C are common: (L - C) p. Precision: C over C and the false lines.
///
/// # Errors
/// [`Error::MemoryPlan`] when there is no room for the least number of blocks. Whether the rate is accepted
/// is checked by the callers.
pub(crate) fn bloom(sized: &SizedJob) -> Result<Design<'_>, Error> {
    let (job, sizes, distinct) = (&sized.job, &sized.sizes, &sized.distinct);
    let mut layout = sized.scan;
    // A stored filter is one more input.
    let chain = (job.inputs.len() + usize::from(job.stored_filter.is_some())).max(2) - 1;
    let cap = bloom_cap(job, chain);
    let wanted_filters = (sizes.build.lines as f64 * cap / 8.0 * BLOOM_FILTERS) as u64;
    let set_bytes = sizes.last.set_bytes();
    buckets_for_survivors(
        job,
        &mut layout,
        set_bytes,
        SIEVE_HEADROOM,
        wanted_filters,
        BLOOM_POOL_SHARE,
    )?;
    // In a chain two filters are in memory at a time: the one that is asked and the one that is fed.
    let room = layout.rest_bytes();
    let (room, second_room) = if chain > 1 {
        (room - room / CHAIN_SHARE, room / CHAIN_SHARE)
    } else {
        (room, 0)
    };
    let different = all_distinct(&distinct[..sizes.building]);
    let planned = |room| FilterPlan::new(sizes.build.lines, room, cap).for_different(different);
    let mut first = job.stored_filter.unwrap_or_else(|| planned(room));
    let second = (chain > 1).then(|| planned(second_room));
    // A stored filter may be larger than the room for it: it is then read from its file piece by piece.
    let filters = (first.bits / 8).min(room) + second.map_or(0, |second| second.bits / 8);
    give_rest_to_pool(&mut layout, filters, job);
    // A line that is not common may be in some inputs and pass by mistake where it is missing: at most at
    // every filter of the chain. This is 1 - (1 - p)^n, but right to the last digits for tiny rates.
    let later = |fpr: f64| -((chain - 1) as f64 * (-fpr).ln_1p()).exp_m1();
    let with_later = |fpr: f64, second: Option<f64>| fpr + (1.0 - fpr) * second.map_or(0.0, later);
    let most = with_later(first.highest_fpr(), second.map(|it| it.highest_fpr()));
    first.predicted_fpr = with_later(first.predicted_fpr, second.map(|it| it.predicted_fpr));
    first.most_fpr = (most > first.predicted_fpr).then_some(most);

    // Common lines cannot be false. Where their number was not estimated it counts as 0 here, so that the
    // false lines are not underestimated; the share that is assumed elsewhere would be a guess.
    let common = job.common_share.map(|share| share * different.least as f64);
    // Each line is written once.
    let last = distinct.last().copied().unwrap_or_default();
    let strangers = |lines: u64| (lines as f64 - common.unwrap_or(0.0)).max(0.0);
    let false_lines = strangers(last.least) * first.predicted_fpr;
    let most_false_lines = strangers(last.most) * first.highest_fpr();
    let precision = common
        .map(|common| common / (common + false_lines))
        .filter(|precision| precision.is_finite());
    let survivors = sizes.last.bytes as f64 * first.predicted_fpr
        + sizes.build.bytes as f64 * sizes.common_share;
    let list = List::Chain {
        has_stored: job.stored_filter.is_some(),
    };
    let mut design = Design::new(sized, Strategy::Bloom, list, layout);
    design.joined_bytes = survivors as u64;
    design.costs.filter = Some(first);
    design.second_filter = second;
    design.costs.expected_false_lines = false_lines;
    design.costs.most_wrong_lines = (most_false_lines > false_lines).then_some(most_false_lines);
    design.costs.expected_precision = precision;
    Ok(design.priced())
}

/// Returns the cap on bits per key of each filter of a `bloom` with `chain` filters. Their rates add up, so each may
/// have its part of the accepted rate; the cap grows until a filter reaches that, at most to [`MOST_BITS_PER_KEY`].
pub(in crate::plan) fn bloom_cap(job: &Job, chain: usize) -> f64 {
    if let Some(cap) = job.bits_per_key {
        return cap;
    }
    let mut cap = BLOOM_BITS_PER_KEY;
    if let Some(accepted) = job.max_fpr.filter(|&rate| rate > 0.0) {
        let each = accepted / chain as f64;
        while cap < MOST_BITS_PER_KEY && best_blocked(cap).1 > each {
            cap += BLOOM_BITS_STEP;
        }
    }
    cap
}
