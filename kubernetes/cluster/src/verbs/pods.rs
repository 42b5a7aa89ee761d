//! Binding and eviction of pods.

use bytes::Bytes;
use serde_json::{Value, json};
use switchboard_object::field::FieldError;
use switchboard_object::kind::{GroupResource, GroupVersionKind};
use switchboard_object::quote::quote;
use switchboard_object::selector::LabelSelector;
use switchboard_object::status::Status;

use super::{ApiCall, decode, delete};
use crate::registry::Registry;
use crate::request::RequestInfo;
use crate::request::delete::DeleteOptions;
use crate::request::media::ResponseFormat;
use crate::request::write::WriteOptions;
use crate::response::ApiResponse;
use crate::store::StoreKey;
use crate::wire;

const BUDGETS: &str = "poddisruptionbudgets.policy";

/// Binds a pod to a node: `pods/<name>/binding`, or `bindings` with the pod's name in the body.
pub(super) async fn bind(call: &ApiCall, sent: &Bytes) -> Result<ApiResponse, Status> {
    let output = ResponseFormat::negotiate(&call.headers)?;
    let options = WriteOptions::create(&call.query)?;
    let kind = GroupVersionKind::new("", "v1", "Binding");
    let binding = decode::object(&call.with_kind(kind.clone()), sent, options.field_validation)?;
    let pods = pods(call);
    let name = match call.info.name.as_str() {
        "" => ApiCall::metadata(&binding, "name"),
        name => name,
    };
    check_binding(&kind, name, &binding)?;
    let node = binding["target"]["name"].as_str().unwrap_or_default();
    let now = call.inner.clock_and_rng.now_text();
    pods.change(name, options.dry_run, |live| bind_to_node(live, &binding, node, &now)).await?;
    Ok(success(output))
}

fn check_binding(kind: &GroupVersionKind, name: &str, binding: &Value) -> Result<(), Status> {
    let target = &binding["target"];
    let mut errors = Vec::new();
    let of = target["kind"].as_str().unwrap_or_default();
    if !of.is_empty() && of != "Node" {
        errors.push(FieldError::not_supported("target.kind", of, &["Node", "<empty>"]));
    }
    if target["name"].as_str().unwrap_or_default().is_empty() {
        errors.push(FieldError::required("target.name", ""));
    }
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid(kind, name, &errors)) }
}

/// Returns the pod with its node.
fn bind_to_node(live: &Value, binding: &Value, node: &str, now: &str) -> Result<Value, Status> {
    let name = ApiCall::metadata(live, "name");
    let conflict = |why: String| Err(Status::conflict(&GroupResource::new("", "pods/binding"), name, &why));
    if !live["metadata"]["deletionTimestamp"].is_null() {
        return conflict(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    let current = live["spec"]["nodeName"].as_str().unwrap_or_default();
    if !current.is_empty() {
        return conflict(format!("pod {name} is already assigned to node {}", quote(current)));
    }
    let mut pod = live.clone();
    pod["spec"]["nodeName"] = node.into();
    if let Some(annotations) = binding["metadata"]["annotations"].as_object() {
        for (key, value) in annotations {
            pod["metadata"]["annotations"][key] = value.clone();
        }
    }
    let scheduled = json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now});
    match pod["status"]["conditions"].as_array_mut() {
        Some(conditions) => {
            conditions.retain(|c| c["type"] != "PodScheduled");
            conditions.push(scheduled);
        }
        None => pod["status"]["conditions"] = json!([scheduled]),
    }
    Ok(pod)
}

