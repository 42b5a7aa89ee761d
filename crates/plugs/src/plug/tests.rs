#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use switchboard_kernel::operator::Unit;
use switchboard_kernel::plan::{Act, Mutation, Plan};
use switchboard_kernel::scene::Scene;

use super::{Options, Plugs};
use crate::coupling::load;
use crate::model::{PLUGS, SOCKETS};

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

/// What the first run for a plug at a socket that was told of wants written.
fn first_plan() -> Plan {
    let meta =
        |name: &str, namespace: &str| json!({"name": name, "namespace": namespace, "uid": name, "generation": 1});
    let socket = json!({"metadata": meta("db", "data"), "status": {"conditions": []},
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
