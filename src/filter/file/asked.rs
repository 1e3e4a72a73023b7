//! Asking a filter in its file, with the memory that there is.
//!
//! *Owns:* the choice between mapping a file and reading it piece by piece, as lines are asked for.
//! *Invariants:* the answers are the same; only a file that was checked is asked. If the file is truncated
//! afterwards, reading is an error, and touching a mapping ends the process (see [`Mapped`]). *Cost:* mapped,
//! what it would cost in memory; read, a system call for each cache line of cells.

use std::path::PathBuf;

use crate::batch::{Batch, Prefilter};
use crate::decode::io_error::unreadable;
use crate::error::{Error, Result};
use crate::filter::file::CheckedFilter;
use crate::filter::filter::Filter;
use crate::filter::mapped::Mapped;
use crate::filter::words::InFile;
use crate::hash::LineHasher;
use crate::memory::budget::MemoryBudget;

/// A filter in its file. Threads share it by reference.
#[derive(Debug)]
pub(crate) struct AskedFilter {
    /// Names the file in errors.
    path: PathBuf,
    backing: Backing,
}

#[derive(Debug)]
enum Backing {
    /// A filter that is asked like one in memory; its size is reserved from the budget.
    Mapped(Filter<Mapped>),
    /// Takes no memory of the budget.
    InFile(Filter<InFile>),
}

impl AskedFilter {
    /// Makes the filter, mapped if it fits `room` bytes of the budget. `hasher` has the filter's key.
    ///
    /// # Errors
    /// [`Error::Memory`] when the budget has less than `room`, [`Error::Input`] when the file cannot be mapped.
    pub(crate) fn new(
        checked: &CheckedFilter,
        hasher: LineHasher,
        budget: &MemoryBudget,
        room: u64,
    ) -> Result<Self> {
        let stored = checked.stored();
        let backing = if stored.shape().bytes() <= room {
            Backing::Mapped(checked.map(budget)?.hashing_as(hasher))
        } else {
            Backing::InFile(checked.in_file()?.hashing_as(hasher))
        };
        Ok(Self {
            path: stored.path().to_owned(),
            backing,
        })
    }

    /// Counts how often each line may have been inserted, at most. `counts` is overwritten.
    ///
    /// # Errors
    /// [`Error::BadFilter`] for a file that was truncated after its check, [`Error::Input`] for one that
    /// cannot be read.
    pub(crate) fn counts(&self, batch: Batch<'_>, counts: &mut Vec<u64>) -> Result<()> {
        match &self.backing {
            Backing::Mapped(filter) => {
                filter.counts(batch, counts);
                Ok(())
            }
            Backing::InFile(filter) => filter
                .counts_in_file(batch, counts)
                .map_err(|error| self.failed(error)),
        }
    }

    /// Makes the error for a failed read. The size was checked, so reading past the end means that the file was
    /// truncated since.
    fn failed(&self, error: std::io::Error) -> Error {
        if error.kind() == std::io::ErrorKind::UnexpectedEof {
            return Error::BadFilter {
                path: self.path.clone(),
                what: "was truncated while in use".to_owned(),
                advice: super::header::BUILD_AGAIN,
            };
        }
        unreadable(&self.path, error)
    }
}

impl Prefilter for AskedFilter {
    fn passing(&self, batch: Batch<'_>, passing: &mut Vec<u32>) -> Result<()> {
        match &self.backing {
            Backing::Mapped(filter) => {
                filter.passing(batch, passing);
                Ok(())
            }
            Backing::InFile(filter) => filter
                .passing_in_file(batch, passing)
                .map_err(|error| self.failed(error)),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::filter::shape::{Kind, Shape};
    use crate::filter::{Rules, StoredFilter};
    use crate::interrupt::Interrupt;

    /// Makes a filter of every other one of some lines, in a file.
    fn stored(kind: Kind, directory: &std::path::Path, lines: &[Vec<u8>]) -> CheckedFilter {
        let budget = MemoryBudget::new(1 << 24, 0);
        let rules = Rules {
            hasher: LineHasher::with_key([3; 4]),
            format: crate::LineFormat::default(),
            key_form: crate::KeyForm::default(),
            planned_keys: 1000,
        };
        // An odd number of cells: the last line of words is a short one.
        let cells = match kind {
            Kind::Blocked => 512 * 21,
            Kind::Fingerprint => 1501,
            _ => 8 * 1000 + 1,
        };
        let hashes = kind.most_hashes().min(4);
        let mut filter = Filter::new(
            &budget,
            Shape {
                kind,
                cells,
                hashes,
            },
            rules,
        )
        .unwrap();
        for line in lines.iter().step_by(2) {
            filter.insert(line).unwrap();
        }
        let path = directory.join(kind.name());
        filter.save(&path, &Interrupt::new()).unwrap();
        StoredFilter::open(&path).unwrap().check(&budget).unwrap()
    }

    #[test]
    fn a_filter_that_is_read_answers_as_one_that_is_mapped() {
        let directory = tempfile::tempdir().unwrap();
        let budget = MemoryBudget::new(1 << 24, 0);
        let lines: Vec<Vec<u8>> = (0..2000)
            .map(|i| format!("line {i}").into_bytes())
            .collect();
        let lines_of_batch: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
        for kind in Kind::ALL {
            let checked = stored(kind, directory.path(), &lines);
            let mut hashes = Vec::new();
            let hasher = checked.stored().rules().hasher;
            hasher.hash_batch(&lines_of_batch, &mut hashes);
            let batch = Batch::new(&lines_of_batch, &hashes);
            let ask = |room| {
                let filter =
                    AskedFilter::new(&checked, checked.stored().rules().hasher, &budget, room)
                        .unwrap();
                assert_eq!(matches!(filter.backing, Backing::Mapped(_)), room > 0);
                let (mut passing, mut counts) = (Vec::new(), Vec::new());
                filter.passing(batch, &mut passing).unwrap();
                filter.counts(batch, &mut counts).unwrap();
                (passing, counts)
            };
            let (passing, counts) = ask(0);
            assert!(
                (1000..2000).contains(&passing.len()),
                "{kind}: {}",
                passing.len()
            );
            assert_eq!((passing, counts), ask(1 << 20), "{kind}");
        }
    }

    #[test]
    fn i5_i6_a_file_that_becomes_shorter_while_it_is_read_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let lines = [b"one".to_vec()];
        let checked = stored(Kind::Classic, directory.path(), &lines);
        let budget = MemoryBudget::new(1 << 24, 0);
        let filter =
            AskedFilter::new(&checked, checked.stored().rules().hasher, &budget, 0).unwrap();
        let file = std::fs::File::options()
            .write(true)
            .open(checked.stored().path());
        file.unwrap().set_len(8192).unwrap();
        let line: &[u8] = b"one";
        let hashes = [checked.stored().rules().hasher.hash(line)];
        let lines = [line];
        let batch = Batch::new(&lines, &hashes);
        let error = filter.passing(batch, &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("truncated"), "{error}");
    }
}
