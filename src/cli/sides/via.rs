//! The commands that sides are read through, and results written through.
//!
//! *Owns:* the values of --via, --via-of and --out-via. *Invariants:* no shell runs: words are split as a shell splits
//! them, and nothing in them is expanded.

/// The words of a command: a program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandWords(Vec<String>);

impl CommandWords {
    /// Splits the words of a command.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match shlex::split(text) {
            Some(words) if words.is_empty() => {
                Err("give a command, such as 'aws s3 cp {} -'".into())
            }
            Some(words) => Ok(Self(words)),
            None => Err("a quote is not closed, or a backslash stands at the end".into()),
        }
    }

    /// Returns the words: one at least.
    pub(crate) fn words(&self) -> &[String] {
        &self.0
    }
}

/// Splits off the number of a side, and the words of its command; `None` for a side that is read as files.
pub(super) fn parse_via_of(text: &str) -> Result<(usize, Option<CommandWords>), String> {
    let (number, command) = text.split_once('=').ok_or("give N=COMMAND or N=none")?;
    match number.parse() {
        Ok(number) if number > 0 && command == "none" => Ok((number, None)),
        Ok(number) if number > 0 => Ok((number, Some(CommandWords::parse(command)?))),
        _ => Err("sides are numbered from 1".into()),
    }
}
