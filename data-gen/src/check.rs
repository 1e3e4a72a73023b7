//! Whether a result is right.
//!
//! *Owns:* reading a result line by line, telling its lines apart, and the verdict.
//!
//! *Invariants.* A result is right only if number, size and checksums equal the manifest's. Each line
//! is traced to its identity, so a wrong result is described by what is in it, and an approximate
//! one can be told from a wrong one: it holds all common lines, and others only from the input.
//!
//! *Cost:* 100 ns a line on one thread; memory for the longest line.

use std::fmt;
use std::io::BufRead;
use std::path::Path;

use crate::checksum::OrderFree;
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::identity::Class;
use crate::manifest::Manifest;
use crate::options::Crlf;
use crate::plan::Plan;

/// How a result is to be read and what is asked of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rules {
    /// A carriage return at the end of a line does not count.
    pub strip_cr: bool,
    /// Lines of the input that are not in common are allowed.
    pub superset: bool,
    /// Lines end with a zero byte.
    pub nul: bool,
}

/// What a result holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it meets the rules.
    pub right: bool,
    /// All its lines.
    pub found: OrderFree,
    /// Its lines that are in common, each as often as it is there.
    pub found_common: OrderFree,
    /// What the lines in common should be.
    pub expected: OrderFree,
    /// Lines that some files have, but not all.
    pub not_common: u64,
    /// Lines that no file has.
    pub foreign: u64,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.right { "right" } else { "WRONG" };
        writeln!(
            f,
            "{word}: {} lines, {} expected",
            self.found.count, self.expected.count
        )?;
        writeln!(f, "  in common        {}", self.found_common.count)?;
        writeln!(f, "  not in all files {}", self.not_common)?;
        write!(f, "  in no file       {}", self.foreign)?;
        if self.found_common != self.expected {
            let missing = self.expected.count.saturating_sub(self.found_common.count);
            write!(
                f,
                "\n  at least {missing} common lines are missing, or some are there twice"
            )?;
        }
        Ok(())
    }
}

/// Reads `result`, named `path` in errors, and compares it with `manifest`.
///
/// # Errors
/// [`Error::Io`] when reading fails, [`Error::Usage`] when the manifest's options are impossible.
pub fn check(
    manifest: &Manifest,
    result: impl BufRead,
    path: &Path,
    rules: Rules,
) -> Result<Verdict> {
    let plan = Plan::new(&manifest.options)?;
    let judge = Judge {
        rules,
        plan: &plan,
        crlf: manifest.options.crlf,
        empty_is_common: manifest.empty_line_is_common,
    };
    let expected = if rules.strip_cr {
        manifest.common_strip_cr
    } else {
        manifest.common
    };
    judge
        .read(result, expected)
        .map_err(|source| Error::reading(path, source))
}

struct Judge<'a> {
    rules: Rules,
    plan: &'a Plan,
    crlf: Crlf,
    empty_is_common: bool,
}

#[derive(PartialEq, Eq)]
enum Kind {
    Common,
    NotCommon,
    Foreign,
}

impl Judge<'_> {
    fn read(&self, mut result: impl BufRead, expected: OrderFree) -> std::io::Result<Verdict> {
        let terminator = if self.rules.nul { 0 } else { b'\n' };
        let mut verdict = Verdict {
            right: false,
            found: OrderFree::default(),
            found_common: OrderFree::default(),
            expected,
            not_common: 0,
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
            match self.kind(text, &mut spare) {
                Kind::Common => verdict.found_common.add(text),
                Kind::NotCommon => verdict.not_common += 1,
                Kind::Foreign => verdict.foreign += 1,
            }
            line.clear();
        }
        let complete = verdict.found_common == expected && verdict.foreign == 0;
        verdict.right = complete && (self.rules.superset || verdict.found == expected);
        Ok(verdict)
    }

    fn kind(&self, text: &[u8], spare: &mut Chunk) -> Kind {
        let bare = text.strip_suffix(b"\r").unwrap_or(text);
        let has_cr = bare.len() < text.len();
        let in_all_files = match self.plan.identify(bare, spare) {
            Some(identity) => identity.class == Class::Common,
            None if bare.is_empty() => self.empty_is_common,
            None => return Kind::Foreign,
        };
        let same_bytes = self.rules.strip_cr
            || match self.crlf {
                Crlf::None => !has_cr,
                Crlf::All => has_cr,
                Crlf::Only(_) => false,
            };
        if in_all_files && same_bytes {
            Kind::Common
        } else {
            Kind::NotCommon
        }
    }
}
