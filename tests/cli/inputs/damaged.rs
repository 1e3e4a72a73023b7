//! Fields of CSV that are damaged, and quotes that only look so: each spoils its own line at most.

use std::fmt::Write as _;
use std::fs;

use data_gen::Compression;
use differential::sweep;
use serde_json::Value;

use crate::sandbox::{Outcome, Sandbox};

/// Rows whose second field is damaged, whatever comes behind them.
const DAMAGED: [&str; 7] = [
    "{},\"a\" b,x",
    "{},\"a\\\"b\",x",
    "{},\"a\"b\",x",
    "{},\"never closed,x",
    "{},x,\"",
    "{},\"a\"\"\"b,x",
    "{},\"\"\"\"b,\"x",
];
/// Rows whose quotes are text, or in place.
const SOUND: [&str; 6] = [
    "{},3.5\" disk,x",
    "{},a\"\"b\",x\"",
    "{}, \"a\",x",
    "{},\"a\"\"\",\"\",\"x\ny\"",
    "{},'\",\\\"",
    "{},\"a,b\r\nc\",x",
];
const ROWS: u32 = 400;

/// Rows with the ids of `range`, of which the one with the id `at` is `special`.
fn rows(special: &str, at: u32, is_wanted: impl Fn(u32) -> bool) -> String {
    let mut text = String::new();
    for id in (0..ROWS).filter(|&id| is_wanted(id)) {
        let row = match id {
            id if id == at => special.replace("{}", &id.to_string()),
            // A quote every now and then: where they are, an open one closes.
            id if id % 7 == 3 => format!("{id},\"n {id}\",\"\""),
            id => format!("{id},n{id},y"),
        };
        writeln!(text, "{row}").unwrap();
    }
    text
}

fn stats(sandbox: &Sandbox) -> Value {
    serde_json::from_slice(&fs::read(sandbox.output("s")).unwrap()).unwrap()
}

fn text(outcome: &Outcome) -> &str {
    std::str::from_utf8(&outcome.stdout).unwrap()
}

#[test]
fn b25_a_damaged_field_spoils_its_own_line_and_no_other() {
    let sandbox = Sandbox::new();
    let header = "id,name,more\n";
    let ids: Vec<String> = (0..ROWS).map(|id| format!("{id},,\n")).collect();
    let ids = ids.concat();
    sandbox.write("ids.csv", format!("{header}{ids}"));
    sandbox.write("none.csv", header);
    let commands = [
        "diff --order input a.csv none.csv",
        "intersect --order input a.csv ids.csv",
        "union --order input a.csv none.csv -m 24M -j 1",
        "diff --order input ids.csv a.csv",
        "diff --order input ids.csv a.csv -m 24M --strategy partition",
    ];
    for (special, &at, command) in sweep::triples(&DAMAGED, &[0, 200, ROWS - 1], &commands) {
        let all = rows(special, at, |_| true);
        let rest = format!("{header}{}", rows(special, at, |id| id != at));
        let left_out = format!("{header}{at},,\n");
        sandbox.write("a.csv", format!("{header}{all}"));
        let line = at + 2;
        sandbox
            .run("diff --csv -k id a.csv none.csv")
            .fails(3, &[&format!("a.csv: the record at line {line} has ")]);
        let outcome = sandbox.run(&format!(
            "{command} --csv -k id --bad-records skip --stats ../out/s"
        ));
        outcome.succeeds();
        // The line that is left out is no longer in the second file.
        let is_second = command.contains("ids.csv a.csv");
        let expected = if is_second { &left_out } else { &rest };
        assert_eq!(text(&outcome), expected, "{special} {at} {command}");
        let told = "a.csv: left out 1 line without a key: ";
        assert!(outcome.stderr.contains(told), "{special} {at} {outcome}");
        let counted = &stats(&sandbox)["inputs"];
        let bad = counted
            .as_array()
            .unwrap()
            .iter()
            .map(|input| &input["bad_records"]);
        assert_eq!(bad.filter_map(Value::as_u64).sum::<u64>(), 1);
        let build =
            "filter build --csv -k id --bad-records skip a.csv -o ../out/f -q --max-fpr 0.0001%";
        sandbox.run(build).succeeds();
        let outcome = sandbox.run("filter query --csv -k id --invert ../out/f ids.csv");
        fs::remove_file(sandbox.output("f")).unwrap();
        assert_eq!(text(&outcome), left_out, "{special} {at}");
    }
}

