//! No secret passes here: what is shown is masked first.
//!
//! Three nets. The kernel's own knows where Secrets keep their values, and the values of Secrets that were read, wherever
//! they were copied to. The third knows what secrets look like when nobody said that they are: fields and variables by
//! name, passwords in URLs, keys in text.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;
use switchboard_kernel::redact::{HIDDEN, LAST_APPLIED, Secrets, redact};

/// Field and variable names that end so hold secrets, whatever case and separators.
const TELLING: [&str; 14] = [
    "password",
    "passwd",
    "passphrase",
    "token",
    "secret",
    "secretkey",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "credentials",
    "authorization",
    "dsn",
    "connectionstring",
];

/// The fields of plugs and sockets whose values may be secret by an interface that is not looked at here.
const CONFIGS: [&str; 4] = ["config", "data", "coupledResult", "resultTemplate"];

static IN_URL: LazyLock<Regex> = LazyLock::new(|| pattern(r"([A-Za-z][A-Za-z0-9+.-]*://)[^\s/@:]*(:[^\s/@]*)?@"));
static IN_TEXT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?i)((?:[a-z0-9]+[_-])*(?:password|passwd|passphrase|token|secret|api[_-]?key|access[_-]?key|private[_-]?key)["']?\s*[=:]\s*)("[^"\n]*"|'[^'\n]*'|[^\s,;&"']+)"#,
    )
});
static BEARER: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}"));
static TOKEN: LazyLock<Regex> = LazyLock::new(|| pattern(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"));
static KEY: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant that a test compiles")
}

/// Masks what is shown.
#[derive(Default)]
pub struct Veil(Secrets);

impl Veil {
    /// Knows the values of these Secrets.
    pub fn knowing<'v>(secrets: impl IntoIterator<Item = &'v Value>) -> Self {
        let mut known = Secrets::default();
        secrets.into_iter().for_each(|secret| known.learn(secret));
        Self(known)
    }

    /// A text without secrets.
    pub fn text(&self, text: &str) -> String {
        let text = self.0.scrub(text);
        let text = KEY.replace_all(&text, HIDDEN);
        let text = IN_URL.replace_all(&text, format!("${{1}}{HIDDEN}@"));
        let text = IN_TEXT.replace_all(&text, format!("${{1}}{HIDDEN}"));
        let text = BEARER.replace_all(&text, format!("$1 {HIDDEN}"));
        TOKEN.replace_all(&text, HIDDEN).into_owned()
    }

    /// An object, or a part of one, without secrets.
    pub fn value(&self, value: &Value) -> Value {
        let mut shown = redact(value);
        self.walk(&mut shown);
        if matches!(shown["kind"].as_str(), Some("Plug" | "Socket")) {
            for part in ["spec", "status"] {
                let Some(fields) = shown.get_mut(part).and_then(Value::as_object_mut) else { continue };
                fields
                    .iter_mut()
                    .filter(|(name, _)| CONFIGS.contains(&name.as_str()))
                    .for_each(|(_, value)| hide(value));
            }
        }
        shown
    }

    fn walk(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.walk(item)),
            Value::Object(fields) => {
                // A variable of a container: its name stands beside its value.
                if fields.get("name").and_then(Value::as_str).is_some_and(tells)
                    && let Some(value) = fields.get_mut("value")
                {
                    hide(value);
                }
                for (key, value) in fields.iter_mut() {
                    match value {
                        Value::String(text) if key == LAST_APPLIED || tells(key) => *text = HIDDEN.to_string(),
                        value => self.walk(value),
                    }
                }
            }
            _ => {}
        }
    }
}

/// Whether a name says that a secret stands behind it.
fn tells(name: &str) -> bool {
    let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric()).collect::<String>().to_ascii_lowercase();
    TELLING.iter().any(|word| plain.ends_with(word))
}

/// Keys stay, values go.
fn hide(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(hide),
        Value::Null => {}
        value => *value = HIDDEN.into(),
    }
}

#[cfg(test)]
mod tests;
