//! Subresources that write a part of their object, other than `status`.

use serde_json::{Value, json};
use switchboard_object::field::FieldError;
use switchboard_object::quote::quote;

use super::WriteContext;
use super::checks::{at, items, text};
use super::pod;

/// Keeps in `new` only the changes that the subresource allows. Returns false if the kind has no such subresource.
pub(super) fn prepare(
    definition: &str,
    subresource: &str,
    new: &mut Value,
    old: &Value,
    env: &WriteContext<'_>,
) -> bool {
    match (definition, subresource) {
        ("api.core.v1.Namespace", "finalize") => new["status"] = old["status"].clone(),
        ("api.certificates.v1.CertificateSigningRequest", "approval") => approval(new, old, env),
        ("api.core.v1.Pod", "ephemeralcontainers") => {
            let containers = at(new, "/spec/ephemeralContainers").clone();
            replace(new, old);
            new["spec"]["ephemeralContainers"] = containers;
        }
        ("api.core.v1.Pod", "resize") => resize(new, old),
        _ => return false,
    }
    true
}

/// Replaces the new object by the old one, with the identity that the client sent.
fn replace(new: &mut Value, old: &Value) {
    let sent = new["metadata"].clone();
    *new = old.clone();
    for field in ["name", "namespace", "resourceVersion", "uid", "managedFields"] {
        new["metadata"][field] = sent[field].clone();
    }
}

/// Keeps only changed conditions, and sets their missing times.
fn approval(new: &mut Value, old: &Value, env: &WriteContext<'_>) {
    let mut conditions = at(new, "/status/conditions").clone();
    for condition in conditions.as_array_mut().into_iter().flatten() {
        let same = |c: &&Value| c["type"] == condition["type"] && c["status"] == condition["status"];
        let before = items(old, "/status/conditions").iter().find(same).cloned().unwrap_or(Value::Null);
        if condition["lastUpdateTime"].is_null() {
            condition["lastUpdateTime"] = json!(env.now);
        }
        if condition["lastTransitionTime"].is_null() {
            let known = before["lastTransitionTime"].clone();
            condition["lastTransitionTime"] = if known.is_null() { json!(env.now) } else { known };
        }
    }
    new["spec"] = old["spec"].clone();
    new["status"] = old["status"].clone();
    new["status"]["conditions"] = conditions;
}

/// Keeps only changed resources of containers.
fn resize(new: &mut Value, old: &Value) {
    let sent = new["spec"].clone();
    replace(new, old);
    for list in ["containers", "initContainers"] {
        for container in new["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let same = |c: &&Value| c["name"] == container["name"];
            if let Some(wanted) = items(&sent, &format!("/{list}")).iter().find(same) {
                container["resources"] = wanted["resources"].clone();
                container["resizePolicy"] = wanted["resizePolicy"].clone();
            }
        }
    }
}

/// Validates the part that was written.
pub(super) fn validate(definition: &str, subresource: &str, new: &Value, old: &Value) -> Vec<FieldError> {
    match (definition, subresource) {
        ("api.core.v1.Pod", "ephemeralcontainers") => ephemeral_containers(new, old),
        ("api.core.v1.Pod", "resize") => pod::spec(new),
        _ => Vec::new(),
    }
}

/// Checks that ephemeral containers are only added, not changed or removed.
fn ephemeral_containers(new: &Value, old: &Value) -> Vec<FieldError> {
    let path = "spec.ephemeralContainers";
    let mut errors = pod::spec(new);
    let mine = items(new, "/spec/ephemeralContainers");
    for (index, container) in mine.iter().enumerate() {
        let path = format!("{path}[{index}]");
        for field in ["name", "image"] {
            if text(container, &format!("/{field}")).is_empty() {
                errors.push(FieldError::required(format!("{path}.{field}"), ""));
            }
        }
        let taken = ["/spec/containers", "/spec/initContainers"].into_iter().flat_map(|l| items(new, l));
        if taken.chain(&mine[..index]).any(|c| c["name"] == container["name"]) {
            errors.push(FieldError::duplicate(format!("{path}.name"), container["name"].clone()));
        }
    }
    for was in items(old, "/spec/ephemeralContainers") {
        let name = text(was, "/name");
        match mine.iter().position(|c| text(c, "/name") == name) {
            None => {
                let detail = format!("existing ephemeral containers {} may not be removed\n", quote(name));
                errors.push(FieldError::forbidden(path, detail));
            }
            Some(index) if mine[index] != *was => {
                let detail = format!("existing ephemeral containers {} may not be changed\n", quote(name));
                errors.push(FieldError::forbidden(path, detail));
            }
            Some(_) => {}
        }
    }
    errors
}
