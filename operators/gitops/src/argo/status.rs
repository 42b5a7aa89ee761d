//! What Argo CD says of an Application: into the database, and from there to the tenant.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use switchboard_object::yaml;

use super::{IN_CLUSTER, environment_of, keys, new_namespace};
use crate::kinds::condition::{self, ERROR_OCCURRED, Truth};
use crate::kinds::deployment::{
    DeploymentStatus, Health, ReconciledDestination, ReconciledSource, ReconciledState, ResourceStatus, SyncStatus,
};

/// The largest status that is unpacked.
const MAX_STATUS_BYTES: u64 = 16 << 20;

/// Argo CD's condition of a sync that failed.
const SYNC_ERROR: &str = "SyncError";

/// Why a stored status is not understood.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// It is no gzip.
    #[error("could not unpack the Application's status")]
    Gzip(#[source] std::io::Error),
    /// It is larger than any that is written.
    #[error("could not unpack the Application's status: it has more than 16 MiB")]
    TooLarge,
    /// It is no YAML.
    #[error("could not read the Application's status")]
    Yaml(#[source] yaml::YamlError),
}

/// The column of an Application's status: keys in lower case, the environment by its id, as YAML, as gzip.
pub fn pack(status: &Value) -> Result<Vec<u8>, StatusError> {
    let mut status = status.clone();
    let compared = status.pointer_mut("/sync/comparedTo/destination/name");
    if let Some(name) = compared
        && let Some(id) = name.as_str().and_then(environment_of)
    {
        *name = json!(id.as_str());
    }
    let text = yaml::to_string(&keys::lower(status));
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(text.as_bytes()).map_err(StatusError::Gzip)?;
    packer.finish().map_err(StatusError::Gzip)
}

/// The status of a column, with the keys Argo CD knows.
pub fn unpack(bytes: &[u8]) -> Result<Value, StatusError> {
    let mut text = String::new();
    GzDecoder::new(bytes).take(MAX_STATUS_BYTES + 1).read_to_string(&mut text).map_err(StatusError::Gzip)?;
    if text.len() as u64 > MAX_STATUS_BYTES {
        return Err(StatusError::TooLarge);
    }
    let status = yaml::read(&text).map_err(StatusError::Yaml)?.value;
    Ok(keys::without_nothing(keys::restore(status)))
}

/// When Argo CD compared last. It says so at every look, whatever it found.
const COMPARED_AT: &str = "reconciledAt";

/// A status but for when it was found so.
pub fn timeless(mut status: Value) -> Value {
    if let Some(said) = status.as_object_mut() {
        said.remove(COMPARED_AT);
    }
    status
}

/// Whether a column says the same, but for when.
pub fn is_told(bytes: &[u8], status: &Value) -> bool {
    let now = pack(status).and_then(|packed| unpack(&packed));
    matches!((unpack(bytes), now), (Ok(before), Ok(now)) if timeless(before.clone()) == timeless(now.clone()))
}

/// What a tenant is told: Argo CD's words, but for the environment, which has the tenant's name for it.
///
/// The backend's own condition is not Argo CD's to resolve: the original does so at every look.
pub fn tell(before: &DeploymentStatus, status: &Value, environment_name: Option<&str>, now: &str) -> DeploymentStatus {
    let text = |pointer: &str| status.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
    DeploymentStatus {
        conditions: conditions(before, status, now),
        sync: SyncStatus { status: text("/sync/status"), revision: text("/sync/revision") },
        health: Health { status: text("/health/status"), message: text("/health/message") },
        resources: resources(status),
        reconciled_state: ReconciledState {
            source: ReconciledSource {
                path: text("/sync/comparedTo/source/path"),
                repo_url: text("/sync/comparedTo/source/repoURL"),
                branch: text("/sync/comparedTo/source/targetRevision"),
            },
            destination: ReconciledDestination {
                name: environment_name.unwrap_or_default().to_string(),
                namespace: text("/sync/comparedTo/destination/namespace"),
            },
        },
        operation_state: status.get("operationState").filter(|state| state.is_object()).map(told_operation),
    }
}

/// The id of the environment that Argo CD compared with; none for the cluster it runs on.
pub fn compared_environment(status: &Value) -> Option<&str> {
    let name = status.pointer("/sync/comparedTo/destination/name").and_then(Value::as_str);
    name.filter(|name| !name.is_empty() && *name != IN_CLUSTER)
}

fn conditions(before: &DeploymentStatus, status: &Value, now: &str) -> Vec<condition::Condition> {
    let mut after = before.conditions.clone();
    let refused = new_namespace::refused(status);
    let said = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_string();
    let reported = status["conditions"].as_array().into_iter().flatten();
    let reported = reported.map(|one| (said(one, "type"), said(one, "message")));
    // One that is tried again for ever is never told by Argo CD as a condition.
    let reported = reported.filter(|(r#type, _)| refused.is_none() || r#type != SYNC_ERROR);
    let own = refused.iter().map(|why| (SYNC_ERROR.to_string(), why.clone()));
    let reported: Vec<(String, String)> = reported.chain(own).collect();
    for (r#type, message) in &reported {
        if !r#type.is_empty() && r#type != ERROR_OCCURRED {
            condition::set(&mut after, r#type, Truth::True, r#type, message, now);
        }
    }
    let over: Vec<String> = after
        .iter()
        .map(|c| c.r#type.clone())
        .filter(|r#type| r#type != ERROR_OCCURRED && !reported.iter().any(|(one, _)| one == r#type))
        .collect();
    for r#type in over {
        condition::resolve(&mut after, &r#type, now);
    }
    after
}

fn resources(status: &Value) -> Vec<ResourceStatus> {
    let listed = status["resources"].as_array().into_iter().flatten();
    listed
        .map(|one| {
            let text = |key: &str| one[key].as_str().unwrap_or_default().to_string();
            let health = one["health"].as_object().map(|health| Health {
                status: health.get("status").and_then(Value::as_str).unwrap_or_default().to_string(),
                message: health.get("message").and_then(Value::as_str).unwrap_or_default().to_string(),
            });
            ResourceStatus {
                group: text("group"),
                version: text("version"),
                kind: text("kind"),
                namespace: text("namespace"),
                name: text("name"),
                status: text("status"),
                health,
            }
        })
        .collect()
}

/// Keys of an operation's state that the tenant's kind has.
const TOLD: [&str; 7] = ["operation", "phase", "message", "syncResult", "startedAt", "finishedAt", "retryCount"];

/// Keys of a synced resource that are there even when there is nothing to say: the core group has no name.
const ALWAYS: [&str; 5] = ["group", "version", "kind", "namespace", "name"];

fn told_operation(state: &Value) -> Value {
    let known = TOLD.iter().filter_map(|key| Some(((*key).to_string(), state.get(*key)?.clone())));
    let mut told: serde_json::Map<String, Value> = known.collect();
    told.entry("operation").or_insert_with(|| json!({}));
    if let Some(Value::Object(result)) = told.get_mut("syncResult") {
        result.entry("revision").or_insert_with(|| json!(""));
        let synced = result.get_mut("resources").and_then(Value::as_array_mut);
        for one in synced.into_iter().flatten().filter_map(Value::as_object_mut) {
            for key in ALWAYS {
                one.entry(key).or_insert_with(|| json!(""));
            }
        }
    }
    Value::Object(told)
}
