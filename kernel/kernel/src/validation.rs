//! Validation of writes: path and body must be interpreted by the server as intended.
//!
//! Operators may create any JSON and any name. A name that is not a single path segment would address another object
//! than the one that the arbiter checked.

use serde_json::Value;
use switchboard_object::name::path_segment;

use crate::decision::Write;
use crate::plan::{PatchType, WriteOp};

/// Reason why a write cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWrite {
    /// A part of the path is not a single path segment.
    #[error("{what} {text:?} is not a single path segment: it {why}")]
    Segment {
        /// Part of the path.
        what: &'static str,
        /// Value of the part.
        text: String,
        /// Reason, in the words of Kubernetes.
        why: String,
    },
    /// The body is not an object.
    #[error("the body is not an object")]
    Body,
    /// The metadata is not an object, so it cannot hold a name and a revision.
    #[error("the metadata is not an object")]
    Metadata,
    /// The body of a JSON patch is not a list.
    #[error("the JSON patch is not a list")]
    Steps,
}

/// Checks whether a write can be sent.
///
/// # Errors
/// When its path or its body is invalid.
pub fn validate(write: &Write) -> Result<(), InvalidWrite> {
    let (object, resource) = (&write.object, &write.object.table.resource);
    let parts = [
        ("group", &*resource.group),
        ("version", &*resource.version),
        ("plural", &*resource.plural),
        ("namespace", &*object.namespace),
        ("name", &*object.name),
        ("subresource", write.mutation.subresource.as_deref().unwrap_or_default()),
    ];
    for (what, text) in parts {
        let needed = matches!(what, "version" | "plural" | "name");
        let empty = (needed && text.is_empty()).then(|| "may not be empty".to_string());
        // Other special characters are percent-encoded.
        if let Some(why) = empty.or_else(|| path_segment(text).into_iter().next()) {
            return Err(InvalidWrite::Segment { what, text: text.to_string(), why });
        }
    }
    validate_body(&write.mutation.operation)
}

fn validate_body(operation: &WriteOp) -> Result<(), InvalidWrite> {
    let body = match operation {
        WriteOp::Delete { .. } => return Ok(()),
        WriteOp::Patch { patch_type: PatchType::Json, body } => {
            return body.is_array().then_some(()).ok_or(InvalidWrite::Steps);
        }
        WriteOp::Create(body) | WriteOp::Update(body) | WriteOp::Apply { body, .. } | WriteOp::Patch { body, .. } => {
            body
        }
    };
    let fields = body.as_object().ok_or(InvalidWrite::Body)?;
    match fields.get("metadata") {
        None | Some(Value::Null | Value::Object(_)) => Ok(()),
        Some(_) => Err(InvalidWrite::Metadata),
    }
}
