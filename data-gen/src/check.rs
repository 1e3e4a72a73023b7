//! The verdict on a result.
//!
//! *Owns:* reading a result line by line, telling its lines apart, and the verdict.
//!
//! *Invariants.* A result is right only if number, size and checksums equal the manifest's. Each line
//! is traced to its identity, so a wrong result is described by what is in it, and an approximate
//! one can be told from a wrong one: it holds all selected lines, and others only from the input.
//!
//! *Cost:* 100 ns a line on one thread; memory for the longest line.

use std::cmp::Ordering;
use std::fmt;
use std::io::BufRead;
use std::path::Path;

use crate::answers::Holders;
use crate::checksum::OrderFree;
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::manifest::Manifest;
use crate::plan::Plan;
use crate::question::Question;

/// The way to read a result, and the question that it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rules {
    /// A carriage return at the end of a line does not count.
    pub strip_cr: bool,
    /// Lines of the input that are not selected are allowed.
    pub superset: bool,
    /// Lines end with a zero byte.
    pub nul: bool,
    /// The question that the result should answer; a plain intersect by default.
    pub question: Question,
}

/// The content of a result, and its verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// True if it meets the rules.
    pub right: bool,
    /// All its lines.
    pub found: OrderFree,
    /// Its lines that the operation selects, each as often as it is there.
    pub found_selected: OrderFree,
    /// The checksums that these lines should have.
    pub expected: OrderFree,
    /// Lines that some files have, but that the operation does not select.
    pub not_selected: u64,
    /// Lines that no file has.
    pub foreign: u64,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.right { "right" } else { "WRONG" };
        let (found, expected) = (self.found_selected.count, self.expected.count);
        writeln!(f, "{word}: {} lines, {expected} expected", self.found.count)?;
        writeln!(f, "  selected     {found}")?;
        writeln!(f, "  not selected {}", self.not_selected)?;
        write!(f, "  in no file   {}", self.foreign)?;
        match found.cmp(&expected) {
            _ if self.found_selected == self.expected => Ok(()),
            Ordering::Less => write!(f, "\n  {} lines too few", expected - found),
            Ordering::Equal => write!(f, "\n  some lines too often, others missing"),
            Ordering::Greater => write!(f, "\n  {} lines too many", found - expected),
        }
    }
}

/// Reads `result`, named `path` in errors, and compares it with `manifest`.
///
/// # Errors
/// [`Error::Io`] when reading fails; [`Error::Usage`] when the manifest's options are impossible or it
/// has no answer to the question.
pub fn check(
    manifest: &Manifest,
    result: impl BufRead,
    path: &Path,
    rules: Rules,
) -> Result<Verdict> {
    let plan = Plan::new(&manifest.options)?;
    let expected = match rules.question {
        // Manifests of format 1 have this answer, too.
        Question::INTERSECT if rules.strip_cr => manifest.common_strip_cr,
        Question::INTERSECT => manifest.common,
        question => question.expected(manifest.answers(rules.strip_cr)?, plan.files())?,
    };
    let judge = Judge {
        rules,
        plan: &plan,
        selects: rules.question.selects(plan.files())?,
    };
    judge
        .read(result, expected)
        .map_err(|source| Error::reading(path, source))
}

struct Judge<'a, S> {
    rules: Rules,
    plan: &'a Plan,
    /// A test of whether the operation may write a line that these files have.
    selects: S,
}

impl<S: Fn(Holders) -> bool> Judge<'_, S> {
    fn read(&self, mut result: impl BufRead, expected: OrderFree) -> std::io::Result<Verdict> {
        let terminator = if self.rules.nul { 0 } else { b'\n' };
        let mut verdict = Verdict {
            right: false,
            found: OrderFree::default(),
            found_selected: OrderFree::default(),
            expected,
            not_selected: 0,
            foreign: 0,
        };
        let (mut line, mut spare) = (Vec::new(), Chunk::new());
        while result.read_until(terminator, &mut line)? > 0 {
            let text = line.strip_suffix(&[terminator]).unwrap_or(&line);
            let text = if self.rules.strip_cr {
                text.strip_suffix(b"\r").unwrap_or(text)
            } else {
                text
            };
            verdict.found.add(text);
            match self.holders(text, &mut spare) {
                Holders { files: 0, .. } => verdict.foreign += 1,
                holders if (self.selects)(holders) => verdict.found_selected.add(text),
                _ => verdict.not_selected += 1,
            }
            line.clear();
        }
        let complete = verdict.found_selected == expected && verdict.foreign == 0;
        verdict.right = complete && (self.rules.superset || verdict.found == expected);
        Ok(verdict)
    }

    /// Returns the files that have a line of the result.
    fn holders(&self, text: &[u8], spare: &mut Chunk) -> Holders {
        let bare = text.strip_suffix(b"\r").unwrap_or(text);
        let has_cr = bare.len() < text.len();
        let identity = self.plan.identify(bare, spare);
        let is_line = identity.is_some() || bare.is_empty();
        // A carriage return that is still there after one was stripped is no file's.
        if !is_line || (has_cr && self.rules.strip_cr) {
            return Holders::NONE;
        }
        let has_cr = (!self.rules.strip_cr).then_some(has_cr);
        self.plan.holders(identity, has_cr)
    }
}
