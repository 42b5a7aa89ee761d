//! Making objects.

use bytes::Bytes;
use switchboard_object::Value;
use switchboard_object::status::Status;

use super::{Call, decode, namespace};
use crate::answer::Answer;
use crate::request::write::WriteOptions;
use crate::store::{Expect, WriteError};
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
    namespace::check_create(call, Call::metadata(&object, "name"))?;
    for attempt in 1.. {
        let (mut fresh, generated) = (object.clone(), needs_name(&object));
        fill_system_fields(call, &mut fresh);
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
    let template = Template::new(object, call.resource.custom.is_some());
    if options.dry_run {
        return match call.inner.store.get(&key) {
            Some(_) => Err(Status::already_exists(&call.resource.group_resource(), name)),
            None => Ok(template.without_revision()),
        };
    }
    match call.inner.store.put(key, Expect::Absent, |revision| template.at(revision)).await {
        Ok(record) => Ok(record.bytes),
        Err(WriteError::Conflict { .. }) => Err(Status::already_exists(&call.resource.group_resource(), name)),
        Err(error) => Err(call.write_failed(&error)),
    }
}
