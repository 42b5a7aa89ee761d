#![allow(clippy::unwrap_used)]

mod external_units;
mod hosted;
mod opening;
mod regressions;
mod rejections;
mod removal;
mod waits;

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::*;
use crate::applier::ExecutedWrite;
use crate::decision::{RunOutcome, WriteResult};
use crate::object::Object;
use crate::operator::{AccessRule, DecideError};
use crate::plan::{Mutation, Plan};
use crate::resource::{Resource, Selection};
use crate::state::{Health, OperatorPause, Wait};
use crate::topology::{ClusterName, ClusterType};
use crate::view::View;

const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");

type CoreDecide = Box<dyn Fn(&Unit, &View) -> Result<Plan, DecideError> + Send + Sync>;

struct FnOperator {
    name: String,
    units: Units,
    decide: CoreDecide,
}

impl Operator for FnOperator {
    fn name(&self) -> &str {
        &self.name
    }

    fn declaration(&self) -> Declaration {
        let both = BTreeSet::from([AccessRule::every(&CONFIG_MAPS), AccessRule::every(&SECRETS)]);
        Declaration { inputs: both.clone(), outputs: both, service_account: None, units: self.units.clone() }
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        (self.decide)(unit, view)
    }
}

fn puppet(
    name: &str,
    decide: impl Fn(&Unit, &View) -> Result<Plan, DecideError> + Send + Sync + 'static,
) -> Arc<dyn Operator> {
    Arc::new(FnOperator { name: name.into(), units: Units::Whole, decide: Box::new(decide) })
}

fn per_config_map(
    name: &str,
    decide: impl Fn(&Unit, &View) -> Result<Plan, DecideError> + Send + Sync + 'static,
) -> Arc<dyn Operator> {
    let selection = Selection::all().with_labels("unit");
    let units = Units::Each { cluster_type: ClusterType::default(), resource: CONFIG_MAPS, selection };
    Arc::new(FnOperator { name: name.into(), units, decide: Box::new(decide) })
}

fn cluster() -> ClusterName {
    ClusterName::new("main")
}

fn table(resource: &Resource) -> TableKey {
    TableKey { cluster: cluster(), resource: Arc::new(resource.clone()) }
}

fn kernel(operators: impl IntoIterator<Item = Arc<dyn Operator>>, limits: &Limits) -> Core {
    let topology = Topology::standalone(&cluster());
    let mut core = Core::new(Timestamp(0), 1, topology, GlobalLimits::default(), DecisionId(1));
    for operator in operators {
        core.add(Timestamp(0), operator, limits.clone());
    }
    core
}

fn config_map(name: &str, revision: u64, label: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": name, "namespace": "shop", "uid": format!("uid-{name}"), "resourceVersion": revision.to_string(),
        "labels": {label: "yes"}}})
}

fn put(core: &mut Core, now: u64, object: &Value) {
    let bytes = object.to_string().into_bytes().into();
    core.observe(Timestamp(now), &table(&CONFIG_MAPS), TableEvent::Put(bytes)).unwrap();
}

fn sync(core: &mut Core, now: u64, resource: &Resource, objects: &[Value]) {
    let table = table(resource);
    core.observe(Timestamp(now), &table, TableEvent::Begin).unwrap();
    for object in objects {
        core.observe(Timestamp(now), &table, TableEvent::Put(object.to_string().into_bytes().into())).unwrap();
    }
    core.observe(Timestamp(now), &table, TableEvent::Synced { revision: 10 }).unwrap();
}

fn runs(orders: Vec<CoreCommand>) -> Vec<UnitRun> {
    orders.into_iter().filter_map(|order| if let CoreCommand::Run(run) = order { Some(*run) } else { None }).collect()
}

fn watches(orders: &[CoreCommand]) -> usize {
    orders.iter().filter(|order| matches!(order, CoreCommand::Watch(_))).count()
}

/// Decides a run, and returns its progress.
fn decide(core: &mut Core, now: u64, run: &UnitRun) -> RunProgress {
    let (plan, reads) = run.decide();
    core.finish_decide(Timestamp(now), &run.unit, run.id, DecideResult { plan, reads, decide_us: 7 }).unwrap()
}

