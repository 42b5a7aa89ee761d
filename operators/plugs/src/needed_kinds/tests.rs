#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use switchboard_kernel::cache::TableEvent;
use switchboard_kernel::core::{Core, CoreCommand, DecideResult, RunProgress, UnitRun};
use switchboard_kernel::decision::{DecisionId, RunOutcome, Write};
use switchboard_kernel::limits::{GlobalLimits, Limits};
use switchboard_kernel::resource::TableKey;
use switchboard_kernel::timestamp::Timestamp;
use switchboard_kernel::topology::{ClusterName, Topology};

use crate::plug::PlugOptions;

/// Returns a pair that reads a Secret, a ConfigMap and a Deployment, and creates a Service and a Job.
fn objects() -> Vec<Value> {
    let template = |version: &str, kind: &str| json!({"template": {"apiVersion": version, "kind": kind, "metadata": {"name": "made"}}});
    let socket =
        json!({"configSecretName": "given", "dataConfigMapName": "given", "resources": [template("v1", "Service")]});
    let var = json!({"name": "image", "objref": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}});
    let plug = json!({"socket": {"name": "db"}, "vars": [var], "resultResources": [template("batch/v1", "Job")]});
    let role = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    let everyone =
        json!([{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "system:serviceaccounts"}]);
    let rbac = "rbac.authorization.k8s.io/v1";
    vec![
        json!({"apiVersion": "integration.rock8s.com/v1beta1", "kind": "Socket", "metadata": {"name": "db", "namespace": "shop"},
            "spec": socket, "status": {"created": true}}),
        json!({"apiVersion": "integration.rock8s.com/v1beta1", "kind": "Plug", "metadata": {"name": "web", "namespace": "shop"},
            "spec": plug}),
        json!({"apiVersion": rbac, "kind": "ClusterRole", "metadata": {"name": "all"}, "rules": role}),
        json!({"apiVersion": rbac, "kind": "ClusterRoleBinding", "metadata": {"name": "all"}, "subjects": everyone,
            "roleRef": {"kind": "ClusterRole", "name": "all"}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "given", "namespace": "shop"}, "data": {"user": "YWRh"}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "given", "namespace": "shop"}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}}),
    ]
}

/// Core with an API server that answers every list at once, and counts the sequential round trips.
struct ListingServer {
    core: Core,
    now: u64,
    round_trips: usize,
    listed: Vec<String>,
}

impl ListingServer {
    fn start() -> Self {
        let topology = Topology::standalone(&ClusterName::new("main"));
        let mut core = Core::new(Timestamp(0), 1, topology, GlobalLimits::default(), DecisionId(1));
        for operator in crate::operators(PlugOptions::default()) {
            core.add(Timestamp(0), operator, Limits::default());
        }
        Self { core, now: 0, round_trips: 0, listed: Vec::new() }
    }

    /// Answers due lists, and returns due runs.
    fn answer(&mut self) -> Vec<UnitRun> {
        let (mut runs, mut tables) = (Vec::new(), Vec::new());
        for command in self.core.poll(Timestamp(self.now)) {
            match command {
                CoreCommand::Watch(table) => tables.push(table),
                CoreCommand::Run(run) => runs.push(*run),
                CoreCommand::Unwatch(_) | CoreCommand::Rows(..) => {}
            }
        }
        self.round_trips += usize::from(!tables.is_empty());
        tables.into_iter().for_each(|table| self.list(&table));
        runs
    }

    fn list(&mut self, table: &TableKey) {
        self.listed.push(table.resource.kind.to_string());
        let mut events = vec![TableEvent::Begin];
        for (number, mut object) in
            objects().into_iter().enumerate().filter(|(_, one)| one["kind"] == *table.resource.kind)
        {
            object["metadata"]["uid"] = json!(format!("uid-{number}"));
            object["metadata"]["resourceVersion"] = json!((number + 1).to_string());
            events.push(TableEvent::Put(object.to_string().into_bytes().into()));
        }
        events.push(TableEvent::Synced { revision: 100 });
        events.into_iter().for_each(|event| self.core.observe(Timestamp(self.now), table, event).unwrap());
    }

    /// Runs until the plug has decided, and returns its writes.
    fn first_writes(&mut self) -> Vec<Write> {
        for _ in 0..1000 {
            for run in self.answer() {
                let (plan, reads) = run.decide();
                let result = DecideResult { plan, reads, decide_us: 1 };
                let progress = self.core.finish_decide(Timestamp(self.now), &run.unit, run.id, result).unwrap();
                match progress {
                    _ if &*run.unit.operator.to_string() != "plugs" => {}
                    RunProgress::Write { writes, .. } => return writes,
                    RunProgress::Finished(finished) => match finished.decision.outcome {
                        RunOutcome::NotCached { .. } => {}
                        other => panic!("the plug wrote nothing: {other:?}"),
                    },
                }
            }
            self.now += 10;
        }
        panic!("the plug has not decided");
    }
}

#[test]
fn one_round_trip_opens_all_kinds_before_the_first_decision() {
    let mut server = ListingServer::start();
    // The kinds of the units are watched from the start.
    server.answer();
    (server.round_trips, server.listed) = (0, Vec::new());
    let writes = server.first_writes();
    assert_eq!(server.round_trips, 1, "{:?}", server.listed);
    for kind in ["Secret", "ConfigMap", "Deployment", "Service", "Job", "ClusterRoleBinding", "Role"] {
        assert!(server.listed.iter().any(|listed| listed == kind), "{kind} is not in {:?}", server.listed);
    }
    assert!(writes.iter().any(|write| write.mutation.resource.kind == "Job"), "the pair is coupled");
    assert!(server.now < 1000, "no cool-down passed: {} ms", server.now);
}

#[test]
fn only_kinds_that_a_spec_names_are_opened() {
    let mut server = ListingServer::start();
    server.answer();
    server.first_writes();
    for kind in ["Pod", "Namespace", "CustomResourceDefinition", "StatefulSet"] {
        assert!(!server.listed.iter().any(|listed| listed == kind), "{kind} is in {:?}", server.listed);
    }
}
