#![allow(clippy::unwrap_used)]

use serde_json::json;
use switchboard_sql::{Address, DbTimestamp, Filter, RowChange, Sealer};

use super::*;
use crate::ids::{KubernetesRelation, KubernetesResource};
use crate::rows::fleet::Placement;
use crate::rows::*;

async fn ledger() -> Ledger {
    let ledger =
        Ledger::open(&crate::SCHEMA, &Address::parse("sqlite::memory:").unwrap(), Sealer::plain()).await.unwrap();
    ledger.migrate().await.unwrap();
    ledger
}

fn credentials() -> ClusterCredentials {
    ClusterCredentials {
        id: "c".into(),
        host: Some("https://h".into()),
        kube_config: Some("k".into()),
        kube_config_context: None,
        bearer_token: Some("token".into()),
        service_account_namespace: None,
        allow_insecure: false,
        namespaces: None,
        cluster_resources: true,
        created_on: DbTimestamp::from_unix_us(5),
        ca_data: None,
        client_certificate: None,
        client_key: None,
        own_service_account: false,
        source_digest: None,
    }
}

/// Returns a database with one Application on the instance `one` of two.
async fn filled_ledger() -> Ledger {
    let ledger = ledger().await;
    let instance = |id: &str| EngineInstance {
        id: id.into(),
        namespace: format!("argocd-{id}"),
        namespace_uid: id.into(),
        cluster: "ec".into(),
    };
    let created_on = DbTimestamp::from_unix_us(7);
    ledger
        .commit(&[
            RowChange::insert(&credentials()),
            RowChange::insert(&EngineCluster { id: "ec".into(), credentials: "c".into() }),
            RowChange::insert(&instance("one")),
            RowChange::insert(&instance("two")),
            RowChange::insert(&ManagedEnvironment {
                id: "e".into(),
                name: "n".into(),
                credentials: "c".into(),
                created_on,
            }),
            RowChange::insert(&ClusterUser { id: "u".into(), user_name: "uid".into(), created_on, display_name: None }),
            RowChange::insert(&ClusterAccess {
                user: "u".into(),
                environment: "e".into(),
                instance: "one".into(),
                created_on,
            }),
            RowChange::insert(&Application {
                id: "a".into(),
                name: "gitopsdepl-x".into(),
                spec_field: "spec: {}\n".into(),
                instance: "one".into(),
                environment: Some("e".into()),
                created_on,
            }),
            RowChange::insert(&ApplicationOwner { application: "a".into(), user: "u".into(), created_on }),
            RowChange::insert(&ApplicationState { application: "a".into(), status: Some(vec![0, 159, 255]) }),
            RowChange::insert(&Placement {
                user: "u".into(),
                environment: "e".into(),
                instance: "one".into(),
                epoch: 4,
                moving: Some("m".into()),
                created_on,
            }),
        ])
        .await
        .unwrap();
    ledger
}

async fn backup_bytes(ledger: &Ledger) -> Vec<u8> {
    let mut file = Vec::new();
    backup(ledger, &mut file).await.unwrap();
    file
}

#[tokio::test]
async fn a_backup_is_read_back_unchanged() {
    let from = filled_ledger().await;
    let file = backup_bytes(&from).await;
    let rows = read(&mut file.as_slice()).unwrap();
    let to = ledger().await;
    to.import(&rows).await.unwrap();
    assert_eq!(to.export().await.unwrap(), from.export().await.unwrap());
    assert_eq!(to.list::<ClusterCredentials>(&Filter::all()).await.unwrap(), [credentials()]);
    // Existing rows are replaced.
    to.import(&[]).await.unwrap();
    assert!(to.export().await.unwrap().is_empty());
}

#[tokio::test]
async fn credentials_are_exported_as_stored() {
    let key = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let sealed =
        Ledger::open(&crate::SCHEMA, &Address::parse("sqlite::memory:").unwrap(), Sealer::with_keys(key).unwrap())
            .await
            .unwrap();
    sealed.migrate().await.unwrap();
    let row = ClusterCredentials { bearer_token: Some("very-secret-token".into()), ..credentials() };
    sealed.commit(&[RowChange::insert(&row)]).await.unwrap();
    let text = String::from_utf8(backup_bytes(&sealed).await).unwrap();
    assert!(text.contains("swb1:k1:") && !text.contains("very-secret-token"), "{text}");
    let rows = read(&mut text.as_bytes()).unwrap();
    sealed.import(&rows).await.unwrap();
    assert_eq!(sealed.list::<ClusterCredentials>(&Filter::all()).await.unwrap(), [row]);
}

