//! The numbers that a plan states: costs in bytes, lines and rates. The field names are stable: scripts read them.
//!
//! *Owns:* the types that `outset plan` prints. *Invariants:* sizes are bytes, rates are in 0..1.

use serde::Serialize;

use crate::plan::Strategy;
use crate::stats::is_zero;

/// The shape of a filter before it is built.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FilterPlan {
    /// Its kind.
    pub kind: &'static str,
    /// Its size in bits.
    pub bits: u64,
    /// Bits set per key.
    pub hashes: u32,
    /// Keys expected: the lines of the input, repeats included; of an approximate strategy the different ones, at least
    /// so many; of a stored filter, its lines.
    pub keys: u64,
    /// Bits over keys.
    pub bits_per_key: f64,
    /// The rate predicted for `keys` distinct keys, 0..1; of a stored filter, the rate that it is
    /// judged by ([`Occupancy::judged_fpr`](crate::filter::Occupancy::judged_fpr)).
    pub predicted_fpr: f64,
    /// The rate if there are as many different keys as a sample allows, 0..1; `None` if the sample shows no repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_fpr: Option<f64>,
    /// The lines that a stored filter was laid out for, where it holds more; else `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overfull_for: Option<u64>,
}

/// The costs of a strategy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Costs {
    /// The strategy.
    pub strategy: Strategy,
    /// True if every line of its result is compared byte by byte.
    pub exact: bool,
    /// Buckets on the first level; 0 if it has none.
    pub buckets: u32,
    /// Readings of the input that is read most often.
    pub passes: u32,
    /// Bytes read, from inputs and temporary files.
    pub bytes_read: u64,
    /// Bytes written to temporary files.
    pub bytes_written: u64,
    /// The most temporary disk at one time, in bytes.
    pub temp_peak_bytes: u64,
    /// Memory used at the peak, in bytes, the process itself included.
    pub memory_bytes: u64,
    /// The filter that is asked first, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<FilterPlan>,
    /// Lines that the result is expected to have by mistake; 0 for exact strategies.
    pub expected_false_lines: f64,
    /// Lines that the result is expected to lack by mistake: of an approximate difference or union.
    #[serde(skip_serializing_if = "is_zero")]
    pub expected_missing_lines: f64,
    /// The most lines that the result may have, or lack, by mistake; `None` if samples show no repeats, by which the
    /// number depends on what they do not show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_wrong_lines: Option<f64>,
    /// The share of the result's lines that are expected to be common, of approximate strategies where
    /// the overlap was estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_precision: Option<f64>,
}

/// A strategy that was not chosen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rejected {
    /// The strategy.
    pub strategy: Strategy,
    /// Why.
    pub reason: String,
    /// Its costs, where it could run at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<Costs>,
}

/// The temporary files that the buckets take which the caller asked for, where these are very many.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ManyFiles {
    /// The files, at most.
    pub files: u64,
    /// About how many seconds it takes to create and remove them, besides what the plan counts in bytes.
    pub seconds: f64,
    /// The buckets that the planner would choose; 0 where it would not use buckets.
    pub enough_buckets: u32,
}
