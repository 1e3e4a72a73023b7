//! Which column a field of the key is.
//!
//! *Owns:* looking columns up by their numbers and names. *Invariants:* one that is not there, or more than one, is an
//! error before any row is read. *Cost:* a few looks at the schema.

use std::path::Path;

use ::parquet::schema::types::SchemaDescriptor;

use crate::error::{Error, Result};
use crate::record::{Field, Keys, MOST_SHOWN, shown_names};

/// The leaf that a field of the key is.
///
/// # Errors
/// [`Error::Usage`] where there is none, or more than one.
pub(super) fn find(
    keys: &Keys,
    field: &Field,
    schema: &SchemaDescriptor,
    name: &Path,
) -> Result<usize> {
    let usage = |what: String, advice: String| {
        let what = format!("{}: {what}", name.display());
        Err(Error::usage(what, advice))
    };
    let found = match field {
        Field::Number(number) => such(schema, |leaf| {
            schema.get_column_root_idx(leaf) + 1 == *number as usize
        }),
        Field::Name(_) => called(keys, field, schema),
    };
    match (&found[..], field) {
        (&[only], _) => Ok(only),
        ([], Field::Name(_)) => {
            let all = (0..schema.num_columns()).map(|leaf| schema.column(leaf).path().string());
            let all: Vec<String> = all.take(MOST_SHOWN + 1).collect();
            usage(
                format!("has no column {field}"),
                format!("name one of: {}", shown_names(&all)),
            )
        }
        ([], Field::Number(number)) => usage(
            format!("has no column number {number}"),
            format!("give a smaller number, or, if a column is called {number}, name:{number}"),
        ),
        (_, Field::Name(_)) => usage(
            format!("two columns are called {field}"),
            "give the number of the column".into(),
        ),
        (several, Field::Number(_)) => {
            let first = schema.column(several[0]).path().string();
            usage(
                format!("column {field} consists of several columns"),
                format!("name one within it, such as {first}"),
            )
        }
    }
}

/// The leaves that a name stands for. A column that is called just so comes before one that the name leads to, and this
/// before one that is called so by the rules for comparing keys.
fn called(keys: &Keys, field: &Field, schema: &SchemaDescriptor) -> Vec<usize> {
    let (path, plain, written) = (field.path(), field.plain_name(), field.to_string());
    let parts = |leaf: usize| schema.column(leaf).path().parts().to_vec();
    let dotted = |leaf: usize| schema.column(leaf).path().string();
    let are_equal = |one: &str, other: &str| {
        keys.folded_name(one.as_bytes()) == keys.folded_name(other.as_bytes())
    };
    let is_folded = |leaf: usize| {
        let is_plain = matches!(&parts(leaf)[..], [only] if are_equal(only, &plain));
        is_plain || are_equal(&dotted(leaf), &written)
    };
    let ways: [&dyn Fn(usize) -> bool; 4] = [
        &|leaf| parts(leaf) == [plain.as_str()],
        &|leaf| parts(leaf) == path,
        &|leaf| dotted(leaf) == written,
        &is_folded,
    ];
    let mut ways = ways.into_iter().map(|is_it| such(schema, is_it));
    ways.find(|found| !found.is_empty()).unwrap_or_default()
}

/// The leaves that are so.
fn such(schema: &SchemaDescriptor, is_it: impl Fn(usize) -> bool) -> Vec<usize> {
    let leaves = 0..schema.num_columns();
    leaves.filter(|&leaf| is_it(leaf)).collect()
}
