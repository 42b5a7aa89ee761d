//! Hosting of all sections in one process: limits, plans, replays and messages.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use kube::config::Kubeconfig;
use serde_json::{Value, json};

use crate::engine::git;
use crate::integrations::copied;
use crate::process::{CONTEXT, run, stderr_text, switchboard};
use crate::up_process::{UpProcess, eventually};

/// Returns a configuration with all sections that host operators; `LIMITS` is replaced in each.
fn everything(data: &Path, limits: &str) -> String {
    format!(
        "console: off\noperators:\n  greeter: {limits}\n  plugs: {limits}\n  engine: {limits}\n  rogue-panics: {limits}\n\
         integrations: {{source: {}, limits: {limits}}}\ngitops: {{limits: {limits}}}\n",
        data.display()
    )
}

fn names(running: &UpProcess) -> BTreeSet<String> {
    let top = running.json(&["top"]);
    let rows = top["operators"].as_array().into_iter().flatten();
    rows.filter_map(|row| row["name"].as_str()).map(str::to_string).collect()
}

#[tokio::test]
async fn the_limits_of_all_that_is_hosted_change_without_a_restart() {
    let data = copied();
    let running = UpProcess::up(&everything(data.path(), "{coolDown: 1s}"));
    let all = eventually("an operator for each cluster of the data", || async {
        let all = names(&running);
        (all.iter().filter(|name| name.starts_with("integrations@")).count() == 3).then_some(all)
    })
    .await;
    for one in ["greeter", "plugs", "sockets", "deferredresources", "engine", "gitops-deployments", "gitops-operations"]
    {
        assert!(all.contains(one), "{one} is not among {all:?}");
    }
    fs::write(running.file("switchboard.yaml"), everything(data.path(), "{coolDown: 2s}")).unwrap();
    let line = eventually("the change is applied", || async {
        running.log().lines().find(|line| line.starts_with("applied the changed configuration")).map(str::to_string)
    })
    .await;
    let printed: BTreeSet<String> =
        line.split_once("limits of ").map_or("", |(_, names)| names).split(", ").map(str::to_string).collect();
    assert_eq!(printed, all, "{line}");
    assert!(!running.log().contains("restart to apply it"), "{}", running.log());
}

async fn post(running: &UpProcess, path: &str, object: &Value) {
    let client = running.serving.client(CONTEXT).await;
    eventually(path, || async {
        let request = http::Request::post(path).header("Content-Type", "application/json");
        let made = client.request::<Value>(request.body(object.to_string().into_bytes()).unwrap()).await;
        match made {
            Err(kube::Error::Api(status)) if status.code == 409 => Some(()),
            made => made.ok().map(drop),
        }
    })
    .await;
}

