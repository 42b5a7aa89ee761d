//! Deletion of objects: at once, after a grace period, or when the last finalizer is removed.

mod plan;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};
use switchboard_object::kind::GroupResource;
use switchboard_object::status::Status;

use self::plan::DeletePlan;
use super::commit::CommitError;
use super::{ApiCall, namespace};
use crate::crd;
use crate::request::body;
use crate::request::delete::DeleteOptions;
use crate::request::media::{self, ResponseFormat};
use crate::response::ApiResponse;

const MAX_TRIES: usize = 64;

/// Built-in resources that respond to a delete with the object; all others respond with a Status.
const ANSWER_WITH_OBJECT: [&str; 18] = [
    "resourceclaimtemplates.resource.k8s.io",
    "resourceslices.resource.k8s.io",
    "resourceclaims.resource.k8s.io",
    "deviceclasses.resource.k8s.io",
    "devicetaintrules.resource.k8s.io",
    "csidrivers.storage.k8s.io",
    "storageclasses.storage.k8s.io",
    "volumeattachments.storage.k8s.io",
    "csinodes.storage.k8s.io",
    "volumeattributesclasses.storage.k8s.io",
    "resourcequotas",
    "persistentvolumes",
    "serviceaccounts",
    "persistentvolumeclaims",
    "namespaces",
    "pods",
    "services",
    "podtemplates",
];

/// Result of a delete.
pub(crate) enum DeleteResult {
    /// The object was removed; its last state.
    Removed(Bytes),
    /// The object waits for finalizers or its grace period.
    Pending(Bytes),
}

/// Deletes one object.
pub(super) async fn delete(call: &ApiCall, sent: &Bytes) -> Result<ApiResponse, Status> {
    ResponseFormat::negotiate(&call.headers)?;
    let options = options(call, sent)?;
    let deleted = remove(call, &call.info.name, &options).await?;
    let waits = matches!(deleted, DeleteResult::Pending(_));
    let code = if waits && options.orphan_dependents == Some(false) { 202 } else { 200 };
    match deleted {
        DeleteResult::Pending(bytes) => call.answer_object(code, &bytes),
        DeleteResult::Removed(bytes) if ANSWER_WITH_OBJECT.contains(&call.stored_resource().as_str()) => {
            call.answer_object(code, &bytes)
        }
        DeleteResult::Removed(bytes) => Ok(ApiResponse::value(code, &success(call, &bytes))),
    }
}

/// Returns the options: from the body if there is one, otherwise from the query.
pub(super) fn options(call: &ApiCall, sent: &Bytes) -> Result<DeleteOptions, Status> {
    if sent.is_empty() {
        return DeleteOptions::from_query(&call.query);
    }
    let decoded = body::decode(media::request_encoding(&call.headers)?, sent)
        .map_err(|why| Status::bad_request(format!("couldn't get version/kind; json parse error: {}", why.message)))?;
    DeleteOptions::from_body(decoded.value)
}

/// Returns the `Status` of a completed delete.
fn success(call: &ApiCall, last: &Bytes) -> Value {
    let object = crate::wire::parse(last);
    let GroupResource { group, resource } = call.resource.group_resource();
    let mut details = json!({
        "name": ApiCall::metadata(&object, "name"), "group": group, "kind": resource, "uid": ApiCall::metadata(&object, "uid"),
    });
    if let (true, Some(details)) = (group.is_empty(), details.as_object_mut()) {
        details.remove("group");
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

/// Deletes the object of that name, or marks it for deletion.
pub(crate) async fn remove(call: &ApiCall, name: &str, options: &DeleteOptions) -> Result<DeleteResult, Status> {
    let is_namespace = call.stored_resource() == "namespaces";
    if is_namespace && namespace::IMMORTAL.contains(&name) {
        let why = "this namespace may not be deleted";
        return Err(Status::forbidden(&call.resource.group_resource(), name, why));
    }
    let mut record = call.find(name)?;
    for _ in 0..MAX_TRIES {
        let live = call.read(&record);
        let plan = match call.stored_resource().as_str() {
            "namespaces" => plan::namespace(call, &live, options)?,
            crd::RESOURCE => plan::definition(call, &live, options)?,
            _ => plan::plan(call, &live, options, now(call))?,
        };
        let done = match plan {
            DeletePlan::Nothing => return Ok(DeleteResult::Pending(record.bytes)),
            DeletePlan::Mark(marked) if marked == live => return Ok(DeleteResult::Pending(record.bytes)),
            DeletePlan::Mark(marked) => {
                call.replace(name, &record, &marked, options.dry_run).await.map(DeleteResult::Pending)
            }
            DeletePlan::Remove(last) => {
                call.remove(name, &record, &last, options.dry_run).await.map(DeleteResult::Removed)
            }
        };
        match done {
            Ok(deleted) => return Ok(deleted),
            Err(CommitError::Refused(status)) => return Err(status),
            Err(CommitError::Raced(current)) => {
                record = current.ok_or_else(|| Status::not_found(&call.resource.group_resource(), name))?;
            }
        }
    }
    Err(Status::new(504, "Timeout", "Timeout: the object is changed faster than this request can follow"))
}

fn now(call: &ApiCall) -> Timestamp {
    call.inner.clock_and_rng.now()
}