/// Deletes a pod, if the disruption budgets allow it.
pub(super) async fn evict(call: &ApiCall, sent: &Bytes) -> Result<ApiResponse, Status> {
    let output = ResponseFormat::negotiate(&call.headers)?;
    let options = WriteOptions::create(&call.query)?;
    let kind = GroupVersionKind::new("policy", "v1", "Eviction");
    let eviction = decode::object(&call.with_kind(kind), sent, options.field_validation)?;
    let (name, given) = (call.info.name.as_str(), ApiCall::metadata(&eviction, "name"));
    if !given.is_empty() && given != name {
        return Err(Status::bad_request(format!(
            "name in URL does not match name in Eviction object: {} != {}",
            quote(name),
            quote(given)
        )));
    }
    let mut how = DeleteOptions::from_body(eviction["deleteOptions"].clone()).unwrap_or_default();
    how.dry_run |= options.dry_run;
    let pod = call.read(&call.find(name)?);
    if !bypasses_budgets(&pod) {
        take_from_budget(call, &pod, how.dry_run).await?;
    }
    delete::remove(call, name, &how).await?;
    Ok(success(output))
}

/// Whether a pod does not count for budgets, because it does not run or terminates soon.
fn bypasses_budgets(pod: &Value) -> bool {
    matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed" | "Pending"))
        || !pod["metadata"]["deletionTimestamp"].is_null()
}

async fn take_from_budget(call: &ApiCall, pod: &Value, dry_run: bool) -> Result<(), Status> {
    let prefix = StoreKey::prefix(call.logical.name(), BUDGETS, Some(call.namespace()));
    let page = call.inner.store.list(&prefix, None, 0, None).map(|page| page.records).unwrap_or_default();
    let labels = pod["metadata"]["labels"].as_object();
    let covers = |budget: &Value| {
        LabelSelector::from_object(budget["spec"].get("selector")).is_ok_and(|selector| selector.matches(labels))
    };
    let budgets: Vec<Value> = page.iter().map(|(_, r)| wire::parse(&r.bytes)).filter(covers).collect();
    let budget = match budgets.as_slice() {
        [] => return Ok(()),
        [one] => one,
        _ => {
            let why =
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
            return Err(Status::internal(why));
        }
    };
    let registry = Registry::built_in();
    let Some(resource) = registry.get("policy", "v1", "poddisruptionbudgets") else { return Ok(()) };
    let name = ApiCall::metadata(budget, "name").to_string();
    let info = RequestInfo {
        namespace: call.namespace().into(),
        name: name.clone(),
        subresource: "status".into(),
        ..RequestInfo::default()
    };
    let writer = ApiCall::internal(&call.inner, &call.logical, resource, info);
    let (pod_name, now) = (ApiCall::metadata(pod, "name"), call.inner.clock_and_rng.now_text());
    writer.change(&name, dry_run, |live| count_disruption(live, pod_name, &now)).await.map(|_| ())
}

/// Returns the budget with one disruption less.
fn count_disruption(live: &Value, pod: &str, now: &str) -> Result<Value, Status> {
    let name = ApiCall::metadata(live, "name");
    let number = |field: &str| live["status"][field].as_i64().unwrap_or(0);
    if number("observedGeneration") < live["metadata"]["generation"].as_i64().unwrap_or(0) {
        return Err(too_many(
            &format!("The disruption budget {name} is still being processed by the server."),
            Some(10),
        ));
    }
    if number("disruptionsAllowed") <= 0 {
        let (wanted, healthy) = (number("desiredHealthy"), number("currentHealthy"));
        return Err(too_many(
            &format!("The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently"),
            None,
        ));
    }
    let mut budget = live.clone();
    budget["status"]["disruptionsAllowed"] = json!(number("disruptionsAllowed") - 1);
    budget["status"]["disruptedPods"][pod] = now.into();
    Ok(budget)
}

fn too_many(cause: &str, retry_seconds: Option<u64>) -> Status {
    let mut details = json!({"causes": [{"reason": "DisruptionBudget", "message": cause}]});
    if let Some(seconds) = retry_seconds {
        details["retryAfterSeconds"] = json!(seconds);
    }
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    Status::new(429, "TooManyRequests", message).with_details(details)
}

/// Returns the request with pods as its resource.
fn pods(call: &ApiCall) -> ApiCall {
    let registry = Registry::built_in();
    let resource = registry.get("", "v1", "pods").cloned().unwrap_or_else(|| call.resource.clone());
    ApiCall { resource, ..call.clone() }
}

fn success(output: ResponseFormat) -> ApiResponse {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    ApiResponse::encoded(201, &status, output.encoding)
}
