//! Cases from choices.
//!
//! *Owns:* which lines are in which inputs. *Invariants:* the first choices are the simplest. *Cost:* the inputs.

use data_gen::Compression;

use crate::case::{Alias, Case, Input, Setting};
use crate::choices::Choices;
use crate::lines::{self, Bulk, Scale};
use crate::settings;

/// The ingredients of a case's inputs.
struct Recipe {
    terminator: u8,
    is_ipv4: bool,
    pool: Vec<Vec<u8>>,
    bulk: Bulk,
    relation: Relation,
    scale: Scale,
}

/// The relation between inputs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    Overlapping,
    /// All inputs have the same lines.
    Equal,
    /// No two inputs share a numbered line, and nothing comes from the pool.
    Disjoint,
    /// Each further input has this percentage of the first one's numbered lines.
    Share(u64),
}

/// A case; equal choices give equal cases.
pub fn case(choices: &mut Choices, scale: Scale) -> Case {
    let terminator = if choices.one_in(4) { 0 } else { b'\n' };
    let strip_cr = choices.one_in(3);
    let recipe = recipe(choices, scale, terminator);
    let mut inputs: Vec<Input> = Vec::new();
    // Seldom more than a mark without a word of its own has bits for.
    let count = if choices.one_in(40) {
        choices.pick(&[17, 24, 40, 63])
    } else {
        choices.pick(&[2, 2, 2, 2, 3, 3, 4, 6])
    };
    for number in 0..count {
        let lines = match inputs.first() {
            Some(first) if recipe.relation == Relation::Equal => turned(choices, &first.lines),
            _ => recipe.lines(choices, number),
        };
        inputs.push(Input {
            lines,
            is_terminated: !choices.one_in(3),
            is_fifo: choices.one_in(10),
            is_command: choices.one_in(10),
            parts: choices.pick(&[1, 1, 1, 1, 1, 2, 5, 30]),
            compression: choices
                .one_in(3)
                .then(|| (choices.pick(&Compression::ALL), choices.pick(&[1, 1, 3]))),
        });
    }
    let mut case = Case {
        inputs,
        terminator,
        strip_cr,
        is_ipv4: recipe.is_ipv4,
        again: again(choices),
        settings: Vec::new(),
    };
    // The first input is a file where it is named twice: a pipe can be read by one reader.
    case.inputs[0].is_fifo &= case.again.is_none();
    for (number, input) in case.inputs.iter_mut().enumerate() {
        input.is_command &= !input.is_fifo && (number > 0 || case.again.is_none());
    }
    case.settings = settings(choices, &case);
    case
}

/// Seldom, another name of the first input.
fn again(choices: &mut Choices) -> Option<Alias> {
    choices.one_in(12).then(|| {
        choices.pick(&[
            Alias::Path,
            Alias::Detour,
            Alias::SymbolicLink,
            Alias::HardLink,
        ])
    })
}

fn recipe(choices: &mut Choices, scale: Scale, terminator: u8) -> Recipe {
    let is_ipv4 = choices.one_in(16);
    let count = choices.pick(&[1, 3, 8, 20]);
    let pool = (0..count).map(|_| {
        if is_ipv4 {
            lines::address(choices)
        } else {
            lines::without(lines::any(choices, scale), terminator)
        }
    });
    Recipe {
        terminator,
        is_ipv4,
        pool: pool.collect(),
        bulk: Bulk::choose(choices),
        relation: choices.pick(&[
            Relation::Overlapping,
            Relation::Overlapping,
            Relation::Overlapping,
            Relation::Overlapping,
            Relation::Equal,
            Relation::Disjoint,
            Relation::Share(10),
            Relation::Share(50),
            Relation::Share(80),
            Relation::Share(100),
        ]),
        scale,
    }
}

impl Recipe {
    fn lines(&self, choices: &mut Choices, number: u64) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        for _ in 0..choices.below(4) {
            self.add_part(choices, number, &mut found);
        }
        if choices.one_in(2) {
            shuffle(choices, &mut found);
        }
        found
    }

    fn add_part(&self, choices: &mut Choices, number: u64, found: &mut Vec<Vec<u8>>) {
        let may_share = self.relation != Relation::Disjoint;
        match choices.below(6) {
            0..=2 if may_share => {
                for _ in 0..choices.below(12) {
                    found.push(self.pool[choices.below(self.pool.len() as u64) as usize].clone());
                }
            }
            3 if may_share => {
                let line = &self.pool[choices.below(self.pool.len() as u64) as usize];
                // Not too many of a long one.
                let most = self
                    .scale
                    .repeats
                    .min(1_000_000 / (line.len() as u64 + 1))
                    .max(1);
                let times = choices.below(most);
                found.extend((0..times).map(|_| line.clone()));
            }
            _ => self.add_bulk(choices, number, found),
        }
    }

    fn add_bulk(&self, choices: &mut Choices, number: u64, found: &mut Vec<Vec<u8>>) {
        let count = choices.pick(self.scale.bulk_lines) / self.bulk.weight();
        let start = match self.relation {
            Relation::Disjoint => number << 32,
            Relation::Share(_) if number == 0 => 0,
            Relation::Share(hundredths) => count * (100 - hundredths) / 100,
            _ => choices.below(count.max(1)),
        };
        for number in start..start + count {
            found.push(if self.is_ipv4 {
                std::net::Ipv4Addr::from(number as u32 ^ (number >> 32 << 24) as u32)
                    .to_string()
                    .into_bytes()
            } else {
                lines::without(self.bulk.line(number), self.terminator)
            });
        }
    }
}

/// Returns the same lines, some of them in another order.
fn turned(choices: &mut Choices, lines: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut lines = lines.to_vec();
    let middle = choices.below(lines.len() as u64 + 1) as usize;
    lines.rotate_left(middle);
    lines
}

fn shuffle(choices: &mut Choices, lines: &mut [Vec<u8>]) {
    let mut own = Choices::seeded(choices.any());
    for at in (1..lines.len()).rev() {
        lines.swap(at, own.below(at as u64 + 1) as usize);
    }
}

/// One setting of each kind that the case allows, and a second one of some.
fn settings(choices: &mut Choices, case: &Case) -> Vec<Setting> {
    (0..choices.between(2, 4))
        .map(|_| settings::setting(choices, case))
        .collect()
}
