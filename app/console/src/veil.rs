//! No secret passes here: what is shown is masked first.
//!
//! The nets are the kernel's own, [`switchboard_kernel::redact`], over the values of all Secrets that the console may read.

use serde_json::Value;
use switchboard_kernel::redact::{HIDDEN, LAST_APPLIED, Secrets, conceal, conceal_text, hide, tells};

/// The fields of plugs and sockets whose values may be secret by an interface that is not looked at here.
const CONFIGS: [&str; 4] = ["config", "data", "coupledResult", "resultTemplate"];

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
        conceal_text(&self.0.scrub(text)).into_owned()
    }

    /// An object, or a part of one, without secrets.
    pub fn value(&self, value: &Value) -> Value {
        let mut shown = conceal(&self.0.scrub_value(value));
        hide_applied(&mut shown);
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
}

/// What was applied last stands in the object itself: nobody needs to see it twice.
fn hide_applied(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(hide_applied),
        Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| match value {
            Value::String(text) if key == LAST_APPLIED => *text = HIDDEN.to_string(),
            value => hide_applied(value),
        }),
        _ => {}
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

#[cfg(test)]
mod tests;