/// The repository of the Application is unreachable, and its status must report it.
#[tokio::test]
async fn plan_includes_the_engine_and_reports_skipped_parts() {
    let running = UpProcess::up("console: off\noperators: {engine: {}}\n");
    let engine = running.outside("console: off\noperators: {engine: {}}\n");
    let plan = |more: &[&str]| {
        let config = engine.to_str().unwrap();
        run(&[&["plan", "--config", config], more].concat())
    };
    running.row("engine", |_| true).await;
    let nothing = plan(&[]);
    let text = String::from_utf8_lossy(&nothing.stdout).into_owned();
    assert_eq!((nothing.status.code(), &*text), (Some(0), "nothing would be written\n"), "{}", stderr_text(&nothing));
    assert!(running.ask(&["pause", "engine"]).status.success());
    post(&running, "/api/v1/namespaces", &json!({"metadata": {"name": "argocd"}})).await;
    let project = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": {"name": "default"},
        "spec": {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}]}});
    let application = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "web"},
        "spec": {"project": "default", "source": {"repoURL": "http://127.0.0.1:9/web.git", "path": ".", "targetRevision": "HEAD"},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": "web"}}});
    let group = "/apis/argoproj.io/v1alpha1/namespaces/argocd";
    post(&running, &format!("{group}/appprojects"), &project).await;
    post(&running, &format!("{group}/applications"), &application).await;
    let written = plan(&[]);
    let text = String::from_utf8_lossy(&written.stdout).into_owned();
    assert_eq!(written.status.code(), Some(2), "{text}{}", stderr_text(&written));
    assert!(text.contains("applications.argoproj.io/argocd/web") && text.contains(" by engine argocd/web"), "{text}");
    let with_service = running.outside("console: off\noperators: {greeter: {}}\ngitops: {}\n");
    let left = run(&["plan", "--config", with_service.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&left.stdout).into_owned();
    assert_eq!(left.status.code(), Some(0), "a part without a dry run is no error: {text}{}", stderr_text(&left));
    assert!(text.starts_with("gitops was skipped: ") && text.ends_with("\nnothing else would be written\n"), "{text}");
    let nothing = run(&["plan", "--operator", "gitops", "--config", with_service.to_str().unwrap()]);
    assert_eq!(nothing.status.code(), Some(1), "nothing was planned");
    assert!(stderr_text(&nothing).starts_with("error: could not plan gitops, "), "{}", stderr_text(&nothing));
    let alone = run(&["plan", "--operator", "greeter", "--config", with_service.to_str().unwrap()]);
    assert_eq!(String::from_utf8_lossy(&alone.stdout), "nothing would be written\n", "{}", stderr_text(&alone));
}

/// The process with the cluster reads local repositories, so a plan for it does as well. For other clusters it is
/// unknown who may write Applications.
#[tokio::test]
async fn plan_reads_repositories_of_this_machine_for_its_own_cluster_alone() {
    let running = UpProcess::up("console: off\noperators: {engine: {}}\n");
    let outside = running.outside("console: off\noperators: {engine: {}}\n");
    running.row("engine", |_| true).await;
    assert!(running.ask(&["pause", "engine"]).status.success());
    let repository = running.file("repository");
    fs::create_dir_all(repository.join("deploy")).unwrap();
    fs::write(repository.join("deploy/page.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: page}\n")
        .unwrap();
    git(&repository, &["init", "--quiet", "--initial-branch", "main"]);
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "--message", "One"]);
    post(&running, "/api/v1/namespaces", &json!({"metadata": {"name": "argocd"}})).await;
    let url = format!("file://{}", repository.display());
    let application = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "web"},
        "spec": {"project": "default", "source": {"repoURL": url, "path": "deploy", "targetRevision": "main"},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": "web"}}});
    post(&running, "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications", &application).await;
    let plan = |state: &Path| {
        let (config, state) = (outside.to_str().unwrap(), state.to_str().unwrap());
        let output = run(&["plan", "--config", config, "--state-dir", state]);
        format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr_text(&output))
    };
    let own = plan(&running.file("state"));
    assert!(own.contains("OutOfSync") && !own.contains("is not allowed"), "{own}");
    let other = UpProcess::up("console: off\noperators: {engine: {}}\n");
    for state in [other.file("state"), running.file("nowhere")] {
        let foreign = plan(&state);
        assert!(foreign.contains("file:// is not allowed") && !foreign.contains("OutOfSync"), "{foreign}");
    }
    // The time of the last comparison alone is no reason to write.
    assert!(running.ask(&["resume", "engine"]).status.success());
    let state = running.file("state");
    eventually("a quiet plan", || async { (plan(&state) == "nothing would be written\n").then_some(()) }).await;
}

#[tokio::test]
async fn the_kubeconfig_has_a_context_for_each_cluster_as_soon_as_there_is_one() {
    let data = copied();
    let clusters = "clusters: {default: {}, edge: {}}\ntopology: {configuration: default, management: default, userWorkload: edge}\n";
    let config = format!("console: off\n{clusters}integrations: {{source: {}}}\n", data.path().display());
    let running = UpProcess::up(&config);
    let contexts = || {
        let file = Kubeconfig::read_from(&running.serving.kubeconfig).unwrap();
        file.contexts.into_iter().map(|context| context.name).collect::<BTreeSet<_>>()
    };
    assert!(contexts().contains("edge"), "{:?}", contexts());
    eventually("a context for each cluster of the data", || async {
        let of_data = names(&running);
        let of_data: Vec<&str> = of_data.iter().filter_map(|name| name.strip_prefix("integrations@")).collect();
        (of_data.len() >= 2 && of_data.iter().all(|name| contexts().contains(*name))).then_some(())
    })
    .await;
}

