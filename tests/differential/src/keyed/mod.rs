//! Records with keys: random files, runs of the library, and the naive answer.
//!
//! *Owns:* the cases for [`Keys`]. *Invariants:* the oracle knows each record from the fields that it was written from; it
//! parses nothing. *Cost:* a few thousand records a case.

#![expect(
    clippy::unwrap_used,
    clippy::match_bool,
    reason = "a case that cannot be written or run is reported with its place"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use data_gen::Compression;
use outset::{
    BadRecords, Error, Field, Files, Keys, Label, Options, Order, Selection, Source, Strategy,
    Syntax,
};

use crate::choices::Choices;

mod table;

/// The names of the columns, before they are put in some order.
const NAMES: [&str; 4] = ["id", "url", "a b", "n\"x"];

/// What fields may have between them.
const SYNTAXES: [Syntax; 5] = [
    Syntax::Csv(b','),
    Syntax::Csv(b';'),
    Syntax::Delimited(b'\t'),
    Syntax::JsonLines,
    Syntax::Whole,
];

/// A record: what its fields say, and how it stands in a file.
#[derive(Debug, Clone)]
struct Record {
    /// `None` for one that has no key.
    key: Option<Vec<String>>,
    raw: Vec<u8>,
    /// The values of all columns, in the order of [`NAMES`]; none of what has no key.
    values: Vec<String>,
}

/// One case.
#[derive(Debug)]
struct Case {
    keys: Keys,
    inputs: Vec<Vec<Record>>,
    /// The header of each input, if there are headers.
    headers: Vec<Option<Vec<u8>>>,
    /// Whether the headers have the same names in another order.
    has_other_headers: bool,
    /// How many of the inputs, the first ones, are different files; the last may be the first one again.
    distinct_inputs: usize,
    /// Which columns of which inputs are in a Parquet file, in which order.
    tables: Vec<Option<Vec<usize>>>,
}

/// What a run is asked for.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    name: &'static str,
    mode: Mode,
    order: Order,
    label: Label,
    /// Whether what a union drops is wanted, too.
    drops: bool,
}

/// How the records of the answer are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// All of the first input with a selected key.
    Every,
    /// The first with each selected key.
    First,
    /// The selected keys themselves.
    Keys,
}

/// Makes a case, and compares a few runs with the naive answer. `directory` is for its files, and empty.
///
/// # Panics
/// Where a run says something else.
pub fn check(choices: &mut Choices<'_>, directory: &Path) {
    let case = Case::random(choices);
    let sources = case.write(choices, directory);
    for _ in 0..4 {
        let (name, selection) = choices.pick(&[
            ("intersect", Selection::intersection()),
            ("diff", Selection::difference()),
            ("union", Selection::union()),
            ("symdiff", Selection::symmetric_difference()),
            ("two", Selection::at_least(2)),
        ]);
        let mode = choices.pick(&[Mode::Every, Mode::First, Mode::Keys]);
        let mode = match mode {
            Mode::Every if !selection.can_repeat() => Mode::First,
            mode => mode,
        };
        let label = choices.pick(&[
            Label::None,
            Label::None,
            Label::Sides,
            Label::SideCount,
            Label::Count,
        ]);
        // Where every record is written, there is nothing to count.
        let label = match mode {
            Mode::Every if label == Label::Count => Label::None,
            _ => label,
        };
        let drops = name == "union" && label == Label::None && choices.one_in(2);
        let order = choices.pick(&[Order::Any, Order::Any, Order::Input, Order::Sorted]);
        let strategy = choices.pick(&[
            None,
            Some(Strategy::Partition),
            Some(Strategy::Sieve),
            Some(Strategy::Memory),
        ]);
        let options = Options {
            memory_bytes: Some(choices.between(24, 80) << 20),
            strategy,
            buckets: choices.pick(&[None, Some(1), Some(7), Some(100)]),
            temp_dirs: vec![directory.to_owned()],
            threads: Some(choices.pick(&[1, 2, 4])),
            keys: Some(case.keys.clone()),
            always_spill: choices.one_in(2),
            ..Options::default()
        };
        let asked = match mode {
            Mode::Every => selection.of_records().with_repeats(),
            Mode::First => selection.of_records(),
            Mode::Keys => selection,
        };
        let asked = asked.ordered(order).labelled(label);
        let asked = if drops {
            asked.with_duplicates()
        } else {
            asked
        };
        let mut found = Answer::default();
        let result = outset::select(&sources, asked, &options, &mut found);
        let wanted = Wanted {
            name,
            mode,
            order,
            label,
            drops,
        };
        case.judge(result, found, wanted, &options);
    }
}

