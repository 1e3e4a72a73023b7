//! Texts to intersect, and what they have in common by the oracle of the differential runner.

use std::collections::BTreeSet;
use std::ops::Range;

use differential::oracle;
use outset::Order;

/// A megabyte of these is about 30 000 lines.
const LINE_BYTES: usize = 33;

/// Lines that differ everywhere, one per number; equal numbers give equal lines.
pub(crate) fn lines(numbers: Range<u64>) -> Vec<u8> {
    let mut text = Vec::with_capacity(LINE_BYTES * numbers.clone().count());
    for number in numbers {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = mixed ^ (mixed >> 29);
        text.extend(
            (0..16)
                .rev()
                .map(|at| b"0123456789abcdef"[(mixed >> (4 * at) & 15) as usize]),
        );
        text.extend_from_slice(b" line ");
        text.extend(TENS.map(|ten| b'0' + (number / ten % 10) as u8));
        text.push(b'\n');
    }
    text
}

/// The powers of ten, the tenth first.
const TENS: [u64; 10] = {
    let mut tens = [1; 10];
    let mut at = 9;
    while at > 0 {
        tens[at - 1] = 10 * tens[at];
        at -= 1;
    }
    tens
};

/// About `count` megabytes of [`lines`], beginning with number `first`.
pub(crate) fn megabytes(count: u64, first: u64) -> Vec<u8> {
    lines(first..first + count * (1 << 20) / LINE_BYTES as u64)
}

/// IPv4 addresses, one per number.
pub(crate) fn addresses(numbers: Range<u32>) -> Vec<u8> {
    let address = |number: u32| std::net::Ipv4Addr::from(number.wrapping_mul(2_654_435_761));
    numbers
        .flat_map(|number| format!("{}\n", address(number)).into_bytes())
        .collect()
}

/// The lines of a text, in order.
pub(crate) fn split(text: &[u8], terminator: u8) -> Vec<&[u8]> {
    oracle::split(text, terminator, false)
}

/// The distinct lines that all texts have, in order.
pub(crate) fn common<'a>(texts: &[&'a [u8]]) -> BTreeSet<&'a [u8]> {
    let lines: Vec<Vec<&[u8]>> = texts.iter().map(|text| split(text, b'\n')).collect();
    let mut common = Vec::new();
    oracle::for_each_line(&lines, |line, counts, _| {
        if counts.iter().all(|&count| count > 0) {
            common.push(line);
        }
    });
    common.into_iter().collect()
}

/// The strategies whose answer is exact, and the choice among them.
pub(crate) const EXACT: [&str; 4] = ["auto", "memory", "partition", "sieve"];

/// Two inputs of a few thousand lines, a third of the first in common.
pub(crate) fn small() -> (Vec<u8>, Vec<u8>) {
    (lines(0..3000), lines(2000..6000))
}

/// An operation: the words of its command before the files, and whether a line is asked for, given which files have it.
pub(crate) struct Operation {
    pub(crate) words: &'static str,
    pub(crate) is_asked: fn(&[bool]) -> bool,
}

/// Counts the files that have a line.
pub(crate) fn sides(which: &[bool]) -> usize {
    which.iter().filter(|&&has| has).count()
}

pub(crate) const DIFF: Operation = Operation {
    words: "diff",
    is_asked: |which| which[0] && sides(which) == 1,
};
pub(crate) const UNION: Operation = Operation {
    words: "union",
    is_asked: |which| sides(which) >= 1,
};
pub(crate) const SYMDIFF: Operation = Operation {
    words: "symdiff",
    is_asked: |which| sides(which) == 1,
};

impl Operation {
    /// Returns the lines that it writes for these texts, with nothing before each line.
    pub(crate) fn of(&self, texts: &[&[u8]]) -> BTreeSet<Vec<u8>> {
        self.labelled(texts, |_| String::new())
    }

    /// Works as [`Operation::of`], with the label of a line's files before it.
    pub(crate) fn labelled(
        &self,
        texts: &[&[u8]],
        label: impl Fn(&[bool]) -> String,
    ) -> BTreeSet<Vec<u8>> {
        let lines: Vec<Vec<&[u8]>> = texts.iter().map(|text| split(text, b'\n')).collect();
        let which = |counts: &[usize]| counts.iter().map(|&count| count > 0).collect::<Vec<_>>();
        let times = |counts: &[usize]| usize::from((self.is_asked)(&which(counts)));
        let written = |counts: &[usize]| label(&which(counts));
        oracle::selected(&lines, (Order::Any, false), times, written)
            .into_iter()
            .collect()
    }
}

/// Every operation that gives each line once.
pub(crate) const OPERATIONS: [Operation; 9] = [
    DIFF,
    UNION,
    SYMDIFF,
    Operation {
        words: "intersect --at-least 1",
        is_asked: |which| sides(which) >= 1,
    },
    Operation {
        words: "intersect --at-least 2",
        is_asked: |which| sides(which) >= 2,
    },
    Operation {
        words: "intersect --at-most 2",
        is_asked: |which| sides(which) <= 2,
    },
    Operation {
        words: "intersect --at-least 2 --at-most 2",
        is_asked: |which| sides(which) == 2,
    },
    Operation {
        words: "intersect --exactly 3",
        is_asked: |which| sides(which) == 3,
    },
    Operation {
        words: "intersect --only 101",
        is_asked: |which| which == [true, false, true],
    },
];
