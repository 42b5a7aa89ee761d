//! `switchboard up`.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::PostParams;

use crate::process::{CONTEXT, ServerProcess, run, stderr_text, switchboard};

fn up(arguments: &[&str]) -> ServerProcess {
    ServerProcess::start(switchboard(&[&["up"], arguments].concat()))
}

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(serde_json::json!({"metadata": {"name": name}})).unwrap()
}

#[tokio::test]
async fn an_ephemeral_cluster_answers_and_stops_cleanly() {
    let serving = up(&["--ephemeral", "--cluster", "blue"]);
    for context in [CONTEXT, "blue"] {
        let api: Api<ConfigMap> = Api::default_namespaced(serving.client(context).await);
        api.create(&PostParams::default(), &config_map("only-here")).await.unwrap();
    }
    let kubeconfig = serving.kubeconfig.clone();
    let (code, stderr_text) = serving.stop();
    assert_eq!(code, Some(0), "{stderr_text}");
    assert!(stderr_text.contains("\nserving at https://127.0.0.1:"), "{stderr_text}");
    assert!(!kubeconfig.exists(), "an ephemeral cluster leaves nothing behind");
}

#[tokio::test]
async fn data_directory_outlives_the_process() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let first = up(&["--data-dir", path, "--cluster", "blue"]);
    let api: Api<ConfigMap> = Api::default_namespaced(first.client("blue").await);
    api.create(&PostParams::default(), &config_map("kept")).await.unwrap();
    assert_eq!(first.stop().0, Some(0));

    let second = up(&["--data-dir", path]);
    let api: Api<ConfigMap> = Api::default_namespaced(second.client("blue").await);
    assert_eq!(api.get("kept").await.unwrap().metadata.name.as_deref(), Some("kept"));
    let third = run(&["up", "--listen", "127.0.0.1:0", "--data-dir", path]);
    assert_eq!(third.status.code(), Some(1), "two processes do not share a directory");
}

#[test]
fn a_port_that_is_taken_is_an_error_with_a_hint() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(&["up", "--ephemeral", "--listen", &address]);
    assert_eq!(output.status.code(), Some(1));
    let stderr_text = stderr_text(&output);
    assert!(stderr_text.starts_with(&format!("error: could not listen on {address}\n")), "{stderr_text}");
    assert!(stderr_text.contains("\nhint: "), "{stderr_text}");
    assert!(output.stdout.is_empty());
}

#[test]
fn invalid_arguments_are_usage_errors() {
    for arguments in [
        &["up", "--nonsense"][..],
        &["up", "--ephemeral", "--data-dir", "x"],
        &["up", "--cluster", "Not_A_Name"],
        &["up", "--listen", "nowhere"],
        &["down"],
        &[],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(64), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    assert_eq!(run(&["--help"]).status.code(), Some(0));
}

#[test]
fn a_further_cluster_may_not_take_the_first_ones_context() {
    let refused = run(&["up", "--ephemeral", "--listen", "127.0.0.1:0", "--cluster", "switchboard"]);
    assert_eq!(refused.status.code(), Some(64));
    assert!(stderr_text(&refused).contains("the name is used by the context"));
}

#[tokio::test]
async fn a_server_that_listens_everywhere_is_reached_on_loopback() {
    let serving = up(&["--ephemeral", "--listen", "0.0.0.0:0"]);
    let maps: Api<ConfigMap> = Api::default_namespaced(serving.client(CONTEXT).await);
    assert!(maps.list(&Default::default()).await.is_ok());
}
