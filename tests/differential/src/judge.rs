//! The verdict on an answer.
//!
//! *Owns:* what must hold of an answer: of an exact one that it is the oracle's, of an approximate one that nothing is
//! missing, that what is there comes from an input, and that the false lines are about as many as it says.
//! *Invariants:* a verdict depends on the case's bytes and the answer alone. *Cost:* the distinct lines of all inputs,
//! and the answer sorted.

use std::cmp::Ordering;
use std::io;

use outset::compare::Mistake;
use outset::{Label, Order};

use crate::case::{Asked, Case, Often, Setting, Wanted, Way};
use crate::oracle::{self, Lines};
use crate::run::{Answer, Collected, Compared, Outcome, Runner, contents, numbers, pair_as_line};
use crate::sandbox::Contents;
use crate::wrong::{Wrong, WrongKind};

/// A setting that does not give the right answer.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The setting that failed.
    pub setting: Setting,
    /// The fault.
    pub wrong: Wrong,
}

/// The counts over many runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    /// True if runs that were refused with what was advised are printed.
    pub tells_refusals: bool,
    /// Runs.
    pub runs: u64,
    /// Runs that were refused for lack of memory, and then given as much as was advised.
    pub refused: u64,
    /// Runs that were refused with what was advised, too.
    pub refused_again: u64,
    /// Runs whose resident peak was measured.
    pub measured: u64,
    /// Lines that were found.
    pub lines: u64,
    /// Runs whose false lines were held against their prediction.
    pub predicted: u64,
}

/// Runs all settings of `case` and returns the first that is wrong.
///
/// # Errors
/// Where the files of the case cannot be made.
pub fn first_difference(
    runner: &Runner<'_>,
    case: &Case,
    tally: &mut Tally,
) -> io::Result<Option<Difference>> {
    let contents = contents(case);
    let truth = Truth::new(case, &contents);
    for setting in &case.settings {
        let outcome = runner.run(case, &contents, setting)?;
        let left = runner.sandbox.left()?;
        let found = match outcome {
            Outcome::Failure(wrong) => Err(wrong),
            _ if !left.is_empty() => {
                Wrong::err(WrongKind::Left, format!("in temporary space: {left:?}"))
            }
            Outcome::Answer(answer) => {
                tally.add(&answer, setting);
                truth.judge(case, setting, &answer, tally)
            }
        };
        if let Err(wrong) = found {
            let setting = *setting;
            return Ok(Some(Difference { setting, wrong }));
        }
    }
    Ok(None)
}

impl Tally {
    fn add(&mut self, answer: &Answer, setting: &Setting) {
        if self.tells_refusals && answer.refusals.len() > 1 {
            println!("{:#?} with {setting:?}", answer.refusals);
        }
        self.runs += 1;
        self.refused += u64::from(!answer.refusals.is_empty());
        self.refused_again += u64::from(answer.refusals.len() > 1);
        self.measured += u64::from(answer.memory.is_some());
        self.lines += answer.claimed.0;
    }
}

/// Checks an answer that was made elsewhere.
///
/// # Errors
/// What is wrong with it, in words.
pub fn judge(case: &Case, setting: &Setting, answer: &Answer) -> Result<(), Wrong> {
    let contents = contents(case);
    Truth::new(case, &contents).judge(case, setting, answer, &mut Tally::default())
}

/// The oracle's knowledge of a case.
struct Truth<'a> {
    contents: &'a Contents,
    inputs: Vec<Lines<'a>>,
    common: Lines<'a>,
}

impl<'a> Truth<'a> {
    fn new(case: &Case, contents: &'a Contents) -> Self {
        let distinct = |bytes: &'a Vec<u8>| oracle::distinct(bytes, case.terminator, case.strip_cr);
        let inputs: Vec<Lines> = contents.iter().map(distinct).collect();
        let common = oracle::common(&inputs);
        Self {
            contents,
            inputs,
            common,
        }
    }

