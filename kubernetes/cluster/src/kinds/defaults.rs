//! Defaulting of built-in kinds.
//!
//! Most defaults are rows of `data/defaults.txt`; those that depend on other fields are functions in the submodules.
//! Both apply per definition, so a pod template gets its defaults wherever it is embedded.

#[cfg(test)]
mod tests;

mod batch;
mod core;
mod workload;

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::go_struct::{self, FieldShape};

type FieldMap = Map<String, Value>;

static TABLE: LazyLock<HashMap<&'static str, Vec<(&'static str, Value)>>> = LazyLock::new(|| {
    let mut table: HashMap<_, Vec<_>> = HashMap::new();
    for line in include_str!("../../data/defaults.txt").lines().filter(|l| !l.starts_with('#')) {
        let mut words = line.splitn(3, ' ');
        if let (Some(definition), Some(field), Some(json)) = (words.next(), words.next(), words.next()) {
            let value = serde_json::from_str(json).expect("defaults.txt is JSON, tests read all of it");
            table.entry(definition).or_default().push((field, value));
        }
    }
    table
});

/// Sets defaults and brings the object to the form Go writes.
pub(crate) fn apply(definition: &str, object: &mut Value) {
    // Normalized first, so that absent fields have one form and embedded structs exist.
    go_struct::normalize(definition, object);
    walk(definition, object);
    go_struct::normalize(definition, object);
}

fn walk(definition: &str, value: &mut Value) {
    let Some(map) = value.as_object_mut() else { return };
    rules(definition, map);
    for (field, default) in TABLE.get(definition).map_or(&[][..], Vec::as_slice) {
        if map.get(*field).is_none_or(|v| v.is_null() || (is_zero(v) && !is_pointer(definition, field))) {
            map.insert(field.to_string(), default.clone());
        }
    }
    for field in go_struct::fields(definition) {
        if let Some(value) = map.get_mut(field.name) {
            descend(&field.shape, value);
        }
    }
}

fn descend(shape: &FieldShape, value: &mut Value) {
    match shape {
        FieldShape::Struct(name) => walk(name, value),
        FieldShape::Pointer(inner) => descend(inner, value),
        FieldShape::List(inner) => value.as_array_mut().into_iter().flatten().for_each(|v| descend(inner, v)),
        FieldShape::Map(inner) => {
            value.as_object_mut().into_iter().flat_map(|m| m.values_mut()).for_each(|v| descend(inner, v));
        }
        _ => {}
    }
}

fn is_zero(value: &Value) -> bool {
    value.as_str() == Some("") || value.as_i64() == Some(0)
}

fn is_pointer(definition: &str, field: &str) -> bool {
    go_struct::fields(definition).iter().any(|f| f.name == field && matches!(f.shape, FieldShape::Pointer(_)))
}

/// Applies the defaults that depend on other fields, before the table and before nested fields.
fn rules(definition: &str, map: &mut FieldMap) {
    match definition {
        "api.core.v1.Pod" => core::pod(map),
        "api.core.v1.Container" | "api.core.v1.EphemeralContainer" => core::container(map),
        "api.core.v1.PodSpec" => core::pod_spec(map),
        "api.core.v1.Secret" => core::secret(map),
        "api.core.v1.Volume" => core::volume(map),
        "api.core.v1.Service" => core::service(map),
        "api.core.v1.Namespace" => core::namespace(map),
        "api.core.v1.PodStatus" => core::pod_status(map),
        "api.core.v1.NodeSpec" => core::node_spec(map),
        "api.core.v1.NodeStatus" => core::node_status(map),
        "api.core.v1.LimitRangeItem" => core::limit_range_item(map),
        "api.core.v1.ReplicationController" => workload::replication_controller(map),
        "api.apps.v1.DaemonSet" => workload::daemon_set(map),
        "api.apps.v1.DeploymentStrategy" => workload::deployment_strategy(map),
        "api.apps.v1.DaemonSetUpdateStrategy" => workload::daemon_set_strategy(map),
        "api.apps.v1.StatefulSetUpdateStrategy" => workload::stateful_set_strategy(map),
        "api.apps.v1.StatefulSetSpec" => workload::claim_templates(map),
        "api.autoscaling.v1.HorizontalPodAutoscaler" => workload::autoscaler_v1(map),
        "api.autoscaling.v2.HorizontalPodAutoscalerSpec" => workload::autoscaler(map),
        "api.batch.v1.Job" => batch::job(map),
        "api.networking.v1.NetworkPolicySpec" => batch::network_policy(map),
        "api.rbac.v1.Subject" => batch::subject(map),
        "api.resource.v1.ExactDeviceRequest" | "api.resource.v1.DeviceSubRequest" => batch::device_request(map),
        "apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition" => batch::custom_resource(map),
        _ => {}
    }
}

fn text<'a>(map: &'a FieldMap, field: &str) -> &'a str {
    map.get(field).and_then(Value::as_str).unwrap_or("")
}

fn is_absent(map: &FieldMap, field: &str) -> bool {
    map.get(field).is_none_or(Value::is_null)
}

fn set(map: &mut FieldMap, field: &str, value: impl Into<Value>) {
    if is_absent(map, field) {
        map.insert(field.to_string(), value.into());
    }
}

/// Returns the object under `field`, created if it does not exist.
fn child_object<'a>(map: &'a mut FieldMap, field: &str) -> Option<&'a mut FieldMap> {
    set(map, field, Map::new());
    map.get_mut(field).and_then(Value::as_object_mut)
}

fn items<'a>(map: &'a mut FieldMap, field: &str) -> impl Iterator<Item = &'a mut FieldMap> {
    map.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}
