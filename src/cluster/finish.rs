//! `finish`: whether the shards and the joins of a job are all there, and agree.
//!
//! *Owns:* the comparison. *Invariants:* a job is finished only if
//!
//! - all reports are of one job, with the same operation, line ends and number of sides, and all joins wrote the same
//!   lines in the same way;
//! - every side has a shard, and none was filtered whose lines matter by themselves;
//! - every shard is there, once: the ranges of each file follow one another from its first byte to its last, and all of
//!   its bytes were read; where pipes were read, the caller has said how many shards there are;
//! - no bucket was joined twice, and lines and sums of hashes of each side over all shards are those over all joins: so
//!   every bucket that has lines was joined.
//!
//! *Cost:* one reading of the reports; a few words for each range, and a bit for each bucket.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use serde::Serialize;

use crate::cluster::reports::{ClusterReport, Join, Shard, Sums, Written, reports};
use crate::cluster::stats::{RangeStats, SideStats, hex};
use crate::error::{Error, Result};

/// Totals of a finished job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finished {
    /// The name of the job, which all its shards have in common.
    pub job: String,
    /// The operation.
    pub operation: String,
    /// Number of shards.
    pub shards: u64,
    /// Number of buckets that were joined.
    pub buckets: u64,
    /// Lines that were compared, side by side.
    pub sides: Vec<SideStats>,
    /// Lines of the result, all buckets together.
    pub output_lines: u64,
    /// Their bytes, with line ends.
    pub output_bytes: u64,
    /// Bytes of all streams of the shards.
    pub stream_bytes: u64,
}

/// The ranges that were read of one file of a side.
#[derive(Default)]
struct FileRanges {
    size: u64,
    /// The ranges, each with the bytes that were read; true if these are bytes of the file.
    ranges: Vec<(RangeStats, u64, bool)>,
}

/// The content of all reports together.
#[derive(Default)]
struct Reports {
    job: Option<String>,
    operation: Option<String>,
    written: Option<Written>,
    /// By side: a report of a shard that was filtered.
    filtered: BTreeMap<u32, String>,
    buckets: Option<u32>,
    line_end: Option<String>,
    /// The numbers that the shards drew for themselves.
    shards: BTreeSet<String>,
    /// Shards that read a pipe.
    pipes: u64,
    /// By side and path.
    files: BTreeMap<(u32, String), FileRanges>,
    /// By side: what was sent.
    sent: BTreeMap<u32, Sums>,
    /// By side: what was joined.
    joined_sides: BTreeMap<u32, Sums>,
    /// Number of times each bucket was joined.
    joined: BTreeMap<u32, u64>,
    joined_of: Option<usize>,
    output: (u64, u64),
    stream_bytes: u64,
}

/// Compares the reports of all shards and joins of a job in `files` (JSON, one after the other; with their names).
/// `shards` is how many shards there must be. `None` compares only the ranges of each file that is reported with its
/// size: that no shard has read some other file of a side stays unnoticed.
///
/// # Errors
/// [`Error::Unfinished`] with the first thing that is missing, cut short or does not agree, [`Error::Input`] where a
/// file cannot be read, [`Error::Usage`] for what is no report.
pub fn finish<R: Read>(
    files: impl IntoIterator<Item = (String, R)>,
    shards: Option<u64>,
) -> Result<Finished> {
    let mut all = Reports::default();
    for (name, file) in files {
        for report in reports(&name, file) {
            match report? {
                ClusterReport::Shard(shard) => all.add_shard(&name, shard)?,
                ClusterReport::Join(join) => all.add_join(&name, join)?,
            }
        }
    }
    all.check_shards(shards)?;
    all.check_files()?;
    all.check_joins()?;
    all.check_sides()?;
    all.check_filters()?;
    Ok(all.finished())
}

/// Advice where more than one shard has read the same bytes.
const REPORT_ONCE: &str =
    "name the report of each shard once, and make shards whose ranges do not overlap";

/// The byte after each line, in messages.
const LINE_END: &str = "byte after each line (`terminator`)";

/// Makes the error for a job that is not finished.
fn unfinished(what: String, advice: &'static str) -> Error {
    Error::Unfinished { what, advice }
}

