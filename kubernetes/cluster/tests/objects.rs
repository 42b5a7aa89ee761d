//! Objects through the in-process client, as in tests of operators.
#![allow(clippy::unwrap_used)]

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{ListParams, PostParams};
use kube::{Api, ResourceExt};
use switchboard_cluster::Cluster;

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(serde_json::json!({"metadata": {"name": name}, "data": {"colour": "blue"}})).unwrap()
}

#[tokio::test]
async fn a_created_object_is_read_and_listed() {
    let cluster = Cluster::ephemeral().await;
    let api: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    let made = api.create(&PostParams::default(), &config_map("a")).await.unwrap();
    assert!(made.uid().is_some() && made.resource_version().is_some());
    assert_eq!(api.get("a").await.unwrap(), made);
    let again = api.create(&PostParams::default(), &config_map("a")).await.unwrap_err();
    assert!(matches!(again, kube::Error::Api(status) if status.message == "configmaps \"a\" already exists"));
    let list = api.list(&ListParams::default()).await.unwrap();
    let names: Vec<_> = list.iter().map(|c| c.name_any()).collect();
    assert_eq!(names, ["a", "kube-root-ca.crt"]);
    assert_eq!(list.metadata.resource_version, made.resource_version());
}

#[tokio::test]
async fn every_cluster_begins_with_the_default_namespaces() {
    let cluster = Cluster::ephemeral().await;
    cluster.logical("blue").await;
    for client in [cluster.client(), cluster.client_of("blue")] {
        let names: Vec<_> = Api::<Namespace>::all(client)
            .list(&ListParams::default())
            .await
            .unwrap()
            .iter()
            .map(|n| n.name_any())
            .collect();
        assert_eq!(names, ["default", "kube-node-lease", "kube-public", "kube-system"]);
    }
}
