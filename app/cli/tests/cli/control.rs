//! Control of a running kernel: `pause`, `resume`, `wake`, one unit, readiness and reloads.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use kube::api::{DeleteParams, PostParams};
use serde_json::json;

use crate::process::{said, switchboard};
use crate::up_process::{NOBODY, UpProcess, ask, eventually, masked};

const GREETER: &str = "operators:\n  greeter: {debounce: 0s, coolDown: 0s}\n";

#[tokio::test]
async fn a_paused_operator_says_who_lets_it_go_on_and_goes_on() {
    let board = UpProcess::up(GREETER);
    let paused = board.ask(&["pause", "greeter"]);
    assert_eq!((paused.status.code(), paused.stdout.len()), (Some(0), 0));
    assert!(said(&paused).ends_with("hint: `switchboard resume greeter` lets it go on\n"), "{}", said(&paused));
    board.words().await;
    board.guest("ada").await;
    let waits = board.waits("greeter", "paused").await;
    assert!(waits.contains("greeter default/ada: paused by somebody\n"), "{waits}");
    assert!(waits.contains("  helps    `switchboard resume greeter` lets it go on\n"), "{waits}");
    assert!(board.maps().await.get_opt("ada-greeting").await.unwrap().is_none());
    assert_eq!(said(&board.ask(&["resume", "greeter"])), "greeter goes on\n");
    assert_eq!(board.greeting("ada").await, "Good day, ada!");
    for command in ["pause", "resume", "wake"] {
        let nobody = board.ask(&[command, "nobody"]);
        assert_eq!(nobody.status.code(), Some(1));
        let expected = "error: no operator nobody is hosted\nhint: `switchboard top` names the operators";
        assert!(said(&nobody).starts_with(expected), "{}", said(&nobody));
    }
}

#[tokio::test]
async fn a_unit_can_be_woken_and_one_that_is_not_there_is_named() {
    let board = UpProcess::up("operators:\n  greeter: {debounce: 0s, coolDown: 0s}\n");
    board.guest("ada").await;
    board.guest("bob").await;
    board.row("greeter", |row| row["word"] == "Waiting" && row["runs"] == 2).await;
    assert_eq!(said(&board.ask(&["wake", "greeter", "default/ada"])), "1 unit of greeter will run\n");
    board.row("greeter", |row| row["runs"] == 3).await;
    assert_eq!(said(&board.ask(&["wake", "greeter"])), "2 units of greeter will run\n");
    board.row("greeter", |row| row["runs"] == 5).await;
    let nobody = board.ask(&["wake", "greeter", "default/eve"]);
    assert!(said(&nobody).starts_with("error: greeter has no unit default/eve\nhint: "), "{}", said(&nobody));

    let one = masked(&board.ask(&["why-not", "greeter", "--unit", "default/bob"]));
    let expected = "\
greeter is Waiting: 2 of 2 units wait
greeter default/bob: nothing it read has changed
  stands   Waiting: ConfigMap greeting to appear, since SPAN ago (TIME)
  last     decision N
  helps    change something it reads; or `switchboard wake greeter default/bob` asks for a run
";
    assert_eq!(one, expected);
    let nobody = board.ask(&["why-not", "greeter", "--unit", "default/eve"]);
    assert_eq!(nobody.status.code(), Some(1));
    let expected =
        "error: greeter has no unit default/eve\nhint: `switchboard why-not greeter` names those that wait\n";
    assert_eq!(said(&nobody), expected);
}

