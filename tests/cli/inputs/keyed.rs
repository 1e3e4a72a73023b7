//! Records with keys: columns, headers, quotes; and records that have no key.

use std::fs;

use data_gen::Compression;
use differential::sweep;
use serde_json::Value;

use crate::sandbox::{Outcome, Sandbox};

/// Orders, by their customers.
const ORDERS: &str = "order,customer,item\n1,ann,\"pen, red\"\n2,bob,ink\n3,Cy,pad\n4,bob,pen\n";
/// Customers.
const CUSTOMERS: &str = "name,town\nbob,Ulm\n\"Cy\",Linz\ndee,Graz\n";

fn shop() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("orders.csv", ORDERS);
    sandbox.write("customers.csv", CUSTOMERS);
    sandbox
}

/// Standard output as text.
fn text(outcome: &Outcome) -> &str {
    std::str::from_utf8(&outcome.stdout).unwrap()
}

#[test]
fn a21_the_records_of_the_first_file_come_whole() {
    let sandbox = shop();
    for (arguments, expected) in [
        (
            "intersect --csv -1 customer -2 name",
            "order,customer,item\n2,bob,ink\n3,Cy,pad\n4,bob,pen\n",
        ),
        (
            "diff --csv -1 customer -2 name",
            "order,customer,item\n1,ann,\"pen, red\"\n",
        ),
        (
            "intersect --csv -1 2 -2 1 --header --distinct",
            "order,customer,item\n2,bob,ink\n3,Cy,pad\n",
        ),
        (
            "intersect --csv -1 customer -2 name --keys-only",
            "customer\nbob\nCy\n",
        ),
        (
            "intersect --csv -k customer --key-of 2=name --which",
            "files,order,customer,item\n\"11\",2,bob,ink\n\"11\",3,Cy,pad\n\"11\",4,bob,pen\n",
        ),
        (
            "intersect --csv -1 customer -2 name --count --keys-only",
            "count,customer\n3,bob\n2,Cy\n",
        ),
        (
            "symdiff --csv -1 customer -2 name --keys-only",
            "customer\nann\ndee\n",
        ),
    ] {
        let outcome = sandbox.run(&format!(
            "{arguments} --order input orders.csv customers.csv"
        ));
        outcome.succeeds();
        assert_eq!(text(&outcome), expected, "{arguments}");
    }
    let outcome = sandbox.run("union --csv -k customer --order input -D ../out/again orders.csv");
    outcome.succeeds();
    assert_eq!(
        text(&outcome),
        "order,customer,item\n1,ann,\"pen, red\"\n2,bob,ink\n3,Cy,pad\n"
    );
    let again = fs::read_to_string(sandbox.output("again")).unwrap();
    assert_eq!(again, "order,customer,item\n4,bob,pen\n");
}

#[test]
fn a21_every_syntax_gives_the_same_records() {
    let sandbox = Sandbox::new();
    let syntaxes = [
        ("--tsv -k 2", "1\ta\n2\tb\n3\ta\n", "x\ta\n", "1\ta\n3\ta\n"),
        ("-d : -k 2", "1:\"a\n2:b\n", "x:\"a\n", "1:\"a\n"),
        ("-d \\t -k 1", "a\t1\nb\t2\n", "b\n", "b\t2\n"),
        (
            "--csv -d ; -k 2",
            "1;\"a;\"\n2;b\n",
            "x;\"a;\"\n",
            "1;\"a;\"\n",
        ),
        (
            "--csv -k 2",
            "1,\"a\nb\"\n2,b\n",
            "x,\"a\nb\"\n",
            "1,\"a\nb\"\n",
        ),
        ("--csv -k 1,2", "1,a,x\n2,b,y\n", "1,a\n2,c\n", "1,a,x\n"),
        (
            "--jsonl -k u.id",
            "{\"u\": {\"id\": 7}, \"n\": 1}\n{\"u\": {\"id\": 8}}\n",
            "{\"u\": {\"id\": \"7\"}}\n",
            "{\"u\": {\"id\": 7}, \"n\": 1}\n",
        ),
        ("-i", "Ann\nBob\nANN\n", "ann\n", "Ann\nANN\n"),
        ("--trim", " a\nb\n", "a\t\n", " a\n"),
        ("--squeeze", "a \tb\na b \n", "a  b\n", "a \tb\n"),
        ("--squeeze --trim -i", "A  b\t\nc\n", "a b\n", "A  b\t\n"),
        (
            "--csv -k 1 --trim -i",
            "\" A \",1\nb,2\n",
            "a\n",
            "\" A \",1\n",
        ),
        ("-z --tsv -k 1", "a\n\tx\0b\ty\0", "a\n\0", "a\n\tx\0"),
    ];
    let strategies = ["auto", "partition", "sieve"];
    for (&(options, first, second, expected), strategy) in sweep::pairs(&syntaxes, &strategies) {
        sandbox.write("a", first);
        sandbox.write("b", second);
        let arguments = format!("intersect {options} --strategy {strategy} --order input a b");
        let outcome = sandbox.run(&arguments);
        outcome.succeeds();
        assert_eq!(text(&outcome), expected, "{arguments}");
    }
}

