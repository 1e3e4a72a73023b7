//! What a caller can ask for.
//!
//! *Owns:* [`Options`]. *Invariants:* every field has a default
//! that suits most runs; nothing here reads the machine. *Cost:* none.

use std::path::PathBuf;
use std::sync::Arc;

use crate::hash::HashKey;
use crate::input::lines::LineFormat;
use crate::interrupt::Interrupt;
use crate::observer::Observer;
use crate::plan::Strategy;
use crate::temp::places::Places;
use crate::temp::quota::Quota;

/// What the lines are, beyond bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyType {
    /// Bytes, compared as they are.
    #[default]
    Bytes,
    /// IPv4 addresses in dotted decimal: an exact bitmap of 2^32 bits replaces sets and filters
    /// where the memory limit has room for it. A line that is no address fails the run.
    Ipv4,
}

/// What a run may use and how it shall work.
///
/// ```
/// use outset::{Options, Strategy};
/// let options = Options {
///     memory_bytes: Some(64 << 20),
///     strategy: Some(Strategy::Sieve),
///     ..Options::default()
/// };
/// assert_eq!(options.max_fpr, None);
/// ```
#[derive(Clone)]
pub struct Options {
    /// Ceiling for the resident memory of the whole process, in bytes; at least 16 MiB. `None`:
    /// half of the smallest of available RAM, cgroup limit and address-space limit.
    pub memory_bytes: Option<u64>,
    /// `None`: chosen by the memory limit (memory, else bloom if `max_fpr` allows it, else sieve or
    /// partition).
    pub strategy: Option<Strategy>,
    /// The largest false-positive rate that is accepted, 0..1. `None`: exact only, unless `strategy`
    /// is [`Strategy::Bloom`] or there is a `stored_filter`: these are themselves requests for an
    /// approximate result, at whatever rate comes. `Some(0.0)`: exact only; `bloom` is refused
    /// ([`Error::RateTooHigh`](crate::Error::RateTooHigh)).
    pub max_fpr: Option<f64>,
    /// Number of buckets. `None`: planned (for two inputs of 5 billion lines in 4 GB, `partition` has
    /// 1000).
    pub buckets: Option<u32>,
    /// Cap on the filter's bits per key. `None`: as many as the memory limit leaves, up to where
    /// more would no longer help.
    pub bits_per_key: Option<f64>,
    /// A filter that was stored ([`crate::filter::StoredFilter`]) as one more input, in place of the
    /// lines it was built of: a request for an approximate result (`bloom`). One input is enough
    /// then. It brings the key of its hash: `hash_key` must be left as it is by default.
    pub stored_filter: Option<PathBuf>,
    /// Where the filter of the smallest input is to be saved, once it is built; `auto` then chooses
    /// a strategy that builds one.
    pub save_filter: Option<PathBuf>,
    /// Where spill goes, spread over all of them by the room that they have; what finds a place full goes
    /// on in another. Empty: `$TMPDIR`, else the current directory.
    pub temp_dirs: Vec<PathBuf>,
    /// Cap on temporary disk in bytes. `None`: what is free.
    pub max_temp_bytes: Option<u64>,
    /// Begin although the temporary places have less free than the run certainly needs, which is
    /// refused otherwise ([`Error::TempLimit`](crate::Error::TempLimit)): because more is about to be
    /// freed, or lines repeat so often that the need is overrated. A disk that does fill up ends the
    /// run with [`Error::Temp`](crate::Error::Temp). `max_temp_bytes` holds nevertheless.
    pub ignore_free_space: bool,
    /// Threads for the work on lines. `None`: the cores available to the process.
    pub threads: Option<usize>,
    /// What a line is.
    pub format: LineFormat,
    /// What is in a line.
    pub key_type: KeyType,
    /// The key of the hash; random by default.
    pub hash_key: HashKey,
    /// Stops the run from outside.
    pub interrupt: Interrupt,
    /// Is told how the run goes.
    pub observer: Option<Arc<dyn Observer>>,
    /// What a run has in common with others that belong to it.
    #[doc(hidden)]
    pub shared: Option<Shared>,
    /// For tests: spill every full block, as if memory were full.
    #[doc(hidden)]
    pub always_spill: bool,
}

/// What several runs that belong together share.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Shared {
    /// What the process had resident before the first of them, in bytes. What they leave is in the
    /// allowance of each for small allocations; counted again it would be counted twice.
    pub(crate) resident_bytes: u64,
    /// The temporary disk.
    pub(crate) quota: Arc<Quota>,
    /// Where their temporary files go.
    pub(crate) places: Arc<Places>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory_bytes: None,
            strategy: None,
            max_fpr: None,
            buckets: None,
            bits_per_key: None,
            stored_filter: None,
            save_filter: None,
            temp_dirs: Vec::new(),
            max_temp_bytes: None,
            ignore_free_space: false,
            threads: None,
            format: LineFormat::default(),
            key_type: KeyType::default(),
            hash_key: HashKey::default(),
            interrupt: Interrupt::new(),
            observer: None,
            shared: None,
            always_spill: false,
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("memory_bytes", &self.memory_bytes)
            .field("strategy", &self.strategy)
            .field("max_fpr", &self.max_fpr)
            .field("buckets", &self.buckets)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}
