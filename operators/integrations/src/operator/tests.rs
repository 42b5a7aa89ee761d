#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use switchboard_kernel::operator::{Operator, Reaching};
use switchboard_kernel::plan::{Act, Mutation, Standing};
use switchboard_kernel::scene::Scene;

use super::*;
use crate::annotations;
use crate::desired::tests::{desired, files, runs};
use crate::desired::{Desired, resource};

const NOW: &str = "2026-01-01T00:00:00Z";

fn operator(desired: Desired, guard: Guard, compat: bool, take_over: bool) -> Reaching<Integrations> {
    let shelf = Arc::new(Shelf::new(guard, compat, take_over));
    shelf.put(Arc::new(desired));
    Reaching(Integrations::of("c1", shelf))
}

fn of(desired: Desired) -> Reaching<Integrations> {
    operator(desired, Guard::default(), false, false)
}

fn wanted(sharding: &str) -> Desired {
    desired(&files(&[("one", runs("/stage.yml", "", sharding))]), false)
}

/// What a server would hold after writes, over what it held.
fn carried(live: &[Value], plans: &[Plan]) -> Vec<Value> {
    let mut live = live.to_vec();
    let is = |object: &Value, m: &Mutation| object["kind"] == *m.resource.kind && object["metadata"]["name"] == *m.name;
    for mutation in plans.iter().flat_map(|plan| &plan.mutations) {
        match &mutation.act {
            Act::Create(body) => live.push(body.clone()),
            Act::Update(body) => {
                live.retain(|object| !is(object, mutation));
                live.push(body.clone());
            }
            Act::Delete { .. } => live.retain(|object| !is(object, mutation)),
            Act::Patch { body, .. } => {
                let at = live.iter().position(|object| is(object, mutation)).unwrap();
                live[at] = switchboard_object::patch::merge::apply(live[at].clone(), body.clone()).unwrap();
            }
            Act::Apply { .. } => panic!("nothing is applied"),
        }
    }
    live
}

fn scene(live: &[Value]) -> Scene {
    let mut scene = Scene::of(&NAMESPACES, [json!({"metadata": {"name": "stage-ns"}})]).at(NOW);
    for object in live {
        scene = scene.with(resource(object["kind"].as_str().unwrap()).unwrap(), [object.clone()]);
    }
    scene
}

fn run(operator: &Reaching<Integrations>, live: &[Value]) -> Vec<Plan> {
    let Units::Given(units) = operator.declaration().units else { panic!("units are given") };
    units.iter().map(|unit| scene(live).decide(operator, unit).unwrap()).collect()
}

fn writes(plans: &[Plan]) -> Vec<String> {
    plans.iter().flat_map(|plan| &plan.mutations).map(ToString::to_string).collect()
}

fn blocked(plans: &[Plan]) -> Vec<String> {
    let words = plans.iter().filter_map(|plan| match &plan.standing {
        Standing::Blocked(why) => Some(why.clone()),
        _ => None,
    });
    words.collect()
}

/// Everything that the operator makes on an empty cluster.
fn made(desired: &Desired) -> Vec<Value> {
    carried(&[], &run(&of(desired.clone()), &[]))
}

#[test]
fn everything_is_made_once_with_its_marks() {
    let desired = wanted("{strategy: static, shards: 2}");
    let plans = run(&of(desired.clone()), &[]);
    assert_eq!(
        writes(&plans),
        [
            "create services/stage-ns/q",
            "create deployments.apps/stage-ns/q-one-0",
            "create deployments.apps/stage-ns/q-one-1"
        ]
    );
    let live = carried(&[], &plans);
    let marks = &live[1]["metadata"]["annotations"];
    assert_eq!(
        (&marks[annotations::UPDATE], &marks[annotations::CALLER]),
        (&json!(NOW), &json!(crate::settings::DEFAULT_UPSTREAM))
    );
    assert_eq!(writes(&run(&of(desired), &live)), Vec::<String>::new());
}

