//! The promises that the names of outputs make.
//!
//! *Owns:* the names of Parquet files and of compressed ones, `--compress`, which overrides the latter, and the hints
//! about names that promise what a command does not write. *Invariants:* what is written is what its name says, or the
//! user is told.

use std::path::{Path, PathBuf};

use clap::Args;
use outset::{Codec, Compression, CompressorPlan, Error, Options, Result};

use super::Claims;
use super::directory::DirectoryClaim;
use crate::cli::help::RESULT;
use crate::cli::options::TalkArguments;
use crate::cli::screen::warn;

/// Ends of the names of other compressed files, and of archives.
const PACKED: [&str; 7] = ["bgz", "br", "lzma", "z", "zip", "7z", "tgz"];
/// Ends of the names of pages.
const PAGES: [&str; 3] = ["html", "htm", "xhtml"];

/// The option for compressed results.
#[derive(Debug, Args)]
#[command(next_help_heading = RESULT)]
pub(crate) struct CompressArguments {
    /// Compress as gz, zst, lz4, bz2, xz or none, such as zst:9 [default: by FILE's name]
    ///
    /// Without this option, a FILE whose name ends in .gz, .zst, .lz4, .bz2 or .xz is written in that format, and
    /// standard output is not compressed. FORMAT may have a level, such as gz:9. The levels are 1 to 9 for gz (default:
    /// 6) and bz2 (9), 1 to 19 for zst (3), and 0 to 9 for xz (6); lz4 has none. Several threads compress beside the
    /// run; their memory is part of --memory. They write pieces of at most 2 MiB of text, one after the other, each
    /// compressed by itself: the tools of these formats read them as one file.
    #[arg(long, value_name = "FORMAT", value_parser = parse_stored)]
    compress: Option<Stored>,
}

impl CompressArguments {
    /// Returns the wish of the user, if there is one.
    pub(crate) fn asked(&self) -> Option<Stored> {
        self.compress
    }

    /// Returns the compression of a result that is planned, if one was asked for.
    pub(crate) fn compressions(&self) -> Vec<Compression> {
        let compression = self.compress.and_then(Stored::compression);
        compression.into_iter().collect()
    }
}

/// The way in which text is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    /// Plain text.
    Plain,
    /// Compressed.
    As(Compression),
}

impl Stored {
    /// Returns the compression, if it is one.
    pub(crate) fn compression(self) -> Option<Compression> {
        match self {
            Self::Plain => None,
            Self::As(compression) => Some(compression),
        }
    }
}

/// Parses `none`, `gz` or `gz:6`.
fn parse_stored(text: &str) -> std::result::Result<Stored, String> {
    let (name, level) = match text.split_once(':') {
        Some((name, level)) => (name, Some(level)),
        None => (text, None),
    };
    let Some(codec) = codec_named(name) else {
        return match (name, level) {
            ("none", None) => Ok(Stored::Plain),
            _ => Err("expected none, gz, zst, lz4, bz2 or xz, or one of these with :LEVEL".into()),
        };
    };
    let Some(level) = level else {
        return Ok(Stored::As(Compression::of(codec)));
    };
    let level = level.parse().ok();
    let compression = level.and_then(|level| Compression::with_level(codec, level));
    compression.map(Stored::As).ok_or_else(|| {
        let (least, _, most) = codec.levels();
        match (codec.ending(), least == most) {
            (name, true) => format!("{name} has no levels: leave out the level"),
            (name, false) => format!("the levels of {name} are {least} to {most}"),
        }
    })
}

/// Returns the format that is called so, as the end of a name or by the user.
fn codec_named(name: &str) -> Option<Codec> {
    match name {
        "gzip" => Some(Codec::Gzip),
        "zstd" => Some(Codec::Zstd),
        name => Codec::ALL.into_iter().find(|codec| codec.ending() == name),
    }
}

/// Returns the format that the end of a name promises.
fn codec_of(path: &Path) -> Option<Codec> {
    codec_named(&extension(path)?)
}

/// Tells whether this is the name of a Parquet file.
pub(crate) fn is_table(path: &Path) -> bool {
    extension(path).is_some_and(|end| end == "parquet")
}

