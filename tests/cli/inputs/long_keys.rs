//! Keys of any length: those that are copied take memory from the limit.

use std::collections::BTreeSet;

use differential::sweep;

use crate::limits::memory::measured;
use crate::sandbox::Sandbox;

/// Makes a record of each form with this text, which is no piece of the record: words are escaped, in other case, or
/// have quotes in them.
fn records(text: &str) -> [(&'static str, &'static str, String); 4] {
    let escaped = text.replace('é', "\\u00e9");
    [
        (
            "jsonl",
            "--jsonl -k text",
            format!("{{\"id\":1,\"text\":\"{escaped}\"}}\n"),
        ),
        (
            "folded",
            "--jsonl -k text -i",
            format!("{{\"text\":\"{escaped}\"}}\n")
                .to_uppercase()
                .replace("TEXT", "text")
                .replace("\\U00E9", "\\u00e9"),
        ),
        (
            "fields",
            "--jsonl -k text,id",
            format!("{{\"id\":1,\"text\":\"{text}\"}}\n"),
        ),
        (
            "csv",
            "--csv -k 2 --trim",
            format!("1,\" {}\"\n", text.replace('é', "\"\"")),
        ),
    ]
}

#[test]
fn b28_a_key_of_any_length_that_memory_has_room_for_is_copied() {
    let sandbox = Sandbox::new();
    let text = |number: usize| format!("liné {number} ").repeat(60_000 + number);
    let strategies = ["partition", "sieve"];
    for (&form, strategy, limit) in sweep::triples(&[0, 1, 2, 3], &strategies, &["40M", "1G"]) {
        let of = |number: usize| records(&text(number))[form].clone();
        let mut all = String::new();
        for number in [0, 1, 0, 2, 1, 0] {
            all.push_str(&of(number).2);
        }
        let (name, words, _) = of(0);
        sandbox.write("a", &all);
        let distinct: BTreeSet<&str> = all.lines().collect();
        let arguments = format!("union a {words} --strategy {strategy} -m {limit} -j 2");
        let (outcome, peak) = measured(&sandbox, &arguments);
        let found = String::from_utf8(outcome.succeeds().stdout.clone()).unwrap();
        assert!(
            found.lines().collect::<BTreeSet<_>>() == distinct,
            "{name}: {arguments}"
        );
        assert_eq!(found.lines().count(), 3, "{name}: {arguments}");
        assert!(
            peak <= if *limit == "40M" { 40 << 20 } else { 1 << 30 },
            "{peak}"
        );
    }
    sandbox.write("a", &records(&text(400_000))[0].2);
    let outcome = sandbox.run("union a --jsonl -k text -m 16M");
    outcome.fails(6, &["a: the line at byte 0 is ", "give at least "]);
    let advice = outcome.stderr.split("give at least ").nth(1).unwrap();
    let limit = advice.split(" MiB").next().unwrap();
    sandbox
        .run(&format!("union a --jsonl -k text -m {limit}M"))
        .succeeds();
}

#[test]
fn b28_a_long_key_that_was_spilled_without_its_record_needs_no_room_for_a_copy() {
    let sandbox = Sandbox::new();
    let key = "x".repeat(3_000_000);
    sandbox.write("a", format!("short\n{key}\nend\n"));
    sandbox.write("b", format!("other\n{key}\n"));
    // Room for a copy is 12 MB more, which 24 MiB do not have beside the program.
    let (outcome, peak) = measured(
        &sandbox,
        "intersect a b --csv -k 1 --keys-only --strategy partition -m 24M -j 2",
    );
    assert!(outcome.succeeds().stdout == format!("{key}\n").as_bytes());
    assert!(peak <= 24 << 20, "{peak}");
}
