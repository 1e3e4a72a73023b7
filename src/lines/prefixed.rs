//! Lines with their lengths before them.
//!
//! *Owns:* the form of records in blocks that spill, in sorted runs, and in chunks of what has no text: nobody looks at
//! bytes to find where they end, and a line may have any. *Invariants:* a record is read back as it was written.
//! *Cost:* one byte for a line of less than 128.

/// The bytes of the longest length: 64 bits at 7 bits a byte.
pub(crate) const MAX_LENGTH_BYTES: usize = 10;

/// Returns the bytes of a record: the length of the line as [`put_length`] writes it, and the line.
#[inline]
pub(crate) fn record_bytes(line_bytes: usize) -> usize {
    length_bytes(line_bytes) + line_bytes
}

/// Returns the bytes of a length as [`put_length`] writes it.
#[inline]
pub(crate) fn length_bytes(length: usize) -> usize {
    // `| 1`, because the length 0 takes one byte as well.
    let bits = usize::BITS - (length | 1).leading_zeros();
    bits.div_ceil(7) as usize
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

/// Puts the length of a line before it: the line is all of `records` behind the byte at `start`, which was left for
/// that.
#[cfg(any(feature = "parquet", test))]
#[inline]
pub(crate) fn put_before(records: &mut Vec<u8>, start: usize) {
    let mut length = [0; MAX_LENGTH_BYTES];
    let taken = put_length(&mut length, records.len() - start - 1);
    records[start] = length[0];
    if taken > 1 {
        let line = start + 1;
        records.splice(line..line, length[1..taken].iter().copied());
    }
}

/// Counts the bytes of the records at the front of `bytes` that are whole.
pub(crate) fn whole_bytes(bytes: &[u8]) -> usize {
    let mut lines = PrefixedLines(bytes);
    while lines.next().is_some() {}
    bytes.len() - lines.0.len()
}

/// Iterates over the lines of whole records.
///
/// It ends early where the bytes are malformed. It cannot report that, so its user compares the number of lines with
/// the number of records that the block has.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_any_length_come_back_and_a_part_of_one_is_not_whole() {
        let lines = [0, 1, 127, 128, 5, 16_383, 16_384, 3].map(|bytes| vec![b'\n'; bytes]);
        let (mut records, mut ends) = (b"before".to_vec(), Vec::new());
        for line in &lines {
            let start = records.len();
            records.push(0);
            records.extend_from_slice(line);
            put_before(&mut records, start);
            assert_eq!(records.len() - start, record_bytes(line.len()));
            ends.push(records.len() - 6);
        }
        let records = &records[6..];
        assert!(PrefixedLines(records).eq(&lines));
        for bytes in 0..=records.len() {
            let before = ends.iter().take_while(|&&end| end <= bytes);
            let expected = before.last().copied().unwrap_or(0);
            assert_eq!(whole_bytes(&records[..bytes]), expected);
        }
    }
}
