//! Commands as people give them: words with a place for a name.
//!
//! *Owns:* the words of a command for one name, and the sentence about its end. *Invariants:* no shell is involved, and
//! nothing in the words is expanded but the place of the name. *Cost:* the bytes of the words.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use memchr::memmem;

use crate::sys::child::Ending;

/// The word, or the part of one, that stands for the name.
const PLACE: &[u8] = b"{}";
/// The last lines of a program that an error has.
const LINES: usize = 3;

/// Makes the words of the command for `name`: that takes the place of `{}`, or comes last if no word has `{}`.
pub(crate) fn words_for(words: &[OsString], name: &Path) -> Vec<OsString> {
    let name = name.as_os_str();
    let has_place = |word: &OsString| memmem::find(word.as_bytes(), PLACE).is_some();
    let behind = (!words.iter().any(has_place)).then(|| name.to_owned());
    words
        .iter()
        .map(|word| put(word, name))
        .chain(behind)
        .collect()
}

/// Writes words on one line for people.
pub(crate) fn shown(words: &[OsString]) -> String {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// Words how a command failed, with its last lines; `None` if it did not.
pub(crate) fn failure(ending: &Ending) -> Option<String> {
    let how = match &ending.status {
        Ok(status) => match status.code() {
            Some(0) => return None,
            Some(code) => format!("ended with status {code}"),
            // Such as "signal: 9 (SIGKILL)".
            None => format!("was ended by a {status}"),
        },
        Err(error) => format!("ended, and its status is not known ({error})"),
    };
    let text = String::from_utf8_lossy(&ending.last_words);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let last = lines[lines.len().saturating_sub(LINES)..].join(" / ");
    Some(if last.is_empty() {
        how
    } else {
        format!("{how} after saying \"{last}\"")
    })
}

/// Puts `name` in the place of each `{}` of a word.
fn put(word: &OsStr, name: &OsStr) -> OsString {
    let word = word.as_bytes();
    let mut made = Vec::with_capacity(word.len() + name.len());
    let mut from = 0;
    for place in memmem::find_iter(word, PLACE) {
        made.extend_from_slice(&word[from..place]);
        made.extend_from_slice(name.as_bytes());
        from = place + PLACE.len();
    }
    made.extend_from_slice(&word[from..]);
    OsString::from_vec(made)
}

/// Returns true if there is a file that the system would run as `program`: that path, or one of this name in a
/// directory of `PATH`.
pub(crate) fn is_there(program: &OsStr) -> bool {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return path.exists();
    }
    // The system has a list of its own then.
    let Some(directories) = std::env::var_os("PATH") else {
        return true;
    };
    std::env::split_paths(&directories).any(|directory| directory.join(path).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_takes_the_place_of_braces_or_comes_last() {
        for (words, expected) in [
            (&["cat"][..], "cat a b"),
            (&["cat", "{}"], "cat a b"),
            (&["get", "from={}", "-", "{}{}"], "get from=a b - a ba b"),
            (&["{}"], "a b"),
            (&["echo", "{ }"], "echo { } a b"),
        ] {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert_eq!(shown(&words_for(&words, Path::new("a b"))), expected);
        }
    }
}
