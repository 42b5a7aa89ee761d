//! The squashed write has the same effect as the single writes.

use proptest::prelude::*;
use serde_json::json;
use switchboard_object::patch::{json as json_patch, merge};

use super::*;
use crate::decision::WriteResult;
use crate::plan::{PatchType, Preconditions, WriteOp};

fn patch(form: PatchType, body: Value) -> Mutation {
    Mutation::patch(&CONFIG_MAPS, "shop", "web", form, body)
}

fn data(seen: &MapReader, mutations: Vec<Mutation>) -> Vec<WriteOp> {
    judge(seen, mutations).writes.into_iter().map(|write| write.mutation.operation).collect()
}

#[test]
fn two_applies_are_merged() {
    let first = config_map(json!({ "a": "1", "b": "1" }));
    let second = config_map(json!({ "b": "2", "c": "2" }));
    let apply = |body: &Value| Mutation::apply(&CONFIG_MAPS, body.clone());
    let both = WriteOp::Apply { body: config_map(json!({ "a": "1", "b": "2", "c": "2" })), force: false };
    assert_eq!(data(&MapReader::default(), vec![apply(&first), apply(&second)]), [both]);
    let forced = data(&MapReader::default(), vec![apply(&first), apply(&second).forced()]);
    assert_eq!(forced.len(), 2, "taking fields by force is another matter");
    let other = Mutation { field_manager: Some("other".to_string()), ..apply(&second) };
    assert_eq!(data(&MapReader::default(), vec![apply(&first), other]).len(), 2, "two managers own apart");
    let strict = Mutation { field_validation: Some("Strict".to_string()), ..apply(&second) };
    assert_eq!(data(&MapReader::default(), vec![apply(&first), strict]).len(), 2, "only one is to be strict");
}

#[test]
fn object_and_status_are_two_writes() {
    let mutations = vec![
        Mutation::apply(&PLUGS, body(&PLUGS, "web", json!({ "status": { "x": 1 } }))).status(),
        Mutation::apply(&PLUGS, body(&PLUGS, "web", json!({ "spec": { "x": 1 } }))),
    ];
    let expected = ["apply plugs.example.com/shop/web", "apply plugs.example.com/shop/web status"];
    assert_eq!(told(&judge(&MapReader::default(), mutations).writes), expected);
}

#[test]
fn create_and_delete_in_one_run_cancel_only_if_the_object_was_absent() {
    let create = |more: Value| Mutation::create(&CONFIG_MAPS, body(&CONFIG_MAPS, "web", more));
    let delete = || Mutation::delete(&CONFIG_MAPS, "shop", "web");
    let absent = MapReader::default().absent(key(&CONFIG_MAPS, "web"));
    let cancelled = judge(&absent, vec![create(json!({})), delete()]).writes;
    assert_eq!(told(&cancelled), ["delete configmaps/shop/web"]);
    assert_eq!(cancelled[0].result, WriteResult::Unchanged);

    let in_order = ["create configmaps/shop/web", "delete configmaps/shop/web"];
    let unread = judge(&MapReader::default(), vec![create(json!({})), delete()]).writes;
    assert_eq!(told(&unread), in_order);
    assert!(unread.iter().all(|write| write.result == WriteResult::Skipped));
    let kept = create(json!({ "metadata": { "finalizers": ["example.com/a"] } }));
    assert_eq!(told(&judge(&absent, vec![kept, delete()]).writes), in_order, "a finalizer keeps it");
}

#[test]
fn a_deletion_does_not_replace_a_write_with_a_finalizer() {
    let seen = MapReader::default().object(5, config_map(json!({})));
    let release = patch(PatchType::Merge, json!({ "metadata": { "finalizers": null } }));
    let writes = judge(&seen, vec![release, Mutation::delete(&CONFIG_MAPS, "shop", "web")]).writes;
    assert_eq!(told(&writes), ["patch configmaps/shop/web", "delete configmaps/shop/web"]);
}

