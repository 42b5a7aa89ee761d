//! Patches: JSON patch (RFC 6902), JSON merge patch (RFC 7396) and strategic merge patch.
//!
//! Each patch takes the object by value and returns the patched object, or an error with the API server's code.

pub mod json;
pub mod merge;
pub mod strategic;

use serde_json::json;

use crate::status::Status;

/// Error of a patch that cannot be applied. The variant decides the HTTP code; the texts are Go's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// 400: the patch cannot be read.
    #[error("{0}")]
    BadRequest(String),
    /// 413: the patch exceeds a limit of the server.
    #[error("{0}")]
    TooLarge(String),
    /// 422: the patch does not fit the object.
    #[error("{0}")]
    Unprocessable(String),
    /// 500, kube-apiserver's answer to errors it did not expect.
    #[error("{0}")]
    Unexpected(String),
}

impl PatchError {
    /// Returns the Status to send to the client.
    pub fn status(&self) -> Status {
        match self {
            Self::BadRequest(message) => Status::bad_request(message),
            Self::TooLarge(message) => Status::too_large(message),
            // kube-apiserver does not send the reason here.
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
