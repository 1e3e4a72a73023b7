//! Fields with a byte between them, and no quotes.
//!
//! *Owns:* finding them. *Cost:* one search of the record, up to the last field that is wanted.

use crate::record::Bad;

/// Calls `found` with the fields with the numbers `wanted` (from 0, ascending), each with its index in that list.
///
/// # Errors
/// [`Bad::TooFewFields`].
#[inline]
pub(super) fn for_fields<'r>(
    record: &'r [u8],
    delimiter: u8,
    wanted: &[u32],
    mut found: impl FnMut(usize, &'r [u8]),
) -> Result<(), Bad> {
    let mut delimiters = memchr::memchr_iter(delimiter, record);
    let (mut start, mut number) = (0, 0);
    for (index, &this) in wanted.iter().enumerate() {
        while number < this {
            start = delimiters.next().ok_or(Bad::TooFewFields(this + 1))? + 1;
            number += 1;
        }
        let next = delimiters.next();
        let end = next.unwrap_or(record.len());
        found(index, &record[start..end]);
        if index + 1 < wanted.len() {
            let next = next.ok_or(Bad::TooFewFields(wanted[index + 1] + 1))?;
            (start, number) = (next + 1, number + 1);
        }
    }
    Ok(())
}
