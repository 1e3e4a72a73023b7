//! Which line stands where.
//!
//! *Owns:* the order of each file. A file's lines are laid out in slots: common lines, lines in all
//! files but one, private lines, repeats, the hot line, empty lines. A permutation of the positions
//! onto the slots shuffles them, another one in each file.
//!
//! *Invariants.* Every slot has exactly one position, so each distinct line occurs. Any range of
//! positions can be written without those before it, on any thread.
//!
//! *Cost:* 10 to 20 ns a line beside the text, 100 ns for repeats by Zipf's law; constant memory.

use std::ops::Range;

use crate::chunk::Chunk;
use crate::counts::{Counts, FileCounts};
use crate::error::Result;
use crate::identity::{Class, Identity};
use crate::line::LineMaker;
use crate::options::{Options, Order, Terminator};
use crate::permutation::Permutation;
use crate::seed::{self, Purpose, Stream};
use crate::words::Piece;
use crate::zipf::Zipf;

const LF: Piece = Piece::new("\n");
const CR_LF: Piece = Piece::new("\r\n");
const NUL: Piece = Piece::new("\0");

/// A run: what every file holds, ready to be written in any order.
#[derive(Debug)]
pub struct Plan {
    counts: Counts,
    maker: LineMaker,
    files: Vec<FilePlan>,
    final_newline: bool,
}

/// The order of one file.
#[derive(Debug)]
struct FilePlan {
    counts: FileCounts,
    /// `None` where positions are slots.
    order: Option<Permutation>,
    /// The slot that the last position has, and the one it would have had.
    last: Option<(u64, u64)>,
    hot_slot: u64,
    repeats: Repeats,
    terminator: Piece,
}

/// Which of a file's distinct lines are repeated.
#[derive(Debug)]
struct Repeats {
    key: u64,
    /// Repeats are of the slots below this.
    choices: u64,
    zipf: Option<(Zipf, Permutation)>,
}

impl Plan {
    /// The plan for `options`.
    ///
    /// # Errors
    /// [`crate::error::Error::Usage`] when the options contradict each other.
    pub fn new(options: &Options) -> Result<Self> {
        let counts = Counts::new(options)?;
        let maker = LineMaker::new(options, counts.indexes())?;
        let files = (0..options.lines.len())
            .map(|file| FilePlan::new(options, &counts, file))
            .collect();
        Ok(Self {
            counts,
            maker,
            files,
            final_newline: options.final_newline,
        })
    }

    /// How many files there are.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// How many lines file number `file` has.
    pub fn lines(&self, file: usize) -> u64 {
        self.files[file].counts.lines
    }

    /// How many of them are distinct, without their terminators.
    pub fn distinct_lines(&self, file: usize) -> u64 {
        let counts = self.files[file].counts;
        counts.distinct + u64::from(counts.empty > 0)
    }

    /// Distinct lines that all files have, without the empty one.
    pub fn common_lines(&self) -> u64 {
        self.counts.common
    }

    /// Whether every file has an empty line.
    pub fn empty_is_common(&self) -> bool {
        self.counts.empty_is_common()
    }

    /// How many lines make about as many bytes as `bytes`; memory stays within a few times as much.
    pub fn lines_in(&self, bytes: usize) -> u64 {
        self.maker.lines_in(bytes)
    }

    /// Adds the lines at `positions` of file number `file` to `chunk`, with their terminators.
    pub fn write(&self, file: usize, positions: Range<u64>, chunk: &mut Chunk) {
        let plan = &self.files[file];
        let cut = if self.final_newline {
            None
        } else {
            plan.counts.lines.checked_sub(1)
        };
        for position in positions {
            if let Some(slot) = plan.distinct_slot_at(position) {
                self.maker.write(self.identity_in(file, slot), chunk);
            }
            if Some(position) != cut {
                chunk.push(plan.terminator);
            }
        }
    }

    /// Adds the line of `identity` to `chunk`, without a terminator.
    pub fn write_line(&self, identity: Identity, chunk: &mut Chunk) {
        self.maker.write(identity, chunk);
    }

