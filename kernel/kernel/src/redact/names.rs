//! Detection of secrets by the names of fields, variables and arguments.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{LAST_APPLIED, REDACTED, redact_secret_mutation, redact_secrets, redact_text};
use crate::plan::{Mutation, WriteOp};

/// Endings of names with a secret value, ignoring case, separators and plural.
const SECRET_ENDINGS: [&str; 14] = [
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

/// Last letters of such names, singular or plural.
const LAST_LETTERS: &[u8] = b"sdentylg";

/// Words that end in `pass` without meaning a password.
const NO_PASSWORD: [&str; 3] = ["bypass", "compass", "surpass"];

/// Fields that hold the name of a Secret.
const SECRET_NAME_FIELDS: [&str; 1] = ["credentialssecret"];

/// Fields of a reference to a secret, which are not secret themselves.
const REFERENCE_FIELDS: [&str; 17] = [
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

/// Redacts a value for display: values of Secrets, and what looks like a secret.
pub fn redact_value(value: &Value) -> Value {
    let mut shown = redact_secrets(value);
    redact_in_place(&mut shown);
    shown
}

/// Redacts a mutation for display.
pub fn redact_mutation(mutation: &Mutation) -> Mutation {
    let mut shown = redact_secret_mutation(mutation);
    match &mut shown.operation {
        WriteOp::Create(body) | WriteOp::Update(body) | WriteOp::Apply { body, .. } | WriteOp::Patch { body, .. } => {
            redact_in_place(body)
        }
        WriteOp::Delete { .. } => {}
    }
    shown
}

/// Whether a name indicates a secret value.
pub fn is_secret_name(name: &str) -> bool {
    // Most names have another last letter, and this check runs for every recorded field.
    let last = name.bytes().rev().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase());
    if !last.take(1).any(|byte| LAST_LETTERS.contains(&byte)) {
        return false;
    }
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let one = plain.strip_suffix('s').unwrap_or(&plain);
    let short = plain.ends_with("pass") && !NO_PASSWORD.iter().any(|word| plain.ends_with(word));
    (short || SECRET_ENDINGS.iter().any(|word| one.ends_with(word))) && !SECRET_NAME_FIELDS.contains(&plain.as_str())
}

/// Masks what looks like a secret, in place.
pub(crate) fn redact_in_place(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(changed) = redact_text(text) {
                *text = changed;
            }
        }
        Value::Array(items) => redact_items(items),
        Value::Object(fields) => redact_fields(fields),
        _ => {}
    }
}

/// Masks the argument after one like `--password`.
fn redact_items(items: &mut [Value]) {
    let mut secret = false;
    for item in items {
        let flag = item.as_str().is_some_and(|text| text.starts_with('-'));
        let names_secret =
            flag && item.as_str().is_some_and(|text| !text.contains(['=', ' ', ':']) && is_secret_name(text));
        if secret && !flag && !item.is_object() {
            redact_leaves(item);
        } else {
            redact_in_place(item);
        }
        secret = names_secret;
    }
}

fn redact_fields(fields: &mut Map<String, Value>) {
    if has_secret_sibling(fields)
        && let Some(value) = fields.get_mut("value")
    {
        redact_leaves(value);
    }
    for (key, value) in fields.iter_mut() {
        match value {
            Value::String(text) if key == LAST_APPLIED => redact_document(text),
            value if is_secret_name(key) => redact_named_value(value),
            value => redact_in_place(value),
        }
    }
}

/// Masks the value of a field with a secret name. Booleans and references to a secret stay.
fn redact_named_value(value: &mut Value) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Array(items) => items.iter_mut().for_each(redact_named_value),
        Value::Object(fields) if !is_reference(fields) => fields.values_mut().for_each(redact_leaves),
        Value::Object(fields) => redact_fields(fields),
        _ => *value = REDACTED.into(),
    }
}

/// Whether an object is a reference to a secret. A `key` alone is not: it may be the secret.
fn is_reference(fields: &Map<String, Value>) -> bool {
    let of = ["name", "secretName", "path", "items"].iter().any(|field| fields.contains_key(*field));
    fields.keys().all(|key| REFERENCE_FIELDS.contains(&key.as_str())) && (of || !fields.contains_key("key"))
}

/// Whether a sibling field marks `value` as secret: the name of an environment variable, or the path of a JSON patch
/// operation.
fn has_secret_sibling(fields: &Map<String, Value>) -> bool {
    let text = |field: &str| fields.get(field).and_then(Value::as_str);
    let path = text("path").filter(|_| fields.contains_key("op")).and_then(|path| path.rsplit('/').next());
    text("name").or(path).is_some_and(is_secret_name)
}

fn redact_document(text: &mut String) {
    match serde_json::from_str::<Value>(text) {
        Ok(mut document) => {
            redact_in_place(&mut document);
            *text = document.to_string();
        }
        // The content is unknown.
        Err(_) => *text = REDACTED.to_string(),
    }
}

/// Masks all values and keeps the keys.
pub fn redact_leaves(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(redact_leaves),
        Value::Null => {}
        value => *value = REDACTED.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::redact::redact_message;

    const CANARY: &str = "canary-9f3b17";

    #[test]
    fn secret_looking_text_is_redacted_everywhere() {
        let texts = [
            format!("postgres://shop:{CANARY}@db/orders"),
            format!("https://{CANARY}@git.example.com/x.git"),
            format!("password={CANARY}"),
            format!("DB_PASSWORD: \"{CANARY}\""),
            format!("Authorization: Bearer {CANARY}00"),
            format!("-----BEGIN RSA PRIVATE KEY-----\n{CANARY}\n-----END RSA PRIVATE KEY-----"),
        ];
        for text in &texts {
            let shown = redact_text(text);
            assert!(!shown.contains(CANARY), "{text}");
            assert_eq!(redact_text(&shown), shown, "what is masked stays as it is");
        }
        let object = json!({
            "metadata": {"annotations": {LAST_APPLIED: json!({"spec": {"password": CANARY}}).to_string()}},
            "spec": {"env": [{"name": "API_TOKEN", "value": CANARY}, {"name": "PLAIN", "value": "shown"}],
                "password": CANARY, "adminPassword": CANARY, "client_secret": CANARY, "args": [format!("--token={CANARY}")]},
            "patch": [{"op": "replace", "path": "/spec/config/password", "value": CANARY}],
        });
        let shown = redact_value(&object);
        assert!(!shown.to_string().contains(CANARY), "{shown}");
        assert!(shown.to_string().contains("shown"), "{shown}");
        assert_eq!(redact_value(&shown), shown, "what is masked stays as it is");
    }

    #[test]
    fn other_values_are_unchanged() {
        let object = json!({"spec": {"secretName": "web", "secretKeyRef": {"name": "a", "key": "token"},
            "credentialsSecret": "kubeconfig", "image": "registry.example.com/web:1.4", "url": "https://example.com/a?b=c",
            "automountServiceAccountToken": true}});
        assert_eq!(redact_value(&object), object);
        let words = "could not read the secret: not found";
        assert_eq!(redact_message(words), words);
        assert_eq!(
            redact_message("no answer from https://u:pw@host"),
            format!("no answer from https://{REDACTED}@host")
        );
    }
}
