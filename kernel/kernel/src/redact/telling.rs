//! What holds a secret by its name, though nobody said that it does: fields, variables, arguments.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{HIDDEN, LAST_APPLIED, conceal_text, redact, redact_mutation};
use crate::plan::{Act, Mutation};

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

/// What such names end with, one or many.
const LAST_LETTERS: &[u8] = b"sdentylg";

/// What ends in `pass` is short for a password, but for these.
const NO_PASSWORD: [&str; 3] = ["bypass", "compass", "surpass"];

/// Fields that sound so and hold the name of a Secret.
const NAMING: [&str; 1] = ["credentialssecret"];

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
    // Most names end otherwise than all of these, and are asked about for every field that is kept.
    let last = name.bytes().rev().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase());
    if !last.take(1).any(|byte| LAST_LETTERS.contains(&byte)) {
        return false;
    }
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let one = plain.strip_suffix('s').unwrap_or(&plain);
    let short = plain.ends_with("pass") && !NO_PASSWORD.iter().any(|word| plain.ends_with(word));
    (short || TELLING.iter().any(|word| one.ends_with(word))) && !NAMING.contains(&plain.as_str())
}

/// Masks what looks like a secret, where it stands.
pub(crate) fn conceal_in(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(changed) = conceal_text(text) {
                *text = changed;
            }
        }
        Value::Array(items) => conceal_items(items),
        Value::Object(fields) => conceal_fields(fields),
        _ => {}
    }
}

/// Arguments of a command come as items: the one behind `--password` is it.
fn conceal_items(items: &mut [Value]) {
    let mut secret = false;
    for item in items {
        let flag = item.as_str().is_some_and(|text| text.starts_with('-'));
        let told = flag && item.as_str().is_some_and(|text| !text.contains(['=', ' ', ':']) && tells(text));
        if secret && !flag && !item.is_object() {
            hide(item);
        } else {
            conceal_in(item);
        }
        secret = told;
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
            value if tells(key) => conceal_told(value),
            value => conceal_in(value),
        }
    }
}

/// What stands behind a name that tells. Whether something is wanted says nothing, nor does where a secret is.
fn conceal_told(value: &mut Value) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Array(items) => items.iter_mut().for_each(conceal_told),
        Value::Object(fields) if !refers(fields) => fields.values_mut().for_each(hide),
        Value::Object(fields) => conceal_fields(fields),
        _ => *value = HIDDEN.into(),
    }
}

/// Whether it says where a secret is. A key says so only beside what it is a key of: alone it may be the secret.
fn refers(fields: &Map<String, Value>) -> bool {
    let of = ["name", "secretName", "path", "items"].iter().any(|field| fields.contains_key(*field));
    fields.keys().all(|key| REFERS.contains(&key.as_str())) && (of || !fields.contains_key("key"))
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
pub fn hide(value: &mut Value) {
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
    use crate::redact::conceal_words;

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
