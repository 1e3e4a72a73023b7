//! The surroundings of the tests: a sandbox for runs, texts to intersect, a terminal.

pub(crate) mod data;
pub(crate) mod json;
pub(crate) mod sandbox;
pub(crate) mod tasks;
pub(crate) mod terminal;
