//! Control of a running kernel: `pause`, `resume`, `reconcile`, one unit, readiness and reloads.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use kube::api::{DeleteParams, PostParams};
use serde_json::json;

use crate::process::{stderr_text, switchboard};
use crate::up_process::{NO_OPERATORS, UpProcess, ask, eventually, masked};

const GREETER: &str = "operators:\n  greeter: {debounce: 0s, coolDown: 0s}\n";

#[tokio::test]
async fn paused_operator_names_the_resume_command_and_resumes() {
    let running = UpProcess::up(GREETER);
    let paused = running.ask(&["pause", "greeter"]);
    assert_eq!((paused.status.code(), paused.stdout.len()), (Some(0), 0));
    let state = running.file("state").display().to_string();
    let resume = format!("hint: resume with `switchboard resume greeter --state-dir {state}`\n");
    assert!(stderr_text(&paused).ends_with(&resume), "{}", stderr_text(&paused));
    running.words().await;
    running.guest("ada").await;
    let waits = running.waits("greeter", "paused").await;
    assert!(waits.contains("greeter default/ada: paused by "), "{waits}");
    assert!(waits.contains("  hint     run `switchboard resume greeter`\n"), "{waits}");
    assert!(running.maps().await.get_opt("ada-greeting").await.unwrap().is_none());
    assert_eq!(stderr_text(&running.ask(&["resume", "greeter"])), "greeter resumed\n");
    assert_eq!(running.greeting("ada").await, "Good day, ada!");
    for command in ["pause", "resume", "reconcile"] {
        let missing = running.ask(&[command, "stranger"]);
        assert_eq!(missing.status.code(), Some(1));
        let expected = format!(
            "error: unknown operator stranger\nhint: `switchboard top --state-dir {state}` lists the operators, `switchboard why-not OPERATOR --state-dir {state}` their units\n"
        );
        assert_eq!(stderr_text(&missing), expected);
    }
}

#[tokio::test]
async fn unit_is_reconciled_on_request_and_missing_unit_is_named() {
    let running = UpProcess::up("operators:\n  greeter: {debounce: 0s, coolDown: 0s}\n");
    running.guest("ada").await;
    running.guest("bob").await;
    running.row("greeter", |row| row["state"] == "Waiting" && row["runs"] == 2).await;
    assert_eq!(stderr_text(&running.ask(&["reconcile", "greeter", "default/ada"])), "triggered 1 unit of greeter\n");
    running.row("greeter", |row| row["runs"] == 3).await;
    assert_eq!(stderr_text(&running.ask(&["reconcile", "greeter"])), "triggered 2 units of greeter\n");
    running.row("greeter", |row| row["runs"] == 5).await;
    let missing = running.ask(&["reconcile", "greeter", "default/eve"]);
    assert!(
        stderr_text(&missing).starts_with("error: greeter has no unit default/eve\nhint: "),
        "{}",
        stderr_text(&missing)
    );

    let one = masked(&running.ask(&["why-not", "greeter", "--unit", "default/bob"]));
    let expected = "\
greeter is Waiting: 2 of 2 units waiting
greeter default/bob: nothing it read has changed
  status   Waiting: ConfigMap greeting to appear, since SPAN ago (TIME)
  last     decision N
  hint     change something it reads, or run `switchboard reconcile greeter default/bob`
";
    assert_eq!(one, expected);
    let missing = running.ask(&["why-not", "greeter", "--unit", "default/eve"]);
    assert_eq!(missing.status.code(), Some(1));
    let state = running.file("state").display().to_string();
    let expected = format!(
        "error: greeter has no unit default/eve\nhint: `switchboard why-not greeter --state-dir {state}` lists the waiting units\n"
    );
    assert_eq!(stderr_text(&missing), expected);
}

#[tokio::test]
async fn deleted_greeting_is_recreated_at_once() {
    let running = UpProcess::up(GREETER);
    running.words().await;
    running.guest("ada").await;
    running.greeting("ada").await;
    let maps = running.maps().await;
    let first = maps.get("ada-greeting").await.unwrap().metadata.uid;
    maps.delete("ada-greeting", &DeleteParams::default()).await.unwrap();
    eventually("another greeting", || async {
        let greeting = maps.get_opt("ada-greeting").await.unwrap()?;
        (greeting.metadata.uid != first).then_some(())
    })
    .await;
}

#[tokio::test]
async fn replay_finds_an_operator_with_hidden_state() {
    let running = UpProcess::up("operators:\n  rogue-remembers: {debounce: 0s, coolDown: 0s}\n");
    running.row("rogue-remembers", |row| row["state"] == "Ready").await;
    let question = serde_json::from_value(json!({"metadata": {"name": "question"}})).unwrap();
    running.maps().await.create(&PostParams::default(), &question).await.unwrap();
    let decision = eventually("the answer in the journal", || async {
        let decision = running.json(&["why", "configmap/answer"])["lastWrite"]["decision"].clone();
        decision.is_u64().then(|| decision.to_string())
    })
    .await;
    let replayed = running.ask(&["replay", &decision]);
    assert_eq!(replayed.status.code(), Some(2), "{}", stderr_text(&replayed));
    let printed = masked(&replayed);
    assert!(printed.starts_with("decision N of rogue-remembers all: the replay has another result\n"), "{printed}");
    assert_eq!(running.json(&["replay", &decision])["replay"], "different");
}

