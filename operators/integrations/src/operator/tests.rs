#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use switchboard_kernel::fake_view::FakeView;
use switchboard_kernel::plan::{Mutation, UnitStatus, WriteOp};

use super::*;
use crate::annotations;
use crate::desired::tests::{desired, files, runs};
use crate::desired::{DesiredObjects, resource};

const NOW: &str = "2026-01-01T00:00:00Z";

fn operator(desired: DesiredObjects, guard: DeletionGuard, compat: bool, take_over: bool) -> IntegrationsOperator {
    let store = Arc::new(DesiredStore::new(guard, compat, take_over));
    store.replace(Arc::new(desired));
    IntegrationsOperator::new("c1", store)
}

fn default_operator(desired: DesiredObjects) -> IntegrationsOperator {
    operator(desired, DeletionGuard::default(), false, false)
}

fn desired_shards(sharding: &str) -> DesiredObjects {
    desired(&files(&[("one", runs("/stage.yml", "", sharding))]), false)
}

/// Applies the writes of the plans to the live objects.
fn apply_plans(live: &[Value], plans: &[Plan]) -> Vec<Value> {
    let mut live = live.to_vec();
    let is = |object: &Value, m: &Mutation| object["kind"] == *m.resource.kind && object["metadata"]["name"] == *m.name;
    for mutation in plans.iter().flat_map(|plan| &plan.mutations) {
        match &mutation.operation {
            WriteOp::Create(body) => live.push(body.clone()),
            WriteOp::Update(body) => {
                live.retain(|object| !is(object, mutation));
                live.push(body.clone());
            }
            WriteOp::Delete { .. } => live.retain(|object| !is(object, mutation)),
            WriteOp::Patch { body, .. } => {
                let at = live.iter().position(|object| is(object, mutation)).unwrap();
                live[at] = switchboard_object::patch::merge::apply(live[at].clone(), body.clone()).unwrap();
            }
            WriteOp::Apply { .. } => panic!("nothing is applied"),
        }
    }
    live
}

fn fake_view(live: &[Value]) -> FakeView {
    let mut scene = FakeView::of(&NAMESPACES, [json!({"metadata": {"name": "stage-ns"}})]).at(NOW);
    for object in live {
        scene = scene.with(resource(object["kind"].as_str().unwrap()).unwrap(), [object.clone()]);
    }
    scene
}

fn run(operator: &IntegrationsOperator, live: &[Value]) -> Vec<Plan> {
    let Units::External(units) = operator.declaration().units else { panic!("units are given") };
    units.iter().map(|unit| fake_view(live).decide(operator, unit).unwrap()).collect()
}

fn writes(plans: &[Plan]) -> Vec<String> {
    plans.iter().flat_map(|plan| &plan.mutations).map(ToString::to_string).collect()
}

fn blocked(plans: &[Plan]) -> Vec<String> {
    let words = plans.iter().filter_map(|plan| match &plan.status {
        UnitStatus::Blocked(why) => Some(why.clone()),
        _ => None,
    });
    words.collect()
}

/// Returns the objects that the operator creates on an empty cluster.
fn created_objects(desired: &DesiredObjects) -> Vec<Value> {
    apply_plans(&[], &run(&default_operator(desired.clone()), &[]))
}

#[test]
fn objects_are_created_once_with_annotations() {
    let desired = desired_shards("{strategy: static, shards: 2}");
    let plans = run(&default_operator(desired.clone()), &[]);
    assert_eq!(
        writes(&plans),
        [
            "create services/stage-ns/q",
            "create deployments.apps/stage-ns/q-one-0",
            "create deployments.apps/stage-ns/q-one-1"
        ]
    );
    let live = apply_plans(&[], &plans);
    let marks = &live[1]["metadata"]["annotations"];
    assert_eq!(
        (&marks[annotations::UPDATE], &marks[annotations::CALLER]),
        (&json!(NOW), &json!(crate::settings::DEFAULT_UPSTREAM))
    );
    assert_eq!(writes(&run(&default_operator(desired), &live)), Vec::<String>::new());
}

