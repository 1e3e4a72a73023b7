//! Lines that all fall into one bucket.
//!
//! *Owns:* the search for a counter that leads a line into bucket 0 on level 0.
//!
//! *Invariants.* The counter found is the least one, so that a line stays a pure function of its
//! identity. The hash is that of the line without carriage return and terminator.
//!
//! *Cost:* as many hashes a line as there are buckets on average: 20 to 30 microseconds for 1000.

use outset::hash::LineHasher;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::identity::{FULL_WIDTH, to_text};
use crate::key::Key;

/// Characters of the counter, and the dash behind them.
pub(crate) const COUNTER: usize = 6;

/// With this number of buckets the chance that five characters do not count far enough is e^-335.
const MOST_BUCKETS: u32 = 100_000;

/// The bucket that all lines fall into: number 0 of this number of buckets on the first level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OneBucket {
    /// The key of the hash.
    pub key: Key,
    /// The number of buckets.
    pub buckets: u32,
}

impl Default for OneBucket {
    /// The key of all zeros and 1000 buckets.
    fn default() -> Self {
        Self {
            key: Key([0; 4]),
            buckets: 1000,
        }
    }
}

/// Leads lines into bucket 0.
#[derive(Debug)]
pub(crate) struct BucketSearch {
    hasher: LineHasher,
    buckets: u32,
}

impl BucketSearch {
    /// The search for lines in bucket 0 of `one`.
    pub(crate) fn new(one: OneBucket) -> Result<Self> {
        if !(1..=MOST_BUCKETS).contains(&one.buckets) {
            let problem = format!("{} buckets cannot be searched", one.buckets);
            return Err(Error::usage("--buckets", problem, "use 1 to 100,000"));
        }
        Ok(Self {
            hasher: LineHasher::with_key(one.key.0),
            buckets: one.buckets,
        })
    }

    /// Counts up in the [`COUNTER`] bytes at `at` until the line falls into bucket 0.
    pub(crate) fn lead(&self, line: &mut [u8], at: usize) {
        let digits = COUNTER - 1;
        line[at + digits] = b'-';
        for counter in 0..1 << (5 * digits) {
            line[at..at + digits].copy_from_slice(&to_text(counter)[FULL_WIDTH - digits..]);
            if self.hasher.bucket(self.hasher.hash(line), 0, self.buckets) == 0 {
                return;
            }
        }
    }
}
