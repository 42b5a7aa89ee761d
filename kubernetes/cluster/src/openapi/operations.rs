//! Operations of a resource, independent of the OpenAPI version.

use std::sync::Arc;

use switchboard_object::kind::GroupVersionKind;

use crate::resource::{ServedResource, Subresource};

use super::custom;
use super::definitions::{meta, name_of};

/// Path with its operations.
pub(super) struct PathItem {
    pub path: String,
    pub namespaced: bool,
    pub named: bool,
    pub operations: Vec<PathOperation>,
}

/// Operation of a path.
pub(super) struct PathOperation {
    pub method: &'static str,
    /// `x-kubernetes-action`.
    pub action: &'static str,
    pub id: String,
    pub kind: GroupVersionKind,
    pub query: &'static [(&'static str, &'static str)],
    /// Definition of the request's body.
    pub body: Option<String>,
    /// Definition of the response's body.
    pub answer: String,
    pub codes: &'static [&'static str],
    pub custom: bool,
}

const READ: &[(&str, &str)] = &[("resourceVersion", "string")];
const LIST: &[(&str, &str)] = &[
    ("allowWatchBookmarks", "boolean"),
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
    ("watch", "boolean"),
];
const WRITE: &[(&str, &str)] = &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string")];
const PATCH: &[(&str, &str)] =
    &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string"), ("force", "boolean")];
const DELETE: &[(&str, &str)] = &[
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
];
const DELETE_COLLECTION: &[(&str, &str)] = &[
    ("continue", "string"),
    ("dryRun", "string"),
    ("fieldSelector", "string"),
    ("gracePeriodSeconds", "integer"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
];

/// Returns the definition name of a resource's objects.
pub(super) fn definition(resource: &ServedResource, kind: &GroupVersionKind) -> String {
    match (&resource.custom, name_of(kind)) {
        (_, Some(name)) => name.to_string(),
        (_, None) => custom::definition_name(kind),
    }
}

/// Returns all paths of a resource.
pub(super) fn paths(resource: &ServedResource) -> Vec<PathItem> {
    let root = match resource.kind.group.as_str() {
        "" => format!("/api/{}", resource.kind.version),
        group => format!("/apis/{group}/{}", resource.kind.version),
    };
    let base = if resource.namespaced { format!("{root}/namespaces/{{namespace}}") } else { root.clone() };
    let plural = &resource.plural;
    let path = |path: String, named: bool, operations: Vec<PathOperation>| PathItem {
        namespaced: resource.namespaced && path.contains("{namespace}"),
        path,
        named,
        operations,
    };
    let mut all = vec![
        path(format!("{base}/{plural}"), false, collection(resource)),
        path(format!("{base}/{plural}/{{name}}"), true, single(resource)),
    ];
    if resource.namespaced && has(&resource.verbs, "list") {
        let everywhere = operation(resource, "get", "list", "ForAllNamespaces");
        all.push(path(format!("{root}/{plural}"), false, vec![everywhere]));
    }
    // Streams such as `exec` have options without a definition.
    let described = |s: &&Subresource| resource.custom.is_some() || name_of(&s.kind).is_some();
    for subresource in resource.subresources.iter().filter(described) {
        let operations = subresource_operations(resource, subresource);
        all.push(path(format!("{base}/{plural}/{{name}}/{}", subresource.name), true, operations));
    }
    all.retain(|p| !p.operations.is_empty());
    all
}

fn collection(resource: &ServedResource) -> Vec<PathOperation> {
    let verbs =
        [("list", "get", "list"), ("create", "post", "post"), ("deletecollection", "delete", "deletecollection")];
    pick(resource, &verbs)
}

fn single(resource: &ServedResource) -> Vec<PathOperation> {
    let verbs =
        [("get", "get", "get"), ("update", "put", "put"), ("delete", "delete", "delete"), ("patch", "patch", "patch")];
    pick(resource, &verbs)
}

fn pick(resource: &ServedResource, verbs: &[(&str, &'static str, &'static str)]) -> Vec<PathOperation> {
    let served = verbs.iter().filter(|(verb, _, _)| has(&resource.verbs, verb));
    served.map(|(_, method, action)| operation(resource, method, action, "")).collect()
}

fn subresource_operations(resource: &ServedResource, subresource: &Subresource) -> Vec<PathOperation> {
    let verbs =
        [("get", "get", "get"), ("create", "post", "post"), ("update", "put", "put"), ("patch", "patch", "patch")];
    let served = verbs.iter().filter(|(verb, _, _)| has(&subresource.verbs, verb));
    served
        .map(|(_, method, action)| {
            let mut operation = operation(resource, method, action, &capital(&subresource.name));
            operation.answer = definition(resource, &subresource.kind);
            operation.body = operation.body.map(|body| match *method {
                "patch" => body,
                _ => operation.answer.clone(),
            });
            operation.kind = subresource.kind.clone();
            operation
        })
        .collect()
}

fn operation(resource: &ServedResource, method: &'static str, action: &'static str, suffix: &str) -> PathOperation {
    let own = definition(resource, &resource.kind);
    let (query, body, answer, codes): (_, Option<String>, String, &'static [&'static str]) = match action {
        "list" => (LIST, None, format!("{own}List"), &["200"]),
        "get" => (READ, None, own, &["200"]),
        "post" => (WRITE, Some(own.clone()), own, &["200", "201", "202"]),
        "put" => (WRITE, Some(own.clone()), own, &["200", "201"]),
        "patch" => (PATCH, Some(meta("Patch")), own, &["200", "201"]),
        "delete" => (DELETE, Some(meta("DeleteOptions")), meta("Status"), &["200", "202"]),
        _ => (DELETE_COLLECTION, Some(meta("DeleteOptions")), meta("Status"), &["200"]),
    };
    PathOperation {
        method,
        action,
        id: operation_id(resource, action, suffix),
        kind: resource.kind.clone(),
        query,
        body,
        answer,
        codes,
        custom: resource.custom.is_some(),
    }
}

/// Returns `listAppsV1NamespacedDeployment`, the name for client generators.
fn operation_id(resource: &ServedResource, action: &str, suffix: &str) -> String {
    let verb = match action {
        "get" => "read",
        "post" => "create",
        "put" => "replace",
        "deletecollection" => "deleteCollection",
        other => other,
    };
    let group = match (resource.kind.group.as_str(), resource.custom.is_some()) {
        ("", _) => "Core".to_string(),
        (group, true) => group.split(['.', '-']).map(capital).collect(),
        (group, false) => capital(group.split('.').next().unwrap_or(group)),
    };
    let scope = if resource.namespaced && suffix != "ForAllNamespaces" { "Namespaced" } else { "" };
    format!("{verb}{group}{}{scope}{}{suffix}", capital(&resource.kind.version), resource.kind.kind)
}

fn has(verbs: &[Arc<str>], verb: &str) -> bool {
    verbs.iter().any(|v| &**v == verb)
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
