//! The facts that a plan is made from: samples of the inputs, limits of the machine, options of the caller.
//!
//! *Owns:* the [`Job`] of a run. *Invariants:* nothing is written, and of each input only a sample is read.
//! *Cost:* a sample of each input (1 MiB at most, as it is or decoded).
//!
//! ```text
//! base_bytes   = resident now + 1 MiB (8.25 MiB at least, 9 MiB where code stays resident, and up to 12 MiB a
//!                sixteenth of the limit) + 320 KiB for each thread
//!                (+ 80 KiB for each worker with keys) (+ what compressed outputs take)
//! memory_bytes = the limit, or less where address space (ulimit -v) is short
//! ```

use crate::answer::RowBits;
use crate::error::Result;
use crate::input::Input;
use crate::input::sample::{Sample, sample};
use crate::notice::Notice;
use crate::options::{KeyType, Options};
use crate::output::compressors_bytes;
use crate::plan::{InputShape, Job, SetEstimate, all_threads, program_bytes, threads_bytes};
use crate::run::mismatches;
use crate::selection::Selection;
use crate::sys::calls::CODE_STAYS;
use crate::sys::machine;
use crate::sys::threads::STACK_BYTES;

/// The bytes that a process needs besides buffers and what it has resident before a run: small allocations, channels,
/// output, more of its code.
const GROWTH_BYTES: u64 = 1 << 20;
/// The bytes of its code that a debug build, which is for tests, does not count. A limit of 16 MiB has no room for all
/// of them: such a build goes over that limit, by up to a MiB, or by up to three where its code stays resident, in
/// place of refusing it.
const CODE_OF_DEBUG: u64 = match (cfg!(debug_assertions), CODE_STAYS) {
    (false, _) => 0,
    (true, false) => 1 << 19,
    (true, true) => 2 << 20,
};
/// Memory of a worker for the keys of a batch of records, in bytes: where they are, copies of 16 KiB of them, and the
/// records that wait for the next batch.
const KEY_BYTES: u64 = 80 << 10;
/// Address space in bytes that buffers leave to small allocations where it is limited.
const ADDRESS_RESERVE: u64 = 16 << 20;

/// Makes the job for inputs that need not exist: shapes instead of files, each of which is one side of an
/// intersection. The longest of their lines has `longest_line_bytes`.
pub fn job_for(shapes: Vec<InputShape>, longest_line_bytes: u64, options: &Options) -> Job {
    job_of_shapes(shapes, longest_line_bytes, resident_bytes(options), options)
}

/// Returns the bytes that the process has resident before a run.
pub(super) fn resident_bytes(options: &Options) -> u64 {
    let known = options.resident_bytes;
    known.unwrap_or_else(machine::resident_bytes)
}

/// Returns the bytes that a process with `resident` bytes before a run, whose limit is `limit_bytes`, needs besides
/// buffers and threads.
///
/// How many pages of the program the system has mapped by now differs from run to run. A lower bound above most of
/// these numbers gives equal requests equal plans.
pub(super) fn process_bytes(resident: u64, limit_bytes: u64) -> u64 {
    let charged = resident.saturating_sub(CODE_OF_DEBUG);
    program_bytes(limit_bytes).max(charged.saturating_add(GROWTH_BYTES))
}

/// Works as [`job_for`], in a process that has `resident` bytes before the run.
pub(super) fn job_of_shapes(
    shapes: Vec<InputShape>,
    longest_line_bytes: u64,
    resident: u64,
    options: &Options,
) -> Job {
    let threads = options.threads.unwrap_or_else(machine::default_threads);
    let asked_bytes = options
        .memory_bytes
        .unwrap_or_else(machine::default_memory_bytes);
    let for_keys = match &options.keys {
        Some(_) => threads as u64 * KEY_BYTES,
        None => 0,
    };
    let for_output = compressors_bytes(&options.compressions, threads, asked_bytes);
    let for_process = process_bytes(resident, asked_bytes);
    let base_bytes = for_process + threads_bytes(threads, asked_bytes) + for_keys + for_output;
    // Where address space is limited, buffers must leave room for stacks and small allocations: a buffer that is
    // refused is an error with advice, but an allocation that fails ends the process. The second one of each worker is
    // that of a thread that loads for it, and of eight workers all have another. Of all other threads four are for up
    // to sixteen writers, and one for three that write each of two results.
    let stacks = (2 * all_threads(threads, asked_bytes) + 4 + 12 + 4 + 8) * STACK_BYTES as u64;
    let memory_bytes = match machine::address_space_left() {
        Some(left) => asked_bytes.min(base_bytes + left.saturating_sub(stacks + ADDRESS_RESERVE)),
        None => asked_bytes,
    };
    Job {
        selection: Selection::intersection(),
        sides: (0..shapes.len()).collect(),
        inputs: shapes,
        longest_line_bytes,
        memory_bytes,
        base_bytes,
        threads,
        strategy: options.strategy,
        max_fpr: options.max_fpr,
        buckets: options.buckets,
        bits_per_key: options.bits_per_key,
        stored_filter: None,
        wants_filter: options.save_filter.is_some(),
        is_ipv4: options.key_type == KeyType::Ipv4,
        common_share: None,
        any_lines: None,
        always_spill: options.always_spill,
        compressions: options.compressions.clone(),
        lines_go_on: options.line_format().quoted.is_some(),
        max_temp_bytes: options.max_temp_bytes,
        row_bits_bytes: options.numbers_rows().then_some(0),
        can_read_again: true,
        rereadable_bytes: if options.rereadable_result {
            machine::default_memory_bytes()
        } else {
            0
        },
        set_estimate: SetEstimate::Trust,
    }
}

