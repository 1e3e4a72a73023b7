//! Parquet files on the command line.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use differential::sweep;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::{Value, json};

use crate::limits::memory::measured;
use crate::sandbox::{Outcome, Sandbox, root};

/// Writes rows of a number and a text, which may be NULL, in row groups of `group_rows`.
fn write(path: &Path, rows: &[(i64, Option<String>)], group_rows: usize) {
    let schema =
        "message m { required int64 id; optional group page { optional binary url (UTF8); } }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let compression = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .build();
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    for rows in rows.chunks(group_rows) {
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let ids: Vec<i64> = rows.iter().map(|(id, _)| *id).collect();
        column
            .typed::<Int64Type>()
            .write_batch(&ids, None, None)
            .unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let urls = rows.iter().filter_map(|(_, url)| url.as_deref());
        let urls: Vec<ByteArray> = urls.map(ByteArray::from).collect();
        let level = |(_, url): &(i64, Option<String>)| if url.is_some() { 2 } else { 1 };
        let levels: Vec<i16> = rows.iter().map(level).collect();
        column
            .typed::<ByteArrayType>()
            .write_batch(&urls, Some(&levels), None)
            .unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
}

/// A few pages, of which one has no url, and a list.
fn crawl() -> Sandbox {
    let sandbox = Sandbox::new();
    let urls = [Some("a"), None, Some("b"), Some("a"), Some("c")];
    let rows = urls
        .iter()
        .zip(100..)
        .map(|(url, id)| (id, url.map(str::to_owned)));
    write(
        &sandbox.input("crawl.parquet"),
        &rows.collect::<Vec<_>>(),
        2,
    );
    sandbox.write("list", "a\nc\n7\n102\n");
    sandbox
}

fn text(outcome: &Outcome) -> &str {
    std::str::from_utf8(&outcome.stdout).unwrap()
}

#[test]
fn b23_a_column_is_compared_with_lines() {
    let sandbox = crawl();
    for (arguments, expected) in [
        ("intersect -k page.url crawl.parquet list", "a\na\nc\n"),
        (
            "intersect -k page.url --distinct crawl.parquet list",
            "a\nc\n",
        ),
        (
            "intersect -k page.url --keys-only list crawl.parquet",
            "a\nc\n",
        ),
        (
            "intersect -k page.url --rows crawl.parquet list",
            "0\n3\n4\n",
        ),
        (
            "intersect -k page.url --rows --distinct crawl.parquet list",
            "0\n4\n",
        ),
        ("diff -k page.url --rows crawl.parquet list", "2\n"),
        (
            "intersect -k page.url --rows --which crawl.parquet list",
            "11\t0\n11\t3\n11\t4\n",
        ),
        ("diff -k page.url list crawl.parquet", "7\n102\n"),
        ("intersect -k id crawl.parquet list", "102\n"),
        ("intersect -k 1 crawl.parquet list", "102\n"),
        (
            "union -k page.url -i crawl.parquet list",
            "a\nb\nc\n7\n102\n",
        ),
        (
            "intersect --csv -k page.url,id crawl.parquet crawl.parquet",
            "page.url,id\na,100\nb,102\na,103\nc,104\n",
        ),
        (
            "diff --jsonl -k page.url,id crawl.parquet empty",
            "{\"page.url\":\"a\",\"id\":100}\n{\"page.url\":\"b\",\"id\":102}\n{\"page.url\":\"a\",\"id\":103}\n{\"page.url\":\"c\",\"id\":104}\n",
        ),
    ] {
        sandbox.write("empty", "");
        let outcome = sandbox.run(&format!("{arguments} --order input -q"));
        outcome.succeeds();
        assert_eq!(text(&outcome), expected, "{arguments}");
    }
}

#[test]
fn b23_copying_rows_is_a_phase_with_its_bytes_rows_and_seconds() {
    let sandbox = crawl();
    let outcome = sandbox.run(
        "intersect -k page.url crawl.parquet list -o ../out/r.parquet --stats ../out/stats --verbose",
    );
    outcome.succeeds();
    let stats: Value = serde_json::from_slice(&fs::read(sandbox.output("stats")).unwrap()).unwrap();
    let phases = stats["phases"].as_array().unwrap();
    let copy = phases.last().unwrap();
    assert_eq!(copy["name"], "copy crawl.parquet");
    assert_eq!(copy["lines"], stats["output"]["lines"]);
    let size = fs::metadata(sandbox.input("crawl.parquet")).unwrap().len();
    let read = copy["bytes_read"].as_u64().unwrap();
    assert!(read > size / 8 && read <= size, "{read} of {size}");
    let seconds = |phase: &Value| phase["seconds"].as_f64().unwrap();
    let all: f64 = phases.iter().map(seconds).sum();
    assert!(seconds(copy) > 0.0 && stats["seconds"].as_f64().unwrap() >= all);
    assert!(outcome.stderr.contains("copy crawl.parquet: "), "{outcome}");
}

/// The rows of the file at `path`, as text.
fn rows_of(path: &Path) -> Vec<String> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().to_string()).collect()
}

fn row(id: i64, url: &str) -> String {
    format!("{{id: {id}, page: {{url: \"{url}\"}}}}")
}