fn over(progress: RunProgress) -> FinishedRun {
    match progress {
        RunProgress::Finished(finished) => *finished,
        RunProgress::Write { writes, .. } => panic!("wants to write {writes:?}"),
    }
}

/// Returns the only unit's first run on cached kinds: its earlier run waited for ConfigMaps, of which there are none.
fn first_run(core: &mut Core) -> UnitRun {
    let run = runs(core.poll(Timestamp(0))).remove(0);
    over(decide(core, 0, &run));
    core.poll(Timestamp(0));
    sync(core, 0, &CONFIG_MAPS, &[]);
    runs(core.poll(Timestamp(1))).remove(0)
}

fn reads_one(name: &'static str) -> impl Fn(&Unit, &View) -> Result<Plan, DecideError> {
    move |_, view| view.get(&CONFIG_MAPS, "shop", name).map(|_| Plan::nothing())
}

#[test]
fn a_unit_that_reads_a_missing_kind_waits_until_it_is_cached() {
    let mut core = kernel([puppet("a", reads_one("web"))], &Limits::none());
    let run = runs(core.poll(Timestamp(0))).remove(0);
    let finished = over(decide(&mut core, 0, &run));
    assert!(matches!(finished.decision.outcome, RunOutcome::NotCached { .. }));
    assert_eq!(watches(&core.poll(Timestamp(1))), 1);
    assert!(runs(core.poll(Timestamp(50_000))).is_empty(), "nothing to read yet");
    let unit = &core.state(Timestamp(50_000)).operators[0].units[0];
    assert_eq!((unit.health, matches!(unit.wait, Wait::NotCached { .. })), (Health::Waiting, true));
    sync(&mut core, 50_001, &CONFIG_MAPS, &[]);
    let run = runs(core.poll(Timestamp(50_001))).remove(0);
    let finished = over(decide(&mut core, 50_001, &run));
    assert_eq!(finished.decision.causes, [Cause::KindCached { table: table(&CONFIG_MAPS) }]);
    assert_eq!(core.state(Timestamp(50_001)).operators[0].health, Health::Ready);
}

#[test]
fn guarantees_one_watch_per_kind() {
    let ten = (0..10).map(|number| puppet(&format!("operator-{number}"), reads_one("web")));
    let mut core = kernel(ten, &Limits::none());
    for run in runs(core.poll(Timestamp(0))) {
        decide(&mut core, 0, &run);
    }
    assert_eq!(watches(&core.poll(Timestamp(1))), 1);
    sync(&mut core, 1, &CONFIG_MAPS, &[]);
    core.add(Timestamp(2), puppet("the-eleventh", reads_one("web")), Limits::none());
    let orders = core.poll(Timestamp(2));
    assert_eq!(watches(&orders), 0);
    for run in runs(orders) {
        over(decide(&mut core, 2, &run));
    }
    assert_eq!(watches(&core.poll(Timestamp(3))), 0);
}

#[test]
fn guarantees_a_change_during_a_run_is_not_lost() {
    let mut core = kernel([puppet("a", reads_one("web"))], &Limits::none());
    let run = first_run(&mut core);
    put(&mut core, 2, &config_map("web", 11, "x"));
    assert!(runs(core.poll(Timestamp(2))).is_empty(), "it runs already");
    let finished = over(decide(&mut core, 3, &run));
    assert_eq!(finished.decision.gets[0].1, None, "the run saw what was there when it began");
    let again = runs(core.poll(Timestamp(3))).remove(0);
    let finished = over(decide(&mut core, 4, &again));
    assert_eq!(finished.decision.gets[0].1, Some(11));
    assert!(runs(core.poll(Timestamp(99_999))).is_empty(), "and nothing after that");
}

fn writes_child(_: &Unit, view: &View) -> Result<Plan, DecideError> {
    let mut plan = Plan::nothing();
    if view.get(&CONFIG_MAPS, "shop", "child")?.is_none() {
        plan.push(Mutation::create(&CONFIG_MAPS, json!({"metadata": {"name": "child", "namespace": "shop"}})));
    }
    view.get(&CONFIG_MAPS, "shop", "other")?;
    Ok(plan)
}

