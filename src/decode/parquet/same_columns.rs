//! The columns of two Parquet files, compared.
//!
//! *Owns:* the decision whether one file can get the rows of both. *Invariants:* the bytes of a value, and its levels,
//! mean the same in both. *Cost:* none.
//!
//! *Sources:* parquet-format, LogicalTypes.md: which converted type older writers have for each logical type.

use std::path::Path;

use ::parquet::basic::{ConvertedType, LogicalType};
use ::parquet::schema::types::{BasicTypeInfo, Type, TypePtr};

use crate::error::{Error, Result};

/// Checks that a file has the columns of another one; of both, the schema and the path.
///
/// # Errors
/// [`Error::Usage`].
pub(super) fn check_columns(
    (schema, path): (&Type, &Path),
    (expected, like): (&Type, &Path),
) -> Result<()> {
    // Each writer has its own name for the schema itself.
    let (columns, expected) = (schema.get_fields(), expected.get_fields());
    if are_same(columns, expected) {
        return Ok(());
    }
    let like = like.display();
    let named = |columns: &[TypePtr], name: &str| {
        let mut found = columns.iter().filter(|column| column.name() == name);
        found.next().cloned()
    };
    let other = columns.iter().find_map(|column| {
        let name = column.name();
        match named(expected, name) {
            None => Some(format!("its column {name} is not in {like}")),
            Some(it) if is_same(column, &it) => None,
            Some(it) if are_as_optional(column, &it) => {
                Some(format!("its column {name} has another type in {like}"))
            }
            Some(_) => Some(format!(
                "its column {name} and that of {like} differ in whether NULL is allowed"
            )),
        }
    });
    let lacking = || {
        let mut names = expected.iter().map(|column| column.name());
        let name = names.find(|name| named(columns, name).is_none())?;
        Some(format!("it lacks the column {name} of {like}"))
    };
    let what = other.or_else(lacking);
    let what = what.unwrap_or_else(|| format!("its columns have another order in {like}"));
    Err(Error::usage(
        format!(
            "{}: {what}, and a Parquet file cannot have the rows of both",
            path.display()
        ),
        "write the rows of each file to a file of its own, with `divides_by_file`",
    ))
}

/// Returns true if these are the same columns, in the same order.
fn are_same(columns: &[TypePtr], expected: &[TypePtr]) -> bool {
    let mut pairs = columns.iter().zip(expected);
    columns.len() == expected.len() && pairs.all(|(column, expected)| is_same(column, expected))
}

/// Returns true if the values of two columns mean the same, whatever numbers their writers gave to them.
fn is_same(column: &Type, expected: &Type) -> bool {
    let (own, other) = (column.get_basic_info(), expected.get_basic_info());
    are_as_optional(column, expected)
        && own.name() == other.name()
        && means_same(own, other)
        && match (column, expected) {
            (Type::GroupType { fields, .. }, Type::GroupType { fields: others, .. }) => {
                are_same(fields, others)
            }
            _ => storage(column) == storage(expected),
        }
}

/// Returns true if both columns may have NULL, or lists, or neither may.
fn are_as_optional(column: &Type, expected: &Type) -> bool {
    let repetition = |it: &Type| {
        let info = it.get_basic_info();
        info.has_repetition().then(|| info.repetition())
    };
    repetition(column) == repetition(expected)
}

/// Returns the form in which a column is stored: its physical type, length, scale and precision; `None` for a group.
fn storage(column: &Type) -> Option<(::parquet::basic::Type, i32, i32, i32)> {
    match column {
        Type::PrimitiveType {
            physical_type,
            type_length,
            scale,
            precision,
            ..
        } => Some((*physical_type, *type_length, *scale, *precision)),
        Type::GroupType { .. } => None,
    }
}

/// Returns true if both say the same of what values mean: older writers say it by converted types alone, and leave out
/// what goes without saying.
fn means_same(own: &BasicTypeInfo, other: &BasicTypeInfo) -> bool {
    let (logical, others) = (own.logical_type_ref(), other.logical_type_ref());
    (logical.is_some() && logical == others)
        || converted(own).is_some_and(|own| Some(own) == converted(other))
}

