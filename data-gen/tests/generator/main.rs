//! The generator: what it writes, held against oracles that read the bytes, and the command as it is called. One
//! program, because linking each file by itself takes longer than running it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod check;
mod cli;
mod common;
mod operations;
mod shape;
mod workloads;
