//! The outputs.

mod files;
mod mounts;
