//! Errors as `application/problem+json` (RFC 9457): every response without success has this format.

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;

/// Media type of problem details.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// Prefix of the `type` of problem details.
const TYPE_PREFIX: &str = "urn:switchboard:problem:";

/// Maximum number of characters of a detail, which can repeat input.
const MAX_DETAIL_CHARS: usize = 1024;

/// Machine-readable kind of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemKind {
    /// The request cannot be parsed.
    Malformed,
    /// The caller is not authenticated.
    Unauthenticated,
    /// The caller is not authorized.
    Forbidden,
    /// The object does not exist, or the caller is not allowed to know that it exists.
    NotFound,
    /// The path does not support the method.
    MethodNotAllowed,
    /// The object already exists or was changed concurrently.
    Conflict,
    /// The continue token has expired.
    Expired,
    /// The object is no longer at the requested version.
    PreconditionFailed,
    /// The body is too long.
    TooLarge,
    /// The media type of the body is not supported.
    UnsupportedMediaType,
    /// The request can be parsed but not processed.
    Invalid,
    /// The caller sent too many requests.
    TooMany,
    /// The cluster or the database does not respond.
    Unavailable,
}

impl ProblemKind {
    /// All kinds.
    pub const ALL: [ProblemKind; 13] = [
        ProblemKind::Malformed,
        ProblemKind::Unauthenticated,
        ProblemKind::Forbidden,
        ProblemKind::NotFound,
        ProblemKind::MethodNotAllowed,
        ProblemKind::Conflict,
        ProblemKind::Expired,
        ProblemKind::PreconditionFailed,
        ProblemKind::TooLarge,
        ProblemKind::UnsupportedMediaType,
        ProblemKind::Invalid,
        ProblemKind::TooMany,
        ProblemKind::Unavailable,
    ];

    /// HTTP status of the response.
    pub fn status(self) -> StatusCode {
        match self {
            ProblemKind::Malformed => StatusCode::BAD_REQUEST,
            ProblemKind::Unauthenticated => StatusCode::UNAUTHORIZED,
            ProblemKind::Forbidden => StatusCode::FORBIDDEN,
            ProblemKind::NotFound => StatusCode::NOT_FOUND,
            ProblemKind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            ProblemKind::Conflict => StatusCode::CONFLICT,
            ProblemKind::Expired => StatusCode::GONE,
            ProblemKind::PreconditionFailed => StatusCode::PRECONDITION_FAILED,
            ProblemKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ProblemKind::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            ProblemKind::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            ProblemKind::TooMany => StatusCode::TOO_MANY_REQUESTS,
            ProblemKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Last part of the problem's `type`.
    pub fn code(self) -> &'static str {
        match self {
            ProblemKind::Malformed => "malformed",
            ProblemKind::Unauthenticated => "unauthenticated",
            ProblemKind::Forbidden => "forbidden",
            ProblemKind::NotFound => "not-found",
            ProblemKind::MethodNotAllowed => "method-not-allowed",
            ProblemKind::Conflict => "conflict",
            ProblemKind::Expired => "expired",
            ProblemKind::PreconditionFailed => "precondition-failed",
            ProblemKind::TooLarge => "too-large",
            ProblemKind::UnsupportedMediaType => "unsupported-media-type",
            ProblemKind::Invalid => "invalid",
            ProblemKind::TooMany => "too-many",
            ProblemKind::Unavailable => "unavailable",
        }
    }

    /// Human-readable title.
    pub fn title(self) -> &'static str {
        match self {
            ProblemKind::Malformed => "The request is malformed",
            ProblemKind::Unauthenticated => "The request is not authenticated",
            ProblemKind::Forbidden => "Not allowed",
            ProblemKind::NotFound => "Not found",
            ProblemKind::MethodNotAllowed => "Method not allowed",
            ProblemKind::Conflict => "Conflict with the current state",
            ProblemKind::Expired => "The continue token has expired",
            ProblemKind::PreconditionFailed => "The object has another version",
            ProblemKind::TooLarge => "The body is too long",
            ProblemKind::UnsupportedMediaType => "Unsupported media type",
            ProblemKind::Invalid => "The request is invalid",
            ProblemKind::TooMany => "Too many requests",
            ProblemKind::Unavailable => "Temporarily unavailable",
        }
    }

