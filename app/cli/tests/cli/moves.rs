//! Move of a placement through the console: permissions, rows, objects of Argo CD, and the audit log.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use kube::Client;
use serde_json::{Value, json};

use crate::process::{CONTEXT, ServerProcess, stderr_text, switchboard};
use crate::up_process::eventually;

const CONFIG: &str =
    "console: {address: '127.0.0.1:0'}\noperators: {engine: {}}\ngitops: {namespace: argocd}\nlisten: '127.0.0.1:0'\n";
const DEPLOYMENT: &str = "/apis/managed-gitops.redhat.com/v1alpha1/namespaces/team/gitopsdeployments/guestbook";

/// `switchboard up` with the GitOps Service, a team's deployment, and a second Argo CD instance.
struct MoveFixture {
    serving: ServerProcess,
    folder: tempfile::TempDir,
    client: Client,
}

impl MoveFixture {
    async fn open(isolation: bool) -> MoveFixture {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let config = CONFIG.replace("argocd}", &format!("argocd, isolation: {isolation}}}"));
        fs::write(file("switchboard.yaml"), config).unwrap();
        let mut command = switchboard(&["up", "--ephemeral", "--example", "deployments", "--config"]);
        command.arg(file("switchboard.yaml")).arg("--state-dir").arg(file("state"));
        let serving = ServerProcess::start_with(command, Stdio::from(File::create(file("said")).unwrap()));
        let client = serving.client(CONTEXT).await;
        let fixture = MoveFixture { serving, folder, client };
        fixture.settled().await;
        fixture.fleet(&["add", "argocd-2", "--create-namespace"]);
        fixture
    }

    /// Waits until the team's deployment is synced and reported.
    async fn settled(&self) {
        eventually("Synced and Healthy", || async {
            let status = self.get(DEPLOYMENT).await?["status"].clone();
            (status["sync"]["status"] == "Synced" && status["health"]["status"] == "Healthy").then_some(())
        })
        .await;
    }

    fn fleet(&self, arguments: &[&str]) -> String {
        let state = self.folder.path().join("state");
        let mut command = switchboard(&["gitops", "fleet"]);
        command.args(arguments).arg("--database").arg(format!("sqlite:{}", state.join("gitops.db").display()));
        command.arg("--credentials-key-file").arg(state.join("gitops.keys"));
        let output = command.arg("--kubeconfig").arg(&self.serving.kubeconfig).output().unwrap();
        assert!(output.status.success(), "{}", stderr_text(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("said")).unwrap()
    }

    async fn get(&self, path: &str) -> Option<Value> {
        self.client.request(http::Request::get(path).body(Vec::new()).unwrap()).await.ok()
    }

    async fn post(&self, path: &str, object: Value) -> Value {
        let request = http::Request::post(path).header("Content-Type", "application/json");
        self.client.request(request.body(object.to_string().into_bytes()).unwrap()).await.unwrap()
    }

    /// Returns the token of a user with verbs on Argo CD instances.
    async fn token(&self, name: &str, verbs: &[&str]) -> String {
        let (rbac, meta) = ("/apis/rbac.authorization.k8s.io/v1", json!({"name": name}));
        self.post("/api/v1/namespaces/default/serviceaccounts", json!({"metadata": meta})).await;
        let rules = json!([{"apiGroups": ["managed-gitops.redhat.com"], "resources": ["gitopsengineinstances"], "verbs": verbs}]);
        self.post(&format!("{rbac}/clusterroles"), json!({"metadata": meta, "rules": rules})).await;
        let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name});
        let subjects = json!([{"kind": "ServiceAccount", "name": name, "namespace": "default"}]);
        let binding = json!({"metadata": meta, "roleRef": role, "subjects": subjects});
        self.post(&format!("{rbac}/clusterrolebindings"), binding).await;
        let wish = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}});
        let made = self.post(&format!("/api/v1/namespaces/default/serviceaccounts/{name}/token"), wish).await;
        made["status"]["token"].as_str().unwrap().to_string()
    }

    /// Sends a request to the console's API and returns status and body.
    fn ask(&self, method: &str, path: &str, token: &str, body: &str) -> (u16, Value) {
        let stderr_text = self.log();
        let address = stderr_text.lines().find_map(|line| line.strip_prefix("console at http://")).unwrap();
        let address = address.trim_end_matches('/');
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "{method} /api/v1/{path} HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap())
    }

    fn move_to(&self, token: &str, tenant: &str, to: &str) -> (u16, Value) {
        self.ask("POST", "actions/move", token, &json!({"tenant": tenant, "to": to}).to_string())
    }
}

