#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use serde_json::{Value, json};
use switchboard_gather::Object as Dumped;
use switchboard_gather::contract::Rules;
use switchboard_gather::discovery::Discovery;
use switchboard_gather::mutation::{Action, Place as At};
use switchboard_object::kind::GroupVersionKind;

use super::*;
use switchboard_kernel::operator::{Declaration, Declared, Outward, Reaching};
use switchboard_kernel::place::Place;
use switchboard_kernel::plan::{Mutation as Wanted, PatchForm, Plan};
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::view::Outside;

const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
const NODES: Resource = Resource::cluster_wide("", "v1", "Node", "nodes");

type Decision = fn(&Unit, &View) -> Result<Plan, Stop>;

/// Reads and writes ConfigMaps of the management cluster, one unit for each with a label.
struct Desk {
    units: Units,
    decide: Decision,
}

impl Desk {
    fn whole(decide: Decision) -> Self {
        Self { units: Units::Whole, decide }
    }

    fn each(decide: Decision) -> Self {
        let (place, selection) = (Place::Management, Selection::all().labelled("desk"));
        Self { units: Units::Each { place, resource: CONFIG_MAPS, selection }, decide }
    }
}

impl Operator for Desk {
    fn name(&self) -> &str {
        "desk"
    }

    fn declaration(&self) -> Declaration {
        let every = Declared::every(&CONFIG_MAPS).at(Place::Management);
        let own =
            Declared { namespace: Some("shop".into()), name: Some("own".into()), ..Declared::every(&CONFIG_MAPS) };
        Declaration {
            inputs: BTreeSet::from([every.clone(), own.clone()]),
            outputs: BTreeSet::from([every, own.at(Place::UserWorkload)]),
            service_account: None,
            units: self.units.clone(),
        }
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, Stop> {
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

fn given() -> MustGather {
    let objects = [dumped("a", json!({"desk": "1"})), dumped("b", json!({"desk": "2"})), dumped("c", json!({}))];
    MustGather::of(objects, Discovery::carried().clone())
}

fn once() -> Once {
    Once { now: Moment(1_000), controllers: Controllers::default(), live: false }
}

fn ran(operator: &dyn Operator) -> Ran {
    run_once(operator, given(), &once()).unwrap()
}

fn config_map(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop"}, "data": {"a": "1"}})
}

#[test]
fn a_declaration_is_told_as_resource_lists() {
    let declaration = Desk::whole(|_, _| Ok(Plan::nothing())).declaration();
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

/// Every way to write there is, on ConfigMap `a`, which was read.
fn all_ways(_: &Unit, view: &View) -> Result<Plan, Stop> {
    let at = Place::Management;
    view.at(at).get(&CONFIG_MAPS, "shop", "a")?;
    let patch =
        |form| Wanted::patch(&CONFIG_MAPS, "shop", "a", form, json!([{"op": "remove", "path": "/data"}])).at(at);
    let strict = |wanted: Wanted| Wanted { field_validation: Some("Strict".into()), ..wanted };
    let mut plan = Plan::nothing();
    plan.push(Wanted::create(&CONFIG_MAPS, json!({"metadata": {"generateName": "x-", "namespace": "shop"}})).at(at))
        .push(Wanted::update(&CONFIG_MAPS, config_map("a")).at(at))
        .push(Wanted::update(&CONFIG_MAPS, config_map("a")).at(at).status())
        .push(Wanted::apply(&CONFIG_MAPS, config_map("a")).at(at))
        .push(strict(Wanted::apply(&CONFIG_MAPS, config_map("a")).at(at).forced().status()))
        .push(patch(PatchForm::Json))
        .push(Wanted::patch(&CONFIG_MAPS, "shop", "a", PatchForm::Merge, json!({"data": null})).at(at).status())
        .push(Wanted::delete(&CONFIG_MAPS, "shop", "a").at(at))
        .push(Wanted::delete(&CONFIG_MAPS, "shop", "c").at(at));
    Ok(plan)
}

#[test]
fn all_eight_actions_and_generated_names_are_written_down() {
    let ran = ran(&Desk::whole(all_ways));
    let actions: Vec<Action> = ran.mutations.iter().map(|mutation| mutation.action).collect();
    use Action::{Apply, ApplyStatus, Create, Delete, Patch, PatchStatus, Update, UpdateStatus};
    assert_eq!(actions, [Create, Update, UpdateStatus, Apply, ApplyStatus, Patch, PatchStatus, Delete, Delete]);
    assert!(ran.mutations.iter().all(|m| m.place == At::Management && m.controller_instance_name == "desk"));
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
    let ran = ran(&Desk::whole(|_, _| {
        let mut plan = Plan::nothing();
        plan.push(Wanted::apply(&CONFIG_MAPS, config_map("own")).at(Place::UserWorkload))
            .push(Wanted::apply(&CONFIG_MAPS, config_map("other")).at(Place::UserWorkload))
            .push(Wanted::apply(&NODES, json!({"metadata": {"name": "n"}})));
        Ok(plan)
    }));
    let places: Vec<At> = ran.mutations.iter().map(|mutation| mutation.place).collect();
    assert_eq!(places, [At::UserWorkload, At::Unspecified, At::Unspecified]);
}

#[test]
fn what_the_lists_say_allows_what_the_declaration_allows() {
    let desk = Desk::whole(all_ways);
    let outputs = output_resources(&desk.declaration());
    for mutation in ran(&desk).mutations {
        assert_eq!(outputs.places(&mutation, Rules::Native), [At::Management], "{mutation}");
        assert_eq!(outputs.places(&mutation, Rules::Original), [], "who does not know the word allows nothing");
    }
}

#[test]
fn every_unit_decides_and_one_that_fails_keeps_none_from_it() {
    let ran = ran(&Desk::each(|unit, view| {
        assert!(
            !view.at(Place::Management).get(&CONFIG_MAPS, "shop", unit.name())?.unwrap().value()["metadata"]
                .as_object()
                .unwrap()
                .contains_key("managedFields")
        );
        if unit.name() == "a" {
            return Err(Stop::failed("the lamp is broken"));
        }
        let mut plan = Plan::nothing();
        plan.push(Wanted::apply(&CONFIG_MAPS, config_map(&format!("{}-made", unit.name()))).at(Place::Management));
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
    let ran = ran(&Desk::whole(|_, _| panic!("boom")));
    let result = &ran.results.controller_results[0];
    assert_eq!((&result.status, result.panic_stack.as_str()), (&ControllerStatus::Panicked, "boom"));
}

#[test]
fn controllers_that_are_off_are_skipped_and_unknown_ones_refused() {
    let off = Once { controllers: Controllers::named(["*".into(), "-desk".into()]), ..once() };
    let ran = run_once(&Desk::whole(all_ways), given(), &off).unwrap();
    assert_eq!((ran.mutations.len(), &ran.results.controller_results[0].status), (0, &ControllerStatus::Skipped));
    let wrong = Once { controllers: Controllers::named(["lamp".into()]), ..once() };
    let error = run_once(&Desk::whole(all_ways), given(), &wrong).unwrap_err();
    assert!(matches!(error, ContractError::Controllers(_)), "{error}");
}

#[test]
fn an_input_in_another_version_is_refused() {
    let mut other = dumped("a", json!({}));
    other.kind = GroupVersionKind::new("", "v2", "ConfigMap");
    let given = MustGather::of([other], Discovery::carried().clone());
    let error = run_once(&Desk::whole(all_ways), given, &once()).unwrap_err();
    assert!(matches!(error, ContractError::Input(_)), "{error}");
}

struct Asks;

impl Outward for Asks {
    fn name(&self) -> &str {
        "asks"
    }

    fn declaration(&self) -> Declaration {
        Desk::whole(|_, _| Ok(Plan::nothing())).declaration()
    }

    fn reach(&self, _request: &Value) -> Result<Value, String> {
        Ok("fine".into())
    }

    fn decide(&self, _unit: &Unit, _view: &View, outside: &Outside<'_>) -> Result<Plan, Stop> {
        outside.ask(json!("weather")).map(|_| Plan::nothing()).map_err(Stop::failed)
    }
}

#[test]
fn only_the_live_command_reaches_outside() {
    let operator = Reaching(Asks);
    let told = |live| {
        let ran = run_once(&operator, given(), &Once { live, ..once() }).unwrap();
        ran.results.controller_results[0].clone()
    };
    let offline = told(false);
    assert_eq!(offline.status, ControllerStatus::Failed);
    assert!(offline.errors[0].message.contains("apply-configuration has no network"), "{offline:?}");
    assert_eq!(told(true).status, ControllerStatus::Succeeded);
}

/// Says how many ConfigMaps there are at each place it reads.
struct Counts;

impl Operator for Counts {
    fn name(&self) -> &str {
        "counts"
    }

    fn declaration(&self) -> Declaration {
        let all = [Place::Management, Place::UserWorkload].map(|place| Declared::every(&CONFIG_MAPS).at(place));
        Declaration { inputs: all.clone().into(), outputs: all.into(), service_account: None, units: Units::Whole }
    }

    fn decide(&self, _unit: &Unit, view: &View) -> Result<Plan, Stop> {
        let count = |place| view.at(place).list(&CONFIG_MAPS, &Selection::all()).map(|found| found.len());
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "counted", "namespace": "shop"},
            "data": {"managed": count(Place::Management)?.to_string(), "used": count(Place::UserWorkload)?.to_string()}});
        let mut plan = Plan::nothing();
        plan.push(Wanted::create(&CONFIG_MAPS, body).at(Place::Management));
        Ok(plan)
    }
}

#[test]
fn the_live_command_reads_the_user_workload_cluster_as_it_is_now() {
    let counted = |ran: Ran| ran.mutations[0].body_value().unwrap()["data"].clone();
    let workload = MustGather::of([dumped("x", json!({}))], Discovery::carried().clone());
    let live = run_beside(&Counts, given(), workload, &Once { live: true, ..once() }).unwrap();
    assert_eq!(counted(live), json!({"managed": "3", "used": "1"}));
    assert_eq!(counted(ran(&Counts)), json!({"managed": "3", "used": "3"}), "without it the directory is all there is");
}
