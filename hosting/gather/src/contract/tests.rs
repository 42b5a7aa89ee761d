#![allow(clippy::unwrap_used)]

use super::*;
use crate::mutation::{Action, Mutation, OutputCluster};
use serde_json::json;

const INPUTS: &str = r#"applyConfigurationResources:
  exactResources:
  - group: ""
    name: trusted-ca
    namespace: shop
    resource: configmaps
    version: v1
  - group: config.example.com
    name: cluster
    resource: ingresses
    version: v1
  generatedNameResources:
  - group: certificates.k8s.io
    name: system:shop-
    resource: certificatesigningrequests
    version: v1
  labelSelectedResources:
  - group: ""
    labelSelector:
      matchLabels:
        app: web
    namespace: shop
    resource: secrets
    version: v1
  resourceReferences:
  - implicitNamespacedReference:
      group: ""
      nameJSONPath: $.spec.routes[?(@.name == "web" && @.namespace == "shop")].secret.name
      namespace: shop-config
      resource: secrets
      version: v1
    referringResource:
      group: config.example.com
      name: cluster
      resource: ingresses
      version: v1
    type: ImplicitNamespacedReference
operandResources:
  configurationResources: {}
  managementResources:
    exactResources:
    - group: apps
      name: web
      namespace: shop
      resource: deployments
      version: v1
  userWorkloadResources: {}
"#;

#[test]
fn inputs_round_trip() {
    let inputs = InputResources::read(INPUTS).unwrap();
    assert_eq!(inputs.to_yaml(), INPUTS);
    assert_eq!(inputs.validate(ContractRules::MultiOperatorManager), []);
    assert_eq!(inputs.validate(ContractRules::Native), []);
}

#[test]
fn keys_without_value_are_missing_and_numbers_are_text() {
    let text = "applyConfigurationResources: {exactResources: [{group: , version: 1, resource: a, name: 7, other: x}]}";
    let inputs = InputResources::read(text).unwrap();
    let one = &inputs.apply_configuration_resources.exact_resources[0];
    assert_eq!((&*one.of.group, &*one.of.version, &*one.name), ("", "1", "7"));
    assert_eq!(InputResources::read("").unwrap(), InputResources::default());
    let empty = "applyConfigurationResources: {}\noperandResources:\n  configurationResources: {}\n  managementResources: {}\n  userWorkloadResources: {}\n";
    assert_eq!(InputResources::default().to_yaml(), empty);
}

#[track_caller]
fn wrong(text: &str, rules: ContractRules) -> Vec<String> {
    InputResources::read(text).unwrap().validate(rules).iter().map(ToString::to_string).collect()
}

#[test]
fn problems_are_reported_with_their_paths() {
    let text = "applyConfigurationResources: {exactResources: [{resource: secrets, namespace: a, name: b}]}";
    let expected = ["applyConfigurationResources.exactResources[0].version: Required value: must be present"];
    assert_eq!(wrong(text, ContractRules::MultiOperatorManager), expected);
    assert_eq!(wrong(text, ContractRules::Native), expected);
    let text = r#"{operandResources: {configurationResources: {resourceReferences: [{
        referringResource: {version: v1, resource: a, name: b}, type: ImplicitNamespacedReference,
        implicitNamespacedReference: {version: v1, resource: secrets, nameJSONPath: "no PATH[at all]"}}]}}}"#;
    let found = wrong(text, ContractRules::Native);
    assert_eq!(
        found[0],
        "operandResources.configurationResources.resourceReferences[0].implicitNamespacedReference.namespace: Required value: must be present"
    );
    assert!(
        found[1].contains("nameJSONPath: Invalid value: \"no PATH[at all]\": column 4: expected `.`, `[` or the end"),
        "{found:?}"
    );
}

#[test]
fn unsupported_inputs_are_rejected_as_in_multi_operator_manager() {
    let labels = "applyConfigurationResources: {labelSelectedResources: [{version: v1, resource: a, labelSelector: {matchExpressions: [{key: x, operator: Exists}]}}]}";
    assert_eq!(wrong(labels, ContractRules::Native), [] as [&str; 0]);
    assert_eq!(
        wrong(labels, ContractRules::MultiOperatorManager),
        ["applyConfigurationResources.labelSelectedResources[0].matchExpressions: Forbidden: not supported"]
    );
    let reference = "applyConfigurationResources: {resourceReferences: [{referringResource: {version: v1, resource: a, name: b}, type: ClusterScopedReference, clusterScopedReference: {version: v1, resource: c, nameJSONPath: $.x}}]}";
    assert_eq!(wrong(reference, ContractRules::Native), [] as [&str; 0]);
    assert_eq!(
        wrong(reference, ContractRules::MultiOperatorManager),
        [
            "applyConfigurationResources.resourceReferences[0].type: Unsupported value: \"ClusterScopedReference\": supported values: \"ImplicitNamespacedReference\""
        ]
    );
}

