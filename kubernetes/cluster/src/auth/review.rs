//! Reviews: SubjectAccessReview and its variants, TokenReview, SelfSubjectReview.

mod access;
pub mod token_request;

use jiff::Timestamp;
use serde_json::json;
use switchboard_object::Value;
use switchboard_object::field::FieldError;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::status::Status;

use super::User;
use super::authentication::{Authenticator, TokenObjects};
use super::rbac::{Policy, PolicyRule, aggregate};

/// Inputs of a review.
pub struct ReviewContext<'a> {
    /// User of the request.
    pub user: &'a User,
    /// Namespace in the request's path.
    pub namespace: &'a str,
    /// Roles and bindings.
    pub policy: &'a Policy,
    /// Keys.
    pub authenticator: &'a Authenticator,
    /// Objects that tokens are bound to.
    pub objects: &'a dyn TokenObjects,
    /// Current time.
    pub now: Timestamp,
}

/// Answers a review; `None` if the kind is not a review.
pub fn answer(kind: &GroupVersionKind, object: &Value, context: &ReviewContext<'_>) -> Option<Result<Value, Status>> {
    Some(match (kind.group.as_str(), kind.kind.as_str()) {
        ("authorization.k8s.io", "SubjectAccessReview") => access::subject(object, context),
        ("authorization.k8s.io", "LocalSubjectAccessReview") => access::local(object, context),
        ("authorization.k8s.io", "SelfSubjectAccessReview") => access::self_subject(object, context),
        ("authorization.k8s.io", "SelfSubjectRulesReview") => rules(kind, object, context),
        ("authentication.k8s.io", "TokenReview") => token(object, context),
        ("authentication.k8s.io", "SelfSubjectReview") => Ok(whoami(kind, context)),
        _ => return None,
    })
}

/// Whether the kind is answered here and never stored.
pub fn is_review(kind: &GroupVersionKind) -> bool {
    matches!(kind.group.as_str(), "authorization.k8s.io")
        || (kind.group == "authentication.k8s.io" && matches!(kind.kind.as_str(), "TokenReview" | "SelfSubjectReview"))
}

fn rules(kind: &GroupVersionKind, object: &Value, context: &ReviewContext<'_>) -> Result<Value, Status> {
    let namespace = text(object, "/spec/namespace");
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let (rules, errors) = context.policy.rules_for(context.user, namespace);
    let of_resources = rules.iter().filter(|r| !r.resources.is_empty());
    let of_resources = of_resources.map(|r| PolicyRule { non_resource_urls: Vec::new(), ..r.clone() });
    let of_paths = rules.iter().filter(|r| !r.non_resource_urls.is_empty());
    let of_paths = of_paths.map(|r| json!({"verbs": r.verbs, "nonResourceURLs": r.non_resource_urls}));
    let mut status = json!({
        "resourceRules": of_resources.collect::<Vec<_>>(),
        "nonResourceRules": of_paths.collect::<Vec<_>>(),
        "incomplete": false,
    });
    if !errors.is_empty() {
        status["evaluationError"] = aggregate(&errors).into();
    }
    Ok(json!({
        "kind": kind.kind, "apiVersion": kind.api_version(), "metadata": {}, "spec": {}, "status": status,
    }))
}

fn token(object: &Value, context: &ReviewContext<'_>) -> Result<Value, Status> {
    let token = text(object, "/spec/token");
    if token.is_empty() {
        return Err(Status::bad_request("token is required for TokenReview in authentication"));
    }
    let audiences: Vec<String> = strings(object.pointer("/spec/audiences"));
    let status = match context.authenticator.authenticate_token(token, &audiences, context.objects, context.now) {
        Ok(bearer) => {
            json!({"authenticated": true, "user": user_info(&bearer.user), "audiences": bearer.audiences})
        }
        Err(error) => json!({"user": {}, "error": error}),
    };
    let mut answer = object.clone();
    answer["status"] = status;
    Ok(answer)
}

fn whoami(kind: &GroupVersionKind, context: &ReviewContext<'_>) -> Value {
    json!({
        "kind": kind.kind, "apiVersion": kind.api_version(),
        "metadata": {"creationTimestamp": crate::clock_and_rng::time_text(context.now)},
        "status": {"userInfo": user_info(context.user)},
    })
}

fn user_info(user: &User) -> Value {
    let mut info = json!({"username": user.name, "uid": user.uid, "groups": user.groups, "extra": user.extra});
    if let Some(fields) = info.as_object_mut() {
        fields.retain(|_, value| match value {
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
            _ => true,
        });
    }
    info
}

/// Returns the 422. kube-apiserver's reviews have lost their kind at this point, so the message has none.
fn invalid(errors: &[FieldError]) -> Status {
    Status::invalid(&GroupVersionKind::new("authorization.k8s.io", "v1", ""), "", errors)
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn strings(list: Option<&Value>) -> Vec<String> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_string).collect()
}

#[cfg(test)]
mod tests;
