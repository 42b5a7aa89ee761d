//! What can be sent at all: a write whose path and body a server can read as they are meant.
//!
//! What operators leave is any JSON, and a name may be any text. A text that is no single part of a path would lead to
//! another object than the one that was judged.

use serde_json::Value;
use switchboard_object::name::path_segment;

use crate::decision::Write;
use crate::plan::{Act, PatchForm};

/// Why a write cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It would lead elsewhere.
    #[error("its {what} {text:?} is no single part of a path: it {why}")]
    Segment {
        /// What it is of the object.
        what: &'static str,
        /// As it was given.
        text: String,
        /// In Kubernetes' words.
        why: String,
    },
    /// It says nothing of an object.
    #[error("its body is no map")]
    Body,
    /// There is no place in it for a name and a revision.
    #[error("its metadata is no map")]
    Metadata,
    /// The steps of a JSON patch are a list.
    #[error("its JSON patch is no list")]
    Steps,
}

/// Whether a write can be sent.
///
/// # Errors
/// When its path or its body cannot be read as they are meant.
pub fn fit(write: &Write) -> Result<(), Unfit> {
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
        // Other letters that mean something in a path are encoded.
        if let Some(why) = empty.or_else(|| path_segment(text).into_iter().next()) {
            return Err(Unfit::Segment { what, text: text.to_string(), why });
        }
    }
    fit_body(&write.mutation.act)
}

fn fit_body(act: &Act) -> Result<(), Unfit> {
    let body = match act {
        Act::Delete { .. } => return Ok(()),
        Act::Patch { form: PatchForm::Json, body } => return body.is_array().then_some(()).ok_or(Unfit::Steps),
        Act::Create(body) | Act::Update(body) | Act::Apply { body, .. } | Act::Patch { body, .. } => body,
    };
    let fields = body.as_object().ok_or(Unfit::Body)?;
    match fields.get("metadata") {
        None | Some(Value::Null | Value::Object(_)) => Ok(()),
        Some(_) => Err(Unfit::Metadata),
    }
}
