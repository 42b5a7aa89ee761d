//! Regression tests for runs, writes and watches.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;
use crate::core::writes::STALE_RUNS;
use crate::view::{ExternalState, Question};

/// Operator that asks two questions and counts the answers.
struct CountingOperator {
    answers: Arc<AtomicUsize>,
    /// Whether it ignores a missing answer.
    shrugs: bool,
}

#[derive(Serialize)]
struct CouplingQuestion {
    act: bool,
    url: &'static str,
}

impl Question for CouplingQuestion {
    type Answer = String;
    const KIND: &'static str = "coupling";

    fn acts(&self) -> bool {
        self.act
    }
}

impl Operator for CountingOperator {
    fn name(&self) -> &str {
        "counting"
    }

    fn declaration(&self) -> Declaration {
        let maps = BTreeSet::from([AccessRule::every(&CONFIG_MAPS)]);
        Declaration { inputs: maps.clone(), outputs: maps, service_account: None, units: Units::Whole }
    }

    fn decide(&self, _: &Unit, view: &View) -> Result<Plan, DecideError> {
        let ask = |act| {
            view.ask(CouplingQuestion { act, url: "https://u:pw@host/couple" }, |_| {
                self.answers.fetch_add(1, Ordering::Relaxed);
                Ok("done".to_string())
            })
        };
        ask(false).map_err(DecideError::Failed)?;
        let told = ask(true);
        if !self.shrugs {
            told.map_err(DecideError::Failed)?;
        }
        Ok(Plan::nothing())
    }
}

#[test]
fn a_dry_run_skips_questions_that_act() {
    for shrugs in [false, true] {
        let answers = Arc::<AtomicUsize>::default();
        let operator: Arc<dyn Operator> = Arc::new(CountingOperator { answers: answers.clone(), shrugs });
        let mut core = kernel([operator], &Limits::none());
        core.set_dry_run();
        let run = runs(core.poll(Timestamp(0))).remove(0);
        let RunOutcome::Failed { message } = over(decide(&mut core, 0, &run)).decision.outcome else {
            panic!("undecided")
        };
        assert!(message.contains("skips queries with side effects: coupling {\"act\":true"), "{message}");
        assert!(!message.contains("pw"), "{message}");
        assert_eq!(answers.load(Ordering::Relaxed), 1, "questions without side effects are answered");
    }
}

/// Reports that a write was stale.
fn too_late(core: &mut Core, now: u64, run: &UnitRun) -> FinishedRun {
    let RunProgress::Write { writes, .. } = decide(core, now, run) else { panic!("wants to write nothing") };
    let late = |mut write: crate::decision::Write| {
        write.result = WriteResult::Stale { message: "child exists already".to_string() };
        ExecutedWrite { write, before: None, after: None, unchecked: None }
    };
    core.finish_writes(Timestamp(now), &run.unit, run.id, writes.into_iter().map(late).collect(), 9).unwrap()
}

#[test]
fn a_write_that_is_always_stale_fails_with_backoff() {
    let limits =
        Limits { backoff_first: Duration::from_secs(1), backoff_max: Duration::from_secs(60), ..Limits::none() };
    let mut core = kernel([puppet("a", writes_child)], &limits);
    let mut run = first_run(&mut core);
    let mut now = 1;
    for count in 1..=STALE_RUNS + 6 {
        too_late(&mut core, now, &run);
        let operator = core.state(Timestamp(now)).operators.remove(0);
        let due = core.next().unwrap();
        assert_eq!(operator.failures, u64::from((count + 1).saturating_sub(STALE_RUNS)), "{count}");
        if count < STALE_RUNS {
            assert_eq!((operator.health, due.0), (Health::Working, now + 10), "{count}");
        } else {
            assert_eq!(operator.health, Health::Failing);
            assert_eq!(operator.reason, "could not create configmaps/shop/child: child exists already");
            // The watch may only lag behind, and a unit that reads a rejection would give up a write that is allowed.
            assert_eq!(core.rejected_writes.is_empty(), now < 10_001, "{now}");
            let least = 500 << (count - STALE_RUNS);
            assert!(due.0 >= now + least, "{count}: after {} ms", due.0 - now);
        }
        now = due.0;
        run = runs(core.poll(due)).remove(0);
    }
    // The reads have changed, so the next attempt is immediate.
    too_late(&mut core, now, &run);
    put(&mut core, now + 1, &config_map("other", 11, "x"));
    now = core.next().unwrap().0;
    run = runs(core.poll(Timestamp(now))).remove(0);
    too_late(&mut core, now, &run);
    assert_eq!(core.state(Timestamp(now)).operators[0].health, Health::Working);
}

