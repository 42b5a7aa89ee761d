//! Subset of DER that keys and certificates need.

use num_bigint::BigUint;

/// Encodes a tag, the length and the content.
pub(super) fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    match content.len() {
        length @ 0..128 => out.push(length as u8),
        length => {
            let bytes: Vec<u8> = length.to_be_bytes().into_iter().skip_while(|byte| *byte == 0).collect();
            out.push(0x80 | bytes.len() as u8);
            out.extend(bytes);
        }
    }
    out.extend_from_slice(content);
    out
}

pub(super) fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    tagged(0x30, &parts.concat())
}

pub(super) fn integer(number: &BigUint) -> Vec<u8> {
    let mut bytes = number.to_bytes_be();
    if bytes[0] >= 0x80 {
        bytes.insert(0, 0);
    }
    tagged(2, &bytes)
}

pub(super) fn octets(bytes: &[u8]) -> Vec<u8> {
    tagged(4, bytes)
}

/// Encodes a bit string of whole bytes, the last one with `unused` unused bits.
pub(super) fn bits(bytes: &[u8], unused: u8) -> Vec<u8> {
    tagged(3, &[&[unused], bytes].concat())
}

/// Encodes an object identifier given in its encoded form.
pub(super) fn oid(encoded: &[u8]) -> Vec<u8> {
    tagged(6, encoded)
}

pub(super) fn null() -> Vec<u8> {
    tagged(5, &[])
}

/// Reader of consecutive values.
pub(super) struct DerReader<'a> {
    rest: &'a [u8],
}

impl<'a> DerReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> DerReader<'a> {
        DerReader { rest: bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns the tag of the next value.
    pub(super) fn tag(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Reads the next value of any type, and returns its tag and content.
    pub(super) fn any(&mut self) -> Result<(u8, &'a [u8]), String> {
        let truncated = || "asn1: syntax error: data truncated".to_string();
        let tag = *self.rest.first().ok_or("asn1: syntax error: sequence truncated")?;
        let first = usize::from(*self.rest.get(1).ok_or_else(truncated)?);
        let (length, start) = if first < 0x80 {
            (first, 2)
        } else {
            let count = first & 0x7f;
            let bytes = self.rest.get(2..2 + count).filter(|_| (1..=4).contains(&count)).ok_or_else(truncated)?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), 2 + count)
        };
        let content = self.rest.get(start..start + length).ok_or_else(truncated)?;
        self.rest = &self.rest[start + length..];
        Ok((tag, content))
    }

    pub(super) fn expect(&mut self, tag: u8) -> Result<&'a [u8], String> {
        match self.any()? {
            (found, content) if found == tag => Ok(content),
            _ => Err("asn1: structure error: tags don't match".to_string()),
        }
    }

    pub(super) fn sequence(&mut self) -> Result<DerReader<'a>, String> {
        self.expect(0x30).map(DerReader::new)
    }

    pub(super) fn integer(&mut self) -> Result<BigUint, String> {
        self.expect(2).map(BigUint::from_bytes_be)
    }
}
