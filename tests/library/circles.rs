//! Files form no circle: whoever reads one need not have read the other before.
//!
//! A file imports another where it names something that the other defines. What a `mod.rs` passes on is defined
//! elsewhere; its own functions and types count as its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::util::root;

/// A module by its path, such as `plan::design::sieve`; and what its file says.
type Modules = BTreeMap<String, String>;

/// The source text of a file without comments and unit tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Puts `name` behind the path of `module`; at the top of the crate that is empty.
fn child(module: &str, name: &str) -> String {
    match module {
        "" => name.to_owned(),
        module => format!("{module}::{name}"),
    }
}

fn collect(directory: &Path, name: &str, modules: &mut Modules) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let is_test = ["tests", "golden", "check"].contains(&stem.as_str());
        if path.is_dir() && !is_test {
            collect(&path, &child(name, &stem), modules);
        } else if path.extension().is_some_and(|end| end == "rs") && !is_test {
            let module = if ["lib", "mod"].contains(&stem.as_str()) {
                name.to_owned()
            } else {
                child(name, &stem)
            };
            modules.insert(module, code(&path));
        }
    }
}

/// The paths of a `use` tree: `a::{b, c::d}` has two.
fn paths(tree: &str) -> Vec<String> {
    let Some((front, rest)) = tree.split_once('{') else {
        return vec![
            tree.split(" as ")
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned(),
        ];
    };
    let inner = rest.trim_end().trim_end_matches('}');
    let (mut depth, mut part, mut found) = (0, String::new(), Vec::new());
    for character in inner.chars().chain([',']) {
        match character {
            ',' if depth == 0 => {
                if !part.trim().is_empty() {
                    let path = |inner: String| format!("{}{inner}", front.trim());
                    found.extend(paths(part.trim()).into_iter().map(path));
                }
                part.clear();
                continue;
            }
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        part.push(character);
    }
    found
}

/// The `use` trees of a file, and whether each passes names on.
fn uses(code: &str) -> Vec<(bool, String)> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("use ") {
        let line = rest[..at].rsplit('\n').next().unwrap_or_default().trim();
        let end = rest[at..].find(';').map_or(rest.len(), |end| at + end);
        if line.is_empty() || line.starts_with("pub") {
            found.push((!line.is_empty(), rest[at + 4..end].to_owned()));
        }
        rest = &rest[end.min(rest.len())..];
    }
    found
}

/// The module around `module`; empty for the top of the crate.
fn parent(module: &str) -> &str {
    module.rsplit_once("::").map_or("", |(parent, _)| parent)
}

/// A path of `module` from the top of the crate.
fn absolute(path: &str, module: &str, modules: &Modules) -> String {
    if let Some(rest) = path.strip_prefix("crate::") {
        return rest.to_owned();
    }
    let (mut from, mut rest) = (module, path.strip_prefix("self::").unwrap_or(path));
    while let Some(above) = rest.strip_prefix("super::") {
        from = parent(from);
        rest = above;
    }
    let first = rest.split("::").next().unwrap_or_default();
    let is_own = rest.len() < path.len() || modules.contains_key(&child(from, first));
    if is_own {
        child(from, rest)
    } else {
        // Another crate's.
        String::new()
    }
}

/// The module that defines what `path` names, if it is one of `modules`.
fn defining(path: &str, modules: &Modules, depth: usize) -> Option<String> {
    let mut module = path;
    while !modules.contains_key(module) {
        // At the end that is the top of the crate, which passes names on.
        module = parent(module);
        if module.is_empty() {
            break;
        }
    }
    let item = path[module.len()..]
        .trim_start_matches("::")
        .split("::")
        .next()?;
    for (is_passed_on, tree) in uses(modules.get(module)?) {
        let mut passed_on = paths(&tree)
            .into_iter()
            .filter(|_| is_passed_on && depth < 8);
        let names = |path: &String| path.rsplit("::").next() == Some(item);
        if let Some(other) = passed_on.find(names) {
            let other = absolute(&other, module, modules);
            return defining(&other, modules, depth + 1);
        }
    }
    (!module.is_empty()).then(|| module.to_owned())
}

