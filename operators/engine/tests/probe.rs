//! The engine bears every fault: killed at any write, late, blind or unanswered, it ends where it would have.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};
use switchboard_engine::crds::crds;
use switchboard_engine::operator::{Engine, Hosted};
use switchboard_engine::source::{POLL, Sources};
use switchboard_git::Settings;
use switchboard_kernel::operator::{Operator, Reaching};
use switchboard_kernel::place::ClusterName;
use switchboard_probe::{Class, Probe, Step, schedule};
use tempfile::TempDir;

/// How many faults of a schedule are tried, spread over all of it; all with the variable `SWITCHBOARD_PROBE_ALL`.
const SAMPLE: usize = 40;

/// A repository with two commits: `a` and `b`, then another `a` and `c`.
struct Given {
    folder: TempDir,
    commits: [String; 2],
    sources: Arc<Sources>,
}

static GIVEN: LazyLock<Given> = LazyLock::new(|| {
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
    let settings = Settings::in_folder(&folder.path().join("cache")).with_files();
    Given { folder, commits: [first, second], sources: Arc::new(Sources::new(settings, POLL)) }
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
    let engine = Engine::here(ClusterName::new("main"), GIVEN.sources.clone(), Arc::new(Hosted::default()));
    vec![Arc::new(Reaching(engine))]
}

fn application(more: Value) -> Value {
    let mut object = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "shop", "namespace": "argocd"}});
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    object
}

fn whole(commit: usize) -> Value {
    let url = format!("file://{}", GIVEN.folder.path().join("repository").display());
    let mut application = application(json!({"spec": {
        "project": "default", "destination": {"name": "in-cluster", "namespace": "prod"},
        "source": {"repoURL": url, "path": ".", "targetRevision": GIVEN.commits[commit]},
        "syncPolicy": {"automated": {"prune": true, "selfHeal": true}},
    }}));
    application["metadata"]["finalizers"] = json!(["resources-finalizer.argocd.argoproj.io/background"]);
    application
}

fn at(commit: usize) -> Step {
    Step::patch(application(json!({"spec": {"source": {"targetRevision": GIVEN.commits[commit]}}})))
}

/// An undisturbed run, then faults of these classes of the schedule that follows from it.
fn borne(script: Vec<Step>, classes: &[Class]) {
    let ground =
        crds().into_iter().chain([json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}})]);
    let ground: Vec<Value> = ground.collect();
    let probe = || Probe::of_all(operators).given(ground.clone()).script(script.clone());
    let undisturbed = probe().only([]).run();
    undisturbed.assert_ok();
    let mut all = schedule(undisturbed.writes, undisturbed.events);
    all.retain(|fault| classes.iter().any(|class| fault.is(*class)));
    let step = match std::env::var_os("SWITCHBOARD_PROBE_ALL") {
        Some(_) => 1,
        None => (all.len() / SAMPLE).max(1),
    };
    let report = probe().only(all.into_iter().step_by(step)).run();
    println!("{} runs, {} writes, {} events", report.runs, report.writes, report.events);
    report.assert_ok();
}

/// What an API server refused was tried again, which the status says: so only the process dies here.
#[test]
fn a_deployment_changes_and_stays() {
    borne(vec![Step::apply(whole(0)), at(1)], &[Class::Crash]);
}

#[test]
fn a_deployment_comes_and_goes() {
    let script = vec![Step::apply(whole(0)), at(1), Step::delete(application(json!({})))];
    borne(script, &[Class::Crash, Class::Answer, Class::Stale, Class::Missed, Class::Merged]);
}
