//! Embedded engine from the user's view.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::process::{CONTEXT, ServerProcess, switchboard};
use crate::up_process::{ask, eventually};

const APPLICATION: &str = "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/guestbook";

async fn get(client: &kube::Client, path: &str) -> Option<Value> {
    client.request(http::Request::get(path).body(Vec::new()).unwrap()).await.ok()
}

pub fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]);
    assert!(command.args(arguments).current_dir(folder).status().unwrap().success());
}

#[tokio::test]
async fn the_example_is_deployed_from_git_and_follows_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = switchboard(&["up", "--example", "gitops", "--listen", "127.0.0.1:0", "--data-dir"]);
    command.arg(folder.path());
    let serving = ServerProcess::start(command);
    let client = serving.client(CONTEXT).await;
    for name in ["guestbook", "greeting"] {
        let path = APPLICATION.replace("guestbook", name);
        eventually("Synced and Healthy", || async {
            let status = get(&client, &path).await?["status"].clone();
            (status["sync"]["status"] == "Synced" && status["health"]["status"] == "Healthy").then_some(())
        })
        .await;
    }
    let map = get(&client, "/api/v1/namespaces/greeting/configmaps/greeting").await.unwrap();
    assert_eq!(map["data"]["text"], "Moin, world!");
    let repository = folder.path().join("example-repository");
    let page = repository.join("guestbook/pages.yaml");
    std::fs::write(&page, std::fs::read_to_string(&page).unwrap().replace("something nice", "something true")).unwrap();
    git(&repository, &["commit", "--quiet", "--all", "--message", "True"]);
    let ask = r#"{"metadata":{"annotations":{"argocd.argoproj.io/refresh":"normal"}}}"#;
    let request = http::Request::patch(APPLICATION).header("Content-Type", "application/merge-patch+json");
    client.request::<Value>(request.body(ask.as_bytes().to_vec()).unwrap()).await.unwrap();
    eventually("the commit is deployed", || async {
        let map = get(&client, "/api/v1/namespaces/guestbook/configmaps/pages").await?;
        (map["data"]["welcome"] == "Please write something true.").then_some(())
    })
    .await;
}

/// The operator of a cluster exists as long as its cluster Secret.
#[tokio::test]
async fn cluster_with_a_deleted_secret_is_disconnected() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = switchboard(&["up", "--example", "gitops", "--listen", "127.0.0.1:0", "--data-dir"]);
    command.arg(folder.path());
    let serving = ServerProcess::start(command);
    let client = serving.client(CONTEXT).await;
    let kubeconfig = kube::config::Kubeconfig::read_from(&serving.kubeconfig).unwrap();
    let server = kubeconfig.clusters[0].cluster.clone().unwrap().server.unwrap();
    let secret = serde_json::json!({
        "metadata": {"name": "stage", "labels": {"argocd.argoproj.io/secret-type": "cluster"}},
        "stringData": {"name": "stage", "server": server, "config": r#"{"tlsClientConfig": {"insecure": true}}"#},
    });
    let path = "/api/v1/namespaces/argocd/secrets";
    let request = http::Request::post(path).header("Content-Type", "application/json");
    client.request::<Value>(request.body(secret.to_string().into_bytes()).unwrap()).await.unwrap();
    let is_told = || {
        let top = ask(&folder.path().join("kernel"), &["top"]);
        String::from_utf8_lossy(&top.stdout).contains("engine@argocd.stage")
    };
    eventually("the cluster has its operator", || async { is_told().then_some(()) }).await;
    let request = http::Request::delete(format!("{path}/stage")).body(Vec::new()).unwrap();
    client.request::<Value>(request).await.unwrap();
    eventually("the operator is let go", || async { (!is_told()).then_some(()) }).await;
}

#[tokio::test]
async fn application_of_a_team_is_deployed_with_status() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = switchboard(&["up", "--example", "deployments", "--listen", "127.0.0.1:0", "--data-dir"]);
    command.arg(folder.path());
    let serving = ServerProcess::start(command);
    let client = serving.client(CONTEXT).await;
    let path = "/apis/managed-gitops.redhat.com/v1alpha1/namespaces/team/gitopsdeployments/guestbook";
    let resources = eventually("Synced and Healthy", || async {
        let status = get(&client, path).await?["status"].clone();
        let done = status["sync"]["status"] == "Synced" && status["health"]["status"] == "Healthy";
        done.then(|| status["resources"].clone())
    })
    .await;
    assert_eq!(resources.as_array().unwrap().len(), 2, "{resources}");
    assert!(get(&client, "/api/v1/namespaces/team/configmaps/pages").await.is_some());
}
