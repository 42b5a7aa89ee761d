#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;
use crate::contract::InputResources;
use crate::discovery::Discovery;
use crate::dump::DumpedObject;
use switchboard_object::kind::GroupVersionKind;

fn object(group: &str, kind: &str, plural: &str, value: Value) -> DumpedObject {
    let kind = GroupVersionKind::new(group, "v1", kind);
    let mut value = value;
    value["apiVersion"] = kind.api_version().into();
    value["kind"] = kind.kind.clone().into();
    let namespaced = value["metadata"].get("namespace").is_some();
    DumpedObject { kind, plural: plural.into(), namespaced, inferred: false, value }
}

fn secret(namespace: &str, name: &str) -> DumpedObject {
    object(
        "",
        "Secret",
        "secrets",
        json!({"metadata": {"namespace": namespace, "name": name, "labels": {"app": name}}}),
    )
}

fn dump(config: Value) -> MustGather {
    let mut generated = secret("shop", "web-x7k");
    generated.value["metadata"]["generateName"] = "web-".into();
    let objects = [
        object("example.com", "Config", "configs", json!({"metadata": {"name": "cluster"}, "spec": config})),
        object("example.com", "Class", "classes", json!({"metadata": {"name": "gold"}})),
        secret("shop", "a"),
        secret("shop", "b"),
        secret("other", "a"),
        secret("shop", "web-mine"),
        generated,
    ];
    MustGather::from_objects(objects, Discovery::default())
}

#[track_caller]
fn check(inputs: &str, from: &MustGather, expected: &[&str]) -> Vec<String> {
    let inputs = InputResources::read(&format!("applyConfigurationResources: {inputs}")).unwrap();
    assert_eq!(inputs.validate(ContractRules::Native), []);
    let pruned = prune(&inputs.apply_configuration_resources, from, ContractRules::Native).unwrap();
    let name = |(of, value): &(ResourceType, Value)| {
        let text = |field: &str| value["metadata"][field].as_str().unwrap_or_default().to_string();
        ExactResource { of: of.clone(), namespace: text("namespace"), name: text("name") }.to_string()
    };
    assert_eq!(pruned.objects.iter().map(name).collect::<Vec<_>>(), expected);
    pruned.problems
}

const SECRETS: &str = "version: v1, resource: secrets";
const CONFIG: &str = "referringResource: {group: example.com, version: v1, resource: configs, name: cluster}";

#[test]
fn exact_labelled_and_generated() {
    let from = dump(json!({}));
    let exact = format!(
        "{{exactResources: [{{{SECRETS}, namespace: shop, name: b}}, {{{SECRETS}, namespace: shop, name: gone}}, {{{SECRETS}, namespace: shop, name: b}}]}}"
    );
    check(&exact, &from, &["secrets/shop/b"]);
    let labelled = format!("{{labelSelectedResources: [{{{SECRETS}, labelSelector: {{matchLabels: {{app: a}}}}}}]}}");
    check(&labelled, &from, &["secrets/other/a", "secrets/shop/a"]);
    let expressed = format!(
        "{{labelSelectedResources: [{{{SECRETS}, namespace: shop, labelSelector: {{matchExpressions: [{{key: app, operator: In, values: [a, b]}}]}}}}]}}"
    );
    check(&expressed, &from, &["secrets/shop/a", "secrets/shop/b"]);
    let generated = format!("{{generatedNameResources: [{{{SECRETS}, namespace: shop, name: web-}}]}}");
    check(&generated, &from, &["secrets/shop/web-x7k"]);
}

#[test]
fn invalid_file_names_are_reported_and_break_nothing() {
    let from = MustGather::from_objects([secret("shop", "../x"), secret("shop", "a")], Discovery::default());
    let everything = format!("{{labelSelectedResources: [{{{SECRETS}, labelSelector: {{}}}}]}}");
    let problems = check(&everything, &from, &["secrets/shop/a"]);
    assert_eq!(problems, ["secrets by label: `../x` is not a valid file name; skipped"]);
}

#[test]
fn references_of_all_three_kinds() {
    let from = dump(json!({"cert": {"name": "b"}, "class": "gold", "refs": [
        {"name": "a", "namespace": "other"}, {"name": "b"}, {"name": "b", "namespace": "shop"}]}));
    let implicit = format!(
        "{{resourceReferences: [{{{CONFIG}, type: ImplicitNamespacedReference, implicitNamespacedReference: {{{SECRETS}, namespace: shop, nameJSONPath: $.spec.cert.name}}}}]}}"
    );
    check(&implicit, &from, &["configs.example.com/cluster", "secrets/shop/b"]);
    let wide = format!(
        "{{resourceReferences: [{{{CONFIG}, type: ClusterScopedReference, clusterScopedReference: {{group: example.com, version: v1, resource: classes, nameJSONPath: $.spec.class}}}}]}}"
    );
    check(&wide, &from, &["configs.example.com/cluster", "classes.example.com/gold"]);
    let explicit = format!(
        "{{resourceReferences: [{{{CONFIG}, type: ExplicitNamespacedReference, explicitNamespacedReference: {{{SECRETS}, namespaceJSONPath: '$.spec.refs[*].namespace', nameJSONPath: '$.spec.refs[*].name'}}}}]}}"
    );
    let problems = check(&explicit, &from, &["configs.example.com/cluster", "secrets/other/a", "secrets/shop/b"]);
    assert_eq!(problems, ["resourceReferences[0]: $.spec.refs[*].namespace finds no namespace for `b`"]);
}

