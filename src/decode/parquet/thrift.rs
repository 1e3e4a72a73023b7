//! Structures in Thrift's compact protocol.
//!
//! *Owns:* reading them without believing what they say of their sizes. *Invariants:* nothing is allocated except for
//! fields that are there; a structure has an end, and no more than [`MOST_DEPTH`] others around it. *Cost:* one look at
//! each field.
//!
//! *Sources:* "Thrift compact protocol" of Apache Thrift:
//!
//! ```text
//!  │ difference to the last number: 4, type: 4 │ the field │ ... │ 0 │
//!                                                └ numbers: zigzag varints; bytes: after their length; structures
//! ```

/// The reason why bytes are no structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    /// It does not end in these bytes.
    Short,
    /// It is none.
    Wrong,
}

/// Structures lie no deeper in each other than this.
pub(super) const MOST_DEPTH: u32 = 8;
/// The most fields that a structure is taken to have.
const MOST_FIELDS: usize = 64;

/// A field of a structure, with its number.
type Field = (i64, Value);

pub(super) enum Value {
    Bool(bool),
    Number(i64),
    Structure(Structure),
    /// A value that no reader here asks for.
    Other,
}

pub(super) struct Structure(Vec<Field>);

impl Structure {
    fn find(&self, number: i64) -> Option<&Value> {
        let found = self.0.iter().find(|(other, _)| *other == number);
        found.map(|(_, value)| value)
    }

    pub(super) fn number(&self, number: i64) -> Result<i64, Broken> {
        match self.find(number) {
            Some(Value::Number(value)) => Ok(*value),
            _ => Err(Broken::Wrong),
        }
    }

    pub(super) fn count(&self, number: i64) -> Result<u32, Broken> {
        // Sizes are signed, with 31 bits.
        let count = i32::try_from(self.number(number)?).map_err(|_| Broken::Wrong)?;
        u32::try_from(count).map_err(|_| Broken::Wrong)
    }

    pub(super) fn is_true(&self, number: i64) -> Option<bool> {
        match self.find(number) {
            Some(Value::Bool(value)) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn structure(&self, number: i64) -> Result<&Self, Broken> {
        match self.find(number) {
            Some(Value::Structure(structure)) => Ok(structure),
            _ => Err(Broken::Wrong),
        }
    }
}

/// Reads what is written in the compact protocol.
pub(super) struct Compact<'a> {
    pub(super) rest: &'a [u8],
}

impl Compact<'_> {
    pub(super) fn byte(&mut self) -> Result<u8, Broken> {
        let (&byte, rest) = self.rest.split_first().ok_or(Broken::Short)?;
        self.rest = rest;
        Ok(byte)
    }

    fn skip(&mut self, bytes: u64) -> Result<(), Broken> {
        let bytes = usize::try_from(bytes).map_err(|_| Broken::Wrong)?;
        self.rest = self.rest.get(bytes..).ok_or(Broken::Short)?;
        Ok(())
    }

    pub(super) fn varint(&mut self) -> Result<u64, Broken> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Broken::Wrong)
    }

    pub(super) fn number(&mut self) -> Result<i64, Broken> {
        let folded = self.varint()?;
        Ok((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }

    /// Reads a structure, up to the byte that ends it.
    pub(super) fn structure(&mut self, depth: u32) -> Result<Structure, Broken> {
        let (mut fields, mut number) = (Vec::new(), 0);
        loop {
            let front = self.byte()?;
            if front == 0 {
                return Ok(Structure(fields));
            }
            number = match front >> 4 {
                0 => self.number()?,
                more => number.checked_add(more.into()).ok_or(Broken::Wrong)?,
            };
            if fields.len() == MOST_FIELDS {
                return Err(Broken::Wrong);
            }
            fields.push((number, self.value(front & 0xf, depth)?));
        }
    }

    /// Reads a value of the type with this number.
    pub(super) fn value(&mut self, kind: u8, depth: u32) -> Result<Value, Broken> {
        let depth = depth.checked_sub(1).ok_or(Broken::Wrong)?;
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
            // No structure that is read here has lists or maps.
            _ => return Err(Broken::Wrong),
        })
    }
}
