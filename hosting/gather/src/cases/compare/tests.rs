#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::contract::{ControllerError, ControllerStatus, ResourceType};
use crate::dump::ReadProblem;
use crate::mutation::Action;
use crate::mutation::Mutation;

fn config_map(name: &str, data: Value) -> Mutation {
    let of = ResourceType::new("", "v1", "configmaps");
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data,
        "metadata": {"name": name, "namespace": "shop"}});
    Mutation::object(OutputCluster::Management, Action::Create, &of, &body)
}

/// Creates a status that one field manager applies.
fn status(manager: &str, conditions: &[(&str, &str)]) -> Mutation {
    let of = ResourceType::new("operator.example.com", "v1", "lamps");
    let conditions: Vec<Value> =
        conditions.iter().map(|(kind, status)| json!({"type": kind, "status": status, "reason": "Seen"})).collect();
    let body = json!({"apiVersion": "operator.example.com/v1", "kind": "Lamp", "metadata": {"name": "cluster"},
        "status": {"conditions": conditions}});
    Mutation::object(OutputCluster::Management, Action::ApplyStatus, &of, &body)
        .with_options(&json!({"fieldManager": manager, "force": true}))
        .with_controller(&format!("{manager}-controller"))
}

fn of(mutations: impl IntoIterator<Item = Mutation>) -> MutationDirectory {
    MutationDirectory { mutations: mutations.into_iter().collect(), ..MutationDirectory::default() }
}

fn semantic(expected: &MutationDirectory, actual: &MutationDirectory) -> Vec<String> {
    compare(expected, actual, CompareOptions::default()).iter().map(ToString::to_string).collect()
}

fn bytes(expected: &MutationDirectory, actual: &MutationDirectory) -> Vec<String> {
    let how = CompareOptions { strictness: Strictness::Bytes, masks: &[] };
    compare(expected, actual, how).iter().map(ToString::to_string).collect()
}

fn rewritten(mutation: &Mutation, body: &str) -> Mutation {
    Mutation { body: body.as_bytes().to_vec(), ..mutation.clone() }
}

/// A test of multi-operator-manager covers this case: of several applies to one object, the field manager selects the
/// matching one, not the position.
#[test]
fn a_useful_difference_honours_the_field_manager() {
    let expected = of([status("metadata", &[("A", "False")]), status("payload", &[("B", "True"), ("C", "False")])]);
    let actual = of([status("sync", &[("D", "False")]), status("payload", &[("B", "False"), ("C", "False")])]);
    let differences = semantic(&expected, &actual);
    assert_eq!(differences.len(), 3, "{differences:#?}");
    let name = "Management: ApplyStatus lamps.operator.example.com/cluster by";
    assert!(
        differences[0].starts_with(&format!("missing: {name} metadata-controller as metadata\n")),
        "{}",
        differences[0]
    );
    let differs = format!("differs: {name} payload-controller as payload\n");
    assert!(differences[1].starts_with(&differs), "{}", differences[1]);
    let changed: Vec<&str> =
        differences[1].lines().filter_map(|l| l.strip_prefix("    ")).filter(|l| l.starts_with(['-', '+'])).collect();
    assert_eq!(changed, ["-    status: \"True\"", "+    status: \"False\""]);
    assert!(differences[2].starts_with(&format!("unexpected: {name} sync-controller as sync\n")), "{}", differences[2]);
    assert_eq!(bytes(&expected, &actual).len(), 3);
}

#[test]
fn quoting_and_key_order_do_not_count() {
    let one = config_map("web", json!({"a": "1"}));
    let other =
        rewritten(&one, "{kind: ConfigMap, apiVersion: v1, metadata: {namespace: shop, name: web}, data: {a: '1'}}");
    assert_eq!(semantic(&of([one.clone()]), &of([other.clone()])), Vec::<String>::new());
    assert_eq!(bytes(&of([one.clone()]), &of([other])).len(), 1);
    let number =
        rewritten(&one, "{kind: ConfigMap, apiVersion: v1, metadata: {namespace: shop, name: web}, data: {a: 1}}");
    assert_eq!(semantic(&of([one]), &of([number])).len(), 1, "a number is no text");
}

