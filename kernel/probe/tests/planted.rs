//! A planted bug for each class of mistake; the probe finds it with the faults of that class only.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_kernel::operator::{AccessRule, DecideError, Declaration, Operator, Unit, Units};
use switchboard_kernel::plan::{Mutation, Plan};
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::view::View;
use switchboard_probe::{Fault, FaultClass, Probe, ProbeReport, REPLAY_VARIABLE, ScriptStep};

const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
const CLASSES: [FaultClass; 5] =
    [FaultClass::Crash, FaultClass::Response, FaultClass::Stale, FaultClass::Missed, FaultClass::Merged];

/// Operator made of a function, with memory that is lost in a crash.
struct PlantedOperator<M: Send + 'static>(fn(&View, &mut M) -> Result<Plan, DecideError>, Mutex<M>);

impl<M: Send + Default + 'static> PlantedOperator<M> {
    fn probe(decide: fn(&View, &mut M) -> Result<Plan, DecideError>) -> Probe {
        Probe::of(move || Arc::new(Self(decide, Mutex::default())))
    }
}

impl<M: Send + 'static> Operator for PlantedOperator<M> {
    fn name(&self) -> &str {
        "planted"
    }

    fn declaration(&self) -> Declaration {
        let kinds = BTreeSet::from([AccessRule::every(&CONFIG_MAPS)]);
        Declaration { inputs: kinds.clone(), outputs: kinds, service_account: None, units: Units::Whole }
    }

    fn decide(&self, _: &Unit, view: &View) -> Result<Plan, DecideError> {
        (self.0)(view, &mut self.1.lock().unwrap())
    }
}

fn config_map(name: &str, state: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop"},
        "data": {"state": state}})
}

/// Returns the state of an object; `None` if it does not exist.
fn state(view: &View, name: &str) -> Result<Option<String>, DecideError> {
    let object = view.get(&CONFIG_MAPS, "shop", name)?.map(|object| object.value());
    Ok(object.and_then(|object| object.pointer("/data/state")?.as_str().map(str::to_string)))
}

fn create(name: &str) -> Mutation {
    Mutation::create(&CONFIG_MAPS, config_map(name, "new"))
}

/// Returns the classes of faults that expose the bug; each failure has a command that repeats it.
fn found_by(report: &ProbeReport) -> BTreeSet<FaultClass> {
    for failure in &report.failures {
        assert_ne!(failure.fault, Fault::none(), "{failure}");
        assert_eq!(failure.fault.to_string().parse::<Fault>().unwrap(), failure.fault);
        assert!(failure.replay.contains(&format!("'{}'", failure.fault)), "{}", failure.replay);
    }
    CLASSES.into_iter().filter(|class| report.failures.iter().any(|failure| failure.fault.has_class(*class))).collect()
}

/// Checks that these classes find the bug, and others do not.
fn check(probe: impl Fn() -> Probe, classes: &[FaultClass]) -> ProbeReport {
    let report = probe().run();
    assert_eq!(found_by(&report), BTreeSet::from_iter(classes.iter().copied()), "{report}");
    probe().without(classes.iter().copied()).run().assert_ok();
    report
}

/// Writes that it is done before it is done.
fn marker_first(view: &View, _: &mut ()) -> Result<Plan, DecideError> {
    let mut plan = Plan::nothing();
    if state(view, "order")?.is_some() && state(view, "marker")?.is_none() {
        plan.push(create("marker"));
        plan.push(create("parcel"));
    }
    Ok(plan)
}

#[test]
fn intermediate_state_is_found() {
    let probe = || PlantedOperator::probe(marker_first).script([ScriptStep::apply(config_map("order", "new"))]);
    let report = check(probe, &[FaultClass::Crash, FaultClass::Response]);
    let crash: Fault = "crash-after-write:1".parse().unwrap();
    let failure = report.failures.iter().find(|failure| failure.fault == crash).unwrap();
    assert_eq!(failure.problem, "configmaps/shop/parcel is missing");
    let replay = format!("{REPLAY_VARIABLE}='crash-after-write:1' cargo test intermediate_state_is_found");
    assert_eq!(failure.replay, replay);
}

