//! Reproducible files of lines with known intersections, differences and unions, of any size in constant
//! memory.
//!
//! Every line is a pure function of the options, a class (in all files, in one, in all but one) and
//! an index. The line holds a token that is a bijection of class and index, so lines are distinct by
//! construction; a seeded permutation puts the lines of each file into another order. Hence it is known
//! which files have each line and how often, and so are the number and the checksum of the lines that
//! each operation of outset writes, without looking at the files.
//!
//! ```
//! use data_gen::{Options, Plan, Workload};
//!
//! let mut options = Options::of(Workload::Urls);
//! options.lines = vec![100, 2000];
//! let plan = Plan::new(&options)?;
//! assert_eq!(plan.common_lines(), 10);
//! # Ok::<(), data_gen::Error>(())
//! ```
//!
//! [`generate()`] writes the files and a [`Manifest`]; [`check()`] compares a result with it, and
//! [`check_table()`] a table of `outset overlaps`.

pub mod amount;
pub mod answers;
pub mod bucket;
pub mod check;
pub mod checksum;
pub mod compress;
pub mod error;
pub mod format;
mod framed;
pub mod generate;
pub mod identity;
pub mod key;
pub mod manifest;
pub mod options;
pub mod plan;
pub mod question;
pub mod records;
pub mod table;
pub mod workload;

mod chunk;
mod counters;
mod counts;
mod length;
mod line;
mod multisets;
mod occurrences;
mod permutation;
mod presets;
mod produce;
mod seed;
mod shared;
mod slots;
mod solve;
mod sums;
mod url;
mod words;
mod zipf;

pub use amount::{Amount, Share};
pub use answers::{Answers, Combination, Holders};
pub use check::{Rules, Verdict, check};
pub use checksum::OrderFree;
pub use chunk::Chunk;
pub use compress::Compression;
pub use error::{Error, Result};
pub use format::Format;
pub use generate::{Target, generate};
pub use manifest::Manifest;
pub use options::Options;
pub use plan::Plan;
pub use question::{Operation, Question};
pub use table::{TableVerdict, check_table};
pub use workload::Workload;
