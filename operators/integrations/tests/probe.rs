//! The operator under every fault of the probe's schedule: it ends in the same state, and then writes nothing.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_integrations::annotations::annotate;
use switchboard_integrations::chart::Chart;
use switchboard_integrations::desired::Builder;
use switchboard_integrations::operator::{Guard, Integrations, Shelf};
use switchboard_integrations::settings::{DEFAULT_UPSTREAM, Settings};
use switchboard_integrations::source::Bundle;
use switchboard_kernel::operator::Reaching;
use switchboard_probe::{Probe, Step};

fn deployment(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "shop"}, "spec": {
        "selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
}

fn shelf() -> Arc<Shelf> {
    let bundle = Bundle::of_texts([
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
    let desired = Builder::new(Chart::own(), Settings::default()).build(&bundle);
    assert_eq!(desired.problems(), []);
    let shelf = Arc::new(Shelf::new(Guard::default(), false, false));
    shelf.put(Arc::new(desired));
    shelf
}

#[test]
fn every_fault_is_borne() {
    let shelf = shelf();
    // The Service is there already: the address the server gives a new one follows from the order of all writes.
    let desired = shelf.desired();
    let mut service = desired.targets.values().next().unwrap().shared[0].body.clone();
    service["metadata"]["namespace"] = "shop".into();
    let orphan = annotate(&deployment("qontract-reconcile-gone"), DEFAULT_UPSTREAM, None);
    let stateful = |spec: Value| {
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "qontract-reconcile-one", "namespace": "shop"},
            "spec": spec})
    };
    let probe = Probe::of(move || Arc::new(Reaching(Integrations::of("c1", shelf.clone()))))
        .given([service, orphan, deployment("foreign")])
        .script([Step::patch(stateful(json!({"replicas": 3}))), Step::delete(stateful(json!({})))]);
    probe.run().assert_ok();
}
