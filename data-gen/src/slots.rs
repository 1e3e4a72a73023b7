//! The order of the lines of a file.
//!
//! *Owns:* the order of one file. Its lines are laid out in slots: common lines, lines in all files
//! but one, private lines, repeats, the hot line, empty lines. A permutation of the positions onto the
//! slots shuffles them, another one in each file.
//!
//! *Invariants.* Every slot has exactly one position, so each distinct line occurs. The slot tells which
//! line it is, and whether this is its first time in the file.
//!
//! *Cost:* 10 to 20 ns a line, 100 ns for repeats by Zipf's law; constant memory.

use crate::counts::{Counts, FileCounts};
use crate::options::{Options, Order, Terminator};
use crate::permutation::Permutation;
use crate::seed::{self, Purpose, Stream};
use crate::words::Piece;
use crate::zipf::Zipf;

const LF: Piece = Piece::new("\n");
const CR_LF: Piece = Piece::new("\r\n");
const NUL: Piece = Piece::new("\0");

/// The order of one file.
#[derive(Debug)]
pub(crate) struct Slots {
    pub(crate) counts: FileCounts,
    /// `None` where positions are slots.
    order: Option<Permutation>,
    /// The slot that the last position has, and the one it would have had.
    pub(crate) last: Option<(u64, u64)>,
    pub(crate) hot_slot: u64,
    pub(crate) repeats: Repeats,
    pub(crate) crlf: bool,
    pub(crate) terminator: Piece,
}

/// The line at a position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// The slot of the distinct line that it is; `None` for the empty line.
    pub(crate) line: Option<u64>,
    /// True if this is the line's own slot, which comes once in the file.
    pub(crate) is_first: bool,
    /// True if it is a repeat by the law of the file.
    pub(crate) is_repeat: bool,
}

/// The choice of a file's distinct lines that are repeated.
#[derive(Debug)]
pub(crate) struct Repeats {
    key: u64,
    /// Repeats are of the slots below this.
    choices: u64,
    zipf: Option<(Zipf, Permutation)>,
}

impl Slots {
    /// The order of file number `file` in a run with these counts.
    pub(crate) fn new(options: &Options, all: &Counts, file: usize) -> Self {
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
            crlf,
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

    /// Returns the line at `position`.
    #[inline]
    pub(crate) fn place_at(&self, position: u64) -> Place {
        let slot = self.slot_at(position);
        let counts = &self.counts;
        let first_hot = counts.distinct + counts.repeats;
        let first_empty = first_hot + counts.hot;
        let is_repeat = (counts.distinct..first_hot).contains(&slot);
        let line = if slot < counts.distinct {
            Some(slot)
        } else if is_repeat {
            Some(self.repeats.slot(slot))
        } else if slot < first_empty {
            Some(self.hot_slot)
        } else {
            None
        };
        Place {
            line,
            is_first: slot < counts.distinct || slot == first_empty,
            is_repeat,
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
    pub(crate) fn slot(&self, slot: u64) -> u64 {
        let mut stream = Stream::new(self.key ^ slot);
        match &self.zipf {
            Some((law, ranks)) => ranks.at(law.draw(&mut stream)),
            None => stream.below(self.choices),
        }
    }
}
