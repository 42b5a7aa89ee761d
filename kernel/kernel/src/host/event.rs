//! Tells people on the cluster of a fight or a loop.

use serde_json::{Value, json};

use crate::gate::Gate;
use crate::place::ClusterName;
use crate::state::Finding;

pub(super) fn cluster(finding: &Finding) -> &ClusterName {
    &finding.object().table.cluster
}

/// Writes an Event in the background; a finding is in the journal in any case. One that goes on has one Event, which counts.
pub(super) fn raise(client: kube::Client, gate: Gate, finding: Finding) {
    tokio::spawn(async move {
        if let Err(error) = create_or_count(&client, &gate, &finding).await {
            tracing::warn!(error = &*error as &dyn std::error::Error, "could not raise an Event");
        }
    });
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

async fn create_or_count(client: &kube::Client, gate: &Gate, finding: &Finding) -> Result<(), Failed> {
    let (events, event) = (format!("/api/v1/namespaces/{}/events", namespace(finding)), event(finding));
    let create = http::Request::post(&events).header("Content-Type", "application/json");
    gate.pass().await;
    match client.request::<Value>(create.body(event.to_string().into_bytes())?).await {
        Err(kube::Error::Api(status)) if status.code == 409 => {
            let counted = json!({
                "count": event["count"], "lastTimestamp": event["lastTimestamp"], "message": event["message"],
            });
            let name = event["metadata"]["name"].as_str().unwrap_or_default();
            let patch = http::Request::patch(format!("{events}/{name}"));
            let patch = patch.header("Content-Type", "application/merge-patch+json");
            gate.pass().await;
            client.request::<Value>(patch.body(counted.to_string().into_bytes())?).await?;
        }
        done => drop(done?),
    }
    Ok(())
}

/// The same for the same finding, so that there is one Event of it.
fn name(finding: &Finding, reason: &str) -> String {
    let whose = match finding {
        Finding::Fight { units: [first, second], .. } => format!("{first} {second}"),
        Finding::Loop { unit, .. } => unit.to_string(),
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
        Finding::Fight { at, .. } => ("OperatorsFight", at),
        Finding::Loop { at, .. } => ("OperatorLoops", at),
    };
    let time = at.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
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
    use crate::moment::Moment;
    use crate::operator::{OperatorName, Unit, UnitId};
    use crate::resource::{ObjectKey, Resource, TableKey};

    fn fight(flips: u32) -> Finding {
        let resource = Arc::new(Resource::namespaced("", "v1", "ConfigMap", "configmaps"));
        let table = TableKey { cluster: ClusterName::new("default"), resource };
        let object = ObjectKey { table, namespace: "default".into(), name: "flag".into() };
        let units = ["red", "blue"].map(|name| UnitId { operator: OperatorName::new(name), unit: Unit::Whole });
        Finding::Fight { object, field: ".data.colour".into(), units, flips, at: Moment(1_800_000_000_000) }
    }

    #[tokio::test]
    async fn a_fight_that_goes_on_has_one_event_that_counts() {
        let client = switchboard_cluster::Cluster::ephemeral().await.client();
        for flips in [3, 6, 12] {
            create_or_count(&client, &Gate::open(), &fight(flips)).await.unwrap();
        }
        let list = http::Request::get("/api/v1/namespaces/default/events").body(Vec::new()).unwrap();
        let list: Value = client.request(list).await.unwrap();
        let [event] = list["items"].as_array().unwrap().as_slice() else { panic!("{list}") };
        assert_eq!((&event["count"], &event["reason"]), (&json!(12), &json!("OperatorsFight")));
        assert!(event["message"].as_str().unwrap().ends_with("12 times"), "{event}");
    }
}
