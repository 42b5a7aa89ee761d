//! Whether a mutation can be sent at all: what stands in a directory may be anything.

use serde_json::Value;

use super::{Action, Mutation};

/// Characters that end a part of a path, or begin something else behind it.
const ENDS: [char; 5] = ['/', '%', '?', '#', '\\'];

impl Mutation {
    /// Why it cannot be sent, whoever it is from: its names must stay parts of a path, and its body must have the shape that its
    /// action says.
    pub fn unfit(&self, body: &Value) -> Option<String> {
        let parts = [&self.group, &self.version, &self.resource, &self.subresource, &self.namespace, &self.name];
        if let Some(part) = parts.into_iter().find(|part| !part.is_empty() && !is_part(part)) {
            return Some(format!("{part:?} cannot stand in a path"));
        }
        let shaped = match (self.action, self.patch_type.as_str()) {
            (Action::Patch | Action::PatchStatus, "application/json-patch+json") => body.is_array(),
            (Action::Delete, _) => body.is_null() || body.is_object(),
            _ => {
                body.is_object()
                    && body.get("metadata").is_none_or(|metadata| metadata.is_object() || metadata.is_null())
            }
        };
        (!shaped).then(|| "its body has not the shape of what it is for".to_string())
    }
}

/// Whether a text is one part of a path, and nothing but that.
fn is_part(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_graphic() && !ENDS.contains(&letter);
    text != "." && text != ".." && text.chars().all(plain)
}
