//! Deletion of collections.

use bytes::Bytes;
use switchboard_object::status::Status;

use super::list::ListResult;
use super::list_selector::ListSelector;
use super::{ApiCall, delete};
use crate::request::list::ListOptions;
use crate::request::media::ResponseFormat;
use crate::response::ApiResponse;

/// Deletes the selected objects and responds with the list before the deletion.
pub(super) async fn delete(call: &ApiCall, sent: &Bytes) -> Result<ApiResponse, Status> {
    ResponseFormat::negotiate(&call.headers)?;
    let options = ListOptions::parse(&call.query)?;
    let selection = ListSelector::parse(call, &options)?;
    let how = delete::options(call, sent)?;
    let found = ListResult::read(call, &options, &selection)?;
    for key in &found.keys {
        match delete::remove(&call.in_namespace(key.namespace()), key.name(), &how).await {
            Err(status) if status.reason != "NotFound" => return Err(status),
            _ => {}
        }
    }
    found.answer(call)
}
