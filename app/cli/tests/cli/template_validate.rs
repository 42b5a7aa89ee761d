//! `switchboard template --dry-run=server` on the charts of `helm/chart/tests/validated`, with recorded results of Helm
//! on the same embedded cluster.

use std::path::Path;
use std::process::Command;

use kube::Client;
use serde_json::{Value, json};

use crate::process::{CONTEXT, ServerProcess, switchboard};
use crate::template::{cases, differences, record};

/// Returns the objects of the cluster: permissions, objects of two releases, and a custom kind.
fn world() -> [(&'static str, Value); 5] {
    let owned = |name: &str, release: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": name, "labels": {"app.kubernetes.io/managed-by": "Helm"},
            "annotations": {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": "default"}}})
    };
    [
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "reader"},
            "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}]}),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "reader"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "viewer"}]}),
        ),
        ("/api/v1/namespaces/default/configmaps", owned("mine", "r")),
        ("/api/v1/namespaces/default/configmaps", owned("other", "another")),
        (
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.shop.example.com"},
            "spec": {"group": "shop.example.com", "scope": "Namespaced",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}}]}}),
        ),
    ]
}

async fn make(client: &Client, path: &str, object: &Value) {
    let request = http::Request::post(path).header("content-type", "application/json");
    let request = request.body(serde_json::to_vec(object).unwrap()).unwrap();
    client.request::<Value>(request).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_gets_the_requests_of_helm() {
    let serving = ServerProcess::start(switchboard(&["up", "--ephemeral"]));
    let client = serving.client(CONTEXT).await;
    for (path, object) in world() {
        make(&client, path, &object).await;
    }
    let cases = cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../helm/chart/tests/validated"));
    assert!(cases.len() > 40, "{}", cases.len());
    let with = |command: &mut Command| {
        command.env("KUBECONFIG", &serving.kubeconfig);
    };
    if std::env::var_os("UPDATE").is_some() {
        cases.iter().for_each(|case| record(case, &with));
    }
    differences(&cases, &with);
    // The source of the object follows Helm's text.
    for (case, line) in [("nokind/cases/admin", "  nokind/templates/"), ("exists/cases", "  exists/templates/")] {
        let case =
            cases.iter().find(|path| path.to_string_lossy().contains(case) && path.join("expected.err").exists());
        let mut command = switchboard(&["template"]);
        let case = case.unwrap_or_else(|| panic!("a case that fails, for {line}"));
        let arguments = std::fs::read_to_string(case.join("args")).unwrap();
        command.args(arguments.lines()).current_dir(case);
        with(&mut command);
        let stderr_text = String::from_utf8_lossy(&command.output().unwrap().stderr).into_owned();
        assert!(stderr_text.contains(line) && stderr_text.contains(": rendered "), "{stderr_text}");
    }
}
