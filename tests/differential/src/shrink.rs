//! The smallest case that still fails.
//!
//! *Owns:* the steps: simpler options, fewer inputs, fewer lines by halves, shorter lines; again until none helps.
//! *Invariants:* what comes out failed when it was last run, or is the case that came in. *Cost:* up to two runs a
//! step, within a limit of time.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use crate::case::{Case, HashChoice, Setting, Way};
use crate::judge::{Difference, Tally, first_difference};
use crate::run::Runner;
use crate::wrong::WrongKind;

/// Runs of a case that may fail by chance.
const TRIES: u32 = 2;

struct Shrinker<'r> {
    runner: &'r Runner<'r>,
    ends: Instant,
    /// The way in which it must fail.
    kind: WrongKind,
    best: Case,
    found: Option<Difference>,
}

/// Makes a case with one setting smaller for at most about `limit`; also what is wrong with it then, if it fails again.
///
/// # Errors
/// Where the files of a case cannot be made.
pub fn shrink(
    runner: &Runner<'_>,
    case: Case,
    kind: WrongKind,
    limit: Duration,
) -> io::Result<(Case, Option<Difference>)> {
    let mut shrinker = Shrinker {
        runner,
        ends: Instant::now() + limit,
        kind,
        best: case.clone(),
        found: None,
    };
    if !shrinker.takes(case)? {
        return Ok((shrinker.best, None));
    }
    loop {
        let before = shrinker.best.clone();
        shrinker.simplify_options()?;
        if kind == WrongKind::Rate {
            // Left to chance, the lines that stay would be those that are false.
            return Ok((shrinker.best, shrinker.found));
        }
        shrinker.drop_inputs()?;
        shrinker.drop_distinct_lines()?;
        shrinker.drop_lines()?;
        shrinker.shorten_lines()?;
        if shrinker.best == before || shrinker.is_over() {
            return Ok((shrinker.best, shrinker.found));
        }
    }
}

