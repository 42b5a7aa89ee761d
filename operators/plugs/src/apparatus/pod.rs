//! Pod and Service of an apparatus.

use ring::digest::{SHA256, digest as sha256};
use serde_json::{Map, Value, json};

use super::Apparatus;
use crate::render::CouplingSide;

/// Annotation with a hash of the spec that the pod was created from.
pub const SPEC_HASH_ANNOTATION: &str = "integration.rock8s.com/apparatus-hash";
/// Annotation with the idle deadline of the pod. It is stored on the pod so that it survives a restart of Switchboard.
pub const IDLE_ANNOTATION: &str = "integration.rock8s.com/idle-deadline";
/// Annotation that the pod has answered a ping.
pub const ANSWERED_ANNOTATION: &str = "integration.rock8s.com/answered";
/// Annotation with the listen address of a pod that is a local process.
pub const ADDRESS_ANNOTATION: &str = "integration.rock8s.com/address";

/// Name of the container port that serves the API.
const PORT_NAME: &str = "container";
/// Maximum length of a Service name.
const MAX_NAME_BYTES: usize = 63;
/// Fields of an apparatus that are not fields of a pod spec.
const OWN_FIELDS: [&str; 7] = ["endpoint", "idleTimeout", "startupTimeout", "timeout", "port", "metadata", "template"];

/// Apparatus from which no pod can be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PodError {
    /// No port is specified.
    #[error(
        "spec.apparatus.containers: no port is named `container`\nhint: name the port of the API `container`, or set `spec.apparatus.port`"
    )]
    NoPort,
}

/// Names of an apparatus' objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApparatusNames {
    /// Name of the pod and of the Service.
    pub name: String,
}

/// Returns `NAME-apparatus`, or a name that includes the kind if another owner has that Service: a Plug and a Socket
/// may share a name.
pub fn names(apparatus: &Apparatus<'_>, service: Option<&Value>) -> ApparatusNames {
    let owner = service.and_then(|service| service.pointer("/metadata/ownerReferences")?.as_array());
    let taken = service.is_some()
        && !owner.is_some_and(|owners| owners.iter().any(|owner| owner["uid"].as_str() == Some(apparatus.uid())));
    let middle = if taken { format!("-{}", apparatus.side.as_str()) } else { String::new() };
    ApparatusNames { name: fitted_name(apparatus.name(), &format!("{middle}-apparatus")) }
}

/// Returns a name without dots and of at most 63 bytes, as Services require. A hash keeps changed names distinct.
fn fitted_name(owner: &str, ending: &str) -> String {
    let plain = owner.replace('.', "-");
    let starts_well = plain.starts_with(|c: char| c.is_ascii_lowercase());
    if plain == owner && starts_well && owner.len() + ending.len() <= MAX_NAME_BYTES {
        return format!("{owner}{ending}");
    }
    let mark = &digest(&[owner])[..8];
    let room = MAX_NAME_BYTES - ending.len() - mark.len() - 3;
    let kept: String = plain.chars().take(room).collect();
    format!("{}{}-{mark}{ending}", if starts_well { "" } else { "a-" }, kept.trim_end_matches('-'))
}

pub(super) fn containers(spec: &Value) -> Option<&Vec<Value>> {
    spec["containers"].as_array().or_else(|| spec.pointer("/template/spec/containers")?.as_array())
}

