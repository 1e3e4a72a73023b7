//! What a run that goes well gives.

mod bytes;
mod compare;
mod estimate;
mod plan;
mod select;
mod stats;
mod strategies;
