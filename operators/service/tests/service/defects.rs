//! Defects of the original that show only with both roles at work. docs/GITOPS.md says where each of the others is tested.

use serde_json::{Value, json};
use switchboard_ledger::ids::{OperationResource, OperationState};
use switchboard_ledger::rows::*;
use switchboard_ledger::{Change, Moment};
use switchboard_service::ids;
use switchboard_service::rows::is_open;

use crate::base::{Base, on_both};
use crate::network::SILENT;
use crate::stage::{CREDENTIAL_SECRET, CREDENTIALS, DEPLOYMENTS, ENVIRONMENTS, Stage, create, plain, send, uid};

on_both! {
    stuck_deletions_of_one_tenant_delay_nobody_else
    a_cluster_that_never_answers_delays_nothing_else
    a_long_ssh_key_is_kept_whole
    an_argo_cd_whose_namespace_is_made_anew_is_the_same
    an_operation_that_asks_for_an_argo_cd_fails_with_the_way_to_one
}

async fn synced(stage: &Stage, namespace: &str, name: &str) {
    stage
        .until("a status", async || {
            stage.deployment(namespace, name).await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await;
}

/// Defect 4: twenty stuck deletions or syncs stall all tenants of an agent.
async fn stuck_deletions_of_one_tenant_delay_nobody_else(base: Base) {
    const STUCK: usize = 25;
    let stage = Stage::new(base).await;
    let names: Vec<String> = (0..STUCK).map(|number| format!("web-{number}")).collect();
    for name in &names {
        stage.deploy("shop", name, plain()).await;
    }
    for name in &names {
        synced(&stage, "shop", name).await;
    }
    stage.argo.stuck(true);
    for name in &names {
        stage.delete("shop", DEPLOYMENTS, name).await;
    }
    stage
        .until("all of them stuck", async || {
            let all = stage.listed("/apis/argoproj.io/v1alpha1/applications").await;
            let stuck = all.iter().filter(|one| one["metadata"]["deletionTimestamp"].is_string()).count();
            (stuck == STUCK).then_some(())
        })
        .await;
    stage.deploy("bank", "vault", plain()).await;
    synced(&stage, "bank", "vault").await;
    let all = stage.listed("/apis/argoproj.io/v1alpha1/applications").await;
    assert_eq!(all.len(), STUCK + 1, "they are stuck still");
    stage.argo.stuck(false);
    stage.until("the end", async || (stage.all::<Application>().await.len() == 1).then_some(())).await;
    stage.settled().await;
}

/// Defect 5: clusters and git servers are asked while the tenant's lock is held.
async fn a_cluster_that_never_answers_delays_nothing_else(base: Base) {
    let stage = Stage::new(base).await;
    for number in 0..4 {
        stage.environment("shop", &format!("silent-{number}"), SILENT).await;
    }
    stage.until("questions", async || (!stage.network.environments.lock().unwrap().is_empty()).then_some(())).await;
    stage.deploy("shop", "web", plain()).await;
    synced(&stage, "shop", "web").await;
    // Another tenant's cluster is asked meanwhile.
    stage.environment("bank", "prod", "token").await;
    stage
        .until("an answer", async || {
            let found = stage.resource("bank", ENVIRONMENTS, "prod").await?;
            (found["status"]["conditions"][0]["status"] == "True").then_some(())
        })
        .await;
}

/// Defect 9: the column takes 1,024 characters, and an RSA key has more.
async fn a_long_ssh_key_is_kept_whole(base: Base) {
    let stage = Stage::new(base).await;
    let line = "A".repeat(64);
    let body = vec![line.as_str(); 50].join("\n");
    let key = format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{body}\n-----END OPENSSH PRIVATE KEY-----\n");
    assert!(key.len() > 3000);
    stage.secret("shop", "key", CREDENTIAL_SECRET, json!({"sshPrivateKey": key})).await;
    let spec = json!({"repository": "ssh://git@git.example/Shop/web.git", "secret": "key"});
    stage.make("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec).await;
    let secret = stage.until("a Secret", async || stage.secrets_of_argo().await.pop()).await;
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &key);
    assert_eq!(secret["data"]["sshPrivateKey"], encoded);
}

/// Defect 15: an instance whose namespace is deleted and made anew is lost until somebody repairs the database.
async fn an_argo_cd_whose_namespace_is_made_anew_is_the_same(base: Base) {
    let mut stage = Stage::new(base).await;
    let web = uid(&stage.deploy("shop", "web", plain()).await);
    synced(&stage, "shop", "web").await;
    stage.settled().await;
    stage.kill().await;
    let path = format!("/api/v1/namespaces/{}", crate::stage::ARGOCD);
    send(&stage.engine, "DELETE", &path, Value::Null).await.unwrap();
    stage
        .until("no namespace", async || send(&stage.engine, "GET", &path, Value::Null).await.is_err().then_some(()))
        .await;
    let made = create(&stage.engine, "/api/v1/namespaces", json!({"metadata": {"name": crate::stage::ARGOCD}})).await;
    let fleet = stage.fleet();
    fleet
        .add(&switchboard_service::fleet::Wanted {
            namespace: crate::stage::ARGOCD,
            limits: Default::default(),
            reach: switchboard_gitops::fleet::setup::Reach::Namespace,
            create: false,
            force: false,
            anew: false,
        })
        .await
        .unwrap();
    let rows: Vec<EngineInstance> = stage.all().await;
    assert_eq!((rows.len(), rows[0].namespace_uid.as_str()), (1, uid(&made).as_str()));
    stage.start().await;
    stage.until("its Application again", async || stage.application(&web).await).await;
    synced(&stage, "shop", "web").await;
}

async fn an_operation_that_asks_for_an_argo_cd_fails_with_the_way_to_one(base: Base) {
    let stage = Stage::new(base).await;
    let instance: EngineInstance = stage.all().await.remove(0);
    let row = Operation {
        id: ids::new().into(),
        instance: instance.id.clone(),
        resource_id: instance.id.to_string(),
        owner: None,
        resource: OperationResource::EngineInstance,
        created_on: Moment::default(),
        last_state_update: Moment::default(),
        state: OperationState::Waiting,
        human_readable_state: None,
        gc_expiration_s: None,
    };
    stage.ledger.commit(&[Change::insert(&row)]).await.unwrap();
    let over = async || stage.all::<Operation>().await.into_iter().find(|row| !is_open(row));
    let over = stage.until("an end", over).await;
    assert_eq!(over.state, OperationState::Failed);
    assert!(over.human_readable_state.unwrap().contains("switchboard gitops fleet add"));
}
