//! Reading one object.

use switchboard_object::status::Status;

use super::Call;
use crate::answer::Answer;

/// Answers with the object.
pub(super) fn get(call: &Call) -> Result<Answer, Status> {
    let record = call.find(&call.info.name)?;
    call.answer_object(200, &record.bytes)
}
