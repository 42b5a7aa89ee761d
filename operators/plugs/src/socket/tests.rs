#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use switchboard_kernel::fake_view::FakeView;
use switchboard_kernel::plan::WriteOp;

use super::*;
use crate::coupling::{
    ADMITTED_LABEL, COUPLED_LABEL, FAILING_LABEL, PLUG_ANNOTATION, PLUG_NAMESPACE_LABEL, PLUG_UID_LABEL,
};

fn record(name: &str, labels: Value) -> Value {
    let mut record = json!({"metadata": {"name": format!("coupling.{name}"), "namespace": "home",
        "creationTimestamp": format!("2026-01-01T00:00:0{name}Z"), "labels": labels, "annotations": {PLUG_ANNOTATION: name}}});
    record["metadata"]["labels"][PLUG_UID_LABEL] = format!("uid-{name}").into();
    record["metadata"]["labels"][PLUG_NAMESPACE_LABEL] = "shop".into();
    record
}

fn admitted(records: &[Value], limit: u32) -> Vec<String> {
    let mut plan = Plan::ordered();
    admission::admit(&mut plan, records, limit);
    let one = |write: &Mutation| {
        let WriteOp::Patch { body, .. } = &write.operation else { panic!("a patch") };
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
    let status = status(&PlugSummary::of(&records), &Value::Null, None, 4, &Value::Null, "now");
    assert_eq!(status["plugs"], json!({"coupled": 1, "failing": 1, "waiting": 1}));
    assert_eq!(status["conditions"][0]["message"], "1 plug coupled");
    assert_eq!(
        status["coupledPlugs"],
        json!([{"apiVersion": "integration.rock8s.com/v1beta1", "kind": "Plug",
        "namespace": "shop", "name": "1", "uid": "uid-1"}])
    );
    let many: Vec<Value> =
        (0..MAX_LISTED_PLUGS + 5).map(|n| record(&n.to_string(), json!({COUPLED_LABEL: "true"}))).collect();
    let status = super::status(&PlugSummary::of(&many), &Value::Null, None, 4, &Value::Null, "now");
    assert_eq!(status["coupledPlugs"].as_array().unwrap().len(), MAX_LISTED_PLUGS);
    assert_eq!(status["conditions"][0]["message"], format!("{} plugs coupled", MAX_LISTED_PLUGS + 5));
    let empty = super::status(&PlugSummary::of(&[]), &Value::Null, None, 4, &Value::Null, "now");
    assert_eq!(empty["conditions"][0]["reason"], "SocketEmpty");
}

fn socket(status: Value) -> Value {
    json!({"metadata": {"name": "db", "namespace": "data", "uid": "u", "finalizers": [FINALIZER]}, "spec": {}, "status": status})
}

/// Returns the written status of a socket with the given number of coupled plugs at a time, and the requeue delay.
fn shown(status: Value, plugs: usize, at: &str) -> (Option<Value>, Option<Duration>) {
    let one = |n: usize| {
        let mut one = record(&n.to_string(), json!({COUPLED_LABEL: "true", SOCKET_LABEL: "u"}));
        (one["metadata"]["namespace"], one["type"]) = (crate::plug::DEFAULT_NAMESPACE.into(), RECORD_TYPE.into());
        one
    };
    let scene = FakeView::of(&SOCKETS, [socket(status)]).with(&SECRETS, (0..plugs).map(one)).at(at);
    let plan = scene.decide(&*SocketOperator::operator(PlugOptions::default()), &Unit::object("data", "db")).unwrap();
    let body = plan.mutations.iter().rev().find_map(|write| match &write.operation {
        WriteOp::Update(body) => Some(body["status"].clone()),
        _ => None,
    });
    (body, plan.requeue_after)
}

#[test]
fn the_number_of_many_plugs_is_written_once_a_second_and_of_a_few_at_once() {
    let (first, _) = shown(json!({}), 0, "2026-01-01T00:00:00Z");
    let first = first.unwrap();
    assert_eq!((first["created"].as_bool(), &first["plugs"]["coupled"]), (Some(true), &json!(0)));
    let (one, _) = shown(first, 1, "2026-01-01T00:00:00.1Z");
    let one = one.expect("the first plug is reported at once");
    let (two, _) = shown(one, 2, "2026-01-01T00:00:00.2Z");
    let two = two.expect("each of a few plugs is reported at once");
    let (many, _) = shown(two, 99, "2026-01-01T00:00:10Z");
    let many = many.unwrap();
    let (none, again) = shown(many.clone(), 100, "2026-01-01T00:00:10.3Z");
    assert_eq!((none, again), (None, Some(Duration::from_millis(700))), "how many there are may rest");
    let (more, again) = shown(many.clone(), 100, "2026-01-01T00:00:11Z");
    assert_eq!((&more.unwrap()["plugs"]["coupled"], again), (&json!(100), None));
    assert_eq!(shown(many, 99, "2026-01-01T00:01:00Z"), (None, None), "nothing new, nothing to write");
}

/// Write access to Secrets in another namespace must neither block a socket nor use up its limit.
#[test]
fn a_secret_that_is_no_record_of_ours_is_not_counted() {
    let mut foreign = record("1", json!({COUPLED_LABEL: "true", SOCKET_LABEL: "u"}));
    (foreign["metadata"]["namespace"], foreign["type"]) = ("shop".into(), RECORD_TYPE.into());
    let mut opaque = foreign.clone();
    (opaque["metadata"]["namespace"], opaque["type"]) = (crate::plug::DEFAULT_NAMESPACE.into(), "Opaque".into());
    let scene =
        FakeView::of(&SOCKETS, [socket(json!({}))]).with(&SECRETS, [foreign, opaque]).at("2026-01-01T00:00:00Z");
    let plan = scene.decide(&*SocketOperator::operator(PlugOptions::default()), &Unit::object("data", "db")).unwrap();
    let WriteOp::Update(body) = &plan.mutations.last().unwrap().operation else { panic!("an update") };
    assert_eq!(body["status"]["plugs"], json!({"coupled": 0, "failing": 0, "waiting": 0}));
}