/// What a run hands over.
#[derive(Debug, Default)]
struct Answer {
    header: Option<Vec<u8>>,
    lines: Vec<Vec<u8>>,
    dropped: Vec<Vec<u8>>,
}

impl outset::Sink for Answer {
    fn duplicate(&mut self, line: &[u8]) -> std::io::Result<()> {
        self.dropped.push(line.to_vec());
        Ok(())
    }

    fn line(&mut self, line: &[u8]) -> std::io::Result<()> {
        self.lines.push(line.to_vec());
        Ok(())
    }

    fn header(&mut self, header: &[u8]) -> std::io::Result<()> {
        assert!(self.lines.is_empty() && self.header.is_none());
        self.header = Some(header.to_vec());
        Ok(())
    }
}

impl Case {
    fn random(choices: &mut Choices<'_>) -> Self {
        let syntax = choices.pick(&SYNTAXES);
        let has_header = syntax != Syntax::JsonLines && choices.one_in(2);
        let count = choices.pick(&[2, 2, 2, 3, 4]) as usize;
        // Which of the names are the key, and where each column stands in each input.
        let wanted: Vec<usize> = match syntax {
            Syntax::Whole => Vec::new(),
            _ => choices
                .pick(&[&[1][..], &[0], &[3], &[1, 2], &[3, 0]])
                .to_vec(),
        };
        let shift = choices.one_in(2);
        let place = |input: usize, name: usize| if shift { (name + input) % 4 } else { name };
        let by_name = syntax == Syntax::JsonLines || (has_header && choices.one_in(2));
        let fields = |input: usize| -> Vec<Field> {
            let field = |&name: &usize| match by_name {
                true => Field::Name(NAMES[name].into()),
                false => Field::Number(place(input, name) as u32 + 1),
            };
            wanted.iter().map(field).collect()
        };
        let own = |input: usize| (input as u32 + 1, fields(input));
        // A line cannot have several columns.
        let tables: Vec<bool> = (0..count).map(|_| choices.one_in(4)).collect();
        let own_of_table = |input: usize| {
            let fields = vec![Field::Name(NAMES[0].into())];
            tables[input].then_some((input as u32 + 1, fields))
        };
        let keys = Keys {
            syntax,
            fields: fields(0),
            fields_of: if syntax == Syntax::Whole {
                (0..count).filter_map(own_of_table).collect()
            } else if by_name {
                Vec::new()
            } else {
                (1..count).map(own).collect()
            },
            row_numbers: false,
            has_header,
            ignores_case: choices.one_in(4),
            trims: choices.one_in(4),
            bad_records: choices.pick(&[BadRecords::Skip, BadRecords::Skip, BadRecords::Fail]),
        };
        let has_bad = choices.one_in(3);
        let pool = choices.pick(&[5, 100, 2000]);
        let most = choices.pick(&[0, 3, 300, 3000, 9000]);
        let padding = choices.pick(&[0, 0, 30, 300]);
        let mut inputs = Vec::new();
        let (mut headers, mut orders) = (Vec::new(), Vec::new());
        for input in 0..count {
            let mut order = vec![0; 4];
            (0..4).for_each(|name| order[place(input, name)] = name);
            let records = (0..choices.below(most + 1)).map(|number| {
                let can_lack =
                    |&name: &usize| syntax == Syntax::JsonLines || place(input, name) > 0;
                let can_lack = tables[input] || wanted.iter().any(can_lack);
                if has_bad && can_lack && choices.one_in(50) {
                    return bad(syntax, number);
                }
                let mut values: Vec<String> =
                    (0..4).map(|_| value(choices, syntax, pool)).collect();
                values[2].push_str(&"x".repeat(choices.below(padding + 1) as usize));
                let raw = match syntax {
                    Syntax::Whole => values[0].clone().into_bytes(),
                    _ if tables[input] => written_row(syntax, &wanted, &values),
                    _ => write(choices, syntax, &order, &values),
                };
                let of_key = if wanted.is_empty() { &[0][..] } else { &wanted };
                let fields = of_key
                    .iter()
                    .map(|&name| normal(&keys, values[name].clone()));
                let key = fields.collect();
                Record {
                    key: Some(key),
                    raw,
                    values,
                }
            });
            inputs.push(records.collect());
            let header = match syntax {
                Syntax::Whole if tables[input] => NAMES[0].into(),
                Syntax::Whole => b"The Header".to_vec(),
                _ if tables[input] => written_row(syntax, &wanted, &names()),
                _ => write(choices, syntax, &order, &names()),
            };
            headers.push(has_header.then_some(header));
            orders.push(tables[input].then_some(order));
        }
        Self {
            keys,
            inputs,
            headers,
            has_other_headers: has_header && (shift || tables.contains(&true)),
            distinct_inputs: count,
            tables: orders,
        }
        .named_again(choices.one_in(5))
    }