#[test]
fn empty_fields_do_not_count_except_nulls_in_patches() {
    let new = config_map("web", json!({}));
    let mut body = new.body_value().unwrap();
    body["metadata"]["creationTimestamp"] = Value::Null;
    body["status"] = json!({});
    let old = rewritten(&new, &body.to_string());
    assert_eq!(semantic(&of([new]), &of([old])), Vec::<String>::new());
    let of_patch = |body: &[u8]| {
        let of = ResourceType::new("", "v1", "configmaps");
        let form = "application/merge-patch+json";
        Mutation::patch(OutputCluster::Management, Action::Patch, &of, ("shop", "web"), form, body).unwrap()
    };
    let (removes, leaves) = (of_patch(br#"{"data":{"a":null}}"#), of_patch(br#"{"data":{}}"#));
    assert_eq!(semantic(&of([removes]), &of([leaves])).len(), 1);
}

#[test]
fn order_repetition_and_events_do_not_count() {
    let (a, b) = (config_map("a", json!({})), config_map("b", json!({})));
    let event = |group: &str| {
        let of = ResourceType::new(group, "v1", "events");
        Mutation::object(
            OutputCluster::Management,
            Action::Create,
            &of,
            &json!({"kind": "Event", "metadata": {"name": "x"}}),
        )
    };
    let expected = of([a.clone(), b.clone(), a.clone()]);
    let actual = of([b, a, event(""), event("events.k8s.io")]);
    assert_eq!(semantic(&expected, &actual), Vec::<String>::new());
    assert_eq!(bytes(&expected, &actual), Vec::<String>::new());
    assert_eq!(semantic(&of([]), &of([event("example.com")])).len(), 1, "only Kubernetes' own events are left aside");
}

#[test]
fn author_and_method_count() {
    let one = config_map("web", json!({}));
    let others = [
        Mutation { cluster: OutputCluster::Configuration, ..one.clone() },
        Mutation { action: Action::Update, ..one.clone() },
        one.clone().with_controller("other-controller"),
        Mutation { name: "other".into(), ..one.clone() },
        Mutation { subresource: "scale".into(), ..one.clone() },
        Mutation { options: b"force: true\n".to_vec(), ..one.clone() },
    ];
    for other in others {
        assert!(!semantic(&of([one.clone()]), &of([other.clone()])).is_empty(), "{other:?}");
    }
    let options = Mutation { options: b"dryRun: [All]\n".to_vec(), ..one.clone() };
    let differences = semantic(&of([one]), &of([options]));
    assert_eq!(
        differences[0],
        "differs: Management: Create configmaps/shop/web\n    options:\n    +dryRun:\n    +- All"
    );
}

#[test]
fn undeclared_mutations_are_reported() {
    let loose = Mutation { cluster: OutputCluster::Unspecified, ..config_map("web", json!({})) };
    let differences = semantic(&of([]), &of([loose]));
    assert_eq!(differences, ["not declared by output-resources: Unspecified: Create configmaps/shop/web"]);
}

#[test]
fn masked_fields_are_never_compared() {
    let (one, other) =
        (config_map("web", json!({"key": "x", "a": "1"})), config_map("web", json!({"key": "y", "a": "1"})));
    let masks = [Mask::read(&json!({"path": "data.key", "resource": "configmaps"})).unwrap()];
    for strictness in [Strictness::Semantic, Strictness::Bytes] {
        let how = CompareOptions { strictness, masks: &masks };
        assert_eq!(compare(&of([one.clone()]), &of([other.clone()]), how), Vec::new());
        let third = config_map("web", json!({"key": "z", "a": "2"}));
        assert_eq!(compare(&of([one.clone()]), &of([third]), how).len(), 1, "the rest is");
    }
}

fn secret(value: &str) -> Mutation {
    let of = ResourceType::new("", "v1", "secrets");
    let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"key": value}});
    Mutation::object(OutputCluster::Management, Action::Create, &of, &body)
}

