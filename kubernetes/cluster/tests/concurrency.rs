//! Concurrent writes, and large numbers of objects.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use futures::future::{join_all, try_join_all};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::json;
use switchboard_cluster::Cluster;
use switchboard_cluster::clock_and_rng::ClockAndRng;
use switchboard_cluster::store::{ObjectStore, StoreLimits};

/// Number of Services created concurrently. There are 254 addresses, so random choice alone would assign some twice.
const SERVICES: usize = 200;
/// Number of CRDs that the cluster must handle.
const DEFINITIONS: usize = 2_000;

fn service(name: &str, kind: &str) -> Service {
    let spec = json!({"type": kind, "ports": [{"port": 80}]});
    serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap()
}

fn held(services: &[Service]) -> (Vec<String>, Vec<i32>) {
    let specs = || services.iter().filter_map(|service| service.spec.as_ref());
    let ports = specs().flat_map(|spec| spec.ports.iter().flatten()).filter_map(|port| port.node_port);
    (specs().filter_map(|spec| spec.cluster_ip.clone()).collect(), ports.collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_two_services_get_the_same_address_or_port() {
    // On a disk, a write becomes visible later than it is decided, so concurrent writes have time to choose the same
    // address.
    let directory = tempfile::tempdir().unwrap();
    let store = ObjectStore::open(directory.path(), StoreLimits::default()).unwrap();
    let cluster = Cluster::with_store(store, ClockAndRng::system()).await;
    let api: Api<Service> = Api::default_namespaced(cluster.client());
    let names: Vec<_> = (0..SERVICES).map(|number| format!("s{number}")).collect();
    let created = join_all(names.iter().map(|name| {
        let (api, name) = (api.clone(), name.clone());
        tokio::spawn(async move { api.create(&PostParams::default(), &service(&name, "ClusterIP")).await })
    }));
    let created: Vec<Service> = created.await.into_iter().map(|made| made.unwrap().unwrap()).collect();
    let (addresses, _) = held(&created);
    assert_eq!(addresses.len(), SERVICES);
    assert_eq!(addresses.iter().collect::<BTreeSet<_>>().len(), SERVICES, "{addresses:?}");

    let exposed = json!({"spec": {"type": "NodePort"}});
    let patched = join_all(names.iter().map(|name| {
        let (api, name, patch) = (api.clone(), name.clone(), Patch::Merge(exposed.clone()));
        tokio::spawn(async move { api.patch(&name, &PatchParams::default(), &patch).await })
    }));
    let patched: Vec<Service> = patched.await.into_iter().map(|made| made.unwrap().unwrap()).collect();
    let (_, ports) = held(&patched);
    assert_eq!(ports.len(), SERVICES);
    assert_eq!(ports.iter().collect::<BTreeSet<_>>().len(), SERVICES, "{ports:?}");
}

fn definition(number: usize) -> CustomResourceDefinition {
    let (plural, group) = (format!("things{number}"), format!("g{}.example.com", number % 100));
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {
        "type": "object", "properties": {"size": {"type": "integer", "default": 3, "minimum": 1}}}}}});
    serde_json::from_value(json!({
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": plural, "singular": format!("thing{number}"), "kind": format!("Thing{number}")},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    }))
    .unwrap()
}

#[tokio::test]
async fn two_thousand_crds_are_handled() {
    let cluster = Cluster::ephemeral().await;
    let api: Api<CustomResourceDefinition> = Api::all(cluster.client());
    for number in 0..DEFINITIONS {
        api.create(&PostParams::default(), &definition(number)).await.unwrap();
    }
    let stored = api.list(&Default::default()).await.unwrap();
    let established = |crd: &&CustomResourceDefinition| {
        let conditions = crd.status.iter().filter_map(|status| status.conditions.as_ref()).flatten();
        conditions.into_iter().any(|c| c.type_ == "Established" && c.status == "True")
    };
    assert_eq!(stored.items.iter().filter(established).count(), DEFINITIONS);

    let groups = cluster.client().list_api_groups().await.unwrap().groups;
    let ours = groups.iter().filter(|group| group.name.ends_with(".example.com"));
    let clients = ours.map(|group| (cluster.client(), format!("{}/v1", group.name)));
    let lists = clients.map(|(client, version)| async move { client.list_api_group_resources(&version).await });
    let lists = try_join_all(lists).await.unwrap();
    let kinds: BTreeSet<_> = lists.iter().flat_map(|list| &list.resources).map(|resource| &resource.kind).collect();
    assert_eq!(kinds.len(), DEFINITIONS, "discovery is complete");

    let last = DEFINITIONS - 1;
    let kind = GroupVersionKind::gvk(&format!("g{}.example.com", last % 100), "v1", &format!("Thing{last}"));
    let resource = ApiResource::from_gvk_with_plural(&kind, &format!("things{last}"));
    let things: Api<DynamicObject> = Api::default_namespaced_with(cluster.client(), &resource);
    let mut thing = DynamicObject::new("one", &resource);
    thing.data = json!({"spec": {}});
    let made = things.create(&PostParams::default(), &thing).await.unwrap();
    assert_eq!(made.data["spec"]["size"], 3, "its schema is at work");
}
