//! The kube-rs runtime over the in-process client: reflector, controller, finalizer.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{
    Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, VersionMatch, WatchEvent, WatchParams,
};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Client, Resource, ResourceExt};
use switchboard_cluster::Cluster;
use switchboard_cluster::clock_and_rng::ClockAndRng;
use switchboard_cluster::store::{ObjectStore, StoreLimits};

const TIMEOUT: Duration = Duration::from_secs(20);
const FINALIZER: &str = "tests.example.com/cleanup";

fn config_map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_string()),
            labels: Some(BTreeMap::from([("part".to_string(), "kube-rs".to_string())])),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("value".to_string(), value.to_string())])),
        ..ConfigMap::default()
    }
}

async fn eventually<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let end = tokio::time::Instant::now() + TIMEOUT;
    while !holds().await {
        assert!(tokio::time::Instant::now() < end, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reflector_follows_the_server() {
    for streaming in [false, true] {
        let cluster = Cluster::ephemeral().await;
        let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
        maps.create(&PostParams::default(), &config_map("before", "1")).await.unwrap();
        let (store, writer) = reflector::store();
        let mut config = watcher::Config::default().labels("part=kube-rs");
        if streaming {
            config = config.streaming_lists();
        }
        let stream = watcher(maps.clone(), config).default_backoff().reflect(writer).applied_objects();
        let task = tokio::spawn(stream.for_each(|_| std::future::ready(())));
        store.wait_until_ready().await.unwrap();
        assert_eq!(store.len(), 1);
        maps.create(&PostParams::default(), &config_map("after", "1")).await.unwrap();
        let patch = Patch::Merge(serde_json::json!({"data": {"value": "2"}}));
        maps.patch("before", &PatchParams::default(), &patch).await.unwrap();
        eventually("the reflector has both", || async {
            let found = store.find(|map| map.name_any() == "before");
            store.len() == 2 && found.is_some_and(|map| map.data.as_ref().unwrap()["value"] == "2")
        })
        .await;
        maps.delete("before", &DeleteParams::default()).await.unwrap();
        eventually("the reflector forgets", || async { store.len() == 1 }).await;
        task.abort();
    }
}

/// Copies a ConfigMap's value into an owned Secret, and counts cleanups.
struct SecretCopier {
    client: Client,
    cleaned: AtomicUsize,
}

async fn reconcile(
    map: Arc<ConfigMap>,
    context: Arc<SecretCopier>,
) -> Result<Action, kube::runtime::finalizer::Error<kube::Error>> {
    let namespace = map.namespace().unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(context.client.clone(), &namespace);
    finalizer(&maps, FINALIZER, map, |event| async {
        match event {
            Event::Apply(map) => {
                let secrets: Api<Secret> = Api::namespaced(context.client.clone(), &namespace);
                let secret = serde_json::json!({
                    "apiVersion": "v1", "kind": "Secret",
                    "metadata": {"name": map.name_any(), "ownerReferences": [map.controller_owner_ref(&()).unwrap()]},
                    "stringData": map.data,
                });
                let params = PatchParams::apply("copier").force();
                secrets.patch(&map.name_any(), &params, &Patch::Apply(secret)).await?;
            }
            Event::Cleanup(_) => {
                context.cleaned.fetch_add(1, Ordering::SeqCst);
            }
        }
        Ok(Action::await_change())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn controller_with_finalizer_owns_and_cleans_up() {
    let cluster = Cluster::ephemeral().await;
    let client = cluster.client();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "default");
    let context = Arc::new(SecretCopier { client: client.clone(), cleaned: AtomicUsize::new(0) });
    let controller = Controller::new(maps.clone(), watcher::Config::default().labels("part=kube-rs"))
        .owns(secrets.clone(), watcher::Config::default())
        .run(reconcile, |_, error, _| panic!("reconcile failed: {error}"), context.clone());
    let task = tokio::spawn(controller.for_each(|_| std::future::ready(())));

    maps.create(&PostParams::default(), &config_map("plug", "one")).await.unwrap();
    let copied = |wanted: &'static str| {
        let secrets = secrets.clone();
        move || {
            let secrets = secrets.clone();
            async move {
                let secret = secrets.get_opt("plug").await.unwrap();
                secret.is_some_and(|s| s.data.is_some_and(|d| d["value"].0 == wanted.as_bytes()))
            }
        }
    };
    eventually("the copy is there", copied("one")).await;
    let patch = Patch::Merge(serde_json::json!({"data": {"value": "two"}}));
    maps.patch("plug", &PatchParams::default(), &patch).await.unwrap();
    eventually("the copy follows", copied("two")).await;
    secrets.delete("plug", &DeleteParams::default()).await.unwrap();
    eventually("a lost copy is made again", copied("two")).await;

    maps.delete("plug", &DeleteParams::default()).await.unwrap();
    eventually("the object is gone", || async { maps.get_opt("plug").await.unwrap().is_none() }).await;
    assert_eq!(context.cleaned.load(Ordering::SeqCst), 1);
    eventually("the copy is collected", || async { secrets.get_opt("plug").await.unwrap().is_none() }).await;
    task.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_that_is_forgotten_is_gone() {
    let bounds = StoreLimits { history_changes: 4, ..StoreLimits::default() };
    let cluster = Cluster::with_store(ObjectStore::in_memory(bounds), ClockAndRng::system()).await;
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    for number in 0..9 {
        maps.create(&PostParams::default(), &config_map(&format!("m{number}"), "x")).await.unwrap();
    }
    let mut events = maps.watch(&WatchParams::default(), "1").await.unwrap().boxed();
    let Some(Ok(WatchEvent::Error(gone))) = events.next().await else { panic!("the watch begins with an error") };
    assert_eq!((gone.code, gone.reason.as_str()), (410, "Expired"));
    assert!(gone.message.starts_with("too old resource version: 1 ("), "{}", gone.message);
    let exact = ListParams::default().at("1").matching(VersionMatch::Exact);
    let Err(kube::Error::Api(gone)) = maps.list(&exact).await else { panic!("the list is refused") };
    assert_eq!((gone.code, gone.reason.as_str()), (410, "Expired"));
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_lists_page_and_deletes_collect() {
    let cluster = Cluster::ephemeral().await;
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    for number in 0..7 {
        maps.create(&PostParams::default(), &config_map(&format!("m{number}"), "x")).await.unwrap();
    }
    let mut params = ListParams::default().labels("part=kube-rs").limit(3);
    let mut names = Vec::new();
    loop {
        let page = maps.list(&params).await.unwrap();
        names.extend(page.items.iter().map(ResourceExt::name_any));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => break,
        }
    }
    assert_eq!(names, ["m0", "m1", "m2", "m3", "m4", "m5", "m6"]);
    let selected = ListParams::default().labels("part=kube-rs");
    maps.delete_collection(&DeleteParams::default(), &selected).await.unwrap();
    assert!(maps.list(&selected).await.unwrap().items.is_empty());
}
