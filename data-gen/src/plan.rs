//! A run: its files, and the lines of each.
//!
//! *Owns:* what the files share: the counts, the making of lines, which file has which line.
//!
//! *Invariants.* Any range of positions can be written without those before it, on any thread. What
//! is written is also summed, and the repeats of shared lines are counted.
//!
//! *Cost:* 10 to 20 ns for the order of a line, 60 ns for its text, 5 ns for its checksum; constant memory.

use std::ops::Range;

use crate::answers::Holders;
use crate::chunk::Chunk;
use crate::counters::Counters;
use crate::counts::Counts;
use crate::error::Result;
use crate::identity::{Class, Identity};
use crate::line::LineMaker;
use crate::options::Options;
use crate::shared::Shared;
use crate::slots::Slots;
use crate::sums::FileSums;

/// A run: what every file holds, ready to be written in any order.
#[derive(Debug)]
pub struct Plan {
    counts: Counts,
    maker: LineMaker,
    files: Vec<Slots>,
    final_newline: bool,
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
            .map(|file| Slots::new(options, &counts, file))
            .collect();
        Ok(Self {
            counts,
            maker,
            files,
            final_newline: options.final_newline,
        })
    }

    /// Returns the number of files.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// Returns the number of lines of file number `file`.
    pub fn lines(&self, file: usize) -> u64 {
        self.files[file].counts.lines
    }

    /// Returns the number of them that are distinct, without their terminators.
    pub fn distinct_lines(&self, file: usize) -> u64 {
        let counts = self.files[file].counts;
        counts.distinct + u64::from(counts.empty > 0)
    }

    /// Distinct lines that all files have, without the empty one.
    pub fn common_lines(&self) -> u64 {
        self.counts.common
    }

    /// Tells whether every file has an empty line.
    pub fn empty_is_common(&self) -> bool {
        self.counts.empty_is_common()
    }

    /// Tells whether a line occurs more than once in a file.
    pub(crate) fn has_repeats(&self) -> bool {
        let mut files = self.files.iter().map(|file| file.counts);
        files.any(|counts| counts.repeats + counts.hot > 0 || counts.empty > 1)
    }

    /// Returns how often file number `file` has the empty line.
    pub(crate) fn empty_lines(&self, file: usize) -> u64 {
        self.files[file].counts.empty
    }

    /// The number of the hot line of file number `file`, if it is a shared one, and how often it comes
    /// beyond the first time and the repeats.
    pub(crate) fn hot_line(&self, file: usize) -> Option<(u64, u64)> {
        let plan = &self.files[file];
        let number = self.shared().number(file, plan.hot_slot)?;
        Some((number, plan.counts.hot))
    }

    /// Tells whether the lines of file number `file` end with CR LF.
    pub(crate) fn has_crlf(&self, file: usize) -> bool {
        self.files[file].crlf
    }

    /// Tells whether the lines of file number `file` end like those of the first file.
    pub(crate) fn is_alike(&self, file: usize) -> bool {
        self.has_crlf(file) == self.has_crlf(0)
    }

    /// A digit for each file, 1 if it has the lines of this class as file number `file` wrote them: byte
    /// for byte, or without carriage returns.
    pub(crate) fn which(&self, class: Option<Class>, file: usize, strip_cr: bool) -> String {
        let is_same = |other| strip_cr || self.has_crlf(other) == self.has_crlf(file);
        let digit = |other| {
            let has = self.has(other, class) && is_same(other);
            if has { '1' } else { '0' }
        };
        (0..self.files()).map(digit).collect()
    }

    /// Tells whether file number `file` has the lines of this class; `None` is that of the empty line.
    pub(crate) fn has(&self, file: usize, class: Option<Class>) -> bool {
        match class {
            None => self.files[file].counts.empty > 0,
            Some(Class::Common) => true,
            Some(Class::Private(only)) => only as usize == file,
            Some(Class::AllBut(lacks)) => lacks as usize != file,
        }
    }

    /// The line that lacks its carriage return because it is the last one of file number `file`.
    pub(crate) fn line_without_cr(&self, file: usize) -> Option<Identity> {
        let plan = &self.files[file];
        let (slot, _) = plan.last.filter(|_| plan.crlf)?;
        Some(self.identity_in(file, slot))
    }

    /// Counts the files that have the line of `identity` with or without a carriage return, as `has_cr` says, or in
    /// either form, and notes whether the first has it. `None` is the empty line.
    pub fn holders(&self, identity: Option<Identity>, has_cr: Option<bool>) -> Holders {
        let class = identity.map(|identity| identity.class);
        let has = |file| {
            let lacks_cr = identity.is_some() && self.line_without_cr(file) == identity;
            let ends_with_cr = self.has_crlf(file) && !lacks_cr;
            self.has(file, class) && has_cr.is_none_or(|has_cr| has_cr == ends_with_cr)
        };
        Holders {
            files: (0..self.files()).filter(|&file| has(file)).count(),
            first: has(0),
        }
    }

    /// The numbers of the lines that two files or more have.
    #[inline]
    pub(crate) fn shared(&self) -> Shared {
        Shared::new(&self.counts)
    }

    /// Returns the number of lines that make about `bytes` bytes; memory stays within a few times as much.
    pub fn lines_in(&self, bytes: usize) -> u64 {
        self.maker.lines_in(bytes)
    }

    /// Adds the lines at `positions` of file number `file` to `chunk`, with their terminators, and to
    /// `sums`; counts the repeats of shared lines.
    pub(crate) fn write(
        &self,
        file: usize,
        positions: Range<u64>,
        chunk: &mut Chunk,
        sums: &mut FileSums,
        counters: &Counters,
    ) {
        let plan = &self.files[file];
        let cut = plan.counts.lines.checked_sub(1);
        let cut = cut.filter(|_| !self.final_newline);
        for position in positions {
            let place = plan.place_at(position);
            let start = chunk.as_bytes().len();
            let class = place.line.map(|slot| {
                let identity = self.identity_in(file, slot);
                self.maker.write(identity, chunk);
                identity.class
            });
            let bare = chunk.as_bytes().len() - start;
            let is_cut = Some(position) == cut;
            if !is_cut {
                chunk.push(plan.terminator);
            }
            let line = &chunk.as_bytes()[start..];
            // The last byte is the line feed; a carriage return before it stays.
            let written = &line[..line.len() - usize::from(!is_cut)];
            sums.add(class, place.is_first, written, bare);
            if let Some(slot) = place.line.filter(|_| place.is_repeat) {
                self.count_repeat(file, slot, counters);
            }
        }
    }

    /// Returns the number of lines of file number `file` that repeat others by its law, the hot line not among them.
    pub(crate) fn repeats(&self, file: usize) -> u64 {
        self.files[file].counts.repeats
    }

    /// Counts this repeat again, without making its line.
    pub(crate) fn count_again(&self, file: usize, repeat: u64, counters: &Counters) {
        let plan = &self.files[file];
        let slot = plan.repeats.slot(plan.counts.distinct + repeat);
        self.count_repeat(file, slot, counters);
    }

    #[inline]
    fn count_repeat(&self, file: usize, slot: u64, counters: &Counters) {
        if let Some(number) = self.shared().number(file, slot) {
            counters.count(number);
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
        match self.shared().number(file, slot) {
            Some(number) => self.shared().identity(number),
            None => Identity {
                class: Class::Private(file as u32),
                index: slot - self.counts.common - self.counts.partial(),
            },
        }
    }
}
