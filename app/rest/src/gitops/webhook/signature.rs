//! Whether an event is from whom it should be.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use ring::digest::{SHA256, digest};
use ring::hmac;
use switchboard_ledger::Secret;

/// Where GitHub and generic senders put the HMAC of the body, as `sha256=HEX`, and Forgejo and Gitea as `HEX`. Of several the
/// first counts: a bad one is not made good by another. GitHub's older `x-hub-signature` is of SHA-1, and is none.
const SIGNATURES: [(&str, &str); 4] = [
    ("x-switchboard-signature-256", "sha256="),
    ("x-hub-signature-256", "sha256="),
    ("x-forgejo-signature", ""),
    ("x-gitea-signature", ""),
];

/// Where GitLab puts the secret itself.
const TOKEN: &str = "x-gitlab-token";

/// What a signing token of GitLab begins with, before its key in base64: standardwebhooks.com.
const SIGNING_TOKEN: &str = "whsec_";

/// Whether an event is signed with a secret. Takes as long for a wrong one as for a right one.
pub fn holds(secret: &Secret, headers: &HeaderMap, body: &[u8]) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(key) = secret.expose().strip_prefix(SIGNING_TOKEN) {
        return STANDARD.decode(key).is_ok_and(|key| holds_by_token(&key, headers, body));
    }
    if let Some((prefix, signature)) = SIGNATURES.iter().find_map(|(name, prefix)| Some((*prefix, text(name)?))) {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
        let tag = signature.strip_prefix(prefix).and_then(from_hex);
        return tag.is_some_and(|tag| hmac::verify(&key, body, &tag).is_ok());
    }
    // Digests, so that the time taken tells nothing about the secret.
    let hash = |text: &str| digest(&SHA256, text.as_bytes());
    text(TOKEN).is_some_and(|token| hash(token).as_ref() == hash(secret.expose()).as_ref())
}

/// Whether one of the signatures of an event is of the key of a signing token. When it was sent is signed, but not judged: to look
/// once too often does no harm.
fn holds_by_token(key: &[u8], headers: &HeaderMap, body: &[u8]) -> bool {
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

    /// GitHub's own example: docs.github.com, "Validating webhook deliveries".
    #[test]
    fn githubs_example_holds() {
        let secret = Secret::from("It's a Secret to Everybody");
        let tag = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        for (header, prefix) in SIGNATURES {
            let signature = format!("{prefix}{tag}");
            assert!(holds(&secret, &with(header, &signature), b"Hello, World!"), "{header}");
            assert!(!holds(&secret, &with(header, &signature), b"Hello, World?"), "{header}");
            assert!(!holds(&Secret::from("other"), &with(header, &signature), b"Hello, World!"), "{header}");
        }
    }

    /// An empty tag, half of one and one of another form are none, whoever sends them.
    #[test]
    fn a_signature_has_the_form_of_its_sender() {
        let secret = Secret::from("It's a Secret to Everybody");
        let tag = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        for (header, signature) in [
            ("x-hub-signature-256", tag),
            ("x-gitea-signature", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"),
            ("x-gitea-signature", ""),
            ("x-forgejo-signature", &tag[..32]),
            ("x-hub-signature", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"),
        ] {
            assert!(!holds(&secret, &with(header, signature), b"Hello, World!"), "{header}: {signature}");
        }
        let mut two = with("x-hub-signature-256", "sha256=00");
        two.insert("x-gitea-signature", HeaderValue::from_static(tag));
        assert!(!holds(&secret, &two, b"Hello, World!"), "a bad one is not made good by another");
    }

    /// The example of standardwebhooks.com, whose form GitLab's signing tokens have.
    #[test]
    fn the_example_of_signing_tokens_holds() {
        let secret = Secret::from("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let body = br#"{"test": 2432232314}"#;
        let sent = |signature: &str| {
            let mut headers = with("webhook-signature", signature);
            headers.insert("webhook-id", HeaderValue::from_static("msg_p5jXN8AQM9LWM0D4loKWxJek"));
            headers.insert("webhook-timestamp", HeaderValue::from_static("1614265330"));
            headers
        };
        let right = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert!(holds(&secret, &sent(right), body));
        assert!(holds(&secret, &sent(&format!("v1a,AAAA v1,AAAA {right}")), body), "one of several");
        assert!(!holds(&secret, &sent(right), b"{}") && !holds(&secret, &sent("v1,"), body));
        assert!(!holds(&secret, &sent(&right.replace("v1,", "v2,")), body));
        assert!(!holds(&secret, &with("webhook-signature", right), body), "it says neither which nor when");
        let shown = with(TOKEN, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        assert!(!holds(&secret, &shown, body), "what signs is not shown");
        assert!(!holds(&Secret::from("whsec_?"), &sent(right), body));
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
