//! A record of a random file.
//!
//! *Owns:* its form, and the names of its columns. *Invariants:* the values are what it was written from. *Cost:* the
//! record twice.

/// The names of the columns, before they are put in some order.
pub(super) const NAMES: [&str; 4] = ["id", "url", "a b", "n\"x"];

/// The name of a file, and the number of a line in it.
pub(super) type Place = (String, u64);

/// A record: what its fields say, and how it stands in a file.
#[derive(Debug, Clone)]
pub(super) struct Record {
    /// `None` for one that has no key.
    pub(super) key: Option<Vec<String>>,
    /// True if it is no record at all, but blank or a comment.
    pub(super) is_passed_over: bool,
    pub(super) raw: Vec<u8>,
    /// The values of all columns, in the order of [`NAMES`]; none of what has no key.
    pub(super) values: Vec<String>,
}
