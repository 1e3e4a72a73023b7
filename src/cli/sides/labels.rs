//! The labels of sides, as they are given.
//!
//! *Owns:* the option --name, and which side each is about. *Invariants:* a side has one label at most, and no other
//! side is called so. *Cost:* a look at the words of all sides for each label.

use std::path::{Path, PathBuf};

use clap::Args;
use outset::{Error, Result};

use super::InputArguments;
use crate::cli::help::INPUTS;

/// The labels that the user gives.
#[derive(Debug, Args)]
#[command(next_help_heading = INPUTS)]
pub(crate) struct LabelArguments {
    /// Call the side PATH by a LABEL in tables, charts and statistics; repeat for further sides
    ///
    /// PATH is a FILE, a PATH of --side or a LIST, as it stands on the command line, or the number of a side, from 1.
    /// Without this option, the label of a side is the shortest end of its path that no other side has, such as
    /// 2025/a.txt beside 2024/a.txt. JSON has the whole path, too.
    #[arg(long, value_name = "LABEL=PATH", value_parser = parse_label)]
    name: Vec<(String, PathBuf)>,
}

/// Splits a label from the name of its side.
fn parse_label(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((label, path)) if !label.is_empty() && !path.is_empty() => {
            Ok((label.to_owned(), path.into()))
        }
        _ => Err("give LABEL=PATH, such as old=2024/a.txt".into()),
    }
}

impl LabelArguments {
    /// Returns the labels by the numbers of their sides, from 1.
    ///
    /// # Errors
    /// [`Error::Usage`] for a name that is no side's, or of several; for two labels of one side, and for two sides of
    /// one label.
    pub(crate) fn labels(&self, inputs: &InputArguments) -> Result<Vec<(u32, String)>> {
        let mut labels: Vec<(u32, String)> = Vec::new();
        for (label, path) in &self.name {
            let number = number_of(inputs, label, path)?;
            if let Some((_, other)) = labels.iter().find(|(own, _)| *own == number) {
                return Err(Error::usage(
                    format!("--name {label}: side {number} already has the label {other}"),
                    "give each side one label",
                ));
            }
            if labels.iter().any(|(_, other)| other == label) {
                return Err(called_twice(label));
            }
            labels.push((number, label.clone()));
        }
        // A side without a label can always be told apart by its whole path, unless that is the label of another one.
        for (side, number) in inputs.sides.iter().zip(1..) {
            let has_label = labels.iter().any(|(own, _)| *own == number);
            let is_called = |(_, label): &&(u32, String)| {
                side.words()
                    .first()
                    .is_some_and(|word| word == Path::new(label))
            };
            if let Some((_, label)) = labels.iter().find(is_called).filter(|_| !has_label) {
                return Err(called_twice(label));
            }
        }
        Ok(labels)
    }
}

/// Finds the number of the side that is named by `path`.
fn number_of(inputs: &InputArguments, label: &str, path: &Path) -> Result<u32> {
    let sides = (1..).zip(&inputs.sides);
    let named: Vec<u32> = sides
        .filter(|(_, side)| {
            side.words()
                .iter()
                .any(|word| word.as_os_str() == path.as_os_str())
        })
        .map(|(number, _)| number)
        .collect();
    match named[..] {
        [number] => return Ok(number),
        [first, second, ..] => {
            return Err(Error::usage(
                format!(
                    "--name {label}={}: sides {first} and {second} are both named so",
                    path.display()
                ),
                format!("give the number of the side, such as --name {label}={first}"),
            ));
        }
        [] => {}
    }
    let number = path.to_str().and_then(|text| text.parse().ok());
    let count = inputs.sides.len() as u32;
    number
        .filter(|number| (1..=count).contains(number))
        .ok_or_else(|| {
            Error::usage(
                format!("--name {label}={}: there is no side of this name", path.display()),
                format!(
                    "give a path as it stands on the command line, or the number of a side, from 1 to {count}"
                ),
            )
        })
}

fn called_twice(label: &str) -> Error {
    Error::usage(
        format!("--name {label}: two sides would be called {label}"),
        "give each side a label of its own",
    )
}
