//! Logical clusters of the embedded API server, like those of kcp, as environments and as tenant clusters.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use kube::Client;
use kube::config::Kubeconfig;
use serde_json::{Value, json};
use switchboard_object::yaml;

use crate::process::{CONTEXT, ServerProcess, switchboard};
use crate::up_process::eventually;

const GROUP: &str = "/apis/managed-gitops.redhat.com/v1alpha1";
const CONFIG: &str =
    "operators: {engine: {}}\ngitops: {namespace: argocd, sharedDatabase: true}\nlisten: '127.0.0.1:0'\n";
const LOGICAL: [&str; 2] = ["blue", "green"];
/// Name of the deployed ConfigMap.
const MAP: &str = "words";

/// `switchboard up` with the GitOps Service, an engine, two logical clusters and a repository.
struct LogicalFixture {
    /// Fields are dropped in order: backends stop before the server they use.
    backends: Vec<BackendProcess>,
    serving: ServerProcess,
    folder: tempfile::TempDir,
}

/// Separate backend, stopped when the test ends.
struct BackendProcess(Child);

impl Drop for BackendProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]);
    assert!(command.args(arguments).current_dir(folder).status().unwrap().success());
}

async fn get(client: &Client, path: &str) -> Option<Value> {
    client.request(http::Request::get(path).body(Vec::new()).unwrap()).await.ok()
}

async fn send(client: &Client, method: &str, path: &str, body: Value) -> Value {
    let request = http::Request::builder().method(method).uri(path).header("Content-Type", "application/json");
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    client.request(request.body(body).unwrap()).await.unwrap()
}

async fn namespace(client: &Client, name: &str) {
    send(client, "POST", "/api/v1/namespaces", json!({"metadata": {"name": name}})).await;
}

impl LogicalFixture {
    async fn open() -> LogicalFixture {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        fs::write(file("switchboard.yaml"), CONFIG).unwrap();
        let repository = file("repository");
        fs::create_dir_all(repository.join("deploy")).unwrap();
        let map = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {MAP}}}\ndata: {{a: b}}\n");
        fs::write(repository.join("deploy/map.yaml"), map).unwrap();
        git(&repository, &["init", "--quiet", "--initial-branch=main"]);
        git(&repository, &["add", "--all"]);
        git(&repository, &["commit", "--quiet", "--message", "One"]);
        let mut command = switchboard(&["up", "--ephemeral", "--cluster", LOGICAL[0], "--cluster", LOGICAL[1]]);
        command.arg("--config").arg(file("switchboard.yaml")).arg("--state-dir").arg(file("state"));
        let serving = ServerProcess::start_with(command, Stdio::from(File::create(file("up.said")).unwrap()));
        LogicalFixture { serving, folder, backends: Vec::new() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts a backend for the tenants of a logical cluster, with the database of `up`.
    async fn backend(&mut self, name: &str) {
        let client = self.serving.client(name).await;
        let crds = switchboard(&["gitops", "crds"]).output().unwrap();
        for document in yaml::read_all(&String::from_utf8(crds.stdout).unwrap()).unwrap() {
            send(&client, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", document.value).await;
        }
        let state = self.file("state");
        let mut command = switchboard(&["gitops", "backend", "--shared-database", "--argocd-namespace", "argocd"]);
        command.arg("--database").arg(format!("sqlite:{}", state.join("gitops.db").display()));
        command.arg("--credentials-key-file").arg(state.join("gitops.keys"));
        command.arg("--kubeconfig").arg(&self.serving.kubeconfig).args(["--context", name]);
        command.arg("--engine-kubeconfig").arg(&self.serving.kubeconfig).args(["--engine-context", CONTEXT]);
        command.arg("--state-dir").arg(self.file(&format!("{name}.state")));
        let stderr_text = File::create(self.file(&format!("{name}.said"))).unwrap();
        let child = command.stdout(Stdio::null()).stderr(Stdio::from(stderr_text)).spawn().unwrap();
        self.backends.push(BackendProcess(child));
    }

    /// Returns the URL of a logical cluster.
    fn server(&self, name: &str) -> String {
        let file = Kubeconfig::read_from(&self.serving.kubeconfig).unwrap();
        let clusters = file.clusters.into_iter().filter_map(|one| one.cluster?.server);
        clusters.into_iter().find(|server| server.ends_with(&format!("/clusters/{name}"))).unwrap()
    }

    /// Returns the token of an administrator of a logical cluster.
    async fn token(&self, name: &str) -> String {
        let client = self.serving.client(name).await;
        let accounts = "/api/v1/namespaces/default/serviceaccounts";
        if get(&client, &format!("{accounts}/deployer")).await.is_none() {
            send(&client, "POST", accounts, json!({"metadata": {"name": "deployer"}})).await;
            let binding = json!({"metadata": {"name": "deployer"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"kind": "ServiceAccount", "name": "deployer", "namespace": "default"}]});
            send(&client, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding).await;
        }
        let requested = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
        let made = send(&client, "POST", &format!("{accounts}/deployer/token"), requested).await;
        made["status"]["token"].as_str().unwrap().to_string()
    }

    /// Creates an environment for a logical cluster with the token of one.
    async fn environment(&self, client: &Client, namespace: &str, name: &str, of: &str, own: bool) -> Value {
        let file = Kubeconfig::read_from(&self.serving.kubeconfig).unwrap();
        let ca = file.clusters[0].cluster.as_ref().unwrap().certificate_authority_data.clone();
        let config = json!({"apiVersion": "v1", "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": self.server(name), "certificate-authority-data": ca}}],
            "users": [{"name": "u", "user": {"token": self.token(of).await}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]});
        let secret = json!({"type": "managed-gitops.redhat.com/managed-environment",
            "metadata": {"name": name}, "stringData": {"kubeconfig": config.to_string()}});
        send(client, "POST", &format!("/api/v1/namespaces/{namespace}/secrets"), secret).await;
        let object = json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "GitOpsDeploymentManagedEnvironment",
            "metadata": {"name": name}, "spec": {"apiURL": self.server(name), "credentialsSecret": name,
                "allowInsecureSkipTLSVerify": false, "createNewServiceAccount": own}});
        send(client, "POST", &format!("{GROUP}/namespaces/{namespace}/gitopsdeploymentmanagedenvironments"), object)
            .await
    }

    async fn deploy(&self, client: &Client, namespace: &str, environment: &str, into: &str) {
        let url = format!("file://{}", self.file("repository").display());
        let object = json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "GitOpsDeployment",
            "metadata": {"name": "web"}, "spec": {"type": "automated",
                "source": {"repoURL": url, "path": "deploy", "targetRevision": "main"},
                "syncPolicy": {"syncOptions": ["CreateNamespace=true"]},
                "destination": {"environment": environment, "namespace": into}}});
        send(client, "POST", &format!("{GROUP}/namespaces/{namespace}/gitopsdeployments"), object).await;
    }

    /// Returns the output so far, for the message of a failed test.
    fn log(&self) -> String {
        let files = ["up.said", "blue.said", "green.said"].map(|name| fs::read_to_string(self.file(name)));
        files.into_iter().flatten().collect()
    }
}

