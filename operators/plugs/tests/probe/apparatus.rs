//! Fault tests with apparatuses: failing programs, and faults of the operators around calls. No event is skipped or
//! repeated with a different mark, and the end state is the one of an undisturbed run.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_kernel::operator::{AccessRule, DecideError, Declaration, Operator, Unit, Units};
use switchboard_kernel::plan::{Mutation, PatchType, Plan};
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::topology::ClusterType;
use switchboard_kernel::view::View;
use switchboard_plugs::apparatus::ADDRESS_ANNOTATION;
use switchboard_probe::{Fault, FaultClass, Probe, ScriptStep, schedule};

use super::program::{CallFailure, RecordedCall, TestProgram};
use super::{SAMPLE, base_objects, map, object, operators, spread_sample};

const PODS: Resource = Resource::namespaced("", "v1", "Pod", "pods");
/// Longer than a run: idle pods have tests of their own.
const LONG_S: u32 = 1_000_000_000;

/// Marks every pod as running, with the listen address of the program.
struct KubeletOperator(String);

impl Operator for KubeletOperator {
    fn name(&self) -> &str {
        "kubelet"
    }

    fn declaration(&self) -> Declaration {
        Declaration {
            inputs: BTreeSet::from([AccessRule::every_kind()]),
            outputs: BTreeSet::from([AccessRule::every_kind()]),
            service_account: None,
            units: Units::Each {
                cluster_type: ClusterType::Configuration,
                resource: PODS,
                selection: Selection::all(),
            },
        }
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let mut plan = Plan::ordered();
        let Some(pod) = view.get(&PODS, unit.namespace(), unit.name())?.map(|pod| pod.value()) else { return Ok(plan) };
        let patch = |body: Value| Mutation::patch(&PODS, unit.namespace(), unit.name(), PatchType::Merge, body);
        if pod["metadata"]["annotations"][ADDRESS_ANNOTATION].is_null() {
            plan.push(patch(json!({"metadata": {"annotations": {ADDRESS_ANNOTATION: self.0}}})));
        } else if pod["status"]["phase"] != "Running" {
            plan.push(patch(json!({"status": {"phase": "Running"}})).status());
        }
        Ok(plan)
    }
}

/// Location of the socket's program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProgramLocation {
    /// In a pod of its own.
    Pod,
    /// At an external URL. The address of a pod's Service depends on the order of all writes, which faults change.
    Elsewhere,
}

/// Returns the whole lifecycle of a plug with an external program, and of a socket with a program.
fn probe(program: &TestProgram, location: ProgramLocation) -> Probe {
    let address = program.address.to_string();
    let all = move || {
        let mut all = operators();
        all.push(Arc::new(KubeletOperator(address.clone())));
        all
    };
    let container = json!({"name": "api", "image": "api:1", "ports": [{"containerPort": 80}]});
    let (endpoint, containers) = match location {
        ProgramLocation::Pod => ("/socket".to_string(), json!([container])),
        ProgramLocation::Elsewhere => (format!("http://{}/socket", program.address), json!([])),
    };
    let socket = json!({"config": {"hello": "world"},
        "apparatus": {"endpoint": endpoint, "idleTimeout": LONG_S, "containers": containers},
        "resources": [{"template": map("of-{% .plug.metadata.name %}", json!({"realm": "{% .socketConfig.realm %}"}))}]});
    let plug = json!({"socket": {"name": "db", "namespace": "data"},
        "apparatus": {"endpoint": format!("http://{}/plug", program.address), "containers": []}});
    let script = vec![
        ScriptStep::apply(object("Plug", "shop", "web", plug)),
        ScriptStep::patch(object("Socket", "data", "db", json!({"config": {"hello": "mars"}}))),
        ScriptStep::delete(object("Plug", "shop", "web", json!({}))),
        ScriptStep::delete(object("Socket", "data", "db", json!({}))),
    ];
    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "data"}});
    let given = base_objects().into_iter().chain([account, object("Socket", "data", "db", socket)]);
    Probe::of_all(all).given(given).script(script).threads(1)
}

/// Returns the events of a side, without repetitions: the last segments of the paths.
fn events(heard: &[RecordedCall], side: &str) -> Vec<String> {
    let mut known = BTreeSet::new();
    let of_side = heard.iter().filter(|one| one.path.starts_with(side) && !one.mark.is_empty());
    let new = of_side.filter(|one| known.insert(one.mark.clone()));
    new.map(|one| one.path.rsplit('/').next().unwrap_or_default().to_string()).collect()
}