#[test]
fn a21_each_file_has_a_header_and_the_answer_has_one() {
    let sandbox = Sandbox::new();
    sandbox.write("a.0", "id,url\n1,x\n");
    sandbox.write(
        "a.1",
        Compression::Zstd.compress(b"id,url\n2,y\n3,x\n").unwrap(),
    );
    sandbox.write("a.2", "");
    sandbox.write("b", "\u{feff}url\r\nx\r\n");
    sandbox.write("c", "url\n");
    let run = |arguments: &str| sandbox.run(&format!("{arguments} --csv -k url --order input"));
    let outcome = run("intersect --side a.0 a.1 a.2 --side b");
    outcome.succeeds();
    assert_eq!(text(&outcome), "id,url\n1,x\n3,x\n");
    // Also where there is nothing else.
    let outcome = run("intersect --side a.0 a.1 a.2 --side c");
    outcome.succeeds();
    assert_eq!(text(&outcome), "id,url\n");
    // Also from a pipe, whatever the strategy.
    for strategy in ["auto", "partition", "sieve"] {
        let arguments = format!("intersect - b --csv -k url --order input --strategy {strategy}");
        let outcome = sandbox.run_fed(&arguments, b"id,url\n1,x\n2,y\n3,x\n");
        outcome.succeeds();
        assert_eq!(text(&outcome), "id,url\n1,x\n3,x\n", "{strategy}");
    }
    // Records of files with other columns are not written together.
    sandbox.write("a.1", "url,id\ny,2\n");
    run("intersect --side a.0 a.1 --side b").fails(2, &["a.1: ", "same columns", "--keys-only"]);
    let outcome = run("union --keys-only --side a.0 a.1 --side b");
    outcome.succeeds();
    assert_eq!(text(&outcome), "url\nx\ny\n");
}

#[test]
fn a21_the_header_is_that_of_a_file_whose_records_can_be_in_the_answer() {
    let sandbox = Sandbox::new();
    sandbox.write("customers", "id,email\n1,a\n2,b\n");
    sandbox.write("others", "id,y\n1,a\n5,c\n");
    sandbox.write("ids", "1\n9\n");
    sandbox.write("bare", "1,a\n3,b\n");
    for (arguments, expected) in [
        ("-1 id -2 1 --only 01 customers ids", "9\n"),
        ("-1 id -2 1 --only 10 customers ids", "id,email\n2,b\n"),
        ("-1 id -2 1 --only 11 customers ids", "id,email\n1,a\n"),
        ("-k 1 --header-of 2=yes --only 10 bare customers", "3,b\n"),
        ("-k id --only 01 customers others", "id,y\n5,c\n"),
        (
            "-k id --only 101 customers others customers",
            "id,email\n2,b\n",
        ),
        ("-1 id -2 1 --keys-only --only 01 customers ids", "9\n"),
    ] {
        let outcome = sandbox.run(&format!("intersect -q --csv {arguments}"));
        outcome.succeeds();
        assert_eq!(text(&outcome), expected, "{arguments}");
    }
    let arguments = "intersect --csv -k id --at-most 1 customers others";
    sandbox
        .run(arguments)
        .fails(2, &["others: its header differs"]);
}

