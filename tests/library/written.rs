//! Unions whose lines are read in their own file: the answer is the set.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use data_gen::Compression;
use differential::sweep;
use outset::hash::HashKey;
use outset::{
    Dialect, ErrorKind, Field, Files, Interrupt, Keys, Observer, Options, Order, OutputFile,
    Rereadable, Result, Selection, Sink, Source, Stats, Strategy, Syntax, WriteSink, select,
};

use crate::util::{MIB, Sandbox, beside_others, from_here};

/// Finds the union of `sides` as a file; returns what is there, and the statistics.
fn union_file(
    sandbox: &Sandbox,
    sides: &[Source],
    selection: Selection,
    options: &Options,
) -> Result<(Vec<u8>, Stats)> {
    let path = sandbox.path("result");
    let file = OutputFile::create(&path, &Interrupt::new())?;
    let mut sink = WriteSink::new(file.writer()?, b'\n', "result").reread();
    let stats = select(sides, selection, &from_here(options), &mut sink)?;
    let mut writer = sink.into_inner();
    writer.flush().unwrap();
    drop(writer);
    file.finish()?;
    Ok((std::fs::read(path).unwrap(), stats))
}

/// Draws numbers that look random: SplitMix64.
fn drawn(seed: u64, index: u64) -> u64 {
    let mixed = (seed << 40 | index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 16
}

/// A key and its record.
type Record = (String, String);

/// Makes `count` records in a syntax, each different. A third have a key that came before, in one of several ways in
/// which it may be written; some are longer than all that is kept of an answer in memory.
fn records(syntax: Syntax, seed: u64, count: u64) -> Vec<Record> {
    let record = |index: u64| {
        let number = drawn(seed, index);
        let key = match number % 3 {
            0 => drawn(9, number % 97) % 700,
            _ => (seed << 32) + index,
        };
        let key = match key % 11 {
            0 if key < 700 => format!("\u{e9} \"{key}\" {}", "k".repeat(300)),
            1 => String::new(),
            _ => format!("key {key}"),
        };
        let long = if number % 1009 == 5 {
            5_000_000
        } else {
            number as usize % 600
        };
        let padding = "p".repeat(long);
        let text = match syntax {
            Syntax::JsonLines if number.is_multiple_of(2) => {
                let escaped = key.replace('"', "\\\"").replace('\u{e9}', "\\u00e9");
                format!("{{\"i\":\"{seed}.{index}\",\"k\":\"{escaped}\",\"p\":\"{padding}\"}}")
            }
            Syntax::JsonLines => {
                let escaped = key.replace('"', "\\u0022");
                format!("{{\"k\": \"{escaped}\", \"i\": \"{seed}.{index}{padding}\"}}")
            }
            Syntax::Csv(_) => {
                let quoted = key.replace('"', "\"\"");
                format!("{seed}.{index},\"{quoted}\",{padding}")
            }
            _ => format!("{seed}.{index}\t{key}\t{padding}"),
        };
        (key, text)
    };
    (0..count).map(record).collect()
}

/// Writes the records to a file, with a header before them.
fn text(header: &str, records: &[Record]) -> Vec<u8> {
    let lines = records.iter().map(|(_, record)| format!("{record}\n"));
    [header.to_owned()]
        .into_iter()
        .chain(lines)
        .collect::<String>()
        .into_bytes()
}

/// Returns the first record of each key.
fn first_of_each<'r>(records: impl IntoIterator<Item = &'r Record>) -> Vec<&'r Record> {
    let mut known = HashSet::new();
    let records = records.into_iter();
    records
        .filter(|(key, _)| known.insert(key.clone()))
        .collect()
}

/// Gives the keys of a syntax, and the header of its files.
fn keys(syntax: Syntax) -> (Keys, &'static str) {
    let (field, has_header) = match syntax {
        Syntax::JsonLines => (Field::Name("k".into()), false),
        Syntax::Csv(_) => (Field::Name("k".into()), true),
        _ => (Field::Number(2), false),
    };
    let keys = Keys {
        fields: vec![field],
        has_header,
        syntax,
        ..Keys::default()
    };
    (keys, if has_header { "i,k,p\n" } else { "" })
}

/// Lists the syntaxes of records.
fn syntaxes() -> [Syntax; 3] {
    [
        Syntax::JsonLines,
        Syntax::Csv(Dialect::new(b',')),
        Syntax::Delimited(b'\t'),
    ]
}