impl Reports {
    fn add_shard(&mut self, name: &str, shard: Shard) -> Result<()> {
        same(&mut self.job, shard.job, name, "job")?;
        same(&mut self.buckets, shard.buckets, name, "number of buckets")?;
        same(&mut self.line_end, shard.line_end, name, LINE_END)?;
        if !self.shards.insert(shard.drawn) {
            return Err(unfinished(
                format!("{name}: the report of this shard was named before"),
                REPORT_ONCE,
            ));
        }
        self.stream_bytes += shard.stream_bytes;
        self.sent
            .entry(shard.side)
            .or_default()
            .add(&shard.sent, name)?;
        if shard.is_filtered {
            self.filtered.insert(shard.side, name.to_owned());
        }
        let input = shard.input;
        let Some(size) = input.file_bytes else {
            self.pipes += 1;
            return Ok(());
        };
        let path = input.path.clone();
        let file = self.files.entry((shard.side, input.path)).or_default();
        if !file.ranges.is_empty() && file.size != size {
            return Err(unfinished(
                format!(
                    "{path}: had {size} bytes for the shard of {name}, but {} for another shard",
                    file.size
                ),
                "make all shards again when nothing is writing to the file",
            ));
        }
        file.size = size;
        let all = RangeStats {
            offset: 0,
            length: size,
        };
        let range = input.range.unwrap_or(all);
        file.ranges.push((range, input.bytes, input.is_plain));
        Ok(())
    }

    fn add_join(&mut self, name: &str, join: Join) -> Result<()> {
        if let Some(job) = join.job {
            same(&mut self.job, job, name, "job")?;
        }
        same(&mut self.operation, join.operation, name, "operation")?;
        same(&mut self.line_end, join.line_end, name, LINE_END)?;
        same(
            &mut self.written,
            join.written,
            name,
            "selection of lines (`at_least`, `with_all`, `Label::Count`)",
        )?;
        same(
            &mut self.joined_of,
            join.sides.len(),
            name,
            "number of sides",
        )?;
        for bucket in join.joined {
            *self.joined.entry(bucket).or_default() += 1;
        }
        for (side, sums) in (1..).zip(&join.sides) {
            self.joined_sides.entry(side).or_default().add(sums, name)?;
        }
        self.output.0 += join.output.lines;
        self.output.1 += join.output.bytes;
        Ok(())
    }

    fn check_shards(&self, expected: Option<u64>) -> Result<()> {
        let shards = self.shards.len() as u64;
        match expected {
            Some(expected) if expected != shards => Err(unfinished(
                format!("shards: {expected} expected, but {shards} reported"),
                if shards < expected {
                    "run the shards that are missing"
                } else {
                    REPORT_ONCE
                },
            )),
            None if self.pipes > 0 => Err(unfinished(
                format!(
                    "shards: {} of them read a pipe, so finish cannot notice a missing one",
                    self.pipes
                ),
                "give the number of shards with `shards`",
            )),
            _ if shards == 0 => Err(unfinished(
                "shards: none reported".into(),
                "name the reports of all shards and joins",
            )),
            _ => Ok(()),
        }
    }

    /// Checks that the ranges of each file lie one after the other, from its first byte to its last.
    fn check_files(&mut self) -> Result<()> {
        for ((side, path), file) in &mut self.files {
            file.ranges.sort_by_key(|(range, ..)| *range);
            let mut end = 0;
            for (range, ..) in &file.ranges {
                let (what, advice) = match range.offset {
                    offset if offset > end => {
                        ("no shard has read", "run the shards that are missing")
                    }
                    offset if offset < end => ("two shards have read", REPORT_ONCE),
                    _ => {
                        end = range.offset.saturating_add(range.length);
                        continue;
                    }
                };
                let (from, to) = (end.min(range.offset), end.max(range.offset));
                return Err(unfinished(
                    format!("{path}: {what} bytes {from} to {to} for side {side}"),
                    advice,
                ));
            }
            if end < file.size {
                return Err(unfinished(
                    format!(
                        "{path}: no shard has read bytes {end} to {} for side {side}",
                        file.size
                    ),
                    "run the shards that are missing",
                ));
            }
            let is_plain = file.ranges.iter().all(|(_, _, is_plain)| *is_plain);
            let read: u64 = file.ranges.iter().map(|(_, bytes, _)| bytes).sum();
            if is_plain && read != file.size {
                return Err(unfinished(
                    format!(
                        "{path}: has {} bytes, but {read} were read for side {side}",
                        file.size
                    ),
                    "make all shards again when nothing is writing to the file",
                ));
            }
        }
        Ok(())
    }