#[test]
fn b23_rows_have_their_numbers_whatever_their_keys_begin_with() {
    let sandbox = Sandbox::new();
    let urls = [
        "p,",
        "\"",
        "q\"r",
        "r",
        ",s",
        "\"l\nm\",",
        "n\no",
        "x;",
        ";",
        "",
        "\t",
        "7,8",
        "u",
    ];
    let rows: Vec<_> = (0..).zip(urls.map(|url| Some(url.to_owned()))).collect();
    write(&sandbox.input("pages.parquet"), &rows, 4);
    write(&sandbox.input("seen.parquet"), &[(0, Some("u".into()))], 1);
    let numbers: Vec<_> = (0..urls.len() - 1)
        .map(|number| number.to_string())
        .collect();
    let numbers = numbers.join("\n") + "\n";
    for syntax in ["--csv", "--csv -d ;", "--jsonl"] {
        let arguments = format!("diff {syntax} -k page.url pages.parquet seen.parquet");
        let outcome = sandbox.run(&format!("{arguments} --rows --order input"));
        outcome.succeeds();
        assert_eq!(
            String::from_utf8_lossy(&outcome.stdout),
            numbers,
            "{syntax}"
        );
        sandbox
            .run(&format!("{arguments} -o ../out/r.parquet"))
            .succeeds();
        assert_eq!(
            rows_of(&sandbox.output("r.parquet")).len(),
            urls.len() - 1,
            "{syntax}"
        );
    }
}

/// Checks what the statistics say of these files of `side`: their rows, and those that were written.
fn check_files(stats: &Value, expected: &[(&str, usize, usize)]) {
    let file = |&(name, lines, written): &(&str, usize, usize)| json!({ "path": format!("side/{name}"), "lines": lines, "written": written });
    let expected: Vec<Value> = expected.iter().map(file).collect();
    let listed = stats["files"].as_array().unwrap().iter();
    let listed: Vec<_> = listed.filter(|file| file["lines"] != 0).cloned().collect();
    assert_eq!(listed, expected);
}

#[test]
fn f12_rows_are_counted_by_file_and_those_that_come_most_often_are_quoted() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.input("side")).unwrap();
    let url = |number: i64| (number % 5 > 0).then(|| format!("u{}", number % 30));
    for (name, numbers) in [("1", 0..50), ("2", 10..100)] {
        let rows: Vec<_> = numbers.map(|it| (it, url(it))).collect();
        write(&sandbox.input("side").join(name), &rows, 20);
    }
    fs::write(sandbox.input("side/3"), "").unwrap();
    for (more, written) in [("", [24, 0]), ("--keep last", [0, 24])] {
        let command = format!("union -k page.url --side side {more} --out-dir ../out/clean");
        let outcome = sandbox.run(&format!("{command} --stats ../out/s"));
        outcome.succeeds();
        let stats = serde_json::from_slice(&fs::read(sandbox.output("s")).unwrap()).unwrap();
        // A fifth of the rows has NULL in the key.
        check_files(&stats, &[("1", 40, written[0]), ("2", 72, written[1])]);
        fs::remove_dir_all(sandbox.output("clean")).unwrap();
    }
    let counting = "union --min-count 5 -k page.url --side side --out-dir ../out/clean";
    sandbox
        .run(&format!("{counting} --report ../out/r.html"))
        .succeeds();
    let page = fs::read_to_string(sandbox.output("r.html")).unwrap();
    // Keys below 20 come five times, others four times. Of these the first in the order of bytes are quoted.
    for key in ["u11", "u14", "u19"] {
        assert!(page.contains(&format!(">{key}</td>")), "{key}");
    }
}

#[test]
fn b23_rows_and_texts_with_their_key_in_the_same_column_are_their_own_set_in_a_file() {
    let sandbox = Sandbox::new();
    // Some are in quotes as text.
    let url = |number: i64| match number % 7 {
        0 => format!("u{number},\"a\""),
        _ => format!("u{number}"),
    };
    let rows: Vec<_> = (0..400).map(|it| (it, Some(url(it)))).collect();
    write(&sandbox.input("rows.parquet"), &rows, 100);
    let field = |number| format!("\"{}\"\n", url(number).replace('"', "\"\""));
    let text: String = (300..700).map(field).collect();
    sandbox.write("text.csv", format!("page.url\n{text}"));
    for inputs in ["rows.parquet text.csv", "text.csv rows.parquet"] {
        let words = "--csv -k page.url -m 64M --strategy memory";
        let outcome = sandbox.run(&format!("union {words} {inputs} -o ../out/r"));
        outcome.succeeds();
        let found = fs::read_to_string(sandbox.output("r")).unwrap();
        let mut found: Vec<_> = found
            .lines()
            .skip(1)
            .map(|line| match line.strip_prefix('"') {
                Some(quoted) => quoted.strip_suffix('"').unwrap().replace("\"\"", "\""),
                None => line.to_owned(),
            })
            .collect();
        found.sort_unstable();
        let mut expected: Vec<_> = (0..700).map(url).collect();
        expected.sort_unstable();
        assert!(found == expected, "{inputs}");
        fs::remove_file(sandbox.output("r")).unwrap();
    }
}

/// The parts of three sides, by name: the side that each belongs to, from 0, and the numbers of its rows.
const PARTS: [(&str, usize, std::ops::Range<i64>); 4] = [
    ("1.parquet", 0, 0..400),
    ("2/a.parquet", 1, 300..700),
    ("2/b.parquet", 1, 600..800),
    ("3.parquet", 2, 750..1350),
];

/// The sides that have a key.
type Has = [bool; 3];

/// A choice among them.
type Stays = fn(Has) -> bool;

/// Finds the rows that stay of each part, by a choice among the sides that have a key, and of its first record or last.
fn rows_that_stay(sides: usize, stays: Stays, keeps_last: bool) -> Vec<Vec<String>> {
    // Keys come again within a side, too.
    let url = |number: i64| format!("u{}", number * 7919 % 1000);
    let parts = PARTS.iter().filter(|part| part.1 < sides);
    let all = parts.enumerate().flat_map(|(part, (_, side, numbers))| {
        numbers.clone().map(move |number| (part, *side, number))
    });
    let all: Vec<_> = all.collect();
    let mut found: HashMap<String, (Has, usize)> = HashMap::new();
    for (place, &(_, side, number)) in all.iter().enumerate() {
        let (has, kept) = found.entry(url(number)).or_insert(([false; 3], place));
        has[side] = true;
        if keeps_last {
            *kept = place;
        }
    }
    let mut rows = vec![Vec::new(); PARTS.len()];
    for (place, &(part, _, number)) in all.iter().enumerate() {
        let (has, kept) = found[&url(number)];
        if stays(has) && kept == place {
            rows[part].push(row(number, &url(number)));
        }
    }
    rows
}

