//! Parquet files: those of other programs, and those that are damaged.
//!
//! The files in `tests/fuzz/corpus/parquet` whose names begin with `arrow-` and `duckdb-` were written by pyarrow 26
//! and DuckDB 2.0. All have the same 40 rows: `id` counts from 0, and `url` is `key N` with N the number of the row
//! modulo 13, or NULL where that number modulo 7 is 3.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use differential::choices::Choices;
use differential::sweep;
use differential::targets::parquet::read;
use outset::{
    Advance, Dialect, Error, ErrorKind, Field, Files, Interrupt, KeyType, Keys, Options, Order,
    RowCopy, Selection, Source, Strategy, Syntax,
};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};

use crate::util::{
    EXACT, Sandbox, alone, assert_same, beside_others, from_here, resident_bytes, root,
    run_to_select, select_into,
};

fn files() -> Vec<PathBuf> {
    let corpus = root().join("tests/fuzz/corpus/parquet");
    let entries = fs::read_dir(corpus).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| {
        let name = file.file_name().unwrap().to_string_lossy();
        name.starts_with("arrow-") || name.starts_with("duckdb-")
    });
    files.sort();
    assert!(files.len() > 15, "{} files", files.len());
    files
}

fn url() -> Field {
    Field::Name("url".into())
}

/// The key of a row of these files.
fn key(row: u64) -> Option<String> {
    (row % 7 != 3).then(|| format!("key {}", row % 13))
}

fn sorted(lines: impl Iterator<Item = String>) -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = lines.map(String::into_bytes).collect();
    lines.sort();
    lines.dedup();
    lines
}

fn options(sandbox: &Sandbox, row_numbers: bool) -> Options {
    Options {
        keys: Some(Keys {
            fields: vec![url()],
            row_numbers,
            ..Keys::default()
        }),
        ..sandbox.options()
    }
}

#[test]
fn b23_what_other_programs_wrote_is_read() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    for file in files() {
        let found = read(&file, url(), &sandbox.path("")).unwrap();
        let about = file.display();
        assert_eq!(found, sorted((0..40).filter_map(key)), "{about}");
        let found = read(&file, Field::Number(1), &sandbox.path("")).unwrap();
        assert_eq!(found, sorted((0..40).map(|id| id.to_string())), "{about}");
    }
}

#[test]
fn b23_rows_of_the_first_file_are_numbered_from_0() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let list = sandbox.file("list", b"key 5\nkey 7\nno key\n");
    let has_it = |row: &u64| [5, 7].contains(&(row % 13)) && row % 7 != 3;
    for file in files() {
        let inputs = [file.clone(), list.clone()];
        let options = options(&sandbox, true);
        for (selection, is_in) in [
            (Selection::intersection(), true),
            (Selection::difference(), false),
        ] {
            let selection = selection.of_records().with_repeats();
            let (found, stats) = run_to_select(selection, &inputs, &options).unwrap();
            let rows = (0..40).filter(|row| key(*row).is_some() && has_it(row) == is_in);
            assert_eq!(
                found,
                sorted(rows.map(|row| row.to_string()))
                    .into_iter()
                    .collect(),
                "{}",
                file.display()
            );
            assert_eq!(
                (stats.inputs[0].lines, stats.inputs[0].null_rows),
                (34, Some(6))
            );
            assert_eq!(stats.inputs[1].null_rows, None);
        }
    }
}

/// The numbers of rows that a run gives for each file.
#[derive(Default)]
struct RowsOfFiles(Vec<Vec<u64>>);

impl outset::Sink for RowsOfFiles {
    fn line(&mut self, line: &[u8]) -> std::io::Result<()> {
        let number = std::str::from_utf8(line).unwrap().parse().unwrap();
        self.0.last_mut().unwrap().push(number);
        Ok(())
    }

    fn file(&mut self, _path: &Path) -> std::io::Result<()> {
        self.0.push(Vec::new());
        Ok(())
    }

    fn divides_by_file(&self) -> bool {
        true
    }
}

/// The same, from a run that tells numbers.
#[derive(Default)]
struct NumbersOfFiles(RowsOfFiles);

impl outset::Sink for NumbersOfFiles {
    fn line(&mut self, line: &[u8]) -> std::io::Result<()> {
        unreachable!("{} is no number", line.escape_ascii())
    }

    fn rows(&mut self, numbers: &mut dyn Iterator<Item = u64>) -> std::io::Result<()> {
        self.0.0.last_mut().unwrap().extend(numbers);
        Ok(())
    }

    fn file(&mut self, path: &Path) -> std::io::Result<()> {
        self.0.file(path)
    }

    fn divides_by_file(&self) -> bool {
        true
    }
}

/// Writes a file of row groups of up to 100 rows, which have these keys.
fn write_keys(path: &Path, keys: &[u64]) {
    write_keys_in_groups(path, keys, 100);
}

/// Writes a file of row groups of so many rows, which have these keys.
fn write_keys_in_groups(path: &Path, keys: &[u64], rows: usize) {
    let values: Vec<i64> = keys.iter().map(|&key| key as i64).collect();
    write_column::<Int64Type>(path, "int64", &values, rows);
}

