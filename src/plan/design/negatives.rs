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
use crate::plan::buckets::buckets_for_survivors;
use crate::plan::design::bloom::{BLOOM_POOL_SHARE, bloom_cap};
use crate::plan::design::{Design, give_rest_to_pool};
use crate::plan::job::DataSize;
use crate::plan::sizes::{SizedJob, all_distinct};
use crate::plan::steps::List;
use crate::plan::{Distinct, FilterPlan, Strategy};

/// Designs `bloom` of a difference.
///
/// # Errors
/// [`Error::MemoryPlan`] when there is no room for the least number of blocks.
pub(in crate::plan) fn bloom_difference(sized: &SizedJob) -> Result<Design<'_>, Error> {
    let (job, distinct, keeps_repeats) = (&sized.job, &sized.distinct, sized.rule().repeats());
    let others = DataSize::sum(sized.kept.get(1..).unwrap_or_default());
    let alone = 1.0 - sized.sizes.common_share;
    let absent = sized.sizes.build.part(alone);
    let different = all_distinct(distinct.get(1..).unwrap_or_default());
    let mut layout = sized.scan;
    let cap = bloom_cap(job, 1);
    // Lines that are written as often as they come need no buckets.
    let spilled = if keeps_repeats {
        DataSize::default()
    } else {
        absent
    };
    let wanted = (others.lines as f64 * cap / 8.0) as u64;
    if !keeps_repeats {
        // Nearly all of them are expected, unlike what survives a sieve.
        let set_bytes = spilled.set_bytes();
        buckets_for_survivors(job, &mut layout, set_bytes, 1.0, wanted, BLOOM_POOL_SHARE)?;
    }
    let filter = FilterPlan::new(others.lines, layout.rest_bytes(), cap).for_different(different);
    if !keeps_repeats {
        give_rest_to_pool(&mut layout, filter.bits / 8, job);
    }
    let asked = match distinct.first() {
        Some(&first) if !keeps_repeats => first,
        _ => Distinct::exactly(sized.sizes.build.lines),
    };
    let missing = |lines: u64, fpr: f64| lines as f64 * alone * fpr;
    let least = missing(asked.least, filter.predicted_fpr);
    let most = missing(asked.most, filter.highest_fpr());
    let mut design = Design::new(sized, Strategy::Bloom, List::Absent, layout);
    design.joined_bytes = spilled.bytes;
    Ok(design.lacking(filter, least, most).priced())
}

/// Designs `bloom` of a union.
pub(in crate::plan) fn bloom_union(sized: &SizedJob) -> Design<'_> {
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
    let (least, most) = (missing(different.least), missing(different.most));
    Design::new(sized, Strategy::Bloom, List::New, layout)
        .lacking(filter, least, most)
        .priced()
}

impl Design<'_> {
    /// Adds the filter that answers, for which from `least` to `most` lines are missing.
    fn lacking(mut self, filter: FilterPlan, least: f64, most: f64) -> Self {
        self.costs.filter = Some(filter);
        self.costs.expected_missing_lines = least;
        self.costs.most_wrong_lines = (most > least).then_some(most);
        self
    }
}
