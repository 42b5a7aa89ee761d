//! A planted bug for each class of mistake: the probe finds it, by the faults of its class and by no others.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_kernel::operator::{Declaration, Declared, Operator, Stop, Unit, Units};
use switchboard_kernel::plan::{Mutation, Plan};
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::view::View;
use switchboard_probe::{Class, Fault, Probe, REPLAY_VARIABLE, Report, Step};

const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
const CLASSES: [Class; 5] = [Class::Crash, Class::Answer, Class::Stale, Class::Missed, Class::Merged];

/// An operator made of a function and a memory that goes with the process.
struct Planted<M: Send + 'static>(fn(&View, &mut M) -> Result<Plan, Stop>, Mutex<M>);

impl<M: Send + Default + 'static> Planted<M> {
    fn probe(decide: fn(&View, &mut M) -> Result<Plan, Stop>) -> Probe {
        Probe::of(move || Arc::new(Self(decide, Mutex::default())))
    }
}

impl<M: Send + 'static> Operator for Planted<M> {
    fn name(&self) -> &str {
        "planted"
    }

    fn declaration(&self) -> Declaration {
        let kinds = BTreeSet::from([Declared::every(&CONFIG_MAPS)]);
        Declaration { inputs: kinds.clone(), outputs: kinds, service_account: None, units: Units::Whole }
    }

    fn decide(&self, _: &Unit, view: &View) -> Result<Plan, Stop> {
        (self.0)(view, &mut self.1.lock().unwrap())
    }
}

fn config_map(name: &str, state: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop"},
        "data": {"state": state}})
}

/// The state of an object; nothing when there is no such object.
fn state(view: &View, name: &str) -> Result<Option<String>, Stop> {
    let object = view.get(&CONFIG_MAPS, "shop", name)?.map(|object| object.value());
    Ok(object.and_then(|object| object.pointer("/data/state")?.as_str().map(str::to_string)))
}

fn create(name: &str) -> Mutation {
    Mutation::create(&CONFIG_MAPS, config_map(name, "new"))
}

/// The classes whose faults show the bug; each failure comes with the command that replays it.
fn found_by(report: &Report) -> BTreeSet<Class> {
    for failure in &report.failures {
        assert_ne!(failure.fault, Fault::none(), "{failure}");
        assert_eq!(failure.fault.to_string().parse::<Fault>().unwrap(), failure.fault);
        assert!(failure.replay.contains(&format!("'{}'", failure.fault)), "{}", failure.replay);
    }
    CLASSES.into_iter().filter(|class| report.failures.iter().any(|failure| failure.fault.is(*class))).collect()
}

/// The bug is found by these classes, and by nothing without them.
fn check(probe: impl Fn() -> Probe, classes: &[Class]) -> Report {
    let report = probe().run();
    assert_eq!(found_by(&report), BTreeSet::from_iter(classes.iter().copied()), "{report}");
    probe().without(classes.iter().copied()).run().assert_ok();
    report
}

/// Writes that it is done before it is done.
fn marker_first(view: &View, _: &mut ()) -> Result<Plan, Stop> {
    let mut plan = Plan::nothing();
    if state(view, "order")?.is_some() && state(view, "marker")?.is_none() {
        plan.push(create("marker"));
        plan.push(create("parcel"));
    }
    Ok(plan)
}

#[test]
fn intermediate_state_is_found() {
    let probe = || Planted::probe(marker_first).script([Step::apply(config_map("order", "new"))]);
    let report = check(probe, &[Class::Crash, Class::Answer]);
    let crash: Fault = "crash-after-write:1".parse().unwrap();
    let failure = report.failures.iter().find(|failure| failure.fault == crash).unwrap();
    assert_eq!(failure.what, "configmaps/shop/parcel is missing");
    let replay = format!("{REPLAY_VARIABLE}='crash-after-write:1' cargo test intermediate_state_is_found");
    assert_eq!(failure.replay, replay);
}

/// Removes what was to be removed when it last looked, whatever it is by now.
fn removes_regardless(view: &View, _: &mut ()) -> Result<Plan, Stop> {
    let mut plan = Plan::nothing();
    if state(view, "shelf")?.as_deref() == Some("retired") {
        plan.push(Mutation::delete(&CONFIG_MAPS, "shop", "shelf").regardless());
    }
    Ok(plan)
}

fn removes_what_it_saw(view: &View, memory: &mut ()) -> Result<Plan, Stop> {
    let mut plan = removes_regardless(view, memory)?;
    plan.mutations.iter_mut().for_each(|mutation| mutation.expect = Default::default());
    Ok(plan)
}

