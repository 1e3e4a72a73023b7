//! URLs that were given for files.
//!
//! *Owns:* the commands that read and write what they name. *Invariants:* a path that is there is no URL.

use std::path::Path;

/// A way to what a URL names.
struct Way {
    /// The beginning of such URLs.
    scheme: &'static str,
    /// The advice for one that is to be read.
    reading: &'static str,
    /// The advice for one that is to be written.
    writing: &'static str,
}

/// The ways by the schemes of URLs. The last is for any other.
const WAYS: [Way; 5] = [
    Way {
        scheme: "s3://",
        reading: "give the command that reads it, such as --via 'aws s3 cp {} -'",
        writing: "give the command that writes it, such as --out-via 'aws s3 cp - {}'",
    },
    Way {
        scheme: "gs://",
        reading: "give the command that reads it, such as --via 'gcloud storage cat {}'",
        writing: "give the command that writes it, such as --out-via 'gcloud storage cp - {}'",
    },
    Way {
        scheme: "http",
        reading: "give the command that reads it, such as --via 'curl -fsS {}'",
        writing: "give the command that writes it, such as --out-via 'curl -fsST - {}'",
    },
    Way {
        scheme: "file://",
        reading: "give the path alone, without file://",
        writing: "give the path alone, without file://",
    },
    Way {
        scheme: "",
        reading: "give the command that reads it to --via",
        writing: "give the command that writes it to --out-via",
    },
];

/// Returns the advice for a URL that is to be read, and is no file.
pub(crate) fn to_read(path: &Path) -> Option<&'static str> {
    way(path).filter(|_| !path.exists()).map(|way| way.reading)
}

/// Returns the advice for a URL that is to be written, and has no directory that it could be a file in.
pub(crate) fn to_write(path: &Path) -> Option<&'static str> {
    let has_directory = path.parent().is_some_and(Path::exists);
    way(path).filter(|_| !has_directory).map(|way| way.writing)
}

/// Finds the way to what a URL names; `None` for a path.
fn way(path: &Path) -> Option<&'static Way> {
    let text = path.to_str()?;
    let (scheme, _) = text.split_once("://")?;
    let is_scheme = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let mut ways = WAYS.iter();
    ways.find(|way| is_scheme && text.starts_with(way.scheme))
}
