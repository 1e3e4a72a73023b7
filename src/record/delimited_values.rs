//! Fields with a byte between them, and no quotes.
//!
//! *Owns:* finding them. *Cost:* one search of the record, up to the last field that is wanted.

use crate::record::Bad;

/// Calls `found` with the fields at `places` (from 0, ascending), each with its place in that list.
///
/// # Errors
/// [`Bad::TooFewFields`].
#[inline]
pub(super) fn for_fields<'r>(
    record: &'r [u8],
    delimiter: u8,
    places: &[u32],
    mut found: impl FnMut(usize, &'r [u8]),
) -> Result<(), Bad> {
    let mut delimiters = memchr::memchr_iter(delimiter, record);
    let (mut start, mut number) = (0, 0);
    for (index, &place) in places.iter().enumerate() {
        while number < place {
            start = delimiters.next().ok_or(Bad::TooFewFields(place + 1))? + 1;
            number += 1;
        }
        let next = delimiters.next();
        let end = next.unwrap_or(record.len());
        found(index, &record[start..end]);
        if index + 1 < places.len() {
            let next = next.ok_or(Bad::TooFewFields(places[index + 1] + 1))?;
            (start, number) = (next + 1, number + 1);
        }
    }
    Ok(())
}
