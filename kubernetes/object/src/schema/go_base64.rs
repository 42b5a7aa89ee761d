//! Go's `base64.StdEncoding`: line breaks are skipped, and an error has the position of the byte.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Decodes a text. The error is the position of the invalid byte.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, usize> {
    let source = text.as_bytes();
    let mut out = Vec::with_capacity(source.len() / 4 * 3);
    let mut at = 0;
    while at < source.len() {
        at = quantum(source, at, &mut out)?;
    }
    Ok(out)
}

/// Encodes bytes.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for position in 0..4 {
            let sextet = (word >> (18 - 6 * position)) & 63;
            out.push(if position <= chunk.len() { char::from(ALPHABET[sextet as usize]) } else { '=' });
        }
    }
    out
}

/// Reads up to four digits from `at`; returns the position of the next four.
fn quantum(source: &[u8], mut at: usize, out: &mut Vec<u8>) -> Result<usize, usize> {
    let mut digits = [0u8; 4];
    let mut count = 0;
    while count < 4 {
        let Some(&byte) = source.get(at) else {
            return if count == 0 { Ok(at) } else { Err(at - count) };
        };
        at += 1;
        match (value(byte), byte) {
            (Some(digit), _) => {
                digits[count] = digit;
                count += 1;
            }
            (None, b'\n' | b'\r') => {}
            (None, b'=') => {
                at = padding(source, at, count)?;
                break;
            }
            (None, _) => return Err(at - 1),
        }
    }
    let word = digits.iter().fold(0u32, |word, digit| word << 6 | u32::from(*digit));
    out.extend_from_slice(&word.to_be_bytes()[1..count.max(1)]);
    Ok(at)
}

/// Checks the padding after the first `=`, and that nothing follows.
fn padding(source: &[u8], mut at: usize, count: usize) -> Result<usize, usize> {
    let skip_breaks = |mut at: usize| {
        while matches!(source.get(at), Some(b'\n' | b'\r')) {
            at += 1;
        }
        at
    };
    match count {
        0 | 1 => return Err(at - 1),
        2 => {
            at = skip_breaks(at);
            match source.get(at) {
                None => return Err(source.len()),
                Some(b'=') => at += 1,
                Some(_) => return Err(at - 1),
            }
        }
        _ => {}
    }
    at = skip_breaks(at);
    if at < source.len() { Err(at) } else { Ok(at) }
}

fn value(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}
