//! In front of every handler: who asks, and not too often.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use http::request::Parts;
use kube::Client;

use crate::auth::{self, Access, Auth, Caller};
use crate::limit::{Limit, Rate, UNKNOWN_TOKENS_BURST, UNKNOWN_TOKENS_PER_S};
use crate::problem::{Kind, Problem};

/// Knows who asks, and counts.
#[derive(Clone, Debug)]
pub struct Guard(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    auth: Auth,
    requests: Limit,
    unknown_tokens: Limit,
}

impl Guard {
    /// Asks the cluster of this client; a tenant may ask at this rate.
    pub fn new(client: Client, rate: Rate) -> Guard {
        let unknown = Rate { per_s: UNKNOWN_TOKENS_PER_S, burst: UNKNOWN_TOKENS_BURST };
        Guard(Arc::new(Inner {
            auth: Auth::new(client),
            requests: Limit::new(rate),
            unknown_tokens: Limit::new(unknown),
        }))
    }

    /// Lets only requests through that say who asks. Handlers find them as a [`Caller`].
    pub fn protect(&self, router: Router) -> Router {
        router.layer(from_fn_with_state(self.clone(), admit))
    }

    /// Whose token this is, counted against a stranger at this address while nobody knows.
    pub async fn caller(&self, token: &str, from: Option<IpAddr>) -> Result<Caller, Problem> {
        if self.0.auth.known(token).is_none() {
            let stranger = from.map_or_else(|| "everybody".to_string(), |address| address.to_string());
            self.0.unknown_tokens.take(&stranger).map_err(too_many)?;
        }
        self.0.auth.caller(token).await
    }

    /// Counts a request of whoever this is.
    pub fn count(&self, who: &str) -> Result<(), Problem> {
        self.0.requests.take(who).map_err(too_many)
    }

    /// Refuses what somebody may not.
    pub async fn authorize(&self, caller: &Caller, access: &Access) -> Result<(), Problem> {
        self.0.auth.authorize(caller, access).await
    }

    /// Whether somebody may.
    pub async fn may(&self, caller: &Caller, access: &Access) -> Result<bool, Problem> {
        self.0.auth.may(caller, access).await
    }
}

fn too_many(seconds: u64) -> Problem {
    Problem::new(Kind::TooMany, "too many requests of this tenant in a short time").retry_after_s(seconds)
}

async fn admit(State(guard): State<Guard>, mut request: Request, next: Next) -> Response {
    let from = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    // A request is not shared between threads, so what is needed of it is taken out before anything is waited for.
    let token = auth::bearer(request.headers()).map(str::to_string);
    let admitted = async {
        let caller = guard.caller(&token?, from).await?;
        guard.count(&caller.counted_with())?;
        Ok::<Caller, Problem>(caller)
    };
    match admitted.await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

/// A handler behind [`Guard::protect`] is told who asks.
impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Caller, Problem> {
        let found = Extension::<Caller>::from_request_parts(parts, state).await;
        found.map(|Extension(caller)| caller).map_err(|_| Problem::new(Kind::Unauthenticated, "nobody said who asks"))
    }
}