impl Drop for LogicalFixture {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
    }
}

/// Waits until a deployment is synced and reported.
async fn synced(client: &Client, namespace: &str) -> Value {
    let path = format!("{GROUP}/namespaces/{namespace}/gitopsdeployments/web");
    eventually("Synced", || async {
        let found = get(client, &path).await?;
        (found["status"]["sync"]["status"] == "Synced").then_some(found)
    })
    .await
}

async fn has(client: &Client, namespace: &str) -> bool {
    get(client, &format!("/api/v1/namespaces/{namespace}/configmaps/{MAP}")).await.is_some()
}

async fn condition(client: &Client, path: &str) -> Value {
    let path = format!("{GROUP}/{path}");
    eventually("a condition", || async {
        get(client, &path).await?["status"]["conditions"].as_array()?.first().cloned()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logical_cluster_is_an_environment() {
    let fixture = LogicalFixture::open().await;
    let main = fixture.serving.client(CONTEXT).await;
    let [blue, green] = [fixture.serving.client("blue").await, fixture.serving.client("green").await];
    for name in ["shop", "bank"] {
        namespace(&main, name).await;
    }
    // Two tenants: one uses its own token, the other a service account created in its cluster.
    fixture.environment(&main, "shop", "blue", "blue", false).await;
    let account = fixture.environment(&main, "bank", "green", "green", true).await["metadata"]["uid"].clone();
    let account =
        format!("/api/v1/namespaces/kube-system/serviceaccounts/argocd-manager-{}", account.as_str().unwrap());
    fixture.deploy(&main, "shop", "blue", "of-shop").await;
    fixture.deploy(&main, "bank", "green", "of-bank").await;
    let printed = synced(&main, "shop").await;
    assert_eq!(printed["status"]["reconciledState"]["destination"], json!({"name": "blue", "namespace": "of-shop"}));
    synced(&main, "bank").await;
    assert!(has(&blue, "of-shop").await && has(&green, "of-bank").await);
    assert!(!has(&green, "of-shop").await && !has(&blue, "of-bank").await && !has(&main, "of-shop").await);
    assert!(get(&green, &account).await.is_some() && get(&blue, &account).await.is_none());
    // A token of one cluster is invalid on another, and tenants do not share access.
    fixture.environment(&main, "shop", "green", "blue", false).await;
    let stderr_text = condition(&main, "namespaces/shop/gitopsdeploymentmanagedenvironments/green").await;
    assert_eq!(
        (&stderr_text["status"], &stderr_text["reason"]),
        (&json!("Unknown"), &json!("UnableToValidateClusterCredentials")),
        "{stderr_text}"
    );
    let sentence = "Unable to validate the credentials provided in the ManagedEnvironment Secret. Verify the API URL, and service account token are correct. (";
    assert!(stderr_text["message"].as_str().unwrap().starts_with(sentence), "{stderr_text}");
    let path = format!("{GROUP}/namespaces/shop/gitopsdeployments/web");
    let request = http::Request::patch(&path).header("Content-Type", "application/merge-patch+json");
    let there = json!({"spec": {"destination": {"environment": "green", "namespace": "of-bank"}}});
    main.request::<Value>(request.body(there.to_string().into_bytes()).unwrap()).await.unwrap();
    eventually("an error", || async {
        let found = get(&main, &path).await?;
        let all = found["status"]["conditions"].as_array()?.clone();
        all.into_iter().find(|one| one["type"] == "ErrorOccurred" && one["status"] == "True")
    })
    .await;
    let map = get(&green, &format!("/api/v1/namespaces/of-bank/configmaps/{MAP}")).await.unwrap();
    let bank = get(&main, &format!("{GROUP}/namespaces/bank/gitopsdeployments/web")).await.unwrap();
    let tracked = map["metadata"]["annotations"]["argocd.argoproj.io/tracking-id"].as_str().unwrap();
    assert!(tracked.starts_with(&format!("gitopsdepl-{}", bank["metadata"]["uid"].as_str().unwrap())), "{tracked}");
    // Deletions happen on the cluster of the deployment.
    for (namespace, client, into) in [("shop", &blue, "of-shop"), ("bank", &green, "of-bank")] {
        send(&main, "DELETE", &format!("{GROUP}/namespaces/{namespace}/gitopsdeployments/web"), Value::Null).await;
        eventually("nothing", || async { (!has(client, into).await).then_some(()) }).await;
    }
    send(&main, "DELETE", &format!("{GROUP}/namespaces/bank/gitopsdeploymentmanagedenvironments/green"), Value::Null)
        .await;
    eventually("no account", || async { get(&green, &account).await.is_none().then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_are_on_any_number_of_logical_clusters() {
    let mut fixture = LogicalFixture::open().await;
    let main = fixture.serving.client(CONTEXT).await;
    // Namespaces with one name on the main cluster, blue and green are separate tenants.
    namespace(&main, "shop").await;
    fixture.environment(&main, "shop", "blue", "blue", false).await;
    fixture.deploy(&main, "shop", "blue", "from-main").await;
    for name in LOGICAL {
        fixture.backend(name).await;
        let client = fixture.serving.client(name).await;
        namespace(&client, "shop").await;
        fixture.environment(&client, "shop", name, name, false).await;
        fixture.deploy(&client, "shop", name, "from-itself").await;
    }
    synced(&main, "shop").await;
    for name in LOGICAL {
        let client = fixture.serving.client(name).await;
        let printed = synced(&client, "shop").await;
        assert_eq!(
            printed["status"]["reconciledState"]["destination"],
            json!({"name": name, "namespace": "from-itself"})
        );
        assert!(has(&client, "from-itself").await);
    }
    let [blue, green] = [fixture.serving.client("blue").await, fixture.serving.client("green").await];
    assert!(has(&blue, "from-main").await && !has(&green, "from-main").await);
    let projects = "/apis/argoproj.io/v1alpha1/namespaces/argocd/appprojects";
    let tenants = async || {
        let all = get(&main, projects).await?["items"].as_array()?.clone();
        Some(
            all.iter()
                .filter(|one| one["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("app-project-")))
                .count(),
        )
    };
    assert_eq!(tenants().await, Some(3), "a project each");
    // Deleting a namespace affects only its own tenant.
    send(&blue, "DELETE", "/api/v1/namespaces/shop", Value::Null).await;
    eventually("nothing of it", || async { (!has(&blue, "from-itself").await).then_some(()) }).await;
    eventually("two projects", || async { (tenants().await == Some(2)).then_some(()) }).await;
    assert!(has(&blue, "from-main").await && has(&green, "from-itself").await);
    synced(&green, "shop").await;
    synced(&main, "shop").await;
}
