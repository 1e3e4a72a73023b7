//! The program from outside: it is started as a user would start it, and judged by its exit status, what it
//! prints, and what it leaves behind.
//!
//! | folder | what its tests are about |
//! |---|---|
//! | `harness` | no tests: a sandbox for runs, texts to intersect, a terminal |
//! | `results` | what a run that goes well gives: lines, statistics, plans, estimates, comparisons |
//! | `inputs` | what can be an input, under which name, in which pieces |
//! | `outputs` | where results go |
//! | `filters` | filter files: building, asking, changing, sizing, refusing |
//! | `words` | what the command line takes and says: options, help, manual pages, README |
//! | `display` | what people look at: progress, notices, the report page |
//! | `limits` | memory, descriptors, groups, temporary space |
//! | `faults` | failures, lost writes, signals, kills, system calls that fail |
//! | `matrix.rs` | the table of all tests by the kind of fault or input |

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![expect(
    clippy::float_cmp,
    reason = "the numbers compared are counts and sizes, read from JSON"
)]

mod display;
mod faults;
mod filters;
mod harness;
mod inputs;
mod limits;
mod matrix;
mod outputs;
mod results;
mod words;

use harness::{data, json, sandbox, tasks, terminal};