/// Reports that the writes of a run were made at this revision.
fn carry(core: &mut Core, now: u64, run: &UnitRun, progress: RunProgress, revision: u64) -> FinishedRun {
    let RunProgress::Write { writes, .. } = progress else { panic!("wants to write nothing") };
    let done = |mut write: crate::decision::Write| {
        write.result = WriteResult::Written { revision };
        ExecutedWrite { write, before: None, after: Some(config_map("child", revision, "x")), unchecked: None }
    };
    core.finish_writes(Timestamp(now), &run.unit, run.id, writes.into_iter().map(done).collect(), 9).unwrap()
}

#[test]
fn guarantees_a_unit_sees_its_own_writes() {
    let mut core = kernel([puppet("a", writes_child)], &Limits::none());
    let run = first_run(&mut core);
    let progress = decide(&mut core, 1, &run);
    carry(&mut core, 2, &run, progress, 12);
    put(&mut core, 3, &config_map("other", 11, "x"));
    assert!(runs(core.poll(Timestamp(3))).is_empty(), "its own write has not come back yet");
    put(&mut core, 4, &config_map("child", 12, "x"));
    let run = runs(core.poll(Timestamp(4))).remove(0);
    over(decide(&mut core, 4, &run));
}

#[test]
fn rejected_writes_are_passed_to_the_next_run_and_recorded() {
    let told = |_: &Unit, view: &View| {
        let mut plan = Plan::nothing();
        plan.push(Mutation::create(&CONFIG_MAPS, json!({"metadata": {"name": "child", "namespace": "shop"}})));
        let words = view.rejected_writes().iter().map(|one| format!("{} {}: {}", one.verb, one.object, one.message));
        view.get(&CONFIG_MAPS, "shop", "other")?;
        Ok(match words.reduce(|all, one| all + &one) {
            Some(words) => Plan::nothing().blocked(words),
            None => plan,
        })
    };
    let mut core = kernel([puppet("a", told)], &Limits::none());
    let run = first_run(&mut core);
    let RunProgress::Write { writes, .. } = decide(&mut core, 1, &run) else { panic!("wants to write nothing") };
    let refused = |mut write: crate::decision::Write| {
        write.result = WriteResult::Failed { message: "not you".to_string() };
        ExecutedWrite { write, before: None, after: None, unchecked: None }
    };
    core.finish_writes(Timestamp(2), &run.unit, run.id, writes.into_iter().map(refused).collect(), 9).unwrap();
    let run = runs(core.poll(Timestamp(3))).remove(0);
    let finished = over(decide(&mut core, 3, &run));
    let words = "create configmaps/shop/child: not you";
    assert_eq!(finished.decision.rejected_writes.len(), 1);
    assert_eq!(core.state(Timestamp(3)).operators[0].reason, words);
    put(&mut core, 4, &config_map("other", 11, "x"));
    let run = runs(core.poll(Timestamp(4))).remove(0);
    assert!(matches!(decide(&mut core, 4, &run), RunProgress::Write { .. }), "the notification is sent once");
}

#[test]
fn a_rejection_that_quotes_a_secret_is_redacted() {
    let label = |_: &Unit, view: &View| {
        let Some(secret) = view.get(&SECRETS, "shop", "db")? else { return Ok(Plan::nothing()) };
        assert!(secret.value()["data"].is_object());
        let mut plan = Plan::nothing();
        plan.push(Mutation::create(&CONFIG_MAPS, json!({"metadata": {"name": "child", "namespace": "shop"}})));
        Ok(plan)
    };
    let mut core = kernel([puppet("a", label)], &Limits::none());
    let run = runs(core.poll(Timestamp(0))).remove(0);
    over(decide(&mut core, 0, &run));
    core.poll(Timestamp(0));
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {
        "name": "db", "namespace": "shop", "uid": "1", "resourceVersion": "5"}, "data": {"password": "aHVudGVyMiEhIQ=="}});
    sync(&mut core, 0, &SECRETS, &[secret]);
    let run = runs(core.poll(Timestamp(1))).remove(0);
    let RunProgress::Write { writes, .. } = decide(&mut core, 1, &run) else { panic!("wants to write nothing") };
    let refused = |mut write: crate::decision::Write| {
        write.result = WriteResult::Failed { message: "Invalid value: \"hunter2!!!\"".to_string() };
        ExecutedWrite { write, before: None, after: None, unchecked: None }
    };
    let executed = writes.into_iter().map(refused).collect();
    let finished = core.finish_writes(Timestamp(2), &run.unit, run.id, executed, 9).unwrap();
    assert!(!format!("{:?}", finished.decision).contains("hunter2"), "{:?}", finished.decision);
    let reason = core.state(Timestamp(2)).operators[0].reason.clone();
    assert!(reason.contains("Invalid value: \"<redacted>\""), "{reason}");
}

