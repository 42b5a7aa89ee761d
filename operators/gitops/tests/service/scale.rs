//! The cost of a deployment does not depend on the number of deployments or on their tenants. The tests count work and
//! measure no time.

use std::time::{Duration, Instant};

use serde_json::json;
use switchboard_gitops::deployment::status;
use switchboard_gitops::ids::DesiredState;
use switchboard_gitops::rows::{Application, ApplicationState, ClusterUser, Operation, SyncOperation};
use switchboard_gitops::{backend, limits};
use switchboard_sql::{LedgerCounts, RowChange};

use crate::database::{TestDatabase, on_both};
use crate::fixture::{ARGO, ARGOCD, RoleSet, SYNC_RUNS, ServiceFixture, plain, send};

on_both! {
    a_deployment_costs_the_same_however_many_there_are
    a_sync_run_costs_the_same_however_many_there_were
    an_idle_service_sends_no_query
    an_unchanged_comparison_sends_no_query
    the_agent_is_fair_to_tenants
}

/// Number of deployments in each measurement, and between the two measurements.
const COUNTED: u64 = 40;
const UNCOUNTED: usize = 160;
/// Quiet time after which all work counts as done.
const QUIET_TIME: Duration = Duration::from_millis(700);

/// Work done so far.
#[derive(Clone, Copy, Debug)]
struct WorkCounts {
    database: LedgerCounts,
    runs: u64,
    read: u64,
}

impl WorkCounts {
    async fn current(fixture: &ServiceFixture) -> WorkCounts {
        WorkCounts { database: fixture.ledger.counts(), runs: fixture.runs().await, read: fixture.objects_read().await }
    }

