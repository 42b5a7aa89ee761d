//! What a write changes, as lines of YAML for people.
//!
//! # Guarantees
//! - No value of a Secret is shown, nor what looks like one; that it differs is. // test: guarantees_no_value_of_a_secret_is_shown
//! - Without the lines added it is the object before, without those removed the object after, but for lines left out
//!   between changes. // test: guarantees_the_lines_are_both_objects

mod lines;

use std::fmt;

use serde_json::Value;
use switchboard_object::yaml;

use crate::redact::{HIDDEN, conceal};

pub use lines::{CONTEXT_LINES, LEFT_OUT, MAX_COMPARISONS};

/// Stands for a secret value that is another one than before.
pub const HIDDEN_OTHER: &str = "<hidden,differs>";

/// Metadata that the API server keeps, and nobody decides.
const KEPT_BY_THE_SERVER: [&str; 6] =
    ["managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"];

/// Where a line stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Before and after.
    Same,
    /// After only.
    Added,
    /// Before only.
    Removed,
}

/// One line of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where it stands.
    pub sign: Sign,
    /// What it says, without a line end.
    pub text: String,
}

/// As in a unified diff: `+` added, `-` removed, a space for what stays.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.sign {
            Sign::Same => ' ',
            Sign::Added => '+',
            Sign::Removed => '-',
        };
        write!(f, "{sign}{}", self.text)
    }
}

/// What differs between an object before and after, with the lines around it; nothing when nothing does. What only the
/// API server keeps is left aside.
pub fn diff(before: Option<&Value>, after: Option<&Value>) -> Vec<Line> {
    let (old, mut new) = (before.map(shown), after.map(shown));
    if let (Some(before), Some(after), Some(old), Some(new)) = (before, after, &old, &mut new) {
        mark(before, after, old, new);
    }
    let text = |value: Option<Value>| value.map(|value| yaml::to_string(&value)).unwrap_or_default();
    lines::compare(&text(old), &text(new))
}

/// An object as it may be shown.
fn shown(object: &Value) -> Value {
    let mut shown = conceal(object);
    if let Some(metadata) = shown.get_mut("metadata").and_then(Value::as_object_mut) {
        KEPT_BY_THE_SERVER.iter().for_each(|field| drop(metadata.remove(*field)));
    }
    shown
}

/// Says of values that look the same only because they are masked that they are not.
fn mark(before: &Value, after: &Value, old: &Value, new: &mut Value) {
    if before == after {
        return;
    }
    match (before, after, old, new) {
        (Value::Object(before), Value::Object(after), Value::Object(old), Value::Object(new)) => {
            for (key, new) in new.iter_mut() {
                if let (Some(before), Some(after), Some(old)) = (before.get(key), after.get(key), old.get(key)) {
                    mark(before, after, old, new);
                }
            }
        }
        (Value::Array(before), Value::Array(after), Value::Array(old), Value::Array(new)) => {
            let olds = before.iter().zip(old);
            for ((before, old), (after, new)) in olds.zip(after.iter().zip(new)) {
                mark(before, after, old, new);
            }
        }
        (_, _, Value::String(old), Value::String(new)) if old == new => *new = new.replace(HIDDEN, HIDDEN_OTHER),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