    fn check_joins(&self) -> Result<()> {
        let buckets = self.buckets.unwrap_or_default();
        let advice = "join each bucket once";
        if let Some((bucket, times)) = self.joined.iter().find(|(_, times)| **times > 1) {
            let what = format!("bucket {bucket}: was joined {times} times");
            return Err(unfinished(what, advice));
        }
        if let Some((bucket, _)) = self.joined.range(buckets..).next() {
            let what = format!("bucket {bucket}: was joined, but there are only {buckets} buckets");
            return Err(unfinished(what, advice));
        }
        Ok(())
    }

    fn check_sides(&self) -> Result<()> {
        let Some(sides) = self.joined_of.map(|sides| sides as u32) else {
            return Err(unfinished(
                "joins: no report is of one".into(),
                "name the reports of all joins, too",
            ));
        };
        if let Some(side) = self.sent.keys().find(|side| **side > sides) {
            return Err(unfinished(
                format!("side {side}: has shards, but the joins have {sides} sides"),
                "join with the actual number of sides (`sides`)",
            ));
        }
        if let Some(side) = (1..=sides).find(|side| !self.sent.contains_key(side)) {
            return Err(unfinished(
                format!("side {side}: has no shard"),
                "run a shard for each file of each side, even if the file is empty",
            ));
        }
        for side in 1..=sides {
            let of = |sums: &BTreeMap<u32, Sums>| sums.get(&side).copied().unwrap_or_default();
            let (sent, joined) = (of(&self.sent), of(&self.joined_sides));
            if sent != joined {
                let mut buckets = 0..self.buckets.unwrap_or_default();
                // Any other had no lines.
                if let Some(bucket) = buckets.find(|bucket| !self.joined.contains_key(bucket)) {
                    return Err(unfinished(
                        format!("bucket {bucket}: was not joined"),
                        "run the joins that are missing",
                    ));
                }
                let what = if sent.lines == joined.lines {
                    format!("side {side}: the lines that were joined are not those that were sent")
                } else {
                    format!(
                        "side {side}: {} lines were sent, but {} were joined",
                        sent.lines, joined.lines
                    )
                };
                return Err(unfinished(what, "run all joins again with all shards"));
            }
        }
        Ok(())
    }

    /// Checks that only shards were filtered that may be. A filter drops lines that are in no other side; an answer
    /// that such lines are part of would be wrong.
    fn check_filters(&self) -> Result<()> {
        let may_filter = |side: u32| {
            let written = self.written.as_ref();
            written.is_some_and(|written| written.may_filter(side))
        };
        match self.filtered.iter().find(|(side, _)| !may_filter(**side)) {
            Some((side, name)) => Err(unfinished(
                format!(
                    "{name}: the shard of this report was filtered, but this operation needs all lines of side {side}"
                ),
                "make the shard again without `stored_filter`, and join again",
            )),
            None => Ok(()),
        }
    }

    fn finished(self) -> Finished {
        let side = |sums: &Sums| SideStats {
            lines: sums.lines,
            hash_sum: hex(sums.hash_sum),
        };
        Finished {
            job: self.job.unwrap_or_default(),
            operation: self.operation.unwrap_or_default(),
            shards: self.shards.len() as u64,
            buckets: self.joined.len() as u64,
            sides: self.joined_sides.values().map(side).collect(),
            output_lines: self.output.0,
            output_bytes: self.output.1,
            stream_bytes: self.stream_bytes,
        }
    }
}

/// Notes what the first report says, and refuses one that says something else.
fn same<T: PartialEq>(known: &mut Option<T>, said: T, name: &str, what: &str) -> Result<()> {
    match known {
        Some(known) if *known != said => Err(unfinished(
            format!("{name}: its {what} differs from that of earlier reports"),
            "pass only the reports of one job",
        )),
        _ => {
            *known = Some(said);
            Ok(())
        }
    }
}
