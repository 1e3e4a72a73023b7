//! Commands that write lines of their files: what must hold for one of them is tried for every one, by going over
//! [`TASKS`].

use differential::oracle;
use outset::Order;

use crate::data::split;

/// A command that writes lines of its files: the words before them, how often it writes a line, given how often each
/// file has it, and in which order.
pub(crate) struct Task {
    pub(crate) words: &'static str,
    times: fn(&[usize]) -> usize,
    order: Order,
}

/// Every operation, with repeats and without, in no order and in both.
pub(crate) const TASKS: [Task; 8] = [
    Task {
        words: "intersect",
        times: |counts| usize::from(sides(counts) == counts.len()),
        order: Order::Any,
    },
    Task {
        words: "union --order input",
        times: |_| 1,
        order: Order::Input,
    },
    Task {
        words: "diff",
        times: |counts| usize::from(counts[0] > 0 && sides(counts) == 1),
        order: Order::Any,
    },
    Task {
        words: "intersect --order sorted",
        times: |counts| usize::from(sides(counts) == counts.len()),
        order: Order::Sorted,
    },
    Task {
        words: "union",
        times: |_| 1,
        order: Order::Any,
    },
    Task {
        words: "diff --repeats --order input",
        times: lone_repeats,
        order: Order::Input,
    },
    Task {
        words: "symdiff",
        times: |counts| usize::from(sides(counts) == 1),
        order: Order::Any,
    },
    Task {
        words: "diff --repeats",
        times: lone_repeats,
        order: Order::Any,
    },
];

fn sides(counts: &[usize]) -> usize {
    counts.iter().filter(|&&count| count > 0).count()
}

fn lone_repeats(counts: &[usize]) -> usize {
    if sides(counts) == 1 { counts[0] } else { 0 }
}

/// Each task with a strategy that spills. The strategies take turns; `shift` is the index of the first one.
pub(crate) fn by_turns(shift: usize) -> impl Iterator<Item = (&'static Task, &'static str)> {
    // Not simply in turn: each should meet both orders.
    let strategy = move |number: usize| ["partition", "sieve"][(number / 2 + number + shift) % 2];
    let numbered = TASKS.iter().enumerate();
    numbered.map(move |(number, task)| (task, strategy(number)))
}

/// The lines that a task writes for certain texts.
pub(crate) struct Answer {
    text: Vec<u8>,
    order: Order,
}

impl Task {
    /// Returns the answer for these texts.
    pub(crate) fn of(&self, texts: &[&[u8]]) -> Answer {
        let lines: Vec<Vec<&[u8]>> = texts.iter().map(|text| split(text, b'\n')).collect();
        let order = (self.order, self.words.contains("--repeats"));
        let lines = oracle::selected(&lines, order, self.times, |_| String::new());
        let mut text = Vec::with_capacity(lines.iter().map(|line| line.len() + 1).sum());
        for line in lines {
            text.extend_from_slice(&line);
            text.push(b'\n');
        }
        Answer {
            text,
            order: self.order,
        }
    }
}

impl Answer {
    /// Its length in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Tells whether this is the answer: in its order, if it has one.
    pub(crate) fn is(&self, found: &[u8]) -> bool {
        if self.order != Order::Any {
            return found == self.text;
        }
        let (mut lines, expected) = (split(found, b'\n'), split(&self.text, b'\n'));
        oracle::sort(&mut lines);
        found.len() == self.text.len() && lines == expected
    }

    /// `found` is the answer of `what`.
    #[track_caller]
    pub(crate) fn assert_is(&self, found: &[u8], what: &str) {
        let sizes = (found.len(), self.text.len());
        assert!(
            self.is(found),
            "`{what}` wrote {} bytes instead of {}, or others",
            sizes.0,
            sizes.1
        );
    }
}