    /// The identity of a line of this run, given without terminator and carriage return; `None` if
    /// no file has it. The empty line has none. `spare` is memory to use.
    pub fn identify(&self, line: &[u8], spare: &mut Chunk) -> Option<Identity> {
        self.maker
            .parse(line, spare)
            .filter(|&identity| self.counts.contains(identity))
    }

    /// The line in a slot of distinct lines.
    #[inline]
    fn identity_in(&self, file: usize, slot: u64) -> Identity {
        let common = self.counts.common;
        let partial = self.counts.partial();
        if slot < common {
            let class = Class::Common;
            Identity { class, index: slot }
        } else if slot < common + partial {
            let (other, index) = {
                let number = slot - common;
                (
                    number / self.counts.all_but_one,
                    number % self.counts.all_but_one,
                )
            };
            // The class that lacks this very file has no lines here.
            let lacks = if other < file as u64 {
                other
            } else {
                other + 1
            };
            let class = Class::AllBut(lacks as u32);
            Identity { class, index }
        } else {
            let class = Class::Private(file as u32);
            let index = slot - common - partial;
            Identity { class, index }
        }
    }
}

impl FilePlan {
    fn new(options: &Options, all: &Counts, file: usize) -> Self {
        let counts = all.files[file];
        let crlf = options.crlf.is_in(file);
        let cut = !options.final_newline && counts.lines > 0;
        let key = |purpose| seed::key(options.seed, purpose, file as u64);
        let order = match options.order {
            Order::Shuffled => Some(Permutation::new(key(Purpose::Order), counts.lines)),
            Order::Grouped => None,
        };
        let last = cut.then(|| {
            let position = counts.lines - 1;
            let displaced = order.as_ref().map_or(position, |order| order.at(position));
            let wanted = if all.common > 0 && !crlf {
                all.common
            } else {
                counts.distinct
            };
            (wanted - 1, displaced)
        });
        let first_private = counts.distinct - all.private(file);
        let hot_is_private = options.hot_private && first_private < counts.distinct;
        Self {
            counts,
            order,
            last,
            hot_slot: if hot_is_private { first_private } else { 0 },
            // See `Counts::check_last_lines` for why the last private line is spared.
            repeats: Repeats::new(options, file, counts.distinct - u64::from(cut && crlf)),
            terminator: match options.terminator {
                Terminator::Nul => NUL,
                Terminator::Lf if crlf => CR_LF,
                Terminator::Lf => LF,
            },
        }
    }

    /// The slot of the distinct line at `position`; `None` for an empty line.
    #[inline]
    fn distinct_slot_at(&self, position: u64) -> Option<u64> {
        let slot = self.slot_at(position);
        let counts = &self.counts;
        if slot < counts.distinct {
            Some(slot)
        } else if slot < counts.distinct + counts.repeats {
            Some(self.repeats.slot(slot))
        } else if slot < counts.distinct + counts.repeats + counts.hot {
            Some(self.hot_slot)
        } else {
            None
        }
    }

    #[inline]
    fn slot_at(&self, position: u64) -> u64 {
        let slot = self
            .order
            .as_ref()
            .map_or(position, |order| order.at(position));
        match self.last {
            Some((wanted, _)) if position == self.counts.lines - 1 => wanted,
            Some((wanted, displaced)) if slot == wanted => displaced,
            _ => slot,
        }
    }
}

impl Repeats {
    fn new(options: &Options, file: usize, choices: u64) -> Self {
        let key = |purpose| seed::key(options.seed, purpose, file as u64);
        let law = |exponent| {
            let law = Zipf::new(exponent, choices.max(1));
            (law, Permutation::new(key(Purpose::Rank), choices))
        };
        Self {
            key: key(Purpose::Repeat),
            choices,
            zipf: options.zipf.map(law),
        }
    }

    /// The slot of the distinct line that the repeat in `slot` is of.
    fn slot(&self, slot: u64) -> u64 {
        let mut stream = Stream::new(self.key ^ slot);
        match &self.zipf {
            Some((law, ranks)) => ranks.at(law.draw(&mut stream)),
            None => stream.below(self.choices),
        }
    }
}