    /// The same with the first input as one more side.
    fn named_again(mut self, is_wanted: bool) -> Self {
        if is_wanted {
            let own = self.keys.fields_of.first();
            if let Some((1, fields)) = own.cloned().filter(|_| self.keys.fields.is_empty()) {
                let number = self.inputs.len() as u32 + 1;
                self.keys.fields_of.push((number, fields));
            }
            self.tables.push(None);
            self.inputs.push(self.inputs[0].clone());
            self.headers.push(self.headers[0].clone());
        }
        self
    }

    /// Writes the inputs: each as a file, or as several, of which some are compressed.
    fn write(&self, choices: &mut Choices<'_>, directory: &Path) -> Vec<Source> {
        let files = self.inputs.iter().zip(&self.headers);
        let files = files.take(self.distinct_inputs).enumerate();
        let source = |(number, (records, header)): (usize, (&Vec<Record>, &Option<Vec<u8>>))| {
            let parts = choices.pick(&[1, 1, 1, 3, 7]) as usize;
            let paths: Vec<PathBuf> = (0..parts)
                .map(|part| {
                    let path = directory.join(format!("{number}.{part}"));
                    let range = records.len() * part / parts..records.len() * (part + 1) / parts;
                    if let Some(order) = &self.tables[number] {
                        table::write(choices, &path, order, &records[range]);
                        return path;
                    }
                    let lines = header
                        .iter()
                        .chain(records[range].iter().map(|record| &record.raw));
                    let mut text = Vec::new();
                    for line in lines {
                        text.extend_from_slice(line);
                        text.push(b'\n');
                    }
                    if choices.one_in(3) && text.len() > 1 && !text.ends_with(b"\n\n") {
                        text.pop();
                    }
                    let stored = match choices.one_in(4) {
                        true => choices.pick(&Compression::ALL).compress(&text).unwrap(),
                        false => text,
                    };
                    fs::write(&path, stored).unwrap();
                    path
                })
                .collect();
            match &paths[..] {
                [only] => Source::from(only),
                _ => Source::from(Files::new(format!("side {number}"), paths)),
            }
        };
        let mut sources: Vec<Source> = files.map(source).collect();
        if self.inputs.len() > self.distinct_inputs {
            sources.push(sources[0].clone());
        }
        sources
    }