/// Counts the sides that have a key.
fn sides(has: Has) -> usize {
    has.into_iter().filter(|&has| has).count()
}

#[test]
fn f12_rows_come_from_every_side_whose_records_are_written() {
    let sandbox = Sandbox::new();
    let url = |number: i64| Some(format!("u{}", number * 7919 % 1000));
    fs::create_dir(sandbox.input("2")).unwrap();
    for (name, _, numbers) in PARTS {
        let rows: Vec<_> = numbers.map(|it| (it, url(it))).collect();
        write(&sandbox.input(name), &rows, 250);
    }
    let (two, three) = (
        "--side 1.parquet --side 2",
        "--side 1.parquet --side 2 --side 3.parquet",
    );
    let cases: [(&str, &str, Stays); 6] = [
        ("symdiff", two, |has| sides(has) == 1),
        ("symdiff --keep last", two, |has| sides(has) == 1),
        ("intersect --at-least 2", three, |has| sides(has) > 1),
        ("intersect --exactly 1 --keep last", three, |has| {
            sides(has) == 1
        }),
        ("intersect --only 011", three, |has| {
            has == [false, true, true]
        }),
        ("union -m 64M --strategy partition", three, |_| true),
    ];
    for (command, given, stays) in cases {
        let count = given.matches("--side").count();
        let expected = rows_that_stay(count, stays, command.contains("last"));
        assert!(
            expected[1..].iter().any(|rows| !rows.is_empty()),
            "{command}"
        );
        // A name of the column on one side, its number on the other.
        for keys in ["-k page.url", "-1 2 -k page.url"] {
            let all = format!("{command} {given} {keys} -o ../out/all.parquet");
            sandbox.run(&all).succeeds();
            let found = rows_of(&sandbox.output("all.parquet"));
            assert_eq!(found, expected.concat(), "{all}");
        }
        let divided = format!("{command} {given} -k page.url --out-dir ../out/clean");
        sandbox.run(&divided).succeeds();
        for ((name, side, _), expected) in PARTS.iter().zip(&expected) {
            let path = sandbox.output("clean").join(name);
            assert_eq!(path.exists(), *side < count, "{divided}: {name}");
            if path.exists() {
                assert_eq!(rows_of(&path), *expected, "{divided}: {name}");
            }
        }
        fs::remove_dir_all(sandbox.output("clean")).unwrap();
    }
}

/// Checks that one file gets the same rows. For a union it does not matter how the files are divided into sides.
fn check_one_file(sandbox: &Sandbox, command: &str, more: &str, expected: &[String]) {
    let divided = "--side side/0.parquet side/a --side side/none.parquet --side side/void.parquet side/z.parquet";
    let of_union = command.starts_with("union").then_some(divided);
    for sides in std::iter::once("--side side").chain(of_union) {
        let output = "-o ../out/all.parquet --stats ../out/stats";
        let outcome = sandbox.run(&format!("{command} -k page.url {sides} {more} {output}"));
        outcome.succeeds();
        let all = sandbox.output("all.parquet");
        assert_eq!(rows_of(&all), expected, "{command} {sides}");
        let bytes = fs::metadata(all).unwrap().len();
        assert!(bytes < 200_000, "{command}: it is compressed as before");
        let stats: Value =
            serde_json::from_slice(&fs::read(sandbox.output("stats")).unwrap()).unwrap();
        assert_eq!(stats["output"]["lines"], expected.len(), "{command}");
        assert_eq!(stats["output"]["bytes"], bytes, "{command}");
    }
}

