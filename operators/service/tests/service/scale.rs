//! What a deployment costs does not depend on how many there are, nor on whose they are. Work is counted, never timed.

use std::time::{Duration, Instant};

use serde_json::json;
use switchboard_gitops::argo::status;
use switchboard_ledger::ids::DesiredState;
use switchboard_ledger::rows::{Application, ApplicationState, ClusterUser, Operation, SyncOperation};
use switchboard_ledger::{Change, Counts};
use switchboard_service::{backend, limits};

use crate::base::{Base, on_both};
use crate::stage::{ARGO, ARGOCD, SYNC_RUNS, Side, Stage, plain, send};

on_both! {
    a_deployment_costs_the_same_however_many_there_are
    a_run_costs_the_same_however_many_there_were
    a_service_that_has_done_its_work_asks_nothing
    a_comparison_that_finds_the_same_asks_nothing
    tenants_take_turns_at_the_agent
}

/// How many are counted, and how many come before they are counted again.
const COUNTED: u64 = 40;
const BETWEEN: usize = 160;
/// How long nothing happens until everything is done.
const REST: Duration = Duration::from_millis(700);

/// What was done until now.
#[derive(Clone, Copy, Debug)]
struct Done {
    database: Counts,
    runs: u64,
    read: u64,
}

impl Done {
    async fn so_far(stage: &Stage) -> Done {
        Done { database: stage.ledger.counts(), runs: stage.runs().await, read: stage.objects_read().await }
    }

