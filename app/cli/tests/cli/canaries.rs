//! Secrets in objects, variables, URLs, kubeconfigs and charts must not appear in any output or file.

mod crawl;

use std::fs;
use std::path::Path;
use std::process::Stdio;

use base64::Engine;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use serde_json::{Value, json};

use crate::process::{CONTEXT, stderr_text, switchboard};
use crate::up_process::{UpProcess, eventually};

/// Value in a Secret that a socket reads, and in everything derived from it.
const IN_SECRET: &str = "canary-one-7f3a9";
/// Value after the rotation of that Secret.
const ROTATED: &str = "canary-two-81c2d";
/// Value in a variable of a hosted program.
const IN_VARIABLE: &str = "canary-three-e55b0";
/// Value in the URL of a database.
const IN_ADDRESS: &str = "canary-four-2d9f1";
/// Value in a kubeconfig.
const IN_KUBECONFIG: &str = "canary-five-c04e8";
/// Value in the values of a chart that fails to render.
const IN_VALUES: &str = "canary-six-9b7d3";
/// Value in objects that are not declared as secret.
const IN_OBJECT: &str = "canary-seven-44ac1";
/// Numeric value in objects that are not declared as secret.
const IN_NUMBER: u64 = 918_273_645;

/// Asserts that a text has no canary, in plaintext or base64.
#[track_caller]
fn hidden(place: &str, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let number = IN_NUMBER.to_string();
    for canary in [IN_SECRET, ROTATED, IN_VARIABLE, IN_ADDRESS, IN_KUBECONFIG, IN_VALUES, IN_OBJECT, &number] {
        let encoded = base64::engine::general_purpose::STANDARD.encode(canary);
        for form in [canary, &encoded] {
            if let Some(at) = text.find(form) {
                let from = text[..at].char_indices().rev().nth(300).map_or(0, |(index, _)| index);
                panic!("{form} is in {place}: …{}", &text[from..at + form.len()]);
            }
        }
    }
}

/// Lists all files below a folder.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
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

/// Program that prints its secrets and fails.
const PROGRAM: &str = r#"#!/bin/sh
case $1 in
input-resources) echo 'applyConfigurationResources: {exactResources: [{group: "", version: v1, resource: secrets, namespace: default, name: db}]}' ;;
output-resources) echo 'configurationResources: {}' ;;
*) echo "the password is $PASSWORD" >&2; exit 1 ;;
esac
"#;

const CONFIG: &str = "listen: 127.0.0.1:0
operators:
  plugs: {debounce: 0s, coolDown: 0s}
  teller: {command: [./teller], env: {PASSWORD: canary-three-e55b0}, backoff: {first: 100ms, max: 1s}}
";

async fn apply(up: &UpProcess, kind: &str, body: Value) {
    let client = up.serving.client(CONTEXT).await;
    let path = format!("{kind}/{}?fieldManager=test&force=true", body["metadata"]["name"].as_str().unwrap());
    eventually(kind, || async {
        let request = http::Request::patch(&path).header("Content-Type", "application/apply-patch+yaml");
        client.request::<Value>(request.body(body.to_string().into_bytes()).unwrap()).await.ok()
    })
    .await;
}

async fn password(up: &UpProcess, canary: &str) {
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "stringData": {"password": canary}});
    apply(up, "/api/v1/namespaces/default/secrets", secret).await;
}

/// Waits until the derived Secret has the canary, so that the canary has arrived.
async fn follows(up: &UpProcess, canary: &str) {
    let secrets: Api<Secret> = Api::default_namespaced(up.serving.client(CONTEXT).await);
    eventually("the password on the other side", || async {
        let data = secrets.get_opt("made").await.unwrap()?.data?;
        (data["url"].0 == format!("db://{canary}").as_bytes()).then_some(())
    })
    .await;
}

async fn coupled() -> UpProcess {
    let up = UpProcess::logging(CONFIG, "debug", |folder| {
        fs::write(folder.join("teller"), PROGRAM).unwrap();
        let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        fs::set_permissions(folder.join("teller"), mode).unwrap();
    });
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let group = "rbac.authorization.k8s.io";
    let rules = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    let role = json!({"apiVersion": format!("{group}/v1"), "kind": "ClusterRole", "metadata": {"name": "all"}, "rules": rules});
    apply(&up, &format!("{rbac}/clusterroles"), role).await;
    let binding = json!({"apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": "all"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "all"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}]});
    apply(&up, &format!("{rbac}/clusterrolebindings"), binding).await;
    password(&up, IN_SECRET).await;
    let version = "integration.rock8s.com/v1beta1";
    let of = format!("/apis/{version}/namespaces/default");
    let interface = json!({"config": {"socket": {"password": {"required": true, "secret": true}}}});
    let socket = json!({"apiVersion": version, "kind": "Socket", "metadata": {"name": "db"},
        "spec": {"interface": interface, "configSecretName": "db"}});
    apply(&up, &format!("{of}/sockets"), socket).await;
    let made = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "made"},
        "stringData": {"url": "db://{% .socketConfig.password %}"}});
    let plug = json!({"apiVersion": version, "kind": "Plug", "metadata": {"name": "web"},
        "spec": {"socket": {"name": "db", "namespace": "default"}, "resources": [{"template": made}]}});
    apply(&up, &format!("{of}/plugs"), plug).await;
    follows(&up, IN_SECRET).await;
    up
}

