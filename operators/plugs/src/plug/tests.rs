#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use std::sync::Arc;

use switchboard_kernel::moment::Moment;
use switchboard_kernel::operator::Unit;
use switchboard_kernel::place::{ClusterName, Place, Topology};
use switchboard_kernel::plan::{Act, Mutation, Plan, Standing};
use switchboard_kernel::resource::{ObjectKey, Resource, TableKey};
use switchboard_kernel::scene::Scene;
use switchboard_kernel::view::{Refusal, View};

use super::{DEFAULT_HOME, Options, PARTING_TRIES, Plugs};
use crate::coupling::{Record, SECRETS, load, stored};
use crate::model::{FINALIZER, Meta, PLUGS, SOCKETS};

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

/// What the first run for a plug at a socket that was told of wants written.
fn first_plan() -> Plan {
    let meta =
        |name: &str, namespace: &str| json!({"name": name, "namespace": namespace, "uid": name, "generation": 1});
    let socket = json!({"metadata": meta("db", "data"), "status": {"created": true},
        "spec": {"resources": [{"template": map("of-socket")}], "resultResources": [{"template": map("of-result")}]}});
    let plug = json!({"metadata": meta("web", "shop"), "spec": {"socket": {"name": "db", "namespace": "data"},
        "resources": [{"template": map("of-plug")}, {"when": ["created"], "template": map("born")}]}});
    let scene = Scene::of(&PLUGS, [plug]).with(&SOCKETS, [socket]).at("2026-01-01T00:00:00Z");
    let plan = scene.decide(&*Plugs::operator(Options::default()), &Unit::object("shop", "web")).unwrap();
    assert!(plan.ordered, "the order below is the order of the writes");
    plan
}

fn body(write: &Mutation) -> Option<&Value> {
    match &write.act {
        Act::Create(body) | Act::Update(body) | Act::Apply { body, .. } => Some(body),
        Act::Patch { .. } | Act::Delete { .. } => None,
    }
}

#[test]
fn guarantees_the_plug_is_told_first() {
    let plan = first_plan();
    let told = |write: &Mutation| match write.resource.kind.as_ref() {
        "Event" => body(write).and_then(|event| event["reason"].as_str()).map(str::to_string),
        "ConfigMap" => Some(write.name.clone()),
        _ => None,
    };
    let told: Vec<String> = plan.mutations.iter().filter_map(told).collect();
    let wanted = ["born", "PlugCreated", "of-plug", "PlugCoupled", "of-socket", "SocketCoupled", "of-result"];
    assert_eq!(told, wanted);
}

