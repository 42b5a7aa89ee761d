//! Guarantees: the sample operator reaches the same end state in both topologies, with three separate clusters, and as
//! the only operator of a process. The end state is that of its expected output.
//!
//! The sample operator counts its runs, so each hosting allows only one. The clusters are embedded, because the
//! operator is tested here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use switchboard_gather::cases::{OperatorCase, discover};
use switchboard_suite::embedded::SharedServer;
use switchboard_suite::shared_data::shared_data;

use crate::cluster::{TestCluster, until};
use crate::host_process::{HostProcess, program, switchboard};

/// Leaves time to stop the process between the second run and a third one. The first run finds an empty cache.
const RUN_ONCE_LIMITS: &str = "limits: {debounce: 0s, coolDown: 4s, resync: never, backoff: {first: 24h, max: 24h}}";
const INGRESS: &str = "/apis/config.openshift.io/v1/ingresses/cluster";
const NAMESPACES: [&str; 3] = ["openshift-authentication", "openshift-example-operator", "openshift-config"];

/// Returns the cases, or none without the data beside the checkout.
fn cases() -> Vec<OperatorCase> {
    let Some(data) = shared_data("mom/sample-operator-tests") else { return Vec::new() };
    let (cases, errors) = discover(&data);
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(cases.len(), 5);
    cases
}

/// Clusters of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SampleTopology {
    /// A single cluster.
    Standalone,
    /// One cluster with simulated namespaces, and one for the users.
    Hosted,
    /// As hosted, with a separate configuration cluster.
    Apart,
}

/// Clusters, which may be identical, and the namespace prefix on the first two.
struct SampleClusters {
    clusters: Vec<(TestCluster, SharedServer)>,
    topology: SampleTopology,
}

impl SampleClusters {
    fn new(topology: SampleTopology) -> Self {
        let count = [SampleTopology::Standalone, SampleTopology::Hosted, SampleTopology::Apart]
            .iter()
            .position(|one| *one == topology);
        let served = || {
            let served = SharedServer::start();
            (TestCluster::of(served.kubeconfig()), served)
        };
        Self { clusters: (0..=count.unwrap_or_default()).map(|_| served()).collect(), topology }
    }

    fn management(&self) -> &TestCluster {
        &self.clusters[0].0
    }

    fn workload(&self) -> &TestCluster {
        &self.clusters.get(1).unwrap_or(&self.clusters[0]).0
    }

    fn configuration(&self) -> &TestCluster {
        &self.clusters.get(2).unwrap_or(&self.clusters[0]).0
    }

    fn prefix(&self) -> &'static str {
        if self.topology == SampleTopology::Standalone { "" } else { "acme-" }
    }

    fn create_inputs(&self, case: &OperatorCase) {
        for (number, (ground, _)) in self.clusters.iter().enumerate() {
            let prefix = if number == 1 { "" } else { self.prefix() };
            ground.apply(&definitions());
            let input = switchboard_gather::read(&case.directory.join("input-dir"), |_| {}).unwrap();
            let found = input.objects.iter().filter_map(|object| object.value["metadata"]["namespace"].as_str());
            let namespaces: BTreeSet<&str> = found.chain(NAMESPACES).collect();
            for name in namespaces {
                let real = format!("{prefix}{name}");
                ground.apply(&format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {real}}}}}"));
            }
            for object in &input.objects {
                create(ground, prefix, &object.value);
            }
        }
    }

    /// Returns the possible output of the operator, with its own namespace names and without times. `conditions` are
    /// those of an object that is read but not declared: a hosted controller does not find it and leaves them
    /// unchanged.
    fn state(&self) -> Value {
        let events = format!("/api/v1/namespaces/{}openshift-example-operator/events", self.prefix());
        let events = self.management().get(&events)["items"].as_array().cloned().unwrap_or_default();
        let event = |one: &Value| json!([one["reason"], one["message"], one["involvedObject"]]);
        let authentication = self.management().get("/apis/operator.openshift.io/v1/authentications/cluster");
        let mut conditions = authentication["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter_mut().for_each(|one| one["lastTransitionTime"] = Value::Null);
        let counter = self.workload().get("/api/v1/namespaces/openshift-authentication/configmaps/foo");
        let state = json!({
            "ingress": self.configuration().get(INGRESS)["spec"],
            "conditions": conditions,
            "events": events.iter().map(event).collect::<Vec<_>>(),
            "counter": [counter["metadata"]["namespace"], counter["data"]],
        });
        match self.prefix() {
            "" => state,
            prefix => serde_json::from_str(&state.to_string().replace(prefix, "")).unwrap(),
        }
    }
}

