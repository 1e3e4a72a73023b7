//! `memory`: the building inputs as a set.
//!
//! *Owns:* its design, and how large a set is taken to be. *Invariants:* as those of [`design`](crate::plan::design).

use crate::batch::coalescer::Coalescer;
use crate::error::Error;
use crate::plan::assumptions::OF_STRATEGY;
use crate::plan::design::written_set::{NotReread, written_set};
use crate::plan::design::{Design, cheaper, set_refusal};
use crate::plan::filters::expected_survivors;
use crate::plan::job::{DataSize, SetEstimate};
use crate::plan::refusal::refusal;
use crate::plan::sizes::SizedJob;
use crate::plan::steps::List;
use crate::plan::{FilterPlan, Strategy};
use crate::selection::Order;
use crate::set::ipv4::BITMAP_BYTES;
use crate::set::sharded::SHARDS;

/// Bits per key of the filter before a set: 0.4 % pass by mistake.
pub(in crate::plan) const SET_BITS_PER_KEY: f64 = 12.0;
/// The arena of a shard grows by a quarter when it is full, so a set may have this multiple of its bytes.
const ARENA_SLACK: f64 = 1.25;
/// Room in bytes for each shard of a set: shards are uneven, and while the table of one grows, the old and
/// the new one are both in memory.
const SHARD_SLACK_BYTES: u64 = 64 << 10;
/// The memory of a shard of even the smallest set, in bytes.
const LEAST_SHARD_BYTES: u64 = 8 << 10;
/// A filter is put before a set only if the lines that pass it by mistake are less than this share of the
/// set's lines. `strategy/replan.rs` checks the same when the filter is complete.
const MOST_BY_MISTAKE: f64 = 0.25;
/// A set of more bytes than this is far larger than the processor's caches: a look-up waits for memory.
const LARGE_SET_BYTES: u64 = 32 << 20;
/// A line of a large set counts as one for each so many bytes of the set, as one at least, and as four at most.
const CHEAP_SET_BYTES: u64 = 512 << 20;
const MOST_LINE_FACTOR: u64 = 4;

/// Estimates the memory of a set of the lines of `extent`, in bytes, with room to grow:
///
/// ```text
/// (bytes + 12 per line + table) * 1.25  +  64 shards * min(64 KiB, bytes + 8 KiB)
/// ```
///
/// The minimum keeps a set of a few lines from being charged 4 MiB.
pub(in crate::plan) fn resident_set_bytes(extent: DataSize) -> u64 {
    let each_shard = SHARD_SLACK_BYTES.min(extent.bytes + LEAST_SHARD_BYTES);
    (extent.set_bytes() as f64 * ARENA_SLACK) as u64 + SHARDS as u64 * each_shard
}

/// Designs `memory`: the building inputs as a set, or a union as its own set where it can be that and so moves fewer
/// bytes.
///
/// # Errors
/// As [`resident_set`]; [`Error::Usage`] for records, or places, that only a union that is its own set would have.
pub(crate) fn memory(sized: &SizedJob) -> Result<Design<'_>, Error> {
    let written = written_set(sized);
    if sized.rule().writes_again() && !sized.rule().repeats() {
        return written.map_err(|reason| unwritable(sized, reason));
    }
    cheaper(resident_set(sized), written.ok())
}

/// Designs a set in memory: the building inputs are in it, the others are streamed past it.
///
/// # Errors
/// [`Error::MemoryPlan`] where the set does not fit; see [`SetEstimate`] for how far that estimate is
/// trusted. Refused, too, where no input has a known size and the caller did not name `memory`.
fn resident_set(sized: &SizedJob) -> Result<Design<'_>, Error> {
    let (job, sizes, layout) = (&sized.job, &sized.sizes, sized.scan);
    let has_known = job.inputs.iter().any(|shape| shape.bytes.is_some());
    let set_bytes =
        resident_set_bytes(sizes.of_set).saturating_add(sized.tally_bytes(sizes.of_set));
    let beside_set = layout.base_bytes + layout.scan.bytes();
    let bitmap_bytes = bitmaps(sized).map(|count| count * BITMAP_BYTES);
    let bitmap_bytes = bitmap_bytes.filter(|bytes| beside_set + bytes <= job.memory_bytes);
    let uses_bitmap = bitmap_bytes.is_some();
    let needed = beside_set + bitmap_bytes.unwrap_or(set_bytes);
    let is_wanted = job.strategy == Some(Strategy::Memory);
    let is_refused = match job.set_estimate {
        SetEstimate::Try if is_wanted => false,
        SetEstimate::Try | SetEstimate::Trust => {
            needed > job.memory_bytes || !(has_known || is_wanted)
        }
        SetEstimate::Overflowed => true,
    };
    if is_refused {
        return Err(refusal(set_refusal(sized, job.memory_bytes), job));
    }
    // What passes the filters is gathered.
    let beside_filters = needed + Coalescer::all_bytes(layout.scan.workers);
    let filters = set_filters(sized, beside_filters, uses_bitmap);
    let list = match filters {
        _ if uses_bitmap => List::Bitmaps,
        Some(_) => List::PrefilteredSet,
        None => List::Set,
    };
    let mut design = Design::new(sized, Strategy::Memory, list, layout);
    design.costs.filter = filters.map(|(first, _)| first);
    design.second_filter = filters.map(|(_, second)| second);
    design.set_bytes = bitmap_bytes.unwrap_or(set_bytes);
    // Of the others, few lines are in memory, or bits.
    if list == List::Set && set_bytes > LARGE_SET_BYTES {
        design.held = DataSize {
            lines: sizes.of_set.lines.saturating_mul(line_factor(set_bytes)),
            ..sizes.of_set
        };
    }
    Ok(design.priced())
}

