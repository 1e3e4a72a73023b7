//! Files with and without headers, and the names of the fields in them.

use std::fs;

use crate::sandbox::{Outcome, Sandbox};

/// A file with a header, lists without one, and a list with one.
fn lists() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("one.csv", "id,name\n1,A\n2,X\n");
    sandbox.write("one.tsv", "id\tname\n1\tA\n2\tX\n");
    sandbox.write("ids", "2\n1\n");
    sandbox.write("id1", "2\n");
    sandbox.write("head", "id\n2\n1\n");
    sandbox.write("ip.csv", "ip,x\n192.0.2.1,a\n");
    sandbox.write("ip", "192.0.2.1\n");
    sandbox
}

/// Runs the program with these arguments, which may have blanks in them.
fn run_words(sandbox: &Sandbox, arguments: &[&str]) -> Outcome {
    let mut command = sandbox.command("");
    command.args(arguments);
    sandbox.start(command).finish()
}

/// Standard output as text.
fn text(outcome: &Outcome) -> &str {
    std::str::from_utf8(&outcome.stdout).unwrap()
}

#[test]
fn a21_a_file_has_a_header_where_its_own_key_is_a_name() {
    let sandbox = lists();
    for (arguments, expected) in [
        ("diff --csv -1 id -2 1 one.csv ids", "id,name\n"),
        ("diff --tsv -1 id -2 1 one.tsv ids", "id\tname\n"),
        ("diff --csv -k id --key-of 2=1 one.csv ids", "id,name\n"),
        ("diff --csv -k 1 --key-of 1=id one.csv ids", "id,name\n"),
        ("intersect --csv -1 id -2 1 one.csv id1", "id,name\n2,X\n"),
        (
            "intersect --csv -1 id -2 1 one.csv id1 --keys-only",
            "id\n2\n",
        ),
        ("intersect --csv -1 1 -2 id ids one.csv", "2\n1\n"),
        (
            "intersect --csv -1 1 -2 id ids one.csv --keys-only",
            "2\n1\n",
        ),
        (
            "intersect --csv -1 1 -2 id id1 one.csv --which",
            "\"11\",2\n",
        ),
        ("diff --csv -1 1 -2 id ids one.csv --count-only", "0\n"),
        (
            "union --csv -1 1 -2 id ids one.csv --keys-only",
            "id\n2\n1\n",
        ),
        ("symdiff --csv -1 id -2 1 head ids", "id\n"),
        (
            "intersect --csv -1 ip -2 1 --key-type ipv4 ip.csv ip",
            "ip,x\n192.0.2.1,a\n",
        ),
        (
            "diff --csv -k 1 --key-of 3=id one.csv ids one.csv",
            "id,name\n",
        ),
    ] {
        for strategy in ["auto", "partition"] {
            let ipv4 = arguments.contains("ipv4") && strategy != "auto";
            let strategy = if ipv4 { "auto" } else { strategy };
            let outcome = sandbox.run(&format!("{arguments} --order input --strategy {strategy}"));
            outcome.succeeds();
            assert_eq!(text(&outcome), expected, "{arguments}");
        }
    }
    // From a pipe as well.
    let fed = "intersect --csv -1 id -2 1 --order input - ids";
    let outcome = sandbox.run_fed(fed, b"id,name\n2,X\n");
    outcome.succeeds();
    assert_eq!(text(&outcome), "id,name\n2,X\n");
    let outcome = sandbox.run_fed("diff --csv -1 id -2 1 --order input one.csv -", b"2\n");
    outcome.succeeds();
    assert_eq!(text(&outcome), "id,name\n1,A\n");
    let outcome = sandbox.run("overlaps --csv -1 id -2 1 one.csv ids --json");
    outcome.succeeds();
    assert!(text(&outcome).contains("\"lines\": 2"), "{outcome}");
}

