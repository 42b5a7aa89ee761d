//! Operators in other languages under the multi-operator contract: the sample operator of multi-operator-manager, and
//! examples/beacon.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use switchboard_gather::contract::{ContractRules, InputResources, OutputResources};
use switchboard_gather::input::{InputFolder, InputFormat};
use switchboard_gather::must_gather::MustGather;
use switchboard_gather::mutation::{Action, MutationDirectory, OutputCluster, read_directory};
use switchboard_gather::prune::prune;
use switchboard_suite::process;
use switchboard_suite::real::{RealCluster, workspace};
use switchboard_suite::shared_data::shared_data;
use switchboard_suite::tool::{self, CliTool};

/// Timeout of a step.
const TIMEOUT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(100);

/// Returns a folder in which cases find their operator as `./NAME`.
fn work_folder(operator: &str) -> tempfile::TempDir {
    let bench = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(program(operator), bench.path().join(operator)).unwrap();
    bench
}

fn program(operator: &str) -> PathBuf {
    tool::programs().join(operator)
}

fn switchboard(bench: &Path, arguments: &[&str]) -> Output {
    Command::new(process::binary().unwrap()).args(arguments).current_dir(bench).output().unwrap()
}

#[track_caller]
fn assert_passes(output: &Output) {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
}

fn sample_tests() -> Option<String> {
    let data = shared_data("mom/sample-operator-tests")?;
    Some(fs::canonicalize(data).unwrap().display().to_string())
}

fn beacon_tests() -> String {
    workspace().join("examples/beacon/test-data/apply-configuration").display().to_string()
}

#[test]
fn the_sample_operators_tests_pass_as_with_the_original() {
    let Some(tests) = sample_tests() else { return };
    let bench = work_folder("sample-operator");
    assert_passes(&switchboard(
        bench.path(),
        &["test", "apply-configuration", "--test-dir", &tests, "--output-dir", "out"],
    ));
    let junit = fs::read_to_string(bench.path().join("out/junit.xml")).unwrap();
    assert_eq!(junit.matches("<testcase ").count(), 7, "two for the directory and five tests: {junit}");
    assert!(junit.contains("[Controllers:[&#34;sample-operator-IngressCreator&#34;]]"), "{junit}");
    assert_passes(&switchboard(bench.path(), &["test", &tests, "--repeat", "3"]));
    assert_passes(&switchboard(bench.path(), &["test", &tests, "--strict"]));
}

#[test]
fn the_beacons_tests_pass_every_time() {
    let bench = work_folder("beacon-operator");
    let tests = beacon_tests();
    assert_passes(&switchboard(bench.path(), &["test", &tests, "--repeat", "3"]));
    assert_passes(&switchboard(
        bench.path(),
        &["test", "apply-configuration", "--test-dir", &tests, "--output-dir", "out"],
    ));
}

fn beacon(arguments: &[&str]) -> Output {
    Command::new(program("beacon-operator")).args(arguments).output().unwrap()
}

#[test]
fn the_beacon_declares_what_its_cases_use() {
    let said = |command: &str| String::from_utf8(beacon(&[command]).stdout).unwrap();
    let outputs = OutputResources::read(&said("output-resources")).unwrap();
    let inputs = InputResources::read(&said("input-resources")).unwrap();
    assert_eq!(inputs.validate(ContractRules::MultiOperatorManager), Vec::new());
    for entry in fs::read_dir(beacon_tests()).unwrap() {
        let expected = read_directory(&entry.unwrap().path().join("expected-output")).unwrap();
        assert_eq!(expected.problems, Vec::new());
        for mutation in &expected.mutations {
            assert_eq!(
                outputs.clusters_for(mutation, ContractRules::MultiOperatorManager),
                [mutation.cluster],
                "{mutation}"
            );
        }
    }
}

/// Runs each case with only the declared inputs, so that an undeclared input would show.
#[test]
fn the_beacon_needs_nothing_but_what_it_declares() {
    let inputs = InputResources::read(&String::from_utf8(beacon(&["input-resources"]).stdout).unwrap()).unwrap();
    let bench = work_folder("beacon-operator");
    for entry in fs::read_dir(beacon_tests()).unwrap() {
        let case = entry.unwrap().path();
        let copy = bench.path().join("cases").join(case.file_name().unwrap());
        fs::create_dir_all(&copy).unwrap();
        fs::copy(case.join("test.yaml"), copy.join("test.yaml")).unwrap();
        let whole = MustGather::open(&case.join("input-dir")).unwrap();
        let pruned = prune(&inputs.apply_configuration_resources, &whole, ContractRules::Native).unwrap();
        let mut folder = InputFolder::new(&copy.join("input-dir"), InputFormat::Json, ContractRules::Native);
        folder.write(&pruned.input(), Some(whole.discovery())).unwrap();
        let expected = case.join("expected-output");
        let copied = Command::new("cp").arg("-r").arg(expected).arg(copy.join("expected-output")).status().unwrap();
        assert!(copied.success());
    }
    assert_passes(&switchboard(bench.path(), &["test", "cases"]));
}

