//! The naive answer.
//!
//! *Owns:* what must come of a case, and the comparison. *Invariants:* sorted maps of the fields that records were
//! written from. *Cost:* an entry for each key.

use std::collections::{BTreeMap, BTreeSet};

use outset::{BadRecords, Dialect, Error, Label, Options, Order, Strategy, Syntax};

use super::case::Case;
use super::record::{Place, Record};
use super::{Answer, Mode, Wanted, writing};

impl Case {
    /// Compares what a run said with what it had to say.
    ///
    /// # Panics
    /// Where they differ.
    pub(super) fn judge(
        &self,
        result: outset::Result<outset::Stats>,
        found: Answer,
        wanted: Wanted,
        (options, places): (&Options, &[Vec<Place>]),
    ) {
        let about = format!("{wanted:?} {options:?} {:?}", self.keys);
        let Wanted { name, mode, .. } = wanted;
        let without_key = |is_table: bool| {
            let inputs = self.inputs.iter().zip(&self.tables);
            let inputs = inputs.take(self.distinct_inputs);
            let inputs = inputs.filter(|(_, table)| table.is_some() == is_table);
            let records = inputs.flat_map(|(records, _)| records);
            let records = records.filter(|record| record.key.is_none());
            records.filter(|record| !record.is_passed_over).count() as u64
        };
        let distinct = self.inputs.iter().take(self.distinct_inputs);
        let passed_over = distinct.flatten().filter(|record| record.is_passed_over);
        let passed_over = passed_over.count() as u64;
        // An input of which nothing is left.
        let only_bad = |(records, table): (&Vec<Record>, &Option<Vec<usize>>)| {
            let bad = |record: &Record| record.key.is_none() && !record.is_passed_over;
            table.is_none()
                && records.iter().any(bad)
                && records.iter().all(|record| record.key.is_none())
        };
        let has_only_bad = self.inputs.iter().zip(&self.tables).any(only_bad);
        let (bad, nulls) = (without_key(false), without_key(true));
        let skips = self.keys.bad_records == BadRecords::Skip;
        let stats = match result {
            Err(Error::BadRecord { .. }) if bad > 0 && !skips => return,
            Err(Error::NoRecords { .. }) if has_only_bad && skips => return,
            Err(Error::Usage { .. })
                if options.strategy == Some(Strategy::Memory)
                    && wanted.reads_records_again()
                    && !(found.filed.is_some() && self.can_be_reread(wanted)) =>
            {
                return;
            }
            Err(Error::Usage { .. })
                if self.has_other_headers
                    && mode != Mode::Keys
                    && !["intersect", "diff"].contains(&name) =>
            {
                return;
            }
            Err(Error::MemoryPlan { .. }) => return,
            // The numbers of rows are not asked for.
            Err(Error::Usage { .. })
                if wanted.tells_places && self.tables.iter().any(Option::is_some) =>
            {
                return;
            }
            result => result.unwrap_or_else(|error| panic!("{about}: {error}")),
        };
        let counts = stats.inputs.iter().filter_map(|input| input.bad_records);
        let left_out: u64 = counts.sum();
        // Every input is read to its end, whatever the answer is.
        assert!(
            left_out == bad && (bad == 0 || skips),
            "{about}: {left_out} of {bad}"
        );
        let found_passed: u64 = stats
            .inputs
            .iter()
            .filter_map(|input| input.passed_over)
            .sum();
        assert_eq!(found_passed, passed_over, "{about}");
        let found_nulls: u64 = stats
            .inputs
            .iter()
            .filter_map(|input| input.null_rows)
            .sum();
        assert_eq!(found_nulls, nulls, "{about}");
        let (expected, dropped) = self.expected(wanted);
        compare(found.lines, expected, wanted.order == Order::Any, &about);
        let dropped = match wanted.drops {
            true if wanted.tells_places => self.dropped_places(places),
            true => dropped,
            false => Vec::new(),
        };
        compare(found.dropped, dropped, true, &about);
        let has_fields = !self.keys.fields.is_empty();
        // That of the first file that has one, where the records of all can be written.
        let writing = match name {
            "intersect" | "diff" => 1,
            "two" if self.headers.len() == 2 => 1,
            _ => self.headers.len(),
        };
        // No records of the others can be in the answer.
        let step = if name == "every other" { 2 } else { 1 };
        let mut headers = self.headers.iter().take(writing).step_by(step);
        let header = headers.find(|header| header.is_some()).unwrap_or(&None);
        match (mode, header) {
            (Mode::Keys, Some(_)) if has_fields => assert!(found.header.is_some(), "{about}"),
            (Mode::Keys, _) => {}
            (_, header) => {
                let label = match wanted.label {
                    Label::Sides => "files",
                    Label::SideCount => "file_count",
                    Label::Count => "count",
                    _ => "",
                };
                let behind = |header: &Vec<u8>| [&self.labelled(label), &header[..]].concat();
                assert_eq!(found.header, header.as_ref().map(behind), "{about}");
                let of_dropped = header.as_ref().filter(|_| !wanted.tells_places);
                assert_eq!(found.dropped_header.as_ref(), of_dropped, "{about}");
            }
        }
    }

    /// Tells whether the answer can be read in its own file: the first records of a union, whose keys are where those
    /// of all inputs are.
    fn can_be_reread(&self, wanted: Wanted) -> bool {
        let is_plain = wanted.label == Label::None && wanted.counts.is_any() && !wanted.drops;
        let is_in_order = matches!(wanted.order, Order::Any | Order::Input);
        let is_first = wanted.name == "union" && wanted.mode == Mode::First;
        let have_same = !self.has_other_headers
            && self.keys.fields_of.is_empty()
            && self.tables.iter().all(Option::is_none);
        is_first && is_plain && is_in_order && have_same
    }

