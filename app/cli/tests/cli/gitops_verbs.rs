//! Commands of `switchboard gitops` on a cluster without a running service.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Output, Stdio};

use http::Request;
use serde_json::{Value, json};
use switchboard_cluster::Cluster;
use switchboard_cluster::auth::authentication::Authenticator;
use switchboard_cluster::auth::certificates::Certificates;
use switchboard_cluster::auth::filters::AuthKeys;
use switchboard_cluster::auth::kubeconfig::{self, KubeconfigContext};
use switchboard_cluster::auth::token::TokenKey;
use switchboard_cluster::clock_and_rng::ClockAndRng;
use switchboard_cluster::listener::{BoundPort, Listener};
use switchboard_cluster::store::{ObjectStore, StoreLimits};
use switchboard_object::yaml;

use crate::process::{stderr_text, switchboard};

const GROUP: &str = "/apis/managed-gitops.redhat.com/v1alpha1/namespaces/shop";

/// Cluster of this process with the service's kinds and a namespace `shop`.
pub struct GitopsCluster {
    cluster: Cluster,
    _listener: Listener,
    folder: tempfile::TempDir,
}

impl GitopsCluster {
    pub async fn bare() -> GitopsCluster {
        let port = BoundPort::bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0)).await.unwrap();
        let (address, ambient) = (port.address(), ClockAndRng::system());
        let certificates = Certificates::ephemeral(&[address.ip()], ambient.now()).unwrap();
        let authority = certificates.authority.certificate.clone();
        let authenticator = Authenticator::new(TokenKey::ephemeral().unwrap(), None);
        let sessions = AuthKeys { authenticator, authority };
        let cluster = Cluster::with_keys(sessions, ObjectStore::in_memory(StoreLimits::default()), ambient).await;
        cluster.start_controllers();
        let listener = cluster.listen(port, &certificates).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let context = KubeconfigContext { name: "ground".into(), server: format!("https://{address}") };
        kubeconfig::write(&folder.path().join("kubeconfig"), "admin", &certificates, &[context]).unwrap();
        let gitops_cluster = GitopsCluster { cluster, _listener: listener, folder };
        gitops_cluster.post("/api/v1/namespaces", json!({ "metadata": { "name": "shop" } })).await;
        gitops_cluster
    }

    pub async fn lay() -> GitopsCluster {
        let gitops_cluster = GitopsCluster::bare().await;
        let crds = switchboard(&["gitops", "crds"]).output().unwrap();
        for document in yaml::read_all(&String::from_utf8(crds.stdout).unwrap()).unwrap() {
            gitops_cluster.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", document.value).await;
        }
        for plural in ["gitopsdeployments", "gitopsdeploymentsyncruns", "gitopsdeploymentmanagedenvironments"] {
            while gitops_cluster.get(&format!("{GROUP}/{plural}")).await.is_none() {
                tokio::task::yield_now().await;
            }
        }
        gitops_cluster
    }

    /// Returns the folder of the fixture.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    async fn post(&self, path: &str, object: Value) -> Value {
        let request = Request::post(path).header("Content-Type", "application/json");
        self.cluster.client().request(request.body(object.to_string().into_bytes()).unwrap()).await.unwrap()
    }

    pub async fn get(&self, path: &str) -> Option<Value> {
        self.cluster.client().request(Request::get(path).body(Vec::new()).unwrap()).await.ok()
    }

    async fn status(&self, path: &str, status: Value) {
        let request = Request::patch(format!("{GROUP}/{path}/status"));
        let request = request.header("Content-Type", "application/merge-patch+json");
        let body = json!({ "status": status }).to_string().into_bytes();
        self.cluster.client().request::<Value>(request.body(body).unwrap()).await.unwrap();
    }

    async fn patch(&self, path: &str, patch: Value) {
        let request = Request::patch(path).header("Content-Type", "application/merge-patch+json");
        self.cluster.client().request::<Value>(request.body(patch.to_string().into_bytes()).unwrap()).await.unwrap();
    }

    /// Runs a command in `shop`, on a separate thread.
    async fn run(&self, arguments: &[&str]) -> Output {
        self.run_with(arguments, "").await
    }

    async fn run_with(&self, arguments: &[&str], stdin: &str) -> Output {
        let mut command = switchboard(&["gitops"]);
        command.args(arguments).arg("--kubeconfig").arg(self.kubeconfig()).args(["-n", "shop"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).env("NO_COLOR", "1");
        let stdin = stdin.to_string();
        let work = move || {
            let mut child = command.spawn().unwrap();
            let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
            child.wait_with_output().unwrap()
        };
        tokio::task::spawn_blocking(work).await.unwrap()
    }
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr_text(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

const CREATE: [&str; 6] = ["create", "web", "--repo", "https://git.example/shop/web", "--path", "deploy"];

fn deployed(health: &str) -> Value {
    json!({
        "sync": { "status": "Synced", "revision": "0123456789abcdef" }, "health": { "status": health },
        "reconciledState": { "source": { "path": "", "repoURL": "", "branch": "" }, "destination": { "name": "", "namespace": "" } },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_is_created_shown_waited_for_and_deleted() {
    let gitops_cluster = GitopsCluster::lay().await;
    assert_eq!(printed(&gitops_cluster.run(&CREATE).await), "application web created\n");
    assert_eq!(
        printed(&gitops_cluster.run(&["get"]).await),
        "Name  State    Sync  Health  Message\nweb   Waiting  -     -       for the first comparison by Argo CD\n"
    );
    let late = gitops_cluster.run(&["wait", "web", "--timeout", "1s"]).await;
    assert_eq!(late.status.code(), Some(3), "{}", stderr_text(&late));
    assert_eq!(
        stderr_text(&late),
        "error: application `web` is not ready after 1 seconds\n  Waiting for the first comparison by Argo CD\n\
         hint: wait longer with --timeout DURATION, or check it with `switchboard gitops get`\n"
    );
    gitops_cluster.status("gitopsdeployments/web", deployed("Healthy")).await;
    assert_eq!(stderr_text(&gitops_cluster.run(&["wait", "web"]).await), "application web is ready\n");
    let wide = printed(&gitops_cluster.run(&["get", "web", "-o", "wide"]).await);
    assert!(
        wide.contains("Ready  Synced  Healthy  https://git.example/shop/web  deploy  -       0123456789ab"),
        "{wide}"
    );
    let object: Value =
        serde_json::from_str(&printed(&gitops_cluster.run(&["get", "web", "-o", "json"]).await)).unwrap();
    assert_eq!((&object["kind"], &object["spec"]["type"]), (&json!("GitOpsDeployment"), &json!("automated")));
    // Field manager that `why` shows.
    assert_eq!(object["metadata"]["managedFields"][0]["manager"], "switchboard-gitops", "{object}");
    let list: Value = serde_json::from_str(&printed(&gitops_cluster.run(&["get", "-o", "json"]).await)).unwrap();
    assert_eq!(list["items"][0]["kind"], "GitOpsDeployment");
    assert!(printed(&gitops_cluster.run(&["get", "-o", "yaml"]).await).contains("kind: List\n"));
    let deleted: Value =
        serde_json::from_str(&printed(&gitops_cluster.run(&["delete", "web", "-o", "json"]).await)).unwrap();
    assert_eq!((&deleted["kind"], &deleted["metadata"]["name"]), (&json!("GitOpsDeployment"), &json!("web")));
    assert_eq!(stderr_text(&gitops_cluster.run(&["get"]).await), "no applications in namespace `shop`\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_for_a_deletion_includes_deployed_resources() {
    let gitops_cluster = GitopsCluster::lay().await;
    printed(&gitops_cluster.run(&CREATE).await);
    let path = format!("{GROUP}/gitopsdeployments/web");
    // The deployed resources still exist.
    let late = gitops_cluster.run(&["delete", "web", "--wait", "--timeout", "1s"]).await;
    assert_eq!(late.status.code(), Some(3), "{}", stderr_text(&late));
    let going = gitops_cluster.get(&path).await.expect("it is kept until all is gone");
    assert!(going["metadata"]["deletionTimestamp"].is_string());
    // The service deletes the object when all its resources are deleted.
    let gone = gitops_cluster.run(&["wait", "web", "--for", "deleted"]);
    let let_go = gitops_cluster.patch(&path, json!({ "metadata": { "finalizers": null } }));
    assert_eq!(stderr_text(&tokio::join!(gone, let_go).0), "application web is deleted\n");
    assert!(gitops_cluster.get(&path).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn sync_is_requested_and_waited_for() {
    let gitops_cluster = GitopsCluster::lay().await;
    printed(&gitops_cluster.run(&CREATE).await);
    let refused = gitops_cluster.run(&["sync", "web"]).await;
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr_text(&refused).starts_with("error: application `web` cannot be synced by hand: it is automated\nhint: ")
    );
    printed(
        &gitops_cluster.run(&["create", "api", "--repo", "https://git.example/a", "--path", "x", "--manual"]).await,
    );
    let condition = |status: &str, message: &str| json!({ "conditions": [{ "type": "ErrorOccurred", "status": status, "message": message, "reason": "", "lastTransitionTime": "2026-01-01T00:00:00Z" }] });
    let mut broken = condition("True", "no such environment");
    broken["reconciledState"] = deployed("")["reconciledState"].clone();
    gitops_cluster.status("gitopsdeployments/api", broken).await;
    let refused = gitops_cluster.run(&["sync", "api"]).await;
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr_text(&refused).starts_with("error: application `api` cannot be synced: no such environment\nhint: ")
    );
    gitops_cluster.status("gitopsdeployments/api", condition("False", "")).await;
    let made: Value =
        serde_json::from_str(&printed(&gitops_cluster.run(&["sync", "api", "--revision", "abc", "-o", "json"]).await))
            .unwrap();
    assert_eq!(made["spec"], json!({ "gitopsDeploymentName": "api", "revisionID": "abc" }));
    let name = made["metadata"]["name"].as_str().unwrap();
    gitops_cluster.status(&format!("gitopsdeploymentsyncruns/{name}"), condition("True", "no such commit")).await;
    let failed = gitops_cluster.run(&["wait", name, "--for", "syncrun"]).await;
    assert_eq!(failed.status.code(), Some(1));
    assert!(stderr_text(&failed).starts_with(&format!("error: sync run `{name}` is not done: no such commit\nhint: ")));
    gitops_cluster.status(&format!("gitopsdeploymentsyncruns/{name}"), condition("False", "")).await;
    assert_eq!(
        stderr_text(&gitops_cluster.run(&["wait", name, "--for", "syncrun"]).await),
        format!("sync run {name} is done\n")
    );
    assert!(printed(&gitops_cluster.run(&["get", "--kind", "runs"]).await).contains("Ready  api          abc       -"));
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_come_from_files_and_stdin_into_secrets() {
    let gitops_cluster = GitopsCluster::lay().await;
    let create = ["env", "create", "prod", "--url", "https://one.example", "--credentials", "-"];
    let made = gitops_cluster.run_with(&create, "canary-kubeconfig: 1\n").await;
    assert_eq!(printed(&made), "environment prod created\n");
    let secret = gitops_cluster.get("/api/v1/namespaces/shop/secrets/prod-kubeconfig").await.unwrap();
    assert_eq!(secret["type"], "managed-gitops.redhat.com/managed-environment");
    assert_eq!(secret["metadata"]["ownerReferences"][0]["kind"], "GitOpsDeploymentManagedEnvironment");
    assert_eq!(secret["data"]["kubeconfig"], "Y2FuYXJ5LWt1YmVjb25maWc6IDEK");
    assert!(
        printed(&gitops_cluster.run(&["env", "get"]).await)
            .contains("prod  Waiting  https://one.example  for the check of the cluster")
    );
    let again = gitops_cluster.run_with(&create, "x: 1\n").await;
    assert_eq!(
        stderr_text(&again),
        "error: environment `prod` already exists in namespace `shop`\n\
         hint: choose another name, or delete it first\n"
    );
    let password = gitops_cluster.folder.path().join("password");
    std::fs::write(&password, "canary-password\n").unwrap();
    let password = password.display().to_string();
    let repo =
        ["repo", "create", "web", "--url", "https://git.example/w", "--username", "bot", "--password-file", &password];
    assert_eq!(printed(&gitops_cluster.run(&repo).await), "repository credential web created\n");
    let secret = gitops_cluster.get("/api/v1/namespaces/shop/secrets/web-repository").await.unwrap();
    assert_eq!(
        (&secret["data"]["username"], &secret["data"]["password"]),
        (&json!("Ym90"), &json!("Y2FuYXJ5LXBhc3N3b3Jk"))
    );
    let late = gitops_cluster.run(&["wait", "web", "--for", "repository", "--timeout", "1s"]).await;
    assert_eq!(late.status.code(), Some(3), "{}", stderr_text(&late));
    let condition = |status: &str, message: &str| json!({ "conditions": [{ "type": "ErrorOccurred", "status": status, "message": message, "reason": "r", "lastTransitionTime": "2026-01-01T00:00:00Z" }] });
    gitops_cluster.status("gitopsdeploymentrepositorycredentials/web", condition("True", "no such user")).await;
    let refused = gitops_cluster.run(&["wait", "web", "--for", "repository"]).await;
    assert!(
        stderr_text(&refused).starts_with("error: repository credential `web` is not accepted: no such user\nhint: "),
        "{}",
        stderr_text(&refused)
    );
    gitops_cluster.status("gitopsdeploymentrepositorycredentials/web", condition("False", "")).await;
    assert_eq!(
        stderr_text(&gitops_cluster.run(&["wait", "web", "--for", "repository"]).await),
        "repository credential web is accepted\n"
    );
    let short = ["repo", "create", "ssh", "--url", "git@git.example:shop/web.git", "--ssh-key-file", &password];
    assert_eq!(printed(&gitops_cluster.run(&short).await), "repository credential ssh created\n");
    let gone = gitops_cluster.run(&["repo", "delete", "web", "--wait"]).await;
    assert_eq!(printed(&gone), "repository credential web deleted\n");
    assert_eq!(stderr_text(&gone), "repository credential web is deleted\n");
    let gone = printed(&gitops_cluster.run(&["env", "delete", "prod", "-o", "yaml"]).await);
    assert!(gone.contains("\nkind: GitOpsDeploymentManagedEnvironment\n"), "{gone}");
}

/// With JSON output, the printed object has the final state.
#[tokio::test(flavor = "multi_thread")]
async fn wait_prints_the_object_as_json() {
    let gitops_cluster = GitopsCluster::lay().await;
    let read = |output: &Output| serde_json::from_slice::<Value>(&output.stdout).unwrap();
    let create = [&CREATE[..], &["--wait", "--timeout", "60s", "-o", "json"]].concat();
    let status = async || {
        let path = format!("{GROUP}/gitopsdeployments/web");
        while gitops_cluster.get(&path).await.is_none() {
            tokio::task::yield_now().await;
        }
        gitops_cluster.status("gitopsdeployments/web", deployed("Healthy")).await;
    };
    let (created, ()) = tokio::join!(gitops_cluster.run(&create), status());
    assert_eq!(stderr_text(&created), "application web is ready\n");
    assert_eq!(read(&created)["status"]["health"]["status"], "Healthy", "it is printed once, as it is now");

    let waited = gitops_cluster.run(&["wait", "web", "-o", "json"]).await;
    assert_eq!(stderr_text(&waited), "application web is ready\n");
    let object = read(&waited);
    assert_eq!((&object["kind"], &object["metadata"]["name"]), (&json!("GitOpsDeployment"), &json!("web")));
    assert_eq!(object["status"]["sync"]["status"], "Synced");
    let yaml = printed(&gitops_cluster.run(&["wait", "web", "-o", "yaml"]).await);
    assert!(yaml.contains("\nkind: GitOpsDeployment\n"), "{yaml}");
    assert_eq!(printed(&gitops_cluster.run(&["wait", "web"]).await), "", "progress is printed on stderr");

    gitops_cluster.status("gitopsdeployments/web", deployed("Degraded")).await;
    let late = gitops_cluster.run(&["wait", "web", "--timeout", "1s", "-o", "json"]).await;
    assert_eq!(late.status.code(), Some(3), "{}", stderr_text(&late));
    assert_eq!(read(&late)["status"]["health"]["status"], "Degraded", "the state after the wait has ended");

    printed(
        &gitops_cluster.run(&["create", "api", "--repo", "https://git.example/a", "--path", "x", "--manual"]).await,
    );
    let failed = json!({ "conditions": [{ "type": "ErrorOccurred", "status": "True", "message": "no such commit", "reason": "", "lastTransitionTime": "2026-01-01T00:00:00Z" }] });
    let fail = async || {
        let name = loop {
            let runs = gitops_cluster.get(&format!("{GROUP}/gitopsdeploymentsyncruns")).await.unwrap();
            if let Some(name) = runs["items"][0]["metadata"]["name"].as_str() {
                break name.to_string();
            }
            tokio::task::yield_now().await;
        };
        gitops_cluster.status(&format!("gitopsdeploymentsyncruns/{name}"), failed.clone()).await;
    };
    let sync = ["sync", "api", "--wait", "-o", "json"];
    let (synced, ()) = tokio::join!(gitops_cluster.run(&sync), fail());
    assert_eq!(synced.status.code(), Some(1), "{}", stderr_text(&synced));
    assert_eq!(read(&synced)["status"]["conditions"][0]["message"], "no such commit");
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_for_an_unrequested_deletion_is_reported() {
    let gitops_cluster = GitopsCluster::lay().await;
    printed(&gitops_cluster.run(&CREATE).await);
    let late = gitops_cluster.run(&["wait", "web", "--for", "deleted", "--timeout", "1s"]).await;
    assert_eq!(late.status.code(), Some(3), "{}", stderr_text(&late));
    assert_eq!(
        stderr_text(&late),
        "error: application `web` is not deleted after 1 seconds\n  it exists and is not being deleted\n\
         hint: delete it first: `switchboard gitops delete NAME --wait`\n"
    );
    let late = gitops_cluster.run(&["delete", "web", "--wait", "--timeout", "1s"]).await;
    assert!(stderr_text(&late).contains("\n  being deleted\nhint: wait longer "), "{}", stderr_text(&late));
}

/// A missing path, revision or repository ends the wait with its cause; an unreachable server does not.
#[tokio::test(flavor = "multi_thread")]
async fn wait_for_a_wrong_source_ends_at_once() {
    let gitops_cluster = GitopsCluster::lay().await;
    printed(&gitops_cluster.run(&CREATE).await);
    let failed = async |cause: &str| {
        let message = format!(
            "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = {cause}"
        );
        let mut status = deployed("Healthy");
        status["sync"]["status"] = json!("Unknown");
        status["conditions"] = json!([{ "type": "ComparisonError", "status": "True", "message": message, "reason": "ComparisonError", "lastTransitionTime": "2026-01-01T00:00:00Z" }]);
        gitops_cluster.status("gitopsdeployments/web", status).await;
    };
    for (cause, hint) in [
        ("nope: app path does not exist", "correct the application "),
        ("unable to resolve 'nope' to a commit SHA", "correct the application "),
        ("failed to list refs: repository not found", "check the URL of the repository; "),
        ("failed to list refs: authentication required", "check the URL of the repository; "),
    ] {
        failed(cause).await;
        let began = std::time::Instant::now();
        let ended = gitops_cluster.run(&["wait", "web", "--timeout", "300s"]).await;
        assert_eq!(ended.status.code(), Some(1), "{}", stderr_text(&ended));
        let expected = format!("error: application `web` is not ready: {cause}\nhint: {hint}");
        assert!(stderr_text(&ended).contains(&expected), "{}", stderr_text(&ended));
        assert!(!stderr_text(&ended).contains("rpc error"), "{}", stderr_text(&ended));
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "{cause}");
    }
    // The table has the cause, the object the whole message. An application that was never rendered is not healthy.
    let table = printed(&gitops_cluster.run(&["get"]).await);
    let row = "web   Blocked  Unknown  Unknown  failed to list refs: authentication required\n";
    assert!(table.ends_with(row), "{table}");
    assert!(printed(&gitops_cluster.run(&["get", "web", "-o", "yaml"]).await).contains("rpc error: code = Unknown"));
    let away = "failed to list refs: dial tcp 192.0.2.1:443: connect: connection refused";
    failed(away).await;
    let late = gitops_cluster.run(&["wait", "web", "--timeout", "1s"]).await;
    assert_eq!(late.status.code(), Some(3), "{}", stderr_text(&late));
    assert!(stderr_text(&late).contains(&format!("\n  Failing {away}\nhint: wait longer ")), "{}", stderr_text(&late));
}

#[tokio::test(flavor = "multi_thread")]
async fn hint_lists_the_requested_kind() {
    let gitops_cluster = GitopsCluster::lay().await;
    for (arguments, listed) in [
        (&["get", "none"][..], "get -A"),
        (&["env", "get", "none"], "env get -A"),
        (&["env", "delete", "none"], "env get -A"),
        (&["repo", "get", "none"], "repo get -A"),
        (&["repo", "delete", "none"], "repo get -A"),
        (&["wait", "none", "--for", "repository"], "repo get -A"),
        (&["wait", "none", "--for", "syncrun"], "get --kind runs -A"),
    ] {
        let stderr_text = stderr_text(&gitops_cluster.run(arguments).await);
        let hint = format!("\nhint: `switchboard gitops {listed}` lists all namespaces\n");
        assert!(stderr_text.ends_with(&hint), "{arguments:?}: {stderr_text}");
        let mut command = switchboard(&["gitops"]);
        command.args(listed.split(' ')).arg("--kubeconfig").arg(gitops_cluster.kubeconfig());
        let listed = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        assert!(listed.status.success(), "it can be done: {listed:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_have_a_hint() {
    let gitops_cluster = GitopsCluster::lay().await;
    for (arguments, code, error) in [
        (&["get", "none"][..], 1, "error: there is no application `none` in namespace `shop`\nhint: "),
        (&["delete", "none"], 1, "error: there is no application `none` in namespace `shop`\nhint: "),
        (&["wait", "none"], 1, "error: there is no application `none` in namespace `shop`\nhint: "),
        (
            &["create", "a", "--repo", "https://x", "--path", "/"],
            1,
            "error: could not create application `a`: spec.source.path cannot be '/'\nhint: ",
        ),
        (
            &["create", "a", "--repo", "", "--path", "x"],
            1,
            "error: could not create application `a`: spec.source.repoURL is a required field and it cannot be empty\nhint: ",
        ),
        (&["create", "A", "--repo", "https://x", "--path", "x"], 1, "error: could not create application `A`: "),
        (
            &["env", "create", "a", "--url", "http://x", "--secret", "s"],
            1,
            "error: could not create environment `a`: cluster api url must start with https://\nhint: ",
        ),
        (
            &["env", "create", "a", "--url", "https://bob:hunter2@x", "--secret", "s"],
            1,
            "error: could not create environment `a`: spec.apiURL must not contain a login, because URLs are stored in plaintext",
        ),
        (
            &["env", "create", "a", "--url", "https://x", "--secret", "s", "--only", "A"],
            1,
            "error: could not create environment `a`: user specified an invalid namespace: 'A' is not a valid name of a namespace\nhint: pass the name of a namespace of that cluster with --only",
        ),
        (
            &["env", "create", "a", "--url", "https://x", "--credentials", "no/such"],
            1,
            "error: could not read a kubeconfig from `no/such`\n",
        ),
        (
            &["repo", "create", "a", "--url", "git://x/y", "--secret", "s"],
            1,
            "error: could not create repository credential `a`: repository must begin with ssh:// or https://\nhint: ",
        ),
        (
            &["repo", "create", "a", "--url", "https://bob:hunter2@x/y", "--secret", "s"],
            1,
            "error: could not create repository credential `a`: spec.repository must not contain a login, because URLs are stored in plaintext",
        ),
        (
            &["repo", "create", "a", "--url", "https://x"],
            1,
            "error: could not create repository credential `a`: no credential was passed\nhint: ",
        ),
        (
            &["repo", "create", "a", "--url", "ssh://x", "--password-file", "-"],
            1,
            "error: could not create repository credential `a`: the type of credential does not match the URL\nhint: ",
        ),
        (&["env", "create", "a", "--url", "https://x"], 64, "error: "),
        (&["create", "a", "--repo", "https://x", "--path", "x", "--environment", "e"], 64, "error: "),
    ] {
        let output = gitops_cluster.run(arguments).await;
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr_text(&output));
        assert!(stderr_text(&output).starts_with(error), "{arguments:?}: {}", stderr_text(&output));
        assert!(code == 64 || stderr_text(&output).contains("\nhint: "), "{arguments:?}: {}", stderr_text(&output));
        assert!(!stderr_text(&output).contains("hunter2"), "{arguments:?}: {}", stderr_text(&output));
    }
    assert_eq!(
        stderr_text(&gitops_cluster.run(&["repo", "get"]).await),
        "no repository credentials in namespace `shop`\n"
    );
    assert_eq!(stderr_text(&gitops_cluster.run(&["env", "get"]).await), "no environments in namespace `shop`\n");
    let bare = GitopsCluster::bare().await;
    let output = bare.run(&["get"]).await;
    assert_eq!(
        stderr_text(&output),
        "error: the cluster does not serve the GitOps Service's kinds\n\
         hint: run `switchboard up` with `gitops: {}` in its configuration, or with --example deployments; \
         on another cluster, run `switchboard gitops crds | kubectl apply -f -`\n"
    );
}
