//! Load of the client.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt};
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::measure::BoxError;
use crate::raw::RawConnection;
use crate::system::System;

/// Size of an ordinary ConfigMap's data.
const DATA_BYTES: usize = 1_000;

const PATH: &str = "/api/v1/namespaces/default/configmaps";

fn config_map(name: &str) -> String {
    let data = "x".repeat(DATA_BYTES);
    json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": {"data": data}}).to_string()
}

/// Creates `each` ConfigMaps from each of `writers` connections, and returns the time per create.
pub async fn create(system: &System, batch: &str, writers: usize, each: usize) -> Result<Duration, BoxError> {
    let mut connections = Vec::new();
    for _ in 0..writers {
        // Connect before the measurement.
        connections.push(system.endpoint.connect().await?);
    }
    let begun = Instant::now();
    let tasks = connections.into_iter().enumerate().map(|(writer, mut connection)| {
        let batch = batch.to_owned();
        tokio::spawn(async move {
            for step in 0..each {
                connection.post(PATH, &config_map(&format!("{batch}-{writer}-{step}"))).await?;
            }
            Ok::<_, BoxError>(())
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await??;
    }
    Ok(begun.elapsed() / u32::try_from(writers * each)?)
}

/// Lists all ConfigMaps of the namespace in one response, as bytes.
pub async fn list(system: &System, at_least: usize) -> Result<Duration, BoxError> {
    let connection = system.endpoint.connect().await?;
    let begun = Instant::now();
    let bytes = connection.get_all(PATH).await?;
    let elapsed = begun.elapsed();
    if bytes < at_least * DATA_BYTES {
        return Err(format!("a list of {bytes} bytes is too short").into());
    }
    Ok(elapsed)
}

/// Opens `watchers` watches, then creates `changes` objects one after the other. Returns the average time from the
/// start of a create until every watch has received it.
pub async fn fan_out(system: &System, watchers: usize, changes: usize) -> Result<Duration, BoxError> {
    let mut writer = system.endpoint.connect().await?;
    let marker: Value = serde_json::from_slice(writer.post(PATH, &config_map("fan-out-begin")).await?)?;
    let revision = marker["metadata"]["resourceVersion"].as_str().ok_or("no resourceVersion")?;
    let path = format!("{PATH}?watch=true&resourceVersion={revision}");
    let opened = futures::stream::iter(0..watchers).map(|_| open(system, &path)).buffer_unordered(16);
    let streams: Vec<_> = opened.try_collect().await?;
    let told = Arc::new(WatchCounter::default());
    let mut readers = tokio::task::JoinSet::new();
    for mut stream in streams {
        let told = told.clone();
        readers.spawn(async move {
            while let Ok(events) = stream.events().await {
                told.add(events);
            }
        });
    }
    let mut total = Duration::ZERO;
    for step in 0..changes {
        told.expect(watchers * (step + 1));
        let object = config_map(&format!("fan-out-{step}"));
        let begun = Instant::now();
        writer.post(PATH, &object).await?;
        tokio::time::timeout(Duration::from_secs(60), told.all.notified()).await?;
        total += begun.elapsed();
    }
    Ok(total / u32::try_from(changes)?)
}

/// Counts the events of all watches, and notifies the waiting task only for the last one.
#[derive(Default)]
struct WatchCounter {
    events: AtomicUsize,
    expected: AtomicUsize,
    all: Notify,
}

impl WatchCounter {
    fn expect(&self, events: usize) {
        self.expected.store(events, Ordering::SeqCst);
    }

    fn add(&self, events: usize) {
        let (before, expected) =
            (self.events.fetch_add(events, Ordering::SeqCst), self.expected.load(Ordering::SeqCst));
        if before < expected && before + events >= expected {
            self.all.notify_one();
        }
    }
}

async fn open(system: &System, path: &str) -> Result<RawConnection, BoxError> {
    let mut connection = system.endpoint.connect().await?;
    connection.watch(path).await?;
    Ok(connection)
}

/// Creates CRDs with an ordinary schema, and waits until all are served.
pub async fn define(client: &Client, count: usize) -> Result<(), BoxError> {
    futures::stream::iter(0..count)
        .map(|number| async move {
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            let request = http::Request::post(path).header("content-type", "application/json");
            client.request::<Value>(request.body(crd(number).to_string().into_bytes())?).await?;
            Ok::<_, BoxError>(())
        })
        .buffer_unordered(8)
        .try_collect::<()>()
        .await?;
    let deadline = Instant::now() + Duration::from_secs(120);
    for number in 0..count {
        let path = format!("/apis/g{number}.bench.example.com/v1/widgets{number}");
        while client.request_text(http::Request::get(&path).body(Vec::new())?).await.is_err() {
            if Instant::now() > deadline {
                return Err(format!("{path} is not served").into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    Ok(())
}

/// Returns a CRD of ordinary size: about forty fields with descriptions.
fn crd(number: usize) -> Value {
    let fields: BTreeMap<String, Value> = (0..40)
        .map(|field| {
            let description = format!("Field {field} says how the widget behaves in one more respect than before.");
            (format!("field{field}"), json!({"type": "string", "description": description, "maxLength": 100}))
        })
        .collect();
    let spec = json!({"type": "object", "properties": fields});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets{number}.g{number}.bench.example.com")},
        "spec": {
            "group": format!("g{number}.bench.example.com"),
            "scope": "Cluster",
            "names": {
                "plural": format!("widgets{number}"), "singular": format!("widget{number}"),
                "kind": format!("Widget{number}"), "listKind": format!("Widget{number}List"),
            },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
            }],
        },
    })
}
