//! One table of files that are damaged or odd: each is an error, or follows a documented rule. None gives a short
//! answer with exit status 0.

use std::fs;

use data_gen::Compression;
use differential::sweep;

use crate::sandbox::{Sandbox, root};

/// The outcome for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Comes {
    /// The run fails with this status, and what it says has these words.
    Fails(i32, &'static str),
    /// These lines, sorted.
    Gives(String),
}

use Comes::{Fails, Gives};

/// A file, how it is read, and what comes of it.
struct Row {
    name: String,
    bytes: Vec<u8>,
    options: &'static str,
    comes: Comes,
}

/// The lines of most files: enough that a frame of each compression has something to lose.
fn text(lines: std::ops::Range<u32>) -> String {
    let line = |number| format!("{number:06}\n");
    lines.map(line).collect::<Vec<_>>().concat()
}

fn packed(compression: Compression, text: &str) -> Vec<u8> {
    compression.compress(text.as_bytes()).unwrap()
}

fn row(name: impl Into<String>, bytes: Vec<u8>, options: &'static str, comes: Comes) -> Row {
    Row {
        name: name.into(),
        bytes,
        options,
        comes,
    }
}

/// Makes rows of faults and oddities of compressed files.
fn compressed_rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let (one, other) = (text(0..3000), text(3000..6000));
    let faults = [
        ("cut in its middle", Fails(3, "end early")),
        ("cut at its end", Fails(3, "end early")),
        ("cut in the second frame", Fails(3, "end early")),
        ("two frames", Gives(format!("{one}{other}"))),
        ("empty frames around others", Gives(format!("{one}{other}"))),
        ("nothing but an empty frame", Gives(String::new())),
        ("text behind it", Fails(3, "follow")),
        ("another compression behind it", Fails(3, "follow")),
        // Of bzip2 and gzip the sum of the content is in the last bytes, of the others of the last frame.
        ("a changed byte", Fails(3, "")),
    ];
    for (&compression, (what, comes)) in sweep::pairs(&Compression::ALL, &faults) {
        let (mut first, second) = (packed(compression, &one), packed(compression, &other));
        let two = [&first[..], &second].concat();
        let empty = packed(compression, "");
        let another = match compression {
            Compression::Gzip | Compression::Bgzf => Compression::Zstd,
            _ => Compression::Gzip,
        };
        let middle = first.len() / 2;
        let bytes = match *what {
            "cut in its middle" => first[..middle].to_vec(),
            "cut at its end" => first[..first.len() - 1].to_vec(),
            "cut in the second frame" => two[..two.len() - second.len() / 2].to_vec(),
            "two frames" => two,
            "empty frames around others" => [&empty[..], &first, &empty, &second, &empty].concat(),
            "nothing but an empty frame" => empty,
            "text behind it" => [&first[..], b"text\n"].concat(),
            "another compression behind it" => [&first[..], &packed(another, &other)].concat(),
            _ => {
                first[middle] ^= 0x40;
                first
            }
        };
        let name = format!("{compression:?}: {what}");
        rows.push(row(name, bytes, "", comes.clone()));
    }
    let gz = packed(Compression::Gzip, &text(0..10));
    rows.push(row(
        "Gzip: zeros behind it",
        [&gz[..], &[0; 100]].concat(),
        "",
        Gives(text(0..10)),
    ));
    let mut sum = gz.clone();
    let at = sum.len() - 8;
    sum[at] ^= 1;
    rows.push(row("Gzip: a wrong checksum", sum, "", Fails(3, "damaged")));
    let mut length = gz.clone();
    let at = length.len() - 1;
    length[at] ^= 1;
    rows.push(row("Gzip: a wrong length", length, "", Fails(3, "damaged")));
    let skippable = [0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let zst = packed(Compression::Zstd, &text(0..10));
    rows.push(row(
        "Zstd: skippable frames",
        [&skippable, &zst[..], &skippable].concat(),
        "",
        Gives(text(0..10)),
    ));
    rows.push(row(
        "Zstd: a skippable frame that is cut",
        [&zst[..], &skippable[..9]].concat(),
        "",
        Fails(3, ""),
    ));
    // A window of 2 GiB, which no byte of content needs.
    let huge = [0x28, 0xb5, 0x2f, 0xfd, 0, 21 << 3, 1, 0, 0];
    rows.push(row("Zstd: a huge window", huge.to_vec(), "", Fails(6, "")));
    let legacy = [0x02, 0x21, 0x4c, 0x18, 4, 0, 0, 0, 0x30, b'a', b'b', b'\n'];
    rows.push(row(
        "Lz4: the first version",
        legacy.to_vec(),
        "",
        Fails(3, "first version of lz4"),
    ));
    rows
}

