//! What a plan is made from: the inputs as they look, the machine as it is, the wishes.
//!
//! *Owns:* the [`Job`] of a run. *Invariants:* nothing is written, and no input is read but for a
//! sample. *Cost:* a sample of each input (1 MiB at most).

use crate::error::Result;
use crate::input::Input;
use crate::input::sample::sample;
use crate::machine;
use crate::options::{LineKey, Options};
use crate::plan::{InputShape, Job, SetEstimate};
use crate::threads::STACK_BYTES;

/// Memory of the process beside buffers: small allocations, channels, output.
const SMALL_ALLOCATIONS: u64 = 3 << 19;
/// What the command line's process has before a run: 4.5 to 5.5 MiB, as measured.
const PROGRAM_BYTES: u64 = 23 << 18;
/// Address space that buffers leave alone where it is limited.
const ADDRESS_RESERVE: u64 = 16 << 20;
/// Memory of a thread: the touched part of its stack, batches, recent lines, its allocator arena.
const PER_THREAD: u64 = 320 << 10;

/// The job for inputs that need not exist: shapes instead of files.
pub fn job_for(shapes: Vec<InputShape>, longest_line_bytes: u64, options: &Options) -> Job {
    let threads = options.threads.unwrap_or_else(machine::default_threads);
    let asked_bytes = options
        .memory_bytes
        .unwrap_or_else(machine::default_memory_bytes);
    // Readers and writers are threads, too.
    let all_threads = (threads as u64 + 4).min(asked_bytes >> 21);
    // At least so much, so that equal requests get equal plans: how many pages of the program the
    // system has mapped by now differs from run to run.
    let resident = options
        .shared
        .as_ref()
        .map_or_else(machine::resident_bytes, |shared| shared.resident_bytes)
        .max(PROGRAM_BYTES);
    let base_bytes = resident + SMALL_ALLOCATIONS + all_threads * PER_THREAD;
    // Where address space is limited, buffers must leave room for stacks and small allocations:
    // those cannot be refused, they end the process.
    let stacks = (2 * all_threads + 4) * STACK_BYTES as u64;
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
        is_ipv4: options.key == LineKey::Ipv4,
        common_share: None,
        always_spill: options.always_spill,
        set_estimate: SetEstimate::Trust,
    }
}

/// Looks at the inputs: sizes, and a sample of each.
pub(crate) fn survey(inputs: &[Input], options: &Options) -> Result<Job> {
    let mut shapes = Vec::with_capacity(inputs.len());
    let mut longest = 0;
    for input in inputs {
        let sample = sample(input, options.format)?;
        longest = longest.max(sample.map_or(0, |sample| sample.longest_line_bytes));
        shapes.push(InputShape {
            bytes: input.bytes(),
            lines: sample.map(|sample| sample.lines),
            is_cached: input.is_warm(),
        });
    }
    Ok(job_for(shapes, longest, options))
}
