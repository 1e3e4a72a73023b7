//! What people look at while a run goes on and after it.

mod notices;
mod progress;
mod report;
