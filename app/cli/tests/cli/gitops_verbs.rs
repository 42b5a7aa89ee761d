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

use crate::process::{said, switchboard};

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
        let gate = AuthKeys { authenticator, authority };
        let cluster = Cluster::with_keys(gate, ObjectStore::in_memory(StoreLimits::default()), ambient).await;
        cluster.start_controllers();
        let listener = cluster.listen(port, &certificates).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let context = KubeconfigContext { name: "ground".into(), server: format!("https://{address}") };
        kubeconfig::write(&folder.path().join("kubeconfig"), &certificates, &[context]).unwrap();
        let ground = GitopsCluster { cluster, _listener: listener, folder };
        ground.post("/api/v1/namespaces", json!({ "metadata": { "name": "shop" } })).await;
        ground
    }

    pub async fn lay() -> GitopsCluster {
        let ground = GitopsCluster::bare().await;
        let crds = switchboard(&["gitops", "crds"]).output().unwrap();
        for document in yaml::read_all(&String::from_utf8(crds.stdout).unwrap()).unwrap() {
            ground.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", document.value).await;
        }
        for plural in ["gitopsdeployments", "gitopsdeploymentsyncruns", "gitopsdeploymentmanagedenvironments"] {
            while ground.get(&format!("{GROUP}/{plural}")).await.is_none() {
                tokio::task::yield_now().await;
            }
        }
        ground
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

fn told(output: &Output) -> String {
    assert!(output.status.success(), "{}", said(output));
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
    let ground = GitopsCluster::lay().await;
    assert_eq!(told(&ground.run(&CREATE).await), "application web created\n");
    assert_eq!(
        told(&ground.run(&["get"]).await),
        "Name  State    Sync  Health  Message\nweb   Waiting  -     -       on Argo CD to look\n"
    );
    let late = ground.run(&["wait", "web", "--timeout", "1"]).await;
    assert_eq!(late.status.code(), Some(3), "{}", said(&late));
    assert_eq!(
        said(&late),
        "error: application `web` is not ready after 1 seconds\n  Waiting on Argo CD to look\n\
         hint: wait longer with --timeout SECONDS, or look with `switchboard gitops get`\n"
    );
    ground.status("gitopsdeployments/web", deployed("Healthy")).await;
    assert_eq!(said(&ground.run(&["wait", "web"]).await), "application web is ready\n");
    let wide = told(&ground.run(&["get", "web", "-o", "wide"]).await);
    assert!(
        wide.contains("Ready  Synced  Healthy  https://git.example/shop/web  deploy  -       0123456789ab"),
        "{wide}"
    );
    let object: Value = serde_json::from_str(&told(&ground.run(&["get", "web", "-o", "json"]).await)).unwrap();
    assert_eq!((&object["kind"], &object["spec"]["type"]), (&json!("GitOpsDeployment"), &json!("automated")));
    // Field manager that `why` shows.
    assert_eq!(object["metadata"]["managedFields"][0]["manager"], "switchboard-gitops", "{object}");
    let list: Value = serde_json::from_str(&told(&ground.run(&["get", "-o", "json"]).await)).unwrap();
    assert_eq!(list["items"][0]["kind"], "GitOpsDeployment");
    assert!(told(&ground.run(&["get", "-o", "yaml"]).await).contains("kind: List\n"));
    let deleted: Value = serde_json::from_str(&told(&ground.run(&["delete", "web", "-o", "json"]).await)).unwrap();
    assert_eq!((&deleted["kind"], &deleted["metadata"]["name"]), (&json!("GitOpsDeployment"), &json!("web")));
    assert_eq!(said(&ground.run(&["get"]).await), "no applications in namespace `shop`\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_deletion_waits_for_what_was_deployed() {
    let ground = GitopsCluster::lay().await;
    told(&ground.run(&CREATE).await);
    let path = format!("{GROUP}/gitopsdeployments/web");
    // The deployed resources still exist.
    let late = ground.run(&["delete", "web", "--wait", "--timeout", "1"]).await;
    assert_eq!(late.status.code(), Some(3), "{}", said(&late));
    let going = ground.get(&path).await.expect("it is kept until all is gone");
    assert!(going["metadata"]["deletionTimestamp"].is_string());
    // The service deletes the object when all its resources are deleted.
    let gone = ground.run(&["wait", "web", "--for", "deleted"]);
    let let_go = ground.patch(&path, json!({ "metadata": { "finalizers": null } }));
    assert_eq!(said(&tokio::join!(gone, let_go).0), "application web is deleted\n");
    assert!(ground.get(&path).await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_is_asked_for_and_waited_for() {
    let ground = GitopsCluster::lay().await;
    told(&ground.run(&CREATE).await);
    let refused = ground.run(&["sync", "web"]).await;
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).starts_with("error: application `web` cannot be synced by hand: it is automated\nhint: "));
    told(&ground.run(&["create", "api", "--repo", "https://git.example/a", "--path", "x", "--manual"]).await);
    let condition = |status: &str, message: &str| json!({ "conditions": [{ "type": "ErrorOccurred", "status": status, "message": message, "reason": "", "lastTransitionTime": "2026-01-01T00:00:00Z" }] });
    let mut broken = condition("True", "no such environment");
    broken["reconciledState"] = deployed("")["reconciledState"].clone();
    ground.status("gitopsdeployments/api", broken).await;
    let refused = ground.run(&["sync", "api"]).await;
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).starts_with("error: application `api` cannot be synced: no such environment\nhint: "));
    ground.status("gitopsdeployments/api", condition("False", "")).await;
    let made: Value =
        serde_json::from_str(&told(&ground.run(&["sync", "api", "--revision", "abc", "-o", "json"]).await)).unwrap();
    assert_eq!(made["spec"], json!({ "gitopsDeploymentName": "api", "revisionID": "abc" }));
    let name = made["metadata"]["name"].as_str().unwrap();
    ground.status(&format!("gitopsdeploymentsyncruns/{name}"), condition("True", "no such commit")).await;
    let failed = ground.run(&["wait", name, "--for", "run"]).await;
    assert_eq!(failed.status.code(), Some(1));
    assert!(said(&failed).starts_with(&format!("error: sync run `{name}` is not done: no such commit\nhint: ")));
    ground.status(&format!("gitopsdeploymentsyncruns/{name}"), condition("False", "")).await;
    assert_eq!(said(&ground.run(&["wait", name, "--for", "run"]).await), format!("sync run {name} is done\n"));
    assert!(told(&ground.run(&["get", "--kind", "runs"]).await).contains("Ready  api          abc       -"));
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_come_from_files_and_stdin_into_secrets() {
    let ground = GitopsCluster::lay().await;
    let create = ["env", "create", "prod", "--url", "https://one.example", "--credentials", "-"];
    let made = ground.run_with(&create, "canary-kubeconfig: 1\n").await;
    assert_eq!(told(&made), "environment prod created\n");
    let secret = ground.get("/api/v1/namespaces/shop/secrets/prod-kubeconfig").await.unwrap();
    assert_eq!(secret["type"], "managed-gitops.redhat.com/managed-environment");
    assert_eq!(secret["metadata"]["ownerReferences"][0]["kind"], "GitOpsDeploymentManagedEnvironment");
    assert_eq!(secret["data"]["kubeconfig"], "Y2FuYXJ5LWt1YmVjb25maWc6IDEK");
    assert!(
        told(&ground.run(&["env", "get"]).await)
            .contains("prod  Waiting  https://one.example  on a look at the cluster")
    );
    let again = ground.run_with(&create, "x: 1\n").await;
    assert_eq!(
        said(&again),
        "error: there is already something named `prod` in namespace `shop`: environment\n\
         hint: take another name, or delete that one first\n"
    );
    let password = ground.folder.path().join("password");
    std::fs::write(&password, "canary-password\n").unwrap();
    let password = password.display().to_string();
    let repo =
        ["repo", "create", "web", "--url", "https://git.example/w", "--username", "bot", "--password-file", &password];
    assert_eq!(told(&ground.run(&repo).await), "repository credential web created\n");
    let secret = ground.get("/api/v1/namespaces/shop/secrets/web-repository").await.unwrap();
    assert_eq!(
        (&secret["data"]["username"], &secret["data"]["password"]),
        (&json!("Ym90"), &json!("Y2FuYXJ5LXBhc3N3b3Jk"))
    );
    let late = ground.run(&["wait", "web", "--for", "repository", "--timeout", "1"]).await;
    assert_eq!(late.status.code(), Some(3), "{}", said(&late));
    let condition = |status: &str, message: &str| json!({ "conditions": [{ "type": "ErrorOccurred", "status": status, "message": message, "reason": "r", "lastTransitionTime": "2026-01-01T00:00:00Z" }] });
    ground.status("gitopsdeploymentrepositorycredentials/web", condition("True", "no such user")).await;
    let refused = ground.run(&["wait", "web", "--for", "repository"]).await;
    assert!(
        said(&refused).starts_with("error: repository credential `web` is not taken: no such user\nhint: "),
        "{}",
        said(&refused)
    );
    ground.status("gitopsdeploymentrepositorycredentials/web", condition("False", "")).await;
    assert_eq!(
        said(&ground.run(&["wait", "web", "--for", "repository"]).await),
        "repository credential web is taken\n"
    );
    let short = ["repo", "create", "ssh", "--url", "git@git.example:shop/web.git", "--ssh-key-file", &password];
    assert_eq!(told(&ground.run(&short).await), "repository credential ssh created\n");
    let gone = ground.run(&["repo", "delete", "web", "--wait"]).await;
    assert_eq!(told(&gone), "repository credential web deleted\n");
    assert_eq!(said(&gone), "repository credential web is deleted\n");
    let gone = told(&ground.run(&["env", "delete", "prod", "-o", "yaml"]).await);
    assert!(gone.contains("\nkind: GitOpsDeploymentManagedEnvironment\n"), "{gone}");
}

/// With JSON output, the printed object has the final state.
#[tokio::test(flavor = "multi_thread")]
async fn who_waits_as_a_program_reads_what_became_of_it() {
    let ground = GitopsCluster::lay().await;
    let read = |output: &Output| serde_json::from_slice::<Value>(&output.stdout).unwrap();
    let create = [&CREATE[..], &["--wait", "--timeout", "60", "-o", "json"]].concat();
    let status = async || {
        let path = format!("{GROUP}/gitopsdeployments/web");
        while ground.get(&path).await.is_none() {
            tokio::task::yield_now().await;
        }
        ground.status("gitopsdeployments/web", deployed("Healthy")).await;
    };
    let (created, ()) = tokio::join!(ground.run(&create), status());
    assert_eq!(said(&created), "application web is ready\n");
    assert_eq!(read(&created)["status"]["health"]["status"], "Healthy", "it is printed once, as it is now");

    let waited = ground.run(&["wait", "web", "-o", "json"]).await;
    assert_eq!(said(&waited), "application web is ready\n");
    let object = read(&waited);
    assert_eq!((&object["kind"], &object["metadata"]["name"]), (&json!("GitOpsDeployment"), &json!("web")));
    assert_eq!(object["status"]["sync"]["status"], "Synced");
    let yaml = told(&ground.run(&["wait", "web", "-o", "yaml"]).await);
    assert!(yaml.contains("\nkind: GitOpsDeployment\n"), "{yaml}");
    assert_eq!(told(&ground.run(&["wait", "web"]).await), "", "people are told on stderr");

    ground.status("gitopsdeployments/web", deployed("Degraded")).await;
    let late = ground.run(&["wait", "web", "--timeout", "1", "-o", "json"]).await;
    assert_eq!(late.status.code(), Some(3), "{}", said(&late));
    assert_eq!(read(&late)["status"]["health"]["status"], "Degraded", "how it stands when nobody waits any longer");

    told(&ground.run(&["create", "api", "--repo", "https://git.example/a", "--path", "x", "--manual"]).await);
    let failed = json!({ "conditions": [{ "type": "ErrorOccurred", "status": "True", "message": "no such commit", "reason": "", "lastTransitionTime": "2026-01-01T00:00:00Z" }] });
    let fail = async || {
        let name = loop {
            let runs = ground.get(&format!("{GROUP}/gitopsdeploymentsyncruns")).await.unwrap();
            if let Some(name) = runs["items"][0]["metadata"]["name"].as_str() {
                break name.to_string();
            }
            tokio::task::yield_now().await;
        };
        ground.status(&format!("gitopsdeploymentsyncruns/{name}"), failed.clone()).await;
    };
    let sync = ["sync", "api", "--wait", "-o", "json"];
    let (synced, ()) = tokio::join!(ground.run(&sync), fail());
    assert_eq!(synced.status.code(), Some(1), "{}", said(&synced));
    assert_eq!(read(&synced)["status"]["conditions"][0]["message"], "no such commit");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_deletion_that_nobody_asked_for_is_told_so() {
    let ground = GitopsCluster::lay().await;
    told(&ground.run(&CREATE).await);
    let late = ground.run(&["wait", "web", "--for", "deleted", "--timeout", "1"]).await;
    assert_eq!(late.status.code(), Some(3), "{}", said(&late));
    assert_eq!(
        said(&late),
        "error: application `web` is not deleted after 1 seconds\n  is there, and nobody has deleted it\n\
         hint: delete it first: `switchboard gitops delete NAME --wait` deletes it and waits\n"
    );
    let late = ground.run(&["delete", "web", "--wait", "--timeout", "1"]).await;
    assert!(said(&late).contains("\n  is being deleted\nhint: wait longer "), "{}", said(&late));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hint_lists_what_was_asked_for() {
    let ground = GitopsCluster::lay().await;
    for (arguments, listed) in [
        (&["get", "none"][..], "get -A"),
        (&["env", "get", "none"], "env get -A"),
        (&["env", "delete", "none"], "env get -A"),
        (&["repo", "get", "none"], "repo get -A"),
        (&["repo", "delete", "none"], "repo get -A"),
        (&["wait", "none", "--for", "repository"], "repo get -A"),
        (&["wait", "none", "--for", "run"], "get --kind runs -A"),
    ] {
        let said = said(&ground.run(arguments).await);
        let hint = format!("\nhint: `switchboard gitops {listed}` lists those of all namespaces\n");
        assert!(said.ends_with(&hint), "{arguments:?}: {said}");
        let mut command = switchboard(&["gitops"]);
        command.args(listed.split(' ')).arg("--kubeconfig").arg(ground.kubeconfig());
        let listed = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        assert!(listed.status.success(), "it can be done: {listed:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_wrong_is_said_with_a_hint() {
    let ground = GitopsCluster::lay().await;
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
            "error: could not create environment `a`: spec.apiURL must not contain a login, which would be kept in clear",
        ),
        (
            &["env", "create", "a", "--url", "https://x", "--secret", "s", "--only", "A"],
            1,
            "error: could not create environment `a`: user specified an invalid namespace: 'A' is not a valid name of a namespace\nhint: --only ",
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
            "error: could not create repository credential `a`: spec.repository must not contain a login, which would be kept in clear",
        ),
        (
            &["repo", "create", "a", "--url", "https://x"],
            1,
            "error: could not create repository credential `a`: no credential is given\nhint: ",
        ),
        (
            &["repo", "create", "a", "--url", "ssh://x", "--password-file", "-"],
            1,
            "error: could not create repository credential `a`: this is not the proof for such a URL\nhint: ",
        ),
        (&["env", "create", "a", "--url", "https://x"], 64, "error: "),
        (&["create", "a", "--repo", "https://x", "--path", "x", "--environment", "e"], 64, "error: "),
    ] {
        let output = ground.run(arguments).await;
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", said(&output));
        assert!(said(&output).starts_with(error), "{arguments:?}: {}", said(&output));
        assert!(code == 64 || said(&output).contains("\nhint: "), "{arguments:?}: {}", said(&output));
        assert!(!said(&output).contains("hunter2"), "{arguments:?}: {}", said(&output));
    }
    assert_eq!(said(&ground.run(&["repo", "get"]).await), "no repository credentials in namespace `shop`\n");
    assert_eq!(said(&ground.run(&["env", "get"]).await), "no environments in namespace `shop`\n");
    let bare = GitopsCluster::bare().await;
    let output = bare.run(&["get"]).await;
    assert!(
        said(&output).starts_with("error: the cluster does not have the GitOps Service's kinds\nhint: "),
        "{}",
        said(&output)
    );
}
