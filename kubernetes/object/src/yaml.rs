//! YAML as kubectl, Helm and the API server read and write it: `sigs.k8s.io/yaml` over YAML 1.1.
//!
//! `yes` is true, `0777` is octal, `<<` merges, `y: 1` has the key `true`. Written text is the same to the byte: keys in natural order,
//! block style, quotes only where a reader would be misled.

mod alias;
mod analyze;
mod bytes;
mod emit;
mod items;
mod lines;
mod quick;
mod read;
mod repair;
mod resolve;
mod strict;
mod timestamp;
mod told;

pub use bytes::decode;
pub use emit::{in_natural_order, to_string};
pub use items::{ItemLines, item_lines};
pub use read::{outline, read, read_all};

use crate::Value;

/// How deep a document may nest, aliases included.
pub const MAX_DEPTH: usize = crate::json::MAX_DEPTH;
/// How many keys that stand twice are reported.
pub const MAX_DUPLICATES: usize = crate::json::MAX_DUPLICATES;

/// A document that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The value; of keys that stand twice, the last.
    pub value: Value,
    /// The line the document begins at, counted from one.
    pub line: usize,
    /// What strict reading has against it: `line 3: key "a" already set in map`.
    pub duplicates: Vec<String>,
}

impl Document {
    /// The strict reader's error about keys that stand twice, in Go's words.
    pub fn strict_error(&self) -> Option<String> {
        let lines = || self.duplicates.iter().map(|d| format!("\n  {d}")).collect::<String>();
        (!self.duplicates.is_empty()).then(|| format!("yaml: unmarshal errors:{}", lines()))
    }
}

/// Text that is not YAML, or YAML that JSON has no form for; in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct YamlError {
    /// What is wrong, with the line as Go counts it.
    pub message: String,
    /// What is wrong, for a report that says the line itself.
    pub problem: String,
    /// The line it was found at, counted from one.
    pub line: usize,
    /// The column, counted from one.
    pub column: usize,
}

#[cfg(test)]
mod tests;
