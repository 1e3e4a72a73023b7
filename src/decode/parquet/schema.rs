//! The size of the schema in a footer.
//!
//! *Owns:* going through it before it is decoded: the decoder calls itself for each group in a group, and makes room
//! for the columns that a group claims. *Invariants:* what passes here has as many elements as it says, and no deep
//! groups. *Cost:* one look at each element.
//!
//! *Sources:* parquet.thrift of Parquet's format 2.11: the schema is a list of elements, each group before what is in
//! it.

use crate::decode::parquet::thrift::{Compact, MOST_DEPTH};

/// The most groups of a schema that lie in each other.
const MOST_NESTING: usize = 100;

/// Counts the columns of the schema in this footer, with the groups that they are in; `None` if it is damaged, or
/// groups lie deeper in each other than [`MOST_NESTING`]. What it says of its size is not believed.
pub(super) fn schema_columns(footer: &[u8]) -> Option<u64> {
    let mut reader = Compact { rest: footer };
    // The version, and after it the schema: a list of structures.
    let mut number = 0;
    loop {
        let front = reader.byte().ok()?;
        number = match front >> 4 {
            0 => reader.number().ok()?,
            more => number.checked_add(more.into())?,
        };
        if (number, front & 0xf) == (2, 9) {
            break;
        }
        if front == 0 || number >= 2 {
            return None;
        }
        reader.value(front & 0xf, MOST_DEPTH).ok()?;
    }
    let front = reader.byte().ok()?;
    let count = match front >> 4 {
        15 => reader.varint().ok()?,
        count => count.into(),
    };
    // How many are still to come of each group that is open.
    let mut open: Vec<i64> = Vec::new();
    for _ in 0..count {
        let element = reader.structure(MOST_DEPTH).ok()?;
        let children = element.number(5).unwrap_or(0);
        if children < 0 || children as u64 > count {
            return None;
        }
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        open.push(children);
        if open.len() > MOST_NESTING {
            return None;
        }
        while open.last() == Some(&0) {
            open.pop();
        }
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b23_schemas_that_are_too_deep_or_lie_are_refused() {
        // A version, and a list of groups: each with `children` of them, and a name.
        let footer = |groups: u8, children: u8| {
            let mut footer = vec![0x15, 2, 0x19, 0xfc, groups];
            for _ in 0..groups {
                footer.extend([0x48, 1, b'g', 0x15, children << 1, 0]);
            }
            footer
        };
        assert_eq!(schema_columns(&footer(50, 1)), Some(50));
        assert_eq!(schema_columns(&footer(120, 1)), None);
        assert_eq!(schema_columns(&footer(50, 0)), Some(50));
        assert_eq!(schema_columns(&footer(50, 51)), None);
        let whole = footer(50, 1);
        assert_eq!(schema_columns(&whole[..whole.len() - 1]), None);
        assert_eq!(schema_columns(&[0x15, 2, 0]), None);
    }
}
