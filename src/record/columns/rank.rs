//! The rank of a record among those with the same key.
//!
//! *Owns:* the column that has it, and taking it out of a record. *Invariants:* the smallest rank wins. *Cost:* one
//! more look at the record, and a copy of its field where that has quotes.

use crate::record::columns::{Columns, MOST_BUILT_BYTES, Ranked, without_cr};
use crate::record::rank::{NO_NUMBER, Ranking};
use crate::record::{Bad, Field, Syntax, csv, delimited_values, json};

impl Columns {
    /// Returns the same where records are ranked, by the field with this number, from 0, where fields have numbers.
    pub(in crate::record) fn ranked(self, ranking: &Ranking, number: u32) -> Self {
        let ranked = Some(Ranked {
            ranking: ranking.clone(),
            number,
            path: json::Path::new(ranking.field()),
        });
        Self { ranked, ..self }
    }

    /// Returns true if records are ranked.
    pub(crate) fn ranks(&self) -> bool {
        self.ranked.is_some()
    }

    /// Returns the caller's name for the field by which records are ranked.
    pub(crate) fn ranked_by(&self) -> String {
        let field = self.ranked.as_ref().map(|ranked| ranked.ranking.field());
        field.map_or_else(String::new, Field::to_string)
    }

    /// Ranks `record` among those with the same key: the smallest rank wins. It is 0 where records are not ranked.
    ///
    /// # Errors
    /// Why it has no rank.
    pub(crate) fn rank(&self, record: &[u8]) -> Result<u128, Bad> {
        let Some(Ranked {
            ranking,
            number,
            path,
        }) = &self.ranked
        else {
            return Ok(0);
        };
        let mut rank = None;
        match self.syntax {
            Syntax::Delimited(delimiter) => {
                delimited_values::for_fields(record, delimiter, &[*number], |_, field| {
                    rank = ranking.of_text(field);
                })?;
            }
            Syntax::Csv(dialect) => {
                csv::for_fields(without_cr(record), dialect, &[*number], |_, field| {
                    // No number is as long as that.
                    let is_short = field.bytes() <= MOST_BUILT_BYTES;
                    rank = is_short
                        .then(|| field.text(dialect))
                        .and_then(|text| ranking.of_text(&text));
                })?;
            }
            Syntax::JsonLines => {
                let value = json::value(record, path, false, MOST_BUILT_BYTES);
                rank = match value.map_err(|_| Bad::NoRank)? {
                    None => Some(NO_NUMBER),
                    Some(json::Value::Plain(text)) => ranking.of_text(text.as_bytes()),
                    Some(json::Value::Text(text)) => ranking.of_text(text.as_bytes()),
                    Some(_) => None,
                };
            }
            Syntax::Whole => {}
        }
        rank.ok_or(Bad::NoRank)
    }
}
