//! Guarantees: the Go example converges, only declared inputs trigger it, and it writes only as its service account.

use serde_json::{Value, json};
use switchboard_kernel::decision::{Cause, Decision, RunOutcome, WriteResult};
use switchboard_suite::real::RealCluster;

use crate::beacon::BeaconClusters;
use crate::cluster::{TestCluster, until};
use crate::host_process::{FAST_LIMITS, HostProcess};

const ACCOUNT: &str = "system:serviceaccount:beacon-operator:beacon-operator";
const OPERATOR: &str = "beacon-operator";

/// Declared inputs of the beacon: plural, namespace, name.
const DECLARED: [[&str; 3]; 7] = [
    ["beacons", "", "cluster"],
    ["namespaces", "", "beacon"],
    ["configmaps", "beacon", "beacon-config"],
    ["deployments", "beacon", "beacon"],
    ["configmaps", "kube-public", "beacon-info"],
    ["configmaps", "beacon-operator", "harbour"],
    ["configmaps", "beacon-operator", "surroundings"],
];

#[test]
fn the_go_example_converges_is_woken_only_by_what_it_declared_and_writes_only_as_itself() {
    let real = RealCluster::start_audited().unwrap();
    let ground = TestCluster::of(&real.kubeconfig());
    let world = BeaconClusters { management: &ground, workload: &ground, prefix: "" };
    world.install(Some("deployments"));
    world.create_objects();
    let hosted = HostProcess::run(&world.config(&format!("- name: greeter\n  {FAST_LIMITS}\n")));

    check_missing_right(&hosted, &world);
    world.install(None);
    world.until_settled();
    world.roll_out();
    let before = hosted.until_idle(OPERATOR)["runs"].as_u64().unwrap();
    make_undeclared_changes(&ground);
    make_declared_changes(&world);
    let after = hosted.until_idle(OPERATOR)["runs"].as_u64().unwrap();
    // Two changes, and the changes caused by its own writes.
    assert!(after - before <= 8, "{} runs for two changes", after - before);

    let decisions = hosted.stop();
    let own: Vec<&Decision> = decisions.iter().filter(|one| &*one.unit.operator.0 == OPERATOR).collect();
    own.iter().flat_map(|decision| &decision.causes).for_each(assert_declared);
    assert!(own.iter().any(|decision| is_refused(decision)), "the refusal is in the journal");
    assert_wrote_only_as_itself(&real.audit());
}

/// With a missing right, the refusal is reported, independent objects are written, and other operators are not
/// affected.
fn check_missing_right(hosted: &HostProcess, world: &BeaconClusters<'_>) {
    let refusal = format!("deployments.apps \"beacon\" is forbidden: User \"{ACCOUNT}\" cannot patch resource");
    let named = |text: &Value| text.as_str().is_some_and(|text| text.contains(&refusal));
    hosted.until_row(OPERATOR, |row| row["state"] == "Failing" && named(&row["reason"]));
    let why = hosted.json(&["why", "deployment/beacon", "-n", "beacon"]);
    assert!(named(&why["failedWrite"]["result"]), "{why}");
    let why_not = hosted.json(&["why-not", OPERATOR]);
    assert!(why_not["state"] == "Failing" && named(&why_not["reason"]), "{why_not}");
    assert_eq!(world.management.get(&world.deployment()), Value::Null);
    assert!(world.shown_status().is_string(), "what it may write is written");
    world.management.apply(SECOND_OPERATOR);
    until("a greeting", || !world.management.get("/api/v1/namespaces/default/configmaps/ada-greeting").is_null());
    assert_eq!(hosted.row("greeter")["state"], "Ready");
}

const SECOND_OPERATOR: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: greeting, namespace: default}
data: {words: Good day}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: ada, namespace: default, labels: {greeter.example.com/greet: 'yes'}}
data: {name: Ada}
";

/// Changes an undeclared object of every declared kind, one of them in a declared namespace.
fn make_undeclared_changes(ground: &TestCluster) {
    ground.apply(
        "
apiVersion: v1
kind: Namespace
metadata: {name: elsewhere}
---
apiVersion: beacon.example.com/v1
kind: Beacon
metadata: {name: another}
spec: {replicas: 7}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: not-a-banner, namespace: beacon-operator}
data: {text: This is never shown.}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: another, namespace: beacon}
spec:
  selector: {matchLabels: {app: another}}
  template:
    metadata: {labels: {app: another}}
    spec: {containers: [{name: a, image: a}]}
",
    );
}

/// Changes declared objects. They follow the undeclared changes on the same watches, so both have been observed.
fn make_declared_changes(world: &BeaconClusters<'_>) {
    let banner = format!("{}?fieldManager=suite", world.banner());
    world.management.merge(&banner, json!({"data": {"text": "The harbour is closed."}}));
    until("the new banner", || world.shown_status() == "The harbour is closed.\ncluster v1.36.1\n");
    let beacon = "/apis/beacon.example.com/v1/beacons/cluster?fieldManager=suite";
    world.management.merge(beacon, json!({"spec": {"replicas": 3}}));
    until("three replicas", || world.management.get(&world.deployment())["spec"]["replicas"] == 3);
}

fn assert_declared(cause: &Cause) {
    match cause {
        Cause::Changed { object, .. } => {
            let key = [&*object.table.resource.plural, &*object.namespace, &*object.name];
            assert!(DECLARED.contains(&key), "it was woken by {key:?}");
        }
        Cause::Matched { object, .. } => panic!("it declares no list, and was woken by {object:?}"),
        _ => {}
    }
}

fn is_refused(decision: &Decision) -> bool {
    let RunOutcome::Decided { writes, .. } = &decision.outcome else { return false };
    writes.iter().any(|write| {
        &*write.object.table.resource.plural == "deployments"
            && matches!(&write.result, WriteResult::Failed { message } if message.contains("is forbidden"))
    })
}

/// Checks the audit log: all changes were made by impersonating the service account, and none with the program's own
/// token.
fn assert_wrote_only_as_itself(requests: &[Value]) {
    let mut written = 0;
    for request in requests.iter().filter(|request| request["stage"] == "ResponseComplete") {
        let text = |pointer: &str| request.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (user, uri) = (text("/user/username"), text("/requestURI"));
        let changes = ["create", "update", "patch", "delete", "deletecollection"].contains(&text("/verb"));
        if user == ACCOUNT {
            assert!(!changes, "the program itself wrote: {request}");
        }
        if user != "admin" || !changes {
            continue;
        }
        let ours = ["suite", "greeter"].iter().any(|who| uri.contains(&format!("fieldManager={who}")));
        let token = text("/objectRef/subresource") == "token";
        match text("/impersonatedUser/username") {
            "" => assert!(ours || token, "the kernel wrote as itself: {request}"),
            impersonated => {
                assert_eq!(impersonated, ACCOUNT, "{request}");
                written += 1;
            }
        }
    }
    assert!(written >= 8, "only {written} writes of the operator were seen");
}
