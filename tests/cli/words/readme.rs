//! Commands that the documentation gives to paste do what it says.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::data::{common, lines};
use crate::json;
use crate::sandbox::{assert_same_lines, outset, root};

/// The block of shell commands behind a marker of a page.
fn block(page: &str, marker: &str) -> String {
    let page = root().join(page);
    let text = fs::read_to_string(page).unwrap();
    let (_, behind) = text.split_once(&format!("<!-- {marker} -->\n```")).unwrap();
    let (_, behind) = behind.split_once('\n').unwrap();
    behind.split_once("```").unwrap().0.to_owned()
}

/// The script of a recipe. GNU parallel takes the place of xargs in the one by hand.
fn script(marker: &str) -> String {
    let text = block("docs/clusters.md", marker);
    if marker != "run: parallel" {
        return text;
    }
    let by_hand = block("docs/clusters.md", "run: by hand");
    let (before, _) = by_hand.split_once("xargs").unwrap();
    let (_, finish) = by_hand.split_once("# 3.").unwrap();
    format!("{before}\n{text}\n# 3.{finish}")
}

/// A directory whose shell finds the program, and its files `a.txt` and `b.txt`.
fn recipe(marker: &str) -> Option<(tempfile::TempDir, Command)> {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.txt"), lines(0..3000)).unwrap();
    fs::write(directory.path().join("b.txt"), lines(2000..6000)).unwrap();
    let text = script(marker);
    let program = if marker.ends_with("make") {
        fs::write(directory.path().join("Makefile"), text).unwrap();
        let mut make = Command::new("make");
        make.args(["-j", "4"]);
        make
    } else {
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", &text]);
        shell
    };
    let name = match marker {
        "run: parallel" => "parallel".into(),
        _ => program.get_program().to_owned(),
    };
    if Command::new(&name).arg("--version").output().is_err() {
        println!("skipped: there is no {}", name.display());
        return None;
    }
    let mut command = program;
    let path = Path::new(outset()).parent().unwrap();
    let path = format!("{}:{}", path.display(), env::var("PATH").unwrap());
    command.current_dir(directory.path()).env("PATH", path);
    Some((directory, command))
}

#[test]
fn m9_the_recipes_for_other_schedulers_give_the_common_lines() {
    for marker in ["run: by hand", "run: make", "run: parallel"] {
        let Some((directory, mut command)) = recipe(marker) else {
            continue;
        };
        let outcome = command.output().unwrap();
        let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert!(outcome.status.success(), "{marker}: {said}");
        let result = directory.path().join("result");
        let part = |bucket| fs::read(result.join(format!("part-{bucket}"))).unwrap();
        let found: Vec<u8> = (0..8).flat_map(part).collect();
        assert_same_lines(
            &found,
            b'\n',
            &common(&[&lines(0..3000), &lines(2000..6000)]),
        );
        let summary = fs::read(result.join("_SUCCESS")).unwrap();
        assert_eq!(json::parse(&summary)["output_lines"], 1000);
    }
}

#[test]
fn the_readme_has_one_main_job_and_one_test_command() {
    for (marker, start) in [("main job", "cargo run "), ("tests", "cargo test ")] {
        let commands = block("README.md", marker);
        assert!(
            commands.starts_with(start) && commands.lines().count() == 1,
            "{commands}"
        );
    }
}

#[test]
fn the_crawlers_loop_fetches_every_page_once() {
    let directory = tempfile::tempdir().unwrap();
    let program = Path::new(outset());
    let path = format!(
        "{}:{}",
        program.parent().unwrap().display(),
        env::var("PATH").unwrap()
    );
    let status = Command::new("sh")
        .args(["-e", "-c", &block("docs/filters.md", "crawler")])
        .current_dir(directory.path())
        .env("PATH", path)
        .status()
        .unwrap();
    assert!(status.success());
    let fetched = fs::read_to_string(directory.path().join("fetched.txt")).unwrap();
    let mut pages: Vec<&str> = fetched.lines().collect();
    let count = pages.len();
    pages.sort_unstable();
    pages.dedup();
    assert_eq!(pages.len(), count, "a page was fetched twice");
    // From 20 letters on two links each, until a page has more than 26: 1 + 2 + 4 + 8 + 16.
    assert_eq!(count, 31, "{fetched}");
}
