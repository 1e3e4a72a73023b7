//! The rooms of `src/` are layers: a room imports rooms below it, and none above or beside it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::util::root;

/// The rooms from the bottom to the top, those of one layer beside each other. What is not here is above
/// all of them: `lib`, `main`, `cli`, and the doors for tests.
const LAYERS: [&[&str]; 16] = [
    &["notice", "size", "stats"],
    &["error"],
    &["record", "selection", "sys"],
    &["hash", "interrupt", "lines", "memory"],
    &["output", "temp"],
    &["batch", "decode", "sketch"],
    &["filter", "input", "set", "spill"],
    &["exchange", "reading"],
    &["answer", "plan"],
    &["observer"],
    &["options"],
    &["run"],
    &["pass"],
    &["estimate", "stored", "strategy"],
    &["engine"],
    &["cluster", "compare", "overlaps", "results"],
];
const ABOVE_ALL: [&str; 4] = ["lib", "main", "cli", "testing"];

fn layer(room: &str) -> Option<usize> {
    LAYERS.iter().position(|rooms| rooms.contains(&room))
}

/// The rooms that a source text names behind `crate::`. Comments and unit tests do not count.
fn imports(text: &str) -> BTreeSet<&str> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let named = lines.flat_map(|line| line.split("crate::").skip(1));
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    named
        .map(|rest| rest.split(|c| !is_name(c)).next().unwrap_or_default())
        .filter(|name| layer(name).is_some() || ABOVE_ALL.contains(name))
        .collect()
}

/// The imports of a text in `room` that do not go down.
fn upward<'t>(room: &str, text: &'t str) -> Vec<&'t str> {
    let own = layer(room).unwrap_or(LAYERS.len());
    let goes_up = |import: &&str| *import != room && layer(import).is_none_or(|it| it >= own);
    imports(text).into_iter().filter(goes_up).collect()
}

fn check(path: &Path, room: &str, wrong: &mut Vec<String>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            check(&entry.unwrap().path(), room, wrong);
        }
        return;
    }
    // Unit tests may come from above; what is no Rust has no imports.
    let is_test = path.components().any(|part| {
        ["tests.rs", "golden", "race.rs"].contains(&part.as_os_str().to_str().unwrap_or_default())
    });
    if !is_test && path.extension().is_some_and(|end| end == "rs") {
        let text = fs::read_to_string(path).unwrap();
        let imports = upward(room, &text).into_iter();
        wrong.extend(imports.map(|import| format!("{} imports {import}", path.display())));
    }
}

#[test]
fn imports_run_downwards() {
    let src = root().join("src");
    let mut wrong = Vec::new();
    for entry in fs::read_dir(&src).unwrap() {
        let path = entry.unwrap().path();
        let room = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            layer(room).is_some() || ABOVE_ALL.contains(&room),
            "{room}: is in no layer: add it to LAYERS"
        );
        if !ABOVE_ALL.contains(&room) {
            check(&path, room, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "upwards: {wrong:#?}");
}

#[test]
fn an_import_that_runs_upwards_is_noticed() {
    let planted = "use crate::error::Result;\nuse crate::engine::intersect;\n// crate::compare\n";
    assert_eq!(upward("plan", planted), ["engine"]);
    assert_eq!(upward("error", planted), ["engine"]);
    // Neighbours are no layers below either, and paths in the code count as imports do.
    assert_eq!(
        upward("set", "let x = crate::spill::block::HEADER;"),
        ["spill"]
    );
    assert!(
        upward(
            "plan",
            "use crate::plan::Job;\nuse crate::size::display_bytes;"
        )
        .is_empty()
    );
}

/// One fuzz target compiles the modules of the command line, in a workspace of its own that only the nightly run
/// builds.
#[test]
fn the_fuzz_targets_have_every_crate_of_the_command() {
    let root = root();
    let own = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let fuzz = fs::read_to_string(root.join("tests/fuzz/Cargo.toml")).unwrap();
    let feature = own.lines().find(|line| line.starts_with("cli = ")).unwrap();
    let crates: Vec<&str> = feature
        .split("\"dep:")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert!(crates.contains(&"clap"), "{feature}");
    for name in crates {
        let is_there = fuzz
            .lines()
            .any(|line| line.starts_with(&format!("{name} = ")));
        assert!(is_there, "{name}: add it to tests/fuzz/Cargo.toml");
    }
}
