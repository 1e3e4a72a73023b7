//! The naive answer: what belongs here is the definition of what is right, trustworthy by reading, and nothing else.
//!
//! *Invariants:* no code of the engine. *Cost:* sorted sets of all lines.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use outset::Order;

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

/// The lines of all inputs, each as often as `times` says and behind what `written` says, given how often each input
/// has it. By first occurrence for [`Order::Input`], else in the order of their bytes. With `is_each`, the first input
/// has every one of them at a place of its own.
pub fn selected(
    inputs: &[Vec<&[u8]>],
    (order, is_each): (Order, bool),
    times: impl Fn(&[usize]) -> usize,
    written: impl Fn(&[usize]) -> String,
) -> Vec<Vec<u8>> {
    let mut all: Vec<(&[u8], usize)> = Vec::new();
    for (number, input) in inputs.iter().enumerate() {
        all.extend(input.iter().map(|&line| (line, number)));
    }
    all.sort_unstable();
    let counts: BTreeMap<&[u8], Vec<usize>> = all
        .chunk_by(|one, other| one.0 == other.0)
        .map(|same| {
            let mut counts = vec![0; inputs.len()];
            for &(_, number) in same {
                counts[number] += 1;
            }
            (same[0].0, counts)
        })
        .collect();
    let mut answer = Vec::new();
    let mut write = |line: &[u8], times: usize, counts: &[usize]| {
        let line = [written(counts).as_bytes(), line].concat();
        answer.extend(std::iter::repeat_n(line, times));
    };
    if order != Order::Input {
        for (line, counts) in &counts {
            write(line, times(counts), counts);
        }
        return answer;
    }
    if is_each {
        for line in &inputs[0] {
            write(line, usize::from(times(&counts[line]) > 0), &counts[line]);
        }
        return answer;
    }
    let mut seen = HashSet::new();
    for line in inputs.iter().flatten().filter(|line| seen.insert(**line)) {
        write(line, times(&counts[line]), &counts[line]);
    }
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
        let sides = [&b"a\nb\na\n"[..], b"b\nc\n"].map(|bytes| split(bytes, b'\n', false));
        let of_first = |counts: &[usize]| counts[0];
        let found = selected(&sides, (Order::Any, false), of_first, |counts| {
            format!("{}", counts[1])
        });
        assert_eq!(found, [b"0a", b"0a", b"1b"]);
    }
}
