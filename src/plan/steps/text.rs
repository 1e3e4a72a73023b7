//! A list of steps as people read it, a line for each.
//!
//! *Owns:* the sentences. *Invariants:* inputs have the numbers that the caller gave them, from 1. *Cost:* that of the
//! text.

use serde::{Serialize, Serializer};

use super::step::{At, Lets, Question, Seen, Slot, Step, Steps, Through, holds_answer};

impl Steps {
    /// Writes a sentence for each step, without a full stop.
    pub(crate) fn sentences(&self) -> impl ExactSizeIterator<Item = String> + '_ {
        let told = Telling {
            steps: self,
            origins: self.origins(),
        };
        self.list.iter().map(move |step| told.sentence(step))
    }

    /// Finds what each filter is of, by its number.
    fn origins(&self) -> Vec<FilterOrigin> {
        let mut origins = Vec::new();
        for step in &self.list {
            let input = match *step {
                Step::Refilter { of, .. } => Some(of),
                ref step => step.input(),
            };
            for slot in step.filled().into_iter().flatten() {
                let index = slot.0 as usize;
                origins.resize(origins.len().max(index + 1), FilterOrigin::Stored);
                origins[index] = match (origins[index], input) {
                    (FilterOrigin::Stored, Some(at)) => FilterOrigin::Input(at),
                    (FilterOrigin::Input(before), Some(at)) if before == at => {
                        FilterOrigin::Input(at)
                    }
                    _ => FilterOrigin::Several,
                };
            }
        }
        origins
    }
}

/// The contents of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilterOrigin {
    /// No step fills it.
    Stored,
    /// One input.
    Input(At),
    /// Several of them.
    Several,
}

/// The words for the steps of a list, one by one.
struct Telling<'a> {
    steps: &'a Steps,
    origins: Vec<FilterOrigin>,
}

impl Telling<'_> {
    fn sentence(&self, step: &Step) -> String {
        let write = self.write();
        match *step {
            Step::Filter {
                at, through, seen, ..
            } => self.filter_text(at, through, seen),
            Step::Spill {
                at,
                through,
                feed,
                writes_refused,
            } => {
                let fed = feed.filter(|_| self.steps.feeds);
                let fed = fed.map_or("", |_| ", and feed a filter with them");
                let refused = if writes_refused {
                    format!("; {write} the others, if lines of one file alone are selected")
                } else {
                    String::new()
                };
                format!("spill {}{fed}{refused}", self.lines(at, through))
            }
            Step::Refilter { of, .. } => {
                let unless = if self.steps.feeds {
                    " none was fed and"
                } else {
                    ""
                };
                let name = self.name(of);
                format!("build a filter of what was spilled of {name}, if{unless} it pays")
            }
            Step::Build { at, through, .. } => {
                let filter = through.map_or("", |_| ", and into a filter");
                let lines = self.lines(at, through.map(survivors));
                format!("put {lines} into a set in memory{filter}")
            }
            Step::Mark { at, through, .. } => {
                format!(
                    "look up in the set {}",
                    self.lines(at, through.map(survivors))
                )
            }
            Step::LookUp { at, .. } => format!(
                "look up in the set {}, and {write} those that are selected, as often as they come",
                self.lines(at, None)
            ),
            Step::WriteNew { at } => format!(
                "write the lines of {} that are not in the result yet",
                self.name(at)
            ),
            Step::Write => format!("{write} the lines of the set that are selected"),
            Step::Ask { at, slot } => {
                let lets = Lets::Absent;
                format!("{write} {}", self.lines(at, Some(Through { slot, lets })))
            }
            Step::Collect { at, through, .. } => {
                let common = through.map_or("", |_| " that the one before has");
                format!(
                    "put the addresses of {}{common} into a bitmap",
                    self.name(at)
                )
            }
            Step::Tell { at, has, .. } => {
                let has = if has { "has" } else { "does not have" };
                format!(
                    "{write} the lines of {} that the bitmap {has}",
                    self.name(at)
                )
            }
            Step::Join { .. } if self.steps.by_range => {
                "join the buckets, range after range, and write the answer in order".into()
            }
            Step::Join { is_distinct: false } => {
                format!("join the buckets, and {write} the answer")
            }
            Step::Join { is_distinct: true } => {
                format!("remove repeats from the buckets, and {write} the answer")
            }
            Step::Order => "put the lines that were noted in order, and write them".into(),
            Step::Rewrite { at } => {
                format!(
                    "read {} once more, and write those of its lines that were noted",
                    self.name(at)
                )
            }
            Step::Replan(question) => self.question_text(question),
        }
    }

    /// Returns the word for what a step does with lines of the answer: with an order, a step at the end writes them.
    fn write(&self) -> &'static str {
        if holds_answer(&self.steps.list) {
            "note"
        } else {
            "write"
        }
    }

    fn filter_text(&self, at: At, through: Option<Slot>, seen: Seen) -> String {
        let lines = self.lines(at, through.map(survivors));
        let more = match seen {
            Seen::Nothing => "",
            Seen::Again(_) => ", and those that it seems to have already into a second one",
            Seen::NewIsWritten => ", and write those that it did not have",
        };
        format!("put {lines} into a filter{more}")
    }

    fn question_text(&self, question: Question) -> String {
        match question {
            Question::Survivors(at) if (at as usize) < self.steps.numbers.len() => format!(
                "look at a sample of {}: go on with a set in memory, without filters, or as planned",
                self.name(at)
            ),
            Question::Survivors(_) => "go on as planned".into(),
            Question::SmallSet(_) => "go on without filters, if the filter is too full".into(),
            Question::Again => "plan the buckets for the lines that come again".into(),
            Question::Rate(Some(at)) => format!(
                "check the rate, look at a sample of {}, and plan the buckets for what passes",
                self.name(at)
            ),
            Question::Rate(None) => "check the rate of the filter".into(),
        }
    }

    /// Describes the lines of an input that pass a filter.
    fn lines(&self, at: At, through: Option<Through>) -> String {
        let name = self.name(at);
        match through.map(|through| (self.filter_name(through.slot), through.lets)) {
            None => format!("the lines of {name}"),
            Some((filter, Lets::Survivors | Lets::Answer)) => {
                format!("the lines of {name} that pass {filter}")
            }
            Some((filter, Lets::Absent)) => {
                format!("the lines of {name} that {filter} does not have")
            }
        }
    }

    /// Names a filter by the input that it is of, if it is of one.
    fn filter_name(&self, slot: Slot) -> String {
        match self.origins.get(slot.0 as usize) {
            None | Some(FilterOrigin::Stored) => "the stored filter".into(),
            Some(FilterOrigin::Input(at)) => format!("the filter of {}", self.name(*at)),
            Some(FilterOrigin::Several) if slot == Slot::SECOND => "the second filter".into(),
            Some(FilterOrigin::Several) => "the filter".into(),
        }
    }

    fn name(&self, at: At) -> String {
        format!("file {}", self.steps.numbers[at as usize])
    }
}

fn survivors(slot: Slot) -> Through {
    Through {
        slot,
        lets: Lets::Survivors,
    }
}

impl Serialize for Steps {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.sentences())
    }
}
