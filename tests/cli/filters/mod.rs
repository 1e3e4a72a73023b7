//! Filter files, from the command line.

pub(crate) mod answers;
mod files;
mod limits;
mod readings;
mod requests;
mod rows;
mod sides;
mod size;
