//! Defects of managed-gitops that appear only with both roles running. docs/reference/managed-gitops.md lists the tests of the other
//! defects.

use serde_json::{Value, json};
use switchboard_gitops::ids::{OperationResource, OperationState};
use switchboard_gitops::random_id;
use switchboard_gitops::related_rows::is_open;
use switchboard_gitops::rows::*;
use switchboard_sql::{DbTimestamp, RowChange};

use crate::database::{TestDatabase, on_both};
use crate::fixture::{
    CREDENTIAL_SECRET, CREDENTIALS, DEPLOYMENTS, ENVIRONMENTS, ServiceFixture, create, plain, send, uid,
};
use crate::network::SILENT;

on_both! {
    stuck_deletions_of_one_tenant_delay_no_other_tenant
    a_cluster_that_never_answers_delays_nothing_else
    a_long_ssh_key_is_stored_completely
    an_argo_cd_with_a_recreated_namespace_is_kept
    an_operation_for_an_argo_cd_fails_with_a_hint
}

async fn synced(fixture: &ServiceFixture, namespace: &str, name: &str) {
    fixture
        .wait_for("a status", async || {
            fixture.deployment(namespace, name).await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await;
}

/// Defect 4: twenty stuck deletions or syncs stall all tenants of an agent.
async fn stuck_deletions_of_one_tenant_delay_no_other_tenant(database: TestDatabase) {
    const STUCK: usize = 25;
    let fixture = ServiceFixture::new(database).await;
    let names: Vec<String> = (0..STUCK).map(|number| format!("web-{number}")).collect();
    for name in &names {
        fixture.deploy("shop", name, plain()).await;
    }
    for name in &names {
        synced(&fixture, "shop", name).await;
    }
    fixture.fake_argocd.stuck(true);
    for name in &names {
        fixture.delete("shop", DEPLOYMENTS, name).await;
    }
    fixture
        .wait_for("all of them stuck", async || {
            let all = fixture.list_objects("/apis/argoproj.io/v1alpha1/applications").await;
            let stuck = all.iter().filter(|one| one["metadata"]["deletionTimestamp"].is_string()).count();
            (stuck == STUCK).then_some(())
        })
        .await;
    fixture.deploy("bank", "vault", plain()).await;
    synced(&fixture, "bank", "vault").await;
    let all = fixture.list_objects("/apis/argoproj.io/v1alpha1/applications").await;
    assert_eq!(all.len(), STUCK + 1, "they are still stuck");
    fixture.fake_argocd.stuck(false);
    fixture.wait_for("the end", async || (fixture.all::<Application>().await.len() == 1).then_some(())).await;
    fixture.wait_until_settled().await;
}

/// Defect 5: requests to clusters and git servers hold the tenant's lock.
async fn a_cluster_that_never_answers_delays_nothing_else(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    for number in 0..4 {
        fixture.environment("shop", &format!("silent-{number}"), SILENT).await;
    }
    fixture
        .wait_for("questions", async || (!fixture.network.environments.lock().unwrap().is_empty()).then_some(()))
        .await;
    fixture.deploy("shop", "web", plain()).await;
    synced(&fixture, "shop", "web").await;
    // Requests to another tenant's cluster proceed meanwhile.
    fixture.environment("bank", "prod", "token").await;
    fixture
        .wait_for("an answer", async || {
            let found = fixture.resource("bank", ENVIRONMENTS, "prod").await?;
            (found["status"]["conditions"][0]["status"] == "True").then_some(())
        })
        .await;
}

/// Defect 9: the column holds 1,024 characters, and an RSA key is longer.
async fn a_long_ssh_key_is_stored_completely(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let line = "A".repeat(64);
    let body = vec![line.as_str(); 50].join("\n");
    let key = format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{body}\n-----END OPENSSH PRIVATE KEY-----\n");
    assert!(key.len() > 3000);
    fixture.secret("shop", "key", CREDENTIAL_SECRET, json!({"sshPrivateKey": key})).await;
    let spec = json!({"repository": "ssh://git@git.example/Shop/web.git", "secret": "key"});
    fixture.create_resource("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec).await;
    let secret = fixture.wait_for("a Secret", async || fixture.argocd_secrets().await.pop()).await;
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &key);
    assert_eq!(secret["data"]["sshPrivateKey"], encoded);
}

/// Defect 15: an instance whose namespace is deleted and recreated is lost until the database is repaired manually.
async fn an_argo_cd_with_a_recreated_namespace_is_kept(database: TestDatabase) {
    let mut fixture = ServiceFixture::new(database).await;
    let web = uid(&fixture.deploy("shop", "web", plain()).await);
    synced(&fixture, "shop", "web").await;
    fixture.wait_until_settled().await;
    fixture.kill().await;
    let path = format!("/api/v1/namespaces/{}", crate::fixture::ARGOCD);
    send(&fixture.engine, "DELETE", &path, Value::Null).await.unwrap();
    fixture
        .wait_for("no namespace", async || {
            send(&fixture.engine, "GET", &path, Value::Null).await.is_err().then_some(())
        })
        .await;
    let made =
        create(&fixture.engine, "/api/v1/namespaces", json!({"metadata": {"name": crate::fixture::ARGOCD}})).await;
    let fleet = fixture.fleet();
    fleet
        .add(&switchboard_gitops::instance::fleet::InstanceSpec {
            namespace: crate::fixture::ARGOCD,
            limits: Default::default(),
            reach: switchboard_gitops::instance::InstanceScope::Namespace,
            create: false,
            force: false,
            cluster_recreated: false,
        })
        .await
        .unwrap();
    let rows: Vec<EngineInstance> = fixture.all().await;
    assert_eq!((rows.len(), rows[0].namespace_uid.as_str()), (1, uid(&made).as_str()));
    fixture.start().await;
    fixture.wait_for("its Application again", async || fixture.application(&web).await).await;
    synced(&fixture, "shop", "web").await;
}

async fn an_operation_for_an_argo_cd_fails_with_a_hint(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let instance: EngineInstance = fixture.all().await.remove(0);
    let row = Operation {
        id: random_id::new().into(),
        instance: instance.id.clone(),
        resource_id: instance.id.to_string(),
        owner: None,
        resource: OperationResource::EngineInstance,
        created_on: DbTimestamp::default(),
        last_state_update: DbTimestamp::default(),
        state: OperationState::Waiting,
        human_readable_state: None,
        gc_expiration_s: None,
    };
    fixture.ledger.commit(&[RowChange::insert(&row)]).await.unwrap();
    let over = async || fixture.all::<Operation>().await.into_iter().find(|row| !is_open(row));
    let over = fixture.wait_for("an end", over).await;
    assert_eq!(over.state, OperationState::Failed);
    assert!(over.human_readable_state.unwrap().contains("switchboard gitops fleet add"));
}