    /// Default hint.
    pub fn hint(self) -> &'static str {
        match self {
            ProblemKind::Malformed => "compare the request with /api/v1/openapi.json",
            ProblemKind::Unauthenticated => {
                "send `Authorization: Bearer TOKEN`; create a token for a service account with `kubectl create token NAME`"
            }
            ProblemKind::Forbidden => {
                "add permissions with Roles and RoleBindings in the namespace; check them with `kubectl auth can-i`"
            }
            ProblemKind::NotFound => "check the id and your access to its tenant",
            ProblemKind::MethodNotAllowed => "use a method from the Allow header of the response",
            ProblemKind::Conflict => "read the object again, then decide whether to repeat the change",
            ProblemKind::Expired => "start the list from the beginning",
            ProblemKind::PreconditionFailed => "read the object again and send its new ETag as If-Match",
            ProblemKind::TooLarge => "send a shorter body",
            ProblemKind::UnsupportedMediaType => "send `Content-Type: application/json`",
            ProblemKind::Invalid => "compare the fields with /api/v1/openapi.json",
            ProblemKind::TooMany => "retry after the seconds in the Retry-After header",
            ProblemKind::Unavailable => {
                "retry later; if the problem persists, contact the administrator of the service"
            }
        }
    }
}

/// Problem details of a response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct ProblemDetails {
    kind: ProblemKind,
    detail: String,
    hint: String,
    retry_after_s: Option<u64>,
}

#[derive(Serialize)]
struct ProblemBody<'a> {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: &'a str,
    hint: &'a str,
}

impl ProblemDetails {
    /// Creates problem details; `detail` describes this occurrence.
    pub fn new(kind: ProblemKind, detail: impl Into<String>) -> ProblemDetails {
        let detail: String = detail.into();
        let detail = if detail.chars().count() > MAX_DETAIL_CHARS {
            detail.chars().take(MAX_DETAIL_CHARS).chain(['…']).collect()
        } else {
            detail
        };
        ProblemDetails { kind, detail, hint: kind.hint().to_string(), retry_after_s: None }
    }

    /// Replaces the default hint.
    pub fn hint(mut self, hint: impl Into<String>) -> ProblemDetails {
        self.hint = hint.into();
        self
    }

    /// Sets `Retry-After`, at least one second.
    pub fn retry_after_s(mut self, seconds: u64) -> ProblemDetails {
        self.retry_after_s = Some(seconds.max(1));
        self
    }

    /// Kind of the problem.
    pub fn kind(&self) -> ProblemKind {
        self.kind
    }

    /// Description of this occurrence.
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl IntoResponse for ProblemDetails {
    fn into_response(self) -> Response {
        let status = self.kind.status();
        let body = ProblemBody {
            r#type: format!("{TYPE_PREFIX}{}", self.kind.code()),
            title: self.kind.title(),
            status: status.as_u16(),
            detail: &self.detail,
            hint: &self.hint,
        };
        let text = serde_json::to_string(&body).unwrap_or_default();
        let mut answer = (status, text).into_response();
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        if self.kind == ProblemKind::Unauthenticated {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after_s {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        answer
    }
}

/// Problem details for unknown paths.
pub async fn no_such_path() -> ProblemDetails {
    ProblemDetails::new(ProblemKind::NotFound, "path not found").hint("see /api/v1/openapi.json for the paths")
}

/// Problem details for a method that the path does not support. The router adds the `Allow` header.
pub async fn no_such_method() -> ProblemDetails {
    ProblemDetails::new(ProblemKind::MethodNotAllowed, "the path does not support this method")
}

#[cfg(test)]
mod tests;
