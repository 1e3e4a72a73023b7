//! A case as a script to paste, and as runs of the command.
//!
//! *Owns:* the translation of inputs to `printf` and of settings to options of the command. *Invariants:* the script
//! makes the inputs byte for byte. What the command has no option for is said in a comment. *Cost:* runs of equal bytes
//! take a line each.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use outset::compare::Mistake;
use outset::{Label, Order, Source};

use crate::case::{Alias, Asked, Case, HashChoice, Input, Often, Setting, Wanted, Way};
use crate::judge::{self, Difference};
use crate::oracle;
use crate::run::{Answer, Collected, numbers, sources};
use crate::sandbox::{Sandbox, input_name, part_name};
use crate::wrong::{Wrong, WrongKind};

/// So many equal bytes are written as such.
const LONG_RUN: usize = 200;
/// A script of more bytes is nothing to paste.
const MOST_BYTES: usize = 200_000;

/// The case as a script for a POSIX shell.
pub fn script(case: &Case) -> String {
    let mut script = String::from("#!/bin/sh\n");
    for (number, content) in case.contents().iter().enumerate() {
        let input = &case.inputs[number];
        script.push_str(&written(content, &input_name(number)));
        script.push_str(&compressed(input, &input_name(number)));
        if input.is_fifo {
            script.push_str("  # through a FIFO");
        }
        if input.is_command {
            script.push_str("  # through a command: --via-of N=cat");
        }
        script.push('\n');
        if input.is_split() {
            for (part, file) in input.split(case.terminator).iter().enumerate() {
                script.push_str(&written(file, &part_name(number, part)));
                script.push_str(&compressed(input, &part_name(number, part)));
                script.push('\n');
            }
        }
    }
    for setting in &case.settings {
        add_setting(&mut script, case, setting);
    }
    if script.len() > MOST_BYTES {
        return format!(
            "(a script of {} bytes is too long to paste: use the seed)",
            script.len()
        );
    }
    script
}

/// The command that compresses a file, all in one frame; nothing where it is plain.
fn compressed(input: &Input, name: &str) -> String {
    input.compression.map_or(String::new(), |(compression, _)| {
        let (suffix, program) = compression.suffix_and_program();
        format!(" && {program} -c < {name} > {name}.{suffix} && mv {name}.{suffix} {name}")
    })
}

/// The command that writes a file.
fn written(content: &[u8], name: &str) -> String {
    if content.is_empty() {
        format!(": > {name}")
    } else {
        format!("{{ {}; }} > {name}", printed(content))
    }
}

/// A side as it is named where one of the inputs is split.
fn side(case: &Case, name: &str) -> String {
    let is_split = |number: &usize| case.inputs[*number].is_split() && input_name(*number) == name;
    match (0..case.inputs.len()).find(is_split) {
        Some(_) => format!("--side '{name}.*'"),
        None => format!("--side {name}"),
    }
}

fn add_setting(script: &mut String, case: &Case, setting: &Setting) {
    if setting.always_spill {
        script.push_str("# in the library: always_spill\n");
    }
    if !matches!(setting.hash, HashChoice::Fixed(_) | HashChoice::Random) {
        let _infallible = writeln!(
            script,
            "# in the library: hash_key {:?}",
            setting.hash.key()
        );
    }
    let mut names: Vec<String> = numbers(case, setting).into_iter().map(input_name).collect();
    if let Some(alias) = case.again.filter(|&alias| alias != Alias::Path) {
        let link = if alias == Alias::HardLink {
            "ln"
        } else {
            "ln -s"
        };
        let _infallible = writeln!(script, "{link} {} again", input_name(0));
        let second = if setting.is_reversed {
            0
        } else {
            names.len() - 1
        };
        "again".clone_into(&mut names[second]);
    }
    let (first, files) = match setting.way {
        Way::Intersect => ("outset intersect".to_owned(), &names[..]),
        Way::Select(wanted) => {
            let command = selecting(wanted, names.len()).join(" ");
            (format!("outset {command}"), &names[..])
        }
        Way::Pairs => ("outset overlaps --pairs".to_owned(), &names[..]),
        Way::Compare(Mistake::FalseLines) => ("outset compare".to_owned(), &names[..]),
        Way::Compare(Mistake::MissingLines) => {
            ("outset compare --operation diff".to_owned(), &names[..])
        }
        Way::Compare(Mistake::LostLines) => {
            ("outset compare --operation union".to_owned(), &names[..])
        }
        Way::Changed { kind } => {
            script.push_str(&changes(&names[0], kind));
            return;
        }
        Way::Stored { kind, fpr } => {
            let build = arguments(case, setting, &["--memory", "--threads"]).join(" ");
            let _infallible = writeln!(
                script,
                "outset filter build {} --kind {} --lines 1000 --max-fpr {fpr} -o filter.osf {build}",
                names[0],
                kind.name(),
            );
            (
                "outset intersect --filter filter.osf".to_owned(),
                &names[1..],
            )
        }
    };
    let options = arguments(case, setting, &[]).join(" ");
    let files: Vec<String> = if case.inputs.iter().any(Input::is_split) {
        files.iter().map(|name| side(case, name)).collect()
    } else {
        files.to_vec()
    };
    let _infallible = writeln!(script, "{first} {} {options}", files.join(" "));
}

