//! The subset of kubectl used by the first pages, over plain HTTP, so that these pages are tested even without kubectl.

use std::path::Path;
use std::time::{Duration, Instant};

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use switchboard_object::yaml;

const TIMEOUT: Duration = Duration::from_secs(60);

/// A parsed kubectl command.
struct KubectlLine {
    namespace: String,
    words: Vec<String>,
    options: Vec<(String, String)>,
}

impl KubectlLine {
    fn read(line: &str) -> Self {
        let mut read = KubectlLine { namespace: "default".to_string(), words: Vec::new(), options: Vec::new() };
        let mut rest = words(line).into_iter().skip(1);
        while let Some(word) = rest.next() {
            match word.as_str() {
                "-n" => read.namespace = rest.next().unwrap(),
                "-f" | "-o" | "-p" => read.options.push((word, rest.next().unwrap())),
                long if long.starts_with("--") => {
                    let (name, value) = long.split_once('=').unwrap_or((long, ""));
                    read.options.push((name.to_string(), value.to_string()));
                }
                _ => read.words.push(word),
            }
        }
        read
    }

    fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Splits a line into words like a shell, respecting quotes.
fn words(line: &str) -> Vec<String> {
    let (mut out, mut open, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => (quote, open) = (Some(c), Some(open.unwrap_or_default())),
            (None, ' ') => out.extend(open.take()),
            _ => open.get_or_insert_default().push(c),
        }
    }
    out.extend(open);
    out
}

async fn connect(kubeconfig: &str) -> Client {
    let file = Kubeconfig::read_from(Path::new(kubeconfig)).unwrap();
    Client::try_from(kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap()).unwrap()
}

async fn send(client: &Client, method: &str, path: &str, kind: &str, body: &Value) -> Option<Value> {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = http::Request::builder().method(method).uri(path).header("Content-Type", kind).body(body).unwrap();
    match client.request::<Value>(request).await {
        Ok(answer) => Some(answer),
        Err(kube::Error::Api(status)) if status.code == 404 => None,
        Err(error) => panic!("{method} {path}: {error}"),
    }
}

fn path(namespace: &str, name: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps/{name}")
}

/// Waits until an object exists, or has the given text.
async fn wait(client: &Client, at: &str, wanted: &str) {
    let (field, text) = wanted.split_once("}=").unwrap_or(("", ""));
    let pointer = field.trim_start_matches("jsonpath={").replace('.', "/");
    let end = Instant::now() + TIMEOUT;
    loop {
        let object = send(client, "GET", at, "application/json", &Value::Null).await;
        if object.is_some_and(|object| wanted == "create" || object.pointer(&pointer) == Some(&json!(text))) {
            return;
        }
        assert!(Instant::now() < end, "{at} did not become {wanted}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Executes a kubectl command and returns its output.
pub fn kubectl(kubeconfig: &str, folder: &Path, line: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, line_of) = (connect(kubeconfig).await, KubectlLine::read(line));
        let words: Vec<&str> = line_of.words.iter().map(String::as_str).collect();
        let name = words.last().map(|last| last.trim_start_matches("configmap/")).unwrap_or_default();
        let (namespace, json_type) = (line_of.namespace.as_str(), "application/json");
        match words.as_slice() {
            ["create", "namespace", name] => {
                let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
                send(&client, "POST", "/api/v1/namespaces", json_type, &body).await.unwrap();
                String::new()
            }
            ["create", "configmap", name] => {
                let (key, value) = line_of.option("--from-literal").unwrap().split_once('=').unwrap();
                let body =
                    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {key: value}});
                send(&client, "POST", &path(namespace, ""), json_type, &body).await.unwrap();
                String::new()
            }
            ["apply"] => {
                let text = std::fs::read_to_string(folder.join(line_of.option("-f").unwrap())).unwrap();
                let body: Value = yaml::read(&text).unwrap().value;
                let at =
                    format!("{}?fieldManager=kubectl", path(namespace, body["metadata"]["name"].as_str().unwrap()));
                send(&client, "PATCH", &at, "application/apply-patch+yaml", &body).await.unwrap();
                String::new()
            }
            ["patch", "configmap", name] => {
                let body: Value = serde_json::from_str(line_of.option("-p").unwrap()).unwrap();
                send(&client, "PATCH", &path(namespace, name), "application/merge-patch+json", &body).await.unwrap();
                String::new()
            }
            ["delete", "configmap", name] => {
                send(&client, "DELETE", &path(namespace, name), json_type, &Value::Null).await.unwrap();
                String::new()
            }
            ["wait", _] => {
                wait(&client, &path(namespace, name), line_of.option("--for").unwrap()).await;
                String::new()
            }
            ["get", "namespaces"] => {
                send(&client, "GET", "/api/v1/namespaces", json_type, &Value::Null).await.unwrap().to_string()
            }
            ["get", "configmap", name] => {
                send(&client, "GET", &path(namespace, name), json_type, &Value::Null).await.unwrap().to_string()
            }
            ["explain", _] => String::new(),
            other => panic!("`{line}`: teach tests/docs/client.rs {other:?}"),
        }
    })
}
