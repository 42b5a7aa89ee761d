//! Validation of declared inputs, with the texts of multi-operator-manager where it has any.

use std::collections::BTreeMap;

use switchboard_object::field::FieldError;
use switchboard_object::selector;

use super::ContractRules;
use super::input::{
    ExactResource, GeneratedResource, InputResources, LabelSelected, ResourceList, ResourceReference, ResourceType,
};
use crate::jsonpath::JsonPath;

const IMPLICIT: &str = "ImplicitNamespacedReference";
const EXPLICIT: &str = "ExplicitNamespacedReference";
const CLUSTER_SCOPED: &str = "ClusterScopedReference";

pub(super) fn input(resources: &InputResources, rules: ContractRules) -> Vec<FieldError> {
    let operand = &resources.operand_resources;
    let lists = [
        ("applyConfigurationResources", &resources.apply_configuration_resources),
        ("operandResources.configurationResources", &operand.configuration_resources),
        ("operandResources.managementResources", &operand.management_resources),
        ("operandResources.userWorkloadResources", &operand.user_workload_resources),
    ];
    let mut errors: Vec<FieldError> =
        lists.into_iter().flat_map(|(path, resources)| list(path, resources, rules)).collect();
    if rules == ContractRules::Native {
        errors.extend(one_version_per_resource(&resources.apply_configuration_resources));
    }
    errors
}

fn list(path: &str, list: &ResourceList, rules: ContractRules) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, one) in list.exact_resources.iter().enumerate() {
        errors.extend(exact(&format!("{path}.exactResources[{index}]"), one));
    }
    for (index, one) in list.generated_name_resources.iter().enumerate().filter(|_| rules == ContractRules::Native) {
        errors.extend(generated(&format!("{path}.generatedNameResources[{index}]"), one));
    }
    for (index, one) in list.label_selected_resources.iter().enumerate() {
        errors.extend(labelled(&format!("{path}.labelSelectedResources[{index}]"), one, rules));
    }
    for (index, one) in list.resource_references.iter().enumerate() {
        errors.extend(reference(&format!("{path}.resourceReferences[{index}]"), one, rules));
    }
    errors
}

fn required(path: String, value: &str) -> Option<FieldError> {
    value.is_empty().then(|| FieldError::required(path, "must be present"))
}

fn kind(path: &str, of: &ResourceType) -> impl Iterator<Item = FieldError> {
    let version = required(format!("{path}.version"), &of.version);
    version.into_iter().chain(required(format!("{path}.resource"), &of.resource))
}

fn exact(path: &str, one: &ExactResource) -> Vec<FieldError> {
    kind(path, &one.of).chain(required(format!("{path}.name"), &one.name)).collect()
}

fn generated(path: &str, one: &GeneratedResource) -> Vec<FieldError> {
    kind(path, &one.of).chain(required(format!("{path}.name"), &one.generated_name)).collect()
}

fn labelled(path: &str, one: &LabelSelected, rules: ContractRules) -> Vec<FieldError> {
    let mut errors: Vec<FieldError> = kind(path, &one.of).collect();
    if rules == ContractRules::MultiOperatorManager && !one.label_selector.match_expressions.is_empty() {
        errors.push(FieldError::forbidden(format!("{path}.matchExpressions"), "not supported"));
    }
    if rules == ContractRules::Native
        && let Err(error) = selector::LabelSelector::from_object(Some(&one.label_selector.to_value()))
    {
        errors.push(FieldError::invalid(
            format!("{path}.labelSelector"),
            one.label_selector.to_value(),
            error.to_string(),
        ));
    }
    errors
}