#[test]
fn of_records_with_a_key_the_first_is_written_and_read_where_it_is() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    for (&syntax, &threads) in sweep::pairs(&syntaxes(), &[1, 2, 4]) {
        let (keys, header) = keys(syntax);
        let sides: Vec<Vec<Record>> = (1..4).map(|seed| records(syntax, seed, 3000)).collect();
        let mut texts: Vec<Vec<u8>> = sides.iter().map(|side| text(header, side)).collect();
        texts[1] = Compression::Pzstd.compress(&texts[1]).unwrap();
        texts[2] = Compression::Gzip.compress(&texts[2]).unwrap();
        let paths = sandbox.files(&texts);
        let one = |index: usize| Source::from(&paths[index]);
        let expected = text(
            header,
            &first_of_each(sides.iter().flatten())
                .into_iter()
                .cloned()
                .collect::<Vec<_>>(),
        );
        // Files as sides of their own, and all in one.
        let sources = match threads {
            2 => vec![Source::from(Files::new("all", paths.clone()))],
            _ => vec![one(0), one(1), one(2), one(0)],
        };
        let options = Options {
            keys: Some(keys),
            strategy: Some(Strategy::Memory),
            threads: Some(threads),
            memory_bytes: Some(64 * MIB),
            ..sandbox.options()
        };
        let selection = Selection::union().of_records();
        let (found, stats) = union_file(&sandbox, &sources, selection, &options).unwrap();
        let ran = (stats.strategy.as_str(), stats.temp.written_bytes);
        assert_eq!(ran, ("memory", 0), "{syntax:?}, {threads} threads");
        assert!(found == expected, "{syntax:?}, {threads} threads");
    }
}

#[test]
fn bytes_decide_where_all_hashes_are_equal() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    for syntax in syntaxes() {
        let (keys, header) = keys(syntax);
        let sides: Vec<Vec<Record>> = (1..3).map(|seed| records(syntax, seed, 150)).collect();
        let texts: Vec<Vec<u8>> = sides.iter().map(|side| text(header, side)).collect();
        let sources: Vec<Source> = sandbox.files(&texts).iter().map(Source::from).collect();
        let expected = text(
            header,
            &first_of_each(sides.iter().flatten())
                .into_iter()
                .cloned()
                .collect::<Vec<_>>(),
        );
        let options = Options {
            keys: Some(keys),
            strategy: Some(Strategy::Memory),
            hash_key: HashKey::Constant,
            memory_bytes: Some(64 * MIB),
            ..sandbox.options()
        };
        let selection = Selection::union().of_records().ordered(Order::Any);
        let (found, _) = union_file(&sandbox, &sources, selection, &options).unwrap();
        assert!(found == expected, "{syntax:?}");
    }
}

/// Counts the plans of a run.
#[derive(Default)]
struct Plans(Mutex<Vec<Strategy>>);

impl Observer for Plans {
    fn planned(&self, plan: &outset::plan::Plan) {
        self.0.lock().unwrap().push(plan.strategy());
    }
}

#[test]
#[cfg_attr(
    portable,
    ignore = "the peak of all tests of this process counts as in use"
)]
fn more_lines_than_a_sample_shows_begin_the_file_again() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    // What is read of a compressed file before the run are long lines.
    let long = (0..1000).map(|i| format!("{i},{}\n", "x".repeat(3000)));
    let short = (0..400_000).map(|i| format!("{},\n", i % 250_000));
    let text: String = ["k,v\n".to_owned()]
        .into_iter()
        .chain(long)
        .chain(short)
        .collect();
    let path = sandbox.file(
        "big.zst",
        Compression::Zstd.compress(text.as_bytes()).unwrap(),
    );
    let plans = Arc::new(Plans::default());
    let options = Options {
        keys: Some(Keys {
            fields: vec![Field::Name("k".into())],
            has_header: true,
            syntax: Syntax::Csv(Dialect::new(b',')),
            ..Keys::default()
        }),
        observer: Some(plans.clone()),
        memory_bytes: Some(24 * MIB),
        ..sandbox.options()
    };
    let selection = Selection::union().of_records();
    let (found, stats) = union_file(&sandbox, &[Source::from(path)], selection, &options).unwrap();
    let plans = plans.0.lock().unwrap();
    assert_eq!(plans[0], Strategy::Memory, "{plans:?}");
    assert!(plans.len() > 1 && stats.strategy != "memory", "{plans:?}");
    assert_eq!(stats.output.lines, 250_000);
    let found = String::from_utf8(found).unwrap();
    assert_eq!(found.lines().count(), 250_001);
    assert_eq!(found.lines().filter(|line| *line == "k,v").count(), 1);
    assert_eq!(found.lines().collect::<HashSet<_>>().len(), 250_001);
    assert_eq!(
        stats.output.bytes + stats.output.header_bytes,
        found.len() as u64
    );
}