fn create(ground: &TestCluster, prefix: &str, object: &Value) {
    let mut object = object.clone();
    let metadata = object["metadata"].as_object_mut().unwrap();
    for field in ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences"] {
        metadata.remove(field);
    }
    if let Some(namespace) = metadata.get("namespace").and_then(Value::as_str).map(|name| format!("{prefix}{name}")) {
        metadata.insert("namespace".into(), namespace.into());
    }
    let status = object.as_object_mut().and_then(|fields| fields.remove("status"));
    ground.apply(&object.to_string());
    if let Some(status) = status.filter(|_| object["kind"] == "Authentication") {
        let path = "/apis/operator.openshift.io/v1/authentications/cluster/status?fieldManager=suite";
        ground.merge(path, json!({"status": status}));
    }
}

/// Returns the definitions of the operator's kinds, with the schema that server-side apply needs.
fn definitions() -> String {
    let kinds = [
        ("config.openshift.io", "Authentication", "authentications"),
        ("config.openshift.io", "Proxy", "proxies"),
        ("config.openshift.io", "Console", "consoles"),
        ("config.openshift.io", "OAuth", "oauths"),
        ("config.openshift.io", "Ingress", "ingresses"),
        ("operator.openshift.io", "Authentication", "authentications"),
        ("oauth.openshift.io", "OAuthClient", "oauthclients"),
    ];
    let conditions = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
        "items": {"type": "object", "required": ["type"], "properties": {"type": {"type": "string"}},
            "x-kubernetes-preserve-unknown-fields": true}});
    let status = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"conditions": conditions}});
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = |(group, kind, plural): (&str, &str, &str)| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {"group": group, "scope": "Cluster",
                "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
                "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": any, "status": status}}}}]},
        })
        .to_string()
    };
    kinds.map(definition).join("\n---\n")
}

fn config(world: &SampleClusters, case: &OperatorCase) -> String {
    let names = ["hub", "edge", "config"];
    let mut clusters = "clusters:\n".to_string();
    for (name, (ground, _)) in names.into_iter().zip(&world.clusters) {
        clusters += &format!("  {name}: {{kubeconfig: {}}}\n", ground.kubeconfig.display());
    }
    if world.topology != SampleTopology::Standalone {
        let configuration = if world.topology == SampleTopology::Apart { "config" } else { "hub" };
        clusters += &format!(
            "topology:\n  configuration: {configuration}\n  management: hub\n  userWorkload: edge\n  namespaces:\n    \
             configuration: {{prefix: acme-}}\n    management: {{prefix: acme-}}\n"
        );
    }
    let controllers = case.description.controllers.join(", ");
    format!(
        "{clusters}operators:\n- name: sample\n  command: [{}]\n  controllers: [{controllers}]\n  {RUN_ONCE_LIMITS}\n",
        program("sample-operator").display()
    )
}

/// Hosts the operator for one run and returns the end state.
fn end_state(case: &OperatorCase, words: &[&str], topology: SampleTopology) -> Value {
    let world = SampleClusters::new(topology);
    world.create_inputs(case);
    let process = HostProcess::start(words, Some(&config(&world, case)));
    until("a run", || !world.configuration().get(INGRESS).is_null());
    // An orderly shutdown, so that pending writes complete.
    let decisions = process.stop();
    let decided =
        decisions.iter().filter(|one| matches!(one.outcome, switchboard_kernel::decision::RunOutcome::Decided { .. }));
    assert_eq!(decided.count(), 1, "it ran once");
    world.state()
}

/// Returns the end state of the expected output.
fn expected_state(case: &OperatorCase) -> Value {
    let world = SampleClusters::new(SampleTopology::Standalone);
    world.create_inputs(case);
    let path = |path: &Path| path.display().to_string();
    let from: PathBuf = case.directory.join("expected-output");
    let output = switchboard(&[
        "gather",
        "apply",
        "--from",
        &path(&from),
        "--kubeconfig",
        &path(&world.management().kubeconfig),
    ]);
    assert!(output.status.success(), "{output:?}");
    let mut state = world.state();
    state["conditions"].take();
    state
}

#[test]
fn the_sample_operators_tests_reach_the_same_however_it_is_hosted() {
    let alone = &["run", "--only", "sample"][..];
    let ways = [
        (&["run"][..], SampleTopology::Standalone),
        (&["run"], SampleTopology::Hosted),
        (&["run"], SampleTopology::Apart),
        (alone, SampleTopology::Standalone),
        (alone, SampleTopology::Hosted),
    ];
    let check = |case: &OperatorCase| {
        let expected = expected_state(case);
        let mut conditions: Option<Value> = None;
        for (words, topology) in ways {
            let mut state = end_state(case, words, topology);
            let left = state["conditions"].take();
            assert_eq!(state, expected, "{}: {words:?}, {topology:?}", case.directory.display());
            assert_eq!(left, *conditions.get_or_insert(left.clone()), "the same in all of them");
        }
    };
    let cases = cases();
    std::thread::scope(|scope| cases.iter().for_each(|case| drop(scope.spawn(|| check(case)))));
}
