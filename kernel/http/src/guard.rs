//! Authentication and rate limiting in front of every handler.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use http::request::Parts;
use kube::Client;

use crate::auth::{self, Auth, Caller, ResourceAttributes};
use crate::limit::{Rate, RequestLimiter, UNKNOWN_TOKENS_BURST, UNKNOWN_TOKENS_PER_S};
use crate::problem::{ProblemDetails, ProblemKind};

/// Middleware that authenticates callers and limits their request rate.
#[derive(Clone, Debug)]
pub struct Guard(Arc<GuardState>);

#[derive(Debug)]
struct GuardState {
    auth: Auth,
    requests: RequestLimiter,
    unknown_tokens: RequestLimiter,
}

impl Guard {
    /// Creates the guard. It authenticates against the cluster of this client and limits each tenant to this rate.
    pub fn new(client: Client, rate: Rate) -> Guard {
        let unknown = Rate { per_s: UNKNOWN_TOKENS_PER_S, burst: UNKNOWN_TOKENS_BURST };
        Guard(Arc::new(GuardState {
            auth: Auth::new(client),
            requests: RequestLimiter::new(rate),
            unknown_tokens: RequestLimiter::new(unknown),
        }))
    }

    /// Adds authentication to a router. Handlers receive the caller as a [`Caller`].
    pub fn protect(&self, router: Router) -> Router {
        router.layer(from_fn_with_state(self.clone(), admit))
    }

    /// Returns the caller of a token; while the token is unknown, counts the request against the client's address.
    pub async fn caller(&self, token: &str, from: Option<IpAddr>) -> Result<Caller, ProblemDetails> {
        if self.0.auth.cached(token).is_none() {
            let stranger = from.map_or_else(|| "unknown address".to_string(), |address| address.to_string());
            self.0.unknown_tokens.take(&stranger).map_err(too_many)?;
        }
        self.0.auth.caller(token).await
    }

    /// Counts a request of a caller.
    pub fn count(&self, who: &str) -> Result<(), ProblemDetails> {
        self.0.requests.take(who).map_err(too_many)
    }

    /// Returns an error unless the cluster allows the action to the caller.
    pub async fn authorize(&self, caller: &Caller, access: &ResourceAttributes) -> Result<(), ProblemDetails> {
        self.0.auth.authorize(caller, access).await
    }

    /// Returns whether the cluster allows the action to the caller.
    pub async fn is_allowed(&self, caller: &Caller, access: &ResourceAttributes) -> Result<bool, ProblemDetails> {
        self.0.auth.is_allowed(caller, access).await
    }
}

fn too_many(seconds: u64) -> ProblemDetails {
    ProblemDetails::new(ProblemKind::TooMany, "the tenant has exceeded its request rate").retry_after_s(seconds)
}

async fn admit(State(guard): State<Guard>, mut request: Request, next: Next) -> Response {
    let from = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    // A request is not `Sync`, so the needed parts are copied before the first await.
    let token = auth::bearer(request.headers()).map(str::to_string);
    let admitted = async {
        let caller = guard.caller(&token?, from).await?;
        guard.count(&caller.rate_limit_key())?;
        Ok::<Caller, ProblemDetails>(caller)
    };
    match admitted.await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

/// Extractor for handlers behind [`Guard::protect`].
impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ProblemDetails;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Caller, ProblemDetails> {
        let found = Extension::<Caller>::from_request_parts(parts, state).await;
        found
            .map(|Extension(caller)| caller)
            .map_err(|_| ProblemDetails::new(ProblemKind::Unauthenticated, "the request has no authenticated caller"))
    }
}
