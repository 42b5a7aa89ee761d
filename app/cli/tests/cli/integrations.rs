//! `switchboard integrations` with the example data, and the manager under `up`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::sync::Arc;

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use crate::process::{CONTEXT, switchboard};
use crate::qontract_server::{FakeQontractServer, listen};
use crate::up_process::{NO_OPERATORS, UpProcess, eventually};

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/integrations")
}

/// Copies the example's data for changes.
pub fn copied() -> tempfile::TempDir {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let to = to.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                copy(&entry.path(), &to)
            } else {
                fs::copy(entry.path(), to).unwrap();
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    copy(&example().join("data"), folder.path());
    folder
}

fn integrations(arguments: &[&str]) -> Output {
    let mut command = switchboard(&["integrations"]);
    for name in ["ENVIRONMENT_NAME", "INTEGRATIONS_MANAGER_UPSTREAM", "INTEGRATIONS_MANAGER_IMAGE"] {
        command.env_remove(name);
    }
    command.args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn read(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(output)))
}

pub fn edit(folder: &Path, file: &str, from: &str, to: &str) {
    let path = folder.join(file);
    let before = fs::read_to_string(&path).unwrap();
    assert!(before.contains(from), "{before}");
    fs::write(path, before.replace(from, to)).unwrap();
}

#[test]
fn the_example_is_rendered_the_same_from_directory_and_bundle() {
    let of = |from: &Path| {
        integrations(&["render", "--no-variables", "--compat", "-o", "json", "--from", from.to_str().unwrap()])
    };
    let (directory, bundle) = (of(&example().join("data")), of(&example().join("bundle.json")));
    let (directory, bundle) = (read(&directory), read(&bundle));
    let hashes = |all: &Value| -> Vec<String> {
        let objects =
            all["targets"].as_array().unwrap().iter().flat_map(|target| target["objects"].as_array().unwrap());
        objects.map(|object| object["metadata"]["annotations"]["qontract.sha256sum"].to_string()).collect()
    };
    assert!(hashes(&bundle).len() > 30);
    let stage = |all: &Value| {
        all["targets"].as_array().unwrap().iter().find(|one| one["environment"] == "stage").unwrap()["values"].clone()
    };
    assert_eq!(stage(&bundle), stage(&directory));
}

#[test]
fn files_are_written_by_cluster_and_namespace() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_str().unwrap();
    let done = integrations(&[
        "render",
        "--from",
        example().join("data").to_str().unwrap(),
        "--environment",
        "stage",
        "--output-dir",
        folder,
    ]);
    assert!(done.status.success(), "{}", text(&done));
    let namespace = out.path().join("stage-01/integrations");
    assert!(
        namespace.join("values.json").is_file() && namespace.join("Service-qontract-reconcile.yaml").is_file(),
        "{}",
        text(&done)
    );
    assert!(namespace.join("parameters.json").is_file());
}

#[test]
fn change_of_an_image_lists_its_shards_and_exits_with_2() {
    let (before, after) = (copied(), copied());
    let from = |folder: &tempfile::TempDir| folder.path().to_str().unwrap().to_string();
    let same = integrations(&["diff", "--from", &from(&before), "--to", &from(&after)]);
    assert_eq!((same.status.code(), text(&same).as_str()), (Some(0), "# No changes\n"));
    edit(after.path(), "integrations/quay-mirror.yml", "memory: 400Mi", "memory: 500Mi");
    let differs = integrations(&["diff", "--from", &from(&before), "--to", &from(&after)]);
    assert_eq!(differs.status.code(), Some(2), "{}", text(&differs));
    assert!(text(&differs).contains("quay-mirror: changed"), "{}", text(&differs));
    let differs = integrations(&["diff", "-o", "json", "--from", &from(&before), "--to", &from(&after)]);
    assert_eq!(read(&differs)["groups"][0]["fate"], "changed");
}

#[test]
fn override_in_progress_is_reported() {
    let who = integrations(&[
        "list",
        "--from",
        example().join("data").to_str().unwrap(),
        "--different",
        "--integration",
        "terraform-resources",
    ]);
    assert!(text(&who).contains("app-int-example-01"), "{}", text(&who));
}

