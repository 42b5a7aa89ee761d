//! Fault-injection test: after every fault of the schedule, the operator reaches the same state and then writes
//! nothing.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_integrations::annotations::annotate;
use switchboard_integrations::chart::IntegrationsChart;
use switchboard_integrations::desired::DesiredBuilder;
use switchboard_integrations::operator::{DeletionGuard, DesiredStore, IntegrationsOperator};
use switchboard_integrations::settings::{DEFAULT_UPSTREAM, RenderSettings};
use switchboard_integrations::source::Bundle;
use switchboard_probe::{Probe, ScriptStep};

fn deployment(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "shop"}, "spec": {
        "selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
}

fn store() -> Arc<DesiredStore> {
    let bundle = Bundle::from_texts([
        (
            "/ns.yml",
            "$schema: /openshift/lean-namespace-1.yml\nname: shop\ncluster: {name: c1, serverUrl: u}\nenvironment: {name: e}\n",
        ),
        (
            "/i.yml",
            "$schema: /app-sre/integration-1.yml\nname: one\nmanaged:\n- namespace: {$ref: /ns.yml}\n  spec: {cache: true, resources: \
             {requests: {cpu: 100m, memory: 1024Mi}, limits: {memory: 2048Mi}}}\n  sharding: {strategy: static, shards: 1}\n",
        ),
    ]);
    let desired = DesiredBuilder::new(IntegrationsChart::builtin(), RenderSettings::default()).build(&bundle);
    assert_eq!(desired.problems(), []);
    let store = Arc::new(DesiredStore::new(DeletionGuard::default(), false, false));
    store.replace(Arc::new(desired));
    store
}

#[test]
fn every_fault_is_survived() {
    let store = store();
    // The Service exists before, because its assigned address depends on the order of all writes.
    let desired = store.desired();
    let mut service = desired.namespaces.values().next().unwrap().shared[0].body.clone();
    service["metadata"]["namespace"] = "shop".into();
    let orphan = annotate(&deployment("qontract-reconcile-gone"), DEFAULT_UPSTREAM, None);
    let stateful = |spec: Value| {
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "qontract-reconcile-one", "namespace": "shop"},
            "spec": spec})
    };
    let probe = Probe::of(move || Arc::new(IntegrationsOperator::new("c1", store.clone())))
        .given([service, orphan, deployment("foreign")])
        .script([ScriptStep::patch(stateful(json!({"replicas": 3}))), ScriptStep::delete(stateful(json!({})))]);
    probe.run().assert_ok();
}
