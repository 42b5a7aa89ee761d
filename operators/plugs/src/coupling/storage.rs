//! Storage of records as Secrets in the operator's own namespace. Users must not have write access to that namespace,
//! because a record determines which service account an object is written as.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use switchboard_kernel::resource::Resource;

use super::record::CouplingRecord;
use crate::render::PerSide;

/// Kind of records.
pub const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");
/// Type of Secrets that hold records.
pub const RECORD_TYPE: &str = "integration.rock8s.com/coupling";
/// Label of a record with the uid of its plug.
pub const PLUG_UID_LABEL: &str = "integration.rock8s.com/plug-uid";
/// Label of a record with the uid of its requested or coupled socket.
pub const SOCKET_LABEL: &str = "integration.rock8s.com/socket-uid";
/// Label of a record whose plug is coupled.
pub const COUPLED_LABEL: &str = "integration.rock8s.com/coupled";
/// Label of a record whose plug fails.
pub const FAILING_LABEL: &str = "integration.rock8s.com/failing";
/// Label of a record, set by the socket, that states whether the plug is admitted.
pub const ADMITTED_LABEL: &str = "integration.rock8s.com/admitted";
/// Label of a record with the namespace of its plug.
pub const PLUG_NAMESPACE_LABEL: &str = "integration.rock8s.com/plug-namespace";
/// Annotation of a record with the name of its plug, which may be too long for a label.
pub const PLUG_ANNOTATION: &str = "integration.rock8s.com/plug";

/// Maximum length of an object name.
const MAX_NAME: usize = 253;
const PREFIX: &str = "coupling.";

/// Secret that is not a valid record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// The Secret has another type.
    #[error(
        "could not write the coupling record: Secret {0} exists and is not of type {RECORD_TYPE}; remove or rename it"
    )]
    Foreign(String),
    /// The Secret was modified.
    #[error("could not read the coupling record in Secret {0}: its key `{1}` was modified")]
    Broken(String, &'static str),
}

/// Returns the name of a plug's record. Namespaces contain no dot, so the name is unique.
pub fn record_name(namespace: &str, plug: &str) -> String {
    let whole = format!("{namespace}.{plug}");
    if whole.len() + PREFIX.len() <= MAX_NAME {
        return format!("{PREFIX}{whole}");
    }
    let hash = digest(&SHA256, whole.as_bytes());
    let tail: String = hash.as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let room = MAX_NAME - PREFIX.len() - tail.len() - 1;
    format!("{PREFIX}{}-{tail}", whole[..whole.floor_char_boundary(room)].trim_end_matches(['-', '.']))
}

/// Returns the name of the record in earlier versions, in the plug's own namespace. The contents of such a record are
/// ignored.
pub fn legacy_record_name(plug: &str) -> String {
    format!("{PREFIX}{plug}")
}

/// Reads the record from a Secret.
///
/// # Errors
/// [`StorageError`] if the Secret has another type or was modified.
pub fn from_secret(secret: &Value) -> Result<CouplingRecord, StorageError> {
    let name = secret["metadata"]["name"].as_str().unwrap_or_default().to_string();
    if secret["type"] != RECORD_TYPE {
        return Err(StorageError::Foreign(name));
    }
    let broken = |key: &'static str| StorageError::Broken(name.clone(), key);
    let label = |label: &str| secret["metadata"]["labels"][label] == "true";
    let mut record: CouplingRecord = decoded(secret, "record").ok_or_else(|| broken("record"))?;
    record.config = decoded(secret, "config").unwrap_or_default();
    record.result = decoded(secret, "result");
    record.config_answers = decoded(secret, "configAnswers").unwrap_or_default();
    record.snapshot = decoded(secret, "snapshot");
    record.failing = label(FAILING_LABEL);
    record.admitted = secret["metadata"]["labels"][ADMITTED_LABEL].as_str().map(|place| place == "true");
    Ok(record)
}

fn decoded<T: DeserializeOwned>(secret: &Value, key: &str) -> Option<T> {
    let bytes = STANDARD.decode(secret["data"][key].as_str()?).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Returns the Secret for a record, based on the existing Secret. `home` is the namespace of records.
pub fn to_secret(record: &CouplingRecord, before: Option<&Value>, records_namespace: &str) -> Value {
    let mut secret = before.cloned().unwrap_or_else(|| new_secret(record, records_namespace));
    let labels = &mut secret["metadata"]["labels"];
    if !labels.is_object() {
        *labels = json!({});
    }
    let socket = record.socket.as_ref().map(|socket| socket.uid.as_str());
    let truth = |is: bool| is.then_some("true");
    let wanted = [
        (PLUG_UID_LABEL, Some(record.plug.uid.as_str())),
        (PLUG_NAMESPACE_LABEL, Some(record.plug.namespace.as_str())),
        (SOCKET_LABEL, socket),
        (COUPLED_LABEL, truth(record.coupled)),
        (FAILING_LABEL, truth(record.failing)),
        (ADMITTED_LABEL, record.admitted.map(|place| if place { "true" } else { "false" })),
    ];
    if let Some(labels) = labels.as_object_mut() {
        for (name, value) in wanted {
            match value {
                Some(value) => drop(labels.insert(name.to_string(), value.into())),
                None => drop(labels.remove(name)),
            }
        }
    }
    secret["metadata"]["annotations"][PLUG_ANNOTATION] = record.plug.name.as_str().into();
    let mut data = json!({"record": encoded(record), "config": encoded(&record.config)});
    if let Some(result) = &record.result {
        data["result"] = encoded(result);
    }
    if record.config_answers != PerSide::default() {
        data["configAnswers"] = encoded(&record.config_answers);
    }
    if let Some(snapshot) = &record.snapshot {
        data["snapshot"] = encoded(snapshot);
    }
    secret["data"] = data;
    secret
}

fn encoded(part: &impl Serialize) -> Value {
    // All parts are maps with string keys, which always serialize.
    STANDARD.encode(serde_json::to_vec(part).unwrap_or_default()).into()
}

fn new_secret(record: &CouplingRecord, records_namespace: &str) -> Value {
    let name = record_name(&record.plug.namespace, &record.plug.name);
    json!({"apiVersion": "v1", "kind": "Secret", "type": RECORD_TYPE, "metadata": {"name": name, "namespace": records_namespace}})
}