#[test]
fn a21_an_option_says_which_files_have_a_header() {
    let sandbox = lists();
    for (options, expected) in [
        // A name or -H for all, but for one.
        ("-1 id -2 1 --header-of 2=yes one.csv head", "id,name\n"),
        ("-k 1 -H --header-of 2=no one.csv ids", "id,name\n"),
        ("-1 id -2 1 -H one.csv head", "id,name\n"),
        ("-1 id -2 1 --which one.csv ids", "files,id,name\n"),
        ("-k 1 --header-of 1=yes one.csv ids", "id,name\n"),
        ("-k 1 --header-of 2=yes ids head", ""),
        (
            "-k 1 --header-of 1=yes --header-of 2=yes one.csv head",
            "id,name\n",
        ),
        // The same file, once with a header and once without, is two inputs.
        ("-k 1 --header-of 1=no --header-of 2=yes head head", "id\n"),
        ("-k 1 --header-of 2=yes --side ids id1 --side head", ""),
    ] {
        // Without names of several fields, there are lines at most.
        let header = expected.split_inclusive('\n').next();
        let header = header.filter(|line| line.contains(',')).unwrap_or("");
        let outcome = sandbox.run(&format!(
            "diff --csv {options} --stats ../out/stats --order input"
        ));
        outcome.succeeds();
        assert_eq!(text(&outcome), expected, "{options}");
        let stats = fs::read_to_string(sandbox.output("stats")).unwrap();
        let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
        assert_eq!(stats["output"]["header_bytes"], header.len(), "{options}");
        fs::remove_file(sandbox.output("stats")).unwrap();
    }
    for (options, parts) in [
        (
            "--csv -k id --header-of 2=no one.csv ids",
            &[
                "ids: the key id is a name, but this file has no header",
                "--header-of 2=yes",
            ][..],
        ),
        (
            "--csv -k 1 --header-of 3=yes one.csv ids",
            &["--header-of: there is no file 3, only 2 files are given"],
        ),
        (
            "--csv -k 1 --header-of 1=yes --header-of 1=no one.csv ids",
            &["the header of file 1 is given twice"],
        ),
        (
            "--csv -k 1 --header-of 1 one.csv ids",
            &["give N=yes or N=no"],
        ),
        (
            "--csv -k 1 --header-of 1=maybe one.csv ids",
            &["give N=yes or N=no"],
        ),
        (
            "--csv -k 1 --header-of 0=yes one.csv ids",
            &["numbered from 1"],
        ),
        (
            "--jsonl -k a --header-of 1=yes one.csv ids",
            &["JSON objects have no header"],
        ),
    ] {
        sandbox.run(&format!("diff {options}")).fails(2, parts);
    }
}

#[test]
fn a21_first_lines_that_are_equal_get_a_hint_where_none_is_a_header() {
    let sandbox = lists();
    sandbox.write("other.csv", "id,name\n7,B\n");
    sandbox.write("numbers.csv", "1,A\n7,B\n");
    let hint = "the first lines of all files are equal: if they are headers, add --header";
    for (arguments, is_hinted) in [
        ("diff --csv -k 1 one.csv other.csv", true),
        ("union --csv -k 2 one.csv other.csv", true),
        (
            "diff --csv -k 1,2 --side one.csv other.csv --side other.csv",
            true,
        ),
        ("overlaps --csv -k 1 one.csv other.csv", true),
        ("diff --tsv -k 1 one.csv other.csv", true),
        ("diff --csv one.csv other.csv", true),
        ("diff --csv -k 1 -H one.csv other.csv", false),
        ("diff --csv -k id one.csv other.csv", false),
        ("diff --csv -k 1 --header-of 1=yes one.csv other.csv", false),
        ("diff --csv -k 1 one.csv ids", false),
        ("diff --csv -k 1 one.csv one.csv", false),
        ("diff --csv -k 1 one.csv other.csv ids", false),
        ("diff --csv -k 1 numbers.csv ids", false),
        ("diff one.csv other.csv", false),
        ("diff --csv -k 1 -q one.csv other.csv", false),
    ] {
        let outcome = sandbox.run(arguments);
        let said = outcome.succeeds().stderr.matches(hint).count();
        assert_eq!(said, usize::from(is_hinted), "{arguments}: {outcome}");
    }
    // A record that both begin with is no header where it has a number in it.
    sandbox.write("same.csv", "1,A\n8,C\n");
    let outcome = sandbox.run("diff --csv -k 1 numbers.csv same.csv");
    assert!(!outcome.succeeds().stderr.contains(hint), "{outcome}");
}

