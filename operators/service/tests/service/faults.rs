//! The database goes away, and comes back; and while nothing happens it is asked nothing.

use std::time::{Duration, Instant};

use serde_json::json;
use switchboard_ledger::rows::*;
use switchboard_ledger::server::Server;

use crate::base::Base;
use crate::stage::{CREDENTIAL_SECRET, CREDENTIALS, DEPLOYMENTS, SYNC_RUNS, Stage, plain, uid};

/// How long nothing is asked before it is called rest, and for how long nothing may be asked then.
const REST: Duration = Duration::from_secs(3);

async fn synced(stage: &Stage, name: &str) {
    stage
        .until("a status", async || {
            stage.deployment("shop", name).await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await;
}

/// Transactions in a database so far. PostgreSQL's own of other databases do not count.
fn questions(server: &Server, database: &str) -> i64 {
    let sql = format!("select xact_commit + xact_rollback from pg_stat_database where datname = '{database}'");
    server.psql("postgres", &sql).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_restarted_in_the_middle_of_everything_loses_nothing() {
    for how in ["INT", "QUIT"] {
        let mut server = Server::start().unwrap();
        let stage = Stage::new(Base::of(&server, "faults")).await;
        let mut manual = plain();
        manual["type"] = "manual".into();
        for (name, spec) in [("gone", plain()), ("changed", plain()), ("run", manual)] {
            stage.deploy("shop", name, spec).await;
            synced(&stage, name).await;
        }
        stage.settled().await;
        // All at once, and the database goes while they are at it.
        let new = uid(&stage.deploy("shop", "new", plain()).await);
        stage.delete("shop", DEPLOYMENTS, "gone").await;
        let run = json!({"gitopsDeploymentName": "run"});
        stage.make("shop", SYNC_RUNS, "GitOpsDeploymentSyncRun", "now", run).await;
        stage.secret("shop", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "one"})).await;
        let repository = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
        stage.make("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", repository).await;
        server.stop(how);
        let path = format!("{}/namespaces/shop/gitopsdeployments/changed", crate::stage::GROUP);
        let change = json!({"spec": {"source": {"path": "elsewhere"}}});
        crate::stage::send(&stage.tenants, "PATCH", &path, change).await.unwrap();
        server.up().unwrap();
        stage.until("the new one", async || stage.application(&new).await).await;
        synced(&stage, "new").await;
        stage
            .until("the change", async || {
                let found = stage.deployment("shop", "changed").await?;
                (found["status"]["reconciledState"]["source"]["path"] == "elsewhere").then_some(())
            })
            .await;
        stage
            .until("the end of the run", async || {
                let run = stage.resource("shop", SYNC_RUNS, "now").await?;
                (run["status"]["conditions"][0]["status"] == "False").then_some(())
            })
            .await;
        stage.until("the Secret", async || stage.secrets_of_argo().await.pop()).await;
        stage.until("three rows", async || (stage.all::<Application>().await.len() == 3).then_some(())).await;
        stage.settled().await;
        let objects = stage.listed("/apis/argoproj.io/v1alpha1/applications").await;
        assert_eq!(objects.len(), 3, "nothing is left, and nothing is there twice");
        assert_eq!(stage.all::<DeploymentToApplication>().await.len(), 3);
        assert_eq!(stage.all::<SyncOperation>().await.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_service_asks_its_database_nothing() {
    let server = Server::start().unwrap();
    let stage = Stage::new(Base::of(&server, "idle")).await;
    for name in ["web", "api", "jobs"] {
        stage.deploy("shop", name, plain()).await;
        synced(&stage, name).await;
    }
    stage.settled().await;
    let mut last = (questions(&server, "idle"), Instant::now());
    stage
        .until("a rest", async || {
            let now = questions(&server, "idle");
            if now != last.0 {
                last = (now, Instant::now());
            }
            (last.1.elapsed() > REST).then_some(())
        })
        .await;
    let from = Instant::now();
    stage.until("a while", async || (from.elapsed() > REST).then_some(())).await;
    assert_eq!(questions(&server, "idle"), last.0, "nobody does anything, and nobody asks");
}
