//! Built-in kinds through the in-process client: processing around the rules of the kinds.
#![allow(clippy::unwrap_used, missing_docs)]

use k8s_openapi::api::autoscaling::{v1 as v1_hpa, v2 as v2_hpa};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::events::v1 as events;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::json;
use switchboard_cluster::Cluster;

fn read<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> T {
    serde_json::from_value(value).unwrap()
}

#[tokio::test]
async fn an_event_is_equal_in_both_groups() {
    let cluster = Cluster::ephemeral().await;
    let old: Api<core::Event> = Api::namespaced(cluster.client(), "default");
    let new: Api<events::Event> = Api::namespaced(cluster.client(), "default");
    let event = json!({"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "message": "hello", "reason": "Said"});
    let made = old.create(&PostParams::default(), &read(event)).await.unwrap();
    let seen = new.get("e").await.unwrap();
    assert_eq!(seen.note.as_deref(), Some("hello"));
    assert_eq!(seen.regarding.unwrap().name.as_deref(), Some("p"));
    assert_eq!(seen.metadata.uid, made.metadata.uid);
    let listed = new.list(&ListParams::default()).await.unwrap();
    assert_eq!(listed.items[0].note.as_deref(), Some("hello"));
}

#[tokio::test]
async fn an_autoscaler_is_equal_in_both_versions() {
    let cluster = Cluster::ephemeral().await;
    let old: Api<v1_hpa::HorizontalPodAutoscaler> = Api::namespaced(cluster.client(), "default");
    let new: Api<v2_hpa::HorizontalPodAutoscaler> = Api::namespaced(cluster.client(), "default");
    let scaler = json!({"metadata": {"name": "h"}, "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 40,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}});
    old.create(&PostParams::default(), &read(scaler)).await.unwrap();
    let seen = new.get("h").await.unwrap().spec.metrics.unwrap();
    assert_eq!(seen[0].resource.as_ref().unwrap().target.average_utilization, Some(40));
    let change = Patch::Merge(json!({"spec": {"maxReplicas": 5}}));
    new.patch("h", &PatchParams::default(), &change).await.unwrap();
    let spec = old.get("h").await.unwrap().spec;
    assert_eq!((spec.max_replicas, spec.target_cpu_utilization_percentage), (5, Some(40)));
}

#[tokio::test]
async fn services_get_different_addresses() {
    let cluster = Cluster::ephemeral().await;
    let api: Api<core::Service> = Api::namespaced(cluster.client(), "default");
    let mut seen = std::collections::BTreeSet::new();
    for index in 0..20 {
        let service =
            json!({"metadata": {"name": format!("s{index}")}, "spec": {"ports": [{"port": 80}], "type": "NodePort"}});
        let made = api.create(&PostParams::default(), &read(service)).await.unwrap().spec.unwrap();
        assert!(seen.insert(made.cluster_ip.unwrap()));
        assert!(seen.insert(made.ports.unwrap()[0].node_port.unwrap().to_string()));
    }
}

#[tokio::test]
async fn a_pod_mounts_the_token_of_its_service_account() {
    let cluster = Cluster::ephemeral().await;
    let api: Api<core::Pod> = Api::namespaced(cluster.client(), "default");
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = api.create(&PostParams::default(), &read(pod)).await.unwrap().spec.unwrap();
    assert_eq!(spec.service_account_name.as_deref(), Some("default"));
    let mount = &spec.containers[0].volume_mounts.as_ref().unwrap()[0];
    assert_eq!(mount.mount_path, "/var/run/secrets/kubernetes.io/serviceaccount");
}

#[tokio::test]
async fn a_pod_can_be_created_right_after_its_namespace() {
    let cluster = Cluster::ephemeral().await;
    let spaces: Api<core::Namespace> = Api::all(cluster.client());
    for index in 0..5 {
        let name = format!("n{index}");
        spaces.create(&PostParams::default(), &read(json!({"metadata": {"name": name}}))).await.unwrap();
        let pods: Api<core::Pod> = Api::namespaced(cluster.client(), &name);
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        pods.create(&PostParams::default(), &read(pod)).await.unwrap();
    }
}
