//! The rules for lines that a filter keeps: whether case and blanks count, how many fields a key has, and what ends a
//! line (row I17 of `tests/matrix.tsv`).

use std::fs;

use differential::sweep;

use crate::filters::answers::info;
use crate::sandbox::{Outcome, Sandbox};

const KINDS: [&str; 5] = ["blocked", "classic", "counting", "spectral", "fingerprint"];
const EMAILS: &str = "Alice@example.org\n bob@example.org\t\n";

fn emails() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("emails", EMAILS);
    sandbox.write(
        "other",
        "alice@EXAMPLE.org \nbob@example.org\neve@example.org\n",
    );
    sandbox.write("crlf", "one\r\ntwo\r\n");
    sandbox.write("lf", "one\ntwo\n");
    sandbox.write("pairs.csv", "a,b\n1,2\n3,4\n");
    sandbox.write("semi.csv", "1;2\n3;4\n");
    sandbox.write("pairs.tsv", "a\tb\n1\t2\n3\t4\n");
    sandbox
}

/// Standard output as text.
fn text(outcome: &Outcome) -> &str {
    std::str::from_utf8(&outcome.stdout).unwrap()
}

/// Runs a command that succeeds, and returns what it printed.
fn printed(sandbox: &Sandbox, arguments: &str) -> String {
    let outcome = sandbox.run(arguments);
    outcome.succeeds();
    text(&outcome).to_owned()
}

#[test]
fn i17_a_filter_that_ignores_case_finds_what_was_inserted() {
    // What is said of the reading again, in turn.
    let options = ["", "-i", "--trim -i"].into_iter().cycle();
    for (kind, options) in KINDS.iter().zip(options) {
        let sandbox = emails();
        let run = |arguments: &str| printed(&sandbox, arguments);
        run(&format!(
            "filter build -i --trim --kind {kind} --lines 10 --max-fpr 0.01% -o ../out/f emails"
        ));
        assert_eq!(
            run(&format!("filter query {options} ../out/f emails")),
            EMAILS,
            "{kind}"
        );
        assert_eq!(
            run(&format!(
                "filter query --count-only {options} ../out/f other"
            )),
            "2\n"
        );
        assert_eq!(
            run(&format!("filter query --invert {options} ../out/f other")),
            "eve@example.org\n"
        );
        if ["counting", "spectral"].contains(kind) {
            let expected = EMAILS.replace('\n', "\t1\n");
            assert_eq!(
                run(&format!("filter count {options} ../out/f emails")),
                expected
            );
        }
        let new = run(&format!(
            "filter insert --print-new {options} ../out/f other"
        ));
        assert_eq!(new, "eve@example.org\n", "{kind}");
        if ["counting", "fingerprint"].contains(kind) {
            run(&format!("filter remove {options} ../out/f other"));
            assert!(
                !run("filter query ../out/f other").contains("eve"),
                "{kind}"
            );
        }
        let told = info(&sandbox, "f");
        assert_eq!(
            (&told["ignore_case"], &told["trim"]),
            (&true.into(), &true.into())
        );
        assert!(
            run("filter info ../out/f")
                .contains("  keys ignore case (-i); leave out blanks around them (--trim)\n")
                || kind == &"fingerprint"
        );
    }
}

