//! Operator in a binary of its own: `examples/dns-records` is built as a stranger builds it, and its commands run.
#![allow(clippy::unwrap_used)]

#[path = "own_binary/provider.rs"]
mod provider;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use kube::Client;
use serde_json::{Value, json};
use switchboard_suite::process;

use provider::Provider;

/// Timeout of every expectation.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn example() -> PathBuf {
    root().join("examples/dns-records")
}

/// Returns the folder of the builds outside of the workspace, below the workspace's own.
fn target() -> PathBuf {
    // target/<profile>/deps/<test>
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(3).unwrap().join("own-binary")
}

/// Runs cargo in the example, with the versions of the workspace.
fn cargo(arguments: &[&str]) {
    fs::copy(root().join("Cargo.lock"), example().join("Cargo.lock")).unwrap();
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.args(arguments).arg("--quiet").arg("--target-dir").arg(target()).current_dir(example());
    // Variables that describe the package of this test would describe the wrong one.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CARGO_PKG_")) {
        command.env_remove(name);
    }
    let status = command.env("CARGO_PROFILE_DEV_DEBUG", "none").status().unwrap();
    assert!(status.success(), "cargo {arguments:?} failed");
}

fn binary() -> PathBuf {
    target().join("debug/dns-records")
}

/// `dns-records up`, stopped when dropped.
struct Up {
    child: Child,
    folder: tempfile::TempDir,
    kubeconfig: PathBuf,
}

impl Up {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let mut child = Command::new(binary())
            .args(["up", "--ephemeral", "--listen", "127.0.0.1:0", "--state-dir"])
            .arg(folder.path().join("state"))
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let up = Self { child, folder, kubeconfig: line.trim_end().into() };
        assert!(up.kubeconfig.is_file(), "{}", up.log());
        up
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// Runs a command about this process.
    fn command(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(binary());
        command.args(arguments).arg("--state-dir").arg(self.folder.path().join("state"));
        command.env("KUBECONFIG", &self.kubeconfig).current_dir(self.folder.path()).output().unwrap()
    }

