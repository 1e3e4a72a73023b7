//! Bytes: how those of a file or stream are reached, and how they are decoded.
//!
//! *Owns:* streams that do not keep a run from stopping ([`stream`]), readers of a program ([`feed`]),
//! commands whose output is read ([`producer`]), files that are
//! read by position ([`file`](mod@file)) and must not change ([`file_state`]), the format of a file ([`file_format`]),
//! and the decoders: [`compressed`] texts and the rows of [`parquet`] files. What is asked of all of them is a
//! [`request`].
//!
//! *Invariants.*
//! - The first bytes of a file decide its format, not its name.
//! - Nothing is allocated because a file says so before the memory for it was granted.
//! - Decoded data is complete, or the run fails. It is read in order, and decoded anew for each pass.
//!
//! *Cost:* a descriptor for each file that is read; what a decoder takes.

pub(crate) mod compressed;
pub(crate) mod feed;
pub(crate) mod file;
pub(crate) mod file_format;
pub(crate) mod file_state;
pub(crate) mod io_error;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "no_parquet.rs"]
pub(crate) mod parquet;
pub(crate) mod producer;
pub(crate) mod request;
pub(crate) mod stream;