#[test]
fn a_paused_operator_is_shown_to_be_paused() {
    let mut core = kernel([puppet("a", reads_one("web"))], &Limits::none());
    let run = first_run(&mut core);
    over(decide(&mut core, 1, &run));
    let by = |by: &str, since| Some(OperatorPause { by: by.into(), since: Timestamp(since) });
    core.pause(&OperatorName::new("a"), by("ada", 1));
    // A second request does not replace the first one, since which the operator is paused.
    core.pause(&OperatorName::new("a"), by("eve", 2));
    let state = core.state(Timestamp(2));
    assert_eq!((state.operators[0].health, &state.operators[0].paused), (Health::Waiting, &by("ada", 1)));
    let reason = "paused by ada since 1970-01-01T00:00:00Z; resume with `switchboard resume a`";
    assert_eq!(state.operators[0].reason, reason);
    core.reconcile(Timestamp(2), &OperatorName::new("a"), None);
    let waits = crate::explain::explain_idle("a", None, &core.state(Timestamp(5)));
    assert!(waits.to_string().contains("paused by ada 4ms ago (1970-01-01T00:00:00.001Z)\n"), "{waits}");
    core.pause(&OperatorName::new("a"), None);
    core.poll(Timestamp(3));
    assert_eq!(core.state(Timestamp(3)).operators[0].health, Health::Ready);
}

#[test]
fn a_write_that_is_never_observed_is_awaited_within_a_limit() {
    let mut core = kernel([puppet("a", writes_child)], &Limits::none());
    let run = first_run(&mut core);
    let progress = decide(&mut core, 1, &run);
    carry(&mut core, 2, &run, progress, 12);
    put(&mut core, 3, &config_map("other", 11, "x"));
    let due = core.next().unwrap();
    assert_eq!(due, Timestamp(2 + pending_writes::CACHE_TIMEOUT_MS));
    assert_eq!(runs(core.poll(due)).len(), 1);
}

#[test]
fn an_object_deleted_before_the_response_is_not_awaited() {
    let mut core = kernel([puppet("a", writes_child)], &Limits::none());
    let run = first_run(&mut core);
    let progress = decide(&mut core, 1, &run);
    put(&mut core, 2, &config_map("child", 12, "x"));
    let last = config_map("child", 13, "x").to_string().into_bytes().into();
    core.observe(Timestamp(2), &table(&CONFIG_MAPS), TableEvent::Remove(last)).unwrap();
    carry(&mut core, 3, &run, progress, 12);
    assert_eq!(runs(core.poll(Timestamp(3))).len(), 1, "it is woken by what went, and waits for nothing");
}

#[test]
fn a_unit_whose_write_is_undone_unobserved_runs_again() {
    let mut core = kernel([puppet("a", writes_child)], &Limits::none());
    let run = first_run(&mut core);
    let progress = decide(&mut core, 1, &run);
    carry(&mut core, 2, &run, progress, 12);
    // The child was created and deleted while its kind was not watched, so the cache sees no change.
    let due = core.next().unwrap();
    let run = runs(core.poll(due)).remove(0);
    assert!(matches!(decide(&mut core, due.0, &run), RunProgress::Write { .. }));
}

