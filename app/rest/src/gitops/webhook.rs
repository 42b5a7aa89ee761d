//! Webhook events: a git server says that something was pushed, and the applications that deploy it are looked at at once.
//!
//! Nobody shows a token here: an event is believed if it is signed. A tenant keeps its own secret, in a Secret named
//! `gitops-webhook`, and its events refresh its applications alone; events for all tenants are signed with the service's secret.

mod document;
mod push;
mod signature;

use std::net::SocketAddr;

use axum::Json;
use axum::extract::{ConnectInfo, Request, State};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_gitops::argo::application::{REFRESH, row_of};
use switchboard_gitops::kinds::Deployment;
use switchboard_ledger::Secret;

pub use document::describe;
pub use push::Push;

use super::{APPLICATIONS, SECRETS, Service, meta, rows, text};
use crate::body::{Asked, json_only, parse, read};
use crate::cluster::Resource;
use crate::page::MAX_LIMIT;
use crate::problem::{Kind, Problem};

/// The longest event that is read: git servers tell of every commit of a push.
pub const MAX_EVENT_BYTES: usize = 5 << 20;

/// The Secret a tenant keeps its secret in.
pub const SECRET_NAME: &str = "gitops-webhook";

/// The type it must have, so that nobody makes a hook of another Secret.
pub const SECRET_TYPE: &str = "managed-gitops.redhat.com/webhook";

/// Its key there.
const SECRET_KEY: &str = "secret";

/// Argo CD's Applications.
const ARGO_APPLICATIONS: Resource =
    Resource { root: "/apis/argoproj.io/v1alpha1", group: "argoproj.io", plural: "applications", told: "Application" };

/// Whose event it is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct For {
    tenant: Option<String>,
}

/// What came of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// How many applications deploy what was pushed.
    matched: usize,
    /// How many of them are looked at now; the others are on no Argo CD yet.
    refreshed: usize,
}

/// `POST /webhookevent`
pub async fn receive(
    State(service): State<Service>,
    Asked(asked): Asked<For>,
    request: Request,
) -> Result<(StatusCode, Json<Outcome>), Problem> {
    let tenant = text::asked_tenant(asked.tenant.as_deref())?.to_string();
    json_only(request.headers())?;
    let from = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip().to_string());
    service.guard.count(&format!("events from {}", from.as_deref().unwrap_or("everywhere")))?;
    let headers = request.headers().clone();
    let body = read(request, MAX_EVENT_BYTES).await?;
    believe(&service, &tenant, &headers, &body).await?;
    service.guard.count(&format!("events for {tenant}"))?;
    let event: Value = parse(&body)?;
    let Some(push) = Push::read(&headers, &event)? else {
        return Ok((StatusCode::ACCEPTED, Json(Outcome::default())));
    };
    let outcome = refresh(&service, &tenant, &push).await?;
    tracing::info!(tenant, matched = outcome.matched, refreshed = outcome.refreshed, "something was pushed");
    Ok((StatusCode::ACCEPTED, Json(outcome)))
}

/// Refuses an event that is not signed with the right secret. That there is none is told in the same words: whoever guesses names of
/// tenants learns nothing.
async fn believe(service: &Service, tenant: &str, headers: &HeaderMap, body: &[u8]) -> Result<(), Problem> {
    let secret = if tenant.is_empty() { service.hook_secret.clone() } else { of_tenant(service, tenant).await? };
    if secret.is_some_and(|secret| signature::holds(&secret, headers, body)) {
        return Ok(());
    }
    let hint = format!(
        "sign events with the secret of the Secret `{SECRET_NAME}` of the tenant, and name the tenant: ?tenant=NAME"
    );
    Err(Problem::new(Kind::Forbidden, "the event is not signed as it should be").hint(hint))
}

async fn of_tenant(service: &Service, tenant: &str) -> Result<Option<Secret>, Problem> {
    let found = service.tenants.find(&SECRETS, tenant, SECRET_NAME).await?;
    let found = found.filter(|object| object["type"] == SECRET_TYPE);
    let text = found.as_ref().and_then(|object| object["data"][SECRET_KEY].as_str());
    let bytes = text.and_then(|text| STANDARD.decode(text).ok()).and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(bytes.filter(|secret| !secret.is_empty()).map(Secret::from))
}

/// Asks Argo CD to look at the applications that deploy what was pushed.
async fn refresh(service: &Service, tenant: &str, push: &Push) -> Result<Outcome, Problem> {
    let (mut outcome, mut from) = (Outcome::default(), None);
    loop {
        let piece = service.tenants.list(&APPLICATIONS, tenant, MAX_LIMIT, from.as_deref()).await?;
        for object in &piece.items {
            let Ok(deployment) = serde_json::from_value::<Deployment>(object.clone()) else { continue };
            if push.is_of(&deployment.spec.source) {
                outcome.matched += 1;
                outcome.refreshed += usize::from(refresh_one(service, meta(object, "uid")).await?);
            }
        }
        from = piece.next;
        if from.is_none() {
            return Ok(outcome);
        }
    }
}

/// Whether there was an Application to look at.
async fn refresh_one(service: &Service, uid: &str) -> Result<bool, Problem> {
    let Some((row, instance)) = rows::application(&service.ledger, uid).await? else { return Ok(false) };
    let Some(live) = service.engines.find(&ARGO_APPLICATIONS, &instance.namespace, &row.name).await? else {
        return Ok(false);
    };
    if row_of(&live) != Some(row.id.as_str()) {
        return Ok(false);
    }
    let patch = json!({ "metadata": { "annotations": { REFRESH: "normal" } } });
    let merged = service.engines.merge(&ARGO_APPLICATIONS, &instance.namespace, &row.name, &patch).await;
    match merged {
        Ok(_) => Ok(true),
        Err(problem) if problem.kind() == Kind::NotFound => Ok(false),
        Err(problem) => Err(problem),
    }
}
