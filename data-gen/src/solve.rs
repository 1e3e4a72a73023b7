//! From what was summed and counted to the answers.
//!
//! *Owns:* which combination of files the sums of a file belong to. *Invariants.* Nothing is read back:
//! the sums are those of the lines as they were made, the numbers of repeats are the plan's. Memory
//! does not grow with the files, as repeats are counted in windows of the shared lines: those of the
//! first window while the files are written.
//!
//! *Cost:* none that matters where no line is repeated; otherwise see [`crate::multisets`].

use std::collections::BTreeMap;

use crate::answers::{Answers, Combination};
use crate::checksum::OrderFree;
use crate::counters::Counters;
use crate::identity::Class;
use crate::multisets::{self, Multisets};
use crate::occurrences::Window;
use crate::plan::Plan;
use crate::sums::FileSums;

/// Takes the sums of one file after the other, and gives the answers.
#[derive(Debug)]
pub(crate) struct Solver<'a> {
    plan: &'a Plan,
    /// The lines of each window, 1 at least.
    step: u64,
    /// The first window of the shared lines; without lines where repeats need not be counted.
    window: Window,
    bytes: Sense,
    bare: Sense,
}

/// The sums in one of the two senses.
#[derive(Debug, Default)]
struct Sense {
    combinations: BTreeMap<String, Combination>,
    /// The lines that only the first file has, as often as it has them.
    only_first: OrderFree,
    /// The lines that only one file has, as often as it has them.
    private: OrderFree,
}

impl<'a> Solver<'a> {
    /// For the files of `plan`, counting the repeats of `step` lines at a time.
    pub(crate) fn new(plan: &'a Plan, step: u64) -> Self {
        let step = step.max(1);
        let counted = if needs_counts(plan) {
            plan.shared().lines()
        } else {
            0
        };
        Self {
            plan,
            step,
            window: Window::new(0..counted.min(step)),
            bytes: Sense::default(),
            bare: Sense::default(),
        }
    }

    /// Returns the counters for the repeats of the next file while it is written.
    pub(crate) fn counters(&self) -> &Counters {
        self.window.counters()
    }

    /// Takes the sums of file number `file`; the files come in their order.
    pub(crate) fn end_file(&mut self, file: usize, sums: &FileSums) {
        self.window.end_file(self.plan, file);
        self.bytes.end_file(self.plan, file, sums, false);
        self.bare.end_file(self.plan, file, sums, true);
    }

    /// The answers byte for byte, and those where one carriage return does not count.
    pub(crate) fn finish(self) -> (Answers, Answers) {
        let plan = self.plan;
        if !needs_counts(plan) {
            return (self.bytes.of_sets(plan), self.bare.of_sets(plan));
        }
        let shared = multisets::of_shared_lines(plan, self.window, self.step);
        let mut bytes = self.bytes.of_multisets(plan, shared.bytes);
        if (0..plan.files()).any(|file| !plan.is_alike(file)) {
            // Files whose lines end differently have none in common.
            let all = bytes.sum(|_| true, |lines| lines.in_all);
            bytes.symdiff_all = bytes.symdiff_all.map(|_| all);
            bytes.intersect_all = Some(OrderFree::default());
        }
        (bytes, self.bare.of_multisets(plan, shared.bare))
    }
}

/// Tells whether the answers for multisets differ from those for sets.
fn needs_counts(plan: &Plan) -> bool {
    plan.has_repeats() && plan.files() > 1
}

impl Sense {
    fn end_file(&mut self, plan: &Plan, file: usize, sums: &FileSums, strip_cr: bool) {
        for (class, sums) in sums.classes(strip_cr) {
            let which = plan.which(class, file, strip_cr);
            // Each file that has a line sums it once.
            let is_new = which.find('1') == Some(file);
            let lines = self
                .combinations
                .entry(which)
                .or_insert_with_key(|which| Combination::empty(which));
            if is_new {
                lines.once.merge(&sums.once);
            }
            if file == 0 {
                lines.in_first.merge(&sums.all());
            }
            lines.in_all.merge(&sums.all());
            if matches!(class, Some(Class::Private(_))) {
                self.private.merge(&sums.all());
                if file == 0 {
                    self.only_first.merge(&sums.all());
                }
            }
        }
    }

    fn of_sets(self, plan: &Plan) -> Answers {
        let files = plan.files();
        let mut answers = self.combined();
        let once = |lines: &Combination| lines.once;
        if files > 1 {
            answers.intersect_all = Some(answers.sum(|of| of.files == files, once));
            answers.diff_all = Some(answers.sum(|of| of.files == 1 && of.first, once));
        }
        if files == 2 {
            answers.symdiff_all = Some(answers.sum(|of| of.files == 1, once));
        }
        answers
    }

    fn of_multisets(self, plan: &Plan, shared: Multisets) -> Answers {
        let (mut diff, mut symdiff) = (self.only_first, self.private);
        diff.merge(&shared.diff);
        symdiff.merge(&shared.symdiff);
        Answers {
            intersect_all: Some(shared.intersect),
            diff_all: Some(diff),
            symdiff_all: (plan.files() == 2).then_some(symdiff),
            ..self.combined()
        }
    }

    fn combined(self) -> Answers {
        Answers {
            combinations: self.combinations.into_values().collect(),
            ..Answers::default()
        }
    }
}
