#![allow(clippy::unwrap_used)]

use serde_json::json;
use switchboard_gather::contract::{InputResources, OutputResources};
use switchboard_gather::discovery::Discovery;
use switchboard_kernel::plan::UnitStatus;
use switchboard_kernel::topology::{ClusterName, Topology};
use switchboard_sandbox::{ProgramEnd, RunUsage};

use super::*;

const OUTPUTS: &str = r#"
configurationResources:
  exactResources:
  - {group: "", version: v1, resource: configmaps, namespace: shop, name: web}
  generatedNameResources:
  - {group: "", version: v1, resource: configmaps, namespace: shop, name: made-}
managementResources:
  eventingNamespaces: [shop]
  generatedNameResources:
  - {group: "", version: v1, resource: configmaps, namespace: shop, name: made-}
  exactResources:
  - {group: "", version: v1, resource: configmaps, namespace: shop, name: web}
  - {group: "", version: v1, resource: namespaces, name: shop}
"#;

fn wanted(place: &str, action: &str, name: &str, body: Value) -> ProgramWrite {
    ProgramWrite {
        cluster_type: place.into(),
        action: action.into(),
        of: switchboard_gather::contract::ResourceType::new("", "v1", "configmaps"),
        subresource: String::new(),
        namespace: "shop".into(),
        name: name.into(),
        generate_name: body.pointer("/metadata/generateName").and_then(Value::as_str).unwrap_or_default().into(),
        field_manager: String::new(),
        patch_type: String::new(),
        controller: "Speaker".into(),
        body,
        options: Value::Null,
    }
}

#[test]
fn recorded_writes_have_the_field_names_of_the_journal() {
    let write = serde_json::to_value(wanted("Management", "Create", "web", body("hello"))).unwrap();
    assert_eq!(write["clusterType"], "Management");
    assert_eq!(write.get("place"), None);
}

fn body(text: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "shop"}, "data": {"text": text}})
}

fn planned(status: &str, mutations: Vec<ProgramWrite>) -> Plan {
    let result = json!({"controllerName": "Speaker", "status": status, "errors": [{"message": "no words"}], "panicStack": "boom\nat"});
    let result: ControllerResult = serde_json::from_value(result).unwrap();
    // A successful controller has no errors.
    let result = if status == "Succeeded" { ControllerResult { errors: Vec::new(), ..result } } else { result };
    planned_of(vec![result], mutations)
}

fn planned_of(results: Vec<ControllerResult>, mutations: Vec<ProgramWrite>) -> Plan {
    planned_at(&Topology::of(["a", "b", "c"].map(ClusterName::new)), results, mutations)
}

fn planned_at(topology: &Topology, results: Vec<ControllerResult>, mutations: Vec<ProgramWrite>) -> Plan {
    let contract = Contract { inputs: InputResources::default(), outputs: OutputResources::read(OUTPUTS).unwrap() };
    let (kinds, _) = ContractKinds::of(&contract, &Discovery::default());
    let (problems, attempts) = Default::default();
    let answer =
        RunResult { end: ProgramEnd::Exited(0), usage: RunUsage::default(), results, mutations, problems, attempts };
    plan(&[answer], &contract, &kinds, &GeneratedObjects::empty(topology.clone().into()))
}

fn shown(plan: &Plan) -> Vec<String> {
    plan.mutations.iter().map(|mutation| format!("{} {mutation}", mutation.cluster_type)).collect()
}

