use serde_json::Value;
use switchboard_ledger::ids::{InstanceState, KubernetesRelation};
use switchboard_ledger::rows::fleet::Member;
use switchboard_ledger::rows::{EngineInstance, KubernetesToDatabase};
use switchboard_ledger::{Address, Filter, Ledger, Moment, Row, Sealing};

use crate::fleet::setup::{Limits, Reach, Registration, configuration, definitions, register};
use crate::flow::tenant::Namespace;

const NOW: Moment = Moment { unix_us: 1_790_000_000_000_000 };

async fn all<R: Row>(ledger: &Ledger) -> Vec<R> {
    ledger.list(&Filter::all()).await.unwrap()
}

/// Registers the namespace `argocd` of this uid, and commits.
async fn add(ledger: &Ledger, uid: &str, limits: Limits) -> EngineInstance {
    add_at(ledger, "kube-system-uid", uid, limits, false).await
}

/// The same on any cluster, which may have been made anew.
async fn add_at(ledger: &Ledger, cluster: &str, uid: &str, limits: Limits, anew: bool) -> EngineInstance {
    let (mappings, instances, members) = (all(ledger).await, all(ledger).await, all(ledger).await);
    let mut number = mappings.len();
    let (instance, changes) = register(
        &Registration {
            cluster: &cluster.into(),
            namespace: &Namespace { name: "argocd".into(), uid: uid.into() },
            mappings: &mappings,
            instances: &instances,
            members: &members,
            limits,
            anew,
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
async fn an_instance_is_registered_once_and_a_namespace_made_anew_is_the_same() {
    let ledger = Ledger::open(&Address::parse("sqlite::memory:").unwrap(), Sealing::plain()).await.unwrap();
    ledger.migrate().await.unwrap();
    let limits = Limits { max_applications: Some(7), max_environments: None };
    let first = add(&ledger, "one", limits).await;
    assert_eq!(add(&ledger, "one", Limits::default()).await, first);
    let anew = add(&ledger, "two", Limits::default()).await;
    assert_eq!((anew.id, anew.namespace_uid.as_str()), (first.id, "two"));
    assert_eq!(all::<EngineInstance>(&ledger).await.len(), 1);
    // Its limits stay, and no mapping leads from the namespace that is gone.
    let members: Vec<Member> = all(&ledger).await;
    assert_eq!((members.len(), members[0].max_applications, members[0].max_environments), (1, 7, 1000));
    assert_eq!(members[0].state, InstanceState::Active);
    let mappings: Vec<KubernetesToDatabase> = all(&ledger).await;
    assert!(!mappings.iter().any(|row| row.resource_uid.as_str() == "one"), "{mappings:?}");
}

#[tokio::test]
async fn a_namespace_of_another_cluster_is_another_instance_unless_the_cluster_was_made_anew() {
    let ledger = Ledger::open(&Address::parse("sqlite::memory:").unwrap(), Sealing::plain()).await.unwrap();
    ledger.migrate().await.unwrap();
    let first = add_at(&ledger, "a", "one", Limits::default(), false).await;
    let anew = add_at(&ledger, "b", "two", Limits::default(), true).await;
    assert_eq!((&anew.id, &anew.cluster, anew.namespace_uid.as_str()), (&first.id, &first.cluster, "two"));
    let clusters = async || {
        let mut known: Vec<KubernetesToDatabase> = all(&ledger).await;
        known.retain(|row| row.relation == KubernetesRelation::EngineCluster);
        known.into_iter().map(|row| row.resource_uid.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(clusters().await, ["b"], "it is known by its new uid alone");
    let other = add_at(&ledger, "c", "three", Limits::default(), false).await;
    assert_ne!((&other.id, &other.cluster), (&first.id, &first.cluster));
    assert_eq!(clusters().await, ["b", "c"]);
    // Which of both was made anew cannot be told.
    let third = add_at(&ledger, "d", "four", Limits::default(), true).await;
    assert!(third.cluster != first.cluster && third.cluster != other.cluster);
}

#[test]
fn argo_cd_reads_only_what_says_it_is_its_own() {
    let objects = configuration("argocd-2", "key", Reach::Cluster);
    for object in &objects {
        assert_eq!(object["metadata"]["labels"]["app.kubernetes.io/part-of"], "argocd", "{object}");
    }
    let namespaced = |object: &&Value| object["metadata"].get("namespace").is_some();
    assert!(objects.iter().filter(namespaced).all(|object| object["metadata"]["namespace"] == "argocd-2"));
    let bound = objects.iter().filter(|object| object["kind"] == "ClusterRoleBinding").count();
    assert_eq!(bound, 1);
    assert!(configuration("a", "k", Reach::Namespace).iter().all(|o| o["kind"] != "ClusterRole"));
}

#[test]
fn an_application_is_written_whole_so_its_definition_has_no_status_of_its_own() {
    for definition in definitions() {
        assert!(definition["spec"]["versions"][0].get("subresources").is_none(), "{definition}");
    }
}
