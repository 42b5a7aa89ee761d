//! Resources from a CustomResourceDefinition.

use std::sync::Arc;

use bytes::Bytes;
use switchboard_object::Value;
use switchboard_object::kind::GroupVersionKind;

use super::compare_versions;
use crate::resource::{CrdVersion, LazySchema, PrinterColumn, ScaleSubresource, ServedResource, Subresource};

/// Verbs of custom resources, in kube-apiserver's order.
const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/// Verbs of their subresources.
const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];

/// Returns the resources of a CRD: one per served version, none if required fields are missing.
///
/// The names are those the CRD requests; whether they are accepted is decided before. Schemas are kept as bytes until
/// used.
pub fn from_definition(crd: &Value) -> Vec<Arc<ServedResource>> {
    from_stored(crd, &Bytes::from(serde_json::to_vec(crd).expect("a value is encodable")))
}

/// Returns the resources of a CRD with its encoded form. Schemas stay in those bytes, which the store shares.
pub fn from_stored(crd: &Value, definition: &Bytes) -> Vec<Arc<ServedResource>> {
    let spec = &crd["spec"];
    let (Some(group), Some(kind)) = (spec["group"].as_str(), spec["names"]["kind"].as_str()) else { return Vec::new() };
    let storage = versions(spec).find(|v| v["storage"] == true).map_or("", |v| text(v, "name"));
    let whole = CrdVersion {
        storage_version: storage.into(),
        terminating: condition(crd, "Terminating"),
        storage_schema: Some(Arc::new(LazySchema::custom(definition.clone(), storage.into()))),
        since: text(&crd["metadata"], "resourceVersion").parse().unwrap_or(0),
        ..CrdVersion::default()
    };
    let served = versions(spec).filter(|v| v["served"] == true);
    served.map(|version| Arc::new(resource(spec, group, kind, version, &whole, definition))).collect()
}

fn condition(crd: &Value, kind: &str) -> bool {
    list(&crd["status"]["conditions"]).any(|c| c["type"] == kind && c["status"] == "True")
}

fn resource(
    spec: &Value,
    group: &str,
    kind: &str,
    version: &Value,
    whole: &CrdVersion,
    definition: &Bytes,
) -> ServedResource {
    let names = &spec["names"];
    let own = GroupVersionKind::new(group, text(version, "name"), kind);
    let custom = custom(group, version, whole, spec);
    let or = |key: &str, otherwise: String| names[key].as_str().map_or(otherwise, str::to_string).into();
    ServedResource {
        plural: text(names, "plural").into(),
        singular: or("singular", kind.to_lowercase()),
        list_kind: or("listKind", format!("{kind}List")),
        short_names: strings(&names["shortNames"]),
        categories: strings(&names["categories"]),
        namespaced: spec["scope"] != "Cluster",
        verbs: VERBS.map(Into::into).to_vec(),
        subresources: subresources(&own, &custom),
        schema: LazySchema::custom(definition.clone(), own.version.as_str().into()),
        custom: Some(Arc::new(custom)),
        kind: own,
    }
}

/// Returns the properties of one version, combined with those of the whole CRD.
fn custom(group: &str, version: &Value, whole: &CrdVersion, spec: &Value) -> CrdVersion {
    let name = text(version, "name");
    let deprecation = (version["deprecated"] == true).then(|| {
        let kind = text(&spec["names"], "kind");
        let stated = version["deprecationWarning"].as_str();
        stated.map_or_else(|| deprecation_warning(group, name, kind, spec), str::to_string).into()
    });
    CrdVersion {
        columns: list(&version["additionalPrinterColumns"]).map(column).collect(),
        selectable_fields: list(&version["selectableFields"]).map(|f| text(f, "jsonPath").into()).collect(),
        scale: version["subresources"].get("scale").map(scale),
        status: version["subresources"].get("status").is_some(),
        preserve_unknown: spec["preserveUnknownFields"] == true,
        deprecation,
        ..whole.clone()
    }
}

/// Returns kube-apiserver's warning for a deprecated version without its own: it names the newest version that is not
/// deprecated.
fn deprecation_warning(group: &str, name: &str, kind: &str, spec: &Value) -> String {
    let good = versions(spec).filter(|v| v["served"] == true && v["deprecated"] != true).map(|v| text(v, "name"));
    let newer = good.filter(|v| compare_versions(v, name).is_gt()).max_by(|a, b| compare_versions(a, b));
    match newer {
        Some(newer) => format!("{group}/{name} {kind} is deprecated; use {group}/{newer} {kind}"),
        None => format!("{group}/{name} {kind} is deprecated"),
    }
}

fn column(column: &Value) -> PrinterColumn {
    PrinterColumn {
        name: text(column, "name").into(),
        kind: text(column, "type").into(),
        format: text(column, "format").into(),
        description: text(column, "description").into(),
        priority: column["priority"].as_i64().unwrap_or_default() as i32,
        path: text(column, "jsonPath").into(),
    }
}

fn scale(scale: &Value) -> ScaleSubresource {
    ScaleSubresource {
        spec_replicas: text(scale, "specReplicasPath").into(),
        status_replicas: text(scale, "statusReplicasPath").into(),
        label_selector: scale["labelSelectorPath"].as_str().filter(|p| !p.is_empty()).map(Into::into),
    }
}

fn subresources(own: &GroupVersionKind, custom: &CrdVersion) -> Vec<Subresource> {
    let verbs = || SUBRESOURCE_VERBS.map(Into::into).to_vec();
    let status = custom.status.then(|| Subresource { name: "status".into(), kind: own.clone(), verbs: verbs() });
    let scale = custom.scale.as_ref().map(|_| Subresource {
        name: "scale".into(),
        kind: GroupVersionKind::new("autoscaling", "v1", "Scale"),
        verbs: verbs(),
    });
    status.into_iter().chain(scale).collect()
}

fn versions(spec: &Value) -> impl Iterator<Item = &Value> {
    list(&spec["versions"])
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn strings(value: &Value) -> Vec<Arc<str>> {
    list(value).filter_map(Value::as_str).map(Into::into).collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}