/// Returns the pod to create.
///
/// `idle_deadline` is the time at which the pod is stopped unless it is called.
///
/// # Errors
/// [`PodError`] if no port is specified.
pub fn pod(apparatus: &Apparatus<'_>, names: &ApparatusNames, idle_deadline: &str) -> Result<Value, PodError> {
    port(apparatus)?;
    let spec = pod_spec(apparatus);
    let template = |field: &str| apparatus.spec.pointer(&format!("/template/metadata/{field}"));
    let own = |field: &str| apparatus.spec.pointer(&format!("/metadata/{field}"));
    let merged = |field: &str| {
        let maps = [template(field), own(field)].into_iter().flatten().filter_map(Value::as_object);
        maps.flatten().map(|(key, value)| (key.clone(), value.clone())).collect::<Map<String, Value>>()
    };
    let mut labels = merged("labels");
    labels.insert("apparatus".to_string(), names.name.as_str().into());
    let mut annotations = merged("annotations");
    annotations.entry("sidecar.istio.io/inject").or_insert_with(|| "false".into());
    annotations.insert(SPEC_HASH_ANNOTATION.to_string(), spec_hash(apparatus).into());
    annotations.insert(IDLE_ANNOTATION.to_string(), idle_deadline.into());
    let mut metadata = metadata(apparatus, names);
    metadata["labels"] = labels.into();
    metadata["annotations"] = annotations.into();
    Ok(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}))
}

/// Returns the Service to create.
///
/// # Errors
/// Same as [`pod`].
pub fn service(apparatus: &Apparatus<'_>, names: &ApparatusNames) -> Result<Value, PodError> {
    let port = port(apparatus)?;
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(apparatus, names),
        "spec": {
            "type": "ClusterIP",
            "selector": {"apparatus": names.name},
            "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": port}],
        },
    }))
}

fn metadata(apparatus: &Apparatus<'_>, names: &ApparatusNames) -> Value {
    json!({
        "name": names.name,
        "namespace": apparatus.namespace(),
        "ownerReferences": [{
            "apiVersion": "integration.rock8s.com/v1beta1",
            "kind": kind(apparatus.side),
            "name": apparatus.name(),
            "uid": apparatus.uid(),
            "controller": true,
            "blockOwnerDeletion": true,
        }],
    })
}

fn kind(side: CouplingSide) -> &'static str {
    match side {
        CouplingSide::Plug => "Plug",
        CouplingSide::Socket => "Socket",
    }
}

fn pod_spec(apparatus: &Apparatus<'_>) -> Value {
    let mut spec = apparatus.spec.pointer("/template/spec").and_then(Value::as_object).cloned().unwrap_or_default();
    let own = apparatus.spec.as_object().into_iter().flatten();
    for (field, value) in own.filter(|(field, _)| !OWN_FIELDS.contains(&field.as_str())) {
        spec.insert(field.clone(), value.clone());
    }
    let account = apparatus.owner.pointer("/spec/serviceAccountName").and_then(Value::as_str).unwrap_or("default");
    // The owner's service account: an apparatus cannot choose another one.
    spec.insert("serviceAccountName".to_string(), account.into());
    spec.entry("automountServiceAccountToken").or_insert(true.into());
    Value::Object(spec)
}

/// Returns the port of the API: by name, by number, or the only port there is.
fn port(apparatus: &Apparatus<'_>) -> Result<Value, PodError> {
    let said = &apparatus.spec["port"];
    if said.is_u64() || said.is_string() {
        return Ok(said.clone());
    }
    let all = containers(apparatus.spec).into_iter().flatten();
    let ports: Vec<&Value> = all.flat_map(|container| container["ports"].as_array().into_iter().flatten()).collect();
    if ports.iter().any(|port| port["name"] == PORT_NAME) {
        return Ok(PORT_NAME.into());
    }
    match ports.as_slice() {
        [only] => Ok(only["containerPort"].clone()),
        _ => Err(PodError::NoPort),
    }
}

/// Returns a hash of the pod's template. If the hash changes, the pod is replaced.
pub fn spec_hash(apparatus: &Apparatus<'_>) -> String {
    let template = &apparatus.spec["template"]["metadata"];
    let said = [pod_spec(apparatus).to_string(), apparatus.spec["metadata"].to_string(), template.to_string()];
    digest(&[&said[0], &said[1], &said[2]])[..16].to_string()
}

/// Returns the SHA-256 of strings, each with a length prefix so that boundaries matter.
pub(super) fn digest(texts: &[&str]) -> String {
    let mut all = Vec::new();
    for text in texts {
        all.extend_from_slice(&(text.len() as u64).to_le_bytes());
        all.extend_from_slice(text.as_bytes());
    }
    sha256(&SHA256, &all).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
