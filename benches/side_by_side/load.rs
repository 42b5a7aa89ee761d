//! What the client does to a system.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures::{AsyncReadExt, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::measure::Failed;
use crate::system::System;

const NAMESPACE: &str = "default";
/// The size of an ordinary ConfigMap's data.
const DATA_BYTES: usize = 1_000;

fn config_map(name: String) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name), ..ObjectMeta::default() },
        data: Some(BTreeMap::from([("data".into(), "x".repeat(DATA_BYTES))])),
        ..ConfigMap::default()
    }
}

/// Creates `each` ConfigMaps from each of `writers` connections; the time per create.
pub async fn create(system: &System, batch: &str, writers: usize, each: usize) -> Result<Duration, Failed> {
    let mut clients = Vec::new();
    for _ in 0..writers {
        let client = system.connect().await?;
        // Connected before the clock runs.
        client.apiserver_version().await?;
        clients.push(client);
    }
    let begun = Instant::now();
    let tasks = clients.into_iter().enumerate().map(|(writer, client)| {
        let batch = batch.to_owned();
        tokio::spawn(async move {
            let api: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
            for step in 0..each {
                api.create(&PostParams::default(), &config_map(format!("{batch}-{writer}-{step}"))).await?;
            }
            Ok::<_, kube::Error>(())
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await??;
    }
    Ok(begun.elapsed() / u32::try_from(writers * each)?)
}

/// Lists all ConfigMaps of the namespace in one answer, as bytes.
pub async fn list(client: &Client, at_least: usize) -> Result<Duration, Failed> {
    let request = http::Request::get(format!("/api/v1/namespaces/{NAMESPACE}/configmaps")).body(Vec::new())?;
    let begun = Instant::now();
    let text = client.request_text(request).await?;
    let elapsed = begun.elapsed();
    if text.len() < at_least * DATA_BYTES {
        return Err(format!("a list of {} bytes is too short", text.len()).into());
    }
    Ok(elapsed)
}

/// Opens `watchers` watches, then creates `changes` objects one after the other; from the sending of a create until every watcher
/// has been told, on average.
pub async fn fan_out(system: &System, watchers: usize, changes: usize) -> Result<Duration, Failed> {
    let api: Api<ConfigMap> = Api::namespaced(system.client.clone(), NAMESPACE);
    let marker = api.create(&PostParams::default(), &config_map("fan-out-begin".into())).await?;
    let path = format!(
        "/api/v1/namespaces/{NAMESPACE}/configmaps?watch=true&resourceVersion={}",
        marker.resource_version().ok_or("no resourceVersion")?
    );
    let (told, mut tellings) = tokio::sync::mpsc::unbounded_channel();
    let opened = futures::stream::iter(0..watchers).map(|_| open(system, &path)).buffer_unordered(16);
    let streams: Vec<_> = opened.try_collect().await?;
    let mut readers = tokio::task::JoinSet::new();
    for mut stream in streams {
        let told = told.clone();
        readers.spawn(async move {
            let mut buffer = vec![0; 16 << 10];
            while let Ok(read @ 1..) = stream.read(&mut buffer).await {
                // An event is a line.
                let lines = buffer[..read].iter().filter(|byte| **byte == b'\n').count();
                if lines > 0 && told.send(lines).is_err() {
                    return;
                }
            }
        });
    }
    let mut total = Duration::ZERO;
    for step in 0..changes {
        let begun = Instant::now();
        api.create(&PostParams::default(), &config_map(format!("fan-out-{step}"))).await?;
        let mut missing = watchers;
        while missing > 0 {
            let lines = tokio::time::timeout(Duration::from_secs(60), tellings.recv()).await?;
            missing -= lines.ok_or("the watches ended")?;
        }
        total += begun.elapsed();
    }
    Ok(total / u32::try_from(changes)?)
}

async fn open(system: &System, path: &str) -> Result<impl futures::AsyncRead + Unpin + use<>, Failed> {
    let client = system.connect().await?;
    let stream = client.request_stream(http::Request::get(path).body(Vec::new())?).await?;
    Ok(Box::pin(stream))
}

/// Creates CRDs with an ordinary schema and waits until all are served.
pub async fn define(client: &Client, count: usize) -> Result<(), Failed> {
    futures::stream::iter(0..count)
        .map(|number| async move {
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            let request = http::Request::post(path).header("content-type", "application/json");
            client.request::<Value>(request.body(crd(number).to_string().into_bytes())?).await?;
            Ok::<_, Failed>(())
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

/// A CRD the size of an ordinary one: about forty fields with descriptions.
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
