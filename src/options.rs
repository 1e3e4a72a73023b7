//! The choices that a caller has.
//!
//! *Owns:* [`Options`]. *Invariants:* every field has a default that suits most runs.

use std::path::PathBuf;
use std::sync::Arc;

use crate::decode::request::Opening;
use crate::hash::HashKey;
use crate::interrupt::Interrupt;
use crate::lines::LineFormat;
use crate::observer::Observer;
use crate::output::Compression;
use crate::plan::Strategy;
use crate::record::{Dialect, KeyForm, Keys, Quotes, Syntax};
use crate::selection::LabelForm;
use crate::sys::machine;
use crate::temp::directories::TempDirectories;
use crate::temp::quota::Quota;

/// The meaning of the content of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum KeyType {
    /// Bytes, compared as they are.
    #[default]
    Bytes,
    /// IPv4 addresses in dotted decimal: for an intersection of all sides and for a difference an exact bitmap of 2^32
    /// bits replaces sets and filters if it fits in the memory limit. A line that is not an address fails the run.
    Ipv4,
}

/// The resources that a run may use, and the settings that it works by.
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
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a setting of its own"
)]
#[derive(Clone)]
pub struct Options {
    /// Limit on the resident memory of the whole process, in bytes; at least 16 MiB. `None`: half of the
    /// smallest of available RAM, cgroup limit and address-space limit.
    pub memory_bytes: Option<u64>,
    /// The algorithm that finds the common lines. `None`: chosen by the memory limit (memory, else bloom if `max_fpr`
    /// allows it, else sieve or partition).
    pub strategy: Option<Strategy>,
    /// Maximum false-positive rate, 0..1. `None`: exact only, unless `strategy` is [`Strategy::Bloom`] or
    /// there is a `stored_filter`; either is itself a request for an approximate result, at any rate.
    /// `Some(0.0)`: exact only; `bloom` fails with
    /// [`Error::RateTooHigh`](crate::Error::RateTooHigh).
    pub max_fpr: Option<f64>,
    /// Number of buckets. `None`: chosen by the plan (`partition` uses 1000 for two inputs of 5 billion
    /// lines in 4 GB).
    pub buckets: Option<u32>,
    /// Maximum number of filter bits per key. `None`: as many as fit in the memory limit, up to the point
    /// where more bits no longer help.
    pub bits_per_key: Option<f64>,
    /// A stored filter ([`crate::filter::StoredFilter`]) that stands in for the lines it was built from,
    /// as one more input: a request for an approximate result (`bloom`). One input is enough then. The
    /// filter brings its own hash key, so `hash_key` must keep its default.
    pub stored_filter: Option<PathBuf>,
    /// File to save the filter of the smallest input to; `auto` then chooses a strategy that builds
    /// one.
    pub save_filter: Option<PathBuf>,
    /// Temporary directories. Those with more free space get more files, and a file whose directory fills
    /// up continues in another one. Empty: `$TMPDIR`, else the current directory.
    pub temp_dirs: Vec<PathBuf>,
    /// Maximum temporary disk space in bytes. `None`: all free space.
    pub max_temp_bytes: Option<u64>,
    /// True to start even if the temporary directories have less free space than the plan needs; by default such a run
    /// fails with [`Error::TempLimit`](crate::Error::TempLimit). Useful if space is about to be freed, or if many lines
    /// repeat and the run will need less than planned. A disk that does fill up ends the run with
    /// [`Error::Temp`](crate::Error::Temp). `max_temp_bytes` still applies.
    pub ignore_free_space: bool,
    /// The compressed outputs that the caller writes beside the run, as [`OutputFile`](crate::OutputFile) does: the
    /// plan leaves them memory. Plan each with [`CompressorPlan::new`](crate::CompressorPlan::new).
    pub compressions: Vec<Compression>,
    /// True if [`plan_for`](crate::plan_for) is to take the result for one that can be read where it is written, as a
    /// file can that is not compressed. A run asks its sink ([`Sink::rereadable`](crate::Sink::rereadable)).
    pub rereadable_result: bool,
    /// Number of worker threads. `None`: the number of cores available to the process.
    pub threads: Option<usize>,
    /// True if inputs that are compressed (gzip, bzip2, xz, zstd, lz4: recognised by their first bytes) are decoded. If
    /// not, their bytes are read as they are.
    pub decompress: bool,
    /// The rules that make bytes into lines.
    pub format: LineFormat,
    /// The part of each line that is its key, where lines are records; `None`: all of it.
    pub keys: Option<Keys>,
    /// Short names of inputs in statistics and tables: the number of an input, from 1, and its label. Each other one
    /// has the shortest end of its path that tells it apart.
    pub labels: Vec<(u32, String)>,
    /// The meaning of the content of a line.
    pub key_type: KeyType,
    /// The hash key; random by default.
    pub hash_key: HashKey,
    /// Stops the run from outside.
    pub interrupt: Interrupt,
    /// Receives the plan, the phases and the progress of the run.
    pub observer: Option<Arc<dyn Observer>>,
    /// The cap and the directories of the temporary disk, if a run shares them with others that belong to it.
    #[doc(hidden)]
    pub shared: Option<Shared>,
    /// Bytes that the process has resident before the run; `None` asks the system. Runs that belong together all get
    /// the number that the first one found: memory that an earlier run leaves behind is part of the allowance of each
    /// for small allocations, and would be counted twice.
    #[doc(hidden)]
    pub resident_bytes: Option<u64>,
    /// True to spill every full block, as if memory were full; for tests.
    #[doc(hidden)]
    pub always_spill: bool,
}