#[test]
fn a_changed_shard_touches_its_object_and_a_removed_one_deletes_its_own() {
    let live = made(&wanted("{strategy: static, shards: 2}"));
    let image = wanted("{strategy: static, shards: 2, shardSpecOverrides: [{shard: 1, imageRef: x}]}");
    assert_eq!(writes(&run(&of(image), &live)), ["update deployments.apps/stage-ns/q-one-1"]);
    let disabled = wanted("{strategy: static, shards: 2, shardSpecOverrides: [{shard: 0, disabled: true}]}");
    let plans = run(&of(disabled), &live);
    assert_eq!(writes(&plans), ["update deployments.apps/stage-ns/q-one-0"]);
    assert_eq!(carried(&live, &plans).last().unwrap()["spec"]["replicas"], 0);
    let three = made(&wanted("{strategy: static, shards: 3}"));
    assert_eq!(
        writes(&run(&of(wanted("{strategy: static, shards: 2}")), &three)),
        ["delete deployments.apps/stage-ns/q-one-2"]
    );
}

#[test]
fn a_first_run_on_a_cluster_of_the_original_writes_nothing() {
    // The original writes the same marks and a copy of what it applied; the server adds defaults and status.
    let mut live = made(&wanted(""));
    for object in &mut live {
        object["metadata"]["annotations"][annotations::LAST_APPLIED] = "{}".into();
        object["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = "3".into();
        object["metadata"]["annotations"][annotations::UPDATE] = "2020-01-01T00:00:00Z".into();
        object["spec"]["defaulted"] = "by the server".into();
        object["status"] = json!({"x": 1});
    }
    assert_eq!(writes(&run(&of(wanted("")), &live)), Vec::<String>::new());
}

#[test]
fn what_was_made_by_hand_from_the_same_template_gets_marks_and_nothing_else() {
    let mut live = made(&wanted(""));
    for object in &mut live {
        object["metadata"]["annotations"] = json!({annotations::LAST_APPLIED: "{}", "mine": "stays"});
        object["spec"]["defaulted"] = 1.into();
    }
    let plans = run(&of(wanted("")), &live);
    assert_eq!(writes(&plans), ["patch services/stage-ns/q", "patch deployments.apps/stage-ns/q-one"]);
    let after = carried(&live, &plans);
    assert_eq!(after[1]["spec"], live[1]["spec"]);
    assert_eq!(after[1]["metadata"]["annotations"]["mine"], "stays");
    assert_eq!(after[1]["metadata"]["annotations"].get(annotations::LAST_APPLIED), None);
    assert_eq!(writes(&run(&of(wanted("")), &after)), Vec::<String>::new());
}

/// Spec 8.2, 5: taking over is asked for, what is shared is nobody's to fight over.
#[test]
fn objects_of_other_callers_and_integrations_are_untouched() {
    let theirs = |caller: &str, integration: &str| {
        let mut live = made(&wanted(""));
        for object in &mut live {
            object["metadata"]["annotations"][annotations::CALLER] = caller.into();
            object["metadata"]["annotations"][annotations::INTEGRATION] = integration.into();
        }
        live
    };
    let live = theirs("https://else", annotations::OUR_NAME);
    let plans = run(&of(wanted("")), &live);
    assert_eq!(writes(&plans), Vec::<String>::new());
    assert_eq!(blocked(&plans), ["Deployment q-one belongs to caller https://else; `takeOver` takes it"]);
    let taken = operator(
        wanted("{strategy: static, shards: 1, shardSpecOverrides: [{shard: 0, imageRef: y}]}"),
        Guard::default(),
        false,
        true,
    );
    assert_eq!(writes(&run(&taken, &live)), ["update deployments.apps/stage-ns/q-one"]);
    let live = theirs("https://else", "openshift-resources");
    assert_eq!(writes(&run(&of(wanted("")), &live)), Vec::<String>::new());
    let nothing = Desired { targets: Default::default(), ..wanted("") };
    let mut foreign = made(&wanted(""));
    foreign[1]["metadata"]["annotations"] = json!({});
    foreign[0]["metadata"]["annotations"][annotations::CALLER] = "https://else".into();
    let empty = Desired { empty: wanted("").targets.values().map(|t| t.namespace.clone()).collect(), ..nothing };
    let plans: Vec<Plan> =
        [scene(&foreign).decide(&of(empty), &Unit::object("stage-ns", "_namespace")).unwrap()].into();
    assert_eq!(writes(&plans), Vec::<String>::new());
}

/// As the original has it, a manager that was told no upstream deletes for all; one that was told its own does not, even if
/// that is the default one.
#[test]
fn with_a_named_upstream_only_its_own_objects_are_seen_in_compat_as_well() {
    let mut live = made(&wanted("{strategy: static, shards: 2}"));
    live[2]["metadata"]["annotations"][annotations::CALLER] = "https://else".into();
    let fewer = |upstream: Option<&str>| {
        let mut settings = crate::desired::tests::settings(true);
        settings.scope.upstream = upstream.map(str::to_string);
        let one = runs("/stage.yml", "", "{strategy: static, shards: 1}");
        let one = format!("{one}upstream: {}\n", crate::settings::DEFAULT_UPSTREAM);
        let desired =
            crate::desired::Builder::new(crate::desired::tests::chart(), settings).build(&files(&[("one", one)]));
        assert_eq!((desired.problems(), desired.len()), (Vec::new(), 2));
        let plans = run(&operator(desired, Guard::default(), true, false), &live);
        let deletions = writes(&plans).into_iter().filter(|write| write.starts_with("delete"));
        deletions.collect::<Vec<_>>()
    };
    assert_eq!(fewer(None), ["delete deployments.apps/stage-ns/q-one-0", "delete deployments.apps/stage-ns/q-one-1"]);
    assert_eq!(fewer(Some(crate::settings::DEFAULT_UPSTREAM)), ["delete deployments.apps/stage-ns/q-one-0"]);
}

/// What is shared stays when it could not be made this time: alone, and with all of the namespace as the original does it.
#[test]
fn what_is_shared_is_not_deleted_because_it_could_not_be_made() {
    let live = made(&wanted(""));
    let chart = || {
        let broken = "{{ if not .Values.integrations }}{{ fail \"no integrations\" }}{{ end }}";
        let broken = format!(
            "{broken}{{{{ range .Values.integrations }}}}{{{{ if .cache }}}}{{{{ fail \"no cache\" }}}}{{{{ end }}}}{{{{ end }}}}"
        );
        crate::desired::tests::chart_with(&broken)
    };
    for (compat, spec) in [(false, ""), (true, ", cache: true")] {
        let settings = crate::desired::tests::settings(compat);
        let bundle = files(&[("other", runs("/stage.yml", spec, ""))]);
        let desired = crate::desired::Builder::new(chart(), settings).build(&bundle);
        assert_eq!(desired.problems().len(), 1, "{:?}", desired.problems());
        let plans = run(&operator(desired, Guard::default(), compat, false), &live);
        assert!(writes(&plans).iter().all(|write| !write.starts_with("delete")), "{compat}: {:?}", writes(&plans));
        assert!(blocked(&plans).iter().any(|why| why.contains("does not delete")), "{compat}: {:?}", blocked(&plans));
    }
}

/// What has no marks and is not from this template is somebody's: neither written over nor made again.
#[test]
fn what_somebody_else_made_under_the_same_name_is_left_alone() {
    let mut live = made(&wanted(""));
    for object in &mut live {
        object["metadata"]["annotations"] = json!({});
    }
    live[0]["spec"]["selector"] = json!({"app": "mine"});
    live[1]["spec"]["selector"] = json!({"matchLabels": {"app": "mine"}});
    live[1]["spec"]["template"]["spec"]["containers"][0]["image"] = "mine:1".into();
    let plans = run(&of(wanted("")), &live);
    assert_eq!(writes(&plans), Vec::<String>::new());
    let not_ours = "was made by somebody else, and not from this template; `takeOver` takes it";
    assert_eq!(blocked(&plans), [format!("Service q {not_ours}"), format!("Deployment q-one {not_ours}")]);
    let taken = run(&operator(wanted(""), Guard::default(), false, true), &live);
    assert_eq!(writes(&taken), ["update services/stage-ns/q", "delete deployments.apps/stage-ns/q-one"]);
}

/// Spec 8.2, 4: when the last entry of a namespace is gone, what it left is found.
#[test]
fn orphans_of_a_namespace_in_which_nothing_runs_any_more_are_deleted() {
    let live = made(&wanted(""));
    let moved = desired(&files(&[("one", runs("/prod.yml", "", ""))]), false);
    assert!(moved.targets.keys().all(|(cluster, _)| **cluster != *"c1"), "nothing runs on the cluster any more");
    let plans = run(&of(moved), &live);
    assert_eq!(writes(&plans), ["delete deployments.apps/stage-ns/q-one", "delete services/stage-ns/q"]);
    // More than a few are not deleted unasked, however little is left.
    let many = made(&wanted("{strategy: static, shards: 6}"));
    let moved = || desired(&files(&[("one", runs("/prod.yml", "", ""))]), false);
    let plans = run(&of(moved()), &many);
    assert!(
        writes(&plans).is_empty() && blocked(&plans)[0].starts_with("would delete 7 of 7"),
        "{:?}",
        blocked(&plans)
    );
    let told = operator(moved(), Guard { allowed: 7, ..Guard::default() }, false, false);
    assert_eq!(writes(&run(&told, &many)).len(), 7);
}

/// Spec 8.2, 6: where it is asked for, new workloads are told apart by a label; those that are there keep their selectors.
#[test]
fn new_shards_have_selectors_of_their_own_where_that_is_asked_for() {
    let labelling = |desired: Desired| {
        let shelf = Arc::new(Shelf::new(Guard::default(), false, false).labelling(true));
        shelf.put(Arc::new(desired));
        Reaching(Integrations::of("c1", shelf))
    };
    let one = || wanted("{strategy: static, shards: 1}");
    let two = || wanted("{strategy: static, shards: 2}");
    let live = carried(&[], &run(&labelling(two()), &[]));
    let selector = |index: usize| live[index]["spec"]["selector"]["matchLabels"].clone();
    assert_eq!(selector(1), json!({"app": "q-one", "switchboard.dev/shard": "0"}));
    assert_eq!(selector(2), json!({"app": "q-one", "switchboard.dev/shard": "1"}));
    assert_eq!(live[1]["spec"]["template"]["metadata"]["labels"], selector(1));
    assert_eq!(writes(&run(&labelling(two()), &live)), Vec::<String>::new());
    assert_eq!(writes(&run(&of(two()), &live)), Vec::<String>::new(), "a selector that is there stays");
    let old = made(&two());
    assert_eq!(writes(&run(&labelling(two()), &old)), Vec::<String>::new(), "a selector that is there stays");
    assert_eq!(carried(&[], &run(&labelling(one()), &[]))[1]["spec"]["selector"], made(&one())[1]["spec"]["selector"]);
}

/// Spec 8.1, 1 and 2: what fails deletes nothing, and much is not deleted without being told.
#[test]
fn deletions_are_guarded_and_never_follow_from_what_is_wrong() {
    let live = made(&wanted("{strategy: static, shards: 20}"));
    let fewer = || wanted("{strategy: static, shards: 2}");
    let plans = run(&of(fewer()), &live);
    assert_eq!(writes(&plans), Vec::<String>::new());
    assert!(blocked(&plans)[0].starts_with("would delete 18 of 21 objects: q-one-10,"), "{:?}", blocked(&plans));
    let told = operator(fewer(), Guard { allowed: 18, ..Guard::default() }, false, false);
    assert_eq!(writes(&run(&told, &live)).len(), 18);
    let none = operator(wanted(""), Guard { always: 0, ..Guard::default() }, false, false);
    let two = made(&wanted("{strategy: static, shards: 2}"));
    assert!(blocked(&run(&none, &two))[0].starts_with("would delete 2 of"), "a share alone, where that is asked for");
    let bad = wanted("{strategy: per-moon}");
    let plans = run(&of(bad), &made(&wanted("")));
    assert_eq!(writes(&plans), Vec::<String>::new());
    let mut unreadable = wanted("");
    unreadable.unreadable.push(crate::problem::Problem::of_file("/x.yml", "is not UTF-8"));
    let plans = run(&of(unreadable), &made(&wanted("{strategy: static, shards: 2}")));
    assert!(writes(&plans).iter().all(|write| !write.starts_with("delete")), "{:?}", writes(&plans));
    assert!(blocked(&plans)[0].contains("/x.yml: is not UTF-8"), "{:?}", blocked(&plans));
}

#[test]
fn drift_is_written_back_and_a_restart_by_hand_stays() {
    let live = made(&wanted(""));
    let mut drifted = live.clone();
    drifted[1]["spec"]["replicas"] = 5.into();
    assert_eq!(writes(&run(&of(wanted("")), &drifted)), ["update deployments.apps/stage-ns/q-one"]);
    let mut restarted = live.clone();
    restarted[1]["spec"]["template"]["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/restartedAt": "now"});
    // As in the original, one write follows, which keeps the restart, and then none.
    let plans = run(&of(wanted("")), &restarted);
    let after = carried(&restarted, &plans);
    assert_eq!(after[1]["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"], "now");
    assert_eq!(writes(&run(&of(wanted("")), &after)), Vec::<String>::new());
}

