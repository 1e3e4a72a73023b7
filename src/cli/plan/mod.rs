//! `outset plan`: the choice, the alternatives, and what each would cost.

mod arguments;

use std::sync::Arc;

use outset::cluster::{Machines, Sizing, size};
use outset::plan::{Costs, InputShape, Job, OrderPlan, Plan, plan};
use outset::{Error, Interrupt, Options, Result, Selection, job_for, plan_for, plan_with_estimate};

pub(crate) use self::arguments::PlanArguments;
use super::outputs::Claims;
use super::print::{json, print};
use super::progress::Reporter;
use super::screen::warn;
use super::settings::{as_typed, plan_as_typed};
use super::sides::SidesPurpose;
use crate::cli::numbers;

/// Runs the command.
pub(crate) fn run(arguments: &PlanArguments, interrupt: &Interrupt) -> Result<()> {
    let selection = arguments.selection()?;
    let purpose = SidesPurpose {
        least: match arguments.filters.filter {
            Some(_) => 1,
            None => selection.least_sides(),
        },
        lacks_output: false,
    };
    let sources = arguments.inputs.sources_for(purpose)?;
    let read = arguments.inputs.lists().chain(&arguments.filters.filter);
    let read = read.chain(arguments.run.lines.key_file());
    let mut claims = Claims::reading(read).and_sources(&sources);
    claims.write(None, "the plan")?;
    let options = arguments.run.options(None, interrupt);
    let options = arguments
        .records
        .add_to_options(arguments.choice.add_to(options));
    let options = arguments.order.add_to_options(options);
    let mut options = arguments.filters.add_to(options);
    options.compressions = arguments.compress.compressions();
    options.rereadable_result = options.compressions.is_empty();
    if let Some(count) = arguments.machines {
        return print(&size_job(arguments, count, &options)?);
    }
    let names = arguments.inputs.names_of_sides(&sources);
    let plan = if arguments.estimate {
        let reporter = Arc::new(Reporter::new(&arguments.talk));
        reporter.announce(names);
        options.observer = Some(reporter.clone());
        let (_, plan) = plan_with_estimate(&sources, selection, &options)?;
        reporter.finish();
        plan
    } else if arguments.lines.is_empty() {
        let plan = plan_for(&sources, selection, &options)?;
        if !arguments.talk.quiet {
            for name in &names {
                warn(name);
            }
        }
        plan
    } else {
        plan_for_shapes(arguments, selection, &options)?
    };
    let plan = plan_as_typed(plan);
    let text = if arguments.json {
        json(&plan)?
    } else {
        describe(&plan)
    };
    print(&text)
}

/// Sizes the job on `count` machines, as text or as JSON.
fn size_job(arguments: &PlanArguments, count: u64, options: &Options) -> Result<String> {
    let machines = Machines {
        count,
        tasks: arguments.tasks,
        network_bytes: arguments.network,
        disk_bytes: arguments.disk,
    };
    let sizing = size(&arguments.lines, arguments.line_bytes, machines, options)?;
    if arguments.json {
        json(&sizing)
    } else {
        Ok(describe_sizing(&sizing, machines))
    }
}

/// Words the sizing for people.
fn describe_sizing(sizing: &Sizing, machines: Machines) -> String {
    let seconds = sizing.shard_seconds + sizing.join_seconds;
    [
        format!(
            "{} of lines on {}, {} at a time on each, {} of memory for each task",
            numbers::bytes(sizing.input_bytes),
            numbers::counted(machines.count, "machine"),
            numbers::counted(machines.tasks, "task"),
            numbers::bytes(sizing.memory_bytes)
        ),
        format!(
            "  {} of {}; {} of {}; blocks of {}",
            numbers::counted(sizing.shards, "shard"),
            numbers::bytes(sizing.range_bytes),
            numbers::counted(sizing.buckets, "bucket"),
            numbers::bytes(sizing.bucket_bytes),
            numbers::bytes(sizing.block_bytes)
        ),
        format!(
            "  network: {} in all, {} for each machine, before compression",
            numbers::bytes(sizing.network_bytes),
            numbers::bytes(sizing.network_bytes / machines.count)
        ),
        format!(
            "  temporary disk: {} for each machine",
            numbers::bytes(sizing.disk_bytes)
        ),
        format!(
            "  about {}: shards {} (limited by {}), joins {} (limited by {})",
            numbers::duration(seconds),
            numbers::duration(sizing.shard_seconds),
            sizing.shard_bound,
            numbers::duration(sizing.join_seconds),
            sizing.join_bound
        ),
    ]
    .join("\n")
}

