//! Compressed inputs: recognised by their first bytes, decoded to their last.
//!
//! *Owns:* the formats, their decoders, and what may follow what in a file. *Invariants:* a compressed input gives all
//! of its bytes, or the run fails; a decoder has the memory that the budget granted for it.
//!
//! ```text
//!  file or pipe ──▶ Source: 64 KiB that can be looked into
//!                     │ Decoder: which frame comes next, and the memory for it
//!                     └─▶ Frame: the decoder of one format ──▶ chunk buffer
//! ```
//!
//! The thread that reads an input decodes it, beside the workers that hash its lines.
//!
//! *Cost:* a thread for as long as decoding takes; see [`mod@format`] for the memory.

pub(crate) mod decoder;
pub(crate) mod format;
mod frame;
mod lz4;
pub(crate) mod source;
#[cfg(test)]
mod tests;

pub(crate) use decoder::Decoder;
pub(crate) use format::{Front, HEADER_BYTES, decoder_bytes, recognise};
pub(crate) use source::{SOURCE_BYTES, Source};

/// The share of the memory that decoders get in any case, as one by this number: what a pipe needs, and a later frame of a
/// file, shows too late for the plan.
pub(crate) const UNPLANNED_SHARE: u64 = 32;
/// The most bytes for that: what the largest presets of gzip, bzip2, xz, lz4 and zstd take, except for --ultra and --long of zstd.
pub(crate) const MOST_UNPLANNED_BYTES: u64 = 72 << 20;

/// What it takes to decode an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoding {
    /// Memory while it is read, in bytes, going by its first frame.
    pub memory_bytes: u64,
    /// A decoded byte costs as much time as this many that are written or read.
    pub cost: u64,
}

impl Decoding {
    /// The least that the plan sets aside for a pipe: it may turn out to be a gzip file.
    pub(crate) const OF_PIPE: Self = Self {
        memory_bytes: SOURCE_BYTES + (64 << 10),
        cost: 0,
    };

    /// What a file takes that begins with `front`; `None` where nothing is decoded. `is_all` says that it has no more
    /// bytes than these.
    pub(crate) fn of(front: &[u8], is_all: bool) -> Option<Self> {
        match recognise(front, is_all) {
            Front::Plain | Front::Unclear => None,
            Front::Frame(compression) => Some(Self {
                memory_bytes: SOURCE_BYTES + decoder_bytes(compression, front),
                cost: compression.cost(),
            }),
            // What follows is not known: room for a frame with little memory.
            Front::Skippable(_) | Front::LegacyLz4 => Some(Self::OF_PIPE),
        }
    }

    /// The larger memory and the larger cost of both.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            memory_bytes: self.memory_bytes.max(other.memory_bytes),
            cost: self.cost.max(other.cost),
        }
    }
}
