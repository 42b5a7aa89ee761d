//! Budgets for aliases: nodes, which go-yaml counts, and bytes, which Go shares but which are copied here.

use crate::Value;

/// Number of nodes that may be kept for aliases, in addition to as many as the document has.
const MAX_KEPT_NODES: usize = 400_000;
/// Bytes of text that may be copied for and by aliases.
const MAX_COPIED_BYTES: usize = 64 << 20;

#[derive(Default)]
pub(super) struct AliasBudget {
    // Nodes built so far, and how many of them by aliases: go-yaml's measure for alias bombs.
    decoded: usize,
    aliased: usize,
    // Nodes kept for aliases.
    kept: usize,
    copied: usize,
}

impl AliasBudget {
    /// Counts a node of the document itself.
    pub(super) fn count_node(&mut self) {
        self.decoded += 1;
    }

    /// Whether a node may be kept for aliases. Nested anchors each keep a copy, so kept nodes are bounded like those
    /// that aliases create.
    pub(super) fn reserve_anchor(&mut self, size: usize, value: &Value) -> bool {
        self.kept += size;
        self.kept <= MAX_KEPT_NODES + self.decoded && self.may_copy(value)
    }

    /// Whether an alias may expand to a node of that size.
    pub(super) fn reserve_alias(&mut self, size: usize, value: &Value) -> bool {
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

/// Returns the bytes of all strings in a value, whose depth is within the limit of documents.
fn bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + bytes(value)).sum(),
        _ => 0,
    }
}

// Returns the share of a document that may come from aliases: nearly all of a small one, a tenth of a huge one.
fn allowed(decoded: usize) -> f64 {
    const LOW: usize = 400_000;
    const HIGH: usize = 4_000_000;
    match decoded {
        0..=LOW => 0.99,
        HIGH.. => 0.10,
        _ => 0.99 - 0.89 * ((decoded - LOW) as f64 / (HIGH - LOW) as f64),
    }
}