/// The last decision of every operator of the GitOps Service is repeated.
#[tokio::test]
async fn decisions_of_the_gitops_service_are_replayed_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = switchboard(&["up", "--example", "deployments", "--listen", "127.0.0.1:0", "--data-dir"]);
    let serving = crate::process::ServerProcess::start({
        command.arg(folder.path());
        command
    });
    let state = folder.path().join("kernel");
    let decided = eventually("a decision of each role", || async {
        let top: Value = serde_json::from_slice(&crate::up_process::ask(&state, &["top", "-o", "json"]).stdout).ok()?;
        let rows = top["operators"].as_array()?;
        let ran = |name: &str| rows.iter().any(|row| row["name"] == name && row["runs"].as_u64() > Some(0));
        ["gitops-deployments", "gitops-operations", "gitops-applications"].iter().all(|name| ran(name)).then_some(())
    });
    decided.await;
    drop(serving);
    let mut replayed = BTreeSet::new();
    for number in 1..40 {
        let output = crate::up_process::ask(&state, &["replay", &number.to_string()]);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!stderr_text(&output).contains("this binary has no operator"), "{}", stderr_text(&output));
        let Some(rest) = printed.strip_prefix(&format!("decision {number} of gitops-")) else { continue };
        assert!(!printed.contains("something else"), "{printed}");
        replayed.insert(rest.split(' ').next().unwrap_or_default().to_string());
    }
    assert!(replayed.len() >= 2, "{replayed:?}");
}

#[tokio::test]
async fn a_decision_about_a_plug_is_replayed_with_the_settings_it_was_made_with() {
    let running =
        UpProcess::up("console: off\noperators: {plugs: {debounce: 0s, coolDown: 0s, settings: {namespace: board}}}\n");
    post(&running, "/api/v1/namespaces", &json!({"metadata": {"name": "board"}})).await;
    let group = "/apis/integration.rock8s.com/v1beta1/namespaces/default";
    let socket = json!({"apiVersion": "integration.rock8s.com/v1beta1", "kind": "Socket", "metadata": {"name": "db"}, "spec": {}});
    let plug = json!({"apiVersion": "integration.rock8s.com/v1beta1", "kind": "Plug", "metadata": {"name": "web"},
        "spec": {"socket": {"name": "db"}}});
    post(&running, &format!("{group}/sockets"), &socket).await;
    post(&running, &format!("{group}/plugs"), &plug).await;
    running.row("plugs", |row| row["state"] == "Ready" && row["writes"].as_u64() > Some(2)).await;
    let mut seen = 0;
    for number in 1..30 {
        let output = running.ask(&["replay", &number.to_string()]);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        if printed.starts_with(&format!("decision {number} of plugs default/web")) {
            seen += 1;
            assert!(!printed.contains("kube-system"), "{printed}");
        }
    }
    assert!(seen > 2, "{seen} decisions");
}

/// Relative paths start at the configuration file, not at the working directory.
#[tokio::test]
async fn commands_of_images_are_looked_for_beside_the_configuration() {
    let config = "console: off\noperators: {plugs: {debounce: 0s, coolDown: 0s, settings: {commands: {'here:1': [./here, told]}}}}\n";
    let running = UpProcess::up_with(config, |folder| {
        let program = folder.join("here");
        fs::write(&program, "#!/bin/sh\ncp \"$1\" heard\nexit 3\n").unwrap();
        fs::write(folder.join("told"), "a word").unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&program, executable).unwrap();
    });
    let pod = json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "here:1"}]}});
    post(&running, "/api/v1/namespaces/default/pods", &pod).await;
    eventually("the program is run", || async { fs::read_to_string(running.file("heard")).ok() }).await;
}

