//! Status of an Application: packed for the database, and converted for the tenant.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use switchboard_object::yaml;

use super::new_namespace;
use crate::argocd::{IN_CLUSTER, environment_of, keys};
use crate::deployment::kind::{
    DeploymentStatus, HealthStatus, ReconciledDestination, ReconciledSource, ReconciledState, ResourceStatus,
    SyncStatus,
};
use crate::kinds::condition::{self, ConditionStatus, ERROR_OCCURRED};

/// Maximum unpacked size of a status.
const MAX_STATUS_BYTES: u64 = 16 << 20;

/// Argo CD's condition for a failed sync.
const SYNC_ERROR: &str = "SyncError";

/// Error of reading or writing a stored status.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// The data is not gzip.
    #[error("could not unpack the Application's status")]
    Gzip(#[source] std::io::Error),
    /// The unpacked status exceeds the maximum size.
    #[error("could not unpack the Application's status: it has more than 16 MiB")]
    TooLarge,
    /// The text is not YAML.
    #[error("could not read the Application's status")]
    Yaml(#[source] yaml::YamlError),
}

/// Packs a status for its column: lower-case keys, the environment as its id, YAML, gzip.
pub fn pack(status: &Value) -> Result<Vec<u8>, StatusError> {
    let mut status = status.clone();
    let compared = status.pointer_mut("/sync/comparedTo/destination/name");
    if let Some(name) = compared
        && let Some(id) = name.as_str().and_then(environment_of)
    {
        *name = json!(id.as_str());
    }
    let text = yaml::to_string(&keys::lowercase(status));
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(text.as_bytes()).map_err(StatusError::Gzip)?;
    packer.finish().map_err(StatusError::Gzip)
}

/// Unpacks a status and restores the case of Argo CD's keys.
pub fn unpack(bytes: &[u8]) -> Result<Value, StatusError> {
    let mut text = String::new();
    GzDecoder::new(bytes).take(MAX_STATUS_BYTES + 1).read_to_string(&mut text).map_err(StatusError::Gzip)?;
    if text.len() as u64 > MAX_STATUS_BYTES {
        return Err(StatusError::TooLarge);
    }
    let status = yaml::read(&text).map_err(StatusError::Yaml)?.value;
    Ok(keys::without_empty(keys::restore_case(status)))
}

/// Time of Argo CD's last comparison, which changes even if nothing else does.
const COMPARED_AT: &str = "reconciledAt";

/// Removes the comparison time from a status.
pub fn without_compare_time(mut status: Value) -> Value {
    if let Some(said) = status.as_object_mut() {
        said.remove(COMPARED_AT);
    }
    status
}

/// Whether a stored status equals the new one, ignoring the comparison time.
pub fn is_unchanged(bytes: &[u8], status: &Value) -> bool {
    let now = pack(status).and_then(|packed| unpack(&packed));
    matches!((unpack(bytes), now), (Ok(before), Ok(now)) if without_compare_time(before.clone()) == without_compare_time(now.clone()))
}

/// Converts Argo CD's status to the status of a deployment, with the tenant's name of the environment.
///
/// The backend's own condition is preserved. managed-gitops resolves it with every report of Argo CD.
pub fn deployment_status(
    before: &DeploymentStatus,
    status: &Value,
    environment_name: Option<&str>,
    now: &str,
) -> DeploymentStatus {
    let text = |pointer: &str| status.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
    DeploymentStatus {
        conditions: conditions(before, status, now),
        sync: SyncStatus { status: text("/sync/status"), revision: text("/sync/revision") },
        health: HealthStatus { status: text("/health/status"), message: text("/health/message") },
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
        operation_state: status.get("operationState").filter(|state| state.is_object()).map(reported_operation),
    }
}

/// Returns the id of the environment that was compared, or `None` for the cluster Argo CD runs on.
pub fn compared_environment(status: &Value) -> Option<&str> {
    let name = status.pointer("/sync/comparedTo/destination/name").and_then(Value::as_str);
    name.filter(|name| !name.is_empty() && *name != IN_CLUSTER)
}

fn conditions(before: &DeploymentStatus, status: &Value, now: &str) -> Vec<condition::DeploymentCondition> {
    let mut after = before.conditions.clone();
    let refused = new_namespace::denial_message(status);
    let said = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_string();
    let reported = status["conditions"].as_array().into_iter().flatten();
    let reported = reported.map(|one| (said(one, "type"), said(one, "message")));
    // Argo CD does not report this condition for a sync that is retried forever.
    let reported = reported.filter(|(r#type, _)| refused.is_none() || r#type != SYNC_ERROR);
    let own = refused.iter().map(|why| (SYNC_ERROR.to_string(), why.clone()));
    let reported: Vec<(String, String)> = reported.chain(own).collect();
    for (r#type, message) in &reported {
        if !r#type.is_empty() && r#type != ERROR_OCCURRED {
            condition::set(&mut after, r#type, ConditionStatus::True, r#type, message, now);
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
            let health = one["health"].as_object().map(|health| HealthStatus {
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

/// Keys of the operation state that the tenant's kind has.
const OPERATION_STATE_KEYS: [&str; 7] =
    ["operation", "phase", "message", "syncResult", "startedAt", "finishedAt", "retryCount"];

/// Keys of a synced resource that are required even if empty, such as the group of core kinds.
const REQUIRED_RESOURCE_KEYS: [&str; 5] = ["group", "version", "kind", "namespace", "name"];

fn reported_operation(state: &Value) -> Value {
    let known = OPERATION_STATE_KEYS.iter().filter_map(|key| Some(((*key).to_string(), state.get(*key)?.clone())));
    let mut fields: serde_json::Map<String, Value> = known.collect();
    fields.entry("operation").or_insert_with(|| json!({}));
    if let Some(Value::Object(result)) = fields.get_mut("syncResult") {
        result.entry("revision").or_insert_with(|| json!(""));
        let synced = result.get_mut("resources").and_then(Value::as_array_mut);
        for one in synced.into_iter().flatten().filter_map(Value::as_object_mut) {
            for key in REQUIRED_RESOURCE_KEYS {
                one.entry(key).or_insert_with(|| json!(""));
            }
        }
    }
    Value::Object(fields)
}
