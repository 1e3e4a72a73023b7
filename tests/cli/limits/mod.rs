//! Limits, measured and set from outside the process.

mod direct;
pub(crate) mod environment;
mod groups;
mod hostile;
pub(crate) mod memory;
mod names;
mod operations;
mod room;
