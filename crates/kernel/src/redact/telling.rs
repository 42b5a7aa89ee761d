//! What secrets look like when nobody said that they are: fields and variables by name, logins in URLs, keys in text.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

use super::{HIDDEN, LAST_APPLIED, redact, redact_mutation};
use crate::plan::{Act, Mutation};

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

/// Fields that sound so and hold the name of a Secret.
const NAMING: [&str; 1] = ["credentialssecret"];

static IN_URL: LazyLock<Regex> = LazyLock::new(|| pattern(r"([A-Za-z][A-Za-z0-9+.-]*://)[^\s/@:]*(:[^\s/@]*)?@"));
static IN_TEXT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?i)((?:[a-z0-9]+[_-])*(?:password|passwd|passphrase|token|secret|api[_-]?key|access[_-]?key|private[_-]?key)["']?\s*([=:])\s*)("[^"\n]*"|'[^'\n]*'|[^\s,;&"']+)"#,
    )
});
static BEARER: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}"));
static TOKEN: LazyLock<Regex> = LazyLock::new(|| pattern(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"));
static KEY: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant that a test compiles")
}

/// The text of a field without what looks like a secret in it.
pub fn conceal_text(text: &str) -> String {
    without(text, true)
}

/// The same for words about something: behind a colon stands what happened more often than a value.
pub fn conceal_words(words: &str) -> String {
    without(words, false)
}

fn without(text: &str, colons: bool) -> String {
    let mut clean = Cow::Borrowed(text);
    // Most texts are short and hold none of these: what must stand in all of them is looked for first.
    let mut replace = |holds: bool, pattern: &Regex, by: &dyn Fn(&Captures<'_>) -> String| {
        if holds && let Cow::Owned(changed) = pattern.replace_all(&clean, |found: &Captures<'_>| by(found)) {
            clean = Cow::Owned(changed);
        }
    };
    replace(text.contains("-----BEGIN"), &KEY, &|_| HIDDEN.to_string());
    replace(text.contains("://"), &IN_URL, &|found| format!("{}{HIDDEN}@", &found[1]));
    replace(text.contains(['=', ':']), &IN_TEXT, &|found| match colons || &found[2] == "=" {
        true => format!("{}{HIDDEN}", &found[1]),
        false => found[0].to_string(),
    });
    replace(text.contains(char::is_whitespace), &BEARER, &|found| format!("{} {HIDDEN}", &found[1]));
    replace(text.contains("eyJ"), &TOKEN, &|_| HIDDEN.to_string());
    clean.into_owned()
}

/// The value as it may be shown: as [`redact`] has it, and without what looks like a secret.
pub fn conceal(value: &Value) -> Value {
    let mut shown = redact(value);
    conceal_in(&mut shown);
    shown
}

/// The write as it may be shown.
pub fn conceal_mutation(mutation: &Mutation) -> Mutation {
    let mut shown = redact_mutation(mutation);
    match &mut shown.act {
        Act::Create(body) | Act::Update(body) | Act::Apply { body, .. } | Act::Patch { body, .. } => conceal_in(body),
        Act::Delete { .. } => {}
    }
    shown
}

/// Whether a name says that a secret stands behind it.
pub fn tells(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    TELLING.iter().any(|word| plain.ends_with(word)) && !NAMING.contains(&plain.as_str())
}

/// Masks what looks like a secret, where it stands.
pub(crate) fn conceal_in(value: &mut Value) {
    match value {
        Value::String(text) => *text = conceal_text(text),
        Value::Array(items) => items.iter_mut().for_each(conceal_in),
        Value::Object(fields) => conceal_fields(fields),
        _ => {}
    }
}

fn conceal_fields(fields: &mut Map<String, Value>) {
    if is_told(fields)
        && let Some(value) = fields.get_mut("value")
    {
        hide(value);
    }
    for (key, value) in fields.iter_mut() {
        match value {
            Value::String(text) if key == LAST_APPLIED => conceal_document(text),
            Value::String(text) if tells(key) => *text = HIDDEN.to_string(),
            value => conceal_in(value),
        }
    }
}

/// Whether what stands beside a value says that it is a secret: the name of a container's variable, the path of an
/// operation of a patch.
fn is_told(fields: &Map<String, Value>) -> bool {
    let text = |field: &str| fields.get(field).and_then(Value::as_str);
    let path = text("path").filter(|_| fields.contains_key("op")).and_then(|path| path.rsplit('/').next());
    text("name").or(path).is_some_and(tells)
}

fn conceal_document(text: &mut String) {
    match serde_json::from_str::<Value>(text) {
        Ok(mut document) => {
            conceal_in(&mut document);
            *text = document.to_string();
        }
        // It cannot be told what is in it.
        Err(_) => *text = HIDDEN.to_string(),
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
mod tests {
    use serde_json::json;

    use super::*;

    const CANARY: &str = "canary-9f3b17";

    #[test]
    fn what_looks_like_a_secret_is_hidden_wherever_it_stands() {
        let texts = [
            format!("postgres://shop:{CANARY}@db/orders"),
            format!("https://{CANARY}@git.example.com/x.git"),
            format!("password={CANARY}"),
            format!("DB_PASSWORD: \"{CANARY}\""),
            format!("Authorization: Bearer {CANARY}00"),
            format!("-----BEGIN RSA PRIVATE KEY-----\n{CANARY}\n-----END RSA PRIVATE KEY-----"),
        ];
        for text in &texts {
            let shown = conceal_text(text);
            assert!(!shown.contains(CANARY), "{text}");
            assert_eq!(conceal_text(&shown), shown, "what is masked stays as it is");
        }
        let object = json!({
            "metadata": {"annotations": {LAST_APPLIED: json!({"spec": {"password": CANARY}}).to_string()}},
            "spec": {"env": [{"name": "API_TOKEN", "value": CANARY}, {"name": "PLAIN", "value": "shown"}],
                "password": CANARY, "adminPassword": CANARY, "client_secret": CANARY, "args": [format!("--token={CANARY}")]},
            "patch": [{"op": "replace", "path": "/spec/config/password", "value": CANARY}],
        });
        let shown = conceal(&object);
        assert!(!shown.to_string().contains(CANARY), "{shown}");
        assert!(shown.to_string().contains("shown"), "{shown}");
        assert_eq!(conceal(&shown), shown, "what is masked stays as it is");
    }

    #[test]
    fn what_is_no_secret_is_left_as_it_is() {
        let object = json!({"spec": {"secretName": "web", "secretKeyRef": {"name": "a", "key": "token"},
            "credentialsSecret": "kubeconfig", "image": "registry.example.com/web:1.4", "url": "https://example.com/a?b=c",
            "automountServiceAccountToken": true}});
        assert_eq!(conceal(&object), object);
        let words = "could not read the secret: not found";
        assert_eq!(conceal_words(words), words);
        assert_eq!(conceal_words("no answer from https://u:pw@host"), format!("no answer from https://{HIDDEN}@host"));
    }
}