/// Reads ConfigMaps in its first runs only, so that a later run can be left open.
fn reads_at_first(name: &str) -> Arc<dyn Operator> {
    let first = AtomicBool::new(true);
    puppet(name, move |_, view| {
        if first.swap(false, Ordering::Relaxed) {
            view.get(&CONFIG_MAPS, "shop", "web")?;
        }
        Ok(Plan::nothing())
    })
}

#[test]
fn a_kind_without_readers_is_unwatched_during_a_run() {
    let mut core = kernel([reads_at_first("a"), puppet("open", |_, _| Ok(Plan::nothing()))], &Limits::none());
    let mut begun = runs(core.poll(Timestamp(0)));
    let open = begun.pop().unwrap();
    over(decide(&mut core, 0, &begun[0]));
    core.poll(Timestamp(0));
    sync(&mut core, 0, &CONFIG_MAPS, &[]);
    let run = runs(core.poll(Timestamp(1))).remove(0);
    over(decide(&mut core, 1, &run));
    core.poll(Timestamp(2));
    let due = Timestamp(2 + UNREAD_GRACE_MS);
    assert!(matches!(core.poll(due).as_slice(), [CoreCommand::Unwatch(_)]), "the run of {} is open", open.unit);
    assert!(core.next().is_none_or(|next| next > due), "nothing is to be done at once");
}

#[test]
fn a_run_that_read_an_unwatched_kind_runs_again() {
    let mut core = kernel([reads_at_first("a")], &Limits::none());
    let run = first_run(&mut core);
    over(decide(&mut core, 1, &run));
    core.poll(Timestamp(2));
    // Started while the kind is still cached, and reads it.
    core.add(Timestamp(3), puppet("late", reads_one("web")), Limits::none());
    let late = runs(core.poll(Timestamp(3))).remove(0);
    let due = Timestamp(2 + UNREAD_GRACE_MS);
    assert!(matches!(core.poll(due).as_slice(), [CoreCommand::Unwatch(_)]));
    over(decide(&mut core, due.0, &late));
    let orders = core.poll(due);
    assert_eq!(watches(&orders), 1, "it is watched again");
    assert_eq!(runs(orders).len(), 1, "what happened between is not lost");
}

/// Writes an object and its status in one run.
fn writes_both(_: &Unit, view: &View) -> Result<Plan, DecideError> {
    let mut plan = Plan::nothing();
    let child = json!({"metadata": {"name": "child", "namespace": "shop"}});
    if view.get(&CONFIG_MAPS, "shop", "child")?.is_none() {
        plan.push(Mutation::create(&CONFIG_MAPS, child.clone()));
        plan.push(Mutation { subresource: Some("status".into()), ..Mutation::apply(&CONFIG_MAPS, child) });
    }
    view.get(&CONFIG_MAPS, "shop", "other")?;
    Ok(plan)
}

#[test]
fn a_unit_that_wrote_an_object_twice_waits_for_the_second() {
    let mut core = kernel([puppet("a", writes_both)], &Limits::none());
    let run = first_run(&mut core);
    let RunProgress::Write { writes, .. } = decide(&mut core, 1, &run) else { panic!("wants to write nothing") };
    assert_eq!(writes.len(), 2);
    let done = writes.into_iter().zip(12..).map(|(mut write, revision)| {
        write.result = WriteResult::Written { revision };
        ExecutedWrite { write, before: None, after: Some(config_map("child", revision, "x")), unchecked: None }
    });
    core.finish_writes(Timestamp(2), &run.unit, run.id, done.collect(), 9).unwrap();
    put(&mut core, 3, &config_map("child", 12, "x"));
    assert!(runs(core.poll(Timestamp(3))).is_empty(), "the second of its writes has not come back yet");
    put(&mut core, 4, &config_map("child", 13, "x"));
    assert_eq!(runs(core.poll(Timestamp(4))).len(), 1);
}

