#![allow(clippy::unwrap_used)]

use switchboard_gather::contract::{InputResources, OutputResources};

use super::*;

const INPUTS: &str = r#"
applyConfigurationResources:
  exactResources:
  - {group: "", version: v1, resource: configmaps, namespace: shop, name: web}
  - {group: config.openshift.io, version: v1, resource: ingresses, name: cluster}
  - {group: nowhere.example.com, version: v1, resource: widgets, name: a}
  labelSelectedResources:
  - {group: "", version: v1, resource: secrets, namespace: shop, labelSelector: {matchLabels: {app: web}}}
  resourceReferences:
  - referringResource: {group: config.openshift.io, version: v1, resource: ingresses, name: cluster}
    type: ImplicitNamespacedReference
    implicitNamespacedReference: {group: "", version: v1, resource: secrets, namespace: openshift-config, nameJSONPath: $.spec.secret}
"#;

const OUTPUTS: &str = r#"
configurationResources:
  exactResources: [{group: config.openshift.io, version: v1, resource: ingresses, name: cluster}]
managementResources:
  eventingNamespaces: [shop]
  exactResources: [{group: apps, version: v1, resource: deployments, namespace: shop, name: web}]
userWorkloadResources:
  generatedNameResources: [{group: certificates.k8s.io, version: v1, resource: certificatesigningrequests, name: "system:shop-"}]
"#;

fn contract() -> Contract {
    Contract { inputs: InputResources::read(INPUTS).unwrap(), outputs: OutputResources::read(OUTPUTS).unwrap() }
}

/// Formats declarations as `cluster-type plural namespace/name`, one per line.
fn lines(declared: &BTreeSet<AccessRule>) -> Vec<String> {
    let any = |text: &Option<Arc<str>>| text.as_deref().unwrap_or("-").to_string();
    let mut lines: Vec<String> = declared
        .iter()
        .map(|one| format!("{} {} {}/{}", one.cluster_type, one.resource, any(&one.namespace), any(&one.name)))
        .collect();
    lines.sort();
    lines
}

#[test]
fn what_is_declared_is_what_may_be_read_and_written() {
    let (kinds, unknown) = ContractKinds::of(&contract(), &Discovery::default());
    let declaration = declaration(&contract(), &kinds, None);
    assert_eq!(
        lines(&declaration.inputs),
        [
            "configuration ingresses.config.openshift.io -/cluster",
            "configuration secrets openshift-config/-",
            "management configmaps shop/web",
            "management secrets shop/-",
            // Existing objects are read before further ones are created.
            "user workload certificatesigningrequests.certificates.k8s.io -/-",
        ]
    );
    assert_eq!(
        lines(&declaration.outputs),
        [
            "configuration ingresses.config.openshift.io -/cluster",
            "management deployments.apps shop/web",
            "management events shop/-",
            "management events.events.k8s.io shop/-",
            "user workload certificatesigningrequests.certificates.k8s.io -/system:shop-*",
        ]
    );
    assert_eq!(unknown, [ResourceType::new("nowhere.example.com", "v1", "widgets")]);
    assert_eq!(declaration.units, Units::Whole);
}

#[test]
fn what_is_written_somewhere_is_read_there() {
    let (kinds, _) = ContractKinds::of(&contract(), &Discovery::default());
    let place = |group: &str, resource: &str, namespace: &str, name: &str| {
        kinds.cluster_type(&ResourceType::new(group, "v1", resource), namespace, name)
    };
    assert_eq!(place("apps", "deployments", "shop", "web"), ClusterType::Management);
    assert_eq!(place("", "configmaps", "openshift-config", "web"), ClusterType::Configuration);
    assert_eq!(place("", "configmaps", "shop", "web"), ClusterType::Management, "as what is written in that namespace");
    assert_eq!(place("certificates.k8s.io", "certificatesigningrequests", "", "x"), ClusterType::UserWorkload);
}

/// A type may be written on all three clusters, so the location is a property of the object.
#[test]
fn objects_of_one_type_are_each_read_where_they_are_written() {
    let outputs = r#"
configurationResources:
  exactResources: [{group: "", version: v1, resource: configmaps, namespace: shop-operator, name: seen}]
managementResources:
  exactResources: [{group: "", version: v1, resource: configmaps, namespace: shop, name: web}]
userWorkloadResources:
  exactResources: [{group: "", version: v1, resource: configmaps, namespace: kube-public, name: shop}]
"#;
    let inputs = r#"
applyConfigurationResources:
  exactResources:
  - {group: "", version: v1, resource: configmaps, namespace: kube-public, name: shop}
  - {group: "", version: v1, resource: configmaps, namespace: shop, name: web}
  - {group: "", version: v1, resource: configmaps, namespace: openshift-config, name: wishes}
  resourceReferences:
  - referringResource: {group: "", version: v1, resource: configmaps, namespace: openshift-config, name: wishes}
    type: ImplicitNamespacedReference
    implicitNamespacedReference: {group: "", version: v1, resource: configmaps, namespace: shop-operator, nameJSONPath: $.data.name}
"#;
    let contract =
        Contract { inputs: InputResources::read(inputs).unwrap(), outputs: OutputResources::read(outputs).unwrap() };
    let (kinds, _) = ContractKinds::of(&contract, &Discovery::default());
    assert_eq!(
        lines(&declaration(&contract, &kinds, None).inputs),
        [
            "configuration configmaps openshift-config/wishes",
            "configuration configmaps shop-operator/-",
            "management configmaps shop/web",
            "user workload configmaps kube-public/shop",
        ]
    );
}

#[test]
fn a_version_is_not_compared_when_it_is_written() {
    let (kinds, _) = ContractKinds::of(&contract(), &Discovery::default());
    let written = kinds.resource_for_write(&ResourceType::new("apps", "v1beta1", "deployments")).unwrap();
    assert_eq!((written.version.as_ref(), written.kind.as_ref()), ("v1beta1", "Deployment"));
    assert_eq!(kinds.resource_for_write(&ResourceType::new("", "v1", "pods")), None);
}
