//! Known errors of the Go library that hosted programs use for writes.
//!
//! library-go's `manifestclient` compares the namespace of a request with that of its body. The body of a deletion has
//! no namespace, and a Namespace is requested as if it were in itself. Therefore the library refuses every deletion in
//! a namespace, and every update, apply or deletion of a Namespace, before it records anything. Controllers take this
//! for an error of the server and often report it only in a condition: the operator looks degraded, although the
//! cluster is fine.

use serde_json::Value;

use crate::run_result::RunResult;

/// Text around the two namespaces.
const NAMESPACE_MISMATCH: [&str; 2] = ["request namespace ", " does not equal body namespace "];
/// Maximum number of named controllers and writes.
const MAX_NAMED: usize = 3;
/// Maximum depth of the search in a body.
const MAX_DEPTH: usize = 32;

/// Returns a message with the affected controllers or writes, and a hint.
pub(crate) fn find(answer: &RunResult) -> Option<String> {
    let failed = answer.results.iter().filter(|one| one.errors.iter().any(|error| matches(&error.message)));
    let mut named: Vec<String> = failed.map(|one| format!("controller {}", one.controller_name)).collect();
    let affected = answer.mutations.iter().filter(|one| contains(&one.body, MAX_DEPTH));
    named.extend(affected.filter_map(|one| Some(format!("write {}", one.without_body()?))));
    let (first, more) = (named.first()?, named.len().min(MAX_NAMED));
    let named = if named.len() == 1 { first.clone() } else { named[..more].join("; ") };
    Some(format!(
        "could not record deletions in a namespace or updates of Namespaces: no version of library-go supports these; \
         perform them in apply-configuration-live, or exclude the controller with `controllers`; affected: {named}"
    ))
}

fn matches(text: &str) -> bool {
    text.find(NAMESPACE_MISMATCH[0]).is_some_and(|at| text[at..].contains(NAMESPACE_MISMATCH[1]))
}

fn contains(value: &Value, depth: usize) -> bool {
    let deeper = |value: &Value| depth > 0 && contains(value, depth - 1);
    match value {
        Value::String(text) => matches(text),
        Value::Array(items) => items.iter().any(deeper),
        Value::Object(fields) => fields.values().any(deeper),
        _ => false,
    }
}
