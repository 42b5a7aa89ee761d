//! What templates rendered, divided into manifests: hooks apart, the rest in the order it is installed.

use std::collections::BTreeMap;

use switchboard_object::{Value, yaml};

use crate::typed::{DecodeError, Fields, mismatch};

/// The order in which kinds are installed; those not named come behind, by name.
const INSTALL_ORDER: &[&str] = &[
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

const HOOK: &str = "helm.sh/hook";
const HOOK_WEIGHT: &str = "helm.sh/hook-weight";

/// One document of a rendered template.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The template it came from: `shop/templates/service.yaml`.
    pub source: String,
    /// Its text.
    pub text: String,
    /// The byte of the template's output at which the text begins.
    pub offset: usize,
    /// `apiVersion`.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
    /// `metadata.name`.
    pub name: String,
    /// The whole of it as a value.
    pub object: Value,
}

/// A manifest that runs at a point of a release's life instead of being part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Hook {
    /// What is run.
    pub manifest: Manifest,
    /// When: `pre-install`, `test`.
    pub events: Vec<String>,
    /// Lower ones run first.
    pub weight: i64,
}

impl Hook {
    /// Whether it is a test, which only runs when asked to.
    pub fn is_test(&self) -> bool {
        self.events.iter().any(|event| event == "test")
    }
}

/// All that was rendered, sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sorted {
    /// What is installed.
    pub manifests: Vec<Manifest>,
    /// What runs beside.
    pub hooks: Vec<Hook>,
    /// Hooks for what Helm does not know: left out.
    pub unknown: Vec<String>,
}

/// A document that is not YAML, or not an object.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("YAML parse error on {source_file}: {problem}")]
pub struct ManifestError {
    /// The template.
    pub source_file: String,
    /// What Helm says is wrong.
    pub problem: DecodeError,
    /// The byte of the template's output at which the document begins.
    pub offset: usize,
    /// The line and column inside the document, where the reader knows them.
    pub place: Option<(usize, usize)>,
}

/// Divides rendered templates, by name, into manifests, and sorts these.
///
/// # Errors
/// When a document cannot be read.
pub fn sort(rendered: &BTreeMap<String, String>) -> Result<Sorted, ManifestError> {
    let mut sorted = Sorted::default();
    for (source, text) in rendered {
        let base = source.rsplit('/').next().unwrap_or(source);
        if base.starts_with('_') || text.trim().is_empty() {
            continue;
        }
        for (offset, text) in split(text) {
            place(source, offset, text, &mut sorted)?;
        }
    }
    sorted.manifests.sort_by(|a, b| order(&a.kind).cmp(&order(&b.kind)));
    sorted.hooks.sort_by(|a, b| order(&a.manifest.kind).cmp(&order(&b.manifest.kind)));
    Ok(sorted)
}

fn order(kind: &str) -> (usize, &str) {
    match INSTALL_ORDER.iter().position(|known| *known == kind) {
        Some(at) => (at, ""),
        None => (INSTALL_ORDER.len(), kind),
    }
}

fn place(source: &str, offset: usize, text: &str, sorted: &mut Sorted) -> Result<(), ManifestError> {
    let object = yaml::read(text).map_err(|error| ManifestError {
        source_file: source.to_string(),
        problem: DecodeError(format!("error converting YAML to JSON: {error}")),
        offset,
        place: Some((error.line, error.column)),
    })?;
    let head = head(&object.value).map_err(|problem| ManifestError {
        source_file: source.to_string(),
        problem,
        offset,
        place: None,
    })?;
    let manifest = Manifest {
        source: source.to_string(),
        text: text.to_string(),
        offset,
        api_version: head.api_version,
        kind: head.kind,
        name: head.name,
        object: object.value,
    };
    let annotation = |name: &str| head.annotations.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let Some(hook) = annotation(HOOK) else {
        sorted.manifests.push(manifest);
        return Ok(());
    };
    let weight = annotation(HOOK_WEIGHT).and_then(|weight| weight.parse().ok()).unwrap_or(0);
    // One event Helm does not know, and the whole hook is left out.
    match hook.split(',').map(event).collect() {
        Some(events) => sorted.hooks.push(Hook { manifest, events, weight }),
        None => sorted.unknown.push(hook.clone()),
    }
    Ok(())
}

fn event(name: &str) -> Option<String> {
    let name = name.trim().to_lowercase();
    match name.as_str() {
        "pre-install" | "post-install" | "pre-delete" | "post-delete" | "pre-upgrade" | "post-upgrade"
        | "pre-rollback" | "post-rollback" | "test" => Some(name),
        "test-success" => Some("test".to_string()),
        _ => None,
    }
}

struct Head {
    api_version: String,
    kind: String,
    name: String,
    annotations: Vec<(String, String)>,
}

fn head(object: &Value) -> Result<Head, DecodeError> {
    let empty = switchboard_object::Map::new();
    let map = match object {
        Value::Null => &empty,
        Value::Object(map) => map,
        other => return Err(mismatch(other, "Go value", "util.SimpleHead")),
    };
    let mut fields = Fields::of(map, "SimpleHead");
    let (api_version, kind) = (fields.text("apiVersion"), fields.text("kind"));
    let metadata = match fields.get("metadata") {
        None => &empty,
        Some(Value::Object(map)) => map,
        Some(other) => {
            let wanted = "struct { Name string \"json:\\\"name\\\"\"; Annotations map[string]string \"json:\\\"annotations\\\"\" }";
            fields.note(mismatch(other, "Go struct field SimpleHead.metadata", wanted));
            &empty
        }
    };
    let mut inner = Fields::of(metadata, ".metadata");
    let name = inner.text("name");
    let annotations = inner.text_map("annotations").unwrap_or_default();
    fields.done()?;
    inner.done()?;
    Ok(Head { api_version, kind, name, annotations })
}

/// The documents of a text, with the byte each begins at. A line that begins with `---` divides, whatever follows on it.
pub fn split(text: &str) -> Vec<(usize, &str)> {
    let start = text.len() - text.trim_start().len();
    let mut documents = Vec::new();
    let mut add = |from: usize, to: usize| {
        let document = text[from..to].trim_start();
        if !document.is_empty() {
            documents.push((to - document.len(), document));
        }
    };
    let (mut from, mut line) = (start, start);
    while line < text.len() {
        let rest = &text[line..];
        if let Some(behind) = rest.strip_prefix("---") {
            add(from, line);
            from = text.len() - behind.trim_start_matches([' ', '\t']).len();
        }
        line += rest.find('\n').map_or(rest.len(), |at| at + 1);
    }
    add(from, text.len());
    documents
}

#[cfg(test)]
mod tests;