/// Deletes the object that it read earlier, regardless of later changes.
fn removes_regardless(view: &View, _: &mut ()) -> Result<Plan, DecideError> {
    let mut plan = Plan::nothing();
    if state(view, "shelf")?.as_deref() == Some("retired") {
        plan.push(Mutation::delete(&CONFIG_MAPS, "shop", "shelf").unconditional());
    }
    Ok(plan)
}

fn removes_what_it_saw(view: &View, memory: &mut ()) -> Result<Plan, DecideError> {
    let mut plan = removes_regardless(view, memory)?;
    plan.mutations.iter_mut().for_each(|mutation| mutation.preconditions = Default::default());
    Ok(plan)
}

#[test]
fn stale_state_is_found() {
    let script = || ["used", "retired", "used"].map(|state| ScriptStep::apply(config_map("shelf", state)));
    let report = check(|| PlantedOperator::probe(removes_regardless).script(script()), &[FaultClass::Stale]);
    assert!(report.failures.iter().all(|failure| failure.problem == "configmaps/shop/shelf is missing"), "{report}");
    PlantedOperator::probe(removes_what_it_saw).script(script()).run().assert_ok();
}

/// Reacts to a short-lived state, and remembers that it did.
fn waits_for_the_bell(view: &View, rung: &mut bool) -> Result<Plan, DecideError> {
    *rung |= state(view, "bell")?.as_deref() == Some("ringing");
    let mut plan = Plan::nothing();
    if *rung && state(view, "visitor")?.is_none() {
        plan.push(create("visitor"));
    }
    Ok(plan)
}

#[test]
fn unobserved_state_is_found() {
    let script = || ["still", "ringing", "still"].map(|state| ScriptStep::apply(config_map("bell", state)));
    let report = check(
        || PlantedOperator::probe(waits_for_the_bell).script(script()),
        &[FaultClass::Missed, FaultClass::Merged],
    );
    assert!(report.failures.iter().all(|failure| failure.problem == "configmaps/shop/visitor is missing"), "{report}");
}

/// Assumes that a planned write succeeded, and never checks.
fn believes(view: &View, done: &mut bool) -> Result<Plan, DecideError> {
    let mut plan = Plan::nothing();
    if state(view, "order")?.is_some() && !*done {
        *done = true;
        plan.push(create("parcel"));
    }
    Ok(plan)
}

#[test]
fn a_lost_response_is_resolved() {
    let probe = || PlantedOperator::probe(believes).script([ScriptStep::apply(config_map("order", "new"))]);
    let report = check(probe, &[FaultClass::Response]);
    let lost: Fault = "timeout-before-write:1x5".parse().unwrap();
    assert!(report.failures.iter().any(|failure| failure.fault == lost), "{report}");
}

/// Writes the time, so that every round has a write.
fn keeps_time(view: &View, _: &mut ()) -> Result<Plan, DecideError> {
    let mut plan = Plan::nothing();
    plan.push(Mutation::apply(&CONFIG_MAPS, config_map("clock", &view.now().to_string())));
    Ok(plan)
}

#[test]
fn an_operator_that_never_rests_fails_the_undisturbed_run() {
    let report = PlantedOperator::probe(keeps_time).script([ScriptStep::apply(config_map("order", "new"))]).run();
    assert_eq!(report.runs, 1);
    let [failure] = &report.failures[..] else { panic!("{report}") };
    assert_eq!(failure.fault, Fault::none());
    assert!(
        failure.problem.starts_with("writes although nothing changed, in round 1 after the end: "),
        "{}",
        failure.problem
    );
    assert!(failure.problem.contains("configmaps/shop/clock"), "{}", failure.problem);
}