#[test]
fn a_changed_shard_updates_its_object_and_a_removed_one_deletes_it() {
    let live = created_objects(&desired_shards("{strategy: static, shards: 2}"));
    let image = desired_shards("{strategy: static, shards: 2, shardSpecOverrides: [{shard: 1, imageRef: x}]}");
    assert_eq!(writes(&run(&default_operator(image), &live)), ["update deployments.apps/stage-ns/q-one-1"]);
    let disabled = desired_shards("{strategy: static, shards: 2, shardSpecOverrides: [{shard: 0, disabled: true}]}");
    let plans = run(&default_operator(disabled), &live);
    assert_eq!(writes(&plans), ["update deployments.apps/stage-ns/q-one-0"]);
    assert_eq!(apply_plans(&live, &plans).last().unwrap()["spec"]["replicas"], 0);
    let three = created_objects(&desired_shards("{strategy: static, shards: 3}"));
    assert_eq!(
        writes(&run(&default_operator(desired_shards("{strategy: static, shards: 2}")), &three)),
        ["delete deployments.apps/stage-ns/q-one-2"]
    );
}

#[test]
fn a_first_run_on_a_cluster_of_qontract_reconcile_writes_nothing() {
    // qontract-reconcile writes the same annotations and a last-applied copy; the server adds defaults and status.
    let mut live = created_objects(&desired_shards(""));
    for object in &mut live {
        object["metadata"]["annotations"][annotations::LAST_APPLIED] = "{}".into();
        object["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = "3".into();
        object["metadata"]["annotations"][annotations::UPDATE] = "2020-01-01T00:00:00Z".into();
        object["spec"]["defaulted"] = "by the server".into();
        object["status"] = json!({"x": 1});
    }
    assert_eq!(writes(&run(&default_operator(desired_shards("")), &live)), Vec::<String>::new());
}

#[test]
fn a_manually_created_object_of_the_same_template_only_gets_annotations() {
    let mut live = created_objects(&desired_shards(""));
    for object in &mut live {
        object["metadata"]["annotations"] = json!({annotations::LAST_APPLIED: "{}", "mine": "stays"});
        object["spec"]["defaulted"] = 1.into();
    }
    let plans = run(&default_operator(desired_shards("")), &live);
    assert_eq!(writes(&plans), ["patch services/stage-ns/q", "patch deployments.apps/stage-ns/q-one"]);
    let after = apply_plans(&live, &plans);
    assert_eq!(after[1]["spec"], live[1]["spec"]);
    assert_eq!(after[1]["metadata"]["annotations"]["mine"], "stays");
    assert_eq!(after[1]["metadata"]["annotations"].get(annotations::LAST_APPLIED), None);
    assert_eq!(writes(&run(&default_operator(desired_shards("")), &after)), Vec::<String>::new());
}

/// Spec 8.2, 5: taking over is explicit, and callers do not compete for shared objects.
#[test]
fn objects_of_other_callers_and_integrations_are_untouched() {
    let theirs = |caller: &str, integration: &str| {
        let mut live = created_objects(&desired_shards(""));
        for object in &mut live {
            object["metadata"]["annotations"][annotations::CALLER] = caller.into();
            object["metadata"]["annotations"][annotations::INTEGRATION] = integration.into();
        }
        live
    };
    let live = theirs("https://else", annotations::OUR_NAME);
    let plans = run(&default_operator(desired_shards("")), &live);
    assert_eq!(writes(&plans), Vec::<String>::new());
    assert_eq!(blocked(&plans), ["Deployment q-one belongs to caller https://else; set `takeOver` to take it over"]);
    let taken = operator(
        desired_shards("{strategy: static, shards: 1, shardSpecOverrides: [{shard: 0, imageRef: y}]}"),
        DeletionGuard::default(),
        false,
        true,
    );
    assert_eq!(writes(&run(&taken, &live)), ["update deployments.apps/stage-ns/q-one"]);
    let live = theirs("https://else", "openshift-resources");
    assert_eq!(writes(&run(&default_operator(desired_shards("")), &live)), Vec::<String>::new());
    let nothing = DesiredObjects { namespaces: Default::default(), ..desired_shards("") };
    let mut foreign = created_objects(&desired_shards(""));
    foreign[1]["metadata"]["annotations"] = json!({});
    foreign[0]["metadata"]["annotations"][annotations::CALLER] = "https://else".into();
    let empty = DesiredObjects {
        empty: desired_shards("").namespaces.values().map(|t| t.namespace.clone()).collect(),
        ..nothing
    };
    let plans: Vec<Plan> =
        [fake_view(&foreign).decide(&default_operator(empty), &Unit::object("stage-ns", "_namespace")).unwrap()].into();
    assert_eq!(writes(&plans), Vec::<String>::new());
}

/// In qontract-reconcile, a run without an upstream deletes objects of all upstreams. A run with an upstream does not,
/// even if it is the default one.
#[test]
fn with_an_upstream_only_its_objects_are_deleted_in_compatibility_mode() {
    let mut live = created_objects(&desired_shards("{strategy: static, shards: 2}"));
    live[2]["metadata"]["annotations"][annotations::CALLER] = "https://else".into();
    let fewer = |upstream: Option<&str>| {
        let mut settings = crate::desired::tests::settings(true);
        settings.scope.upstream = upstream.map(str::to_string);
        let one = runs("/stage.yml", "", "{strategy: static, shards: 1}");
        let one = format!("{one}upstream: {}\n", crate::settings::DEFAULT_UPSTREAM);
        let desired = crate::desired::DesiredBuilder::new(crate::desired::tests::chart(), settings)
            .build(&files(&[("one", one)]));
        assert_eq!((desired.problems(), desired.len()), (Vec::new(), 2));
        let plans = run(&operator(desired, DeletionGuard::default(), true, false), &live);
        let deletions = writes(&plans).into_iter().filter(|write| write.starts_with("delete"));
        deletions.collect::<Vec<_>>()
    };
    assert_eq!(fewer(None), ["delete deployments.apps/stage-ns/q-one-0", "delete deployments.apps/stage-ns/q-one-1"]);
    assert_eq!(fewer(Some(crate::settings::DEFAULT_UPSTREAM)), ["delete deployments.apps/stage-ns/q-one-0"]);
}

/// Shared objects are kept if their rendering fails, both separately and with the whole namespace as in
/// qontract-reconcile.
#[test]
fn shared_objects_are_kept_if_their_rendering_fails() {
    let live = created_objects(&desired_shards(""));
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
        let desired = crate::desired::DesiredBuilder::new(chart(), settings).build(&bundle);
        assert_eq!(desired.problems().len(), 1, "{:?}", desired.problems());
        let plans = run(&operator(desired, DeletionGuard::default(), compat, false), &live);
        assert!(writes(&plans).iter().all(|write| !write.starts_with("delete")), "{compat}: {:?}", writes(&plans));
        assert!(blocked(&plans).iter().any(|why| why.contains("does not delete")), "{compat}: {:?}", blocked(&plans));
    }
}

