//! Deleting objects: at once, after a grace period, or when the last finalizer is gone.

mod marks;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};
use switchboard_object::kind::GroupResource;
use switchboard_object::status::Status;

use self::marks::Plan;
use super::commit::Failed;
use super::{Call, namespace};
use crate::answer::Answer;
use crate::crd;
use crate::request::body;
use crate::request::delete::DeleteOptions;
use crate::request::media::{self, Output};

const MAX_TRIES: usize = 64;

/// Built-in resources that answer a delete with the object; all others with a Status.
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

/// What a delete led to.
pub(crate) enum Deleted {
    /// The object is gone; its last state.
    Gone(Bytes),
    /// The object waits for finalizers or its grace period.
    Waits(Bytes),
}

/// Deletes one object.
pub(super) async fn delete(call: &Call, sent: &Bytes) -> Result<Answer, Status> {
    Output::negotiate(&call.headers)?;
    let options = options(call, sent)?;
    let deleted = remove(call, &call.info.name, &options).await?;
    let waits = matches!(deleted, Deleted::Waits(_));
    let code = if waits && options.orphan_dependents == Some(false) { 202 } else { 200 };
    match deleted {
        Deleted::Waits(bytes) => call.answer_object(code, &bytes),
        Deleted::Gone(bytes) if ANSWER_WITH_OBJECT.contains(&call.stored_resource().as_str()) => {
            call.answer_object(code, &bytes)
        }
        Deleted::Gone(bytes) => Ok(Answer::value(code, &success(call, &bytes))),
    }
}

/// The options, from the body when there is one.
pub(super) fn options(call: &Call, sent: &Bytes) -> Result<DeleteOptions, Status> {
    if sent.is_empty() {
        return DeleteOptions::from_query(&call.query);
    }
    let decoded = body::decode(media::input(&call.headers)?, sent)
        .map_err(|why| Status::bad_request(format!("couldn't get version/kind; json parse error: {}", why.message)))?;
    DeleteOptions::from_body(decoded.value)
}

/// `Status` of a delete that is done.
fn success(call: &Call, last: &Bytes) -> Value {
    let object = crate::wire::parse(last);
    let GroupResource { group, resource } = call.resource.group_resource();
    let mut details = json!({
        "name": Call::metadata(&object, "name"), "group": group, "kind": resource, "uid": Call::metadata(&object, "uid"),
    });
    if let (true, Some(details)) = (group.is_empty(), details.as_object_mut()) {
        details.remove("group");
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

/// Deletes the object of that name, or marks it.
pub(crate) async fn remove(call: &Call, name: &str, options: &DeleteOptions) -> Result<Deleted, Status> {
    let is_namespace = call.stored_resource() == "namespaces";
    if is_namespace && namespace::IMMORTAL.contains(&name) {
        let why = "this namespace may not be deleted";
        return Err(Status::forbidden(&call.resource.group_resource(), name, why));
    }
    let mut record = call.find(name)?;
    for _ in 0..MAX_TRIES {
        let live = call.read(&record);
        let plan = match call.stored_resource().as_str() {
            "namespaces" => marks::namespace(call, &live, options)?,
            crd::RESOURCE => marks::definition(call, &live, options)?,
            _ => marks::plan(call, &live, options, now(call))?,
        };
        let done = match plan {
            Plan::Nothing => return Ok(Deleted::Waits(record.bytes)),
            Plan::Mark(marked) if marked == live => return Ok(Deleted::Waits(record.bytes)),
            Plan::Mark(marked) => call.replace(name, &record, &marked, options.dry_run).await.map(Deleted::Waits),
            Plan::Remove(last) => call.remove(name, &record, &last, options.dry_run).await.map(Deleted::Gone),
        };
        match done {
            Ok(deleted) => return Ok(deleted),
            Err(Failed::Refused(status)) => return Err(status),
            Err(Failed::Raced(current)) => {
                record = current.ok_or_else(|| Status::not_found(&call.resource.group_resource(), name))?;
            }
        }
    }
    Err(Status::new(504, "Timeout", "Timeout: the object is changed faster than this request can follow"))
}

fn now(call: &Call) -> Timestamp {
    call.inner.ambient.now()
}