#[test]
fn i17_options_that_contradict_a_filter_are_refused_with_what_to_give() {
    let sandbox = emails();
    for (name, options) in [
        ("plain", "emails"),
        ("i", "-i emails"),
        ("trim", "--trim emails"),
        ("squeeze", "--squeeze emails"),
        ("one", "--csv -k a pairs.csv"),
        ("two", "--csv -k a,b pairs.csv"),
        ("tabs", "--tsv -k a,b pairs.tsv"),
        ("semi", "--csv -d ; -k 1,2 semi.csv"),
    ] {
        printed(
            &sandbox,
            &format!("filter build --lines 10 --kind counting -o ../out/{name} {options}"),
        );
    }
    let mut commands = ["query", "insert", "remove", "count"].into_iter().cycle();
    for (name, options, advice) in [
        (
            "plain",
            "-i emails",
            "leave out --ignore-case, because it was built without --ignore-case",
        ),
        (
            "plain",
            "--trim emails",
            "leave out --trim, because it was built without --trim",
        ),
        ("i", "--trim -i emails", "leave out --trim"),
        ("i", "--squeeze -i emails", "leave out --squeeze"),
        ("trim", "-i emails", "leave out --ignore-case"),
        (
            "plain",
            "-z emails",
            "leave out -z, because its lines end in a newline",
        ),
        ("one", "--csv -k a,b pairs.csv", "give --key with 1 field"),
        (
            "plain",
            "--csv -k a,b pairs.csv",
            "give no --key, or one with 1 field",
        ),
        (
            "two",
            "--csv -k a pairs.csv",
            "give --csv and --key with 2 fields",
        ),
        ("two", "pairs.csv", "give --csv and --key with 2 fields"),
        (
            "two",
            "--tsv -k a,b pairs.tsv",
            "give --csv and --key with 2 fields",
        ),
        (
            "tabs",
            "--csv -k a,b pairs.csv",
            "give --tsv and --key with 2 fields",
        ),
        (
            "semi",
            "--csv -k a,b pairs.csv",
            "give --csv --delimiter ';' and --key with 2 fields",
        ),
    ] {
        // Two of the commands for each, and each command with half of them.
        for command in commands.by_ref().take(2) {
            let arguments = format!("filter {command} ../out/{name} {options}");
            let named = format!("../out/{name}: this filter was built with other");
            sandbox.run(&arguments).fails(2, &[&named, advice]);
        }
        let arguments = format!("intersect --filter ../out/{name} {options}");
        if !options.contains(" -k") || options.contains("--csv -k a") {
            sandbox
                .run(&arguments)
                .fails(2, &["this filter was built with other"]);
        }
    }
}

#[test]
fn i17_a_run_of_several_files_takes_nothing_from_a_filter() {
    let sandbox = emails();
    for (name, options) in [
        ("plain", "emails"),
        ("i", "-i emails"),
        ("trim", "--trim emails"),
        ("squeeze", "--squeeze emails"),
        ("cr", "--strip-cr emails"),
        ("one", "--csv -k a pairs.csv"),
        ("two", "--csv -k a,b pairs.csv"),
    ] {
        printed(
            &sandbox,
            &format!("filter build --lines 10 -o ../out/{name} {options}"),
        );
    }
    for (name, options, advice) in [
        (
            "i",
            "emails",
            "add --ignore-case, because it was built with --ignore-case",
        ),
        (
            "trim",
            "emails",
            "add --trim, because it was built with --trim",
        ),
        ("squeeze", "--trim emails", "leave out --trim"),
        (
            "squeeze",
            "emails",
            "add --squeeze, because it was built with --squeeze",
        ),
        ("cr", "emails", "add --strip-cr"),
        ("i", "--trim emails", "add --ignore-case"),
    ] {
        sandbox
            .run(&format!("intersect --filter ../out/{name} {options}"))
            .fails(2, &[&format!("../out/{name}: "), advice]);
        sandbox
            .run(&format!("plan --filter ../out/{name} {options}"))
            .fails(2, &[advice]);
    }
    for (name, options, expected) in [
        (
            "i",
            "-i --keys-only emails",
            "alice@example.org\n bob@example.org\t\n",
        ),
        (
            "trim",
            "--trim --keys-only emails",
            "Alice@example.org\nbob@example.org\n",
        ),
        (
            "squeeze",
            "--squeeze --keys-only emails",
            "Alice@example.org\n bob@example.org \n",
        ),
        ("plain", "emails", EMAILS),
        ("one", "--csv -k a --keys-only pairs.csv", "a\n1\n3\n"),
        (
            "two",
            "--csv -k a,b --keys-only pairs.csv",
            "a,b\n1,2\n3,4\n",
        ),
    ] {
        let arguments = format!("intersect --filter ../out/{name} --order input {options}");
        assert_eq!(printed(&sandbox, &arguments), expected, "{arguments}");
    }
}