#[test]
fn secret_values_are_compared_and_redacted() {
    let differences = semantic(&of([secret("aHVudGVyMg==")]), &of([secret("c2VzYW1l")]));
    assert_eq!(differences.len(), 1);
    assert!(!differences[0].contains("aHVudGVyMg==") && differences[0].contains("<redacted "), "{}", differences[0]);
    assert_eq!(semantic(&of([secret("x")]), &of([secret("x")])), Vec::<String>::new());
    let missing = semantic(&of([secret("aHVudGVyMg==")]), &of([]));
    assert!(!missing[0].contains("aHVudGVyMg=="), "{}", missing[0]);
}

#[test]
fn secrets_are_compared_by_bytes() {
    let one = secret("aHVudGVyMg==");
    let text = String::from_utf8(one.body.clone()).unwrap();
    let same = "{kind: Secret, apiVersion: v1, metadata: {name: s}, data: {key: aHVudGVyMg==}}";
    for other in [same.to_string(), format!("# by hand\n{text}"), text.replace("aHVudGVyMg==", "\"aHVudGVyMg==\"")] {
        let (one, other) = (of([one.clone()]), of([rewritten(&one, &other)]));
        assert_eq!(semantic(&one, &other), Vec::<String>::new());
        let differences = bytes(&one, &other);
        assert_eq!(differences.len(), 1);
        assert!(
            differences[0].ends_with("\n    the bytes differ in redacted values or in formatting"),
            "{}",
            differences[0]
        );
    }
    assert_eq!(bytes(&of([one.clone()]), &of([one.clone()])), Vec::<String>::new());
    let masks = [Mask::read(&json!({"path": "data.key", "resource": "secrets"})).unwrap()];
    let how = CompareOptions { strictness: Strictness::Bytes, masks: &masks };
    assert_eq!(
        compare(&of([one.clone()]), &of([secret("c2VzYW1l")]), how),
        Vec::new(),
        "what is masked is not compared"
    );
}

#[test]
fn patches_of_secrets_are_redacted() {
    let patch = |value: &str| {
        let (of, form) = (ResourceType::new("", "v1", "secrets"), "application/json-patch+json");
        let steps =
            json!([{"op": "replace", "path": "/data/key", "value": value}, {"op": "remove", "path": "/data/old"}]);
        let sent = steps.to_string();
        Mutation::patch(OutputCluster::Management, Action::Patch, &of, ("shop", "s"), form, sent.as_bytes()).unwrap()
    };
    let differences = semantic(&of([patch("aHVudGVyMg==")]), &of([patch("c2VzYW1l")]));
    assert_eq!(differences.len(), 1);
    assert!(!differences[0].contains("aHVudGVyMg==") && differences[0].contains("<redacted "), "{}", differences[0]);
}

#[test]
fn invalid_secrets_are_redacted() {
    let torn = |value: &str| rewritten(&secret("x"), &format!("data: {{key: {value}"));
    let differences = semantic(&of([torn("aHVudGVyMg==")]), &of([torn("c2VzYW1l")]));
    assert_eq!(differences.len(), 1);
    assert!(
        differences[0].contains("<redacted ")
            && !differences[0].contains("aHVudGVyMg==")
            && !differences[0].contains("c2VzYW1l"),
        "{}",
        differences[0]
    );
    assert_eq!(semantic(&of([torn("x")]), &of([torn("x")])), Vec::<String>::new());
}

fn with_results(results: &[(&str, ControllerStatus, &str, &str)]) -> MutationDirectory {
    let one = |(name, status, error, stack): &(&str, ControllerStatus, &str, &str)| ControllerResult {
        controller_name: (*name).into(),
        status: status.clone(),
        errors: if error.is_empty() { Vec::new() } else { vec![ControllerError { message: (*error).into() }] },
        panic_stack: (*stack).into(),
    };
    let controller_results = results.iter().map(one).collect();
    MutationDirectory { results: Some(ControllerResults { controller_results }), ..MutationDirectory::default() }
}

