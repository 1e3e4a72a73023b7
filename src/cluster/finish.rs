//! `finish`: whether the shards and the joins of a job are all there, and agree.
//!
//! *Owns:* the comparison. *Invariants:* a job is finished only if
//!
//! - all reports are of one job, with the same operation and the same number of sides;
//! - every shard is there: of each file the ranges lie one behind the other from its first byte to its last, and as many
//!   bytes were read as the file has; where pipes were read, the caller has said how many shards there are;
//! - every bucket was joined once;
//! - lines and sums of hashes of each side over all shards are those over all joins.
//!
//! *Cost:* one reading of the reports; a few words for each range, and a bit for each bucket.

use std::collections::BTreeMap;
use std::io::Read;

use serde::{Deserialize, Serialize};

use crate::cluster::stats::{RangeStats, ShardInputStats, SideStats, hex};
use crate::error::{Error, Result};

/// What a job has done, when it is finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finished {
    /// What all shards have in common.
    pub job: String,
    /// The operation.
    pub operation: String,
    /// How many shards there are.
    pub shards: u64,
    /// How many buckets were joined.
    pub buckets: u64,
    /// What was compared of each side.
    pub sides: Vec<SideStats>,
    /// Lines of the result, all buckets together.
    pub output_lines: u64,
    /// Their bytes, with line ends.
    pub output_bytes: u64,
    /// Bytes of all streams of the shards.
    pub stream_bytes: u64,
}

/// A report, as far as it counts here.
#[derive(Deserialize)]
#[serde(tag = "command", rename_all = "lowercase")]
enum Report {
    Shard(Shard),
    Join(Join),
}

#[derive(Deserialize)]
struct Shard {
    job: String,
    side: u32,
    buckets: u32,
    input: ShardInputStats,
    sent: SideStats,
    stream_bytes: u64,
}

#[derive(Deserialize)]
struct Join {
    operation: String,
    job: Option<String>,
    joined: Vec<u32>,
    sides: Vec<SideStats>,
    output: Output,
}

#[derive(Deserialize)]
struct Output {
    lines: u64,
    bytes: u64,
}

/// Lines of a side, and the sum of their hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sums {
    lines: u64,
    hash_sum: u64,
}

/// What was read of one file of a side.
#[derive(Default)]
struct FileRanges {
    size: u64,
    /// `true` behind those of which the bytes that were read are bytes of the file.
    ranges: Vec<(RangeStats, u64, bool)>,
}

/// What all reports together say.
#[derive(Default)]
struct Reports {
    job: Option<String>,
    operation: Option<String>,
    buckets: Option<u32>,
    shards: u64,
    /// Shards that read a pipe.
    pipes: u64,
    /// By side and path.
    files: BTreeMap<(u32, String), FileRanges>,
    /// By side: what was sent.
    sent: BTreeMap<u32, Sums>,
    /// By side: what was joined.
    joined_sides: BTreeMap<u32, Sums>,
    /// How often each bucket was joined.
    joined: BTreeMap<u32, u64>,
    joined_of: Option<usize>,
    output: (u64, u64),
    stream_bytes: u64,
}

/// Compares the `reports` of all shards and joins of a job (JSON, one behind the other; with their names). `shards` is
/// how many shards there must be; `None` where files tell.
///
/// # Errors
/// [`Error::Unfinished`] with the first thing that is missing or does not agree, [`Error::Usage`] for what is no report.
pub fn finish<R: Read>(
    reports: impl IntoIterator<Item = (String, R)>,
    shards: Option<u64>,
) -> Result<Finished> {
    let mut all = Reports::default();
    for (name, report) in reports {
        let read = serde_json::Deserializer::from_reader(report).into_iter::<Report>();
        for report in read {
            let report = report.map_err(|error| Error::Usage {
                what: format!("{name}: is no report of a shard or a join ({error})"),
                advice: "name the files that --stats wrote".into(),
            })?;
            match report {
                Report::Shard(shard) => all.add_shard(&name, shard)?,
                Report::Join(join) => all.add_join(&name, join)?,
            }
        }
    }
    all.check_shards(shards)?;
    all.check_files()?;
    all.check_joins()?;
    all.check_sides()?;
    Ok(all.finished())
}

/// The error for a job that is not finished.
fn unfinished(what: String, advice: &'static str) -> Error {
    Error::Unfinished { what, advice }
}