#[test]
fn a21_every_command_that_reads_lines_takes_keys() {
    let sandbox = shop();
    let keys = "--csv -1 customer -2 name";
    let run = |arguments: &str| {
        let outcome = sandbox.run(arguments);
        outcome.succeeds();
        text(&outcome).to_owned()
    };
    let overlaps = run(&format!("overlaps {keys} orders.csv customers.csv"));
    let rows: Vec<&str> = overlaps.lines().skip(1).collect();
    assert!(
        rows[0].starts_with("11         2 ") && rows[1].starts_with("10         1 "),
        "{overlaps}"
    );
    let estimate = run(&format!("estimate {keys} orders.csv customers.csv --json"));
    let estimate: Value = serde_json::from_str(&estimate).unwrap();
    assert_eq!(
        estimate["inputs"][0]["distinct"]["estimate"], 3.0,
        "{estimate}"
    );
    let plan = run(&format!(
        "plan --operation diff --distinct {keys} orders.csv customers.csv --json"
    ));
    assert!(plan.contains("\"partition\""), "{plan}");
    run("filter build --csv -k name --max-fpr 1e-6 -o ../out/f customers.csv");
    assert_eq!(
        run("filter query ../out/f --csv -k customer orders.csv"),
        "order,customer,item\n2,bob,ink\n3,Cy,pad\n4,bob,pen\n"
    );
    assert_eq!(
        run("filter query ../out/f --invert --csv -k customer orders.csv"),
        "order,customer,item\n1,ann,\"pen, red\"\n"
    );
    assert_eq!(
        run("filter insert ../out/f --print-new --csv -k customer orders.csv"),
        "order,customer,item\n1,ann,\"pen, red\"\n"
    );
    let compared = run(&format!(
        "compare {keys} orders.csv customers.csv --max-fpr 1%"
    ));
    // How wide the columns are depends on how much memory the run took.
    let mut rows = compared
        .lines()
        .map(|row| row.split_whitespace().collect::<Vec<_>>());
    assert!(rows.any(|row| row == ["lines", "2", "2"]), "{compared}");
}

#[test]
fn b22_a_record_without_a_key_fails_the_run_or_is_left_out_and_counted() {
    let sandbox = Sandbox::new();
    sandbox.write("b", "x,y,z\n");
    let filler = "1,a,b\n".repeat(60_000);
    let records = [
        ("--csv -k 3", "1,a", "has no field 3"),
        (
            "--csv -k 1",
            "1,\"a\\\"b,c\",c",
            "has text after a closing quote",
        ),
        ("--csv -k 1", "1,\"a\"b,c", "has text after a closing quote"),
        ("-d , -k 3", "1,a", "has no field 3"),
    ];
    let commands = ["intersect", "diff", "union", "diff --keys-only"];
    for ((options, record, what), name, command) in
        sweep::triples(&records, &["a", "a.gz"], &commands)
    {
        let file = format!("{filler}{record}\n{filler}");
        let file = match *name {
            "a" => file.into_bytes(),
            _ => Compression::Gzip.compress(file.as_bytes()).unwrap(),
        };
        sandbox.write(name, &file);
        let arguments = format!("{command} {options} {name} b -o ../out/r");
        let location = format!("{name}: the record at line 60001 {what}");
        sandbox.run(&arguments).fails(3, &[&location]);
        assert!(!sandbox.output("r").exists());
        let arguments =
            format!("diff {options} --bad-records skip {name} b --stats ../out/s -o ../out/r");
        let outcome = sandbox.run(&arguments);
        outcome.succeeds();
        assert!(
            outcome.stderr.contains(": left out 1 line without a key"),
            "{outcome}"
        );
        let stats: Value = serde_json::from_slice(&fs::read(sandbox.output("s")).unwrap()).unwrap();
        assert_eq!(stats["inputs"][0]["bad_records"], 1);
        assert_eq!(stats["inputs"][0]["lines"], 120_000);
        fs::remove_file(sandbox.output("r")).unwrap();
    }
}

