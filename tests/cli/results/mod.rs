//! What a run that goes well gives.

mod bytes;
mod compare;
mod estimate;
mod plan;
mod stats;
mod strategies;