#[test]
fn f12_each_parquet_file_gets_one_of_its_rows_that_stay() {
    let sandbox = Sandbox::new();
    // Three files and an empty one, in whose order keys come again: all those of the last have come before.
    let url = |number: i64| format!("u{}", number * 7919 % 4000);
    let numbers = [0..3000, 2000..5000, 0..0, 1000..1300];
    let names = ["a/1.parquet", "a/2.parquet", "none.parquet", "z.parquet"];
    for (numbers, name) in numbers.iter().zip(names) {
        let path = sandbox.input("side").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let rows: Vec<_> = numbers.clone().map(|it| (it, Some(url(it)))).collect();
        write(&path, &rows, 700);
    }
    for name in ["0.parquet", "void.parquet"] {
        fs::write(sandbox.input("side").join(name), "").unwrap();
    }
    sandbox.write("other", "u0\nu3919\n");
    let all = || {
        let of_file = |(file, numbers): (usize, &std::ops::Range<i64>)| {
            numbers.clone().map(move |number| (file, number))
        };
        numbers.iter().enumerate().flat_map(of_file)
    };
    for (command, more) in [
        ("union", ""),
        ("union --keep last", ""),
        ("union --keep none --strategy partition -m 64M", ""),
        ("diff --distinct", "--side other"),
        ("diff", "--side other"),
        ("intersect", "--side other"),
    ] {
        let mut occurrences: HashMap<String, Vec<(usize, i64)>> = HashMap::new();
        for (file, number) in all() {
            occurrences
                .entry(url(number))
                .or_default()
                .push((file, number));
        }
        let stays = |place: (usize, i64)| {
            let places = &occurrences[&url(place.1)];
            let is_in_other = ["u0", "u3919"].contains(&&*url(place.1));
            match command {
                "union" => places.first() == Some(&place),
                "union --keep last" => places.last() == Some(&place),
                "diff --distinct" => !is_in_other && places.first() == Some(&place),
                "diff" => !is_in_other,
                "intersect" => is_in_other,
                _ => places.len() == 1,
            }
        };
        let directory = sandbox.output("clean");
        let outcome = sandbox.run(&format!(
            "{command} -k page.url --side side {more} --out-dir ../out/clean --stats ../out/stats"
        ));
        outcome.succeeds();
        let mut together = Vec::new();
        for (file, name) in names.iter().enumerate() {
            let expected: Vec<_> = all()
                .filter(|&place| place.0 == file && stays(place))
                .map(|(_, number)| row(number, &url(number)))
                .collect();
            together.extend_from_slice(&expected);
            let path = directory.join(name);
            assert_eq!(rows_of(&path), expected, "{command}: {name}");
            let bytes = fs::metadata(&path).unwrap().len();
            assert!(bytes < 100_000, "{command}: it is compressed as before");
        }
        for name in ["0.parquet", "void.parquet"] {
            assert_eq!(fs::read(directory.join(name)).unwrap(), b"");
        }
        let stats: Value =
            serde_json::from_slice(&fs::read(sandbox.output("stats")).unwrap()).unwrap();
        assert_eq!(stats["output"]["lines"], together.len(), "{command}");
        assert_eq!(
            stats["phases"].as_array().unwrap().last().unwrap()["name"],
            "copy side"
        );
        fs::remove_dir_all(directory).unwrap();
        check_one_file(&sandbox, command, more, &together);
    }
    for (command, says) in [
        (
            "union --side side --side other -k page.url",
            "other: is not a Parquet file, but the output is",
        ),
        ("union --side side", "--key COLUMN is needed"),
        (
            "union --side side -k page.url -D ../out/dropped",
            "add --duplicates-format map, or leave out -D",
        ),
        (
            "union --side side -k page.url --compress zst",
            "leave out --compress",
        ),
        (
            "union --side side -k page.url --keys-only",
            "leave out --which",
        ),
    ] {
        let outcome = sandbox.run(&format!("{command} --out-dir ../out/clean"));
        outcome.fails(2, &[says]);
        assert!(!sandbox.output("clean").exists(), "{command}");
    }
}

#[test]
fn b23_files_without_bytes_or_of_another_kind_are_told_apart() {
    let sandbox = crawl();
    sandbox.write("none.parquet", "");
    fs::create_dir(sandbox.input("side")).unwrap();
    fs::copy(sandbox.input("crawl.parquet"), sandbox.input("side/a")).unwrap();
    sandbox.write("side/page.html", "<html>");
    for (option, end) in [("-o", ".parquet"), ("--out-dir", "")] {
        let output = |name: &str| format!("{option} ../out/{name}{end}");
        let files = "none.parquet crawl.parquet";
        let outcome = sandbox.run(&format!("union -k page.url {files} {}", output("all")));
        outcome.succeeds();
        let left_out = "crawl.parquet: left out 1 row with NULL in the key";
        assert!(outcome.stderr.contains(left_out), "{}", outcome.stderr);
        let outcome = sandbox.run(&format!("union -k page.url --side side {}", output("no")));
        outcome.fails(
            3,
            &["side/page.html: is not a Parquet file", "fetch it again"],
        );
        let command = "union -1 page.url -2 page.url --header-of 2=yes crawl.parquet none.parquet";
        let named = "--name a=none.parquet --name b=crawl.parquet --stats ../out/s";
        let outcome = sandbox.run(&format!("{command} {named} {}", output("same")));
        outcome.succeeds();
        let stats: Value = serde_json::from_slice(&fs::read(sandbox.output("s")).unwrap()).unwrap();
        let labels = [0, 1].map(|side| stats["inputs"][side]["label"].clone());
        assert_eq!(labels, ["b", "a"]);
    }
    assert_eq!(rows_of(&sandbox.output("all.parquet")).len(), 3);
    assert_eq!(rows_of(&sandbox.output("all/crawl.parquet")).len(), 3);
    assert_eq!(fs::read(sandbox.output("all/none.parquet")).unwrap(), b"");
}

/// Writes a file without rows that has these columns.
fn write_columns(path: &Path, columns: &str) {
    let schema = parse_message_type(&format!("message other {{ {columns} }}")).unwrap();
    let file = File::create(path).unwrap();
    let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::default()).unwrap();
    writer.close().unwrap();
}

#[test]
fn b23_rows_of_files_with_other_columns_do_not_go_to_one_file() {
    let sandbox = crawl();
    let url = "optional group page { optional binary url (UTF8); }";
    for (columns, says) in [
        (format!("required int64 id; {url}"), ""),
        (
            format!("required int32 id; {url}"),
            "its column id has another type in crawl.parquet",
        ),
        (
            format!("required int64 id; {url} optional int64 more;"),
            "its column more is not in crawl.parquet",
        ),
        (url.to_owned(), "it lacks the column id of crawl.parquet"),
        (
            format!("{url} required int64 id;"),
            "its columns have another order in crawl.parquet",
        ),
    ] {
        write_columns(&sandbox.input("other.parquet"), &columns);
        let command = "union -k page.url crawl.parquet other.parquet -o ../out/all.parquet";
        let outcome = sandbox.run(command);
        if says.is_empty() {
            outcome.succeeds();
            assert_eq!(rows_of(&sandbox.output("all.parquet")).len(), 3);
            fs::remove_file(sandbox.output("all.parquet")).unwrap();
        } else {
            let file = format!("other.parquet: {says}");
            outcome.fails(
                2,
                &[
                    &file,
                    "write the rows of each file to a file of its own, with --out-dir",
                ],
            );
            assert!(!sandbox.output("all.parquet").exists());
        }
    }
}

