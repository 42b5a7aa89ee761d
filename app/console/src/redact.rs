//! Redaction of everything that the console shows.
//!
//! The rules are those of [`switchboard_kernel::redact`], with the values of all Secrets that the console can read.

use serde_json::Value;
use switchboard_kernel::redact::{
    LAST_APPLIED, REDACTED, Redactor, is_secret_name, redact_leaves, redact_text, redact_value,
};

/// Fields of plugs and sockets whose values may be secret by their interface, which is not read here.
const CONFIGS: [&str; 4] = ["config", "data", "coupledResult", "resultTemplate"];

/// PageRedactor of texts and values.
#[derive(Default)]
pub struct PageRedactor(Redactor);

impl PageRedactor {
    /// Creates a redactor that knows the values of Secrets.
    pub fn from_secrets<'v>(secrets: impl IntoIterator<Item = &'v Value>) -> Self {
        let mut known = Redactor::default();
        secrets.into_iter().for_each(|secret| known.add_object(secret));
        Self(known)
    }

    /// Redacts a text.
    pub fn text(&self, text: &str) -> String {
        redact_text(&self.0.redact(text)).into_owned()
    }

    /// Redacts an object or a part of one.
    pub fn value(&self, value: &Value) -> Value {
        let mut shown = redact_value(&self.0.redact_value(value));
        redact_last_applied(&mut shown);
        if matches!(shown["kind"].as_str(), Some("Plug" | "Socket")) {
            for part in ["spec", "status"] {
                let Some(fields) = shown.get_mut(part).and_then(Value::as_object_mut) else { continue };
                fields
                    .iter_mut()
                    .filter(|(name, _)| CONFIGS.contains(&name.as_str()))
                    .for_each(|(_, value)| redact_leaves(value));
            }
        }
        shown
    }

    /// Redacts the value of a named field.
    pub fn named(&self, name: &str, text: &str) -> String {
        if is_secret_name(name) { REDACTED.to_string() } else { self.text(text) }
    }

    /// Returns the texts of an object that redaction removes, to find them elsewhere in a response.
    pub fn redacted_texts(&self, object: &Value) -> Vec<String> {
        let mut hidden = Vec::new();
        collect_redacted(object, &self.value(object), &mut hidden);
        hidden
    }
}

/// Redacts the last-applied annotation, which repeats the object.
fn redact_last_applied(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(redact_last_applied),
        Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| match value {
            Value::String(text) if key == LAST_APPLIED => *text = REDACTED.to_string(),
            value => redact_last_applied(value),
        }),
        _ => {}
    }
}

/// Collects the scalars of a value that its redacted copy lacks.
fn collect_redacted(whole: &Value, shown: &Value, out: &mut Vec<String>) {
    match (whole, shown) {
        (Value::Object(whole), Value::Object(shown)) => {
            whole.iter().for_each(|(key, value)| collect_redacted(value, shown.get(key).unwrap_or(&Value::Null), out));
        }
        (Value::Array(whole), Value::Array(shown)) if whole.len() == shown.len() => {
            whole.iter().zip(shown).for_each(|(value, shown)| collect_redacted(value, shown, out));
        }
        (whole, shown) if whole == shown => {}
        (Value::Object(fields), _) => fields.values().for_each(|value| collect_redacted(value, &Value::Null, out)),
        (Value::Array(items), _) => items.iter().for_each(|item| collect_redacted(item, &Value::Null, out)),
        (Value::String(text), _) => out.push(text.clone()),
        (Value::Null | Value::Bool(_), _) => {}
        (number, _) => out.push(number.to_string()),
    }
}

#[cfg(test)]
mod tests;
