#![allow(clippy::unwrap_used)]

use serde_json::Value;
use switchboard_sql::{Address, DbTimestamp, Filter, Ledger, Row, Sealer};

use crate::ids::{InstanceState, KubernetesRelation};
use crate::instance::{InstanceLimits, InstanceRegistration, InstanceScope, configuration, definitions, register};
use crate::rows::fleet::Member;
use crate::rows::{EngineInstance, KubernetesToDatabase};
use crate::tenant::TenantNamespace;

const NOW: DbTimestamp = DbTimestamp { unix_us: 1_790_000_000_000_000 };

async fn all<R: Row>(ledger: &Ledger) -> Vec<R> {
    ledger.list(&Filter::all()).await.unwrap()
}

/// Registers the namespace `argocd` with this UID and commits.
async fn add(ledger: &Ledger, uid: &str, limits: InstanceLimits) -> EngineInstance {
    add_at(ledger, "kube-system-uid", uid, limits, false).await
}

/// Registers the namespace on this cluster, which may have been recreated.
async fn add_at(
    ledger: &Ledger,
    cluster: &str,
    uid: &str,
    limits: InstanceLimits,
    is_recreated: bool,
) -> EngineInstance {
    let (mappings, instances, members) = (all(ledger).await, all(ledger).await, all(ledger).await);
    let mut number = mappings.len();
    let (instance, changes) = register(
        &InstanceRegistration {
            cluster: &cluster.into(),
            namespace: &TenantNamespace { name: "argocd".into(), uid: uid.into() },
            mappings: &mappings,
            instances: &instances,
            members: &members,
            limits,
            is_cluster_recreated: is_recreated,
            now: NOW,
        },
        || {
            number += 1;
            format!("{uid}-{number}")
        },
    );
    ledger.commit(&changes).await.unwrap();
    instance
}

#[tokio::test]
async fn an_instance_is_registered_once_and_survives_a_recreated_namespace() {
    let ledger =
        Ledger::open(&crate::SCHEMA, &Address::parse("sqlite::memory:").unwrap(), Sealer::plain()).await.unwrap();
    ledger.migrate().await.unwrap();
    let limits = InstanceLimits { max_applications: Some(7), max_environments: None };
    let first = add(&ledger, "one", limits).await;
    assert_eq!(add(&ledger, "one", InstanceLimits::default()).await, first);
    let again = add(&ledger, "two", InstanceLimits::default()).await;
    assert_eq!((again.id, again.namespace_uid.as_str()), (first.id, "two"));
    assert_eq!(all::<EngineInstance>(&ledger).await.len(), 1);
    // The limits are kept, and no mapping refers to the deleted namespace.
    let members: Vec<Member> = all(&ledger).await;
    assert_eq!((members.len(), members[0].max_applications, members[0].max_environments), (1, 7, 1000));
    assert_eq!(members[0].state, InstanceState::Active);
    let mappings: Vec<KubernetesToDatabase> = all(&ledger).await;
    assert!(!mappings.iter().any(|row| row.resource_uid.as_str() == "one"), "{mappings:?}");
}

#[tokio::test]
async fn a_namespace_of_another_cluster_is_another_instance_unless_the_cluster_was_recreated() {
    let ledger =
        Ledger::open(&crate::SCHEMA, &Address::parse("sqlite::memory:").unwrap(), Sealer::plain()).await.unwrap();
    ledger.migrate().await.unwrap();
    let first = add_at(&ledger, "a", "one", InstanceLimits::default(), false).await;
    let again = add_at(&ledger, "b", "two", InstanceLimits::default(), true).await;
    assert_eq!((&again.id, &again.cluster, again.namespace_uid.as_str()), (&first.id, &first.cluster, "two"));
    let clusters = async || {
        let mut known: Vec<KubernetesToDatabase> = all(&ledger).await;
        known.retain(|row| row.relation == KubernetesRelation::EngineCluster);
        known.into_iter().map(|row| row.resource_uid.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(clusters().await, ["b"], "it is known by its new uid alone");
    let other = add_at(&ledger, "c", "three", InstanceLimits::default(), false).await;
    assert_ne!((&other.id, &other.cluster), (&first.id, &first.cluster));
    assert_eq!(clusters().await, ["b", "c"]);
    // Two instances match, so it is unknown whose cluster was recreated.
    let third = add_at(&ledger, "d", "four", InstanceLimits::default(), true).await;
    assert!(third.cluster != first.cluster && third.cluster != other.cluster);
}

#[test]
fn all_configuration_has_argo_cds_label() {
    let objects = configuration("argocd-2", "key", InstanceScope::Cluster);
    for object in &objects {
        assert_eq!(object["metadata"]["labels"]["app.kubernetes.io/part-of"], "argocd", "{object}");
    }
    let namespaced = |object: &&Value| object["metadata"].get("namespace").is_some();
    assert!(objects.iter().filter(namespaced).all(|object| object["metadata"]["namespace"] == "argocd-2"));
    let bound = objects.iter().filter(|object| object["kind"] == "ClusterRoleBinding").count();
    assert_eq!(bound, 1);
    assert!(configuration("a", "k", InstanceScope::Namespace).iter().all(|o| o["kind"] != "ClusterRole"));
}

#[test]
fn the_definition_of_application_has_no_status_subresource() {
    for definition in definitions() {
        assert!(definition["spec"]["versions"][0].get("subresources").is_none(), "{definition}");
    }
}
