//! What templates rendered, divided into manifests: hooks apart, the rest in the order it is installed.

use std::collections::BTreeMap;
use std::sync::Arc;

use memchr::memmem;
use switchboard_object::Value;
use switchboard_object::yaml::{self, YamlError};

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

/// What of a document is looked at to sort it.
const HEAD: [&str; 3] = ["apiVersion", "kind", "metadata"];
const HOOK: &str = "helm.sh/hook";
const HOOK_WEIGHT: &str = "helm.sh/hook-weight";

/// One document of a rendered template.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The template it came from: `shop/templates/service.yaml`.
    pub source: String,
    /// The byte of the template's output at which its text begins.
    pub offset: usize,
    /// `apiVersion`.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
    /// `metadata.name`.
    pub name: String,
    /// All that the template wrote: of large charts there is much, and it is not copied.
    written: Arc<String>,
    /// How many bytes of it are this document.
    length: usize,
}

impl Manifest {
    /// Its text.
    pub fn text(&self) -> &str {
        &self.written[self.offset..self.offset + self.length]
    }

    /// The whole of it as a value. It was found to be YAML when it was sorted, but nothing of it is kept besides its head: most
    /// of what is rendered is printed.
    ///
    /// # Errors
    /// When the text is not what was sorted.
    pub fn object(&self) -> Result<Value, ManifestError> {
        let read = yaml::read(self.text()).map(|document| document.value);
        read.map_err(|error| not_yaml(&self.source, self.offset, &error))
    }
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
pub fn sort(rendered: &BTreeMap<String, Arc<String>>) -> Result<Sorted, ManifestError> {
    let mut sorted = Sorted::default();
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

/// What Helm says of a document that is not YAML.
fn not_yaml(source: &str, offset: usize, error: &YamlError) -> ManifestError {
    let problem = DecodeError(format!("error converting YAML to JSON: {error}"));
    ManifestError { source_file: source.to_string(), problem, offset, place: Some((error.line, error.column)) }
}

fn place(
    source: &str,
    written: &Arc<String>,
    offset: usize,
    length: usize,
    sorted: &mut Sorted,
) -> Result<(), ManifestError> {
    let object =
        yaml::outline(&written[offset..offset + length], &HEAD).map_err(|error| not_yaml(source, offset, &error))?;
    let wrong = |problem| ManifestError { source_file: source.to_string(), problem, offset, place: None };
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

/// What a line begins with that divides documents.
const DASHES: &str = "---";

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
