//! Changes of a write as lines of YAML for users.
//!
//! # Guarantees
//! - Secret values, and text that looks like one, are redacted; that they differ is shown. // test: guarantees_no_value_of_a_secret_is_shown
//! - The unchanged and removed lines are the object before, the unchanged and added lines the object after, except for lines left out
//!   between changes. // test: guarantees_the_lines_are_both_objects

mod lines;

use std::fmt;

use serde_json::Value;
use switchboard_object::yaml;

use crate::redact::{REDACTED, redact_value};

pub use lines::{CONTEXT_LINES, LEFT_OUT, MAX_COMPARISONS};

/// Placeholder for a secret value that differs from the one before.
pub const REDACTED_OTHER: &str = "<redacted,differs>";

/// Metadata fields that the API server sets.
const SERVER_MANAGED_FIELDS: [&str; 6] =
    ["managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"];

/// Kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffSign {
    /// Before and after the change.
    Same,
    /// Only after the change.
    Added,
    /// Only before the change.
    Removed,
}

/// Line of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// Kind of the line.
    pub sign: DiffSign,
    /// Text without a line end.
    pub text: String,
}

/// Formats a line as in a unified diff: `+` added, `-` removed, a space for unchanged.
impl fmt::Display for DiffLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.sign {
            DiffSign::Same => ' ',
            DiffSign::Added => '+',
            DiffSign::Removed => '-',
        };
        write!(f, "{sign}{}", self.text)
    }
}

/// Compares an object before and after a write, without metadata that the API server sets. Returns the changed lines
/// with their context; empty if there are none.
pub fn diff(before: Option<&Value>, after: Option<&Value>) -> Vec<DiffLine> {
    let (old, mut new) = (before.map(shown), after.map(shown));
    if let (Some(before), Some(after), Some(old), Some(new)) = (before, after, &old, &mut new) {
        mark_different(before, after, old, new);
    }
    let text = |value: Option<Value>| value.map(|value| yaml::to_string(&value)).unwrap_or_default();
    lines::compare(&text(old), &text(new))
}

/// Redacts an object and removes the server's metadata.
fn shown(object: &Value) -> Value {
    let mut shown = redact_value(object);
    if let Some(metadata) = shown.get_mut("metadata").and_then(Value::as_object_mut) {
        SERVER_MANAGED_FIELDS.iter().for_each(|field| drop(metadata.remove(*field)));
    }
    shown
}

/// Marks values that differ although they look the same once redacted.
fn mark_different(before: &Value, after: &Value, old: &Value, new: &mut Value) {
    if before == after {
        return;
    }
    match (before, after, old, new) {
        (Value::Object(before), Value::Object(after), Value::Object(old), Value::Object(new)) => {
            for (key, new) in new.iter_mut() {
                if let (Some(before), Some(after), Some(old)) = (before.get(key), after.get(key), old.get(key)) {
                    mark_different(before, after, old, new);
                }
            }
        }
        (Value::Array(before), Value::Array(after), Value::Array(old), Value::Array(new)) => {
            let olds = before.iter().zip(old);
            for ((before, old), (after, new)) in olds.zip(after.iter().zip(new)) {
                mark_different(before, after, old, new);
            }
        }
        (_, _, Value::String(old), Value::String(new)) if old == new => *new = new.replace(REDACTED, REDACTED_OTHER),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
