//! Random files of records.
//!
//! *Owns:* what stands in them, and where their keys are. *Invariants:* each record has what it was written from beside
//! it. *Cost:* a few thousand records.

use std::fs;
use std::path::{Path, PathBuf};

use data_gen::Compression;
use outset::{BadRecords, Dialect, Field, Files, Keys, Source, Syntax};

use super::record::{NAMES, Place, Record};
use super::{table, writing};
use crate::choices::Choices;

/// The syntaxes of records: what fields may have between them.
const SYNTAXES: [Syntax; 7] = [
    // A letter, which some values have as a capital.
    Syntax::Csv(Dialect::new(b'k')),
    Syntax::Delimited(b'k'),
    Syntax::Csv(Dialect::new(b',')),
    Syntax::Csv(Dialect::new(b';')),
    Syntax::Delimited(b'\t'),
    Syntax::JsonLines,
    Syntax::Whole,
];

/// One case.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) keys: Keys,
    pub(super) inputs: Vec<Vec<Record>>,
    /// The header of each input, if there are headers.
    pub(super) headers: Vec<Option<Vec<u8>>>,
    /// True if the headers have the same names in another order.
    pub(super) has_other_headers: bool,
    /// Number of the inputs, the first ones, that are different files; the last may be the first one again.
    pub(super) distinct_inputs: usize,
    /// The columns of each input that are in a Parquet file, in their order.
    pub(super) tables: Vec<Option<Vec<usize>>>,
    /// True if all keys are IPv4 addresses.
    pub(super) is_ipv4: bool,
}

/// The positions of the columns of the inputs.
struct Columns {
    syntax: Syntax,
    /// The names that are the key; none where a record is its own key.
    wanted: Vec<usize>,
    /// True if keys are named, not numbered.
    by_name: bool,
    /// True if each input has its columns in another order.
    shift: bool,
    /// For each input, true if it is a Parquet file.
    tables: Vec<bool>,
    /// For each input, true if it has a header.
    has_header: Vec<bool>,
}

impl Columns {
    fn random(choices: &mut Choices<'_>, syntax: Syntax, has_header: bool) -> Self {
        let count = choices.pick(&[2, 2, 2, 3, 4]);
        let by_name = syntax == Syntax::JsonLines || (has_header && choices.one_in(2));
        let header = |_| match by_name || choices.one_in(2) {
            true => has_header,
            false => choices.one_in(2) && syntax != Syntax::JsonLines,
        };
        let has_header = (0..count).map(header).collect();
        Self {
            has_header,
            syntax,
            wanted: match syntax {
                Syntax::Whole => Vec::new(),
                _ => choices
                    .pick(&[&[1][..], &[0], &[3], &[1, 2], &[3, 0]])
                    .to_vec(),
            },
            by_name,
            shift: choices.one_in(2),
            // A line cannot have several columns.
            tables: (0..count).map(|_| choices.one_in(4)).collect(),
        }
    }

    /// Returns the position of the column with this name in an input, from 0.
    fn position(&self, input: usize, name: usize) -> usize {
        if self.shift { (name + input) % 4 } else { name }
    }

    /// The names of an input's columns in their order.
    fn order(&self, input: usize) -> Vec<usize> {
        let mut order = vec![0; 4];
        (0..4).for_each(|name| order[self.position(input, name)] = name);
        order
    }

    /// The names that are the key; of a whole line the first.
    fn of_key(&self) -> &[usize] {
        match &self.wanted[..] {
            [] => &[0],
            wanted => wanted,
        }
    }

    /// The key of an input, as it is asked for.
    fn fields(&self, input: usize) -> Vec<Field> {
        let field = |&name: &usize| match self.by_name {
            true => Field::Name(NAMES[name].into()),
            false => Field::Number(self.position(input, name) as u32 + 1),
        };
        self.wanted.iter().map(field).collect()
    }