/// Writes a file of row groups of so many rows, which have these keys.
fn write_texts(path: &Path, keys: &[String], rows: usize) {
    let values: Vec<ByteArray> = keys.iter().map(|key| key.as_str().into()).collect();
    write_column::<ByteArrayType>(path, "binary", &values, rows);
}

/// Writes a file of row groups of so many rows, with one column of this kind.
fn write_column<T: DataType>(path: &Path, kind: &str, values: &[T::T], rows: usize) {
    let schema = format!("message m {{ required {kind} url; }}");
    let schema = parquet::schema::parser::parse_message_type(&schema);
    let (schema, file) = (schema.unwrap().into(), fs::File::create(path).unwrap());
    let mut writer =
        parquet::file::writer::SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    for values in values.chunks(rows) {
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let typed = column.typed::<T>();
        typed.write_batch(values, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn b23_rows_of_many_files_come_in_order_by_a_bit_for_each_or_sorted() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let mut choices = Choices::seeded(8);
    // Files without rows among them, at the front and one after the other.
    let counts = [0, 1, 300, 0, 0, 64, 63, 1000, 0];
    let files: Vec<Vec<u64>> = counts
        .iter()
        .map(|&rows| (0..rows).map(|_| choices.below(700)).collect())
        .collect();
    let paths = (0..).zip(&files).map(|(number, keys)| {
        let path = sandbox.path(&format!("p{number}"));
        write_keys(&path, keys);
        if number == 4 {
            // Without a byte, which a side may have.
            fs::write(&path, b"").unwrap();
        }
        path
    });
    let side = Source::from(Files::new("side", paths.collect::<Vec<_>>()));
    let other: Vec<u64> = (0..200).map(|_| choices.below(700)).collect();
    let lines: Vec<String> = other.iter().map(u64::to_string).collect();
    let other_side = Source::from(sandbox.file("other", lines.join("\n").as_bytes()));
    for (selection, keeps_last, is_in) in [
        (Selection::difference(), false, false),
        (Selection::difference().keeping_last(), true, false),
        (Selection::intersection(), false, true),
        (Selection::intersection().keeping_last(), true, true),
    ] {
        let mut places: HashMap<u64, (usize, u64)> = HashMap::new();
        for (file, keys) in files.iter().enumerate() {
            for (row, &key) in (0..).zip(keys) {
                let place = places.entry(key).or_insert((file, row));
                if keeps_last {
                    *place = (file, row);
                }
            }
        }
        let mut expected = vec![Vec::new(); files.len()];
        for (key, (file, row)) in places {
            if other.contains(&key) == is_in {
                expected[file].push(row);
            }
        }
        for rows in &mut expected {
            rows.sort_unstable();
        }
        let selection = selection.of_records().ordered(Order::Input);
        for (always_spill, threads) in [(false, 1), (false, 4), (true, 2)] {
            let mut options = options(&sandbox, true);
            (options.always_spill, options.threads) = (always_spill, Some(threads));
            let mut found = RowsOfFiles::default();
            let sources = [side.clone(), other_side.clone()];
            let stats =
                outset::select(&sources, selection, &from_here(&options), &mut found).unwrap();
            assert_eq!(found.0, expected, "{selection:?}, {always_spill}");
            // What is sorted is written, if all is.
            let has_spilled = stats.temp.peak_bytes > 0;
            assert!(has_spilled || !always_spill, "{stats:?}");
            if !always_spill {
                let mut told = NumbersOfFiles::default();
                outset::select(&sources, selection, &from_here(&options), &mut told).unwrap();
                assert_eq!(told.0.0, expected, "{selection:?}");
            }
        }
    }
}

#[test]
fn b23_rows_of_two_sides_are_told_apart() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let keys = [vec![5, 1, 5, 2], vec![], vec![2, 7, 1], vec![8, 5, 9, 9]];
    let paths: Vec<PathBuf> = (0..)
        .zip(&keys)
        .map(|(number, keys)| {
            let path = sandbox.path(&format!("p{number}"));
            write_keys(&path, keys);
            path
        })
        .collect();
    // The last file of one side lies before the first of the other.
    let sides = paths
        .chunks(2)
        .map(|paths| Source::from(Files::new("side", paths.to_vec())));
    let sides: Vec<Source> = sides.collect();
    for (keeps_last, expected) in [
        (false, [vec![0, 1, 3], vec![], vec![1], vec![0, 2]]),
        (true, [vec![], vec![], vec![0, 1, 2], vec![0, 1, 3]]),
    ] {
        let selection = Selection::union().of_records().ordered(Order::Input);
        let selection = if keeps_last {
            selection.keeping_last()
        } else {
            selection
        };
        let mut found = NumbersOfFiles::default();
        let options = from_here(&options(&sandbox, true));
        outset::select(&sides, selection, &options, &mut found).unwrap();
        assert_eq!(found.0.0, expected, "{keeps_last}");
    }
}

/// Writes a file of one row group of which the first of so many rows has a key, and the others have NULL.
fn write_nulls(path: &Path, rows: usize) {
    let schema = parquet::schema::parser::parse_message_type("message m { optional int64 url; }");
    let (schema, file) = (schema.unwrap().into(), fs::File::create(path).unwrap());
    let mut writer =
        parquet::file::writer::SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let mut levels = vec![0; rows];
    levels[0] = 1;
    let typed = column.typed::<Int64Type>();
    typed.write_batch(&[7], Some(&levels), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

/// Moves the footer of a file behind a hole of this size.
fn put_hole(path: &Path, bytes: u64) {
    use std::os::unix::fs::FileExt;
    let content = fs::read(path).unwrap();
    let length = u32::from_le_bytes(content[content.len() - 8..][..4].try_into().unwrap());
    let (data, footer) = content.split_at(content.len() - 8 - length as usize);
    let file = fs::File::create(path).unwrap();
    file.write_all_at(data, 0).unwrap();
    file.write_all_at(footer, data.len() as u64 + bytes)
        .unwrap();
}

#[test]
fn b23_rows_that_outrun_the_positions_of_their_file_are_refused() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let paths = ["a", "b", "c"].map(|name| sandbox.path(name));
    write_nulls(&paths[0], 400_000);
    write_keys(&paths[1], &[8]);
    write_keys(&paths[2], &[9]);
    let run = || {
        let side = Source::from(Files::new("side", paths.to_vec()));
        let selection = Selection::union().of_records().ordered(Order::Input);
        let mut found = NumbersOfFiles::default();
        let options = from_here(&options(&sandbox, true));
        outset::select(&[side], selection, &options, &mut found).map(|_| found.0.0)
    };
    assert_eq!(run().unwrap(), [[0], [0], [0]]);
    // Each byte of a side of a terabyte has 128 positions.
    put_hole(&paths[2], 1 << 40);
    let told = run().unwrap_err().to_string();
    assert!(told.contains("where the order of lines matters"), "{told}");
    write_nulls(&paths[0], 10_000);
    assert_eq!(run().unwrap(), [[0], [0], [0]]);
}

#[test]
fn b23_a_sample_sees_row_groups_in_all_parts_of_a_file() {
    let _shared = beside_others();
    let sandbox = Sandbox::new();
    let path = sandbox.path("p");
    // Its front repeats a few keys, and all else is different.
    let keys = (0..1_000_000).map(|row| if row < 100_000 { row % 10 } else { row });
    write_keys_in_groups(&path, &keys.collect::<Vec<_>>(), 1 << 16);
    let options = Options {
        memory_bytes: Some(1 << 30),
        strategy: Some(Strategy::Sieve),
        ..options(&sandbox, false)
    };
    let plan = outset::plan_for(&[path.into()], Selection::union(), &from_here(&options)).unwrap();
    let keys = plan.costs.filter.unwrap().keys;
    assert!((700_000..=1_000_000).contains(&keys), "{keys}");
}

#[test]
fn b23_row_numbers_are_refused_where_records_of_others_are_written() {
    let sandbox = Sandbox::new();
    let list = sandbox.file("list", b"key 5\n");
    let file = files().remove(0);
    let options = options(&sandbox, true);
    let union = Selection::union().of_records();
    for (selection, inputs) in [
        (union, [file.clone(), list.clone()]),
        (
            Selection::difference().of_records().with_repeats(),
            [list.clone(), file.clone()],
        ),
    ] {
        let refused = run_to_select(selection, &inputs, &options).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Usage, "{refused}");
    }
}

#[test]
fn b23_rows_have_their_numbers_in_every_piece_of_a_file() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    // Pieces have 2^16 rows or more, so this file has two.
    let keys: Vec<String> = (0..140_000).map(|row| format!("key {row}")).collect();
    let (path, others) = (sandbox.file("p", b""), sandbox.file("others", b""));
    write_texts(&path, &keys, 10_000);
    let every_third: Vec<String> = keys.iter().step_by(3).cloned().collect();
    write_texts(&others, &every_third, 10_000);
    let selection = Selection::intersection().of_records().with_repeats();
    let (found, stats) = run_to_select(
        selection.ordered(Order::Input),
        &[path, others],
        &Options {
            memory_bytes: Some(64 << 20),
            strategy: Some(Strategy::Partition),
            ..options(&sandbox, true)
        },
    )
    .unwrap();
    let rows = (0..140_000)
        .step_by(3)
        .map(|row: u32| row.to_string().into_bytes());
    assert_eq!(found, rows.collect());
    assert_eq!(stats.inputs[0].lines, 140_000);
}

