//! Health of live objects by kind, with Argo CD's rules.

mod workload;

use serde_json::{Value, json};

/// API group of Argo CD.
const ARGO_CD: &str = "argoproj.io";

/// Health status code, ordered from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HealthCode {
    /// The object works as specified.
    Healthy,
    /// The object is paused.
    Suspended,
    /// The object is not healthy yet but may become so.
    Progressing,
    /// The object does not exist.
    Missing,
    /// The object has failed.
    Degraded,
    /// The health cannot be determined.
    Unknown,
}

impl HealthCode {
    /// Argo CD's name of the code.
    pub fn as_str(self) -> &'static str {
        match self {
            HealthCode::Healthy => "Healthy",
            HealthCode::Suspended => "Suspended",
            HealthCode::Progressing => "Progressing",
            HealthCode::Missing => "Missing",
            HealthCode::Degraded => "Degraded",
            HealthCode::Unknown => "Unknown",
        }
    }
}

/// Health of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectHealth {
    /// Status code.
    pub code: HealthCode,
    /// Reason; may be empty.
    pub message: String,
}

impl ObjectHealth {
    fn new(code: HealthCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Returns the health as it appears in an Application's status.
    pub fn to_value(&self) -> Value {
        match self.message.is_empty() {
            true => json!({"status": self.code.as_str()}),
            false => json!({"status": self.code.as_str(), "message": self.message}),
        }
    }
}

/// Assesses the health of a live object. `None` for kinds without health.
pub fn assess(live: &Value) -> Option<ObjectHealth> {
    if !text(live, "/metadata/deletionTimestamp").is_empty() {
        return Some(ObjectHealth::new(HealthCode::Progressing, "Pending deletion"));
    }
    let api_version = text(live, "/apiVersion");
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    match (group, text(live, "/kind")) {
        ("apps", "Deployment") => Some(workload::deployment(live)),
        ("apps", "StatefulSet") => Some(workload::stateful_set(live)),
        ("apps", "ReplicaSet") => Some(workload::replica_set(live)),
        ("apps", "DaemonSet") => Some(workload::daemon_set(live)),
        ("batch", "Job") => Some(workload::job(live)),
        ("", "Pod") => Some(workload::pod(live)),
        ("", "Service") => Some(service(live)),
        ("", "PersistentVolumeClaim") => Some(persistent_volume_claim(live)),
        ("networking.k8s.io" | "extensions", "Ingress") => Some(ingress(live)),
        (ARGO_CD, "Application") => {
            // Argo CD uses a Lua script with the same result.
            let status = text(live, "/status/health/status");
            let known = [
                HealthCode::Healthy,
                HealthCode::Suspended,
                HealthCode::Progressing,
                HealthCode::Missing,
                HealthCode::Degraded,
            ];
            known
                .into_iter()
                .find(|code| code.as_str() == status)
                .map(|code| ObjectHealth::new(code, text(live, "/status/health/message")))
        }
        _ => None,
    }
}

/// Returns the text at a pointer, or an empty text.
fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the items of the list at a pointer.
fn list<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

/// Returns the value of an annotation, or an empty text.
fn annotation<'a>(object: &'a Value, name: &str) -> &'a str {
    object["metadata"]["annotations"].get(name).and_then(Value::as_str).unwrap_or_default()
}

fn has_address(live: &Value) -> bool {
    list(live, "/status/loadBalancer/ingress").next().is_some()
}

fn service(live: &Value) -> ObjectHealth {
    let waits = text(live, "/spec/type") == "LoadBalancer" && !has_address(live);
    ObjectHealth::new(if waits { HealthCode::Progressing } else { HealthCode::Healthy }, "")
}

fn ingress(live: &Value) -> ObjectHealth {
    ObjectHealth::new(if has_address(live) { HealthCode::Healthy } else { HealthCode::Progressing }, "")
}

fn persistent_volume_claim(live: &Value) -> ObjectHealth {
    let code = match text(live, "/status/phase") {
        "Lost" => HealthCode::Degraded,
        "Pending" => HealthCode::Progressing,
        "Bound" => HealthCode::Healthy,
        _ => HealthCode::Unknown,
    };
    ObjectHealth::new(code, "")
}

/// Returns the health of an Application: the worst of its objects. Missing objects count only if all are missing,
/// because the sync status already reports them.
///
/// `objects` are all managed objects, with `None` for each missing one.
pub fn application_health<'a>(objects: impl IntoIterator<Item = Option<&'a Value>>) -> HealthCode {
    let (mut worst, mut any, mut live) = (HealthCode::Healthy, false, false);
    for object in objects {
        any = true;
        let Some(object) = object else { continue };
        live = true;
        if annotation(object, "argocd.argoproj.io/ignore-healthcheck") == "true" {
            continue;
        }
        if let Some(health) = assess(object) {
            worst = worst.max(health.code);
        }
    }
    if any && !live { worst.max(HealthCode::Missing) } else { worst }
}

#[cfg(test)]
mod tests;
