//! The command as it is called.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::lines_of;
use data_gen::options::Terminator;
use data_gen::{Manifest, Workload};

fn data_gen(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_data-gen"))
        .args(arguments)
        .output()
        .unwrap()
}

fn status(arguments: &[&str]) -> Option<i32> {
    data_gen(arguments).status.code()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn list_has_every_workload_on_a_line() {
    let output = String::from_utf8(data_gen(&["--list"]).stdout).unwrap();
    assert_eq!(output.lines().count(), Workload::all().len());
    for workload in Workload::all() {
        assert!(
            output
                .lines()
                .any(|line| line.starts_with(&format!("{} ", workload.name()))),
            "{workload:?}"
        );
    }
}

#[test]
fn the_fixed_form_counts_the_terminator() {
    let dir = tempfile::tempdir().unwrap();
    let path = text(dir.path());
    assert_eq!(
        status(&[
            "--dir", path, "--name", "x", "--lines", "1k,2e3", "--fixed", "64"
        ]),
        Some(0)
    );
    assert_eq!(
        fs::metadata(dir.path().join("x-a.txt")).unwrap().len(),
        64_000
    );
    assert_eq!(
        fs::metadata(dir.path().join("x-b.txt")).unwrap().len(),
        128_000
    );
    let manifest = Manifest::read(&dir.path().join("x-manifest.json")).unwrap();
    assert_eq!(manifest.common.count, 100);
    assert_eq!(manifest.common.bytes, 6_400);
}

#[test]
fn options_change_the_workload() {
    let dir = tempfile::tempdir().unwrap();
    let changes = "--workload many --lines 500 --files 3 --common 7 --duplicates 10% --zipf 1.5 --seed 9 --crlf b";
    let mut arguments: Vec<&str> = changes.split(' ').collect();
    arguments.extend([
        "--empty-lines",
        "0.01",
        "--no-final-newline",
        "--dir",
        text(dir.path()),
    ]);
    assert_eq!(status(&arguments), Some(0));
    let manifest = Manifest::read(&dir.path().join("manifest.json")).unwrap();
    assert_eq!(manifest.options.lines, [500; 3]);
    assert_eq!(manifest.options.seed, 9);
    assert_eq!(
        manifest
            .files
            .iter()
            .map(|file| file.crlf)
            .collect::<Vec<bool>>(),
        [false, true, false]
    );
    assert_eq!(
        (manifest.common.count, manifest.common_strip_cr.count),
        (0, 8)
    );
}

#[test]
fn every_format_has_the_lines_and_the_manifest_of_the_plain_files() {
    let dir = tempfile::tempdir().unwrap();
    let generate = |more: &[&str], name: &str| {
        let path = dir.path().to_str().unwrap();
        let fixed = ["--dir", path, "--lines", "1000", "--name", name];
        assert_eq!(status(&[&fixed[..], more].concat()), Some(0), "{name}");
        let manifest = std::fs::read_to_string(dir.path().join(format!("{name}-manifest.json")));
        let without_paths = |line: &&str| !line.contains("path");
        manifest
            .unwrap()
            .lines()
            .filter(without_paths)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let plain = generate(&[], "plain");
    let lines = std::fs::read_to_string(dir.path().join("plain-a.txt")).unwrap();
    for (format, suffix) in [
        ("csv", "csv"),
        ("tsv", "tsv"),
        ("jsonl", "jsonl"),
        ("parquet", "parquet"),
        ("gzip", "txt.gz"),
    ] {
        assert_eq!(generate(&["--format", format], format), plain);
        let path = dir.path().join(format!("{format}-a.{suffix}"));
        let found = outset_lines(&path, format);
        assert_eq!(found.len(), lines.lines().count(), "{format}");
        assert!(
            found.iter().map(String::as_str).eq(lines.lines()),
            "{format}"
        );
    }
}

/// The lines in a file of this format, by other means than those that wrote them where that is easy.
fn outset_lines(path: &Path, format: &str) -> Vec<String> {
    let text = || std::fs::read_to_string(path).unwrap();
    let field = |line: &str, delimiter: char| line.split(delimiter).nth(1).unwrap().to_owned();
    match format {
        "csv" => text()
            .lines()
            .skip(1)
            .map(|line| field(line, ','))
            .collect(),
        "tsv" => text()
            .lines()
            .skip(1)
            .map(|line| field(line, '\t'))
            .collect(),
        "jsonl" => {
            let value = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
            text()
                .lines()
                .map(|line| value(line)["line"].as_str().unwrap().to_owned())
                .collect()
        }
        "parquet" => {
            use parquet::file::reader::{FileReader, SerializedFileReader};
            use parquet::record::RowAccessor;
            let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
            let rows = reader.get_row_iter(None).unwrap();
            let line = |row: parquet::record::Row| {
                String::from_utf8(row.get_bytes(1).unwrap().data().to_vec())
            };
            rows.map(|row| line(row.unwrap()).unwrap()).collect()
        }
        _ => {
            let mut text = String::new();
            let mut decoder = flate2::read::MultiGzDecoder::new(std::fs::File::open(path).unwrap());
            std::io::Read::read_to_string(&mut decoder, &mut text).unwrap();
            text.lines().map(str::to_owned).collect()
        }
    }
}

#[test]
fn check_tells_right_from_wrong_by_its_status() {
    let dir = tempfile::tempdir().unwrap();
    let path = text(dir.path());
    let (manifest, a, b) = (
        dir.path().join("manifest.json"),
        dir.path().join("a.txt"),
        dir.path().join("b.txt"),
    );
    assert_eq!(status(&["--dir", path, "--lines", "1000"]), Some(0));
    let (in_a, in_b) = (fs::read(&a).unwrap(), fs::read(&b).unwrap());
    let in_a = lines_of(&in_a, Terminator::Lf);
    let common: Vec<&[u8]> = lines_of(&in_b, Terminator::Lf)
        .into_iter()
        .filter(|line| in_a.contains(line))
        .collect();
    let result = dir.path().join("result");
    fs::write(&result, common.join(&b'\n')).unwrap();
    let check = ["check", "--manifest", text(&manifest), "--result"];
    assert_eq!(status(&[&check[..], &[text(&result)]].concat()), Some(0));
    let wrong = data_gen(&[&check[..], &[text(&a)]].concat());
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        String::from_utf8(wrong.stdout)
            .unwrap()
            .contains("not selected 900")
    );
    assert_eq!(
        status(&[&check[..], &[text(&a), "--superset"]].concat()),
        Some(0)
    );
}

#[test]
fn check_takes_the_options_of_outset() {
    let dir = tempfile::tempdir().unwrap();
    let generate = "--lines 300 --files 2 --duplicates 50% --common 0 --dir";
    let path = text(dir.path());
    let arguments: Vec<&str> = generate.split(' ').chain([path]).collect();
    assert_eq!(status(&arguments), Some(0));
    let (manifest, a) = (dir.path().join("manifest.json"), dir.path().join("a.txt"));
    let check = |result: &Path, asked: &str| {
        let files = [
            "check",
            "--manifest",
            text(&manifest),
            "--result",
            text(result),
        ];
        let arguments: Vec<&str> = files.into_iter().chain(asked.split(' ')).collect();
        status(&arguments)
    };
    // Nothing is in common: every line of the first file is in the difference.
    assert_eq!(check(&a, "--operation diff --repeats"), Some(0));
    assert_eq!(check(&a, "--operation diff --all"), Some(0));
    assert_eq!(check(&a, "--operation diff"), Some(1));
    assert_eq!(check(&a, "--operation union --all"), Some(1));
    assert_eq!(check(&a, "--exactly 1"), Some(1));
    assert_eq!(check(&a, "--at-least 3"), Some(2));
    assert_eq!(check(&a, "--at-least 1 --exactly 1"), Some(2));
    let table = dir.path().join("table");
    fs::write(&table, "which  lines  files\n10 150 a.txt\n01 150 b.txt\n").unwrap();
    assert_eq!(check(&table, "--operation overlaps"), Some(0));
    assert_eq!(check(&table, "--operation overlaps --all"), Some(2));
    assert_eq!(check(&a, "--operation overlaps"), Some(1));
}

#[test]
fn errors_name_what_to_change_and_have_their_status() {
    let dir = tempfile::tempdir().unwrap();
    let path = text(dir.path());
    assert_eq!(status(&[]), Some(2), "no directory");
    assert_eq!(status(&["--dir", path, "--lines", "many"]), Some(2));
    assert_eq!(
        status(&["--dir", path, "--lines", "1,2", "--files", "3"]),
        Some(2)
    );
    assert_eq!(status(&["--dir", path, "--fixed", "0"]), Some(2));
    let short = data_gen(&["--dir", path, "--fixed", "20", "--lines", "10"]);
    assert_eq!(short.status.code(), Some(2));
    assert!(
        String::from_utf8(short.stderr)
            .unwrap()
            .contains("--length: 19 bytes are too few")
    );
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let nowhere = data_gen(&["--dir", text(&file.join("under")), "--lines", "10"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(
        String::from_utf8(nowhere.stderr)
            .unwrap()
            .contains(text(&file))
    );
    assert_eq!(
        status(&["check", "--manifest", "none", "--result", "-"]),
        Some(1)
    );
}
