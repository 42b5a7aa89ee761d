//! Whether a mutation can be sent at all: what stands in a directory may be anything.

use serde_json::Value;

use super::{Action, Mutation};

/// Characters that end a part of a path, or begin something else behind it.
const ENDS: [char; 5] = ['/', '%', '?', '#', '\\'];

const JSON_PATCH: &str = "application/json-patch+json";
/// Kinds of patches that are maps.
const MAPS: [&str; 2] = ["application/merge-patch+json", "application/strategic-merge-patch+json"];

impl Mutation {
    /// Why it cannot be sent, whoever it is from: its names must stay parts of a path, and its body must have the shape that its
    /// action says.
    pub fn unfit(&self, body: &Value) -> Option<String> {
        let parts = [&self.group, &self.version, &self.resource, &self.subresource, &self.namespace, &self.name];
        if let Some(part) = parts.into_iter().find(|part| !part.is_empty() && !is_part(part)) {
            return Some(format!("{part:?} cannot stand in a path"));
        }
        self.misshapen(body).map(str::to_string)
    }

    /// What its body lacks of the shape that its action says: names and revisions are put into it on the way to a server.
    pub(super) fn misshapen(&self, body: &Value) -> Option<&'static str> {
        let patch = self.action.is_patch().then_some(self.patch_type.as_str());
        match (self.action, patch) {
            (_, Some(JSON_PATCH)) => (!body.is_array()).then_some("its body is no list, which a JSON patch is"),
            // Nothing is known of one whose kind nobody knows.
            (_, Some(other)) if !MAPS.contains(&other) => None,
            (Action::Delete, _) => (!body.is_null() && !body.is_object()).then_some("its body is no map"),
            _ if !body.is_object() => Some("its body is no map"),
            _ => match body.get("metadata") {
                None | Some(Value::Null | Value::Object(_)) => None,
                Some(_) => Some("its metadata is no map"),
            },
        }
    }
}

/// Whether a text is one part of a path, and nothing but that.
fn is_part(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_graphic() && !ENDS.contains(&letter);
    text != "." && text != ".." && text.chars().all(plain)
}
