//! Messages of the library name settings as its callers know them; the command names its options.

use std::fs;
use std::path::Path;

use crate::util::root;

/// The string literals of a file, without those in comments and in reasons of expected lints.
fn literals(text: &str) -> Vec<String> {
    let code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//") && !line.contains("reason = "));
    let code = code.collect::<Vec<_>>().join("\n");
    let (mut found, mut literal, mut is_open) = (Vec::new(), String::new(), false);
    let mut characters = code.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if is_open => literal.extend(characters.next()),
            // The character '"' is no string.
            '\'' if !is_open && characters.peek() == Some(&'"') => {
                characters.next();
            }
            '"' if is_open => {
                found.push(std::mem::take(&mut literal));
                is_open = false;
            }
            '"' => is_open = true,
            _ if is_open => literal.push(character),
            _ => {}
        }
    }
    found
}

fn collect(directory: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("cli") {
            collect(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let name = path.display().to_string();
            found.extend(literals(&text).into_iter().map(|text| (name.clone(), text)));
        }
    }
}

#[test]
fn a_message_of_the_library_names_no_option_and_no_setting_that_the_command_does_not_know() {
    let src = root().join("src");
    let table = fs::read_to_string(src.join("cli/settings.rs")).unwrap();
    let mut found = Vec::new();
    collect(&src, &mut found);
    let mut named = 0;
    for (file, text) in found {
        let is_option = |(at, _): (usize, &str)| {
            let rest = &text[at + 2..];
            rest.starts_with(|first: char| first.is_ascii_lowercase())
                && !rest.starts_with("features")
        };
        assert!(!text.match_indices("--").any(is_option), "{file}: {text:?}");
        for name in text.split('`').skip(1).step_by(2) {
            let entry = format!("(\"{}\", ", name.replace('\\', "\\\\"));
            assert!(
                table.contains(&entry) || name == "of_records" || name.starts_with("outset "),
                "{file}: `{name}` in {text:?}"
            );
            named += 1;
        }
    }
    assert!(named > 150, "{named}");
}