/// An object without annotations and from another template belongs to another manager: it is neither replaced nor
/// recreated.
#[test]
fn an_object_of_another_manager_with_the_same_name_is_kept() {
    let mut live = created_objects(&desired_shards(""));
    for object in &mut live {
        object["metadata"]["annotations"] = json!({});
    }
    live[0]["spec"]["selector"] = json!({"app": "mine"});
    live[1]["spec"]["selector"] = json!({"matchLabels": {"app": "mine"}});
    live[1]["spec"]["template"]["spec"]["containers"][0]["image"] = "mine:1".into();
    let plans = run(&default_operator(desired_shards("")), &live);
    assert_eq!(writes(&plans), Vec::<String>::new());
    let not_ours =
        "was not created by an integrations manager and differs from the template; set `takeOver` to take it over";
    assert_eq!(blocked(&plans), [format!("Service q {not_ours}"), format!("Deployment q-one {not_ours}")]);
    let taken = run(&operator(desired_shards(""), DeletionGuard::default(), false, true), &live);
    assert_eq!(writes(&taken), ["update services/stage-ns/q", "delete deployments.apps/stage-ns/q-one"]);
}

/// Spec 8.2, 4: objects are found after the last entry of their namespace is deleted.
#[test]
fn orphans_of_an_empty_namespace_are_deleted() {
    let live = created_objects(&desired_shards(""));
    let moved = desired(&files(&[("one", runs("/prod.yml", "", ""))]), false);
    assert!(moved.namespaces.keys().all(|(cluster, _)| **cluster != *"c1"), "nothing runs on the cluster any more");
    let plans = run(&default_operator(moved), &live);
    assert_eq!(writes(&plans), ["delete deployments.apps/stage-ns/q-one", "delete services/stage-ns/q"]);
    // Larger numbers of deletions require confirmation, even if few objects are left.
    let many = created_objects(&desired_shards("{strategy: static, shards: 6}"));
    let moved = || desired(&files(&[("one", runs("/prod.yml", "", ""))]), false);
    let plans = run(&default_operator(moved()), &many);
    assert!(
        writes(&plans).is_empty() && blocked(&plans)[0].starts_with("would delete 7 of 7"),
        "{:?}",
        blocked(&plans)
    );
    let told = operator(moved(), DeletionGuard { allowed: 7, ..DeletionGuard::default() }, false, false);
    assert_eq!(writes(&run(&told, &many)).len(), 7);
}

