//! One run: what all its passes share.
//!
//! *Owns:* the layout of memory in force, the budget, the hash, the number of worker threads, the temporary space, and
//! the counting of phases and inputs.
//!
//! *Invariants:* everything here is dropped at the end of a run, whatever its end; nothing is
//! global, so several runs can go on in one process. *Cost:* none.

pub(crate) mod feasibility;
pub(crate) mod survey;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::error::Result;
use crate::hash::LineHasher;
use crate::input::Input;
use crate::interrupt::Interrupt;
use crate::memory::budget::{MemoryBudget, Reservation};
use crate::options::{KeyType, Options};
use crate::plan::{Layout, PlannedPhase};
use crate::spill::block::Address;
use crate::spill::pool::BlockPool;
use crate::spill::reader::ReadRules;
use crate::stats::{BucketStats, FilterStats, PhaseStats};
use crate::sys::threads::Workers;
use crate::temp::disk::free_bytes;
use crate::temp::space::TempSpace;

/// What the passes of one run share.
#[derive(Debug)]
pub(crate) struct Run<'o> {
    pub(crate) options: &'o Options,
    pub(crate) layout: Layout,
    pub(crate) budget: MemoryBudget,
    pub(crate) hasher: LineHasher,
    pub(crate) workers: Workers,
    /// Tells this run's spill blocks from any other's.
    id: u64,
    next_store: AtomicU64,
    pub(crate) space: &'o TempSpace,
    record: Mutex<Record>,
    /// What is set aside for the bookkeeping of buckets that were planned later.
    later_buckets: Vec<Reservation>,
}

/// What is noted for the statistics.
#[derive(Debug, Default, Clone)]
pub(crate) struct Record {
    pub(crate) phases: Vec<PhaseStats>,
    pub(crate) buckets: BucketStats,
    pub(crate) filter: Option<FilterStats>,
}

impl<'o> Run<'o> {
    /// Sets a run up in a plan's `layout`.
    pub(crate) fn new(
        options: &'o Options,
        layout: Layout,
        hasher: LineHasher,
        space: &'o TempSpace,
    ) -> Self {
        Self {
            options,
            budget: MemoryBudget::new(layout.usable_bytes, layout.base_bytes),
            hasher,
            workers: Workers::new(layout.workers),
            // Any value that another run is unlikely to have will do.
            id: hasher.hash(
                format!("{:?} {}", std::time::SystemTime::now(), std::process::id()).as_bytes(),
            ),
            next_store: AtomicU64::new(0),
            space,
            record: Mutex::default(),
            later_buckets: Vec::new(),
            layout,
        }
    }

    /// Goes on with another division of the memory that filters, blocks and buckets have.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where the bookkeeping of its buckets finds no room.
    pub(crate) fn set_layout(&mut self, layout: Layout) -> Result<()> {
        let bytes = self.layout.usable_bytes - layout.usable_bytes.min(self.layout.usable_bytes);
        let bookkeeping = self.budget.reserve("buckets", bytes)?;
        self.later_buckets.push(bookkeeping);
        self.layout = layout;
        Ok(())
    }