fn live(kubeconfig: &Path, output: &Path) -> (Output, MutationDirectory) {
    let input = Path::new(&beacon_tests()).join("first-run/input-dir");
    let path = |path: &Path| path.display().to_string();
    let done = beacon(&[
        "apply-configuration-live",
        "--input-dir",
        &path(&input),
        "--output-dir",
        &path(output),
        "--kubeconfig",
        &path(kubeconfig),
        "--now",
        "2026-01-02T03:04:05Z",
    ]);
    (done, read_directory(output).unwrap())
}

#[test]
fn the_live_command_notes_what_it_saw_in_the_configuration_cluster() {
    let real = RealCluster::start().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (done, output) = live(&real.kubeconfig(), &folder.path().join("out"));
    assert_passes(&done);
    let noted: Vec<_> = output.mutations.iter().filter(|m| m.name == "surroundings").collect();
    let [noted] = noted[..] else { panic!("{:?}", output.mutations) };
    assert_eq!((noted.cluster, noted.action), (OutputCluster::Configuration, Action::Apply));
    assert_eq!(noted.body_value().unwrap()["data"]["clusterVersion"], "v1.36.1");
    // An unreachable cluster is reported in the status, and no note is written.
    let broken = folder.path().join("kubeconfig");
    let text = fs::read_to_string(real.kubeconfig()).unwrap();
    let server = text.lines().find(|line| line.trim_start().starts_with("server:")).unwrap();
    fs::write(&broken, text.replace(server, "    server: https://127.0.0.1:1")).unwrap();
    let (done, output) = live(&broken, &folder.path().join("broken"));
    assert_eq!(done.status.code(), Some(1));
    let [status] = &output.mutations[..] else { panic!("{:?}", output.mutations) };
    assert_eq!((status.cluster, status.action), (OutputCluster::Configuration, Action::ApplyStatus));
    let condition = &status.body_value().unwrap()["status"]["conditions"][0];
    assert_eq!((&condition["type"], &condition["status"]), (&"SurroundingsDegraded".into(), &"True".into()));
}

/// Process killed when dropped.
struct ResidentProcess(Child);

impl Drop for ResidentProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Installs the operator's manifests and returns a kubeconfig of its service account.
fn install(kubectl: &CliTool, admin: &Path, folder: &Path) -> PathBuf {
    let manifests = workspace().join("examples/beacon/manifests");
    for file in ["00-crd.yaml", "10-access.yaml"] {
        kubectl.ok(&["apply", "--server-side", "-f", &manifests.join(file).display().to_string()]);
    }
    kubectl.ok(&["wait", "--for=condition=Established", "crd/beacons.beacon.example.com"]);
    kubectl.ok(&["apply", "--server-side", "-f", &manifests.join("20-beacon.yaml").display().to_string()]);
    let token = kubectl.ok(&["create", "token", "beacon-operator"]);
    let own = folder.join("operator.kubeconfig");
    let mut config: serde_json::Value = serde_json::from_str(&kubectl.ok(&[
        "config",
        "view",
        "--raw",
        "-o",
        "json",
        "--kubeconfig",
        &admin.display().to_string(),
    ]))
    .unwrap();
    config["users"][0]["user"] = serde_json::json!({"token": token.trim()});
    fs::write(&own, config.to_string()).unwrap();
    own
}

#[track_caller]
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < TIMEOUT, "{what}: not within {TIMEOUT:?}");
        std::thread::sleep(POLL);
    }
}

#[test]
fn the_beacon_still_runs_resident_with_the_rights_of_its_service_account() {
    let real = RealCluster::start().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let kubectl = CliTool::new("kubectl", &real.kubeconfig(), "beacon-operator");
    let operand = CliTool::new("kubectl", &real.kubeconfig(), "beacon");
    let own = install(&kubectl, &real.kubeconfig(), folder.path());
    let mut command = Command::new(program("beacon-operator"));
    command.arg("start").arg("--kubeconfig").arg(&own).args(["--namespace", "beacon-operator"]);
    let _resident = ResidentProcess(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let condition = |kind: &str| {
        let path = format!("jsonpath={{.status.conditions[?(@.type=={kind:?})].reason}}");
        kubectl.ok(&["get", "beacon", "cluster", "-o", &path])
    };
    until("the conditions of all three controllers", || {
        let said = ["WorkloadDegraded", "SurroundingsDegraded", "Progressing"].map(condition);
        said == ["AsExpected", "AsExpected", "RollingOut"]
    });
    until("what is shown", || {
        let shown = operand.run(&["get", "configmap", "beacon-config", "-o", "jsonpath={.data.beacon\\.txt}"]);
        shown.out == "The harbour is open.\ncluster v1.36.1\n"
    });
    let public = CliTool::new("kubectl", &real.kubeconfig(), "kube-public");
    assert_eq!(public.ok(&["get", "configmap", "beacon-info", "-o", "jsonpath={.data.banners}"]), "1");
    assert_eq!(operand.ok(&["get", "deployment", "beacon", "-o", "jsonpath={.spec.replicas}"]), "2");
}
