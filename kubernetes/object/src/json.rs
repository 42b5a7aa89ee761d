//! JSON as the API server reads and writes it.
//!
//! The reader answers syntax errors in Go's words, notices fields that stand twice, keeps integers apart from floats, and does not
//! recurse. The writer makes the bytes Go makes.

mod read;
mod write;

pub(crate) use read::whole;
pub use read::{read, read_for_floats};
pub use write::{to_string, to_vec};

use crate::Value;

/// How deep a document may nest. Go reads 10,000 levels; here an object must also be read back with serde_json's limit of 128,
/// wrapped in a list or a watch event, and every walk over it must fit a small stack.
pub const MAX_DEPTH: usize = 120;
/// How many duplicate fields are reported, as in Go.
pub const MAX_DUPLICATES: usize = 100;

/// A document that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The value; of fields that stand twice, the last.
    pub value: Value,
    /// The paths of fields that stand twice, such as `spec.containers[0].image`, each once.
    pub duplicates: Vec<String>,
}

/// Text that is not JSON, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JsonError {
    /// What is wrong.
    pub message: String,
    /// The byte it was found at.
    pub offset: usize,
}

#[cfg(test)]
mod tests;