impl Shrinker<'_> {
    fn is_over(&self) -> bool {
        Instant::now() >= self.ends
    }

    /// Keeps `case` if it fails.
    fn takes(&mut self, case: Case) -> io::Result<bool> {
        if self.is_over() {
            return Ok(false);
        }
        for _ in 0..TRIES {
            let found = first_difference(self.runner, &case, &mut Tally::default())?;
            if let Some(found) = found.filter(|found| found.wrong.kind == self.kind) {
                self.found = Some(found);
                self.best = case;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn simplify_options(&mut self) -> io::Result<()> {
        for simpler in SIMPLER_SETTINGS {
            let mut case = self.best.clone();
            case.settings.iter_mut().for_each(simpler);
            self.takes_other(case)?;
        }
        for simpler in SIMPLER_CASES {
            let mut case = self.best.clone();
            simpler(&mut case);
            self.takes_other(case)?;
        }
        Ok(())
    }

    fn takes_other(&mut self, case: Case) -> io::Result<bool> {
        Ok(case != self.best && self.takes(case)?)
    }

    fn drop_inputs(&mut self) -> io::Result<()> {
        let mut number = self.best.inputs.len();
        while number > 0 && self.best.inputs.len() > 2 {
            number -= 1;
            let mut case = self.best.clone();
            case.inputs.remove(number);
            case.again = case.again.filter(|_| number > 0);
            self.takes(case)?;
        }
        Ok(())
    }

    /// Leaves lines out of all inputs at once: what is common stays common.
    fn drop_distinct_lines(&mut self) -> io::Result<()> {
        let lines = self.best.inputs.iter().flat_map(|input| &input.lines);
        let distinct: BTreeSet<Vec<u8>> = lines.cloned().collect();
        let distinct = distinct.into_iter().collect();
        self.drop_some(distinct, |case, dropped: &[Vec<u8>]| {
            let dropped: BTreeSet<&Vec<u8>> = dropped.iter().collect();
            for input in &mut case.inputs {
                input.lines.retain(|line| !dropped.contains(line));
            }
        })
    }

    /// Leaves single lines out of single inputs.
    fn drop_lines(&mut self) -> io::Result<()> {
        for number in 0..self.best.inputs.len() {
            let mut size = self.best.inputs[number].lines.len().div_ceil(2);
            while size > 0 {
                let mut start = 0;
                while start < self.best.inputs[number].lines.len() && !self.is_over() {
                    let mut case = self.best.clone();
                    let lines = &mut case.inputs[number].lines;
                    lines.drain(start..(start + size).min(lines.len()));
                    if !self.takes(case)? {
                        start += size;
                    }
                }
                size /= 2;
            }
        }
        Ok(())
    }

    /// Leaves out runs of `things`, of half of all at first and of one at last.
    fn drop_some<T: Clone>(
        &mut self,
        mut things: Vec<T>,
        drop: impl Fn(&mut Case, &[T]),
    ) -> io::Result<()> {
        let mut size = things.len().div_ceil(2);
        while size > 0 {
            let mut start = 0;
            while start < things.len() && !self.is_over() {
                let end = (start + size).min(things.len());
                let mut case = self.best.clone();
                drop(&mut case, &things[start..end]);
                if self.takes(case)? {
                    things.drain(start..end);
                } else {
                    start = end;
                }
            }
            size /= 2;
        }
        Ok(())
    }

    /// Replaces lines, wherever they are, by shorter and plainer ones.
    fn shorten_lines(&mut self) -> io::Result<()> {
        if self.best.is_ipv4 {
            return Ok(());
        }
        let lines = self.best.inputs.iter().flat_map(|input| &input.lines);
        let distinct: BTreeSet<Vec<u8>> = lines.cloned().collect();
        for (number, line) in distinct.into_iter().enumerate() {
            let mut line = line;
            while let Some(shorter) = self.shorter(&line, number)? {
                line = shorter;
            }
        }
        Ok(())
    }

    fn shorter(&mut self, line: &[u8], number: usize) -> io::Result<Option<Vec<u8>>> {
        let name = vec![b'a' + (number % 26) as u8; 1 + number / 26];
        let plain = vec![name[0]; line.len()];
        let halves = [&line[..line.len() / 2], &line[line.len() / 2..]];
        let less_one = &line[..line.len().saturating_sub(1)];
        let choices = [
            name,
            plain,
            halves[0].to_vec(),
            halves[1].to_vec(),
            less_one.to_vec(),
        ];
        for choice in choices {
            // Shorter, or as long and plainer: it comes to an end.
            let is_simpler =
                choice.len() < line.len() || (choice.len() == line.len() && !is_plain(line));
            if !is_simpler || self.is_over() {
                continue;
            }
            let mut case = self.best.clone();
            let all = case.inputs.iter_mut().flat_map(|input| &mut input.lines);
            all.filter(|each| *each == line)
                .for_each(|each| each.clone_from(&choice));
            if self.takes(case)? {
                return Ok(Some(choice));
            }
        }
        Ok(None)
    }
}

/// Tells whether a line is one letter, again and again.
fn is_plain(line: &[u8]) -> bool {
    line.iter()
        .all(|byte| byte.is_ascii_lowercase() && *byte == line[0])
}

const SIMPLER_SETTINGS: [fn(&mut Setting); 13] = [
    |setting| setting.way = Way::Intersect,
    |setting| setting.is_reversed = false,
    |setting| setting.hash = HashChoice::Fixed(0),
    |setting| setting.max_fpr = None,
    |setting| setting.bits_per_key = None,
    |setting| setting.always_spill = false,
    |setting| setting.threads = 1,
    |setting| setting.threads = setting.threads.min(2),
    |setting| setting.buckets = None,
    |setting| setting.buckets = setting.buckets.map(|_| 1),
    |setting| setting.buckets = setting.buckets.map(|buckets| buckets.min(2)),
    |setting| setting.memory_bytes = 64 << 20,
    |setting| setting.strategy = None,
];

const SIMPLER_CASES: [fn(&mut Case); 8] = [
    |case| case.again = None,
    |case| {
        case.inputs
            .iter_mut()
            .for_each(|input| input.is_fifo = false);
    },
    |case| {
        case.inputs
            .iter_mut()
            .for_each(|input| input.is_command = false);
    },
    |case| {
        case.inputs.iter_mut().for_each(|input| input.parts = 1);
    },
    |case| {
        case.inputs
            .iter_mut()
            .for_each(|input| input.compression = None);
    },
    |case| {
        case.inputs
            .iter_mut()
            .for_each(|input| input.is_terminated = true);
    },
    |case| case.strip_cr = false,
    |case| {
        if case
            .inputs
            .iter()
            .all(|input| input.lines.iter().all(|line| !line.contains(&b'\n')))
        {
            case.terminator = b'\n';
        }
    },
];
