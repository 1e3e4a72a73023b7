//! The content of a case: inputs, the rules for a line in them, and the settings that must agree about them.
//!
//! *Owns:* [`Case`] and its parts. *Invariants:* a case says everything that a run depends on, save the
//! system's scheduling (and its random source, for [`HashChoice::Random`]). *Cost:* each line is kept as bytes of its
//! own, so that shrinking can leave any of them out.

use std::io;

use data_gen::Compression;
use outset::compare::Mistake;
use outset::filter::Kind;
use outset::hash::HashKey;
use outset::{Label, LineFormat, Order, Selection, Strategy};

use crate::counts::Counts;

/// Inputs, and the settings that are to give the same answer for them.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// At least two, in the order in which they are given.
    pub inputs: Vec<Input>,
    /// The byte that ends a line.
    pub terminator: u8,
    /// True if a CR at its end is left out.
    pub strip_cr: bool,
    /// True if every line is an IPv4 address and the engine knows it.
    pub is_ipv4: bool,
    /// The second name of the first input after the others, if it has one.
    pub again: Option<Alias>,
    /// The ways in which it is run.
    pub settings: Vec<Setting>,
}

/// A second name of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alias {
    /// The path that was named first.
    Path,
    /// Another spelling of it.
    Detour,
    /// A symbolic link.
    SymbolicLink,
    /// A hard link.
    HardLink,
}

/// One input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Its lines, none with a terminator in it.
    pub lines: Vec<Vec<u8>>,
    /// True if its last line has a terminator.
    pub is_terminated: bool,
    /// True if it comes through a FIFO.
    pub is_fifo: bool,
    /// True if a command writes it, or one for each of its files.
    pub is_command: bool,
    /// Number of files that it is as one side; of a FIFO this means nothing.
    pub parts: usize,
    /// The compression of its files, and the number of frames of each.
    pub compression: Option<(Compression, usize)>,
}

/// A way to run a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// Through which door.
    pub way: Way,
    /// `None`: auto.
    pub strategy: Option<Strategy>,
    /// The largest false-positive rate that `auto` may choose, 0..1; `None`: exact only, as 0.
    pub max_fpr: Option<f64>,
    /// The memory of the run in bytes, beside what the process has.
    pub memory_bytes: u64,
    /// Threads.
    pub threads: usize,
    /// `None`: planned.
    pub buckets: Option<u32>,
    /// Cap on the filter's bits per key.
    pub bits_per_key: Option<f64>,
    /// True if every full block is written.
    pub always_spill: bool,
    /// The choice of the hash that places lines.
    pub hash: HashChoice,
    /// True if the inputs are named from the last to the first.
    pub is_reversed: bool,
}

impl Setting {
    /// Tells whether no approximate result is allowed.
    pub(crate) fn asks_for_exact(&self) -> bool {
        let accepts_none = self.max_fpr.is_none_or(|rate| rate == 0.0);
        self.strategy.map_or(accepts_none, Strategy::is_exact)
    }
}

/// The key of the hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashChoice {
    /// A key that follows from this number.
    Fixed(u64),
    /// The engine draws one.
    Random,
    /// All lines in one bucket on this number of split levels.
    OneBucket(u32),
    /// One hash for all lines.
    Constant,
}

/// The number of times that a line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Often {
    /// Once.
    Once,
    /// Times that the first input has it.
    Repeats,
    /// Times that a multiset has it.
    All,
}

/// Lines by the inputs that have them; an input that is named twice counts twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Those of the first input alone.
    Difference,
    /// Those that a number of inputs have: at least the first number, at most the second.
    Between(u32, u32),
    /// Those of one combination of inputs: a bit for each that has them, the lowest for the first, and the number of
    /// all inputs.
    Only(u64, u32),
}

/// The request to the inputs: which lines, how often, in which form and order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The lines.
    pub asked: Asked,
    /// The label before each.
    pub label: Label,
    /// The number of times that each comes.
    pub often: Often,
    /// In which order they come.
    pub order: Order,
    /// The numbers of occurrences that they may have, and how many of them are wanted.
    pub counts: Counts,
}

impl Wanted {
    /// Tells whether it is a difference that a filter alone can answer, so that lines may be missing.
    pub fn may_be_approximate(self) -> bool {
        let is_plain = self.label == Label::None && self.often != Often::All;
        let is_counted = self.order == Order::Count || !self.counts.is_any();
        is_plain && !is_counted && self.asked == Asked::Difference
    }

    /// Returns the selection that the engine is asked for.
    pub fn selection(self) -> Selection {
        let Self {
            asked,
            label,
            often,
            order,
            counts,
        } = self;
        let selection = match asked {
            Asked::Difference => Selection::difference(),
            // A multiset is one of the four operations, by its own name.
            Asked::Between(1, most) if often == Often::All && most > 1 => Selection::union(),
            Asked::Between(1, 1) => Selection::symmetric_difference(),
            Asked::Between(least, most) if least == most => Selection::exactly(least),
            Asked::Between(least, most) => Selection::between(least, most),
            Asked::Only(bits, sides) => {
                let has: Vec<bool> = (0..sides).map(|side| bits >> side & 1 == 1).collect();
                Selection::only(&has)
            }
        };
        let selection = counts.add_to(selection.labelled(label)).ordered(order);
        match often {
            Often::Once => selection,
            Often::Repeats => selection.with_repeats(),
            Often::All => selection.with_all(),
        }
    }
}