#[test]
fn b22_a_quote_that_is_never_closed_does_not_shorten_the_answer() {
    let sandbox = Sandbox::new();
    sandbox.write("b", "x\n");
    let filler = "1,a,b\n".repeat(60_000);
    sandbox.write("a", format!("{filler}2,\"a,b\n{filler}"));
    sandbox
        .run("diff --csv -k 1 a b -o ../out/r --memory 64M")
        .fails(
            3,
            &["a: the record at line 60001 has a quote that is never closed"],
        );
    // What follows is longer than the memory: 22 MB. It is looked at without being held.
    let long = "1,a,b\n".repeat(3_600_000);
    let all = format!("{filler}2,\"a,b\n{long}3,c,d\n");
    sandbox.write("a", &all);
    sandbox.write("a.gz", Compression::Gzip.compress(all.as_bytes()).unwrap());
    for name in sweep::some(&["a.gz", "a"], 1) {
        let arguments = format!("diff --csv -k 1 {name} b -o ../out/r --memory 20M");
        let location = format!("{name}: the record at line 60001 has a quote that is never closed");
        sandbox.run(&arguments).fails(3, &[&location]);
        assert!(!sandbox.output("r").exists());
    }
    for name in sweep::some(&["a", "a.gz", "-"], 1) {
        let fed = if *name == "-" { &all } else { "" };
        let arguments = format!(
            "diff --csv -k 1 --keys-only --bad-records skip {name} b --memory 20M --order sorted"
        );
        let outcome = sandbox.run_fed(&arguments, fed.as_bytes());
        outcome.succeeds();
        assert_eq!(text(&outcome), "1\n3\n");
        assert!(outcome.stderr.contains(": left out 1 line"), "{outcome}");
    }
    // A field that is closed behind the memory is no damage.
    sandbox.write("a", format!("{filler}2,\"a,b\n{long}3,c,d\",e\n"));
    sandbox
        .run("diff --csv -k 1 --bad-records skip a b -o ../out/r --memory 20M")
        .fails(6, &["a: the line at byte 360000 ", "give at least "]);
    // A command without temporary space says what would do.
    sandbox
        .run("filter build --csv -k 1 a.gz -o ../out/f --memory 20M")
        .fails(6, &["a.gz: the line at byte 360000 ", "close that quote"]);
}

#[test]
fn b22_what_is_no_object_or_has_no_such_field_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("b", "{\"a\": 1}\n");
    for (record, what) in [
        ("{\"b\": 1}", "has no value for a"),
        ("{\"a\": null}", "has no value for a"),
        ("{\"a\": [1]}", "has no text or number for a"),
        ("[1]", "is not a JSON object"),
        ("{\"a\": 1", "is not a JSON object: correct it"),
        // JSON that is no JSON Lines.
        (
            "[1, {\"a\": 1},",
            "is not a JSON object: if the file is one JSON array",
        ),
        (" [", "is not a JSON object: if the file is one JSON array"),
        (
            " {\r",
            "is not a JSON object: if objects go on in the next lines",
        ),
    ] {
        sandbox.write("a", format!("{{\"a\": 2}}\n{record}\n"));
        let location = format!("a: the record at line 2 {what}");
        let outcome = sandbox.run("diff --jsonl -k a a b");
        outcome.fails(3, &[&location, "--bad-records skip"]);
    }
    // The location in a pipe is that of its first byte.
    sandbox
        .run_fed("diff --jsonl -k a - b", b"{\"a\": 2}\n{}\n")
        .fails(3, &["-: the record at byte 9 has no value for a"]);
}

