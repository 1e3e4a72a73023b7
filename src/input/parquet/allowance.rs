//! The memory of the pages that are read at a time.
//!
//! *Owns:* what was granted for each column. *Invariants:* memory is granted before it is allocated, and not given back
//! before the reading ends: the next page likely needs as much. *Cost:* a lock for each page.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::input::compressed::too_large;
use crate::memory::budget::{MemoryBudget, Reservation};

/// What the columns of one reading may have.
#[derive(Debug)]
pub(super) struct Allowance {
    /// How messages call the file.
    name: PathBuf,
    granted: Mutex<Granted>,
}

#[derive(Debug)]
struct Granted {
    memory: Reservation,
    /// Bytes of each column, by its place in the key, and of the record behind them.
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
            granted: Mutex::new(Granted {
                memory: budget.reserve("pages of Parquet", 0)?,
                columns: vec![0; columns],
            }),
        })
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
                Err(too_large(&self.name, "Parquet", all - has + bytes))
            }
            Err(error) => Err(error),
        }
    }
}
