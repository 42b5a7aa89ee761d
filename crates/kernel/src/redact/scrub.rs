//! Finding known secret values in text.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::{HIDDEN, VALUE_FIELDS, is_secret};

/// Shorter values are not looked for: they would be found in every other word.
pub const MIN_VALUE_BYTES: usize = 6;
/// Longer values are looked for by their beginning only.
pub const MAX_VALUE_BYTES: usize = 64 * 1024;
/// How many values are kept, in all their forms; those beyond are masked by [`super::redact`] alone.
pub const MAX_VALUES: usize = 20_000;

/// A service account's token holds these beside it; both are known to everybody, and `default` is a common word.
const PUBLIC_OF_A_TOKEN: [&str; 2] = ["namespace", "ca.crt"];

/// Values of Secrets that were read, in the forms they turn up in: plain, base64, quoted as in JSON.
#[derive(Clone, Default)]
pub struct Secrets {
    /// By their first bytes, longest first.
    values: BTreeMap<[u8; MIN_VALUE_BYTES], Vec<Box<str>>>,
    count: usize,
}

/// Says how many there are, and none of them.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").field("count", &self.count).finish()
    }
}

impl Secrets {
    /// The values of those objects that are Secrets.
    pub fn from<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut secrets = Self::default();
        objects.into_iter().for_each(|object| secrets.learn(object));
        secrets
    }

    /// Adds the values of an object, when it is a Secret.
    pub fn learn(&mut self, object: &Value) {
        let Some(fields) = object.as_object().filter(|fields| is_secret(fields)) else { return };
        let token = object["type"] == "kubernetes.io/service-account-token";
        for field in VALUE_FIELDS {
            for (key, value) in fields.get(field).and_then(Value::as_object).into_iter().flatten() {
                let Some(text) = value.as_str() else { continue };
                if token && PUBLIC_OF_A_TOKEN.contains(&key.as_str()) {
                    continue;
                }
                self.keep(text);
                if field == "data" {
                    self.keep_decoded(text);
                } else {
                    self.keep(&STANDARD.encode(text));
                }
            }
        }
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The text with every known value masked.
    pub fn scrub(&self, text: &str) -> String {
        let (mut clean, mut shown, mut covered) = (String::with_capacity(text.len()), 0, 0);
        for (at, window) in text.as_bytes().windows(MIN_VALUE_BYTES).enumerate() {
            let Some(length) = self.longest(window, &text.as_bytes()[at..]) else { continue };
            // Values that overlap are one masked stretch: the rest of the second would tell its end.
            if at >= covered {
                clean.push_str(&text[shown.max(covered)..at]);
                clean.push_str(HIDDEN);
            }
            covered = covered.max(at + length);
            shown = covered;
        }
        clean.push_str(&text[shown..]);
        clean
    }

    /// The value with every known value masked wherever it stands, keys included.
    pub fn scrub_value(&self, value: &Value) -> Value {
        match value {
            _ if self.is_empty() => value.clone(),
            Value::String(text) => self.scrub(text).into(),
            Value::Number(number) => {
                let text = number.to_string();
                let clean = self.scrub(&text);
                if clean == text { value.clone() } else { clean.into() }
            }
            Value::Array(items) => items.iter().map(|item| self.scrub_value(item)).collect(),
            Value::Object(fields) => {
                let pairs = fields.iter().map(|(key, inner)| (self.scrub(key), self.scrub_value(inner)));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
            _ => value.clone(),
        }
    }

    /// How long the longest value is that the text begins with.
    fn longest(&self, window: &[u8], text: &[u8]) -> Option<usize> {
        let first: [u8; MIN_VALUE_BYTES] = window.try_into().ok()?;
        let found = self.values.get(&first)?.iter().find(|value| text.starts_with(value.as_bytes()))?;
        Some(found.len())
    }

    fn keep_decoded(&mut self, encoded: &str) {
        let Ok(bytes) = STANDARD.decode(encoded) else { return };
        let Ok(text) = String::from_utf8(bytes) else { return };
        self.keep(&text);
        // A value that ends with a line end is quoted without it more often than not.
        self.keep(text.trim());
        let quoted = Value::from(text.trim()).to_string();
        self.keep(&quoted[1..quoted.len() - 1]);
    }

    fn keep(&mut self, value: &str) {
        let value = &value[..value.floor_char_boundary(MAX_VALUE_BYTES)];
        let Some(first) = value.as_bytes().first_chunk::<MIN_VALUE_BYTES>() else { return };
        if self.count >= MAX_VALUES || value.trim().is_empty() {
            return;
        }
        let same = self.values.entry(*first).or_default();
        if !same.iter().any(|known| **known == *value) {
            let at = same.partition_point(|known| known.len() > value.len());
            same.insert(at, Box::from(value));
            self.count += 1;
        }
    }
}