#[test]
fn b25_quotes_are_text_in_a_field_that_does_not_begin_with_one() {
    let sandbox = Sandbox::new();
    sandbox.write("none.csv", "");
    let commands = [
        "diff a.csv none.csv",
        "union a.gz",
        "diff a.gz none.csv -m 24M -j 1",
    ];
    for (special, &at, command) in sweep::triples(&SOUND, &[0, 200, ROWS - 1], &commands) {
        for (delimiter, options) in [(',', "--csv"), (';', "--csv -d ;")] {
            let all = rows(special, at, |_| true).replace(',', &delimiter.to_string());
            let stored = Compression::Gzip.compress(all.as_bytes()).unwrap();
            sandbox.write("a.csv", &all);
            sandbox.write("a.gz", stored);
            let outcome = sandbox.run(&format!("{command} {options} -k 1 --order input"));
            outcome.succeeds();
            assert_eq!(text(&outcome), all, "{special} {at} {command}");
        }
    }
}

#[test]
fn b25_one_text_is_one_key_however_its_quotes_are_written() {
    let sandbox = Sandbox::new();
    sandbox.write("a.csv", "3.5\" disk,1\n\"3.5\"\" disk\",2\n\"x\",3\n");
    sandbox.write("b.csv", "\"3.5\"\" disk\"\nx\n");
    sandbox.write("c.csv", "3.5\" disk\n");
    let run = |arguments: &str| {
        let outcome = sandbox.run(&format!("{arguments} --csv -k 1 --order input"));
        outcome.succeeds();
        text(&outcome).to_owned()
    };
    assert_eq!(
        run("intersect a.csv c.csv"),
        "3.5\" disk,1\n\"3.5\"\" disk\",2\n"
    );
    assert_eq!(run("diff a.csv b.csv"), "");
    assert_eq!(
        run("union a.csv b.csv --keys-only"),
        "\"3.5\"\" disk\"\nx\n"
    );
    sandbox.write("my.csv", "\"3.5\\\" disk\",9\n\"a\\\\\",8\n");
    let escaped = sandbox.run("intersect --csv --escape \\ -k 1 my.csv b.csv");
    assert_eq!(text(&escaped), "\"3.5\\\" disk\",9\n");
    let escaped = sandbox.run("diff --csv --escape \\ -k 1 --keys-only my.csv b.csv");
    assert_eq!(text(&escaped), "a\\\n");
    for wrong in [
        "--csv --comment , -k 1",
        "--csv -d ; --comment ; -k 1",
        "--tsv --escape x -k 1",
        "--csv --comment \" -k 1",
    ] {
        sandbox.run(&format!("union {wrong} a.csv")).fails(2, &[]);
    }
    // A mark stays before the label.
    sandbox.write("mark.csv", "\u{feff}id,n\n1,a\n");
    let marked = sandbox.run("union --csv -k id --count mark.csv");
    assert_eq!(text(&marked), "\u{feff}count,id,n\n1,1,a\n");
    for wrong in [",", "\""] {
        sandbox
            .run(&format!("union --csv --escape {wrong} -k 1 a.csv"))
            .fails(2, &["escape"]);
    }
}

#[test]
fn b25_a_quote_that_is_never_closed_spoils_one_line_of_a_file_that_is_read_in_many_pieces() {
    let sandbox = Sandbox::new();
    // Longer than a chunk: with quotes behind it that close it too late, and with none up to the end.
    let filler = |ids: std::ops::Range<u32>, field: &str| -> String {
        let rows = ids.map(|id| format!("{id},{field}{id}\n"));
        rows.collect::<Vec<_>>().concat()
    };
    let (front, middle, tail) = (
        filler(0..30_000, "n"),
        filler(30_001..60_000, "n"),
        filler(60_000..90_000, "n"),
    );
    let expected = format!("{front}{middle}{tail}");
    // The last row has a quote with text behind it: where the open one seems to close.
    for (last, told) in [
        ("", "left out 1 line without a key"),
        ("90000,\"q\" \n", "left out 2 lines without a key"),
    ] {
        sandbox.write(
            "a.csv",
            format!("{front}30000,\"open\n{middle}{tail}{last}"),
        );
        let outcome = sandbox.run("union --csv -k 1 --order input --bad-records skip -m 24M a.csv");
        outcome.succeeds();
        assert!(outcome.stderr.contains(told), "{outcome}");
        assert!(text(&outcome) == expected, "{outcome}");
    }
    // Where every line leaves a quote open, each byte is looked at twice at most.
    sandbox.write("all.csv", filler(0..30_000, "\"n\"\","));
    sandbox
        .run("union --csv -k 1 --bad-records skip --count-only -m 24M all.csv")
        .fails(3, &["all of its 30000 lines were left out"]);
}