    fn judge(
        &self,
        case: &Case,
        setting: &Setting,
        answer: &Answer,
        tally: &mut Tally,
    ) -> Result<(), Wrong> {
        if let Some((peak, limit)) = answer.memory
            && peak > limit
        {
            return Wrong::err(
                WrongKind::Memory,
                format!("{peak} bytes were resident, {limit} are the limit"),
            );
        }
        if let Way::Changed { kind } = setting.way {
            return answer.lines.iter().next().map_or(Ok(()), |line| {
                let what = format!("a {kind} filter has forgotten {}", shown(line));
                Wrong::err(WrongKind::Missing, what)
            });
        }
        if let Way::Select(wanted) = setting.way {
            return self.judge_selected(wanted, case, setting, answer);
        }
        if setting.way == Way::Pairs {
            return self.judge_pairs(&numbers(case, setting), answer);
        }
        let found = distinct(&answer.lines)?;
        if let Some(compared) = answer.compared {
            let named = numbers(case, setting);
            match setting.way {
                Way::Compare(Mistake::MissingLines) => {
                    return Self::judge_missing(&self.alone(&named), compared, &found);
                }
                Way::Compare(Mistake::LostLines) => {
                    let all = named.iter().flat_map(|&number| &self.inputs[number]);
                    return Self::judge_missing(&all.copied().collect(), compared, &found);
                }
                _ => {}
            }
            self.judge_false(compared, &found)?;
            return self.must_be_from_one_input(&found, 0..case.inputs.len());
        }
        let bytes: usize = found.iter().map(|line| line.len() + 1).sum();
        if answer.claimed != (found.len() as u64, bytes as u64) {
            let claimed = answer.claimed;
            return Wrong::err(
                WrongKind::Counts,
                format!(
                    "{claimed:?} lines and bytes claimed, {:?} came",
                    (found.len(), bytes)
                ),
            );
        }
        self.judge_lines(case, setting, answer, &found, tally)
    }

    /// The lines that a comparison calls false must not be common, and its counts must agree with them.
    fn judge_false(&self, compared: Compared, found: &Lines) -> Result<(), Wrong> {
        let (expected, wrong) = (self.common.len() as u64, found.len() as u64);
        let claimed = (compared.exact, compared.missing, compared.extra);
        if claimed != (expected, 0, wrong) || compared.approximate != expected + wrong {
            let what = format!("{compared:?}, where {expected} are common and {wrong} false");
            return Wrong::err(WrongKind::Counts, what);
        }
        found
            .intersection(&self.common)
            .next()
            .map_or(Ok(()), |line| {
                let what = format!("a common line is called false: {}", shown(line));
                Wrong::err(WrongKind::Extra, what)
            })
    }

