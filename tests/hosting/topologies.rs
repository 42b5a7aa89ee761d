//! Guarantees: the end state is the same, except for the namespace mapping, in both topologies, as the only operator of
//! a process, with manual runs, and for a resident process.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use switchboard_gather::mutation::read_directory;
use switchboard_suite::real::RealCluster;

use crate::beacon::BeaconClusters;
use crate::cluster::{TestCluster, until};
use crate::host_process::{FAST_LIMITS, HostProcess, program, switchboard};

const OPERATOR: &str = "beacon-operator";
/// Maximum number of manual runs until no more mutations are produced.
const MAX_ROUNDS: usize = 8;

/// Deletes everything, hosts the beacon in some way, and returns the end state.
fn end_state<T>(world: &BeaconClusters<'_>, host: impl FnOnce() -> T, rests: impl FnOnce(&T)) -> Value {
    world.install(None);
    world.create_objects();
    let hosting = host();
    world.until_settled();
    world.roll_out();
    rests(&hosting);
    let state = world.state();
    drop(hosting);
    world.clear();
    state
}

fn until_idle(hosted: &HostProcess) {
    hosted.until_idle(OPERATOR);
}

#[test]
fn the_go_example_reaches_the_same_however_it_is_hosted() {
    let (one, other) = std::thread::scope(|scope| {
        let other = scope.spawn(|| RealCluster::start_own().unwrap());
        (RealCluster::start_own().unwrap(), other.join().unwrap())
    });
    let (hub, edge) = (TestCluster::of(&one.kubeconfig()), TestCluster::of(&other.kubeconfig()));
    let standalone = BeaconClusters { management: &hub, workload: &hub, prefix: "" };
    let hosted = BeaconClusters { management: &hub, workload: &edge, prefix: "acme-" };
    let beacon = program(OPERATOR).display().to_string();
    let kubeconfig = hub.kubeconfig.display().to_string();
    let alone = ["run", "--only", OPERATOR];
    let by_path = ["run", "--only", &beacon, "--kubeconfig", &kubeconfig, "--live"];
    let by_path = [&by_path[..], &["--service-account", "beacon-operator/beacon-operator"]].concat();

    let expected = end_state(&standalone, || HostProcess::run(&standalone.config("")), until_idle);
    assert_eq!(expected["info"]["data"], json!({"banners": "1", "clusterVersion": "v1.36.1"}));
    let same = |what: &str, state: Value| {
        assert_eq!(pretty(&state), pretty(&expected), "{what}");
        // Displayed if a later comparison fails.
        println!("{what}: the same");
    };
    same("hosted", end_state(&hosted, || HostProcess::run(&hosted.config("")), until_idle));
    same("alone, standalone", end_state(&standalone, || HostProcess::start(&by_path, None), until_idle));
    same("alone, hosted", end_state(&hosted, || HostProcess::start(&alone, Some(&hosted.config(""))), until_idle));
    same("resident", end_state(&standalone, || ResidentBeacon::start(&hub), |_| {}));
    same("by hand", run_by_hand(&standalone));
}

fn pretty(state: &Value) -> String {
    serde_json::to_string_pretty(state).unwrap()
}

/// The operator as a process of its own.
struct ResidentBeacon(Child);