#[test]
fn b22_keys_that_make_no_sense_are_refused_before_the_work() {
    let sandbox = shop();
    for (options, parts) in [
        (
            "-k 1",
            &["key: ", "add --csv, --tsv, --jsonl or --delimiter"][..],
        ),
        (
            "--csv -k nobody",
            &[
                "orders.csv: ",
                "no field is called nobody",
                "order, customer, item",
            ],
        ),
        ("--csv -k 1,1", &["field 1 is given twice"]),
        (
            "--csv -1 1,2 -2 1",
            &[
                "one file's key has 2 fields, another's has 1",
                "same number of fields",
            ],
        ),
        ("--jsonl -k 1", &["no numbered fields"]),
        ("--jsonl", &["required", "--key"]),
        (
            "--csv -k 1 --key-of 1=2 --key-of 1=1",
            &["the key of file 1 is given twice"],
        ),
        (
            "--csv -k 1 --key-of 3=1",
            &["there is no file 3, only 2 files are given"],
        ),
        (
            "--csv -1 1",
            &[
                "customers.csv: nothing says where its key is",
                "--key-of 2=FIELD",
            ],
        ),
        ("--tsv", &["required", "--key"]),
        ("-i -d ,", &["required", "--key"]),
        ("--keys-only", &["required", "--key"]),
        ("--bad-records skip", &["required"]),
        (
            "--csv -k 1 --distinct --repeats",
            &["--distinct", "cannot be used with"],
        ),
        (
            "--csv -k 1 --distinct --strategy memory",
            &["memory cannot write the first record of each key"],
        ),
        ("--csv -k 1 --all", &["not defined for whole lines"]),
        ("--csv -k 0", &["numbered from 1"]),
        ("-d ab -k 1", &["one character"]),
    ] {
        let arguments = format!("intersect {options} orders.csv customers.csv");
        sandbox.run(&arguments).fails(2, parts);
    }
    // Records of other fields would stand under the same header.
    sandbox
        .run("union --csv -1 customer -2 name orders.csv customers.csv")
        .fails(
            2,
            &[
                "customers.csv: its header differs from that of",
                "--keys-only",
            ],
        );
    // The frames of pzstd begin with one that is skipped.
    for format in [Compression::Gzip, Compression::Zstd, Compression::Pzstd] {
        let packed = format.compress(ORDERS.as_bytes()).unwrap();
        sandbox
            .run_fed(
                "intersect --csv -1 customer -2 name - customers.csv",
                &packed,
            )
            .fails(2, &["-: ", "cannot be read from a pipe", "give a file"]);
    }
}

#[test]
fn b22_a_compressed_file_without_records_has_the_columns_of_the_others() {
    let sandbox = Sandbox::new();
    sandbox.write("b", "id,n\n1,2\n");
    for format in [Compression::Gzip, Compression::Zstd, Compression::Bzip2] {
        sandbox.write("a", format.compress(b"").unwrap());
        for files in ["a b", "b a"] {
            let outcome = sandbox.run(&format!("union --csv -k n --side {files}"));
            outcome.succeeds();
            assert_eq!(text(&outcome), "id,n\n1,2\n", "{files}");
        }
    }
}

#[test]
fn c13_memory_stays_under_the_limit_with_records() {
    let sandbox = Sandbox::new();
    let record = |number: u64| format!("{number},\"name, {number}\",{:x<60}\n", number % 977);
    let file = |range: std::ops::Range<u64>| range.map(record).collect::<String>();
    sandbox.write("a", file(0..150_000));
    sandbox.write("b", file(100_000..250_000));
    let operations = [
        ("intersect", 16, 50_000),
        ("intersect --distinct", 16, 50_000),
        ("symdiff --strategy sieve", 18, 200_000),
        ("diff -i", 18, 100_000),
        ("union", 16, 250_000),
    ];
    for &(command, memory, lines) in sweep::some(&operations, 2) {
        let arguments =
            format!("{command} --csv -k 2 --memory {memory}M --stats ../out/s a b -o ../out/r");
        sandbox.run(&arguments).succeeds();
        let stats: Value = serde_json::from_slice(&fs::read(sandbox.output("s")).unwrap()).unwrap();
        let peak = stats["memory"]["peak_rss_bytes"].as_u64().unwrap();
        assert!(peak <= memory << 20, "{command}: {peak} of {memory} MiB");
        assert_eq!(stats["output"]["lines"], lines, "{command}");
    }
}