/// Returns how many lines of blocks a line of a set of this size counts as: the larger the set, the longer each
/// look-up waits, where the sets of buckets are small. The difference of two files of 5 million rows takes 2.19 s with
/// a set, in 420 MB, and 2.56 s in blocks; to find 15 million different keys of 20 million rows takes 5.5 s with a set,
/// in 1.3 GB, and 3.5 s in blocks.
fn line_factor(set_bytes: u64) -> u64 {
    (set_bytes / CHEAP_SET_BYTES).clamp(1, MOST_LINE_FACTOR)
}

/// Makes the error for records, or places, that a set does not have when it is complete; `reason` says why the answer
/// has not either.
fn unwritable(sized: &SizedJob, reason: NotReread) -> Error {
    let rule = sized.rule();
    let (what, advice) = match reason {
        NotReread::NoRoom(error) => return error,
        NotReread::NotCached => (
            "would have to read repeats in a result that is not surely in the page cache",
            "choose it, if there is enough memory for that",
        ),
        _ if rule.tells_places() => (
            "cannot tell the places of dropped lines",
            "choose partition, or leave out `with_duplicate_places`",
        ),
        NotReread::NoFile if rule.picks_first() => (
            "cannot write the first record of each key",
            "choose partition, leave out `of_records`, or write to a file that is not compressed",
        ),
        _ if rule.picks_first() => (
            "cannot write the first record of each key",
            "choose partition, or leave out `of_records`",
        ),
        _ => (
            "cannot write records with a count",
            "choose partition, or leave out `of_records`",
        ),
    };
    Error::usage(format!("{OF_STRATEGY}memory {what}"), advice)
}

/// Counts the bitmaps of addresses that answer it, those that are in memory at the same time; `None` if lines are
/// no addresses, or where the answer needs more than whether a side has a line. For an intersection, the common
/// addresses so far and those of the next input are in memory, before the last input.
fn bitmaps(sized: &SizedJob) -> Option<u64> {
    let (job, rule) = (&sized.job, sized.rule());
    // A bitmap has no room for ordinals. Repeats are written as they are read, with theirs.
    let knows_order = rule.repeats() || rule.order() != Order::Input;
    let scanned = if rule.repeats() {
        job.sides.len()
    } else {
        job.inputs.len()
    };
    let count = 1 + u64::from(scanned > 2 && !rule.in_first());
    (job.is_ipv4 && rule.is_told_by_a_set() && knows_order).then_some(count)
}

/// Plans the two filters of `memory`, where they pay.
///
/// The first is of the smallest input; only lines of the second input that pass it enter the set. The second
/// is of the lines in the set; only lines of the other inputs, and of the smallest one at the end, that pass
/// it are looked up. The set then holds the common lines and some more, mostly a small part of an input.
///
/// They cost another reading of the smallest input. That pays where the input is in the page cache and a set
/// of all of it would be far larger than the processor's caches. `needed` is what the run takes in bytes
/// together with the filters; they must fit together with it, because the design does not count on a smaller set.
fn set_filters(
    sized: &SizedJob,
    needed: u64,
    uses_bitmap: bool,
) -> Option<(FilterPlan, FilterPlan)> {
    let (job, sizes) = (&sized.job, &sized.sizes);
    let build = *sized.order.first()?;
    let pays = !uses_bitmap
        && sized.rule().finds_common()
        && job.inputs.len() > 1
        && job.inputs[build].is_cached
        && (sizes.build.set_bytes() > LARGE_SET_BYTES || job.bits_per_key.is_some());
    let bits_per_key = job.bits_per_key.unwrap_or(SET_BITS_PER_KEY);
    let first = FilterPlan::new(sizes.build.lines, job.memory_bytes, bits_per_key);
    let survivors = expected_survivors(sizes, &first);
    let second = FilterPlan::new(survivors, job.memory_bytes, bits_per_key);
    let fits = needed + (first.bits + second.bits) / 8 <= job.memory_bytes;
    // Beside an input that is much larger, the lines that pass by mistake would be most of the set.
    let by_mistake = sizes.last.lines as f64 * first.predicted_fpr;
    let stays_small =
        by_mistake < sizes.build.lines as f64 * MOST_BY_MISTAKE || job.bits_per_key.is_some();
    (pays && fits && stays_small).then_some((first, second))
}
