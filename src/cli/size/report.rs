//! The answer: a row for each kind.
//!
//! *Owns:* the stable names of `outset size --json`, and the table for people. *Invariants:* a
//! predicted rate is that of the shape in its row; what a kind cannot do is said in a note.

use outset::filter::{Kind, Shape, sizing};
use serde::Serialize;

use super::arguments::SizeArguments;
use super::request::SizeRequest;
use crate::cli::numbers::{aligned, binary, counted, decimal, grouped, percent, significant};

/// The request, and the answer for each kind.
#[derive(Debug, Serialize)]
pub(super) struct SizeReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_fpr: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bits_per_key: Option<f64>,
    kinds: Vec<Row>,
}

/// A filter of one kind.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) kind: Kind,
    pub(super) lines: u64,
    /// Bits, counters or slots.
    pub(super) cells: u64,
    pub(super) bits: u64,
    pub(super) bytes: u64,
    pub(super) hashes: u32,
    pub(super) hashes_exact: f64,
    /// Of storage.
    pub(super) bits_per_key: f64,
    pub(super) predicted_fpr: f64,
    pub(super) fpr_one_less_hash: Option<f64>,
    pub(super) fpr_one_more_hash: Option<f64>,
    /// The chance, at most, that any counter passes its largest count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) overflow_chance: Option<f64>,
    /// The chance, at most, that any two lines have the same digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) collision_chance: Option<f64>,
    /// The size of a hash table of the same lines, for comparison.
    pub(super) hash_table_bytes: u64,
    /// Notes on what this kind cannot do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
}

impl Row {
    /// Makes the row of a shape that holds `lines` lines.
    pub(super) fn new(lines: u64, shape: Shape) -> Self {
        let fpr_with = |hashes: u32| {
            let is_possible = (1..=shape.kind.most_hashes()).contains(&hashes);
            is_possible.then(|| Shape { hashes, ..shape }.predicted_fpr(lines))
        };
        let is = |kind: Kind| shape.kind == kind;
        Self {
            kind: shape.kind,
            lines,
            cells: shape.cells,
            bits: shape.bits(),
            bytes: shape.bytes(),
            hashes: shape.hashes,
            hashes_exact: shape.hashes_exact(lines),
            bits_per_key: shape.bits() as f64 / lines.max(1) as f64,
            predicted_fpr: shape.predicted_fpr(lines),
            fpr_one_less_hash: fpr_with(shape.hashes - 1),
            fpr_one_more_hash: fpr_with(shape.hashes + 1),
            overflow_chance: is(Kind::Counting)
                .then(|| sizing::counting_overflow(shape.cells, lines, shape.hashes)),
            collision_chance: is(Kind::Fingerprint).then(|| sizing::collision_chance(lines)),
            hash_table_bytes: sizing::hash_table_bytes(lines),
            notes: Vec::new(),
        }
    }

    /// Says what was asked for and is not there.
    fn note(&mut self, shape: Shape, max_fpr: Option<f64>, hashes: Option<u32>) {
        let most = self.kind.most_hashes();
        if self.lines == 0 {
            self.notes.push("too small for a single line".to_owned());
        }
        if self.lines > shape.capacity() {
            let room = grouped(shape.capacity());
            self.notes
                .push(format!("full after {room} lines; rejects further ones"));
        }
        if hashes.is_some_and(|hashes| hashes > most) && self.kind != Kind::Fingerprint {
            self.notes
                .push(format!("uses at most {most} hash functions"));
        }
        if let Some(fpr) = max_fpr.filter(|&fpr| self.predicted_fpr > fpr) {
            self.notes
                .push(format!("cannot reach a rate of {}", percent(fpr)));
        }
    }
}

impl SizeReport {
    /// Answers a request.
    pub(super) fn new(arguments: &SizeArguments, request: SizeRequest) -> Self {
        let asked = arguments.kind();
        let kinds = Kind::ALL
            .into_iter()
            .filter(|kind| asked.is_none_or(|asked| asked == *kind));
        let row = |kind| {
            let (lines, shape) = request.shape(kind, arguments.hashes);
            let mut row = Row::new(lines, shape);
            row.note(shape, arguments.max_fpr, arguments.hashes);
            row
        };
        Self {
            lines: arguments.lines,
            max_fpr: arguments.max_fpr,
            memory_bytes: arguments.memory,
            bits_per_key: arguments.bits_per_key,
            kinds: kinds.map(row).collect(),
        }
    }

    /// Words the answer for people.
    pub(super) fn describe(&self) -> String {
        let mut text = vec![self.describe_request(), String::new()];
        text.extend(self.describe_table());
        text.push(String::new());
        for row in &self.kinds {
            text.extend(row.notes.iter().map(|note| format!("{}: {note}", row.kind)));
        }
        text.extend(self.describe_chances());
        text.push(self.describe_hash_table());
        text.join("\n")
    }

    fn describe_request(&self) -> String {
        let lines = self.lines.map(|lines| counted(lines, "line"));
        let fpr = self
            .max_fpr
            .map(|fpr| format!("false-positive rate {}", percent(fpr)));
        let bits = self
            .bits_per_key
            .map(|bits| format!("{} bits per line", significant(bits)));
        let memory = self
            .memory_bytes
            .map(|bytes| format!("{} of memory ({} bytes)", binary(bytes), grouped(bytes)));
        let given: Vec<String> = [lines, fpr, bits, memory].into_iter().flatten().collect();
        given.join(", ")
    }

    fn describe_table(&self) -> Vec<String> {
        let header = [
            "kind",
            "lines",
            "m",
            "size",
            "bits/line",
            "k",
            "m/n ln 2",
            "rate",
            "at k-1",
            "at k+1",
        ];
        let mut table = vec![header.map(str::to_owned)];
        let optional = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), percent);
        table.extend(self.kinds.iter().map(|row| {
            [
                row.kind.name().to_owned(),
                grouped(row.lines),
                grouped(row.cells),
                binary(row.bytes),
                significant(row.bits_per_key),
                row.hashes.to_string(),
                format!("{:.2}", row.hashes_exact),
                percent(row.predicted_fpr),
                optional(row.fpr_one_less_hash),
                optional(row.fpr_one_more_hash),
            ]
        }));
        aligned(&table)
    }

    fn describe_chances(&self) -> Vec<String> {
        let describe = |row: &Row| {
            let overflow = row
                .overflow_chance
                .map(|chance| ("that any counter would exceed 15 (it stays at 15)", chance));
            let collision = row
                .collision_chance
                .map(|chance| ("that any two lines have the same digest", chance));
            let (what, chance) = overflow.or(collision)?;
            Some(format!(
                "{}: probability {what}: at most {chance:.2e}",
                row.kind
            ))
        };
        self.kinds.iter().filter_map(describe).collect()
    }

    /// Words the size of a hash table for the most lines of any kind, where the number of lines follows.
    fn describe_hash_table(&self) -> String {
        let most = self.kinds.iter().max_by_key(|row| row.lines);
        let (lines, bytes) = most.map_or((0, 0), |row| (row.lines, row.hash_table_bytes));
        format!(
            "a hash table for {}, with 1.5 slots of 8 bytes per line: {} ({})",
            counted(lines, "line"),
            decimal(bytes),
            binary(bytes)
        )
    }
}