#[test]
fn missing_optional_keys_are_no_errors() {
    let inputs = format!(
        "{{resourceReferences: [{{{CONFIG}, type: ImplicitNamespacedReference, implicitNamespacedReference: {{{SECRETS}, namespace: shop, nameJSONPath: $.spec.cert.name}}}}]}}"
    );
    for config in [json!({}), json!({"cert": null}), json!({"cert": {"name": ""}})] {
        assert_eq!(check(&inputs, &dump(config), &["configs.example.com/cluster"]), [] as [&str; 0]);
    }
    let problems = check(&inputs, &dump(json!({"cert": {"name": 5}})), &["configs.example.com/cluster"]);
    assert_eq!(problems, ["resourceReferences[0]: $.spec.cert.name finds a number instead of a name"]);
    let inputs = InputResources::read(&format!("applyConfigurationResources: {inputs}")).unwrap();
    let refused = prune(&inputs.apply_configuration_resources, &dump(json!({})), ContractRules::MultiOperatorManager)
        .unwrap_err();
    assert_eq!(refused.0, ["resourceReferences[0]: $.spec.cert.name: unknown key cert"]);
}

#[test]
fn other_versions_are_errors() {
    let inputs = InputResources::read(
        "applyConfigurationResources: {exactResources: [{version: v2, resource: secrets, namespace: shop, name: a}]}",
    )
    .unwrap();
    let refused = prune(&inputs.apply_configuration_resources, &dump(json!({})), ContractRules::Native).unwrap_err();
    assert!(
        refused.0[0].starts_with("secrets/shop/a: could not read secrets a: the directory contains version v1"),
        "{refused}"
    );
}

/// There is one object for each name, because a request without a name returns all of them.
#[test]
fn empty_names_reference_nothing() {
    let inputs = |path: &str| {
        format!(
            "{{resourceReferences: [{{{CONFIG}, type: ImplicitNamespacedReference, implicitNamespacedReference: {{{SECRETS}, namespace: shop, nameJSONPath: '{path}'}}}}]}}"
        )
    };
    let from = dump(json!({"names": ["", "b"]}));
    for path in ["$.spec.names", "$.spec.names[*]"] {
        check(&inputs(path), &from, &["configs.example.com/cluster", "secrets/shop/b"]);
        let text = format!("applyConfigurationResources: {}", inputs(path));
        let inputs = InputResources::read(&text).unwrap();
        let mut pruner = InputPruner::new(&inputs.apply_configuration_resources, ContractRules::Native);
        let first = pruner.pending_queries().remove(0);
        let config = query_must_gather(&first, &from);
        pruner.add_result(first, config);
        assert_eq!(
            pruner.pending_queries().iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["secrets/shop/b"],
            "{path}"
        );
    }
}

#[test]
fn secrets_keep_their_keys() {
    let mut secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"tls.key": "c2VjcmV0"}, "stringData": {"a": "b"}, "type": "x"});
    let mut list = json!({"apiVersion": "v1", "kind": "SecretList", "items": [{"metadata": {"name": "a"}, "data": {"tls.key": "c2VjcmV0"}}]});
    redact(&mut secret);
    assert_eq!(
        secret,
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"tls.key": "cmVkYWN0ZWQ="}, "stringData": {"a": "redacted"}, "type": "x"})
    );
    redact(&mut list);
    assert_eq!(list["items"][0]["data"], json!({"tls.key": "cmVkYWN0ZWQ="}), "nor does a list of them tell");
    let mut other =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"annotations": {"a": "b"}}, "data": {"a": "b"}});
    redact(&mut other);
    assert_eq!((&other["data"]["a"], &other["metadata"]["annotations"]["a"]), (&json!("b"), &json!("b")));
}

#[test]
fn annotations_of_secrets_are_redacted() {
    let mut secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"annotations": {
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "openshift.io/token-secret.name": "builder-token-x",
        "openshift.io/token-secret.value": "eyJhbGciOi",
        "other.example.com/note": "eyJhbGciOi",
        "auth.openshift.io/certificate-not-after": "2027-01-02T03:04:05Z"}}});
    redact(&mut secret);
    let expected = json!({
        "openshift.io/token-secret.name": "builder-token-x",
        "openshift.io/token-secret.value": "redacted",
        "other.example.com/note": "redacted",
        "auth.openshift.io/certificate-not-after": "2027-01-02T03:04:05Z"});
    assert_eq!(secret["metadata"]["annotations"], expected);
}