#[tokio::test]
async fn placement_is_moved_through_the_console_with_permission() {
    let fixture = MoveFixture::open(true).await;
    let deployed = fixture.get("/api/v1/namespaces/team/configmaps/pages").await.unwrap();
    let (stranger, mover) = (fixture.token("stranger", &["get"]).await, fixture.token("mover", &["move"]).await);
    let (status, problem) = fixture.move_to(&stranger, "team", "argocd-2");
    assert_eq!(status, 403, "{problem}");
    let (_, fleet) = fixture.ask("GET", "fleet", &mover, "");
    assert_eq!(
        fleet["placements"],
        json!([{"tenant": "team", "environment": null, "instance": "argocd", "moving": false}])
    );
    assert_eq!(fleet["instances"][1]["member"]["maxApplications"], 1000, "{fleet}");
    for (tenant, to, status, detail) in [
        ("team", "nowhere", 404, "could not find an Argo CD instance in namespace `nowhere`"),
        ("stranger", "argocd-2", 404, "could not find a placement of tenant `stranger` for `its own namespace`"),
        ("team", "argocd", 409, "could not move the placement: it is already on that Argo CD instance"),
    ] {
        let (given, problem) = fixture.move_to(&mover, tenant, to);
        assert_eq!((given, &problem["detail"]), (status, &json!(detail)), "{problem}");
        assert!(!problem["hint"].as_str().unwrap().is_empty(), "{problem}");
    }
    let units = fixture.fleet(&["list", "--placements"]);
    assert_eq!(
        units,
        "Tenant  Environment  Instance  Applications  Moving\nteam    -            argocd    1             -\n"
    );
    let (status, done) = fixture.move_to(&mover, "team", "argocd-2");
    assert_eq!(status, 200, "{done}");
    assert_eq!(done["message"], "move of team from argocd to argocd-2 started");
    // The command includes the flags for the same database.
    let command = done["command"].as_str().unwrap().to_string();
    assert!(command.starts_with("switchboard gitops fleet move team --database sqlite:/"), "{command}");
    assert!(command.ends_with(" --to argocd-2"), "{command}");
    let arrived = eventually("it is there", || async {
        let (_, fleet) = fixture.ask("GET", "fleet", &mover, "");
        (fleet["moves"][0]["progress"] == "finished").then_some(fleet)
    })
    .await;
    assert_eq!((&arrived["moves"][0]["from"], &arrived["moves"][0]["to"]), (&json!("argocd"), &json!("argocd-2")));
    assert_eq!(arrived["placements"][0]["instance"], "argocd-2");
    assert!(
        fixture.fleet(&["list"]).contains("argocd-2   active  1/1000        1/1000      0"),
        "{}",
        fixture.fleet(&["list"])
    );
    let now = fixture.get("/api/v1/namespaces/team/configmaps/pages").await.unwrap();
    assert_eq!(now["metadata"]["uid"], deployed["metadata"]["uid"], "what was deployed is what it was");
    let log = fixture.log();
    for (who, came) in [("mover", "done"), ("stranger", "refused")] {
        let words = format!("system:serviceaccount:default:{who} requested `{command}`: {came}");
        assert!(log.contains(&words), "{words} is not written down in {log}");
    }
}

/// A command that only knows the database uses the isolation setting that the backend stored.
#[tokio::test]
async fn placement_is_moved_without_a_project_if_tenants_share_the_default_one() {
    let fixture = MoveFixture::open(false).await;
    fixture.fleet(&["move", "team", "--to", "argocd-2"]);
    let projects = fixture.get("/apis/argoproj.io/v1alpha1/namespaces/argocd-2/appprojects").await.unwrap();
    let names: Vec<&Value> = projects["items"].as_array().unwrap().iter().map(|one| &one["metadata"]["name"]).collect();
    assert!(!names.iter().any(|name| name.as_str().unwrap().starts_with("app-project-")), "{names:?}");
    let applications = fixture.get("/apis/argoproj.io/v1alpha1/namespaces/argocd-2/applications").await.unwrap();
    assert_eq!(applications["items"][0]["spec"]["project"], "default");
}
