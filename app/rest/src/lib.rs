//! The REST API of Switchboard: one prefix, one way to ask who asks, one shape of what goes wrong, one document that says it all.
//!
//! ```text
//!  request ─▶ guard ──────────────▶ handler ─▶ resources of the cluster (source of truth)
//!             │ auth: TokenReview   │   │
//!             │ limit: per tenant   │   └────▶ ledger (what is only there)
//!             ▼                     ▼
//!          problem+json          auth: SubjectAccessReview per verb, resource, namespace
//! ```
//!
//! An [`Area`] is a part of the API: routes below `/api/v1` and what the document says of them. [`mount`] puts areas together.
//! [`gitops`] is the GitOps Service's area; the console brings its own and uses the same [`guard`], [`problem`] and [`page`].
//!
//! ```
//! use switchboard_rest::problem::{Kind, Problem};
//!
//! let problem = Problem::new(Kind::NotFound, "there is no application `shop.web`");
//! assert_eq!(problem.kind().status(), 404);
//! ```
//!
//! It will never keep a token, give a right that the cluster does not give, or answer what its document does not say.

pub mod auth;
pub mod body;
pub mod gitops;
pub mod guard;
pub mod limit;
pub mod openapi;
pub mod page;
pub mod problem;

mod cluster;
#[cfg(test)]
mod testing;

use axum::response::IntoResponse;
use axum::routing::{any, get};
use axum::{Json, Router};

pub use guard::Guard;

/// Where the API is.
pub const PREFIX: &str = "/api/v1";

/// A part of the API.
pub struct Area {
    /// Its routes, as paths below [`PREFIX`].
    pub router: Router,
    /// What the document says of them.
    pub part: openapi::Part,
}

/// The API of these areas, with the document that describes them, at its prefix.
pub fn mount(areas: Vec<Area>) -> Router {
    // A nested fallback is for what follows the prefix and a slash, not for nothing after it.
    let bare = format!("{PREFIX}/");
    Router::new().nest(PREFIX, routes(areas).fallback(problem::no_such_path)).route(&bare, any(problem::no_such_path))
}

/// The same as paths below [`PREFIX`], for whoever has more to put there.
pub fn routes(areas: Vec<Area>) -> Router {
    let (mut routes, mut parts) = (Router::new(), Vec::new());
    for area in areas {
        routes = routes.merge(area.router);
        parts.push(area.part);
    }
    parts.push(openapi::own());
    let document = openapi::document(parts);
    let serve = move || {
        let document = document.clone();
        async move { Json(document).into_response() }
    };
    routes.route("/openapi.json", get(serve)).method_not_allowed_fallback(problem::no_such_method)
}
