//! The memory of the pages that are read at a time.
//!
//! *Owns:* what was granted for each column. *Invariants:* memory is granted before it is allocated, and not given back
//! before the reading ends: the next page likely needs as much. *Cost:* a lock for each page.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::input::compressed::too_large;
use crate::memory::budget::{MemoryBudget, Reservation};
use crate::size::{display_at_least, display_bytes};

/// What the columns of one reading may have.
#[derive(Debug)]
pub(super) struct Allowance {
    /// How messages call the file.
    name: PathBuf,
    /// What the process has beside the budget, in bytes, where there is nothing else that takes from it.
    beside_bytes: Option<u64>,
    granted: Mutex<Granted>,
}

#[derive(Debug)]
struct Granted {
    memory: Reservation,
    /// Bytes of each column, by its place in the key, and of the record behind them. Of a copy: of its pages, of the values
    /// that are written, and of what is remembered for the footer.
    columns: Vec<u64>,
}

impl Allowance {
    /// Nothing yet, for as many columns and a record as one more.
    ///
    /// # Errors
    /// None in fact: nothing is asked for.
    pub(super) fn new(name: PathBuf, columns: usize, budget: &MemoryBudget) -> Result<Self> {
        Ok(Self {
            name,
            beside_bytes: None,
            granted: Mutex::new(Granted {
                memory: budget.reserve("pages of Parquet", 0)?,
                columns: vec![0; columns],
            }),
        })
    }

    /// The same for a process that has `bytes` beside the budget and does nothing else meanwhile: more memory is all for it.
    pub(super) fn beside(self, bytes: u64) -> Self {
        Self {
            beside_bytes: Some(bytes),
            ..self
        }
    }

    /// Makes sure that the column at `place` may have `bytes`.
    ///
    /// # Errors
    /// [`Error::MemoryPlan`], with a limit that would do.
    pub(super) fn grow_to(&self, place: usize, bytes: u64) -> Result<()> {
        let mut granted = self.granted.lock().unwrap_or_else(PoisonError::into_inner);
        let has = granted.columns[place];
        if bytes <= has {
            return Ok(());
        }
        match granted.memory.grow(bytes - has) {
            Ok(()) => {
                granted.columns[place] = bytes;
                Ok(())
            }
            Err(Error::Memory { .. }) => {
                let all: u64 = granted.columns.iter().sum();
                Err(self.too_large(all - has + bytes))
            }
            Err(error) => Err(error),
        }
    }

    /// The error where `needed_bytes` are more than there is.
    pub(super) fn too_large(&self, needed_bytes: u64) -> Error {
        let Some(beside_bytes) = self.beside_bytes else {
            return too_large(&self.name, "Parquet", needed_bytes);
        };
        let least_bytes = beside_bytes + needed_bytes;
        Error::MemoryPlan {
            what: format!(
                "{}: copying its rows takes {} of memory",
                self.name.display(),
                display_bytes(needed_bytes)
            ),
            advice: format!(
                "give at least {}, or write their numbers with --rows",
                display_at_least(least_bytes)
            ),
            least_bytes,
        }
    }
}
