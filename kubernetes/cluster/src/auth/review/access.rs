//! SubjectAccessReview, LocalSubjectAccessReview, SelfSubjectAccessReview.

use std::collections::BTreeMap;

use serde_json::json;
use switchboard_object::Value;
use switchboard_object::field::FieldError;
use switchboard_object::status::Status;

use super::{ReviewContext, invalid, strings, text};
use crate::auth::rbac::Authorizer;
use crate::auth::{Attributes, AuthorizerDecision, User};

/// Answers a SubjectAccessReview for the user and groups in the spec.
pub fn subject(object: &Value, context: &ReviewContext<'_>) -> Result<Value, Status> {
    let mut errors = one_of_both(object);
    errors.extend(require_subject(object));
    errors.extend(selectors(object));
    errors.extend(only_metadata(object, &["managedFields"], "must be empty"));
    refuse(&errors)?;
    Ok(decide(object, spec_user(object), context))
}

/// Answers a LocalSubjectAccessReview, within one namespace.
pub fn local(object: &Value, context: &ReviewContext<'_>) -> Result<Value, Status> {
    let mut errors = one_of_both(object);
    errors.extend(require_subject(object));
    errors.extend(selectors(object));
    let allowed = ["namespace", "managedFields"];
    errors.extend(only_metadata(object, &allowed, "must be empty except for namespace"));
    let (given, asked) = (text(object, "/metadata/namespace"), text(object, "/spec/resourceAttributes/namespace"));
    if has(object, "resourceAttributes") && asked != given {
        let field = "spec.resourceAttributes.namespace";
        errors.push(FieldError::invalid(field, asked, "must match metadata.namespace"));
    }
    if has(object, "nonResourceAttributes") {
        let why = "disallowed on this kind of request";
        errors.push(FieldError::invalid("spec.nonResourceAttributes", path_attributes(object), why));
    }
    refuse(&errors)?;
    if context.namespace != given {
        let why = format!("spec.resourceAttributes.namespace must match namespace: {}", context.namespace);
        return Err(Status::bad_request(why));
    }
    Ok(decide(object, spec_user(object), context))
}

/// Answers a SelfSubjectAccessReview for the user of the request.
pub fn self_subject(object: &Value, context: &ReviewContext<'_>) -> Result<Value, Status> {
    let mut errors = one_of_both(object);
    errors.extend(selectors(object));
    errors.extend(only_metadata(object, &["managedFields"], "must be empty"));
    refuse(&errors)?;
    Ok(decide(object, context.user.clone(), context))
}

fn decide(object: &Value, user: User, context: &ReviewContext<'_>) -> Value {
    let attributes = attributes(object, user);
    let (allowed, reason) = match context.policy.decide(&attributes) {
        AuthorizerDecision::Allow(reason) => (true, reason),
        AuthorizerDecision::NoOpinion(reason) => (false, reason),
    };
    let mut status = json!({"allowed": allowed});
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
    let mut answer = object.clone();
    answer["status"] = status;
    answer
}

fn attributes(object: &Value, user: User) -> Attributes {
    let Some(asked) = object.pointer("/spec/resourceAttributes").filter(|a| a.is_object()) else {
        let path = &object["spec"]["nonResourceAttributes"];
        return Attributes::path(user, text(path, "/verb"), text(path, "/path"));
    };
    let mut attributes =
        Attributes::resource(user, text(asked, "/verb"), text(asked, "/group"), text(asked, "/resource"));
    attributes.version = text(asked, "/version").into();
    attributes.subresource = text(asked, "/subresource").into();
    attributes.namespace = text(asked, "/namespace").into();
    attributes.name = text(asked, "/name").into();
    attributes
}

fn spec_user(object: &Value) -> User {
    let extra = object.pointer("/spec/extra").and_then(Value::as_object);
    let extra: BTreeMap<String, Vec<String>> =
        extra.into_iter().flatten().map(|(key, values)| (key.clone(), strings(Some(values)))).collect();
    User {
        name: text(object, "/spec/user").into(),
        uid: text(object, "/spec/uid").into(),
        groups: strings(object.pointer("/spec/groups")),
        extra,
    }
}

fn one_of_both(object: &Value) -> Vec<FieldError> {
    match (has(object, "resourceAttributes"), has(object, "nonResourceAttributes")) {
        (true, true) => {
            let why = "cannot be specified in combination with resourceAttributes";
            vec![FieldError::invalid("spec.nonResourceAttributes", path_attributes(object), why)]
        }
        (false, false) => {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            vec![FieldError::invalid("spec.resourceAttributes", Value::Null, why)]
        }
        _ => Vec::new(),
    }
}

fn require_subject(object: &Value) -> Option<FieldError> {
    let no_subject = text(object, "/spec/user").is_empty() && strings(object.pointer("/spec/groups")).is_empty();
    no_subject.then(|| FieldError::invalid("spec.user", "", "at least one of user or group must be specified"))
}

fn selectors(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in ["fieldSelector", "labelSelector"] {
        let Some(selector) = object.pointer(&format!("/spec/resourceAttributes/{name}")) else { continue };
        let field = format!("spec.resourceAttributes.{name}");
        let raw = text(selector, "/rawSelector");
        let listed = selector["requirements"].as_array().is_some_and(|r| !r.is_empty());
        if !raw.is_empty() && listed {
            let why = "may not specified at the same time as requirements";
            errors.push(FieldError::invalid(format!("{field}.rawSelector"), raw, why));
        }
        if raw.is_empty() && !listed {
            let why = format!("when {field} is specified, requirements or rawSelector is required");
            errors.push(FieldError::required(format!("{field}.requirements"), why));
        }
    }
    errors
}

fn only_metadata(object: &Value, allowed: &[&str], why: &str) -> Option<FieldError> {
    let metadata = object.get("metadata")?.as_object()?;
    let more = metadata.iter().any(|(key, value)| !allowed.contains(&key.as_str()) && !value.is_null());
    more.then(|| FieldError::invalid("metadata", Value::Object(metadata.clone()), why))
}

/// Returns the attributes as kube-apiserver prints its internal struct.
fn path_attributes(object: &Value) -> Value {
    let asked = &object["spec"]["nonResourceAttributes"];
    json!({"Path": text(asked, "/path"), "Verb": text(asked, "/verb")})
}

fn has(object: &Value, field: &str) -> bool {
    object["spec"].get(field).is_some_and(Value::is_object)
}

fn refuse(errors: &[FieldError]) -> Result<(), Status> {
    if errors.is_empty() { Ok(()) } else { Err(invalid(errors)) }
}
