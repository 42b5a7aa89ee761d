//! Verification of the signatures of webhook events.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use ring::digest::{SHA256, digest};
use ring::hmac;
use switchboard_sql::SecretString;

/// Headers with the HMAC of the body: `sha256=HEX` from GitHub and generic senders, `HEX` from Forgejo and Gitea. Only
/// the first header present counts, so a valid later one does not compensate for an invalid first one. GitHub's older
/// `x-hub-signature` uses SHA-1 and is not accepted.
const SIGNATURES: [(&str, &str); 4] = [
    ("x-switchboard-signature-256", "sha256="),
    ("x-hub-signature-256", "sha256="),
    ("x-forgejo-signature", ""),
    ("x-gitea-signature", ""),
];

/// Header in which GitLab sends the secret itself.
const TOKEN: &str = "x-gitlab-token";

/// Prefix of a GitLab signing token; the base64 key follows (standardwebhooks.com).
const SIGNING_TOKEN: &str = "whsec_";

/// Whether an event is signed with a secret. Verification takes constant time.
pub fn is_valid(secret: &SecretString, headers: &HeaderMap, body: &[u8]) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(key) = secret.expose().strip_prefix(SIGNING_TOKEN) {
        return STANDARD.decode(key).is_ok_and(|key| is_valid_token_signature(&key, headers, body));
    }
    if let Some((prefix, signature)) = SIGNATURES.iter().find_map(|(name, prefix)| Some((*prefix, text(name)?))) {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
        let tag = signature.strip_prefix(prefix).and_then(from_hex);
        return tag.is_some_and(|tag| hmac::verify(&key, body, &tag).is_ok());
    }
    // Comparing digests keeps timing independent of the secret.
    let hash = |text: &str| digest(&SHA256, text.as_bytes());
    text(TOKEN).is_some_and(|token| hash(token).as_ref() == hash(secret.expose()).as_ref())
}

/// Whether one of the event's signatures is made with the key of a signing token. The timestamp is signed but its age
/// is not checked: a superfluous refresh is harmless.
fn is_valid_token_signature(key: &[u8], headers: &HeaderMap, body: &[u8]) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(id), Some(sent), Some(all)) = (text("webhook-id"), text("webhook-timestamp"), text("webhook-signature"))
    else {
        return false;
    };
    let signed = [id.as_bytes(), b".", sent.as_bytes(), b".", body].concat();
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    let tags = all.split(' ').filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok());
    tags.into_iter().any(|tag| hmac::verify(&key, &signed, &tag).is_ok())
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

    /// Example from docs.github.com, "Validating webhook deliveries".
    #[test]
    fn the_example_of_github_is_valid() {
        let secret = SecretString::from("It's a Secret to Everybody");
        let tag = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        for (header, prefix) in SIGNATURES {
            let signature = format!("{prefix}{tag}");
            assert!(is_valid(&secret, &with(header, &signature), b"Hello, World!"), "{header}");
            assert!(!is_valid(&secret, &with(header, &signature), b"Hello, World?"), "{header}");
            assert!(!is_valid(&SecretString::from("other"), &with(header, &signature), b"Hello, World!"), "{header}");
        }
    }

    /// An empty, shortened or differently formatted signature is invalid for every sender.
    #[test]
    fn a_signature_has_the_format_of_its_sender() {
        let secret = SecretString::from("It's a Secret to Everybody");
        let tag = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        for (header, signature) in [
            ("x-hub-signature-256", tag),
            ("x-gitea-signature", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"),
            ("x-gitea-signature", ""),
            ("x-forgejo-signature", &tag[..32]),
            ("x-hub-signature", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"),
        ] {
            assert!(!is_valid(&secret, &with(header, signature), b"Hello, World!"), "{header}: {signature}");
        }
        let mut two = with("x-hub-signature-256", "sha256=00");
        two.insert("x-gitea-signature", HeaderValue::from_static(tag));
        assert!(!is_valid(&secret, &two, b"Hello, World!"), "a later signature does not replace an invalid one");
    }

    /// Example from standardwebhooks.com; GitLab's signing tokens use its format.
    #[test]
    fn the_example_of_signing_tokens_is_valid() {
        let secret = SecretString::from("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let body = br#"{"test": 2432232314}"#;
        let sent = |signature: &str| {
            let mut headers = with("webhook-signature", signature);
            headers.insert("webhook-id", HeaderValue::from_static("msg_p5jXN8AQM9LWM0D4loKWxJek"));
            headers.insert("webhook-timestamp", HeaderValue::from_static("1614265330"));
            headers
        };
        let right = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert!(is_valid(&secret, &sent(right), body));
        assert!(is_valid(&secret, &sent(&format!("v1a,AAAA v1,AAAA {right}")), body), "one of several");
        assert!(!is_valid(&secret, &sent(right), b"{}") && !is_valid(&secret, &sent("v1,"), body));
        assert!(!is_valid(&secret, &sent(&right.replace("v1,", "v2,")), body));
        assert!(!is_valid(&secret, &with("webhook-signature", right), body), "id and timestamp are missing");
        let shown = with(TOKEN, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        assert!(!is_valid(&secret, &shown, body), "a signing token is not accepted as a secret");
        assert!(!is_valid(&SecretString::from("whsec_?"), &sent(right), body));
    }

    #[test]
    fn other_signatures_are_invalid() {
        let secret = SecretString::from("s");
        assert!(!is_valid(&secret, &HeaderMap::new(), b""));
        for malformed in ["", "sha256=", "sha256=zz", "sha256=abc", "sha1=00", "sha256=+1"] {
            assert!(!is_valid(&secret, &with("x-hub-signature-256", malformed), b""), "{malformed}");
        }
        assert!(is_valid(&secret, &with(TOKEN, "s"), b"anything"));
        assert!(!is_valid(&secret, &with(TOKEN, "t"), b"anything"));
    }
}
