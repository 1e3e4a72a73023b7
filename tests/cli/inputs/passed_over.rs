//! Lines that are no records: blank ones and comments, which are passed over and counted; and files of which nothing is
//! left.

use std::fs;

use data_gen::Compression;
use differential::sweep;
use serde_json::Value;

use crate::sandbox::{Outcome, Sandbox};

fn text(outcome: &Outcome) -> &str {
    std::str::from_utf8(&outcome.stdout).unwrap()
}

/// Returns the counts of the last run's first input: lines, bad records, lines that were passed over.
fn counted(sandbox: &Sandbox) -> [u64; 3] {
    let stats: Value = serde_json::from_slice(&fs::read(sandbox.output("s")).unwrap()).unwrap();
    let input = &stats["inputs"][0];
    ["lines", "bad_records", "passed_over"].map(|name| input[name].as_u64().unwrap())
}

#[test]
fn a22_blank_lines_are_no_records_where_fields_are_compared() {
    let sandbox = Sandbox::new();
    let kinds = [
        ("--csv -k 2", ["1,a\n", "2,b\n"], &["\n", "\r\n"][..]),
        ("--csv -k 1", ["1,a\n", "2,b\n"], &["\n", "\r\n"]),
        ("--csv -k 1 -i", ["1,a\n", "2,b\n"], &["\n", "\r\n"]),
        ("--tsv -k 1,2", ["1\ta\n", "2\tb\n"], &["\n", "\r\n"]),
        ("-d ; -k 2 --trim", ["1;a\n", "2;b\n"], &["\n", "\r\n"]),
        (
            "--jsonl -k a",
            ["{\"a\": 1}\n", "{\"a\": 2}\n"],
            &["\n", "  \n", "\t\r\n"],
        ),
    ];
    let kinds = kinds.into_iter().flat_map(|(options, lines, blanks)| {
        let kind = move |blank| (options, lines, blank);
        blanks.iter().map(kind)
    });
    let kinds: Vec<_> = kinds.collect();
    let contents: [fn(&str, &str, &str) -> String; 4] = [
        |first, second, blank| format!("{first}{blank}{second}"),
        |first, second, blank| format!("{first}{second}{blank}{blank}"),
        |first, second, blank| format!("{blank}{blank}{first}{second}"),
        |first, second, blank| {
            let open = blank.trim_end_matches('\n');
            format!("{first}{blank}{blank}{second}{open}")
        },
    ];
    let commands = [
        "union a",
        "union a.zst",
        "union --strategy partition a",
        "union a a --keys-only",
    ];
    for ((options, [first, second], blank), content, command) in
        sweep::triples(&kinds, &contents, &commands)
    {
        let content = content(first, second, blank);
        let passed = content
            .lines()
            .filter(|line| line.trim().is_empty())
            .count() as u64;
        sandbox.write("a", &content);
        sandbox.write(
            "a.zst",
            Compression::Zstd.compress(content.as_bytes()).unwrap(),
        );
        let outcome = sandbox.run(&format!(
            "{command} {options} --order input --stats ../out/s"
        ));
        outcome.succeeds();
        if !command.ends_with("--keys-only") {
            assert_eq!(
                text(&outcome),
                format!("{first}{second}"),
                "{options} {content:?}"
            );
        }
        assert_eq!(counted(&sandbox), [2, 0, passed], "{options} {content:?}");
    }
}

#[test]
fn a22_blank_lines_are_lines_where_lines_are_compared() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "x\n\ny\n");
    for options in [
        "",
        "-i",
        "--trim",
        "--csv",
        "-d , -k 1 --comment # --decompress none",
    ] {
        let outcome = sandbox.run(&format!("union {options} --order input a"));
        outcome.succeeds();
        let expected = if options.contains("-k") {
            "x\ny\n"
        } else {
            "x\n\ny\n"
        };
        assert_eq!(text(&outcome), expected, "{options}");
    }
    // A row of Parquet or a quoted field says that it is empty.
    sandbox.write("a", "\"\"\n\nx\n");
    let outcome = sandbox.run("union --csv -k 1 --order input a");
    assert_eq!(text(&outcome), "\"\"\nx\n");
}

