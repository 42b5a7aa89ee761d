#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use std::sync::Arc;

use switchboard_kernel::fake_view::FakeView;
use switchboard_kernel::operator::Unit;
use switchboard_kernel::plan::{Mutation, Plan, UnitStatus, WriteOp};
use switchboard_kernel::resource::{ObjectKey, Resource, TableKey};
use switchboard_kernel::state::Health;
use switchboard_kernel::timestamp::Timestamp;
use switchboard_kernel::topology::{ClusterName, ClusterType, Topology};
use switchboard_kernel::view::{View, WriteRejection};

use super::{DEFAULT_NAMESPACE, END_CALL_TRIES, PlugOperator, PlugOptions};
use crate::coupling::{AppliedObject, CouplingRecord, SECRETS, from_secret, to_secret};
use crate::model::{FINALIZER, PLUGS, PlugMeta, SOCKETS};
use crate::overview::PlugOverview;

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

/// Returns the plan of the first run for a plug whose socket is created.
fn first_plan() -> Plan {
    let meta =
        |name: &str, namespace: &str| json!({"name": name, "namespace": namespace, "uid": name, "generation": 1});
    let socket = json!({"metadata": meta("db", "data"), "status": {"created": true},
        "spec": {"resources": [{"template": map("of-socket")}], "resultResources": [{"template": map("of-result")}]}});
    let plug = json!({"metadata": meta("web", "shop"), "spec": {"socket": {"name": "db", "namespace": "data"},
        "resources": [{"template": map("of-plug")}, {"when": ["created"], "template": map("born")}]}});
    let scene = FakeView::of(&PLUGS, [plug]).with(&SOCKETS, [socket]).at("2026-01-01T00:00:00Z");
    let plan = scene.decide(&*PlugOperator::operator(PlugOptions::default()), &Unit::object("shop", "web")).unwrap();
    assert!(plan.ordered, "the order below is the order of the writes");
    plan
}

fn body(write: &Mutation) -> Option<&Value> {
    match &write.operation {
        WriteOp::Create(body) | WriteOp::Update(body) | WriteOp::Apply { body, .. } => Some(body),
        WriteOp::Patch { .. } | WriteOp::Delete { .. } => None,
    }
}

#[test]
fn guarantees_the_plug_is_told_first() {
    let plan = first_plan();
    let written = |write: &Mutation| match write.resource.kind.as_ref() {
        "Event" => body(write).and_then(|event| event["reason"].as_str()).map(str::to_string),
        "ConfigMap" => Some(write.name.clone()),
        _ => None,
    };
    let written: Vec<String> = plan.mutations.iter().filter_map(written).collect();
    let wanted = ["born", "PlugCreated", "of-plug", "PlugCoupled", "of-socket", "SocketCoupled", "of-result"];
    assert_eq!(written, wanted);
}

#[test]
fn guarantees_what_is_made_was_recorded() {
    let mut recorded: Vec<String> = Vec::new();
    let mut made = 0;
    for write in first_plan().mutations {
        match write.resource.kind.as_ref() {
            "Secret" => {
                let record = from_secret(body(&write).unwrap()).unwrap();
                let all = [record.own, record.inventory.plug, record.inventory.socket].concat();
                recorded.extend(all.into_iter().map(|one| one.name));
            }
            "ConfigMap" => {
                assert!(recorded.contains(&write.name), "{} is not known to {recorded:?}", write.name);
                made += 1;
            }
            _ => {}
        }
    }
    assert_eq!(made, 4);
}

/// Returns the plan for a plug that was deleted twenty seconds ago, after `tries` calls to its apparatus. In the last
/// run, the apparatus' pod was refused.
fn after_a_refused_pod(tries: u32) -> Plan {
    let meta = json!({"name": "web", "namespace": "shop", "uid": "p", "finalizers": [FINALIZER],
        "deletionTimestamp": "2026-01-01T00:00:00Z"});
    let program =
        json!({"containers": [{"name": "a", "image": "a:1", "ports": [{"name": "container", "containerPort": 80}]}]});
    let words = "pods \"web-apparatus\" is forbidden: exceeded quota";
    let shown = format!("spec.apparatus: {words}");
    let failed = json!({"conditions": [{"type": "Failed", "status": "True", "message": shown}]});
    let plug = json!({"metadata": meta, "spec": {"apparatus": program}, "status": failed});
    let record = CouplingRecord {
        created: true,
        notified_created: true,
        failed_calls: tries,
        ..CouplingRecord::new(&PlugMeta::of(&plug), "2026-01-01T00:00:00Z")
    };
    let pods = Resource::namespaced("", "v1", "Pod", "pods");
    after_a_refusal(plug, &record, &pods, "web-apparatus", words)
}

/// Returns the plan for a plug after an object of the namespace `shop` was refused.
fn after_a_refusal(plug: Value, record: &CouplingRecord, kind: &Resource, name: &str, message: &str) -> Plan {
    let namespace = Resource::cluster_scoped("", "v1", "Namespace", "namespaces");
    let scene = FakeView::of(&PLUGS, [plug])
        .with(&namespace, [json!({"metadata": {"name": "shop"}})])
        .with(&SECRETS, [to_secret(record, None, DEFAULT_NAMESPACE)]);
    let cluster = ClusterName::new(&ClusterType::Configuration.to_string());
    let table = TableKey { cluster: cluster.clone(), resource: Arc::new(kind.clone()) };
    let object = ObjectKey { table, namespace: "shop".into(), name: name.into() };
    let refusal = WriteRejection { object, verb: "apply".into(), message: message.into() };
    let operator = PlugOperator::operator(PlugOptions::default());
    let inputs = Arc::new(operator.declaration().readable());
    let now = Timestamp("2026-01-01T00:00:20Z".parse::<jiff::Timestamp>().unwrap().as_millisecond() as u64);
    let view = View::new(Arc::new(scene), Arc::new(Topology::standalone(&cluster)), inputs, now)
        .with_rejected_writes(vec![refusal]);
    operator.decide(&Unit::object("shop", "web"), &view).unwrap()
}