    fn judge(
        &self,
        result: outset::Result<outset::Stats>,
        found: Answer,
        wanted: Wanted,
        options: &Options,
    ) {
        let about = format!("{wanted:?} {options:?} {:?}", self.keys);
        let Wanted { name, mode, .. } = wanted;
        let without_key = |is_table: bool| {
            let inputs = self.inputs.iter().zip(&self.tables);
            let inputs = inputs.take(self.distinct_inputs);
            let inputs = inputs.filter(|(_, table)| table.is_some() == is_table);
            let records = inputs.flat_map(|(records, _)| records);
            records.filter(|record| record.key.is_none()).count() as u64
        };
        let (bad, nulls) = (without_key(false), without_key(true));
        let skips = self.keys.bad_records == BadRecords::Skip;
        let stats = match result {
            Err(Error::BadRecord { .. }) if bad > 0 && !skips => return,
            Err(Error::Usage { .. })
                if options.strategy == Some(Strategy::Memory) && mode == Mode::First =>
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
            result => result.unwrap_or_else(|error| panic!("{about}: {error}")),
        };
        let counts = stats.inputs.iter().filter_map(|input| input.bad_records);
        let left_out: u64 = counts.sum();
        // Every input is read to its end, whatever the answer is.
        assert!(
            left_out == bad && (bad == 0 || skips),
            "{about}: {left_out} of {bad}"
        );
        let found_nulls: u64 = stats
            .inputs
            .iter()
            .filter_map(|input| input.null_rows)
            .sum();
        assert_eq!(found_nulls, nulls, "{about}");
        let (expected, dropped) = self.expected(wanted);
        compare(found.lines, expected, wanted.order == Order::Any, &about);
        let dropped = if wanted.drops { dropped } else { Vec::new() };
        compare(found.dropped, dropped, true, &about);
        let has_fields = !self.keys.fields.is_empty();
        match (mode, &self.headers[0]) {
            (Mode::Keys, Some(_)) if has_fields => assert!(found.header.is_some(), "{about}"),
            (Mode::Keys, _) => {}
            (_, header) => {
                let label = match wanted.label {
                    Label::Sides => "files\t",
                    Label::SideCount => "file_count\t",
                    Label::Count => "count\t",
                    _ => "",
                };
                let behind = |header: &Vec<u8>| [label.as_bytes(), header].concat();
                assert_eq!(found.header, header.as_ref().map(behind), "{about}");
            }
        }
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
        let selects = |counts: &[usize]| match wanted.name {
            "intersect" => sides(counts) == counts.len(),
            "diff" => sides(counts) == 1 && counts[0] > 0,
            "union" => true,
            "symdiff" => sides(counts) == 1,
            _ => sides(counts) >= 2,
        };
        let label = |counts: &[usize]| match wanted.label {
            Label::Sides => {
                let digit = |&count: &usize| if count > 0 { '1' } else { '0' };
                counts.iter().map(digit).collect::<String>() + "\t"
            }
            Label::SideCount => format!("{}\t", sides(counts)),
            Label::Count => format!("{}\t", counts.iter().sum::<usize>()),
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
                Mode::Keys => self.canonical(key),
                _ => record.raw.clone(),
            };
            if written.insert(key) || wanted.mode == Mode::Every {
                lines.push([label(&counts[key]).into_bytes(), line].concat());
            } else {
                dropped.push(line);
            }
        }
        if wanted.order == Order::Sorted {
            // By the lines: a label is no part of the order.
            let behind = |line: &Vec<u8>| match wanted.label {
                Label::None => line.clone(),
                _ => line[line.iter().position(|&byte| byte == b'\t').unwrap() + 1..].to_vec(),
            };
            lines.sort_by_key(behind);
        }
        (lines, dropped)
    }

    /// How a key is written.
    fn canonical(&self, key: &[String]) -> Vec<u8> {
        let quoted = |field: &String, delimiter: char| match field {
            field if field.contains(['"', '\n', delimiter]) => {
                format!("\"{}\"", field.replace('"', "\"\""))
            }
            field => field.clone(),
        };
        let text = match self.keys.syntax {
            Syntax::Csv(delimiter) => {
                let delimiter = char::from(delimiter);
                let fields: Vec<String> =
                    key.iter().map(|field| quoted(field, delimiter)).collect();
                fields.join(&delimiter.to_string())
            }
            Syntax::Delimited(_) => key.join("\t"),
            Syntax::JsonLines if key.len() > 1 => serde_json::to_string(key).unwrap(),
            Syntax::JsonLines if key[0].contains('\n') || key[0].starts_with('"') => {
                serde_json::to_string(&key[0]).unwrap()
            }
            _ => key[0].clone(),
        };
        text.into_bytes()
    }
}

