//! Creation of objects.

use bytes::Bytes;
use switchboard_object::Value;
use switchboard_object::status::Status;

use super::{ApiCall, decode, pod_service_account};
use crate::request::write::WriteOptions;
use crate::response::ApiResponse;
use crate::store::{ExpectedState, StoredObject, WriteError};
use crate::wire::ObjectTemplate;

/// Number of tries with another generated name if the name exists.
const GENERATED_NAME_TRIES: usize = 8;

/// Creates an object from the body.
pub(super) async fn create(call: &ApiCall, sent: &Bytes) -> Result<ApiResponse, Status> {
    crate::request::media::ResponseFormat::negotiate(&call.headers)?;
    crate::request::media::request_encoding(&call.headers)?;
    let options = WriteOptions::create(&call.query)?;
    let object = decode::object(call, sent, options.field_validation)?;
    let stored = store_new(call, object, &options).await?;
    call.answer_object(201, &stored)
}

/// Runs all steps between decoding and storing an object.
pub(super) async fn store_new(call: &ApiCall, mut object: Value, options: &WriteOptions) -> Result<Bytes, Status> {
    wipe_system_fields(&mut object);
    match_namespace(call, &mut object)?;
    pod_service_account::wait_for_service_account(call, &object).await;
    call.admit_new(&mut object, options)?;
    store_admitted(call, &object, options).await
}

/// Runs the last steps, and retries with another generated name if the name exists.
pub(super) async fn store_admitted(call: &ApiCall, object: &Value, options: &WriteOptions) -> Result<Bytes, Status> {
    let _alone = call.lock_addresses().await;
    for attempt in 1.. {
        let (mut fresh, generated) = (object.clone(), needs_name(object));
        fill_system_fields(call, &mut fresh);
        call.finish_new(&mut fresh)?;
        match put_new(call, &fresh, options).await {
            Err(status) if generated && status.reason == "AlreadyExists" && attempt < GENERATED_NAME_TRIES => {}
            done => return done,
        }
    }
    unreachable!("the loop always returns")
}

fn needs_name(object: &Value) -> bool {
    ApiCall::metadata(object, "name").is_empty() && !ApiCall::metadata(object, "generateName").is_empty()
}

/// Drops fields that only the server may set.
fn wipe_system_fields(object: &mut Value) {
    if !object["metadata"].is_object() {
        object["metadata"] = Value::Object(Default::default());
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
            metadata.remove(field);
        }
    }
}

/// Checks that the object's namespace is the request's. Sets an empty one.
pub(super) fn match_namespace(call: &ApiCall, object: &mut Value) -> Result<(), Status> {
    let (expected, given) = (call.namespace(), ApiCall::metadata(object, "namespace"));
    if given == expected {
        return Ok(());
    }
    if given.is_empty() {
        object["metadata"]["namespace"] = expected.into();
        return Ok(());
    }
    if expected.is_empty() {
        // A cluster-scoped object has no namespace.
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("namespace");
        }
        return Ok(());
    }
    Err(Status::bad_request("the namespace of the provided object does not match the namespace sent on the request"))
}

fn fill_system_fields(call: &ApiCall, object: &mut Value) {
    let clock_and_rng = &call.inner.clock_and_rng;
    if needs_name(object) {
        let base = ApiCall::metadata(object, "generateName");
        // kube-apiserver truncates the base, so that base and suffix fit a name of 63 characters.
        let base: String = base.chars().take(58).collect();
        object["metadata"]["name"] = format!("{base}{}", clock_and_rng.suffix()).into();
    }
    object["metadata"]["uid"] = clock_and_rng.uid().into();
    object["metadata"]["creationTimestamp"] = clock_and_rng.now_text().into();
}

async fn put_new(call: &ApiCall, object: &Value, options: &WriteOptions) -> Result<Bytes, Status> {
    let name = ApiCall::metadata(object, "name");
    let key = call.key(name);
    if !options.dry_run && !ApiCall::metadata(object, "resourceVersion").is_empty() {
        return Err(Status::new(500, "", "resourceVersion should not be set on objects to be created"));
    }
    let template = call.template(object);
    if options.dry_run {
        return match call.inner.store.get(&key) {
            Some(current) => Err(exists(call, name, Some(current))),
            None => Ok(dry_run_object(object, &template)),
        };
    }
    match call.inner.store.put(key, ExpectedState::Absent, |revision| template.with_revision(revision)).await {
        Ok(record) => {
            call.after_write(name).await;
            Ok(record.bytes)
        }
        Err(WriteError::Conflict { current }) => Err(exists(call, name, current)),
        Err(error) => Err(call.write_failed(&error)),
    }
}

/// Returns the object of a dry run, with the client's revision, if any.
fn dry_run_object(object: &Value, template: &ObjectTemplate) -> Bytes {
    match ApiCall::metadata(object, "resourceVersion").parse() {
        Ok(revision) => template.with_revision(revision),
        Err(_) => template.without_revision(),
    }
}

/// Returns the 409, which mentions it if the existing object is being deleted.
fn exists(call: &ApiCall, name: &str, current: Option<StoredObject>) -> Status {
    let mut status = Status::already_exists(&call.resource.group_resource(), name);
    let going = current.is_some_and(|r| !crate::wire::parse(&r.bytes)["metadata"]["deletionTimestamp"].is_null());
    if going {
        status.message = format!("object is being deleted: {}", status.message);
    }
    status
}
