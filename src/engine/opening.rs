//! The files that are opened and checked before a run plans anything.
//!
//! *Owns:* the opening of inputs, of stored filters and of the files that they are saved to, and the temporary space
//! of a run. *Invariants:* nothing is written here. *Cost:* a stored filter is read once, to be checked.

use crate::decode::request::Opening;
use crate::error::{Error, Result};
use crate::filter::{CheckedFilter, FilterTarget, StoredFilter};
use crate::hash::HashKey;
use crate::input::{Input, Source};
use crate::memory::budget::MemoryBudget;
use crate::options::Options;
use crate::plan::{FilterPlan, Job};
use crate::selection::{Kept, Rule, Selection};
use crate::temp::directories::TempDirectories;
use crate::temp::quota::Quota;
use crate::temp::space::{Notify, TempSpace};
use std::sync::Arc;

/// Memory for checking a stored filter, in bytes, before a run has a budget. The check reads it in sections
/// of 1 MiB.
const CHECK_BYTES: u64 = 4 << 20;

/// Opens and checks the stored filter that is one more input, if there is one.
///
/// # Errors
/// [`Error::Usage`] for a fixed hash key, or for lines of which the options make other keys than the filter
/// did; else as [`StoredFilter::open`] and [`StoredFilter::check`].
pub(super) fn open_stored(options: &Options) -> Result<Option<CheckedFilter>> {
    let Some(path) = &options.stored_filter else {
        return Ok(None);
    };
    if options.hash_key != HashKey::Random {
        return Err(Error::usage(
            "`hash_key`: a stored filter contains its own hash key",
            "leave out `hash_key` or `stored_filter`",
        ));
    }
    let filter = StoredFilter::open(path)?;
    filter.check_reading(options.format, options.key_form())?;
    filter.check(&MemoryBudget::new(CHECK_BYTES, 0)).map(Some)
}

/// Opens the target of the filter that is to be saved, if there is one. It must be none of the inputs: the
/// filter would replace a file that the run still reads.
pub(super) fn open_target(options: &Options, inputs: &[Input]) -> Result<Option<FilterTarget>> {
    let Some(path) = &options.save_filter else {
        return Ok(None);
    };
    if inputs.iter().any(|input| input.is_at(path)) {
        return Err(Error::usage(
            format!(
                "{}: this command reads it, but `save_filter` would replace it",
                path.display()
            ),
            "name another file for `save_filter`",
        ));
    }
    FilterTarget::open(path, &options.interrupt).map(Some)
}

/// Describes a filter to the planner: its size, its lines, and the rate that it is judged by.
fn plan_of_stored(filter: &CheckedFilter) -> FilterPlan {
    let (stored, occupancy) = (filter.stored(), filter.occupancy());
    let (planned, keys) = (stored.rules().planned_keys, stored.keys());
    let judged = occupancy.judged_fpr(stored.shape(), planned, keys);
    FilterPlan {
        most_fpr: None,
        overfull_for: occupancy.has_more_than(planned, keys).then_some(planned),
        ..FilterPlan::existing(stored.shape(), keys, judged)
    }
}

/// Adds the stored filter to the job, if there is one, as one more input.
pub(super) fn with_stored(job: Job, stored: Option<&CheckedFilter>) -> Job {
    Job {
        stored_filter: stored.map(plan_of_stored),
        ..job
    }
}

/// Opens all inputs and checks their number: two or more, or one for a union or with a stored filter.
///
/// # Errors
/// [`Error::Usage`] for too few, or where a ranking has nothing to choose; [`Error::Input`] for one that cannot be
/// read.
pub(super) fn open(
    inputs: &[Source],
    selection: Selection,
    options: &Options,
) -> Result<Vec<Input>> {
    let (least, advice) = match options.stored_filter {
        Some(_) => (1, "give at least one file to check against the filter"),
        None if selection.least_sides() == 1 => (1, "give one or more"),
        None => (2, "give two or more"),
    };
    if inputs.len() < least {
        return Err(Error::number_of_files(
            selection.name(),
            inputs.len(),
            advice,
        ));
    }
    let rule = Rule::new(selection, inputs.len())?;
    check_ranking(&rule, selection, options)?;
    let writes_others = rule.keeps_records_of(2);
    let opening = Opening {
        last_written: if writes_others { u32::MAX } else { 1 },
        ..options.opening()
    };
    Input::open_all(inputs, opening)
}

/// Checks that records are ranked where, and only where, one is chosen by its rank.
///
/// # Errors
/// [`Error::Usage`].
fn check_ranking(rule: &Rule, selection: Selection, options: &Options) -> Result<()> {
    let refuse = |what: &str, advice| Err(Error::usage(format!("`ranking`: {what}"), advice));
    let keys = options.keys.as_ref();
    let has_ranking = keys.is_some_and(|keys| keys.ranking.is_some());
    let is_ranked = selection.kept == Kept::Ranked;
    if !(is_ranked || has_ranking) {
        return Ok(());
    }
    if !has_ranking {
        return refuse(
            "a number chooses one of the records with the same key, but there are no keys",
            "add `keys`",
        );
    }
    if !is_ranked {
        return refuse("nothing is chosen by this number", "add `keeping_ranked`");
    }
    if rule.picks_first() && selection.records {
        return Ok(());
    }
    if selection.records {
        return refuse(
            "this command writes every record of the first file whose key is selected, so none is chosen",
            "leave out `with_repeats` of records",
        );
    }
    refuse(
        "keys are written, so no record is chosen",
        "add `of_records`",
    )
}

/// Makes temporary space in the directories that the options name, capped as they say. Runs that share these
/// (`compare`) draw on one quota.
pub(crate) fn temp_space(options: &Options) -> TempSpace {
    let (directories, quota) = match &options.shared {
        Some(shared) => (shared.directories.clone(), shared.quota.clone()),
        None => (
            TempDirectories::new(&options.temp_parents(), &options.interrupt),
            Quota::new(options.max_temp_bytes.unwrap_or(u64::MAX)),
        ),
    };
    let notify = options
        .observer
        .clone()
        .map(|observer| -> Notify { Arc::new(move |notice| observer.noticed(notice)) });
    TempSpace::in_directories(directories, quota, &options.interrupt).notifying(notify)
}
