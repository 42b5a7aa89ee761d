//! Patches: JSON patch (RFC 6902), JSON merge patch (RFC 7396) and strategic merge patch.
//!
//! All three take the object by value and give the patched one back; what they refuse, they refuse with the API server's code.

pub mod json;
pub mod merge;
pub mod strategic;

use serde_json::json;

use crate::status::Status;

/// A patch that cannot be applied. The classes decide the HTTP code, the texts are Go's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// 400: the patch cannot be read.
    #[error("{0}")]
    BadRequest(String),
    /// 413: the patch does more than the server is willing to.
    #[error("{0}")]
    TooLarge(String),
    /// 422: the patch does not fit the object.
    #[error("{0}")]
    Unprocessable(String),
    /// 500, as upstream answers to patches it did not expect.
    #[error("{0}")]
    Unexpected(String),
}

impl PatchError {
    /// The answer to the client.
    pub fn status(&self) -> Status {
        match self {
            Self::BadRequest(message) => Status::bad_request(message),
            Self::TooLarge(message) => Status::too_large(message),
            // The API server keeps the reason to itself here.
            Self::Unprocessable(_) => {
                let message = "the server rejected our request due to an error in our request";
                Status::new(422, "Invalid", message).with_details(json!({}))
            }
            Self::Unexpected(message) => Status::new(500, "", message),
        }
    }
}

#[cfg(test)]
mod properties;
