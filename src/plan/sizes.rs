//! The sizes of the inputs of a job: what all designs begin with.
//!
//! *Owns:* [`SizedJob`], what they ask of a job, computed once. *Invariants:* all lists are in working order. *Cost:* a
//! few words for each input.

use crate::error::Result;
use crate::input::sample::distinct_lines::Distinct;
use crate::plan::job::{DataSize, InputShape, Job, extents, read_extents};
use crate::plan::layout::Layout;
use crate::plan::steps::{At, List, Step};
use crate::plan::{ASSUMED_COMMON, Strategy};
use crate::selection::{Rule, SideReading, Sides};

/// A set is given room for this multiple of the different lines that a sample shows: lines are not equally frequent,
/// and a set that readings out too large costs another start.
const DISTINCT_SLACK: f64 = 1.25;

/// A job with its inputs in working order.
#[derive(Debug, Clone)]
pub(crate) struct SizedJob {
    /// The job itself.
    pub(super) job: Job,
    /// The inputs, as indexes into those of the job: fewest bytes first, those of unknown size last, equal ones in the
    /// caller's order. Where the first side counts by itself, the first input comes first.
    pub(crate) order: Vec<usize>,
    /// The sides that each input is.
    pub(crate) sides: Sides,
    /// The size of each input as it is read, known or assumed.
    pub(super) read: Vec<DataSize>,
    /// The size of what is kept of each input, known or assumed: its lines, or only the keys of its records.
    pub(super) kept: Vec<DataSize>,
    /// The different lines of each input, as far as samples show them. All lines of an input count where a sample
    /// shows no repeats. All lines of all inputs count where one is a pipe, because a set that readings out too large
    /// can then not be given up for another strategy.
    pub(super) distinct: Vec<Distinct>,
    /// The sizes that the formulas use.
    pub(super) sizes: Sizes,
    /// The layout for scanning.
    pub(super) scan: Layout,
    /// The size of the answer, as it is written.
    pub(super) answer: DataSize,
    /// The inputs whose lines are written in a last reading of them, in the order of their sides: none where no
    /// order is asked for, or the answer is sorted.
    pub(super) read_again: Vec<At>,
    /// True if the answer is rows by their numbers, and each row has a bit in place of a sort.
    pub(super) has_row_bits: bool,
}

impl SizedJob {
    /// Puts the inputs of `job` in order, and sorts the answer where its order matters.
    ///
    /// # Errors
    /// [`crate::Error::Usage`] for a selection that does not fit the number of sides.
    pub(super) fn of(job: Job) -> Result<Self> {
        let rule = Rule::new(job.selection, job.sides.len())?;
        let order = order(&job, &rule);
        let in_order = |all: Vec<DataSize>| order.iter().map(|&index| all[index]).collect();
        let kept: Vec<_> = in_order(extents(&job, |index, shape| {
            let keeps_records = rule.keeps_records_of(index as u32 + 1);
            shape.key_bytes.filter(|_| !keeps_records)
        }));
        let read = in_order(read_extents(&job));
        let distinct = distinct(&job, &order, &kept);
        let sides = sides(&job, rule, &order);
        let sizes = Sizes::new(&job, &sides, &kept, &distinct);
        Ok(Self {
            sizes,
            scan: Layout::for_scan(&job, plans_once(&job, sides.rule())),
            read_again: Vec::new(),
            has_row_bits: false,
            answer: sizes.answer(sides.rule()),
            job,
            order,
            sides,
            read,
            kept,
            distinct,
        })
    }

    /// Returns the same where the answer, of this size, is not sorted: `inputs` are read once more, beside
    /// `memory_bytes` of memory.
    pub(super) fn reading_again(
        self,
        inputs: Vec<At>,
        memory_bytes: u64,
        answer: DataSize,
    ) -> Self {
        let plans_once = plans_once(&self.job, self.rule());
        Self {
            scan: Layout::for_scan_beside(&self.job, plans_once, memory_bytes),
            read_again: inputs,
            answer,
            ..self
        }
    }