/// The function of the library that answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Way {
    /// `intersect`.
    Intersect,
    /// `select`, of these.
    Select(Wanted),
    /// `pairs`.
    Pairs,
    /// The first input into a filter that is kept in a file, the others held against that.
    Stored {
        /// The filter's kind.
        kind: Kind,
        /// The rate that it is built for.
        fpr: f64,
    },
    /// `compare`, of the operation whose approximate result has these mistakes: an intersection of two inputs, a
    /// difference, or a union.
    Compare(Mistake),
    /// The lines of the first input into a filter by `insert_new`, the first half of them out again: the
    /// filter must still have the others.
    Changed {
        /// The filter's kind, which must be able to forget.
        kind: Kind,
    },
}

impl Input {
    /// The bytes of the input.
    pub fn content(&self, terminator: u8) -> Vec<u8> {
        let bytes = self.lines.iter().map(|line| line.len() + 1).sum();
        let mut content = Vec::with_capacity(bytes);
        for line in &self.lines {
            content.extend_from_slice(line);
            content.push(terminator);
        }
        if !self.is_terminated {
            content.pop();
        }
        content
    }

    /// The bytes that a file with this content has.
    ///
    /// # Errors
    /// What the encoder says.
    pub fn stored(&self, content: &[u8]) -> io::Result<Vec<u8>> {
        let (compression, frames) = match self.compression {
            Some(compression) => compression,
            // Read as it is, it would be taken for a damaged file.
            None if looks_compressed(content) => (Compression::Gzip, 1),
            None => return Ok(content.to_vec()),
        };
        let end = |frame: usize| content.len() * frame / frames;
        let frame = |frame| compression.compress(&content[end(frame)..end(frame + 1)]);
        let frames: io::Result<Vec<Vec<u8>>> = (0..frames).map(frame).collect();
        Ok(frames?.concat())
    }

    /// The bytes of the files that it is split into: empty ones where there are fewer lines, and every other one
    /// without a terminator at its end.
    pub fn split(&self, terminator: u8) -> Vec<Vec<u8>> {
        let content = self.content(terminator);
        let lines: Vec<&[u8]> = content
            .split_inclusive(|&byte| byte == terminator)
            .collect();
        let end = |part: usize| lines.len() * part / self.parts;
        let file = |part| {
            let mut file = lines[end(part)..end(part + 1)].concat();
            // An empty line is one by its terminator alone.
            let ends_in_empty = lines[..end(part + 1)]
                .last()
                .is_none_or(|line| line.len() == 1);
            if part % 2 == 1 && !ends_in_empty && file.last() == Some(&terminator) {
                file.pop();
            }
            file
        };
        (0..self.parts).map(file).collect()
    }

    /// Tells whether it is a side of many files.
    pub fn is_split(&self) -> bool {
        self.parts > 1 && !self.is_fifo
    }
}

impl Case {
    /// Counts the inputs that the engine reads. A second name of the first is not one of them, unless the first is read
    /// from its parts and the name is of the whole file.
    pub fn different_inputs(&self) -> usize {
        let is_whole = self.again.is_some_and(|alias| alias != Alias::Path);
        let is_other = is_whole && self.inputs[0].is_split();
        self.inputs.len() + usize::from(is_other)
    }

    /// Returns the rules for a line, for the engine.
    pub fn format(&self) -> LineFormat {
        LineFormat {
            terminator: self.terminator,
            strip_cr: self.strip_cr,
            ..LineFormat::default()
        }
    }

    /// The bytes of all inputs.
    pub fn contents(&self) -> Vec<Vec<u8>> {
        let contents = self.inputs.iter();
        contents
            .map(|input| input.content(self.terminator))
            .collect()
    }

    /// This case with one setting alone.
    #[must_use]
    pub fn with_setting(&self, setting: Setting) -> Self {
        Self {
            settings: vec![setting],
            ..self.clone()
        }
    }
}

impl HashChoice {
    /// The engine's option.
    pub fn key(self) -> HashKey {
        match self {
            Self::Fixed(number) => HashKey::Fixed(Self::words(number)),
            Self::Random => HashKey::Random,
            Self::OneBucket(levels) => HashKey::OneBucket { levels },
            Self::Constant => HashKey::Constant,
        }
    }

    /// The key of [`HashChoice::Fixed`].
    pub fn words(number: u64) -> [u64; 4] {
        [1, 2, 3, 4].map(|word| crate::choices::mixed(number ^ word))
    }

    /// Tells whether hashes are spread as in real runs, so that rates can be predicted.
    pub fn is_fair(self) -> bool {
        matches!(self, Self::Fixed(_) | Self::Random)
    }
}

/// Tells whether lines begin by chance as compressed files do.
fn looks_compressed(content: &[u8]) -> bool {
    const FIRST_BYTES: [&[u8]; 7] = [
        b"\x1f\x8b",
        b"BZh",
        b"\xfd7",
        b"\x28\xb5",
        b"\x04\x22",
        b"\x02\x21",
        b"\x2a\x4d\x18",
    ];
    let is_skippable = content
        .get(1..)
        .is_some_and(|rest| rest.starts_with(FIRST_BYTES[6]));
    is_skippable || FIRST_BYTES.iter().any(|first| content.starts_with(first))
}