impl Claims {
    /// Has the result, and what it drops, compressed as `asked`, else as their names say; leaves memory for that in the
    /// options of the run.
    ///
    /// # Errors
    /// [`Error::Usage`] where a Parquet file would be compressed as a whole.
    pub(crate) fn compress(&mut self, asked: Option<Stored>, options: &mut Options) -> Result<()> {
        self.is_stored_as_asked = asked.is_some();
        let of = |path: Option<&PathBuf>| path.map_or(Ok(None), |path| compression(path, asked));
        let (result, duplicates) = (of(self.result.as_ref())?, of(self.duplicates.as_ref())?);
        let mut of_directory = Vec::new();
        for file in self.directory.iter().flat_map(DirectoryClaim::files) {
            let new = compression(file, asked)?.filter(|one| !of_directory.contains(one));
            of_directory.extend(new);
        }
        let all: Vec<Compression> = [result, duplicates]
            .into_iter()
            .flatten()
            .chain(of_directory)
            .collect();
        let (outputs, threads, memory_bytes) = (all.len(), options.threads, options.memory_bytes);
        let plan = move |compression: Compression| {
            CompressorPlan::new(compression, outputs, threads, memory_bytes)
        };
        self.compressing = [result.map(plan), duplicates.map(plan)];
        if let Some(directory) = &mut self.directory {
            // Names that no file can have were refused just now.
            directory.compress_by(Box::new(move |name| {
                compression(name, asked).ok().flatten().map(plan)
            }));
        }
        options.compressions = all;
        Ok(())
    }

    /// Warns of outputs whose names promise something else than they are, unless that is unwanted. `has_rows` says that
    /// the result may be the rows of a Parquet file.
    ///
    /// # Errors
    /// [`Error::Usage`] where text would go to a file with the name of a Parquet file.
    pub(crate) fn check_names(&self, has_rows: bool, talk: &TalkArguments) -> Result<()> {
        let texts = self.result.iter().filter(|_| !has_rows);
        let mut texts = texts.chain(&self.duplicates);
        if let Some(path) = texts.find(|path| is_table(path)) {
            return Err(Error::usage(
                format!("{}: would get text, which is not Parquet", path.display()),
                "give it a name that does not end in .parquet",
            ));
        }
        if !talk.quiet {
            let lines = self.result.iter().chain(&self.duplicates);
            let lines = lines.filter(|_| !self.is_stored_as_asked);
            let lines = lines.filter_map(|path| Some((path, compressed(path)?)));
            let page = self.page.iter();
            let page = page.filter_map(|path| Some((path, other_than_page(path)?)));
            for (path, hint) in lines.chain(page) {
                warn(&format!("{}: {hint}", path.display()));
            }
        }
        Ok(())
    }
}

/// Returns the compression of what goes to `path`.
///
/// # Errors
/// [`Error::Usage`] where it is a Parquet file.
fn compression(path: &Path, asked: Option<Stored>) -> Result<Option<Compression>> {
    let by_name = codec_of(path).map(Compression::of);
    let compression = asked.map_or(by_name, Stored::compression);
    if compression.is_some() && is_table(path) {
        return Err(Error::usage(
            format!(
                "{}: --compress cannot compress a Parquet file",
                path.display()
            ),
            "leave out --compress: the pages of the file keep the compression of the input",
        ));
    }
    if by_name.is_some() && is_table(&path.with_extension("")) {
        return Err(Error::usage(
            format!(
                "{}: a Parquet file is not compressed as a whole",
                path.display()
            ),
            "give it a name that ends in .parquet, or for text a name without .parquet",
        ));
    }
    Ok(compression)
}

/// Returns a hint about lines that go to a file with the name of a compressed one.
fn compressed(path: &Path) -> Option<&'static str> {
    let end = extension(path)?;
    PACKED.contains(&end.as_str()).then_some(
        "is written as plain text, whatever its name says: give it a name that ends in .gz, .zst, .lz4, .bz2 or .xz",
    )
}

/// Returns a hint about a page that goes to a file with another name.
fn other_than_page(path: &Path) -> Option<&'static str> {
    let end = extension(path)?;
    (!PAGES.contains(&end.as_str())).then_some(
        "the report is an HTML page, whatever its name says: give it a name that ends in .html",
    )
}

fn extension(path: &Path) -> Option<String> {
    let end = path.extension()?.to_str()?;
    Some(end.to_ascii_lowercase())
}