#[test]
fn a21_names_that_are_numbers_or_have_commas_can_be_said() {
    let sandbox = Sandbox::new();
    sandbox.write("a.csv", "\"last, first\",\"a\"\"b\",2021\nx,y,7\nz,y,8\n");
    sandbox.write("b.tsv", "\"id\"\tname:x\n1\t2\n");
    for (arguments, count) in [
        (&["--csv", "-k", "\"last, first\"", "a.csv"][..], "2\n"),
        (&["--csv", "-k", "\"a\"\"b\"", "a.csv"], "1\n"),
        (&["--csv", "-k", "name:2021", "a.csv"], "2\n"),
        (&["--csv", "-k", "\"2021\",\"last, first\"", "a.csv"], "2\n"),
        (
            &["--csv", "--key-of", "1=\"last, first\",name:2021", "a.csv"],
            "2\n",
        ),
        (&["--csv", "-k", "a\"b", "a.csv"], "1\n"),
        (&["--csv", "-k", "name:2021", "-k", "2", "a.csv"], "2\n"),
        (&["--tsv", "-k", "\"id\"", "b.tsv"], "1\n"),
        (&["--tsv", "-k", "id", "b.tsv"], "1\n"),
        (&["--tsv", "-k", "name:x", "b.tsv"], "1\n"),
    ] {
        let arguments = [&["union", "--count-only"], arguments].concat();
        let outcome = run_words(&sandbox, &arguments);
        outcome.succeeds();
        assert_eq!(text(&outcome), count, "{arguments:?}");
    }
    for (arguments, status, parts) in [
        (
            &["--csv", "-k", "last, first", "a.csv"][..],
            2,
            &[
                "a.csv: no field is called last",
                "name one of: \"last, first\", a\"b, name:2021, with the quotes",
            ][..],
        ),
        (
            &["--csv", "-k", "2021", "a.csv"],
            3,
            &[
                "has no field 2021",
                "if the number is a name in the header, give it as name:NUMBER",
            ],
        ),
        (
            &["--csv", "-k", "\"last", "a.csv"],
            2,
            &["close the quote around the name"],
        ),
        (
            &["--csv", "-k", "\"a\"b", "a.csv"],
            2,
            &["nothing may follow the closing quote"],
        ),
    ] {
        let arguments = [&["union"], arguments].concat();
        run_words(&sandbox, &arguments).fails(status, parts);
    }
}

#[test]
fn a21_names_are_compared_as_keys_are() {
    let sandbox = Sandbox::new();
    sandbox.write("low.csv", "id,name\n1,a\n2,b\n");
    sandbox.write("up.csv", "ID,Name\n2,b\n");
    sandbox.write("wide.csv", " id ,\tname\n2,b\n");
    sandbox.write("both.csv", "ID,id\n1,2\n");
    sandbox.write("all.csv", "ID,Id\n1,2\n");
    for (arguments, expected) in [
        ("intersect --csv -i -k id low.csv up.csv", "id,name\n2,b\n"),
        ("intersect --csv -i -k ID low.csv up.csv", "id,name\n2,b\n"),
        (
            "intersect --csv --trim -k id low.csv wide.csv",
            "id,name\n2,b\n",
        ),
        (
            "intersect --csv --trim -i -k ID,NAME low.csv wide.csv",
            "id,name\n2,b\n",
        ),
        // One that is called just so comes first.
        (
            "intersect --csv -i -k id low.csv both.csv",
            "id,name\n2,b\n",
        ),
        // Equal names stand for equal columns, whose records are written together.
        ("union --csv -i -k id low.csv up.csv", "id,name\n1,a\n2,b\n"),
        (
            "union --csv --trim -k id --side low.csv wide.csv",
            "id,name\n1,a\n2,b\n",
        ),
    ] {
        let outcome = sandbox.run(&format!("{arguments} --order input"));
        outcome.succeeds();
        assert_eq!(text(&outcome), expected, "{arguments}");
    }
    for (arguments, part) in [
        (
            "intersect --csv -k id low.csv up.csv",
            "up.csv: no field is called id: name one of: ID, Name",
        ),
        (
            "intersect --csv --trim -k id low.csv up.csv",
            "up.csv: no field is called id",
        ),
        (
            "intersect --csv -i -k id low.csv all.csv",
            "all.csv: two fields are called id",
        ),
        (
            "union --csv -k id -2 ID low.csv up.csv",
            "up.csv: its header differs from that of low.csv",
        ),
    ] {
        sandbox.run(arguments).fails(2, &[part]);
    }
}

