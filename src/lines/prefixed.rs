//! Lines with their lengths before them.
//!
//! *Owns:* the form of records in blocks that spill, and in sorted runs: nobody looks at bytes to find where they end,
//! and a line may have any. *Invariants:* a record is read back as it was written. *Cost:* one byte for a line of less
//! than 128.

/// The bytes of the longest length: 64 bits at 7 bits a byte.
pub(crate) const MAX_LENGTH_BYTES: usize = 10;

/// Returns the bytes of a record: the length of the line as [`put_length`] writes it, and the line.
#[inline]
pub(crate) fn record_bytes(line_bytes: usize) -> usize {
    // `| 1`, because the length 0 takes one byte as well.
    let bits = usize::BITS - (line_bytes | 1).leading_zeros();
    line_bytes + bits.div_ceil(7) as usize
}

/// Writes a length at the front of `out`, seven bits a byte, the lowest first; the top bit says that more
/// follow. Returns how many bytes that took. `out` must have room for them: [`MAX_LENGTH_BYTES`] are enough.
#[inline]
pub(crate) fn put_length(out: &mut [u8], length: usize) -> usize {
    let (mut rest, mut at) = (length, 0);
    while rest >= 0x80 {
        out[at] = (rest as u8) | 0x80;
        rest >>= 7;
        at += 1;
    }
    out[at] = rest as u8;
    at + 1
}

/// Reads what [`put_length`] wrote: the length and how many bytes it took. `None` if `bytes` ends, or
/// [`MAX_LENGTH_BYTES`] pass, before the last byte of a length.
#[inline]
pub(crate) fn take_length(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut length = 0usize;
    for (at, &byte) in bytes.iter().take(MAX_LENGTH_BYTES).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * at as u32);
        if byte < 0x80 {
            return Some((length, at + 1));
        }
    }
    None
}

/// Iterates over the lines of a payload of whole records.
///
/// It ends early where the payload is malformed. It cannot report that, so its user compares the number of
/// lines with the number of records that the block has.
#[derive(Debug)]
pub(crate) struct PrefixedLines<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for PrefixedLines<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, taken) = take_length(self.0)?;
        let line = self.0.get(taken..taken.checked_add(length)?)?;
        self.0 = &self.0[taken + length..];
        Some(line)
    }
}
