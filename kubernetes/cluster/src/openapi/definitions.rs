//! Definitions of built-in kinds, by name and by kind, without keeping them parsed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::value::RawValue;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::schema::Descriptions;
use switchboard_object::{Map, SCHEMAS, Value};

/// Prefix of schema references in a v3 document.
pub(super) const V3_PREFIX: &str = "#/components/schemas/";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";

static RAW: LazyLock<BTreeMap<&'static str, &'static RawValue>> =
    LazyLock::new(|| serde_json::from_str(SCHEMAS).expect("the embedded schemas are well formed"));

static NAMES: LazyLock<BTreeMap<GroupVersionKind, &'static str>> = LazyLock::new(|| {
    let mut names = BTreeMap::new();
    for (name, raw) in RAW.iter().filter(|(_, raw)| raw.get().contains("x-kubernetes-group-version-kind")) {
        let definition: Value = serde_json::from_str(raw.get()).expect("the embedded schemas are well formed");
        let kinds = definition["x-kubernetes-group-version-kind"].as_array().cloned().unwrap_or_default();
        for kind in kinds {
            let part = |key: &str| kind[key].as_str().unwrap_or_default().to_string();
            names.insert(GroupVersionKind::new(part("group"), part("version"), part("kind")), *name);
        }
    }
    names
});

/// Returns the name of a `meta/v1` definition.
pub(super) fn meta(kind: &str) -> String {
    format!("{META}{kind}")
}

/// Returns the definition name of a built-in kind.
pub(super) fn name_of(kind: &GroupVersionKind) -> Option<&'static str> {
    NAMES.get(kind).copied()
}

/// Returns all built-in definitions, without descriptions.
pub(super) fn built_in_definitions() -> impl Iterator<Item = (&'static str, Value)> {
    RAW.iter().map(|(name, raw)| (*name, parse(raw)))
}

/// Adds built-in definitions with their descriptions, and everything they refer to. Definitions that are in the map
/// already are custom ones and stay as they are.
pub(super) fn add_with_references(schemas: &mut Map, names: impl IntoIterator<Item = String>) {
    let mut waiting: BTreeSet<String> = names.into_iter().collect();
    let mut built_in = Map::new();
    while let Some(name) = waiting.pop_first() {
        let is_new = !schemas.contains_key(&name) && !built_in.contains_key(&name);
        let Some(raw) = RAW.get(name.as_str()).filter(|_| is_new) else { continue };
        waiting.extend(references(raw.get()));
        built_in.insert(name, parse(raw));
    }
    Descriptions::decompress().add_to(&mut built_in);
    schemas.extend(built_in);
}

/// Returns the names of definitions that a definition's text refers to.
pub(super) fn references(json: &str) -> impl Iterator<Item = String> {
    json.split(V3_PREFIX).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_string)
}

fn parse(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).expect("the embedded schemas are well formed")
}
