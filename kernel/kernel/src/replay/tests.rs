#![allow(clippy::unwrap_used)]

mod questions;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::decision::{Cause, Decision, Write, WriteResult};
use crate::journal::JournalLimits;
use crate::operator::{AccessRule, Declaration, OperatorName, Unit, UnitId, Units};
use crate::plan::{Mutation, PatchType, Plan};
use crate::resource::{ObjectKey, Resource, Selection, TableKey};
use crate::timestamp::Timestamp;
use crate::topology::{ClusterName, ClusterType};
use crate::view::Question;

const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");
const NOW: Timestamp = Timestamp(1_800_000_000_000);

type ReplayDecide = fn(&View) -> Result<Plan, DecideError>;

/// Operator made of a function.
struct ClosureOperator(ReplayDecide);

impl Operator for ClosureOperator {
    fn name(&self) -> &str {
        "made"
    }

    fn declaration(&self) -> Declaration {
        let workload = AccessRule::every(&CONFIG_MAPS).on(ClusterType::UserWorkload);
        let kinds = BTreeSet::from([AccessRule::every(&CONFIG_MAPS), AccessRule::every(&SECRETS), workload]);
        Declaration { inputs: kinds.clone(), outputs: kinds, service_account: None, units: Units::Whole }
    }

    fn decide(&self, _unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        (self.0)(view)
    }
}

#[derive(Serialize)]
struct WeatherQuestion {
    city: &'static str,
}

impl Question for WeatherQuestion {
    type Answer = String;
    const KIND: &'static str = "weather";
}

fn key(resource: &Resource, name: &str) -> ObjectKey {
    let table = TableKey { cluster: ClusterName::new("main"), resource: Arc::new(resource.clone()) };
    ObjectKey { table, namespace: Arc::from("shop"), name: Arc::from(name) }
}

fn object(resource: &Resource, name: &str, revision: u64, value: Value) -> Object {
    Object { key: key(resource, name), revision, json: value.to_string().into_bytes().into() }
}

fn topology() -> Arc<Topology> {
    Arc::new(Topology::standalone(&ClusterName::new("main")))
}

fn of_several() -> Topology {
    Topology::of(["main", "main", "edge"].map(ClusterName::new))
}

/// Reader with the current objects.
struct ObjectsReader(Vec<Object>);

impl crate::view::Reader for ObjectsReader {
    fn get(&self, key: &ObjectKey) -> Option<Option<Object>> {
        Some(self.0.iter().find(|object| object.key == *key).cloned())
    }

    fn list(
        &self,
        query: &crate::resource::ListQuery,
        _: &switchboard_object::selector::LabelSelector,
    ) -> Option<Vec<Object>> {
        Some(self.0.iter().filter(|object| object.key.table == query.table).cloned().collect())
    }

    fn revision(&self, _: &ClusterName) -> u64 {
        9
    }
}

/// Decides on these objects as the kernel does, and records the decision.
fn record(operator: &dyn Operator, objects: &[Object]) -> Journal {
    record_over(operator, objects, &topology())
}

fn record_over(operator: &dyn Operator, objects: &[Object], topology: &Arc<Topology>) -> Journal {
    let declaration = operator.declaration();
    let reader = Arc::new(ObjectsReader(objects.to_vec()));
    let view = View::new(reader.clone(), topology.clone(), Arc::new(declaration.inputs.clone()), NOW);
    let unit = UnitId { operator: OperatorName::new("made"), unit: Unit::Whole };
    let outcome = match operator.decide(&Unit::Whole, &view) {
        Ok(plan) => {
            let result = Arbiter::default().arbitrate(ArbiterInput {
                unit: &unit,
                declaration: &declaration,
                topology,
                decision: DecisionId(1),
                mutations: plan.mutations,
                ordered: plan.ordered,
                reads: &view.reads(),
                reader: &*reader,
            });
            let done = |write| Write { result: WriteResult::Written { revision: 10 }, ..write };
            RunOutcome::Decided { writes: result.writes.into_iter().map(done).collect(), status: plan.status }
        }
        Err(DecideError::Failed(message)) => RunOutcome::Failed { message },
        Err(DecideError::NotCached(_)) => RunOutcome::NotCached { missing: vec![] },
    };
    let reads = view.into_reads();
    let decision = Decision {
        id: DecisionId(1),
        unit,
        causes: vec![Cause::Started],
        triggered_at: NOW,
        started: NOW,
        decide_us: 1,
        write_us: 1,
        gets: reads.gets.into_iter().collect(),
        lists: reads.lists.into_iter().collect(),
        external_queries: reads.external_queries,
        rejected_writes: vec![],
        settings: serde_json::Value::Null,
        outcome,
    };
    let mut journal = Journal::in_memory(JournalLimits::default());
    journal.set_topology(topology);
    journal.append(&decision, objects, NOW).unwrap();
    journal
}