#[test]
fn each_selected_object_is_a_unit_and_only_its_own_change_wakes_it() {
    let own = |unit: &Unit, view: &View| view.get(&CONFIG_MAPS, unit.namespace(), unit.name()).map(|_| Plan::nothing());
    let mut core = kernel([per_config_map("a", own)], &Limits::none());
    assert_eq!(watches(&core.poll(Timestamp(0))), 1);
    let objects = [config_map("one", 1, "unit"), config_map("two", 2, "unit"), config_map("other", 3, "x")];
    sync(&mut core, 0, &CONFIG_MAPS, &objects);
    let first = runs(core.poll(Timestamp(1)));
    assert_eq!(first.iter().map(|run| run.unit.to_string()).collect::<Vec<_>>(), ["a shop/one", "a shop/two"]);
    first.iter().for_each(|run| drop(decide(&mut core, 1, run)));
    put(&mut core, 2, &config_map("two", 12, "unit"));
    let second = runs(core.poll(Timestamp(2)));
    assert_eq!(second.iter().map(|run| run.unit.to_string()).collect::<Vec<_>>(), ["a shop/two"]);
}

#[test]
fn a_unit_whose_object_is_deleted_runs_once_more_and_is_forgotten() {
    let own = |unit: &Unit, view: &View| view.get(&CONFIG_MAPS, unit.namespace(), unit.name()).map(|_| Plan::nothing());
    let mut core = kernel([per_config_map("a", own)], &Limits::none());
    core.poll(Timestamp(0));
    sync(&mut core, 0, &CONFIG_MAPS, &[config_map("one", 1, "unit")]);
    let run = runs(core.poll(Timestamp(1))).remove(0);
    over(decide(&mut core, 1, &run));
    let last = config_map("one", 13, "unit").to_string().into_bytes().into();
    core.observe(Timestamp(2), &table(&CONFIG_MAPS), TableEvent::Remove(last)).unwrap();
    let run = runs(core.poll(Timestamp(2))).remove(0);
    assert_eq!(over(decide(&mut core, 2, &run)).decision.gets[0].1, None);
    assert_eq!(core.state(Timestamp(3)).operators[0].units_total, 0);
    assert!(core.is_quiet());
}

#[test]
fn writes_beyond_the_budget_are_delayed_and_decided_again() {
    let many = |_: &Unit, view: &View| {
        let mut plan = Plan::nothing();
        for number in 0..5 {
            let name = format!("child-{number}");
            if view.get(&CONFIG_MAPS, "shop", &name)?.is_none() {
                plan.push(Mutation::create(&CONFIG_MAPS, json!({"metadata": {"name": name, "namespace": "shop"}})));
            }
        }
        Ok(plan)
    };
    let limits = Limits { writes_per_second: 2, ..Limits::none() };
    let mut core = kernel([puppet("a", many)], &limits);
    let run = first_run(&mut core);
    let progress = decide(&mut core, 1, &run);
    let finished = carry(&mut core, 2, &run, progress, 12);
    let RunOutcome::Decided { writes, .. } = finished.decision.outcome else { panic!("decided") };
    let held = writes.iter().filter(|write| write.result == WriteResult::OverBudget).count();
    assert_eq!((writes.len(), held), (5, 3));
    assert!(!core.is_quiet(), "it will decide again");
    for number in 0..2 {
        put(&mut core, 3, &config_map(&format!("child-{number}"), 12 + number, "x"));
    }
    assert!(runs(core.poll(Timestamp(500))).is_empty(), "out of budget");
    let due = core.next().unwrap();
    assert!(due <= Timestamp(1_100), "{due:?}");
    assert_eq!(runs(core.poll(due)).len(), 1);
}

#[test]
fn a_panic_is_a_failure_with_its_message() {
    let mut core = kernel([puppet("a", |_, _| panic!("on purpose"))], &Limits::none());
    let run = runs(core.poll(Timestamp(0))).remove(0);
    let finished = over(decide(&mut core, 0, &run));
    assert_eq!(finished.decision.outcome, RunOutcome::Failed { message: "panicked: on purpose".into() });
    let operator = &core.state(Timestamp(0)).operators[0];
    assert_eq!((operator.health, operator.reason.as_str()), (Health::Failing, "panicked: on purpose"));
}

