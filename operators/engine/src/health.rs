//! How a live object does, kind by kind, as Argo CD assesses it.

mod workload;

use serde_json::{Value, json};

use crate::field::{annotation, list, text};
use crate::kinds::GROUP;

/// How something does; from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// As it should be.
    Healthy,
    /// Halted by somebody.
    Suspended,
    /// On its way.
    Progressing,
    /// Not there.
    Missing,
    /// Failed.
    Degraded,
    /// It cannot be told.
    Unknown,
}

impl Code {
    /// In Argo CD's word.
    pub fn word(self) -> &'static str {
        match self {
            Code::Healthy => "Healthy",
            Code::Suspended => "Suspended",
            Code::Progressing => "Progressing",
            Code::Missing => "Missing",
            Code::Degraded => "Degraded",
            Code::Unknown => "Unknown",
        }
    }
}

/// How an object does, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// How.
    pub code: Code,
    /// Why; may be empty.
    pub message: String,
}

impl Health {
    fn of(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// As it stands in a status.
    pub fn value(&self) -> Value {
        match self.message.is_empty() {
            true => json!({"status": self.code.word()}),
            false => json!({"status": self.code.word(), "message": self.message}),
        }
    }
}

/// How a live object does; nothing for kinds that have no health.
pub fn of(live: &Value) -> Option<Health> {
    if !text(live, "/metadata/deletionTimestamp").is_empty() {
        return Some(Health::of(Code::Progressing, "Pending deletion"));
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
        ("", "PersistentVolumeClaim") => Some(claim(live)),
        ("networking.k8s.io" | "extensions", "Ingress") => Some(ingress(live)),
        (GROUP, "Application") => {
            // Argo CD has it from a script of its own, which reads the same.
            let status = text(live, "/status/health/status");
            let known = [Code::Healthy, Code::Suspended, Code::Progressing, Code::Missing, Code::Degraded];
            known
                .into_iter()
                .find(|code| code.word() == status)
                .map(|code| Health::of(code, text(live, "/status/health/message")))
        }
        _ => None,
    }
}

fn has_address(live: &Value) -> bool {
    list(live, "/status/loadBalancer/ingress").next().is_some()
}

fn service(live: &Value) -> Health {
    let waits = text(live, "/spec/type") == "LoadBalancer" && !has_address(live);
    Health::of(if waits { Code::Progressing } else { Code::Healthy }, "")
}

fn ingress(live: &Value) -> Health {
    Health::of(if has_address(live) { Code::Healthy } else { Code::Progressing }, "")
}

fn claim(live: &Value) -> Health {
    let code = match text(live, "/status/phase") {
        "Lost" => Code::Degraded,
        "Pending" => Code::Progressing,
        "Bound" => Code::Healthy,
        _ => Code::Unknown,
    };
    Health::of(code, "")
}

/// How an Application does: as its worst object. What is missing does not count unless everything is: that it is missing is
/// said by the sync status already.
///
/// `objects` are all that are managed; none for one that is not there.
pub fn of_application<'a>(objects: impl IntoIterator<Item = Option<&'a Value>>) -> Code {
    let (mut worst, mut any, mut live) = (Code::Healthy, false, false);
    for object in objects {
        any = true;
        let Some(object) = object else { continue };
        live = true;
        if annotation(object, "argocd.argoproj.io/ignore-healthcheck") == "true" {
            continue;
        }
        if let Some(health) = of(object) {
            worst = worst.max(health.code);
        }
    }
    if any && !live { worst.max(Code::Missing) } else { worst }
}

#[cfg(test)]
mod tests;