#[tokio::test]
async fn a_greeting_that_somebody_deletes_comes_back_at_once() {
    let board = UpProcess::up(GREETER);
    board.words().await;
    board.guest("ada").await;
    board.greeting("ada").await;
    let maps = board.maps().await;
    let first = maps.get("ada-greeting").await.unwrap().metadata.uid;
    maps.delete("ada-greeting", &DeleteParams::default()).await.unwrap();
    eventually("another greeting", || async {
        let greeting = maps.get_opt("ada-greeting").await.unwrap()?;
        (greeting.metadata.uid != first).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_operator_with_a_memory_is_found_out_by_replay() {
    let board = UpProcess::up("operators:\n  rogue-remembers: {debounce: 0s, coolDown: 0s}\n");
    board.row("rogue-remembers", |row| row["word"] == "Ready").await;
    let question = serde_json::from_value(json!({"metadata": {"name": "question"}})).unwrap();
    board.maps().await.create(&PostParams::default(), &question).await.unwrap();
    let decision = eventually("the answer in the journal", || async {
        let decision = board.json(&["why", "configmap/answer"])["written"]["decision"].clone();
        decision.is_u64().then(|| decision.to_string())
    })
    .await;
    let replayed = board.ask(&["replay", &decision]);
    assert_eq!(replayed.status.code(), Some(2), "{}", said(&replayed));
    let told = masked(&replayed);
    assert!(told.starts_with("decision N of rogue-remembers all: something else is decided now\n"), "{told}");
    assert_eq!(board.json(&["replay", &decision])["replay"], "different");
}

#[tokio::test]
async fn the_number_that_why_not_tells_can_be_replayed() {
    let board = UpProcess::up(GREETER);
    board.guest("ada").await;
    board.row("greeter", |row| row["word"] == "Waiting").await;
    // A run without a cause repeats the decision. The journal keeps it in memory and writes it from time to time.
    for runs in [2, 3] {
        assert_eq!(board.ask(&["wake", "greeter"]).status.code(), Some(0));
        board.row("greeter", |row| row["runs"].as_u64() >= Some(runs)).await;
    }
    for more in [&[][..], &["--unit", "default/ada"]] {
        let told = board.json(&[&["why-not", "greeter"], more].concat());
        let replayed = board.ask(&["replay", &told["units"][0]["last"].to_string()]);
        assert_eq!(replayed.status.code(), Some(0), "{}", said(&replayed));
    }
}

#[tokio::test]
async fn a_decision_that_hung_is_replayed_at_once_and_cannot_be_told() {
    let board = UpProcess::up("operators:\n  rogue-hangs: {debounce: 0s, coolDown: 0s, timeout: 50ms}\n");
    board.row("rogue-hangs", |row| row["word"] == "Failing").await;
    let decision = eventually("its decision", || async {
        let decision = board.json(&["why-not", "rogue-hangs"])["units"][0]["last"].clone();
        decision.is_u64().then(|| decision.to_string())
    })
    .await;
    let replayed = board.ask(&["replay", &decision]);
    assert_eq!(replayed.status.code(), Some(1), "{}", said(&replayed));
    let told = masked(&replayed);
    let expected = "decision N of rogue-hangs all: it cannot be told whether the same is decided again\n  then: ";
    assert!(told.starts_with(expected), "{told}");
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
async fn a_process_whose_cluster_is_away_is_alive_and_not_ready() {
    let board = UpProcess::up(NOBODY);
    let (state, heard) = (board.file("other"), board.file("heard"));
    let config = board.outside(&format!("listen: 127.0.0.1:0\n{GREETER}"));
    let mut command = switchboard(&["run", "--config"]);
    command.arg(&config).arg("--state-dir").arg(&state).stderr(fs::File::create(&heard).unwrap());
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let address = eventually("the address", || async {
        let heard = fs::read_to_string(&heard).unwrap();
        let line = heard.lines().find_map(|line| line.strip_prefix("metrics at http://"))?;
        Some(line.trim_end_matches("/metrics").to_string())
    })
    .await;
    let ok = ("HTTP/1.1 200 OK".to_string(), "ok\n".to_string());
    eventually("readiness", || async { (get(&address, "/readyz") == ok).then_some(()) }).await;
    let UpProcess { serving, folder: _folder } = board;
    assert_eq!(serving.stop().0, Some(0));
    let away = eventually("a word of the cluster", || async {
        let (status, body) = get(&address, "/readyz");
        status.starts_with("HTTP/1.1 503 ").then_some(body)
    })
    .await;
    assert!(away.starts_with("configmaps of cluster default cannot be watched: "), "{away}");
    assert_eq!(get(&address, "/healthz"), ok, "starting it anew would not help");
    assert_eq!(ask(&state, &["top"]).status.code(), Some(0));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test]
async fn a_reload_asked_for_during_the_start_does_not_end_it() {
    let folder = tempfile::tempdir().unwrap();
    // The start blocks until this pipe is written.
    let kubeconfig = folder.path().join("kubeconfig");
    assert!(Command::new("mkfifo").arg(&kubeconfig).status().unwrap().success());
    let (config, heard) = (folder.path().join("switchboard.yaml"), folder.path().join("heard"));
    fs::write(&config, format!("clusters:\n  default: {{kubeconfig: kubeconfig}}\n{GREETER}")).unwrap();
    let mut command = switchboard(&["run", "--config"]);
    command.arg(&config).arg("--state-dir").arg(folder.path().join("state"));
    command.stdout(Stdio::null()).stderr(fs::File::create(&heard).unwrap());
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
        fs::read_to_string(&heard).unwrap().contains("hosting greeter\n").then_some(())
    })
    .await;
    assert_eq!(child.try_wait().unwrap().and_then(|status| status.code()), None);
    child.kill().unwrap();
    child.wait().unwrap();
}
