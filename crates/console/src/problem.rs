//! What goes wrong, for people as a page and for programs as `application/problem+json`.

use http::StatusCode;
use serde::Serialize;

use switchboard_kernel::host::Stopped;

use crate::fleet::{Refused, Why};

/// Why something cannot be shown or done.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// There is no such thing.
    #[error("{0}")]
    Missing(String),
    /// The request cannot be understood.
    #[error("{0}")]
    Unclear(String),
    /// Nobody signed in.
    #[error("a token is needed for this")]
    Unknown,
    /// Who signed in may not.
    #[error("{0}")]
    Denied(String),
    /// The request may come from another site.
    #[error("{0}")]
    Foreign(String),
    /// A cluster did not answer as it should.
    #[error("{0}")]
    Cluster(String),
    /// What concerns the fleet and was not done.
    #[error("{0}")]
    Fleet(#[from] Refused),
    /// The kernel is not there any more.
    #[error("{0}")]
    Stopped(#[from] Stopped),
}

impl Problem {
    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Problem::Missing(_) => StatusCode::NOT_FOUND,
            Problem::Unclear(_) => StatusCode::BAD_REQUEST,
            Problem::Unknown => StatusCode::UNAUTHORIZED,
            Problem::Denied(_) | Problem::Foreign(_) => StatusCode::FORBIDDEN,
            Problem::Cluster(_) => StatusCode::BAD_GATEWAY,
            Problem::Fleet(refused) => match refused.why {
                Why::Missing => StatusCode::NOT_FOUND,
                Why::Conflict => StatusCode::CONFLICT,
                Why::Failed => StatusCode::BAD_GATEWAY,
            },
            Problem::Stopped(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// What would help.
    pub fn hint(&self) -> &str {
        match self {
            Problem::Missing(_) => "it may be gone by now; the search finds what there is",
            Problem::Unclear(_) => "follow a link of the console, or see docs/CONSOLE.md for the API's paths",
            Problem::Unknown => "sign in with a token, or send it as `Authorization: Bearer …`",
            Problem::Denied(_) => "ask whoever grants rights on the cluster; docs/CONSOLE.md names the rights",
            Problem::Foreign(_) => {
                "use the address that Switchboard said when it started, or name this one under `console.hosts`"
            }
            Problem::Cluster(_) => {
                "the cluster may be away, or the console may lack rights there; the overview says what is known"
            }
            Problem::Fleet(refused) => &refused.hint,
            Problem::Stopped(_) => "start Switchboard again",
        }
    }

    /// As RFC 9457 has it.
    pub fn body(&self) -> Body<'_> {
        let status = self.status();
        Body {
            r#type: "about:blank",
            title: status.canonical_reason().unwrap_or("error"),
            status: status.as_u16(),
            detail: self.to_string(),
            hint: self.hint(),
        }
    }
}

/// A problem as programs read it.
#[derive(Debug, Serialize)]
pub struct Body<'a> {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    detail: String,
    hint: &'a str,
}
