//! Reading one object.

use switchboard_object::status::Status;

use super::list::{parse_revision, too_large};
use super::{Call, form};
use crate::answer::Answer;
use crate::request::media::Output;

/// Answers with the object.
pub(super) fn get(call: &Call) -> Result<Answer, Status> {
    let output = Output::negotiate(&call.headers)?;
    // Everything is read at the newest revision, which satisfies every revision there has been.
    if let Some(text) = call.query.get("resourceVersion").filter(|text| !text.is_empty()) {
        let asked = parse_revision(text).map_err(|why| Status::new(500, "", why.to_string()))?;
        let current = call.inner.store.revision();
        if asked > current {
            return Err(too_large(asked, current));
        }
    }
    let record = call.find(&call.info.name)?;
    form::Shaper::new(call, output)?.object(200, &call.served(&record))
}
