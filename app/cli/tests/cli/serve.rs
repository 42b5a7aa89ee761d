//! `switchboard serve`.

use std::path::{Path, PathBuf};
use std::process::Command;

use k8s_openapi::api::core::v1::{ConfigMap, Event, Pod};
use kube::api::{DeleteParams, DynamicObject, ListParams, LogParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};

use crate::process::{CONTEXT, ServerProcess, run, stderr_text, switchboard};

fn dump() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/dump")
}

fn serve(dump: &Path) -> ServerProcess {
    let mut command = switchboard(&["serve"]);
    command.arg(dump);
    ServerProcess::start(command)
}

async fn check_contents(client: Client) {
    let pods: Api<Pod> = Api::namespaced(client.clone(), "shop");
    assert_eq!(pods.get("web").await.unwrap().metadata.resource_version.as_deref(), Some("51"));
    let app = LogParams { container: Some("app".into()), tail_lines: Some(1), ..LogParams::default() };
    assert_eq!(pods.logs("web", &app).await.unwrap(), "2026-01-02T09:30:00.000000000Z cannot reach the queue\n");
    let previous = LogParams { previous: true, tail_lines: None, ..app };
    assert!(pods.logs("web", &previous).await.unwrap().contains("for the first time"));
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "shop");
    // A string that YAML 1.1 reads as a boolean stays a string.
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
async fn directory_is_served_and_broken_files_are_named() {
    let serving = serve(&dump());
    check_contents(serving.client(CONTEXT).await).await;
    let kubeconfig = serving.kubeconfig.clone();
    let (code, stderr_text) = serving.stop();
    assert_eq!(code, Some(0));
    let broken = "registry-example-com-must-gather-sha256-0123/namespaces/shop/core/secrets.yaml:";
    assert!(stderr_text.contains(broken), "{stderr_text}");
    assert!(stderr_text.contains("read 8 objects and 3 logs"), "{stderr_text}");
    assert!(!kubeconfig.exists(), "the temporary kubeconfig is taken away");
}

#[tokio::test]
async fn an_archive_is_served_like_the_directory() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("dump.tar.gz");
    let made = Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(dump()).arg(".").status().unwrap();
    assert!(made.success());
    let serving = serve(&archive);
    check_contents(serving.client(CONTEXT).await).await;
}

#[test]
fn invalid_dump_is_refused_with_a_hint() {
    let missing = run(&["serve", "no-such-dump", "--listen", "127.0.0.1:0"]);
    let said_of_it = stderr_text(&missing);
    assert_eq!(missing.status.code(), Some(1));
    assert!(said_of_it.starts_with("error: could not open dump `no-such-dump`"), "{said_of_it}");
    assert!(said_of_it.contains("hint: "), "{said_of_it}");
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let text = switchboard(&["serve", "--listen", "127.0.0.1:0"]).arg(manifest).output().unwrap();
    let stderr_text = stderr_text(&text);
    assert!(stderr_text.contains("could not read archive") && stderr_text.contains("hint: "), "{stderr_text}");
    assert_eq!(run(&["serve"]).status.code(), Some(64));
}

#[test]
fn empty_dump_is_refused_with_a_hint() {
    let empty = tempfile::tempdir().unwrap();
    for path in [Path::new("/dev/null"), empty.path()] {
        let output = switchboard(&["serve", "--listen", "127.0.0.1:0"]).arg(path).output().unwrap();
        let stderr_text = stderr_text(&output);
        assert_eq!(output.status.code(), Some(1), "{stderr_text}");
        let error = format!("error: the dump `{}` holds no objects and no logs\n", path.display());
        assert!(
            stderr_text.contains(&error)
                && stderr_text.contains("hint: check the path: a dump has folders `namespaces`"),
            "{stderr_text}"
        );
    }
}

#[tokio::test]
async fn complete_part_of_a_truncated_archive_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("dump.tar");
    let made = Command::new("tar").arg("-cf").arg(&archive).arg("-C").arg(dump()).arg("--sort=name").arg(".").status();
    assert!(made.unwrap().success());
    let bytes = std::fs::read(&archive).unwrap();
    // Cut in the middle of the last file's content.
    let last = bytes.chunks(512).rposition(|block| block.iter().any(|byte| *byte != 0)).unwrap();
    std::fs::write(&archive, &bytes[..last * 512 + 3]).unwrap();
    let serving = serve(&archive);
    let pods: Api<Pod> = Api::all(serving.client(CONTEXT).await);
    assert!(!pods.list(&ListParams::default()).await.unwrap().items.is_empty());
    let (code, stderr_text) = serving.stop();
    assert_eq!(code, Some(0), "{stderr_text}");
    assert!(
        stderr_text.contains(&format!("warning: {}: archive is damaged after entry", archive.display())),
        "{stderr_text}"
    );
}