mod properties {
    use proptest::prelude::*;

    use super::*;
    use crate::contract::{ClusterScopedReference, GeneratedResource, ImplicitReference, LabelSelected};
    use crate::input::{InputFolder, InputFormat};

    fn secrets() -> ResourceType {
        ResourceType::new("", "v1", "secrets")
    }

    fn any_secret() -> impl Strategy<Value = DumpedObject> {
        ("[ab]", "[a-d]", prop::option::of("[xz]"), prop::option::of("[gh]-")).prop_map(
            |(namespace, name, label, generated)| {
                let mut secret = secret(&namespace, &name);
                secret.value["metadata"]["labels"] = label.map_or(json!({}), |label| json!({"app": label}));
                if let Some(prefix) = generated {
                    secret.value["metadata"]["generateName"] = prefix.into();
                }
                secret
            },
        )
    }

    fn any_config() -> impl Strategy<Value = DumpedObject> {
        (prop::option::of("[a-d]?"), prop::collection::vec("[a-d]", 0..3)).prop_map(|(cert, names)| {
            let items: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
            let mut spec = json!({"items": items});
            if let Some(cert) = cert {
                spec["cert"] = json!({"name": cert});
            }
            object("example.com", "Config", "configs", json!({"metadata": {"name": "cluster"}, "spec": spec}))
        })
    }

    fn any_list() -> impl Strategy<Value = ResourceList> {
        let exact = ("[ab]", "[a-d]").prop_map(|(namespace, name)| ExactResource { of: secrets(), namespace, name });
        let generated = ("[ab]", "[gh]-").prop_map(|(namespace, prefix)| GeneratedResource {
            of: secrets(),
            namespace,
            generated_name: prefix,
        });
        let labelled =
            (prop_oneof![Just(String::new()), "[ab]"], "[xz]").prop_map(|(namespace, label)| LabelSelected {
                of: secrets(),
                namespace,
                label_selector: LabelSelector {
                    match_labels: [("app".to_string(), label)].into(),
                    match_expressions: vec![],
                },
            });
        let path = prop_oneof![Just("$.spec.cert.name"), Just("$.spec.items[*].name"), Just("$..name")];
        let referring = ExactResource {
            of: ResourceType::new("example.com", "v1", "configs"),
            namespace: String::new(),
            name: "cluster".into(),
        };
        let reference = ("[ab]", path, any::<bool>()).prop_map(move |(namespace, path, wide)| ResourceReference {
            referring_resource: referring.clone(),
            implicit_namespaced_reference: (!wide).then(|| ImplicitReference {
                of: secrets(),
                namespace,
                name_json_path: path.into(),
            }),
            cluster_scoped_reference: wide
                .then(|| ClusterScopedReference { of: referring.of.clone(), name_json_path: path.into() }),
            ..ResourceReference::default()
        });
        let some = |count| 0..count;
        (
            prop::collection::vec(exact, some(4usize)),
            prop::collection::vec(generated, some(3usize)),
            prop::collection::vec(labelled, some(3usize)),
            prop::collection::vec(reference, some(3usize)),
        )
            .prop_map(
                |(exact_resources, generated_name_resources, label_selected_resources, resource_references)| {
                    ResourceList {
                        exact_resources,
                        generated_name_resources,
                        label_selected_resources,
                        resource_references,
                    }
                },
            )
    }

    /// Returns every result that an operator can get for its declared inputs.
    fn answers(list: &ResourceList, from: &MustGather) -> Vec<(InputQuery, Vec<Value>)> {
        let mut pruning = InputPruner::new(list, ContractRules::Native);
        let mut answers = Vec::new();
        loop {
            let questions = pruning.pending_queries();
            if questions.is_empty() {
                return answers;
            }
            for question in questions {
                let found = query_must_gather(&question, from).unwrap();
                let meant: Vec<Value> = found.iter().filter(|object| question.selects(object)).cloned().collect();
                pruning.add_result(question.clone(), Ok(found));
                answers.push((question, meant));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// An operator reads the same declared inputs before and after pruning, so it makes the same decision.
        #[test]
        fn declared_inputs_are_equal_before_and_after_pruning(
            secrets in prop::collection::vec(any_secret(), 0..10),
            config in any_config(),
            list in any_list(),
        ) {
            let whole = MustGather::from_objects(secrets.into_iter().chain([config]), Discovery::default());
            let pruned = prune(&list, &whole, ContractRules::Native).unwrap();
            let folder = tempfile::tempdir().unwrap();
            InputFolder::new(folder.path(), InputFormat::Json, ContractRules::Native).write(&pruned.input(), None).unwrap();
            let part = MustGather::open(folder.path()).unwrap();
            prop_assert_eq!(part.problems(), &[][..]);
            prop_assert_eq!(answers(&list, &part), answers(&list, &whole));
        }
    }
}
