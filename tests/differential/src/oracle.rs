//! The naive answer: what belongs here is the definition of what is right, trustworthy by reading, and nothing else.
//!
//! *Invariants:* no code of the engine. *Cost:* sorted sets of all lines.

use std::collections::BTreeSet;

use outset::Order;

/// Distinct lines in byte order, within the bytes of their input.
pub type Lines<'a> = BTreeSet<&'a [u8]>;

/// The lines of one input, in order and with repeats.
pub fn split(bytes: &[u8], terminator: u8, strip_cr: bool) -> Vec<&[u8]> {
    let ends = |start: usize| bytes[start..].iter().position(|&byte| byte == terminator);
    split_by(bytes, strip_cr, |start| {
        ends(start).map_or(bytes.len(), |end| start + end)
    })
}

/// The records of one input of comma-separated values, with `delimiter` between fields: a field that begins with a
/// quote has all up to the quote that closes it. If another byte than a delimiter or the end of the record follows
/// that, or if no quote closes it, the record ends with the line that the field begins in.
pub fn split_csv(bytes: &[u8], terminator: u8, strip_cr: bool, delimiter: u8) -> Vec<&[u8]> {
    split_by(bytes, strip_cr, |start| {
        end_of_record(bytes, start, terminator, delimiter)
    })
}

/// Finds the end of the record that begins at `start`.
fn end_of_record(bytes: &[u8], start: usize, terminator: u8, delimiter: u8) -> usize {
    let line_end = |from: usize| {
        let found = bytes[from..].iter().position(|&byte| byte == terminator);
        found.map_or(bytes.len(), |found| from + found)
    };
    let mut at = start;
    loop {
        let field = at;
        if bytes.get(at) == Some(&b'"') {
            at += 1;
            while at < bytes.len() && (bytes[at] != b'"' || bytes.get(at + 1) == Some(&b'"')) {
                at += if bytes[at] == b'"' { 2 } else { 1 };
            }
            if at >= bytes.len() {
                return line_end(field);
            }
            at += 1;
            let is_end = |at: usize| at >= bytes.len() || bytes[at] == terminator;
            match bytes.get(at) {
                _ if is_end(at) => return at,
                Some(&byte) if byte == delimiter => {}
                Some(b'\r') if is_end(at + 1) => return at + 1,
                _ => return line_end(field),
            }
        } else {
            while at < bytes.len() && bytes[at] != terminator && bytes[at] != delimiter {
                at += 1;
            }
            if bytes.get(at) != Some(&delimiter) {
                return at;
            }
        }
        at += 1;
    }
}

/// Lines that begin where the one before them ended, which `end_of` tells. What follows the last terminator is a line
/// only if there is something.
fn split_by(bytes: &[u8], strip_cr: bool, end_of: impl Fn(usize) -> usize) -> Vec<&[u8]> {
    let (mut lines, mut start) = (Vec::new(), 0);
    while start < bytes.len() {
        let end = end_of(start);
        lines.push(&bytes[start..end]);
        start = end + 1;
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
/// has it. By first occurrence for [`Order::Input`], the most frequent first for [`Order::Count`], else (and where
/// these are equal) in the order of their bytes. With `is_each`, the first input has every one of them at a position of
/// its own.
pub fn selected(
    inputs: &[Vec<&[u8]>],
    (order, is_each): (Order, bool),
    times: impl Fn(&[usize]) -> usize,
    written: impl Fn(&[usize]) -> String,
) -> Vec<Vec<u8>> {
    let mut answer: Vec<(usize, Vec<u8>)> = Vec::new();
    for_each_line(inputs, |line, counts, positions| {
        let line = [written(counts).as_bytes(), line].concat();
        if order == Order::Input && is_each {
            let count = if times(counts) > 0 { counts[0] } else { 0 };
            answer.extend(
                positions[..count]
                    .iter()
                    .map(|&position| (position, line.clone())),
            );
        } else {
            let place = match order {
                Order::Input => positions[0],
                Order::Count => usize::MAX - counts.iter().sum::<usize>(),
                _ => 0,
            };
            answer.extend(std::iter::repeat_n((place, line), times(counts)));
        }
    });
    // Lines came in the order of their bytes, and stay so where their places are equal.
    answer.sort_by_key(|&(place, _)| place);
    answer.into_iter().map(|(_, line)| line).collect()
}

/// Visits the distinct lines of all inputs in the order of their bytes: each with how often each input has it, and with
/// its positions in all inputs, one input behind the other.
pub fn for_each_line<'a>(
    inputs: &[Vec<&'a [u8]>],
    mut visit: impl FnMut(&'a [u8], &[usize], &[usize]),
) {
    let mut all: Vec<(u64, &[u8], usize, usize)> = Vec::new();
    for (number, input) in inputs.iter().enumerate() {
        let first = all.len();
        let numbered = input.iter().zip(first..);
        all.extend(numbered.map(|(&line, position)| (front(line), line, position, number)));
    }
    all.sort_unstable();
    let (mut counts, mut positions) = (vec![0; inputs.len()], Vec::new());
    for same in all.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
        counts.fill(0);
        positions.clear();
        for &(_, _, position, number) in same {
            counts[number] += 1;
            positions.push(position);
        }
        visit(same[0].1, &counts, &positions);
    }
}

/// Sorts lines by their bytes.
pub fn sort(lines: &mut Vec<&[u8]>) {
    let mut keyed: Vec<(u64, &[u8])> = lines.drain(..).map(|line| (front(line), line)).collect();
    keyed.sort_unstable();
    lines.extend(keyed.into_iter().map(|(_, line)| line));
}

/// The first eight bytes of a line as a number. Of two lines that differ in it, the one with the smaller number is the
/// smaller: a sort that looks here first seldom has to look at the lines, which are anywhere in memory.
fn front(line: &[u8]) -> u64 {
    let mut first = [0; 8];
    let count = line.len().min(8);
    first[..count].copy_from_slice(&line[..count]);
    u64::from_be_bytes(first)
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
        let sides = [&b"b\na\nc\n"[..], b"b\nc\nd\nc\n"].map(|bytes| split(bytes, b'\n', false));
        let found = selected(&sides, (Order::Count, false), |_| 1, |_| String::new());
        assert_eq!(found, [b"c", b"b", b"a", b"d"]);
        let mut lines = vec![
            &b"eight by"[..],
            b"\0",
            b"eight byte",
            b"",
            b"eight by\0",
            b"\0\0",
        ];
        let mut plainly = lines.clone();
        sort(&mut lines);
        plainly.sort();
        assert_eq!(lines, plainly);
    }
}
