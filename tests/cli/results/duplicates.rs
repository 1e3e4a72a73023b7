//! `union --duplicates`: what a union drops goes to a file of its own.

use crate::data::{lines, megabytes, split};
use crate::limits::memory::measured;
use crate::sandbox::Sandbox;

fn sorted(text: &[u8]) -> Vec<&[u8]> {
    let mut lines = split(text, b'\n');
    lines.sort_unstable();
    lines
}

/// Checks that the result and what it drops are all lines of the files together, and the result has each once.
fn check(sandbox: &Sandbox, arguments: &str, all: &[u8]) {
    let dropped = sandbox.output("dropped");
    let found = sandbox.run(&format!("{arguments} -D {}", dropped.display()));
    let found = &found.succeeds().stdout;
    let dropped = std::fs::read(dropped).unwrap();
    let mut distinct = sorted(all);
    distinct.dedup();
    assert!(sorted(found) == distinct, "{arguments}: the result");
    let together = [&found[..], &dropped].concat();
    assert!(sorted(&together) == sorted(all), "{arguments}: together");
}

#[test]
fn l12_the_result_and_what_it_drops_are_all_lines_together() {
    let texts = [
        [
            lines(0..2000),
            lines(500..700),
            lines(600..650),
            vec![b'\n'; 3],
        ]
        .concat(),
        [lines(1500..3000), lines(600..610)].concat(),
    ];
    let sandbox = Sandbox::with(&texts[0], &texts[1]);
    for strategy in ["auto", "memory", "partition", "sieve"] {
        for order in ["any", "sorted", "input"] {
            let arguments = format!("union a b --strategy {strategy} --order {order}");
            check(&sandbox, &arguments, &texts.concat());
        }
    }
    check(&sandbox, "dedup a", &texts[0]);
}

#[test]
fn l12_what_is_dropped_comes_in_the_order_of_the_result() {
    let sandbox = Sandbox::with(b"c\na\nc\nb\nc\n", b"b\nd\n");
    for (order, expected) in [("input", "c\nc\nb\n"), ("sorted", "b\nc\nc\n")] {
        sandbox
            .run(&format!(
                "union a b --order {order} --count -D ../out/dropped"
            ))
            .succeeds();
        let dropped = std::fs::read_to_string(sandbox.output("dropped")).unwrap();
        assert_eq!(dropped, expected);
    }
}

#[test]
fn l12_what_is_dropped_counts_towards_the_memory_limit() {
    let text = [megabytes(5, 0), megabytes(5, 0), lines(0..100)].concat();
    let sandbox = Sandbox::with(
        &text,
        &[vec![b'x'; 200_000], vec![b'\n'], vec![b'x'; 200_000]].concat(),
    );
    let (outcome, peak) = measured(&sandbox, "union a b -m 16M -o ../out/u -D ../out/dropped");
    outcome.succeeds();
    assert!(peak <= 16 << 20, "{} KiB resident", peak >> 10);
    let [union, dropped] =
        ["u", "dropped"].map(|name| std::fs::read(sandbox.output(name)).unwrap());
    let all = [
        text,
        std::fs::read(sandbox.input("b")).unwrap(),
        b"\n".to_vec(),
    ]
    .concat();
    assert!(sorted(&[union, dropped].concat()) == sorted(&all));
}

#[test]
fn l12_a_file_for_duplicates_that_makes_no_sense_is_refused() {
    let sandbox = Sandbox::with(b"a\n", b"a\n");
    for (arguments, said) in [
        ("union a b -D a", "a"),
        ("union a b -o ../out/x -D ../out/x", "-o"),
        ("union a b --all -D ../out/x", "--all"),
        ("union a b --count-only -D ../out/x", "--count-only"),
        ("union a b --strategy bloom -D ../out/x", "exact strategy"),
        ("diff a b -D ../out/x", "-D"),
        ("union a b --keep none -D ../out/x", "--keep none: "),
        ("union a b -D ../out/x.parquet", "x.parquet: "),
    ] {
        sandbox.run(arguments).fails(2, &[said]);
        assert!(!sandbox.output("x").exists(), "{arguments}");
    }
    let failed = sandbox.run("union a b -D /dev/full");
    failed.fails(5, &["/dev/full"]);
}

#[test]
fn l12_the_map_says_which_lines_are_dropped_and_for_which() {
    let sandbox = Sandbox::with(
        b"n,k,t\n1,a,x\n\n2,b,\"y\n\"\n3,a,z",
        b"n,k,t\n4,b,x\n5,c,x\n",
    );
    let map = |arguments: &str| {
        let outcome = sandbox.run(&format!(
            "union {arguments} -D ../out/map --duplicates-format map"
        ));
        outcome.succeeds();
        std::fs::read_to_string(sandbox.output("map")).unwrap()
    };
    let at = |file: &str, line: u32| format!(r#""file":"{file}","line":{line}"#);
    let text = |pairs: &[[String; 2]]| {
        let line = |[dropped, kept]: &[String; 2]| format!("{{{dropped},\"kept\":{{{kept}}}}}\n");
        pairs.iter().map(line).collect::<String>()
    };
    let csv = "a b --csv -k k --order input";
    let first = [[at("a", 6), at("a", 2)], [at("b", 2), at("a", 4)]];
    assert_eq!(map(csv), text(&first));
    let last = text(&[[at("a", 2), at("a", 6)], [at("a", 4), at("b", 2)]]);
    assert_eq!(map(&format!("{csv} --keep last")), last);
    assert_eq!(map(&format!("{csv} --keep max:n")), last);
    // The keys of the same records.
    assert_eq!(map(&format!("{csv} --keys-only")), text(&first));
    // The same file twice: the lines of its second reading are dropped for themselves.
    let twice = map("--order input b b");
    let itself = |line| [at("b", line), at("b", line)];
    assert_eq!(twice, text(&[itself(1), itself(2), itself(3)]));
    sandbox
        .run("union a b --duplicates-format map")
        .fails(2, &["--duplicates"]);
    sandbox
        .run("union a b --strategy memory -D ../out/x --duplicates-format map")
        .fails(2, &["leave out --duplicates-format map"]);
}