/// Makes the job for these inputs: their sizes, and what a sample of each shows.
///
/// # Errors
/// [`crate::Error::Input`] where a sample cannot be read.
pub(crate) fn survey(inputs: &[Input], options: &Options) -> Result<Job> {
    // Before the samples: a run uses the memory again that they leave to the allocator.
    let resident = resident_bytes(options);
    let samples = samples(inputs, options, &|_| {})?;
    Ok(job_of(inputs, &samples, resident, options))
}

/// Works as [`survey`], for inputs of lines that users give. Notifies the observer if one is no plain text, now or
/// when its first bytes come, and of what `find` finds in the samples.
fn survey_and_tell(
    inputs: &[Input],
    options: &Options,
    find: impl FnOnce(&[Option<Sample>]) -> Vec<Notice>,
) -> Result<Job> {
    let Some(observer) = &options.observer else {
        return survey(inputs, options);
    };
    let resident = resident_bytes(options);
    inputs.iter().for_each(Input::watch_fronts);
    let samples = samples(inputs, options, &|notice| observer.noticed(notice))?;
    for notice in find(&samples) {
        observer.noticed(&notice);
    }
    Ok(job_of(inputs, &samples, resident, options))
}

/// Works as [`survey`], for inputs whose lines are to be compared. Notifies the observer if hardly any line can be
/// common, because they end or are encoded in different ways, and if one is no plain text.
pub(crate) fn survey_to_compare(inputs: &[Input], options: &Options) -> Result<Job> {
    let find = |samples: &[Option<Sample>]| mismatches::of_compared(inputs, samples, options);
    survey_and_tell(inputs, options, find)
}

/// Works as [`survey`], for inputs whose lines are put into a filter or looked up in one. Notifies the observer if
/// one has CR LF, which the filter keeps, and if one is no plain text.
pub(crate) fn survey_for_filter(inputs: &[Input], options: &Options) -> Result<Job> {
    let find = |samples: &[Option<Sample>]| mismatches::with_filter(inputs, samples, options);
    survey_and_tell(inputs, options, find)
}

/// Works as [`survey`], for the input of a shard, whose lines other commands compare. Notifies the observer if it is
/// no plain text.
pub(crate) fn survey_for_shard(inputs: &[Input], options: &Options) -> Result<Job> {
    let find = |samples: &[Option<Sample>]| mismatches::within_each(inputs, samples, options);
    survey_and_tell(inputs, options, find)
}

/// Notifies the observer of what was found of records and rows, such as those left out, when all inputs were read.
pub(crate) fn tell_findings(inputs: &[Input], options: &Options) {
    let Some(observer) = &options.observer else {
        return;
    };
    for input in inputs.iter().filter(|input| input.bad_records() > 0) {
        observer.noticed(&Notice::BadRecords {
            input: input.name().to_owned(),
            count: input.bad_records(),
        });
    }
    for (input, bytes) in inputs.iter().filter_map(Input::padded) {
        let input = input.to_owned();
        observer.noticed(&Notice::Padding { input, bytes });
    }
    for input in inputs {
        if let Some(field) = input.ranked_by_nothing() {
            let input = input.name().to_owned();
            observer.noticed(&Notice::NoNumbers { input, field });
        }
        if let Some(count) = input.null_rows().filter(|&count| count > 0) {
            let input = input.name().to_owned();
            observer.noticed(&Notice::NullRows { input, count });
        }
    }
}

/// Takes a sample of each input, `None` for a pipe. `tell` hears of what is no plain text.
fn samples(
    inputs: &[Input],
    options: &Options,
    tell: &dyn Fn(&Notice),
) -> Result<Vec<Option<Sample>>> {
    // Decoders of more than half of the memory are not tried for a sample.
    let memory_bytes = options
        .memory_bytes
        .unwrap_or_else(machine::default_memory_bytes);
    let stop = || options.interrupt.check();
    let sampled = inputs
        .iter()
        .map(|input| sample(input, options.line_format(), memory_bytes / 2, &stop, tell));
    sampled.collect()
}

/// Makes the job for inputs with these samples: one for each, in the same order.
fn job_of(inputs: &[Input], samples: &[Option<Sample>], resident: u64, options: &Options) -> Job {
    // A pipe adds nothing here: if one of its lines is too long, the run cannot be planned again.
    let longest = samples.iter().flatten().map(|s| s.longest_line_bytes).max();
    let shape = |(input, sample): (&Input, &Option<Sample>)| InputShape {
        bytes: input.likely_bytes(),
        lines: sample.map(|sample| sample.lines),
        distinct_lines: sample.map(|sample| sample.distinct_lines),
        is_cached: input.is_warm(),
        decoding: input.decoding(),
        key_bytes: input
            .keying()
            .zip(*sample)
            .map(|(_, sample)| (sample.lines as f64 * sample.mean_key_bytes) as u64),
    };
    let shapes = inputs.iter().zip(samples).map(shape).collect();
    Job {
        sides: sides_of(inputs),
        row_bits_bytes: options.numbers_rows().then(|| RowBits::bytes_of(inputs)),
        can_read_again: options.numbers_rows()
            || inputs.iter().all(|input| input.null_rows().is_none()),
        ..job_of_shapes(shapes, longest.unwrap_or(0), resident, options)
    }
}

/// Lists the input of each side, by its index.
fn sides_of(inputs: &[Input]) -> Vec<usize> {
    let numbers = |(index, input): (usize, &'_ Input)| {
        let numbers = input.sides().to_vec();
        numbers.into_iter().map(move |number| (number, index))
    };
    let mut sides: Vec<(u32, usize)> = inputs.iter().enumerate().flat_map(numbers).collect();
    sides.sort_unstable();
    sides.into_iter().map(|(_, index)| index).collect()
}