#[test]
fn stale_state_is_found() {
    let script = || ["used", "retired", "used"].map(|state| Step::apply(config_map("shelf", state)));
    let report = check(|| Planted::probe(removes_regardless).script(script()), &[Class::Stale]);
    assert!(report.failures.iter().all(|failure| failure.what == "configmaps/shop/shelf is missing"), "{report}");
    Planted::probe(removes_what_it_saw).script(script()).run().assert_ok();
}

/// Acts when it sees a state that does not last, and remembers that it did.
fn waits_for_the_bell(view: &View, rung: &mut bool) -> Result<Plan, Stop> {
    *rung |= state(view, "bell")?.as_deref() == Some("ringing");
    let mut plan = Plan::nothing();
    if *rung && state(view, "visitor")?.is_none() {
        plan.push(create("visitor"));
    }
    Ok(plan)
}

#[test]
fn unobserved_state_is_found() {
    let script = || ["still", "ringing", "still"].map(|state| Step::apply(config_map("bell", state)));
    let report = check(|| Planted::probe(waits_for_the_bell).script(script()), &[Class::Missed, Class::Merged]);
    assert!(report.failures.iter().all(|failure| failure.what == "configmaps/shop/visitor is missing"), "{report}");
}

/// Takes what it wants written for written, and never looks again.
fn believes(view: &View, done: &mut bool) -> Result<Plan, Stop> {
    let mut plan = Plan::nothing();
    if state(view, "order")?.is_some() && !*done {
        *done = true;
        plan.push(create("parcel"));
    }
    Ok(plan)
}

#[test]
fn a_lost_answer_is_found() {
    let probe = || Planted::probe(believes).script([Step::apply(config_map("order", "new"))]);
    let report = check(probe, &[Class::Answer]);
    let lost: Fault = "timeout-before-write:1x5".parse().unwrap();
    assert!(report.failures.iter().any(|failure| failure.fault == lost), "{report}");
}

/// Writes the time, so that no round is without a write.
fn keeps_time(view: &View, _: &mut ()) -> Result<Plan, Stop> {
    let mut plan = Plan::nothing();
    plan.push(Mutation::apply(&CONFIG_MAPS, config_map("clock", &view.now().to_string())));
    Ok(plan)
}

#[test]
fn an_operator_that_never_rests_fails_the_undisturbed_run() {
    let report = Planted::probe(keeps_time).script([Step::apply(config_map("order", "new"))]).run();
    assert_eq!(report.runs, 1);
    let [failure] = &report.failures[..] else { panic!("{report}") };
    assert_eq!(failure.fault, Fault::none());
    assert!(failure.what.starts_with("writes though nothing changed, in round 1 after the end: "), "{}", failure.what);
    assert!(failure.what.contains("configmaps/shop/clock"), "{}", failure.what);
}

