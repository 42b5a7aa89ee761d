//! What goes wrong, as `application/problem+json` (RFC 9457): every answer that is no success has this one shape.

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;

/// The media type of a problem.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// What the `type` of a problem begins with.
const TYPE_PREFIX: &str = "urn:switchboard:problem:";

/// The most characters of a detail: it may repeat what somebody sent.
const MAX_DETAIL_CHARS: usize = 1024;

/// What went wrong, in a word for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The request cannot be read.
    Malformed,
    /// Nobody knows who asks.
    Unauthenticated,
    /// Whoever asks may not.
    Forbidden,
    /// There is no such thing, or none that whoever asks may know of.
    NotFound,
    /// The path is known, the method is not.
    MethodNotAllowed,
    /// It is there already, or changed meanwhile.
    Conflict,
    /// A list went on too late.
    Expired,
    /// It is no longer the version that was named.
    PreconditionFailed,
    /// The body is too long.
    TooLarge,
    /// The body is not of a type that is understood.
    UnsupportedMediaType,
    /// The request can be read but not be done.
    Invalid,
    /// Too many requests.
    TooMany,
    /// The cluster or the database does not answer.
    Unavailable,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 13] = [
        Kind::Malformed,
        Kind::Unauthenticated,
        Kind::Forbidden,
        Kind::NotFound,
        Kind::MethodNotAllowed,
        Kind::Conflict,
        Kind::Expired,
        Kind::PreconditionFailed,
        Kind::TooLarge,
        Kind::UnsupportedMediaType,
        Kind::Invalid,
        Kind::TooMany,
        Kind::Unavailable,
    ];

    /// The status of the answer.
    pub fn status(self) -> StatusCode {
        match self {
            Kind::Malformed => StatusCode::BAD_REQUEST,
            Kind::Unauthenticated => StatusCode::UNAUTHORIZED,
            Kind::Forbidden => StatusCode::FORBIDDEN,
            Kind::NotFound => StatusCode::NOT_FOUND,
            Kind::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Kind::Conflict => StatusCode::CONFLICT,
            Kind::Expired => StatusCode::GONE,
            Kind::PreconditionFailed => StatusCode::PRECONDITION_FAILED,
            Kind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Kind::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Kind::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
            Kind::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The end of its `type`.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Malformed => "malformed",
            Kind::Unauthenticated => "unauthenticated",
            Kind::Forbidden => "forbidden",
            Kind::NotFound => "not-found",
            Kind::MethodNotAllowed => "method-not-allowed",
            Kind::Conflict => "conflict",
            Kind::Expired => "expired",
            Kind::PreconditionFailed => "precondition-failed",
            Kind::TooLarge => "too-large",
            Kind::UnsupportedMediaType => "unsupported-media-type",
            Kind::Invalid => "invalid",
            Kind::TooMany => "too-many",
            Kind::Unavailable => "unavailable",
        }
    }

    /// The same in words for people.
    pub fn title(self) -> &'static str {
        match self {
            Kind::Malformed => "The request cannot be read",
            Kind::Unauthenticated => "Nobody knows who asks",
            Kind::Forbidden => "Not allowed",
            Kind::NotFound => "Not found",
            Kind::MethodNotAllowed => "No such method here",
            Kind::Conflict => "In conflict with what is there",
            Kind::Expired => "The list is too old to go on",
            Kind::PreconditionFailed => "No longer the version that was named",
            Kind::TooLarge => "The body is too long",
            Kind::UnsupportedMediaType => "The body is not of a type that is understood",
            Kind::Invalid => "The request cannot be done as it is",
            Kind::TooMany => "Too many requests",
            Kind::Unavailable => "Not available right now",
        }
    }

    /// What helps, where nothing better is known.
    pub fn hint(self) -> &'static str {
        match self {
            Kind::Malformed => "compare the request with /api/v1/openapi.json",
            Kind::Unauthenticated => {
                "send `Authorization: Bearer TOKEN`; `kubectl create token NAME` makes one for a service account"
            }
            Kind::Forbidden => {
                "rights come from Roles and RoleBindings of the namespace; `kubectl auth can-i` asks for them"
            }
            Kind::NotFound => "check the id, and that you may see its tenant",
            Kind::MethodNotAllowed => "the answer's header Allow names the methods of this path",
            Kind::Conflict => "read it again, then decide whether to write again",
            Kind::Expired => "begin the list from its start",
            Kind::PreconditionFailed => "read it again and send its new ETag as If-Match",
            Kind::TooLarge => "send less",
            Kind::UnsupportedMediaType => "send `Content-Type: application/json`",
            Kind::Invalid => "compare the fields with /api/v1/openapi.json",
            Kind::TooMany => "wait for as many seconds as the header Retry-After says",
            Kind::Unavailable => "try again soon; if it stays, ask whoever runs the service",
        }
    }
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Problem {
    kind: Kind,
    detail: String,
    hint: String,
    retry_after_s: Option<u64>,
}

#[derive(Serialize)]
struct Body<'a> {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: &'a str,
    hint: &'a str,
}

impl Problem {
    /// A problem; `detail` says what failed this time.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Problem {
        let detail: String = detail.into();
        let detail = if detail.chars().count() > MAX_DETAIL_CHARS {
            detail.chars().take(MAX_DETAIL_CHARS).chain(['…']).collect()
        } else {
            detail
        };
        Problem { kind, detail, hint: kind.hint().to_string(), retry_after_s: None }
    }

    /// With what helps in this case.
    pub fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = hint.into();
        self
    }

    /// With how long to wait, at least a second.
    pub fn retry_after_s(mut self, seconds: u64) -> Problem {
        self.retry_after_s = Some(seconds.max(1));
        self
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What failed.
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.kind.status();
        let body = Body {
            r#type: format!("{TYPE_PREFIX}{}", self.kind.word()),
            title: self.kind.title(),
            status: status.as_u16(),
            detail: &self.detail,
            hint: &self.hint,
        };
        let text = serde_json::to_string(&body).unwrap_or_default();
        let mut answer = (status, text).into_response();
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        if self.kind == Kind::Unauthenticated {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after_s {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        answer
    }
}

/// For paths nobody serves.
pub async fn no_such_path() -> Problem {
    Problem::new(Kind::NotFound, "nothing is served at this path").hint("/api/v1/openapi.json lists the paths")
}

/// For methods a path does not have. Which it has stands in the header `Allow`, which the router adds.
pub async fn no_such_method() -> Problem {
    Problem::new(Kind::MethodNotAllowed, "this path does not have this method")
}

#[cfg(test)]
mod tests;