#[test]
fn a21_occurrences_are_counted_by_every_strategy() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "k,1\nl,1\n");
    let many = (0..9)
        .map(|number| format!("k,{number}\n"))
        .collect::<Vec<_>>()
        .concat();
    sandbox.write("b", many);
    for strategy in ["auto", "partition", "sieve"] {
        for command in ["intersect --distinct", "intersect --at-least 2"] {
            let keys = "-d , -k 1 --count";
            let outcome = sandbox.run(&format!("{command} {keys} --strategy {strategy} a b"));
            outcome.succeeds();
            assert_eq!(text(&outcome), "10,k,1\n", "{strategy}");
        }
    }
    // A file that is two sides has each of its records twice.
    let outcome = sandbox.run("union -d , -k 1 -D ../out/again a a --order input");
    outcome.succeeds();
    assert_eq!(text(&outcome), "k,1\nl,1\n");
    let again = fs::read_to_string(sandbox.output("again")).unwrap();
    let mut again: Vec<&str> = again.lines().collect();
    again.sort_unstable();
    assert_eq!(again, ["k,1", "l,1"]);
}

#[test]
fn a21_a_letter_between_fields_is_no_part_of_them() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "axXb\n");
    sandbox.write("b", "aXxb\n");
    for syntax in ["-d X", "--csv -d X"] {
        let outcome = sandbox.run(&format!("intersect {syntax} -i -k 1,2 a b"));
        outcome.succeeds();
        assert_eq!(text(&outcome), "", "{syntax}");
    }
}

#[test]
fn b22_whole_records_have_their_quotes_checked() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "a\n\"b\nc\nd\n");
    sandbox.write("b", "c\n");
    for options in ["--csv", "--csv -i", "--csv --trim"] {
        sandbox.run(&format!("diff {options} b a")).fails(
            3,
            &["a: the record at line 2 has a quote that is never closed"],
        );
    }
}

#[test]
fn b22_a_location_counts_the_header_and_the_ends_of_lines_that_were_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.write("b", "b\n7\n");
    // Copied, because the sieve reads it twice; and read once.
    sandbox
        .run_fed("union --csv -k b - --strategy sieve", b"a,b\n1,2\n3\n")
        .fails(3, &["-: the record at line 3 has no field 2"]);
    sandbox
        .run_fed("diff --csv -k b - b --strategy partition", b"a,b\n1,2\n3\n")
        .fails(3, &["-: the record at byte 8 has no field 2"]);
    sandbox.write("z", b"1,\n2\x003\0");
    sandbox
        .run("union -z -d , -k 2 z")
        .fails(3, &["z: the record at line 2 has no field 2"]);
    // Told wherever records are read.
    sandbox.write("m", "1,2\n3\n");
    for arguments in [
        "estimate -d , -k 2 --bad-records skip m m",
        "filter build -d , -k 2 --bad-records skip m -o ../out/f --lines 9",
        "filter query ../out/f -d , -k 2 --bad-records skip m",
        "overlaps -d , -k 2 --bad-records skip m m",
    ] {
        let outcome = sandbox.run(arguments);
        outcome.succeeds();
        let told = outcome.stderr.matches("m: left out 1 line without a key: ");
        assert_eq!(told.count(), 1, "{arguments}: {outcome}");
    }
}

#[test]
#[ignore = "slow: more than a second"]
fn c13_keys_that_are_copied_have_little_memory_or_are_refused() {
    let sandbox = Sandbox::new();
    let long = "x".repeat(6 << 20);
    let record =
        |number: u32, text: &str| format!("{{\"a\": \"{number}{text}\", \"b\": {number}}}\n");
    let mut records: Vec<String> = (0..8).map(|number| record(number, &long)).collect();
    records.push(record(8, "short"));
    sandbox.write("a", records.concat());
    for (keys, mebibytes) in [("-k a -i", 128), ("-k b,a", 128), ("-k b -i", 64)] {
        let arguments =
            format!("union --jsonl {keys} --memory {mebibytes}M --stats ../out/s a -o ../out/r");
        sandbox.run(&arguments).succeeds();
        let stats: Value = serde_json::from_slice(&fs::read(sandbox.output("s")).unwrap()).unwrap();
        let peak = stats["memory"]["peak_rss_bytes"].as_u64().unwrap();
        assert!(peak <= mebibytes << 20, "{keys}: {peak}");
        assert_eq!(stats["output"]["lines"], 9, "{keys}");
    }
    // The limit that does is said.
    let arguments = "union --jsonl -k a -i --memory 64M a -o ../out/r";
    let says = ["a: the line at byte 0 is 6 MiB long", "give at least 1"];
    sandbox.run(arguments).fails(6, &says);
    // A piece of its record needs no copy.
    let arguments = "union --jsonl -k a --memory 64M a --count-only";
    let outcome = sandbox.run(arguments);
    outcome.succeeds();
    assert_eq!(text(&outcome), "9\n");
}

