//! Errors of the console, as a page and as `application/problem+json`.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use switchboard_http::problem::{ProblemDetails as Told, ProblemKind};
use switchboard_kernel::host::HostStopped;

use crate::fleet::{FleetRefusal, RefusalKind};

/// Error of a request.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleProblem {
    /// The requested item does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The request is invalid.
    #[error("{0}")]
    BadRequest(String),
    /// The request has no session and no token.
    #[error("a token is required")]
    TokenRequired,
    /// The cluster does not accept the token.
    #[error("{0}")]
    InvalidToken(String),
    /// The user lacks the permission.
    #[error("{0}")]
    Forbidden(String),
    /// The request may come from another site.
    #[error("{0}")]
    ForeignSite(String),
    /// A cluster did not answer as expected.
    #[error("{0}")]
    Cluster(String),
    /// A fleet request failed.
    #[error("{0}")]
    Fleet(#[from] FleetRefusal),
    /// A limit is reached.
    #[error("{0}")]
    TooMany(String),
    /// The framework rejected the query, form or body.
    #[error("{1}")]
    Rejected(ProblemKind, String),
    /// The kernel has stopped.
    #[error("{0}")]
    Stopped(#[from] HostStopped),
}

impl ConsoleProblem {
    /// Returns the problem type of the API.
    pub fn kind(&self) -> ProblemKind {
        match self {
            ConsoleProblem::NotFound(_) => ProblemKind::NotFound,
            ConsoleProblem::BadRequest(_) => ProblemKind::Malformed,
            ConsoleProblem::TokenRequired | ConsoleProblem::InvalidToken(_) => ProblemKind::Unauthenticated,
            ConsoleProblem::Forbidden(_) | ConsoleProblem::ForeignSite(_) => ProblemKind::Forbidden,
            ConsoleProblem::Fleet(refused) => match refused.kind {
                RefusalKind::Missing => ProblemKind::NotFound,
                RefusalKind::Conflict => ProblemKind::Conflict,
                RefusalKind::Failed => ProblemKind::Unavailable,
            },
            ConsoleProblem::Rejected(kind, _) => *kind,
            ConsoleProblem::Cluster(_) | ConsoleProblem::TooMany(_) | ConsoleProblem::Stopped(_) => {
                ProblemKind::Unavailable
            }
        }
    }

    /// Returns the HTTP status.
    pub fn status(&self) -> StatusCode {
        self.kind().status()
    }

    /// Converts an error of an access review.
    pub fn from_review(said: &Told) -> Self {
        match said.kind() {
            ProblemKind::Unauthenticated => ConsoleProblem::InvalidToken(said.to_string()),
            ProblemKind::Unavailable => ConsoleProblem::Cluster(said.to_string()),
            _ => ConsoleProblem::Forbidden(said.to_string()),
        }
    }

    /// Returns the hint for the user.
    pub fn hint(&self) -> &str {
        match self {
            ConsoleProblem::NotFound(_) => "it may be deleted; use the search to find existing objects",
            ConsoleProblem::BadRequest(_) => {
                "use a link of the console, or see docs/reference/console.md for the paths of the API"
            }
            ConsoleProblem::TokenRequired | ConsoleProblem::InvalidToken(_) => {
                "sign in with a token, or send it as `Authorization: Bearer …`"
            }
            ConsoleProblem::Forbidden(_) => {
                "ask an administrator of the cluster for the permission; see docs/reference/console.md"
            }
            ConsoleProblem::ForeignSite(_) => {
                "use the address that Switchboard printed at startup, or add this host name under `console.hosts`"
            }
            ConsoleProblem::Cluster(_) => "check the cluster and the console's permissions; the overview shows details",
            ConsoleProblem::Fleet(refused) => &refused.hint,
            ConsoleProblem::TooMany(_) => "try again in a few seconds, or close unused pages",
            ConsoleProblem::Rejected(kind, _) => kind.hint(),
            ConsoleProblem::Stopped(_) => "start Switchboard again",
        }
    }

    /// Converts to an RFC 9457 response, in the format of the API.
    pub fn to_response(&self) -> Response {
        let body = Told::new(self.kind(), self.to_string()).hint(self.hint());
        if matches!(self, ConsoleProblem::TooMany(_)) { body.retry_after_s(RETRY_S) } else { body }.into_response()
    }
}

/// Value of `Retry-After` if a limit is reached.
const RETRY_S: u64 = 10;
