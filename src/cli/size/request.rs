//! Two things given, from which the third follows.
//!
//! *Owns:* which options go together, and what is no number of lines, no rate, no memory.
//! *Invariants:* a request that exists can be answered for every kind.

use outset::filter::{Kind, Shape};
use outset::{Error, Result};

use super::arguments::SizeArguments;

/// A block of the default kind: nothing smaller is a filter.
const LEAST_MEMORY_BYTES: u64 = 64;
/// More is no memory of any machine, and would not be counted right in 64 bits.
const MOST_BITS: f64 = (1u64 << 63) as f64;

/// The values that are given, and so the question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum SizeRequest {
    /// The size for this number of lines and this rate.
    LinesAndRate(u64, f64),
    /// The rate with this number of lines in this number of bytes.
    LinesAndMemory(u64, u64),
    /// The rate with this number of lines and this number of bits of storage a line.
    LinesAndBits(u64, f64),
    /// The number of lines that fit this number of bytes at this rate.
    MemoryAndRate(u64, f64),
    /// The number of lines, and the rate, with this number of bytes and of bits a line.
    MemoryAndBits(u64, f64),
}

impl SizeRequest {
    /// Reads the question from the arguments.
    ///
    /// # Errors
    /// [`Error::Usage`] for a value out of its range, and for too few options or too many.
    pub(super) fn new(arguments: &SizeArguments) -> Result<Self> {
        check_values(arguments)?;
        check_hashes(arguments)?;
        let (lines, bytes) = (arguments.lines, arguments.memory);
        let request = match (lines, bytes, arguments.max_fpr, arguments.bits_per_key) {
            (Some(lines), None, Some(fpr), None) => Self::LinesAndRate(lines, fpr),
            (Some(lines), Some(bytes), None, None) => Self::LinesAndMemory(lines, bytes),
            (Some(lines), None, None, Some(bits)) => Self::LinesAndBits(lines, bits),
            (None, Some(bytes), Some(fpr), None) => Self::MemoryAndRate(bytes, fpr),
            (None, Some(bytes), None, Some(bits)) => Self::MemoryAndBits(bytes, bits),
            (_, _, Some(_), Some(_)) => {
                return Err(Error::usage(
                    "size: --max-fpr and --bits-per-key are both given",
                    "leave one out, because each follows from the other",
                ));
            }
            (Some(_), Some(_), ..) => {
                return Err(Error::usage(
                    "size: --lines, --memory and a rate or bits per key are all given",
                    "leave one out, because it follows from the other two",
                ));
            }
            _ => return Err(too_few(arguments)),
        };
        request.check_size()?;
        Ok(request)
    }

    /// Returns the lines and the shape of a filter of this kind, with `hashes` hashes (or the
    /// most that the kind has) or with the best number of them.
    pub(super) fn shape(self, kind: Kind, hashes: Option<u32>) -> (u64, Shape) {
        match self {
            Self::LinesAndRate(lines, fpr) => (lines, Shape::for_fpr(kind, lines, fpr, hashes)),
            Self::LinesAndMemory(lines, bytes) => {
                (lines, Shape::for_bytes(kind, lines, bytes, hashes))
            }
            Self::LinesAndBits(lines, bits) => {
                (lines, Shape::for_bits_per_key(kind, lines, bits, hashes))
            }
            Self::MemoryAndRate(bytes, fpr) => {
                let lines = Shape::most_keys(kind, bytes, fpr, hashes);
                (lines, Shape::for_bytes(kind, lines, bytes, hashes))
            }
            Self::MemoryAndBits(bytes, bits) => {
                let lines = (bytes as f64 * 8.0 / bits) as u64;
                (lines, Shape::for_bytes(kind, lines, bytes, hashes))
            }
        }
    }

    fn check_size(self) -> Result<()> {
        let bits = match self {
            Self::LinesAndRate(lines, _) => lines as f64 * 128.0,
            Self::LinesAndBits(lines, bits) => lines as f64 * bits,
            Self::LinesAndMemory(_, bytes)
            | Self::MemoryAndRate(bytes, _)
            | Self::MemoryAndBits(bytes, _) => bytes as f64 * 8.0,
        };
        if bits < MOST_BITS {
            return Ok(());
        }
        Err(Error::usage(
            "size: more than 2^63 bits, larger than any machine's memory",
            "give fewer lines, fewer bits or less memory",
        ))
    }
}

/// Checks each value by itself.
fn check_values(arguments: &SizeArguments) -> Result<()> {
    let bad_fpr = arguments.max_fpr.filter(|fpr| *fpr <= 0.0 || *fpr >= 1.0);
    let is_size = |bits: &f64| *bits > 0.0 && bits.is_finite();
    let bad_bits = arguments.bits_per_key.filter(|bits| !is_size(bits));
    let bad_memory = arguments.memory.filter(|bytes| *bytes < LEAST_MEMORY_BYTES);
    let (what, advice) = if arguments.lines == Some(0) {
        ("--lines: 0".to_owned(), "give at least 1, such as 5e9")
    } else if let Some(fpr) = bad_fpr {
        let advice = "give a rate above 0 and below 1, such as 1% or 0.01";
        (format!("--max-fpr: {fpr}"), advice)
    } else if let Some(bytes) = bad_memory {
        let advice = "give at least 64, the size of one block";
        (format!("--memory: {bytes} bytes"), advice)
    } else if let Some(bits) = bad_bits {
        let advice = "give a positive number, such as 9.6";
        (format!("--bits-per-key: {bits}"), advice)
    } else {
        return Ok(());
    };
    Err(Error::usage(format!("{what} given"), advice))
}

/// Checks that the kind allows the number of hashes asked for; without a kind, the answer says which allow fewer.
fn check_hashes(arguments: &SizeArguments) -> Result<()> {
    let (Some(kind), Some(hashes)) = (arguments.kind(), arguments.hashes) else {
        return Ok(());
    };
    let most = kind.most_hashes();
    if hashes <= most {
        return Ok(());
    }
    Err(Error::usage(
        format!("--hashes: {hashes} given, but a {kind} filter uses at most {most}"),
        "give fewer, or --kind classic",
    ))
}

fn too_few(arguments: &SizeArguments) -> Error {
    let (what, advice) = match (arguments.lines, arguments.memory) {
        (Some(_), _) => (
            "size: --lines alone is not enough",
            "add --max-fpr, --memory or --bits-per-key",
        ),
        (_, Some(_)) => (
            "size: --memory alone is not enough",
            "add --lines, --max-fpr or --bits-per-key",
        ),
        _ if arguments.max_fpr.is_some() || arguments.bits_per_key.is_some() => (
            "size: a rate or bits per key alone is not enough",
            "add --lines or --memory",
        ),
        _ => (
            "size: --hashes or --kind alone is not enough",
            "add --lines and --max-fpr, or --lines and --memory",
        ),
    };
    Error::usage(what, advice)
}
