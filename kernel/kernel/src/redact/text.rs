//! Detection of secrets in texts: logins in URLs, named settings, keys and tokens.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::REDACTED;

/// URL up to the last `@` of its word; [`login`] determines the login in it.
static IN_URL: LazyLock<Regex> = LazyLock::new(|| pattern(r#"([A-Za-z][A-Za-z0-9+.-]*://)([^\s"'<>]*)@"#));
/// Value after a secret name, as in settings, URLs and quoted JSON keys.
static IN_TEXT: LazyLock<Regex> =
    LazyLock::new(|| pattern(&format!(r#"(?i)({NAME}["']?\s*([=:])\s*)("[^"\n]*"|'[^'\n]*'|[^\s,;&"']+)"#)));
/// Value after a secret name on a command line.
static IN_LINE: LazyLock<Regex> =
    LazyLock::new(|| pattern(&format!(r#"(?i)((?:^|\s)--?{NAME}\s+)("[^"\n]*"|'[^'\n]*'|[^\s"'-][^\s"']*)"#)));
/// Secret name in a text.
const NAME: &str = r"(?:[a-z0-9]+[_-])*(?:(?:password|passwd|passphrase|token|secret|credential|api[_-]?key|access[_-]?key|private[_-]?key)s?|\b(?:pass|pwd)|[_-](?:pass|pwd))";
/// Part of every secret name: searching for these alone takes a tenth of the time.
static ANY_NAME: LazyLock<Regex> = LazyLock::new(|| pattern("(?i)pass|pwd|token|secret|credential|key"));
static BEARER: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}"));
static TOKEN: LazyLock<Regex> = LazyLock::new(|| pattern(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"));
static KEY: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant that a test compiles")
}

/// Redacts what looks like a secret in the text of a field.
pub fn redact_text(text: &str) -> Cow<'_, str> {
    without(text, true)
}

/// Redacts a message: unlike in a field, the text after a colon is usually not a value.
pub fn redact_message(words: &str) -> String {
    without(words, false).into_owned()
}

fn without(text: &str, colons: bool) -> Cow<'_, str> {
    let mut clean = Cow::Borrowed(text);
    // Most texts are short and have no match, so a necessary substring is checked first.
    let mut replace = |holds: bool, pattern: &Regex, by: &dyn Fn(&Captures<'_>) -> String| {
        if holds && let Cow::Owned(changed) = pattern.replace_all(&clean, |found: &Captures<'_>| by(found)) {
            clean = Cow::Owned(changed);
        }
    };
    replace(text.contains("-----BEGIN"), &KEY, &|_| REDACTED.to_string());
    replace(text.contains("://"), &IN_URL, &login);
    let is_told = text.contains(['=', ':', '-']) && ANY_NAME.is_match(text);
    replace(is_told && text.contains(['=', ':']), &IN_TEXT, &|found| match colons || &found[2] == "=" {
        true => format!("{}{REDACTED}", &found[1]),
        false => found[0].to_string(),
    });
    let words = text.contains(char::is_whitespace);
    replace(is_told && words, &IN_LINE, &|found| format!("{}{REDACTED}", &found[1]));
    replace(words, &BEARER, &|found| format!("{} {REDACTED}", &found[1]));
    replace(text.contains("eyJ"), &TOKEN, &|_| REDACTED.to_string());
    clean
}

/// Masks the login of a URL. With a password it may contain unescaped `@` and `/`; then more is masked rather than
/// less.
fn login(found: &Captures<'_>) -> String {
    let (scheme, rest) = (&found[1], &found[2]);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let password = authority.split_once(':').is_some_and(|(_, rest)| !port(rest));
    if password || authority.len() == rest.len() {
        return format!("{scheme}{REDACTED}@");
    }
    match authority.rsplit_once('@') {
        Some((login, _)) => format!("{scheme}{REDACTED}{}@", &rest[login.len()..]),
        None => format!("{scheme}{rest}@"),
    }
}