fn map(name: &str, data: Value) -> Mutation {
    Mutation::apply(&CONFIG_MAPS, json!({ "metadata": { "namespace": "shop", "name": name }, "data": data }))
}

fn again(operator: ReplayDecide, journal: &Journal, live: &[Object]) -> ReplayComparison {
    replay(&ClosureOperator(operator), journal, DecisionId(1), live)
}

fn copies(view: &View) -> Result<Plan, DecideError> {
    let input = view.get(&CONFIG_MAPS, "shop", "input")?.ok_or_else(|| DecideError::failed("no input"))?;
    let missing = view.get(&CONFIG_MAPS, "shop", "absent")?.is_none();
    let all = view.list(&CONFIG_MAPS, &Selection::namespace("shop"))?.len();
    let answer = view.ask(WeatherQuestion { city: "Bergen" }, |_| Ok("rain".to_string())).unwrap_or_default();
    let data = json!({ "copy": input.value()["data"], "missing": missing, "all": all, "at": view.now().to_string(), "w": answer });
    let mut plan = Plan::nothing();
    plan.push(map("one", data)).push(map("two", json!({})));
    Ok(plan.waiting("for two"))
}

fn input() -> Vec<Object> {
    vec![object(&CONFIG_MAPS, "input", 7, json!({ "data": { "color": "red" } }))]
}

#[test]
fn a_pure_operator_decides_the_same() {
    let journal = record(&ClosureOperator(copies), &input());
    assert_eq!(again(copies, &journal, &[]), ReplayComparison::Same);
}

