//! Whether an event is from whom it should be.

use http::HeaderMap;
use ring::digest::{SHA256, digest};
use ring::hmac;
use switchboard_ledger::Secret;

/// Where GitHub, Gitea and generic senders put the HMAC of the body, as `sha256=HEX`.
const SIGNATURES: [&str; 2] = ["x-switchboard-signature-256", "x-hub-signature-256"];

/// Where GitLab puts the secret itself.
const TOKEN: &str = "x-gitlab-token";

/// Whether an event is signed with a secret. Takes as long for a wrong one as for a right one.
pub fn holds(secret: &Secret, headers: &HeaderMap, body: &[u8]) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(signature) = SIGNATURES.iter().find_map(|name| text(name)) {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
        let tag = signature.strip_prefix("sha256=").and_then(from_hex);
        return tag.is_some_and(|tag| hmac::verify(&key, body, &tag).is_ok());
    }
    // Digests, so that the time taken tells nothing about the secret.
    let hash = |text: &str| digest(&SHA256, text.as_bytes());
    text(TOKEN).is_some_and(|token| hash(token).as_ref() == hash(secret.expose()).as_ref())
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn with(name: &'static str, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        headers
    }

    /// GitHub's own example: docs.github.com, "Validating webhook deliveries".
    #[test]
    fn githubs_example_holds() {
        let secret = Secret::from("It's a Secret to Everybody");
        let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        for header in SIGNATURES {
            assert!(holds(&secret, &with(header, signature), b"Hello, World!"));
            assert!(!holds(&secret, &with(header, signature), b"Hello, World?"));
            assert!(!holds(&Secret::from("other"), &with(header, signature), b"Hello, World!"));
        }
    }

    #[test]
    fn nothing_else_holds() {
        let secret = Secret::from("s");
        assert!(!holds(&secret, &HeaderMap::new(), b""));
        for odd in ["", "sha256=", "sha256=zz", "sha256=abc", "sha1=00", "sha256=+1"] {
            assert!(!holds(&secret, &with("x-hub-signature-256", odd), b""), "{odd}");
        }
        assert!(holds(&secret, &with(TOKEN, "s"), b"anything"));
        assert!(!holds(&secret, &with(TOKEN, "t"), b"anything"));
    }
}
