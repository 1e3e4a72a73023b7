//! Has Cargo build the program for the tests of the command.
//!
//! Those are a package of their own (`tests/cli`), and Cargo builds a program for the tests of its own package only.
//! This one has the name of theirs: who asks for `--test cli` gets both, and never tests the program of yesterday.

use std::env;
use std::path::Path;

#[test]
fn the_program_is_where_the_tests_of_the_command_look_for_it() {
    let test = env::current_exe().ok();
    let directory = test
        .as_deref()
        .and_then(Path::parent)
        .and_then(Path::parent);
    let program = directory.and_then(|directory| directory.join("outset").canonicalize().ok());
    let built = Path::new(env!("CARGO_BIN_EXE_outset")).canonicalize();
    assert!(program.is_some() && program == built.ok(), "{program:?}");
}