/// Makes a row for each fault or oddity of records.
fn record_rows() -> Vec<Row> {
    let csv = "--csv -k 1";
    let of = |name: &str, text: &str, options, comes| {
        row(name, text.as_bytes().to_vec(), options, comes)
    };
    vec![
        of(
            "CSV: a quote that is never closed",
            "a,1\n\"b,2\nc,3\nd,4\n",
            csv,
            Fails(3, "never closed"),
        ),
        of(
            "CSV: a quote within a field",
            "a,1\nb\"c,2\nd,3\n",
            csv,
            Gives("a,1\nb\"c,2\nd,3\n".into()),
        ),
        of(
            "CSV: text behind a closing quote",
            "\"a\"b,1\n",
            csv,
            Fails(3, "after a closing quote"),
        ),
        of(
            "CSV: a field that is missing",
            "a,1\nb\n",
            "--csv -k 2",
            Fails(3, "has no field 2"),
        ),
        of(
            "CSV: line ends between quotes",
            "\"a\nb\",1\nc,2\n",
            csv,
            Gives("\"a\nb\",1\nc,2\n".into()),
        ),
        of(
            "CSV: no line end at the end",
            "b,1\na,2",
            csv,
            Gives("a,2\nb,1\n".into()),
        ),
        of(
            "TSV: a field that is missing",
            "a\t1\nb\n",
            "--tsv -k 2",
            Fails(3, "has no field 2"),
        ),
        of(
            "JSON: an object that is cut",
            "{\"a\":1}\n{\"a\":\n",
            "--jsonl -k a",
            Fails(3, "is not a JSON object"),
        ),
        of(
            "JSON: a name that is missing",
            "{\"a\":1}\n{\"b\":1}\n",
            "--jsonl -k a",
            Fails(3, "has no value for a"),
        ),
        of(
            "a header that a file has not",
            "",
            "--csv -k name",
            Gives(String::new()),
        ),
    ]
}

/// Makes a row for each fault or oddity of Parquet files.
fn parquet_rows() -> Vec<Row> {
    let corpus = root().join("tests/fuzz/corpus/parquet");
    let file = fs::read(corpus.join("arrow-checksum")).unwrap();
    let plain = fs::read(corpus.join("arrow-none")).unwrap();
    let end = file.len();
    let lines = (0..13)
        .map(|key| format!("key {key}"))
        .collect::<std::collections::BTreeSet<_>>();
    let all = lines
        .into_iter()
        .map(|line| line + "\n")
        .collect::<String>();
    let key = "-k url";
    let mut changed = file.clone();
    // In the dictionary of the column, which snappy leaves as it is.
    let text = file.windows(4).position(|bytes| bytes == b"key ");
    changed[text.unwrap() + 1] ^= 1;
    let mut encrypted = file.clone();
    encrypted[end - 1] = b'E';
    let mut footer = file.clone();
    footer[end - 8..end - 4].copy_from_slice(&u32::MAX.to_le_bytes());
    // A dictionary page of 2 GiB that is one byte in the file.
    let header = [
        0x15, 4, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0x15, 2, 0x4c, 0x15, 2, 0x15, 0, 0, 0,
    ];
    let mut huge = plain.clone();
    let page = plain.windows(4).position(|bytes| bytes == b"key ").unwrap() - 4;
    let start = (0..page)
        .rev()
        .find(|&start| plain[start..].starts_with(&[0x15, 4, 0x15]))
        .unwrap();
    huge[start..start + header.len()].copy_from_slice(&header);
    vec![
        row("Parquet: as it was written", file.clone(), key, Gives(all)),
        row(
            "Parquet: cut in its footer",
            file[..end - 20].to_vec(),
            key,
            Fails(3, "truncated"),
        ),
        row(
            "Parquet: cut in a page",
            file[..100].to_vec(),
            key,
            Fails(3, "truncated"),
        ),
        row(
            "Parquet: a line behind it",
            [&file[..], b"\n"].concat(),
            key,
            Fails(3, "truncated"),
        ),
        row(
            "Parquet: two of them",
            [&file[..], &file].concat(),
            key,
            Fails(3, ""),
        ),
        row(
            "Parquet: a changed byte in a page",
            changed,
            key,
            Fails(3, ""),
        ),
        row("Parquet: encrypted", encrypted, key, Fails(3, "encrypted")),
        row(
            "Parquet: a footer that is longer than the file",
            footer,
            key,
            Fails(3, "longer than the file"),
        ),
        row("Parquet: a page of 2 GiB", huge, key, Fails(6, "")),
        row(
            "Parquet: no column is named",
            file,
            "",
            Fails(2, "no column is named"),
        ),
    ]
}

#[test]
fn b24_each_odd_file_is_an_error_or_follows_a_rule() {
    let sandbox = Sandbox::new();
    let mut rows = compressed_rows();
    rows.extend(record_rows());
    rows.extend(parquet_rows());
    for Row {
        name,
        bytes,
        options,
        comes,
    } in rows
    {
        sandbox.write("odd", bytes);
        let outcome = sandbox.run(&format!("union odd --order sorted --memory 64M {options}"));
        let came = match outcome.status.code() {
            Some(0) => Gives(String::from_utf8(outcome.stdout.clone()).unwrap()),
            Some(status) => {
                assert_eq!(outcome.stdout, b"", "{name}: {outcome}");
                let says = match &comes {
                    Fails(_, says) if outcome.stderr.contains(says) => says,
                    _ => "something else",
                };
                Fails(status, says)
            }
            None => panic!("{name}: {outcome}"),
        };
        // Not all that was written: it may be much.
        let is_as_expected = came == comes;
        assert!(
            is_as_expected,
            "{name}: {}: {}",
            outcome.status, outcome.stderr
        );
    }
}

#[test]
fn a21_a_fault_behind_the_header_of_a_pipe_is_told_by_its_place_in_the_pipe() {
    let sandbox = Sandbox::new();
    let text = b"ip\n1.2.3.4\nfoo\n";
    sandbox.write("file", text);
    let words = "union --tsv -k ip --key-type ipv4";
    for outcome in [
        sandbox.run(&format!("{words} file")),
        sandbox.run_fed(&format!("{words} -"), text),
    ] {
        outcome.fails(3, &["the line at byte 11 is not an IPv4 address"]);
    }
}
