#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use serde_json::{Value, json};
use switchboard_gather::DumpedObject as Dumped;
use switchboard_gather::contract::ContractRules;
use switchboard_gather::discovery::Discovery;
use switchboard_gather::mutation::{Action, OutputCluster as At};
use switchboard_object::kind::GroupVersionKind;

use super::*;
use switchboard_kernel::operator::{AccessRule, Declaration};
use switchboard_kernel::plan::{Mutation as Wanted, PatchType, Plan};
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::topology::ClusterType;
use switchboard_kernel::view::Question;

const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
const NODES: Resource = Resource::cluster_scoped("", "v1", "Node", "nodes");

type DecideFn = fn(&Unit, &View) -> Result<Plan, DecideError>;

/// Reads and writes ConfigMaps of the management cluster, with one unit for each labeled ConfigMap.
struct ConfigMapOperator {
    units: Units,
    decide: DecideFn,
}

impl ConfigMapOperator {
    fn whole(decide: DecideFn) -> Self {
        Self { units: Units::Whole, decide }
    }

    fn each(decide: DecideFn) -> Self {
        let (place, selection) = (ClusterType::Management, Selection::all().with_labels("desk"));
        Self { units: Units::Each { cluster_type: place, resource: CONFIG_MAPS, selection }, decide }
    }
}

impl Operator for ConfigMapOperator {
    fn name(&self) -> &str {
        "desk"
    }

    fn declaration(&self) -> Declaration {
        let every = AccessRule::every(&CONFIG_MAPS).on(ClusterType::Management);
        let own =
            AccessRule { namespace: Some("shop".into()), name: Some("own".into()), ..AccessRule::every(&CONFIG_MAPS) };
        Declaration {
            inputs: BTreeSet::from([every.clone(), own.clone()]),
            outputs: BTreeSet::from([every, own.on(ClusterType::UserWorkload)]),
            service_account: None,
            units: self.units.clone(),
        }
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        (self.decide)(unit, view)
    }
}

fn dumped(name: &str, labels: Value) -> Dumped {
    Dumped {
        kind: GroupVersionKind::new("", "v1", "ConfigMap"),
        plural: "configmaps".into(),
        namespaced: true,
        inferred: false,
        value: json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop",
            "uid": format!("u-{name}"), "resourceVersion": "41", "labels": labels, "managedFields": [{}]}}),
    }
}

fn dump() -> MustGather {
    let objects = [dumped("a", json!({"desk": "1"})), dumped("b", json!({"desk": "2"})), dumped("c", json!({}))];
    MustGather::from_objects(objects, Discovery::bundled().clone())
}

fn once() -> RunOnceOptions {
    RunOnceOptions { now: Timestamp(1_000), controllers: ControllerSelection::default(), live: false }
}

fn ran(operator: &dyn Operator) -> RunOutput {
    run_once(operator, dump(), &once()).unwrap()
}

fn config_map(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop"}, "data": {"a": "1"}})
}

