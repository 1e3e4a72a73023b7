//! The outputs.

mod compressed;
mod files;
mod mounts;
mod via;
