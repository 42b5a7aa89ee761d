//! Fault-injection tests: whatever fault is injected at a write or an event, the engine reaches the same end state.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};
use switchboard_engine::crds::crds;
use switchboard_engine::operator::{DestinationOperators, EngineOperator};
use switchboard_engine::source::{POLL, RepositorySources};
use switchboard_git::GitSettings;
use switchboard_kernel::operator::Operator;
use switchboard_kernel::topology::ClusterName;
use switchboard_probe::{FaultClass, Probe, ScriptStep, schedule};
use tempfile::TempDir;

/// Number of faults that are sampled from a schedule. The variable `SWITCHBOARD_PROBE_ALL` selects all of them.
const SAMPLE: usize = 40;

/// Repository with two commits: `a` and `b`, then a changed `a` and `c`.
struct SampleRepository {
    folder: TempDir,
    commits: [String; 2],
    sources: Arc<RepositorySources>,
}

static SAMPLE_REPOSITORY: LazyLock<SampleRepository> = LazyLock::new(|| {
    let folder = TempDir::new().unwrap();
    let repository = folder.path().join("repository");
    std::fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "--quiet", "--initial-branch=main"]);
    write(&repository, "a", "one");
    write(&repository, "b", "one");
    let first = commit(&repository);
    write(&repository, "a", "two");
    write(&repository, "c", "two");
    std::fs::remove_file(repository.join("b.yaml")).unwrap();
    let second = commit(&repository);
    let settings = GitSettings::with_cache(&folder.path().join("cache")).with_local_files();
    SampleRepository { folder, commits: [first, second], sources: Arc::new(RepositorySources::new(settings, POLL)) }
});

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]);
    let output = command.args(arguments).current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

fn write(repository: &Path, name: &str, value: &str) {
    let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{value: {value}}}\n");
    std::fs::write(repository.join(format!("{name}.yaml")), text).unwrap();
}

fn commit(repository: &Path) -> String {
    git(repository, &["add", "--all"]);
    git(repository, &["commit", "--quiet", "--message", "next"]);
    git(repository, &["rev-parse", "HEAD"])
}

fn operators() -> Vec<Arc<dyn Operator>> {
    let engine = EngineOperator::in_cluster(
        ClusterName::new("main"),
        SAMPLE_REPOSITORY.sources.clone(),
        Arc::new(DestinationOperators::default()),
    );
    vec![Arc::new(engine)]
}

fn application(more: Value) -> Value {
    let mut object = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "shop", "namespace": "argocd"}});
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    object
}

fn whole(commit: usize) -> Value {
    let url = format!("file://{}", SAMPLE_REPOSITORY.folder.path().join("repository").display());
    let mut application = application(json!({"spec": {
        "project": "default", "destination": {"name": "in-cluster", "namespace": "prod"},
        "source": {"repoURL": url, "path": ".", "targetRevision": SAMPLE_REPOSITORY.commits[commit]},
        "syncPolicy": {"automated": {"prune": true, "selfHeal": true}},
    }}));
    application["metadata"]["finalizers"] = json!(["resources-finalizer.argocd.argoproj.io/background"]);
    application
}

fn at(commit: usize) -> ScriptStep {
    ScriptStep::patch(application(json!({"spec": {"source": {"targetRevision": SAMPLE_REPOSITORY.commits[commit]}}})))
}

/// Runs the script without faults, then with the faults of these classes from the resulting schedule.
fn assert_survives(script: Vec<ScriptStep>, classes: &[FaultClass]) {
    let ground =
        crds().into_iter().chain([json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}})]);
    let ground: Vec<Value> = ground.collect();
    let probe = || Probe::of_all(operators).given(ground.clone()).script(script.clone());
    let undisturbed = probe().only([]).run();
    undisturbed.assert_ok();
    let mut all = schedule(undisturbed.writes, undisturbed.events);
    all.retain(|fault| classes.iter().any(|class| fault.has_class(*class)));
    let step = match std::env::var_os("SWITCHBOARD_PROBE_ALL") {
        Some(_) => 1,
        None => (all.len() / SAMPLE).max(1),
    };
    let report = probe().only(all.into_iter().step_by(step)).run();
    println!("{} runs, {} writes, {} events", report.runs, report.writes, report.events);
    report.assert_ok();
}

/// The status reports retries after refused requests, so only crashes are injected here.
#[test]
fn a_changed_deployment_survives_crashes() {
    assert_survives(vec![ScriptStep::apply(whole(0)), at(1)], &[FaultClass::Crash]);
}

#[test]
fn a_created_and_deleted_deployment_survives_all_faults() {
    let script = vec![ScriptStep::apply(whole(0)), at(1), ScriptStep::delete(application(json!({})))];
    assert_survives(
        script,
        &[FaultClass::Crash, FaultClass::Response, FaultClass::Stale, FaultClass::Missed, FaultClass::Merged],
    );
}
