//! What decides the bytes of a key, beside where it is in its record.
//!
//! *Owns:* [`KeyForm`], which a stored filter keeps. *Invariants:* keys of forms that agree can be equal; of other forms they
//! are not comparable. A line and a single field of any syntax are written alike, so they agree. *Cost:* none.

use crate::record::{Keys, Syntax};

/// How keys are made of the fields of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeyForm {
    /// Whether they are compared without regard to the case of ASCII letters.
    pub ignores_case: bool,
    /// Whether blanks and tabs at both ends of each field are left out.
    pub trims: bool,
    /// Number of fields of a key; 0 where a key is a whole line, or the number is not known.
    pub fields: u32,
    /// What joins several fields to a key; [`Syntax::Whole`] of one field, and of lines.
    pub syntax: Syntax,
}

impl KeyForm {
    /// Whether keys of `asked` can be equal to keys of this form, as far as their fields go. Lines whose number of fields is
    /// not known can be equal to any.
    pub(crate) fn has_fields_of(self, asked: Self) -> bool {
        match self.fields {
            0 => true,
            1 => asked.fields <= 1,
            fields => fields == asked.fields && self.syntax == asked.syntax,
        }
    }

    /// What differs between the forms of two sets of keys that are to be one; `None` where they agree.
    pub(crate) fn difference(self, other: Self) -> Option<&'static str> {
        if self.ignores_case != other.ignores_case {
            return Some("whether case is ignored (-i)");
        }
        if self.trims != other.trims {
            return Some("whether blanks are left out (--trim)");
        }
        let agree = self.fields == 0 || other.has_fields_of(self);
        (!agree).then_some("the fields of their keys (--key)")
    }

    /// The option that makes keys of `asked` such as these; `None` where they agree.
    pub(crate) fn advice(self, asked: Self) -> Option<String> {
        let option = |option: &str, is_wanted: bool| {
            Some(if is_wanted {
                format!("add {option}, because it was built with {option}")
            } else {
                format!("leave out {option}, because it was built without {option}")
            })
        };
        if self.ignores_case != asked.ignores_case {
            return option("-i", self.ignores_case);
        }
        if self.trims != asked.trims {
            return option("--trim", self.trims);
        }
        if self.has_fields_of(asked) {
            return None;
        }
        Some(match self.fields {
            1 => "give --key with 1 field, because it was built of keys of 1 field".into(),
            fields => {
                let with = self.syntax_options();
                format!(
                    "give {with} and --key with {fields} fields, because it was built with them"
                )
            }
        })
    }

    /// The options for the syntax.
    pub fn syntax_options(self) -> String {
        let delimiter = |delimiter: u8| format!("-d '{}'", char::from(delimiter).escape_default());
        match self.syntax {
            Syntax::Whole => String::new(),
            Syntax::Delimited(b'\t') => "--tsv".into(),
            Syntax::Delimited(byte) => delimiter(byte),
            Syntax::Csv(b',') => "--csv".into(),
            Syntax::Csv(byte) => format!("--csv {}", delimiter(byte)),
            Syntax::JsonLines => "--jsonl".into(),
        }
    }
}

impl Keys {
    /// The form of the keys.
    pub fn form(&self) -> KeyForm {
        let own = self.fields_of.iter().map(|(_, fields)| fields.len());
        // All inputs have as many, or none that is a key of its own.
        let fields = own.fold(self.fields.len(), usize::max) as u32;
        KeyForm {
            ignores_case: self.ignores_case,
            trims: self.trims,
            fields,
            syntax: if fields > 1 {
                self.syntax
            } else {
                Syntax::Whole
            },
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn form(fields: u32, syntax: Syntax) -> KeyForm {
        KeyForm {
            fields,
            syntax,
            ..KeyForm::default()
        }
    }

    #[test]
    fn i14_lines_and_single_fields_agree_and_several_fields_only_with_as_many() {
        let (lines, one) = (form(0, Syntax::Whole), form(1, Syntax::Whole));
        let (two, tabs) = (
            form(2, Syntax::Csv(b',')),
            form(2, Syntax::Delimited(b'\t')),
        );
        for (stored, asked, agree) in [
            (lines, lines, true),
            (lines, one, true),
            (lines, two, true),
            (one, lines, true),
            (one, one, true),
            (one, two, false),
            (two, lines, false),
            (two, one, false),
            (two, two, true),
            (two, tabs, false),
            (two, form(3, Syntax::Csv(b',')), false),
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
                .starts_with("give --csv and --key with 2 fields")
        );
        assert!(tabs.advice(lines).unwrap().starts_with("give --tsv and"));
        for (one, other, agree) in [
            (lines, two, true),
            (two, lines, true),
            (two, one, false),
            (two, tabs, false),
        ] {
            assert_eq!(one.difference(other).is_none(), agree, "{one:?} {other:?}");
        }
    }
}