/// The command that selects lines, and its options for that.
fn selecting(wanted: Wanted, sides: usize) -> Vec<String> {
    let mut command = match wanted.asked {
        Asked::Difference => vec!["diff".to_owned()],
        Asked::Between(1, most) if most as usize == sides => vec!["union".to_owned()],
        Asked::Between(1, 1) => vec!["symdiff".to_owned()],
        Asked::Between(least, most) if (least, most) == (sides as u32, sides as u32) => {
            vec!["intersect".to_owned()]
        }
        Asked::Between(least, most) => {
            let bounds = [format!("--at-least={least}"), format!("--at-most={most}")];
            ["intersect".to_owned()].into_iter().chain(bounds).collect()
        }
        Asked::Only(bits, sides) => {
            let digits: String = (0..sides)
                .map(|side| (bits >> side & 1).to_string())
                .collect();
            vec!["intersect".to_owned(), format!("--only={digits}")]
        }
    };
    match wanted.label {
        Label::Sides => command.push("--which".to_owned()),
        Label::SideCount => command.push("--count-files".to_owned()),
        Label::Count => command.push("--count".to_owned()),
        _ => {}
    }
    match wanted.often {
        Often::Once => {}
        Often::Repeats => command.push("--repeats".to_owned()),
        Often::All => command.push("--all".to_owned()),
    }
    let counts = wanted.counts;
    let bounds = [
        ("--min-count", counts.least),
        ("--max-count", counts.most),
        ("--top", counts.top),
    ];
    let given = bounds
        .iter()
        .filter_map(|(name, number)| Some(format!("{name}={}", (*number)?)));
    command.extend(given);
    if wanted.order != Order::Any {
        command.push(format!("--order={}", wanted.order.name()));
    }
    command
}

/// A filter of which half of the lines are removed again, and the question what of the rest it has lost.
fn changes(first: &str, kind: outset::filter::Kind) -> String {
    format!(
        "outset filter build --kind {kind} --lines 200 --max-fpr 0.3 -o filter.osf\n\
         outset filter insert filter.osf --print-new {first} > new\n\
         half=$(($(wc -l < {first}) / 2))\n\
         head -n $half {first} | outset filter remove filter.osf\n\
         tail -n +$((half + 1)) {first} | outset filter query filter.osf --invert\n"
    )
}

/// The options of a setting; `only` those, and what a line is, if any are named.
fn arguments(case: &Case, setting: &Setting, only: &[&str]) -> Vec<String> {
    let strategy = setting.strategy.map(|strategy| strategy.name().to_owned());
    let given = [
        ("--memory", Some(setting.memory_bytes.to_string())),
        ("--threads", Some(setting.threads.to_string())),
        ("--strategy", strategy),
        (
            "--buckets",
            setting.buckets.map(|buckets| buckets.to_string()),
        ),
        (
            "--bits-per-key",
            setting.bits_per_key.map(|bits| bits.to_string()),
        ),
        ("--max-fpr", setting.max_fpr.map(|rate| rate.to_string())),
        ("--key-type", case.is_ipv4.then(|| "ipv4".to_owned())),
    ];
    let given = given
        .into_iter()
        .filter(|(name, _)| only.is_empty() || only.contains(name));
    let mut arguments: Vec<String> = given
        .filter_map(|(name, value)| Some([name.to_owned(), value?]))
        .flatten()
        .collect();
    if case.terminator == 0 {
        arguments.push("-z".to_owned());
    }
    if case.strip_cr {
        arguments.push("--strip-cr".to_owned());
    }
    if let HashChoice::Fixed(number) = setting.hash {
        let words = HashChoice::words(number).map(|word| format!("{word:016x}"));
        arguments.extend(["--hash-key".to_owned(), words.concat()]);
    }
    arguments
}

/// Commands that print `content`.
fn printed(content: &[u8]) -> String {
    let mut commands = Vec::new();
    let mut plain: &[u8] = &[];
    let mut start = 0;
    for run in content.chunk_by(|a, b| a == b) {
        let end = start + run.len();
        if run.len() < LONG_RUN {
            plain = &content[start - plain.len()..end];
        } else {
            commands.extend(literal(plain));
            plain = &[];
            commands.push(format!(
                "head -c {} /dev/zero | tr '\\0' '\\{:03o}'",
                run.len(),
                run[0]
            ));
        }
        start = end;
    }
    commands.extend(literal(plain));
    commands.join("; ")
}

fn literal(bytes: &[u8]) -> Option<String> {
    let escaped = bytes.iter().fold(String::new(), |mut text, &byte| {
        match byte {
            b'\n' => text.push_str("\\n"),
            // A percent sign, a quote and a backslash mean something to the shell or to printf.
            b' '..=b'~' if !b"%'\\-".contains(&byte) => text.push(char::from(byte)),
            _ => {
                let _infallible = write!(text, "\\{byte:03o}");
            }
        }
        text
    });
    (!bytes.is_empty()).then(|| format!("printf '{escaped}'"))
}