#[test]
fn b23_addresses_in_tables_are_checked() {
    let sandbox = Sandbox::new();
    let path = sandbox.file("p", b"");
    let texts = ["1.2.3.4", "1.2.3.400", "1.2.3.5"].map(str::to_owned);
    write_texts(&path, &texts, 3);
    let mut options = options(&sandbox, false);
    options.key_type = KeyType::Ipv4;
    let run = |options: &Options| {
        let inputs = [path.clone(), path.clone()];
        run_to_select(Selection::intersection(), &inputs, options)
    };
    let refused = run(&options).unwrap_err();
    assert!(matches!(refused, Error::NotAnAddress { .. }), "{refused}");
    options.keys.as_mut().unwrap().bad_records = outset::BadRecords::Skip;
    let (found, stats) = run(&options).unwrap();
    assert_eq!(found, [b"1.2.3.4".to_vec(), b"1.2.3.5".to_vec()].into());
    assert_eq!(stats.inputs[0].bad_records, Some(1));
}

/// Makes texts with every byte that means something in CSV, and of lengths around those where a length, a copy and a
/// chunk take more.
fn odd_texts() -> Vec<String> {
    let odd = [
        "", "a\n", "\n", "\"", "x,y", "\r", "a\r", "\0", "é", "\t", " a ",
    ];
    let long = [118, 119, 120, 126, 127, 128, 16_383, 16_384, 3_000_000];
    let odd = odd.into_iter().map(str::to_owned);
    let all: Vec<String> = odd.chain(long.map(|bytes| "l".repeat(bytes))).collect();
    let ordinary = (0..500).map(|number| format!("key {number}"));
    all.into_iter().chain(ordinary).collect()
}

