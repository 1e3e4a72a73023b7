//! Commands that the documentation gives to paste do what it says.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::sandbox::OUTSET;

/// The block of shell commands behind a marker of a page.
fn block(page: &str, marker: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let text = fs::read_to_string(page).unwrap();
    let (_, behind) = text
        .split_once(&format!("<!-- {marker} -->\n```sh\n"))
        .unwrap();
    behind.split_once("```").unwrap().0.to_owned()
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
    let place = tempfile::tempdir().unwrap();
    let program = Path::new(OUTSET);
    let path = format!("{}:{}", program.parent().unwrap().display(), env!("PATH"));
    let status = Command::new("sh")
        .args(["-e", "-c", &block("docs/filters.md", "crawler")])
        .current_dir(place.path())
        .env("PATH", path)
        .status()
        .unwrap();
    assert!(status.success());
    let fetched = fs::read_to_string(place.path().join("fetched.txt")).unwrap();
    let mut pages: Vec<&str> = fetched.lines().collect();
    let count = pages.len();
    pages.sort_unstable();
    pages.dedup();
    assert_eq!(pages.len(), count, "a page was fetched twice");
    // From 20 letters on two links each, until a page has more than 26: 1 + 2 + 4 + 8 + 16.
    assert_eq!(count, 31, "{fetched}");
}
