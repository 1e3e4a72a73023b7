//! Temporary space: files that are there while a run is.
//!
//! *Owns:* the private directories ([`places`]), the files in them and their accounting ([`space`]) against
//! the cap ([`quota`]), files that go on in another place where their own is full ([`extents`]), what file
//! systems say of themselves ([`disk`]), and what killed runs have left ([`orphans`]).
//!
//! *Invariants:* nothing here knows what is in the files.

pub(crate) mod disk;
mod extents;
mod orphans;
pub(crate) mod places;
pub(crate) mod quota;
pub(crate) mod space;