    /// Lists the lines that only the first of the inputs with these numbers has.
    fn alone(&self, named: &[usize]) -> Lines<'a> {
        let has = |line: &&[u8], number: &usize| self.inputs[*number].contains(*line);
        let is_alone = |line: &&[u8]| !named[1..].iter().any(|number| has(line, number));
        let first = self.inputs[named[0]].iter().copied();
        first.filter(is_alone).collect()
    }

    /// The lines that a comparison calls missing must be of the exact result `all`, and its counts must agree with
    /// them.
    fn judge_missing(all: &Lines, compared: Compared, found: &Lines) -> Result<(), Wrong> {
        let (expected, missing) = (all.len() as u64, found.len() as u64);
        let claimed = (compared.exact, compared.missing, compared.extra);
        if claimed != (expected, missing, 0) || compared.approximate + missing != expected {
            let what =
                format!("{compared:?}, where {expected} are to be found and {missing} missing");
            return Wrong::err(WrongKind::Counts, what);
        }
        found.difference(all).next().map_or(Ok(()), |line| {
            let what = format!(
                "it is not of the exact result, but called missing: {}",
                shown(line)
            );
            Wrong::err(WrongKind::Extra, what)
        })
    }

    /// The answer must be the common lines of each two inputs, of those that are named by these numbers, and the number
    /// of all lines.
    fn judge_pairs(&self, named: &[usize], answer: &Answer) -> Result<(), Wrong> {
        let mut found = answer.lines.iter();
        for (one, first) in named.iter().enumerate() {
            for (other, second) in named.iter().enumerate() {
                let common = self.inputs[*first]
                    .intersection(&self.inputs[*second])
                    .count();
                let expected = pair_as_line(one, other, common as u64);
                let found = found.next().unwrap_or_default();
                if found != expected.as_bytes() {
                    let what = format!("pair {} instead of {expected}", found.escape_ascii());
                    return Wrong::err(WrongKind::Counts, what);
                }
            }
        }
        let all: Lines = named
            .iter()
            .flat_map(|&number| &self.inputs[number])
            .copied()
            .collect();
        if answer.claimed.0 == all.len() as u64 {
            return Ok(());
        }
        let what = format!(
            "{} lines claimed, {} are there",
            answer.claimed.0,
            all.len()
        );
        Wrong::err(WrongKind::Counts, what)
    }

    /// The answer must be what the oracle selects.
    fn judge_selected(
        &self,
        wanted: Wanted,
        case: &Case,
        setting: &Setting,
        answer: &Answer,
    ) -> Result<(), Wrong> {
        let named = numbers(case, setting);
        let lines =
            |&number: &usize| oracle::split(&self.contents[number], case.terminator, case.strip_cr);
        let sides: Vec<Vec<&[u8]>> = named.iter().map(lines).collect();
        let is_asked = |counts: &[usize]| {
            let has_sides = match wanted.asked {
                Asked::Difference => counts[0] > 0 && having(counts) == 1,
                Asked::Between(least, most) => {
                    (least as usize..=most as usize).contains(&having(counts))
                }
                Asked::Only(bits, _) => {
                    let mut sides = counts.iter().enumerate();
                    sides.all(|(side, &count)| (count > 0) == (bits >> side & 1 == 1))
                }
            };
            has_sides && wanted.counts.contains(counts)
        };
        let times = |counts: &[usize]| match wanted.often {
            Often::Once => usize::from(is_asked(counts)),
            Often::Repeats if is_asked(counts) => counts[0],
            Often::Repeats => 0,
            Often::All => in_multisets(wanted.asked, counts),
        };
        let written = |counts: &[usize]| match wanted.label {
            Label::None => String::new(),
            Label::SideCount => format!("{}\t", having(counts)),
            Label::Count => format!("{}\t", counts.iter().sum::<usize>()),
            _ => {
                let digit = |&count: &usize| if count > 0 { '1' } else { '0' };
                let digits: String = counts.iter().map(digit).collect();
                format!("{digits}\t")
            }
        };
        let is_each = wanted.often == Often::Repeats;
        let mut expected = oracle::selected(&sides, (wanted.order, is_each), times, written);
        wanted.counts.cut(&mut expected);
        let mut found: Vec<&[u8]> = answer.lines.iter().collect();
        if wanted.order == Order::Any {
            expected.sort_unstable();
            found.sort_unstable();
        }
        let bytes: usize = found.iter().map(|line| line.len() + 1).sum();
        if answer.claimed != (found.len() as u64, bytes as u64) {
            let what = format!("{:?} claimed, {} came", answer.claimed, found.len());
            return Wrong::err(WrongKind::Counts, what);
        }
        if expected.iter().map(Vec::as_slice).eq(found.iter().copied()) {
            return Ok(());
        }
        // An approximate answer may lack lines; what it has must come in the order of the exact one.
        let mut rest = expected.iter();
        let may_lack = !setting.asks_for_exact() && wanted.may_be_approximate();
        if may_lack && !answer.is_exact && found.iter().all(|line| rest.any(|right| right == line))
        {
            return Ok(());
        }
        let pairs = expected.iter().zip(&found);
        let agreed = pairs.take_while(|(right, found)| right == *found).count();
        let at = |lines: Option<&[u8]>| lines.map_or("nothing".into(), shown);
        let (right, wrong) = (expected.get(agreed), found.get(agreed).copied());
        let kind = match found.len().cmp(&expected.len()) {
            Ordering::Less => WrongKind::Missing,
            Ordering::Equal => WrongKind::Counts,
            Ordering::Greater => WrongKind::Extra,
        };
        let what = format!(
            "{wanted:?}: {} lines instead of {}: {} instead of {}",
            found.len(),
            expected.len(),
            at(wrong),
            at(right.map(Vec::as_slice)),
        );
        Wrong::err(kind, what)
    }

    fn judge_lines(
        &self,
        case: &Case,
        setting: &Setting,
        answer: &Answer,
        found: &Lines,
        tally: &mut Tally,
    ) -> Result<(), Wrong> {
        if let Some(line) = self.common.difference(found).next() {
            let (missing, all) = (self.common.difference(found).count(), self.common.len());
            return Wrong::err(
                WrongKind::Missing,
                format!(
                    "{missing} of {all} common lines are missing: {}",
                    shown(line)
                ),
            );
        }
        if let Some(line) = found.difference(&self.common).next()
            && (answer.is_exact || may_not_add(setting))
        {
            let what = format!(
                "it is not common, and the answer is to be exact: {}",
                shown(line)
            );
            return Wrong::err(WrongKind::Extra, what);
        }
        if answer.is_exact {
            return Ok(());
        }
        let named = numbers(case, setting);
        let asked = &named[usize::from(matches!(setting.way, Way::Stored { .. }))..];
        self.must_be_from_one_input(found, asked.iter().copied())?;
        self.judge_number(case, setting, answer, found, tally)
    }

    /// Checks that one of these inputs has all of `found`: the one that was asked about last.
    fn must_be_from_one_input(
        &self,
        found: &Lines,
        inputs: impl IntoIterator<Item = usize>,
    ) -> Result<(), Wrong> {
        let mut inputs = inputs.into_iter();
        if inputs.any(|input| found.is_subset(&self.inputs[input])) {
            return Ok(());
        }
        let what = "no input that was asked about has all lines of the result".to_owned();
        Wrong::err(WrongKind::Extra, what)
    }

    /// The false lines must be as many as chance gives at the rate that the filter's fill tells. Of more than two
    /// inputs, those of each step pass to the next; and lines that share hashes by design are no matter of chance.
    fn judge_number(
        &self,
        case: &Case,
        setting: &Setting,
        answer: &Answer,
        found: &Lines,
        tally: &mut Tally,
    ) -> Result<(), Wrong> {
        let Some(rate) = answer.fill_fpr else {
            return Ok(());
        };
        if case.different_inputs() != 2 || !setting.hash.is_fair() {
            return Ok(());
        }
        tally.predicted += 1;
        let asked = self.inputs.iter().filter(|input| found.is_subset(input));
        let could_pass = asked.map(|input| input.len() - self.common.len());
        let false_lines = (found.len() - self.common.len()) as f64;
        let fits = |could_pass: usize| {
            let expected = could_pass as f64 * rate;
            (false_lines - expected).abs() <= 0.2 * expected + 8.0 * expected.sqrt() + 12.0
        };
        // Where both inputs have all lines, either may be the one that was asked about.
        if could_pass.clone().any(fits) {
            return Ok(());
        }
        let could_pass: Vec<usize> = could_pass.collect();
        let what = format!("{false_lines} false lines of {could_pass:?}, at a rate of {rate}");
        Wrong::err(WrongKind::Rate, what)
    }
}

