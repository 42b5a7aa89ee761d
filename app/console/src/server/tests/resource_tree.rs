//! Resource tree on the page of an object.

use std::time::Duration;

use serde_json::{Value, json};

use super::{ConsoleFixture, PATIENCE};

const APPS: &str = "/apis/apps/v1/namespaces/default";

/// Returns an owner reference to a created object.
fn owner(of: &Value) -> Value {
    let fields = ["name", "uid"].map(|field| of["metadata"][field].clone());
    json!([{"apiVersion": of["apiVersion"], "kind": of["kind"], "name": fields[0], "uid": fields[1], "controller": true}])
}

impl ConsoleFixture {
    /// Creates a Deployment with a ReplicaSet and a Pod. No controller runs on the cluster, and no operator watches them.
    async fn deploy_workload(&self) {
        let pod = json!({"containers": [{"name": "web", "image": "web"}]});
        let labels = json!({"app": "web"});
        let template = json!({"metadata": {"labels": labels}, "spec": pod});
        let spec = json!({"selector": {"matchLabels": labels}, "template": template});
        let deployment =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec});
        let deployment = self.post(&format!("{APPS}/deployments"), deployment).await;
        let metadata = json!({"name": "web-1", "ownerReferences": owner(&deployment)});
        let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec});
        let set = self.post(&format!("{APPS}/replicasets"), set).await;
        let metadata = json!({"name": "web-1-a", "ownerReferences": owner(&set)});
        self.post("/api/v1/namespaces/default/pods", json!({"metadata": metadata, "spec": pod})).await;
    }

    /// Waits until the cache has the greeting, and returns the tree of its owner.
    async fn greeted(&self) -> Value {
        let observed = tokio::time::timeout(PATIENCE, async {
            loop {
                let tree = self.tree("/objects/main/configmaps/default/ada").await;
                if tree["children"] != json!([]) {
                    return tree;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        observed.await.unwrap()
    }

    async fn tree(&self, path: &str) -> Value {
        let object: Value = serde_json::from_str(&self.page(&format!("/api/v1{path}")).await).unwrap();
        object["resourceTree"].clone()
    }
}

/// Formats a tree as `name health [children]`.
fn shape(node: &Value) -> String {
    let children: Vec<String> = node["children"].as_array().unwrap().iter().map(shape).collect();
    let health = node["health"].as_str().unwrap_or("-");
    format!("{} {health} [{}]", node["name"].as_str().unwrap(), children.join(", "))
}

#[tokio::test]
async fn owned_objects_are_below_their_owner_with_health() {
    let console = ConsoleFixture::build().await;
    assert_eq!(shape(&console.greeted().await), "configmaps/default/ada - [configmaps/default/ada-greeting - []]");
    console.deploy_workload().await;
    let path = "/objects/main/deployments.apps/default/web";
    let expected = "deployments.apps/default/web Progressing [replicasets.apps/default/web-1 Progressing [pods/default/web-1-a Progressing []]]";
    assert_eq!(shape(&console.tree(path).await), expected);
    let page = console.page(path).await;
    assert!(page.contains("id=\"tree\"") && page.contains("/objects/main/pods/default/web-1-a"), "{page}");
}

#[tokio::test]
async fn deployed_objects_are_below_their_application_with_health() {
    let console = ConsoleFixture::build().await;
    console.deploy_workload().await;
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version = json!({"name": "v1alpha1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    let names = json!({"plural": "applications", "singular": "application", "kind": "Application", "listKind": "ApplicationList"});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "applications.argoproj.io"},
        "spec": {"group": "argoproj.io", "scope": "Namespaced", "names": names, "versions": [version]}});
    console.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    let resource = |group: &str, kind: &str, name: &str| json!({"group": group, "version": "v1", "kind": kind, "namespace": "default", "name": name});
    let resources = json!([
        resource("apps", "Deployment", "web"),
        resource("", "ConfigMap", "ada"),
        resource("", "Service", "deleted"),
        {"group": "shop.example.com", "kind": "Till", "namespace": "default", "name": "one", "health": {"status": "Degraded"}},
    ]);
    let application = |name: &str, server: &str| {
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": name},
        "spec": {"destination": {"server": server}},
        "status": {"health": {"status": "Degraded"}, "resources": resources}})
    };
    let applications = "/apis/argoproj.io/v1alpha1/namespaces/default/applications";
    console.post(applications, application("here", "https://kubernetes.default.svc")).await;
    console.post(applications, application("there", "https://shop.example.com")).await;
    // Earlier pages would cache the served kinds, for a while.
    console.greeted().await;
    let here = shape(&console.tree("/objects/main/applications.argoproj.io/default/here").await);
    for part in [
        "applications.argoproj.io/default/here Degraded [deployments.apps/default/web Progressing [replicasets.apps/default/web-1 ",
        ", configmaps/default/ada - [configmaps/default/ada-greeting - []]",
        ", services/default/deleted Missing []",
        ", Till/default/one Degraded []",
    ] {
        assert!(here.contains(part), "{part} is not in {here}");
    }
    // Objects of another cluster have the reported health, and no page.
    let there = console.tree("/objects/main/applications.argoproj.io/default/there").await;
    assert_eq!(
        (&there["children"][0]["name"], &there["children"][0]["href"]),
        (&json!("Deployment/default/web"), &json!(""))
    );
    assert!(shape(&there).contains(", Till/default/one Degraded []"), "{there}");
}
