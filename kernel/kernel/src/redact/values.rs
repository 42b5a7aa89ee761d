//! Redaction of known secret values in texts.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use switchboard_object::yaml;

use super::{REDACTED, VALUE_FIELDS, is_secret};

/// Minimum length of a value to search for: shorter ones occur in ordinary words.
pub const MIN_VALUE_BYTES: usize = 6;
/// Maximum length of a value to search for; longer ones are found by their start, and masked over their whole length.
pub const MAX_VALUE_BYTES: usize = 64 * 1024;
/// Maximum number of values in all forms; further ones are masked only by [`super::redact_secrets`].
pub const MAX_VALUES: usize = 20_000;

/// Keys without a secret value, by type of the Secret. A service account token also has its namespace and CA; the
/// record of a coupling has object names, which would otherwise be masked in every message about these objects.
const PUBLIC_KEYS: [(&str, [&str; 2]); 2] = [
    ("kubernetes.io/service-account-token", ["namespace", "ca.crt"]),
    ("integration.rock8s.com/coupling", ["record", "snapshot"]),
];

/// Minimum length of a part of a value: shorter parts are usually words, not secrets.
const MIN_PART_BYTES: usize = 8;
/// Maximum number of parts of a value.
const MAX_PARTS: usize = 256;

/// Search texts by length, longest first, with the length of the whole value.
type ByLength = BTreeMap<Reverse<usize>, BTreeMap<Box<[u8]>, usize>>;

/// Redactor for known values of Secrets, in plain, base64 and JSON-quoted form.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Values by their first bytes, then by length, longest first, so that many values with the same start are looked
    /// up quickly.
    values: BTreeMap<[u8; MIN_VALUE_BYTES], ByLength>,
    count: usize,
}

/// Formats only the number of values.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").field("count", &self.count).finish()
    }
}

