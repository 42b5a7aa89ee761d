//! The examples, applied as in their documentation.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};
use switchboard_cluster::Cluster;
use tokio::time::Instant;

use crate::api::{ADMIN, get, send};
use crate::expect::difference;
use crate::kernel::CaseKernel;
use crate::kinds::{list_path, path};

const TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);

struct ExampleFixture {
    client: Client,
    kernel: CaseKernel,
    folder: tempfile::TempDir,
    _cluster: Cluster,
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/plugs").join(name)
}

impl ExampleFixture {
    async fn start() -> Self {
        let cluster = Cluster::ephemeral().await;
        cluster.start_controllers();
        let client = cluster.client();
        crate::install(&client).await;
        let folder = tempfile::tempdir().unwrap();
        let kernel = CaseKernel::start(&client, folder.path());
        Self { client, kernel, folder, _cluster: cluster }
    }

    async fn apply(&self, file: &str) {
        apply(&self.client, file).await;
    }

    async fn until(&self, target: &str, wanted: Value) -> Value {
        until(&self.client, target, wanted).await
    }
}

async fn apply(client: &Client, file: &str) {
    let text = std::fs::read_to_string(example(file)).unwrap();
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    for object in objects {
        let word = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
        let list = list_path(&word("/kind"), &word("/metadata/namespace"));
        let path = format!("{list}/{}?fieldManager={ADMIN}&fieldValidation=Strict", word("/metadata/name"));
        let end = Instant::now() + TIMEOUT;
        while let Err(error) = send(client, "APPLY", &path, object.clone()).await {
            // A new process creates the definitions shortly after its cluster answers.
            let is_early = error.to_string().contains("page not found") && Instant::now() < end;
            assert!(is_early, "{file}: {error}");
            tokio::time::sleep(POLL).await;
        }
    }
}

async fn until(client: &Client, target: &str, wanted: Value) -> Value {
    let end = Instant::now() + TIMEOUT;
    loop {
        let object = get(client, &path(target, "default")).await;
        match difference(&wanted, object.as_ref()) {
            None => return object.unwrap_or_default(),
            Some(problem) => assert!(Instant::now() < end, "{target}: {problem}"),
        }
        tokio::time::sleep(POLL).await;
    }
}

fn encoded(text: &str) -> String {
    use std::fmt::Write as _;
    // Encodes three bytes at a time; the texts of the examples are ASCII.
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in text.as_bytes().chunks(3) {
        let bits = three.iter().enumerate().fold(0u32, |bits, (at, byte)| bits | u32::from(*byte) << (16 - 8 * at));
        for at in 0..=three.len() {
            let index = (bits >> (18 - 6 * at)) & 63;
            write!(out, "{}", char::from(ALPHABET[index as usize])).unwrap();
        }
        (three.len()..3).for_each(|_| out.push('='));
    }
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_password_reaches_the_application_and_no_status() {
    let board = ExampleFixture::start().await;
    for file in ["postgres/1-rights.yaml", "postgres/2-database.yaml", "postgres/3-application.yaml"] {
        board.apply(file).await;
    }
    let url = |password: &str| encoded(&format!("postgres://shop:{password}@postgres.data.svc:5432/orders"));
    board.until("Plug/shop/web", json!({"Coupled": "True CouplingSucceeded"})).await;
    board.until("Secret/shop/web-database", json!({"=data": {"url": url("correct-horse")}})).await;
    board.until("ConfigMap/shop/web-database", json!({"=data": {"database": "orders at postgres.data.svc"}})).await;
    board.until("ConfigMap/data/database-orders", json!("present")).await;
    board.until("Deployment/shop/web", json!("present")).await;
    board.apply("postgres/4-rotated.yaml").await;
    board.until("Secret/shop/web-database", json!({"=data": {"url": url("battery-staple")}})).await;
    // Beginning of the hash of the new password, which triggers a rollout.
    let annotations = json!({"database": "481fd3283396"});
    let template = json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
    board.until("Deployment/shop/web", template).await;
    board.until("Plug/shop/web", json!({"Coupled": "True CouplingSucceeded"})).await;
    for target in ["Plug/shop/web", "Socket/data/postgres", "ConfigMap/data/database-orders"] {
        let text = get(&board.client, &path(target, "")).await.unwrap().to_string();
        assert!(!text.contains("correct-horse") && !text.contains("battery-staple"), "{target} shows a password");
    }
    board.kernel.stop().await;
    let journal = std::fs::read_dir(board.folder.path().join("journal")).unwrap();
    for file in journal.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        assert!(!text.contains("correct-horse") && !text.contains("battery-staple"), "the journal holds a password");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_one_socket_reaches_its_many_plugs() {
    let board = ExampleFixture::start().await;
    board.apply("many/1-socket.yaml").await;
    board.apply("many/2-plugs.yaml").await;
    board.until("Socket/edge/gateway", json!({"Coupled": "True SocketCoupled: 10 plugs coupled"})).await;
    let patch = json!({"spec": {"config": {"domain": "shop.example.com"}}});
    send(&board.client, "PATCH", &path("Socket/edge/gateway", ""), patch).await.unwrap();
    for name in ["catalog", "cart", "help"] {
        let route = format!("https://shop.example.com/{name} weight=100");
        board.until(&format!("ConfigMap/edge/route-{name}"), json!({"=data": {"route": route}})).await;
    }
    board.kernel.stop().await;
}

/// Runs the example of an apparatus with the binary, configuration and program of the documentation.
#[cfg(feature = "real")]
#[tokio::test(flavor = "multi_thread")]
async fn the_apparatus_in_python_gives_the_application_its_account() {
    let python = std::process::Command::new("python3").arg("--version").output();
    assert!(python.is_ok_and(|said| said.status.success()), "this test needs python3");
    let folder = tempfile::tempdir().unwrap();
    let config = example("apparatus/switchboard.yaml");
    let arguments = ["--config".as_ref(), config.as_os_str(), "--state-dir".as_ref(), folder.path().as_os_str()];
    let mut up = switchboard_suite::process::UpProcess::start_with(&folder.path().join("data"), &arguments).unwrap();
    let client = up.client().await.unwrap();
    apply(&client, "apparatus/accounts.yaml").await;
    until(&client, "ConfigMap/web-account", json!({"=data": {"realm": "example", "account": "web-application"}})).await;
    until(&client, "Plug/web", json!({"Coupled": "True CouplingSucceeded"})).await;
    send(&client, "DELETE", &path("Plug/web", "default"), Value::Null).await.unwrap();
    until(&client, "Plug/web", json!("absent")).await;
    until(&client, "ConfigMap/web-account", json!("absent")).await;
    let socket = json!({"Coupled": "False SocketEmpty"});
    until(&client, "Socket/accounts", socket).await;
}