/// Two sides with such keys, each as a table and as text: each second key of the first is in the other, twice.
struct OddKeys {
    sandbox: Sandbox,
    first: Vec<String>,
    second: Vec<String>,
    tables: Vec<PathBuf>,
    texts: Vec<PathBuf>,
}

impl OddKeys {
    fn write() -> Self {
        let (sandbox, first) = (Sandbox::new(), odd_texts());
        let common: Vec<String> = first.iter().step_by(2).cloned().collect();
        // One is another key in capitals.
        let others = ["another", "KEY 100", "KEY 101"].map(str::to_owned);
        let second = [&common[..], &others, &common[..]].concat();
        let (mut tables, mut texts) = (Vec::new(), Vec::new());
        for (name, keys) in [("a", &first), ("b", &second)] {
            let table = sandbox.file(&format!("{name}.parquet"), b"");
            write_texts(&table, keys, 70);
            tables.push(table);
            let quoted = |key: &String| format!("\"{}\"\n", key.replace('"', "\"\""));
            let text = "url\n".to_owned() + &keys.iter().map(quoted).collect::<String>();
            texts.push(sandbox.file(&format!("{name}.csv"), text.as_bytes()));
        }
        Self {
            sandbox,
            first,
            second,
            tables,
            texts,
        }
    }

    /// The options for these keys. Memory has room for the longest.
    fn options(&self, strategy: Option<Strategy>, row_numbers: bool) -> Options {
        Options {
            keys: Some(Keys {
                syntax: Syntax::Csv(Dialect::new(b',')),
                has_header: true,
                fields: vec![url()],
                row_numbers,
                ..Keys::default()
            }),
            memory_bytes: Some(4 << 30),
            strategy,
            always_spill: strategy.is_some(),
            ..self.sandbox.options()
        }
    }
}

#[test]
fn b23_keys_of_rows_are_those_of_records_whatever_their_bytes_and_lengths() {
    let _alone = alone();
    let sides = OddKeys::write();
    let mixed = vec![sides.texts[0].clone(), sides.tables[1].clone()];
    let selections = [
        Selection::union(),
        Selection::intersection(),
        Selection::difference(),
    ];
    for ignores_case in [false, true] {
        let keys = |selection, inputs, strategy| {
            let mut options = sides.options(strategy, false);
            options.keys.as_mut().unwrap().ignores_case = ignores_case;
            run_to_select(selection, inputs, &options).unwrap()
        };
        let expected = selections.map(|selection| keys(selection, &sides.texts, None).0);
        let cases: Vec<_> = selections.into_iter().zip(expected).collect();
        for ((selection, expected), &strategy) in sweep::pairs(&cases, &EXACT) {
            for inputs in [&sides.tables, &mixed] {
                let (found, stats) = keys(*selection, inputs, strategy);
                let about = format!("{selection:?} {strategy:?} {ignores_case}");
                assert_same(&found, expected, &about);
                assert_eq!(stats.inputs[1].lines, sides.second.len() as u64);
            }
        }
    }
}

#[test]
fn b23_keys_of_rows_come_in_the_order_of_those_of_records() {
    let _alone = alone();
    let sides = OddKeys::write();
    let union = |inputs: &[PathBuf], strategy| {
        let mut found = Vec::new();
        let mut sink = |line: &[u8]| {
            found.push(line.to_vec());
            Ok(())
        };
        let selection = Selection::union().ordered(Order::Input);
        select_into(
            selection,
            inputs,
            &sides.options(strategy, false),
            &mut sink,
        )
        .unwrap();
        found
    };
    for strategy in EXACT {
        let (found, expected) = (
            union(&sides.tables, strategy),
            union(&sides.texts, strategy),
        );
        assert!(found == expected, "{strategy:?}");
    }
}

#[test]
fn b23_rows_have_their_numbers_whatever_their_keys() {
    let _alone = alone();
    let sides = OddKeys::write();
    let selection = Selection::difference().of_records().with_repeats();
    let others = (0..sides.first.len()).filter(|row| row % 2 == 1);
    let rows = others.map(|row| row.to_string().into_bytes()).collect();
    for strategy in EXACT {
        // With records that have their numbers before them, and with keys that have them behind.
        for always_spill in [true, false] {
            let options = Options {
                always_spill,
                ..sides.options(strategy, true)
            };
            let ordered = selection.ordered(Order::Input);
            let (found, _) = run_to_select(ordered, &sides.tables, &options).unwrap();
            assert_same(&found, &rows, &format!("{strategy:?} {always_spill}"));
        }
    }
}