/// Spec 8.2, 6: if enabled, new workloads get a shard label; existing ones keep their selectors.
#[test]
fn new_shards_have_their_own_selectors_if_enabled() {
    let labelling = |desired: DesiredObjects| {
        let store = Arc::new(DesiredStore::new(DeletionGuard::default(), false, false).with_shard_labels(true));
        store.replace(Arc::new(desired));
        IntegrationsOperator::new("c1", store)
    };
    let one = || desired_shards("{strategy: static, shards: 1}");
    let two = || desired_shards("{strategy: static, shards: 2}");
    let live = apply_plans(&[], &run(&labelling(two()), &[]));
    let selector = |index: usize| live[index]["spec"]["selector"]["matchLabels"].clone();
    assert_eq!(selector(1), json!({"app": "q-one", "switchboard.dev/shard": "0"}));
    assert_eq!(selector(2), json!({"app": "q-one", "switchboard.dev/shard": "1"}));
    assert_eq!(live[1]["spec"]["template"]["metadata"]["labels"], selector(1));
    assert_eq!(writes(&run(&labelling(two()), &live)), Vec::<String>::new());
    assert_eq!(writes(&run(&default_operator(two()), &live)), Vec::<String>::new(), "a selector that is there stays");
    let old = created_objects(&two());
    assert_eq!(writes(&run(&labelling(two()), &old)), Vec::<String>::new(), "a selector that is there stays");
    assert_eq!(
        apply_plans(&[], &run(&labelling(one()), &[]))[1]["spec"]["selector"],
        created_objects(&one())[1]["spec"]["selector"]
    );
}