#[test]
fn every_action_becomes_what_it_means() {
    let json_patch = json!([{"op": "remove", "path": "/data"}]);
    let mut mutations = vec![
        wanted("Configuration", "Create", "web", body("a")),
        wanted("Configuration", "Update", "web", body("a")),
        wanted("Configuration", "UpdateStatus", "web", body("a")),
        wanted("Configuration", "Apply", "web", body("a")),
        wanted("Configuration", "ApplyStatus", "web", body("a")),
        wanted("Configuration", "Patch", "web", json_patch.clone()),
        wanted("Configuration", "PatchStatus", "web", json!({"data": null})),
        wanted(
            "Configuration",
            "Delete",
            "web",
            json!({"propagationPolicy": "Foreground", "gracePeriodSeconds": 0, "preconditions": {"uid": "u"}}),
        ),
    ];
    mutations[3].options = json!({"fieldManager": "speaker", "fieldValidation": "Strict", "force": true});
    mutations[5].patch_type = "application/json-patch+json".into();
    mutations[6].patch_type = "application/merge-patch+json".into();
    let plan = planned("Succeeded", mutations);
    let verbs: Vec<String> = plan.mutations.iter().map(ToString::to_string).collect();
    assert_eq!(
        verbs,
        [
            "create configmaps/shop/web",
            "update configmaps/shop/web",
            "update configmaps/shop/web status",
            "apply configmaps/shop/web",
            "apply configmaps/shop/web status",
            "patch configmaps/shop/web",
            "patch configmaps/shop/web status",
            "delete configmaps/shop/web",
        ]
    );
    assert_eq!(plan.mutations[3].operation, WriteOp::Apply { body: body("a"), force: true });
    assert_eq!(plan.mutations[3].field_manager.as_deref(), Some("speaker"));
    let validations: Vec<_> = plan.mutations.iter().filter_map(|one| one.field_validation.as_deref()).collect();
    assert_eq!(validations, ["Strict"]);
    assert_eq!(plan.mutations[5].operation, WriteOp::Patch { patch_type: PatchType::Json, body: json_patch });
    assert_eq!(
        plan.mutations[6].operation,
        WriteOp::Patch { patch_type: PatchType::Merge, body: json!({"data": null}) }
    );
    assert_eq!(plan.mutations[7].operation, WriteOp::Delete { propagation: Some("Foreground".into()) });
    let terms = DeleteOptions { uid: Some("u".into()), resource_version: None, grace_seconds: Some(0) };
    assert_eq!(plan.mutations[7].delete_options, terms);
    assert_eq!(plan.status, UnitStatus::Ready);
}

#[test]
fn a_dry_run_changes_nothing() {
    let mut update = wanted("Configuration", "Update", "web", body("a"));
    update.options = json!({"dryRun": ["All"]});
    let delete = wanted("Configuration", "Delete", "web", json!({"kind": "DeleteOptions", "dryRun": ["All"]}));
    let plan = planned("Succeeded", vec![update, delete]);
    assert_eq!((shown(&plan), plan.status), (Vec::<String>::new(), UnitStatus::Ready));
}

/// Without a controller name, the write may belong to the panicked controller.
#[test]
fn of_what_no_controller_wrote_only_events_outlive_a_panic() {
    let mut nobodys = wanted("Configuration", "Apply", "web", body("a"));
    nobodys.controller.clear();
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "web.1", "namespace": "shop"}});
    let mut event = wanted("Management", "Create", "web.1", event);
    event.controller.clear();
    event.of.resource = "events".into();
    let both = vec![nobodys, event];
    let (create, apply) = ("management create events/shop/web.1", "configuration apply configmaps/shop/web");
    assert_eq!(shown(&planned("Panicked", both.clone())), [create]);
    assert_eq!(shown(&planned("Succeeded", both)), [apply, create]);
}

#[test]
fn one_run_makes_no_more_of_a_generated_name_than_many() {
    let make = |key: u32| {
        let body =
            json!({"metadata": {"generateName": "made-", "namespace": "shop"}, "data": {"key": key.to_string()}});
        wanted("Configuration", "Create", "", body)
    };
    let plan = planned("Succeeded", (0..10).map(make).collect());
    assert_eq!(plan.mutations.len(), crate::generated::MAX_ALIKE);
    assert!(matches!(plan.status, UnitStatus::Failing(_)), "{:?}", plan.status);
}

