//! Random ids for new rows, in the format of managed-gitops.

use std::fmt::Write as _;

use ring::rand::{SecureRandom, SystemRandom};

/// Returns a random UUID (RFC 4122, version 4).
pub fn new() -> String {
    let mut bytes = [0u8; 16];
    SystemRandom::new().fill(&mut bytes).expect("the system gives random bytes");
    uuid(bytes)
}

fn uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn ids_have_the_form_of_a_random_uuid() {
        assert_eq!(super::uuid([0xff; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(super::uuid([0; 16]), "00000000-0000-4000-8000-000000000000");
        assert_ne!(super::new(), super::new());
    }
}