#[tokio::test]
async fn decision_of_why_not_can_be_replayed() {
    let running = UpProcess::up(GREETER);
    running.guest("ada").await;
    running.row("greeter", |row| row["state"] == "Waiting").await;
    // A run without a cause repeats the decision. The journal keeps it in memory and writes it from time to time.
    for runs in [2, 3] {
        assert_eq!(running.ask(&["reconcile", "greeter"]).status.code(), Some(0));
        running.row("greeter", |row| row["runs"].as_u64() >= Some(runs)).await;
    }
    for more in [&[][..], &["--unit", "default/ada"]] {
        let printed = running.json(&[&["why-not", "greeter"], more].concat());
        let replayed = running.ask(&["replay", &printed["units"][0]["lastDecision"].to_string()]);
        assert_eq!(replayed.status.code(), Some(0), "{}", stderr_text(&replayed));
    }
}

#[tokio::test]
async fn hung_decision_is_replayed_without_a_verdict() {
    let running = UpProcess::up("operators:\n  rogue-hangs: {debounce: 0s, coolDown: 0s, timeout: 50ms}\n");
    running.row("rogue-hangs", |row| row["state"] == "Failing").await;
    let decision = eventually("its decision", || async {
        let decision = running.json(&["why-not", "rogue-hangs"])["units"][0]["lastDecision"].clone();
        decision.is_u64().then(|| decision.to_string())
    })
    .await;
    let replayed = running.ask(&["replay", &decision]);
    assert_eq!(replayed.status.code(), Some(1), "{}", stderr_text(&replayed));
    let printed = masked(&replayed);
    let expected = "decision N of rogue-hangs all: the results could not be compared\n  recorded run: ";
    assert!(printed.starts_with(expected), "{printed}");
}

/// Sends a request on a new connection and returns status line and body.
fn get(address: &str, path: &str) -> (String, String) {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: kernel\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_string(), body.to_string())
}

#[tokio::test]
async fn process_without_its_cluster_is_alive_and_not_ready() {
    let running = UpProcess::up(NO_OPERATORS);
    let (state, received) = (running.file("other"), running.file("heard"));
    let config = running.outside(&format!("listen: 127.0.0.1:0\n{GREETER}"));
    let mut command = switchboard(&["run", "--config"]);
    command.arg(&config).arg("--state-dir").arg(&state).stderr(fs::File::create(&received).unwrap());
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let address = eventually("the address", || async {
        let received = fs::read_to_string(&received).unwrap();
        let line = received.lines().find_map(|line| line.strip_prefix("metrics at http://"))?;
        Some(line.trim_end_matches("/metrics").to_string())
    })
    .await;
    let ok = ("HTTP/1.1 200 OK".to_string(), "ok\n".to_string());
    eventually("readiness", || async { (get(&address, "/readyz") == ok).then_some(()) }).await;
    let UpProcess { serving, folder: _folder } = running;
    assert_eq!(serving.stop().0, Some(0));
    let away = eventually("a word of the cluster", || async {
        let (status, body) = get(&address, "/readyz");
        status.starts_with("HTTP/1.1 503 ").then_some(body)
    })
    .await;
    assert!(away.starts_with("could not watch configmaps of cluster default: "), "{away}");
    assert_eq!(get(&address, "/healthz"), ok, "a restart would not help");
    assert_eq!(ask(&state, &["top"]).status.code(), Some(0));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test]
async fn reload_signal_during_the_start_does_not_end_the_process() {
    let folder = tempfile::tempdir().unwrap();
    // The start blocks until this pipe is written.
    let kubeconfig = folder.path().join("kubeconfig");
    assert!(Command::new("mkfifo").arg(&kubeconfig).status().unwrap().success());
    let (config, received) = (folder.path().join("switchboard.yaml"), folder.path().join("heard"));
    fs::write(&config, format!("clusters:\n  default: {{kubeconfig: kubeconfig}}\n{GREETER}")).unwrap();
    let mut command = switchboard(&["run", "--config"]);
    command.arg(&config).arg("--state-dir").arg(folder.path().join("state"));
    command.stdout(Stdio::null()).stderr(fs::File::create(&received).unwrap());
    let mut child = command.spawn().unwrap();
    let mut file = fs::OpenOptions::new().write(true).open(&kubeconfig).unwrap();
    Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap();
    file.write_all(
        b"apiVersion: v1\nkind: Config\ncurrent-context: a\n\
        clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\n\
        contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {}}]\n",
    )
    .unwrap();
    drop(file);
    eventually("the start", || async {
        fs::read_to_string(&received).unwrap().contains("running greeter\n").then_some(())
    })
    .await;
    assert_eq!(child.try_wait().unwrap().and_then(|status| status.code()), None);
    child.kill().unwrap();
    child.wait().unwrap();
}
