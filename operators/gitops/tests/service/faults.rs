//! Database outages and recovery, and the absence of queries while nothing happens.

use std::time::{Duration, Instant};

use serde_json::json;
use switchboard_gitops::rows::*;
use switchboard_sql::postgres_server::PostgresServer;

use crate::database::TestDatabase;
use crate::fixture::{CREDENTIAL_SECRET, CREDENTIALS, DEPLOYMENTS, SYNC_RUNS, ServiceFixture, plain, uid};

/// Quiet time before the service counts as idle, and the time in which no query is allowed then.
const QUIET_TIME: Duration = Duration::from_secs(3);

async fn synced(fixture: &ServiceFixture, name: &str) {
    fixture
        .wait_for("a status", async || {
            fixture.deployment("shop", name).await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await;
}

/// Number of transactions in a database so far. PostgreSQL's own transactions in other databases do not count.
fn transaction_count(server: &PostgresServer, database: &str) -> i64 {
    let sql = format!("select xact_commit + xact_rollback from pg_stat_database where datname = '{database}'");
    server.psql("postgres", &sql).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_the_database_loses_nothing() {
    for how in ["INT", "QUIT"] {
        let mut server = PostgresServer::start().unwrap();
        let fixture = ServiceFixture::new(TestDatabase::of(&server, "faults")).await;
        let mut manual = plain();
        manual["type"] = "manual".into();
        for (name, spec) in [("gone", plain()), ("changed", plain()), ("run", manual)] {
            fixture.deploy("shop", name, spec).await;
            synced(&fixture, name).await;
        }
        fixture.wait_until_settled().await;
        // Several changes at once; the database stops while they are processed.
        let new = uid(&fixture.deploy("shop", "new", plain()).await);
        fixture.delete("shop", DEPLOYMENTS, "gone").await;
        let run = json!({"gitopsDeploymentName": "run"});
        fixture.create_resource("shop", SYNC_RUNS, "GitOpsDeploymentSyncRun", "now", run).await;
        fixture.secret("shop", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "one"})).await;
        let repository = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
        fixture.create_resource("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", repository).await;
        server.stop(how);
        let path = format!("{}/namespaces/shop/gitopsdeployments/changed", crate::fixture::GROUP);
        let change = json!({"spec": {"source": {"path": "elsewhere"}}});
        crate::fixture::send(&fixture.tenants, "PATCH", &path, change).await.unwrap();
        server.restart().unwrap();
        fixture.wait_for("the new one", async || fixture.application(&new).await).await;
        synced(&fixture, "new").await;
        fixture
            .wait_for("the change", async || {
                let found = fixture.deployment("shop", "changed").await?;
                (found["status"]["reconciledState"]["source"]["path"] == "elsewhere").then_some(())
            })
            .await;
        fixture
            .wait_for("the end of the run", async || {
                let run = fixture.resource("shop", SYNC_RUNS, "now").await?;
                (run["status"]["conditions"][0]["status"] == "False").then_some(())
            })
            .await;
        fixture.wait_for("the Secret", async || fixture.argocd_secrets().await.pop()).await;
        fixture.wait_for("three rows", async || (fixture.all::<Application>().await.len() == 3).then_some(())).await;
        fixture.wait_until_settled().await;
        let objects = fixture.list_objects("/apis/argoproj.io/v1alpha1/applications").await;
        assert_eq!(objects.len(), 3, "no leftovers and no duplicates");
        assert_eq!(fixture.all::<DeploymentToApplication>().await.len(), 3);
        assert_eq!(fixture.all::<SyncOperation>().await.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_service_does_not_query_its_database() {
    let server = PostgresServer::start().unwrap();
    let fixture = ServiceFixture::new(TestDatabase::of(&server, "idle")).await;
    for name in ["web", "api", "jobs"] {
        fixture.deploy("shop", name, plain()).await;
        synced(&fixture, name).await;
    }
    fixture.wait_until_settled().await;
    let mut last = (transaction_count(&server, "idle"), Instant::now());
    fixture
        .wait_for("a rest", async || {
            let now = transaction_count(&server, "idle");
            if now != last.0 {
                last = (now, Instant::now());
            }
            (last.1.elapsed() > QUIET_TIME).then_some(())
        })
        .await;
    let from = Instant::now();
    fixture.wait_for("a while", async || (from.elapsed() > QUIET_TIME).then_some(())).await;
    assert_eq!(transaction_count(&server, "idle"), last.0, "an idle service sends no query");
}
