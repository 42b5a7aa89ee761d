//! Check that a mutation can be sent. The files of a directory may contain anything.

use serde_json::Value;

use super::{Action, Mutation};

/// Characters that end a path segment or start another part of a URL.
const FORBIDDEN_CHARS: [char; 5] = ['/', '%', '?', '#', '\\'];

const JSON_PATCH: &str = "application/json-patch+json";
/// Patch types whose body is a map.
const MAP_PATCH_TYPES: [&str; 2] = ["application/merge-patch+json", "application/strategic-merge-patch+json"];

impl Mutation {
    /// Returns the reason why a mutation cannot be sent: its names must be single path segments, and its body must have
    /// the structure that its action requires.
    pub fn invalid_reason(&self, body: &Value) -> Option<String> {
        let parts = [&self.group, &self.version, &self.resource, &self.subresource, &self.namespace, &self.name];
        if let Some(part) = parts.into_iter().find(|part| !part.is_empty() && !is_part(part)) {
            return Some(format!("{part:?} is not a valid path segment"));
        }
        self.body_problem(body).map(str::to_string)
    }

    /// Returns the problem of a body without the structure that its action requires. Names and revisions are added to
    /// the body before it is sent.
    pub(super) fn body_problem(&self, body: &Value) -> Option<&'static str> {
        let patch = self.action.is_patch().then_some(self.patch_type.as_str());
        match (self.action, patch) {
            (_, Some(JSON_PATCH)) => (!body.is_array()).then_some("its body is not a list, as a JSON patch requires"),
            // The structure of an unknown patch type is not known.
            (_, Some(other)) if !MAP_PATCH_TYPES.contains(&other) => None,
            (Action::Delete, _) => (!body.is_null() && !body.is_object()).then_some("its body is not a map"),
            _ if !body.is_object() => Some("its body is not a map"),
            _ => match body.get("metadata") {
                None | Some(Value::Null | Value::Object(_)) => None,
                Some(_) => Some("its metadata is not a map"),
            },
        }
    }
}

/// Whether a text is a single path segment.
fn is_part(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_graphic() && !FORBIDDEN_CHARS.contains(&letter);
    text != "." && text != ".." && text.chars().all(plain)
}