    /// Returns the same where each row of the answer has a bit in these `memory_bytes`.
    pub(super) fn with_row_bits(self, memory_bytes: u64) -> Self {
        let plans_once = plans_once(&self.job, self.rule());
        Self {
            scan: Layout::for_scan_beside(&self.job, plans_once, memory_bytes),
            has_row_bits: true,
            ..self
        }
    }

    /// Returns the layout for scanning where nothing is set aside for the order of the answer.
    pub(super) fn layout_without_order(&self) -> Layout {
        Layout::for_scan_beside(&self.job, plans_once(&self.job, self.rule()), 0)
    }

    /// Returns what is known of the input at this position in the order of the work.
    pub(super) fn shape(&self, at: At) -> &InputShape {
        &self.job.inputs[self.order[at as usize]]
    }

    /// Returns what the caller wants of the lines.
    pub(crate) fn rule(&self) -> &Rule {
        self.sides.rule()
    }

    /// Lists the steps of a list, to the last that puts the answer in order.
    pub(crate) fn steps(&self, list: List) -> Vec<Step> {
        let mut steps = list.steps(self.order.len(), &self.sides);
        if !self.read_again.is_empty() {
            steps.retain(|step| *step != Step::Order);
            steps.extend(self.read_again.iter().map(|&at| Step::Rewrite { at }));
        }
        steps
    }

    /// Numbers the inputs as the caller does, from 1: a file that was given twice by the first time.
    pub(super) fn numbers(&self) -> Vec<u32> {
        let mut numbers = vec![0; self.order.len()];
        for (side, &index) in self.job.sides.iter().enumerate().rev() {
            numbers[index] = side as u32 + 1;
        }
        self.order.iter().map(|&index| numbers[index]).collect()
    }

    /// Estimates the memory of a set of the lines of `extent`, in bytes, as if no line repeated, with what it keeps
    /// of each line.
    pub(super) fn set_bytes(&self, extent: DataSize) -> u64 {
        extent.set_bytes() + self.tally_bytes(extent)
    }

    /// Estimates what a set keeps besides the lines of `extent`, in bytes, with room to grow as the lines have.
    pub(super) fn tally_bytes(&self, extent: DataSize) -> u64 {
        let words = self.rule().kept().words() as u64;
        extent.lines.saturating_mul(10 * words)
    }
}

/// Returns true if a run cannot be planned again when a line readings out too long.
fn plans_once(job: &Job, rule: &Rule) -> bool {
    // A pipe can neither be sampled nor read again.
    let has_stream = job.inputs.iter().any(|shape| shape.bytes.is_none());
    // A difference that keeps repeats may write lines of its first input while it reads them for the first time; so
    // does a union that a filter answers.
    let answers_early = job.strategy == Some(Strategy::Bloom) && !rule.finds_common();
    has_stream || answers_early || rule.repeats() && rule.in_first()
}

/// Puts the inputs of `job` in working order.
fn order(job: &Job, rule: &Rule) -> Vec<usize> {
    let inputs = &job.inputs;
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    let has_first = rule.in_first() || rule.asks_first();
    let is_later = |index: usize| has_first && index > 0;
    order.sort_by_key(|&index| (is_later(index), inputs[index].bytes.unwrap_or(u64::MAX)));
    order
}

/// Makes the sides of the inputs: which of the sides each input is.
fn sides(job: &Job, rule: Rule, order: &[usize]) -> Sides {
    let mut positions = vec![0; order.len()];
    for (position, &index) in order.iter().enumerate() {
        positions[index] = position;
    }
    let reading = |(number, &index): (u32, &usize)| SideReading {
        input: positions[index],
        number,
    };
    Sides::new(rule, (1..).zip(&job.sides).map(reading).collect())
}

