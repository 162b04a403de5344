//! Protobuf's wire format: the fields of a message, one after the other, without copying (protobuf.dev/programming-guides/encoding).

/// A message that cannot be decoded.
#[derive(Debug, PartialEq)]
pub struct Malformed;

/// A field's value as it stands on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Varint(u64),
    /// A string, bytes, a message, or packed numbers.
    Bytes(&'a [u8]),
    /// A number of fixed length, none of which is used here.
    Fixed,
}

impl<'a> Value<'a> {
    /// A number, 0 when it is something else.
    pub fn number(self) -> u64 {
        match self {
            Self::Varint(number) => number,
            _ => 0,
        }
    }

    /// A number of an int32 field.
    pub fn int32(self) -> i32 {
        self.number() as i32
    }

    /// A string, bytes or a message; empty when it is something else.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => &[],
        }
    }

    /// Append the numbers of a repeated field, packed or one of them.
    pub fn extend(self, numbers: &mut Vec<u64>) -> Result<(), Malformed> {
        match self {
            Self::Varint(number) => numbers.push(number),
            Self::Bytes(mut rest) => {
                while !rest.is_empty() {
                    let (number, next) = varint(rest)?;
                    numbers.push(number);
                    rest = next;
                }
            }
            Self::Fixed => {}
        }
        Ok(())
    }
}

/// A number of up to 64 bits at the beginning, and what follows it.
pub fn varint(data: &[u8]) -> Result<(u64, &[u8]), Malformed> {
    let mut value = 0u64;
    for (at, &byte) in data.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            return Ok((value, &data[at + 1..]));
        }
    }
    Err(Malformed)
}

/// The fields of a message: number and value. Nothing follows a malformed one.
pub struct Fields<'a>(&'a [u8]);

/// The fields of a message.
pub fn fields(message: &[u8]) -> Fields<'_> {
    Fields(message)
}

impl<'a> Fields<'a> {
    fn next_field(&mut self) -> Result<(u32, Value<'a>), Malformed> {
        let (tag, rest) = varint(self.0)?;
        let number = u32::try_from(tag >> 3).map_err(|_| Malformed)?;
        let (value, rest) = match tag & 7 {
            0 => varint(rest).map(|(number, rest)| (Value::Varint(number), rest))?,
            1 => (Value::Fixed, rest.get(8..).ok_or(Malformed)?),
            2 => {
                let (length, rest) = varint(rest)?;
                let length = usize::try_from(length).map_err(|_| Malformed)?;
                let (bytes, rest) = rest.split_at_checked(length).ok_or(Malformed)?;
                (Value::Bytes(bytes), rest)
            }
            5 => (Value::Fixed, rest.get(4..).ok_or(Malformed)?),
            _ => return Err(Malformed),
        };
        if number == 0 {
            return Err(Malformed);
        }
        self.0 = rest;
        Ok((number, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.next_field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_all_types() {
        let message = [
            0x08, 0x96, 0x01, // 1: 150
            0x12, 0x02, b'h', b'i', // 2: "hi"
            0x1d, 1, 2, 3, 4, // 3: fixed32
            0x21, 1, 2, 3, 4, 5, 6, 7, 8, // 4: fixed64
        ];
        let found: Vec<_> = fields(&message).collect::<Result<_, _>>().unwrap();
        assert_eq!(
            found,
            [
                (1, Value::Varint(150)),
                (2, Value::Bytes(b"hi")),
                (3, Value::Fixed),
                (4, Value::Fixed)
            ]
        );
    }

    proptest::proptest! {
        #[test]
        fn packed_numbers_are_read_back(numbers: Vec<u64>) {
            let mut packed = Vec::new();
            for number in &numbers {
                let mut rest = *number;
                while rest >= 0x80 {
                    packed.push(rest as u8 | 0x80);
                    rest >>= 7;
                }
                packed.push(rest as u8);
            }
            let mut found = Vec::new();
            Value::Bytes(&packed).extend(&mut found).unwrap();
            proptest::prop_assert_eq!(found, numbers);
        }
    }

    #[test]
    fn malformed_messages() {
        for message in [
            &[0x08][..],
            &[0x12, 0x05, b'x'],
            &[0x0b],
            &[0x00, 0x01],
            &[
                0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
            ],
        ] {
            let found: Result<Vec<_>, _> = fields(message).collect();
            assert_eq!(found, Err(Malformed), "{message:?}");
        }
        assert_eq!(Value::Varint(u64::MAX).int32(), -1);
    }
}