#[tokio::test]
async fn a_truncated_file_is_rejected() {
    let file = backup_bytes(&filled_ledger().await).await;
    let text = String::from_utf8(file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for cut in 0..lines.len() {
        let part = lines[..cut].join("\n");
        assert!(matches!(read(&mut part.as_bytes()), Err(BackupError::Line { .. })), "cut after {cut} lines");
    }
    assert!(matches!(read(&mut &b"something else\n"[..]), Err(BackupError::Line { number: 1, .. })));
}

/// Returns a cluster that only serves its `kube-system` namespace.
fn engine() -> EngineClient {
    let service = tower::service_fn(|request: http::Request<kube::client::Body>| async move {
        let path = request.uri().to_string();
        if path != "/api/v1/namespaces/kube-system" {
            return Err(tower::BoxError::from(path));
        }
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": "here"}});
        Ok(http::Response::new(kube::client::Body::from(body.to_string().into_bytes())))
    });
    EngineClient::new(kube::Client::new(service, "default"))
}

fn mapping_of(uid: &str) -> KubernetesToDatabase {
    KubernetesToDatabase {
        resource: KubernetesResource::Namespace,
        resource_uid: uid.into(),
        relation: KubernetesRelation::EngineCluster,
        relation_key: "ec".to_string(),
    }
}

#[tokio::test]
async fn instances_of_another_cluster_are_unchanged() {
    let ledger = filled_ledger().await;
    let second = EngineCluster { id: "second".into(), credentials: "c".into() };
    ledger.commit(&[RowChange::insert(&mapping_of("elsewhere")), RowChange::insert(&second)]).await.unwrap();
    let before = ledger.export().await.unwrap();
    assert_eq!(adoption::adopt(&ledger, &engine(), &[]).await.unwrap(), AdoptionResult::default());
    assert_eq!(ledger.export().await.unwrap(), before, "instances of other clusters are unchanged");
}

#[tokio::test]
async fn a_backup_with_one_cluster_is_restored_for_the_current_one() {
    let ledger = filled_ledger().await;
    ledger.commit(&[RowChange::insert(&mapping_of("before"))]).await.unwrap();
    let found = [json!({"metadata": {"name": "gitopsdepl-x", "namespace": "argocd-two"}})];
    let moved = AdoptionResult { applications: 1, ..AdoptionResult::default() };
    assert_eq!(adoption::adopt(&ledger, &engine(), &found).await.unwrap(), moved);
    assert_eq!(ledger.list::<KubernetesToDatabase>(&Filter::all()).await.unwrap(), [mapping_of("here")]);
}

#[tokio::test]
async fn a_placement_follows_its_application() {
    let ledger = filled_ledger().await;
    let rows: Vec<StoredRow> =
        ledger.export().await.unwrap().into_iter().filter(is_backed_up).map(without_move).collect();
    ledger.import(&rows).await.unwrap();
    let found = [json!({"metadata": {"name": "gitopsdepl-x", "namespace": "argocd-two"}})];
    let moved = AdoptionResult { applications: 1, ..AdoptionResult::default() };
    assert_eq!(adoption::adopt(&ledger, &engine(), &found).await.unwrap(), moved);
    let applications: Vec<Application> = ledger.list(&Filter::all()).await.unwrap();
    assert_eq!(applications[0].instance.as_str(), "two");
    let placements: Vec<Placement> = ledger.list(&Filter::all()).await.unwrap();
    assert_eq!((placements[0].instance.as_str(), placements[0].epoch, &placements[0].moving), ("two", 5, &None));
    let accesses: Vec<ClusterAccess> = ledger.list(&Filter::all()).await.unwrap();
    assert_eq!(accesses[0].instance.as_str(), "two");
    // A second run changes nothing.
    assert_eq!(adoption::adopt(&ledger, &engine(), &found).await.unwrap(), AdoptionResult::default());
}

#[tokio::test]
async fn a_deployment_without_its_application_is_forgotten() {
    let ledger = filled_ledger().await;
    let mapping = DeploymentToApplication {
        application: ledger.list::<Application>(&Filter::all()).await.unwrap()[0].id.clone(),
        deployment_uid: "x".into(),
        name: Some("web".to_string()),
        namespace: Some("shop".to_string()),
        namespace_uid: None,
    };
    ledger.commit(&[RowChange::insert(&mapping)]).await.unwrap();
    adoption::adopt(&ledger, &engine(), &[]).await.unwrap();
    assert!(ledger.list::<DeploymentToApplication>(&Filter::all()).await.unwrap().is_empty());
    assert!(ledger.list::<Application>(&Filter::all()).await.unwrap().is_empty());
}