#[test]
#[ignore = "slow: close to a second"]
fn c14_the_limit_that_a_copy_of_many_files_names_is_enough() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.input("side")).unwrap();
    for file in 0..8 {
        let rows: Vec<_> = (0..40_000)
            .map(|number| {
                (
                    number,
                    Some(format!("{:x}", (number + 20_000 * file) * 2_654_435_761)),
                )
            })
            .collect();
        write(
            &sandbox.input(&format!("side/{file}.parquet")),
            &rows,
            40_000,
        );
    }
    let run = |output: &str, limit: &str| {
        let outcome = sandbox.run(&format!(
            "union --side side -k page.url {output} -m {limit}M"
        ));
        let said = outcome.stderr.rsplit_once("give at least ");
        said.map(|(_, limit)| limit.split_once(" MiB").unwrap().0.to_owned())
    };
    for output in ["--out-dir ../out/clean", "-o ../out/all.parquet"] {
        // The first limit is that of the search, the second one that of a copy.
        let mut limits = vec!["16".to_owned()];
        while let Some(limit) = run(output, &limits[limits.len() - 1]) {
            limits.push(limit);
        }
        assert!((2..=3).contains(&limits.len()), "{output}: {limits:?}");
    }
}

#[test]
fn l12_rows_that_are_dropped_are_told_by_their_numbers() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.input("side")).unwrap();
    // The second row has no key: it is in no result, but has a number.
    let rows = [(0, Some("a".into())), (1, None), (2, Some("a,\"".into()))];
    write(&sandbox.input("side/1.parquet"), &rows, 2);
    let rows = [(3, Some("b".into())), (4, None), (5, Some("a,\"".into()))];
    write(
        &sandbox.input("side/2.parquet"),
        &[&rows[..], &rows].concat(),
        2,
    );
    // Nobody sees keys with line ends, nor those of several columns: they need no form.
    let rows = [(0, "a\nb"), (1, "a\nb"), (2, "a")].map(|(id, url)| (id, Some(url.to_owned())));
    write(&sandbox.input("long.parquet"), &rows, 2);
    for (keys, left) in [("page.url", 2), ("id,page.url", 3)] {
        let outcome = sandbox.run(&format!(
            "union -k {keys} --side long.parquet --out-dir ../out/long"
        ));
        outcome.succeeds();
        assert_eq!(
            rows_of(&sandbox.output("long/long.parquet")).len(),
            left,
            "{keys}"
        );
        fs::remove_dir_all(sandbox.output("long")).unwrap();
    }
    for syntax in ["", "--csv", "--jsonl"] {
        let outcome = sandbox.run(&format!(
            "union {syntax} --side side -k page.url --out-dir ../out/clean -D ../out/map --duplicates-format map"
        ));
        outcome.succeeds();
        let map = fs::read_to_string(sandbox.output("map")).unwrap();
        let at = |file: u32, row: u32| format!(r#""file":"side/{file}.parquet","row":{row}"#);
        let expected = [
            [at(2, 2), at(1, 2)],
            [at(2, 3), at(2, 0)],
            [at(2, 5), at(1, 2)],
        ]
        .map(|[dropped, kept]| format!("{{{dropped},\"kept\":{{{kept}}}}}\n"));
        assert_eq!(map, expected.concat(), "{syntax}");
        let left =
            ["1", "2"].map(|name| rows_of(&sandbox.output(&format!("clean/{name}.parquet"))).len());
        assert_eq!(left, [2, 1], "{syntax}");
        fs::remove_dir_all(sandbox.output("clean")).unwrap();
        let outcome = sandbox.run(&format!(
            "union {syntax} --side side -k page.url -o ../out/all.parquet -D ../out/map --duplicates-format map"
        ));
        outcome.succeeds();
        let map = fs::read_to_string(sandbox.output("map")).unwrap();
        assert_eq!(map, expected.concat(), "{syntax}");
        assert_eq!(rows_of(&sandbox.output("all.parquet")).len(), 3, "{syntax}");
    }
    sandbox
        .run("union --side side -k page.url -D ../out/map2 --duplicates-format map")
        .fails(
            2,
            &["write the rows with --out-dir, or those of one file with --rows"],
        );
    let outcome = sandbox.run(
        "union -q --side side -k page.url --out-dir ../out/clean -D /dev/full --duplicates-format map",
    );
    outcome.fails(5, &["/dev/full"]);
    assert!(!sandbox.output("clean").exists());
}

#[test]
fn b23_an_output_with_the_name_of_a_parquet_file_gets_whole_rows() {
    let sandbox = crawl();
    let rows = |name: &str| rows_of(&sandbox.output(name));
    for (command, expected) in [
        (
            "intersect",
            vec![row(100, "a"), row(103, "a"), row(104, "c")],
        ),
        ("intersect --distinct", vec![row(100, "a"), row(104, "c")]),
        ("diff", vec![row(102, "b")]),
        ("diff --keep-order", vec![row(102, "b")]),
    ] {
        let outcome = sandbox.run(&format!(
            "{command} -k page.url crawl.parquet list -o ../out/r.parquet"
        ));
        outcome.succeeds();
        assert_eq!(rows("r.parquet"), expected, "{command}");
    }
    // What a file has of its own rows.
    for (options, expected) in [
        ("", vec![row(100, "a"), row(102, "b"), row(104, "c")]),
        (
            "--keep last",
            vec![row(102, "b"), row(103, "a"), row(104, "c")],
        ),
        ("--min-count 2", vec![row(100, "a")]),
    ] {
        let outcome = sandbox.run(&format!(
            "union -k page.url {options} crawl.parquet -o ../out/u.parquet"
        ));
        outcome.succeeds();
        assert_eq!(rows("u.parquet"), expected, "{options}");
    }
    for (arguments, says) in [
        (
            "diff -k page.url list crawl.parquet",
            "list: is not a Parquet file",
        ),
        ("diff --csv -k 1 list list", "list: is not a Parquet file"),
        (
            "union -k page.url crawl.parquet list",
            "list: is not a Parquet file, but the output is",
        ),
        (
            "intersect -k page.url --which crawl.parquet list",
            "leave out --which",
        ),
        (
            "diff -k page.url --rows crawl.parquet list",
            "leave out --rows",
        ),
        (
            "intersect -k page.url --keys-only crawl.parquet list",
            "leave out --which",
        ),
        (
            "intersect -k page.url --order sorted crawl.parquet list",
            "leave out --which",
        ),
        (
            "diff -k page.url --count-only crawl.parquet list",
            "leave out --count-only",
        ),
        ("diff crawl.parquet list", "--key COLUMN is needed"),
    ] {
        let outcome = sandbox.run(&format!("{arguments} -o ../out/other.PARQUET"));
        outcome.fails(2, &[says]);
        assert!(!sandbox.output("other.PARQUET").exists());
    }
    let outcome = sandbox
        .run("intersect -k page.url crawl.parquet list --max-temp 1 -o ../out/other.PARQUET");
    outcome.fails(4, &["allowed by --max-temp", "raise --max-temp"]);
    assert!(!sandbox.output("other.PARQUET").exists());
}

