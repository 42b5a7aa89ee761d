//! Where a var's value stands in an object: `fieldref.fieldPath`.
//!
//! ```text
//! spec.ports.0.port                        gjson: dots, indexes, wildcards, `#(…)` queries, `@` modifiers, `{a,b}` multipaths
//! metadata.labels.app\.kubernetes\.io/name gjson: `\` before a dot
//! spec.ports[0].port                       kustomize: an index in brackets
//! spec.containers.[name=web].image         kustomize: the element of a list whose field has a value
//! metadata.annotations[example.com/a]      a key in brackets, quoted or not
//!                                          nothing at all: `metadata.name`, as kustomize has it
//! ```
//!
//! Manifests of the original write gjson, its README promises kustomize. A component that only kustomize gives a meaning makes
//! a path kustomize's; every other path is gjson's, and answers what gjson 1.17 answers (`tests/paths/`, recorded from it).

mod component;
mod get;
mod glob;
mod kustomize;
mod modifier;
mod node;
mod pretty;
mod query;

use serde_json::Value;

use get::PathSearch;
use node::JsonNode;

/// The longest path.
pub const MAX_PATH_BYTES: usize = 4096;
/// How many values are looked at and made on the way, over all elements: queries in queries multiply, and so do multipaths.
pub const MAX_STEPS: u32 = 500_000;
/// What is read when no path is given.
pub const DEFAULT_PATH: &str = "metadata.name";

/// Why a path leads nowhere, whatever the object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It is too long.
    #[error("the path has {0} bytes, more than {MAX_PATH_BYTES}")]
    TooLong(usize),
    /// A bracket is not closed.
    #[error("`{0}` is opened and not closed in the path")]
    Unclosed(char),
    /// It would take too long.
    #[error("the path looks at, or makes, more than {MAX_STEPS} values")]
    TooCostly,
}

/// What stands at a path; nothing when the object has no such field.
///
/// # Errors
/// [`PathError`] when the path cannot be followed in any object.
pub fn read(object: &Value, path: &str) -> Result<Option<Value>, PathError> {
    Ok(lookup(object, path)?.map(|node| node.value()))
}

/// The same as the text of a var: strings as they are, numbers and truths as one writes them, null as nothing, lists and maps as
/// compact JSON.
///
/// # Errors
/// As [`read`].
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

#[cfg(test)]
mod tests;
