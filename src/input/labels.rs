//! Labels: short names of inputs, for tables and charts.
//!
//! *Owns:* the choice of a label for each input. *Invariants:* an input that the caller names has that label; each
//! other one has the shortest end of its path, in whole components, that no other input has and no caller gave. Inputs
//! with the same path have the same label. *Cost:* the paths once more, and a map of them: an ordered one, because a
//! hash map would end the process where the system has no random numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use crate::input::Source;

/// Returns the label of each of `sources`; `given` are those of the caller: the number of an input, from 1, and its
/// label.
pub(crate) fn labels(sources: &[Source], given: &[(u32, String)]) -> Vec<String> {
    let paths: Vec<String> = sources.iter().map(Source::to_string).collect();
    let mut labels: Vec<Option<String>> = vec![None; paths.len()];
    for (number, label) in given {
        if let Some(own) = labels.get_mut((*number as usize).wrapping_sub(1)) {
            *own = Some(label.clone());
        }
    }
    let taken: BTreeSet<String> = labels.iter().flatten().cloned().collect();
    for components in 1.. {
        let mut ends: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let unlabelled = || (0..paths.len()).filter(|&input| labels[input].is_none());
        for path in unlabelled().map(|input| &paths[input]) {
            ends.entry(end_of(path, components))
                .or_default()
                .insert(path);
        }
        let is_label = |input: &usize| {
            let (path, end) = (&paths[*input], end_of(&paths[*input], components));
            end == path || (ends[end].len() == 1 && !taken.contains(end))
        };
        let found: Vec<(usize, String)> = unlabelled()
            .filter(is_label)
            .map(|input| (input, end_of(&paths[input], components).to_owned()))
            .collect();
        for (input, label) in found {
            labels[input] = Some(label);
        }
        if labels.iter().all(Option::is_some) {
            break;
        }
    }
    labels.into_iter().flatten().collect()
}

/// Returns the last so many components of a path, as they are written; all of it where it has no more, and where its
/// last ones alone say nothing: of `.`, `..` and what the system names by numbers.
fn end_of(path: &str, components: usize) -> &str {
    let is_numbered = path.starts_with("/dev/") || path.starts_with("/proc/");
    let is_named = matches!(
        Path::new(path).components().next_back(),
        Some(Component::Normal(_))
    );
    if is_numbered || !is_named {
        return path;
    }
    let mut at = path.trim_end_matches('/').len();
    for _ in 0..components {
        match path[..at].trim_end_matches('/').rfind('/') {
            Some(slash) => at = slash,
            None => return path,
        }
    }
    &path[at + 1..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels_of(paths: &[&str], given: &[(u32, &str)]) -> Vec<String> {
        let sources: Vec<Source> = paths.iter().map(Source::from).collect();
        let given: Vec<(u32, String)> = given
            .iter()
            .map(|&(n, label)| (n, label.to_owned()))
            .collect();
        labels(&sources, &given)
    }

    #[test]
    fn l19_the_shortest_end_of_a_path_that_tells_it_apart_is_its_label() {
        for (paths, expected) in [
            (&["data/a.txt", "data/b.txt"][..], &["a.txt", "b.txt"][..]),
            (
                &["x/2024/a.txt", "x/2025/a.txt", "c"],
                &["2024/a.txt", "2025/a.txt", "c"],
            ),
            (&["a", "x/a", "y/x/a"], &["a", "x/a", "y/x/a"]),
            (&["x/a", "y/x/a"], &["x/a", "y/x/a"]),
            (&["p/q/x/a", "y/x/a"], &["q/x/a", "y/x/a"]),
            (&["x/a", "x/a", "x/b"], &["a", "a", "b"]),
            (&["x//a", "x/a"], &["x//a", "x/a"]),
            (
                &["2024/", "2025/", "x/2026//"],
                &["2024/", "2025/", "2026//"],
            ),
            (
                &["-", "/dev/fd/63", "/dev/fd/62", ".", "../a/.."],
                &["-", "/dev/fd/63", "/dev/fd/62", ".", "../a/.."],
            ),
            (&["/a", "/b/a", "/"], &["/a", "b/a", "/"]),
            (&["s3://b/x.gz", "s3://c/x.gz"], &["b/x.gz", "c/x.gz"]),
            (&["ö/ä", "ü/ä", ""], &["ö/ä", "ü/ä", ""]),
            (&[], &[]),
        ] {
            assert_eq!(labels_of(paths, &[]), expected, "{paths:?}");
        }
    }

    #[test]
    fn l19_a_label_that_was_given_is_taken_and_no_other_path_gets_it() {
        let given = [(2, "b.txt"), (9, "nobody")];
        let paths = ["x/b.txt", "y/c.txt", "z/c.txt"];
        assert_eq!(labels_of(&paths, &given), ["x/b.txt", "b.txt", "c.txt"]);
    }
}