/// Returns an address from the output of the process.
fn address(up: &UpProcess, what: &str) -> String {
    let stderr_text = up.log();
    let found =
        stderr_text.split(&format!("{what} at http://")).nth(1).unwrap_or_else(|| panic!("no {what}: {stderr_text}"));
    found.split('/').next().unwrap().to_string()
}

/// Creates objects with secrets in typical places: fields, arguments, URLs, items of sets, keys of lists, events.
async fn plant(up: &UpProcess) {
    let text = || json!({"type": "string"});
    let texts = json!({"type": "array", "items": text(), "x-kubernetes-list-type": "set"});
    let keyed = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["token"],
        "items": {"type": "object", "required": ["token"], "properties": {"token": text(), "use": text()}}});
    let fields = json!({"password": text(), "pin": {"type": "object", "properties": {"secret": {"type": "integer"}}},
        "passwords": texts, "logins": keyed, "args": {"type": "array", "items": text()}});
    let schema = json!({"openAPIV3Schema": {"type": "object",
        "properties": {"spec": {"type": "object", "properties": fields}}}});
    let columns = json!([{"name": "Login", "type": "string", "jsonPath": ".spec.password"},
        {"name": "Pin", "type": "integer", "jsonPath": ".spec.pin.secret"}]);
    let names = json!({"plural": "boxes", "singular": "box", "kind": "Box", "listKind": "BoxList"});
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boxes.canary.example.com"},
        "spec": {"group": "canary.example.com", "scope": "Namespaced", "names": names, "versions": [
            {"name": "v1", "served": true, "storage": true, "schema": schema, "additionalPrinterColumns": columns}]}});
    apply(up, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).await;
    let spec = json!({"password": IN_OBJECT, "pin": {"secret": IN_NUMBER}, "passwords": [IN_OBJECT],
        "logins": [{"token": IN_OBJECT, "use": "reads"}], "args": ["--password", IN_OBJECT]});
    let of = "/apis/canary.example.com/v1/namespaces/default/boxes";
    apply(
        up,
        of,
        json!({"apiVersion": "canary.example.com/v1", "kind": "Box", "metadata": {"name": "box"}, "spec": spec}),
    )
    .await;
    let container = json!({"name": "web", "image": "web:1", "args": ["--db-pass", IN_OBJECT, "--url", format!("postgres://u:p@{IN_OBJECT}@h/db")],
        "env": [{"name": "API_TOKEN", "value": IN_OBJECT}, {"name": "DB_PWD", "value": IN_OBJECT}]});
    let labels = json!({"app": "web"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [container]}});
    let web = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": labels}, "template": template}});
    apply(up, "/apis/apps/v1/namespaces/default/deployments", web).await;
    let printed = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "web.1"}, "reason": "Failed", "type": "Warning",
        "message": format!("mysql --password {IN_OBJECT} failed, credentials: {IN_OBJECT}"),
        "involvedObject": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "default"}});
    apply(up, "/api/v1/namespaces/default/events", printed).await;
}

#[tokio::test]
async fn console_exposes_no_secret() {
    let up = coupled().await;
    plant(&up).await;
    up.row("teller", |row| row["state"] == "Failing").await;
    let at = address(&up, "console");
    let seen = tokio::task::spawn_blocking(move || crawl::crawl(&at, |path, page| hidden(path, page.as_bytes())))
        .await
        .unwrap();
    for page in [
        "/objects/default/boxes.canary.example.com/default/box",
        "/objects?cluster=default&kind=boxes.canary.example.com",
        "/objects/default/deployments.apps/default/web",
        "/objects/default/secrets/default/made",
        "/objects/default/events/default/web.1",
        "/operators/teller",
        "/operators/plugs",
        "/map",
        "/shards",
        "/fleet",
    ] {
        assert!(seen.contains(page), "no link leads to {page}: {seen:#?}");
    }
    hidden("the log", up.log().as_bytes());
}