#[test]
fn fields_that_cannot_change_lead_to_a_new_object() {
    let stateful = desired(&files(&[("one", runs("/stage.yml", ", cache: true", ""))]), false);
    let mut live = made(&stateful);
    live[1]["spec"]["selector"] = json!({"matchLabels": {"app": "old"}});
    let plans = run(&of(stateful), &live);
    assert_eq!(writes(&plans), ["delete statefulsets.apps/stage-ns/q-one"]);
    let Act::Delete { propagation } = &plans[1].mutations[0].act else { panic!("{plans:?}") };
    assert_eq!(propagation.as_deref(), Some("Orphan"));
}

#[test]
fn a_namespace_that_is_not_there_is_waited_for() {
    let plan = Scene::default().at(NOW).decide(&of(wanted("")), &Unit::object("stage-ns", "one")).unwrap();
    assert_eq!(plan.standing, Standing::Waiting("namespace stage-ns to exist on cluster c1".to_string()));
}

/// Only the units for which something is different look again.
#[test]
fn the_shelf_says_whom_to_wake() {
    let shelf = Shelf::new(Guard::default(), false, false);
    let two = |memory: &str| {
        desired(
            &files(&[("one", runs("/stage.yml", "", "")), ("two", runs("/stage.yml", "", "").replace("2Mi", memory))]),
            false,
        )
    };
    let first = shelf.put(Arc::new(two("2Mi")));
    assert_eq!(first[0].changed.len(), 3);
    assert!(shelf.put(Arc::new(two("2Mi"))).iter().all(|one| one.changed.is_empty()));
    assert_eq!(shelf.put(Arc::new(two("3Mi")))[0].changed, [Unit::object("stage-ns", "two")]);
    let gone = shelf.put(Arc::new(wanted("")));
    assert_eq!(gone[0].changed, [Unit::object("stage-ns", "_namespace"), Unit::object("stage-ns", "two")]);
}
