//! The system below: what the machine has, and how this crate asks it.
//!
//! *Owns:* limits of the machine and the process ([`machine`]), what the processor can do ([`cpu`]), which file is
//! which ([`file_id`]), reading and writing around the page cache ([`direct_io`]), what the system has not yet
//! written ([`writeback`]), threads ([`threads`]), what goes round between them ([`belt`]) and the first error among
//! them ([`first_error`]), computation on several of them ([`compute_pool`]), calls that may panic (`panic_guard`),
//! programs that are started ([`child`]) and their words ([`command`]), checksums ([`checksum`]), the points where
//! tests make something fail ([`failpoint`]), the locks and queues that a model checker can replace ([`sync`]), and the
//! calls that only Linux has ([`calls`]).
//!
//! *Invariants:* nothing here knows of lines, inputs or plans.

pub(crate) mod belt;
pub(crate) mod calls;
pub(crate) mod checksum;
pub(crate) mod child;
pub(crate) mod command;
pub(crate) mod compute_pool;
pub(crate) mod cpu;
pub(crate) mod direct_io;
pub(crate) mod failpoint;
pub(crate) mod file_id;
pub(crate) mod first_error;
pub mod machine;
#[cfg(feature = "parquet")]
pub(crate) mod panic_guard;
pub(crate) mod sync;
pub(crate) mod threads;
pub(crate) mod writeback;
