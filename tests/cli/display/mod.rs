//! The texts and pictures that people look at while a run goes on and after it.

mod events;
mod labels;
mod notices;
mod overlaps;
mod pairs;
mod progress;
mod report;
