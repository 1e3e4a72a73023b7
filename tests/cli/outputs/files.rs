//! The file that a result goes to: a file, a link, a FIFO, and with which mode.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;

use crate::data::{EXACT, common, small};
use crate::sandbox::{Sandbox, assert_same_lines};

#[test]
fn an_output_file_gets_what_standard_output_would_get() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    for strategy in EXACT {
        for option in ["-o", "--output"] {
            let outcome = sandbox.run(&format!(
                "intersect a b --strategy {strategy} {option} ../out/{strategy}"
            ));
            outcome.succeeds_silently();
            assert!(outcome.stdout.is_empty(), "{outcome}");
            let written = fs::read(sandbox.output(strategy)).unwrap();
            assert_same_lines(&written, b'\n', &common(&[&a, &b]));
        }
    }
}

#[test]
fn a_replaced_output_keeps_its_mode_and_a_link_to_it() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    let (target, link) = (sandbox.output("target"), sandbox.output("link"));
    fs::write(&target, "before").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("target", &link).unwrap();
    sandbox
        .run("intersect a b -o ../out/link")
        .succeeds_silently();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(
        fs::metadata(&target).unwrap().permissions().mode() & 0o7777,
        0o640
    );
    assert_same_lines(&fs::read(&target).unwrap(), b'\n', &common(&[&a, &b]));
}

#[test]
fn a_new_output_has_the_mode_that_the_umask_leaves() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    let command = sandbox.command_after("umask 027", "intersect a b -o ../out/new");
    sandbox.start(command).finish().succeeds_silently();
    let mode = fs::metadata(sandbox.output("new"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o640);
}

#[test]
fn a_fifo_as_output_is_written_directly() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    let fifo = sandbox.fifo("result");
    let reader = thread::spawn(move || fs::read(fifo).unwrap());
    sandbox.run("intersect a b -o result").succeeds_silently();
    assert_same_lines(&reader.join().unwrap(), b'\n', &common(&[&a, &b]));
}

#[test]
fn count_only_prints_the_number_of_lines_to_the_same_place() {
    let (a, b) = small();
    let sandbox = Sandbox::with(&a, &b);
    for strategy in EXACT {
        let outcome = sandbox.run(&format!("intersect a b --count-only --strategy {strategy}"));
        assert_eq!(outcome.succeeds_silently().stdout, b"1000\n", "{strategy}");
    }
    sandbox
        .run("intersect a b --count-only -o ../out/count")
        .succeeds_silently();
    assert_eq!(fs::read(sandbox.output("count")).unwrap(), b"1000\n");
}

#[test]
fn f9_a_name_that_promises_something_else_gets_a_word() {
    let sandbox = Sandbox::with(b"x\n", b"x\n");
    for (arguments, said) in [
        (
            "union a b -o ../out/u.zip",
            "u.zip: is written as plain text",
        ),
        (
            "union a b -D ../out/d.LZMA",
            "d.LZMA: is written as plain text",
        ),
        (
            "overlaps a b -o ../out/o.br",
            "o.br: is written as plain text",
        ),
        (
            "union a b --report ../out/r.pdf",
            "r.pdf: the report is an HTML page",
        ),
        (
            "overlaps a b --report ../out/r.png",
            "r.png: the report is an HTML page",
        ),
        (
            "compare a b --max-fpr 1% --report ../out/r.md",
            "r.md: the report is an HTML page",
        ),
    ] {
        let outcome = sandbox.run(arguments);
        assert!(outcome.succeeds().stderr.contains(said), "{outcome}");
        let quiet = sandbox.run(&format!("{arguments} -q"));
        assert!(!quiet.succeeds().stderr.contains(said), "{quiet}");
    }
    for arguments in [
        "union a b -o ../out/u.txt",
        "union a b --report ../out/r.html",
        "union a b --report ../out/r.HTM",
    ] {
        let found = sandbox.run(arguments).succeeds().stderr.clone();
        assert_eq!(found.lines().count(), 1, "{found}");
    }
    sandbox
        .run("overlaps a b -o ../out/o.parquet")
        .fails(2, &["o.parquet: "]);
}

#[test]
fn f9_the_table_of_overlaps_goes_to_a_file() {
    let sandbox = Sandbox::with(b"x\ny\n", b"x\n");
    for more in ["", "--json"] {
        let printed = sandbox.run(&format!("overlaps a b {more} -q"));
        let outcome = sandbox.run(&format!("overlaps a b {more} -q -o ../out/table"));
        assert_eq!(outcome.succeeds().stdout, b"");
        let written = std::fs::read(sandbox.output("table")).unwrap();
        let lines = |text: &[u8]| String::from_utf8_lossy(text).lines().count();
        assert_eq!(lines(&written), lines(&printed.succeeds().stdout));
        assert!(more == "--json" || written == printed.stdout);
    }
    sandbox.run("overlaps a b -o a").fails(2, &["a: "]);
}

#[test]
fn f5_a_file_that_was_removed_gets_the_result_through_its_descriptor() {
    let sandbox = Sandbox::with(b"x\ny\n", b"y\n");
    for path in ["/dev/fd/3", "/proc/self/fd/3"] {
        let script = format!(
            "echo what was there before > ../out/t && exec 3<> ../out/t && rm ../out/t && \
             {{ \"$0\" union nowhere -q -o {path} 2> /dev/null || true; }} && cat /dev/fd/3 > ../out/before && \
             \"$0\" \"$@\" && cat <&3 > ../out/copy; status=$?; rm -f ../out/t; exit $status"
        );
        let arguments = format!("intersect a b -q -o {path}");
        let command = sandbox.command_under(&["sh", "-c", &script], &arguments);
        sandbox.start(command).finish().succeeds_silently();
        // A run that fails leaves what was there.
        let expected = [("before", "what was there before\n"), ("copy", "y\n")];
        for (name, content) in expected {
            let written = fs::read_to_string(sandbox.output(name)).unwrap();
            assert_eq!(written, content, "{path}");
            fs::remove_file(sandbox.output(name)).unwrap();
        }
        assert_eq!(fs::read_dir(sandbox.root().join("out")).unwrap().count(), 0);
    }
}
