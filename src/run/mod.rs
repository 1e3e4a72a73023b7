//! One run: what all its passes share.
//!
//! *Owns:* the layout of memory in force, the budget, the hash, the number of worker threads, the temporary space, and
//! the counting of phases and inputs.
//!
//! *Invariants:* everything here is dropped at the end of a run, whatever its end; nothing is
//! global, so several runs can go on in one process.
//!
//! A run is made by `engine` for one attempt of a plan, on the thread that called the library. Passes borrow
//! it and share it between their threads; only [`Run::set_layout`] needs it alone, between two passes.

pub(crate) mod feasibility;
pub(crate) mod listing;
mod mismatches;
pub(crate) mod survey;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};

use crate::answer::{KeptLines, LineNumbers, SortRules};
use crate::error::Result;
use crate::hash::LineHasher;
use crate::input::Input;
use crate::interrupt::Interrupt;
use crate::memory::budget::{MemoryBudget, Reservation};
use crate::options::{KeyType, Options};
use crate::plan::{Layout, PlannedPhase};
use crate::record::{Columns, MOST_BUILT_BYTES};
use crate::selection::Order;
use crate::spill::block::Address;
use crate::spill::bucket::Bucket;
use crate::spill::pool::BlockPool;
use crate::spill::reader::ReadRules;
use crate::stats::{BucketStats, FilterStats, GroupStats, MemoryStats, PhaseStats, TempStats};
use crate::sys::machine;
use crate::sys::threads::Workers;
use crate::temp::disk::free_bytes;
use crate::temp::space::TempSpace;

/// The state that the passes of one run share.
#[derive(Debug)]
pub(crate) struct Run<'o> {
    pub(crate) options: &'o Options,
    /// The division of memory now: that of the plan, or of a revision.
    pub(crate) layout: Layout,
    /// Every buffer that grows with the input is reserved here. Its limit is the usable memory of the first
    /// layout and never changes.
    pub(crate) budget: MemoryBudget,
    /// The budget that grants the memory of decoders.
    pub(crate) decoding: MemoryBudget,
    /// One key for all passes: filters and buckets of a run are made of the same hashes.
    pub(crate) hasher: LineHasher,
    /// The lines of the answer, where it is read once more from the inputs: scans number lines for it.
    pub(crate) kept: Option<Arc<KeptLines>>,
    /// The numbers of lines, where the sink is told which are dropped: the pass that spills lines counts them.
    pub(crate) line_numbers: Option<Arc<LineNumbers>>,
    /// The threads `work-N` that a pass may start.
    pub(crate) workers: Workers,
    /// A random number by which the spill blocks of this run differ from those of any other.
    id: u64,
    /// The number of the next store of buckets, so that blocks of two stores differ.
    next_store: AtomicU64,
    /// Temporary files. Outlives the run, which may be one of several attempts.
    pub(crate) space: &'o TempSpace,
    /// The facts for the statistics. Locked for a moment at the end of a phase or a pass, never per line.
    record: Mutex<Record>,
    /// Reservations for the bookkeeping of buckets that a revision has added.
    later_buckets: Vec<Reservation>,
}

/// The facts that are noted for the statistics.
#[derive(Debug, Default, Clone)]
pub(crate) struct Record {
    /// Phases that have ended, in the order of their ends.
    pub(crate) phases: Vec<PhaseStats>,
    /// The statistics of the join.
    pub(crate) buckets: BucketStats,
    /// The filter that was asked first, if one was built or given.
    pub(crate) filter: Option<FilterStats>,
    /// The lines of the answer that came most often, if occurrences were counted.
    pub(crate) groups: Option<Vec<GroupStats>>,
    /// The step that the next phase is; `None` if no phases were announced.
    next_step: Option<usize>,
}