    /// The keys of the inputs that need words of their own.
    fn fields_of(&self) -> Vec<(u32, Vec<Field>)> {
        let inputs = 0..self.tables.len();
        match self.syntax {
            Syntax::Whole => inputs
                .filter(|&input| self.tables[input])
                .map(|input| (input as u32 + 1, vec![Field::Name(NAMES[0].into())]))
                .collect(),
            _ if self.by_name => Vec::new(),
            _ => inputs
                .skip(1)
                .map(|input| (input as u32 + 1, self.fields(input)))
                .collect(),
        }
    }

    /// The headers of the inputs that differ from `has_header`.
    fn headers_of(&self, has_header: bool) -> Vec<(u32, bool)> {
        let numbered = (1..).zip(&self.has_header);
        let others = numbered.filter(|(_, has_own)| **has_own != has_header);
        others.map(|(number, &has_own)| (number, has_own)).collect()
    }

    /// Tells whether a record of an input can be without a key.
    fn can_lack(&self, input: usize) -> bool {
        let is_lacking =
            |&name: &usize| self.syntax == Syntax::JsonLines || self.position(input, name) > 0;
        self.tables[input] || self.wanted.iter().any(is_lacking)
    }

    /// A record with these values.
    fn written(&self, choices: &mut Choices<'_>, input: usize, values: &[String]) -> Vec<u8> {
        match self.syntax {
            Syntax::Whole => values[0].clone().into_bytes(),
            _ if self.tables[input] => writing::row(self.syntax, &self.wanted, values),
            _ => writing::record(choices, self.syntax, &self.order(input), values),
        }
    }

    fn header(&self, choices: &mut Choices<'_>, input: usize) -> Vec<u8> {
        let names: Vec<String> = NAMES.iter().map(ToString::to_string).collect();
        match self.syntax {
            Syntax::Whole if !self.tables[input] => b"The Header".to_vec(),
            _ => self.written(choices, input, &names),
        }
    }
}

/// The ingredients of the records of a case.
struct Contents {
    /// Number of different values.
    pool: u64,
    /// The most records of an input.
    most: u64,
    /// The most bytes that a column beside the key has in addition.
    padding: u64,
    /// True if some records have no key.
    has_bad: bool,
    is_ipv4: bool,
}

impl Contents {
    fn random(choices: &mut Choices<'_>, columns: &Columns) -> Self {
        Self {
            pool: choices.pick(&[5, 100, 2000]),
            most: choices.pick(&[0, 3, 300, 3000, 9000]),
            padding: choices.pick(&[0, 0, 30, 300]),
            has_bad: choices.one_in(3),
            is_ipv4: columns.of_key().len() == 1 && choices.one_in(4),
        }
    }

    /// A record of an input, the one with this number.
    fn record(
        &self,
        choices: &mut Choices<'_>,
        columns: &Columns,
        keys: &Keys,
        (input, number): (usize, u64),
    ) -> Record {
        if self.has_bad && !columns.tables[input] && choices.one_in(50) {
            let nothing = nothing(choices, columns, keys);
            if let Some(nothing) = nothing.filter(|_| !columns.has_header[input] || number > 0) {
                return nothing;
            }
        }
        let damages = matches!(columns.syntax, Syntax::Csv(_)) && !columns.tables[input];
        if self.has_bad && (damages || columns.can_lack(input)) && choices.one_in(50) {
            let lacks = columns.can_lack(input) && (!damages || choices.one_in(2));
            return bad(columns.syntax, number, lacks);
        }
        let of_key = columns.of_key();
        let mut values: Vec<String> = (0..4)
            .map(|name| match self.is_ipv4 && of_key.contains(&name) {
                true => address(choices, self.pool, keys.trims),
                false => value(choices, columns.syntax, self.pool),
            })
            .collect();
        let padding = choices.below(self.padding + 1);
        values[2].push_str(&"x".repeat(padding as usize));
        let fields = of_key
            .iter()
            .map(|&name| normal(keys, values[name].clone()));
        Record {
            key: Some(fields.collect()),
            is_passed_over: false,
            raw: columns.written(choices, input, &values),
            values,
        }
    }
}

