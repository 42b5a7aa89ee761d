//! Conflicts between appliers: the message and causes of the Status.

use serde_json::json;

use crate::Value;
use crate::quote::quote;
use crate::status::Status;

use super::element::PathElement;
use super::entries::{ManagedFieldsEntry, ManagerOperation};
use super::set::FieldSet;

/// Fields of one other manager that an apply would change.
#[derive(Debug)]
pub(crate) struct ManagerConflict<'a> {
    /// Sort key of the managers.
    identity: String,
    manager: String,
    pub(crate) set: FieldSet<'a>,
}

impl<'a> ManagerConflict<'a> {
    pub(crate) fn new(entry: &ManagedFieldsEntry<'_>, set: FieldSet<'a>) -> Self {
        Self { identity: entry.identity(), manager: describe(entry), set }
    }
}

fn describe(entry: &ManagedFieldsEntry<'_>) -> String {
    let mut out = quote(&entry.manager);
    if !entry.subresource.is_empty() {
        out.push_str(" with subresource ");
        out.push_str(&quote(&entry.subresource));
    }
    if entry.operation == ManagerOperation::Update {
        out.push_str(" using ");
        out.push_str(&entry.api_version);
    }
    out
}

/// Returns the 409 that names every conflicting manager and field.
pub(crate) fn status(mut conflicts: Vec<ManagerConflict<'_>>) -> Status {
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

fn paths(set: &FieldSet<'_>) -> Vec<String> {
    let mut out = Vec::new();
    set.for_each_path(&mut Vec::new(), &mut |path: &[&PathElement<'_>]| {
        let mut text = String::new();
        path.iter().for_each(|element| element.write_path(&mut text));
        out.push(text);
    });
    out
}
