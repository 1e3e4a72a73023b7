//! The command that takes a result.
//!
//! *Owns:* `--out-via`. *Invariants:* the name of such a result is no local file: nothing is looked up, claimed or
//! replaced there.

use std::path::{Path, PathBuf};

use clap::Args;
use outset::{Consumer, Error, Result, Source};
use rustix::io::Errno;

use super::directory::DirectoryClaim;
use super::{Claims, is_table};
use crate::cli::help::RESULT;
use crate::cli::options::TalkArguments;
use crate::cli::sides::CommandWords;
use crate::cli::urls;

/// The option for a result that a command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = RESULT)]
pub(crate) struct OutViaArguments {
    /// Write the result to the standard input of COMMAND, in which the FILE of -o takes the place of {}
    ///
    /// COMMAND is split into words as a shell splits them, but no shell runs. FILE is only a name, such as
    /// s3://b/new.gz, and no local file; without {} in COMMAND, it is one more word. If FILE ends in .gz, .zst, .lz4,
    /// .bz2 or .xz, the result is compressed (see --compress).
    ///
    /// The run succeeds only if COMMAND reads everything and ends with status 0. Otherwise the exit status is 5, and
    /// the error has COMMAND's last words. If the run fails or is interrupted, outset stops COMMAND before its standard
    /// input ends, so that COMMAND never takes a part of the result for all of it. -v shows what COMMAND prints.
    ///
    /// -o s3://b/new.gz --out-via 'aws s3 cp - {}'
    #[arg(long, value_name = "COMMAND", value_parser = CommandWords::parse)]
    out_via: Option<CommandWords>,
}

impl OutViaArguments {
    /// Returns `output` if it is a local file.
    pub(crate) fn local<'p>(&self, output: Option<&'p Path>) -> Option<&'p Path> {
        output.filter(|_| self.out_via.is_none())
    }

    /// Makes the command that takes the result, if there is one.
    fn consumer(&self, output: Option<&Path>, talk: &TalkArguments) -> Result<Option<Consumer>> {
        if self.out_via.is_none() {
            return output.map_or(Ok(None), |output| self.check_url(output).map(|()| None));
        }
        let Some(name) = output.filter(|&output| output != Path::new("-")) else {
            return Err(Error::usage(
                "--out-via: the result has no name",
                "add -o NAME, such as -o s3://bucket/name, or --out-dir NAME",
            ));
        };
        if is_table(name) {
            return Err(Error::usage(
                format!("{}: --out-via cannot write a Parquet file", name.display()),
                "leave out --out-via, or give the output another name",
            ));
        }
        Ok(self.named(name, talk))
    }

    /// Refuses a URL where no command takes the result.
    fn check_url(&self, output: &Path) -> Result<()> {
        match urls::to_write(output).filter(|_| self.out_via.is_none()) {
            None => Ok(()),
            Some(advice) => Err(Error::Output {
                target: output.display().to_string(),
                what: "cannot open for writing",
                source: Errno::NOENT.into(),
                advice,
            }),
        }
    }

    /// Makes the command that takes a result with this name, if there is one.
    fn named(&self, name: &Path, talk: &TalkArguments) -> Option<Consumer> {
        let words = self.out_via.as_ref()?.words();
        Some(Consumer::new(words, name).heard(talk.verbose))
    }
}

impl Claims {
    /// Claims the result: for the command of `via`, or as [`Claims::write_result`] does for `-o`.
    ///
    /// # Errors
    /// [`Error::Usage`] where a command lacks a name, or would get a Parquet file; those of [`Claims::write_result`].
    pub(crate) fn send_result(
        &mut self,
        path: Option<&Path>,
        via: &OutViaArguments,
        talk: &TalkArguments,
    ) -> Result<()> {
        self.consumer = via.consumer(path, talk)?;
        match &self.consumer {
            Some(consumer) => {
                self.result = Some(consumer.name().to_owned());
                Ok(())
            }
            None => self.write_result(path, "-o"),
        }
    }

    /// Claims the directory at `path` for the files of `sources`, which were named as `given`; or has the command of
    /// `via` take each.
    ///
    /// # Errors
    /// [`Error::Output`] for a URL without a command.
    pub(crate) fn send_to_directory(
        &mut self,
        path: &Path,
        via: &OutViaArguments,
        talk: &TalkArguments,
        (given, sources): (Vec<PathBuf>, &[Source]),
    ) -> Result<()> {
        via.check_url(path)?;
        let consumer = via.named(path, talk);
        self.directory = Some(DirectoryClaim::new(path, consumer, given, sources));
        Ok(())
    }
}
