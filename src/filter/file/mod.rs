//! The file of a filter, byte by byte.
//!
//! *Owns:* the format, its writing ([`FilterTarget`]) and its reading ([`StoredFilter`]).
//!
//! *Invariants.*
//! - A file is in place complete and synced, or not at all.
//! - A file that is damaged, shortened, lengthened, of another program or of a newer version is
//!   refused, with the reason. It is never repaired, and never answers anything.
//! - Nothing is allocated for what a header claims before the file was found to be that long.
//!
//! *Cost:* one pass over the file to check it, whether it is then loaded or mapped; a buffer of
//! 1 MiB.
//!
//! # Version 1
//!
//! Numbers are little-endian. Offsets and sizes are in bytes.
//!
//! | offset | size | what |
//! |---|---|---|
//! | 0 | 8 | magic: `93 4F 53 46 0D 0A 1A 0A`, which is 0x93, `OSF`, CR, LF, 0x1A, LF |
//! | 8 | 4 | version: 1 |
//! | 12 | 4 | offset of the table: 4096 |
//! | 16 | 1 | kind: 1 blocked, 2 classic, 3 counting, 4 spectral, 5 fingerprint |
//! | 17 | 1 | the byte that ends a line: 10 or 0 |
//! | 18 | 1 | 1 if a CR before the line end is not part of the line, else 0 |
//! | 19 | 1 | comparison of keys, a sum: 1 ignores the case of ASCII letters, 2 trims fields, 4 squeezes blanks |
//! | 20 | 4 | cells that a key sets (k) |
//! | 24 | 8 | cells: bits, counters of 4 or 16 bits, slots of 128 bits |
//! | 32 | 8 | lines inserted less lines removed; of digests, how many there are |
//! | 40 | 8 | lines that the filter was laid out for |
//! | 48 | 8 | offset of the body: that of the table, plus its size rounded up to a multiple of 4096 |
//! | 56 | 8 | size of the body: that of the cells, rounded up to a multiple of 8 |
//! | 64 | 32 | key of the hash: four numbers of 8 bytes |
//! | 96 | 8 | the hash of the six bytes `outset` under that key: a program with another hash notices |
//! | 104 | 8 | XXH3-64 of everything between header and body |
//! | 112 | 4 | fields of a key; 0 where keys are whole lines, and in files of versions that did not record it |
//! | 116 | 1 | form of keys of several fields: 1 delimited, 2 CSV, 3 a list in JSON; 0 for one field and for lines |
//! | 117 | 1 | the delimiter, else 0 |
//! | 118 | 3970 | zeros |
//! | 4088 | 8 | XXH3-64 of bytes 0 to 4087 |
//! | 4096 | 8 s | the table: for each of the s sections of the body its XXH3-64, seeded with its number, from 0 |
//! | … | | zeros up to the body |
//! | … | | the body: cells in order, low bits of a number first; the bits after the last cell are 0 |
//!
//! The magic is spoiled by any program that changes line ends or strips the eighth bit. Trimmed fields are compared
//! without the blanks and tabs at both ends; squeezed ones with one space for each run of these.
//!
//! Bytes 19 and 112 to 117 were zeros in the first files of this version; a program of that time refuses files where
//! they are not.
//!
//! A section has 1 MiB; the last one what is left. The file ends with the body.
//!
//! # Which cells are a line's
//!
//! Let h be the `HighwayHash` of 64 bits of the line (without its end) under the key; w(c) the two
//! halves of the product h c of 128 bits, combined by exclusive or; and r(x, n) the high half of the
//! product x n, a number below n. With n cells:
//!
//! - *blocked:* the block r(w(`6a09e667f3bcc909`), n / 512), and in it the bits (w >> (55 - 9 i)) mod 512
//!   for i from 0, of w(`bb67ae8584caa73b`) the first seven, of w(`3c6ef372fe94f82b`) the others.
//! - *classic, counting, spectral:* p = r(w(`db0c2e0d64f98fa7`), n) and s = r(w(`47b5481dbefa4fa5`), n)
//!   are the first position and step; then p becomes (p + s) mod n and s (s + i) mod n, for i from 1. Of
//!   equal positions a counter counts one.
//! - *fingerprint:* the slot r(d, n), or the next free one after it, around the end; d is the first of
//!   the two words of the line's `HighwayHash` of 128 bits, which the slot holds. Two words of 0 mean an
//!   empty slot; a line that has them is kept as 1, 0.
//!
//! A person who can read a filter file can craft false positives, because the file
//! contains the key: files are readable by their owner alone.

#[cfg(target_endian = "big")]
compile_error!(
    "filter files are read and written as they are in memory, which must be little-endian"
);

mod asked;
mod header;
mod save;
mod stored;
mod target;

use crate::sys::checksum;

pub(crate) use asked::AskedFilter;
pub use stored::{CheckedFilter, StoredFilter};
pub use target::FilterTarget;

/// Bytes of a section of the body.
const SECTION_BYTES: u64 = 1 << 20;

/// Returns the checksum of a section: it depends on where the section belongs.
fn section_checksum(number: u64, bytes: &[u8]) -> u64 {
    checksum::in_place(number, bytes)
}
