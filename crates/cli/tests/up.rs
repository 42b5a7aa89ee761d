//! `switchboard up` as a user runs it.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};

fn switchboard(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    command.args(arguments).env_remove("SWITCHBOARD_LOG");
    command
}

fn fail(arguments: &[&str]) -> Output {
    switchboard(arguments).output().unwrap()
}

/// A server that is stopped when the test ends, whatever happens.
struct Up {
    child: Child,
    kubeconfig: String,
}

impl Up {
    fn start(arguments: &[&str]) -> Self {
        let all: Vec<&str> = [&["up", "--listen", "127.0.0.1:0"], arguments].concat();
        let mut child = switchboard(&all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self { child, kubeconfig: line.trim_end().to_string() }
    }

    async fn client(&self, context: &str) -> Client {
        let options = KubeConfigOptions { context: Some(context.into()), ..KubeConfigOptions::default() };
        let file = Kubeconfig::read_from(Path::new(&self.kubeconfig)).unwrap();
        Client::try_from(Config::from_custom_kubeconfig(file, &options).await.unwrap()).unwrap()
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

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(serde_json::json!({"metadata": {"name": name}})).unwrap()
}

#[tokio::test]
async fn an_ephemeral_cluster_answers_and_stops_cleanly() {
    let up = Up::start(&["--ephemeral", "--cluster", "blue"]);
    for context in ["switchboard", "blue"] {
        let api: Api<ConfigMap> = Api::default_namespaced(up.client(context).await);
        api.create(&PostParams::default(), &config_map("only-here")).await.unwrap();
    }
    let kubeconfig = up.kubeconfig.clone();
    let (code, said) = up.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("serving at https://127.0.0.1:"), "{said}");
    assert!(!Path::new(&kubeconfig).exists(), "an ephemeral cluster leaves nothing behind");
}

#[tokio::test]
async fn a_data_directory_outlives_the_process() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let first = Up::start(&["--data-dir", path, "--cluster", "blue"]);
    let api: Api<ConfigMap> = Api::default_namespaced(first.client("blue").await);
    api.create(&PostParams::default(), &config_map("kept")).await.unwrap();
    assert_eq!(first.stop().0, Some(0));

    let second = Up::start(&["--data-dir", path]);
    let api: Api<ConfigMap> = Api::default_namespaced(second.client("blue").await);
    assert_eq!(api.get("kept").await.unwrap().metadata.name.as_deref(), Some("kept"));
    let third = fail(&["up", "--listen", "127.0.0.1:0", "--data-dir", path]);
    assert_eq!(third.status.code(), Some(1), "two processes do not share a directory");
}

#[test]
fn a_port_that_is_taken_is_an_error_with_a_hint() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = fail(&["up", "--ephemeral", "--listen", &address]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with(&format!("error: could not listen on {address}\n")), "{said}");
    assert!(said.contains("\nhint: "), "{said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn what_is_not_understood_is_a_usage_error() {
    for arguments in [
        &["up", "--nonsense"][..],
        &["up", "--ephemeral", "--data-dir", "x"],
        &["up", "--cluster", "Not_A_Name"],
        &["up", "--listen", "nowhere"],
        &["down"],
        &[],
    ] {
        let output = fail(arguments);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    assert_eq!(fail(&["--help"]).status.code(), Some(0));
}

#[test]
fn a_further_cluster_may_not_take_the_first_ones_context() {
    let refused = fail(&["up", "--ephemeral", "--listen", "127.0.0.1:0", "--cluster", "switchboard"]);
    assert_eq!(refused.status.code(), Some(64));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("context has this name"));
}

#[tokio::test]
async fn a_server_that_listens_everywhere_is_reached_on_loopback() {
    let mut child = switchboard(&["up", "--ephemeral", "--listen", "0.0.0.0:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let up = Up { child, kubeconfig: line.trim_end().to_string() };
    let maps: Api<ConfigMap> = Api::default_namespaced(up.client("switchboard").await);
    assert!(maps.list(&Default::default()).await.is_ok());
}
