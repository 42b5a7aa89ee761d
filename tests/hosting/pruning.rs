//! Property test: a program decides the same on a dump pruned to its declared inputs as on the whole dump, if the
//! declaration is complete. The selected controllers of the sample operator are those with a complete declaration.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use switchboard_gather::mutation::{MutationDirectory, read_directory};
use switchboard_suite::dump;
use switchboard_suite::random::RandomNumbers;
use switchboard_suite::real::workspace;

use crate::host_process::{program, switchboard};

/// Number of random dumps for each program; a run takes a fifth of a second.
const DUMPS: u64 = 6;

fn map(namespace: &str, name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data,
        "metadata": {"name": name, "namespace": namespace, "resourceVersion": "1"}})
}

/// Returns objects that are not declared.
fn unrelated_objects(random: &mut RandomNumbers) -> Vec<Value> {
    let all = [
        map("beacon-operator", "draft", json!({"text": "not yet"})),
        map("openshift-authentication", "bar", json!({"counter": "5"})),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": "beacon"}, "data": {"k": "dg=="}}),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}}),
    ];
    random_part(all.into(), random)
}

fn random_part(all: Vec<Value>, random: &mut RandomNumbers) -> Vec<Value> {
    all.into_iter().filter(|_| random.below(2) == 0).collect()
}

fn beacon_objects(random: &mut RandomNumbers) -> Vec<Value> {
    let banners = random_part(["harbour", "fog", "tide"].map(|name| json!({"name": name})).into(), random);
    let spec = json!({"managementState": "Managed", "replicas": random.below(4), "banners": banners});
    let optional = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "beacon"}}),
        map("beacon-operator", "fog", json!({"text": "Fog."})),
        map("beacon-operator", "tide", json!({"text": "High tide."})),
        map("beacon-operator", "surroundings", json!({"clusterVersion": "v1.0.0"})),
        map("beacon", "beacon-config", json!({"beacon.txt": "old"})),
        map("kube-public", "beacon-info", json!({"banners": "9"})),
    ];
    let mut objects = random_part(optional, random);
    objects.push(map("beacon-operator", "harbour", json!({"text": "Open."})));
    objects.push(
        json!({"apiVersion": "beacon.example.com/v1", "kind": "Beacon", "metadata": {"name": "cluster"}, "spec": spec}),
    );
    objects
}

fn sample_objects(random: &mut RandomNumbers) -> Vec<Value> {
    let counter = map("openshift-authentication", "foo", json!({"counter": random.below(9).to_string()}));
    random_part(vec![counter, map("openshift-authentication", "fail-check", json!({}))], random)
}

/// Returns the sorted output of a program.
fn program_output(operator: &Path, controllers: &str, input: &Path, output: &Path) -> (Vec<String>, String) {
    let mut command = Command::new(operator);
    command.arg("apply-configuration").arg("--input-dir").arg(input).arg("--output-dir").arg(output);
    let ran = command.args(["--now", "2026-01-02T03:04:05Z", "--controllers", controllers]).output().unwrap();
    let MutationDirectory { mutations, results, problems, .. } = read_directory(output).unwrap();
    assert!(problems.is_empty(), "{problems:?}: {}", String::from_utf8_lossy(&ran.stderr));
    let told = |one: &switchboard_gather::mutation::Mutation| format!("{:?}", one);
    let mut mutations: Vec<String> = mutations.iter().map(told).collect();
    mutations.sort();
    (mutations, format!("{:?} {results:?}", ran.status.code()))
}

fn check(name: &str, controllers: &str, world: fn(&mut RandomNumbers) -> Vec<Value>) {
    let operator = program(name);
    let mut wanted = 0;
    for seed in 0..DUMPS {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mut random = RandomNumbers::new(seed);
        let mut objects = world(&mut random);
        objects.extend(unrelated_objects(&mut random));
        dump::write(&at("whole"), &objects).unwrap();
        // The discovery of the cluster is part of a dump.
        let served = "examples/beacon/test-data/apply-configuration/first-run/input-dir/aggregated-discovery-apis.yaml";
        if name == "beacon-operator" {
            std::fs::copy(workspace().join(served), at("whole/aggregated-discovery-apis.yaml")).unwrap();
        }
        let text = |name: &str| at(name).display().to_string();
        let path = operator.display().to_string();
        let pruned =
            switchboard(&["gather", "prune", "--operator", &path, "--from", &text("whole"), "--to", &text("pruned")]);
        assert!(pruned.status.success(), "{pruned:?}");
        let whole = program_output(&operator, controllers, &at("whole"), &at("out-of-whole"));
        let pruned = program_output(&operator, controllers, &at("pruned"), &at("out-of-pruned"));
        assert_eq!(pruned, whole, "{name} on world {seed}");
        wanted += whole.0.len();
    }
    assert!(wanted > DUMPS as usize, "the worlds are too dull");
}

#[test]
fn what_programs_decide_on_a_pruned_dump_is_what_they_decide_on_the_whole() {
    check("beacon-operator", "*", beacon_objects);
    let complete = ["IngressCreator", "Demo", "FailureGenerator"].map(|name| format!("sample-operator-{name}"));
    check("sample-operator", &complete.join(","), sample_objects);
}