#[test]
fn i17_lines_and_single_fields_of_every_syntax_are_comparable() {
    let sandbox = emails();
    sandbox.write("list", "1\n3\n");
    sandbox.write("rows.jsonl", "{\"a\": 1}\n{\"a\": 3}\n");
    let forms = [
        "list",
        "--csv -k a pairs.csv",
        "--tsv -k a pairs.tsv",
        "--jsonl -k a rows.jsonl",
    ];
    for (number, built) in forms.iter().enumerate() {
        printed(
            &sandbox,
            &format!("filter build --lines 10 -o ../out/f{number} {built}"),
        );
        for asked in forms {
            let arguments = format!("filter query --count-only ../out/f{number} {asked}");
            assert_eq!(printed(&sandbox, &arguments), "2\n", "{built}: {arguments}");
        }
    }
}

#[test]
fn i17_filters_of_other_keys_are_not_merged_and_models_hand_theirs_on() {
    let sandbox = emails();
    let run = |arguments: &str| printed(&sandbox, arguments);
    run("filter build -i --lines 10 -o ../out/f emails");
    run("filter build --like ../out/f -o ../out/g other");
    assert_eq!(info(&sandbox, "g")["ignore_case"], true);
    run("filter build --like ../out/f -i -o ../out/g other");
    run("filter merge ../out/f ../out/g -o ../out/h");
    assert_eq!(info(&sandbox, "h")["ignore_case"], true);
    assert_eq!(
        run("filter query ../out/h other emails --count-only"),
        "5\n"
    );
    sandbox
        .run("filter build --like ../out/f --trim -o ../out/x other")
        .fails(2, &["leave out --trim"]);
    let key = "0".repeat(64);
    run(&format!(
        "filter build -i --lines 10 --hash-key {key} -o ../out/a emails"
    ));
    run(&format!(
        "filter build --lines 10 --hash-key {key} -o ../out/b emails"
    ));
    sandbox
        .run("filter merge ../out/a ../out/b -o ../out/c")
        .fails(
            2,
            &[
                "differs from the first filter in whether case is ignored (--ignore-case)",
                "--like",
            ],
        );
    // A filter that a run saves knows them, too.
    run("intersect -i --keys-only --save-filter ../out/s emails other -o ../out/r");
    assert_eq!(info(&sandbox, "s")["ignore_case"], true);
    run(
        "intersect --csv -k a,b --keys-only --save-filter ../out/t pairs.csv pairs.csv -o ../out/r",
    );
    let told = info(&sandbox, "t");
    assert_eq!(
        (&told["key_fields"], &told["key_format"]),
        (&2.into(), &"--csv".into())
    );
}

#[test]
fn i17_a_filter_that_squeezes_blanks_finds_what_was_inserted() {
    for kind in KINDS {
        let sandbox = emails();
        sandbox.write("runs", "a  b\nc\n");
        sandbox.write("asked", "a \tb\nab\n a b\nc\n");
        let run = |arguments: &str| printed(&sandbox, arguments);
        run(&format!(
            "filter build --squeeze --kind {kind} --lines 10 --max-fpr 0.0001% -o ../out/f runs"
        ));
        assert_eq!(run("filter query ../out/f asked"), "a \tb\nc\n", "{kind}");
        assert_eq!(info(&sandbox, "f")["squeeze"], true);
        assert!(
            run("filter info ../out/f")
                .contains("  keys count runs of blanks as one (--squeeze)\n")
        );
        assert_eq!(fs::read(sandbox.output("f")).unwrap()[19], 4);
    }
}

#[test]
fn i17_a_filter_of_whole_lines_is_the_file_that_it_always_was() {
    let sandbox = emails();
    printed(&sandbox, "filter build --lines 10 -o ../out/f emails");
    let bytes = fs::read(sandbox.output("f")).unwrap();
    assert_eq!(bytes[19], 0);
    assert!(bytes[112..4088].iter().all(|&byte| byte == 0));
    printed(
        &sandbox,
        "filter build -i --trim --lines 10 -o ../out/g --csv -k a,b pairs.csv",
    );
    let bytes = fs::read(sandbox.output("g")).unwrap();
    assert_eq!(
        (bytes[19], &bytes[112..119]),
        (3, &[2, 0, 0, 0, 2, b',', 0][..])
    );
}