#[tokio::test]
async fn kernel_logs_and_stores_no_secret() {
    let up = coupled().await;
    password(&up, ROTATED).await;
    follows(&up, ROTATED).await;
    // A deleted Secret is recreated.
    let secrets: Api<Secret> = Api::default_namespaced(up.serving.client(CONTEXT).await);
    secrets.delete("made", &Default::default()).await.unwrap();
    follows(&up, ROTATED).await;
    up.row("teller", |row| row["state"] == "Failing").await;
    for question in [
        vec!["top"],
        vec!["top", "-o", "json"],
        vec!["why", "secret/made"],
        vec!["why", "secret/made", "-o", "json"],
        vec!["why", "secret/made", "--field", ".data.url"],
        vec!["why", "secret/made", "--field", ".stringData.url"],
        vec!["why", "secret/db"],
        vec!["why", "plug/web", "-o", "yaml"],
        vec!["why", "socket/db"],
        vec!["why-not", "plugs"],
        vec!["why-not", "sockets", "-o", "json"],
        vec!["why-not", "teller"],
        vec!["replay", "3"],
        vec!["replay", "5", "-o", "json"],
    ] {
        let output = up.ask(&question);
        hidden(&question.join(" "), &output.stdout);
        hidden(&question.join(" "), &output.stderr);
    }
    let kubeconfig = up.serving.kubeconfig.display().to_string();
    for form in ["table", "wide", "json", "yaml", "dot"] {
        let output = switchboard(&["plugs", "status", "--relations", "--kubeconfig", &kubeconfig, "-o", form]).output();
        hidden("plugs status", &output.unwrap().stdout);
    }
    // A plan from another process has diffs of Secrets as well.
    secrets.delete("made", &Default::default()).await.unwrap();
    let config = up.outside("operators: {plugs: {}}\n");
    let output = switchboard(&["plan", "--config"]).arg(config).output().unwrap();
    hidden("plan", &output.stdout);
    hidden("plan", &output.stderr);
    hidden("the metrics", crawl::get(&address(&up, "metrics"), "/metrics").1.as_bytes());
    hidden("the log", up.log().as_bytes());
    let state = up.file("state");
    let kept: Vec<_> = files(&state).into_iter().filter(|file| !file.starts_with(state.join("hosted"))).collect();
    assert!(kept.iter().any(|file| file.starts_with(state.join("journal"))), "there is a journal: {kept:?}");
    for file in kept {
        hidden(&file.display().to_string(), &fs::read(&file).unwrap());
    }
}

#[test]
fn errors_hold_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{"name": "a", "cluster": {"server": format!("https://{closed}")}}],
        "users": [{"name": "me", "user": {"token": IN_KUBECONFIG}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "me"}}]});
    fs::write(path("kubeconfig"), kubeconfig.to_string()).unwrap();
    fs::write(path("broken"), format!("users: [{{name: me, user: {{token: {IN_KUBECONFIG}}}}}\ncontexts: ][")).unwrap();
    fs::write(path("switchboard.yaml"), "operators: {greeter: {}}\n").unwrap();
    fs::write(path("wrong.yaml"), format!("operators: {{greeter: {{env: {{PASSWORD: {IN_VARIABLE}}}}}}}\n")).unwrap();
    fs::create_dir_all(path("chart/templates")).unwrap();
    fs::write(path("chart/Chart.yaml"), "apiVersion: v2\nname: c\nversion: 1.0.0\n").unwrap();
    fs::write(
        path("chart/templates/a.yaml"),
        "a: {{ required \"no host\" .Values.host }}\nb: {{ .Values.password }}\n",
    )
    .unwrap();
    let database = format!("postgres://me:{IN_ADDRESS}@{closed}/gitops");
    let password = format!("password={IN_VALUES}");
    let backup = ["gitops", "restore", "switchboard.yaml", "--database", "sqlite:new.db", "--plaintext-credentials"];
    let restore = [&backup[..], &["--kubeconfig", "broken"]].concat();
    let lines: [&[&str]; 13] = [
        &restore,
        &["doctor", "--database", &database, "--state-dir", "state", "--kubeconfig", "kubeconfig"],
        &["doctor", "--database", &database, "--state-dir", "state", "--kubeconfig", "broken", "-o", "json"],
        &["gitops", "migrate", "--database", &database, "--plaintext-credentials"],
        &["gitops", "migrate", "--database", &format!("mysql://me:{IN_ADDRESS}@h/x"), "--plaintext-credentials"],
        &["plan", "--kubeconfig", "kubeconfig", "--timeout", "2s"],
        &["plan", "--kubeconfig", "broken"],
        &["plan", "--config", "wrong.yaml"],
        &["plugs", "status", "--kubeconfig", "kubeconfig"],
        &["gather", "collect", "--operator", "greeter", "--to", "out", "--kubeconfig", "kubeconfig"],
        &["template", "chart", "--set", &password],
        &["template", "chart", "--set", &password, "--validate", "--kubeconfig", "kubeconfig"],
        &["template", "chart", "--set", &password, "--validate", "--kubeconfig", "broken"],
    ];
    for line in lines {
        let mut command = switchboard(line);
        command.current_dir(folder.path()).env("SWITCHBOARD_LOG", "debug").env("HOME", folder.path());
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(matches!(output.status.code(), Some(1)), "{line:?}: {}", stderr_text(&output));
        hidden(&line[..2].join(" "), &output.stdout);
        hidden(&line[..2].join(" "), &output.stderr);
    }
}
