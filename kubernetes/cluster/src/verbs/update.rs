//! Replacement of objects.

use bytes::Bytes;
use switchboard_object::Value;
use switchboard_object::status::Status;

use super::{ApiCall, create, decode};
use crate::request::media::{self, ResponseFormat};
use crate::request::write::WriteOptions;
use crate::response::ApiResponse;

/// Replaces the object by the body.
pub(super) async fn update(call: &ApiCall, sent: &Bytes) -> Result<ApiResponse, Status> {
    ResponseFormat::negotiate(&call.headers)?;
    let options = WriteOptions::update(&call.query)?;
    media::request_encoding(&call.headers)?;
    let mut new = decode::object(call, sent, options.field_validation)?;
    create::match_namespace(call, &mut new)?;
    check_name(call, &new)?;
    let name = &call.info.name;
    let exists = call.inner.store.get(&call.key(name)).is_some();
    if !exists && call.info.subresource.is_empty() && call.behavior().allows_create_on_update() {
        let bytes = create::store_new(call, new, &options).await?;
        return call.answer_object(201, &bytes);
    }
    let updated = call
        .change(name, options.dry_run, |live| {
            check_uid(call, live, &new)?;
            let mut next = new.clone();
            owner_kept(&mut next);
            call.record_managers(Some(live), &mut next, &options);
            call.finish_update(live, next)
        })
        .await?;
    call.answer_object(200, &updated.bytes)
}

fn owner_kept(object: &mut Value) {
    if !object["metadata"].is_object() {
        object["metadata"] = Value::Object(Default::default());
    }
}

/// Checks that name and namespace in the body are those of the URL.
pub(super) fn check_name(call: &ApiCall, object: &Value) -> Result<(), Status> {
    let (url, given) = (call.info.name.as_str(), ApiCall::metadata(object, "name"));
    if given.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({url} based on URL) was undeterminable: name must be provided"
        )));
    }
    if given != url {
        return Err(Status::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({url})"
        )));
    }
    let (asked, given) = (call.namespace(), ApiCall::metadata(object, "namespace"));
    if !asked.is_empty() && !given.is_empty() && given != asked {
        return Err(Status::bad_request(format!(
            "the namespace of the object ({given}) does not match the namespace on the request ({asked})"
        )));
    }
    Ok(())
}

/// Checks the uid in the body, which is a precondition.
pub(super) fn check_uid(call: &ApiCall, live: &Value, new: &Value) -> Result<(), Status> {
    let (wanted, found) = (ApiCall::metadata(new, "uid"), ApiCall::metadata(live, "uid"));
    if wanted.is_empty() || wanted == found {
        return Ok(());
    }
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}",
        call.storage_path(&call.info.name)
    );
    Err(Status::conflict(&call.resource.group_resource(), &call.info.name, &why))
}