fn reference(path: &str, one: &ResourceReference, rules: ContractRules) -> Vec<FieldError> {
    let mut errors = exact(&format!("{path}.referringResource"), &one.referring_resource);
    let missing = |field: &str| vec![FieldError::required(format!("{path}.{field}"), "must be present")];
    match (one.kind.as_str(), rules) {
        (IMPLICIT, _) => {
            let field = "implicitNamespacedReference";
            let at = format!("{path}.{field}");
            errors.extend(one.implicit_namespaced_reference.as_ref().map_or_else(
                || missing(field),
                |named| {
                    let namespace = required(format!("{at}.namespace"), &named.namespace);
                    kind(&at, &named.of)
                        .chain(namespace)
                        .chain(json_path(&at, "nameJSONPath", &named.name_json_path))
                        .collect()
                },
            ));
        }
        (EXPLICIT, ContractRules::Native) => {
            let field = "explicitNamespacedReference";
            let at = format!("{path}.{field}");
            errors.extend(one.explicit_namespaced_reference.as_ref().map_or_else(
                || missing(field),
                |named| {
                    let namespace = json_path(&at, "namespaceJSONPath", &named.namespace_json_path);
                    kind(&at, &named.of)
                        .chain(namespace)
                        .chain(json_path(&at, "nameJSONPath", &named.name_json_path))
                        .collect()
                },
            ));
        }
        (CLUSTER_SCOPED, ContractRules::Native) => {
            let field = "clusterScopedReference";
            let at = format!("{path}.{field}");
            errors.extend(one.cluster_scoped_reference.as_ref().map_or_else(
                || missing(field),
                |named| kind(&at, &named.of).chain(json_path(&at, "nameJSONPath", &named.name_json_path)).collect(),
            ));
        }
        (other, rules) => {
            let supported: &[&str] =
                if rules == ContractRules::Native { &[CLUSTER_SCOPED, EXPLICIT, IMPLICIT] } else { &[IMPLICIT] };
            errors.push(FieldError::not_supported(format!("{path}.type"), other, supported));
        }
    }
    errors
}

fn json_path(path: &str, field: &str, text: &str) -> Option<FieldError> {
    let error = JsonPath::parse(text).err()?;
    Some(FieldError::invalid(format!("{path}.{field}"), text, error.to_string()))
}

/// Checks that all objects of a group and resource have one version, because one file contains them.
fn one_version_per_resource(list: &ResourceList) -> Vec<FieldError> {
    let mut versions: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut errors = Vec::new();
    for (path, of) in types(list) {
        let first = *versions.entry((&of.group, &of.resource)).or_insert(&of.version);
        if first != of.version && !of.version.is_empty() {
            let detail = format!("all {of} must have one version, and {first} is declared before");
            errors.push(FieldError::invalid(
                format!("applyConfigurationResources.{path}.version"),
                of.version.as_str(),
                detail,
            ));
        }
    }
    errors
}

fn types(list: &ResourceList) -> Vec<(String, &ResourceType)> {
    let mut all = Vec::new();
    let at = |field: &str, index: usize| format!("{field}[{index}]");
    all.extend(list.exact_resources.iter().enumerate().map(|(i, one)| (at("exactResources", i), &one.of)));
    all.extend(
        list.generated_name_resources.iter().enumerate().map(|(i, one)| (at("generatedNameResources", i), &one.of)),
    );
    all.extend(
        list.label_selected_resources.iter().enumerate().map(|(i, one)| (at("labelSelectedResources", i), &one.of)),
    );
    for (i, one) in list.resource_references.iter().enumerate() {
        let path = at("resourceReferences", i);
        all.push((format!("{path}.referringResource"), &one.referring_resource.of));
        let implicit = one.implicit_namespaced_reference.as_ref().map(|r| ("implicitNamespacedReference", &r.of));
        let explicit = one.explicit_namespaced_reference.as_ref().map(|r| ("explicitNamespacedReference", &r.of));
        let wide = one.cluster_scoped_reference.as_ref().map(|r| ("clusterScopedReference", &r.of));
        all.extend([implicit, explicit, wide].into_iter().flatten().map(|(field, of)| (format!("{path}.{field}"), of)));
    }
    all
}
