//! `switchboard gitops backend` and `agent` as processes: webhook secrets and messages at the start.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ring::hmac;
use serde_json::{Value, json};

use crate::gitops_verbs::GitopsCluster;
use crate::process::{stderr_text, switchboard};

/// Timeout for every expectation.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);

/// Secret of webhook events, which must not be printed.
const SECRET: &str = "canary-of-hooks-4c1e7";

/// Running role, stopped when the test ends.
struct RoleProcess {
    child: Child,
    log_file: PathBuf,
}

impl Drop for RoleProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl RoleProcess {
    /// Starts a command in the fixture's folder, with its output in a file.
    fn start(cluster: &GitopsCluster, name: &str, mut command: Command) -> RoleProcess {
        let log_file = cluster.folder().join(format!("{name}.said"));
        let file = File::create(&log_file).unwrap();
        command.current_dir(cluster.folder()).env("SWITCHBOARD_LOG", "debug");
        let child = command.stdout(Stdio::from(file.try_clone().unwrap())).stderr(Stdio::from(file)).spawn().unwrap();
        RoleProcess { child, log_file }
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.log_file).unwrap()
    }

    /// Waits for a text in the output, and returns the rest of the line.
    async fn says(&self, words: &str) -> String {
        let after =
            || self.text().split(words).nth(1).and_then(|rest| rest.split_once('\n')).map(|(line, _)| line.to_string());
        eventually(words, async || after(), || self.text()).await
    }
}

async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>, printed: impl Fn() -> String) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < end, "never: {what}\n{}", printed());
        tokio::time::sleep(POLL).await;
    }
}

/// Returns the command of a role whose clusters are both the fixture's, on a database in its folder.
fn role(cluster: &GitopsCluster, name: &str) -> Command {
    let mut command = switchboard(&["gitops", name, "--database", "sqlite:g.db", "--plaintext-credentials"]);
    for variable in ["SWITCHBOARD_GITOPS_DATABASE", "SWITCHBOARD_GITOPS_KEYS", "DB_ADDR", "ARGO_CD_NAMESPACE"] {
        command.env_remove(variable);
    }
    command.args(["--state-dir", &format!("{name}.state"), "--engine-kubeconfig"]).arg(cluster.kubeconfig());
    if name == "backend" {
        command.arg("--kubeconfig").arg(cluster.kubeconfig());
    }
    command
}

/// Runs a command with the same database and cluster.
async fn run_ok(cluster: &GitopsCluster, arguments: &[&str]) {
    let mut command = switchboard(&["gitops"]);
    command.args(arguments).current_dir(cluster.folder()).arg("--kubeconfig").arg(cluster.kubeconfig());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", stderr_text(&output));
}

fn tag(secret: &str, body: &str) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), body.as_bytes());
    tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Posts an event, and returns status and body of the response.
