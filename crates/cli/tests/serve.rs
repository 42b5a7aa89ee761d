//! `switchboard serve` as a user runs it.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use k8s_openapi::api::core::v1::{ConfigMap, Event, Pod};
use kube::api::{DeleteParams, DynamicObject, ListParams, LogParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, Config};

fn dump() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/dump")
}

fn switchboard(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    command.args(arguments).env_remove("SWITCHBOARD_LOG");
    command
}

/// A server that is stopped when the test ends, whatever happens.
struct Serving {
    child: Child,
    kubeconfig: PathBuf,
}

impl Serving {
    fn start(dump: &Path) -> Self {
        let mut command = switchboard(&["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.arg(dump).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self { child, kubeconfig: line.trim_end().into() }
    }

    async fn client(&self) -> Client {
        let file = Kubeconfig::read_from(&self.kubeconfig).unwrap();
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
        Client::try_from(config).unwrap()
    }

    /// Sends SIGTERM; returns the exit code and what was said.
    fn stop(mut self) -> (Option<i32>, String) {
        Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        let code = self.child.wait().unwrap().code();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (code, said)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

async fn check_contents(client: Client) {
    let pods: Api<Pod> = Api::namespaced(client.clone(), "shop");
    assert_eq!(pods.get("web").await.unwrap().metadata.resource_version.as_deref(), Some("51"));
    let app = LogParams { container: Some("app".into()), tail_lines: Some(1), ..LogParams::default() };
    assert_eq!(pods.logs("web", &app).await.unwrap(), "2026-01-02T09:30:00.000000000Z cannot reach the queue\n");
    let previous = LogParams { previous: true, tail_lines: None, ..app };
    assert!(pods.logs("web", &previous).await.unwrap().contains("for the first time"));
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "shop");
    // Text that YAML 1.1 reads as truth is no text, and is shown as the dump has it.
    let raw: serde_json::Value = {
        let request = http::Request::get("/api/v1/namespaces/shop/configmaps/settings").body(Vec::new()).unwrap();
        client.request(request).await.unwrap()
    };
    assert_eq!(raw["data"], serde_json::json!({"mode": "on", "answer": true}));
    assert!(maps.delete("settings", &DeleteParams::default()).await.unwrap_err().to_string().contains("read-only"));
    let events: Api<Event> = Api::namespaced(client.clone(), "shop");
    let about = ListParams::default().fields("involvedObject.name=web,involvedObject.kind=Pod");
    assert_eq!(events.list(&about).await.unwrap().items.len(), 1);
    let queue = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("shop.example.com", "v1", "Queue"), "queues");
    let queues: Api<DynamicObject> = Api::namespaced_with(client.clone(), "shop", &queue);
    assert_eq!(queues.get("orders").await.unwrap().data["status"]["depth"], 42);
    let proxy =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("config.example.com", "v1", "Proxy"), "proxies");
    let proxies: Api<DynamicObject> = Api::all_with(client, &proxy);
    assert_eq!(proxies.list(&ListParams::default()).await.unwrap().items.len(), 1);
}

#[tokio::test]
async fn a_directory_is_served_and_what_is_broken_is_named() {
    let serving = Serving::start(&dump());
    check_contents(serving.client().await).await;
    let kubeconfig = serving.kubeconfig.clone();
    let (code, said) = serving.stop();
    assert_eq!(code, Some(0));
    let broken = "registry-example-com-must-gather-sha256-0123/namespaces/shop/core/secrets.yaml:";
    assert!(said.contains(broken), "{said}");
    assert!(said.contains("read 8 objects and 3 logs"), "{said}");
    assert!(!kubeconfig.exists(), "the temporary kubeconfig is taken away");
}

#[tokio::test]
async fn an_archive_is_served_like_the_directory() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("dump.tar.gz");
    let made = Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(dump()).arg(".").status().unwrap();
    assert!(made.success());
    let serving = Serving::start(&archive);
    check_contents(serving.client().await).await;
}

#[test]
fn what_is_no_dump_is_refused_with_a_hint() {
    let missing = switchboard(&["serve", "no-such-dump", "--listen", "127.0.0.1:0"]).output().unwrap();
    let said = String::from_utf8(missing.stderr).unwrap();
    assert_eq!(missing.status.code(), Some(1));
    assert!(said.starts_with("error: could not open the dump `no-such-dump`"), "{said}");
    assert!(said.contains("hint: "), "{said}");
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let text = switchboard(&["serve", "--listen", "127.0.0.1:0"]).arg(manifest).output().unwrap();
    let said = String::from_utf8(text.stderr).unwrap();
    assert!(said.contains("could not read the archive") && said.contains("hint: "), "{said}");
    assert_eq!(switchboard(&["serve"]).output().unwrap().status.code(), Some(64));
}