#[test]
fn a_changed_operator_gives_another_result() {
    let journal = record(&ClosureOperator(copies), &input());
    let shouts: ReplayDecide = |view| {
        let mut plan = copies(view)?;
        plan.mutations.remove(0);
        plan.push(map("two", json!({ "loud": "yes" })));
        plan.mutations.remove(0);
        Ok(plan.blocked("say something"))
    };
    let ReplayComparison::Different { lines, .. } = again(shouts, &journal, &[]) else { panic!("not told apart") };
    let expected = [
        "- apply configmaps/shop/one",
        "+ apply configmaps/shop/two: .data.loud \"yes\"",
        "~ status: waiting: for two -> blocked: say something",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn new_reads_are_reported() {
    let journal = record(&ClosureOperator(copies), &input());
    let curious: ReplayDecide = |view| {
        let plan = copies(view)?;
        view.get(&SECRETS, "shop", "new")?;
        Ok(plan)
    };
    let ReplayComparison::Different { lines, .. } = again(curious, &journal, &[]) else { panic!("not told apart") };
    assert_eq!(lines.last().unwrap(), "the replay also reads secrets/shop/new");
}

#[test]
fn a_panic_is_an_outcome() {
    let journal = record(&ClosureOperator(copies), &input());
    let panics: ReplayDecide = |_| panic!("at the disco");
    let ReplayComparison::Different { after, .. } = again(panics, &journal, &[]) else { panic!("not told apart") };
    assert_eq!(after, ReplayResult::Failed { message: "panicked: at the disco".into() });
}

#[test]
fn a_failure_is_replayed_as_well() {
    let journal = record(&ClosureOperator(copies), &[]);
    assert_eq!(again(copies, &journal, &[]), ReplayComparison::Same);
}

fn secret(password: &str) -> Object {
    let value = json!({ "apiVersion": "v1", "kind": "Secret", "data": { "password": password } });
    object(&SECRETS, "db", 3, value)
}

fn uses_secret(view: &View) -> Result<Plan, DecideError> {
    let secret = view.get(&SECRETS, "shop", "db")?.ok_or_else(|| DecideError::failed("no secret"))?;
    let length = secret.value()["data"]["password"].as_str().unwrap_or_default().len();
    let mut plan = Plan::nothing();
    plan.push(map("length", json!({ "length": length })));
    Ok(plan)
}

#[test]
fn a_replay_with_a_redacted_secret_says_so() {
    let read = [secret("aHVudGVyMi1odW50ZXIy")];
    let journal = record(&ClosureOperator(uses_secret), &read);
    let ReplayComparison::Redacted { objects, equal: alike, .. } = again(uses_secret, &journal, &[]) else {
        panic!("not redacted")
    };
    assert_eq!((objects, alike), (vec!["secrets/shop/db".to_string()], false));
    // With the unchanged Secret, the comparison is certain.
    assert_eq!(again(uses_secret, &journal, &read), ReplayComparison::Same);
    let ignores: ReplayDecide = |view| {
        view.get(&SECRETS, "shop", "db")?;
        Ok(Plan::nothing())
    };
    assert!(matches!(again(ignores, &journal, &read), ReplayComparison::Different { .. }));
}

#[test]
fn a_secret_that_was_written_is_compared_by_its_digest() {
    fn writes(password: &str) -> Plan {
        let mut plan = Plan::nothing();
        let body = json!({ "metadata": { "namespace": "shop", "name": "out" }, "stringData": { "p": password } });
        plan.push(Mutation::apply(&SECRETS, body));
        plan
    }
    let journal = record(&ClosureOperator(|_| Ok(writes("correct-horse"))), &[]);
    assert_eq!(again(|_| Ok(writes("correct-horse")), &journal, &[]), ReplayComparison::Same);
    let ReplayComparison::Different { before, after, lines } = again(|_| Ok(writes("battery-staple")), &journal, &[])
    else {
        panic!("not told apart")
    };
    assert_eq!(lines, ["a redacted value differs"]);
    assert!(!format!("{before:?}{after:?}").contains("battery-staple"));
}

#[test]
fn removed_decisions_cannot_be_replayed() {
    let journal = record(&ClosureOperator(copies), &input());
    assert_eq!(replay(&ClosureOperator(copies), &journal, DecisionId(2), &[]), ReplayComparison::Gone);
}

#[test]
fn changes_by_the_arbiter_are_no_difference() {
    let squashed: ReplayDecide = |view| {
        view.list(&CONFIG_MAPS, &Selection::all())?;
        let mut plan = Plan::nothing();
        let body = json!({ "metadata": { "namespace": "shop", "generateName": "web-" } });
        plan.push(Mutation::create(&CONFIG_MAPS, body));
        for (key, value) in [("a", 1), ("b", 2)] {
            let body = json!({ "data": { key: value } });
            plan.push(Mutation::patch(&CONFIG_MAPS, "shop", "input", PatchType::Merge, body));
        }
        Ok(plan)
    };
    let journal = record(&ClosureOperator(squashed), &input());
    assert_eq!(again(squashed, &journal, &[]), ReplayComparison::Same);
}

#[test]
fn a_decision_over_several_clusters_is_replayed_with_its_topology() {
    let copies: ReplayDecide = |view| {
        let here = view.get(&CONFIG_MAPS, "shop", "input")?.is_some();
        let there = view.on(ClusterType::UserWorkload).get(&CONFIG_MAPS, "shop", "input")?.is_some();
        let mut plan = Plan::nothing();
        plan.push(map("seen", json!({ "here": here, "there": there })).on(ClusterType::UserWorkload));
        Ok(plan)
    };
    let journal = record_over(&ClosureOperator(copies), &input(), &Arc::new(of_several()));
    assert_eq!(again(copies, &journal, &[]), ReplayComparison::Same);
    assert_eq!(journal.topology(DecisionId(1)), Some(of_several()));
}

#[test]
fn redaction_creates_no_differences() {
    let copies: ReplayDecide = |view| {
        let input = view.get(&CONFIG_MAPS, "shop", "input")?.ok_or_else(|| DecideError::failed("no input"))?;
        let url = input.value()["data"]["url"].as_str().unwrap_or_default().to_string();
        let mut plan = Plan::nothing();
        plan.push(map("copy", json!({ "url": url })));
        Ok(plan.waiting(format!("for {url}")))
    };
    let input = [object(&CONFIG_MAPS, "input", 7, json!({ "data": { "url": "https://u:hunter2@db" } }))];
    let journal = record(&ClosureOperator(copies), &input);
    let objects = vec!["configmaps/shop/input".to_string()];
    assert_eq!(again(copies, &journal, &[]), ReplayComparison::Redacted { objects, equal: true, lines: vec![] });
    assert_eq!(again(copies, &journal, &input), ReplayComparison::Same);
}

#[test]
fn unrecorded_data_cannot_be_replayed() {
    let journal = record(&ClosureOperator(|_| Ok(Plan::nothing())), &[]);
    let forgets: ReplayDecide = |_| Err(DecideError::unrecorded("what an apparatus said"));
    let ReplayComparison::Redacted { objects, equal: alike, .. } = again(forgets, &journal, &[]) else {
        panic!("told apart")
    };
    assert_eq!((objects, alike), (vec!["data that is not recorded".to_string()], false));
}

#[test]
fn an_ignored_missing_kind_is_not_cached_in_a_replay_too() {
    let journal = record(&ClosureOperator(copies), &input());
    let shrugs: ReplayDecide = |view| {
        let _ = view.get(&SECRETS, "shop", "new");
        copies(view)
    };
    let ReplayComparison::Different { after, .. } = again(shrugs, &journal, &[]) else { panic!("not told apart") };
    assert!(matches!(after, ReplayResult::NotCached { .. }), "{after:?}");
}

fn never_comes_back(_: &View) -> Result<Plan, DecideError> {
    loop {
        std::thread::park();
    }
}

#[test]
fn an_operator_that_hangs_in_a_replay_does_not_block() {
    let journal = record(&ClosureOperator(copies), &input());
    let operator = Arc::new(ClosureOperator(never_comes_back));
    let replayed = replay_within(operator, &journal, DecisionId(1), &[], Duration::from_millis(20));
    assert_eq!(replayed, ReplayComparison::Undecided { why: "replay: did not decide within 20ms".to_string() });
    let operator = Arc::new(ClosureOperator(copies));
    assert_eq!(replay_within(operator, &journal, DecisionId(1), &[], Duration::from_secs(600)), ReplayComparison::Same);
}

#[test]
fn an_abandoned_run_is_not_replayed() {
    let hung: ReplayDecide = |_| Err(DecideError::failed("did not decide within 2s"));
    let journal = record(&ClosureOperator(hung), &[]);
    let replayed = again(never_comes_back, &journal, &[]);
    assert_eq!(replayed, ReplayComparison::Undecided { why: "recorded run: did not decide within 2s".to_string() });
    // An operator that reads something and returns this message itself was not abandoned.
    let says: ReplayDecide = |view| {
        view.get(&CONFIG_MAPS, "shop", "input")?;
        Err(DecideError::failed("did not decide within 2s"))
    };
    let journal = record(&ClosureOperator(says), &input());
    assert_eq!(again(says, &journal, &[]), ReplayComparison::Same);
}

#[test]
fn recorded_redacted_messages_are_no_difference() {
    let masked: ReplayDecide =
        |_| Err(DecideError::failed(format!("postgres://{}@db: refused", crate::redact::REDACTED)));
    let journal = record(&ClosureOperator(masked), &[]);
    let clear: ReplayDecide = |_| Err(DecideError::failed("postgres://shop:hunter2@db: refused"));
    assert_eq!(again(clear, &journal, &[]), ReplayComparison::Same);
    let other: ReplayDecide = |_| Err(DecideError::failed("postgres://shop:hunter2@db: timed out"));
    assert!(matches!(again(other, &journal, &[]), ReplayComparison::Different { .. }));
}