    /// What of the memory is in use, in bytes: between two passes, filters.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.budget.limit_bytes() - self.budget.available_bytes()
    }

    /// Temporary disk that may still be used, in bytes: by the cap, and by what is free unless the caller
    /// does not want that to count.
    pub(crate) fn temp_bytes_left(&self) -> u64 {
        let by_cap = self.space.left_bytes();
        if self.options.ignore_free_space {
            by_cap
        } else {
            by_cap.min(free_bytes(&temp_parents(self.options)))
        }
    }

    /// How buckets are read whose longest line has `longest_line` bytes.
    pub(crate) fn read_rules(&self, longest_line: u64) -> ReadRules<'o> {
        ReadRules {
            space: self.space,
            hasher: self.hasher,
            buffer_bytes: self.layout.read_bytes(),
            longest_line,
        }
    }

    /// The handle that stops this run.
    pub(crate) fn interrupt(&self) -> &Interrupt {
        &self.options.interrupt
    }

    /// An address for a new store of buckets on a split level.
    pub(crate) fn new_store(&self, level: u32) -> Address {
        let store = self.next_store.fetch_add(1, Ordering::Relaxed) as u32;
        Address {
            run: self.id,
            store,
            bucket: 0,
            level,
            number: 0,
        }
    }

    /// The memory of this run's buckets.
    pub(crate) fn block_pool(&self) -> BlockPool {
        let layout = &self.layout;
        BlockPool::new(&self.budget, layout.block_bytes, layout.pool_blocks)
    }

    /// Whether lines must be IPv4 addresses.
    pub(crate) fn is_ipv4(&self) -> bool {
        self.options.key_type == KeyType::Ipv4
    }

    /// Tells the observer that each of `inputs` will be read, once for each of `verbs`.
    pub(crate) fn expect_inputs(&self, verbs: &[&'static str], inputs: &[Input]) {
        let Some(observer) = &self.options.observer else {
            return;
        };
        let phases = verbs.iter().flat_map(|&name| {
            inputs.iter().map(move |input| PlannedPhase {
                name,
                bytes_read: input.bytes().unwrap_or(0),
            })
        });
        observer.expected(&phases.collect::<Vec<_>>());
    }

    /// Begins a phase; it ends when the returned value is dropped.
    pub(crate) fn phase(&self, name: &str, total_bytes: Option<u64>) -> Phase<'_> {
        if let Some(observer) = &self.options.observer {
            observer.phase_started(name, total_bytes);
        }
        Phase {
            run: self,
            name: name.to_owned(),
            start: Instant::now(),
            bytes_read: AtomicU64::new(0),
            lines: AtomicU64::new(0),
            spilled_before: self.spilled_bytes(),
        }
    }

    /// A phase that reads `input`.
    pub(crate) fn input_phase(&self, verb: &str, input: &Input) -> Phase<'_> {
        self.phase(&format!("{verb} {}", input.name().display()), input.bytes())
    }

    /// What is noted for the statistics, to be changed.
    pub(crate) fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spilled_bytes(&self) -> u64 {
        self.space.space_use().written_bytes
    }
}

/// Where temporary files go: as the options say, else `$TMPDIR`, else the current directory. Never
/// blindly `/tmp`, which is memory on some systems.
pub(crate) fn temp_parents(options: &Options) -> Vec<std::path::PathBuf> {
    if !options.temp_dirs.is_empty() {
        return options.temp_dirs.clone();
    }
    match std::env::var_os("TMPDIR") {
        Some(directory) if !directory.is_empty() => vec![directory.into()],
        _ => vec![".".into()],
    }
}

/// A phase that is going on.
#[derive(Debug)]
pub(crate) struct Phase<'r> {
    run: &'r Run<'r>,
    name: String,
    start: Instant,
    bytes_read: AtomicU64,
    lines: AtomicU64,
    spilled_before: u64,
}

impl Phase<'_> {
    /// Counts what a chunk or a block brought.
    pub(crate) fn advance(&self, bytes_read: u64, lines: u64) {
        self.bytes_read.fetch_add(bytes_read, Ordering::Relaxed);
        self.lines.fetch_add(lines, Ordering::Relaxed);
        if let Some(observer) = &self.run.options.observer {
            observer.advanced(bytes_read, lines);
        }
    }
}

impl Drop for Phase<'_> {
    fn drop(&mut self) {
        let stats = PhaseStats {
            name: std::mem::take(&mut self.name),
            seconds: self.start.elapsed().as_secs_f64(),
            bytes_read: self.bytes_read.load(Ordering::Relaxed),
            bytes_written: self.run.spilled_bytes() - self.spilled_before,
            lines: self.lines.load(Ordering::Relaxed),
        };
        if let Some(observer) = &self.run.options.observer {
            observer.phase_finished(&stats);
        }
        self.run.record().phases.push(stats);
    }
}
