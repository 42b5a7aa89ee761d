//! `Status`: error responses of the API server.
//!
//! Every API error in the workspace is a `Status`, with the code, reason and message that Kubernetes clients expect.

use serde_json::json;

use crate::Value;
use crate::field::FieldError;
use crate::kind::{GroupResource, GroupVersionKind};
use crate::quote::quote;

/// Error response, as a client receives it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    /// HTTP code.
    pub code: u16,
    /// Machine-readable reason, such as `NotFound`.
    pub reason: &'static str,
    /// Message for users.
    pub message: String,
    /// `details` of the Status object: name, group, kind, causes, retryAfterSeconds.
    pub details: Option<Box<Value>>,
    /// Token with which an expired list can continue, inconsistently.
    pub continue_token: Option<Box<str>>,
}

impl Status {
    /// Creates a Status without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, continue_token: None }
    }

    /// Sets `details`.
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// 404: the object does not exist.
    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{resource} {} not found", quote(name)))
            .with_details(object_details(resource, name))
    }

    /// 409: an object with that name exists.
    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{resource} {} already exists", quote(name)))
            .with_details(object_details(resource, name))
    }

    /// 409: the write is based on an older revision, or a precondition failed.
    pub fn conflict(resource: &GroupResource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} {}: {why}", quote(name));
        Self::new(409, "Conflict", message).with_details(object_details(resource, name))
    }

    /// 422: the object is not valid.
    pub fn invalid(kind: &GroupVersionKind, name: &str, errors: &[FieldError]) -> Self {
        let causes: Vec<Value> = errors
            .iter()
            .map(|e| json!({"reason": e.kind.reason(), "message": e.message(), "field": e.field}))
            .collect();
        let group_kind =
            if kind.group.is_empty() { kind.kind.clone() } else { format!("{}.{}", kind.kind, kind.group) };
        let what = match unique(errors).as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let mut details = json!({"name": name, "group": kind.group, "kind": kind.kind, "causes": causes});
        drop_empty(&mut details);
        Self::new(422, "Invalid", format!("{group_kind} {} is invalid: {what}", quote(name))).with_details(details)
    }

    /// 400: malformed request.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 401: no acceptable credentials.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 403: the user is not allowed to do this. `message` is the text after `forbidden: `.
    pub fn forbidden(resource: &GroupResource, name: &str, message: &str) -> Self {
        let subject = match (resource.resource.is_empty(), name.is_empty()) {
            (true, _) => "forbidden".to_string(),
            (false, true) => format!("{resource} is forbidden"),
            (false, false) => format!("{resource} {} is forbidden", quote(name)),
        };
        Self::new(403, "Forbidden", format!("{subject}: {message}")).with_details(object_details(resource, name))
    }

    /// 405: the resource has no such verb.
    pub fn method_not_allowed(resource: &GroupResource, verb: &str) -> Self {
        let message = format!("{verb} is not supported on resources of kind \"{resource}\"");
        Self::new(405, "MethodNotAllowed", message).with_details(object_details(resource, ""))
    }

    /// 410: the requested revision is no longer kept.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 413: the body exceeds the server's limit.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// 415: the server does not accept the body's media type.
    pub fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 500: internal error.
    pub fn internal(message: impl Into<String>) -> Self {
        let message = message.into();
        let details = json!({"causes": [{"message": message}]});
        Self::new(500, "InternalError", format!("Internal error occurred: {message}")).with_details(details)
    }

    /// Returns the `Status` object to send.
    pub fn to_value(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        // An error that kube-apiserver does not expect has no reason, and the field is omitted.
        if self.reason.is_empty() {
            status.as_object_mut().map(|s| s.remove("reason"));
        }
        if let Some(details) = &self.details {
            status["details"] = details.as_ref().clone();
        }
        if let Some(token) = &self.continue_token {
            status["metadata"]["continue"] = token.as_ref().into();
        }
        status
    }
}

fn object_details(resource: &GroupResource, name: &str) -> Value {
    let mut details = json!({"name": name, "group": resource.group, "kind": resource.resource});
    drop_empty(&mut details);
    details
}

fn drop_empty(details: &mut Value) {
    if let Some(map) = details.as_object_mut() {
        map.retain(|_, v| v.as_str() != Some("") && v.as_array().is_none_or(|a| !a.is_empty()));
    }
}

/// Returns the errors for the message: each text once. The causes keep all errors.
fn unique(errors: &[FieldError]) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for text in errors.iter().map(ToString::to_string) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

#[cfg(test)]
mod tests;