impl Reports {
    fn add_shard(&mut self, name: &str, shard: Shard) -> Result<()> {
        same(&mut self.job, shard.job, name, "job")?;
        same(&mut self.buckets, shard.buckets, name, "number of buckets")?;
        self.shards += 1;
        self.stream_bytes += shard.stream_bytes;
        self.sent
            .entry(shard.side)
            .or_default()
            .add(&shard.sent, name)?;
        let input = shard.input;
        let Some(size) = input.file_bytes else {
            self.pipes += 1;
            return Ok(());
        };
        let file = self.files.entry((shard.side, input.path)).or_default();
        if !file.ranges.is_empty() && file.size != size {
            return Err(unfinished(
                format!(
                    "{name}: its file has {size} bytes, and had {} for another shard",
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
        match expected {
            Some(expected) if expected != self.shards => Err(unfinished(
                format!("shards: {expected} expected, {} reported", self.shards),
                "run the shards that are missing, and report each once",
            )),
            None if self.pipes > 0 => Err(unfinished(
                format!(
                    "shards: {} of them read a pipe, which does not tell whether all are there",
                    self.pipes
                ),
                "give the number of shards with --shards",
            )),
            _ if self.shards == 0 => Err(unfinished(
                "shards: none reported".into(),
                "name the reports of all shards and joins",
            )),
            _ => Ok(()),
        }
    }

    /// The ranges of each file must lie one behind the other, from its first byte to its last.
    fn check_files(&mut self) -> Result<()> {
        for ((side, path), file) in &mut self.files {
            file.ranges.sort_by_key(|(range, ..)| *range);
            let mut end = 0;
            for (range, ..) in &file.ranges {
                let what = match range.offset {
                    offset if offset > end => "no shard has read",
                    offset if offset < end => "two shards have read",
                    _ => {
                        end = range.offset.saturating_add(range.length);
                        continue;
                    }
                };
                let (from, to) = (end.min(range.offset), end.max(range.offset));
                return Err(unfinished(
                    format!("{path}: {what} bytes {from} to {to} for side {side}"),
                    "run the shards that are missing, and report each once",
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
                        "{path}: has {} bytes, and {read} were read for side {side}",
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
            let what = format!("bucket {bucket}: was joined, and there are {buckets} buckets");
            return Err(unfinished(what, advice));
        }
        match (0..buckets).find(|bucket| !self.joined.contains_key(bucket)) {
            Some(bucket) => Err(unfinished(
                format!("bucket {bucket}: was not joined"),
                "run the joins that are missing",
            )),
            None => Ok(()),
        }
    }

    fn check_sides(&self) -> Result<()> {
        let sides = self.joined_of.unwrap_or_default() as u32;
        if let Some(side) = self.sent.keys().find(|side| **side > sides) {
            return Err(unfinished(
                format!("side {side}: has shards, and the joins have {sides} sides"),
                "join with the number of sides that there are (--sides)",
            ));
        }
        for side in 1..=sides {
            let of = |sums: &BTreeMap<u32, Sums>| sums.get(&side).copied().unwrap_or_default();
            let (sent, joined) = (of(&self.sent), of(&self.joined_sides));
            if sent != joined {
                let what = if sent.lines == joined.lines {
                    format!("side {side}: the lines that were joined are not those that were sent")
                } else {
                    format!(
                        "side {side}: {} lines were sent, and {} joined",
                        sent.lines, joined.lines
                    )
                };
                return Err(unfinished(what, "run all joins again with all shards"));
            }
        }
        Ok(())
    }

    fn finished(self) -> Finished {
        let side = |sums: &Sums| SideStats {
            lines: sums.lines,
            hash_sum: hex(sums.hash_sum),
        };
        Finished {
            job: self.job.unwrap_or_default(),
            operation: self.operation.unwrap_or_default(),
            shards: self.shards,
            buckets: self.joined.len() as u64,
            sides: self.joined_sides.values().map(side).collect(),
            output_lines: self.output.0,
            output_bytes: self.output.1,
            stream_bytes: self.stream_bytes,
        }
    }
}

impl Sums {
    fn add(&mut self, stats: &SideStats, name: &str) -> Result<()> {
        let sum = u64::from_str_radix(&stats.hash_sum, 16).map_err(|_| Error::Usage {
            what: format!("{name}: its sum of hashes is no number"),
            advice: "name the files that --stats wrote".into(),
        })?;
        self.lines += stats.lines;
        self.hash_sum = self.hash_sum.wrapping_add(sum);
        Ok(())
    }
}

/// Notes what the first report says, and refuses one that says something else.
fn same<T: PartialEq>(known: &mut Option<T>, said: T, name: &str, what: &str) -> Result<()> {
    match known {
        Some(known) if *known != said => Err(unfinished(
            format!("{name}: its {what} is another than that of the reports before it"),
            "name the reports of one job",
        )),
        _ => {
            *known = Some(said);
            Ok(())
        }
    }
}
