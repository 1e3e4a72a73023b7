//! Compressed results: the formats, their levels, and the memory that compressing takes.
//!
//! *Owns:* [`Compression`], and how an output divides its memory ([`CompressorPlan`]): pieces of text, each of which
//! becomes a frame that can be decoded by itself. *Invariants:* the plan of a run and the writer of its result compute
//! the same sizes from the same numbers; all outputs together take no more than one part in
//! [`COMPRESSING_SHARE`] of the limit, unless the smallest sizes already take more.
//!
//! *Sources:* what each encoder takes is from the sources of its crate; a test compares that of zstd.

mod compressor;
mod encoder;

pub(super) use self::compressor::Compressor;
use crate::sys::machine;

/// A format that lines are compressed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// gzip.
    Gzip,
    /// zstd, with checksums.
    Zstd,
    /// The frame format of lz4, with checksums.
    Lz4,
    /// bzip2.
    Bzip2,
    /// xz.
    Xz,
}

impl Codec {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Gzip, Self::Zstd, Self::Lz4, Self::Bzip2, Self::Xz];

    /// Returns the usual ending of the names of such files, without the dot.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Gzip => "gz",
            Self::Zstd => "zst",
            Self::Lz4 => "lz4",
            Self::Bzip2 => "bz2",
            Self::Xz => "xz",
        }
    }

    /// Returns the least, the usual and the highest level.
    pub fn levels(self) -> (u32, u32, u32) {
        match self {
            Self::Gzip => (1, 6, 9),
            Self::Zstd => (1, 3, 19),
            // Its encoder has one.
            Self::Lz4 => (1, 1, 1),
            Self::Bzip2 => (1, 9, 9),
            Self::Xz => (0, 6, 9),
        }
    }
}

/// A format and its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compression {
    codec: Codec,
    level: u32,
}

impl Compression {
    /// Makes one with the usual level.
    pub fn of(codec: Codec) -> Self {
        let (_, level, _) = codec.levels();
        Self { codec, level }
    }

    /// Makes one with this level; `None` if the format does not have it.
    pub fn with_level(codec: Codec, level: u32) -> Option<Self> {
        let (least, _, most) = codec.levels();
        let has_it = (least..=most).contains(&level);
        has_it.then_some(Self { codec, level })
    }

    /// Returns the sizes of the pieces, from the largest. A block of bzip2 is one piece.
    fn pieces(self) -> impl Iterator<Item = u64> {
        let (largest, halvings) = match self.codec {
            Codec::Bzip2 => (u64::from(self.level) * 100_000, 0),
            Codec::Xz => (2 << 20, 5),
            Codec::Gzip | Codec::Zstd | Codec::Lz4 => (1 << 20, 5),
        };
        (0..=halvings).map(move |halving| largest >> halving)
    }

    /// Returns the memory of an encoder of pieces of this size, besides the piece and its frame, in bytes.
    fn encoder_bytes(self, piece_bytes: u64) -> u64 {
        let level = u64::from(self.level);
        match self.codec {
            Codec::Gzip | Codec::Lz4 => 320 << 10,
            // Tables, which the size of a piece bounds; sequences and literals of a block; what optimal parsing keeps.
            Codec::Zstd => {
                let tables = match level {
                    1..4 => (2 * piece_bytes).clamp(384 << 10, 768 << 10),
                    _ => 16 * piece_bytes,
                };
                let parsing = if level < 13 { 0 } else { 1 << 20 };
                tables + 4 * piece_bytes.min(128 << 10) + (32 << 10) + parsing
            }
            Codec::Bzip2 => 400_000 + 800_000 * level,
            // The dictionary is the piece: two trees, hashes and the window.
            Codec::Xz => 14 * piece_bytes + (5 << 18),
        }
    }
}

/// The part of the memory limit that all compressed outputs of a run share: a twentieth. Under the smallest limit,
/// that is what a plan has beside the least that it needs.
pub(crate) const COMPRESSING_SHARE: u64 = 20;
/// The touched part of the stack of a thread, in bytes.
const STACK: u64 = 32 << 10;

/// The threads and the pieces of a compressed output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompressorPlan {
    compression: Compression,
    /// The most threads that compress, at least 1.
    threads: usize,
    /// The bytes of text in a frame; the last one has fewer.
    piece_bytes: usize,
}

impl CompressorPlan {
    /// Plans one of `outputs` compressed outputs of a run with these options
    /// ([`Options::threads`](crate::Options::threads), [`Options::memory_bytes`](crate::Options::memory_bytes)).
    pub fn new(
        compression: Compression,
        outputs: usize,
        threads: Option<usize>,
        memory_bytes: Option<u64>,
    ) -> Self {
        let threads = threads.unwrap_or_else(machine::default_threads);
        let memory_bytes = memory_bytes.unwrap_or_else(machine::default_memory_bytes);
        let share = memory_bytes / COMPRESSING_SHARE / outputs.max(1) as u64;
        Self::within(compression, threads.max(1), share)
    }

    /// Plans for the largest pieces of which `share` bytes hold one for each thread; else for the smallest, and as many
    /// threads as there is room for.
    fn within(compression: Compression, threads: usize, share: u64) -> Self {
        let of = |threads, piece_bytes: u64| Self {
            compression,
            threads,
            piece_bytes: piece_bytes as usize,
        };
        let mut least = of(threads, 0);
        for piece_bytes in compression.pieces() {
            least = of(threads, piece_bytes);
            if least.bytes() <= share {
                return least;
            }
        }
        while least.threads > 1 && least.bytes() > share {
            least.threads -= 1;
        }
        least
    }

    /// Returns the memory that it takes, in bytes.
    fn bytes(&self) -> u64 {
        let piece = self.piece_bytes as u64;
        let threads = self.threads as u64;
        let buffers = piece + self.frame_bytes() as u64;
        (threads + 1) * buffers + threads * (self.compression.encoder_bytes(piece) + STACK)
    }

    /// Returns the most bytes that a frame of a piece has: what cannot be compressed, and what is around it.
    fn frame_bytes(&self) -> usize {
        self.piece_bytes + self.piece_bytes / 64 + 1024
    }
}

/// Returns the memory that the compressed outputs of a run take, in bytes.
pub(crate) fn compressors_bytes(
    compressions: &[Compression],
    threads: usize,
    memory_bytes: u64,
) -> u64 {
    let outputs = compressions.len();
    let plan = |&compression: &Compression| {
        CompressorPlan::new(compression, outputs, Some(threads), Some(memory_bytes)).bytes()
    };
    compressions.iter().map(plan).sum()
}

#[cfg(test)]
mod tests;
