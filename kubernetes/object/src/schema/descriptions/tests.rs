#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use super::*;
use crate::SCHEMAS;

fn described() -> Map {
    let mut definitions: Map = serde_json::from_str(SCHEMAS).unwrap();
    Descriptions::decompress().add_to(&mut definitions);
    definitions
}

#[test]
fn definitions_and_fields_have_the_descriptions_of_kube_apiserver() {
    let definitions = described();
    let strategy = &definitions["io.k8s.api.apps.v1.DeploymentStrategy"];
    assert_eq!(strategy["description"], "DeploymentStrategy describes how to replace existing pods with new ones.");
    assert_eq!(
        strategy["properties"]["type"]["description"],
        "Type of deployment. Can be \"Recreate\" or \"RollingUpdate\". Default is RollingUpdate.\n\n\
         Possible enum values:\n \
         - `\"Recreate\"` Kill all existing pods before creating new ones.\n \
         - `\"RollingUpdate\"` Replace the old ReplicaSets by new one using rolling update i.e gradually scale down \
         the old ReplicaSets and scale up the new one."
    );
}

#[test]
fn the_description_of_a_reference_is_beside_it() {
    let definitions = described();
    let strategy = &definitions["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["strategy"];
    assert_eq!(strategy["description"], "The deployment strategy to use to replace existing pods with new ones.");
    assert_eq!(strategy["allOf"][0]["$ref"], "#/components/schemas/io.k8s.api.apps.v1.DeploymentStrategy");
}

#[test]
fn a_field_named_description_stays_a_field() {
    let class = &described()["io.k8s.api.scheduling.v1.PriorityClass"];
    let field = &class["properties"]["description"];
    assert_eq!(field["type"], "string");
    assert!(field["description"].as_str().unwrap().starts_with("description is an arbitrary string"), "{field}");
}

#[test]
fn each_text_is_carried_once_and_each_definition_has_one() {
    let descriptions = Descriptions::decompress();
    let written: Vec<&str> = descriptions
        .lines
        .lines()
        .map(|l| l.trim_start().split_once(' ').unwrap().1)
        .filter(|t| t.starts_with('"'))
        .collect();
    assert_eq!(written.len(), written.iter().collect::<BTreeSet<_>>().len());
    let without: Vec<String> = described()
        .into_iter()
        .filter(|(_, schema)| schema.get("description").is_none())
        .map(|(name, _)| name)
        .collect();
    assert!(without.is_empty(), "{without:?}");
}

#[test]
fn other_definitions_are_left_alone() {
    let mut definitions: Map = serde_json::from_str(r#"{"com.example.Widget": {"type": "object"}}"#).unwrap();
    let before = definitions.clone();
    Descriptions::decompress().add_to(&mut definitions);
    assert_eq!(definitions, before);
}
