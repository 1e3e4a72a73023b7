//! The first lines of files, which may be headers that nobody has told of.
//!
//! *Owns:* comparing them. *Invariants:* nothing but a hint depends on it. *Cost:* a checksum of each line.

use crate::sys::checksum;

/// The first lines of some files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FirstLines {
    files: u64,
    /// The XXH3-64 of the first of them.
    checksum: u64,
    /// True if another one is different, or one cannot be a header.
    has_other: bool,
}

impl FirstLines {
    /// Adds the first line of a file, whose fields `delimiter` separates. A number is no name of a field.
    pub(super) fn add(&mut self, line: &[u8], delimiter: u8) {
        let is_number = |field: &[u8]| {
            let text = std::str::from_utf8(field).unwrap_or_default();
            text.trim().trim_matches('"').parse::<f64>().is_ok()
        };
        let checksum = checksum::of(line);
        self.has_other |= self.files > 0 && checksum != self.checksum;
        self.has_other |= line.split(|&byte| byte == delimiter).any(is_number);
        (self.files, self.checksum) = (self.files + 1, checksum);
    }

    /// Adds the first lines of other files.
    pub(crate) fn with(self, other: Self) -> Self {
        let differ = self.files > 0 && other.files > 0 && self.checksum != other.checksum;
        Self {
            files: self.files + other.files,
            checksum: if self.files > 0 {
                self.checksum
            } else {
                other.checksum
            },
            has_other: differ || self.has_other || other.has_other,
        }
    }

    /// Returns true if there are several, all of them equal, which could be headers.
    pub(crate) fn look_like_headers(self) -> bool {
        self.files > 1 && !self.has_other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str]) -> FirstLines {
        let mut all = FirstLines::default();
        for line in lines {
            all.add(line.as_bytes(), b',');
        }
        all
    }

    #[test]
    fn a21_equal_first_lines_without_numbers_look_like_headers() {
        for (lines, look_so) in [
            (&["id,name", "id,name"][..], true),
            (&["", ""], true),
            (&["id,name"], false),
            (&[], false),
            (&["id,name", "id,nam"], false),
            (&["id,7", "id,7"], false),
            (&["id,\"7.5\"", "id,\"7.5\""], false),
            (&["a", "a", "b"], false),
        ] {
            assert_eq!(of(lines).look_like_headers(), look_so, "{lines:?}");
            for parted in 0..=lines.len() {
                let (front, back) = lines.split_at(parted);
                assert_eq!(
                    of(front).with(of(back)).look_like_headers(),
                    look_so,
                    "{lines:?}"
                );
            }
        }
    }
}
