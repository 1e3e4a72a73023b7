//! The key of a job.
//!
//! *Owns:* reading it from its file. *Invariants:* no message has any of it: who knows the key can craft lines that all
//! go to one bucket.

use std::fs;
use std::path::Path;

use crate::error::{Error, Result};
use crate::hash::{HashKey, LineHasher};
use crate::input::unreadable;

/// The hash key that all shards of a job have in common.
#[derive(Clone, Copy)]
pub struct JobKey(LineHasher);

impl std::fmt::Debug for JobKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JobKey(..)")
    }
}

impl JobKey {
    /// The key in the file at `path`: 64 hexadecimal digits, and white space around them if need be.
    ///
    /// # Errors
    /// [`Error::Input`] where it cannot be read, [`Error::Usage`] where it has no key.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read(path).map_err(|error| unreadable(path, error))?;
        let key = std::str::from_utf8(&text).map_or(Err(()), |text| {
            text.trim().parse::<HashKey>().map_err(|_| ())
        });
        let key = key.map_err(|()| Error::Usage {
            what: format!("{}: has no hash key", path.display()),
            advice: "write 64 hexadecimal digits to it, such as those of: od -An -vtx8 -N32 /dev/urandom | tr -d ' \\n'"
                .into(),
        })?;
        LineHasher::new(key).map(Self)
    }

    /// The key with these words.
    pub fn new(key: [u64; 4]) -> Self {
        Self(LineHasher::with_key(key))
    }

    /// The hash of lines under this key.
    pub fn hasher(&self) -> LineHasher {
        self.0
    }

    /// What tells jobs apart: a function of the key and the number of buckets, which reveals neither.
    pub(crate) fn job(&self, buckets: u32) -> u64 {
        self.0.digest(format!("outset job {buckets}").as_bytes())[0]
    }
}

impl From<JobKey> for HashKey {
    fn from(key: JobKey) -> Self {
        Self::Fixed(key.0.key())
    }
}