/// The cap and the directories of the temporary disk, for several runs that belong together.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Shared {
    /// The temporary disk.
    pub(crate) quota: Arc<Quota>,
    /// The directories for the temporary files of these runs.
    pub(crate) directories: Arc<TempDirectories>,
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
            compressions: Vec::new(),
            rereadable_result: false,
            threads: None,
            decompress: true,
            format: LineFormat::default(),
            keys: None,
            labels: Vec::new(),
            key_type: KeyType::default(),
            hash_key: HashKey::default(),
            interrupt: Interrupt::new(),
            observer: None,
            shared: None,
            resident_bytes: None,
            always_spill: false,
        }
    }
}

impl Options {
    /// Lists the directories for temporary files, at least one: [`temp_dirs`](Self::temp_dirs), else `$TMPDIR`, else
    /// the current directory. Not `/tmp`, which is memory on some systems. (The command names the directory of its
    /// output before it comes to that.)
    pub fn temp_parents(&self) -> Vec<PathBuf> {
        if !self.temp_dirs.is_empty() {
            return self.temp_dirs.clone();
        }
        match std::env::var_os("TMPDIR") {
            Some(directory) if !directory.is_empty() => vec![directory.into()],
            _ => vec![".".into()],
        }
    }

    /// Tells whether the answer consists of numbers of rows.
    pub(crate) fn numbers_rows(&self) -> bool {
        self.row_number_end().is_some()
    }

    /// Returns the byte that ends the number of a row, which is all that is written of a record; `None` if the answer
    /// consists of something else.
    pub(crate) fn row_number_end(&self) -> Option<u8> {
        self.keys.as_ref()?.row_number_end()
    }

    /// Returns the form of keys: whole lines, as they are, where nothing says otherwise.
    pub(crate) fn key_form(&self) -> KeyForm {
        self.keys.as_ref().map_or_else(KeyForm::default, Keys::form)
    }

    /// Returns the quotes of keys that cannot stand as they are; `None` if keys are as they stand.
    pub(crate) fn key_quotes(&self) -> Option<Quotes> {
        self.keys.as_ref().and_then(Keys::key_quotes)
    }

    /// Returns the form of a label before a line: one more field, where lines have fields with a delimiter.
    pub(crate) fn label_form(&self) -> LabelForm {
        match self.keys.as_ref().map(|keys| keys.syntax) {
            Some(Syntax::Csv(Dialect { delimiter, .. })) => LabelForm {
                delimiter,
                quotes: true,
            },
            Some(Syntax::Delimited(delimiter)) => LabelForm {
                delimiter,
                quotes: false,
            },
            _ => LabelForm::default(),
        }
    }

    /// Returns the rules for a line: in a CSV file it is a record, which may have line ends between quotes.
    pub(crate) fn line_format(&self) -> LineFormat {
        let keys = self.keys.as_ref();
        LineFormat {
            quoted: keys.and_then(Keys::quotes).or(self.format.quoted),
            comment: keys.and_then(|keys| keys.comment).or(self.format.comment),
            ..self.format
        }
    }

    /// Returns the settings with which inputs are opened.
    pub(crate) fn opening(&self) -> Opening<'_> {
        // As for a sample: decoders get no more than half of the memory.
        let memory_bytes = self
            .memory_bytes
            .unwrap_or_else(machine::default_memory_bytes);
        Opening {
            decodes: self.decompress,
            format: self.line_format(),
            keys: self.keys.as_ref(),
            first_number: 1,
            last_written: u32::MAX,
            memory_bytes: memory_bytes / 2,
            interrupt: &self.interrupt,
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
