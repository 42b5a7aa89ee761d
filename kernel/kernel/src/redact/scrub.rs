//! Finding known secret values in text.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use switchboard_object::yaml;

use super::{HIDDEN, VALUE_FIELDS, is_secret};

/// Shorter values are not looked for: they would be found in every other word.
pub const MIN_VALUE_BYTES: usize = 6;
/// Longer values are looked for by their beginning, and masked as far as they are long.
pub const MAX_VALUE_BYTES: usize = 64 * 1024;
/// How many values are kept, in all their forms; those beyond are masked by [`super::redact`] alone.
pub const MAX_VALUES: usize = 20_000;

/// Keys that hold no secret, by the type of the Secret. A service account's token has its namespace and authority beside it; the
/// record of a coupling has names of objects, and those would be masked in every message about them.
const PUBLIC: [(&str, [&str; 2]); 2] = [
    ("kubernetes.io/service-account-token", ["namespace", "ca.crt"]),
    ("integration.rock8s.com/coupling", ["record", "snapshot"]),
];

/// Parts of a value that are shorter are words more often than secrets.
const MIN_PART_BYTES: usize = 8;
/// A value is not taken apart into more.
const MAX_PARTS: usize = 256;

/// What is looked for, by its length, longest first; each with how long the whole value is.
type ByLength = BTreeMap<Reverse<usize>, BTreeMap<Box<[u8]>, usize>>;

/// Values of Secrets that were read, in the forms they turn up in: plain, base64, quoted as in JSON.
#[derive(Clone, Default)]
pub struct Secrets {
    /// By their first bytes, then by length, longest first: many values that begin alike are looked up, not walked through.
    values: BTreeMap<[u8; MIN_VALUE_BYTES], ByLength>,
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
        if object.as_object().is_some_and(is_secret) {
            self.learn_kind("Secret", object);
        }
    }

    /// The same for an object, or a part of one, whose kind is known from elsewhere.
    pub fn learn_kind(&mut self, kind: &str, object: &Value) {
        let Some(fields) = object.as_object().filter(|_| kind == "Secret") else { return };
        let public = PUBLIC.iter().find(|(of_type, _)| object["type"] == *of_type).map(|(_, keys)| keys);
        for field in VALUE_FIELDS {
            for (key, value) in fields.get(field).and_then(Value::as_object).into_iter().flatten() {
                let Some(text) = value.as_str() else { continue };
                if public.is_some_and(|keys| keys.contains(&key.as_str())) {
                    continue;
                }
                self.keep(text);
                if field == "data" {
                    self.keep_decoded(text);
                } else {
                    parts(text).into_iter().for_each(|part| self.keep(&part));
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
            // The rest of a long value may be another here than where it was read.
            let end = text.ceil_char_boundary(at.saturating_add(length));
            // Values that overlap are one masked stretch: the rest of the second would tell its end.
            if at >= covered {
                clean.push_str(&text[shown.max(covered)..at]);
                clean.push_str(HIDDEN);
            }
            covered = covered.max(end);
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

    /// How long the longest value is that the text begins with, or with the beginning of.
    fn longest(&self, window: &[u8], text: &[u8]) -> Option<usize> {
        let first: [u8; MIN_VALUE_BYTES] = window.try_into().ok()?;
        let whole = |(length, values): (&Reverse<usize>, &BTreeMap<Box<[u8]>, usize>)| {
            text.get(..length.0).and_then(|beginning| values.get(beginning)).copied()
        };
        self.values.get(&first)?.iter().filter_map(whole).max()
    }

    fn keep_decoded(&mut self, encoded: &str) {
        let Ok(bytes) = STANDARD.decode(encoded) else { return };
        let Ok(text) = String::from_utf8(bytes) else { return };
        self.keep(&text);
        // A value that ends with a line end is quoted without it more often than not.
        self.keep(text.trim());
        parts(&text).into_iter().for_each(|part| self.keep(&part));
        let quoted = Value::from(text.trim()).to_string();
        self.keep(&quoted[1..quoted.len() - 1]);
    }

    fn keep(&mut self, value: &str) {
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

/// What an operator takes out of a value: the texts of a document, as a kubeconfig or a registry's login is one, and what
/// stands behind `=` or `:` in a line, a connection string or an address.
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
