//! Making objects.

use bytes::Bytes;
use switchboard_object::Value;
use switchboard_object::status::Status;

use super::{Call, account, decode};
use crate::answer::Answer;
use crate::request::write::WriteOptions;
use crate::store::{Expect, Record, WriteError};
use crate::wire::Template;

/// How often a generated name is tried again when it is taken.
const GENERATED_NAME_TRIES: usize = 8;

/// Stores the body as a new object.
pub(super) async fn create(call: &Call, sent: &Bytes) -> Result<Answer, Status> {
    crate::request::media::Output::negotiate(&call.headers)?;
    crate::request::media::input(&call.headers)?;
    let options = WriteOptions::create(&call.query)?;
    let object = decode::object(call, sent, options.field_validation)?;
    let stored = store_new(call, object, &options).await?;
    call.answer_object(201, &stored)
}

/// Everything between the decoded object and the stored one.
pub(super) async fn store_new(call: &Call, mut object: Value, options: &WriteOptions) -> Result<Bytes, Status> {
    wipe_system_fields(&mut object);
    match_namespace(call, &mut object)?;
    account::arrive(call, &object).await;
    call.admit_new(&mut object, options)?;
    store_admitted(call, &object, options).await
}

/// The last steps, tried again with another name when a generated one is taken.
pub(super) async fn store_admitted(call: &Call, object: &Value, options: &WriteOptions) -> Result<Bytes, Status> {
    let _alone = call.alone_with_addresses().await;
    for attempt in 1.. {
        let (mut fresh, generated) = (object.clone(), needs_name(object));
        fill_system_fields(call, &mut fresh);
        call.finish_new(&mut fresh)?;
        match put_new(call, &fresh, options).await {
            Err(status) if generated && status.reason == "AlreadyExists" && attempt < GENERATED_NAME_TRIES => {}
            done => return done,
        }
    }
    unreachable!("the loop ends by returning")
}

fn needs_name(object: &Value) -> bool {
    Call::metadata(object, "name").is_empty() && !Call::metadata(object, "generateName").is_empty()
}

/// What only the server may set is dropped from what a client sent.
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

/// The object's namespace is the request's, or empty and taken from it.
pub(super) fn match_namespace(call: &Call, object: &mut Value) -> Result<(), Status> {
    let (expected, given) = (call.namespace(), Call::metadata(object, "namespace"));
    if given == expected {
        return Ok(());
    }
    if given.is_empty() {
        object["metadata"]["namespace"] = expected.into();
        return Ok(());
    }
    if expected.is_empty() {
        // A cluster-scoped object keeps no namespace.
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("namespace");
        }
        return Ok(());
    }
    Err(Status::bad_request("the namespace of the provided object does not match the namespace sent on the request"))
}

fn fill_system_fields(call: &Call, object: &mut Value) {
    let ambient = &call.inner.ambient;
    if needs_name(object) {
        let base = Call::metadata(object, "generateName");
        // Upstream cuts the base so that base and suffix fit a name of 63 characters.
        let base: String = base.chars().take(58).collect();
        object["metadata"]["name"] = format!("{base}{}", ambient.suffix()).into();
    }
    object["metadata"]["uid"] = ambient.uid().into();
    object["metadata"]["creationTimestamp"] = ambient.now_text().into();
}

async fn put_new(call: &Call, object: &Value, options: &WriteOptions) -> Result<Bytes, Status> {
    let name = Call::metadata(object, "name");
    let key = call.key(name);
    if !options.dry_run && !Call::metadata(object, "resourceVersion").is_empty() {
        return Err(Status::new(500, "", "resourceVersion should not be set on objects to be created"));
    }
    let template = call.template(object);
    if options.dry_run {
        return match call.inner.store.get(&key) {
            Some(current) => Err(exists(call, name, Some(current))),
            None => Ok(dry_answer(object, &template)),
        };
    }
    match call.inner.store.put(key, Expect::Absent, |revision| template.at(revision)).await {
        Ok(record) => {
            call.written(name).await;
            Ok(record.bytes)
        }
        Err(WriteError::Conflict { current }) => Err(exists(call, name, current)),
        Err(error) => Err(call.write_failed(&error)),
    }
}

/// What is not stored has the revision the client wrote, if any.
fn dry_answer(object: &Value, template: &Template) -> Bytes {
    match Call::metadata(object, "resourceVersion").parse() {
        Ok(revision) => template.at(revision),
        Err(_) => template.without_revision(),
    }
}

/// 409, which says so when the other object is on its way out.
fn exists(call: &Call, name: &str, current: Option<Record>) -> Status {
    let mut status = Status::already_exists(&call.resource.group_resource(), name);
    let going = current.is_some_and(|r| !crate::wire::parse(&r.bytes)["metadata"]["deletionTimestamp"].is_null());
    if going {
        status.message = format!("object is being deleted: {}", status.message);
    }
    status
}