#[test]
fn a_plan_with_status_failing_is_executed_and_retried() {
    let operator = puppet("a", |_, _| Ok(Plan::nothing().failing("half of it failed")));
    let mut core = kernel([operator], &Limits { backoff_first: Duration::from_secs(1), ..Limits::none() });
    let run = runs(core.poll(Timestamp(0))).remove(0);
    over(decide(&mut core, 0, &run));
    let operator = &core.state(Timestamp(0)).operators[0];
    assert_eq!((operator.health, operator.reason.as_str()), (Health::Failing, "half of it failed"));
    assert!(runs(core.poll(Timestamp(10))).is_empty());
    assert_eq!(runs(core.poll(Timestamp(5_000))).len(), 1);
}

#[test]
fn messages_of_operators_contain_no_secret_values() {
    let blabs = |_: &Unit, view: &View| {
        let secret = view.get(&SECRETS, "shop", "db")?.unwrap().value();
        let encoded = secret["data"]["password"].as_str().unwrap().to_string();
        assert_eq!(encoded, "aHVudGVyMi1odW50ZXIy");
        Err(DecideError::failed("could not log in with hunter2-hunter2"))
    };
    let mut core = kernel([puppet("a", blabs)], &Limits::none());
    let run = runs(core.poll(Timestamp(0))).remove(0);
    over(decide(&mut core, 0, &run));
    core.poll(Timestamp(0));
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {"password": "aHVudGVyMi1odW50ZXIy"},
        "metadata": {"name": "db", "namespace": "shop", "uid": "u", "resourceVersion": "5"}});
    sync(&mut core, 0, &SECRETS, &[secret]);
    let run = runs(core.poll(Timestamp(1))).remove(0);
    let finished = over(decide(&mut core, 1, &run));
    let RunOutcome::Failed { message } = finished.decision.outcome else { panic!("failed") };
    assert!(!message.contains("hunter2"), "{message}");
    assert!(!format!("{:?}", core.state(Timestamp(1))).contains("hunter2"));
}

#[test]
fn a_kind_without_readers_is_unwatched_after_a_grace_period() {
    let first = std::sync::atomic::AtomicBool::new(true);
    let once = move |_: &Unit, view: &View| {
        if first.swap(false, std::sync::atomic::Ordering::Relaxed) {
            view.get(&CONFIG_MAPS, "shop", "web")?;
        }
        Ok(Plan::nothing())
    };
    let mut core = kernel([puppet("a", once)], &Limits::none());
    let run = first_run(&mut core);
    over(decide(&mut core, 1, &run));
    assert_eq!(core.poll(Timestamp(2)).len(), 0, "not at once");
    let gone = core.poll(Timestamp(2 + UNREAD_GRACE_MS));
    assert!(matches!(gone.as_slice(), [CoreCommand::Unwatch(_)]));
}

#[test]
fn an_operator_with_a_failing_watch_is_not_ready() {
    let mut core = kernel([puppet("a", reads_one("web"))], &Limits::none());
    let run = first_run(&mut core);
    over(decide(&mut core, 1, &run));
    assert_eq!(core.state(Timestamp(1)).operators[0].health, Health::Ready);
    core.set_watch_error(&table(&CONFIG_MAPS), "no response".into());
    let operator = core.state(Timestamp(2)).operators.remove(0);
    let reason = "could not watch configmaps of cluster main: no response";
    assert_eq!((operator.health, operator.reason.as_str()), (Health::Waiting, reason));
    core.observe(Timestamp(3), &table(&CONFIG_MAPS), TableEvent::Progress { revision: 11 }).unwrap();
    assert_eq!(core.state(Timestamp(3)).operators[0].health, Health::Ready);
}

fn applies_child(_: &Unit, view: &View) -> Result<Plan, DecideError> {
    view.get(&CONFIG_MAPS, "shop", "child")?;
    let mut plan = Plan::nothing();
    plan.push(Mutation::apply(&CONFIG_MAPS, json!({"metadata": {"name": "child", "namespace": "shop"}})));
    Ok(plan)
}

fn asked(core: &mut Core, now: u64) -> UnitRun {
    assert_eq!(core.reconcile(Timestamp(now), &OperatorName::new("a"), None), Some(1));
    runs(core.poll(Timestamp(now))).remove(0)
}