/// An unknown name is answered with the operators to choose from, without the misbehaving samples.
#[test]
fn hint_lists_hosted_operators() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("switchboard.yaml");
    fs::write(&file, "operators: {zzzzzzzzz: {}}\n").unwrap();
    let output = run(&["run", "--config", file.to_str().unwrap()]);
    let printed = stderr_text(&output);
    assert!(printed.contains("hint: valid names: deferredresources, engine, greeter, plugs, sockets\n"), "{printed}");
    fs::write(&file, "operators: {rogue-rad: {}}\n").unwrap();
    assert!(stderr_text(&run(&["run", "--config", file.to_str().unwrap()])).contains("did you mean `rogue-red`?"));
    // A hint of `run` names settings of the file, not flags of another command.
    fs::write(&file, "gitops: {database: 'sqlite:x.db'}\n").unwrap();
    let running = UpProcess::up("console: off\noperators: {}\n");
    let mut command = switchboard(&["run", "--config"]);
    command.arg(&file).arg("--state-dir").arg(folder.path().join("state"));
    command.env("KUBECONFIG", &running.serving.kubeconfig).env_remove("SWITCHBOARD_GITOPS_KEYS");
    let printed = stderr_text(&command.output().unwrap());
    assert!(
        printed.contains("`gitops.credentialsKeyFile`") && !printed.contains("--credentials-key-file"),
        "{printed}"
    );
}

/// The commands in the console include the flags they need.
#[tokio::test]
async fn the_console_shows_commands_with_the_flags_they_need() {
    let running = UpProcess::up("console: {address: '127.0.0.1:0'}\noperators: {greeter: {}}\ngitops: {}\n");
    running.row("greeter", |_| true).await;
    let printed = running.log();
    let address =
        printed.lines().find_map(|line| line.strip_prefix("console at http://")).unwrap().trim_end_matches('/');
    let page = |path: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        page
    };
    let operator = page("/operators/greeter");
    let state = running.file("state");
    assert!(operator.contains(&format!("switchboard pause greeter --state-dir {}", state.display())), "{operator}");
    assert!(page("/objects/default/configmaps/default/x").contains(&format!(" --state-dir {}", state.display())));
}

/// The Application of a deployment has a generated name, and its error a chain of causes.
#[tokio::test]
async fn top_names_the_deployment_and_the_cause() {
    let running = UpProcess::up("console: off\noperators: {engine: {}}\ngitops: {}\n");
    let repository = running.file("repository");
    fs::create_dir_all(repository.join("deploy")).unwrap();
    fs::write(repository.join("deploy/page.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: page}\n")
        .unwrap();
    git(&repository, &["init", "--quiet", "--initial-branch", "main"]);
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "--message", "One"]);
    // The reason of an operator with one unit does not name the unit.
    for (name, path) in [("badpath", "nope"), ("web", "deploy")] {
        let source = json!({"repoURL": format!("file://{}", repository.display()), "path": path});
        let deployment = json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "GitOpsDeployment",
            "metadata": {"name": name}, "spec": {"type": "automated", "source": source}});
        let deployments = "/apis/managed-gitops.redhat.com/v1alpha1/namespaces/default/gitopsdeployments";
        post(&running, deployments, &deployment).await;
    }
    let is_blocked = |row: &Value| row["reason"].as_str().is_some_and(|reason| reason.contains("app path"));
    running.row("engine", |row| row["units"] == 2 && is_blocked(row)).await;
    let line = |more: &[&str]| {
        let top = String::from_utf8(running.ask(&[&["top"], more].concat()).stdout).unwrap();
        top.lines().find(|line| line.starts_with("engine ")).unwrap().to_string()
    };
    let (narrow, wide) = (line(&[]), line(&["-o", "wide"]));
    assert!(narrow.ends_with("  default/badpath: nope: app path does not exist"), "{narrow}");
    assert!(wide.contains("  default/badpath: ") && wide.contains("desc = nope: app path does not exist"), "{wide}");
}
