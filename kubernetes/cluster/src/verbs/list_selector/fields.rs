//! Supported field selectors of each kind.

use std::borrow::Cow;

use switchboard_object::Value;
use switchboard_object::quote::quote;

use crate::resource::ServedResource;

const POD: [&str; 10] = [
    "spec.nodeName",
    "spec.host",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
];
const EVENT: [&str; 11] = [
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];
const NEW_EVENT: [&str; 10] = [
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
];

/// Returns the fields that a built-in kind supports besides name and namespace; `None` if it has no list of its own.
fn supported_fields(group: &str, kind: &str) -> Option<&'static [&'static str]> {
    Some(match (group, kind) {
        ("", "Pod") => &POD,
        ("", "Event") => &EVENT,
        ("events.k8s.io", "Event") => &NEW_EVENT,
        ("", "Node") => &["spec.unschedulable"],
        ("", "ReplicationController") => &["status.replicas"],
        ("", "Namespace") => &["status.phase"],
        ("", "Secret") => &["type"],
        ("", "Service") => &["spec.clusterIP", "spec.type"],
        ("batch", "Job") => &["status.successful"],
        ("apps", "ReplicaSet") => &["status.replicas"],
        ("certificates.k8s.io", "CertificateSigningRequest") => &["spec.signerName"],
        ("resource.k8s.io", "ResourceSlice") => &["spec.nodeName", "spec.driver"],
        _ => return None,
    })
}

/// Returns an error, in kube-apiserver's words, for a field that the resource does not support.
pub(super) fn check(resource: &ServedResource, field: &str) -> Result<(), String> {
    let kind = &resource.kind;
    let named = match field {
        "metadata.name" => true,
        // Of the cluster-scoped kinds with a list of their own, only some support the namespace, which is empty anyway.
        "metadata.namespace" => resource.namespaced || supported_fields(&kind.group, &kind.kind).is_none(),
        _ => false,
    };
    if named {
        return Ok(());
    }
    if let Some(custom) = &resource.custom {
        let path = format!(".{field}");
        let offers = custom.selectable_fields.iter().any(|f| **f == *path);
        return if offers { Ok(()) } else { Err(format!("field label not supported: {field}")) };
    }
    match supported_fields(&kind.group, &kind.kind) {
        None => Err(format!(
            "{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
            quote(field)
        )),
        Some(fields) if fields.contains(&field) => Ok(()),
        Some(_) if kind.kind == "ResourceSlice" => Err(format!("field label not supported for {kind}: {field}")),
        Some(_) => Err(format!("field label not supported: {field}")),
    }
}

/// Returns the value of a field as selectors compare it.
pub(super) fn value<'a>(object: &'a Value, field: &str) -> Cow<'a, str> {
    let field = match field {
        "spec.host" => "spec.nodeName",
        "status.successful" => "status.succeeded",
        "status.podIPs" => "status.podIP",
        // Events are stored as Events of the core group.
        "source" => return event_source(object),
        "reportingController" => "reportingComponent",
        other => other,
    };
    let path =
        field.strip_prefix("regarding.").map_or_else(|| field.to_string(), |rest| format!("involvedObject.{rest}"));
    let found = path.split('.').try_fold(object, |node, key| node.get(key));
    match found {
        Some(Value::String(text)) => Cow::Borrowed(text),
        Some(Value::Bool(flag)) => Cow::Borrowed(if *flag { "true" } else { "false" }),
        Some(Value::Number(number)) => Cow::Owned(number.to_string()),
        _ => Cow::Borrowed(zero_text(field)),
    }
}

/// Returns the text of Go's zero value.
fn zero_text(field: &str) -> &'static str {
    match field {
        "spec.hostNetwork" | "spec.unschedulable" => "false",
        "status.replicas" | "status.succeeded" => "0",
        _ => "",
    }
}

fn event_source(object: &Value) -> Cow<'_, str> {
    let component = object["source"]["component"].as_str().filter(|c| !c.is_empty());
    Cow::Borrowed(component.or(object["reportingComponent"].as_str()).unwrap_or_default())
}
