//! The header of a page.
//!
//! *Owns:* reading it, so that its sizes are known before anything is allocated for the page. *Invariants:* nothing that a
//! header says is taken for true here but for its own length. *Cost:* one look at each of its fields.
//!
//! *Sources:* parquet.thrift of Parquet's format 2.11 for the fields; Thrift's compact protocol for how they are written:
//!
//! ```text
//!  │ difference to the last number: 4, type: 4 │ the field │ ... │ 0 │
//!                                                └ numbers as varints, zigzag; bytes behind their length; structures as this
//! ```

use ::parquet::basic::Encoding;

/// What a page is, by its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageHeader {
    pub(super) kind: PageKind,
    /// Bytes of the page in the file.
    pub(super) stored_bytes: u64,
    /// Bytes when it is decompressed.
    pub(super) raw_bytes: u64,
    /// A checksum of the bytes in the file.
    pub(super) crc: Option<u32>,
    /// Bytes of the header itself.
    pub(super) header_bytes: u64,
}

/// The kinds of pages; each with the number of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PageKind {
    Dictionary {
        values: u32,
        encoding: Encoding,
    },
    Data {
        values: u32,
        encoding: Encoding,
        definitions: Encoding,
        repetitions: Encoding,
    },
    /// The second version: levels come first, and are never compressed.
    Data2 {
        values: u32,
        nulls: u32,
        rows: u32,
        encoding: Encoding,
        definition_bytes: u32,
        repetition_bytes: u32,
        is_compressed: bool,
    },
    /// One that readers pass over.
    Other,
}

/// Why bytes are no header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoHeader {
    /// It does not end in these bytes.
    Short,
    /// It is none.
    Wrong,
}

impl PageHeader {
    /// The header that `bytes` begin with.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, NoHeader> {
        let mut reader = Compact { rest: bytes };
        let fields = reader.structure(MOST_DEPTH)?;
        let kind = match fields.number(1)? {
            0 => {
                let page = fields.structure(5)?;
                PageKind::Data {
                    values: page.count(1)?,
                    encoding: page.encoding(2)?,
                    definitions: page.encoding(3)?,
                    repetitions: page.encoding(4)?,
                }
            }
            1 => PageKind::Other,
            2 => {
                let page = fields.structure(7)?;
                PageKind::Dictionary {
                    values: page.count(1)?,
                    encoding: page.encoding(2)?,
                }
            }
            3 => {
                let page = fields.structure(8)?;
                PageKind::Data2 {
                    values: page.count(1)?,
                    nulls: page.count(2)?,
                    rows: page.count(3)?,
                    encoding: page.encoding(4)?,
                    definition_bytes: page.count(5)?,
                    repetition_bytes: page.count(6)?,
                    is_compressed: page.is_true(7).unwrap_or(true),
                }
            }
            _ => return Err(NoHeader::Wrong),
        };
        Ok(Self {
            kind,
            raw_bytes: fields.count(2)?.into(),
            stored_bytes: fields.count(3)?.into(),
            crc: fields.number(4).ok().map(|crc| crc as u32),
            header_bytes: (bytes.len() - reader.rest.len()) as u64,
        })
    }

    /// How its values are written; `None` of what is no data.
    pub(super) fn encoding(&self) -> Option<Encoding> {
        match self.kind {
            PageKind::Data { encoding, .. } | PageKind::Data2 { encoding, .. } => Some(encoding),
            PageKind::Dictionary { .. } | PageKind::Other => None,
        }
    }

    /// The rows of a column that has one value in each, 0 for what is no data.
    pub(super) fn values(&self) -> u64 {
        match self.kind {
            PageKind::Data { values, .. } | PageKind::Data2 { values, .. } => values.into(),
            PageKind::Dictionary { .. } | PageKind::Other => 0,
        }
    }
}

