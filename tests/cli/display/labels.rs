//! The labels of sides: the shortest end of a path by default, `--name`, and where they are shown.

use std::fs;

use serde_json::{Value, json};

use super::report::{all, parsed};
use crate::data::lines;
use crate::sandbox::Sandbox;

/// Two files of one name in directories of a long name, and one of another name.
fn with_years() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let deep = "a-directory-with-a-long-name/".repeat(4);
    for (year, numbers) in [("2024", 0..300), ("2025", 200..500)] {
        fs::create_dir_all(sandbox.input(&format!("{deep}{year}"))).unwrap();
        sandbox.write(&format!("{deep}{year}/a.txt"), lines(numbers));
    }
    sandbox.write("b.txt", lines(250..260));
    (sandbox, deep)
}

fn parse(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn l19_tables_and_charts_have_the_shortest_ends_of_paths_and_json_the_whole_ones_too() {
    let (sandbox, deep) = with_years();
    let files = ["2024", "2025"].map(|year| format!("{deep}{year}/a.txt"));
    let words = format!("{} {} b.txt -q --report ../out/r.html", files[0], files[1]);
    let outcome = sandbox.run(&format!("overlaps {words}"));
    let table = String::from_utf8(outcome.succeeds().stdout.clone()).unwrap();
    let shared = table.lines().find(|line| line.starts_with("111"));
    assert!(
        shared.unwrap().ends_with("  2024/a.txt 2025/a.txt b.txt"),
        "{table}"
    );
    let found = parse(&sandbox.run(&format!("overlaps {words} --json")).stdout);
    let labels = json!(["2024/a.txt", "2025/a.txt", "b.txt"]);
    assert_eq!(found["labels"], labels);
    assert_eq!(found["inputs"], json!([files[0], files[1], "b.txt"]));
    assert_eq!(found["stats"]["inputs"][1]["label"], labels[1]);
    assert_eq!(found["stats"]["inputs"][1]["path"], files[1]);
    let page = parsed(&sandbox.output("r.html"));
    for picture in ["upset", "venn"] {
        let texts = all(
            &page,
            &format!("svg[aria-describedby='{picture}-description'] text:has(title)"),
        );
        let shown: Vec<String> = texts.iter().map(|text| text.text().collect()).collect();
        // The title has the whole path.
        assert!(
            shown.contains(&format!("{}2024/a.txt", files[0])),
            "{shown:?}"
        );
    }
    let estimated = sandbox
        .run(&format!("estimate {} {}", files[0], files[1]))
        .stdout
        .clone();
    assert!(estimated.starts_with(b"2024/a.txt: 300 lines"));
}

#[test]
fn l19_every_sort_of_side_can_be_named() {
    let (sandbox, deep) = with_years();
    sandbox.write("list", format!("{deep}2024/a.txt\n"));
    let sides =
        format!("b.txt b.txt - --side {deep}2025 {deep}2024/a.txt --files-from list --via cat");
    let names = "--name old=1 --name new=2 --name in=- --name list=list";
    let outcome = sandbox.run_fed(
        &format!("overlaps {sides} {names} --name years={deep}2025 --via-of 4=none --json -q"),
        &lines(0..10),
    );
    let found = parse(&outcome.succeeds().stdout);
    assert_eq!(
        found["labels"],
        json!(["old", "new", "in", "years", "list"])
    );
    sandbox
        .run(&format!(
            "diff b.txt {deep}2025/a.txt --name all=2 --stats ../out/s -q"
        ))
        .succeeds();
    let stats = parse(&fs::read(sandbox.output("s")).unwrap());
    let labels = stats["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|input| &input["label"]);
    assert_eq!(labels.collect::<Vec<_>>(), ["b.txt", "all"]);
    assert_eq!(stats["origin"]["options"]["--name"], json!(["all=2"]));
}

#[test]
fn l19_a_name_that_is_no_side_s_or_that_two_sides_would_have_is_wrong_usage() {
    let sandbox = Sandbox::with(&lines(0..3), &lines(2..5));
    for (arguments, parts) in [
        (
            "--name x=c",
            ["--name x=c: there is no side of this name", "from 1 to 3"],
        ),
        ("--name x=0", ["no side", "from 1 to 3"]),
        ("--name x=4", ["no side", "from 1 to 3"]),
        (
            "--name x=a",
            ["sides 1 and 3 are both named so", "--name x=1"],
        ),
        (
            "--name x=1 --name x=b",
            ["two sides would be called x", "a label of its own"],
        ),
        (
            "--name x=b --name y=2",
            ["side 2 already has the label x", "one label"],
        ),
        (
            "--name a=b",
            ["two sides would be called a", "a label of its own"],
        ),
        ("--name =b", ["give LABEL=PATH", ""]),
        ("--name b", ["give LABEL=PATH", ""]),
        ("--name b=", ["give LABEL=PATH", ""]),
    ] {
        for command in ["overlaps", "union", "estimate"] {
            let words = format!("{command} a b a {arguments}");
            sandbox.run(&words).fails(2, &parts);
        }
    }
    // A label that another side does not keep is free.
    let words = "overlaps a b --name b=a --name a=b --json -q";
    let found = parse(&sandbox.run(words).succeeds().stdout);
    assert_eq!(found["labels"], json!(["b", "a"]));
}