/// A sink into a file that loses what was written, or changes it.
struct Losing {
    file: Arc<File>,
    bytes: u64,
    /// The loss, when the file is to be read.
    lose: fn(&File) -> io::Result<()>,
}

impl Sink for Losing {
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.file
            .write_all_at(&[line, b"\n"].concat(), self.bytes)?;
        self.bytes += line.len() as u64 + 1;
        Ok(())
    }

    fn rereadable(&mut self) -> Option<&mut dyn Rereadable> {
        Some(self)
    }
}

impl Rereadable for Losing {
    fn file(&mut self) -> io::Result<Arc<File>> {
        Ok(Arc::clone(&self.file))
    }

    fn settle(&mut self) -> io::Result<()> {
        (self.lose)(&self.file)
    }

    fn empty(&mut self) -> io::Result<()> {
        self.file.set_len(0)
    }
}

#[test]
fn a_result_that_cannot_be_read_where_it_was_written_fails_the_run() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let line = |i: u32| format!("{i:0>1000}\n");
    // Those that come again are far behind.
    let text: String = (0..9000).chain(0..10).map(line).collect();
    let path: PathBuf = sandbox.file("lines", text);
    let options = Options {
        strategy: Some(Strategy::Memory),
        keys: Some(Keys {
            fields: vec![Field::Number(1)],
            syntax: Syntax::Delimited(b'\t'),
            ..Keys::default()
        }),
        ..sandbox.options()
    };
    let created = || {
        File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(sandbox.path("r"))
            .unwrap()
    };
    let losing = |lose| {
        let mut sink = Losing {
            file: Arc::new(created()),
            bytes: 0,
            lose,
        };
        let selection = Selection::union().of_records();
        let run = select(
            &[Source::from(&path)],
            selection,
            &from_here(&options),
            &mut sink,
        );
        run.map(|stats| stats.output.lines)
    };
    assert_eq!(losing(|_| Ok(())).unwrap(), 9000);
    let error = losing(|file| file.set_len(0)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Output, "{error}");
    assert!(error.to_string().contains("cannot read again"), "{error}");
    // Another line is there: what has the hash of the first one is not in the file.
    let error = losing(|file| file.write_all_at(&[b'x'; 1000], 0)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Output, "{error}");
    assert!(error.to_string().contains("changed meanwhile"), "{error}");
    let error = losing(|_| Err(io::Error::other("lost"))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Output, "{error}");
}

#[test]
fn long_lines_that_no_set_has_room_for_are_read_where_they_are() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let line = |i: u64| format!("{:0>1000}\n", drawn(7, i % 9000));
    let text: String = (0..12_000).map(line).collect();
    let expected: String = (0..9000).map(line).collect();
    let path = sandbox.file("lines", text);
    for order in [Order::Any, Order::Input] {
        let selection = Selection::union().ordered(order);
        let sides = [Source::from(&path), Source::from(&path)];
        let (found, stats) = union_file(&sandbox, &sides, selection, &sandbox.options()).unwrap();
        assert!(found == expected.as_bytes(), "{order:?}");
        assert_eq!(
            (stats.strategy.as_str(), stats.temp.written_bytes),
            ("memory", 0)
        );
    }
}

#[test]
fn records_whose_keys_are_in_different_columns_are_not_read_again() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let padding = "p".repeat(900);
    let of = |swapped: bool, range: std::ops::Range<u32>| -> String {
        let record = |i: u32| {
            if swapped {
                format!("{i}\t{}\t{padding}\n", i + 1)
            } else {
                format!("{}\t{i}\t{padding}\n", i + 1)
            }
        };
        range.map(record).collect()
    };
    let paths = sandbox.files(&[of(false, 0..500).into(), of(true, 400..900).into()]);
    let sources: Vec<Source> = paths.iter().map(Source::from).collect();
    let options = |strategy| Options {
        keys: Some(Keys {
            syntax: Syntax::Delimited(b'\t'),
            fields: vec![Field::Number(2)],
            fields_of: vec![(2, vec![Field::Number(1)])],
            ..Keys::default()
        }),
        strategy,
        ..sandbox.options()
    };
    let selection = Selection::union().of_records();
    let refused = union_file(
        &sandbox,
        &sources,
        selection,
        &options(Some(Strategy::Memory)),
    );
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Usage);
    let ordered = selection.ordered(Order::Input);
    let (found, stats) = union_file(&sandbox, &sources, ordered, &options(None)).unwrap();
    let expected = of(false, 0..500) + &of(true, 500..900);
    assert!(found == expected.as_bytes());
    // Of a set of keys, another reading writes the records.
    let writes_afterwards = stats
        .phases
        .iter()
        .any(|phase| phase.name.starts_with("write "));
    assert!(writes_afterwards || stats.strategy != "memory");
}