    /// Work for each deployment since `before`.
    fn each(self, before: WorkCounts) -> [(&'static str, f64); 6] {
        let each = |now: u64, before: u64| (now - before) as f64 / COUNTED as f64;
        let (now, then) = (self.database, before.database);
        [
            ("views", each(now.views, then.views)),
            ("commits", each(now.commits, then.commits)),
            ("rows read", each(now.rows, then.rows)),
            ("questions", each(now.queries, then.queries)),
            ("runs", each(self.runs, before.runs)),
            ("objects read", each(self.read, before.read)),
        ]
    }
}

/// Deploys, and waits until all statuses are reported and all work is done.
async fn deploy(fixture: &ServiceFixture, namespace: &str, numbers: std::ops::Range<usize>) {
    for number in numbers.clone() {
        fixture.deploy(namespace, &format!("web-{number}"), plain()).await;
    }
    for number in numbers {
        let name = format!("web-{number}");
        let is_synced = async || {
            let web = fixture.deployment(namespace, &name).await?;
            (web["status"]["sync"]["status"] == "Synced").then_some(())
        };
        fixture.wait_for("a status", is_synced).await;
    }
    fixture.wait_until_settled().await;
    rest(fixture).await;
}

async fn rest(fixture: &ServiceFixture) {
    let mut last = (fixture.runs().await, Instant::now());
    let is_rest = async || {
        let runs = fixture.runs().await;
        if runs != last.0 {
            last = (runs, Instant::now());
        }
        (last.1.elapsed() > QUIET_TIME).then_some(())
    };
    fixture.wait_for("rest", is_rest).await;
}

async fn a_deployment_costs_the_same_however_many_there_are(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let counted = COUNTED as usize;
    deploy(&fixture, "shop", 0..4).await;
    let before = WorkCounts::current(&fixture).await;
    deploy(&fixture, "shop", 4..4 + counted).await;
    let few = WorkCounts::current(&fixture).await.each(before);
    let next = 4 + counted + UNCOUNTED;
    deploy(&fixture, "shop", 4 + counted..next).await;
    let before = WorkCounts::current(&fixture).await;
    deploy(&fixture, "shop", next..next + counted).await;
    let many = WorkCounts::current(&fixture).await.each(before);
    // Batching differs from run to run. If every deployment were read for each change, the work would be five times as
    // much.
    for ((what, few_of_it), (_, many_of_it)) in few.into_iter().zip(many) {
        assert!(
            many_of_it <= few_of_it * 1.5 + 2.0,
            "{what}: {few_of_it} with few, {many_of_it} with many; {few:?}, {many:?}"
        );
    }
}

/// Number of earlier completed runs of an Application.
const RUNS: usize = 300;

/// Creates completed runs, whose rows exist as long as their resources.
async fn earlier_runs(fixture: &ServiceFixture) {
    let application = fixture.all::<Application>().await.remove(0);
    let run = |number: usize| SyncOperation {
        id: format!("earlier-{number}").into(),
        application: Some(application.id.clone()),
        deployment_name: "web".into(),
        revision: "main".into(),
        desired_state: DesiredState::Running,
        created_on: application.created_on,
    };
    let changes: Vec<RowChange> = (0..RUNS).map(|number| RowChange::insert(&run(number))).collect();
    fixture.ledger.commit(&changes).await.unwrap();
}

async fn a_sync_run_costs_the_same_however_many_there_were(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let mut spec = plain();
    spec["type"] = "manual".into();
    fixture.deploy("shop", "web", spec).await;
    fixture.wait_for("an Application", async || fixture.all::<Application>().await.pop()).await;
    fixture.wait_until_settled().await;
    let queries = async |name: &str| {
        rest(&fixture).await;
        let before = fixture.ledger.counts().queries;
        let of = json!({"gitopsDeploymentName": "web"});
        fixture.create_resource("shop", SYNC_RUNS, "GitOpsDeploymentSyncRun", name, of).await;
        let is_over = async || {
            let run = fixture.resource("shop", SYNC_RUNS, name).await?;
            run["status"]["conditions"].as_array().is_some_and(|all| !all.is_empty()).then_some(())
        };
        fixture.wait_for("its end", is_over).await;
        fixture.wait_until_settled().await;
        rest(&fixture).await;
        fixture.ledger.counts().queries - before
    };
    let few = queries("first").await;
    earlier_runs(&fixture).await;
    let many = queries("second").await;
    assert!(many < few + (RUNS / 2) as u64, "{few} queries for the first run, {many} for one after {RUNS} others");
}

/// Longer than any check for missing notifications.
const NOTIFY_AFTER: Duration = Duration::from_secs(2);

async fn an_idle_service_sends_no_query(database: TestDatabase) {
    let mut fixture = ServiceFixture::without_roles(database, false).await;
    fixture.settings.notify_after = NOTIFY_AFTER;
    fixture.start().await;
    deploy(&fixture, "shop", 0..3).await;
    let (asked, from) = (fixture.ledger.counts(), Instant::now());
    fixture.wait_for("a while", async || (from.elapsed() > NOTIFY_AFTER * 2).then_some(())).await;
    assert_eq!(fixture.ledger.counts(), asked, "an idle service sends no query");
}

/// Simulates Argo CD's periodic comparison, which changes the status of every Application.
async fn compare(fixture: &ServiceFixture, minute: usize) {
    let before = fixture.runs().await;
    let all = fixture.list_objects(&format!("{ARGO}/applications")).await;
    for one in &all {
        let path = format!("{ARGO}/namespaces/{ARGOCD}/applications/{}", one["metadata"]["name"].as_str().unwrap());
        let said = json!({"status": {"reconciledAt": format!("2026-11-16T08:{minute:02}:00Z")}});
        send(&fixture.engine, "PATCH", &path, said).await.unwrap();
    }
    let looked = before + all.len() as u64;
    fixture.wait_for("a look", async || (fixture.runs().await >= looked).then_some(())).await;
    rest(fixture).await;
}

async fn an_unchanged_comparison_sends_no_query(database: TestDatabase) {
    let mut fixture = ServiceFixture::without_roles(database, false).await;
    fixture.settings.notify_after = backend::NOTIFY_AFTER;
    fixture.start().await;
    deploy(&fixture, "shop", 0..3).await;
    // The first comparison also reads objects that changed while rows changed.
    compare(&fixture, 1).await;
    let asked = fixture.ledger.counts();
    for minute in 2..5 {
        compare(&fixture, minute).await;
    }
    assert_eq!(fixture.ledger.counts(), asked, "a comparison without a change needs no query");
    // A real change is reported, with its time.
    let path = fixture.list_objects(&format!("{ARGO}/applications")).await[0]["metadata"]["name"].clone();
    let path = format!("{ARGO}/namespaces/{ARGOCD}/applications/{}", path.as_str().unwrap());
    let said = json!({"status": {"health": {"status": "Degraded"}, "reconciledAt": "2026-11-16T09:00:00Z"}});
    send(&fixture.engine, "PATCH", &path, said).await.unwrap();
    let is_reported = async || {
        let states: Vec<ApplicationState> = fixture.all().await;
        let mut said = states.iter().map(|one| status::unpack(one.status.as_deref().unwrap()).unwrap());
        said.any(|one| one["health"]["status"] == "Degraded" && one["reconciledAt"] == "2026-11-16T09:00:00Z")
            .then_some(())
    };
    fixture.wait_for("news", is_reported).await;
}

/// Number of deployments of one tenant when another tenant appears.
const DEPLOYMENT_COUNT: usize = 160;

/// Number of operations among which another tenant's first ones must be: the concurrency limit and a few more.
fn first_few() -> usize {
    limits::limits().max_concurrent as usize + 8
}

async fn the_agent_is_fair_to_tenants(database: TestDatabase) {
    let mut fixture = ServiceFixture::without_roles(database, false).await;
    // Without notifications, the agent only reacts to rows.
    fixture.settings.notify_after = backend::NOTIFY_AFTER;
    fixture.start_roles(RoleSet::Backend, None, fixture.clients()).await;
    for (namespace, count) in [("shop", DEPLOYMENT_COUNT), ("bank", 3)] {
        for number in 0..count {
            fixture.deploy(namespace, &format!("web-{number}"), plain()).await;
        }
        let wanted = if namespace == "shop" { DEPLOYMENT_COUNT } else { DEPLOYMENT_COUNT + 3 };
        fixture.wait_for("all rows", async || (fixture.all::<Operation>().await.len() >= wanted).then_some(())).await;
    }
    fixture.start_roles(RoleSet::Agent, None, fixture.clients()).await;
    fixture.wait_until_settled().await;
    let bank = fixture.all::<ClusterUser>().await.into_iter().find(|user| user.display_name.as_deref() == Some("bank"));
    let bank = bank.unwrap().id;
    let mut all: Vec<Operation> = fixture.all().await;
    all.sort_by_key(|row| row.last_state_update);
    let first = all.iter().take(first_few()).filter(|row| row.owner.as_ref() == Some(&bank)).count();
    assert!(first >= 3, "the other tenant waits for all of the first");
}
