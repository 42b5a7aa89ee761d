//! Encoded objects: encoded once at the write, spliced from then on.
//!
//! Every stored object begins with its envelope, `{"kind":"Pod","apiVersion":"v1",`, followed by the other fields in
//! order. A list therefore drops the envelope of built-in kinds (as kube-apiserver does), and a custom resource is
//! served in another version by replacing it, without parsing.

#[cfg(test)]
mod tests;

use bytes::{BufMut, Bytes, BytesMut};
use switchboard_object::{Map, Value};

/// Encoded object without its revision.
#[derive(Clone, Debug)]
pub struct ObjectTemplate {
    before: Vec<u8>,
    after: Vec<u8>,
}

impl ObjectTemplate {
    /// Encodes `object`, with a gap for its `metadata.resourceVersion`.
    pub fn new(object: &Value, custom: bool) -> Self {
        let empty = Map::new();
        let fields = object.as_object().unwrap_or(&empty);
        let mut before = Vec::with_capacity(512);
        before.push(b'{');
        let envelope = if custom { ["apiVersion", "kind"] } else { ["kind", "apiVersion"] };
        for (at, key) in envelope.into_iter().enumerate() {
            if at > 0 {
                before.push(b',');
            }
            field(&mut before, key, fields.get(key).unwrap_or(&Value::String(String::new())));
        }
        before.extend_from_slice(b",\"metadata\":{");
        let metadata = fields.get("metadata").and_then(Value::as_object).unwrap_or(&empty);
        for (key, value) in metadata.iter().filter(|(k, _)| *k != "resourceVersion") {
            field(&mut before, key, value);
            before.push(b',');
        }
        before.extend_from_slice(b"\"resourceVersion\":\"");
        let mut after = b"\"}".to_vec();
        for (key, value) in fields.iter().filter(|(k, _)| !matches!(k.as_str(), "metadata" | "kind" | "apiVersion")) {
            after.push(b',');
            field(&mut after, key, value);
        }
        after.push(b'}');
        Self { before, after }
    }

    /// Returns the object at that revision.
    pub fn with_revision(&self, revision: u64) -> Bytes {
        let digits = revision.to_string();
        let mut out = BytesMut::with_capacity(self.before.len() + digits.len() + self.after.len());
        out.put_slice(&self.before);
        out.put_slice(digits.as_bytes());
        out.put_slice(&self.after);
        out.freeze()
    }

    /// Returns the object without a revision, for the response to a dry run.
    pub fn without_revision(&self) -> Bytes {
        const OPEN: &[u8] = b",\"resourceVersion\":\"";
        let kept = self.before.strip_suffix(OPEN).unwrap_or(&self.before);
        let mut out = BytesMut::with_capacity(kept.len() + self.after.len());
        out.put_slice(kept);
        out.put_slice(&self.after[1..]);
        out.freeze()
    }
}

fn field(out: &mut Vec<u8>, key: &str, value: &Value) {
    serde_json::to_writer(&mut *out, key).expect("a string is encodable");
    out.push(b':');
    serde_json::to_writer(&mut *out, value).expect("a value is encodable");
}

/// Returns the length of a stored object's envelope, `{"kind":"..","apiVersion":"..",`.
pub fn envelope_bytes(stored: &[u8]) -> usize {
    const QUOTES: usize = 8;
    let last = stored.iter().enumerate().filter(|(_, b)| **b == b'"').nth(QUOTES - 1);
    match last {
        // The comma follows the eighth quote.
        Some((at, _)) if at + 2 <= stored.len() => at + 2,
        _ => 0,
    }
}

/// Returns `{"kind":"Pod","apiVersion":"v1",`, or with the fields swapped for custom resources.
pub fn envelope(api_version: &str, kind: &str, custom: bool) -> String {
    if custom {
        format!("{{\"apiVersion\":\"{api_version}\",\"kind\":\"{kind}\",")
    } else {
        format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",")
    }
}

/// Returns the stored object as served under `envelope`.
pub fn with_envelope(stored: &Bytes, envelope: &str) -> Bytes {
    if stored.starts_with(envelope.as_bytes()) {
        return stored.clone();
    }
    let rest = &stored[envelope_bytes(stored)..];
    let mut out = BytesMut::with_capacity(envelope.len() + rest.len());
    out.put_slice(envelope.as_bytes());
    out.put_slice(rest);
    out.freeze()
}

/// Parses a stored object.
pub fn parse(stored: &[u8]) -> Value {
    serde_json::from_slice(stored).expect("the store holds what the server encoded")
}
