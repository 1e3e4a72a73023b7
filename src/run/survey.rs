//! What a plan is made from: the inputs as they look, the machine as it is, the wishes.
//!
//! *Owns:* the [`Job`] of a run. *Invariants:* nothing is written, and no input is read but for a
//! sample. *Cost:* a sample of each input (1 MiB at most).

use std::path::Path;

use crate::error::Result;
use crate::input::Input;
use crate::input::lines::LineFormat;
use crate::input::sample::{Sample, sample};
use crate::notice::Notice;
use crate::options::{KeyType, Options};
use crate::plan::{InputShape, Job, SetEstimate, all_threads, threads_bytes};
use crate::sys::machine;
use crate::sys::threads::STACK_BYTES;

/// Memory of the process beside buffers: small allocations, channels, output.
const SMALL_ALLOCATIONS: u64 = 3 << 19;
/// What the command line's process has before a run: 4.5 to 5.5 MiB mostly; on a busy machine one run
/// in fifteen of a debug build had more than 5.75.
const PROGRAM_BYTES: u64 = 6 << 20;
/// Address space that buffers leave alone where it is limited.
const ADDRESS_RESERVE: u64 = 16 << 20;

/// The job for inputs that need not exist: shapes instead of files.
pub fn job_for(shapes: Vec<InputShape>, longest_line_bytes: u64, options: &Options) -> Job {
    let threads = options.threads.unwrap_or_else(machine::default_threads);
    let asked_bytes = options
        .memory_bytes
        .unwrap_or_else(machine::default_memory_bytes);
    // At least so much, so that equal requests get equal plans: how many pages of the program the
    // system has mapped by now differs from run to run.
    let resident = options
        .shared
        .as_ref()
        .map_or_else(machine::resident_bytes, |shared| shared.resident_bytes)
        .max(PROGRAM_BYTES);
    let base_bytes = resident + SMALL_ALLOCATIONS + threads_bytes(threads, asked_bytes);
    // Where address space is limited, buffers must leave room for stacks and small allocations:
    // those cannot be refused, they end the process.
    let stacks = (2 * all_threads(threads, asked_bytes) + 4) * STACK_BYTES as u64;
    let memory_bytes = match machine::address_space_left() {
        Some(left) => asked_bytes.min(base_bytes + left.saturating_sub(stacks + ADDRESS_RESERVE)),
        None => asked_bytes,
    };
    Job {
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
        always_spill: options.always_spill,
        set_estimate: SetEstimate::Trust,
    }
}

/// Looks at the inputs: sizes, and a sample of each.
pub(crate) fn survey(inputs: &[Input], options: &Options) -> Result<Job> {
    let samples = samples(inputs, options)?;
    Ok(job_of(inputs, &samples, options))
}

/// As [`survey`], for inputs whose lines are to be compared: the observer is told where their lines
/// end so that hardly any can be common.
pub(crate) fn survey_to_compare(inputs: &[Input], options: &Options) -> Result<Job> {
    let samples = samples(inputs, options)?;
    let named = inputs.iter().map(Input::name).zip(&samples);
    if let Some(observer) = &options.observer
        && let Some(notice) = carriage_returns(named, options.format)
    {
        observer.noticed(&notice);
    }
    Ok(job_of(inputs, &samples, options))
}

/// A sample of each input that can be looked into.
fn samples(inputs: &[Input], options: &Options) -> Result<Vec<Option<Sample>>> {
    let sampled = inputs.iter().map(|input| sample(input, options.format));
    sampled.collect()
}

fn job_of(inputs: &[Input], samples: &[Option<Sample>], options: &Options) -> Job {
    let longest = samples.iter().flatten().map(|s| s.longest_line_bytes).max();
    let shape = |(input, sample): (&Input, &Option<Sample>)| InputShape {
        bytes: input.bytes(),
        lines: sample.map(|sample| sample.lines),
        is_cached: input.is_warm(),
    };
    let shapes = inputs.iter().zip(samples).map(shape).collect();
    job_for(shapes, longest.unwrap_or(0), options)
}

/// The notice for inputs of which one has CR LF and another LF alone, where that makes a difference.
/// One in which no line end was seen is neither.
fn carriage_returns<'a>(
    samples: impl Iterator<Item = (&'a Path, &'a Option<Sample>)>,
    format: LineFormat,
) -> Option<Notice> {
    if format.strip_cr || format.terminator != b'\n' {
        return None;
    }
    let (mut with, mut without) = (None, None);
    for (name, sample) in samples {
        match sample {
            Some(sample) if sample.ends_after_cr > sample.ends / 2 => with.get_or_insert(name),
            Some(sample) if sample.ends > 0 => without.get_or_insert(name),
            _ => continue,
        };
    }
    Some(Notice::CarriageReturns {
        with: with?.to_owned(),
        without: without?.to_owned(),
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn noticed(ends: &[(u64, u64)], format: LineFormat) -> Option<Notice> {
        let sample = |&(ends, ends_after_cr): &(u64, u64)| {
            Some(Sample {
                ends,
                ends_after_cr,
                ..Sample::default()
            })
        };
        let mut samples: Vec<Option<Sample>> = ends.iter().map(sample).collect();
        samples.push(None);
        let names = ["a", "b", "c", "d"].iter().map(Path::new);
        carriage_returns(names.zip(&samples), format)
    }

    #[test]
    fn a3_more_than_half_of_the_lines_of_one_and_not_of_another_are_worth_a_word() {
        let plain = LineFormat::default();
        for (ends, is_worth) in [
            (&[(10, 10), (10, 0)][..], true),
            (&[(10, 0), (10, 6)], true),
            (&[(10, 6), (10, 5)], true),
            (&[(10, 5), (10, 0)], false),
            (&[(10, 10), (10, 9)], false),
            (&[(1, 1), (1, 0)], true),
            (&[(10, 10), (0, 0)], false),
            (&[(0, 0), (0, 0)], false),
            (&[(10, 10), (10, 10), (10, 0)], true),
        ] {
            assert_eq!(noticed(ends, plain).is_some(), is_worth, "{ends:?}");
        }
        let notice = noticed(&[(9, 0), (9, 9), (9, 9)], plain).unwrap();
        let said = notice.to_string();
        assert!(said.starts_with("b: ") && said.contains(" a ") && said.contains("--strip-cr"));
    }

    #[test]
    fn a3_nothing_is_said_where_a_carriage_return_is_stripped_or_ends_no_line() {
        let ends = [(10, 10), (10, 0)];
        for (strip_cr, terminator) in [(true, b'\n'), (false, 0), (true, 0)] {
            let format = LineFormat {
                terminator,
                strip_cr,
            };
            assert_eq!(noticed(&ends, format), None);
        }
    }
}