fn names() -> Vec<String> {
    NAMES.iter().map(ToString::to_string).collect()
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

/// What a field says as a part of a key.
fn normal(keys: &Keys, field: String) -> String {
    let field = match keys.trims {
        true => field.trim_matches([' ', '\t']).to_owned(),
        false => field,
    };
    match keys.ignores_case {
        true => field.to_ascii_lowercase(),
        false => field,
    }
}

/// What a field of a record says.
fn value(choices: &mut Choices<'_>, syntax: Syntax, pool: u64) -> String {
    let number = choices.below(pool);
    match choices.below(12) {
        0 => String::new(),
        1 => format!(" V{number} "),
        2 => format!("v{number}"),
        3 => format!("q\"{number}"),
        4 => format!("é{number};,"),
        5 if matches!(syntax, Syntax::Csv(_) | Syntax::JsonLines) => {
            format!("two\nlines {number}\t")
        }
        6 if matches!(syntax, Syntax::Csv(_) | Syntax::JsonLines) => format!("\"\n\"\"{number}"),
        _ => format!("http://example.org/{number}"),
    }
}

/// A record with these values, in this order of columns.
fn write(choices: &mut Choices<'_>, syntax: Syntax, order: &[usize], values: &[String]) -> Vec<u8> {
    match syntax {
        Syntax::Csv(delimiter) => {
            let delimiter = char::from(delimiter);
            let field = |&name: &usize| {
                let value = &values[name];
                let needs = value.contains(['"', '\n', '\r', delimiter]);
                if needs || choices.one_in(3) {
                    format!("\"{}\"", value.replace('"', "\"\""))
                } else {
                    value.clone()
                }
            };
            let fields: Vec<String> = order.iter().map(field).collect();
            let end = if choices.one_in(5) { "\r" } else { "" };
            (fields.join(&delimiter.to_string()) + end).into_bytes()
        }
        Syntax::JsonLines => {
            let field = |&name: &usize| {
                let (name, value) = (NAMES[name], &values[name]);
                let mut value = serde_json::to_string(value).unwrap();
                if choices.one_in(4) {
                    value = value.replace('p', "\\u0070");
                }
                format!("{}: {value}", serde_json::to_string(name).unwrap())
            };
            let fields: Vec<String> = order.iter().map(field).collect();
            format!("{{{}}}", fields.join(", ")).into_bytes()
        }
        _ => {
            let fields: Vec<&str> = order.iter().map(|&name| &values[name][..]).collect();
            fields.join("\t").into_bytes()
        }
    }
}

/// A row of a Parquet file with these values as a record: the fields of the key alone.
fn written_row(syntax: Syntax, wanted: &[usize], values: &[String]) -> Vec<u8> {
    let fields = wanted.iter().map(|&name| &values[name]);
    match syntax {
        Syntax::Csv(delimiter) => {
            let delimiter = char::from(delimiter);
            let field = |value: &String| match value {
                value if value.contains(['"', '\n', delimiter]) => {
                    format!("\"{}\"", value.replace('"', "\"\""))
                }
                value => value.clone(),
            };
            let fields: Vec<String> = fields.map(field).collect();
            fields.join(&delimiter.to_string()).into_bytes()
        }
        Syntax::JsonLines => {
            let text = |value: &str| serde_json::to_string(value).unwrap();
            let names = wanted.iter().map(|&name| text(NAMES[name]));
            let fields: Vec<String> = names
                .zip(fields)
                .map(|(name, value)| format!("{name}:{}", text(value)))
                .collect();
            format!("{{{}}}", fields.join(",")).into_bytes()
        }
        _ => {
            let fields: Vec<&str> = fields.map(String::as_str).collect();
            fields.join("\t").into_bytes()
        }
    }
}

/// A record without a key.
fn bad(syntax: Syntax, number: u64) -> Record {
    let raw = match syntax {
        Syntax::JsonLines => format!("{{\"other\": {number}}}"),
        _ => String::new(),
    };
    Record {
        key: None,
        raw: raw.into_bytes(),
        values: Vec::new(),
    }
}