#[test]
fn an_apply_is_not_sent_again_while_the_object_is_as_it_left_it() {
    let mut core = kernel([puppet("a", applies_child)], &Limits::none());
    let run = first_run(&mut core);
    let progress = decide(&mut core, 1, &run);
    carry(&mut core, 2, &run, progress, 12);
    put(&mut core, 3, &config_map("child", 12, "x"));
    let own = runs(core.poll(Timestamp(3))).remove(0);
    let RunOutcome::Decided { writes, .. } = over(decide(&mut core, 3, &own)).decision.outcome else {
        panic!("decided")
    };
    assert_eq!(writes[0].result, WriteResult::Unchanged);
    put(&mut core, 4, &config_map("child", 15, "x"));
    let changed = runs(core.poll(Timestamp(4))).remove(0);
    let RunProgress::Write { writes, .. } = decide(&mut core, 4, &changed) else { panic!("another writer wrote it") };
    // The server finds nothing to change, and returns the current revision.
    let done = |mut write: crate::decision::Write| {
        write.result = WriteResult::Unchanged;
        ExecutedWrite {
            write,
            before: Some(config_map("child", 15, "x")),
            after: Some(config_map("child", 15, "x")),
            unchecked: None,
        }
    };
    core.finish_writes(Timestamp(5), &changed.unit, changed.id, writes.into_iter().map(done).collect(), 9).unwrap();
    let again = asked(&mut core, 6);
    over(decide(&mut core, 6, &again));
}

#[test]
fn another_apply_is_sent() {
    let text = Arc::new(std::sync::Mutex::new("one"));
    let said = text.clone();
    let says = move |_: &Unit, view: &View| {
        view.get(&CONFIG_MAPS, "shop", "child")?;
        let body = json!({"metadata": {"name": "child", "namespace": "shop"}, "data": {"text": *said.lock().unwrap()}});
        let mut plan = Plan::nothing();
        plan.push(Mutation::apply(&CONFIG_MAPS, body));
        Ok(plan)
    };
    let mut core = kernel([puppet("a", says)], &Limits::none());
    let run = first_run(&mut core);
    let progress = decide(&mut core, 1, &run);
    carry(&mut core, 2, &run, progress, 12);
    put(&mut core, 3, &config_map("child", 12, "x"));
    *text.lock().unwrap() = "two";
    let run = runs(core.poll(Timestamp(3))).remove(0);
    assert!(matches!(decide(&mut core, 3, &run), RunProgress::Write { .. }));
}

#[test]
fn numbers_in_a_reason_do_not_make_it_new() {
    let count = std::sync::atomic::AtomicU32::new(0);
    let waits = move |_: &Unit, view: &View| {
        view.get(&CONFIG_MAPS, "shop", "web")?;
        let left = 3 - count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(if left > 0 { Plan::nothing().waiting(format!("{left} pods")) } else { Plan::nothing().waiting("a pod") })
    };
    let mut core = kernel([puppet("a", waits)], &Limits::none());
    let run = first_run(&mut core);
    let mut stands = Vec::new();
    over(decide(&mut core, 10, &run));
    for now in [20, 30, 40] {
        let unit = core.state(Timestamp(now)).operators.remove(0).units.remove(0);
        stands.push((unit.reason, unit.since.0));
        let run = asked(&mut core, now);
        over(decide(&mut core, now, &run));
    }
    let unit = core.state(Timestamp(50)).operators.remove(0).units.remove(0);
    assert_eq!(stands, [("3 pods".to_string(), 10), ("2 pods".to_string(), 10), ("1 pods".to_string(), 10)]);
    assert_eq!((unit.reason.as_str(), unit.since), ("a pod", Timestamp(40)));
}