/// Creates a new object after each start.
fn makes_anew(view: &View, done: &mut bool) -> Result<Plan, DecideError> {
    let mut plan = Plan::nothing();
    if state(view, "order")?.is_some() && !*done {
        *done = true;
        if state(view, "parcel")?.is_some() {
            plan.push(Mutation::delete(&CONFIG_MAPS, "shop", "parcel"));
            *done = false;
        } else {
            plan.push(create("parcel"));
        }
    }
    Ok(plan)
}

#[test]
fn an_object_created_twice_is_found_despite_an_equal_final_state() {
    let report = PlantedOperator::probe(makes_anew).script([ScriptStep::apply(config_map("order", "new"))]).run();
    let twice = "configmaps/shop/parcel was created 2 times, undisturbed 1";
    assert!(report.failures.iter().any(|failure| failure.problem == twice), "{report}");
}

fn generate(state: &str) -> Mutation {
    let mut parcel = config_map("", state);
    parcel["metadata"] = json!({"generateName": "parcel-", "namespace": "shop"});
    Mutation::create(&CONFIG_MAPS, parcel)
}

/// Creates two parcels with generated names, and records their names.
fn generates(view: &View, _: &mut ()) -> Result<Plan, DecideError> {
    let mut plan = Plan::nothing();
    if state(view, "order")?.is_none() {
        return Ok(plan);
    }
    let parcels = view.list(&CONFIG_MAPS, &Selection::namespace("shop").with_prefix("parcel-"))?;
    let mut names = json!({});
    for state in ["heavy", "light"] {
        match parcels.iter().find(|parcel| parcel.value()["data"]["state"] == state) {
            Some(parcel) => names[state] = parcel.value()["metadata"]["name"].clone(),
            None => drop(plan.push(generate(state))),
        }
    }
    if plan.mutations.is_empty() {
        let mut list = config_map("list", "new");
        list["data"] = names;
        plan.push(Mutation::apply(&CONFIG_MAPS, list));
    }
    Ok(plan)
}

#[test]
fn generated_names_may_differ_from_the_undisturbed_run() {
    let probe = PlantedOperator::probe(generates).script([ScriptStep::apply(config_map("order", "new"))]);
    // An operator that decides on an outdated list creates one more: only a fixed name prevents that.
    probe.without([FaultClass::Stale, FaultClass::Missed, FaultClass::Merged]).run().assert_ok();
}

/// Creates a parcel after each start, and never looks for an existing one.
fn generates_anew(view: &View, done: &mut bool) -> Result<Plan, DecideError> {
    let mut plan = Plan::nothing();
    if state(view, "order")?.is_some() && !*done {
        *done = true;
        plan.push(generate("new"));
    }
    Ok(plan)
}

#[test]
fn one_more_generated_name_is_found() {
    let report = PlantedOperator::probe(generates_anew).script([ScriptStep::apply(config_map("order", "new"))]).run();
    let crash: Fault = "crash-after-write:1".parse().unwrap();
    let failure = report.failures.iter().find(|failure| failure.fault == crash).unwrap_or_else(|| panic!("{report}"));
    assert_eq!(failure.problem, "configmaps/shop/parcel-*#2 should not exist");
}

#[test]
fn a_script_that_fails_is_reported() {
    let odd = json!({"apiVersion": "v1", "kind": "Odd", "metadata": {"name": "a"}});
    let report = PlantedOperator::probe(marker_first).script([ScriptStep::apply(odd)]).run();
    assert_eq!(report.failures[0].problem, "could not apply Odd a: v1 has no such kind");
}

#[test]
fn an_operator_that_only_fails_does_not_pass() {
    let fails = |_: &View, _: &mut ()| Err(DecideError::failed("cannot"));
    let report = PlantedOperator::probe(fails).script([ScriptStep::apply(config_map("order", "new"))]).run();
    assert_eq!(report.failures[0].problem, "only fails: cannot");
}

