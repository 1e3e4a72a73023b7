//! The promises that the names of outputs make.
//!
//! *Owns:* the names of Parquet files, and the hints about names that promise what a command does not write.
//! *Invariants:* apart from Parquet, a name changes nothing that is written.

use std::path::Path;

use outset::{Error, Result};

use super::Claims;
use crate::cli::options::TalkArguments;
use crate::cli::screen::warn;

/// Ends of the names of compressed files and of archives.
const PACKED: [&str; 14] = [
    "gz", "gzip", "bgz", "bz2", "xz", "zst", "zstd", "lz4", "br", "lzma", "z", "zip", "7z", "tgz",
];
/// Ends of the names of pages.
const PAGES: [&str; 3] = ["html", "htm", "xhtml"];

/// Tells whether this is the name of a Parquet file.
pub(crate) fn is_table(path: &Path) -> bool {
    extension(path).is_some_and(|end| end == "parquet")
}

impl Claims {
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

/// Returns a hint about lines that go to a file with the name of a compressed one.
fn compressed(path: &Path) -> Option<&'static str> {
    let end = extension(path)?;
    PACKED.contains(&end.as_str()).then_some(
        "is written as plain text, whatever its name says: leave out -o and compress standard output, such as | gzip",
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
