//! Deleting many objects.

use bytes::Bytes;
use switchboard_object::status::Status;

use super::list::Found;
use super::select::Selection;
use super::{Call, delete};
use crate::answer::Answer;
use crate::request::list::ListOptions;
use crate::request::media::Output;

/// Deletes what the selectors mean, and answers with the list as it was.
pub(super) async fn delete(call: &Call, sent: &Bytes) -> Result<Answer, Status> {
    Output::negotiate(&call.headers)?;
    let options = ListOptions::parse(&call.query)?;
    let selection = Selection::parse(call, &options)?;
    let how = delete::options(call, sent)?;
    let found = Found::read(call, &options, &selection)?;
    for key in &found.keys {
        match delete::remove(&call.in_namespace(key.namespace()), key.name(), &how).await {
            Err(status) if status.reason != "NotFound" => return Err(status),
            _ => {}
        }
    }
    found.answer(call)
}