#[test]
fn every_waiting_unit_is_counted_and_can_be_queried() {
    let waits = |_: &Unit, _: &View| Ok(Plan::nothing().waiting("the others"));
    let mut core = kernel([per_config_map("a", waits)], &Limits { max_concurrent: 1000, ..Limits::none() });
    core.set_global(GlobalLimits { max_concurrent: 1000, ..GlobalLimits::default() });
    core.poll(Timestamp(0));
    let objects: Vec<Value> = (0..250).map(|number| config_map(&format!("o{number:03}"), 1, "unit")).collect();
    sync(&mut core, 0, &CONFIG_MAPS, &objects);
    for run in runs(core.poll(Timestamp(1))) {
        over(decide(&mut core, 1, &run));
    }
    let operator = core.state(Timestamp(2)).operators.remove(0);
    assert_eq!((operator.units.len(), operator.units_waiting, operator.units_total), (100, 250, 250));
    let unit = |name: &str| UnitId { operator: OperatorName::new("a"), unit: Unit::object("shop", name) };
    assert_eq!(core.unit(Timestamp(2), &unit("o249")).map(|unit| unit.health), Some(Health::Waiting));
    assert!(core.unit(Timestamp(2), &unit("o250")).is_none());
    assert_eq!(core.reconcile(Timestamp(3), &OperatorName::new("a"), Some(&Unit::object("shop", "o250"))), Some(0));
    assert_eq!(core.reconcile(Timestamp(3), &OperatorName::new("b"), None), None);
    assert_eq!(core.reconcile(Timestamp(3), &OperatorName::new("a"), None), Some(250));
}

#[test]
fn more_changes_than_are_remembered_during_a_run_make_another() {
    let mut core = kernel([puppet("a", reads_one("web"))], &Limits::none());
    let run = first_run(&mut core);
    put(&mut core, 2, &config_map("web", 11, "x"));
    for number in 0..MAX_RECENT as u64 {
        put(&mut core, 2, &config_map("other", 12 + number, "x"));
    }
    over(decide(&mut core, 3, &run));
    let again = runs(core.poll(Timestamp(3))).remove(0);
    assert_eq!(over(decide(&mut core, 4, &again)).decision.gets[0].1, Some(11));
    assert!(runs(core.poll(Timestamp(99_999))).is_empty(), "and nothing after that");
}

/// Operator that reads which fields it applied before.
struct ApplyOperator;

impl Operator for ApplyOperator {
    fn name(&self) -> &str {
        "applies"
    }

    fn declaration(&self) -> Declaration {
        let all = BTreeSet::from([AccessRule::every(&CONFIG_MAPS)]);
        Declaration { inputs: all.clone(), outputs: all, service_account: None, units: Units::Whole }
    }

    fn needs_managed_fields(&self) -> bool {
        true
    }

    fn decide(&self, _unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let web = view.get(&CONFIG_MAPS, "shop", "web")?;
        let whole = web.as_ref().map(Object::full_value).unwrap_or_default();
        let plain = web.map(|web| web.value()).unwrap_or_default();
        assert_eq!(plain.pointer("/metadata/managedFields"), None, "only who asks sees them");
        Ok(Plan::nothing().waiting(format!("managed by {}", whole["metadata"]["managedFields"][0]["manager"])))
    }
}

#[test]
fn managed_fields_are_kept_for_their_readers_after_a_new_list() {
    let mut core = kernel(
        [puppet("plain", |_, view| view.get(&CONFIG_MAPS, "shop", "web").map(|_| Plan::nothing()))],
        &Limits::none(),
    );
    let mut web = config_map("web", 1, "unit");
    web["metadata"]["managedFields"] = json!([{"manager": "me"}]);
    let run = runs(core.poll(Timestamp(0))).remove(0);
    over(decide(&mut core, 0, &run));
    core.poll(Timestamp(0));
    sync(&mut core, 1, &CONFIG_MAPS, &[web.clone()]);
    let run = runs(core.poll(Timestamp(1))).remove(0);
    over(decide(&mut core, 1, &run));
    core.add(Timestamp(2), Arc::new(ApplyOperator), Limits::none());
    let orders = core.poll(Timestamp(2));
    assert_eq!(watches(&orders), 1, "what is held says nothing of managers");
    let run = runs(orders).remove(0);
    over(decide(&mut core, 2, &run));
    sync(&mut core, 3, &CONFIG_MAPS, &[web]);
    let run = runs(core.poll(Timestamp(3))).into_iter().find(|run| &*run.unit.operator.0 == "applies").unwrap();
    over(decide(&mut core, 3, &run));
    let applies = core.state(Timestamp(4)).operators.into_iter().find(|one| one.name == "applies").unwrap();
    assert_eq!(applies.reason, "managed by \"me\"");
}
