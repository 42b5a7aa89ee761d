//! Objects over time: watches, conflicts, finalizers, definitions.
#![allow(clippy::unwrap_used)]

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use serde_json::json;
use switchboard_cluster::Cluster;

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"colour": "blue"}})).unwrap()
}

fn error_of<T: std::fmt::Debug>(result: Result<T, kube::Error>) -> (u16, String) {
    match result.unwrap_err() {
        kube::Error::Api(status) => (status.code, status.message),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_watch_shows_changes_of_selected_objects() {
    let cluster = Cluster::ephemeral().await;
    let api: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    let since = api.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let mut events = api.watch(&WatchParams::default().labels("t=x"), &since).await.unwrap().boxed();
    api.create(&PostParams::default(), &config_map("a")).await.unwrap();
    for label in [json!("x"), json!("x"), json!("y")] {
        let patch = json!({"metadata": {"labels": {"t": label}, "annotations": {"n": label}}});
        api.patch("a", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }
    let added = events.try_next().await.unwrap().unwrap();
    assert!(matches!(added, WatchEvent::Added(object) if object.labels()["t"] == "x"));
    let deleted = events.try_next().await.unwrap().unwrap();
    assert!(matches!(deleted, WatchEvent::Deleted(object) if object.labels()["t"] == "x"), "it is selected no more");
}

#[tokio::test]
async fn an_update_on_an_old_revision_is_a_conflict() {
    let cluster = Cluster::ephemeral().await;
    let api: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    let first = api.create(&PostParams::default(), &config_map("a")).await.unwrap();
    let mut second = first.clone();
    second.data.as_mut().unwrap().insert("size".into(), "5".into());
    let second = api.replace("a", &PostParams::default(), &second).await.unwrap();
    let same = api.replace("a", &PostParams::default(), &second).await.unwrap();
    assert_eq!(same.resource_version(), second.resource_version(), "a write that changes nothing makes no revision");
    let (code, message) = error_of(api.replace("a", &PostParams::default(), &first).await);
    assert_eq!(code, 409);
    assert!(message.ends_with("please apply your changes to the latest version and try again"), "{message}");
}

#[tokio::test]
async fn a_finalizer_keeps_an_object_until_it_is_removed() {
    let cluster = Cluster::ephemeral().await;
    let api: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    let mut object = config_map("a");
    object.finalizers_mut().push("example.com/keep".into());
    api.create(&PostParams::default(), &object).await.unwrap();
    let marked = api.delete("a", &DeleteParams::default()).await.unwrap().left().unwrap();
    assert!(marked.metadata.deletion_timestamp.is_some());
    let free = json!({"metadata": {"finalizers": null}});
    api.patch("a", &PatchParams::default(), &Patch::Merge(free)).await.unwrap();
    assert_eq!(error_of(api.get("a").await).0, 404);
}

fn widgets() -> CustomResourceDefinition {
    serde_json::from_value(json!({
        "metadata": {"name": "widgets.shop.example.com"},
        "spec": {
            "group": "shop.example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 3, "maximum": 9}}},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}],
        },
    }))
    .unwrap()
}

#[tokio::test]
async fn a_crd_is_served_at_once_and_deleted_with_its_objects() {
    let cluster = Cluster::ephemeral().await;
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client());
    definitions.create(&PostParams::default(), &widgets()).await.unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("shop.example.com", "v1", "Widget"));
    let api: Api<DynamicObject> = Api::namespaced_with(cluster.client(), "default", &resource);
    let object = |size| {
        DynamicObject::new("a", &resource).data(json!({"spec": {"size": size, "odd": 1}, "status": {"up": true}}))
    };
    let (code, message) = error_of(api.create(&PostParams::default(), &object(json!(10))).await);
    assert_eq!(code, 422);
    assert!(message.contains("spec.size in body should be less than or equal to 9"), "{message}");
    let made = api.create(&PostParams::default(), &object(json!(null))).await.unwrap();
    assert_eq!(made.data, json!({"spec": {"size": 3}}), "pruned, defaulted, without status");
    let up = json!({"status": {"up": true}});
    let with_status = api.patch_status("a", &PatchParams::default(), &Patch::Merge(up)).await.unwrap();
    assert_eq!(with_status.data["status"], json!({"up": true}));
    definitions.delete("widgets.shop.example.com", &DeleteParams::default()).await.unwrap();
    assert_eq!(error_of(api.get("a").await).0, 404);
    assert_eq!(error_of(definitions.get("widgets.shop.example.com").await).0, 404);
}
