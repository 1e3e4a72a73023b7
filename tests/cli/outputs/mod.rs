//! The outputs.

mod compressed;
mod directory;
mod files;
mod mounts;
mod via;
