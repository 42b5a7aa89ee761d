//! Misbehaving operators next to a correct one.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::{ListParams, PostParams};

use crate::process::CONTEXT;
use crate::up_process::{UpProcess, ask, eventually};

const ROGUES: &str = "listen: 127.0.0.1:0
operators:
  greeter: {debounce: 0s, coolDown: 0s}
  rogue-panics: {debounce: 0s, coolDown: 0s, backoff: {first: 10ms}}
  rogue-hangs: {debounce: 0s, coolDown: 0s, timeout: 100ms}
  rogue-floods: {debounce: 0s, coolDown: 0s, writesPerSecond: 5}
  rogue-loops: {debounce: 0s, coolDown: 0s}
  rogue-red: {debounce: 0s, coolDown: 0s}
  rogue-blue: {debounce: 0s, coolDown: 0s}
";

/// Configuration of all of them without limits, except for the timeout, which only shortens the test.
const WITH_DEFAULTS: &str = "operators:
  greeter: {}
  rogue-panics: {}
  rogue-hangs: {timeout: 100ms}
  rogue-floods: {}
  rogue-loops: {}
  rogue-red: {}
  rogue-blue: {}
  rogue-remembers: {}
";

/// Reads the metrics from the address in the output.
fn metrics(running: &UpProcess) -> String {
    let stderr_text = running.log();
    let address = stderr_text.split("metrics at http://").nth(1).unwrap().split('/').next().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    page
}

#[tokio::test]
async fn rogues_with_default_limits_are_slowed_and_named() {
    let running = UpProcess::up(WITH_DEFAULTS);
    let began = Instant::now();
    let reasons = [
        ("rogue-floods", "exceeds its write budget by "),
        ("rogue-loops", "keeps writing .data.count of configmaps/default/counter although nothing"),
        ("rogue-red", "both set .data.colour of configmaps/default/flag in turns"),
        ("rogue-blue", "both set .data.colour of configmaps/default/flag in turns"),
        ("rogue-panics", "panicked: this operator panics on purpose"),
        ("rogue-hangs", "rogue-hangs do not come to an end"),
    ];
    for (rogue, reason) in reasons {
        let named = |row: &serde_json::Value| {
            row["state"] == "Failing" && row["reason"].as_str().is_some_and(|text| text.contains(reason))
        };
        running.row(rogue, named).await;
        let waits = match rogue {
            "rogue-floods" => Some("writesSpent"),
            "rogue-loops" | "rogue-red" => Some("slowed"),
            _ => None,
        };
        if let Some(waits) = waits {
            running.waits(rogue, waits).await;
        }
    }
    // The flood delays no other operator.
    running.words().await;
    running.guest("ada").await;
    assert_eq!(running.greeting("ada").await, "Good day, ada!");
    // Neither the loop nor the conflict may have written more than a few times.
    for rogue in ["rogue-loops", "rogue-red", "rogue-blue"] {
        let row = running.row(rogue, |_| true).await;
        let most = 10 + began.elapsed().as_secs();
        assert!(row["writes"].as_u64().is_some_and(|writes| writes <= most), "{row}");
    }
    // Decisions from memory cannot be replayed.
    let question = serde_json::json!({"metadata": {"name": "question"}});
    let question = serde_json::from_value(question).unwrap();
    running.maps().await.create(&PostParams::default(), &question).await.unwrap();
    let decision = eventually("the answer in the journal", || async {
        let decision = running.json(&["why", "configmap/answer"])["lastWrite"]["decision"].clone();
        decision.is_u64().then(|| decision.to_string())
    })
    .await;
    let replayed = running.ask(&["replay", &decision]);
    assert_eq!(replayed.status.code(), Some(2), "{replayed:?}");
}

#[tokio::test]
async fn rogue_fails_with_its_reason_and_stops_no_other_operator() {
    let running = UpProcess::up(ROGUES);
    let reasons = [
        ("rogue-panics", "panicked: this operator panics on purpose"),
        ("rogue-hangs", "rogue-hangs do not come to an end"),
        ("rogue-floods", "exceeds its write budget by "),
        (
            "rogue-loops",
            "keeps writing .data.count of configmaps/default/counter although nothing it reads from other writers changes",
        ),
        ("rogue-red", "both set .data.colour of configmaps/default/flag in turns"),
        ("rogue-blue", "both set .data.colour of configmaps/default/flag in turns"),
    ];
    for (rogue, reason) in reasons {
        let failing = |row: &serde_json::Value| {
            row["state"] == "Failing" && row["reason"].as_str().is_some_and(|text| text.contains(reason))
        };
        running.row(rogue, failing).await;
    }

    // Operators in a loop or a conflict are slowed down.
    for rogue in ["rogue-loops", "rogue-red"] {
        running.waits(rogue, "slowed").await;
    }

    // A guest is greeted despite all of them.
    running.words().await;
    running.guest("ada").await;
    assert_eq!(running.greeting("ada").await, "Good day, ada!");
    running.row("greeter", |row| row["state"] == "Ready" && row["failures"] == 0).await;

    let events: Api<Event> = Api::default_namespaced(running.serving.client(CONTEXT).await);
    for (reason, object) in [("FieldConflict", "flag"), ("HotLoop", "counter")] {
        eventually(reason, || async {
            let list = events.list(&ListParams::default()).await.unwrap();
            let of = |event: &Event| event.reason.as_deref() == Some(reason);
            list.items.into_iter().find(of).filter(|event| event.involved_object.name.as_deref() == Some(object))
        })
        .await;
    }

    let page = metrics(&running);
    for (rogue, _) in reasons {
        let line = format!("switchboard_operator_state{{operator=\"{rogue}\",state=\"Failing\"}} 1\n");
        assert!(page.contains(&line), "{page}");
    }
    assert!(page.contains("switchboard_operator_state{operator=\"greeter\",state=\"Ready\"} 1\n"), "{page}");
    assert!(page.contains("switchboard_conflicts{kind=\"field_conflict\"} 1\n"), "{page}");
    assert!(page.contains("switchboard_conflicts{kind=\"hot_loop\"} 1\n"), "{page}");

    let why = running.json(&["why", "configmap/flag"]);
    assert!(why["findings"][0].as_str().unwrap().contains("both set .data.colour in turns"), "{why}");
    // A hung operator does not prevent the stop.
    let UpProcess { serving, folder } = running;
    assert_eq!(serving.stop().0, Some(0));
    // The journal has the findings.
    for (object, found) in [("flag", "both set .data.colour in turns"), ("counter", "keeps writing .data.count")] {
        let printed = ask(&folder.path().join("state"), &["why", &format!("configmap/{object}"), "-o", "json"]);
        let why: serde_json::Value = serde_json::from_slice(&printed.stdout).unwrap();
        assert!(why["findings"][0].as_str().is_some_and(|finding| finding.contains(found)), "{why}");
    }
}
