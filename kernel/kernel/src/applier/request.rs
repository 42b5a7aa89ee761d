//! Conversion of a write to an HTTP request.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::WriteRequest;
use crate::plan::{Mutation, PatchType, Preconditions, WriteOp};
use crate::resource::segment;

/// HTTP method, path with query, content type and body of a write.
#[derive(Clone, Debug, PartialEq)]
pub struct PreparedRequest {
    /// HTTP method.
    pub method: http::Method,
    /// Path and query.
    pub uri: String,
    /// Content type of the body.
    pub content_type: &'static str,
    /// Request body.
    pub body: Value,
}

/// Builds the HTTP request for a write, preconditions included.
pub fn prepare(request: &WriteRequest) -> PreparedRequest {
    let mutation = &request.write.mutation;
    let mut uri = match &mutation.operation {
        // A create of a subresource, such as an eviction, goes to the object's path.
        WriteOp::Create(_) if mutation.subresource.is_none() => {
            request.write.object.table.resource.path(&request.write.object.namespace)
        }
        _ => request.write.object.path(),
    };
    if let Some(subresource) = &mutation.subresource {
        let _ = write!(uri, "/{}", segment(subresource));
    }
    let mut query: Vec<String> = Vec::new();
    if !matches!(mutation.operation, WriteOp::Delete { .. }) {
        query.push(format!("fieldManager={}", encode(&request.manager)));
        query.extend(mutation.field_validation.iter().map(|how| format!("fieldValidation={}", encode(how))));
    }
    // A deletion has its options in the body, and the server then ignores those in the query.
    if request.dry_run && !matches!(mutation.operation, WriteOp::Delete { .. }) {
        query.push("dryRun=All".to_string());
    }
    let (method, content_type, body) = match &mutation.operation {
        WriteOp::Create(body) => (http::Method::POST, "application/json", with_name(body, &request.write.object.name)),
        WriteOp::Update(body) => {
            (http::Method::PUT, "application/json", with_preconditions(body, &mutation.preconditions))
        }
        WriteOp::Apply { body, force } => {
            query.push(format!("force={force}"));
            (http::Method::PATCH, "application/apply-patch+yaml", body.clone())
        }
        WriteOp::Patch { patch_type, body } => patch(*patch_type, body, &mutation.preconditions),
        WriteOp::Delete { propagation } => (
            http::Method::DELETE,
            "application/json",
            delete_options(propagation.as_deref(), mutation, request.dry_run),
        ),
    };
    if !query.is_empty() {
        let _ = write!(uri, "?{}", query.join("&"));
    }
    PreparedRequest { method, uri, content_type, body }
}

/// Sets the chosen name, which replaces `generateName`, so that a retry cannot create a second object.
fn with_name(body: &Value, name: &str) -> Value {
    let mut body = body.clone();
    set_metadata(&mut body, "name", name.to_string());
    body
}

/// Sets a metadata field if the body has a map for it; otherwise the server rejects the body.
pub(super) fn set_metadata(body: &mut Value, field: &str, value: String) {
    let Some(fields) = body.as_object_mut() else { return };
    let metadata = fields.entry("metadata").or_insert(Value::Null);
    if metadata.is_null() {
        *metadata = json!({});
    }
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert(field.to_string(), value.into());
    }
}

fn with_preconditions(body: &Value, preconditions: &Preconditions) -> Value {
    let mut body = body.clone();
    if let Preconditions::Exact { uid, revision } = preconditions {
        set_metadata(&mut body, "uid", uid.clone());
        set_metadata(&mut body, "resourceVersion", revision.to_string());
    }
    body
}

fn patch(patch_type: PatchType, body: &Value, preconditions: &Preconditions) -> (http::Method, &'static str, Value) {
    let (content_type, body) = match (patch_type, preconditions) {
        (PatchType::Merge, _) => ("application/merge-patch+json", with_preconditions(body, preconditions)),
        (PatchType::Strategic, _) => {
            ("application/strategic-merge-patch+json", with_preconditions(body, preconditions))
        }
        (PatchType::Json, Preconditions::Exact { revision, .. }) => {
            // Set instead of tested: a failed test returns 422, as an invalid patch does, and another revision returns
            // 409.
            let expected = json!({"op": "add", "path": "/metadata/resourceVersion", "value": revision.to_string()});
            let steps = body.as_array().cloned().unwrap_or_default();
            ("application/json-patch+json", Value::Array([vec![expected], steps].concat()))
        }
        (PatchType::Json, _) => ("application/json-patch+json", body.clone()),
    };
    (http::Method::PATCH, content_type, body)
}

fn delete_options(propagation: Option<&str>, mutation: &Mutation, dry_run: bool) -> Value {
    let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
    if dry_run {
        options["dryRun"] = json!(["All"]);
    }
    if let Some(propagation) = propagation {
        options["propagationPolicy"] = propagation.into();
    }
    mutation.delete_options.write(&mut options, &mutation.preconditions);
    options
}

/// Percent-encodes all but unreserved characters for a query.
fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if plain(byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