#[test]
fn a21_a_dot_belongs_to_the_name_of_a_field_that_is_so_called() {
    let sandbox = Sandbox::new();
    let nested = "{\"id\": {\"orig_h\": \"n\"}, \"x\": 1}\n";
    let both = "{\"id\": {\"orig_h\": \"p\"}, \"id.orig_h\": \"q\"}\n{\"id.orig_h\": \"r\", \"id\": {\"orig_h\": \"s\"}}\n";
    sandbox.write("a", format!("{nested}{both}"));
    for (key, expected) in [("id.orig_h", "n\nq\nr\n"), ("id\\.orig_h", "q\nr\n")] {
        let run = [
            "union",
            "--jsonl",
            "-k",
            key,
            "--keys-only",
            "--order",
            "input",
            "--bad-records",
            "skip",
            "a",
        ];
        let outcome = run_words(&sandbox, &run);
        outcome.succeeds();
        assert_eq!(text(&outcome), expected, "{key}");
    }
    // Of a field that is null, too.
    sandbox.write("b", "{\"id.orig_h\": null, \"id\": {\"orig_h\": \"s\"}}\n");
    sandbox
        .run("union --jsonl -k id.orig_h b")
        .fails(3, &["b: the record at line 1 has no value for id.orig_h"]);
}

#[test]
fn b22_a_delimiter_or_a_comment_that_was_not_told_of_is_seen_in_the_header() {
    let sandbox = Sandbox::new();
    sandbox.write("by.csv", "# by hand, in May\nid,url\n1,a\n");
    sandbox.write("semi.csv", "id;url\n1;a\n");
    sandbox.write("tab.csv", "id\turl\n1\ta\n");
    sandbox.write("bar.csv", "\"id\"|\"url\"\n1|a\n");
    sandbox.write("comma.tsv", "id,url\n1,a\n");
    sandbox.write("sep.csv", "sep=;\r\nid;url\r\n1;a\r\n");
    for (arguments, part) in [
        ("--csv -k url semi.csv", "did you mean --delimiter ';'?"),
        ("--tsv -k id semi.csv", "did you mean --delimiter ';'?"),
        (
            "--csv -k url tab.csv",
            "did you mean --tsv, or --csv with --delimiter '\\t'?",
        ),
        ("-d , -k url bar.csv", "did you mean --delimiter '|'?"),
        (
            "--tsv -k url comma.tsv",
            "did you mean --csv without --delimiter?",
        ),
        (
            "--csv -d ; -k url comma.tsv",
            "did you mean --csv without --delimiter?",
        ),
        ("--csv -k nobody semi.csv", "name one of: id;url"),
        (
            "--csv -k url by.csv",
            "pass over them with --comment '#'; else name one of: # by hand, ",
        ),
        (
            "--csv -k url sep.csv",
            "sep.csv: begins with the line sep=;, which is no header: remove that line",
        ),
        (
            "--csv -d ; -k url sep.csv",
            "sep.csv: begins with the line sep=;, which is no header",
        ),
    ] {
        sandbox.run(&format!("union {arguments}")).fails(2, &[part]);
    }
    let outcome = sandbox.run("union --csv -d ; -k 1 sep.csv");
    assert!(
        outcome
            .succeeds()
            .stderr
            .contains("sep.csv: begins with a line sep=C"),
        "{outcome}"
    );
}

#[test]
fn b22_the_advice_for_too_many_files_leads_to_fewer_sides() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.input("a"), "x\n").unwrap();
    let files = vec!["a"; 4095];
    let arguments = [&["union", "--count-only"], &files[..]].concat();
    run_words(&sandbox, &arguments).fails(
        2,
        &[
            "4095 files given, but with these options it takes at most 4094",
            "--side",
            "--files-from",
        ],
    );
}

#[test]
fn a21_a_header_keeps_its_line_end_where_whole_lines_are_compared() {
    let text = b"id,v\r\n1,2\r\n";
    let sandbox = Sandbox::with(text, b"");
    for words in ["union -H a", "union --csv -H a", "union --csv -k 1 -H a"] {
        let found = sandbox.run(&format!("{words} --order input"));
        assert_eq!(found.succeeds().stdout, text, "{words}");
    }
}