#[test]
fn what_a_failed_controller_wrote_is_written_and_its_words_are_kept() {
    let plan = planned("Failed", vec![wanted("Configuration", "Apply", "web", body("a"))]);
    assert_eq!(shown(&plan), ["configuration apply configmaps/shop/web"]);
    assert_eq!(plan.status, UnitStatus::Failing("controller Speaker failed: no words".into()));
}

#[test]
fn what_a_panicked_controller_wrote_is_left_out() {
    let plan = planned("Panicked", vec![wanted("Configuration", "Apply", "web", body("a"))]);
    assert_eq!(shown(&plan), Vec::<String>::new());
    let UnitStatus::Failing(why) = plan.status else { panic!("{:?}", plan.status) };
    assert!(why.ends_with("boom"), "{why}");
}

#[test]
fn what_the_program_found_undeclared_is_written_where_wider_rules_allow_it_and_named_else() {
    let mut touched = body("a");
    touched["metadata"]["generateName"] = "made-".into();
    let plan = planned("Succeeded", vec![wanted("Unspecified", "Update", "web", touched)]);
    assert_eq!(shown(&plan), ["configuration update configmaps/shop/web", "management update configmaps/shop/web"]);
    let plan = planned("Succeeded", vec![wanted("Unspecified", "Update", "other", body("a"))]);
    assert_eq!(shown(&plan), Vec::<String>::new());
    let UnitStatus::Failing(why) = plan.status else { panic!("{:?}", plan.status) };
    assert_eq!(why, "may not Update configmaps/shop/other: it is not among the declared outputs");
}

#[test]
fn a_generated_name_that_is_not_declared_is_refused() {
    let body = json!({"metadata": {"generateName": "else-", "namespace": "shop"}});
    let plan = planned("Succeeded", vec![wanted("Configuration", "Create", "", body)]);
    assert!(plan.mutations.is_empty());
    assert!(matches!(plan.status, UnitStatus::Failing(_)));
}

#[test]
fn of_two_updates_of_one_object_the_second_waits_for_the_first() {
    let mut second = wanted("Configuration", "Update", "web", body("b"));
    second.controller = "Other".into();
    let first = wanted("Configuration", "Update", "web", body("a"));
    let plan = planned("Succeeded", vec![first.clone(), first, second]);
    assert_eq!(shown(&plan), ["configuration update configmaps/shop/web"]);
    assert_eq!(plan.mutations[0].operation, WriteOp::Update(body("a")));
    assert_eq!(plan.requeue_after, Some(CONFLICT_REQUEUE));
    let UnitStatus::Waiting(on) = plan.status else { panic!("{:?}", plan.status) };
    assert!(on.ends_with("Speaker and Other both update configmaps/shop/web"), "{on}");
}

#[test]
fn a_namespace_lives_in_none() {
    let mut mutation = wanted("Management", "Apply", "shop", json!({"metadata": {"name": "shop"}}));
    mutation.of.resource = "namespaces".into();
    let plan = planned("Succeeded", vec![mutation]);
    assert_eq!(shown(&plan), ["management apply namespaces/shop"]);
}

const REFUSED: &str = "an error on the server (\"request namespace \\\"shop\\\" does not equal body namespace \\\"\\\"\") \
    has prevented the request from succeeding (delete secrets etcd-client)";

/// The message is that of library-go's client, not of a server.
#[test]
fn what_the_library_of_a_program_cannot_record_is_told_with_a_way_out() {
    let result = json!({"controllerName": "Sync", "status": "Failed", "errors": [{"message": REFUSED}]});
    let plan = planned_of(vec![serde_json::from_value(result).unwrap()], Vec::new());
    let UnitStatus::Failing(why) = plan.status else { panic!("{:?}", plan.status) };
    assert!(why.starts_with("could not record deletions in a namespace"), "{why}");
    assert!(
        why.contains("perform them in apply-configuration-live") && why.contains("affected: controller Sync; "),
        "{why}"
    );
    assert!(why.contains("controller Sync failed: an error on the server"), "{why}");
}