/// Plans for inputs of which only the sizes are given.
pub(super) fn plan_for_shapes(
    arguments: &PlanArguments,
    selection: Selection,
    options: &Options,
) -> Result<Plan> {
    if arguments.lines.len() < selection.least_sides() {
        return Err(Error::usage(
            "--lines: only one input given",
            "give the number of lines of each input, such as --lines 5e9,5e9",
        ));
    }
    let shape = |&lines: &u64| InputShape {
        bytes: Some(lines.saturating_mul(arguments.line_bytes)),
        lines: Some(lines),
        distinct_lines: None,
        is_cached: false,
        decoding: None,
        key_bytes: None,
    };
    let shapes = arguments.lines.iter().map(shape).collect();
    plan(&Job {
        selection,
        ..job_for(shapes, arguments.line_bytes, options)
    })
}

/// Describes the plan in words for people.
pub(super) fn describe(plan: &Plan) -> String {
    let mut lines = vec![
        format!(
            "strategy {} ({}), within {} of memory",
            plan.costs.strategy,
            if plan.costs.exact {
                "exact"
            } else if plan.may_miss_lines() {
                "approximate: may miss lines, never adds one"
            } else {
                "approximate: may add lines, never misses one"
            },
            numbers::bytes(plan.limit_bytes())
        ),
        format!(
            "  the process and its buffers take up to {}; the rest holds filters, sets and blocks kept in memory",
            numbers::bytes(plan.buffer_bytes())
        ),
    ];
    let is_estimated = plan.is_estimated();
    lines.extend(describe_costs(&plan.costs, is_estimated));
    lines.extend(
        plan.notice()
            .map(|notice| format!("  {}", as_typed(&notice.to_string()))),
    );
    if plan.guesses_sizes {
        let guess = "  the sizes of compressed files are estimated from their first bytes";
        lines.push(guess.to_owned());
    }
    lines.extend(plan.assumed_bytes.map(|bytes| {
        let bytes = numbers::bytes(bytes);
        format!("  the sizes of pipes and commands are not known: {bytes} are assumed for each")
    }));
    if plan.duplicate_cache_bytes > 0 {
        lines.push(format!(
            "  {} of memory holds lines that come again, so that their repeats are not spilled",
            numbers::bytes(plan.duplicate_cache_bytes)
        ));
    }
    lines.extend(plan.ordering.as_ref().map(describe_order));
    lines.extend(describe_steps(plan));
    for rejected in &plan.rejected {
        lines.push(format!("not {}: {}", rejected.strategy, rejected.reason));
        let costs = rejected.costs.iter();
        lines.extend(costs.flat_map(|costs| describe_costs(costs, is_estimated)));
    }
    lines.join("\n")
}

/// The most lines that tell steps: with many files they are all alike.
const MOST_STEPS: usize = 24;

/// Writes a line for each step.
fn describe_steps(plan: &Plan) -> Vec<String> {
    let (steps, numbered) = (plan.steps(), 1..);
    let left_out = match steps.len() {
        count if count <= MOST_STEPS => 0..0,
        count => MOST_STEPS / 2..count - MOST_STEPS / 2,
    };
    let line = |(number, step): (usize, String)| match number - 1 {
        index if index == left_out.start && !left_out.is_empty() => {
            Some(format!("  ... {} more steps ...", left_out.len()))
        }
        index if left_out.contains(&index) => None,
        _ => Some(format!("  {number}. {step}")),
    };
    numbered.zip(steps).filter_map(line).collect()
}