/// Lists the different lines of each input in this order; `kept` has their sizes.
fn distinct(job: &Job, order: &[usize], kept: &[DataSize]) -> Vec<Distinct> {
    let can_restart = job.inputs.iter().all(|shape| shape.bytes.is_some());
    let distinct = |(&index, size): (&usize, &DataSize)| {
        let shown = job.inputs[index].distinct_lines.filter(|_| can_restart);
        shown.map_or(Distinct::exactly(size.lines), |shown| {
            shown.map(|lines| lines.min(size.lines))
        })
    };
    order.iter().zip(kept).map(distinct).collect()
}

/// Adds up the different lines of `inputs`, as if no line were in two of them.
pub(super) fn all_distinct(inputs: &[Distinct]) -> Distinct {
    let none = Distinct::default();
    inputs.iter().copied().fold(none, Distinct::and)
}

/// The sizes that the formulas use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// The build side: the smallest input of an intersection, the first of a difference, and all inputs that
    /// may bring a new line of anything else.
    pub(super) build: DataSize,
    /// The inputs that this is: the first so many.
    pub(super) building: usize,
    /// The other inputs that determine which lines of the first may be selected, where repeats of the first are kept:
    /// all others of a difference, one of an intersection.
    pub(super) telling: usize,
    /// The lines in the set of `memory`: the different lines of the build side, or where repeats are kept, of the
    /// inputs that are held against the first.
    pub(super) of_set: DataSize,
    /// The different lines of each input, all together, as far as samples show them.
    pub(super) distinct: DataSize,
    /// The share of all lines that repeat another line of the same input, 0..1, as far as samples show it.
    pub(super) repeats: f64,
    /// The sum of what is kept of all inputs, at most 16 times `MOST` bytes and lines.
    pub(super) total: DataSize,
    /// The input that is worked on last: the largest, or one of unknown size.
    pub(super) last: DataSize,
    /// Inputs besides the smallest.
    pub(super) further_inputs: usize,
    /// The share of the smallest input that is common, 0..1, estimated or assumed.
    pub(super) common_share: f64,
}

impl Sizes {
    /// Estimates the answer, as far as it can be known before the run.
    pub(super) fn answer(&self, rule: &Rule) -> DataSize {
        let selected = if rule.in_first() {
            self.build.part(1.0 - self.common_share)
        } else if rule.needs_all() {
            self.build.part(self.common_share)
        } else {
            // What several inputs have is written once, or not at all: an upper bound.
            self.total
        };
        let selected = if rule.writes_once() {
            selected.part(1.0 - self.repeats)
        } else {
            selected
        };
        let share = rule.top() as f64 / selected.lines.max(1) as f64;
        selected.part(share.min(1.0))
    }

    fn new(job: &Job, sides: &Sides, kept: &[DataSize], distinct: &[Distinct]) -> Self {
        let (rule, others) = (sides.rule(), kept.len().saturating_sub(1));
        let building = rule.building_sides().min(kept.len());
        let telling = others.min(if rule.in_first() { others } else { 1 });
        // Likely different lines, with slack.
        let different = |slack: f64| {
            let part = |(distinct, size): (&Distinct, &DataSize)| {
                let lines = distinct.likely.max(distinct.least).min(distinct.most);
                let share = lines as f64 * slack;
                size.part((share / size.lines.max(1) as f64).min(1.0))
            };
            distinct.iter().zip(kept).map(part).collect::<Vec<_>>()
        };
        let total = DataSize::sum(kept);
        let distinct = DataSize::sum(&different(1.0));
        let with_room = different(DISTINCT_SLACK);
        let of_set = if rule.repeats() {
            with_room.get(1..=telling).unwrap_or_default()
        } else {
            &with_room[..building]
        };
        Self {
            build: DataSize::sum(&kept[..building]),
            building,
            telling,
            of_set: DataSize::sum(of_set),
            distinct,
            repeats: total.lines.saturating_sub(distinct.lines) as f64 / total.lines.max(1) as f64,
            total,
            last: kept.last().copied().unwrap_or_default(),
            further_inputs: others,
            common_share: job.common_share.unwrap_or(ASSUMED_COMMON),
        }
    }
}
