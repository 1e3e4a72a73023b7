//! The cost of the files of very many buckets.
//!
//! *Owns:* [`ManyFiles`]. *Invariants:* nothing is said of a number of buckets that the planner chose. *Cost:* one more
//! design, where the caller asked for very many buckets.
//!
//! Each bucket of each input that is written is a file. On ext4, one takes 0.04 ms to create, write and remove; but 0.2
//! to 1.2 ms for minutes after tens of thousands of files were removed, because ext4 does not use their inodes again so
//! soon, and looks at all of them for each new file.

use crate::notice::Notice;
use crate::plan::assumptions::MANY_FILES;
use crate::plan::designs::design_of;
use crate::plan::reading_again::Ways;
use crate::plan::{Job, ManyFiles, Plan};

/// The seconds that a file takes to create, write and remove, after a run or two that did the same.
const SECONDS_OF_FILE: f64 = 2e-4;

impl ManyFiles {
    /// Counts the files of this plan of `job`; `None` if they are few, or where the caller did not ask for them.
    pub(super) fn of(job: &Job, plan: &Plan) -> Option<Self> {
        let files = plan.bucket_files();
        if job.buckets.is_none() || files < MANY_FILES {
            return None;
        }
        let chosen = Job {
            buckets: None,
            ..job.clone()
        };
        let buckets_in = |ways: &Ways| Ok(design_of(ways, plan.strategy())?.costs.buckets);
        Some(Self {
            files,
            seconds: files as f64 * SECONDS_OF_FILE,
            enough_buckets: Ways::of(chosen)
                .and_then(|ways| buckets_in(&ways))
                .unwrap_or(0),
        })
    }
}

impl Plan {
    /// Returns what the user should know of this plan before it runs, if anything.
    pub fn notice(&self) -> Option<Notice> {
        self.many_files.map(|many| Notice::ManyFiles {
            buckets: self.costs.buckets,
            files: many.files,
            seconds: many.seconds.round() as u64,
            enough_buckets: many.enough_buckets,
        })
    }

    /// Counts the most files of buckets that this plan makes, without those of buckets that have to be split.
    fn bucket_files(&self) -> u64 {
        if !self.writes_buckets() {
            return 0;
        }
        let stores = self.phases.iter().filter(|phase| phase.name == "spill");
        let files = u64::from(self.costs.buckets) * stores.count() as u64;
        // A bucket without a line has no file.
        files.min(self.sized.sizes.total.lines)
    }
}
