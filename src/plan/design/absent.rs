//! `bloom` of a difference or a union: the answer is what a filter refuses.
//!
//! *Owns:* the designs of both. *Invariants:* as those of `design`; nothing in the answer is wrong, and a line that the
//! filter takes for one that it has is missing.
//!
//! ```text
//!               filter of          answer
//! difference    all other inputs   lines of the first that it refuses
//! union         all lines so far   lines that it refuses when they come
//! ```
//!
//! *Formulas*, with rate f of the complete filter, A the first input, of which the share 1 - c is nowhere else, and L
//! different lines in all inputs: (1 - c) A f lines of a difference are missing. The filter of a union fills up while
//! it is asked, so the mean of f counts, from the first line to the last. Bytes moved are those of the inputs; a
//! difference whose lines are written once also spills (1 - c) A.

use crate::error::Error;
use crate::filter::sizing::blocked_fpr_while_filling;
use crate::plan::buckets::{buckets_for_survivors, least_pool};
use crate::plan::design::bloom::{BLOOM_POOL_SHARE, bloom_cap};
use crate::plan::design::{
    Design, Draft, Mistakes, give_rest_to_pool, spilled_bytes, used_at_most,
};
use crate::plan::job::Extent;
use crate::plan::layout::Layout;
use crate::plan::sizes::{SizedJob, all_distinct};
use crate::plan::steps::List;
use crate::plan::{Distinct, FilterPlan, Strategy};

/// `bloom` of a difference.
///
/// # Errors
/// [`Error::MemoryPlan`] when there is no room for the least number of blocks.
pub(in crate::plan) fn difference(sized: &SizedJob) -> Result<Design, Error> {
    let (job, distinct, keeps_repeats) = (&sized.job, &sized.distinct, sized.rule().repeats());
    let others = Extent::sum(sized.kept.get(1..).unwrap_or_default());
    let alone = 1.0 - sized.sizes.common_share;
    let absent = sized.sizes.build.part(alone);
    let different = all_distinct(distinct.get(1..).unwrap_or_default());
    let mut layout = sized.scan;
    let cap = bloom_cap(job, 1);
    // Lines that are written as often as they come need no buckets.
    let spilled = if keeps_repeats {
        Extent::default()
    } else {
        absent
    };
    let wanted = (others.lines as f64 * cap / 8.0) as u64;
    let buckets = if keeps_repeats {
        0
    } else {
        let least = (layout.usable_bytes / BLOOM_POOL_SHARE).max(least_pool(layout.usable_bytes));
        // Nearly all of them are expected, unlike what survives a sieve.
        let set = (spilled.set_bytes(), 1.0);
        buckets_for_survivors(job, &mut layout, set, wanted, least)?
    };
    let filter = FilterPlan::new(others.lines, layout.rest_bytes(), cap).for_different(different);
    if buckets > 0 {
        give_rest_to_pool(&mut layout, filter.bits / 8, job);
    }
    let asked = match distinct.first() {
        Some(&first) if !keeps_repeats => first,
        _ => Distinct::exactly(sized.sizes.build.lines),
    };
    let missing = (
        asked.least as f64 * alone * filter.predicted_fpr,
        asked.most as f64 * alone * filter.highest_fpr(),
    );
    design(
        sized,
        (List::Absent, layout),
        filter,
        (spilled.bytes, missing),
    )
}

/// `bloom` of a union.
///
/// # Errors
/// As [`Draft::priced`].
pub(in crate::plan) fn union(sized: &SizedJob) -> Result<Design, Error> {
    let (job, layout) = (&sized.job, sized.scan);
    let of_all = all_distinct(&sized.distinct);
    let different = match job.any_lines {
        Some(lines) => Distinct {
            likely: of_all.likely,
            ..Distinct::exactly(lines)
        },
        None => of_all,
    };
    let filter = FilterPlan::new(
        sized.sizes.total.lines,
        layout.rest_bytes(),
        bloom_cap(job, 1),
    );
    let filter = filter.for_different(different);
    let missing = |lines: u64| {
        let bits_per_key = filter.bits as f64 / lines.max(1) as f64;
        lines as f64 * blocked_fpr_while_filling(bits_per_key, filter.hashes)
    };
    let missing = (missing(different.least), missing(different.most));
    design(sized, (List::New, layout), filter, (0, missing))
}

/// A design that spills `spilled` bytes; from `missing` to `most_missing` lines are expected to be missing.
fn design(
    sized: &SizedJob,
    (list, layout): (List, Layout),
    filter: FilterPlan,
    (spilled, (missing, most_missing)): (u64, (f64, f64)),
) -> Result<Design, Error> {
    let written = spilled_bytes(&layout, layout.buckets, spilled, &sized.job);
    let beside = filter.bits / 8 + layout.scan_bytes() + layout.pool_bytes();
    let draft = Draft {
        strategy: Strategy::Bloom,
        list,
        layout,
        filter: Some(filter),
        second_filter: None,
        joined_bytes: spilled,
        spilled_bytes: written,
        read_back_bytes: 0,
        memory_bytes: used_at_most(&layout, beside),
        mistakes: Mistakes {
            missing_lines: missing,
            most_wrong_lines: (most_missing > missing).then_some(most_missing),
            ..Mistakes::default()
        },
    };
    Ok(draft.priced(sized))
}