impl<'o> Run<'o> {
    /// Sets a run up in a plan's `layout`. Reserves and starts nothing yet.
    pub(crate) fn new(
        options: &'o Options,
        layout: Layout,
        hasher: LineHasher,
        space: &'o TempSpace,
    ) -> Self {
        Self {
            options,
            budget: MemoryBudget::new(layout.usable_bytes, layout.base_bytes),
            decoding: MemoryBudget::new(
                layout.decoding.bytes,
                layout.memory_bytes - layout.decoding.bytes,
            ),
            hasher,
            kept: None,
            line_numbers: None,
            workers: Workers::new(layout.scan.workers),
            // Any value that another run is unlikely to have will do: it tells blocks apart that a reader finds
            // in the wrong file, and guards against nothing else.
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

    /// Goes on with another layout, made from the one in force by a revision. Called between two passes, when
    /// only filters are in memory.
    ///
    /// A layout with more buckets counts their bookkeeping to what the process needs besides buffers. The limit
    /// of the budget cannot shrink, so that much of it is reserved instead, until the run ends.
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

    /// Returns the bytes of the budget that are reserved now. Between two passes: the filters.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.budget.limit_bytes() - self.budget.available_bytes()
    }

    /// Returns the part of these bytes that is the bookkeeping of buckets, which stays until the run ends.
    pub(crate) fn bookkeeping_bytes(&self) -> u64 {
        self.later_buckets.iter().map(Reservation::bytes).sum()
    }

    /// Returns the temporary disk that may still be used, in bytes: what the cap leaves, and no more than is free
    /// unless `--force` says to ignore that.
    pub(crate) fn temp_bytes_left(&self) -> u64 {
        // Other runs that share the quota count towards the cap.
        let by_cap = self.space.left_bytes();
        if self.options.ignore_free_space {
            by_cap
        } else {
            by_cap.min(free_bytes(&self.options.temp_parents()))
        }
    }

    /// Makes the rules of an answer of which the first `most` lines in this order are wanted.
    pub(crate) fn sort_rules(&self, order: Order, most: u64) -> SortRules<'o> {
        SortRules {
            order,
            most,
            space: self.space,
            address: self.new_store(0),
            always_spill: self.options.always_spill,
        }
    }

