//! The results of runs that go well.

mod approximate;
mod bytes;
mod clusters;
mod compare;
mod counted;
mod duplicates;
mod estimate;
mod generated;
mod missing;
mod order;
mod plan;
mod repeats;
mod select;
mod stats;
mod strategies;
mod written;