/// Makes a new one after each start.
fn makes_anew(view: &View, done: &mut bool) -> Result<Plan, Stop> {
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
fn an_object_made_twice_is_found_though_the_end_is_the_same() {
    let report = Planted::probe(makes_anew).script([Step::apply(config_map("order", "new"))]).run();
    let twice = "configmaps/shop/parcel was created 2 times, undisturbed 1";
    assert!(report.failures.iter().any(|failure| failure.what == twice), "{report}");
}

fn generate(state: &str) -> Mutation {
    let mut parcel = config_map("", state);
    parcel["metadata"] = json!({"generateName": "parcel-", "namespace": "shop"});
    Mutation::create(&CONFIG_MAPS, parcel)
}

/// Makes two parcels of generated names, and writes down which they are.
fn generates(view: &View, _: &mut ()) -> Result<Plan, Stop> {
    let mut plan = Plan::nothing();
    if state(view, "order")?.is_none() {
        return Ok(plan);
    }
    let parcels = view.list(&CONFIG_MAPS, &Selection::namespace("shop").beginning("parcel-"))?;
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
fn names_that_are_generated_need_not_be_those_of_the_undisturbed_run() {
    let probe = Planted::probe(generates).script([Step::apply(config_map("order", "new"))]);
    // Who decides on an older list makes one more: nothing but a name keeps anybody from that.
    probe.without([Class::Stale, Class::Missed, Class::Merged]).run().assert_ok();
}

/// Makes a parcel after each start, and never looks for one.
fn generates_anew(view: &View, done: &mut bool) -> Result<Plan, Stop> {
    let mut plan = Plan::nothing();
    if state(view, "order")?.is_some() && !*done {
        *done = true;
        plan.push(generate("new"));
    }
    Ok(plan)
}

#[test]
fn one_more_of_a_generated_name_is_found() {
    let report = Planted::probe(generates_anew).script([Step::apply(config_map("order", "new"))]).run();
    let crash: Fault = "crash-after-write:1".parse().unwrap();
    let failure = report.failures.iter().find(|failure| failure.fault == crash).unwrap_or_else(|| panic!("{report}"));
    assert_eq!(failure.what, "configmaps/shop/parcel-*#2 is there and should not be");
}

#[test]
fn a_script_that_cannot_be_followed_is_said() {
    let odd = json!({"apiVersion": "v1", "kind": "Odd", "metadata": {"name": "a"}});
    let report = Planted::probe(marker_first).script([Step::apply(odd)]).run();
    assert_eq!(report.failures[0].what, "could not apply Odd a: v1 has no such kind");
}

#[test]
fn an_operator_that_does_nothing_but_fail_is_not_said_to_bear_everything() {
    let fails = |_: &View, _: &mut ()| Err(Stop::failed("cannot"));
    let report = Planted::probe(fails).script([Step::apply(config_map("order", "new"))]).run();
    assert_eq!(report.failures[0].what, "does nothing but fail: cannot");
}

/// Looks up to see whether the parcel has come, without ever letting anybody bring it.
fn waits_inside(view: &View, _: &mut ()) -> Result<Plan, Stop> {
    let plan = marker_first(view, &mut ())?;
    while state(view, "marker")?.is_some() && state(view, "parcel")?.is_none() {
        std::thread::park();
    }
    Ok(plan)
}

/// Longer than a thread is ever kept waiting for its turn.
const HANGS: Duration = Duration::from_secs(3);

#[test]
fn an_operator_that_hangs_under_a_fault_ends_the_probing_with_a_replay() {
    let probe = Planted::probe(waits_inside).script([Step::apply(config_map("order", "new"))]);
    let crash: Fault = "crash-after-write:1".parse().unwrap();
    let report = probe.only([Fault::none(), crash.clone(), Fault::none()]).threads(1).patience(HANGS).run();
    let [failure] = &report.failures[..] else { panic!("{report}") };
    assert_eq!((&failure.fault, report.runs), (&crash, 3), "{report}");
    assert_eq!(failure.what, "hangs: planted all did not decide within 3s; 1 runs were not made");
    assert!(failure.replay.starts_with(&format!("{REPLAY_VARIABLE}='{crash}'")), "{}", failure.replay);
}

#[test]
fn an_operator_that_always_hangs_fails_the_undisturbed_run() {
    let hangs = |_: &View, _: &mut ()| -> Result<Plan, Stop> {
        loop {
            std::thread::park();
        }
    };
    let report = Planted::probe(hangs).patience(HANGS).run();
    let [failure] = &report.failures[..] else { panic!("{report}") };
    assert_eq!((&failure.fault, report.runs), (&Fault::none(), 1));
    assert_eq!(failure.what, "hangs: planted all did not decide within 3s");
}

/// Writes once, long after all is done.
fn comes_back_late(view: &View, decided: &mut u32) -> Result<Plan, Stop> {
    *decided += 1;
    let mut plan = Plan::nothing();
    if state(view, "order")?.is_some() && *decided == 60 {
        plan.push(create("afterthought"));
    }
    Ok(plan)
}

#[test]
fn a_write_after_many_quiet_rounds_is_found() {
    let report = Planted::probe(comes_back_late).script([Step::apply(config_map("order", "new"))]).run();
    let [failure] = &report.failures[..] else { panic!("{report}") };
    assert!(failure.what.ends_with("after the end: configmaps/shop/afterthought"), "{}", failure.what);
    let round = failure.what.split_whitespace().find_map(|word| word.parse::<u32>().ok());
    assert!(round.is_some_and(|round| (50..60).contains(&round)), "{}", failure.what);
}

/// Runs a test of this file by itself, with a fault in the variable.
fn replayed(test: &str, fault: &str) -> (bool, String) {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", test, "--nocapture"]).env(REPLAY_VARIABLE, fault).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

const GENERATED: &str = "names_that_are_generated_need_not_be_those_of_the_undisturbed_run";

#[test]
fn a_fault_with_a_slip_of_the_pen_is_not_taken_for_none() {
    let (well, said) = replayed(GENERATED, "crsh-after-write:1");
    assert!(!well && said.contains("SWITCHBOARD_PROBE_FAULT is no fault: "), "{said}");
    assert!(replayed(GENERATED, "crash-after-write:1").0);
}

#[test]
fn the_command_of_a_failure_names_no_test_that_there_is_none_of() {
    let crash: Fault = "crash-after-write:1".parse().unwrap();
    let probe =
        move || Planted::probe(marker_first).script([Step::apply(config_map("order", "new"))]).only([crash]).run();
    // As where blocking is allowed beside an event loop.
    let thread = std::thread::Builder::new().name("tokio-runtime-worker".to_string()).spawn(probe).unwrap();
    let report = thread.join().unwrap();
    let replay = format!("{REPLAY_VARIABLE}='crash-after-write:1' cargo test");
    assert_eq!(report.failures[0].replay, replay, "{report}");
}