impl Case {
    pub(super) fn random(choices: &mut Choices<'_>) -> Self {
        let syntax = choices.pick(&SYNTAXES);
        let has_header = syntax != Syntax::JsonLines && choices.one_in(2);
        let columns = Columns::random(choices, syntax, has_header);
        let keys = Keys {
            syntax,
            fields: columns.fields(0),
            fields_of: columns.fields_of(),
            row_numbers: false,
            ranking: None,
            comment: choices.one_in(4).then_some(b'#'),
            has_header,
            headers_of: columns.headers_of(has_header),
            ignores_case: choices.one_in(4),
            trims: choices.one_in(4),
            squeezes: choices.one_in(4),
            bad_records: choices.pick(&[BadRecords::Skip, BadRecords::Skip, BadRecords::Fail]),
        };
        let contents = Contents::random(choices, &columns);
        let (mut inputs, mut headers) = (Vec::new(), Vec::new());
        let count = columns.tables.len();
        for input in 0..count {
            let records = (0..choices.below(contents.most + 1))
                .map(|number| contents.record(choices, &columns, &keys, (input, number)));
            inputs.push(records.collect());
            let header = columns.header(choices, input);
            headers.push(columns.has_header[input].then_some(header));
        }
        let order = |input: usize| columns.tables[input].then(|| columns.order(input));
        let headers_differ = columns.has_header.contains(&true);
        Self {
            keys,
            inputs,
            headers,
            has_other_headers: headers_differ && (columns.shift || columns.tables.contains(&true)),
            distinct_inputs: count,
            tables: (0..count).map(order).collect(),
            is_ipv4: contents.is_ipv4,
        }
        .named_again(choices.one_in(5))
    }

    /// Returns the case with the first input as one more side, if `is_wanted`.
    fn named_again(mut self, is_wanted: bool) -> Self {
        if is_wanted {
            let own = self.keys.fields_of.first();
            if let Some((1, fields)) = own.cloned().filter(|_| self.keys.fields.is_empty()) {
                let number = self.inputs.len() as u32 + 1;
                self.keys.fields_of.push((number, fields));
            }
            let has_header = self.headers[0].is_some();
            if has_header != self.keys.has_header {
                let number = self.inputs.len() as u32 + 1;
                self.keys.headers_of.push((number, has_header));
            }
            self.tables.push(None);
            self.inputs.push(self.inputs[0].clone());
            self.headers.push(self.headers[0].clone());
        }
        self
    }