/// Lists the imports of each module: the other modules that define what it names.
fn imports(modules: &Modules) -> BTreeMap<String, BTreeSet<String>> {
    let of_module = |(module, code): (&String, &String)| {
        let trees = uses(code)
            .into_iter()
            .filter(|(is_passed_on, _)| !is_passed_on);
        let named = trees.flat_map(|(_, tree)| paths(&tree));
        let inline = code.match_indices("crate::").filter_map(|(at, _)| {
            let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            let path = &code[at..];
            let end = path.find(|c| !is_path(c)).unwrap_or(path.len());
            // A tree of several paths is among those above, and who may see an item imports nothing.
            let is_item = !path[..end].ends_with("::") && !code[..at].ends_with("(in ");
            is_item.then(|| path[..end].to_owned())
        });
        let paths = named
            .chain(inline)
            .map(|path| absolute(&path, module, modules));
        let defined = paths.filter_map(|path| defining(&path, modules, 0));
        (
            module.clone(),
            defined.filter(|other| other != module).collect(),
        )
    };
    modules.iter().map(of_module).collect()
}

/// A way from `from` to `to`, if there is one.
fn way(
    imports: &BTreeMap<String, BTreeSet<String>>,
    (from, to): (&str, &str),
    seen: &mut BTreeSet<String>,
) -> Option<Vec<String>> {
    for next in &imports[from] {
        if next == to {
            return Some(vec![from.to_owned(), to.to_owned()]);
        }
        if seen.insert(next.clone())
            && let Some(mut rest) = way(imports, (next, to), seen)
        {
            rest.insert(0, from.to_owned());
            return Some(rest);
        }
    }
    None
}

#[test]
fn files_form_no_circle() {
    for crate_root in ["src", "data-gen/src", "tests/differential/src"] {
        let root = root().join(crate_root);
        let mut modules = Modules::new();
        collect(&root, "", &mut modules);
        let imports = imports(&modules);
        let edges: usize = imports.values().map(BTreeSet::len).sum();
        let files = modules.len();
        assert!(edges > files, "{edges} imports of {files} files");
        let circle = |module: &String| way(&imports, (module, module), &mut BTreeSet::new());
        let circles = imports.keys().filter_map(circle);
        let circles: Vec<String> = circles.map(|circle| circle.join(" -> ")).collect();
        assert!(circles.is_empty(), "{crate_root}: {}", circles.join("\n"));
    }
}

#[test]
fn a_circle_is_found_through_what_a_room_passes_on() {
    let text = |text: &str| text.to_owned();
    let modules: Modules = [
        (
            "room",
            text("mod a;\nmod b;\npub(crate) use b::{B, C as D};\nuse a::run;"),
        ),
        (
            "room::a",
            text("use crate::room::{\n    B,\n};\npub(crate) fn run() {}"),
        ),
        ("room::b", text("use super::a::run;\npub(crate) struct B;")),
    ]
    .map(|(name, code)| (name.to_owned(), code))
    .into();
    let imports = imports(&modules);
    let circle = way(&imports, ("room::a", "room::a"), &mut BTreeSet::new());
    assert_eq!(circle.unwrap(), ["room::a", "room::b", "room::a"]);
    assert!(way(&imports, ("room", "room"), &mut BTreeSet::new()).is_none());
}

#[test]
fn a_path_is_followed_up_and_down_the_rooms() {
    let names = ["room", "room::a", "room::a::deep", "room::b"];
    let modules: Modules = names.map(|name| (name.to_owned(), String::new())).into();
    let from_deep = |path| absolute(path, "room::a::deep", &modules);
    assert_eq!(from_deep("super::Item"), "room::a::Item");
    assert_eq!(from_deep("super::super::b::run"), "room::b::run");
    assert_eq!(from_deep("super::super::super::size::show"), "size::show");
    assert_eq!(from_deep("std::fs"), "");
    assert_eq!(
        absolute("deep::run", "room::a", &modules),
        "room::a::deep::run"
    );
}
