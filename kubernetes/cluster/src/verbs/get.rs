//! Reading of one object.

use switchboard_object::status::Status;

use super::list::{parse_revision, too_large};
use super::{ApiCall, transform};
use crate::request::media::ResponseFormat;
use crate::response::ApiResponse;

/// Responds with the object.
pub(super) fn get(call: &ApiCall) -> Result<ApiResponse, Status> {
    let output = ResponseFormat::negotiate(&call.headers)?;
    // Reads use the newest revision, which satisfies every existing revision.
    if let Some(text) = call.query.get("resourceVersion").filter(|text| !text.is_empty()) {
        let asked = parse_revision(text).map_err(|why| Status::new(500, "", why.to_string()))?;
        let current = call.inner.store.revision();
        if asked > current {
            return Err(too_large(asked, current));
        }
    }
    let record = call.find(&call.info.name)?;
    transform::ResponseTransformer::new(call, output)?.object(200, &call.served(&record))
}
