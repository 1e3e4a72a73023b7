//! The memory of the pages that are read at a time.
//!
//! *Owns:* what was granted for each column. *Invariants:* memory is granted before it is allocated, and not given back
//! before the reading ends: the next page likely needs as much. *Cost:* a lock for each page.

use std::path::PathBuf;

use parking_lot::Mutex;

use crate::decode::compressed::least_for_decoding;
use crate::error::{Error, Result};
use crate::memory::budget::{MemoryBudget, Reservation};
use crate::size::{display_at_least, display_bytes};

/// Who has memory of a copy, by their indexes in the [`Allowance`]: the pages that are read, the values that are
/// copied, what is remembered for the footer, and columns that wait until they are written.
pub(super) const PAGES: usize = 0;
pub(super) const COPIES: usize = 1;
pub(super) const FOOTER: usize = 2;
pub(super) const ENCODED: usize = 3;
pub(super) const USERS: usize = 4;

/// The memory that the columns of one reading may have.
#[derive(Debug)]
pub(super) struct Allowance {
    /// The name of the file in messages.
    name: PathBuf,
    /// The memory of the process besides the budget, in bytes, where nothing else takes from it.
    beside_bytes: Option<u64>,
    granted: Mutex<Granted>,
}

#[derive(Debug)]
struct Granted {
    memory: Reservation,
    /// Bytes of each column, by its index in the key, and of the record after them; of a copy those of each of its
    /// users.
    columns: Vec<u64>,
}

impl Allowance {
    /// Grants nothing yet to `columns` columns, and to a record as one more.
    pub(super) fn new(name: PathBuf, columns: usize, budget: &MemoryBudget) -> Self {
        Self {
            name,
            beside_bytes: None,
            granted: Mutex::new(Granted {
                memory: budget.reserve_nothing("pages of Parquet"),
                columns: vec![0; columns],
            }),
        }
    }

    /// Returns the same for a process that has `bytes` besides the budget and does nothing else meanwhile: more memory
    /// is all for this reading.
    pub(super) fn beside(self, bytes: u64) -> Self {
        Self {
            beside_bytes: Some(bytes),
            ..self
        }
    }

    /// Makes sure that the column at `index` may have `bytes`.
    ///
    /// # Errors
    /// [`Error::MemoryPlan`], with a limit that would do.
    pub(super) fn grow_to(&self, index: usize, bytes: u64) -> Result<()> {
        let mut granted = self.granted.lock();
        let has = granted.columns[index];
        if bytes <= has {
            return Ok(());
        }
        match granted.memory.grow(bytes - has) {
            Ok(()) => {
                granted.columns[index] = bytes;
                Ok(())
            }
            Err(Error::Memory { .. }) => {
                let all: u64 = granted.columns.iter().sum();
                Err(self.too_large(all - has + bytes))
            }
            Err(error) => Err(error),
        }
    }

    /// Makes the error for `needed_bytes` that are more than there is.
    pub(super) fn too_large(&self, needed_bytes: u64) -> Error {
        let (work, least_bytes, other_way) = match self.beside_bytes {
            Some(beside_bytes) => (
                "copying the rows",
                beside_bytes + needed_bytes,
                "write their numbers with `row_numbers`",
            ),
            None => (
                "decoding the Parquet data",
                least_for_decoding(needed_bytes).unwrap_or(u64::MAX),
                "write it with smaller pages",
            ),
        };
        Error::MemoryPlan {
            what: format!(
                "{work} of {} takes {} of memory",
                self.name.display(),
                display_bytes(needed_bytes)
            ),
            advice: match least_bytes {
                u64::MAX => other_way.to_owned(),
                _ => format!(
                    "give at least {}, or {other_way}",
                    display_at_least(least_bytes)
                ),
            },
            least_bytes,
        }
    }
}