const LIFE: [&str; 5] = ["created", "coupled", "updated", "decoupled", "deleted"];

/// Returns the problem with the recorded calls of both sides, if any. `all` requires that each side received every
/// event.
fn problem(heard: &[RecordedCall], all: bool, twice: usize) -> Option<String> {
    for side in ["/plug/", "/socket/"] {
        let events = events(heard, side);
        let mut life = LIFE.iter();
        let in_order = events.iter().all(|event| life.any(|known| known == event));
        if !in_order || (all && events != LIFE) {
            return Some(format!("{side} heard {events:?}"));
        }
    }
    let marked: Vec<&str> = heard.iter().map(|one| one.mark.as_str()).filter(|mark| !mark.is_empty()).collect();
    let distinct: BTreeSet<&str> = marked.iter().copied().collect();
    let repeated = marked.len() - distinct.len();
    (repeated > twice).then(|| format!("{repeated} events were sent again: {heard:?}"))
}

/// Performs one run for each fault with the given failure of the program, and checks the recorded calls.
fn run(program: &TestProgram, location: ProgramLocation, runs: Vec<(Fault, Option<(usize, CallFailure)>)>) {
    let wrong: Arc<Mutex<Vec<String>>> = Arc::default();
    program.next(None);
    // The undisturbed run is not reported, so another one precedes the faults.
    let faults: Vec<Fault> =
        std::iter::once(Fault::none()).chain(runs.iter().map(|(fault, _)| fault.clone())).collect();
    let (count, noted, asked) = (runs.len(), wrong.clone(), program.clone());
    let report = probe(program, location)
        .only(faults)
        .on_progress(move |done, _| {
            let (heard, _) = asked.next(runs.get(done - 1).and_then(|(_, failure)| *failure));
            let Some((fault, failure)) = done.checked_sub(2).and_then(|at| runs.get(at)) else { return };
            let blind =
                [FaultClass::Stale, FaultClass::Missed, FaultClass::Merged].iter().any(|class| fault.has_class(*class));
            // A call before a crash is repeated once with the same mark. A call whose record was refused is repeated
            // for every refusal.
            let struck: u32 = if fault.has_class(FaultClass::Response) {
                fault.parts().iter().map(|part| part.times).sum()
            } else {
                1
            };
            let struck = if *fault == Fault::none() { 0 } else { struck };
            let twice = usize::try_from(struck).unwrap() + usize::from(failure.is_some());
            noted
                .lock()
                .unwrap()
                .extend(problem(&heard, !blind, twice).map(|what| format!("{fault} {failure:?}: {what}")));
        })
        .run();
    println!("{count} runs, {} writes, {} events", report.writes, report.events);
    report.assert_ok();
    let wrong = wrong.lock().unwrap();
    assert!(wrong.is_empty(), "{} of {count} runs:\n{}", wrong.len(), wrong.join("\n"));
}

/// Returns the numbers of calls, writes and events in an undisturbed run.
fn undisturbed(program: &TestProgram, location: ProgramLocation) -> (usize, u32, u32) {
    let report = probe(program, location).only([]).run();
    report.assert_ok();
    let (heard, calls) = program.next(None);
    assert_eq!(problem(&heard, true, 0), None);
    (calls, report.writes, report.events)
}

#[test]
fn a_program_fails_at_each_of_its_calls() {
    let program = TestProgram::start();
    let (calls, _, _) = undisturbed(&program, ProgramLocation::Pod);
    assert!(calls > 10, "{calls} calls");
    let each = (0..calls).flat_map(|at| CallFailure::ALL.map(|manner| (Fault::none(), Some((at, manner)))));
    run(&program, ProgramLocation::Pod, spread_sample(each.collect(), SAMPLE));
}

#[test]
fn faults_around_programs_leave_out_no_event_and_tell_none_twice() {
    let program = TestProgram::start();
    let (_, writes, events) = undisturbed(&program, ProgramLocation::Elsewhere);
    let all = spread_sample(schedule(writes, events), SAMPLE);
    run(&program, ProgramLocation::Elsewhere, all.into_iter().map(|fault| (fault, None)).collect());
}
