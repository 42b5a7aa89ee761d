//! Plugs and sockets from the user's view.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Api;
use serde_json::{Value, json};

use crate::process::{CONTEXT, ServerProcess, run, stderr_text, switchboard};
use crate::up_process::{UpProcess, eventually};

fn example(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugs").join(name).display().to_string()
}

/// Apparatus program, compiled once.
static APPARATUS: LazyLock<PathBuf> = LazyLock::new(|| {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/misbehaving/apparatus.rs");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("apparatus");
    let rustc = std::env::var("RUSTC").unwrap_or("rustc".to_string());
    let compiled = Command::new(rustc).args(["--edition=2024", "-o"]).arg(&target).arg(source).status().unwrap();
    assert!(compiled.success());
    target
});

#[test]
fn render_shows_every_event_without_a_cluster() {
    let output =
        run(&["plugs", "render", &example("postgres/2-database.yaml"), &example("postgres/3-application.yaml")]);
    assert!(output.status.success(), "{}", stderr_text(&output));
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    for line in [
        "    database: orders",
        "# coupled, plug: apply (spec.resources[0])",
        "    host: postgres.data.svc",
        "    password: <redacted>",
        "  url: <redacted>",
        "# coupled, socket: apply (spec.resources[0])",
        "  name: database-orders",
        "# decoupled, plug: delete (spec.resources[0])",
    ] {
        assert!(text.lines().any(|own| own == line), "no line `{line}` in\n{text}");
    }
    assert!(!text.contains("correct-horse"), "{text}");
    assert_eq!(stderr_text(&output), "note: secret values are redacted; --show-secrets prints them\n");
    let output = run(&[
        "plugs",
        "render",
        "--show-secrets",
        "-o",
        "json",
        &example("postgres/2-database.yaml"),
        &example("postgres/3-application.yaml"),
    ]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["result"]["plug"]["database"], "orders at postgres.data.svc");
    assert_eq!(json["config"]["socket"]["password"], "correct-horse");
}

#[test]
fn render_names_what_is_missing() {
    let output = run(&["plugs", "render", &example("postgres/3-application.yaml")]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stderr_text(&output),
        "error: the files have no Socket\nhint: pass a file with a Plug and one with the Socket it requests\n"
    );
    let output = run(&["plugs", "render", &example("many/1-socket.yaml"), &example("many/2-plugs.yaml")]);
    assert!(
        stderr_text(&output)
            .starts_with("error: the files have 10 plugs\nhint: choose one with --plug NAME: catalog, cart")
    );
}

#[test]
fn render_stops_at_an_apparatus_without_its_answer() {
    let accounts = example("apparatus/accounts.yaml");
    let output = run(&["plugs", "render", &accounts]);
    assert!(output.status.success(), "{}", stderr_text(&output));
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(text.contains("    account: web-application") && !text.contains("web-account"), "{text}");
    let words = stderr_text(&output);
    for line in [
        "note: omitted: the values that the apparatus of the socket adds to its config, and the objects that need them",
        "note: omitted: an object of the plug: spec.resources[0].template.data.realm: map has no entry for key \"realm\" in \
         {% .socketConfig.realm %}",
        "hint: write the response of POST /config of the socket's apparatus to a file, and pass it with --answer socket=FILE",
    ] {
        assert!(words.lines().any(|own| own == line), "no line `{line}` in\n{words}");
    }
    let answer = format!("socket={}", example("apparatus/answer.json"));
    let output = run(&["plugs", "render", &accounts, "--answer", &answer]);
    assert!(output.status.success(), "{}", stderr_text(&output));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("  name: web-account") && text.contains("  realm: example"), "{text}");
}

#[test]
fn invalid_answer_is_refused_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("list.yaml");
    std::fs::write(&list, "- realm\n").unwrap();
    let (accounts, list) = (example("apparatus/accounts.yaml"), list.display().to_string());
    let render = |answers: &[&str]| {
        let flags = answers.iter().flat_map(|answer| ["--answer", *answer]);
        let output = run(&["plugs", "render", &accounts].into_iter().chain(flags).collect::<Vec<_>>());
        assert!(!output.status.success());
        stderr_text(&output)
    };
    let printed = render(&[&format!("socket={list}")]);
    assert!(printed.contains("must be a map, but is a list\nhint: write the response of POST /config"), "{printed}");
    let answer = format!("socket={}", example("apparatus/answer.json"));
    let printed = render(&[&answer, &answer]);
    assert!(printed.contains("there are two responses for the socket\nhint: "), "{printed}");
    let printed = render(&["both=answer.json"]);
    assert!(printed.contains("expected plug=FILE or socket=FILE"), "{printed}");
    let printed = render(&[&answer.replace("socket=", "plug=")]);
    assert!(printed.contains("the plug has no apparatus that could answer\nhint: "), "{printed}");
}