#[test]
fn b23_a_key_with_a_line_end_is_refused_or_left_out_or_quoted() {
    let sandbox = Sandbox::new();
    let path = sandbox.file("p", b"");
    write_texts(&path, &["a", "b\nc", "d\r"].map(str::to_owned), 3);

    let mut options = options(&sandbox, false);
    let run =
        |options: &Options| run_to_select(Selection::union(), std::slice::from_ref(&path), options);
    let refused = run(&options).unwrap_err();
    assert!(matches!(refused, Error::BadRow { row: 1, .. }), "{refused}");
    let keys = options.keys.as_mut().unwrap();
    keys.bad_records = outset::BadRecords::Skip;
    let (found, stats) = run(&options).unwrap();
    assert_eq!(found, [b"a".to_vec(), b"d\r".to_vec()].into());
    assert_eq!(stats.inputs[0].bad_records, Some(1));
    let keys = options.keys.as_mut().unwrap();
    (keys.bad_records, keys.syntax) = (outset::BadRecords::Fail, Syntax::Csv(Dialect::new(b',')));
    let (found, _) = run(&options).unwrap();
    assert_eq!(
        found,
        [b"\"b\nc\"".to_vec(), b"a".to_vec(), b"\"d\r\"".to_vec()].into()
    );
}

#[test]
fn b23_a_file_that_is_cut_short_anywhere_is_an_error() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let path = sandbox.file("cut", b"");
    for file in files().iter().step_by(5) {
        let bytes = fs::read(file).unwrap();
        for end in (5..bytes.len()).step_by(7).chain([bytes.len() - 1]) {
            fs::write(&path, &bytes[..end]).unwrap();
            let error = read(&path, url(), &sandbox.path("")).unwrap_err();
            let says = error.to_string();
            assert_eq!(
                error.kind(),
                ErrorKind::Input,
                "{end} of {}: {says}",
                file.display()
            );
        }
        fs::write(&path, [&bytes[..], b"\n"].concat()).unwrap();
        assert!(
            read(&path, url(), &sandbox.path("")).is_err(),
            "{}",
            file.display()
        );
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn b23_pages_that_are_altered_under_a_checksum_are_errors() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let path = sandbox.file("altered", b"");
    let files = files();
    let file = files
        .iter()
        .find(|file| file.ends_with("arrow-checksum"))
        .unwrap();
    let bytes = fs::read(file).unwrap();
    let expected = read(file, url(), &sandbox.path("")).unwrap();
    for offset in 4..bytes.len() - 8 {
        let mut altered = bytes.clone();
        altered[offset] ^= 0x11;
        fs::write(&path, altered).unwrap();
        // What is not under the checksum is the footer, of which much does not matter here.
        if let Ok(found) = read(&path, url(), &sandbox.path("")) {
            assert_eq!(found, expected, "byte {offset}");
        }
    }
}

/// Rows of every type, with lists and NULLs.
const MESSAGE: &str = "message m {
    required boolean truth; optional int32 id; required int64 large; optional int96 old; required float real;
    optional double wide; optional binary text (UTF8); required fixed_len_byte_array(3) fixed;
    optional group list { repeated group item { optional binary word (UTF8); required int32 number; } }
}";