/// Spec 8.1, 1 and 2: problems cause no deletions, and many deletions require confirmation.
#[test]
fn deletions_are_limited_and_never_caused_by_problems() {
    let live = created_objects(&desired_shards("{strategy: static, shards: 20}"));
    let fewer = || desired_shards("{strategy: static, shards: 2}");
    let plans = run(&default_operator(fewer()), &live);
    assert_eq!(writes(&plans), Vec::<String>::new());
    assert!(blocked(&plans)[0].starts_with("would delete 18 of 21 objects: q-one-10,"), "{:?}", blocked(&plans));
    let told = operator(fewer(), DeletionGuard { allowed: 18, ..DeletionGuard::default() }, false, false);
    assert_eq!(writes(&run(&told, &live)).len(), 18);
    let none = operator(desired_shards(""), DeletionGuard { always: 0, ..DeletionGuard::default() }, false, false);
    let two = created_objects(&desired_shards("{strategy: static, shards: 2}"));
    assert!(blocked(&run(&none, &two))[0].starts_with("would delete 2 of"), "a share alone, where that is asked for");
    let bad = desired_shards("{strategy: per-moon}");
    let plans = run(&default_operator(bad), &created_objects(&desired_shards("")));
    assert_eq!(writes(&plans), Vec::<String>::new());
    let mut unreadable = desired_shards("");
    unreadable.unreadable.push(crate::problem::DataProblem::of_file("/x.yml", "is not UTF-8"));
    let plans = run(&default_operator(unreadable), &created_objects(&desired_shards("{strategy: static, shards: 2}")));
    assert!(writes(&plans).iter().all(|write| !write.starts_with("delete")), "{:?}", writes(&plans));
    assert!(blocked(&plans)[0].contains("/x.yml: is not UTF-8"), "{:?}", blocked(&plans));
}

#[test]
fn drift_is_reverted_and_a_manual_restart_is_kept() {
    let live = created_objects(&desired_shards(""));
    let mut drifted = live.clone();
    drifted[1]["spec"]["replicas"] = 5.into();
    assert_eq!(
        writes(&run(&default_operator(desired_shards("")), &drifted)),
        ["update deployments.apps/stage-ns/q-one"]
    );
    let mut restarted = live.clone();
    restarted[1]["spec"]["template"]["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/restartedAt": "now"});
    // As in qontract-reconcile, one write follows that preserves the restart, and then none.
    let plans = run(&default_operator(desired_shards("")), &restarted);
    let after = apply_plans(&restarted, &plans);
    assert_eq!(after[1]["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"], "now");
    assert_eq!(writes(&run(&default_operator(desired_shards("")), &after)), Vec::<String>::new());
}

#[test]
fn changed_immutable_fields_recreate_the_object() {
    let stateful = desired(&files(&[("one", runs("/stage.yml", ", cache: true", ""))]), false);
    let mut live = created_objects(&stateful);
    live[1]["spec"]["selector"] = json!({"matchLabels": {"app": "old"}});
    let plans = run(&default_operator(stateful), &live);
    assert_eq!(writes(&plans), ["delete statefulsets.apps/stage-ns/q-one"]);
    let WriteOp::Delete { propagation } = &plans[1].mutations[0].operation else { panic!("{plans:?}") };
    assert_eq!(propagation.as_deref(), Some("Orphan"));
}

#[test]
fn a_missing_namespace_is_awaited() {
    let plan = FakeView::default()
        .at(NOW)
        .decide(&default_operator(desired_shards("")), &Unit::object("stage-ns", "one"))
        .unwrap();
    assert_eq!(plan.status, UnitStatus::Waiting("namespace stage-ns to exist on cluster c1".to_string()));
}

/// Only units whose desired state has changed are triggered.
#[test]
fn the_store_returns_the_changed_units() {
    let store = DesiredStore::new(DeletionGuard::default(), false, false);
    let two = |memory: &str| {
        desired(
            &files(&[("one", runs("/stage.yml", "", "")), ("two", runs("/stage.yml", "", "").replace("2Mi", memory))]),
            false,
        )
    };
    let first = store.replace(Arc::new(two("2Mi")));
    assert_eq!(first[0].changed.len(), 3);
    assert!(store.replace(Arc::new(two("2Mi"))).iter().all(|one| one.changed.is_empty()));
    assert_eq!(store.replace(Arc::new(two("3Mi")))[0].changed, [Unit::object("stage-ns", "two")]);
    let gone = store.replace(Arc::new(desired_shards("")));
    assert_eq!(gone[0].changed, [Unit::object("stage-ns", "_namespace"), Unit::object("stage-ns", "two")]);
}
