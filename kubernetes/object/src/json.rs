//! JSON as the API server reads and writes it.
//!
//! The reader reports syntax errors in Go's words, detects duplicate fields, keeps integers apart from floats, and does
//! not recurse. The writer produces the same bytes as Go.

mod read;
mod write;

pub(crate) use read::whole;
pub use read::{read, read_numbers_as_floats};
pub use write::{to_string, to_vec};

use crate::Value;

/// Nesting limit of a document. Go reads 10,000 levels. Here an object must also be readable with serde_json's limit of
/// 128 when it is wrapped in a list or a watch event, and every walk over it must fit a small stack.
pub const MAX_DEPTH: usize = 120;
/// Number of duplicate fields that are reported, as in Go.
pub const MAX_DUPLICATES: usize = 100;

/// Parsed JSON document.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonDocument {
    /// Value. For duplicate fields, the last one counts.
    pub value: Value,
    /// Paths of duplicate fields, such as `spec.containers[0].image`, each once.
    pub duplicates: Vec<String>,
}

/// Syntax error, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JsonError {
    /// Error text.
    pub message: String,
    /// Byte offset of the error.
    pub offset: usize,
}

#[cfg(test)]
mod tests;