/// Writes `rows` rows to `path`; what is in them depends on `choices`.
fn write_all_types(path: &Path, choices: &mut Choices<'_>, rows: usize) {
    use parquet::column::writer::ColumnWriter;
    let schema = parquet::schema::parser::parse_message_type(MESSAGE).unwrap();
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_data_page_size_limit(choices.pick(&[100, 1 << 20]))
        .set_write_batch_size(7)
        .set_dictionary_enabled(choices.one_in(2))
        // With 20 bytes some columns begin with a dictionary and go on without.
        .set_dictionary_page_size_limit(choices.pick(&[20, 1 << 20]))
        .build();
    let file = fs::File::create(path).unwrap();
    let mut writer =
        parquet::file::writer::SerializedFileWriter::new(file, schema.into(), properties.into())
            .unwrap();
    let descriptor = writer.schema_descr().clone();
    let mut left = rows;
    while left > 0 {
        let of_group = left.min(choices.between(1, 300) as usize);
        left -= of_group;
        let mut group = writer.next_row_group().unwrap();
        let lists: Vec<u64> = (0..of_group).map(|_| choices.below(4)).collect();
        for leaf in 0..descriptor.num_columns() {
            let column = descriptor.column(leaf);
            let (mut definitions, mut repetitions) = (Vec::new(), Vec::new());
            let most = column.max_def_level();
            for &items in &lists {
                let times = if column.max_rep_level() > 0 {
                    items.max(1)
                } else {
                    1
                };
                for time in 0..times {
                    let is_empty = column.max_rep_level() > 0 && items == 0;
                    // What has no item may be an empty list, or none.
                    let low = if is_empty {
                        0
                    } else {
                        u64::from(column.max_rep_level() > 0) * 2
                    };
                    let high = if is_empty { 1 } else { most as u64 };
                    definitions.push(choices.between(low.min(high), high) as i16);
                    repetitions.push(i16::from(time > 0));
                }
            }
            let count = definitions.iter().filter(|&&level| level == most).count();
            let mut number = || choices.below(50);
            let levels = (Some(&definitions[..]), Some(&repetitions[..]));
            let mut to = group.next_column().unwrap().unwrap();
            macro_rules! values {
                ($writer:expr, $value:expr) => {{
                    let values: Vec<_> = (0..count).map(|_| $value).collect();
                    $writer.write_batch(&values, levels.0, levels.1).unwrap();
                }};
            }
            match to.untyped() {
                ColumnWriter::BoolColumnWriter(to) => values!(to, number() % 2 == 0),
                ColumnWriter::Int32ColumnWriter(to) => values!(to, number() as i32 - 9),
                ColumnWriter::Int64ColumnWriter(to) => values!(to, -(number() as i64)),
                ColumnWriter::Int96ColumnWriter(to) => {
                    values!(to, vec![number() as u32, 1, 2].into());
                }
                ColumnWriter::FloatColumnWriter(to) => values!(to, number() as f32),
                ColumnWriter::DoubleColumnWriter(to) => values!(to, number() as f64),
                ColumnWriter::ByteArrayColumnWriter(to) => {
                    values!(to, format!("text {}", number()).as_str().into());
                }
                ColumnWriter::FixedLenByteArrayColumnWriter(to) => {
                    let fixed = |number: u64| format!("{number:03}").into_bytes();
                    values!(
                        to,
                        parquet::data_type::ByteArray::from(fixed(number())).into()
                    );
                }
            }
            to.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

/// All rows of a file, as text.
pub(crate) fn rows_of(path: &Path) -> Vec<String> {
    use parquet::file::reader::FileReader;
    let file = fs::File::open(path).unwrap();
    let reader = parquet::file::reader::SerializedFileReader::new(file).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().to_string()).collect()
}

/// For each column without lists, true if some row group has nothing but values of a dictionary for it.
fn dictionaries_of(path: &Path) -> Vec<bool> {
    use parquet::file::reader::FileReader;
    let file = fs::File::open(path).unwrap();
    let reader = parquet::file::reader::SerializedFileReader::new(file).unwrap();
    let groups = reader.metadata().row_groups();
    let is_of_dictionary = |leaf: usize| {
        let mut columns = groups.iter().map(|group| group.column(leaf));
        columns.any(|column| {
            let pages = column.page_encoding_stats_mask().unwrap();
            pages.is_only(parquet::basic::Encoding::RLE_DICTIONARY)
        })
    };
    let columns = reader.metadata().file_metadata().schema_descr().columns();
    let columns = columns.iter().enumerate();
    let flat = columns.filter(|(_, column)| column.max_rep_level() == 0);
    flat.map(|(leaf, _)| is_of_dictionary(leaf)).collect()
}

/// Copies rows of a file to a new one; returns its bytes.
fn copied(
    from: &RowCopy,
    rows: &mut dyn Iterator<Item = outset::Result<u64>>,
    limit: u64,
) -> outset::Result<Vec<u8>> {
    let mut target = Vec::new();
    let mut output = from.begin((&mut target, "to"), [from.rows()], limit)?;
    from.append_to(&mut output, rows, limit, (&Interrupt::new(), &|_, _| {}))?;
    let bytes = output.finish()?;
    assert_eq!(bytes, target.len() as u64);
    Ok(target)
}

#[test]
fn b23_rows_are_copied_whole_and_in_their_order() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let (from, to) = (sandbox.file("from", b""), sandbox.path("to"));
    let mut choices = Choices::seeded(5);
    for rows in [0, 1, 7, 300, 300, 1000, 3000] {
        write_all_types(&from, &mut choices, rows);
        let all = rows_of(&from);
        assert_eq!(all.len(), rows);
        for one_in in [1, 2, 50] {
            let numbers: Vec<u64> = (0..rows as u64)
                .filter(|_| choices.one_in(one_in))
                .collect();
            let copy = RowCopy::open(&from, 4 << 30).unwrap();
            let mut given = numbers.iter().map(|&number| Ok(number));
            let one_by_one = copied(&copy, &mut given, 4 << 30).unwrap();
            fs::write(&to, &one_by_one).unwrap();
            let expected: Vec<&String> = numbers.iter().map(|&row| &all[row as usize]).collect();
            assert!(rows_of(&to).iter().eq(expected), "{rows}, one in {one_in}");
            if one_in == 1 {
                assert_eq!(dictionaries_of(&to), dictionaries_of(&from), "{rows}");
            }
            // On several threads it is the same file.
            let mut given = numbers.iter().map(|&number| Ok(number));
            let together = copied(&copy.on_threads(3), &mut given, 4 << 30).unwrap();
            assert!(together == one_by_one);
        }
        let copy = RowCopy::open(&from, 4 << 30).unwrap();
        let mut behind = [Ok(rows as u64)].into_iter();
        let refused = copied(&copy, &mut behind, 4 << 30).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Input, "{refused}");
    }
}

