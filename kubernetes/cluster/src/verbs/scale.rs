//! Scale subresource: replicas of a workload or custom resource as an `autoscaling/v1` Scale.

use bytes::Bytes;
use serde_json::{Value, json};
use switchboard_object::apply::{parent_entries, scale_entries};
use switchboard_object::field::FieldError;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::quote::quote;
use switchboard_object::selector::LabelSelector;
use switchboard_object::status::Status;

use super::patch::ParsedPatch;
use super::update::{check_name, check_uid};
use super::{ApiCall, create, decode};
use crate::request::media::{self, Encoding, ResponseFormat};
use crate::request::write::WriteOptions;
use crate::response::ApiResponse;

/// Responds with the Scale of the object.
pub(super) fn get(call: &ApiCall) -> Result<ApiResponse, Status> {
    let output = ResponseFormat::negotiate(&call.headers)?;
    let object = call.read(&call.find(&call.info.name)?);
    answer(call, &object, output.encoding)
}

/// Replaces the Scale, and with it the replicas.
pub(super) async fn update(call: &ApiCall, sent: &Bytes) -> Result<ApiResponse, Status> {
    let output = ResponseFormat::negotiate(&call.headers)?;
    let options = WriteOptions::update(&call.query)?;
    let scaling = call.with_kind(scale_kind());
    let new = decode::object(&scaling, sent, options.field_validation)?;
    check_name(call, &new)?;
    write(call, &options, output.encoding, |old| {
        check_uid(call, old, &new)?;
        let mut next = new.clone();
        create::match_namespace(call, &mut next)?;
        scaling.record_managers(Some(old), &mut next, &options);
        Ok(next)
    })
    .await
}

/// Patches the Scale, and with it the replicas.
pub(super) async fn patch(call: &ApiCall, sent: &Bytes) -> Result<ApiResponse, Status> {
    let kind = media::patch(&call.headers, call.resource.custom.is_some())?;
    let output = ResponseFormat::negotiate(&call.headers)?;
    let options = WriteOptions::patch(&call.query, kind)?;
    let scaling = call.with_kind(scale_kind());
    let patch = ParsedPatch::read(&scaling, kind, sent, &options)?;
    write(call, &options, output.encoding, |old| patch.patched(old)).await
}

fn scale_kind() -> GroupVersionKind {
    GroupVersionKind::new("autoscaling", "v1", "Scale")
}

async fn write(
    call: &ApiCall,
    options: &WriteOptions,
    encoding: Encoding,
    next: impl Fn(&Value) -> Result<Value, Status>,
) -> Result<ApiResponse, Status> {
    let updated = call
        .change(&call.info.name, options.dry_run, |live| {
            let paths = ScalePaths::of(call);
            let mut old = paths.scale(live);
            let version = call.resource.kind.api_version();
            let replicas: Vec<&str> = split(&paths.spec);
            let mapping = [(version.as_str(), Some(replicas.as_slice()))];
            let owned = live.pointer("/metadata/managedFields");
            if let Some(entries) = scale_entries(owned, &mapping) {
                old["metadata"]["managedFields"] = entries;
            }
            let scale = next(&old)?;
            check(call, &paths, &scale)?;
            let mut object = live.clone();
            set(&mut object, &replicas, scale["spec"]["replicas"].clone());
            if !ApiCall::metadata(&scale, "resourceVersion").is_empty() {
                object["metadata"]["resourceVersion"] = scale["metadata"]["resourceVersion"].clone();
            }
            let entries = parent_entries(owned, scale.pointer("/metadata/managedFields"), &version, &mapping);
            if let Some(entries) = entries {
                object["metadata"]["managedFields"] = entries;
            }
            call.finish_update(live, object)
        })
        .await?;
    answer(call, &crate::wire::parse(&updated.bytes), encoding)
}

fn answer(call: &ApiCall, object: &Value, encoding: Encoding) -> Result<ApiResponse, Status> {
    let paths = ScalePaths::of(call);
    if call.resource.custom.is_some() && find(object, &paths.spec).is_none() {
        return Err(Status::internal(format!("the spec replicas field {} does not exist", quote(&paths.spec))));
    }
    Ok(ApiResponse::encoded(200, &paths.scale(object), encoding))
}

fn check(call: &ApiCall, paths: &ScalePaths, scale: &Value) -> Result<(), Status> {
    let replicas = &scale["spec"]["replicas"];
    if replicas.as_i64().unwrap_or(0) >= 0 {
        return Ok(());
    }
    let (kind, field, why) = if call.resource.custom.is_some() {
        (call.resource.kind.clone(), paths.spec.as_str(), "should be a non-negative integer")
    } else {
        (scale_kind(), "spec.replicas", "must be greater than or equal to 0")
    };
    Err(Status::invalid(&kind, &call.info.name, &[FieldError::invalid(field, replicas.clone(), why)]))
}

/// Paths of an object's fields that a Scale shows, as JSONPaths with a leading dot.
struct ScalePaths {
    spec: String,
    status: String,
    /// Path of the selector; `None` if it is that of a workload.
    selector: Option<String>,
}

impl ScalePaths {
    fn of(call: &ApiCall) -> Self {
        match call.resource.custom.as_ref().and_then(|custom| custom.scale.as_ref()) {
            Some(scale) => Self {
                spec: scale.spec_replicas.to_string(),
                status: scale.status_replicas.to_string(),
                selector: Some(scale.label_selector.as_deref().unwrap_or_default().to_string()),
            },
            None => Self { spec: ".spec.replicas".into(), status: ".status.replicas".into(), selector: None },
        }
    }

    fn scale(&self, object: &Value) -> Value {
        let mut metadata = json!({});
        for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
            if let Some(value) = object["metadata"].get(field) {
                metadata[field] = value.clone();
            }
        }
        let number = |path: &str| find(object, path).and_then(Value::as_i64).unwrap_or(0);
        let mut scale = json!({
            "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
            "spec": {}, "status": {"replicas": number(&self.status)},
        });
        let replicas = number(&self.spec);
        if replicas != 0 {
            scale["spec"]["replicas"] = json!(replicas);
        }
        let selector = match &self.selector {
            Some(path) => find(object, path).and_then(Value::as_str).unwrap_or_default().to_string(),
            None => workload_selector(&object["spec"]["selector"]),
        };
        if !selector.is_empty() {
            scale["status"]["selector"] = selector.into();
        }
        scale
    }
}

/// Returns the selector of a workload as text. That of a ReplicationController is a plain map.
fn workload_selector(selector: &Value) -> String {
    let plain = selector.as_object().filter(|m| !m.contains_key("matchLabels") && !m.contains_key("matchExpressions"));
    match plain {
        Some(labels) => LabelSelector::from_labels(labels).to_string(),
        None => LabelSelector::from_object(Some(selector)).map(|s| s.to_string()).unwrap_or_default(),
    }
}

fn split(path: &str) -> Vec<&str> {
    path.split('.').filter(|part| !part.is_empty()).collect()
}

fn find<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    split(path).into_iter().filter(|p| !p.is_empty()).try_fold(object, |node, key| node.get(key))
}

fn set(object: &mut Value, path: &[&str], value: Value) {
    let mut node = object;
    for key in path {
        if !node.is_object() {
            *node = json!({});
        }
        node = &mut node[*key];
    }
    *node = if value.is_null() { json!(0) } else { value };
}