#[test]
fn i17_a_key_with_quotes_commas_or_line_ends_is_found_whatever_it_was_inserted_from() {
    let sandbox = Sandbox::new();
    let texts = [
        "a,b",
        "say \"x\"",
        "\"lead",
        "\"\"",
        "plain",
        "a;b",
        "ends\r",
    ];
    let lines = texts.map(|text| format!("{text}\n")).concat();
    let csv = texts.map(|text| format!("\"{}\",1\n", text.replace('"', "\"\"")));
    let json = texts.map(|text| format!("{}\n", serde_json::json!({ "k": text })));
    sandbox.write("lines", lines);
    sandbox.write("a.csv", format!("k,n\n{}", csv.concat()));
    sandbox.write("semicolons", csv.concat().replace("\",1", "\";1"));
    sandbox.write("a.jsonl", json.concat());
    let readings = [
        "lines",
        "--csv -k k a.csv",
        "--csv -d ; -k 1 semicolons",
        "--jsonl -k k a.jsonl",
    ];
    let count = texts.len();
    // All kinds have the same hashes.
    let [lines, csv, semicolons, json] = readings;
    let built = [
        ("blocked", lines),
        ("blocked", csv),
        ("blocked", semicolons),
        ("blocked", json),
        ("counting", csv),
        ("fingerprint", csv),
    ];
    // Among a few, none is asked as it was built.
    let asked = [csv, semicolons, json, lines];
    for (&(kind, built), &asked) in sweep::pairs(&built, &asked) {
        printed(
            &sandbox,
            &format!(
                "filter build --kind {kind} --lines 1000 --max-fpr 0.0001 -o ../out/f {built}"
            ),
        );
        let what = format!("{kind}: {built}, {asked}");
        let header = usize::from(asked.contains("a.csv"));
        let lines_of = |arguments: &str| {
            let outcome = sandbox.run(arguments);
            outcome
                .succeeds()
                .stdout
                .split(|&byte| byte == b'\n')
                .count()
                - 1
        };
        let found = lines_of(&format!("filter query ../out/f {asked}"));
        assert_eq!(found, count + header, "{what}");
        let absent = lines_of(&format!("filter query --invert ../out/f {asked}"));
        assert_eq!(absent, header, "{what}");
        let new = lines_of(&format!("filter insert --print-new ../out/f {asked}"));
        assert_eq!(new, header, "{what}");
        let keys = if asked == "lines" { "" } else { "--keys-only" };
        let common = lines_of(&format!("intersect -q --filter ../out/f {keys} {asked}"));
        assert_eq!(common, count + header, "{what}");
        if kind == "counting" {
            let outcome = sandbox.run(&format!("filter remove ../out/f {asked}"));
            let told = &outcome.succeeds().stderr;
            assert!(!told.contains("not in"), "{what}: {told}");
        }
    }
    // A filter that a run leaves behind.
    for saved in &readings[1..] {
        let file = saved.rsplit(' ').next().unwrap();
        let command = format!(
            "intersect -q --keys-only --strategy bloom --save-filter ../out/f {saved} {file}"
        );
        sandbox.run(&command).succeeds();
        let found = printed(&sandbox, "filter query --invert ../out/f lines");
        assert_eq!(found, "", "{command}");
    }
    // What only lines between quotes in a file have.
    sandbox.write("two.csv", "k\n\"one\ntwo\"\n");
    sandbox.write("two.jsonl", "{\"k\":\"one\\ntwo\"}\n");
    for (built, asked) in [
        ("--csv -k k two.csv", "--jsonl -k k two.jsonl"),
        ("--jsonl -k k two.jsonl", "--csv -k k two.csv"),
    ] {
        printed(
            &sandbox,
            &format!("filter build --lines 10 -o ../out/f {built}"),
        );
        assert!(printed(&sandbox, &format!("filter query ../out/f {asked}")).contains("one"));
    }
}