#[test]
fn b23_a_file_gets_rows_of_several_files() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let mut choices = Choices::seeded(7);
    let files = [400, 0, 900].map(|rows| {
        let from = sandbox.file(&format!("from-{rows}"), b"");
        write_all_types(&from, &mut choices, rows);
        from
    });
    let to = sandbox.path("to");
    for threads in [1, 3] {
        let open = |path| RowCopy::open(path, 4 << 30).unwrap().on_threads(threads);
        let mut target = fs::File::create(&to).unwrap();
        let mut output = open(&files[0])
            .begin((&mut target, "to"), [], 4 << 30)
            .unwrap();
        let mut expected = Vec::new();
        for from in files.iter().chain(&files[..1]) {
            let copy = open(from);
            let mut rows = (0..copy.rows()).filter(|row| row % 3 > 0).map(Ok);
            let watch: (_, Advance<'_>) = (&Interrupt::new(), &|_, _| {});
            copy.append_to(&mut output, &mut rows, 4 << 30, watch)
                .unwrap();
            let all = (0..).zip(rows_of(from));
            expected.extend(all.filter(|(row, _)| row % 3 > 0).map(|(_, text)| text));
        }
        output.finish().unwrap();
        assert!(rows_of(&to) == expected, "{threads} threads");
    }
}

/// Writes a file of one row, of which its writer notes this.
fn write_noted(path: &Path, notes: &[(&str, &str)]) {
    use parquet::file::metadata::KeyValue;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    let schema = "message m { REQUIRED INT64 a; }";
    let schema = parquet::schema::parser::parse_message_type(schema).unwrap();
    let notes = notes.iter().map(|&(key, text)| KeyValue {
        key: key.to_owned(),
        value: Some(text.to_owned()),
    });
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(notes.collect()))
        .build();
    let file = fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema.into(), Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let typed = column.typed::<parquet::data_type::Int64Type>();
    typed.write_batch(&[7], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn b23_a_file_with_rows_of_several_has_the_notes_that_all_of_them_have() {
    use parquet::file::reader::FileReader;
    let _alone = alone();
    let sandbox = Sandbox::new();
    let noted = [
        [("unit", "s"), ("writer", "w"), ("own", "1")],
        [("unit", "ms"), ("writer", "w"), ("other", "1")],
    ];
    let files = [0, 1].map(|file| {
        let path = sandbox.file(&format!("from-{file}"), b"");
        write_noted(&path, &noted[file]);
        RowCopy::open(&path, 4 << 30).unwrap()
    });
    let notes = |copies: &[&RowCopy]| {
        let mut target = Vec::new();
        let mut output = files[0].begin((&mut target, "to"), [], 4 << 30).unwrap();
        for copy in copies {
            let watch: (_, Advance<'_>) = (&Interrupt::new(), &|_, _| {});
            // What ends it before a row leaves no trace.
            let mut ends = std::iter::once(Err(Error::Interrupted));
            copy.append_to(&mut output, &mut ends, 4 << 30, watch)
                .unwrap_err();
            copy.append_to(&mut output, &mut std::iter::once(Ok(0)), 4 << 30, watch)
                .unwrap();
        }
        output.finish().unwrap();
        let file = parquet::file::reader::SerializedFileReader::new(bytes::Bytes::from(target));
        let metadata = file.unwrap().metadata().file_metadata().clone();
        assert_eq!(metadata.num_rows(), copies.len() as i64);
        let notes = metadata.key_value_metadata().cloned().unwrap_or_default();
        let notes = notes
            .into_iter()
            .map(|note| (note.key, note.value.unwrap()));
        notes.collect::<Vec<_>>()
    };
    let as_text = |notes: &[(&str, &str)]| -> Vec<_> {
        let text = |&(key, text): &(&str, &str)| (key.to_owned(), text.to_owned());
        notes.iter().map(text).collect()
    };
    assert_eq!(notes(&[&files[0]]), as_text(&noted[0]));
    assert_eq!(notes(&[&files[0], &files[1]]), as_text(&[("writer", "w")]));
    // The footer of so many row groups would not fit.
    let mut target = Vec::new();
    let rows = std::iter::repeat_n(1, 1_000_000);
    let refused = files[0].begin((&mut target, "to"), rows, 512 << 20);
    let refused = refused.err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::Memory, "{refused}");
}

#[test]
#[ignore = "slow: 200 MB of texts"]
fn b23_columns_that_memory_has_no_room_for_at_the_same_time_are_copied_one_by_one() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let (from, to) = (sandbox.file("from", b""), sandbox.path("to"));
    let one_by_one = sandbox.path("one-by-one");
    let schema = "message m { REQUIRED BYTE_ARRAY a; REQUIRED BYTE_ARRAY b; }";
    let schema = parquet::schema::parser::parse_message_type(schema).unwrap();
    let file = fs::File::create(&from).unwrap();
    let mut writer =
        parquet::file::writer::SerializedFileWriter::new(file, schema.into(), Arc::default())
            .unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut choices = Choices::seeded(6);
    while let Some(mut column) = group.next_column().unwrap() {
        for _ in 0..100 {
            let mut text = || -> Vec<u8> {
                let words = (0..125).map(|_| choices.any().to_le_bytes());
                words.flatten().collect()
            };
            let values: Vec<_> = (0..1000).map(|_| text().into()).collect();
            let column = column.typed::<parquet::data_type::ByteArrayType>();
            column.write_batch(&values, None, None).unwrap();
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    // What two lanes would hold back of one row group is more than the memory.
    let limit = resident_bytes() + (180 << 20);
    for (threads, to) in [(1, &one_by_one), (2, &to)] {
        let copy = RowCopy::open(&from, limit).unwrap().on_threads(threads);
        let mut target = fs::File::create(to).unwrap();
        let mut output = copy.begin((&mut target, "to"), [100_000], limit).unwrap();
        let watch: (_, Advance<'_>) = (&Interrupt::new(), &|_, _| {});
        let mut rows = (0..100_000).map(Ok);
        copy.append_to(&mut output, &mut rows, limit, watch)
            .unwrap();
        output.finish().unwrap();
    }
    assert!(fs::read(&to).unwrap() == fs::read(&one_by_one).unwrap());
}

#[test]
fn b23_files_without_rows_and_pages_without_values_are_read() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let corpus = root().join("tests/fuzz/corpus/parquet");
    // As pyarrow writes it: a row group without rows, whose columns have no offset.
    let empty = corpus.join("empty-snappy-1.0");
    let none: Vec<Vec<u8>> = Vec::new();
    assert_eq!(
        read(&empty, Field::Number(1), &sandbox.path("")).unwrap(),
        none
    );
    // With a page for each value, and some without any.
    for name in ["small-list", "small-list2"] {
        let (from, to) = (corpus.join(name), sandbox.path("to"));
        let copy = RowCopy::open(&from, 4 << 30).unwrap();
        let mut rows = [Ok(0), Ok(1)].into_iter();
        fs::write(&to, copied(&copy, &mut rows, 4 << 30).unwrap()).unwrap();
        assert_eq!(rows_of(&to), rows_of(&from), "{name}");
    }
}

#[test]
fn b23_damaged_files_are_not_copied() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let corpus = root().join("tests/fuzz/corpus/parquet");
    for name in ["short-row-group", "odd-levels"] {
        let refused = [1, 3].map(|threads| {
            let copy = RowCopy::open(&corpus.join(name), 4 << 30).unwrap();
            let mut rows = (0..100).map(Ok);
            copied(&copy.on_threads(threads), &mut rows, 4 << 30).unwrap_err()
        });
        assert_eq!(refused[0].kind(), ErrorKind::Input, "{name}");
        assert_eq!(refused[0].to_string(), refused[1].to_string(), "{name}");
    }
    for name in ["h-children", "h-delta1", "h-neglen", "h-nodict"] {
        let refused = read(&corpus.join(name), Field::Number(1), &sandbox.path("")).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Input, "{name}: {refused}");
    }
}

