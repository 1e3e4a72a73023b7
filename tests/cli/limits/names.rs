//! Names of files: their number and their length are bounded by the memory limit and by what the system opens.

use std::fs::File;

use crate::limits::memory::measured;
use crate::sandbox::{CODE_OF_DEBUG, Sandbox};

const LIMIT: u64 = 16 << 20;
/// More files than 16 MiB have room for.
const MANY: usize = 30_000;

/// Runs under 16 MiB and checks that the process stays under it and ends with `code`.
fn under_limit(sandbox: &Sandbox, arguments: &str, code: i32, parts: &[&str]) -> String {
    let (outcome, peak) = measured(sandbox, &format!("{arguments} --memory 16M"));
    outcome.fails(code, parts);
    assert!(peak <= LIMIT, "{arguments}: {} KiB resident", peak >> 10);
    assert!(outcome.stderr.len() < 3000, "{outcome}");
    if code == 6 {
        outcome.advised()
    } else {
        String::new()
    }
}

#[test]
fn c15_more_names_than_fit_are_refused_with_a_limit_that_does() {
    let sandbox = Sandbox::with(b"one\n", b"");
    sandbox.write("list", b"a\n".repeat(MANY));
    sandbox.write("ends", b"a\0".repeat(MANY));
    for names in ["--files-from list", "--files-from ends -0"] {
        let advised = under_limit(
            &sandbox,
            &format!("union {names}"),
            6,
            &["too low to list 30 k files"],
        );
        // How names end makes no difference to what is advised.
        if names.ends_with("-0") {
            continue;
        }
        // The code of a debug build takes more or less of it from run to run, as the page cache has it.
        let advised: u64 = advised.trim_end_matches("MiB").parse().unwrap();
        let mebibytes = advised + (CODE_OF_DEBUG >> 20);
        let (outcome, peak) = measured(
            &sandbox,
            &format!("union --count-only {names} --memory {mebibytes}M"),
        );
        outcome.succeeds();
        assert_eq!(outcome.stdout, b"1\n");
        assert!(peak <= mebibytes << 20, "{} KiB resident", peak >> 10);
    }
    let join = "join --sides 2 --bucket 1 --shards-from list";
    under_limit(&sandbox, join, 6, &["too low to list 30 k files"]);
}

#[test]
fn c15_names_of_all_sides_count_together() {
    let sandbox = Sandbox::with(b"one\n", b"");
    sandbox.write("list", b"a\n".repeat(MANY / 2));
    let sides = "--files-from list --files-from list";
    under_limit(
        &sandbox,
        &format!("diff {sides}"),
        6,
        &["too low to list 30 k files"],
    );
}

#[test]
fn c15_a_directory_with_more_files_than_fit_is_refused() {
    let sandbox = Sandbox::new();
    for half in ["some", "more/below"] {
        let directory = sandbox.root().join("in/d").join(half);
        std::fs::create_dir_all(&directory).unwrap();
        for number in 0..MANY / 2 {
            File::create(directory.join(number.to_string())).unwrap();
        }
    }
    // All are counted, behind the limit as well: the directories, too.
    for side in ["--side d", "--side d/some d/more"] {
        under_limit(
            &sandbox,
            &format!("union {side}"),
            6,
            &["too low to list 30 k files"],
        );
    }
    let pattern = "union --side d/*/* d/more/below/*";
    under_limit(&sandbox, pattern, 6, &["too low to list 45 k files"]);
}

#[test]
fn c15_a_name_that_no_file_can_have_ends_the_reading_of_a_list() {
    let sandbox = Sandbox::with(b"one\n", b"");
    sandbox.write("list", [&b"a\n\n"[..], &vec![b'x'; 30 << 20]].concat());
    let parts = ["list: name 3 is longer than 4095 bytes", "(\"xxx", "...\")"];
    under_limit(&sandbox, "union --files-from list", 3, &parts);
    let join = "join --sides 2 --bucket 1 --shards-from list";
    under_limit(&sandbox, join, 3, &parts);
    let zeros = "union --files-from /dev/zero";
    under_limit(&sandbox, zeros, 3, &["/dev/zero: name 1 is longer"]);
    // One that a file could have is opened.
    let longest = "x".repeat(4095);
    sandbox.write("longest", &longest);
    under_limit(
        &sandbox,
        "union --files-from longest",
        3,
        &["outset: xxx", "xxx ... xxx", "File name too long: "],
    );
}

#[test]
fn c15_a_file_for_a_key_is_read_no_further_than_a_key_goes() {
    let sandbox = Sandbox::with(b"one\n", b"");
    sandbox.write("long", vec![b'1'; 30 << 20]);
    sandbox.write(
        "padded",
        [&b" ".repeat(2000)[..], &[b'1'; 64], b"\n\n"].concat(),
    );
    for file in ["long", "/dev/zero"] {
        let parts = ["is longer than 4 KiB", "write 64 hexadecimal digits"];
        let union = format!("union a --hash-key-file {file}");
        under_limit(&sandbox, &union, 2, &parts);
        let shard = format!("shard a --side 1 --buckets 1 --hash-key-file {file}");
        under_limit(&sandbox, &shard, 2, &parts);
    }
    let padded = sandbox.run("union a --hash-key-file padded --quiet");
    assert_eq!(padded.succeeds().stdout, b"one\n");
}

#[test]
fn c15_a_name_of_any_length_is_cut_in_messages() {
    let sandbox = Sandbox::with(b"one\n", b"");
    let long = "x".repeat(100_000);
    for arguments in [
        format!("union {long}"),
        format!("union --side {long}"),
        format!("diff a {long} -o out"),
        format!("union a -o {long}"),
        format!("union a --{long}"),
        format!("union a --memory {long}"),
        format!("filter query {long} a"),
    ] {
        let outcome = sandbox.run(&arguments);
        assert!(outcome.stderr.len() < 3000, "{}", outcome.stderr.len());
        assert!(outcome.stderr.contains(" ... x"), "{outcome}");
    }
}