    /// Makes the rules by which a join reads these buckets, or buckets that they are split into.
    pub(crate) fn read_rules<'b>(
        &self,
        buckets: impl IntoIterator<Item = &'b Bucket>,
    ) -> ReadRules<'o> {
        let (mut longest_line, mut longest_record) = (0, 0);
        for bucket in buckets {
            longest_line = bucket.longest_line.max(longest_line);
            if bucket.columns.is_some() {
                longest_record = bucket.longest_line.max(longest_record);
            }
        }
        ReadRules {
            space: self.space,
            hasher: self.hasher,
            buffer_bytes: self.layout.read_bytes(),
            longest_line,
            key_copy_bytes: if longest_record > MOST_BUILT_BYTES as u64 {
                Columns::most_copied(longest_record)
            } else {
                0
            },
        }
    }

    /// Returns the handle that stops this run, from another thread or a signal.
    pub(crate) fn interrupt(&self) -> &Interrupt {
        &self.options.interrupt
    }

    /// Makes the address of the first block in a new store of buckets on split level `level`. A reader compares all
    /// parts of an address with those in a block's header: a block of another run, store or bucket is refused. Any
    /// thread may call this: the join makes a store for each split.
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

    /// Makes a pool for the blocks of this run's spill passes, in the layout in force. Its blocks are reserved as
    /// they are first needed.
    pub(crate) fn block_pool(&self) -> BlockPool {
        let layout = &self.layout;
        BlockPool::new(
            &self.budget,
            layout.pool.block_bytes,
            layout.pool.blocks,
            layout.pool.writers as u64,
        )
    }

    /// Returns true if lines must be IPv4 addresses ([`KeyType::Ipv4`]).
    pub(crate) fn is_ipv4(&self) -> bool {
        self.options.key_type == KeyType::Ipv4
    }

    /// Announces to the observer that each of `inputs` will be read, once for each of `verbs`: where no plan
    /// says so, or a run has found something better than its plan. A progress display then knows what is to come.
    pub(crate) fn expect_inputs<'i>(
        &self,
        verbs: &[&'static str],
        inputs: impl Iterator<Item = &'i Input>,
    ) {
        let inputs: Vec<&Input> = inputs.collect();
        let all = verbs
            .iter()
            .flat_map(|&verb| inputs.iter().map(move |input| (verb, input)));
        let phase = |(step, (name, input)): (usize, (_, &&Input))| PlannedPhase {
            step,
            name,
            bytes_read: input.likely_bytes().unwrap_or(0),
        };
        self.expect(&all.enumerate().map(phase).collect::<Vec<_>>());
    }

    /// Announces to the observer that these phases will come, in place of those that were planned. The next phase is
    /// the first step, unless [`Run::begin_step`] says otherwise.
    pub(crate) fn expect(&self, phases: &[PlannedPhase]) {
        if let Some(observer) = &self.options.observer {
            observer.expected(phases);
        }
        self.begin_step(0);
    }

    /// Notes the step of the list that the next phase is.
    pub(crate) fn begin_step(&self, step: usize) {
        self.record().next_step = Some(step);
    }

    /// Begins a phase, of which `total_bytes` are expected to be read; it ends when the returned value is
    /// dropped. Bytes written to temporary disk are counted to the phase that is going on, so phases must not
    /// overlap.
    pub(crate) fn phase(&self, name: &str, total_bytes: Option<u64>) -> Phase<'_> {
        let step = self.record().next_step;
        if let Some(observer) = &self.options.observer {
            observer.phase_started(name, step, total_bytes);
        }
        self.record().next_step = step.map(|step| step + 1);
        Phase {
            run: self,
            name: name.to_owned(),
            start: Instant::now(),
            bytes_read: AtomicU64::new(0),
            lines: AtomicU64::new(0),
            spilled_before: self.spilled_bytes(),
        }
    }

    /// Begins a phase that reads all of `input`; `verb` is what the phase does, as [`PlannedPhase::name`].
    pub(crate) fn input_phase(&self, verb: &str, input: &Input) -> Phase<'_> {
        self.phase(
            &format!("{verb} {}", input.name().display()),
            input.likely_bytes(),
        )
    }

    /// Locks the notes for the statistics. Hold the guard for one statement only: the end of a phase takes
    /// the same lock.
    pub(crate) fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock()
    }

    /// Returns what the process has used of its memory so far.
    pub(crate) fn memory_stats(&self) -> MemoryStats {
        MemoryStats {
            limit_bytes: self.layout.memory_bytes,
            peak_rss_bytes: machine::peak_resident_bytes(),
        }
    }

    /// Returns what all attempts so far have used of the temporary disk.
    pub(crate) fn temp_stats(&self) -> TempStats {
        let space = self.space.space_use();
        TempStats {
            written_bytes: space.written_bytes,
            read_bytes: space.read_bytes,
            peak_bytes: space.peak_bytes,
            files: space.files,
        }
    }

    /// Returns the bytes that all attempts have written to temporary files so far.
    fn spilled_bytes(&self) -> u64 {
        self.space.space_use().written_bytes
    }
}

/// A phase that is going on. Dropping it ends the phase, also when an error returns early or a panic unwinds.
#[derive(Debug)]
pub(crate) struct Phase<'r> {
    /// Its observer hears of the phase, and its record gets the statistics.
    run: &'r Run<'r>,
    /// A verb, and the name of the input if there is one.
    name: String,
    start: Instant,
    /// Bytes of inputs, buckets or held blocks that were read.
    bytes_read: AtomicU64,
    lines: AtomicU64,
    /// The bytes that the space had written when the phase began: the difference at its end is the phase's own.
    spilled_before: u64,
}

impl Phase<'_> {
    /// Counts the bytes and lines of one chunk or block. Any thread of the pass calls it; the observer is
    /// called on that thread.
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
        let seconds = self.start.elapsed().as_secs_f64();
        let stats = PhaseStats {
            name: std::mem::take(&mut self.name),
            seconds,
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