    /// Writes the inputs: each as a file, or as several, of which some are compressed. Notes in `places` the file and
    /// the line of each record of each input, but of Parquet files.
    pub(super) fn write(
        &self,
        choices: &mut Choices<'_>,
        directory: &Path,
        places: &mut Vec<Vec<Place>>,
    ) -> Vec<Source> {
        let files = self.inputs.iter().zip(&self.headers);
        let files = files.take(self.distinct_inputs).enumerate();
        let source = |(number, (records, header)): (usize, (&Vec<Record>, &Option<Vec<u8>>))| {
            let parts = choices.pick(&[1, 1, 1, 3, 7]) as usize;
            let mut of_input = Vec::new();
            let paths: Vec<PathBuf> = (0..parts)
                .map(|part| {
                    let path = directory.join(format!("{number}.{part}"));
                    let range = records.len() * part / parts..records.len() * (part + 1) / parts;
                    if let Some(order) = &self.tables[number] {
                        table::write(choices, &path, order, &records[range]);
                        return path;
                    }
                    let name = path.display().to_string();
                    let mut line = 1 + header.iter().map(|header| lines_of(header)).sum::<u64>();
                    for record in &records[range.clone()] {
                        of_input.push((name.clone(), line));
                        line += lines_of(&record.raw);
                    }
                    let lines = header
                        .iter()
                        .chain(records[range].iter().map(|record| &record.raw));
                    let mut text = Vec::new();
                    // It is in the header that an answer has.
                    let has_mark = header.is_none() && self.keys.syntax != Syntax::Whole;
                    if has_mark && choices.one_in(5) {
                        text.extend_from_slice("\u{feff}".as_bytes());
                    }
                    for line in lines {
                        text.extend_from_slice(line);
                        text.push(b'\n');
                    }
                    if choices.one_in(3) && text.len() > 4 && !text.ends_with(b"\n\n") {
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
            places.push(of_input);
            match &paths[..] {
                [only] => Source::from(only),
                _ => Source::from(Files::new(format!("side {number}"), paths)),
            }
        };
        let mut sources: Vec<Source> = files.map(source).collect();
        if self.inputs.len() > self.distinct_inputs {
            sources.push(sources[0].clone());
            places.push(places[0].clone());
        }
        sources
    }
}

/// Counts the lines that a record takes in a file.
fn lines_of(record: &[u8]) -> u64 {
    record.split(|&byte| byte == b'\n').count() as u64
}

/// Returns the form of a field as a part of a key.
fn normal(keys: &Keys, field: String) -> String {
    let field = match keys.trims {
        true => field.trim_matches([' ', '\t']).to_owned(),
        false => field,
    };
    let field = match keys.squeezes {
        true => squeezed(&field),
        false => field,
    };
    match keys.ignores_case {
        true => field.to_ascii_lowercase(),
        false => field,
    }
}

/// Returns the field with one space for each run of blanks.
fn squeezed(field: &str) -> String {
    let mut squeezed = String::new();
    for letter in field.chars() {
        match letter {
            ' ' | '\t' if squeezed.ends_with(' ') => {}
            ' ' | '\t' => squeezed.push(' '),
            _ => squeezed.push(letter),
        }
    }
    squeezed
}

/// Makes the text of a field of a record.
fn value(choices: &mut Choices<'_>, syntax: Syntax, pool: u64) -> String {
    let number = choices.below(pool);
    match choices.below(12) {
        0 => String::new(),
        1 => format!(" V{number} "),
        2 => format!("v{number}"),
        7 => format!("K{number}K"),
        3 => format!("q\"{number}"),
        4 => format!("é{number};,"),
        8 => format!("v  w {number}"),
        9 => format!("v w   {number}"),
        5 if matches!(syntax, Syntax::Csv(_) | Syntax::JsonLines) => {
            format!("two\nlines \t{number}\t")
        }
        6 if matches!(syntax, Syntax::Csv(_) | Syntax::JsonLines) => format!("\"\n\"\"{number}"),
        _ => format!("http://example.org/{number}"),
    }
}

/// An IPv4 address, with blanks around it if they do not matter.
fn address(choices: &mut Choices<'_>, pool: u64, trims: bool) -> String {
    let number = choices.below(pool) as u32;
    // From all over the bitmap, with neighbours.
    let address = std::net::Ipv4Addr::from((number / 4).wrapping_mul(0x9e37_79b1) ^ (number % 4));
    match trims && choices.one_in(3) {
        true => format!(" {address} "),
        false => address.to_string(),
    }
}

/// A record without a key: because it lacks fields, or is damaged by its quotes.
fn bad(syntax: Syntax, number: u64, lacks: bool) -> Record {
    let raw = match syntax {
        Syntax::JsonLines => format!("{{\"other\": {number}}}"),
        _ if lacks => format!("lone {number}"),
        _ => format!("\"a\" {number}"),
    };
    Record {
        key: None,
        is_passed_over: false,
        raw: raw.into_bytes(),
        values: Vec::new(),
    }
}

/// A line that is no record, if there can be one.
fn nothing(choices: &mut Choices<'_>, columns: &Columns, keys: &Keys) -> Option<Record> {
    let is_comment = keys.comment.is_some() && choices.one_in(2);
    let raw = match columns.syntax {
        _ if is_comment => choices.pick(&["#", "#,\"", "#k\"\t\"", "# {\"id\": 1}"]),
        Syntax::Whole => return None,
        Syntax::JsonLines => choices.pick(&["", "  ", "\t\r"]),
        _ => choices.pick(&["", "\r"]),
    };
    Some(Record {
        key: None,
        is_passed_over: true,
        raw: raw.into(),
        values: Vec::new(),
    })
}
