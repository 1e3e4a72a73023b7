//! The form of a key: all that decides its bytes, except where it is in the record.
//!
//! *Owns:* [`KeyForm`], which a stored filter keeps. *Invariants:* keys of forms that agree can be equal; of other
//! forms they are not comparable. A line and a single field of any syntax are written alike, so they agree. *Cost:*
//! none.

use crate::record::{Keys, Syntax};

/// The joint between the fields of a key that has several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    /// This byte between them.
    Delimited(u8),
    /// This byte between them, and quotes around those that need them.
    Csv(u8),
    /// They are a list in JSON.
    Json,
}

/// The form of keys that are made of the fields of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeyForm {
    /// True if they are compared without regard to the case of ASCII letters.
    pub ignores_case: bool,
    /// True if blanks and tabs at both ends of each field are left out.
    pub trims: bool,
    /// True if each run of blanks and tabs in a field counts as one blank.
    pub squeezes: bool,
    /// Number of fields of a key; 0 where a key is a whole line, and in files of versions that did not record it.
    pub fields: u32,
    /// The joint between several fields; `None` of one field, and of lines.
    pub joined: Option<Joined>,
}

impl KeyForm {
    /// Makes the form consistent: only two fields or more have a delimiter that joins them; else there is one field
    /// at most, and no delimiter.
    pub(crate) fn consistent(self) -> Self {
        match (self.fields, self.joined) {
            (2.., Some(_)) => self,
            (fields, _) => Self {
                fields: fields.min(1),
                joined: None,
                ..self
            },
        }
    }

    /// Returns true if keys of `asked` can be equal to keys of this form, as far as their fields go: a line can be
    /// equal to a key of one field.
    pub(crate) fn has_fields_of(self, asked: Self) -> bool {
        match self.fields {
            0 | 1 => asked.fields <= 1,
            fields => fields == asked.fields && self.joined == asked.joined,
        }
    }

    /// Says what differs between the forms of two sets of keys that are to be one; `None` if they agree.
    pub(crate) fn difference(self, other: Self) -> Option<&'static str> {
        if self.ignores_case != other.ignores_case {
            return Some("whether case is ignored (`ignores_case`)");
        }
        if self.trims != other.trims {
            return Some("whether blanks are left out (`trims`)");
        }
        if self.squeezes != other.squeezes {
            return Some("whether runs of blanks count as one (`squeezes`)");
        }
        (!other.has_fields_of(self)).then_some("the fields of their keys (`keys`)")
    }

    /// Returns the option that makes keys of `asked` such as these; `None` if they agree.
    pub(crate) fn advice(self, asked: Self) -> Option<String> {
        let option = |option: &str, is_wanted: bool| {
            Some(if is_wanted {
                format!("add {option}, because it was built with {option}")
            } else {
                format!("leave out {option}, because it was built without {option}")
            })
        };
        if self.ignores_case != asked.ignores_case {
            return option("`ignores_case`", self.ignores_case);
        }
        if self.trims != asked.trims {
            return option("`trims`", self.trims);
        }
        if self.squeezes != asked.squeezes {
            return option("`squeezes`", self.squeezes);
        }
        if self.has_fields_of(asked) {
            return None;
        }
        Some(match self.fields {
            0 => "give no `keys`, or one with 1 field, because it was built of whole lines (or by a version that did not \
                  record fields: build it again then)"
                .into(),
            1 => "give `keys` with 1 field, because it was built of keys of 1 field".into(),
            fields => {
                let with = self.joined_options();
                format!(
                    "give {with} and `keys` with {fields} fields, because it was built with them"
                )
            }
        })
    }

    /// Returns the options that join fields so; empty where none are.
    pub fn joined_options(self) -> String {
        let delimiter =
            |delimiter: u8| format!("`delimiter` '{}'", char::from(delimiter).escape_default());
        match self.joined {
            None => String::new(),
            Some(Joined::Delimited(b'\t')) => "`Syntax::Delimited(b'\\t')`".into(),
            Some(Joined::Delimited(byte)) => delimiter(byte),
            Some(Joined::Csv(b',')) => "`Syntax::Csv`".into(),
            Some(Joined::Csv(byte)) => format!("`Syntax::Csv` {}", delimiter(byte)),
            Some(Joined::Json) => "`Syntax::JsonLines`".into(),
        }
    }
}

impl Keys {
    /// Returns the form of the keys.
    pub fn form(&self) -> KeyForm {
        let own = self.fields_of.iter().map(|(_, fields)| fields.len());
        // All inputs have the same number, or none that is a key of its own.
        let fields = own.fold(self.fields.len(), usize::max) as u32;
        let joined = match self.syntax {
            Syntax::Whole => None,
            Syntax::Delimited(delimiter) => Some(Joined::Delimited(delimiter)),
            Syntax::Csv(dialect) => Some(Joined::Csv(dialect.delimiter)),
            Syntax::JsonLines => Some(Joined::Json),
        };
        let form = KeyForm {
            ignores_case: self.ignores_case,
            trims: self.trims,
            squeezes: self.squeezes,
            fields,
            joined,
        };
        form.consistent()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn form(fields: u32, joined: Option<Joined>) -> KeyForm {
        KeyForm {
            fields,
            joined,
            ..KeyForm::default()
        }
    }

    #[test]
    fn i17_lines_and_single_fields_agree_and_several_fields_only_with_as_many() {
        let (lines, one) = (form(0, None), form(1, None));
        let (two, tabs) = (
            form(2, Some(Joined::Csv(b','))),
            form(2, Some(Joined::Delimited(b'\t'))),
        );
        for (stored, asked, agree) in [
            (lines, lines, true),
            (lines, one, true),
            (lines, two, false),
            (one, lines, true),
            (one, one, true),
            (one, two, false),
            (two, lines, false),
            (two, one, false),
            (two, two, true),
            (two, tabs, false),
            (two, form(3, Some(Joined::Csv(b','))), false),
        ] {
            assert_eq!(
                stored.advice(asked).is_none(),
                agree,
                "{stored:?} {asked:?}"
            );
        }
        assert!(
            two.advice(one)
                .unwrap()
                .starts_with("give `Syntax::Csv` and `keys` with 2 fields")
        );
        assert!(
            tabs.advice(lines)
                .unwrap()
                .starts_with("give `Syntax::Delimited(b'\\t')` and")
        );
        for (one, other, agree) in [
            (lines, two, false),
            (two, lines, false),
            (two, one, false),
            (two, tabs, false),
        ] {
            assert_eq!(one.difference(other).is_none(), agree, "{one:?} {other:?}");
        }
    }

    #[test]
    fn i17_what_joins_fields_and_several_fields_come_together() {
        let csv = Some(Joined::Csv(b','));
        for (given, expected) in [
            (form(2, csv), form(2, csv)),
            (form(2, None), form(1, None)),
            (form(1, csv), form(1, None)),
            (form(0, csv), form(0, None)),
        ] {
            assert_eq!(given.consistent(), expected, "{given:?}");
        }
    }
}