/// The command `outset`, run over cases.
#[derive(Debug)]
pub struct Program<'p> {
    path: PathBuf,
    sandbox: &'p Sandbox,
    /// Number of runs.
    pub runs: u64,
}

/// The options after the inputs that the command must refuse: one pipe under two names, and each of the inputs as an
/// output.
const REFUSED: [&[&str]; 4] = [
    &["-", "/dev/stdin"],
    &["/dev/fd/0", "-"],
    &["-o", "a"],
    &["--stats", "again"],
];

impl<'p> Program<'p> {
    /// The program at `path`.
    pub fn new(path: &Path, sandbox: &'p Sandbox) -> Self {
        Self {
            // It is run in other directories, too.
            path: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
            sandbox,
            runs: 0,
        }
    }

    /// Runs the settings that it has options for; the inputs are files.
    ///
    /// # Errors
    /// Where files cannot be made, or the program not be run.
    pub fn first_difference(&mut self, case: &Case) -> io::Result<Option<Difference>> {
        let contents = case.contents();
        for (number, content) in contents.iter().enumerate() {
            let input = &case.inputs[number];
            self.sandbox.write(number, &input.stored(content)?)?;
            if input.is_split() {
                self.sandbox.write_parts(number, input, case.terminator)?;
            }
        }
        for setting in &case.settings {
            if !matches!(setting.way, Way::Intersect | Way::Select(_)) {
                continue;
            }
            let mut found = self.run(case, setting)?;
            for refused in REFUSED {
                found = found.and(self.must_refuse(case, setting, &contents, refused)?);
            }
            if let Err(wrong) = found {
                let setting = *setting;
                return Ok(Some(Difference { setting, wrong }));
            }
        }
        Ok(None)
    }

    /// Runs the setting with arguments that the command must refuse before it does anything.
    fn must_refuse(
        &mut self,
        case: &Case,
        setting: &Setting,
        contents: &[Vec<u8>],
        refused: &[&str],
    ) -> io::Result<Result<(), Wrong>> {
        let mut command = Command::new(&self.path);
        self.sandbox.alias(Alias::SymbolicLink)?;
        command.current_dir(self.sandbox.path(""));
        command.arg("intersect").arg("-q");
        command
            .args((0..case.inputs.len()).map(input_name))
            .args(refused);
        command.arg("--temp-dir").arg(self.sandbox.temp());
        // Standard input is a pipe, which nobody writes.
        let command = command
            .args(arguments(case, setting, &[]))
            .stdin(Stdio::piped());
        let output = command.output()?;
        self.runs += 1;
        let is_untouched =
            std::fs::read(self.sandbox.input(0))? == case.inputs[0].stored(&contents[0])?;
        if output.status.code() == Some(2) && is_untouched {
            return Ok(Ok(()));
        }
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let what = format!(
            "with {refused:?} the command ended with {} (input untouched: {is_untouched}): {told}",
            output.status
        );
        Ok(Err(Wrong::new(WrongKind::Error, what)))
    }

    fn run(&mut self, case: &Case, setting: &Setting) -> io::Result<Result<(), Wrong>> {
        let mut command = Command::new(&self.path);
        let of_operation = match setting.way {
            Way::Select(wanted) => selecting(wanted, numbers(case, setting).len()),
            _ => vec!["intersect".to_owned()],
        };
        command.args(of_operation).arg("-q");
        for (source, number) in sources(case, setting, self.sandbox)?.into_iter().zip(1..) {
            command.arg("--side");
            match source {
                Source::Files(files) => command.args(files.paths()),
                Source::Path(path) => command.arg(path),
                Source::Producer(producer) => command
                    .args(producer.names())
                    .arg(format!("--via-of={number}=cat")),
                _ => command.arg("-"),
            };
        }
        command.arg("--temp-dir").arg(self.sandbox.temp());
        let output = command.args(arguments(case, setting, &[])).output()?;
        self.runs += 1;
        let left = self.sandbox.left()?;
        if !left.is_empty() {
            return Ok(Err(Wrong::new(
                WrongKind::Left,
                format!("by the command: {left:?}"),
            )));
        }
        match output.status.code() {
            Some(0) => {}
            // Lack of memory: the whole process has it, here.
            Some(6) => return Ok(Ok(())),
            _ => {
                let told = String::from_utf8_lossy(&output.stderr).into_owned();
                let what = format!("the command ended with {}: {told}", output.status);
                return Ok(Err(Wrong::new(WrongKind::Error, what)));
            }
        }
        let lines = oracle::split(&output.stdout, case.terminator, false);
        let lines = Collected::of(lines);
        let is_exact = setting.asks_for_exact();
        let claimed = (lines.count() as u64, output.stdout.len() as u64);
        Ok(judge::judge(
            case,
            setting,
            &Answer::bare(lines, is_exact, claimed),
        ))
    }
}
