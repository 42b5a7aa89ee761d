#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use switchboard_kernel::plan::Act;

use super::*;
use crate::coupling::{ADMITTED_LABEL, COUPLED_LABEL, FAILING_LABEL, PLUG_ANNOTATION, PLUG_UID_LABEL};

fn record(name: &str, labels: Value) -> Value {
    let mut record = json!({"metadata": {"name": format!("coupling.{name}"), "namespace": "shop",
        "creationTimestamp": format!("2026-01-01T00:00:0{name}Z"), "labels": labels, "annotations": {PLUG_ANNOTATION: name}}});
    record["metadata"]["labels"][PLUG_UID_LABEL] = format!("uid-{name}").into();
    record
}

fn admitted(records: &[Value], limit: u32) -> Vec<String> {
    let mut plan = Plan::in_order();
    admission::admit(&mut plan, records, limit);
    let one = |write: &Mutation| {
        let Act::Patch { body, .. } = &write.act else { panic!("a patch") };
        format!("{} {}", write.name, body["metadata"]["labels"][ADMITTED_LABEL].as_str().unwrap())
    };
    plan.mutations.iter().map(one).collect()
}

#[test]
fn places_go_to_whoever_asked_first_and_are_kept() {
    let asking = [record("3", json!({})), record("1", json!({})), record("2", json!({}))];
    assert_eq!(admitted(&asking, 2), ["coupling.1 true", "coupling.2 true", "coupling.3 false"]);
    let full = [record("1", json!({ADMITTED_LABEL: "false"})), record("2", json!({COUPLED_LABEL: "true"}))];
    assert_eq!(admitted(&full, 1), Vec::<String>::new(), "nothing to say that was not said");
    let left = [record("1", json!({ADMITTED_LABEL: "false"}))];
    assert_eq!(admitted(&left, 1), ["coupling.1 true"], "when one leaves, the next has its place");
}

#[test]
fn a_socket_counts_and_lists_its_plugs() {
    let records = [
        record("1", json!({COUPLED_LABEL: "true"})),
        record("2", json!({FAILING_LABEL: "true"})),
        record("3", json!({})),
    ];
    let status = status(&Sum::of(&records), &[], None, 4, &Value::Null, "now");
    assert_eq!(status["plugs"], json!({"coupled": 1, "failing": 1, "waiting": 1}));
    assert_eq!(status["conditions"][0]["message"], "1 plug coupled");
    assert_eq!(
        status["coupledPlugs"],
        json!([{"apiVersion": "integration.rock8s.com/v1beta1", "kind": "Plug",
        "namespace": "shop", "name": "1", "uid": "uid-1"}])
    );
    let many: Vec<Value> =
        (0..MAX_LISTED_PLUGS + 5).map(|n| record(&n.to_string(), json!({COUPLED_LABEL: "true"}))).collect();
    let status = super::status(&Sum::of(&many), &[], None, 4, &Value::Null, "now");
    assert_eq!(status["coupledPlugs"].as_array().unwrap().len(), MAX_LISTED_PLUGS);
    assert_eq!(status["conditions"][0]["message"], format!("{} plugs coupled", MAX_LISTED_PLUGS + 5));
    let empty = super::status(&Sum::of(&[]), &[], None, 4, &Value::Null, "now");
    assert_eq!(empty["conditions"][0]["reason"], "SocketEmpty");
}