#[test]
fn b22_lines_that_are_no_addresses_can_be_left_out() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "block",
        "# a list\n\n192.0.2.1\n192.0.2.7\nnot.an.address\n",
    );
    sandbox.write("log", "192.0.2.1\n198.51.100.2\n");
    sandbox.write("log.csv", "ip,x\n192.0.2.1,a\n-,b\n");
    for (arguments, expected, left_out) in [
        (
            "intersect log block",
            "192.0.2.1\n",
            "block: left out 3 lines without a key",
        ),
        (
            "intersect block log",
            "192.0.2.1\n",
            "block: left out 3 lines without a key",
        ),
        (
            "diff block log",
            "192.0.2.7\n",
            "block: left out 3 lines without a key",
        ),
        (
            "intersect --strategy partition log block",
            "192.0.2.1\n",
            "block: left out 3 lines without a key",
        ),
        (
            "diff --csv -1 ip -2 1 log.csv log",
            "ip,x\n",
            "log.csv: left out 1 line without a key",
        ),
        (
            "union block log",
            "192.0.2.1\n192.0.2.7\n198.51.100.2\n",
            "block: left out 3 lines without a key",
        ),
    ] {
        let arguments = format!("{arguments} --key-type ipv4 --bad-records skip --order input");
        let outcome = sandbox.run(&arguments);
        outcome.succeeds();
        assert_eq!(text(&outcome), expected, "{arguments}");
        assert!(outcome.stderr.contains(left_out), "{outcome}");
    }
    sandbox
        .run("intersect --key-type ipv4 log block")
        .fails(3, &["block: ", "not an IPv4 address"]);
    let outcome = sandbox.run("intersect --bad-records skip log block");
    outcome.fails(2, &["required", "--trim, --squeeze, --key-type: see"]);
    assert!(!outcome.stderr.contains('>'), "{outcome}");
}

#[test]
fn a21_a_key_with_nul_is_quoted_where_nul_ends_lines() {
    let sandbox = Sandbox::new();
    sandbox.write("rows", "x,\"a\0b\"\0y,a\0");
    let outcome = sandbox.run("union --csv -z -k 2 --keys-only --order sorted -q rows");
    let expected = "\"a\0b\"\0a\0";
    assert_eq!(
        String::from_utf8_lossy(&outcome.succeeds().stdout),
        expected
    );
    // And they are read again as they were written.
    sandbox.write("keys", expected);
    let again = sandbox.run("diff --csv -z -1 2 -2 1 -q --count-only rows keys");
    assert_eq!(again.succeeds().stdout, b"0\n");
}

#[test]
fn a21_only_the_named_field_of_an_object_must_be_text_that_can_be() {
    let sandbox = Sandbox::new();
    sandbox.write("objects", "{\"\\ud800\":1,\"id\":\"x\"}\n{\"id\":\"x\"}\n");
    let outcome = sandbox.run("union --jsonl -k id -q --keys-only objects");
    assert_eq!(outcome.succeeds().stdout, b"x\n");
    // The place of what JSON does not have is counted over all lines of a record.
    sandbox.write("zero", "{\"a\":1,\n\"b\":NaN,\"id\":\"x\"}\0");
    let outcome = sandbox.run("union --jsonl -z -k id zero");
    outcome.fails(3, &["has NaN or Infinity at byte 13"]);
}
