//! A write as an HTTP request.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::WriteRequest;
use crate::plan::{Act, Expect, Mutation, PatchForm};
use crate::resource::segment;

/// Method, path with query, content type and body of a write.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// The method.
    pub method: http::Method,
    /// Path and query.
    pub uri: String,
    /// Of the body.
    pub content_type: &'static str,
    /// The body.
    pub body: Value,
}

/// Makes the request of a write, with what must still hold in it.
pub fn prepare(request: &WriteRequest) -> Prepared {
    let mutation = &request.write.mutation;
    let mut uri = match &mutation.act {
        // What is made below an object, such as an eviction, is asked of that object.
        Act::Create(_) if mutation.subresource.is_none() => {
            request.write.object.table.resource.path(&request.write.object.namespace)
        }
        _ => request.write.object.path(),
    };
    if let Some(subresource) = &mutation.subresource {
        let _ = write!(uri, "/{}", segment(subresource));
    }
    let mut query: Vec<String> = Vec::new();
    if !matches!(mutation.act, Act::Delete { .. }) {
        query.push(format!("fieldManager={}", encode(&request.manager)));
        query.extend(mutation.field_validation.iter().map(|how| format!("fieldValidation={}", encode(how))));
    }
    // A deletion has its options in the body, and then those of the query do not count.
    if request.dry_run && !matches!(mutation.act, Act::Delete { .. }) {
        query.push("dryRun=All".to_string());
    }
    let (method, content_type, body) = match &mutation.act {
        Act::Create(body) => (http::Method::POST, "application/json", named(body, &request.write.object.name)),
        Act::Update(body) => (http::Method::PUT, "application/json", expecting(body, &mutation.expect)),
        Act::Apply { body, force } => {
            query.push(format!("force={force}"));
            (http::Method::PATCH, "application/apply-patch+yaml", body.clone())
        }
        Act::Patch { form, body } => patch(*form, body, &mutation.expect),
        Act::Delete { propagation } => (
            http::Method::DELETE,
            "application/json",
            delete_options(propagation.as_deref(), mutation, request.dry_run),
        ),
    };
    if !query.is_empty() {
        let _ = write!(uri, "?{}", query.join("&"));
    }
    Prepared { method, uri, content_type, body }
}

/// The name that was chosen stands in for `generateName`, so that a second try cannot make a second object.
fn named(body: &Value, name: &str) -> Value {
    let mut body = body.clone();
    set_metadata(&mut body, "name", name.to_string());
    body
}

/// Sets a field of the metadata, whatever the body is: where there is no place for it, the server says so.
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

fn expecting(body: &Value, expect: &Expect) -> Value {
    let mut body = body.clone();
    if let Expect::Exactly { uid, revision } = expect {
        set_metadata(&mut body, "uid", uid.clone());
        set_metadata(&mut body, "resourceVersion", revision.to_string());
    }
    body
}

fn patch(form: PatchForm, body: &Value, expect: &Expect) -> (http::Method, &'static str, Value) {
    let (content_type, body) = match (form, expect) {
        (PatchForm::Merge, _) => ("application/merge-patch+json", expecting(body, expect)),
        (PatchForm::Strategic, _) => ("application/strategic-merge-patch+json", expecting(body, expect)),
        (PatchForm::Json, Expect::Exactly { revision, .. }) => {
            // Set and not tested: a failed test is answered 422, as a wrong patch is, and another revision 409.
            let expected = json!({"op": "add", "path": "/metadata/resourceVersion", "value": revision.to_string()});
            let steps = body.as_array().cloned().unwrap_or_default();
            ("application/json-patch+json", Value::Array([vec![expected], steps].concat()))
        }
        (PatchForm::Json, _) => ("application/json-patch+json", body.clone()),
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
    mutation.terms.write(&mut options, &mutation.expect);
    options
}

/// Percent-encodes what is not plain in a query.
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
