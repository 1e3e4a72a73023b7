//! What can be an input, under which name, in which pieces.

mod closed;
mod compressed;
mod identity;
mod short;
mod sides;
mod sources;