#[test]
fn an_operator_that_ignores_a_missing_kind_still_waits() {
    let shrugs = |_: &Unit, view: &View| {
        let there = view.get(&CONFIG_MAPS, "shop", "web").ok().flatten().is_some();
        Ok(Plan::nothing().waiting(if there { "nothing" } else { "web" }))
    };
    let mut core = kernel([puppet("a", shrugs)], &Limits::none());
    let run = runs(core.poll(Timestamp(0))).remove(0);
    let finished = over(decide(&mut core, 0, &run));
    assert_eq!(finished.decision.outcome, RunOutcome::NotCached { missing: vec![table(&CONFIG_MAPS)] });
    assert_eq!(watches(&core.poll(Timestamp(0))), 1);
    sync(&mut core, 1, &CONFIG_MAPS, &[]);
    let run = runs(core.poll(Timestamp(1))).remove(0);
    assert!(matches!(over(decide(&mut core, 1, &run)).decision.outcome, RunOutcome::Decided { .. }));
}

#[test]
fn an_abandoned_run_keeps_its_earlier_triggers() {
    let limits =
        Limits { backoff_first: Duration::from_secs(600), backoff_max: Duration::from_secs(600), ..Limits::none() };
    let mut core = kernel([puppet("a", reads_one("web"))], &limits);
    let run = first_run(&mut core);
    over(decide(&mut core, 1, &run));
    let run = asked(&mut core, 2);
    let given_up =
        DecideResult { plan: Err(DecideError::failed("did not decide")), reads: Default::default(), decide_us: 1 };
    core.finish_decide(Timestamp(3), &run.unit, run.id, given_up).unwrap();
    let without = core.next();
    put(&mut core, 4, &config_map("web", 11, "x"));
    let waits = core.unit(Timestamp(4), &run.unit).unwrap();
    assert!(matches!(waits.causes.as_slice(), [Cause::Changed { .. }]), "{:?}", waits.causes);
    assert!(core.watched.contains_key(&table(&CONFIG_MAPS)) && without.is_some());
}

fn failures(core: &Core) -> u64 {
    core.state(Timestamp(0)).operators[0].failures
}

#[test]
fn a_run_counts_as_failed_exactly_when_it_is_retried_as_failed() {
    // The arbiter refused its write, and it reports a failure itself.
    let undeclared = |_: &Unit, _: &View| {
        let mut plan = Plan::nothing();
        plan.push(Mutation::delete(&Resource::namespaced("", "v1", "Pod", "pods"), "shop", "a"));
        Ok(plan)
    };
    let says_so = |_: &Unit, _: &View| Ok(Plan::nothing().failing("a controller failed"));
    let panics = |_: &Unit, _: &View| -> Result<Plan, DecideError> { panic!("no") };
    for operator in [puppet("a", undeclared), puppet("a", says_so), puppet("a", panics)] {
        let mut core = kernel([operator], &Limits::none());
        for count in 0..3 {
            assert_eq!(failures(&core), count);
            let now = core.next().unwrap_or(Timestamp(0));
            let run = runs(core.poll(now)).remove(0);
            over(decide(&mut core, now.0, &run));
        }
    }
    let mut core = kernel([puppet("a", writes_child)], &Limits::none());
    let run = first_run(&mut core);
    let progress = decide(&mut core, 1, &run);
    carry(&mut core, 2, &run, progress, 12);
    assert_eq!(failures(&core), 0, "neither to wait for a kind nor to write is a failure");
}

#[test]
fn a_dry_run_is_not_limited_by_the_budget() {
    let floods = |_: &Unit, view: &View| {
        let mut plan = Plan::nothing();
        view.get(&CONFIG_MAPS, "shop", "other")?;
        for number in 0..5 {
            plan.push(Mutation::create(
                &CONFIG_MAPS,
                json!({"metadata": {"name": format!("{number}"), "namespace": "shop"}}),
            ));
        }
        Ok(plan)
    };
    let limits = Limits { writes_per_second: 2, ..Limits::none() };
    let mut core = kernel([puppet("a", floods)], &limits);
    core.set_dry_run();
    let run = first_run(&mut core);
    let RunProgress::Write { writes, .. } = decide(&mut core, 1, &run) else { panic!("wants to write") };
    assert_eq!(writes.len(), 5);
    let pretended = |write| {
        let write = crate::decision::Write { result: WriteResult::DryRun, ..write };
        ExecutedWrite { write, before: None, after: None, unchecked: None }
    };
    core.finish_writes(Timestamp(2), &run.unit, run.id, writes.into_iter().map(pretended).collect(), 9).unwrap();
    assert!(core.is_quiet() && runs(core.poll(Timestamp(60_000))).is_empty(), "it has told what it would do");
    assert_eq!(core.state(Timestamp(60_000)).operators[0].health, Health::Ready);
}

