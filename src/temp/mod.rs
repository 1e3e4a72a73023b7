//! Temporary space: files that are there while a run is.
//!
//! *Owns:* the private directories ([`directories`]), the files in them and their accounting ([`space`]) against the
//! cap ([`quota`]), copies of streams ([`copy`]), which blocks go through the page cache ([`page_cache`]), files that
//! go on in another directory where their own is full ([`extents`]), what file systems say of themselves ([`disk`]),
//! and what killed runs have left ([`orphans`]).
//!
//! What a temporary directory looks like while a run uses it:
//!
//! ```text
//!  /var/tmp/                        the user named it; it is never removed
//!    outset-spill-Xa81bc/           the private directory of one command, mode 0700
//!      lock                         locked as long as its run is alive
//!      000000-spool                 a copy of a pipe: number, dash, label
//!      000003-ahead                 a copy of what was read before its turn
//!      000001-store0-bucket7        bucket 7 of the first store
//!      000002-store1-bucket7
//! ```
//!
//! Numbers count the files of a command, over all its temporary directories. A file that goes on in another one has the
//! same name there.
//!
//! *Invariants:* nothing here knows what is in the files.

pub(crate) mod copy;
pub(crate) mod directories;
pub(crate) mod disk;
mod extents;
mod orphans;
mod page_cache;
pub(crate) mod quota;
pub(crate) mod space;
