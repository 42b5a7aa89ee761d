//! Frame of HTTP APIs: one prefix, one way to authenticate, one error format, one OpenAPI document.
//!
//! ```text
//!  request ─▶ guard ──────────────▶ handler ─▶ resources of the cluster (source of truth)
//!             │ auth: TokenReview   │   │
//!             │ limit: per tenant   │   └────▶ data without a resource
//!             ▼                     ▼
//!          problem+json          auth: SubjectAccessReview per verb, resource, namespace
//! ```
//!
//! An [`ApiSection`] is a part of the API: routes below `/api/v1` and their OpenAPI description. [`mount`] combines the
//! sections. Operators and the console bring sections; all use the same [`guard`], [`problem`] and [`page`].
//!
//! ```
//! use switchboard_http::problem::{ProblemDetails, ProblemKind};
//!
//! let problem = ProblemDetails::new(ProblemKind::NotFound, "there is no application `shop.web`");
//! assert_eq!(problem.kind().status(), 404);
//! ```
//!
//! The frame never stores a token, and never allows an action that the cluster does not allow.

pub mod auth;
pub mod body;
pub mod cluster;
pub mod guard;
pub mod hosts;
pub mod limit;
pub mod openapi;
pub mod page;
pub mod problem;

use axum::response::IntoResponse;
use axum::routing::{any, get};
use axum::{Json, Router};

pub use guard::Guard;

/// Path prefix of the API.
pub const PREFIX: &str = "/api/v1";

/// Section of the API.
pub struct ApiSection {
    /// Routes of the section, with paths below [`PREFIX`].
    pub router: Router,
    /// OpenAPI description of the routes.
    pub document: openapi::OpenApiPart,
}

/// Combines sections and the document that describes them into an API at [`PREFIX`].
pub fn mount(areas: Vec<ApiSection>) -> Router {
    // A nested fallback handles only paths with something after the prefix, so the bare prefix needs its own route.
    let bare = format!("{PREFIX}/");
    Router::new().nest(PREFIX, routes(areas).fallback(problem::no_such_path)).route(&bare, any(problem::no_such_path))
}

/// Combines sections without the prefix, for servers that add their own routes below [`PREFIX`].
pub fn routes(areas: Vec<ApiSection>) -> Router {
    let (mut routes, mut parts) = (Router::new(), Vec::new());
    for area in areas {
        routes = routes.merge(area.router);
        parts.push(area.document);
    }
    parts.push(openapi::document_part());
    let document = openapi::document(parts);
    let serve = move || {
        let document = document.clone();
        async move { Json(document).into_response() }
    };
    routes.route("/openapi.json", get(serve)).method_not_allowed_fallback(problem::no_such_method)
}