/// Polls for the parcel inside a decision, so that no other operator can create it.
fn waits_inside(view: &View, _: &mut ()) -> Result<Plan, DecideError> {
    let plan = marker_first(view, &mut ())?;
    while state(view, "marker")?.is_some() && state(view, "parcel")?.is_none() {
        std::thread::park();
    }
    Ok(plan)
}

/// Longer than any thread waits for its turn.
const HANGS: Duration = Duration::from_secs(3);

#[test]
fn an_operator_that_hangs_under_a_fault_ends_the_probing_with_a_replay() {
    let probe = PlantedOperator::probe(waits_inside).script([ScriptStep::apply(config_map("order", "new"))]);
    let crash: Fault = "crash-after-write:1".parse().unwrap();
    let report = probe.only([Fault::none(), crash.clone(), Fault::none()]).threads(1).decide_timeout(HANGS).run();
    let [failure] = &report.failures[..] else { panic!("{report}") };
    assert_eq!((&failure.fault, report.runs), (&crash, 3), "{report}");
    assert_eq!(failure.problem, "hangs: planted all did not decide within 3s; 1 runs were skipped");
    assert!(failure.replay.starts_with(&format!("{REPLAY_VARIABLE}='{crash}'")), "{}", failure.replay);
}

#[test]
fn an_operator_that_always_hangs_fails_the_undisturbed_run() {
    let hangs = |_: &View, _: &mut ()| -> Result<Plan, DecideError> {
        loop {
            std::thread::park();
        }
    };
    let report = PlantedOperator::probe(hangs).decide_timeout(HANGS).run();
    let [failure] = &report.failures[..] else { panic!("{report}") };
    assert_eq!((&failure.fault, report.runs), (&Fault::none(), 1));
    assert_eq!(failure.problem, "hangs: planted all did not decide within 3s");
}

/// Writes once, long after the script has ended.
fn comes_back_late(view: &View, decided: &mut u32) -> Result<Plan, DecideError> {
    *decided += 1;
    let mut plan = Plan::nothing();
    if state(view, "order")?.is_some() && *decided == 60 {
        plan.push(create("afterthought"));
    }
    Ok(plan)
}

#[test]
fn a_write_after_many_quiet_rounds_is_found() {
    let report = PlantedOperator::probe(comes_back_late).script([ScriptStep::apply(config_map("order", "new"))]).run();
    let [failure] = &report.failures[..] else { panic!("{report}") };
    assert!(failure.problem.ends_with("after the end: configmaps/shop/afterthought"), "{}", failure.problem);
    let round = failure.problem.split_whitespace().find_map(|word| word.parse::<u32>().ok());
    assert!(round.is_some_and(|round| (50..60).contains(&round)), "{}", failure.problem);
}

/// Runs a test of this file on its own, with a fault in the variable.
fn replayed(test: &str, fault: &str) -> (bool, String) {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", test, "--nocapture"]).env(REPLAY_VARIABLE, fault).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

const GENERATED: &str = "generated_names_may_differ_from_the_undisturbed_run";

#[test]
fn a_misspelled_fault_is_refused() {
    let (well, said) = replayed(GENERATED, "crsh-after-write:1");
    assert!(!well && said.contains("invalid SWITCHBOARD_PROBE_FAULT: "), "{said}");
    assert!(replayed(GENERATED, "crash-after-write:1").0);
}

#[test]
fn the_command_of_a_failure_names_only_existing_tests() {
    let crash: Fault = "crash-after-write:1".parse().unwrap();
    let probe = move || {
        PlantedOperator::probe(marker_first).script([ScriptStep::apply(config_map("order", "new"))]).only([crash]).run()
    };
    // For example where blocking is allowed beside an event loop.
    let thread = std::thread::Builder::new().name("tokio-runtime-worker".to_string()).spawn(probe).unwrap();
    let report = thread.join().unwrap();
    let replay = format!("{REPLAY_VARIABLE}='crash-after-write:1' cargo test");
    assert_eq!(report.failures[0].replay, replay, "{report}");
}
