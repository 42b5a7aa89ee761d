//! base64, base32 and Adler-32 with Go's error texts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Encodes like Go's `base64.StdEncoding.EncodeToString`.
pub fn base64_encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes like Go's `base64.StdEncoding.DecodeString`, which skips line breaks. The error contains the position of the
/// byte.
pub fn base64_decode(text: &[u8]) -> Result<Vec<u8>, String> {
    let corrupt = |at: usize| Err(format!("illegal base64 data at input byte {at}"));
    let breaks = |at: usize| text.get(at).is_some_and(|b| matches!(b, b'\r' | b'\n'));
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut at, mut quantum, mut held) = (0, 0u32, 0);
    while at < text.len() {
        let byte = text[at];
        at += 1;
        if matches!(byte, b'\r' | b'\n') {
            continue;
        }
        if let Some(value) = base64_value(byte) {
            quantum = quantum << 6 | u32::from(value);
            held += 1;
            if held == 4 {
                out.extend_from_slice(&quantum.to_be_bytes()[1..]);
                (quantum, held) = (0, 0);
            }
            continue;
        }
        if byte != b'=' || held < 2 {
            return corrupt(at - 1);
        }
        if held == 2 {
            while breaks(at) {
                at += 1;
            }
            match text.get(at) {
                None => return corrupt(text.len()),
                Some(b'=') => at += 1,
                Some(_) => return corrupt(at - 1),
            }
        }
        while breaks(at) {
            at += 1;
        }
        if at < text.len() {
            return corrupt(at);
        }
        out.extend_from_slice(&(quantum << (6 * (4 - held as u32))).to_be_bytes()[1..held]);
        return Ok(out);
    }
    if held > 0 { corrupt(at - held) } else { Ok(out) }
}

fn base64_value(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

/// Encodes like Go's `base32.StdEncoding.EncodeToString`.
pub fn base32_encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(5) * 8);
    for chunk in bytes.chunks(5) {
        let bits = chunk.iter().enumerate().fold(0u64, |bits, (i, b)| bits | u64::from(*b) << (32 - 8 * i));
        let digits = (chunk.len() * 8).div_ceil(5);
        out.extend((0..digits).map(|i| char::from(BASE32[(bits >> (35 - 5 * i) & 31) as usize])));
        out.extend(std::iter::repeat_n('=', 8 - digits));
    }
    out
}

/// Decodes like Go's `base32.StdEncoding.DecodeString`, which removes line breaks first and counts the remaining bytes.
pub fn base32_decode(text: &[u8]) -> Result<Vec<u8>, String> {
    let text: Vec<u8> = text.iter().copied().filter(|b| !matches!(b, b'\r' | b'\n')).collect();
    let mut out = Vec::with_capacity(text.len() / 8 * 5);
    let mut rest = text.as_slice();
    let corrupt = |at: usize| format!("illegal base32 data at input byte {at}");
    while !rest.is_empty() {
        let (mut bits, mut digits, mut ended) = (0u64, 8, false);
        let mut place = 0;
        while place < 8 {
            let Some((byte, tail)) = rest.split_first() else { return Err(corrupt(text.len() - place)) };
            rest = tail;
            if *byte == b'=' && place >= 2 && rest.len() < 8 {
                if rest.len() + place < 7 {
                    return Err(corrupt(text.len()));
                }
                if let Some(k) = (0..7 - place).find(|k| rest.get(*k).is_some_and(|b| *b != b'=')) {
                    return Err(corrupt(text.len() - rest.len() + k - 1));
                }
                (digits, ended) = (place, true);
                if matches!(digits, 1 | 3 | 6) {
                    return Err(corrupt(text.len() - rest.len() - 1));
                }
                break;
            }
            let value = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'2'..=b'7' => byte - b'2' + 26,
                _ => return Err(corrupt(text.len() - rest.len() - 1)),
            };
            bits |= u64::from(value) << (35 - 5 * place);
            place += 1;
        }
        let bytes = digits * 5 / 8;
        out.extend((0..bytes).map(|i| (bits >> (32 - 8 * i)) as u8));
        if ended {
            break;
        }
    }
    Ok(out)
}

/// Returns Go's `adler32.Checksum`.
pub fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let (a, b) = bytes.iter().fold((1u32, 0u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % MODULUS;
        (a, (b + a) % MODULUS)
    });
    b << 16 | a
}
