//! Wire format of protobuf: numbered fields in sequence.

use super::ProtobufError;

/// Encoded value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum WireValue<'a> {
    /// Varint.
    Number(u64),
    /// Eight bytes.
    Fixed(u64),
    /// String, bytes or message.
    Bytes(&'a [u8]),
}

/// Iterator over the fields of a message. Ends after the first error.
pub(super) struct WireReader<'a> {
    rest: &'a [u8],
}

impl<'a> WireReader<'a> {
    /// Creates a reader of the message.
    pub fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, count: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(count).ok()?)?;
        self.rest = rest;
        Some(taken)
    }

    fn field(&mut self) -> Option<(u64, WireValue<'a>)> {
        let tag = self.varint()?;
        let wire = match tag & 7 {
            0 => WireValue::Number(self.varint()?),
            1 => WireValue::Fixed(u64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            2 => {
                let length = self.varint()?;
                WireValue::Bytes(self.take(length)?)
            }
            5 => WireValue::Fixed(u64::from(u32::from_le_bytes(self.take(4)?.try_into().ok()?))),
            _ => return None,
        };
        Some((tag >> 3, wire))
    }
}

impl<'a> Iterator for WireReader<'a> {
    type Item = Result<(u64, WireValue<'a>), ProtobufError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.rest = &[];
        }
        Some(field.ok_or(ProtobufError::Malformed))
    }
}