/// The controller itself succeeds and reports the error in a condition, as operators do.
#[test]
fn the_same_in_a_condition_is_for_a_person_to_see_to() {
    let mut status = body("a");
    status["status"] = json!({"conditions": [{"type": "SyncDegraded", "status": "True", "message": REFUSED}]});
    let plan = planned("Succeeded", vec![wanted("Configuration", "ApplyStatus", "web", status)]);
    assert_eq!(shown(&plan), ["configuration apply configmaps/shop/web status"]);
    let UnitStatus::Blocked(needs) = plan.status else { panic!("{:?}", plan.status) };
    assert!(needs.ends_with("affected: write ApplyStatus configmaps/shop/web"), "{needs}");
}

#[test]
fn words_that_are_merely_alike_are_no_telltale() {
    let plan = planned("Succeeded", vec![wanted("Configuration", "Apply", "web", body("request namespace is full"))]);
    assert_eq!(plan.status, UnitStatus::Ready);
}

/// Requests are built from the program's output: an invalid name could address another object, and an invalid body
/// could crash the client.
#[test]
fn what_cannot_be_sent_is_refused() {
    let mut shapes = vec![
        wanted("Configuration", "Create", "web", json!({"kind": "ConfigMap", "metadata": "hello"})),
        wanted("Configuration", "Update", "web", json!(["no", "object"])),
        wanted("Configuration", "Patch", "web", json!("text")),
        wanted("Configuration", "Patch", "web", json!({"op": "no list"})),
    ];
    shapes[2].patch_type = "application/merge-patch+json".into();
    shapes[3].patch_type = "application/json-patch+json".into();
    for shape in shapes {
        let plan = planned("Succeeded", vec![shape]);
        let UnitStatus::Failing(why) = plan.status else { panic!("{:?}", plan.status) };
        assert!(
            plan.mutations.is_empty()
                && (why.ends_with(" is not a map") || why.ends_with(" is not a list, as a JSON patch requires")),
            "{why}"
        );
    }
    for name in ["made-x/../web", "made-?dryRun=All", "made-#", "made-%2e", "made- x", "..", "made-\u{e4}"] {
        let plan = planned("Succeeded", vec![wanted("Configuration", "Delete", name, json!({}))]);
        let UnitStatus::Failing(why) = plan.status else { panic!("{:?}", plan.status) };
        assert!(plan.mutations.is_empty() && why.ends_with("is not a valid path segment"), "{why}");
    }
    let mut below = wanted("Configuration", "Update", "web", body("a"));
    below.subresource = "status/../..".into();
    assert!(planned("Succeeded", vec![below]).mutations.is_empty());
    // Names of roles contain colons.
    let role = wanted("Configuration", "Apply", "system:web", body("a"));
    assert!(role.without_body().unwrap().invalid_reason(&role.body).is_none());
}

/// The library writes the mutation once for each cluster type.
#[test]
fn what_is_declared_for_two_places_that_are_one_is_wanted_once() {
    let make = |place: &str, key: &str| {
        let body = json!({"metadata": {"generateName": "made-", "namespace": "shop"}, "data": {"key": key}});
        wanted(place, "Create", "", body)
    };
    let of_both = |topology: &Topology| {
        let both = ["Configuration", "Management"];
        let mutations = both.into_iter().flat_map(|at| {
            let [create, update] = ["Create", "Update"].map(|action| wanted(at, action, "web", body("a")));
            [create, update, make(at, "a")]
        });
        let plan = planned_at(topology, Vec::new(), mutations.collect());
        (shown(&plan), plan.status)
    };
    let [create, update, made] =
        ["create configmaps/shop/web", "update configmaps/shop/web", "create configmaps/shop/?"];
    let at = |place: &str| [create, update, made].map(|what| format!("{place} {what}"));
    let one = of_both(&Topology::standalone(&ClusterName::new("a")));
    assert_eq!(one, (at("configuration").to_vec(), UnitStatus::Ready));
    let two = of_both(&Topology::of(["a", "b", "c"].map(ClusterName::new)));
    assert_eq!(two, ([at("configuration"), at("management")].concat(), UnitStatus::Ready));
}