    /// Of each that came since.
    fn each(self, before: Done) -> [(&'static str, f64); 6] {
        let each = |now: u64, before: u64| (now - before) as f64 / COUNTED as f64;
        let (now, then) = (self.database, before.database);
        [
            ("views", each(now.views, then.views)),
            ("commits", each(now.commits, then.commits)),
            ("rows read", each(now.rows, then.rows)),
            ("questions", each(now.questions, then.questions)),
            ("runs", each(self.runs, before.runs)),
            ("objects read", each(self.read, before.read)),
        ]
    }
}

/// Deploys, and waits until all is told and nothing is done any more.
async fn deploy(stage: &Stage, namespace: &str, numbers: std::ops::Range<usize>) {
    for number in numbers.clone() {
        stage.deploy(namespace, &format!("web-{number}"), plain()).await;
    }
    for number in numbers {
        let name = format!("web-{number}");
        let is_synced = async || {
            let web = stage.deployment(namespace, &name).await?;
            (web["status"]["sync"]["status"] == "Synced").then_some(())
        };
        stage.until("a status", is_synced).await;
    }
    stage.settled().await;
    rest(stage).await;
}

async fn rest(stage: &Stage) {
    let mut last = (stage.runs().await, Instant::now());
    let is_rest = async || {
        let runs = stage.runs().await;
        if runs != last.0 {
            last = (runs, Instant::now());
        }
        (last.1.elapsed() > REST).then_some(())
    };
    stage.until("rest", is_rest).await;
}

async fn a_deployment_costs_the_same_however_many_there_are(base: Base) {
    let stage = Stage::new(base).await;
    let counted = COUNTED as usize;
    deploy(&stage, "shop", 0..4).await;
    let before = Done::so_far(&stage).await;
    deploy(&stage, "shop", 4..4 + counted).await;
    let few = Done::so_far(&stage).await.each(before);
    let next = 4 + counted + BETWEEN;
    deploy(&stage, "shop", 4 + counted..next).await;
    let before = Done::so_far(&stage).await;
    deploy(&stage, "shop", next..next + counted).await;
    let many = Done::so_far(&stage).await.each(before);
    // How changes fall together differs from time to time. With every deployment read for each, it would be five times as much.
    for ((what, few_of_it), (_, many_of_it)) in few.into_iter().zip(many) {
        assert!(
            many_of_it <= few_of_it * 1.5 + 2.0,
            "{what}: {few_of_it} with few, {many_of_it} with many; {few:?}, {many:?}"
        );
    }
}

/// How many runs an Application had that are over.
const RUNS: usize = 300;

/// Runs that are over, as rows of them are left for as long as their resources are there.
async fn earlier_runs(stage: &Stage) {
    let application = stage.all::<Application>().await.remove(0);
    let run = |number: usize| SyncOperation {
        id: format!("earlier-{number}").into(),
        application: Some(application.id.clone()),
        deployment_name: "web".into(),
        revision: "main".into(),
        desired_state: DesiredState::Running,
        created_on: application.created_on,
    };
    let changes: Vec<Change> = (0..RUNS).map(|number| Change::insert(&run(number))).collect();
    stage.ledger.commit(&changes).await.unwrap();
}

async fn a_run_costs_the_same_however_many_there_were(base: Base) {
    let stage = Stage::new(base).await;
    let mut spec = plain();
    spec["type"] = "manual".into();
    stage.deploy("shop", "web", spec).await;
    stage.until("an Application", async || stage.all::<Application>().await.pop()).await;
    stage.settled().await;
    let questions = async |name: &str| {
        rest(&stage).await;
        let before = stage.ledger.counts().questions;
        let of = json!({"gitopsDeploymentName": "web"});
        stage.make("shop", SYNC_RUNS, "GitOpsDeploymentSyncRun", name, of).await;
        let is_over = async || {
            let run = stage.resource("shop", SYNC_RUNS, name).await?;
            run["status"]["conditions"].as_array().is_some_and(|all| !all.is_empty()).then_some(())
        };
        stage.until("its end", is_over).await;
        stage.settled().await;
        rest(&stage).await;
        stage.ledger.counts().questions - before
    };
    let few = questions("first").await;
    earlier_runs(&stage).await;
    let many = questions("second").await;
    assert!(many < few + (RUNS / 2) as u64, "{few} questions for the first run, {many} for one after {RUNS} others");
}

/// Longer than anybody waits before it looks whether somebody rings.
const RING_AFTER: Duration = Duration::from_secs(2);

async fn a_service_that_has_done_its_work_asks_nothing(base: Base) {
    let mut stage = Stage::set(base, false).await;
    stage.settings.ring_after = RING_AFTER;
    stage.start().await;
    deploy(&stage, "shop", 0..3).await;
    let (asked, from) = (stage.ledger.counts(), Instant::now());
    stage.until("a while", async || (from.elapsed() > RING_AFTER * 2).then_some(())).await;
    assert_eq!(stage.ledger.counts(), asked, "nobody does anything, and nobody asks");
}

/// Argo CD compares every Application every few minutes, and says so in it.
async fn compare(stage: &Stage, minute: usize) {
    let before = stage.runs().await;
    let all = stage.listed(&format!("{ARGO}/applications")).await;
    for one in &all {
        let path = format!("{ARGO}/namespaces/{ARGOCD}/applications/{}", one["metadata"]["name"].as_str().unwrap());
        let said = json!({"status": {"reconciledAt": format!("2026-11-16T08:{minute:02}:00Z")}});
        send(&stage.engine, "PATCH", &path, said).await.unwrap();
    }
    let looked = before + all.len() as u64;
    stage.until("a look", async || (stage.runs().await >= looked).then_some(())).await;
    rest(stage).await;
}

async fn a_comparison_that_finds_the_same_asks_nothing(base: Base) {
    let mut stage = Stage::set(base, false).await;
    stage.settings.ring_after = backend::RING_AFTER;
    stage.start().await;
    deploy(&stage, "shop", 0..3).await;
    // What was looked at while rows changed is looked at once more.
    compare(&stage, 1).await;
    let asked = stage.ledger.counts();
    for minute in 2..5 {
        compare(&stage, minute).await;
    }
    assert_eq!(stage.ledger.counts(), asked, "nothing was found that was not known");
    // News comes through, with the time of it.
    let path = stage.listed(&format!("{ARGO}/applications")).await[0]["metadata"]["name"].clone();
    let path = format!("{ARGO}/namespaces/{ARGOCD}/applications/{}", path.as_str().unwrap());
    let said = json!({"status": {"health": {"status": "Degraded"}, "reconciledAt": "2026-11-16T09:00:00Z"}});
    send(&stage.engine, "PATCH", &path, said).await.unwrap();
    let is_told = async || {
        let states: Vec<ApplicationState> = stage.all().await;
        let mut said = states.iter().map(|one| status::unpack(one.status.as_deref().unwrap()).unwrap());
        said.any(|one| one["health"]["status"] == "Degraded" && one["reconciledAt"] == "2026-11-16T09:00:00Z")
            .then_some(())
    };
    stage.until("news", is_told).await;
}

/// How many deployments one tenant has when another comes.
const MANY: usize = 160;

/// Another's first few are among so many: those that are at work at a time, and a few.
fn first_few() -> usize {
    limits::limits().max_concurrent as usize + 8
}

async fn tenants_take_turns_at_the_agent(base: Base) {
    let mut stage = Stage::set(base, false).await;
    // Nothing rings: the agent is told by rows alone.
    stage.settings.ring_after = backend::RING_AFTER;
    stage.start_side(Side::Backend, None, stage.clients()).await;
    for (namespace, count) in [("shop", MANY), ("bank", 3)] {
        for number in 0..count {
            stage.deploy(namespace, &format!("web-{number}"), plain()).await;
        }
        let wanted = if namespace == "shop" { MANY } else { MANY + 3 };
        stage.until("all rows", async || (stage.all::<Operation>().await.len() >= wanted).then_some(())).await;
    }
    stage.start_side(Side::Agent, None, stage.clients()).await;
    stage.settled().await;
    let bank = stage.all::<ClusterUser>().await.into_iter().find(|user| user.display_name.as_deref() == Some("bank"));
    let bank = bank.unwrap().id;
    let mut all: Vec<Operation> = stage.all().await;
    all.sort_by_key(|row| row.last_state_update);
    let first = all.iter().take(first_few()).filter(|row| row.owner.as_ref() == Some(&bank)).count();
    assert!(first >= 3, "the other tenant waits for all of the first");
}