    /// The places of all records but the first of each key, with that of the first.
    fn dropped_places(&self, places: &[Vec<Place>]) -> Vec<Vec<u8>> {
        let mut first: BTreeMap<&Vec<String>, &Place> = BTreeMap::new();
        let mut dropped = Vec::new();
        for (records, places) in self.inputs.iter().zip(places) {
            for (record, place) in records.iter().zip(places) {
                let Some(key) = &record.key else { continue };
                let kept = *first.entry(key).or_insert(place);
                if !std::ptr::eq(kept, place) {
                    let [file, kept_file] =
                        [&place.0, &kept.0].map(|name| serde_json::to_string(name).unwrap());
                    let text = format!(
                        r#"{{"file":{file},"line":{},"kept":{{"file":{kept_file},"line":{}}}}}"#,
                        place.1, kept.1
                    );
                    dropped.push(text.into_bytes());
                }
            }
        }
        dropped
    }

    /// The byte behind a label.
    fn behind_label(&self) -> u8 {
        match self.keys.syntax {
            Syntax::Csv(Dialect { delimiter, .. }) | Syntax::Delimited(delimiter) => delimiter,
            _ => b'\t',
        }
    }

    /// A label, or its name, as it stands before a record; nothing without one.
    fn labelled(&self, label: &str) -> Vec<u8> {
        let mut before = label.as_bytes().to_vec();
        if !label.is_empty() {
            before.push(self.behind_label());
        }
        before
    }

    /// The lines of the answer, in the order of the inputs unless they are to be sorted; and what else has their keys.
    fn expected(&self, wanted: Wanted) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let mut counts: BTreeMap<&Vec<String>, Vec<usize>> = BTreeMap::new();
        for (number, records) in self.inputs.iter().enumerate() {
            for key in records.iter().filter_map(|record| record.key.as_ref()) {
                counts
                    .entry(key)
                    .or_insert_with(|| vec![0; self.inputs.len()])[number] += 1;
            }
        }
        let sides = |counts: &[usize]| counts.iter().filter(|&&count| count > 0).count();
        let selects = |counts: &[usize]| {
            let has_sides = match wanted.name {
                "intersect" => sides(counts) == counts.len(),
                "diff" => sides(counts) == 1 && counts[0] > 0,
                "union" => true,
                "symdiff" => sides(counts) == 1,
                "every other" => {
                    let mut numbered = counts.iter().enumerate();
                    numbered.all(|(number, &count)| (count > 0) == (number % 2 == 0))
                }
                _ => sides(counts) >= 2,
            };
            has_sides && wanted.counts.contains(counts)
        };
        let label = |counts: &[usize]| match wanted.label {
            Label::Sides => {
                let digit = |&count: &usize| if count > 0 { '1' } else { '0' };
                let digits: String = counts.iter().map(digit).collect();
                match self.keys.syntax {
                    Syntax::Csv(_) => format!("\"{digits}\""),
                    _ => digits,
                }
            }
            Label::SideCount => sides(counts).to_string(),
            Label::Count => counts.iter().sum::<usize>().to_string(),
            _ => String::new(),
        };
        let first_alone = ["intersect", "diff"].contains(&wanted.name);
        let from = if first_alone { 1 } else { self.inputs.len() };
        let mut written = BTreeSet::new();
        let (mut lines, mut dropped) = (Vec::new(), Vec::new());
        for record in self.inputs.iter().take(from).flatten() {
            let Some(key) = record.key.as_ref().filter(|key| selects(&counts[key])) else {
                continue;
            };
            let line = match wanted.mode {
                Mode::Keys => writing::key(self.keys.syntax, key),
                _ => record.raw.clone(),
            };
            if written.insert(key) || wanted.mode == Mode::Every {
                let count: usize = counts[key].iter().sum();
                lines.push((self.labelled(&label(&counts[key])), line, count));
            } else {
                dropped.push(line);
            }
        }
        // A label is no part of the order.
        match wanted.order {
            Order::Sorted => lines.sort_by(|(_, one, _), (_, other, _)| one.cmp(other)),
            Order::Count => lines.sort_by(|(_, one, of_one), (_, other, of_other)| {
                of_other.cmp(of_one).then_with(|| one.cmp(other))
            }),
            _ => {}
        }
        wanted.counts.cut(&mut lines);
        let written = lines
            .into_iter()
            .map(|(label, line, _)| [label, line].concat());
        (written.collect(), dropped)
    }
}

/// Compares lines that came with those that had to.
fn compare(mut lines: Vec<Vec<u8>>, mut expected: Vec<Vec<u8>>, is_any_order: bool, about: &str) {
    if is_any_order {
        expected.sort();
        lines.sort();
    }
    if lines == expected {
        return;
    }
    let mut pairs = lines.iter().zip(&expected);
    let differs = pairs.position(|(line, other)| line != other);
    let shown = |lines: &[Vec<u8>]| {
        let from = differs.unwrap_or(lines.len().saturating_sub(2));
        let lines = lines.iter().skip(from).take(3);
        let lines = lines.map(|line| line.escape_ascii().to_string());
        lines.collect::<Vec<_>>()
    };
    panic!(
        "{about}: {} lines came, {} expected; from {differs:?} on {:?}, expected {:?}",
        lines.len(),
        expected.len(),
        shown(&lines),
        shown(&expected)
    );
}