#[test]
fn b23_rows_with_a_column_of_an_unknown_compression_are_refused_before_they_are_searched() {
    let sandbox = Sandbox::new();
    let path = sandbox.file("p", b"");
    write_keys(&path, &[1, 2, 3]);
    let mut bytes = fs::read(&path).unwrap();
    // The path of the column in the footer, and then its compression: none.
    let before = b"\x19\x18\x03url\x15\x00";
    let at = memchr::memmem::find(&bytes, before).unwrap() + before.len() - 1;
    // LZO and Brotli, as Thrift writes numbers.
    for codec in [3, 4] {
        bytes[at] = 2 * codec;
        fs::write(&path, &bytes).unwrap();
        let refused = RowCopy::open(&path, 4 << 30).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Input, "{refused}");
    }
}

#[test]
fn b23_a_file_that_changed_since_its_rows_were_found_is_not_copied() {
    let _alone = alone();
    let sandbox = Sandbox::new();
    let original = fs::read(files().remove(0)).unwrap();
    let path = sandbox.file("p", &original);
    let copy = RowCopy::open(&path, 4 << 30).unwrap();
    fs::write(&path, &original).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    file.set_modified(later).unwrap();
    let mut rows = [Ok(3)].into_iter();
    let refused = copied(&copy, &mut rows, 4 << 30);
    assert!(
        matches!(refused, Err(Error::InputChanged { .. })),
        "{refused:?}"
    );
    let list = sandbox.file("list", b"a line\n");
    assert_eq!(
        RowCopy::open(&list, 4 << 30).unwrap_err().kind(),
        ErrorKind::Usage
    );
}

#[test]
fn b23_altered_files_are_errors_or_read() {
    alter(10);
}

#[test]
#[ignore = "slow: thousands of altered files"]
fn b23_thousands_of_altered_files_are_errors_or_read() {
    alter(3000);
}

fn alter(times: u64) {
    let _alone = alone();
    let files = files();
    let threads = std::thread::available_parallelism().unwrap().get();
    std::thread::scope(|scope| {
        for (number, files) in files.chunks(files.len().div_ceil(threads)).enumerate() {
            let choices = Choices::seeded(23 + number as u64);
            scope.spawn(|| alter_each(files, times, choices));
        }
    });
}

fn alter_each(files: &[PathBuf], times: u64, mut choices: Choices<'_>) {
    let sandbox = Sandbox::new();
    let path = sandbox.file("altered", b"");
    for file in files {
        let bytes = fs::read(file).unwrap();
        for _ in 0..times {
            let mut altered = bytes.clone();
            for _ in 0..choices.between(1, 3) {
                let offset = choices.below(altered.len() as u64) as usize;
                altered[offset] = choices.below(256) as u8;
            }
            fs::write(&path, &altered).unwrap();
            // Nothing but an error about the file.
            drop(read(&path, url(), &sandbox.path("")));
            drop(read(&path, Field::Number(1), &sandbox.path("")));
        }
    }
}