#[test]
fn e7_the_numbers_of_rows_go_where_other_temporary_files_go() {
    let sandbox = crawl();
    let arguments = "union -k page.url crawl.parquet --max-temp 1 --out-dir ../out/d";
    let mut command = sandbox.command(arguments);
    command.env_remove("TMPDIR");
    let outcome = sandbox.start(command).finish();
    outcome.fails(4, &["outset: .: ", "allowed by --max-temp"]);
    let outcome = sandbox.run(arguments);
    outcome.fails(4, &[&format!("outset: {}: ", sandbox.temp().display())]);
}

#[test]
fn b23_a_file_counts_as_parquet_where_it_is_read_as_such() {
    let sandbox = crawl();
    sandbox.write("text", "PAR1\nfoo\n");
    sandbox.run("union text list --out-dir ../out/d").succeeds();
    let found = fs::read(sandbox.output("d/text")).unwrap();
    assert_eq!(found, b"PAR1\nfoo\n");
    let outcome = sandbox.run("union crawl.parquet -q --decompress none --out-dir ../out/e");
    outcome.succeeds();
    assert!(sandbox.output("e/crawl.parquet").exists());
}

#[test]
fn b23_damage_in_a_column_that_is_only_copied_is_a_fault_of_the_input() {
    let sandbox = Sandbox::new();
    let corpus = root().join("tests/fuzz/corpus/parquet");
    let whole = corpus.join("duckdb-gzip");
    let mut bytes = fs::read(&whole).unwrap();
    let reader = SerializedFileReader::new(File::open(whole).unwrap()).unwrap();
    let (start, length) = reader.metadata().row_group(0).column(0).byte_range();
    // In the checksum of the last page of the numbers.
    bytes[(start + length) as usize - 6] ^= 1;
    sandbox.write("bad.parquet", bytes);
    for output in ["-o ../out/r.parquet", "--out-dir ../out/d"] {
        for threads in [1, 2] {
            let arguments = format!("union -q -k url bad.parquet -j {threads} {output}");
            sandbox
                .run(&arguments)
                .fails(3, &["bad.parquet: row group 0", "cannot be read (", "gzip"]);
        }
    }
    assert_eq!(fs::read_dir(sandbox.root().join("out")).unwrap().count(), 0);
}

#[test]
fn b23_rows_with_null_are_in_no_answer_and_are_counted() {
    let sandbox = crawl();
    let outcome = sandbox.run("diff -k page.url --rows --stats ../out/s crawl.parquet list");
    outcome.succeeds();
    assert!(
        outcome
            .stderr
            .contains("crawl.parquet: left out 1 row with NULL in the key"),
        "{}",
        outcome.stderr
    );
    let stats: Value = serde_json::from_slice(&fs::read(sandbox.output("s")).unwrap()).unwrap();
    assert_eq!(stats["inputs"][0]["null_rows"], 1);
    assert_eq!(stats["inputs"][0]["lines"], 4);
    let stored = fs::metadata(sandbox.input("crawl.parquet")).unwrap().len();
    assert_eq!(stats["inputs"][0]["stored_bytes"], stored);
    assert_eq!(stats["inputs"][1]["stored_bytes"], Value::Null);
    assert_eq!(stats["inputs"][1]["null_rows"], Value::Null);
}