/// Counts the inputs that have a line, by how often each has it.
fn having(counts: &[usize]) -> usize {
    counts.iter().filter(|&&count| count > 0).count()
}

/// Returns how often a line comes in the result of multisets that have it so often.
fn in_multisets(asked: Asked, counts: &[usize]) -> usize {
    let sum: usize = counts.iter().sum();
    match asked {
        Asked::Difference => counts[0].saturating_sub(sum - counts[0]),
        Asked::Between(least, _) if least as usize == counts.len() => {
            counts.iter().copied().min().unwrap_or(0)
        }
        Asked::Between(1, 1) => counts[0].abs_diff(sum - counts[0]),
        Asked::Between(..) | Asked::Only(..) => sum,
    }
}

/// Tells whether the setting asks for an exact answer.
fn may_not_add(setting: &Setting) -> bool {
    setting.way == Way::Intersect && setting.asks_for_exact()
}

/// The lines, of which none may come twice.
fn distinct(lines: &Collected) -> Result<Lines<'_>, Wrong> {
    let mut found = Lines::new();
    for line in lines.iter() {
        if !found.insert(line) {
            return Wrong::err(
                WrongKind::Twice,
                format!("a line came twice: {}", shown(line)),
            );
        }
    }
    Ok(found)
}

/// A line for people: its length and its first bytes.
fn shown(line: &[u8]) -> String {
    let first = &line[..line.len().min(60)];
    format!("{} bytes: \"{}\"", line.len(), first.escape_ascii())
}
