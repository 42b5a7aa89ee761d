//! Tells people on the cluster of a fight or a loop.

use serde_json::{Value, json};

use crate::place::ClusterName;
use crate::state::Finding;

pub(super) fn cluster(finding: &Finding) -> &ClusterName {
    &finding.object().table.cluster
}

/// Writes an Event in the background; a finding is in the journal in any case.
pub(super) fn raise(client: kube::Client, finding: Finding) {
    tokio::spawn(async move {
        let namespace = namespace(&finding);
        let request = http::Request::post(format!("/api/v1/namespaces/{namespace}/events"))
            .header("Content-Type", "application/json")
            .body(event(&finding).to_string().into_bytes());
        let Ok(request) = request else { return };
        if let Err(error) = client.request::<Value>(request).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "could not raise an Event");
        }
    });
}

fn namespace(finding: &Finding) -> &str {
    let namespace = &finding.object().namespace;
    if namespace.is_empty() { "default" } else { namespace }
}

fn event(finding: &Finding) -> Value {
    let key = finding.object();
    let (reason, at) = match finding {
        Finding::Fight { at, .. } => ("OperatorsFight", at),
        Finding::Loop { at, .. } => ("OperatorLoops", at),
    };
    let time = at.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"generateName": "switchboard-", "namespace": namespace(finding)},
        "type": "Warning", "reason": reason, "message": finding.to_string(),
        "source": {"component": "switchboard"},
        "firstTimestamp": time, "lastTimestamp": time, "count": 1,
        "involvedObject": {
            "apiVersion": key.table.resource.api_version(), "kind": key.table.resource.kind,
            "namespace": &*key.namespace, "name": &*key.name,
        },
    })
}