#[test]
fn a_refused_teardown_names_field_and_remedy_in_the_status() {
    let plug = json!({"metadata": {"name": "web", "namespace": "shop", "uid": "p", "finalizers": [FINALIZER],
        "deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"socket": {"name": "db"}}});
    let mut record = CouplingRecord {
        created: true,
        coupled: true,
        ..CouplingRecord::new(&PlugMeta::of(&plug), "2026-01-01T00:00:00Z")
    };
    record.inventory.plug = vec![AppliedObject {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        namespace: "shop".into(),
        name: "settings".into(),
        account: ("shop".into(), "default".into()),
        removed_when_decoupled: true,
        path: "spec.resources[0]".into(),
    }];
    let message = "configmaps \"settings\" is forbidden: User \"system:serviceaccount:shop:default\" cannot delete it";
    let config_maps = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
    let plan = after_a_refusal(plug, &record, &config_maps, "settings", message);
    let plug = plan.mutations.iter().find(|write| write.subresource.is_some()).and_then(body).unwrap();
    let overview = PlugOverview::of(std::slice::from_ref(plug), &[]);
    assert_eq!(overview.plugs[0].state, Health::Failing);
    let shown = &overview.plugs[0].message;
    assert!(shown.starts_with(&format!("spec.resources[0]: {message}")), "{shown}");
    assert!(shown.contains("shop/default"), "{shown}");
    assert_eq!(plug["status"]["conditions"][0]["message"], "decoupling failed");
}

#[test]
fn a_program_whose_pod_may_not_be_made_keeps_nobody() {
    let kinds = |plan: &Plan| plan.mutations.iter().map(|write| write.resource.kind.to_string()).collect::<Vec<_>>();
    let first = after_a_refused_pod(0);
    assert!(!kinds(&first).contains(&"Pod".to_string()), "nothing behind a refused write would be written: {first:?}");
    let tries = |plan: &Plan| {
        let record = plan.mutations.iter().find(|write| write.resource.kind == "Secret").and_then(body).unwrap();
        from_secret(record).unwrap()
    };
    assert_eq!((tries(&first).failed_calls, tries(&first).notified_deleted), (1, false));
    let last = after_a_refused_pod(END_CALL_TRIES - 1);
    assert!(tries(&last).notified_deleted, "{last:?}");
    let warning = last.mutations.iter().find(|write| write.resource.kind == "Event").and_then(body).unwrap();
    assert!(warning["message"].as_str().unwrap().contains("exceeded quota"), "{warning}");
    assert!(!kinds(&last).contains(&"Pod".to_string()), "{last:?}");
}

/// Returns the plan for a plug whose apparatus terminated and restarts. The plug's status shows the termination.
fn after_an_end_of_the_program(more: Value, record: CouplingRecord) -> Plan {
    let program =
        json!({"containers": [{"name": "a", "image": "a:1", "ports": [{"name": "container", "containerPort": 80}]}]});
    let mut meta = json!({"name": "web", "namespace": "shop", "uid": "p", "generation": 1, "finalizers": [FINALIZER]});
    meta.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let (of_type, status) =
        if meta["deletionTimestamp"].is_null() { ("ApparatusReady", "False") } else { ("Failed", "True") };
    let words = "the apparatus to be replaced: the pod is Failed: exit status: 3";
    let shown = json!({"conditions": [{"type": of_type, "status": status, "message": words}]});
    let plug = json!({"metadata": meta, "spec": {"apparatus": program}, "status": shown});
    let record =
        CouplingRecord { plug: CouplingRecord::new(&PlugMeta::of(&plug), "2026-01-01T00:00:00Z").plug, ..record };
    let namespace = Resource::cluster_scoped("", "v1", "Namespace", "namespaces");
    let scene = FakeView::of(&PLUGS, [plug])
        .with(&namespace, [json!({"metadata": {"name": "shop"}})])
        .with(&SECRETS, [to_secret(&record, None, DEFAULT_NAMESPACE)])
        .at("2026-01-01T00:00:01Z");
    scene.decide(&*PlugOperator::operator(PlugOptions::default()), &Unit::object("shop", "web")).unwrap()
}

#[test]
fn the_end_of_its_own_program_is_told_until_another_answers() {
    let since = || CouplingRecord { since: "2026-01-01T00:00:00Z".to_string(), ..CouplingRecord::default() };
    let comes = after_an_end_of_the_program(json!({}), since());
    let gone = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
    let goes = after_an_end_of_the_program(gone, CouplingRecord { created: true, notified_created: true, ..since() });
    for (plan, of_type) in [(comes, "ApparatusReady"), (goes, "Failed")] {
        let (UnitStatus::Waiting(why) | UnitStatus::Failing(why)) = &plan.status else { panic!("{plan:?}") };
        assert_eq!(why, "the apparatus to start; previous run: the pod is Failed: exit status: 3");
        let status = plan.mutations.iter().find(|write| write.subresource.is_some()).and_then(body).unwrap();
        let conditions = status["status"]["conditions"].as_array().unwrap();
        assert!(conditions.iter().any(|one| one["type"] == of_type && one["message"] == why.as_str()), "{status}");
    }
}