#[test]
fn invalid_file_is_reported_and_the_rest_is_rendered() {
    let data = copied();
    edit(data.path(), "integrations/quay-mirror.yml", "$ref: /services", "$ref: /gone");
    let done = integrations(&["render", "-o", "json", "--from", data.path().to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(1));
    let stderr_text = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(
        stderr_text.contains("error: /integrations/quay-mirror.yml:") && stderr_text.contains("which does not exist"),
        "{stderr_text}"
    );
    assert!(read(&done)["targets"].as_array().unwrap().len() > 2);
}

#[test]
fn lint_accepts_the_example_and_reports_lines_of_problems() {
    let clean = integrations(&["lint", "--strict", "--from", example().to_str().unwrap()]);
    assert_eq!((clean.status.code(), text(&clean).as_str()), (Some(0), "0 errors, 0 warnings\n"));
    let data = copied();
    edit(data.path(), "integrations/quay-mirror.yml", "$ref: /services", "$ref: /gone");
    edit(data.path(), "integrations/aws-ami-share.yml", "logs:", "log:");
    let from = data.path().to_str().unwrap();
    let printed = integrations(&["lint", "--from", from]);
    assert_eq!(printed.status.code(), Some(1));
    let stderr_text = text(&printed);
    assert!(
        stderr_text.contains("error: /integrations/quay-mirror.yml:1")
            && stderr_text.contains("managed[0].namespace: refers to /gone"),
        "{stderr_text}"
    );
    assert!(
        stderr_text
            .contains("managed[0].spec.log: is unknown and has no effect (unknown-field)\nhint: did you mean `logs`?"),
        "{stderr_text}"
    );
    let findings = read(&integrations(&["lint", "-o", "json", "--from", from]));
    assert!(
        findings.as_array().unwrap().iter().any(|one| one["rule"] == "unknown-field" && one["severity"] == "warning")
    );
}

#[test]
fn invalid_references_are_usage_errors() {
    let wrong = integrations(&["render", "--from", ".", "-r", "stage"]);
    assert_eq!(wrong.status.code(), Some(64), "{}", text(&wrong));
}

async fn logical(running: &UpProcess, name: &str) -> Client {
    let options = KubeConfigOptions { context: Some(CONTEXT.to_string()), ..KubeConfigOptions::default() };
    let file = Kubeconfig::read_from(&running.serving.kubeconfig).unwrap();
    let mut config = kube::Config::from_custom_kubeconfig(file, &options).await.unwrap();
    config.cluster_url = format!("{}clusters/{name}", config.cluster_url).parse().unwrap();
    Client::try_from(config).unwrap()
}

async fn image(client: &Client, name: &str) -> Option<String> {
    let path = format!("/apis/apps/v1/namespaces/integrations/deployments/{name}");
    let object: Value = client.request(http::Request::get(path).body(Vec::new()).unwrap()).await.ok()?;
    Some(object["spec"]["template"]["spec"]["containers"][0]["image"].as_str()?.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn up_follows_the_data_on_every_cluster() {
    let data = copied();
    let section = format!(
        "operators: {{}}\nintegrations:\n  source: {}\n  interval: 1h\n  environment: stage\n",
        data.path().display()
    );
    let running = UpProcess::up(&section);
    let client = logical(&running, "stage-01").await;
    let first = eventually("a Deployment", || image(&client, "qontract-reconcile-aws-ami-share")).await;
    edit(data.path(), "integrations/aws-ami-share.yml", "spec: &spec\n", "spec: &spec\n    imageRef: next\n");
    // The change is noticed at once, although the interval is an hour.
    let next = eventually("another image", || async {
        image(&client, "qontract-reconcile-aws-ami-share").await.filter(|image| *image != first)
    })
    .await;
    assert!(next.ends_with(":next"), "{next}");
    running.row("integrations@stage-01", |row| row["state"] == "Ready").await;
    // Installing an integration elsewhere takes one entry in one file: a missing namespace is created as well.
    let lean = json!({"$schema": "/openshift/lean-namespace-1.yml", "name": "elsewhere",
        "cluster": {"name": "stage-01", "serverUrl": "https://x"}, "environment": {"name": "stage"}});
    fs::write(data.path().join("elsewhere.yml"), lean.to_string()).unwrap();
    edit(
        data.path(),
        "integrations/aws-ami-share.yml",
        "managed:\n",
        "managed:\n- namespace: {$ref: /elsewhere.yml}\n  spec: {resources: {requests: {cpu: 1m, memory: 1Mi}, limits: {memory: 1Mi}}}\n",
    );
    let path = "/apis/apps/v1/namespaces/elsewhere/deployments/qontract-reconcile-aws-ami-share";
    eventually("the same in a namespace that is new", || async {
        client.request::<Value>(http::Request::get(path).body(Vec::new()).unwrap()).await.ok()
    })
    .await;
}

/// Decisions on other clusters are recorded with their inputs and repeated from them, including those that waited for a
/// kind.
#[tokio::test(flavor = "multi_thread")]
async fn decisions_on_every_cluster_of_the_data_are_replayed_the_same() {
    let data = copied();
    let running = UpProcess::up(&format!(
        "operators: {{}}\nintegrations:\n  source: {}\n  interval: 1h\n",
        data.path().display()
    ));
    for cluster in ["stage-01", "prod-01", "edge-01"] {
        running.row(&format!("integrations@{cluster}"), |row| row["state"] == "Ready").await;
    }
    let state = running.file("state");
    let mut seen = std::collections::BTreeSet::new();
    for decision in (1..60).step_by(4) {
        let number = decision.to_string();
        let replayed = switchboard(&["replay", &number, "-o", "json", "--state-dir"]).arg(&state).output().unwrap();
        assert_eq!(replayed.status.code(), Some(0), "decision {number}: {}", text(&replayed));
        seen.insert(read(&replayed)["unit"]["operator"].to_string());
    }
    assert!(seen.len() >= 2, "{seen:?}");
}

/// A fake qontract-server yields the same objects as the bundle it serves.
#[test]
fn server_renders_as_its_bundle_and_gets_a_user_agent() {
    let bundle = fs::read_to_string(example().join("bundle.json")).unwrap();
    // Fields that the current GraphQL schema lacks are missing in its responses.
    let mut plain: Value = serde_json::from_str(&bundle).unwrap();
    plain["data"].as_object_mut().unwrap().retain(|path, _| !path.starts_with("/integrations/beyond/"));
    let plain = plain.to_string();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bundle.json"), &plain).unwrap();
    let server = Arc::new(FakeQontractServer::new(&plain));
    let address = listen(server.clone());
    let of = |from: &str| {
        let mut command =
            switchboard(&["integrations", "render", "--no-variables", "--compat", "-o", "json", "--from"]);
        for name in ["ENVIRONMENT_NAME", "INTEGRATIONS_MANAGER_UPSTREAM", "INTEGRATIONS_MANAGER_IMAGE"] {
            command.env_remove(name);
        }
        let done = command.arg(from).env("QONTRACT_AUTHORIZATION", "Basic c2VjcmV0").output().unwrap();
        assert!(done.status.success(), "{}", text(&done));
        assert!(!text(&done).contains("c2VjcmV0"));
        read(&done)["targets"].clone()
    };
    let (requested, read) = (of(&address), of(folder.path().join("bundle.json").to_str().unwrap()));
    let hashes = |all: &Value| -> Vec<String> {
        let objects = all.as_array().unwrap().iter().flat_map(|target| target["objects"].as_array().unwrap());
        objects.map(|object| object["metadata"]["annotations"]["qontract.sha256sum"].to_string()).collect()
    };
    assert!(hashes(&read).len() > 30);
    assert_eq!(hashes(&requested), hashes(&read));
    let seen = server.requests();
    assert!(seen.iter().all(|one| one.authorization.as_deref() == Some("Basic c2VjcmV0")), "{seen:?}");
}

/// Process that is killed when the test ends.
struct RunProcess(Child);

impl Drop for RunProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns a cluster that only the data names, with the token of a cluster administrator, and its process.
async fn far(running: &UpProcess) -> (Client, String) {
    let client = running.serving.client(CONTEXT).await;
    let post = async |path: &str, body: Value| -> Value {
        let request = http::Request::post(path).header("Content-Type", "application/json");
        client.request(request.body(body.to_string().into_bytes()).unwrap()).await.unwrap()
    };
    post("/api/v1/namespaces", json!({"metadata": {"name": "integrations"}})).await;
    post("/api/v1/namespaces/default/serviceaccounts", json!({"metadata": {"name": "manager"}})).await;
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"});
    let subject = json!({"kind": "ServiceAccount", "name": "manager", "namespace": "default"});
    let binding = json!({"metadata": {"name": "manager"}, "roleRef": role, "subjects": [subject]});
    post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding).await;
    let requested = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let made = post("/api/v1/namespaces/default/serviceaccounts/manager/token", requested).await;
    (client.clone(), made["status"]["token"].as_str().unwrap().to_string())
}

/// Starts the manager with a token, with or without verification of certificates; its output goes to a file.
fn manager(running: &UpProcess, name: &str, token: &str, skip: bool) -> (RunProcess, PathBuf) {
    let folder = running.file(name);
    let kubeconfig = Kubeconfig::read_from(&running.serving.kubeconfig).unwrap();
    let address = kubeconfig.clusters[0].cluster.as_ref().unwrap().server.clone().unwrap();
    fs::create_dir_all(folder.join("tokens/team/creds")).unwrap();
    fs::create_dir_all(folder.join("data")).unwrap();
    fs::write(folder.join("tokens/team/creds/token"), token).unwrap();
    fs::write(folder.join("tokens/team/creds/server"), &address).unwrap();
    let cluster = json!({"name": "far", "serverUrl": address, "insecureSkipTLSVerify": skip,
        "automationToken": {"path": "team/creds", "field": "token"}});
    let namespace = json!({"$schema": "/openshift/lean-namespace-1.yml", "name": "integrations", "cluster": cluster,
        "environment": {"name": "e"}});
    fs::write(folder.join("data/ns.yml"), namespace.to_string()).unwrap();
    let spec = json!({"resources": {"requests": {"cpu": "100m", "memory": "1Mi"}, "limits": {"memory": "2Mi"}}});
    let integration = json!({"$schema": "/app-sre/integration-1.yml", "name": "quay-mirror",
        "managed": [{"namespace": {"$ref": "/ns.yml"}, "spec": spec}]});
    fs::write(folder.join("data/i.yml"), integration.to_string()).unwrap();
    let config = format!(
        "clusters: {{default: {{kubeconfig: {}}}}}\noperators: {{}}\nintegrations: {{source: data, tokens: tokens, interval: 1h}}\n",
        running.serving.kubeconfig.display()
    );
    fs::write(folder.join("switchboard.yaml"), config).unwrap();
    let stderr_text = folder.join("said");
    let mut command = switchboard(&["run", "--config"]);
    command.arg(folder.join("switchboard.yaml")).arg("--state-dir").arg(folder.join("state"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(fs::File::create(&stderr_text).unwrap());
    (RunProcess(command.spawn().unwrap()), stderr_text)
}

/// Spec 8.4, 14: qontract-reconcile verified no certificates and passed tokens on command lines.
#[tokio::test(flavor = "multi_thread")]
async fn certificates_are_verified_and_tokens_are_not_arguments() {
    let running = UpProcess::up(NO_OPERATORS);
    let (client, token) = far(&running).await;
    let (refusing, stderr_text) = manager(&running, "refusing", &token, false);
    eventually("the certificate is refused", || async {
        fs::read_to_string(&stderr_text).unwrap_or_default().contains("invalid peer certificate").then_some(())
    })
    .await;
    assert_eq!(image(&client, "qontract-reconcile-quay-mirror").await, None);
    drop(refusing);
    let (child, stderr_text) = manager(&running, "trusting", &token, true);
    eventually("a Deployment, made by token", || image(&client, "qontract-reconcile-quay-mirror")).await;
    let lines: Vec<String> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.unwrap().path().join("cmdline")).ok())
        .collect();
    assert!(lines.iter().any(|line| line.contains("trusting/switchboard.yaml")), "the manager runs");
    assert!(!lines.iter().any(|line| line.contains(&token)), "a token is on a command line");
    drop(child);
    let journal = fs::read_dir(running.file("trusting/state/journal")).unwrap().map(|entry| entry.unwrap().path());
    for file in journal.chain([stderr_text]).filter(|path| path.is_file()) {
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        assert!(!text.contains(&token), "{} holds the token", file.display());
    }
}

/// An expired token is replaced while the manager runs; a cluster whose URL changed is not written to any more.
#[tokio::test(flavor = "multi_thread")]
async fn new_token_is_used_and_another_server_is_not_written_to() {
    let running = UpProcess::up(NO_OPERATORS);
    let (client, token) = far(&running).await;
    let (_running, stderr_text) = manager(&running, "rotating", "expired", true);
    let says = async |what: &str| {
        eventually(what, || async { fs::read_to_string(&stderr_text).unwrap_or_default().contains(what).then_some(()) })
            .await
    };
    eventually("the token is refused", || async {
        let stderr_text = fs::read_to_string(&stderr_text).unwrap_or_default();
        ["401", "nauthorized"].iter().any(|word| stderr_text.contains(word)).then_some(())
    })
    .await;
    let data = running.file("rotating/data");
    fs::write(running.file("rotating/tokens/team/creds/token"), format!("{token}\n")).unwrap();
    // A change of the data triggers a pass, as does the interval.
    fs::write(data.join("note.yml"), "{$schema: /x-1.yml}").unwrap();
    eventually("a Deployment, by the new token", || image(&client, "qontract-reconcile-quay-mirror")).await;
    let namespace = fs::read_to_string(data.join("ns.yml")).unwrap();
    let moved = namespace.replacen("https://", "https://elsewhere.", 1);
    assert_ne!(moved, namespace);
    fs::write(data.join("ns.yml"), moved).unwrap();
    says("the data changed the server of cluster far to ").await;
    edit(&data, "i.yml", "\"spec\":{", "\"spec\":{\"imageRef\":\"next\",");
    says("nothing more is written to the old one").await;
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let image = image(&client, "qontract-reconcile-quay-mirror").await.unwrap();
    assert!(!image.ends_with(":next"), "{image}");
}

/// Spec 8.1, 1: an unreachable cluster affects only itself; in qontract-reconcile it affected all clusters.
#[tokio::test(flavor = "multi_thread")]
async fn plan_reports_other_clusters_if_one_is_unreachable() {
    let running = UpProcess::up(NO_OPERATORS);
    far(&running).await;
    let folder = running.file("two");
    fs::create_dir_all(folder.join("data")).unwrap();
    fs::create_dir_all(folder.join("tokens/team/creds")).unwrap();
    fs::write(folder.join("tokens/team/creds/token"), "t").unwrap();
    fs::write(folder.join("tokens/team/creds/server"), "https://127.0.0.1:1\n").unwrap();
    let spec = json!({"resources": {"requests": {"cpu": "100m", "memory": "1Mi"}, "limits": {"memory": "2Mi"}}});
    let managed: Vec<Value> = ["near", "far"]
        .into_iter()
        .map(|name| {
            let cluster = json!({"name": name, "serverUrl": "https://127.0.0.1:1", "automationToken": {"path": "team/creds", "field": "token"}});
            let namespace = json!({"$schema": "/openshift/lean-namespace-1.yml", "name": "integrations", "cluster": cluster,
                "environment": {"name": name}});
            fs::write(folder.join(format!("data/{name}.yml")), namespace.to_string()).unwrap();
            json!({"namespace": {"$ref": format!("/{name}.yml")}, "spec": spec})
        })
        .collect();
    let integration = json!({"$schema": "/app-sre/integration-1.yml", "name": "quay-mirror", "managed": managed});
    fs::write(folder.join("data/i.yml"), integration.to_string()).unwrap();
    let kubeconfig = running.serving.kubeconfig.display();
    let config = format!(
        "clusters: {{default: {{kubeconfig: {kubeconfig}}}, near: {{kubeconfig: {kubeconfig}}}}}\n\
         topology: {{configuration: default, management: default, userWorkload: default}}\noperators: {{}}\n\
         integrations: {{source: data, tokens: tokens}}\n"
    );
    fs::write(folder.join("switchboard.yaml"), config).unwrap();
    let mut command = switchboard(&["integrations", "plan", "--timeout", "10s", "--config"]);
    let planned = command.arg(folder.join("switchboard.yaml")).output().unwrap();
    let stderr_text = text(&planned);
    assert_eq!(planned.status.code(), Some(2), "{stderr_text}");
    assert!(
        stderr_text
            .contains("create deployments.apps/integrations/qontract-reconcile-quay-mirror by integrations@near"),
        "{stderr_text}"
    );
    assert!(stderr_text.contains("error: could not plan for cluster far"), "{stderr_text}");
    // If nothing could be planned, the output does not state that nothing would be written.
    fs::remove_file(folder.join("data/near.yml")).unwrap();
    fs::write(
        folder.join("data/i.yml"),
        json!({"$schema": "/app-sre/integration-1.yml", "name": "quay-mirror",
        "managed": [{"namespace": {"$ref": "/far.yml"}, "spec": spec}]})
        .to_string(),
    )
    .unwrap();
    let mut command = switchboard(&["integrations", "plan", "--timeout", "10s", "--config"]);
    let planned = command.arg(folder.join("switchboard.yaml")).output().unwrap();
    let stderr_text = text(&planned);
    assert_eq!(planned.status.code(), Some(1), "{stderr_text}");
    assert!(
        stderr_text.contains("could not plan for cluster far") && !stderr_text.contains("nothing would be written"),
        "{stderr_text}"
    );
    // A token is sent only to its own server.
    fs::write(folder.join("tokens/team/creds/server"), "https://elsewhere").unwrap();
    let mut command = switchboard(&["integrations", "plan", "--timeout", "10s", "--config"]);
    let stderr_text = text(&command.arg(folder.join("switchboard.yaml")).output().unwrap());
    assert!(stderr_text.contains("the token team/creds is not for cluster far"), "{stderr_text}");
}

#[test]
fn unknown_environment_lists_the_known_ones() {
    let data = example().join("data");
    let data = data.to_str().unwrap();
    for arguments in
        [vec!["render", "--from", data], vec!["list", "--from", data], vec!["diff", "--from", data, "--to", data]]
    {
        let refused = integrations(&[&arguments[..], &["--environment", "nope"]].concat());
        let stderr_text = text(&refused);
        assert_eq!(refused.status.code(), Some(1), "{arguments:?}: {stderr_text}");
        assert!(
            stderr_text.contains("the data has no environment `nope`")
                && stderr_text.contains("hint: environments: production, stage"),
            "{stderr_text}"
        );
    }
}

/// Compares commits of the repository in the working directory, as a whole or by folder.
#[test]
fn commits_are_compared() {
    let data = copied();
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.args(["-c", "user.name=n", "-c", "user.email=e@x", "-c", "init.defaultBranch=main"]).args(arguments);
        let done = command.current_dir(data.path()).output().unwrap();
        assert!(done.status.success(), "{}", text(&done));
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "one"]);
    git(&["tag", "before"]);
    edit(data.path(), "integrations/quay-mirror.yml", "memory: 400Mi", "memory: 500Mi");
    git(&["commit", "-q", "-a", "-m", "two"]);
    let diff = |from: &str, to: &str| {
        let mut command = switchboard(&["integrations", "diff", "-o", "json", "--from", from, "--to", to]);
        command.env_remove("ENVIRONMENT_NAME").current_dir(data.path()).output().unwrap()
    };
    let differs = diff("git:before", "git:HEAD");
    assert_eq!(differs.status.code(), Some(2), "{}", text(&differs));
    let groups = read(&differs)["groups"].clone();
    assert!(groups.to_string().contains("quay-mirror") && groups.as_array().unwrap().len() == 1, "{groups}");
    assert_eq!(diff("git:HEAD", ".").status.code(), Some(0), "what is checked out is what is committed");
    assert_eq!(diff("git:before", "git:before").status.code(), Some(0));
    let unknown = diff("git:before", "git:nowhere");
    assert_eq!(unknown.status.code(), Some(1));
    assert!(text(&unknown).contains("could not read commit nowhere"), "{}", text(&unknown));
}