#[test]
fn results_of_controllers_are_compared() {
    use ControllerStatus::{Failed, Panicked, Succeeded};
    let expected = with_results(&[("a", Succeeded, "", ""), ("b", Failed, "no", "")]);
    let swapped = with_results(&[("b", Failed, "no", ""), ("a", Succeeded, "", "")]);
    assert_eq!(semantic(&expected, &swapped), Vec::<String>::new());
    assert_eq!(bytes(&expected, &swapped), ["controller-results.yaml differs\n    the order differs"]);
    let other = with_results(&[("a", Succeeded, "", ""), ("b", Failed, "never", "")]);
    assert!(semantic(&expected, &other)[0].contains("-  - message: \"no\"\n    +  - message: never"));
    let (here, there) = (
        with_results(&[("a", Panicked, "", "boom\ngoroutine 1 0xc000")]),
        with_results(&[("a", Panicked, "", "boom\ngoroutine 7 0xc111")]),
    );
    assert_eq!(semantic(&here, &there), Vec::<String>::new(), "addresses are never the same twice");
    assert_eq!(bytes(&here, &there).len(), 1);
    let none = MutationDirectory::default();
    assert_eq!(semantic(&none, &here), Vec::<String>::new(), "what is not said is not expected");
    assert_eq!((bytes(&none, &here).len(), semantic(&here, &none).len()), (1, 1));
}

#[test]
fn unreadable_files_are_differences_if_they_may_be_mutations() {
    let lost = |file: &str, message: &str| {
        let problems = vec![ReadProblem { file: file.into(), line: None, message: message.into() }];
        MutationDirectory { problems, ..MutationDirectory::default() }
    };
    let none = MutationDirectory::default();
    let differences = semantic(&none, &lost("Management/Create/1-body-x.yaml", "has no metadata file"));
    assert_eq!(differences, ["output/Management/Create/1-body-x.yaml: has no metadata file"]);
    assert_eq!(semantic(&lost("controller-results.yaml", "is not YAML"), &none).len(), 1);
    for (file, by_bytes) in [("README.md", 1), ("Management/Shout/1-body-x.yaml", 0), ("Management/Create/a-b.md", 0)] {
        let stray = lost(file, NO_MUTATION);
        assert_eq!((semantic(&none, &stray).len(), bytes(&stray, &none).len()), (0, by_bytes), "{file}");
    }
}

fn any_mutation() -> impl Strategy<Value = Mutation> {
    let data = prop::collection::btree_map("[a-c]", "[a-z :0-9]{0,4}", 0..3);
    ("[a-b]", data, 0..3usize, any::<bool>()).prop_map(|(name, data, place, applied)| {
        let mut mutation = config_map(&name, json!(data));
        mutation.cluster = OutputCluster::DECLARED[place];
        if applied {
            mutation.action = Action::Apply;
            mutation = mutation.with_options(&json!({"fieldManager": "m"}));
        }
        mutation
    })
}

proptest! {
    #[test]
    fn guarantees_nothing_differs_from_itself(mutations in prop::collection::vec(any_mutation(), 0..6)) {
        let directory = of(mutations);
        prop_assert_eq!(semantic(&directory, &directory), Vec::<String>::new());
        prop_assert_eq!(bytes(&directory, &directory), Vec::<String>::new());
    }

    #[test]
    fn guarantees_bytes_are_stricter_than_meaning(
        one in prop::collection::vec(any_mutation(), 0..4),
        other in prop::collection::vec(any_mutation(), 0..4),
    ) {
        let (one, other) = (of(one), of(other));
        if bytes(&one, &other).is_empty() {
            prop_assert_eq!(semantic(&one, &other), Vec::<String>::new());
        }
        prop_assert_eq!(semantic(&one, &other).is_empty(), semantic(&other, &one).is_empty());
    }
}
