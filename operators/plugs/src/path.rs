//! Evaluation of `fieldref.fieldPath`, the path of a var's value in an object.
//!
//! ```text
//! spec.ports.0.port                        gjson: dots, indexes, wildcards, `#(…)` queries, `@` modifiers, `{a,b}` multipaths
//! metadata.labels.app\.kubernetes\.io/name gjson: `\` before a dot
//! spec.ports[0].port                       kustomize: an index in brackets
//! spec.containers.[name=web].image         kustomize: the list element whose field has a value
//! metadata.annotations[example.com/a]      a key in brackets, quoted or not
//!                                          empty: `metadata.name`, as in kustomize
//! ```
//!
//! Manifests of integration-operator use gjson paths, while its README documents kustomize paths. A path with a
//! component that is valid only in kustomize is evaluated as a kustomize path. All other paths behave as in gjson 1.17,
//! with its recorded results in `tests/paths/`.

mod component;
mod get;
mod kustomize;
mod modifier;
mod node;
mod pretty;
mod query;

use serde_json::Value;
use switchboard_object::glob::{self, GlobOptions};

use get::PathSearch;
use node::JsonNode;

/// Maximum length of a path.
pub const MAX_PATH_BYTES: usize = 4096;
/// Maximum number of visited and created values over all elements. Nested queries and multipaths multiply them.
pub const MAX_STEPS: u32 = 500_000;
/// Path that is read by default.
pub const DEFAULT_PATH: &str = "metadata.name";

/// Invalid path, regardless of the object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The path is too long.
    #[error("the path has {0} bytes, more than {MAX_PATH_BYTES}")]
    TooLong(usize),
    /// A bracket is not closed.
    #[error("`{0}` is not closed in the path")]
    Unclosed(char),
    /// The evaluation takes too many steps.
    #[error("the path visits or creates more than {MAX_STEPS} values")]
    TooCostly,
}

/// Returns the value at a path, or `None` if the object has no such field.
///
/// # Errors
/// [`PathError`] if the path is invalid for every object.
pub fn read(object: &Value, path: &str) -> Result<Option<Value>, PathError> {
    Ok(lookup(object, path)?.map(|node| node.value()))
}

/// Returns the value at a path as text: strings as they are, numbers and booleans as JSON, null as an empty string,
/// lists and maps as compact JSON.
///
/// # Errors
/// Same as [`read`].
pub fn text(object: &Value, path: &str) -> Result<Option<String>, PathError> {
    Ok(lookup(object, path)?.map(|node| node.text()))
}

fn lookup(object: &Value, path: &str) -> Result<Option<JsonNode>, PathError> {
    let path = path.trim();
    if path.len() > MAX_PATH_BYTES {
        return Err(PathError::TooLong(path.len()));
    }
    let path = if path.is_empty() { DEFAULT_PATH } else { path };
    if let Some(open) = component::unclosed(path) {
        return Err(PathError::Unclosed(open));
    }
    if let Some(steps) = kustomize::steps(path) {
        return Ok(kustomize::follow(object, &steps).map(JsonNode::of));
    }
    let mut search = PathSearch::new();
    let found = search.get(Some(&JsonNode::of(object)), path);
    if search.is_exhausted() { Err(PathError::TooCostly) } else { Ok(found) }
}

/// Whether a name, or a text compared with `%`, matches a pattern with `*`, `?` and `\`.
fn plain_glob(pattern: &str, text: &str) -> bool {
    glob::matches(pattern, text, GlobOptions::PLAIN)
}

#[cfg(test)]
mod tests;