#[test]
fn writes_with_different_preconditions_are_not_squashed() {
    let seen = MapReader::default().object(5, config_map(json!({})));
    let set = |value: &str| patch(PatchType::Merge, json!({ "data": { "a": value } }));
    let writes = judge(&seen, vec![set("1"), set("2").unconditional()]).writes;
    let expects: Vec<_> = writes.iter().map(|write| write.mutation.preconditions.clone()).collect();
    assert_eq!(
        expects,
        [Preconditions::Exact { uid: "uid-of-web".to_string(), revision: 5 }, Preconditions::Unconditional]
    );
}

#[test]
fn writes_that_only_the_server_can_merge_stay_in_order() {
    let strategic = |value: &str| patch(PatchType::Strategic, json!({ "data": { "a": value } }));
    assert_eq!(data(&MapReader::default(), vec![strategic("1"), strategic("2")]).len(), 2);
    let replaced = patch(PatchType::Merge, json!({ "data": null }));
    let filled = patch(PatchType::Merge, json!({ "data": { "a": "1" } }));
    assert_eq!(data(&MapReader::default(), vec![replaced, filled]).len(), 2);
    // The server may have set a default where the first patch removed something.
    let steps = |op: &str, path: &str| patch(PatchType::Json, json!([{ "op": op, "path": path, "value": "1" }]));
    assert_eq!(data(&MapReader::default(), vec![steps("remove", "/data"), steps("replace", "/data/a")]).len(), 2);
    assert_eq!(data(&MapReader::default(), vec![steps("add", "/data/a"), steps("add", "/data/ab")]).len(), 1);
}

/// Returns the object after a write; `None` if the server would reject it.
fn carried_out(object: Option<Value>, operation: &WriteOp) -> Option<Value> {
    match (operation, object) {
        (WriteOp::Create(body), None) | (WriteOp::Update(body), Some(_)) => Some(body.clone()),
        (WriteOp::Patch { patch_type: PatchType::Json, body }, Some(object)) => json_patch::apply(object, body).ok(),
        (WriteOp::Patch { patch_type: PatchType::Merge, body }, Some(object)) => {
            merge::apply(object, body.clone()).ok()
        }
        _ => None,
    }
}

fn all(start: Option<Value>, operations: &[WriteOp]) -> Option<Value> {
    let mut object = start;
    for operation in operations {
        object = Some(carried_out(object, operation)?);
    }
    object
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(Value::Null), Just(json!("1")), Just(json!("2")), Just(json!({}))];
    leaf.prop_recursive(2, 6, 3, |inner| {
        proptest::collection::btree_map("[ab]", inner, 0..3).prop_map(|fields| json!(fields))
    })
}

fn fields() -> impl Strategy<Value = Value> {
    proptest::collection::btree_map("[ab]", value(), 0..3).prop_map(|fields| json!({ "data": fields }))
}

fn step() -> impl Strategy<Value = Value> {
    let op = prop_oneof![Just("add"), Just("replace"), Just("remove")];
    (op, "/data(/[ab]){1,2}", value()).prop_map(|(op, path, value)| json!({ "op": op, "path": path, "value": value }))
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        fields().prop_map(|more| Mutation::update(&CONFIG_MAPS, body(&CONFIG_MAPS, "web", more))),
        fields().prop_map(|more| patch(PatchType::Merge, more)),
        proptest::collection::vec(step(), 1..3).prop_map(|steps| patch(PatchType::Json, json!(steps))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn squashed_writes_leave_the_same_object(
        start in proptest::option::of(fields()),
        made in fields(),
        rest in proptest::collection::vec(mutation(), 1..5),
    ) {
        let start = start.map(|more| body(&CONFIG_MAPS, "web", more));
        let made = start.is_none().then(|| Mutation::create(&CONFIG_MAPS, body(&CONFIG_MAPS, "web", made)));
        let mutations: Vec<_> = made.into_iter().chain(rest).collect();
        let operations: Vec<WriteOp> = mutations.iter().map(|mutation| mutation.operation.clone()).collect();
        let squashed = data(&MapReader::default(), mutations);
        prop_assert!(squashed.len() <= operations.len());
        // Writes that a server rejects on the way have no common result.
        if let Some(expected) = all(start.clone(), &operations) {
            prop_assert_eq!(all(start, &squashed), Some(expected), "{:?}", squashed);
        }
    }
}