    /// Runs a command until it prints these words.
    fn prints(&self, arguments: &[&str], words: &str) -> String {
        let end = Instant::now() + TIMEOUT;
        loop {
            let output = self.command(arguments);
            let printed = String::from_utf8(output.stdout).unwrap();
            if printed.contains(words) {
                return printed;
            }
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(Instant::now() < end, "{arguments:?} does not print `{words}`:\n{printed}{error}\n{}", self.log());
            std::thread::sleep(POLL);
        }
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request as kubectl does, and returns the object; `None` if it does not exist.
async fn send(client: &Client, method: &str, path: &str, body: &Value) -> Option<Value> {
    let request = http::Request::builder().method(method).uri(path).header("content-type", content_type(method));
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    match client.request::<Value>(request.body(body).unwrap()).await {
        Ok(object) => Some(object),
        Err(kube::Error::Api(status)) if status.code == 404 => None,
        Err(error) => panic!("{method} {path}: {error}"),
    }
}

fn content_type(method: &str) -> &'static str {
    if method == "PATCH" { "application/merge-patch+json" } else { "application/json" }
}

const RECORDS: &str = "/apis/dns.example.com/v1/namespaces/default/dnsrecords";
const RECORD: &str = "/apis/dns.example.com/v1/namespaces/default/dnsrecords/web";

/// Repeats a request until the response is as expected.
async fn until(client: &Client, up: &Up, path: &str, is_expected: impl Fn(Option<&Value>) -> bool) {
    let end = Instant::now() + TIMEOUT;
    loop {
        let found = send(client, "GET", path, &Value::Null).await;
        if is_expected(found.as_ref()) {
            return;
        }
        assert!(Instant::now() < end, "{path}: {found:?}\n{}", up.log());
        tokio::time::sleep(POLL).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strangers_binary_has_every_command() {
    cargo(&["test"]);
    cargo(&["build"]);
    let provider = Provider::start();
    let up = Up::start();
    let client = process::client(&up.kubeconfig).await.unwrap();
    publishes(&client, &up, &provider).await;
    explains_and_plans(&client, &up).await;
    withdraws(&client, &up, &provider).await;
    passes_its_own_tests(&provider);
}

/// Creates kind and resource, and waits for finalizer, entry and status.
async fn publishes(client: &Client, up: &Up, provider: &Provider) {
    let kind: Value = serde_json::from_slice(&fs::read(example().join("crd.json")).unwrap()).unwrap();
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    send(client, "POST", definitions, &kind).await.unwrap();
    until(client, up, RECORDS, |list| list.is_some()).await;
    let record = json!({"apiVersion": "dns.example.com/v1", "kind": "DnsRecord", "metadata": {"name": "web"},
        "spec": {"provider": provider.url(), "host": "web.example.com", "address": "192.0.2.1"}});
    send(client, "POST", RECORDS, &record).await.unwrap();
    until(client, up, RECORD, |record| record.unwrap()["status"]["published"] == "192.0.2.1").await;
    until(client, up, RECORD, |record| {
        record.unwrap()["metadata"]["finalizers"] == json!(["dns.example.com/withdraw"])
    })
    .await;
    assert_eq!(provider.address("web.example.com").as_deref(), Some("192.0.2.1"));
    let change = json!({"spec": {"address": "192.0.2.2"}});
    send(client, "PATCH", RECORD, &change).await.unwrap();
    until(client, up, RECORD, |record| {
        let status = &record.unwrap()["status"];
        status["published"] == "192.0.2.2" && status["observedGeneration"] == 2
    })
    .await;
    assert_eq!(provider.address("web.example.com").as_deref(), Some("192.0.2.2"));
}

/// Lets `why`, `plan`, `top` and the console answer.
async fn explains_and_plans(client: &Client, up: &Up) {
    let why = up.prints(&["why", "dnsrecord/web", "-n", "default", "--field", ".status.published"], "dns-records");
    assert!(why.contains("dns-records default/web"), "{why}");
    up.prints(&["top"], "dns-records");
    let log = up.log();
    assert!(log.contains("running dns-records\n"), "without a configuration, `up` hosts the binary's operators: {log}");
    assert!(log.contains("console at http://"), "{log}");
    fs::write(up.folder.path().join("switchboard.yaml"), "operators:\n  dns-records: {}\n").unwrap();
    up.prints(&["plan"], "nothing would be written");
    // A paused operator does not repair the record, so that `plan` has a write to show.
    assert!(up.command(&["pause", "dns-records"]).status.success());
    send(client, "PATCH", RECORD, &json!({"metadata": {"finalizers": null}})).await.unwrap();
    let plan = up.prints(&["plan"], "patch dnsrecords.dns.example.com/default/web by dns-records default/web");
    assert!(plan.contains("dns.example.com/withdraw"), "{plan}");
    assert!(up.command(&["resume", "dns-records"]).status.success());
    until(client, up, RECORD, |record| record.unwrap()["metadata"]["finalizers"].is_array()).await;
}

/// Deletes the resource, which exists until its entry is deleted.
async fn withdraws(client: &Client, up: &Up, provider: &Provider) {
    send(client, "DELETE", RECORD, &Value::Null).await.unwrap();
    until(client, up, RECORD, |record| record.is_none()).await;
    assert_eq!(provider.address("web.example.com"), None);
}

/// Runs the tests that the example's files describe.
fn passes_its_own_tests(provider: &Provider) {
    let output = Command::new(binary()).arg("test").arg(example().join("cases")).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}{output:?}");
    let folder = tempfile::tempdir().unwrap();
    let case = fs::read_to_string(example().join("probe.yaml")).unwrap();
    let file = folder.path().join("probe.yaml");
    fs::write(&file, case.replace("http://127.0.0.1:8053", &provider.url())).unwrap();
    let output = Command::new(binary()).args(["fault-test", "dns-records", "--case"]).arg(file).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("0 failed"), "{printed}{output:?}");
}
