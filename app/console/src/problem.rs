//! What goes wrong, for people as a page and for programs as `application/problem+json`.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use switchboard_kernel::host::Stopped;
use switchboard_rest::problem::{Kind, Problem as Told};

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
    /// The cluster does not know who this is, or no longer.
    #[error("{0}")]
    Stranger(String),
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
    /// There are too many already.
    #[error("{0}")]
    Full(String),
    /// What was refused before anybody here looked at it: a query, a form, a body.
    #[error("{1}")]
    Refused(Kind, String),
    /// The kernel is not there any more.
    #[error("{0}")]
    Stopped(#[from] Stopped),
}

impl Problem {
    /// What it is, in the words of the API.
    pub fn kind(&self) -> Kind {
        match self {
            Problem::Missing(_) => Kind::NotFound,
            Problem::Unclear(_) => Kind::Malformed,
            Problem::Unknown | Problem::Stranger(_) => Kind::Unauthenticated,
            Problem::Denied(_) | Problem::Foreign(_) => Kind::Forbidden,
            Problem::Fleet(refused) => match refused.why {
                Why::Missing => Kind::NotFound,
                Why::Conflict => Kind::Conflict,
                Why::Failed => Kind::Unavailable,
            },
            Problem::Refused(kind, _) => *kind,
            Problem::Cluster(_) | Problem::Full(_) | Problem::Stopped(_) => Kind::Unavailable,
        }
    }

    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        self.kind().status()
    }

    /// Of what was said by whoever reviews tokens and rights.
    pub fn of_review(said: &Told) -> Self {
        match said.kind() {
            Kind::Unauthenticated => Problem::Stranger(said.to_string()),
            Kind::Unavailable => Problem::Cluster(said.to_string()),
            _ => Problem::Denied(said.to_string()),
        }
    }

    /// What would help.
    pub fn hint(&self) -> &str {
        match self {
            Problem::Missing(_) => "it may be gone by now; the search finds what there is",
            Problem::Unclear(_) => "follow a link of the console, or see docs/CONSOLE.md for the API's paths",
            Problem::Unknown | Problem::Stranger(_) => "sign in with a token, or send it as `Authorization: Bearer …`",
            Problem::Denied(_) => "ask whoever grants rights on the cluster; docs/CONSOLE.md names the rights",
            Problem::Foreign(_) => {
                "use the address that Switchboard said when it started, or name this one under `console.hosts`"
            }
            Problem::Cluster(_) => {
                "the cluster may be away, or the console may lack rights there; the overview says what is known"
            }
            Problem::Fleet(refused) => &refused.hint,
            Problem::Full(_) => "try again in some seconds, or close pages that nobody looks at",
            Problem::Refused(kind, _) => kind.hint(),
            Problem::Stopped(_) => "start Switchboard again",
        }
    }

    /// As programs read it: RFC 9457, in the one shape that the API has.
    pub fn told(&self) -> Response {
        let told = Told::new(self.kind(), self.to_string()).hint(self.hint());
        if matches!(self, Problem::Full(_)) { told.retry_after_s(RETRY_S) } else { told }.into_response()
    }
}

/// After how many seconds to ask again where there are too many.
const RETRY_S: u64 = 10;