async fn post(address: &str, headers: &[(&str, String)], body: &str) -> (u16, String) {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let (address, length, body) = (address.to_string(), body.len(), body.to_string());
    let answer = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(&address).unwrap();
        let head = format!("POST /api/v1/webhookevent HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
        let content = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
        stream.write_all(format!("{head}{content}{headers}\r\n{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    });
    let answer = answer.await.unwrap();
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_string())
}

/// Waits for the only Application.
async fn application(cluster: &GitopsCluster, roles: [&RoleProcess; 2]) -> Value {
    let path = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications";
    let look = async || cluster.get(path).await?["items"].as_array()?.first().cloned();
    eventually("an Application", look, || roles.map(RoleProcess::text).join("\n")).await
}

fn is_refreshed(application: &Value) -> bool {
    application["metadata"]["annotations"]["argocd.argoproj.io/refresh"] == "normal"
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_waits_for_the_backend_to_migrate() {
    let cluster = GitopsCluster::lay().await;
    let mut command = role(&cluster, "agent");
    command.env("SELF_HEAL_INTERVAL", "5");
    let agent = RoleProcess::start(&cluster, "agent", command);
    agent.says("note: SELF_HEAL_INTERVAL has no effect: ").await;
    agent.says("waiting for a backend to migrate the database").await;
    let mut command = role(&cluster, "backend");
    command.args(["--console", "127.0.0.1:0", "--console-host", "gitops.example.org"]);
    let backend = RoleProcess::start(&cluster, "backend", command);
    let address = backend.says("console at http://").await.trim_end_matches('/').to_string();
    assert!(!address.ends_with(":7467"), "the configured address is used: {address}");
    agent.says("running gitops agent").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_events_signed_with_the_secret_are_accepted() {
    let cluster = GitopsCluster::lay().await;
    fs::write(cluster.folder().join("hook"), format!("{SECRET}\n")).unwrap();
    let database = ["--database", "sqlite:g.db", "--plaintext-credentials"];
    let mut migrate = switchboard(&["gitops", "migrate"]);
    assert!(migrate.args(database).current_dir(cluster.folder()).output().unwrap().status.success());
    run_ok(&cluster, &[&["fleet", "add", "argocd", "--create-namespace"][..], &database].concat()).await;
    let mut command = role(&cluster, "backend");
    command.args(["--webhook-secret-file", "hook"]);
    let backend = RoleProcess::start(&cluster, "backend", command);
    let agent = RoleProcess::start(&cluster, "agent", role(&cluster, "agent"));
    let address = backend.says("console at http://").await.trim_end_matches('/').to_string();
    run_ok(&cluster, &["create", "web", "--repo", "https://git.example/shop/web", "--path", "deploy", "-n", "shop"])
        .await;
    application(&cluster, [&backend, &agent]).await;

    let event = json!({ "ref": "refs/heads/main", "repository": {
        "clone_url": "https://git.example/shop/web.git", "default_branch": "main",
    } });
    let event = event.to_string();
    let github = |signature: String| vec![("X-GitHub-Event", "push".to_string()), ("X-Hub-Signature-256", signature)];
    let other = event.replace("main", "evil");
    let mut answers = String::new();
    for (headers, why) in [
        (Vec::new(), "nothing is shown"),
        (vec![("X-GitHub-Event", "push".to_string())], "there is no signature"),
        (github(format!("sha256={}", tag("another", &event))), "another secret"),
        (github(format!("sha256={}", tag("", &event))), "no secret"),
        (github(format!("sha256={}", tag(SECRET, &other))), "another event"),
        (github(tag(SECRET, &event)), "the wrong form"),
        (vec![("X-Hub-Signature", format!("sha256={}", tag(SECRET, &event)))], "the header of SHA-1"),
        (vec![("X-Gitlab-Token", "another".to_string())], "another token"),
        (vec![("X-Gitlab-Token", String::new())], "an empty token"),
        (vec![("Authorization", format!("Bearer {SECRET}"))], "a secret is no token"),
    ] {
        let (status, body) = post(&address, &headers, &event).await;
        assert_eq!(status, 403, "{why}: {body}");
        assert!(body.contains("the event has no valid signature"), "{why}: {body}");
        answers.push_str(&body);
    }
    assert!(!is_refreshed(&application(&cluster, [&backend, &agent]).await), "nothing was believed");

    for headers in [
        github(format!("sha256={}", tag(SECRET, &event))),
        vec![("X-Gitlab-Event", "Push Hook".to_string()), ("X-Gitlab-Token", SECRET.to_string())],
        vec![("X-Gitea-Event", "push".to_string()), ("X-Gitea-Signature", tag(SECRET, &event))],
        vec![("X-Forgejo-Event", "push".to_string()), ("X-Forgejo-Signature", tag(SECRET, &event))],
    ] {
        let (status, body) = post(&address, &headers, &event).await;
        assert_eq!(status, 202, "{headers:?}: {body}");
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), json!({ "matched": 1, "refreshed": 1 }));
        answers.push_str(&body);
    }
    assert!(is_refreshed(&application(&cluster, [&backend, &agent]).await));

    let kept = files(&cluster.folder().join("backend.state"));
    assert!(!kept.is_empty(), "there is a journal");
    for (place, text) in [("an answer", answers), ("the log", backend.text()), ("the agent's log", agent.text())] {
        assert!(!text.contains(SECRET), "the secret is in {place}: {text}");
    }
    for file in kept.into_iter().chain([cluster.folder().join("g.db")]) {
        let bytes = fs::read(&file).unwrap();
        assert!(!bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()), "it is in {}", file.display());
    }
}

/// Lists all files below a folder.
fn files(folder: &std::path::Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&entry.path())),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_secret_file_is_refused_at_startup() {
    let cluster = GitopsCluster::lay().await;
    fs::write(cluster.folder().join("empty"), "").unwrap();
    fs::write(cluster.folder().join("blank"), " \n").unwrap();
    fs::write(cluster.folder().join("below"), format!("\n{SECRET}\n")).unwrap();
    for (file, error) in [
        ("nowhere", "error: could not read the secret of webhook events from `nowhere`\n"),
        (".", "error: could not read the secret of webhook events from `.`\n"),
        ("empty", "error: the secret of webhook events in `empty` is empty\n"),
        ("blank", "error: the secret of webhook events in `blank` is empty\n"),
        ("below", "error: the secret of webhook events in `below` is empty\n"),
    ] {
        let mut command = role(&cluster, "backend");
        command.args(["--webhook-secret-file", file]).current_dir(cluster.folder());
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        assert_eq!(output.status.code(), Some(1), "{file}: {}", stderr_text(&output));
        assert!(
            stderr_text(&output).contains(error) && stderr_text(&output).contains("\nhint: "),
            "{file}: {}",
            stderr_text(&output)
        );
        assert!(!stderr_text(&output).contains(SECRET), "{file}: {}", stderr_text(&output));
        assert!(!cluster.folder().join("g.db").exists(), "{file}: nothing is made for what does not start");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hint_names_the_setting_of_the_command() {
    let cluster = GitopsCluster::lay().await;
    let no_argo_cd = "gitops: the fleet has no Argo CD instance, and namespace `nowhere` does not exist";
    let mut command = role(&cluster, "backend");
    command.args(["--argocd-namespace", "nowhere"]);
    let backend = RoleProcess::start(&cluster, "backend", command);
    backend.says("running ").await;
    let text = backend.text();
    assert!(text.contains(no_argo_cd) && text.contains(" or set another one with --argocd-namespace\n"), "{text}");
    assert!(!text.contains("gitops.namespace"), "{text}");

    let kubeconfig = cluster.kubeconfig().display().to_string();
    let config = format!("clusters: {{default: {{kubeconfig: {kubeconfig}}}}}\ngitops: {{namespace: nowhere}}\n");
    fs::write(cluster.folder().join("switchboard.yaml"), config).unwrap();
    let mut command = switchboard(&["run", "--state-dir", "run.state"]);
    command.env_remove("SWITCHBOARD_GITOPS_DATABASE").env_remove("DB_ADDR");
    let run = RoleProcess::start(&cluster, "run", command);
    run.says("running ").await;
    let text = run.text();
    assert!(text.contains(no_argo_cd) && text.contains(" or set another one with `gitops.namespace`\n"), "{text}");
    assert!(!text.contains("--argocd-namespace"), "{text}");
}