#[test]
fn guarantees_what_is_made_was_recorded() {
    let mut recorded: Vec<String> = Vec::new();
    let mut made = 0;
    for write in first_plan().mutations {
        match write.resource.kind.as_ref() {
            "Secret" => {
                let record = load(body(&write).unwrap()).unwrap();
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

/// What is decided for a plug with a program of its own that goes since twenty seconds, after so many tries to tell the program, the
/// last of which was refused the program's pod.
fn after_a_refused_pod(tries: u32) -> Plan {
    let meta = json!({"name": "web", "namespace": "shop", "uid": "p", "finalizers": [FINALIZER],
        "deletionTimestamp": "2026-01-01T00:00:00Z"});
    let program =
        json!({"containers": [{"name": "a", "image": "a:1", "ports": [{"name": "container", "containerPort": 80}]}]});
    let words = "pods \"web-apparatus\" is forbidden: exceeded quota";
    let failed = json!({"conditions": [{"type": "Failed", "status": "True", "message": words}]});
    let plug = json!({"metadata": meta, "spec": {"apparatus": program}, "status": failed});
    let record = Record {
        created: true,
        told_created: true,
        unheard: tries,
        ..Record::new(&Meta::of(&plug), "2026-01-01T00:00:00Z")
    };
    let namespace = Resource::cluster_wide("", "v1", "Namespace", "namespaces");
    let pods = Resource::namespaced("", "v1", "Pod", "pods");
    let scene = Scene::of(&PLUGS, [plug])
        .with(&namespace, [json!({"metadata": {"name": "shop"}})])
        .with(&SECRETS, [stored(&record, None, DEFAULT_HOME)]);
    let cluster = ClusterName::new(&Place::Configuration.to_string());
    let table = TableKey { cluster: cluster.clone(), resource: Arc::new(pods) };
    let object = ObjectKey { table, namespace: "shop".into(), name: "web-apparatus".into() };
    let refusal = Refusal { object, verb: "apply".into(), message: words.into() };
    let operator = Plugs::operator(Options::default());
    let inputs = Arc::new(operator.declaration().readable());
    let now = Moment("2026-01-01T00:00:20Z".parse::<jiff::Timestamp>().unwrap().as_millisecond() as u64);
    let view = View::new(Arc::new(scene), Arc::new(Topology::standalone(&cluster)), inputs, now).after(vec![refusal]);
    operator.decide(&Unit::object("shop", "web"), &view).unwrap()
}

#[test]
fn a_program_whose_pod_may_not_be_made_keeps_nobody() {
    let kinds = |plan: &Plan| plan.mutations.iter().map(|write| write.resource.kind.to_string()).collect::<Vec<_>>();
    let first = after_a_refused_pod(0);
    assert!(!kinds(&first).contains(&"Pod".to_string()), "nothing behind a refused write would be written: {first:?}");
    let tries = |plan: &Plan| {
        let record = plan.mutations.iter().find(|write| write.resource.kind == "Secret").and_then(body).unwrap();
        load(record).unwrap()
    };
    assert_eq!((tries(&first).unheard, tries(&first).told_deleted), (1, false));
    let last = after_a_refused_pod(PARTING_TRIES - 1);
    assert!(tries(&last).told_deleted, "{last:?}");
    let warning = last.mutations.iter().find(|write| write.resource.kind == "Event").and_then(body).unwrap();
    assert!(warning["message"].as_str().unwrap().contains("exceeded quota"), "{warning}");
    assert!(!kinds(&last).contains(&"Pod".to_string()), "{last:?}");
}

/// What is decided for a plug whose program has ended and is to be started anew: the plug shows that end.
fn after_an_end_of_the_program(more: Value, record: Record) -> Plan {
    let program =
        json!({"containers": [{"name": "a", "image": "a:1", "ports": [{"name": "container", "containerPort": 80}]}]});
    let mut meta = json!({"name": "web", "namespace": "shop", "uid": "p", "generation": 1, "finalizers": [FINALIZER]});
    meta.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let (of_type, status) =
        if meta["deletionTimestamp"].is_null() { ("ApparatusReady", "False") } else { ("Failed", "True") };
    let words = "the apparatus to be replaced: the pod is Failed: exit status: 3";
    let shown = json!({"conditions": [{"type": of_type, "status": status, "message": words}]});
    let plug = json!({"metadata": meta, "spec": {"apparatus": program}, "status": shown});
    let record = Record { plug: Record::new(&Meta::of(&plug), "2026-01-01T00:00:00Z").plug, ..record };
    let namespace = Resource::cluster_wide("", "v1", "Namespace", "namespaces");
    let scene = Scene::of(&PLUGS, [plug])
        .with(&namespace, [json!({"metadata": {"name": "shop"}})])
        .with(&SECRETS, [stored(&record, None, DEFAULT_HOME)])
        .at("2026-01-01T00:00:01Z");
    scene.decide(&*Plugs::operator(Options::default()), &Unit::object("shop", "web")).unwrap()
}

#[test]
fn the_end_of_its_own_program_is_told_until_another_answers() {
    let since = || Record { since: "2026-01-01T00:00:00Z".to_string(), ..Record::default() };
    let comes = after_an_end_of_the_program(json!({}), since());
    let gone = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
    let goes = after_an_end_of_the_program(gone, Record { created: true, told_created: true, ..since() });
    for (plan, of_type) in [(comes, "ApparatusReady"), (goes, "Failed")] {
        let (Standing::Waiting(why) | Standing::Failing(why)) = &plan.standing else { panic!("{plan:?}") };
        assert_eq!(why, "the apparatus to start; of the one before it, the pod is Failed: exit status: 3");
        let status = plan.mutations.iter().find(|write| write.subresource.is_some()).and_then(body).unwrap();
        let conditions = status["status"]["conditions"].as_array().unwrap();
        assert!(conditions.iter().any(|one| one["type"] == of_type && one["message"] == why.as_str()), "{status}");
    }
}
