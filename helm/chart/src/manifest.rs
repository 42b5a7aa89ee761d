//! Rendered templates, split into manifests: hooks separately, the rest in install order.

use std::collections::BTreeMap;
use std::sync::Arc;

use memchr::memmem;
use switchboard_object::Value;
use switchboard_object::yaml::{self, YamlError};

use crate::typed::{DecodeError, StructFields, mismatch};

/// Install order of kinds. Other kinds follow, sorted by name.
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

/// Fields of a document that are needed to sort it.
const HEAD: [&str; 3] = ["apiVersion", "kind", "metadata"];
const HOOK: &str = "helm.sh/hook";
const HOOK_WEIGHT: &str = "helm.sh/hook-weight";

/// A document of a rendered template.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Name of its template, such as `shop/templates/service.yaml`.
    pub source: String,
    /// Byte offset of the document in the template's output.
    pub offset: usize,
    /// API version of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object, from `metadata.name`.
    pub name: String,
    /// Whole output of the template. The output of large charts is long, so it is not copied.
    written: Arc<String>,
    /// Length of this document in bytes.
    length: usize,
}

impl Manifest {
    /// Returns the text of the document.
    pub fn text(&self) -> &str {
        &self.written[self.offset..self.offset + self.length]
    }

    /// Parses the whole document. Sorting has parsed it before but only kept the head, because most manifests are only
    /// printed.
    ///
    /// # Errors
    /// If the text is not valid.
    pub fn object(&self) -> Result<Value, ManifestError> {
        let read = yaml::read(self.text()).map(|document| document.value);
        read.map_err(|error| not_yaml(&self.source, self.offset, &error))
    }
}

/// A manifest that runs at a point of a release's lifecycle and is not part of the release.
#[derive(Clone, Debug, PartialEq)]
pub struct Hook {
    /// Manifest to run.
    pub manifest: Manifest,
    /// Events at which the hook runs, such as `pre-install` or `test`.
    pub events: Vec<String>,
    /// Weight. Hooks with lower weights run first.
    pub weight: i64,
}

impl Hook {
    /// Whether the hook is a test, which only runs on request.
    pub fn is_test(&self) -> bool {
        self.events.iter().any(|event| event == "test")
    }
}

/// All rendered documents, sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SortedManifests {
    /// Manifests to install.
    pub manifests: Vec<Manifest>,
    /// Hooks.
    pub hooks: Vec<Hook>,
    /// Hook annotations with an unknown event. Their manifests are left out.
    pub unknown: Vec<String>,
}

/// Error for a document that is not YAML or not an object.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("YAML parse error on {source_file}: {problem}")]
pub struct ManifestError {
    /// Name of the template.
    pub source_file: String,
    /// Helm's error text.
    pub problem: DecodeError,
    /// Byte offset of the document in the template's output.
    pub offset: usize,
    /// Line and column in the document, if the parser reports them.
    pub position: Option<(usize, usize)>,
}

/// Splits the rendered templates, given by name, into manifests and sorts them.
///
/// # Errors
/// If a document is invalid.
pub fn sort(rendered: &BTreeMap<String, Arc<String>>) -> Result<SortedManifests, ManifestError> {
    let mut sorted = SortedManifests::default();
    for (source, written) in rendered {
        let base = source.rsplit('/').next().unwrap_or(source);
        if base.starts_with('_') || written.trim_start().is_empty() {
            continue;
        }
        for (offset, text) in split(written) {
            place(source, written, offset, text.len(), &mut sorted)?;
        }
    }
    sorted.manifests.sort_by_cached_key(|manifest| order(&manifest.kind));
    sorted.hooks.sort_by_cached_key(|hook| order(&hook.manifest.kind));
    Ok(sorted)
}

fn order(kind: &str) -> (usize, String) {
    match INSTALL_ORDER.iter().position(|known| *known == kind) {
        Some(at) => (at, String::new()),
        None => (INSTALL_ORDER.len(), kind.to_string()),
    }
}

/// Creates Helm's error for a document that is not YAML.
fn not_yaml(source: &str, offset: usize, error: &YamlError) -> ManifestError {
    let problem = DecodeError(format!("error converting YAML to JSON: {error}"));
    ManifestError { source_file: source.to_string(), problem, offset, position: Some((error.line, error.column)) }
}

fn place(
    source: &str,
    written: &Arc<String>,
    offset: usize,
    length: usize,
    sorted: &mut SortedManifests,
) -> Result<(), ManifestError> {
    let object =
        yaml::outline(&written[offset..offset + length], &HEAD).map_err(|error| not_yaml(source, offset, &error))?;
    let wrong = |problem| ManifestError { source_file: source.to_string(), problem, offset, position: None };
    let head = head(&object).map_err(wrong)?;
    let manifest = Manifest {
        source: source.to_string(),
        offset,
        api_version: head.api_version,
        kind: head.kind,
        name: head.name,
        written: written.clone(),
        length,
    };
    let annotation = |name: &str| head.annotations.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let Some(hook) = annotation(HOOK) else {
        sorted.manifests.push(manifest);
        return Ok(());
    };
    let weight = annotation(HOOK_WEIGHT).and_then(|weight| weight.parse().ok()).unwrap_or(0);
    // A single unknown event excludes the whole hook.
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

struct SimpleHead {
    api_version: String,
    kind: String,
    name: String,
    annotations: Vec<(String, String)>,
}

fn head(object: &Value) -> Result<SimpleHead, DecodeError> {
    let empty = switchboard_object::Map::new();
    let map = match object {
        Value::Null => &empty,
        Value::Object(map) => map,
        other => return Err(mismatch(other, "Go value", "util.SimpleHead")),
    };
    let mut fields = StructFields::new(map, "SimpleHead");
    let (api_version, kind) = (fields.text("apiVersion"), fields.text("kind"));
    let metadata = match fields.get("metadata") {
        None => &empty,
        Some(Value::Object(map)) => map,
        Some(other) => {
            let wanted = "struct { Name string \"json:\\\"name\\\"\"; Annotations map[string]string \"json:\\\"annotations\\\"\" }";
            fields.record_error(mismatch(other, "Go struct field SimpleHead.metadata", wanted));
            &empty
        }
    };
    let mut inner = StructFields::new(metadata, ".metadata");
    let name = inner.text("name");
    let annotations = inner.text_map("annotations").unwrap_or_default();
    fields.finish()?;
    inner.finish()?;
    Ok(SimpleHead { api_version, kind, name, annotations })
}

/// Prefix of a line that separates documents.
const DASHES: &str = "---";

/// Returns the documents of a text with their byte offsets. A line that begins with `---` separates documents, whatever
/// follows on that line.
pub fn split(text: &str) -> Vec<(usize, &str)> {
    let start = text.len() - text.trim_start().len();
    let mut documents = Vec::new();
    let mut add = |from: usize, to: usize| {
        let document = text[from..to].trim_start();
        if !document.is_empty() {
            documents.push((to - document.len(), document));
        }
    };
    let divider = memmem::Finder::new("\n---");
    let mut from = start;
    let mut first = text[start..].starts_with(DASHES).then_some(start);
    while let Some(line) = first.take().or_else(|| Some(from + divider.find(&text.as_bytes()[from..])? + 1)) {
        add(from, line);
        from = text.len() - text[line + DASHES.len()..].trim_start_matches([' ', '\t']).len();
    }
    add(from, text.len());
    documents
}

#[cfg(test)]
mod tests;