#[tokio::test]
async fn example_of_make_run_needs_only_the_binary() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = switchboard(&["up", "--ephemeral", "--example", "postgres", "--state-dir"]);
    command.arg(folder.path());
    let serving = ServerProcess::start(command);
    let kubeconfig = serving.kubeconfig.display().to_string();
    let status = |arguments: &[&str]| {
        let output = run(&[&["plugs"], arguments, &["--kubeconfig", &kubeconfig]].concat());
        assert!(output.status.success(), "{}", stderr_text(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = eventually("the pair is coupled", || async {
        Some(status(&["status", "--relations"]))
            .filter(|text| text.contains("coupling succeeded") && text.contains("1 plug coupled"))
    })
    .await;
    assert_eq!(
        text,
        "\
Socket         Plugs  Limit  State  Message
data/postgres  1/1    -      Ready  1 plug coupled

Plug      Socket         State  Message
shop/web  data/postgres  Ready  coupling succeeded

Integration provider  Requirer  Interface  Integration
data/postgres         shop/web  -          coupled
"
    );
    let json: Value = serde_json::from_str(&status(&["status", "-o", "json"])).unwrap();
    assert_eq!(json["plugs"][0]["state"], "Ready");
    assert!(status(&["status", "-o", "wide"]).contains("CouplingSucceeded"));
    assert!(status(&["status", "-o", "dot"]).contains(r#""plug shop/web" -> "socket data/postgres" [style=solid];"#));
    assert!(status(&["graph", "-o", "svg"]).starts_with("<svg "));
}

#[tokio::test]
async fn a_mapped_image_runs_as_a_local_process_and_ends_with_its_pod() {
    let config = format!(
        "operators:\n  plugs:\n    debounce: 0s\n    coolDown: 0s\n    settings:\n      commands:\n        accounts:1: [{}]\n",
        APPARATUS.display()
    );
    let running = UpProcess::up(&config);
    let client = running.serving.client(CONTEXT).await;
    let grants = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]);
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "maps"}, "rules": grants});
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "maps"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "maps"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}]});
    let container = json!({"name": "api", "image": "accounts:1", "env": [{"name": "LEVEL", "value": "11"}],
        "ports": [{"containerPort": 3000, "name": "container"}]});
    let socket = json!({"apiVersion": "integration.rock8s.com/v1beta1", "kind": "Socket", "metadata": {"name": "accounts"},
        "spec": {"apparatus": {"idleTimeout": 1, "containers": [container]}}});
    let template = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "level"}, "data": {"level": "{% .socketConfig.level %}"}});
    let plug = json!({"apiVersion": "integration.rock8s.com/v1beta1", "kind": "Plug", "metadata": {"name": "web"},
        "spec": {"socket": {"name": "accounts"}, "resources": [{"template": template}]}});
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let group = "/apis/integration.rock8s.com/v1beta1/namespaces/default";
    for (path, object) in [
        (format!("{rbac}/roles"), role),
        (format!("{rbac}/rolebindings"), binding),
        (format!("{group}/sockets"), socket),
        (format!("{group}/plugs"), plug),
    ] {
        let request = http::Request::post(path).header("Content-Type", "application/json");
        client.request::<Value>(request.body(object.to_string().into_bytes()).unwrap()).await.unwrap();
    }
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let level =
        eventually("the apparatus' config", || async { maps.get_opt("level").await.unwrap()?.data?.remove("level") });
    assert_eq!(level.await, "11");
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    eventually("the pod is stopped when idle", || async {
        pods.get_opt("accounts-apparatus").await.unwrap().is_none().then_some(())
    })
    .await;
    assert!(running.log().contains("default/accounts-apparatus runs as "), "{}", running.log());
}