#[test]
fn a22_comments_are_passed_over_before_a_header_and_behind_it() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a",
        "##one\n##\"two\t\"\n#CHROM\tPOS\n1\t100\n##x\n1\t200\n",
    );
    sandbox.write("b", "#CHROM\tPOS\n1\t200\n");
    let outcome = sandbox.run("intersect --tsv -k 1,2 --comment # a b --stats ../out/s");
    outcome.succeeds();
    assert_eq!(text(&outcome), "1\t200\n");
    assert_eq!(counted(&sandbox), [2, 0, 4]);
    // Quotes in a comment are no quotes.
    let rows: Vec<String> = (0..30_000).map(|id| format!("{id},\"n\"\n")).collect();
    let rows = rows.concat();
    for comments in ["#,\"open\n", "#\"\n# it's \"a\",\"\n", "#\n"] {
        let long = comments.repeat(9_000 / comments.len());
        let file = format!("\u{feff}{comments}\n{long}id,name\n{comments}{rows}{comments}");
        sandbox.write("c", &file);
        sandbox.write("c.gz", Compression::Gzip.compress(file.as_bytes()).unwrap());
        sandbox.write("d", "id\n7\n29999\n");
        let passed = file
            .lines()
            .filter(|line| line.trim_start_matches('\u{feff}').starts_with('#') || line.is_empty());
        let passed = passed.count() as u64;
        for name in ["c", "c.gz"] {
            let outcome = sandbox.run(&format!(
                "intersect --csv -k id --comment # --order input {name} d --stats ../out/s"
            ));
            outcome.succeeds();
            assert_eq!(
                text(&outcome),
                "id,name\n7,\"n\"\n29999,\"n\"\n",
                "{comments:?}"
            );
            assert_eq!(counted(&sandbox), [30_000, 0, passed], "{comments:?}");
        }
        let outcome = sandbox.run_fed(
            "intersect --csv -k id --comment # --order input - d --stats ../out/s",
            file.as_bytes(),
        );
        assert_eq!(counted(&sandbox), [30_000, 0, passed], "{comments:?}");
        assert_eq!(
            text(&outcome),
            "id,name\n7,\"n\"\n29999,\"n\"\n",
            "{comments:?}"
        );
    }
    sandbox
        .run("intersect --tsv -k 1,2 b a")
        .fails(3, &["a: the record at line 1 ", "--comment '#'"]);
    // Of plain lines, too.
    sandbox.write("list", "# blocked\nX\ny\n");
    let outcome = sandbox.run("union --comment # --order input list");
    assert_eq!(text(&outcome), "X\ny\n");
}

#[test]
fn a20_a_mark_before_records_is_no_part_of_the_first_one() {
    let sandbox = Sandbox::new();
    for (options, record, other) in [
        ("--jsonl -k id", "{\"id\":1}\n", "{\"id\": 1}\n"),
        ("--csv -k 1", "\"a,\nb\",2\n", "\"a,\nb\",3\n"),
        ("--csv -k 1", "a,2\n", "\"a\"\n"),
        ("--tsv -k 1", "a\t2\n", "a\t\n"),
    ] {
        let marked = format!("\u{feff}{record}");
        sandbox.write("a", &marked);
        sandbox.write(
            "a.gz",
            Compression::Gzip.compress(marked.as_bytes()).unwrap(),
        );
        sandbox.write("b", other);
        for name in ["a", "a.gz"] {
            let outcome = sandbox.run(&format!("intersect {options} {name} b"));
            outcome.succeeds();
            assert_eq!(text(&outcome), record, "{options}");
            assert!(!outcome.stderr.contains("mark"), "{outcome}");
            let swapped = sandbox.run(&format!("intersect {options} b {name}"));
            assert_eq!(text(&swapped), other, "{options}");
        }
        let outcome = sandbox.run_fed(&format!("intersect {options} - b"), marked.as_bytes());
        assert_eq!(text(&outcome), record, "{options}");
    }
}

#[test]
fn b26_an_answer_of_nothing_but_what_was_left_out_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.write("good.csv", "1,a\n2,b\n");
    sandbox.write("good.jsonl", "{\"id\": 1}\n");
    sandbox.write("pretty.json", "{\n  \"id\": 1\n}\n");
    sandbox.write("one.csv", "7\n");
    for (arguments, parts) in [
        (
            "union --jsonl -k id pretty.json",
            ["pretty.json: all of its 3 lines were left out", "JSON"],
        ),
        (
            "diff --jsonl -k id good.jsonl pretty.json",
            ["pretty.json: all of its 3 lines", "--key"],
        ),
        (
            "union --csv -k 2021 good.csv",
            ["good.csv: all of its 2 lines", "has no field 2021"],
        ),
        (
            "intersect --csv -k 2 good.csv one.csv",
            ["one.csv: its only line was left out", "no field 2"],
        ),
        (
            "filter build --csv -k 2 one.csv --lines 9",
            ["one.csv: its only line", "no field 2"],
        ),
        (
            "estimate --csv -k 2 good.csv one.csv",
            ["one.csv: its only line", "no field 2"],
        ),
        (
            "overlaps --csv -k 2 good.csv one.csv",
            ["one.csv: its only line", "no field 2"],
        ),
    ] {
        let output = if arguments.starts_with("estimate") || arguments.starts_with("overlaps") {
            ""
        } else {
            "-o ../out/r"
        };
        let outcome = sandbox.run(&format!("{arguments} --bad-records skip {output}"));
        outcome.fails(3, &parts);
        assert!(!sandbox.output("r").exists());
    }
    // Nothing but blank lines and comments is a file without records.
    sandbox.write("blank.csv", "\n#\n");
    let outcome = sandbox.run("diff --csv -k 1 --comment # --bad-records skip good.csv blank.csv");
    outcome.succeeds();
    assert_eq!(text(&outcome).len(), 8);
}
