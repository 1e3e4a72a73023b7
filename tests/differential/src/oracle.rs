//! The naive answer: what belongs here is the definition of what is right, trustworthy by reading, and nothing else.
//!
//! *Invariants:* no code of the engine. *Cost:* sorted sets of all lines.

use std::collections::{BTreeMap, BTreeSet};

/// Distinct lines in byte order, within the bytes of their input.
pub type Lines<'a> = BTreeSet<&'a [u8]>;

/// The lines of one input, in order and with repeats.
pub fn split(bytes: &[u8], terminator: u8, strip_cr: bool) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut start = 0;
    for end in 0..bytes.len() {
        if bytes[end] == terminator {
            lines.push(&bytes[start..end]);
            start = end + 1;
        }
    }
    // What follows the last terminator is a line only if there is something.
    if start < bytes.len() {
        lines.push(&bytes[start..]);
    }
    if strip_cr {
        for line in &mut lines {
            if line.last() == Some(&b'\r') {
                *line = &line[..line.len() - 1];
            }
        }
    }
    lines
}

/// The distinct lines of one input.
pub fn distinct(bytes: &[u8], terminator: u8, strip_cr: bool) -> Lines<'_> {
    split(bytes, terminator, strip_cr).into_iter().collect()
}

/// What is written of the lines of which `is_asked` is true, given which of the inputs have them: `written` says
/// what stands before a line. Each comes once, or where the lines of the first input are given with their repeats,
/// as often as they are among these. In byte order.
pub fn selected(
    inputs: &[&Lines<'_>],
    first: Option<&[&[u8]]>,
    is_asked: impl Fn(&[bool]) -> bool,
    written: impl Fn(&[bool]) -> String,
) -> Vec<Vec<u8>> {
    let all: Lines<'_> = inputs
        .iter()
        .flat_map(|input| input.iter().copied())
        .collect();
    let mut counts: BTreeMap<&[u8], usize> = BTreeMap::new();
    for line in first.unwrap_or_default() {
        *counts.entry(line).or_default() += 1;
    }
    let mut answer = Vec::new();
    for line in all {
        let which: Vec<bool> = inputs.iter().map(|input| input.contains(line)).collect();
        let times = match first {
            Some(_) => counts.get(line).copied().unwrap_or(0),
            None => 1,
        };
        if is_asked(&which) {
            let line = [written(&which).as_bytes(), line].concat();
            answer.extend(std::iter::repeat_n(line, times));
        }
    }
    answer.sort_unstable();
    answer
}

/// The lines that are in every one of `inputs`.
pub fn common<'a>(inputs: &[Lines<'a>]) -> Lines<'a> {
    let Some((first, others)) = inputs.split_first() else {
        return Lines::new();
    };
    let in_all = |line: &&[u8]| others.iter().all(|input| input.contains(*line));
    first.iter().copied().filter(in_all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_knows_the_hard_cases() {
        let lines: [(&[u8], &[&[u8]]); 6] = [
            (b"", &[]),
            (b"\n", &[b""]),
            (b"\n\n", &[b"", b""]),
            (b"a\n\nb", &[b"a", b"", b"b"]),
            (b"a\r\na\n", &[b"a\r", b"a"]),
            (b"\0\xff\n\r", &[b"\0\xff", b"\r"]),
        ];
        for (bytes, expected) in lines {
            assert_eq!(split(bytes, b'\n', false), expected, "{bytes:?}");
        }
        let stripped: [&[u8]; 3] = [b"a", b"b\r", b""];
        assert_eq!(split(b"a\r\0b\r\r\0\r", 0, true), stripped);
        let inputs = [&b"a\nb\n"[..], b"b\nc", b"\nb"].map(|bytes| distinct(bytes, b'\n', false));
        assert_eq!(common(&inputs), Lines::from([&b"b"[..]]));
        let in_two = |which: &[bool]| which.iter().filter(|&&has| has).count() == 2;
        let first = |which: &[bool]| format!("{} ", which[0]);
        let sides = [&inputs[0], &inputs[1], &inputs[1]];
        let expected = [b"false c".to_vec()];
        assert_eq!(selected(&sides, None, in_two, first), expected);
        let lines = split(b"a\nb\na\n", b'\n', false);
        let alone = |which: &[bool]| which == [true, false, false];
        let found = selected(&sides, Some(&lines), alone, |_| String::new());
        assert_eq!(found, [b"a", b"a"]);
    }
}