/// Writes the line about the order of the answer.
fn describe_order(ordering: &OrderPlan) -> String {
    let (order, memory) = (ordering.order, numbers::bytes(ordering.memory_bytes));
    let answer = match ordering.read_again_bytes {
        0 if ordering.has_row_bits => {
            format!("  order {order}: each row has a bit, in {memory} of memory")
        }
        0 => format!(
            "  order {order}: a result of {}, sorted in {memory} of memory",
            numbers::bytes(ordering.answer_bytes)
        ),
        bytes => format!(
            "  order {order}: {} are read once more instead of sorting the result; {memory} of memory mark its lines",
            numbers::bytes(bytes)
        ),
    };
    let spilled = match ordering.spilled_bytes {
        0 => String::new(),
        bytes => format!(" and {} of temporary disk", numbers::bytes(bytes)),
    };
    let ordinals = match ordering.ordinal_bytes {
        0 => String::new(),
        bytes => format!(
            "; {} of line positions go to temporary disk",
            numbers::bytes(bytes)
        ),
    };
    format!("{answer}{spilled}{ordinals}")
}

fn describe_costs(costs: &Costs, is_estimated: bool) -> Vec<String> {
    let mut lines = vec![format!(
        "  {} over the inputs; reads {}, writes {}; temporary disk {}; memory {}",
        if costs.passes == 1 {
            "1 pass".to_owned()
        } else {
            format!("{} passes", costs.passes)
        },
        numbers::bytes(costs.bytes_read),
        numbers::bytes(costs.bytes_written),
        numbers::bytes(costs.temp_peak_bytes),
        numbers::bytes(costs.memory_bytes),
    )];
    if costs.buckets > 0 {
        let buckets = u64::from(costs.buckets);
        lines.push(format!("  {}", numbers::counted(buckets, "bucket")));
    }
    if let Some(filter) = &costs.filter {
        lines.push(format!(
            "  filter of {}: {:.2} bits per key, k = {}, predicted false-positive rate {}",
            numbers::bytes(filter.bits / 8),
            filter.bits_per_key,
            filter.hashes,
            range(filter.predicted_fpr, filter.most_fpr, numbers::rate)
        ));
    }
    if let Some(precision) = costs.expected_precision {
        lines.push(format!(
            "  expected precision: about {} of the result lines are common",
            numbers::rate(precision)
        ));
    }
    if !costs.exact {
        lines.push(describe_mistakes(costs, is_estimated));
    }
    lines
}

/// Writes the line about lines that an approximate result lacks, or has too many. Without an estimate (`is_estimated`
/// is false), only a sample is known. It may show that lines repeat, but not how many do, and not that several files
/// share a line.
fn describe_mistakes(costs: &Costs, is_estimated: bool) -> String {
    let (expected, what) = match costs.expected_missing_lines {
        missing if missing > 0.0 => (missing, "lines expected to be missing from the result"),
        _ => (
            costs.expected_false_lines,
            "false lines expected in the result",
        ),
    };
    let count = |lines: f64| numbers::grouped(lines as u64);
    let number = range(expected, costs.most_wrong_lines, count);
    let (about, limits) = if number == count(expected) {
        ("about ", ", fewer if lines repeat or are in several files")
    } else {
        (
            "",
            " (a sample shows repeats; --estimate counts the distinct lines)",
        )
    };
    let limits = if is_estimated { "" } else { limits };
    format!("  {about}{number} {what}{limits}")
}

/// Formats a number, or a range up to `most`, if the two look different.
fn range(least: f64, most: Option<f64>, show: impl Fn(f64) -> String) -> String {
    let shown = show(least);
    match most.map(show).filter(|most| *most != shown) {
        Some(most) => format!("{shown} to {most}"),
        None => shown,
    }
}
