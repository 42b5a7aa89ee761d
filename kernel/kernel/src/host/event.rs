//! Kubernetes Events for field conflicts and hot loops.

use serde_json::{Value, json};

use crate::rate_limiter::RateLimiter;
use crate::state::Finding;
use crate::topology::ClusterName;

pub(super) fn cluster(finding: &Finding) -> &ClusterName {
    &finding.object().table.cluster
}

/// Writes an Event in the background; the journal has the finding in any case. A repeated finding increases the count
/// of its Event.
pub(super) fn raise(client: kube::Client, rate_limiter: RateLimiter, finding: Finding) {
    tokio::spawn(async move {
        if let Err(error) = create_or_count(&client, &rate_limiter, &finding).await {
            tracing::warn!(error = &*error as &dyn std::error::Error, "could not raise an Event");
        }
    });
}

type EventError = Box<dyn std::error::Error + Send + Sync>;

async fn create_or_count(
    client: &kube::Client,
    rate_limiter: &RateLimiter,
    finding: &Finding,
) -> Result<(), EventError> {
    let (events, event) = (format!("/api/v1/namespaces/{}/events", namespace(finding)), event(finding));
    let create = http::Request::post(&events).header("Content-Type", "application/json");
    rate_limiter.acquire().await;
    match client.request::<Value>(create.body(event.to_string().into_bytes())?).await {
        Err(kube::Error::Api(status)) if status.code == 409 => {
            let counted = json!({
                "count": event["count"], "lastTimestamp": event["lastTimestamp"], "message": event["message"],
            });
            let name = event["metadata"]["name"].as_str().unwrap_or_default();
            let patch = http::Request::patch(format!("{events}/{name}"));
            let patch = patch.header("Content-Type", "application/merge-patch+json");
            rate_limiter.acquire().await;
            client.request::<Value>(patch.body(counted.to_string().into_bytes())?).await?;
        }
        done => drop(done?),
    }
    Ok(())
}

/// Returns the same name for the same finding, so that it has one Event.
fn name(finding: &Finding, reason: &str) -> String {
    let whose = match finding {
        Finding::FieldConflict { units: [first, second], .. } => format!("{first} {second}"),
        Finding::HotLoop { unit, .. } => unit.to_string(),
    };
    let seed = format!("{reason} {} {} {whose}", finding.object(), finding.field());
    let hash = ring::digest::digest(&ring::digest::SHA256, seed.as_bytes());
    let hash: String = hash.as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("switchboard.{hash}")
}

fn namespace(finding: &Finding) -> &str {
    let namespace = &finding.object().namespace;
    if namespace.is_empty() { "default" } else { namespace }
}

fn event(finding: &Finding) -> Value {
    let key = finding.object();
    let (reason, at) = match finding {
        Finding::FieldConflict { at, .. } => ("FieldConflict", at),
        Finding::HotLoop { at, .. } => ("HotLoop", at),
    };
    let time = at.to_jiff().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": name(finding, reason), "namespace": namespace(finding)},
        "type": "Warning", "reason": reason, "message": finding.to_string(),
        "source": {"component": "switchboard"},
        "firstTimestamp": time, "lastTimestamp": time, "count": finding.count(),
        "involvedObject": {
            "apiVersion": key.table.resource.api_version(), "kind": key.table.resource.kind,
            "namespace": &*key.namespace, "name": &*key.name,
        },
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use super::*;
    use crate::operator::{OperatorName, Unit, UnitId};
    use crate::resource::{ObjectKey, Resource, TableKey};
    use crate::timestamp::Timestamp;

    fn fight(flips: u32) -> Finding {
        let resource = Arc::new(Resource::namespaced("", "v1", "ConfigMap", "configmaps"));
        let table = TableKey { cluster: ClusterName::new("default"), resource };
        let object = ObjectKey { table, namespace: "default".into(), name: "flag".into() };
        let units = ["red", "blue"].map(|name| UnitId { operator: OperatorName::new(name), unit: Unit::Whole });
        Finding::FieldConflict { object, field: ".data.colour".into(), units, flips, at: Timestamp(1_800_000_000_000) }
    }

    #[tokio::test]
    async fn an_active_conflict_has_one_event_with_a_count() {
        let client = switchboard_cluster::Cluster::ephemeral().await.client();
        for flips in [3, 6, 12] {
            create_or_count(&client, &RateLimiter::unlimited(), &fight(flips)).await.unwrap();
        }
        let list = http::Request::get("/api/v1/namespaces/default/events").body(Vec::new()).unwrap();
        let list: Value = client.request(list).await.unwrap();
        let [event] = list["items"].as_array().unwrap().as_slice() else { panic!("{list}") };
        assert_eq!((&event["count"], &event["reason"]), (&json!(12), &json!("FieldConflict")));
        assert!(event["message"].as_str().unwrap().ends_with("12 times"), "{event}");
    }
}