impl Drop for ResidentBeacon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl ResidentBeacon {
    fn start(ground: &TestCluster) -> Self {
        let mut command = Command::new(program(OPERATOR));
        command.arg("start").arg("--kubeconfig").arg(&ground.kubeconfig).args(["--namespace", OPERATOR]);
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

/// Hosts the beacon manually: collects a dump, runs the program, and applies its output.
fn run_by_hand(world: &BeaconClusters<'_>) -> Value {
    world.install(None);
    world.create_objects();
    let begin = world.state();
    let folder = tempfile::tempdir().unwrap();
    let rehearsed = run_round(world, &folder.path().join("rehearsal"), &["--dry-run"]);
    assert!(rehearsed > 0);
    assert_eq!(world.state(), begin, "a dry run writes nothing");
    run_rounds(world, &folder.path().join("first"));
    world.until_settled();
    let mut state = Value::Null;
    std::thread::scope(|scope| {
        let again = scope.spawn(|| {
            // The Deployment is running, which the beacon must report.
            until("a changed Deployment", || {
                !world.management.get(&world.deployment())["status"]["availableReplicas"].is_null()
            });
            run_rounds(world, &folder.path().join("second"));
        });
        world.roll_out();
        again.join().unwrap();
        state = world.state();
    });
    world.clear();
    state
}

fn run_rounds(world: &BeaconClusters<'_>, folder: &Path) {
    let wanted = (0..MAX_ROUNDS).map(|number| run_round(world, &folder.join(number.to_string()), &[]));
    let wanted: Vec<usize> = wanted.take_while(|wanted| *wanted > 0).collect();
    assert!(wanted.len() < MAX_ROUNDS, "something is wanted each time: {wanted:?}");
}

/// Performs one run and returns the number of mutations.
fn run_round(world: &BeaconClusters<'_>, folder: &Path, options: &[&str]) -> usize {
    let beacon = program(OPERATOR).display().to_string();
    let kubeconfig = world.management.kubeconfig.display().to_string();
    let path = |name: &str| folder.join(name).display().to_string();
    let (input, offline, live) = (path("input"), path("offline"), path("live"));
    let passes = |output: std::process::Output| {
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{out}{err}");
    };
    passes(switchboard(&["gather", "collect", "--operator", &beacon, "--to", &input, "--kubeconfig", &kubeconfig]));
    let run = |arguments: &[&str]| passes(Command::new(&beacon).args(arguments).output().unwrap());
    run(&["apply-configuration", "--input-dir", &input, "--output-dir", &offline]);
    run(&["apply-configuration-live", "--input-dir", &input, "--output-dir", &live, "--kubeconfig", &kubeconfig]);
    let outputs = [&offline, &live].into_iter();
    let wanted = outputs.map(|output| {
        let apply = ["gather", "apply", "--from", output, "--kubeconfig", &kubeconfig];
        passes(switchboard(&[&apply[..], options].concat()));
        read_directory(Path::new(output)).unwrap().mutations.len()
    });
    wanted.sum()
}

/// Native operators too can run alone and with a namespace mapping.
#[test]
fn a_native_operator_reaches_the_same_however_it_is_hosted() {
    let real = RealCluster::start_own().unwrap();
    let ground = TestCluster::of(&real.kubeconfig());
    let kubeconfig = ground.kubeconfig.display();
    let clusters = format!("clusters:\n  default: {{kubeconfig: {kubeconfig}}}\n");
    let greeter = format!("operators:\n- name: greeter\n  {FAST_LIMITS}\n");
    let mapped = ["configuration", "management", "userWorkload"].map(|place| format!("{place}: {{prefix: acme-}}"));
    let mapped = format!("topology: {{namespaces: {{{}}}}}\n", mapped.join(", "));
    let flags = ["run", "--only", "greeter", "--kubeconfig", &kubeconfig.to_string()].map(str::to_string);
    let alone = ["run", "--only", "greeter"].map(str::to_string);
    let run = ["run".to_string()];
    let standalone = format!("{clusters}{greeter}");
    let hosted = format!("{clusters}{mapped}{greeter}");
    let ways: [(&[String], Option<&str>, &str); 4] = [
        (&run, Some(&standalone), ""),
        (&flags, None, ""),
        (&run, Some(&hosted), "acme-"),
        (&alone, Some(&hosted), "acme-"),
    ];
    let mut reached = Vec::new();
    for (number, (words, config, prefix)) in ways.into_iter().enumerate() {
        let shop = format!("shop-{number}");
        ground.apply(&guest(&format!("{prefix}{shop}")));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let process = HostProcess::start(&words, config);
        let path = format!("/api/v1/namespaces/{prefix}{shop}/configmaps/ada-greeting");
        until("a greeting", || !ground.get(&path).is_null());
        process.until_idle("greeter");
        let greeting = ground.get(&path);
        let word = greeting["metadata"]["namespace"].as_str().unwrap().replace(prefix, "").replace(&shop, "shop");
        reached.push(json!({"namespace": word, "data": greeting["data"]}));
        // The operator uses its own namespace names.
        let units: Vec<String> = process.stop().iter().map(|decision| decision.unit.unit.to_string()).collect();
        assert!(units.contains(&format!("{shop}/ada")), "{units:?}");
    }
    assert!(
        reached.iter().all(|one| *one == json!({"namespace": "shop", "data": {"text": "Good day, Ada!"}})),
        "{reached:?}"
    );
}

fn guest(namespace: &str) -> String {
    format!(
        "
apiVersion: v1
kind: Namespace
metadata: {{name: {namespace}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: greeting, namespace: {namespace}}}
data: {{words: Good day}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: ada, namespace: {namespace}, labels: {{greeter.example.com/greet: 'yes'}}}}
data: {{name: Ada}}
"
    )
}