#[test]
fn a_run_with_lost_write_results_is_finished_and_retried() {
    let mut core = kernel([puppet("a", writes_child)], &Limits::none());
    let run = first_run(&mut core);
    assert!(core.fail_writes(Timestamp(1), &run.unit, run.id).is_none(), "it has not decided yet");
    decide(&mut core, 1, &run);
    let finished = core.fail_writes(Timestamp(2), &run.unit, run.id).unwrap();
    assert!(matches!(finished.decision.outcome, RunOutcome::Failed { .. }));
    assert!(core.fail_writes(Timestamp(2), &run.unit, run.id).is_none(), "it is over");
    assert_eq!((core.state(Timestamp(2)).operators[0].health, failures(&core)), (Health::Failing, 1));
    let due = core.next().unwrap();
    assert_eq!(runs(core.poll(due)).len(), 1);
}

/// Asks a deterministic question whose answer is new each time, like a program that uses a clock.
struct NoisyProgram(&'static str, AtomicUsize);

#[derive(Serialize)]
struct ProgramRun;

impl Question for ProgramRun {
    type Answer = String;
    const KIND: &'static str = "run";

    fn external_state(_answer: &Result<String, String>) -> ExternalState {
        ExternalState::Nothing
    }
}

impl Operator for NoisyProgram {
    fn name(&self) -> &str {
        self.0
    }

    fn declaration(&self) -> Declaration {
        let maps = BTreeSet::from([AccessRule::every(&CONFIG_MAPS)]);
        Declaration { inputs: maps.clone(), outputs: maps, service_account: None, units: Units::Whole }
    }

    fn decide(&self, _: &Unit, view: &View) -> Result<Plan, DecideError> {
        let there = view.get(&CONFIG_MAPS, "shop", "child")?;
        let mut plan = Plan::nothing();
        if there.is_none_or(|there| !there.value()["data"]["v"].as_str().unwrap_or_default().starts_with(self.0)) {
            let value = view.ask(ProgramRun, |_| Ok(format!("{}-{}", self.0, self.1.fetch_add(1, Ordering::Relaxed))));
            let value = value.map_err(DecideError::Failed)?;
            let body = json!({"metadata": {"name": "child", "namespace": "shop"}, "data": {"v": value}});
            plan.push(Mutation::apply(&CONFIG_MAPS, body).forced());
        }
        Ok(plan)
    }
}

#[test]
fn two_programs_that_overwrite_each_other_with_new_values_conflict() {
    let program = |name| Arc::new(NoisyProgram(name, AtomicUsize::new(0))) as Arc<dyn Operator>;
    let mut core = kernel([program("red"), program("blue")], &Limits::none());
    for run in runs(core.poll(Timestamp(0))) {
        over(decide(&mut core, 0, &run));
    }
    core.poll(Timestamp(0));
    let with = |revision: u64, value: &str| {
        let mut object = config_map("child", revision, "x");
        object["data"] = json!({"v": value});
        object
    };
    let mut there = with(11, "another's");
    sync(&mut core, 0, &CONFIG_MAPS, std::slice::from_ref(&there));
    let (mut now, mut revision) = (1, 11);
    while core.state(Timestamp(now)).findings.is_empty() {
        assert!(revision < 40, "{} writes and no fight was found", revision - 11);
        now = core.next().map_or(now, |next| next.0.max(now)) + 1;
        for run in runs(core.poll(Timestamp(now))) {
            let RunProgress::Write { writes, .. } = decide(&mut core, now, &run) else { continue };
            revision += 1;
            let value = writes[0].mutation.operation.clone();
            let crate::plan::WriteOp::Apply { body, .. } = value else { panic!("applies") };
            let after = with(revision, body["data"]["v"].as_str().unwrap());
            let before = Some(std::mem::replace(&mut there, after.clone()));
            let write = crate::decision::Write { result: WriteResult::Written { revision }, ..writes[0].clone() };
            let executed = ExecutedWrite { write, before, after: Some(after.clone()), unchecked: None };
            core.finish_writes(Timestamp(now), &run.unit, run.id, vec![executed], 9).unwrap();
            put(&mut core, now, &after);
        }
    }
    let state = core.state(Timestamp(now));
    assert!(state.findings[0].to_string().contains(".data.v"), "{}", state.findings[0]);
    assert!(state.operators.iter().any(|operator| operator.health == Health::Failing));
}