#[test]
fn b23_what_cannot_be_read_is_refused_before_the_work() {
    let sandbox = crawl();
    for (arguments, status, says) in [
        (
            "union crawl.parquet",
            2,
            "crawl.parquet: is a Parquet file, but no column is named",
        ),
        (
            "union -k url crawl.parquet",
            2,
            "has no column url: name one of: id, page.url",
        ),
        ("union -k 2 crawl.parquet crawl.parquet", 0, ""),
        (
            "union -k id,page.url crawl.parquet",
            2,
            "several key columns need --csv or --tsv",
        ),
        (
            "union -k page.url --rows crawl.parquet list",
            2,
            "--rows: this command also writes records",
        ),
        (
            "plan --operation union -k page.url --rows crawl.parquet list",
            2,
            "--rows: this command also writes records",
        ),
        (
            "diff -k page.url --rows list crawl.parquet",
            2,
            "list: the first input must be a single Parquet file",
        ),
        (
            "diff -k page.url --rows --side crawl.parquet crawl.parquet --side list",
            2,
            "the first input must be a single Parquet file",
        ),
        (
            "diff -k 1 list list",
            2,
            "key: the format of the fields is not known",
        ),
    ] {
        let outcome = sandbox.run(&format!("{arguments} -q"));
        assert_eq!(
            outcome.status.code(),
            Some(status),
            "{arguments}: {}",
            outcome.stderr
        );
        assert!(
            outcome.stderr.contains(says),
            "{arguments}: {}",
            outcome.stderr
        );
    }
    let bytes = fs::read(sandbox.input("crawl.parquet")).unwrap();
    let outcome = sandbox.run_fed("union -q -", &bytes);
    assert_eq!(outcome.status.code(), Some(2));
    assert!(
        outcome
            .stderr
            .contains("is a Parquet file read from a pipe"),
        "{}",
        outcome.stderr
    );
    let outcome = sandbox.run("union --decompress none crawl.parquet --count-only");
    outcome.succeeds();
    assert!(
        outcome.stderr.contains("seems to be a Parquet file"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn b23_every_command_that_reads_lines_reads_parquet() {
    let sandbox = crawl();
    for (arguments, expected) in [
        (
            "overlaps -k page.url crawl.parquet list",
            "11 2 2 crawl.parquet list",
        ),
        (
            "estimate -k page.url crawl.parquet list",
            "crawl.parquet: 4 lines, 3 distinct\nin no other file: 1\n",
        ),
        (
            "plan -k page.url crawl.parquet list",
            "estimated from their first bytes",
        ),
        (
            "filter build -k page.url crawl.parquet -o ../out/f",
            "left out 1 row with NULL in the key",
        ),
        ("filter query ../out/f list", "a\nc\n"),
        ("compare -k page.url crawl.parquet list", "\nlines 2 2\n"),
    ] {
        let outcome = sandbox.run(arguments);
        outcome.succeeds();
        // The columns are as wide as they have to be.
        let all = format!("{}{}", text(&outcome), outcome.stderr);
        let rows = all.lines().map(|row| {
            row.split(' ')
                .filter(|word| !word.is_empty())
                .collect::<Vec<_>>()
                .join(" ")
                + "\n"
        });
        let all: String = rows.collect();
        assert!(all.contains(expected), "{arguments}: {all}");
    }
}

#[test]
fn c14_memory_stays_under_the_limit_with_parquet() {
    let sandbox = Sandbox::new();
    let row = |number: u64| {
        (
            number as i64,
            Some(format!("https://example.com/{number:020}")),
        )
    };
    let rows = |range: std::ops::Range<u64>| range.map(row).collect::<Vec<_>>();
    write(&sandbox.input("a"), &rows(0..150_000), 40_000);
    write(&sandbox.input("b"), &rows(100_000..250_000), 1 << 20);
    let operations = [
        ("intersect", 32, 50_000),
        ("intersect --rows --order input", 32, 50_000),
        ("diff -o ../out/r.parquet", 40, 100_000),
        ("diff --strategy partition", 24, 100_000),
        ("union", 28, 250_000),
    ];
    for &(command, memory, lines) in sweep::some(&operations, 2) {
        let options = "-k page.url --stats ../out/s a b";
        let output = if command.contains("-o") {
            ""
        } else {
            "-o ../out/r"
        };
        let options = format!("{options} {output}");
        sandbox
            .run(&format!("{command} --memory {memory}M {options}"))
            .succeeds();
        let stats: Value = serde_json::from_slice(&fs::read(sandbox.output("s")).unwrap()).unwrap();
        let peak = stats["memory"]["peak_rss_bytes"].as_u64().unwrap();
        assert!(peak <= memory << 20, "{command}: {peak} of {memory} MiB");
        assert_eq!(stats["output"]["lines"], lines, "{command}");
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn c14_copying_long_values_stays_under_the_limit() {
    let sandbox = Sandbox::new();
    // A dictionary with few values, in many rows.
    let values = ["0", "1", "2"].map(|digit| digit.repeat(60_000));
    let row = |number: usize| (number as i64, Some(values[number % 3].clone()));
    write(
        &sandbox.input("a"),
        &(0..9000).map(row).collect::<Vec<_>>(),
        5000,
    );
    sandbox.write(
        "ids",
        (0..9000)
            .map(|id| format!("{id}\n"))
            .collect::<Vec<_>>()
            .concat(),
    );
    let options = "-k id --memory 28M --stats ../out/s -o ../out/r.parquet";
    sandbox
        .run(&format!("intersect {options} a ids"))
        .succeeds();
    let stats: Value = serde_json::from_slice(&fs::read(sandbox.output("s")).unwrap()).unwrap();
    let peak = stats["memory"]["peak_rss_bytes"].as_u64().unwrap();
    assert!(peak <= 28 << 20, "{peak}");
    assert_eq!(stats["output"]["lines"], 9000);
}

#[test]
fn c14_copying_many_rows_stays_under_every_limit_that_is_enough() {
    let sandbox = Sandbox::new();
    // More rows than a row group gets, and a dictionary of many short values, whose table is much larger.
    let row = |number: i64| {
        (
            number,
            Some(format!("{:06x}", number * 7_919_111 % (1 << 24))),
        )
    };
    let rows: Vec<_> = (0..150_000).map(row).collect();
    write(&sandbox.input("a"), &rows, 20_000);
    sandbox.write("none", "x\n");
    let mut succeeded = 0;
    let limits = [36, 34, 32, 30, 28, 26, 24, 22, 20];
    for &mebibytes in sweep::some(&limits, 3) {
        let outcome = sandbox.run(&format!(
            "diff -k page.url a none --memory {mebibytes}M --stats ../out/s -o ../out/r.parquet"
        ));
        if !outcome.status.success() {
            outcome.fails(6, &["give at least"]);
            continue;
        }
        let stats = fs::read(sandbox.output("s")).unwrap();
        let stats: Value = serde_json::from_slice(&stats).unwrap();
        let peak = stats["memory"]["peak_rss_bytes"].as_u64().unwrap();
        assert!(peak <= mebibytes << 20, "{peak} of {mebibytes} MiB");
        succeeded += 1;
    }
    assert!(succeeded > 0);
}

#[test]
fn c14_a_page_that_is_larger_than_the_memory_is_refused() {
    let sandbox = Sandbox::new();
    let rows = [(1, Some("x".repeat(80 << 20)))];
    write(&sandbox.input("a"), &rows, 1);
    assert!(fs::metadata(sandbox.input("a")).unwrap().len() < 1 << 20);
    let outcome = sandbox.run("union --memory 64M -k page.url a");
    assert_eq!(outcome.status.code(), Some(6), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("give at least"),
        "{}",
        outcome.stderr
    );
}

/// Writes one row of numbers, each in a column with the definition before it.
fn write_row(path: &Path, columns: &[(&str, i64)]) {
    let definitions: Vec<&str> = columns.iter().map(|(definition, _)| *definition).collect();
    let schema = format!("message m {{ {} }}", definitions.concat());
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for (_, value) in columns {
        let mut column = group.next_column().unwrap().unwrap();
        let written = column.typed::<Int64Type>();
        written.write_batch(&[*value], None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn b23_columns_are_named_as_the_fields_of_text_files_are() {
    let sandbox = Sandbox::new();
    let columns = [
        ("required int64 ID; ", 1),
        ("required int64 a.b; ", 2),
        (
            "required group a { required int64 b; required int64 c; } ",
            3,
        ),
        ("", 4),
        ("required int64 2021; ", 5),
    ];
    write_row(&sandbox.input("p"), &columns);
    write_row(
        &sandbox.input("two"),
        &[("required int64 id; ", 1), ("required int64 Id; ", 2)],
    );
    for (options, expected) in [
        ("-i -k id", "1\n"),
        ("-k ID", "1\n"),
        ("-k a.b", "2\n"),
        ("-k a\\.b", "2\n"),
        ("-k a.c", "4\n"),
        ("-k name:2021", "5\n"),
        ("--csv -k 1", "1\n"),
        ("--csv -i -k id", "ID\n1\n"),
        ("--jsonl -k a.b", "{\"a.b\":2}\n"),
        ("--jsonl -k a\\.b", "{\"a.b\":2}\n"),
    ] {
        let outcome = sandbox.run(&format!("union {options} p"));
        outcome.succeeds();
        assert_eq!(
            String::from_utf8_lossy(&outcome.stdout),
            expected,
            "{options}"
        );
    }
    for (options, part) in [
        (
            "-k id p",
            "p: has no column id: name one of: ID, a.b, a.b, a.c, name:2021",
        ),
        ("-k a\\.c p", "p: has no column a\\.c"),
        (
            "-k 2021 p",
            "p: has no column number 2021: give a smaller number, or, if a column is called 2021, name:2021",
        ),
        (
            "-k 3 p",
            "column 3 consists of several columns: name one within it, such as a.b",
        ),
        (
            "-k id --csv --keep max:2 two",
            "two: is Parquet, whose rows cannot be chosen by --keep: leave out --keep",
        ),
        (
            "-i -k ID two",
            "two: two columns are called ID: give the number of the column",
        ),
    ] {
        sandbox.run(&format!("union {options}")).fails(2, &[part]);
    }
    // A list beside it has a header only where its own key is a name.
    sandbox.write("list", "1\n2\n");
    sandbox.write("head", "id\n1\n");
    for (options, expected) in [
        ("--csv -1 ID -2 1 p list", "ID\n"),
        ("--csv -1 ID -2 id p head", "ID\n"),
        ("--csv -1 1 -2 1 p list", ""),
        ("-k ID p list", ""),
    ] {
        let outcome = sandbox.run(&format!("diff {options}"));
        outcome.succeeds();
        assert_eq!(
            String::from_utf8_lossy(&outcome.stdout),
            expected,
            "{options}"
        );
    }
}

#[test]
fn b23_what_means_something_in_text_is_a_byte_of_a_value() {
    let sandbox = Sandbox::new();
    let texts = ["#x", "one\ntwo", "a\r", "a"];
    let rows = texts.map(|text| (1, Some(text.to_owned())));
    write(&sandbox.input("rows"), &rows, 3);
    for more in [
        "--csv --comment # -k page.url,id",
        "--csv --strip-cr --comment # -k page.url,id",
        "--strip-cr -k page.url",
    ] {
        let outcome = sandbox.run(&format!("union -q -z {more} rows --count-only"));
        assert_eq!(text(&outcome), "4\n", "{more}: {outcome}");
    }
}

#[test]
fn b23_c14_a_page_that_claims_a_small_size_gets_no_memory_for_its_true_one() {
    let sandbox = Sandbox::new();
    let path = sandbox.input("a");
    let schema = parse_message_type("message m { required binary url (UTF8); }").unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .build();
    let file = File::create(&path).unwrap();
    let mut writer =
        SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let value = ByteArray::from("x".repeat(30 << 20).as_str());
    let typed = column.typed::<ByteArrayType>();
    typed.write_batch(&[value], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    // The header of the only page: its kind, the size of what is in it, and its size in the file, which are the same.
    let mut bytes = fs::read(&path).unwrap();
    assert_eq!(bytes[4..7], [0x15, 0x00, 0x15]);
    let length = 1 + bytes[7..].iter().take_while(|&&byte| byte >= 0x80).count();
    let (own, stored) = (7..7 + length, 8 + length..8 + 2 * length);
    assert_eq!(bytes[own.clone()], bytes[stored]);
    bytes[own.clone()].fill(0x80);
    bytes[own.end - 1] = 0;
    bytes[own.start] = 0x90;
    fs::write(&path, bytes).unwrap();
    let (outcome, peak) = measured(&sandbox, "union -k url --memory 16M a");
    outcome.fails(3, &["different size than its header says"]);
    assert!(peak <= 16 << 20, "{peak}");
}