#[test]
fn resources_are_declared_in_one_version() {
    let text = "applyConfigurationResources: {exactResources: [{version: v1, resource: a, name: b}, {version: v2, resource: a, name: c}]}";
    let found = wrong(text, ContractRules::Native);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("applyConfigurationResources.exactResources[1].version: Invalid value: \"v2\""),
        "{found:?}"
    );
}

#[test]
fn outputs_of_the_configuration_cluster_are_inputs_too() {
    let outputs = OutputResources::read("configurationResources: {exactResources: [{version: v1, resource: a, name: b}], generatedNameResources: [{version: v1, resource: a, name: c-}]}\nmanagementResources: {exactResources: [{version: v1, resource: d, name: e}]}").unwrap();
    let inputs = InputResources::default().with_outputs(&outputs).apply_configuration_resources;
    assert_eq!((inputs.exact_resources.len(), inputs.generated_name_resources.len()), (1, 1));
    assert!(outputs.to_yaml().ends_with("userWorkloadResources: {}\n"));
}

fn mutation(action: Action, resource: &str, namespace: &str, name: &str, generate_name: &str) -> Mutation {
    let body = json!({"kind": "X", "metadata": {"namespace": namespace, "name": name, "generateName": generate_name}});
    Mutation::object(OutputCluster::Unspecified, action, &ResourceType::new("", "v1", resource), &body)
}

#[test]
fn outputs_are_allowed_by_name_by_generated_name_and_as_events() {
    let outputs = OutputResources::read(
        "managementResources: {eventingNamespaces: [shop], exactResources: [{version: v1, resource: configmaps, namespace: shop, name: web}], generatedNameResources: [{version: v1, resource: secrets, namespace: shop, name: web-}]}",
    )
    .unwrap();
    let places = |mutation: &Mutation, rules| outputs.clusters_for(mutation, rules);
    let named = mutation(Action::Create, "configmaps", "shop", "web", "");
    let event = mutation(Action::Create, "events", "shop", "any", "");
    let made = mutation(Action::Create, "secrets", "shop", "", "web-");
    for allowed in [&named, &event, &made] {
        assert_eq!(places(allowed, ContractRules::Native), [OutputCluster::Management]);
        assert_eq!(places(allowed, ContractRules::MultiOperatorManager), [OutputCluster::Management]);
    }
    let changed = mutation(Action::Update, "secrets", "shop", "web-x2v", "web-");
    let other = mutation(Action::Update, "secrets", "shop", "web-x2v", "other-");
    let both = mutation(Action::Update, "configmaps", "shop", "web", "w");
    assert_eq!(
        (places(&changed, ContractRules::Native).len(), places(&changed, ContractRules::MultiOperatorManager).len()),
        (1, 0)
    );
    assert_eq!(
        (places(&both, ContractRules::Native).len(), places(&both, ContractRules::MultiOperatorManager).len()),
        (1, 0)
    );
    assert_eq!(places(&other, ContractRules::Native), []);
    assert_eq!(places(&mutation(Action::Create, "secrets", "shop", "web-", ""), ContractRules::Native), []);
}

#[test]
fn results_are_sorted_and_list_failures() {
    let text = "controllerResults:\n- controllerName: b\n  status: Panicked\n  panicStack: |-\n    boom\n    x\n- controllerName: a\n  errors:\n  - message: \"no\"\n  status: Failed\n- controllerName: c\n  status: Skipped\n";
    let results = ControllerResults::read(text).unwrap();
    let expected = "controllerResults:\n- controllerName: a\n  errors:\n  - message: \"no\"\n  status: Failed\n- controllerName: b\n  panicStack: |-\n    boom\n    x\n  status: Panicked\n- controllerName: c\n  status: Skipped\n";
    assert_eq!(results.to_yaml(), expected);
    let failed: Vec<&str> = results.failures().map(|one| &*one.controller_name).collect();
    assert_eq!(failed, ["b", "a"]);
    let strange = ControllerResults::read("controllerResults: [{controllerName: a, status: Odd}]").unwrap();
    assert_eq!(strange.controller_results[0].status, ControllerStatus::Other("Odd".into()));
}
