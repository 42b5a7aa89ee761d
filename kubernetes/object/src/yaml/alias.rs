//! What aliases may make of a document: nodes, which go-yaml counts, and bytes, which Go shares and which are copied here.

use crate::Value;

/// How many nodes may be kept for aliases, beyond as many as the document has.
const MAX_KEPT_NODES: usize = 400_000;
/// How many bytes of text may be copied for and by aliases.
const MAX_COPIED_BYTES: usize = 64 << 20;

#[derive(Default)]
pub(super) struct Aliases {
    // Nodes built so far, and how many of them by aliases: what go-yaml measures bombs with.
    decoded: usize,
    aliased: usize,
    // Nodes kept for aliases.
    kept: usize,
    copied: usize,
}

impl Aliases {
    /// A node of the document itself.
    pub(super) fn built(&mut self) {
        self.decoded += 1;
    }

    /// Whether a node may be kept for aliases. Anchors within anchors are kept once for each, so what is kept is bounded as
    /// what aliases make.
    pub(super) fn may_keep(&mut self, size: usize, value: &Value) -> bool {
        self.kept += size;
        self.kept <= MAX_KEPT_NODES + self.decoded && self.may_copy(value)
    }

    /// Whether an alias may stand for a node of that size.
    pub(super) fn may_use(&mut self, size: usize, value: &Value) -> bool {
        self.decoded += size;
        self.aliased += size;
        let many = self.aliased > 100 && self.decoded > 1000;
        !(many && self.aliased as f64 > allowed(self.decoded) * self.decoded as f64) && self.may_copy(value)
    }

    fn may_copy(&mut self, value: &Value) -> bool {
        self.copied = self.copied.saturating_add(bytes(value));
        self.copied <= MAX_COPIED_BYTES
    }
}

/// Bytes of all texts in a value, which nests no deeper than documents may.
fn bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + bytes(value)).sum(),
        _ => 0,
    }
}

// How much of a document may come from aliases: nearly all of a small one, a tenth of a huge one.
fn allowed(decoded: usize) -> f64 {
    const LOW: usize = 400_000;
    const HIGH: usize = 4_000_000;
    match decoded {
        0..=LOW => 0.99,
        HIGH.. => 0.10,
        _ => 0.99 - 0.89 * ((decoded - LOW) as f64 / (HIGH - LOW) as f64),
    }
}
