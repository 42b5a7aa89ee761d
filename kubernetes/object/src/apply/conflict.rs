//! Conflicts between appliers, as people and machines read them.

use serde_json::json;

use crate::Value;
use crate::quote::quote;
use crate::status::Status;

use super::element::Element;
use super::entries::{Entry, Operation};
use super::set::Set;

/// The fields of one other manager that an apply would change.
#[derive(Debug)]
pub(crate) struct Conflict<'a> {
    /// Orders the managers.
    identity: String,
    manager: String,
    pub(crate) set: Set<'a>,
}

impl<'a> Conflict<'a> {
    pub(crate) fn new(entry: &Entry<'_>, set: Set<'a>) -> Self {
        Self { identity: entry.identity(), manager: describe(entry), set }
    }
}

fn describe(entry: &Entry<'_>) -> String {
    let mut out = quote(&entry.manager);
    if !entry.subresource.is_empty() {
        out.push_str(" with subresource ");
        out.push_str(&quote(&entry.subresource));
    }
    if entry.operation == Operation::Update {
        out.push_str(" using ");
        out.push_str(&entry.api_version);
    }
    out
}

/// The 409 that names every manager and field in the way.
pub(crate) fn status(mut conflicts: Vec<Conflict<'_>>) -> Status {
    conflicts.sort_by(|a, b| a.identity.cmp(&b.identity));
    let mut causes = Vec::new();
    let mut lines = Vec::new();
    for conflict in &conflicts {
        lines.push(format!("conflicts with {}:", conflict.manager));
        for path in paths(&conflict.set) {
            lines.push(format!("- {path}"));
            let message = format!("conflict with {}", conflict.manager);
            causes.push(json!({"reason": "FieldManagerConflict", "message": message, "field": path}));
        }
    }
    let message = match causes.as_slice() {
        [one] => {
            let text = |name| one[name].as_str().unwrap_or_default();
            format!("Apply failed with 1 conflict: {}: {}", text("message"), text("field"))
        }
        many => format!("Apply failed with {} conflicts: {}", many.len(), lines.join("\n")),
    };
    Status::new(409, "Conflict", message).with_details(json!({"causes": Value::Array(causes)}))
}

fn paths(set: &Set<'_>) -> Vec<String> {
    let mut out = Vec::new();
    set.each_path(&mut Vec::new(), &mut |path: &[&Element<'_>]| {
        let mut text = String::new();
        path.iter().for_each(|element| element.write_path(&mut text));
        out.push(text);
    });
    out
}