/// How many columns the schema in this footer has, with the groups that they are in; `None` where it is damaged, or groups
/// lie deeper in each other than [`MOST_NESTING`]. What it says of its size is not believed.
pub(super) fn schema_columns(footer: &[u8]) -> Option<u64> {
    let mut reader = Compact { rest: footer };
    // The version, and behind it the schema: a list of structures.
    let mut number = 0;
    loop {
        let front = reader.byte().ok()?;
        number = match front >> 4 {
            0 => reader.number().ok()?,
            more => number + i64::from(more),
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

/// The most groups of a schema that lie in each other.
const MOST_NESTING: usize = 100;
/// Structures lie no deeper in each other than this.
const MOST_DEPTH: u32 = 8;
/// The most fields that a structure is taken to have.
const MOST_FIELDS: usize = 64;

/// A field of a structure, with its number.
type Field = (i64, Value);

enum Value {
    Bool(bool),
    Number(i64),
    Structure(Structure),
    /// What no reader here asks for.
    Other,
}

struct Structure(Vec<Field>);

impl Structure {
    fn find(&self, number: i64) -> Option<&Value> {
        let found = self.0.iter().find(|(other, _)| *other == number);
        found.map(|(_, value)| value)
    }

    fn number(&self, number: i64) -> Result<i64, NoHeader> {
        match self.find(number) {
            Some(Value::Number(value)) => Ok(*value),
            _ => Err(NoHeader::Wrong),
        }
    }

    fn count(&self, number: i64) -> Result<u32, NoHeader> {
        // Sizes are signed, with 31 bits.
        let count = i32::try_from(self.number(number)?).map_err(|_| NoHeader::Wrong)?;
        u32::try_from(count).map_err(|_| NoHeader::Wrong)
    }

    fn encoding(&self, number: i64) -> Result<Encoding, NoHeader> {
        Ok(match self.number(number)? {
            0 => Encoding::PLAIN,
            2 => Encoding::PLAIN_DICTIONARY,
            3 => Encoding::RLE,
            #[expect(deprecated, reason = "old files have it")]
            4 => Encoding::BIT_PACKED,
            5 => Encoding::DELTA_BINARY_PACKED,
            6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
            7 => Encoding::DELTA_BYTE_ARRAY,
            8 => Encoding::RLE_DICTIONARY,
            9 => Encoding::BYTE_STREAM_SPLIT,
            _ => return Err(NoHeader::Wrong),
        })
    }

    fn is_true(&self, number: i64) -> Option<bool> {
        match self.find(number) {
            Some(Value::Bool(value)) => Some(*value),
            _ => None,
        }
    }

    fn structure(&self, number: i64) -> Result<&Self, NoHeader> {
        match self.find(number) {
            Some(Value::Structure(structure)) => Ok(structure),
            _ => Err(NoHeader::Wrong),
        }
    }
}

/// Reads what is written in the compact protocol.
struct Compact<'a> {
    rest: &'a [u8],
}

impl Compact<'_> {
    fn byte(&mut self) -> Result<u8, NoHeader> {
        let (&byte, rest) = self.rest.split_first().ok_or(NoHeader::Short)?;
        self.rest = rest;
        Ok(byte)
    }

    fn skip(&mut self, bytes: u64) -> Result<(), NoHeader> {
        let bytes = usize::try_from(bytes).map_err(|_| NoHeader::Wrong)?;
        self.rest = self.rest.get(bytes..).ok_or(NoHeader::Short)?;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64, NoHeader> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(NoHeader::Wrong)
    }

    fn number(&mut self) -> Result<i64, NoHeader> {
        let folded = self.varint()?;
        Ok((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }

    /// A structure, up to the byte that ends it.
    fn structure(&mut self, depth: u32) -> Result<Structure, NoHeader> {
        let (mut fields, mut number) = (Vec::new(), 0);
        loop {
            let front = self.byte()?;
            if front == 0 {
                return Ok(Structure(fields));
            }
            number = match front >> 4 {
                0 => self.number()?,
                more => number + i64::from(more),
            };
            if fields.len() == MOST_FIELDS {
                return Err(NoHeader::Wrong);
            }
            fields.push((number, self.value(front & 0xf, depth)?));
        }
    }

    /// A value of the type with this number.
    fn value(&mut self, kind: u8, depth: u32) -> Result<Value, NoHeader> {
        let depth = depth.checked_sub(1).ok_or(NoHeader::Wrong)?;
        Ok(match kind {
            1 | 2 => Value::Bool(kind == 1),
            3 => Value::Number(i64::from(self.byte()? as i8)),
            4..=6 => Value::Number(self.number()?),
            7 => {
                self.skip(8)?;
                Value::Other
            }
            8 => {
                let bytes = self.varint()?;
                self.skip(bytes)?;
                Value::Other
            }
            12 => Value::Structure(self.structure(depth)?),
            // Page headers have no lists and maps.
            _ => return Err(NoHeader::Wrong),
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    /// A dictionary page of 3 values: 12 bytes in the file, 20 when it is decompressed.
    const DICTIONARY: &[u8] = &[
        0x15, 0x04, // type: 2
        0x15, 0x28, // 20 bytes
        0x15, 0x18, // 12 in the file
        0x4c, // field 7: a structure
        0x15, 0x06, // 3 values
        0x15, 0x00, // plain
        0x00, 0x00,
    ];

    #[test]
    fn b23_a_header_is_read_to_its_end() {
        let followed = [DICTIONARY, b"page"].concat();
        let header = PageHeader::read(&followed).unwrap();
        assert_eq!(
            header,
            PageHeader {
                kind: PageKind::Dictionary {
                    values: 3,
                    encoding: Encoding::PLAIN
                },
                stored_bytes: 12,
                raw_bytes: 20,
                crc: None,
                header_bytes: DICTIONARY.len() as u64,
            }
        );
    }

    #[test]
    fn b23_a_header_that_is_cut_short_is_none() {
        for end in 0..DICTIONARY.len() {
            let cut = PageHeader::read(&DICTIONARY[..end]);
            assert_eq!(cut.unwrap_err(), NoHeader::Short, "{end}");
        }
    }

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

    #[test]
    fn b23_sizes_below_zero_and_deep_structures_are_refused() {
        let mut negative = DICTIONARY.to_vec();
        negative[3] = 0x29;
        assert_eq!(PageHeader::read(&negative), Err(NoHeader::Wrong));
        assert_eq!(PageHeader::read(&[0x1c; 100]), Err(NoHeader::Wrong));
        let many = [0x11; 200];
        assert_eq!(PageHeader::read(&many), Err(NoHeader::Wrong));
    }
}
