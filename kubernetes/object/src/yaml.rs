//! YAML as kubectl, Helm and the API server read and write it: `sigs.k8s.io/yaml` over YAML 1.1.
//!
//! `yes` is true, `0777` is octal, `<<` merges, `y: 1` has the key `true`. Output is equal byte for byte: keys in
//! natural order, block style, quotes only where a reader would misread the value.

mod alias_budget;
mod analyze;
mod bytes;
mod emit;
mod go_yaml_errors;
mod item_lines;
mod lines;
mod read;
mod repair;
mod resolve;
mod simple;
mod strict;
mod timestamp;

pub use bytes::decode;
pub use emit::{in_natural_order, to_string};
pub use item_lines::{ItemLines, item_lines};
pub use read::{outline, read, read_all};

use crate::Value;

/// Nesting limit of a document, including aliases.
pub const MAX_DEPTH: usize = crate::json::MAX_DEPTH;
/// Number of duplicate keys that are reported.
pub const MAX_DUPLICATES: usize = crate::json::MAX_DUPLICATES;

/// Parsed YAML document.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlDocument {
    /// Value. For duplicate keys, the last one counts.
    pub value: Value,
    /// First line of the document, counted from one.
    pub line: usize,
    /// Errors of strict reading: `line 3: key "a" already set in map`.
    pub duplicates: Vec<String>,
}

impl YamlDocument {
    /// Returns the strict reader's error about duplicate keys, in Go's words.
    pub fn strict_error(&self) -> Option<String> {
        let lines = || self.duplicates.iter().map(|d| format!("\n  {d}")).collect::<String>();
        (!self.duplicates.is_empty()).then(|| format!("yaml: unmarshal errors:{}", lines()))
    }
}

/// Error of a text that is not YAML, or that JSON cannot represent, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct YamlError {
    /// Error text, with the line as Go counts it.
    pub message: String,
    /// Error text without the line, for reports that add the line themselves.
    pub problem: String,
    /// Line of the error, counted from one.
    pub line: usize,
    /// Column of the error, counted from one.
    pub column: usize,
}

#[cfg(test)]
mod tests;