impl Redactor {
    /// Creates a redactor for the values of those objects that are Secrets.
    pub fn from<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut secrets = Self::default();
        objects.into_iter().for_each(|object| secrets.add_object(object));
        secrets
    }

    /// Adds the values of an object if it is a Secret.
    pub fn add_object(&mut self, object: &Value) {
        if object.as_object().is_some_and(is_secret) {
            self.add_of_kind("Secret", object);
        }
    }

    /// Adds the values of an object, or a part of one, of a known kind.
    pub fn add_of_kind(&mut self, kind: &str, object: &Value) {
        let Some(fields) = object.as_object().filter(|_| kind == "Secret") else { return };
        let public = PUBLIC_KEYS.iter().find(|(of_type, _)| object["type"] == *of_type).map(|(_, keys)| keys);
        for field in VALUE_FIELDS {
            for (key, value) in fields.get(field).and_then(Value::as_object).into_iter().flatten() {
                let Some(text) = value.as_str() else { continue };
                if public.is_some_and(|keys| keys.contains(&key.as_str())) {
                    continue;
                }
                self.add_value(text);
                if field == "data" {
                    self.add_decoded(text);
                } else {
                    parts(text).into_iter().for_each(|part| self.add_value(&part));
                    self.add_value(&STANDARD.encode(text));
                }
            }
        }
    }

    /// Whether no values are known.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Masks every known value in a text.
    pub fn redact(&self, text: &str) -> String {
        let (mut clean, mut shown, mut covered) = (String::with_capacity(text.len()), 0, 0);
        for (at, window) in text.as_bytes().windows(MIN_VALUE_BYTES).enumerate() {
            let Some(length) = self.longest(window, &text.as_bytes()[at..]) else { continue };
            // The rest of a long value may differ from the one that was read.
            let end = text.ceil_char_boundary(at.saturating_add(length));
            // Overlapping values are masked as one: the rest of the second would show its end.
            if at >= covered {
                clean.push_str(&text[shown.max(covered)..at]);
                clean.push_str(REDACTED);
            }
            covered = covered.max(end);
            shown = covered;
        }
        clean.push_str(&text[shown..]);
        clean
    }

    /// Masks every known value in a JSON value, keys included.
    pub fn redact_value(&self, value: &Value) -> Value {
        match value {
            _ if self.is_empty() => value.clone(),
            Value::String(text) => self.redact(text).into(),
            Value::Number(number) => {
                let text = number.to_string();
                let clean = self.redact(&text);
                if clean == text { value.clone() } else { clean.into() }
            }
            Value::Array(items) => items.iter().map(|item| self.redact_value(item)).collect(),
            Value::Object(fields) => {
                let pairs = fields.iter().map(|(key, inner)| (self.redact(key), self.redact_value(inner)));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
            _ => value.clone(),
        }
    }

    /// Returns the length of the longest value at the start of the text.
    fn longest(&self, window: &[u8], text: &[u8]) -> Option<usize> {
        let first: [u8; MIN_VALUE_BYTES] = window.try_into().ok()?;
        let whole = |(length, values): (&Reverse<usize>, &BTreeMap<Box<[u8]>, usize>)| {
            text.get(..length.0).and_then(|beginning| values.get(beginning)).copied()
        };
        self.values.get(&first)?.iter().filter_map(whole).max()
    }

    fn add_decoded(&mut self, encoded: &str) {
        let Ok(bytes) = STANDARD.decode(encoded) else { return };
        let Ok(text) = String::from_utf8(bytes) else { return };
        self.add_value(&text);
        // Texts usually quote a value without its trailing line end.
        self.add_value(text.trim());
        parts(&text).into_iter().for_each(|part| self.add_value(&part));
        let quoted = Value::from(text.trim()).to_string();
        self.add_value(&quoted[1..quoted.len() - 1]);
    }

    fn add_value(&mut self, value: &str) {
        let whole = value.len();
        let value = &value[..value.floor_char_boundary(MAX_VALUE_BYTES)];
        let Some(first) = value.as_bytes().first_chunk::<MIN_VALUE_BYTES>() else { return };
        if self.count >= MAX_VALUES || value.trim().is_empty() {
            return;
        }
        let as_long = self.values.entry(*first).or_default().entry(Reverse(value.len())).or_default();
        let known = as_long.entry(Box::from(value.as_bytes())).or_insert_with(|| {
            self.count += 1;
            0
        });
        *known = whole.max(*known);
    }
}

/// Returns the parts of a value that operators extract: the texts of a document, such as a kubeconfig or registry
/// login, and the texts after `=` or `:` in a line, connection string or address.
fn parts(value: &str) -> Vec<String> {
    let mut found = Vec::new();
    if value.len() > MAX_VALUE_BYTES {
        return found;
    }
    let document = serde_json::from_str(value).ok().or_else(|| yaml::read(value).ok().map(|read| read.value));
    match document {
        Some(document @ (Value::Object(_) | Value::Array(_))) => leaves(&document, &mut found),
        _ => {
            let pieces = value.split([' ', '\t', '\n', '\r', ';', ',', '&', '?', '@', '"', '\'']);
            let behind = pieces.flat_map(|piece| piece.split_once('=').into_iter().chain(piece.rsplit_once(':')));
            found.extend(behind.map(|(_, secret)| secret.to_string()));
        }
    }
    found.retain(|part| part.len() >= MIN_PART_BYTES);
    found.truncate(MAX_PARTS);
    found
}

fn leaves(document: &Value, found: &mut Vec<String>) {
    match document {
        Value::String(text) => {
            found.push(text.clone());
            let decoded = STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            found.extend(decoded.iter().filter_map(|login| login.split_once(':')).map(|(_, word)| word.to_string()));
        }
        Value::Array(items) => items.iter().for_each(|item| leaves(item, found)),
        Value::Object(fields) => fields.values().for_each(|inner| leaves(inner, found)),
        _ => {}
    }
}
