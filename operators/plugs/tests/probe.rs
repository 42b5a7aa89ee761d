//! Fault tests of the operators: no resurrected object, no orphan, no skipped or repeated event.
#![allow(clippy::unwrap_used)]

#[path = "probe/apparatus.rs"]
mod apparatus;
#[path = "probe/program.rs"]
mod program;

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_kernel::operator::Operator;
use switchboard_plugs::crds::crds;
use switchboard_plugs::plug::{PlugOperator, PlugOptions};
use switchboard_plugs::socket::SocketOperator;
use switchboard_probe::{FaultClass, Probe, ScriptStep, schedule};

fn operators() -> Vec<Arc<dyn Operator>> {
    vec![PlugOperator::operator(PlugOptions::default()), SocketOperator::operator(PlugOptions::default())]
}

fn object(kind: &str, namespace: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": "integration.rock8s.com/v1beta1", "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec})
}

fn map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

fn socket(name: &str, hello: &str) -> Value {
    object(
        "Socket",
        "data",
        name,
        json!({
            "config": {"hello": hello},
            "resources": [{"template": map("of-{% .plug.metadata.name %}", json!({"howdy": "{% .plugConfig.howdy %}"}))}],
            "resultResources": [{"template": map("after-{% .plug.metadata.name %}", json!({"r": "{% .plugResult.r %}"}))}],
        }),
    )
}

/// Returns a plug that applies objects when it is decoupled, with the values at that time.
fn plug(name: &str, socket: &str) -> Value {
    let mut plug = quiet_plug(name, socket);
    let last = map("last-{% .plug.metadata.name %}", json!({"hello": "{% .socketConfig.hello %}"}));
    plug["spec"]["resources"].as_array_mut().unwrap().push(json!({"when": ["decoupled"], "template": last}));
    plug
}

/// Returns a plug that leaves no objects behind.
fn quiet_plug(name: &str, socket: &str) -> Value {
    object(
        "Plug",
        "shop",
        name,
        json!({
            "socket": {"name": socket, "namespace": "data"}, "config": {"howdy": "texas"}, "result": {"r": "1"},
            "resources": [
                {"template": map("hello-{% .plug.metadata.name %}", json!({"hello": "{% .socketConfig.hello %}"}))},
                {"when": ["created"], "template": map("born-{% .plug.metadata.name %}", json!({}))},
            ],
        }),
    )
}

/// Returns the kinds, and service accounts with all rights on ConfigMaps.
fn base_objects() -> Vec<Value> {
    let mut all = crds();
    for namespace in ["shop", "data"] {
        let meta = json!({"name": "all", "namespace": namespace});
        all.push(json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": meta,
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]}));
        all.push(json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": meta,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "all"},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}]}));
    }
    all
}

fn probe(given: Vec<Value>, script: Vec<ScriptStep>) -> Probe {
    Probe::of_all(operators).given(base_objects().into_iter().chain(given)).script(script)
}

/// Number of faults to test, evenly spread over the schedule. The variable `SWITCHBOARD_PROBE_ALL` selects all of them.
const SAMPLE: usize = 30;

fn spread_sample<T>(all: Vec<T>, wanted: usize) -> Vec<T> {
    let step = match std::env::var_os("SWITCHBOARD_PROBE_ALL") {
        Some(_) => 1,
        None => (all.len() / wanted).max(1),
    };
    all.into_iter().step_by(step).collect()
}

/// Function that returns a plug with a name and a socket.
type PlugMaker = fn(&str, &str) -> Value;

/// Runs without faults, then with faults of the derived schedule. A run that does not observe every state leaves
/// different traces, so such faults are tested with plugs that leave none.
fn assert_survives_faults(probe: impl Fn(PlugMaker) -> Probe) {
    let blind = [FaultClass::Stale, FaultClass::Missed, FaultClass::Merged];
    for (plug, is_blind) in [(plug as PlugMaker, false), (quiet_plug, true)] {
        let undisturbed = probe(plug).only([]).run();
        undisturbed.assert_ok();
        let mut all = schedule(undisturbed.writes, undisturbed.events);
        all.retain(|fault| blind.iter().any(|class| fault.has_class(*class)) == is_blind);
        let report = probe(plug).only(spread_sample(all, SAMPLE)).run();
        println!("{} runs, {} writes, {} events", report.runs, report.writes, report.events);
        report.assert_ok();
    }
}

#[test]
fn couple_update_and_decouple() {
    assert_survives_faults(|plug| {
        let script = vec![
            ScriptStep::apply(plug("web", "db")),
            ScriptStep::patch(object("Socket", "data", "db", json!({"config": {"hello": "mars"}}))),
            ScriptStep::delete(object("Plug", "shop", "web", json!({}))),
        ];
        probe(vec![socket("db", "world")], script)
    });
}

#[test]
fn another_socket() {
    assert_survives_faults(|plug| {
        let script = vec![ScriptStep::patch(object("Plug", "shop", "web", json!({"socket": {"name": "other"}})))];
        probe(vec![socket("db", "world"), socket("other", "there"), plug("web", "db")], script)
    });
}

#[test]
fn a_socket_goes_with_its_plugs_coupled() {
    assert_survives_faults(|plug| {
        let plugs = ["one", "two"].map(|name| plug(name, "db"));
        let script = vec![ScriptStep::delete(object("Socket", "data", "db", json!({})))];
        probe([vec![socket("db", "world")], plugs.to_vec()].concat(), script)
    });
}

/// Thirty plugs cause a thousand writes, so fewer faults of each class are tested.
const CROWD_SAMPLE: usize = 2;

#[test]
fn a_socket_goes_with_thirty_plugs_coupled() {
    let bare = |name: String| object("Plug", "shop", &name, json!({"socket": {"name": "db", "namespace": "data"}}));
    let plugs: Vec<Value> = (0..30).map(|number| bare(format!("p{number}"))).collect();
    let script = vec![ScriptStep::delete(object("Socket", "data", "db", json!({})))];
    let given = [vec![object("Socket", "data", "db", json!({}))], plugs].concat();
    let undisturbed = probe(given.clone(), script.clone()).only([]).run();
    undisturbed.assert_ok();
    assert!(undisturbed.writes > 300, "{} writes", undisturbed.writes);
    let all = schedule(undisturbed.writes, undisturbed.events);
    let classes = [FaultClass::Crash, FaultClass::Response, FaultClass::Stale, FaultClass::Missed, FaultClass::Merged];
    let of = |class: &FaultClass| {
        spread_sample(all.iter().filter(|fault| fault.has_class(*class)).cloned().collect(), CROWD_SAMPLE)
    };
    // Plus crashes all along the run.
    let crashes = (150..450).step_by(60).map(|at| format!("crash-at-write:{at}").parse().unwrap());
    let report = probe(given, script).only(classes.iter().flat_map(of).chain(crashes)).run();
    println!("{} runs, {} writes, {} events", report.runs, report.writes, report.events);
    report.assert_ok();
}
