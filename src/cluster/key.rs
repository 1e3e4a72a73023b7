//! The key of a job.
//!
//! *Owns:* reading it from its file. *Invariants:* no message has any of it: who knows the key can craft lines that all
//! go to one bucket.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::error::{Error, Result};
use crate::hash::{HashKey, LineHasher};
use crate::input::unreadable;

/// The most bytes that a file with a key may have: its digits, and white space.
const MOST_BYTES: u64 = 4 << 10;

/// The hash key that all shards of a job have in common.
#[derive(Clone, Copy)]
pub struct JobKey(LineHasher);

impl std::fmt::Debug for JobKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JobKey(..)")
    }
}

impl JobKey {
    /// Reads the key in the file at `path`: 64 hexadecimal digits, which may have white space around them.
    ///
    /// # Errors
    /// [`Error::Input`] where it cannot be read, [`Error::Usage`] where it has no key.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_short(path).map_err(|error| unreadable(path, error))?;
        if text.len() as u64 > MOST_BYTES {
            return Err(no_key(
                path,
                "is longer than 4 KiB, so it is no file with a hash key",
            ));
        }
        let key = std::str::from_utf8(&text).map_or(Err(()), |text| {
            text.trim().parse::<HashKey>().map_err(|_| ())
        });
        let key = key.map_err(|()| no_key(path, "has no hash key"))?;
        LineHasher::new(key).map(Self)
    }

    /// Makes the key from these words.
    pub fn new(key: [u64; 4]) -> Self {
        Self(LineHasher::with_key(key))
    }

    /// Returns the hash of lines under this key.
    pub fn hasher(&self) -> LineHasher {
        self.0
    }

    /// Returns the number of the job: a function of the key and the number of buckets that reveals neither.
    pub(crate) fn job(&self, buckets: u32) -> u64 {
        self.0.digest(format!("outset job {buckets}").as_bytes())[0]
    }
}

/// Reads the file at `path`, up to one byte more than it may have.
fn read_short(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?
        .take(MOST_BYTES + 1)
        .read_to_end(&mut text)?;
    Ok(text)
}

fn no_key(path: &Path, what: &str) -> Error {
    Error::usage(
        format!("{}: {what}", path.display()),
        "write 64 hexadecimal digits to it, such as those of: od -An -vtx8 -N32 /dev/urandom | tr -d ' \\n'",
    )
}

impl From<JobKey> for HashKey {
    fn from(key: JobKey) -> Self {
        Self::Fixed(key.0.key())
    }
}
