//! No secret passes here: what is shown is masked first.
//!
//! Three nets. The kernel's own knows where Secrets keep their values, and the values of Secrets that were read, wherever
//! they were copied to. The third knows what secrets look like when nobody said that they are: fields and variables by
//! name, passwords in URLs, keys in text.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};
use switchboard_kernel::redact::{HIDDEN, LAST_APPLIED, Secrets, redact};

/// Field and variable names that end so hold secrets, whatever case and separators, and one or many.
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
    "authorization",
    "dsn",
    "connectionstring",
    "pwd",
];
/// What ends in `pass` is short for a password, but for these.
const NO_PASSWORD: [&str; 3] = ["bypass", "compass", "surpass"];

/// What says where a secret is, or how it is put there, and is none itself.
const REFERS: [&str; 17] = [
    "apiGroup",
    "apiVersion",
    "audience",
    "defaultMode",
    "expirationSeconds",
    "group",
    "items",
    "key",
    "kind",
    "mode",
    "name",
    "namespace",
    "optional",
    "path",
    "readOnly",
    "secretName",
    "version",
];

/// The fields of plugs and sockets whose values may be secret by an interface that is not looked at here.
const CONFIGS: [&str; 4] = ["config", "data", "coupledResult", "resultTemplate"];

/// An address up to the last `@` of its word; [`login`] says what of it is a login.
static IN_URL: LazyLock<Regex> = LazyLock::new(|| pattern(r#"([A-Za-z][A-Za-z0-9+.-]*://)([^\s"'<>]*)@"#));
/// What follows a name that tells, as in files of settings and in addresses; quoted keys of JSON as well.
static IN_TEXT: LazyLock<Regex> =
    LazyLock::new(|| pattern(&format!(r#"(?i)({NAME}["']?\s*[=:]\s*)("[^"\n]*"|'[^'\n]*'|[^\s,;&"']+)"#)));
/// What follows such a name on a command line.
static IN_LINE: LazyLock<Regex> =
    LazyLock::new(|| pattern(&format!(r#"(?i)((?:^|\s)--?{NAME}\s+)("[^"\n]*"|'[^'\n]*'|[^\s"'-][^\s"']*)"#)));
/// A name that tells, in text.
const NAME: &str = r"(?:[a-z0-9]+[_-])*(?:(?:password|passwd|passphrase|token|secret|credential|api[_-]?key|access[_-]?key|private[_-]?key)s?|\b(?:pass|pwd)|[_-](?:pass|pwd))";
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
        let text = IN_URL.replace_all(&text, login);
        let text = IN_TEXT.replace_all(&text, format!("${{1}}{HIDDEN}"));
        let text = IN_LINE.replace_all(&text, format!("${{1}}{HIDDEN}"));
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

    /// A text that stands behind this name.
    pub fn named(&self, name: &str, text: &str) -> String {
        if tells(name) { HIDDEN.to_string() } else { self.text(text) }
    }

    /// What of an object is hidden, as texts: found again where an API server printed them elsewhere.
    pub fn hides(&self, object: &Value) -> Vec<String> {
        let mut hidden = Vec::new();
        apart(object, &self.value(object), &mut hidden);
        hidden
    }

    fn walk(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => self.walk_items(items),
            Value::Object(fields) => {
                // A variable of a container: its name stands beside its value.
                if fields.get("name").and_then(Value::as_str).is_some_and(tells)
                    && let Some(value) = fields.get_mut("value")
                {
                    hide(value);
                }
                for (key, value) in fields.iter_mut() {
                    match value {
                        Value::String(text) if key == LAST_APPLIED => *text = HIDDEN.to_string(),
                        value if tells(key) => self.walk_secret(value),
                        value => self.walk(value),
                    }
                }
            }
            _ => {}
        }
    }

    /// Arguments of a command come as items: the one behind `--password` is it.
    fn walk_items(&self, items: &mut [Value]) {
        let mut secret = false;
        for item in items {
            let flag = item.as_str().and_then(|text| text.strip_prefix('-')).is_some();
            let told = flag && item.as_str().is_some_and(|text| !text.contains(['=', ' ', ':']) && tells(text));
            if secret && !flag && !item.is_object() {
                hide(item);
            } else {
                self.walk(item);
            }
            secret = told;
        }
    }

    /// What stands behind a name that tells. Whether something is wanted says nothing, nor does where a secret is.
    fn walk_secret(&self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Array(items) => items.iter_mut().for_each(|item| self.walk_secret(item)),
            Value::Object(fields) if !refers(fields) => fields.values_mut().for_each(hide),
            Value::Object(_) => self.walk(value),
            _ => *value = HIDDEN.into(),
        }
    }
}

/// Whether it says where a secret is. A key says so only beside what it is a key of: alone it may be the secret.
fn refers(fields: &Map<String, Value>) -> bool {
    let of = ["name", "secretName", "path", "items"].iter().any(|field| fields.contains_key(*field));
    fields.keys().all(|key| REFERS.contains(&key.as_str())) && (of || !fields.contains_key("key"))
}

/// Whether a name says that a secret stands behind it.
pub fn tells(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let one = plain.strip_suffix('s').unwrap_or(&plain);
    let short = plain.ends_with("pass") && !NO_PASSWORD.iter().any(|word| plain.ends_with(word));
    short || TELLING.iter().any(|word| one.ends_with(word))
}

/// The login of an address. One that has a password may hold `@` and `/`, though it should not: then more is hidden rather than less.
fn login(found: &Captures<'_>) -> String {
    let (scheme, rest) = (&found[1], &found[2]);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let password = authority.split_once(':').is_some_and(|(_, rest)| !port(rest));
    if password || authority.len() == rest.len() {
        return format!("{scheme}{HIDDEN}@");
    }
    match authority.rsplit_once('@') {
        Some((login, _)) => format!("{scheme}{HIDDEN}{}@", &rest[login.len()..]),
        None => format!("{scheme}{rest}@"),
    }
}

/// The scalars that the second, which is the first with some hidden, does not have.
fn apart(whole: &Value, shown: &Value, out: &mut Vec<String>) {
    match (whole, shown) {
        (Value::Object(whole), Value::Object(shown)) => {
            whole.iter().for_each(|(key, value)| apart(value, shown.get(key).unwrap_or(&Value::Null), out));
        }
        (Value::Array(whole), Value::Array(shown)) if whole.len() == shown.len() => {
            whole.iter().zip(shown).for_each(|(value, shown)| apart(value, shown, out));
        }
        (whole, shown) if whole == shown => {}
        (Value::Object(fields), _) => fields.values().for_each(|value| apart(value, &Value::Null, out)),
        (Value::Array(items), _) => items.iter().for_each(|item| apart(item, &Value::Null, out)),
        (Value::String(text), _) => out.push(text.clone()),
        (Value::Null | Value::Bool(_), _) => {}
        (number, _) => out.push(number.to_string()),
    }
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