/// Returns the converted type that says all that is said of values; `None` where none does.
fn converted(info: &BasicTypeInfo) -> Option<ConvertedType> {
    let logical = info.logical_type_ref();
    let found = match logical {
        None => info.converted_type(),
        // Those of older writers are in UTC.
        Some(LogicalType::Time(time)) if !time.is_adjusted_to_u_t_c => return None,
        Some(LogicalType::Timestamp(time)) if !time.is_adjusted_to_u_t_c => return None,
        Some(LogicalType::Integer(number)) if ![8, 16, 32, 64].contains(&number.bit_width) => {
            return None;
        }
        Some(logical) => ConvertedType::from(Some(logical.clone())),
    };
    match found {
        ConvertedType::INT_32 | ConvertedType::INT_64 => Some(ConvertedType::NONE),
        ConvertedType::NONE if logical.is_some() => None,
        found => Some(found),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use ::parquet::schema::parser::parse_message_type;

    use super::*;

    /// Returns what is said of a file with the first columns beside one with the second; nothing if they are the same.
    fn said(columns: &str, expected: &str) -> String {
        let schema = |columns| parse_message_type(&format!("message m {{ {columns} }}")).unwrap();
        let (own, other) = (schema(columns), schema(expected));
        let (path, like) = (Path::new("new"), Path::new("old"));
        match check_columns((&own, path), (&other, like)) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn b23_columns_are_the_same_if_their_values_mean_the_same() {
        let list = "optional group l (LIST) { repeated group list { optional int32 element; } }";
        let same = [
            ("required int64 a;", "required int64 a (INTEGER(64,true));"),
            ("required int64 a (INT_64);", "required int64 a;"),
            ("optional binary a (UTF8);", "optional binary a (STRING);"),
            ("optional int64 a = 3;", "optional int64 a = 4;"),
            (
                "optional int64 a (TIMESTAMP_MICROS);",
                "optional int64 a (TIMESTAMP(MICROS,true));",
            ),
            (list, list),
        ];
        for (one, other) in same {
            assert_eq!(said(one, other), "", "{one} {other}");
            assert_eq!(said(other, one), "", "{other} {one}");
        }
        let type_differs = "column a has another type in old";
        let null_differs = "column a and that of old differ in whether NULL is allowed";
        let different = [
            ("required int64 a;", "required int32 a;", type_differs),
            (
                "required int64 a;",
                "required int64 a (INTEGER(64,false));",
                type_differs,
            ),
            ("required int64 a;", "optional int64 a;", null_differs),
            (
                "optional binary a;",
                "optional binary a (UTF8);",
                type_differs,
            ),
            (
                "optional int64 a (TIMESTAMP_MICROS);",
                "optional int64 a (TIMESTAMP(MICROS,false));",
                type_differs,
            ),
            (
                "optional int64 a (TIMESTAMP(NANOS,true));",
                "optional int64 a (TIMESTAMP(NANOS,false));",
                type_differs,
            ),
            (
                "optional int64 a (DECIMAL(9,2));",
                "optional int64 a (DECIMAL(9,3));",
                type_differs,
            ),
            (
                "optional group a { optional int32 b; }",
                "optional group a { required int32 b; }",
                type_differs,
            ),
            (
                "optional group a { optional int32 b; }",
                "optional group a { optional int32 c; }",
                type_differs,
            ),
            (
                "optional int64 a; optional int64 b;",
                "optional int64 a;",
                "column b is not in old",
            ),
            (
                "optional int64 a;",
                "optional int64 a; optional int64 b;",
                "lacks the column b of old",
            ),
            (
                "optional int64 b; optional int64 a;",
                "optional int64 a; optional int64 b;",
                "another order in old",
            ),
        ];
        for (one, other, why) in different {
            assert!(
                said(one, other).contains(why),
                "{one} {other}: {}",
                said(one, other)
            );
            assert!(!said(other, one).is_empty(), "{other} {one}");
        }
    }
}
