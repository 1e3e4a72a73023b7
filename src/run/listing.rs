//! The files of sides that have many, while they are listed.
//!
//! *Owns:* what a list of files may take of the memory limit, and the refusal of a longer one. *Invariants:* what a
//! file takes is counted before it is kept; what does not fit is counted on, so that the refusal names a limit that
//! would do. *Cost:* an addition for each file.

use crate::error::{Error, Result};
use crate::input::parts::bytes_to_list;
use crate::options::Options;
use crate::plan::{Job, LEAST_USABLE_BYTES, least_for_any_plan};
use crate::run::survey::{job_of_shapes, process_bytes, resident_bytes};
use crate::size::{display_at_least, display_bytes, display_count};

/// The files that are listed for a run, counted to find out whether the memory limit has room for them.
#[derive(Debug)]
pub struct Listing {
    /// A run without inputs.
    job: Job,
    /// The resident memory of the process before it lists files, in bytes.
    resident: u64,
    /// The memory that the process may need besides buffers and threads when they are listed, in bytes.
    most: u64,
    /// The memory that they take, in bytes.
    bytes: u64,
    files: u64,
}

impl Listing {
    /// Begins a listing for a run with these options, in a process that has not listed anything yet.
    pub fn new(options: &Options) -> Self {
        let resident = resident_bytes(options);
        let job = job_of_shapes(Vec::new(), 0, resident, options);
        // A limit that is too low without them is refused by the plan.
        let before = process_bytes(resident, job.memory_bytes);
        let beside = job.base_bytes - before + LEAST_USABLE_BYTES;
        Self {
            most: job.memory_bytes.saturating_sub(beside).max(before),
            job,
            resident,
            bytes: 0,
            files: 0,
        }
    }

    /// Counts a file with a path of `path_bytes`. False if it must not be kept, because the limit has no room for it:
    /// [`Listing::check`] is then an error.
    pub fn count(&mut self, path_bytes: usize) -> bool {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(bytes_to_list(path_bytes as u64));
        self.fits()
    }

    /// Returns true if the limit has room for all that was counted.
    pub fn fits(&self) -> bool {
        self.process_bytes() <= self.most
    }

    /// Refuses a list for which the limit has no room.
    ///
    /// # Errors
    /// [`Error::MemoryPlan`] with the least limit that would do.
    pub fn check(&self) -> Result<()> {
        if self.fits() {
            return Ok(());
        }
        let before = process_bytes(self.resident, self.job.memory_bytes);
        let job = Job {
            base_bytes: self.job.base_bytes - before + self.process_bytes(),
            ..self.job.clone()
        };
        let least_bytes = least_for_any_plan(&job);
        Err(Error::MemoryPlan {
            what: format!(
                "{} is too low to list {} files, which takes {}",
                display_bytes(job.memory_bytes),
                display_count(self.files),
                display_bytes(self.bytes)
            ),
            advice: format!("give at least {}", display_at_least(least_bytes)),
            least_bytes,
        })
    }

    fn process_bytes(&self) -> u64 {
        let resident = self.resident.saturating_add(self.bytes);
        process_bytes(resident, self.job.memory_bytes)
    }
}