#[test]
fn i17_line_ends_that_a_filter_keeps_get_a_hint_and_can_be_stripped() {
    let sandbox = emails();
    let hint = "most lines end in CR LF, and the filter takes the CR for a part of each";
    let hints = |arguments: &str| {
        let outcome = sandbox.run(arguments);
        outcome.succeeds();
        assert!(outcome.stderr.contains("--strip-cr") == outcome.stderr.contains(hint));
        outcome.stderr.matches(hint).count()
    };
    assert_eq!(
        hints("filter build --kind counting --lines 10 -o ../out/f lf"),
        0
    );
    assert_eq!(hints("filter build --count-lines -o ../out/g crlf"), 1);
    assert_eq!(hints("filter build --strip-cr -o ../out/cr crlf"), 0);
    for command in ["query", "insert", "insert --print-new", "remove", "count"] {
        assert_eq!(
            hints(&format!("filter {command} ../out/f crlf")),
            1,
            "{command}"
        );
        assert_eq!(
            hints(&format!("filter {command} ../out/f lf crlf")),
            1,
            "{command}"
        );
        assert_eq!(
            hints(&format!("filter {command} -q ../out/f crlf")),
            0,
            "{command}"
        );
        assert_eq!(
            hints(&format!("filter {command} ../out/f lf")),
            0,
            "{command}"
        );
        assert_eq!(
            hints(&format!("filter {command} --strip-cr ../out/f crlf")),
            0,
            "{command}"
        );
    }
    assert_eq!(hints("filter query ../out/cr crlf lf"), 0);
    assert_eq!(hints("intersect --filter ../out/f crlf"), 1);
    assert_eq!(hints("intersect --filter ../out/f lf"), 0);
    // The CR of the lines that are looked up is of no account where those that were inserted have none.
    printed(&sandbox, "filter build --lines 10 -o ../out/f lf");
    assert_eq!(
        printed(&sandbox, "filter query --strip-cr ../out/f crlf"),
        "one\ntwo\n"
    );
    assert_eq!(
        printed(
            &sandbox,
            "intersect --strip-cr --order input --filter ../out/f crlf"
        ),
        "one\ntwo\n"
    );
}

#[test]
fn i17_what_is_no_plain_text_gets_a_hint_of_every_command() {
    let sandbox = emails();
    sandbox.write("mark", "\u{feff}one\ntwo\n");
    sandbox.write("wide", b"\xff\xfeo\0n\0e\0\n\0");
    printed(
        &sandbox,
        "filter build --kind counting --lines 10 -o ../out/f lf",
    );
    for (file, hint) in [
        ("mark", "mark: begins with a byte order mark"),
        ("wide", "wide: seems to be UTF-16"),
    ] {
        for command in [
            "build --lines 10 -o ../out/g",
            "query ../out/f",
            "insert ../out/f",
            "remove ../out/f",
            "count ../out/f",
        ] {
            let outcome = sandbox.run(&format!("filter {command} {file}"));
            assert_eq!(
                outcome.succeeds().stderr.matches(hint).count(),
                1,
                "{outcome}"
            );
        }
    }
}

#[test]
fn i17_commands_that_save_a_filter_say_what_they_made() {
    let sandbox = emails();
    for (arguments, parts) in [
        (
            "filter build --lines 10 --kind counting -o ../out/f lf",
            &[
                "../out/f: inserted 2 lines: counting filter of ",
                ", 2 lines in it, repeats included, false-positive rate ",
            ][..],
        ),
        (
            "filter insert ../out/f emails",
            &["inserted 2 lines: ", ", 4 lines in it"],
        ),
        (
            "filter insert --print-new ../out/f lf",
            &["inserted 2 lines, 0 of them new: "],
        ),
        (
            "filter remove ../out/f lf",
            &["removed 2 lines: ", ", 4 lines in it"],
        ),
        (
            "filter build --like ../out/f -o ../out/g other",
            &["inserted 3 lines: "],
        ),
        (
            "filter merge ../out/f ../out/g -o ../out/h",
            &["../out/h: merged 2 filters: ", ", 7 lines in it"],
        ),
    ] {
        let outcome = sandbox.run(arguments);
        for part in parts {
            assert!(
                outcome.succeeds_silently().stderr.contains(part),
                "{part}: {outcome}"
            );
        }
        assert_eq!(
            sandbox.run(&format!("{arguments} -q")).succeeds().stderr,
            ""
        );
        // Undo what the second run did.
        if arguments.starts_with("filter insert") {
            let undo = arguments
                .replace("insert --print-new", "remove")
                .replace("insert", "remove");
            printed(&sandbox, &undo);
        } else if arguments.starts_with("filter remove") {
            printed(&sandbox, &arguments.replace("remove", "insert"));
        }
    }
}