#[test]
fn a_declaration_is_told_as_resource_lists() {
    let declaration = ConfigMapOperator::whole(|_, _| Ok(Plan::nothing())).declaration();
    assert_eq!(
        input_resources(&declaration).to_yaml(),
        "applyConfigurationResources:\n  exactResources:\n  - group: \"\"\n    name: own\n    namespace: shop\n    resource: configmaps\n    version: v1\n  labelSelectedResources:\n  - group: \"\"\n    labelSelector: {}\n    resource: configmaps\n    version: v1\noperandResources:\n  configurationResources: {}\n  managementResources: {}\n  userWorkloadResources: {}\n"
    );
    let outputs = output_resources(&declaration);
    let names = |list: &switchboard_gather::contract::OutputList| {
        list.exact_resources.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(names(&outputs.configuration_resources), Vec::<String>::new());
    assert_eq!(names(&outputs.management_resources), ["configmaps/*/*"]);
    assert_eq!(names(&outputs.user_workload_resources), ["configmaps/shop/own"]);
}

/// Writes ConfigMap `a`, which is read before, in all possible ways.
fn all_ways(_: &Unit, view: &View) -> Result<Plan, DecideError> {
    let at = ClusterType::Management;
    view.on(at).get(&CONFIG_MAPS, "shop", "a")?;
    let patch =
        |form| Wanted::patch(&CONFIG_MAPS, "shop", "a", form, json!([{"op": "remove", "path": "/data"}])).on(at);
    let strict = |wanted: Wanted| Wanted { field_validation: Some("Strict".into()), ..wanted };
    let mut plan = Plan::nothing();
    plan.push(Wanted::create(&CONFIG_MAPS, json!({"metadata": {"generateName": "x-", "namespace": "shop"}})).on(at))
        .push(Wanted::update(&CONFIG_MAPS, config_map("a")).on(at))
        .push(Wanted::update(&CONFIG_MAPS, config_map("a")).on(at).status())
        .push(Wanted::apply(&CONFIG_MAPS, config_map("a")).on(at))
        .push(strict(Wanted::apply(&CONFIG_MAPS, config_map("a")).on(at).forced().status()))
        .push(patch(PatchType::Json))
        .push(Wanted::patch(&CONFIG_MAPS, "shop", "a", PatchType::Merge, json!({"data": null})).on(at).status())
        .push(Wanted::delete(&CONFIG_MAPS, "shop", "a").on(at))
        .push(Wanted::delete(&CONFIG_MAPS, "shop", "c").on(at));
    Ok(plan)
}

#[test]
fn all_eight_actions_and_generated_names_are_written_down() {
    let ran = ran(&ConfigMapOperator::whole(all_ways));
    let actions: Vec<Action> = ran.mutations.iter().map(|mutation| mutation.action).collect();
    use Action::{Apply, ApplyStatus, Create, Delete, Patch, PatchStatus, Update, UpdateStatus};
    assert_eq!(actions, [Create, Update, UpdateStatus, Apply, ApplyStatus, Patch, PatchStatus, Delete, Delete]);
    assert!(ran.mutations.iter().all(|m| m.cluster == At::Management && m.controller_instance_name == "desk"));
    let [create, _, _, apply, forced, patch, merge, delete, unread] = &ran.mutations[..] else { panic!() };
    assert_eq!((create.name.as_str(), create.generate_name.as_str(), create.kind.as_str()), ("", "x-", "ConfigMap"));
    assert_eq!(
        (apply.field_manager.as_str(), apply.options_value().unwrap()),
        ("desk", json!({"fieldManager": "desk"}))
    );
    let options = json!({"fieldManager": "desk", "fieldValidation": "Strict", "force": true});
    assert_eq!(forced.options_value().unwrap(), options);
    assert_eq!(
        (patch.patch_type.as_str(), &patch.body[..]),
        ("application/json-patch+json", &b"- op: remove\n  path: /data\n"[..])
    );
    assert_eq!(
        (merge.patch_type.as_str(), &merge.body[..]),
        ("application/merge-patch+json", &br#"{"data":null}"#[..])
    );
    let expected = json!({"apiVersion": "v1", "kind": "DeleteOptions",
        "preconditions": {"uid": "u-a", "resourceVersion": "41"}});
    assert_eq!((delete.name.as_str(), delete.body_value().unwrap()), ("a", expected));
    assert_eq!(
        unread.body_value().unwrap(),
        json!({"apiVersion": "v1", "kind": "DeleteOptions"}),
        "nothing was seen of it"
    );
}

#[test]
fn what_is_not_declared_is_at_no_place() {
    let ran = ran(&ConfigMapOperator::whole(|_, _| {
        let mut plan = Plan::nothing();
        plan.push(Wanted::apply(&CONFIG_MAPS, config_map("own")).on(ClusterType::UserWorkload))
            .push(Wanted::apply(&CONFIG_MAPS, config_map("other")).on(ClusterType::UserWorkload))
            .push(Wanted::apply(&NODES, json!({"metadata": {"name": "n"}})));
        Ok(plan)
    }));
    let places: Vec<At> = ran.mutations.iter().map(|mutation| mutation.cluster).collect();
    assert_eq!(places, [At::UserWorkload, At::Unspecified, At::Unspecified]);
}

#[test]
fn what_the_lists_say_allows_what_the_declaration_allows() {
    let desk = ConfigMapOperator::whole(all_ways);
    let outputs = output_resources(&desk.declaration());
    for mutation in ran(&desk).mutations {
        assert_eq!(outputs.clusters_for(&mutation, ContractRules::Native), [At::Management], "{mutation}");
        assert_eq!(
            outputs.clusters_for(&mutation, ContractRules::MultiOperatorManager),
            [],
            "who does not know the word allows nothing"
        );
    }
}

#[test]
fn every_unit_decides_and_one_that_fails_keeps_none_from_it() {
    let ran = ran(&ConfigMapOperator::each(|unit, view| {
        assert!(
            !view.on(ClusterType::Management).get(&CONFIG_MAPS, "shop", unit.name())?.unwrap().value()["metadata"]
                .as_object()
                .unwrap()
                .contains_key("managedFields")
        );
        if unit.name() == "a" {
            return Err(DecideError::failed("the lamp is broken"));
        }
        let mut plan = Plan::nothing();
        plan.push(
            Wanted::apply(&CONFIG_MAPS, config_map(&format!("{}-made", unit.name()))).on(ClusterType::Management),
        );
        Ok(plan)
    }));
    assert_eq!(ran.mutations.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(), ["b-made"]);
    let result = &ran.results.controller_results[..];
    let [result] = result else { panic!("{result:?}") };
    assert_eq!((result.controller_name.as_str(), &result.status), ("desk", &ControllerStatus::Failed));
    assert_eq!(result.errors[0].message, "shop/a: the lamp is broken");
}

#[test]
fn a_panic_is_told_as_one() {
    let ran = ran(&ConfigMapOperator::whole(|_, _| panic!("boom")));
    let result = &ran.results.controller_results[0];
    assert_eq!((&result.status, result.panic_stack.as_str()), (&ControllerStatus::Panicked, "boom"));
}

#[test]
fn controllers_that_are_off_are_skipped_and_unknown_ones_refused() {
    let off = RunOnceOptions { controllers: ControllerSelection::named(["*".into(), "-desk".into()]), ..once() };
    let ran = run_once(&ConfigMapOperator::whole(all_ways), dump(), &off).unwrap();
    assert_eq!((ran.mutations.len(), &ran.results.controller_results[0].status), (0, &ControllerStatus::Skipped));
    let wrong = RunOnceOptions { controllers: ControllerSelection::named(["lamp".into()]), ..once() };
    let error = run_once(&ConfigMapOperator::whole(all_ways), dump(), &wrong).unwrap_err();
    assert!(matches!(error, NativeRunError::Controllers(_)), "{error}");
}

#[test]
fn an_input_in_another_version_is_refused() {
    let mut other = dumped("a", json!({}));
    other.kind = GroupVersionKind::new("", "v2", "ConfigMap");
    let dump = MustGather::from_objects([other], Discovery::bundled().clone());
    let error = run_once(&ConfigMapOperator::whole(all_ways), dump, &once()).unwrap_err();
    assert!(matches!(error, NativeRunError::Input(_)), "{error}");
}

/// Asks for the weather.
struct WeatherOperator;

#[derive(serde::Serialize)]
struct WeatherQuestion;

impl Question for WeatherQuestion {
    type Answer = String;
    const KIND: &'static str = "weather";
}

impl Operator for WeatherOperator {
    fn name(&self) -> &str {
        "asks"
    }

    fn declaration(&self) -> Declaration {
        ConfigMapOperator::whole(|_, _| Ok(Plan::nothing())).declaration()
    }

    fn decide(&self, _unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        view.ask(WeatherQuestion, |_| Ok("rain".to_string())).map(|_| Plan::nothing()).map_err(DecideError::failed)
    }
}

#[test]
fn only_the_live_command_reaches_outside() {
    let result = |live| {
        let ran = run_once(&WeatherOperator, dump(), &RunOnceOptions { live, ..once() }).unwrap();
        ran.results.controller_results[0].clone()
    };
    let offline = result(false);
    assert_eq!(offline.status, ControllerStatus::Failed);
    assert!(offline.errors[0].message.contains("apply-configuration has no network"), "{offline:?}");
    assert_eq!(result(true).status, ControllerStatus::Succeeded);
}

/// Counts the ConfigMaps of each cluster type.
struct ConfigMapCounter;

impl Operator for ConfigMapCounter {
    fn name(&self) -> &str {
        "counts"
    }

    fn declaration(&self) -> Declaration {
        let all =
            [ClusterType::Management, ClusterType::UserWorkload].map(|place| AccessRule::every(&CONFIG_MAPS).on(place));
        Declaration { inputs: all.clone().into(), outputs: all.into(), service_account: None, units: Units::Whole }
    }

    fn decide(&self, _unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let count = |place| view.on(place).list(&CONFIG_MAPS, &Selection::all()).map(|found| found.len());
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "counted", "namespace": "shop"},
            "data": {"managed": count(ClusterType::Management)?.to_string(), "used": count(ClusterType::UserWorkload)?.to_string()}});
        let mut plan = Plan::nothing();
        plan.push(Wanted::create(&CONFIG_MAPS, body).on(ClusterType::Management));
        Ok(plan)
    }
}

#[test]
fn the_live_command_reads_the_user_workload_cluster_as_it_is_now() {
    let counted = |ran: RunOutput| ran.mutations[0].body_value().unwrap()["data"].clone();
    let workload = MustGather::from_objects([dumped("x", json!({}))], Discovery::bundled().clone());
    let live =
        run_with_workload(&ConfigMapCounter, dump(), workload, &RunOnceOptions { live: true, ..once() }).unwrap();
    assert_eq!(counted(live), json!({"managed": "3", "used": "1"}));
    assert_eq!(
        counted(ran(&ConfigMapCounter)),
        json!({"managed": "3", "used": "3"}),
        "without it the directory is all there is"
    );
}
