//! Lines: the one module that knows what a line is.
//!
//! *Owns:* terminators, carriage returns and quotes ([`LineFormat`], [`quotes`]), where the last whole line of some
//! bytes ends ([`last_end`]), and lines that need none of these ([`prefixed`]). *Invariants:* nothing else in the crate
//! knows terminators; bytes of lines are never changed. *Cost:* 64 bytes are searched at a time.

mod block;
mod format;
pub(crate) mod last_end;
pub(crate) mod prefixed;
pub(crate) mod quotes;

pub use format::{LineFormat, Lines};
